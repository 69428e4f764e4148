//! The pages of `docs/transports` hold what each machine declares, between two markers; this test keeps
//! them true. `HEADWAY_BLESS=1 cargo test -p headway-transport --test it pages::` writes them anew.
#![allow(clippy::disallowed_methods, reason = "reads sources and documentation")]

use headway_transport::registry::{self, Entry};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- declared: written from the machine, do not edit -->";
const END: &str = "<!-- end of declared -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn pages_say_what_the_machines_declare() {
    for entry in registry::all().iter().filter(|e| e.info.name != "template") {
        let path = root().join(format!("docs/transports/{}.md", entry.info.name));
        let page = std::fs::read_to_string(&path)
            .unwrap_or_else(|e| panic!("{} has no page: {}: {e}", entry.info.name, path.display()));
        let fresh = replaced(&page, &declared(entry));
        if std::env::var_os("HEADWAY_BLESS").is_some() {
            std::fs::write(&path, &fresh).expect("the page can be written");
        }
        assert!(
            page == fresh || std::env::var_os("HEADWAY_BLESS").is_some(),
            "{} is out of date: run with HEADWAY_BLESS=1",
            path.display()
        );
    }
}

/// The page with its declared part exchanged, or appended where there is none.
fn replaced(page: &str, declared: &str) -> String {
    match (page.find(BEGIN), page.find(END)) {
        (Some(from), Some(to)) => format!("{}{BEGIN}\n{declared}{}", &page[..from], &page[to..]),
        _ => format!("{}\n\n{BEGIN}\n{declared}{END}\n", page.trim_end()),
    }
}

fn declared(entry: &Entry) -> String {
    let mut out = String::from(
        "\n## Declared\n\n### Parameters\n\n| key | takes | default | meaning |\n|---|---|---|---|\n",
    );
    for p in &entry.params {
        let _ = writeln!(out, "| `{}` | {} | `{}` | {} |", p.name, p.kind.expected(), p.default, p.doc);
    }
    out.push_str("\n### States\n");
    for table in entry.info.states {
        let _ = write!(out, "\n{}\n```mermaid\n{}```\n", table.markdown(), table.mermaid());
    }
    out.push_str("\n### Different from the paper\n\n");
    for deviation in entry.info.deviations {
        let _ = writeln!(out, "- {deviation}");
    }
    out.push_str("\n### Where the paper is implemented\n\n");
    for (place, files) in citations(entry.info.name) {
        let _ = writeln!(out, "- {place}: {}", files.join(", "));
    }
    out.push('\n');
    out
}

/// Places of papers cited in a machine's sources (`// AMRT §IV-B`), with the files that cite them.
fn citations(name: &str) -> Vec<(String, Vec<String>)> {
    let mut found = std::collections::BTreeMap::<String, Vec<String>>::new();
    let source = root().join("crates/transport/src");
    for file in files(&source, name) {
        let text = std::fs::read_to_string(&file).expect("a source file");
        let place = file.strip_prefix(&source).expect("below it");
        let short = format!("`{}`", place.display());
        for line in text.lines().filter(|l| l.contains("//")) {
            for place in places(line) {
                let list = found.entry(place).or_default();
                if !list.contains(&short) {
                    list.push(short.clone());
                }
            }
        }
    }
    found.into_iter().collect()
}

/// The sources of a machine, sorted: a folder of its own, or a file or folder among TCP's controllers, or RoCE's folder with a
/// file among its controllers, or the
/// folder and the file of a machine and its add-on, or its controller's, if that is its own.
fn files(source: &Path, name: &str) -> Vec<PathBuf> {
    let whole = name.replace('-', "_");
    // A variant may share the file of the controller that it is named after.
    let roce = source.join(format!("roce/control/{}.rs", name.split('-').next().unwrap_or(name)));
    if roce.is_file() {
        return [sources(source, "roce"), vec![roce]].concat();
    }
    if whole != name && source.join(&whole).is_dir()
        || source.join(format!("tcp/control/{whole}.rs")).is_file()
    {
        return sources(source, &whole);
    }
    if let Some((machine, addition)) = name.split_once('-') {
        let file = format!("{addition}.rs");
        let places = [source.join(&file), source.join(machine).join("control").join(&file)];
        let addition = places.into_iter().find(|file| file.is_file());
        return [addition.into_iter().collect(), files(source, machine)].concat();
    }
    sources(source, name)
}

/// The files of a folder of its own, or of a controller.
fn sources(source: &Path, name: &str) -> Vec<PathBuf> {
    let controllers = source.join("tcp/control");
    let folder = [source.join(name), controllers.join(name)].into_iter().find(|folder| folder.is_dir());
    let Some(folder) = folder else { return vec![controllers.join(format!("{name}.rs"))] };
    let entries = std::fs::read_dir(folder).expect("it can be read").map(|f| f.expect("an entry").path());
    let mut files: Vec<_> = entries.filter(|path| path.is_file() && !path.ends_with("script.rs")).collect();
    files.sort();
    files
}

/// `AMRT §IV-B` and the like in a line of comment.
fn places(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let pairs = words.windows(2).filter(|w| w[1].starts_with('§'));
    pairs
        .map(|w| {
            let section = w[1].trim_end_matches(|c: char| !c.is_alphanumeric());
            format!("{} {section}", w[0].trim_start_matches(|c: char| !c.is_alphanumeric()))
        })
        .filter(|p| p.chars().next().is_some_and(char::is_alphabetic))
        .collect()
}
