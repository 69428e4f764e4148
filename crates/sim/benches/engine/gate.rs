//! The instruction gate: instructions an event on the three flow lists, held against a committed baseline.
//!
//! Of each list the beginning is run, because valgrind is slow; the work before the first event is taken off. A
//! count belongs to a compiler, a profile and a kind of processor, which the baseline says. Elsewhere the gate does
//! not compare, and says why.

use super::{CASES, Case, callgrind, specification};
use headway_network::Outcome;
use headway_sim::run;
use headway_units::Time;
use std::fmt::Write;
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Largest growth of an event's cost.
const ALLOWED: f64 = 0.02;

/// The three lists of a transport, and how much of each is run: some hundred thousand events.
const LISTS: &[(&str, Time)] = &[
    ("perm_128n_128c_2MB", Time::us(80)),
    ("perm_432n_432c_2MB", Time::us(30)),
    ("perm_1024n_1024c_2MB", Time::us(18)),
    ("ndp_128n_128c_2MB", Time::us(80)),
    ("ndp_432n_432c_2MB", Time::us(30)),
    ("ndp_1024n_1024c_2MB", Time::us(18)),
];

/// Measures every list and holds it against the file. With `HEADWAY_BLESS=1` it writes the file instead.
pub(crate) fn gate(file: &str) -> ExitCode {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("instruction gate skipped: valgrind is not installed");
        return ExitCode::SUCCESS;
    }
    let bless = std::env::var_os("HEADWAY_BLESS").is_some();
    let former = std::fs::read_to_string(file).unwrap_or_default();
    if former.is_empty() && !bless {
        println!("instruction gate: {file} cannot be read; HEADWAY_BLESS=1 writes it");
        return ExitCode::from(2);
    }
    let here = environment();
    let there = former.lines().next().unwrap_or_default();
    if !bless && there != here {
        println!(
            "instruction gate skipped: counts are not comparable\n  baseline {there}\n  here     {here}"
        );
        return ExitCode::SUCCESS;
    }
    let mut table = format!("{here}\n");
    let mut worse = false;
    for ((name, _), cost) in LISTS.iter().zip(costs()) {
        let Some((event, events)) = cost else {
            println!("instruction gate: valgrind printed no count");
            return ExitCode::FAILURE;
        };
        writeln!(table, "{name} {event:.1}").expect("a string takes text");
        let line = match in_baseline(&former, name) {
            _ if bless => format!("{name}: {event:.1} instructions an event, {events} events"),
            None => {
                worse = true;
                format!("{name}: not in the baseline; HEADWAY_BLESS=1 writes it")
            }
            Some(before) => {
                let change = event / before - 1.0;
                worse |= change > ALLOWED;
                let word = if change > ALLOWED { "FAILS" } else { "passes" };
                format!(
                    "{name}: {before:.1} -> {event:.1} instructions an event ({:+.2} %) {word}",
                    100.0 * change
                )
            }
        };
        println!("{line}");
    }
    if bless {
        std::fs::write(file, table).expect("the baseline can be written");
    }
    if worse {
        println!("instruction gate: more than {} % up fails", 100.0 * ALLOWED);
    }
    ExitCode::from(u8::from(worse))
}

/// The lists, and how much of each is run.
pub(crate) fn lists() -> impl Iterator<Item = (&'static str, Time)> {
    LISTS.iter().copied()
}

/// Packet-hops of the beginning of a list.
pub(crate) fn hops(case: &Case, until: Time) -> u64 {
    outcome(case, until).packet_hops - outcome(case, Time::ZERO).packet_hops
}

/// Runs the beginning of a list in this process, or only until everything is made.
pub(crate) fn once(name: &str, whole: bool) {
    let (_, until) = LISTS.iter().find(|(list, _)| *list == name).expect("a list of that name");
    let case = CASES.iter().find(|case| case.name == name).expect("a case of that name");
    outcome(case, if whole { *until } else { Time::ZERO });
}

fn outcome(case: &Case, until: Time) -> Outcome {
    let mut spec = specification(case);
    spec.stop = until;
    run(&spec, &mut |_| true).expect("a valid run")
}

/// The costs of all lists, in their order. Counts do not depend on other programs, so every core measures.
fn costs() -> Vec<Option<(f64, u64)>> {
    let next = AtomicUsize::new(0);
    let measured: Vec<_> = LISTS.iter().map(|_| OnceLock::new()).collect();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                // The longest are at the end: they begin first.
                while let Some(index) = LISTS.len().checked_sub(1 + next.fetch_add(1, Ordering::Relaxed)) {
                    let (name, until) = LISTS[index];
                    let case = CASES.iter().find(|case| case.name == name).expect("a case of that name");
                    measured[index].get_or_init(|| cost(case, until));
                }
            });
        }
    });
    measured.into_iter().map(|cost| cost.into_inner().expect("every list was taken")).collect()
}

/// Instructions an event, and how many events there were.
fn cost(case: &Case, until: Time) -> Option<(f64, u64)> {
    let count = |part| callgrind(&["gate", "once", case.name, part]);
    let (setup, all) = (count("setup")?, count("whole")?);
    // Flows start at time zero, and so a run that stops there has events too.
    let events = outcome(case, until).events - outcome(case, Time::ZERO).events;
    Some((all.checked_sub(setup)? as f64 / events as f64, events))
}

fn in_baseline(text: &str, name: &str) -> Option<f64> {
    // With the space, because one name may begin another.
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// Influences on the counts other than the source: compiler, profile, processor.
fn environment() -> String {
    let compiler = Command::new("rustc").arg("--version").output();
    let compiler = compiler.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default();
    // target/PROFILE/deps/engine-0123
    let me = std::env::current_exe().expect("this program");
    let profile = me.ancestors().nth(2).and_then(|folder| folder.file_name());
    let profile = profile.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!(
        "# {compiler}, profile {profile}, {} {}{}",
        std::env::consts::ARCH,
        std::env::consts::OS,
        wide_registers()
    )
}

/// The C library copies bytes with other instructions where there are wide registers.
#[cfg(target_arch = "x86_64")]
fn wide_registers() -> &'static str {
    if std::is_x86_feature_detected!("avx2") { ", avx2" } else { "" }
}

#[cfg(not(target_arch = "x86_64"))]
fn wide_registers() -> &'static str {
    ""
}
