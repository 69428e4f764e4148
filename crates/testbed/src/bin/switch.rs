//! `headway-switch`: every switch of a scenario's topology in one process, between real interfaces.

#![allow(clippy::disallowed_methods, reason = "a program has arguments, files and an exit status")]
#![allow(clippy::print_stdout, reason = "the report goes to standard output")]

use clap::Parser;
use headway_network::Miscounted;
use headway_params::names::nearest_name;
use headway_switch::interface;
use headway_switch::{Clock, Core, CoreConfig, FrameError, FrameIo, IoChoice, IoKind, RunConfig, Running};
use headway_testbed::capture::Recording;
use headway_testbed::messages::{
    Answer, ControlCommand, SwitchReport, pack_sample, print_answer, read_commands,
};
use headway_testbed::{Job, JobArgs, cpu_seconds, run_first};
use headway_units::Time;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};

/// Every switch of a scenario's topology, between the interfaces of its hosts.
///
/// The scenario's [topology] and [fabric] specify the switches; its traffic is not looked at. Host h
/// of the topology has the address 10.0.0.1 + h. Runs until Ctrl-C, then prints a report as JSON.
#[derive(Parser)]
#[command(name = "headway-switch", version)]
struct Arguments {
    #[command(flatten)]
    job: JobArgs,
    /// The interface of a host, such as h0=eth1; once for each host that is there
    #[arg(long = "port", value_name = "HOST=INTERFACE", value_parser = parse_port, required = true)]
    ports: Vec<(u32, String)>,
    /// Longest IPv4 packet in bytes
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..=9216))]
    mtu: u16,
    /// Kind of packet I/O; auto is af-xdp where every interface has it, and says why it is not
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = headway_testbed::io_choice())]
    io: IoChoice,
    /// Write every frame, as it starts on a link, to a pcapng file for Wireshark
    #[arg(long, value_name = "OUT.pcapng")]
    capture: Option<PathBuf>,
    /// Reading of the monotonic clock, in nanoseconds, that is time zero
    #[arg(long, hide = true)]
    origin_ns: Option<u64>,
    /// Take commands from standard input
    #[arg(long, hide = true)]
    managed: bool,
}

fn parse_port(text: &str) -> Result<(u32, String), String> {
    let wrong = || format!("`{text}` is not HOST=INTERFACE, such as h0=eth1");
    let (host, interface) = text.split_once('=').ok_or_else(wrong)?;
    let number = host.strip_prefix('h').unwrap_or(host).parse().map_err(|_| wrong())?;
    if interface.is_empty() { Err(wrong()) } else { Ok((number, interface.into())) }
}

/// Bytes in front of an IPv4 packet, with a VLAN tag.
const LINK_HEADER: usize = 18;

/// Set by SIGINT and SIGTERM.
static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let managed = arguments.managed;
    match serve_switch(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            if managed {
                print_answer(&Answer::Failed { why });
            } else {
                eprintln!("headway-switch: {why}");
            }
            ExitCode::from(2)
        }
    }
}

fn serve_switch(arguments: Arguments) -> Result<(), String> {
    let sizes = headway_testbed::scenario::packet_sizes(arguments.mtu, arguments.job.sealed);
    let file = &arguments.job.scenario;
    // Before it is loaded: a name of the library is the likely mistake, and the loader does not know about it.
    if !file.exists() {
        let help = "`headway testbed switch` takes the names of scenarios, too";
        return Err(format!("{}: no such file; {help}", file.display()));
    }
    let job = Job::load_job(&arguments.job, sizes).map_err(|e| explain_error(&e))?;
    let orders = arguments.managed.then(read_commands);
    if let Some(orders) = &orders {
        // The network is joined while we wait.
        if orders.recv() != Ok(ControlCommand::Open) {
            return Ok(());
        }
    }
    let (mut interfaces, io) =
        open_interfaces(&arguments.ports, job.network.hosts(), arguments.io, arguments.mtu.into())?;
    let clock = arguments.origin_ns.map_or_else(Clock::start, Clock::from_origin);
    let config = CoreConfig {
        network: job.network.clone(),
        seed: job.slow.seed,
        addresses: job.addresses,
        sample: job.slow.sample.clone(),
        faults: job.slow.faults.clone(),
    };
    let mut core = Core::new(config).map_err(|e| e.to_string())?;
    let recording = record_frames(&mut core, arguments.capture.as_deref())?;
    let whole = || recording.as_ref().is_none_or(|r| !r.has_failed());
    // Above the agents' 5: a late switch delays every host.
    run_first(10);
    let packet = u64::from(job.network.sizes().full_wire());
    // The fastest link decides how long the switch may sleep before a frame would be late.
    let shortest = job.network.links().iter().map(|l| l.spec.rate.time_of(packet)).min();
    let waiting = RunConfig::for_packets_of(shortest.unwrap_or(Time::MAX));
    let mut cpu_before = 0.0;
    let seen = match orders {
        Some(orders) => {
            print_answer(&Answer::Ready);
            headway_switch::run(&mut core, &mut interfaces, clock, waiting, &mut |core, _| {
                obey_orders(core, &orders, &mut cpu_before) && whole()
            })
        }
        None => {
            watch_signals()?;
            core.start_measuring(clock.now());
            eprintln!(
                "headway-switch: {} hosts, {} switches; frames by {}: {}; Ctrl-C ends it",
                job.network.hosts(),
                job.network.switches(),
                io.0,
                io.1
            );
            headway_switch::run(&mut core, &mut interfaces, clock, waiting, &mut |_, _| {
                !STOP.load(Ordering::Relaxed) && whole()
            })
        }
    };
    let seen = seen.map_err(|e| format!("{}: {e}", io.0))?;
    let mut report = switch_report(&mut core, &seen, clock.now(), io).map_err(|e| e.to_string())?;
    report.cpu_s -= cpu_before;
    // The tap in the core holds the other end of the recording, which would otherwise never finish.
    drop(core);
    report.captured = recording.map(Recording::finish_recording).transpose().map_err(|e| e.to_string())?;
    if arguments.managed {
        print_answer(&Answer::Switch(Box::new(report)));
    } else {
        println!("{}", serde_json::to_string_pretty(&report).map_err(|e| e.to_string())?);
    }
    Ok(())
}

