//! The software switch on this machine: how many frames it forwards, and how evenly they leave.
//!
//! `cargo bench -p headway-testbed --bench datapath` prints both; it needs what the testbed needs (root).
//! Frames have 1514 bytes. *Forwarding*: no link is a bottleneck, the sender sends as fast as it can.
//! *Gaps*: the link to the receiver is saturated at a rate, and the kernel's receive stamps say how far
//! apart frames are.
#![allow(clippy::disallowed_methods, reason = "a benchmark of real packets")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its table goes to standard output")]

use etherparse::PacketBuilder;
use headway_switch::{AfPacket, FrameIo};
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

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["source", bps] => source(bps.parse().expect("a rate")),
        ["sink"] => sink(),
        _ => table(),
    }
}

fn table() {
    if let Err(error) = namespaces::available() {
        println!("skipped: {error}");
        return;
    }
    println!("| link | offered | delivered | switch CPU | gap ideal | p1 | p50 | p99 | within 20 % |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let (sink, report, took) = measure(100_000_000_000, None);
    let per_frame = report.cpu_s / report.delivered as f64 * 1e6;
    println!(
        "| no bottleneck | all it can | {:.3} M frames/s, {:.2} Gb/s | {per_frame:.2} us a frame, {:.0} % | | | | | |",
        sink.frames / 1e6,
        sink.frames * (WIRE - 24.0) * 8.0 / 1e9,
        100.0 * report.cpu_s / took
    );
    for bps in [100_000_000_u64, 500_000_000, 1_000_000_000] {
        let (sink, report, took) = measure(bps, Some(bps + bps / 20));
        let ideal = WIRE * 8e6 / bps as f64;
        let [p1, p50, p99] = [0.01, 0.5, 0.99].map(|q| quantile(&sink.gaps_us, q));
        let near = sink.gaps_us.iter().filter(|g| (*g / ideal - 1.0).abs() <= 0.2).count();
        println!(
            "| {} Mb/s | +5 % | {:.1} Mb/s | {:.0} % | {ideal:.1} us | {p1:.1} | {p50:.1} | {p99:.1} | {:.1} % |",
            bps / 1_000_000,
            sink.frames * WIRE * 8.0 / 1e6,
            100.0 * report.cpu_s / took,
            100.0 * near as f64 / sink.gaps_us.len().max(1) as f64
        );
    }
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted.get((sorted.len() as f64 * q) as usize).copied().unwrap_or(f64::NAN)
}

/// Frames a second, and sorted gaps in microseconds.
struct Sink {
    frames: f64,
    gaps_us: Vec<f64>,
}

/// One run: the sink's view, the switch's report, and how long the switch ran.
fn measure(link_bps: u64, offered: Option<u64>) -> (Sink, SwitchReport, f64) {
    let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    let text = format!(
        "stop = \"60 s\"\n[topology]\nkind = \"single-switch\"\nhosts = 2\nrate = \"{link_bps} bps\"\ndelay = \"10 us\"\n\
         [fabric]\nbuffer = \"{BUFFER}\"\n[transport]\nname = \"amrt\"\n[[traffic]]\nkind = \"flows\"\n\
         flows = [{{ src = 0, dst = 1, bytes = 1000, start = \"0 s\" }}]\n"
    );
    std::fs::write(file.path(), text).expect("written");
    let args = JobArgs { scenario: file.path().into(), slowdown: Some(1), ..JobArgs::default() };
    let job = Job::load(&args, headway_testbed::scenario::sizes(1500, false)).expect("a good scenario");
    let (sender, events) = ChildEvents::new();
    let mut words = args.to_arguments();
    words.extend(["--managed".into(), "--mtu=1500".into()]);
    words.extend([0, 1].map(|h| format!("--port=h{h}={}", namespaces::switch_interface(h))));
    let program = Path::new(env!("CARGO_BIN_EXE_headway-switch"));
    let mut switch = [ChildProcess::spawn("switch".into(), program, &words, 0, &sender).expect("the switch")];
    let mut source = role(&["source", &offered.unwrap_or(0).to_string()]);
    let mut sink = role(&["sink"]);
    let pids = [(0, source.id()), (1, sink.id())];
    namespaces::join(switch[0].pid(), &pids, &job.addresses, 1500).expect("namespaces");
    switch[0].tell(ControlCommand::Open);
    events.all_ready(&mut switch, Duration::from_secs(10)).expect("the switch gets ready");
    let began = Instant::now();
    go(&mut sink);
    go(&mut source);
    let unread = offered.is_none().then(|| counted(sink.id()));
    let lines: Vec<String> =
        BufReader::new(sink.stdout.take().expect("piped")).lines().map_while(Result::ok).collect();
    let _ = source.kill();
    let _ = source.wait();
    let _ = sink.wait();
    let took = began.elapsed().as_secs_f64();
    switch[0].tell(ControlCommand::Finish);
    let report = loop {
        match events.listen(Instant::now() + Duration::from_secs(10)) {
            Some((_, ChildEvent::Answer(Answer::Switch(report)))) => break *report,
            Some((_, ChildEvent::Answer(_))) => {}
            other => panic!("the switch did not report: {other:?}"),
        }
    };
    let mut numbers = lines.iter().filter_map(|l| l.parse::<f64>().ok());
    let frames = numbers.next().unwrap_or(0.0);
    let mut gaps_us: Vec<f64> = numbers.collect();
    gaps_us.sort_by(f64::total_cmp);
    (Sink { frames: unread.unwrap_or(frames), gaps_us }, report, took)
}

/// This program again, in a namespace of its own.
fn role(words: &[&str]) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    in_new_namespace(&mut command);
    command.spawn().expect("started")
}

