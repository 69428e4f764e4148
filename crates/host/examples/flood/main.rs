//! Throws random and changed datagrams at an endpoint over the loopback interface, while a client keeps
//! calling it, and prints the outcome:
//!
//! ```sh
//! cargo run --release -p headway-host --example flood -- 10000000
//! ```
#![allow(clippy::disallowed_methods, reason = "a program has arguments, and looks at its memory")]
#![allow(unreachable_pub, missing_docs, reason = "an example")]

mod flood;

use headway_host::{Admission, Config, PreSharedKey};

/// A line of the kernel's report on this process, in kilobytes.
fn memory_line(line: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|l| l.strip_prefix(line)).unwrap_or("unknown");
    value.trim_matches([':', '\t', ' ']).into()
}

fn main() {
    let count = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse());
    let Ok(count) = count else {
        eprintln!("usage: flood [DATAGRAMS]");
        std::process::exit(2);
    };
    let key = Admission::PreSharedKey(PreSharedKey([3; 32]));
    for (name, admission) in [("without a key", Admission::Loopback), ("with a key", key)] {
        let before = memory_line("VmRSS");
        let config = Config { admission, ..Config::default() };
        let report = flood::run_flood(&config, count / 2, 1);
        let seconds = report.elapsed.as_secs_f64();
        let sent = report.random + report.changed;
        println!("{name}: {sent} datagrams ({} random) in {seconds:.1} s", report.random);
        println!("  {:.0} a second, {} lost before the endpoint", sent as f64 / seconds, report.lost);
        println!("  {} calls answered, the slowest in {:.1?}", report.calls, report.slowest);
        println!("  the stranger sent {} bytes and got {}", report.stranger.0, report.stranger.1);
        println!("  memory of messages: {} of {} bytes at most", report.memory.0, report.memory.1);
        println!(
            "  resident: {before} before, {} after, {} at most",
            memory_line("VmRSS"),
            memory_line("VmHWM")
        );
        for (name, value) in report.stats.iter().filter(|(_, value)| *value > 0) {
            println!("  {name} {value}");
        }
    }
}