/// Has every frame written to a file, if that is wanted.
fn record_frames(core: &mut Core, path: Option<&Path>) -> Result<Option<Recording>, String> {
    let Some(path) = path else { return Ok(None) };
    let (recording, tap) = Recording::start_recording(path, core.network()).map_err(|e| e.to_string())?;
    core.set_tap(Box::new(tap));
    Ok(Some(recording))
}

fn explain_error(error: &headway_testbed::TestbedError) -> String {
    match error {
        headway_testbed::TestbedError::Scenario(error) => error.render(),
        other => other.to_string(),
    }
}

/// Carries out the orders; `false` when it is time to report. `cpu_before` is the processor time until the start.
fn obey_orders(core: &mut Core, orders: &Receiver<ControlCommand>, cpu_before: &mut f64) -> bool {
    match orders.try_recv() {
        Ok(ControlCommand::Open | ControlCommand::Connect) => print_answer(&Answer::Ready),
        Ok(ControlCommand::Start { at_ns }) => {
            core.start_measuring(Time::ns(at_ns));
            *cpu_before = cpu_seconds();
        }
        Ok(ControlCommand::Opened { .. }) => {}
        Ok(ControlCommand::Finish) | Err(TryRecvError::Disconnected) => return false,
        Err(TryRecvError::Empty) => {}
    }
    true
}

/// Interfaces by host.
type Interfaces = Vec<Option<Box<dyn FrameIo>>>;

/// Opens the interfaces of hosts; returns their kind, and the reason for it.
fn open_interfaces(
    ports: &[(u32, String)],
    hosts: u32,
    io: IoChoice,
    mtu: usize,
) -> Result<(Interfaces, (IoKind, String)), String> {
    check_ports(ports, hosts)?;
    let names: Vec<&str> = ports.iter().map(|(_, name)| name.as_str()).collect();
    let opened = interface::open(io, &names, mtu + LINK_HEADER).map_err(|e| e.to_string())?;
    let mut interfaces: Interfaces = (0..hosts).map(|_| None).collect();
    for ((host, _), interface) in ports.iter().zip(opened.interfaces) {
        // `check_ports` has made sure that the host exists and has one interface.
        interfaces[*host as usize] = Some(interface);
    }
    Ok((interfaces, (opened.kind, opened.why)))
}

/// That every port is a host's, and no host has two.
fn check_ports(ports: &[(u32, String)], hosts: u32) -> Result<(), String> {
    let mut taken = vec![false; hosts as usize];
    for (host, name) in ports {
        let Some(taken) = taken.get_mut(*host as usize) else {
            let known: Vec<String> = (0..hosts).map(|h| format!("h{h}")).collect();
            let near = nearest_name(&format!("h{host}"), known.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}={name}?"));
            return Err(format!(
                "--port h{host}={name}: the topology has only the hosts h0 to h{}{near}",
                hosts - 1
            ));
        };
        if std::mem::replace(taken, true) {
            return Err(format!("--port h{host}={name}: host h{host} has an interface already"));
        }
    }
    Ok(())
}

fn watch_signals() -> Result<(), String> {
    ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)).map_err(|e| e.to_string())
}

fn switch_report(
    core: &mut Core,
    seen: &Running,
    now: Time,
    (kind, why): (IoKind, String),
) -> Result<SwitchReport, Miscounted> {
    let mut refused: Vec<(String, u64)> = FrameError::ALL
        .iter()
        .zip(core.counters().refused)
        .map(|(why, count)| (why.to_string(), count))
        .collect();
    refused.push(("not taken by the kernel".into(), seen.refused));
    refused.push(("dropped by the kernel: the switch was too late for them".into(), seen.overrun));
    refused.push(("longer than a frame: segmentation offload is on at the sender".into(), seen.cut));
    refused.push(("without a route".into(), core.counters().unroutable));
    let late = &seen.departure_delays;
    Ok(SwitchReport {
        until_ns: now.0 / 1000,
        links: core.links(now)?.iter().map(Into::into).collect(),
        samples: core.take_samples().iter().filter_map(pack_sample).collect(),
        received: core.counters().received,
        delivered: core.counters().delivered,
        refused,
        io: kind.word().into(),
        io_reason: why,
        late_ns: [late.quantile_ns(0.5), late.quantile_ns(0.99), late.worst_ns()],
        cpu_s: cpu_seconds(),
        captured: None,
    })
}
