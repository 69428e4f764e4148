//! Every scenario of the repository reads, at every scale, at every point of its sweep.

#![allow(clippy::disallowed_methods, reason = "tests read the repository")]

use crate::common;

use headway_lab::Request;
use std::path::{Path, PathBuf};

/// Files in the folders of scenarios that are not scenarios.
const OTHERS: [&str; 4] = ["claims.toml", "expectations.toml", "peer.toml", "variants.toml"];

fn scenarios(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the scenarios") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            scenarios(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml")
            && !OTHERS.iter().any(|other| path.ends_with(other))
            && std::fs::read_to_string(&path).is_ok_and(|text| text.contains("title ="))
        {
            found.push(path);
        }
    }
}

#[test]
fn all_scenarios_read_at_all_scales() {
    let mut files = Vec::new();
    scenarios(&common::repository().join("scenarios"), &mut files);
    files.sort();
    // The wrong folder would pass without a file.
    assert!(files.len() >= 9, "{files:?}");
    for path in headway_testing::one_in!(6, &files.iter().collect::<Vec<_>>()) {
        for scale in [None, Some("smoke"), Some("paper")] {
            let request = Request::file(path, &[], scale).expect("the file");
            let scenario = request.load().unwrap_or_else(|e| panic!("{}", e.render()));
            let points = scenario.points().unwrap_or_else(|e| panic!("{}", e.render()));
            assert!(!scenario.about.title.is_empty(), "{}", path.display());
            assert_eq!(points.is_empty(), scenario.setup.is_none(), "{}", path.display());
            let mut labels: Vec<&str> = points.iter().map(|p| p.label.as_str()).collect();
            labels.sort_unstable();
            labels.dedup();
            assert_eq!(labels.len(), points.len(), "labels are unique in {}", path.display());
        }
    }
}

#[test]
fn a_point_is_what_its_overrides_make_of_the_file() {
    let path = common::repository().join("scenarios/examples/quickstart.toml");
    let load =
        |sets: &[String]| Request::file(&path, sets, None).expect("the file").load().expect("a scenario");
    let points = load(&[]).points().expect("points");
    assert_eq!(points.len(), 6);
    let mut digests = Vec::new();
    for point in &points {
        let scenario = load(&point.sets());
        let resolved = scenario.resolved_json();
        assert_eq!(resolved["transport"]["name"], point.variant.as_str());
        assert_eq!(resolved["traffic"][0]["load"], point.axes[0].1);
        assert_eq!(scenario.seed, point.seed);
        digests.push(scenario.digest());
    }
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 6, "every point is another run");
}
