//! A small flood; `cargo run --release -p headway-host --example flood -- 10000000` is a large one.

#[path = "../../examples/flood/flood.rs"]
#[allow(unreachable_pub, reason = "it is shared with an example")]
mod example;

use headway_host::{Admission, Config, PreSharedKey};

#[test]
fn a_hundred_thousand_hostile_datagrams_leave_an_endpoint_serving() {
    for admission in [Admission::Loopback, Admission::PreSharedKey(PreSharedKey([3; 32]))] {
        let sealed = admission.seals();
        // Half of the flood for each admission: without a key it reaches the checks of sessions, with one the
        // seal.
        let report = example::run_flood(&Config { admission, ..Config::default() }, 50_000, 7);
        let stats = report.stats;
        assert_eq!(report.random + report.changed, 50_000);
        assert!(report.calls > 0 && report.memory.0 <= report.memory.1);
        // Not a number to the last one: what the kernel had no room for is lost.
        assert!(stats.datagrams_received > 25_000, "{report:?}");
        let dropped: u64 =
            stats.iter().filter(|(name, _)| name.starts_with("dropped_")).map(|(_, n)| n).sum();
        assert!(dropped > 10_000, "{report:?}");
        assert!(stats.dropped_malformed > 0 && stats.dropped_cookie > 0 && stats.dropped_handshake > 0);
        let deeper = if sealed { stats.dropped_forged } else { stats.dropped_inconsistent };
        assert!(deeper > 100, "{report:?}");
        assert!(!sealed || stats.dropped_inconsistent == 0, "nothing changed passes the seal");
        assert!(
            // More bytes out than in would make the endpoint an amplifier for datagrams with forged sources.
            report.stranger.1 <= report.stranger.0 && report.slowest < report.elapsed && report.lost < 25_000
        );
    }
}
