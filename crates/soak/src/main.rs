//! `headway-soak FIRST LAST`: the random scenarios of these seeds, on every core, and whatever breaks as the
//! smallest scenario that shows it.

#![allow(
    clippy::disallowed_methods,
    reason = "a program: it reads its arguments and the clock, has a thread a core, and says how it went by its status"
)]

use headway_soak::memory::Counting;
use headway_soak::{
    Bounds, Case, Failure, Size, Verdict, generate, generate_lossless, invariants, judge, judge_within, lone,
    shrink,
};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static HEAP: Counting = Counting;

const USAGE: &str = "usage: headway-soak [--keep DIRECTORY] [FIRST LAST]\n\
       headway-soak lossless PACKETS [SEED]\n\
       headway-soak lone FIRST LAST\n\
       headway-soak write FIRST LAST DIRECTORY\n\
    judges the random scenarios of the seeds FIRST to LAST (1 to 20000), and goes on where it stopped when FIRST is\n\
    the seed after the last one that it printed; --keep writes the smallest scenario that shows a failure to\n\
    DIRECTORY/seed-SEED.toml, as tests/it/found has them\n\
    lossless: random traffic over random lossless fabrics until so many packets of data have been sent; any that a\n\
    switch has no room for is a failure\n\
    lone: a lone message over every transport on the networks of these seeds, which has to take as long as its wires do\n\
    write: the small scenarios of these seeds, each as DIRECTORY/SEED/scenario.toml with the files that it names";