fn go(process: &mut Child) {
    writeln!(process.stdin.as_mut().expect("piped"), "go").expect("it listens");
}

fn wait_for_go() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a word");
}

/// Frames a second that came to `eth0` of a process, by the kernel's counter: nobody needs to read them.
fn counted(pid: u32) -> f64 {
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
fn source(bps: u64) {
    wait_for_go();
    if bps > 0 {
        run_first(5);
    }
    let mut interface = AfPacket::open("eth0").expect("eth0");
    let mut frame = Vec::new();
    PacketBuilder::ethernet2([2, 0x48, 0x57, 0, 0, 0], [2, 0x48, 0x57, 1, 0, 0])
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(9, 9)
        .write(&mut frame, &[0; PAYLOAD])
        .expect("a frame");
    let (began, mut sent) = (Instant::now(), 0.0);
    while began.elapsed().as_secs_f64() < SECONDS + 1.0 {
        let due = began.elapsed().as_secs_f64() * bps as f64 / (WIRE * 8.0);
        let batch = if bps == 0 { BATCH } else { ((due - sent).max(0.0) as usize).min(4 * BATCH) };
        (0..batch).for_each(|_| interface.queue(&frame));
        interface.flush().expect("sent");
        sent += batch as f64;
        if bps > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Prints frames a second, then the gaps between frames in microseconds, a line each.
fn sink() {
    wait_for_go();
    let mut interface = AfPacket::open("eth0").expect("eth0");
    let mut stamps: Vec<u64> = Vec::new();
    let began = Instant::now();
    while began.elapsed().as_secs_f64() < SECONDS {
        let mut poll = libc::pollfd { fd: interface.fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        wait_readable(&mut poll);
        interface
            .receive(&mut |bytes, about| {
                // Frames to this host only; what it sends itself is seen here too.
                if bytes.len() > PAYLOAD {
                    stamps.extend(about.stamped_ns);
                }
            })
            .expect("received");
    }
    let skip = (EDGE * 1e9) as u64;
    let (Some(&first), Some(&last)) = (stamps.first(), stamps.last()) else { return };
    stamps.retain(|&s| s >= first + skip && s + skip <= last);
    let (Some(&first), Some(&last)) = (stamps.first(), stamps.last()) else { return };
    let mut text = format!("{}\n", (stamps.len() - 1) as f64 / ((last - first) as f64 * 1e-9));
    stamps.windows(2).for_each(|w| text += &format!("{}\n", (w[1] - w[0]) as f64 / 1e3));
    print!("{text}");
}

#[allow(unsafe_code, reason = "polling goes through libc")]
fn wait_readable(poll: &mut libc::pollfd) {
    // SAFETY: one descriptor that is open, for 100 ms at most.
    unsafe { libc::poll(poll, 1, 100) };
}
