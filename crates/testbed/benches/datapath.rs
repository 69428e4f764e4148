//! The software switch on this machine: the number of frames that it forwards, how evenly they leave, and how many of
//! them keep a mark that they should lose; by packet sockets and by AF_XDP, in turns.
//!
//! `cargo bench -p headway-testbed --bench datapath -- --rounds 5` prints medians and, in brackets, the smallest and the
//! largest of five rounds; without `--rounds` there is one. It needs root, as the testbed does. Frames have 1514
//! bytes. *Forwarding*: no link is a bottleneck, the sender sends as fast as it can, and the receiving kernel drops the
//! frames because they are addressed to another host. *Gaps*: the link to the receiver is saturated at a rate, and the
//! kernel's receive stamps say how far apart frames are. Its port is AMRT's and is never idle, so that every mark that
//! is left is wrong.
#![allow(clippy::disallowed_methods, reason = "a benchmark of real packets")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its table goes to standard output")]

use etherparse::{IpHeaders, IpNumber, Ipv4Header, PacketBuilder};
use headway_packet::Ecn;
use headway_switch::{AfPacket, FrameIo, IoKind, Stamp};
use headway_testbed::child::{ChildEvent, ChildEvents, ChildProcess};
use headway_testbed::messages::{Answer, ControlCommand, SwitchReport};
use headway_testbed::namespaces::{self, in_new_namespace};
use headway_testbed::{Job, JobArgs, run_first};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SECONDS: f64 = 4.0;
/// Start and end of a measurement that are left out.
const EDGE: f64 = 0.5;
const PAYLOAD: usize = 1472;
/// A full frame on the wire: payload, UDP, IPv4, Ethernet, preamble, check sequence and gap.
const WIRE: f64 = 1472.0 + 28.0 + 38.0;
const BATCH: usize = 64;
/// Neither a link's queue nor the switch may be what loses frames here.
const BUFFER: &str = "4000 packets";
const KINDS: [IoKind; 2] = [IoKind::AfPacket, IoKind::AfXdp];
const RATES: [u64; 3] = [100_000_000, 500_000_000, 1_000_000_000];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["source", bps] => run_source(bps.parse().expect("a rate")),
        ["sink"] => run_sink(),
        ["idle"] => wait_for_go(),
        ["--rounds", rounds, ..] => print_tables(rounds.parse().expect("--rounds N")),
        _ => print_tables(1),
    }
}

/// Results of one round for one kind of packet I/O.
#[derive(Default)]
struct Round {
    forwarding: Forwarding,
    links: Vec<Link>,
}

#[derive(Default)]
struct Forwarding {
    /// Frames a second.
    rate: f64,
    /// Share of a processor that is busy.
    busy: f64,
    lost: u64,
}

struct Link {
    /// Frames a second.
    rate: f64,
    busy: f64,
    gaps_us: [f64; 3],
    near: f64,
    wrong: f64,
}

fn print_tables(rounds: usize) {
    if let Err(error) = namespaces::check_prerequisites() {
        println!("skipped: {error}");
        return;
    }
    let mut all: [Vec<Round>; 2] = Default::default();
    for round in 0..rounds {
        // In turns, and no kind always first.
        for place in [round % 2, 1 - round % 2] {
            match one_round(KINDS[place]) {
                Ok(measured) => all[place].push(measured),
                Err(why) if round == 0 => eprintln!("{}: {why}", KINDS[place]),
                Err(_) => {}
            }
        }
    }
    println!(
        "| no bottleneck | delivered, M frames/s | processor of the switch | M frames/s of a whole processor | lost before the switch, M |"
    );
    println!("|---|---|---|---|---|");
    for (kind, rounds) in KINDS.iter().zip(&all).filter(|(_, rounds)| !rounds.is_empty()) {
        let of = |f: fn(&Forwarding) -> f64| median_and_range(rounds.iter().map(|r| f(&r.forwarding)));
        println!(
            "| {kind} | {} | {} % | {} | {} |",
            of(|f| f.rate / 1e6),
            of(|f| 100.0 * f.busy),
            of(|f| f.rate / f.busy / 1e6),
            of(|f| f.lost as f64 / 1e6)
        );
    }
    println!(
        "\n| link, offered 5 % more | by | delivered, Mb/s | processor | gap ideal, us | p1 | p50 | p99 | within 20 %, % | wrong marks, % |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (i, bps) in RATES.into_iter().enumerate() {
        for (kind, rounds) in KINDS.iter().zip(&all).filter(|(_, rounds)| !rounds.is_empty()) {
            let of = |f: &dyn Fn(&Link) -> f64| median_and_range(rounds.iter().map(|r| f(&r.links[i])));
            println!(
                "| {} Mb/s | {kind} | {} | {} % | {:.1} | {} | {} | {} | {} | {} |",
                bps / 1_000_000,
                of(&|l| l.rate * WIRE * 8.0 / 1e6),
                of(&|l| 100.0 * l.busy),
                ideal_us(bps),
                of(&|l| l.gaps_us[0]),
                of(&|l| l.gaps_us[1]),
                of(&|l| l.gaps_us[2]),
                of(&|l| 100.0 * l.near),
                of(&|l| 100.0 * l.wrong),
            );
        }
    }
}