/// State that all threads share.
struct Shared {
    next: AtomicU64,
    last: u64,
    passed: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    long: AtomicU64,
    events: AtomicU64,
    /// Smallest and largest share of the forecast memory that a run took, in thousandths, with their seeds.
    memory: Mutex<[(u64, u64); 2]>,
    /// The seed that took longest, and its milliseconds.
    slowest: Mutex<(u128, u64)>,
    /// Seeds that are being judged: those before the least of them are done.
    open: Mutex<Vec<u64>>,
    /// Directory for failures.
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, rest @ ..] = &arguments[..]
        && mode == "lossless"
    {
        let numbers: Option<Vec<u64>> = rest.iter().map(|a| a.parse().ok()).collect();
        return match numbers.as_deref() {
            Some([packets]) => lossless(*packets, 1),
            Some([packets, seed]) => lossless(*packets, *seed),
            _ => {
                eprintln!("{USAGE}");
                ExitCode::from(2)
            }
        };
    }
    if let [mode, first, last] = &arguments[..]
        && mode == "lone"
        && let (Ok(first), Ok(last)) = (first.parse(), last.parse())
    {
        return alone(first..=last);
    }
    if let [mode, first, last, folder] = &arguments[..]
        && mode == "write"
        && let (Ok(first), Ok(last)) = (first.parse(), last.parse())
    {
        return write(first..=last, Path::new(folder));
    }
    let keep = match &arguments[..] {
        [option, folder, ..] if option == "--keep" => Some(PathBuf::from(folder)),
        _ => None,
    };
    if keep.is_some() {
        arguments.drain(..2);
    }
    let numbers: Option<Vec<u64>> = arguments.iter().map(|a| a.parse().ok()).collect();
    let (first, last) = match numbers.as_deref() {
        Some([]) => (1, 20_000),
        Some([first, last]) if first <= last => (*first, *last),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let shared = Shared {
        next: AtomicU64::new(first),
        last,
        passed: AtomicU64::new(0),
        failed: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        long: AtomicU64::new(0),
        events: AtomicU64::new(0),
        memory: Mutex::new([(u64::MAX, 0), (0, 0)]),
        slowest: Mutex::new((0, 0)),
        open: Mutex::new(Vec::new()),
        keep,
    };
    let start = Instant::now();
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| work(&shared, start));
        }
    });
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    let (passed, failed) = (count(&shared.passed), count(&shared.failed));
    let (longest, slowest) = *shared.slowest.lock().expect("no thread dies with it");
    println!(
        "{} draws refused, {} too long, {:.1e} events, {:.0} s; seed {slowest} took {longest} ms",
        count(&shared.refused),
        count(&shared.long),
        count(&shared.events) as f64,
        start.elapsed().as_secs_f64()
    );
    if passed > 0 {
        let [least, most] = *shared.memory.lock().expect("no thread dies with it");
        println!(
            "memory: {:.2} (seed {}) to {:.2} (seed {}) of what was said",
            least.0 as f64 / 1e3,
            least.1,
            most.0 as f64 / 1e3,
            most.1
        );
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A lone message over every transport, on a network of each seed.
fn alone(seeds: RangeInclusive<u64>) -> ExitCode {
    let folder = tempfile::tempdir().expect("a directory for graphs");
    let (mut held, mut broken) = (0, 0);
    for (seed, name) in
        seeds.flat_map(|seed| headway_transport::registry::NAMES.iter().map(move |name| (seed, *name)))
    {
        let Some(case) = lone::case(seed, name, folder.path()) else { continue };
        match lone::hold(&case, name, folder.path()) {
            Ok(()) => held += 1,
            Err(why) => {
                broken += 1;
                println!("--- {name}, seed {seed}: {why}\n{}---", case.text());
            }
        }
    }
    println!("{held} passed, {broken} failed");
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes scenarios for other programs, which then find out whether they can do something with any of them.
fn write(seeds: RangeInclusive<u64>, folder: &Path) -> ExitCode {
    for seed in seeds {
        let own = folder.join(seed.to_string());
        let written = std::fs::create_dir_all(&own).and_then(|()| {
            let (case, _) = generate(seed, Size::SMALL, &own);
            std::fs::write(own.join("scenario.toml"), case.scenario.to_string())
        });
        if let Err(error) = written {
            eprintln!("{}: {error}", own.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Packets and pauses over lossless fabrics.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    packets: u64,
    pauses: u64,
    deadlocks: u64,
    lost: u64,
}

/// Packets between two lines of progress.
const PROGRESS_PACKETS: u64 = 10_000_000;

fn lossless(packets: u64, first: u64) -> ExitCode {
    let (seed, total) = (AtomicU64::new(first), Mutex::new(Sent::default()));
    let start = Instant::now();
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let size = Size { packets: 2_000_000, ..Size::LARGE };
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let folder = tempfile::tempdir().expect("a directory for graphs");
                while total.lock().expect("no thread dies with it").packets < packets {
                    let seed = seed.fetch_add(1, Ordering::Relaxed);
                    let case = generate_lossless(seed, size, folder.path());
                    let sent = match send(&case, folder.path()) {
                        Ok(sent) => sent,
                        Err(why) => {
                            println!("--- seed {seed}: {why}\n{}---", case.text());
                            // Counted as a loss, so that the program fails.
                            Sent { lost: 1, ..Sent::default() }
                        }
                    };
                    if sent.lost > 0 {
                        println!("--- seed {seed}: {} packets lost\n{}---", sent.lost, case.text());
                    }
                    let mut total = total.lock().expect("no thread dies with it");
                    let before = total.packets / PROGRESS_PACKETS;
                    *total = Sent {
                        packets: total.packets + sent.packets,
                        pauses: total.pauses + sent.pauses,
                        deadlocks: total.deadlocks + sent.deadlocks,
                        lost: total.lost + sent.lost,
                    };
                    if total.packets / PROGRESS_PACKETS > before {
                        println!("up to seed {seed}: {total:?}, {:.0} s", start.elapsed().as_secs_f64());
                        let _ = std::io::stdout().flush();
                    }
                }
            });
        }
    });
    let total = *total.lock().expect("no thread dies with it");
    println!("{total:?}, {:.0} s", start.elapsed().as_secs_f64());
    if total.lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a scenario of lossless switches once. Packets are those that hosts sent, control included.
fn send(case: &Case, folder: &Path) -> Result<Sent, String> {
    let scenario = case.load(folder).map_err(|e| e.to_string())?;
    let setup = scenario.setup().map_err(|e| e.render())?;
    let resolved = setup.resolve(scenario.seed).map_err(|e| e.render())?;
    let outcome = headway_soak::simulate(&resolved.spec, 1, Bounds::default())?;
    let hosts = outcome.links.iter().filter(|link| !link.from_switch);
    let full = |link: &headway_network::LinkRecord| {
        link.counters.dropped[headway_fabric::DropReason::HeadroomFull as usize]
    };
    Ok(Sent {
        packets: hosts.map(|link| link.counters.dequeued).sum(),
        pauses: outcome.links.iter().map(|link| link.pauses.received).sum(),
        deadlocks: outcome.deadlock.is_some().into(),
        lost: outcome.links.iter().map(full).sum(),
    })
}

/// Time for the runs of one seed: one that takes longer is said to, with what it waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Scenarios between two lines of progress.
const PROGRESS: u64 = 500;

fn work(shared: &Shared, start: Instant) {
    let folder = tempfile::tempdir().expect("a directory for graphs");
    loop {
        let seed = {
            let mut open = shared.open.lock().expect("no thread dies with it");
            // Under the lock: otherwise a later seed could be reported as done while this one is not yet in the
            // list.
            let seed = shared.next.fetch_add(1, Ordering::Relaxed);
            if seed > shared.last {
                return;
            }
            open.push(seed);
            seed
        };
        let began = Instant::now();
        let (case, refused) = generate(seed, Size::LARGE, folder.path());
        shared.refused.fetch_add(refused, Ordering::Relaxed);
        let has_time = || began.elapsed() < PATIENCE;
        let bounds = Bounds { has_time: &has_time, ..Bounds::default() };
        match judge_within(&case, folder.path(), invariants::ALL, bounds) {
            Verdict::Passed(facts) => {
                shared.passed.fetch_add(1, Ordering::Relaxed);
                shared.events.fetch_add(facts.events, Ordering::Relaxed);
                let ratio = ((facts.peak + headway_network::BASE) * 1000 / facts.said, seed);
                let mut memory = shared.memory.lock().expect("no thread dies with it");
                *memory = [memory[0].min(ratio), memory[1].max(ratio)];
            }
            Verdict::Refused(why) => {
                shared.failed.fetch_add(1, Ordering::Relaxed);
                println!("seed {seed} was accepted, and then refused: {why}\n{}", case.text());
            }
            Verdict::TooLong(why) => {
                shared.long.fetch_add(1, Ordering::Relaxed);
                println!("seed {seed} is too long: {why}");
            }
            Verdict::Failed(failure) => {
                shared.failed.fetch_add(1, Ordering::Relaxed);
                show(seed, &case, &failure, folder.path(), shared.keep.as_deref());
            }
        }
        let mut slowest = shared.slowest.lock().expect("no thread dies with it");
        *slowest = (*slowest).max((began.elapsed().as_millis(), seed));
        drop(slowest);
        close(shared, seed, start);
    }
}

fn close(shared: &Shared, seed: u64, start: Instant) {
    let mut open = shared.open.lock().expect("no thread dies with it");
    open.retain(|other| *other != seed);
    if seed.is_multiple_of(PROGRESS) {
        // Seeds end in any order.
        let done = open.iter().min().map_or(seed, |least| least - 1);
        let (passed, failed) = (shared.passed.load(Ordering::Relaxed), shared.failed.load(Ordering::Relaxed));
        println!(
            "up to seed {done}: {passed} passed, {failed} failed, {:.0} s",
            start.elapsed().as_secs_f64()
        );
        let _ = std::io::stdout().flush();
    }
}

/// Time for which a failure is shrunk: one that takes seconds to show has thousands of smaller ones.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Prints a failure as the smallest scenario that shows it, and writes it to the folder where failures are kept.
fn show(seed: u64, case: &Case, failure: &Failure, folder: &Path, keep: Option<&Path>) {
    let mut last = failure.clone();
    let began = Instant::now();
    let mut fails = |smaller: &Case| {
        // From then on nothing is taken for smaller, so that shrinking soon ends.
        if began.elapsed() > TIMEOUT {
            return false;
        }
        match judge(smaller, folder, invariants::ALL) {
            // A smaller case that breaks another invariant is another failure.
            Verdict::Failed(found) if found.invariant == failure.invariant => {
                last = found;
                true
            }
            _ => false,
        }
    };
    let small = shrink::shrink(case, &mut fails);
    println!("--- seed {seed}: not so: {}\n# {}\n{}---", failure.invariant, last.found, small.text());
    if let Some(keep) = keep {
        let path = keep.join(format!("seed-{seed}.toml"));
        let why = format!("{}: {}", failure.invariant, last.found);
        match std::fs::write(&path, small.kept(&why)) {
            Ok(()) => println!("kept as {}", path.display()),
            Err(error) => eprintln!("{}: {error}", path.display()),
        }
    }
    let _ = std::io::stdout().flush();
}
