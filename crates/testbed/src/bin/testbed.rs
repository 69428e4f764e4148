//! `headway-testbed`: runs a scenario on real packets and, in the simulator as well; writes both run
//! directories. `headway testbed run` calls it.

#![allow(clippy::disallowed_methods, reason = "a program has arguments, files and an exit status")]

use clap::Parser;
use headway_lab::results::manifest::RunInfo;
use headway_lab::{Directory, LabError, Options, write_results};
use headway_network::{Outcome, Progress};
use headway_switch::IoChoice;
use headway_testbed::{
    Job, JobArgs, Measured, Notes, Programs, Settings, TestbedError, run_testbed, slowdown,
};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Run a scenario between network namespaces of this machine, through a software switch.
///
/// Writes DIR as every run does, and DIR/simulator with the same run in the simulator: the same slowed
/// network, flows and packet sizes.
#[derive(Parser)]
#[command(name = "headway-testbed", version)]
struct Arguments {
    #[command(flatten)]
    job: JobArgs,
    /// Directory for the results
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write flows.csv
    #[arg(long)]
    csv: bool,
    /// Longest IPv4 packet in bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..=9216))]
    mtu: u16,
    /// Kind of packet I/O at the switch; auto is af-xdp where every interface has it, and says why it is not
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = headway_testbed::io_choice())]
    io: IoChoice,
    /// Write every frame that the switch sees to a pcapng file for Wireshark
    #[arg(long, value_name = "OUT.pcapng")]
    capture: Option<PathBuf>,
    /// Do not run the simulator
    #[arg(long)]
    no_simulator: bool,
    /// Report progress as JSON lines, and stop when standard input ends
    #[arg(long, hide = true)]
    managed: bool,
    /// Only print under which conditions this would run, as JSON
    #[arg(long, hide = true)]
    conditions: bool,
    /// Only check whether this machine can run a testbed
    #[arg(long, hide = true)]
    probe: bool,
}

static STOP: AtomicBool = AtomicBool::new(false);
const INTERRUPTED: u8 = 130;
/// Folder of the simulator's run, in that of the testbed's.
const BESIDE: &str = "simulator";

fn main() -> ExitCode {
    // Before the command line is parsed, which would ask for a scenario.
    if std::env::args().skip(1).eq(["--probe"]) {
        return match headway_testbed::namespaces::check_prerequisites() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => print_error(&error),
        };
    }
    match run_measurement(&Arguments::parse()) {
        Ok(true) => ExitCode::from(INTERRUPTED),
        Ok(false) => ExitCode::SUCCESS,
        Err(error) => print_error(&error),
    }
}

fn print_error(error: &TestbedError) -> ExitCode {
    match error {
        TestbedError::Scenario(error) => eprintln!("{}", error.render()),
        other => eprintln!("headway-testbed: {other}"),
    }
    ExitCode::from(2)
}

fn run_measurement(arguments: &Arguments) -> Result<bool, TestbedError> {
    let sizes = headway_testbed::scenario::packet_sizes(arguments.mtu, arguments.job.sealed);
    if arguments.conditions {
        let job = Job::load_job(&arguments.job, sizes)?;
        job.check_traffic()?;
        print_line(&Json::Object(run_conditions(arguments, &job)));
        return Ok(false);
    }
    let io = |step: &str, source| TestbedError::Io { step: step.into(), source };
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed))
        .map_err(|e| io("watching for Ctrl-C", std::io::Error::other(e)))?;
    if arguments.managed {
        std::thread::spawn(|| {
            // The manager's end of the pipe closes even if the manager crashes.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            STOP.store(true, Ordering::Relaxed);
        });
    }
    // Before the run: a directory that cannot be written must not cost the minutes that it takes.
    if let Some(dir) = &arguments.out {
        headway_lab::results::write::prepare(dir).map_err(lab_error)?;
        // Results that an earlier run left there must not be taken for this one's.
        if dir.join(BESIDE).exists() {
            headway_lab::results::write::prepare(&dir.join(BESIDE)).map_err(lab_error)?;
        }
    }
    let own = std::env::current_exe().map_err(|e| io("finding this program", e))?;
    let programs = Programs::find_within(own.parent().unwrap_or(Path::new(".")))?;
    let capture = arguments.capture.clone();
    let settings = Settings { programs, mtu: arguments.mtu.into(), sizes, capture, io: arguments.io };
    let managed = arguments.managed;
    let began = Instant::now();
    let measured = run_testbed(&arguments.job, &settings, &mut |state| {
        if managed {
            print_line(&progress_json(state));
        }
        !STOP.load(Ordering::Relaxed)
    })?;
    let wall = began.elapsed();
    let interrupted = measured.outcome.interrupted;
    // Written before the simulator runs, so that an interruption there does not lose the real packets.
    let summary = write_measured(arguments, &measured, wall)?;
    let (beside, interrupted) = match arguments.no_simulator || interrupted {
        true => (Json::Null, interrupted),
        false => simulate_job(arguments, &measured.job)?,
    };
    print_line(&json!({ "summary": summary, "simulator": beside, "testbed": of_real(arguments, &measured) }));
    Ok(interrupted)
}

/// Prints one line on standard output. When its reader is gone, the run ends.
fn print_line(line: &Json) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        STOP.store(true, Ordering::Relaxed);
    }
}

