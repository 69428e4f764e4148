//! The estimate of a run's memory is an upper bound of its use: the real peak, in a process of its own.

#![allow(clippy::disallowed_methods, reason = "the peak of a process is read from /proc, in a child")]

use crate::common;

use common::{LEAF_SPINE, SMALL, good, repository};
use headway_lab::{Directory, Options, run_scenario};
use std::process::Command;

const CASE: &str = "HEADWAY_MEMORY_CASE";

/// Peak of resident memory of this process, in bytes, where the system says.
fn peak() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// Scenarios in which one thing each takes the memory: samples of links, samples of flows, flows, packets,
/// ports, next hops.
fn cases() -> Vec<(&'static str, String)> {
    let sample = |what: &str, every: &str| format!("\n[sample]\nevery = \"{every}\"\n{what}\n");
    let order = std::fs::read_to_string(repository().join("tests/golden/order.toml")).expect("a scenario");
    let poisson = |flows: u32| LEAF_SPINE.replace("LOAD", &format!("flows = {flows}"));
    let incast = "[[traffic]]\nkind = \"incast\"\nsenders = 64\nreceiver = 0\nbytes = \"400 kB\"\n";
    let star = |hosts: u32, traffic: &str| {
        format!(
            "[topology]\nkind = \"single-switch\"\nhosts = {hosts}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
             [transport]\nname = \"amrt\"\n[fabric]\nbuffer = \"100 MB\"\n{traffic}"
        )
    };
    let row = "[topology]\nkind = \"parking-lot\"\nbottlenecks = 1000\nhosts_per_switch = 1\nrate = \"10 Gbps\"\n\
               delay = \"1 us\"\n[transport]\nname = \"amrt\"\n[[traffic]]\nkind = \"flows\"\n\
               flows = [{ src = 0, dst = 3, bytes = 1 }]\n";
    vec![
        ("links", format!("{SMALL}{}", sample("links = \"all\"", "20 ns"))),
        ("one link", format!("{SMALL}{}", sample("links = [\"s0->s1\"]", "5 ns"))),
        ("flows", format!("{SMALL}{}", sample("flows = \"all\"", "5 ns"))),
        ("a flow", format!("{SMALL}{}", sample("flows = [\"f0\"]", "5 ns"))),
        ("many flows", poisson(60_000).replace("dctcp_websearch", "trafficgen_fb")),
        (
            "many flows sampled",
            format!("{}{}", poisson(100), sample("flows = \"all\"\nlinks = \"all\"", "20 us")),
        ),
        ("incast", star(65, incast)),
        (
            "many hosts",
            star(20_000, "[[traffic]]\nkind = \"flows\"\nflows = [{ src = 0, dst = 3, bytes = 1 }]\n"),
        ),
        ("table", row.into()),
        ("order", order),
    ]
}

#[test]
#[ignore = "run by the other test, in a process of its own"]
fn one_case() {
    let Ok(name) = std::env::var(CASE) else { return };
    let (_, text) = cases().into_iter().find(|(n, _)| *n == name).expect("a case");
    // No case is to be refused because this machine is small.
    let scenario = good(&text, &["memory_limit=\"64 GB\""]);
    let said = scenario.setup().and_then(|s| s.check_memory()).expect("it fits").memory_bytes;
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options { out: Some(Directory::parquet(dir.path())), csv: true, ..Options::default() };
    let output = run_scenario(&scenario, &options, &mut |_| true).expect("a run");
    println!("rows {} flows {}", output.series.rows(), output.flows.rows());
    println!("peak {} said {said}", peak().unwrap_or(0));
}

#[test]
fn a_run_takes_no_more_memory_than_was_said() {
    if peak().is_none() {
        headway_testing::absent("count of a process's peak memory");
        return;
    }
    let me = std::env::current_exe().expect("this program");
    let names: Vec<&str> = cases().iter().map(|(name, _)| *name).collect();
    for name in headway_testing::one_in!(3, &names) {
        let mut child = Command::new(&me);
        child.args(["memory::one_case", "--exact", "--ignored", "--nocapture"]).env(CASE, name);
        let output = child.output().expect("a child");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{name}: {text}{}", String::from_utf8_lossy(&output.stderr));
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |key: &str| {
            let at = words.iter().position(|w| *w == key).expect("the word");
            words[at + 1].parse::<u64>().expect("a number")
        };
        let (peak, said) = (number("peak"), number("said"));
        println!(
            "{name:>20}: {:>9} rows, {:>6} flows, peak {:>7.1} MB, said {:>8.1} MB",
            number("rows"),
            number("flows"),
            peak as f64 / 1e6,
            said as f64 / 1e6
        );
        assert!(peak <= said, "{name}: a peak of {peak} B, {said} B were said");
    }
}
