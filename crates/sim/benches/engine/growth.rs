//! Cost of a packet-hop as the network grows: the time of the run without that in which it is set up. Free memory stays
//! with the process, as in `headway run`.

use super::{CASES, Case, specification};
use headway_sim::run;
use headway_units::Time;
use std::time::Instant;

const TIMES: usize = 3;
/// `mi_option_purge_delay` of mimalloc.h.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Prints a row for each size: medians of three, the sizes in turns.
pub(crate) fn table() {
    #[allow(unsafe_code, reason = "the allocator has no other way to be told")]
    // SAFETY: an option of the allocator may be set at any time.
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, -1);
    }
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.name.starts_with("growth_")).collect();
    let mut costs = vec![Vec::new(); cases.len()];
    for _ in 0..TIMES {
        for (case, costs) in cases.iter().zip(&mut costs) {
            costs.push(cost(case));
        }
    }
    println!("| case | packet-hops | set up, s | run, s | ns a hop | to the first |");
    println!("|---|---|---|---|---|---|");
    let mut first = None;
    for (case, mut costs) in cases.iter().zip(costs) {
        costs.sort_by(|a, b| a.each.total_cmp(&b.each));
        let Cost { hops, setup, run, each } = costs[costs.len() / 2];
        let ratio = each / *first.get_or_insert(each);
        println!("| {} | {hops} | {setup:.2} | {run:.2} | {each:.0} | {ratio:.2} |", case.name);
    }
}

#[derive(Clone, Copy)]
struct Cost {
    hops: u64,
    /// Seconds until the first event, and from there on.
    setup: f64,
    run: f64,
    /// Nanoseconds a packet-hop.
    each: f64,
}

fn cost(case: &Case) -> Cost {
    let timed = |until: Option<Time>| {
        let mut spec = specification(case);
        spec.stop = until.unwrap_or(spec.stop);
        let start = Instant::now();
        let hops = run(&spec, &mut |_| true).expect("a valid run").packet_hops;
        (hops, start.elapsed().as_secs_f64())
    };
    // A run of the smallest network is over in milliseconds.
    let times = if case.k <= 8 { 20 } else { 1 };
    let sum = |until| {
        let runs = (0..times).map(|_| timed(until));
        runs.fold((0, 0.0), |(hops, seconds), (h, s)| (hops + h, seconds + s))
    };
    let ((before, setup), (all, whole)) = (sum(Some(Time::ZERO)), sum(None));
    let (hops, run) = ((all - before) / times, (whole - setup) / times as f64);
    Cost { hops, setup: setup / times as f64, run, each: 1e9 * run / hops as f64 }
}