fn progress_json(state: &Progress) -> Json {
    json!({ "progress": {
        "virtual_s": state.now.as_secs_f64(), "stop_s": state.stop.as_secs_f64(),
        "flows_done": state.flows_done, "flows_total": state.flows_total,
    }})
}

/// Conditions that distinguish runs of one scenario on real packets: with another value, a run is another one.
fn run_conditions(arguments: &Arguments, job: &Job) -> serde_json::Map<String, Json> {
    serde_json::Map::from_iter([
        ("slowdown".to_string(), job.factor.into()),
        ("sealed".into(), arguments.job.sealed.into()),
        ("ideal_round_trips".into(), arguments.job.ideal_round_trips.into()),
        ("mtu".into(), arguments.mtu.into()),
        ("fastest_link".into(), job.slow.topology.fastest().to_string().into()),
    ])
}

/// The conditions of a run, and the sizes of its packets.
fn about_run(arguments: &Arguments, job: &Job) -> serde_json::Map<String, Json> {
    let mut about = run_conditions(arguments, job);
    about.insert("packet_sizes".into(), sizes_json(job));
    about
}

fn notes_json(notes: &Notes) -> Json {
    let [p50, p99, worst] = notes.switch_late_ns;
    json!({
        "slowdown": notes.slowdown,
        "wall_s": notes.wall_s,
        "frames": notes.frames,
        "switch_late_ns": { "p50": p50, "p99": p99, "max": worst },
        "base_round_trips_ns": notes.base_round_trips_ns.map(|[ideal, measured]| json!({
            "topology": { "min": ideal[0], "max": ideal[1] },
            "measured": { "min": measured[0], "max": measured[1] },
        })),
        "switch_cpu_s": notes.switch_cpu_s,
        "hosts_cpu_s": notes.hosts_cpu_s,
        "corrupted_flows": notes.corrupted,
        "dropped_outside_ports": notes.dropped,
        "start_s": notes.start_s,
        "kernel_notes": notes.kernel,
        "switch_io": { "kind": notes.io.0, "reason": notes.io.1 },
        "capture": notes.captured.map(|[frames, missed]| json!({ "frames": frames, "missed": missed })),
    })
}

fn lab_error(error: LabError) -> TestbedError {
    match error {
        LabError::Scenario(error) => TestbedError::Scenario(error),
        other => TestbedError::Unsuitable(other.render()),
    }
}

fn write_measured(arguments: &Arguments, measured: &Measured, wall: Duration) -> Result<Json, TestbedError> {
    let job = &measured.job;
    let about = of_real(arguments, measured);
    record_results(arguments, job, &measured.outcome, (wall, Some(about)), arguments.out.as_deref())
}

/// All that a run on real packets says of itself.
fn of_real(arguments: &Arguments, measured: &Measured) -> Json {
    let mut about = about_run(arguments, &measured.job);
    if measured.job.stacks.iter().any(Option::is_some) {
        about.insert("kernel_packet_sizes".into(), kernel_sizes(&measured.job));
    }
    if let Json::Object(mut heard) = notes_json(&measured.notes) {
        about.append(&mut heard);
    }
    Json::Object(about)
}

fn sizes_json(job: &Job) -> Json {
    let sizes = job.network.sizes();
    json!({
        "payload": sizes.payload, "header": sizes.header, "framing": sizes.framing, "control": sizes.control,
    })
}

/// Sizes of the segments of the kernel's TCP, in packets as long as Headway's: those of multipath TCP carry a little
/// less.
fn kernel_sizes(job: &Job) -> Json {
    /// IPv4, TCP, and the option for time stamps.
    const HEADERS: u16 = 20 + 20 + 12;
    let sizes = job.network.sizes();
    let payload = sizes.payload + sizes.header - HEADERS;
    json!({ "payload": payload, "header": HEADERS, "framing": sizes.framing })
}

fn record_results(
    arguments: &Arguments,
    job: &Job,
    outcome: &Outcome,
    (wall, testbed): (Duration, Option<Json>),
    out: Option<&Path>,
) -> Result<Json, TestbedError> {
    let options = Options { out: out.map(Directory::parquet), csv: arguments.csv, ..Options::default() };
    let around = RunInfo { wall, commit: None, memory_bytes: 0, warnings: Vec::new(), testbed };
    let output = write_results(&job.scenario, &job.resolved, outcome, around, &options).map_err(lab_error)?;
    serde_json::to_value(&output.summary).map_err(|e| TestbedError::Unsuitable(e.to_string()))
}

/// Runs the same slowed scenario in the simulator; returns its results, in the scenario's own units, and
/// whether it was interrupted.
fn simulate_job(arguments: &Arguments, job: &Job) -> Result<(Json, bool), TestbedError> {
    let out = arguments.out.as_ref().map(|dir| dir.join(BESIDE));
    if let Some(dir) = &out {
        headway_lab::results::write::prepare(dir).map_err(lab_error)?;
    }
    let began = Instant::now();
    let outcome = headway_sim::run(&job.slow, &mut |_| !STOP.load(Ordering::Relaxed));
    let mut outcome = outcome.map_err(|e| TestbedError::Unsuitable(e.to_string()))?;
    // Back to the scenario's own units, as the results of the real run are.
    slowdown::speed_up(&mut outcome, job.factor);
    let mut about = about_run(arguments, job);
    about.insert("simulated".into(), true.into());
    let summary =
        record_results(arguments, job, &outcome, (began.elapsed(), Some(about.into())), out.as_deref())?;
    Ok((summary, outcome.interrupted))
}