/// Median, and the smallest and the largest where there are several.
fn median_and_range(values: impl Iterator<Item = f64>) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values[..] {
        [] => "-".into(),
        [only] => format!("{only:.3}"),
        [least, .., most] => format!("{:.3} ({least:.3} to {most:.3})", values[values.len() / 2]),
    }
}

fn ideal_us(bps: u64) -> f64 {
    WIRE * 8e6 / bps as f64
}

fn one_round(kind: IoKind) -> Result<Round, String> {
    // 100 Gb/s is far beyond what one thread forwards, so the link's pacing plays no part.
    let run = measure_run(kind, 100_000_000_000, None)?;
    let lost =
        |what: &str| run.report.refused.iter().filter(|(why, _)| why.starts_with(what)).map(|(_, n)| n).sum();
    let forwarding = Forwarding {
        rate: run.sink.frames,
        busy: run.report.cpu_s / run.took,
        lost: lost("dropped by the kernel"),
    };
    let mut links = Vec::new();
    for bps in RATES {
        // 5 % more than the link carries keeps it saturated, and the queue drops the rest.
        let Run { sink, report, took } = measure_run(kind, bps, Some(bps + bps / 20))?;
        let near = sink.gaps_us.iter().filter(|g| (*g / ideal_us(bps) - 1.0).abs() <= 0.2).count();
        links.push(Link {
            rate: sink.frames,
            busy: report.cpu_s / took,
            gaps_us: [0.01, 0.5, 0.99].map(|q| sorted_quantile(&sink.gaps_us, q)),
            near: near as f64 / sink.gaps_us.len().max(1) as f64,
            wrong: sink.marked / (sink.gaps_us.len() + 1) as f64,
        });
    }
    Ok(Round { forwarding, links })
}

fn sorted_quantile(sorted: &[f64], q: f64) -> f64 {
    sorted.get((sorted.len() as f64 * q) as usize).copied().unwrap_or(f64::NAN)
}

/// One run: the sink's view, the switch's report, and how long the switch ran.
struct Run {
    sink: Sink,
    report: SwitchReport,
    took: f64,
}

/// Frames a second, frames with a mark, and sorted gaps in microseconds.
#[derive(Default)]
struct Sink {
    frames: f64,
    marked: f64,
    gaps_us: Vec<f64>,
}

fn measure_run(kind: IoKind, link_bps: u64, offered: Option<u64>) -> Result<Run, String> {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    let text = format!(
        "stop = \"60 s\"\n[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"{link_bps} bps\"\ndelay = \"10 us\"\n\
         [fabric]\ndiscipline = \"anti-ecn\"\nbuffer = \"{BUFFER}\"\n[transport]\nname = \"amrt\"\n[[traffic]]\n\
         kind = \"flows\"\nflows = [{{ src = 0, dst = 1, bytes = 1000, start = \"0 s\" }}]\n"
    );
    std::fs::write(file.path(), text).expect("written");
    let args = JobArgs { scenario: file.path().into(), slowdown: Some(1), ..JobArgs::default() };
    let job =
        Job::load_job(&args, headway_testbed::scenario::packet_sizes(1500, false)).expect("a good scenario");
    let (sender, events) = ChildEvents::new();
    let mut words = args.to_arguments();
    words.extend(["--managed".into(), "--mtu=1500".into(), format!("--io={}", kind.word())]);
    words.extend([0, 1].map(|h| format!("--port=h{h}={}", namespaces::switch_interface(h))));
    let program = Path::new(env!("CARGO_BIN_EXE_headway-switch"));
    let mut switch =
        [ChildProcess::spawn_child("switch".into(), program, &words, 0, &sender).expect("the switch")];
    let mut source = spawn_role(&["source", &offered.unwrap_or(0).to_string()]);
    let mut sink = spawn_role(&[if offered.is_some() { "sink" } else { "idle" }]);
    let pids = [(0, source.0.id()), (1, sink.0.id())];
    namespaces::join_hosts(switch[0].pid(), &pids, &job.addresses, 1500).expect("namespaces");
    switch[0].send_command(ControlCommand::Open);
    events.all_ready(&mut switch, Duration::from_secs(10)).map_err(|e| e.to_string())?;
    let began = Instant::now();
    send_go(&mut source);
    let seen = match offered {
        None => Sink { frames: counted_rate(sink.0.id()), ..Sink::default() },
        Some(_) => {
            send_go(&mut sink);
            let output = sink.0.stdout.take().expect("piped");
            let mut numbers =
                BufReader::new(output).lines().map_while(Result::ok).filter_map(|l| l.parse().ok());
            let (frames, marked) = (numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0));
            let mut gaps_us: Vec<f64> = numbers.collect();
            gaps_us.sort_by(f64::total_cmp);
            Sink { frames, marked, gaps_us }
        }
    };
    // Before the source ends, so that this is a time in which there was something to do.
    switch[0].send_command(ControlCommand::Finish);
    let report = loop {
        match events.next_event(Instant::now() + Duration::from_secs(10)) {
            Some((_, ChildEvent::Answer(Answer::Switch(report)))) => break *report,
            Some((_, ChildEvent::Answer(_))) => {}
            other => return Err(format!("the switch did not report: {other:?}")),
        }
    };
    let took = began.elapsed().as_secs_f64();
    Ok(Run { sink: seen, report, took })
}

