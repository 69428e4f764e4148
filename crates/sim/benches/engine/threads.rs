//! One run on several threads, compared with as many independent runs at once, which share nothing but the machine's
//! memory.
//!
//! Runs at once that are slower than one alone show what the memory of a machine allows: no division of a run can gain
//! more than they do together, unless a part needs less of it than the whole.

use super::{CASES, Case, specification};
use headway_sim::{Around, run_within};
use std::time::Instant;

const LISTS: &[&str] = &["perm_432n_432c_2MB", "perm_1024n_1024c_2MB"];
const TIMES: usize = 3;

/// Prints a row for each list, with medians of three runs of each kind in turns, on so many threads.
pub(crate) fn table(threads: usize) {
    println!(
        "| case | one thread, s | {threads} threads, s | gain | {threads} runs at once, s | what these gain |"
    );
    println!("|---|---|---|---|---|---|");
    for name in LISTS {
        let case = CASES.iter().find(|case| case.name == *name).expect("a case of that name");
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..TIMES {
            times[0].push(seconds(case, 1));
            times[1].push(seconds(case, threads));
            times[2].push(at_once(case, threads));
        }
        let [alone, divided, beside] = times.map(median);
        let gains = (alone / divided, threads as f64 * alone / beside);
        println!("| {name} | {alone:.2} | {divided:.2} | {:.2} | {beside:.2} | {:.2} |", gains.0, gains.1);
    }
}

fn seconds(case: &Case, threads: usize) -> f64 {
    let spec = specification(case);
    let start = Instant::now();
    run_within(&spec, Around { threads, ..Around::default() }, &mut |_| true).expect("a valid run");
    start.elapsed().as_secs_f64()
}

/// Mean time of runs on one thread each that begin together.
fn at_once(case: &Case, runs: usize) -> f64 {
    let times: Vec<f64> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..runs).map(|_| scope.spawn(|| seconds(case, 1))).collect();
        running.into_iter().map(|run| run.join().expect("a run that ends")).collect()
    });
    times.iter().sum::<f64>() / runs as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
