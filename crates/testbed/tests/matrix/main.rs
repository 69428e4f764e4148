//! Every transport of the registry, over the ports it needs, through the real switch on this machine, and in the
//! simulator: one row a transport.
//!
//! A row takes seconds of real time, so that they are ignored by default; the code that judges them is always tested.
//! `cargo test -p headway-testbed --test matrix -- --ignored` (`make test-long`) has an idle run of each transport, a loaded
//! one, one with a key in which ports change what they can, and one or two in which a packet of every kind is lost. `--full`
//! loses a packet of each kind in a run of its own (`make testbed-matrix`); `--transport NAME` runs that one alone.
#![allow(clippy::disallowed_methods, reason = "the testbed is made of processes and real time")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "rows, or why there are none")]
#![allow(unreachable_pub, reason = "modules of one program")]

#[path = "../common/mod.rs"]
mod common;
mod doctored;
mod judge;
mod ports;
mod scenarios;

use common::{MTU, built_programs, scenario_file, testbed_available};
use headway_fabric::Rewrite;
use headway_network::Outcome;
use headway_packet::PacketKind;
use headway_switch::IoChoice;
use headway_testbed::{Job, JobArgs, Settings, run_testbed, slowdown};
use judge::{Bottleneck, Pair};
use ports::{Echoes, Prices};
use scenarios::{Case, Room};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// Factors by which runs are slower than written: the first, and another for a second attempt after a failure, when the
/// machine may have been too busy.
const SLOWDOWNS: [u64; 2] = [100, 300];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|w| w == "--list") {
        return ExitCode::SUCCESS;
    }
    let after = |flag: &str| words.iter().position(|w| w == flag).and_then(|i| words.get(i + 1));
    let (full, only) = (words.iter().any(|w| w == "--full"), after("--transport"));
    // Without real packets, and so in every run of the test.
    check_the_judge();
    let rows = full || only.is_some() || words.iter().any(|w| w == "--ignored" || w == "--include-ignored");
    if !rows || !testbed_available() {
        return ExitCode::SUCCESS;
    }
    let wanted = |case: &Case| only.map_or(full || !case.full, |name| case.name == *name);
    let all: Vec<Case> = scenarios::all_cases().into_iter().filter(wanted).collect();
    assert!(!all.is_empty(), "there is no transport {only:?}");
    println!("{}", Row::HEAD);
    // Hosts mostly wait, so that two networks fit on one machine; whole rows have it to themselves.
    let (next, wrong) = (Mutex::new(all.iter()), Mutex::new(Vec::new()));
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..if full { 1 } else { 2 } {
            scope.spawn(|| {
                while let Some(entry) = take() {
                    if !report_row(entry, full) {
                        wrong.lock().unwrap_or_else(PoisonError::into_inner).push(entry.name.as_str());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    if wrong.is_empty() {
        println!("test result: ok. matrix of {} transports", all.len());
        return ExitCode::SUCCESS;
    }
    println!("test result: FAILED. matrix: {}", wrong.join(", "));
    ExitCode::FAILURE
}

/// A machine that measures everything gives the judge a good run to be misled with.
fn check_the_judge() {
    let measures = |o: &Outcome| o.round_trips.is_some() && !o.host_gauges.iter().all(Vec::is_empty);
    let good = scenarios::all_cases().into_iter().find_map(|entry| {
        let (outcome, bytes) =
            simulate_text(&scenarios::loaded_text(&entry), How::slowed_by(SLOWDOWNS[0])).ok()?;
        measures(&outcome).then_some((outcome, bytes))
    });
    let (outcome, bytes) = good.expect("a transport that measures itself");
    doctored::check_judge(&outcome, &bytes);
}

/// Prints a transport's row; returns true if all was well.
fn report_row(entry: &Case, full: bool) -> bool {
    let mut last = Vec::new();
    for slowdown in SLOWDOWNS {
        match Row::measure_row(entry, full, slowdown) {
            Ok(row) if row.faults.is_empty() => {
                let first = last.iter().map(|why| format!("\n  at first: {why}"));
                println!("{}{}", row.row_text(entry), first.collect::<String>());
                return true;
            }
            Ok(row) => last = row.faults,
            Err(why) => last = vec![why],
        }
    }
    let why: String = last.iter().map(|why| format!("\n  {why}")).collect();
    println!("{:<18} {:<25} FAILED{why}", entry.name, entry.info.discipline);
    false
}

/// Results of one transport.
struct Row {
    flows: [usize; 2],
    lost: Vec<String>,
    marks: String,
    sealed: String,
    completion: f64,
    late_ns: u64,
    faults: Vec<String>,
}

impl Row {
    const HEAD: &str = "transport          discipline                flows bytes  identities  marks on the bottleneck  FCT/sim  late p99  with a key                lost and recovered";

    fn measure_row(entry: &Case, full: bool, slowdown: u64) -> Result<Row, String> {
        let idle = run_both(&scenarios::idle_text(entry), How::slowed_by(slowdown))?;
        let loaded = run_both(&scenarios::loaded_text(entry), How::slowed_by(slowdown))?;
        let at = |pair: &Pair| {
            [&pair.real, &pair.simulated].map(|o| Bottleneck::from_outcome(o, scenarios::WAYS[0]))
        };
        let (marks, wrong) = judge::compare_marks(&at(&idle), &at(&loaded));
        let mut row = Row {
            flows: [0, 0],
            lost: Vec::new(),
            marks,
            sealed: String::new(),
            completion: judge::relative_completion(&loaded),
            late_ns: loaded.late_ns,
            faults: wrong.into_iter().chain(judge::check_restraint(&at(&loaded))).collect(),
        };
        row.take_run("idle", &idle);
        row.take_run("loaded", &loaded);
        row.run_sealed(entry, slowdown)?;
        row.run_lossy(entry, full, slowdown)?;
        Ok(row)
    }

    /// Adds the sentences about a run.
    fn take_run(&mut self, name: &str, pair: &Pair) {
        let done = pair.real.flows.iter().filter(|f| f.finish.is_some()).count();
        self.flows = [self.flows[0] + done, self.flows[1] + pair.bytes.len()];
        self.faults.extend(judge::find_faults(pair).into_iter().map(|why| format!("{name}: {why}")));
    }

    /// A run with a key, in which ports change packets whose seals must hold all the same.
    fn run_sealed(&mut self, entry: &Case, slowdown: u64) -> Result<(), String> {
        let text = scenarios::crowded_text(entry, None);
        if entry.capabilities.telemetry > 0 {
            let (pair, echoes) = run_echoed(&text, slowdown)?;
            self.take_sealed(&pair);
            self.faults.extend(ports::find_unstamped(&echoes));
            let kb = |bytes: f64| bytes / 1000.0;
            let (most, settled) = (kb(echoes.shared as f64), kb(echoes.settled));
            self.sealed = format!("{} stamped, {most:.0} to {settled:.0} kB", echoes.whole);
            return Ok(());
        }
        if !ports::ports_write(entry, Rewrite::Rate) {
            let pair = run_both(&text, How { sealed: true, ..How::slowed_by(slowdown) })?;
            self.take_sealed(&pair);
            return Ok(());
        }
        let priced = run_priced(&text, slowdown)?;
        let control = self::run_priced(&scenarios::crowded_text(entry, Some("drop-tail")), slowdown)?;
        self.take_sealed(&priced.0);
        self.take_run("with a key, without prices", &control.0);
        self.faults.extend(ports::find_misprices(&priced.1, &control.1));
        let Prices { less_than_the_link, answers, .. } = priced.1;
        self.sealed = format!("{less_than_the_link} of {answers} priced, {} else", control.1.less_than_asked);
        Ok(())
    }

    fn take_sealed(&mut self, pair: &Pair) {
        self.take_run("with a key", pair);
        let (text, missing) = ports::port_changes(pair);
        self.sealed = text;
        self.faults.extend(missing.map(|what| format!("with a key: {what}")));
    }

    /// Runs in which packets are lost: of every kind at once, or each in a run of its own.
    fn run_lossy(&mut self, entry: &Case, full: bool, slowdown: u64) -> Result<(), String> {
        let (ample, scant) = lost_kinds(entry, slowdown)?;
        for (room, kinds) in
            [(Room::Ample, ample), (Room::Scant, scant)].into_iter().filter(|(_, k)| !k.is_empty())
        {
            let runs: Vec<Vec<PacketKind>> =
                if full { kinds.iter().map(|kind| vec![*kind]).collect() } else { vec![kinds] };
            for lost_kinds in runs {
                self.lose_in_one(entry, room, &lost_kinds, slowdown)?;
            }
        }
        Ok(())
    }

    fn lose_in_one(
        &mut self,
        entry: &Case,
        room: Room,
        kinds: &[PacketKind],
        slowdown: u64,
    ) -> Result<(), String> {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let pair = run_both(&scenarios::lossy_text(entry, room, kinds), How::slowed_by(slowdown))?;
        let name = format!("without a packet of {}", names.join(", "));
        self.take_run(&name, &pair);
        let [here, there] = [&pair.real, &pair.simulated].map(lost_packets);
        // The repairs of real hosts may differ from the simulator's; that packets are lost at all may not.
        if here * 2 < there {
            self.faults.push(format!("{name}: {here} were lost, {there} in the simulator"));
        }
        self.lost.push(format!("{} ({here})", names.join(" ")));
        Ok(())
    }

    fn row_text(&self, entry: &Case) -> String {
        let [done, of] = self.flows;
        format!(
            "{:<18} {:<25} {:>2}/{:<2} intact hold        {:<24} {:>7.2} {:>6} us  {:<25} {}",
            entry.name,
            entry.info.discipline,
            done,
            of,
            self.marks,
            self.completion,
            self.late_ns / 1000,
            self.sealed,
            self.lost.join(", "),
        )
    }
}

/// Packets that faults dropped by number.
fn lost_packets(outcome: &Outcome) -> u64 {
    outcome.links.iter().map(|l| l.faults.dropped_by_number).sum()
}

/// Kinds of packets that a transport sends while it repairs the loss of a data packet: those that the simulator can
/// lose. Then those that it sends only where ports are full: cut packets, and the answers to that.
fn lost_kinds(entry: &Case, slowdown: u64) -> Result<(Vec<PacketKind>, Vec<PacketKind>), String> {
    let mut ample = vec![PacketKind::Data];
    ample.extend(sent_kinds(entry, Room::Ample, slowdown)?);
    let mut scant = sent_kinds(entry, Room::Scant, slowdown)?;
    scant.retain(|kind| !ample.contains(kind));
    Ok((ample, scant))
}

/// Kinds of control packets that a transport sends over ports with this room.
fn sent_kinds(entry: &Case, room: Room, slowdown: u64) -> Result<Vec<PacketKind>, String> {
    let lost = |kinds: &[PacketKind]| {
        simulate_text(&scenarios::lossy_text(entry, room, kinds), How::slowed_by(slowdown))
            .map(|(outcome, _)| lost_packets(&outcome))
    };
    let base = lost(&[])?;
    let mut found = Vec::new();
    for kind in PacketKind::ALL.into_iter().filter(|kind| *kind != PacketKind::Data) {
        if lost(&[kind])? > base {
            found.push(kind);
        }
    }
    Ok(found)
}

/// Settings of a run.
#[derive(Clone, Copy)]
struct How<'a> {
    slowdown: u64,
    /// True for a run with a key.
    sealed: bool,
    capture: Option<&'a Path>,
}

impl How<'_> {
    fn slowed_by(slowdown: u64) -> Self {
        How { slowdown, sealed: false, capture: None }
    }
}

fn load_job(text: &str, how: How<'_>) -> Result<(tempfile::NamedTempFile, JobArgs, Job), String> {
    let (file, args) = scenario_file(text);
    let args = JobArgs { slowdown: Some(how.slowdown), sealed: how.sealed, ..args };
    let job = Job::load_job(&args, headway_testbed::scenario::packet_sizes(MTU, how.sealed))
        .map_err(|e| e.to_string())?;
    Ok((file, args, job))
}

/// A run in the simulator, in the scenario's own units, and the bytes of its flows.
fn simulate_text(text: &str, how: How<'_>) -> Result<(Outcome, Vec<u64>), String> {
    let (_file, _, job) = load_job(text, how)?;
    let mut outcome = headway_sim::run(&job.slow, &mut |_| true).map_err(|e| e.to_string())?;
    slowdown::speed_up(&mut outcome, job.factor);
    Ok((outcome, job.slow.flows.iter().map(|f| f.bytes).collect()))
}

/// A run on real packets, and the same in the simulator.
fn run_both(text: &str, how: How<'_>) -> Result<Pair, String> {
    let (simulated, bytes) = simulate_text(text, how)?;
    let (_file, args, _) = load_job(text, how)?;
    let sizes = headway_testbed::scenario::packet_sizes(MTU, how.sealed);
    let capture = how.capture.map(Path::to_path_buf);
    let settings =
        Settings { programs: built_programs(), mtu: MTU.into(), sizes, capture, io: IoChoice::Auto };
    let measured = run_testbed(&args, &settings, &mut |_| true).map_err(|e| e.to_string())?;
    let notes = measured.notes;
    Ok(Pair {
        real: measured.outcome,
        simulated,
        bytes,
        corrupted: notes.corrupted,
        late_ns: notes.switch_late_ns[1],
    })
}

/// A run with a key, and what ports stamped that came back to senders in it.
fn run_echoed(text: &str, slowdown: u64) -> Result<(Pair, Echoes), String> {
    run_captured(text, slowdown, |file, [_, back], bps| Echoes::from_capture(file, back, bps))
}

/// A run with a key, and the prices that came back to senders in it.
fn run_priced(text: &str, slowdown: u64) -> Result<(Pair, Prices), String> {
    run_captured(text, slowdown, |file, ways, bps| Prices::from_capture(file, ways, (bps / 1000) as u32))
}

/// A run with a key, and the data of its capture: the file, the numbers of the links there and back, and the bits a
/// second of the one there.
fn run_captured<T>(
    text: &str,
    slowdown: u64,
    read: impl FnOnce(&Path, [u32; 2], u64) -> T,
) -> Result<(Pair, T), String> {
    let file = tempfile::Builder::new().suffix(".pcapng").tempfile().map_err(|e| e.to_string())?;
    let how = How { slowdown, sealed: true, capture: Some(file.path()) };
    let pair = run_both(text, how)?;
    let network = load_job(text, how)?.2.network;
    let names = network.link_names();
    let number = |name: &str| names.iter().position(|n| n == name).ok_or_else(|| format!("no link {name}"));
    let [there, back] = scenarios::WAYS.map(number);
    let (there, back) = (there?, back?);
    let bps = network.links()[there].spec.rate.bps();
    Ok((pair, read(file.path(), [there as u32, back as u32], bps)))
}