/// A process of this program, killed when dropped.
struct Role(Child);

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This program again, in a namespace of its own.
fn spawn_role(words: &[&str]) -> Role {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    in_new_namespace(&mut command);
    Role(command.spawn().expect("started"))
}

fn send_go(process: &mut Role) {
    writeln!(process.0.stdin.as_mut().expect("piped"), "go").expect("it listens");
}

fn wait_for_go() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a word");
}

/// Frames a second that came to `eth0` of a process, by the kernel's counter, so that no process has to read them.
fn counted_rate(pid: u32) -> f64 {
    let read = || {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/dev")).expect("counters");
        let line = text.lines().find(|l| l.trim_start().starts_with("eth0:")).expect("eth0");
        line.split_whitespace().nth(2).and_then(|n| n.parse::<f64>().ok()).expect("a number")
    };
    std::thread::sleep(Duration::from_secs_f64(EDGE));
    let (first, began) = (read(), Instant::now());
    std::thread::sleep(Duration::from_secs_f64(SECONDS - 2.0 * EDGE));
    (read() - first) / began.elapsed().as_secs_f64()
}

/// Sends full frames to host 1 at `bps` on the wire, in bursts of a millisecond; 0 is as fast as it can.
fn run_source(bps: u64) {
    wait_for_go();
    run_first(5);
    let mut interface = AfPacket::open("eth0").expect("eth0");
    // With a mark, and to the address of no interface.
    let to = [2, 0x48, 0x57, 2, 0, 0];
    let mut header = Ipv4Header::new(0, 64, IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2]).expect("a header");
    header.ecn = (Ecn::Spare as u8).try_into().expect("two bits");
    let mut frame = Vec::new();
    PacketBuilder::ethernet2([2, 0x48, 0x57, 0, 0, 0], to)
        .ip(IpHeaders::Ipv4(header, Default::default()))
        .udp(9, 9)
        .write(&mut frame, &[0; PAYLOAD])
        .expect("a frame");
    let (began, mut sent) = (Instant::now(), 0.0);
    while began.elapsed().as_secs_f64() < SECONDS + 5.0 {
        let due = began.elapsed().as_secs_f64() * bps as f64 / (WIRE * 8.0);
        // Bounded: after a late wake-up the source catches up over several milliseconds.
        let batch = if bps == 0 { BATCH } else { ((due - sent).max(0.0) as usize).min(4 * BATCH) };
        (0..batch).for_each(|_| interface.queue(&frame));
        interface.flush().expect("sent");
        sent += batch as f64;
        if bps > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Prints frames a second, then how many of them have a mark, then the gaps between them in microseconds, a line each.
fn run_sink() {
    wait_for_go();
    let mut interface = AfPacket::open("eth0").expect("eth0");
    let mut seen: Vec<(u64, bool)> = Vec::new();
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < SECONDS {
        let mut poll = libc::pollfd { fd: interface.fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        wait_readable(&mut poll);
        interface
            .receive(&mut |bytes, about| {
                // Frames to this host only; those that it sends itself are seen here too.
                if let (true, Some(Stamp::Wall(at))) = (bytes.len() > PAYLOAD, about.stamp) {
                    // Byte 15 is the type of service: the second of the IPv4 header, behind 14 of Ethernet.
                    seen.push((at, Ecn::from_bits(bytes[15] & 3) == Ecn::Spare));
                }
            })
            .expect("received");
    }
    let skip = (EDGE * 1e9) as u64;
    let (Some(&(first, _)), Some(&(last, _))) = (seen.first(), seen.last()) else { return };
    seen.retain(|&(at, _)| at >= first + skip && at + skip <= last);
    let (Some(&(first, _)), Some(&(last, _))) = (seen.first(), seen.last()) else { return };
    let marked = seen.iter().filter(|(_, marked)| *marked).count();
    // n frames have n - 1 gaps.
    let rate = (seen.len() - 1) as f64 / ((last - first) as f64 * 1e-9);
    let mut text = format!("{rate}\n{marked}\n");
    seen.windows(2).for_each(|w| text += &format!("{}\n", (w[1].0 - w[0].0) as f64 / 1e3));
    print!("{text}");
}

#[allow(unsafe_code, reason = "polling goes through libc")]
fn wait_readable(poll: &mut libc::pollfd) {
    // SAFETY: one descriptor that is open, for 100 ms at most.
    unsafe { libc::poll(poll, 1, 100) };
}
