//! Hosts that call each other through a switch that loses, doubles and reorders, while hosts are killed and
//! come back: no call that was answered is lost, doubled or corrupted, and memory stays flat.
//!
//! Two seconds of AMRT by default, and of every transport of the registry with `--ignored` (`make test-long`);
//! `cargo test -p headway-testbed --test soak -- --seconds 3600` for an hour each, `--transport NAME` for one alone. Every attempt of a call has a number of its own. The callee writes it down before it answers, the caller when it
//! begins and when it has the answer; the records are compared at the end. An attempt without an answer
//! (its callee was killed) is made again under a new number, so it must have arrived once at most.
#![allow(clippy::disallowed_methods, reason = "processes, files and real time")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what was measured, or why nothing was")]

use headway_host::{Admission, Config, Endpoint};
use headway_testbed::child::{ChildEvent, ChildEvents, ChildProcess};
use headway_testbed::messages::{Answer, ControlCommand, SwitchReport};
use headway_testbed::namespaces::{self, in_namespace_of, in_new_namespace};
use headway_testbed::{Job, JobArgs, payload};
use headway_transport::{Path as NetworkPath, registry};
use headway_units::{Rate, Time};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const HOSTS: u32 = 3;
const CALLERS: u32 = 3;
/// Transports that are tried side by side.
const AT_ONCE: usize = 3;
/// Longest request or reply.
const LARGEST: f64 = 300_000.0;
const PORT: u16 = headway_packet::UDP_PORT;
/// Time for which a killed host stays away.
const AWAY: Duration = Duration::from_millis(500);
/// Time for which an endpoint may keep memory after the last call.
const SETTLE: Duration = Duration::from_secs(10);
/// Time that hosts may take to finish their messages.
const FINISH: Duration = Duration::from_secs(60);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["anchor"] => wait_for_end(),
        ["host", host, incarnation, transport, log] => {
            let number = |text: &str| text.parse().expect("a number");
            Host::new(number(host), number(incarnation), transport, Path::new(log)).serve_host();
        }
        _ => soak_all(&words),
    }
}

fn soak_all(words: &[String]) {
    let after = |flag: &str| words.iter().position(|w| w == flag).and_then(|i| words.get(i + 1));
    let asked = after("--seconds").map(|s| s.parse().expect("--seconds N"));
    let seconds: u64 = asked.unwrap_or(2);
    if words.iter().any(|w| w == "--list") {
        return;
    }
    if let Err(error) = namespaces::check_prerequisites() {
        let why = error.to_string().replace("the testbed needs ", "");
        headway_testing::absent(&format!("testbed: {}", why.split(':').next().unwrap_or_default()));
        return;
    }
    let every = asked.is_some() || words.iter().any(|w| w == "--ignored" || w == "--include-ignored");
    let only = after("--transport").map(String::as_str).or(if every { None } else { Some("amrt") });
    let all: Vec<&'static str> =
        registry::NAMES.iter().copied().filter(|name| only.is_none_or(|only| only == *name)).collect();
    assert!(!all.is_empty(), "there is no transport {only:?}");
    // Hosts mostly wait, so that several networks fit on one machine; each has namespaces of its own.
    let next = Mutex::new(all.into_iter());
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(transport) = take() {
                    soak_one(transport, seconds);
                }
            });
        }
    });
    println!("test result: ok. soak of {seconds} s a transport");
}

fn soak_one(transport: &'static str, seconds: u64) {
    let mut stage = Stage::set_up(transport);
    stage.play_for(Duration::from_secs(seconds));
    let (report, memory) = stage.end_hosts();
    let tally = Tally::read_logs(stage.logs.path());
    tally.check_calls();
    tally.print_tally(transport, seconds, &report, &memory);
    memory.check_flat();
}

// --- one host ---

/// One process: callers, and one thread that answers.
struct Host {
    host: u32,
    incarnation: u32,
    endpoint: Endpoint,
    log: Mutex<File>,
}

/// A request's first bytes.
#[derive(Clone, Copy)]
struct Head {
    host: u32,
    incarnation: u32,
    caller: u32,
    call: u32,
    attempt: u32,
    request: u32,
    reply: u32,
}

impl Head {
    const BYTES: usize = 28;

    fn to_bytes(self) -> Vec<u8> {
        let Head { host, incarnation, caller, call, attempt, request, reply } = self;
        [host, incarnation, caller, call, attempt, request, reply]
            .iter()
            .flat_map(|n| n.to_be_bytes())
            .collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Head> {
        let head = bytes.get(..Head::BYTES)?;
        let n: Vec<u32> =
            head.chunks_exact(4).map(|c| u32::from_be_bytes([c[0], c[1], c[2], c[3]])).collect();
        let &[host, incarnation, caller, call, attempt, request, reply] = &n[..] else { return None };
        Some(Head { host, incarnation, caller, call, attempt, request, reply })
    }

    /// Names the call, whatever the attempt.
    fn call_name(self) -> String {
        format!("{}.{}.{}.{}", self.host, self.incarnation, self.caller, self.call)
    }

    /// Seed of the bytes that a request or a reply of this attempt carries.
    fn payload_seed(self, reply: bool) -> (u64, u32) {
        let high =
            u64::from(self.host) << 40 | u64::from(self.incarnation) << 24 | u64::from(self.caller) << 8;
        (high | u64::from(reply), self.call.wrapping_mul(1000).wrapping_add(self.attempt))
    }

    fn message_bytes(self, reply: bool) -> Vec<u8> {
        let (seed, number) = self.payload_seed(reply);
        let length = if reply { self.reply } else { self.request };
        let mut bytes = self.to_bytes();
        bytes.extend(payload::generate_payload(seed, number, length.into()));
        bytes
    }

    fn is_intact(self, reply: bool, bytes: &[u8]) -> bool {
        let (seed, number) = self.payload_seed(reply);
        let length = if reply { self.reply } else { self.request };
        bytes.get(..Head::BYTES) == Some(&self.to_bytes()[..])
            && payload::is_intact(seed, number, length.into(), &bytes[Head::BYTES..])
    }
}

impl Host {
    fn new(host: u32, incarnation: u32, transport: &str, log: &Path) -> Host {
        let config = Config {
            transport: transport.into(),
            nic: Some(Rate::new(100_000_000).expect("positive")),
            path: NetworkPath {
                base_rtt: Time::ms(1),
                max_rtt: Time::ms(20),
                bottleneck: Rate::new(100_000_000).expect("positive"),
                paths: 0,
                hops: 1,
                longest_timeout: Time::s(1),
            },
            admission: Admission::Prefixes(vec!["10.0.0.0/8".parse().expect("a prefix")]),
            peer_timeout: Time::s(3),
            call_timeout: Time::s(10),
            // All hosts are on this machine and read one clock, as dcPIM needs.
            origin_ns: Some(0),
            // Packets go through the switch, which fills in stamps.
            telemetry: true,
            ..Config::default()
        };
        let endpoint = Endpoint::bind(host_address(host), config).expect("it binds");
        let log = OpenOptions::new().create(true).append(true).open(log).expect("a log");
        Host { host, incarnation, endpoint, log: Mutex::new(log) }
    }

    /// A line of the log survives this process once it is written.
    fn note_line(&self, line: &str) {
        // One write of a whole line, in append mode: a killed process leaves no half of one.
        self.log.lock().expect("no panic").write_all(format!("{line}\n").as_bytes()).expect("written");
    }

    fn serve_host(&self) {
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..CALLERS)
                .map(|c| {
                    scope.spawn({
                        let stop = &stop;
                        move || self.call_on(c, stop)
                    })
                })
                .collect();
            scope.spawn(|| self.answer_requests(&over));
            let mut line = String::new();
            // An error counts as the word: the parent is gone.
            let _ = std::io::stdin().read_line(&mut line);
            stop.store(true, Ordering::Relaxed);
            callers.into_iter().for_each(|c| c.join().expect("no panic"));
            println!("callers are done");
            // Others may still call.
            wait_for_end();
            over.store(true, Ordering::Relaxed);
        });
        // Memory of calls that were under way when others ended is freed when they have ended too.
        let deadline = Instant::now() + SETTLE;
        while self.endpoint.memory_used() > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.note_line(&format!("memory {}", self.endpoint.memory_used()));
        for (what, count) in self.endpoint.stats().iter() {
            self.note_line(&format!("stat {what} {count}"));
        }
    }

    fn call_on(&self, caller: u32, stop: &AtomicBool) {
        let seed = u64::from(self.host) << 32 | u64::from(self.incarnation) << 8 | u64::from(caller);
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        // Uniform in the logarithm: as many messages of 10 to 100 bytes as of 10 to 100 kB.
        let mut size = move || (LARGEST.powf(random.next_u32() as f64 / u32::MAX as f64)) as u32;
        let mut call = 0;
        while !stop.load(Ordering::Relaxed) {
            call += 1;
            let peer = (self.host + 1 + size() % (HOSTS - 1)) % HOSTS;
            let head = Head {
                host: self.host,
                incarnation: self.incarnation,
                caller,
                call,
                attempt: 0,
                request: size(),
                reply: size(),
            };
            // Tried until it is answered: a call is lost only if no attempt ever is.
            for attempt in 0.. {
                let head = Head { attempt, ..head };
                if self.attempt_call(host_address(peer), head) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    fn attempt_call(&self, peer: SocketAddr, head: Head) -> bool {
        self.note_line(&format!("begun {} {}", head.call_name(), head.attempt));
        match self.endpoint.call(peer, head.message_bytes(false)) {
            Ok(reply) if head.is_intact(true, &reply) => {
                self.note_line(&format!("answered {} {}", head.call_name(), head.attempt))
            }
            Ok(_) => self.note_line(&format!("corrupted-reply {} {}", head.call_name(), head.attempt)),
            Err(error) => {
                self.note_line(&format!("failed {} {} {error}", head.call_name(), head.attempt));
                return false;
            }
        }
        true
    }

    fn answer_requests(&self, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            let Ok(request) = self.endpoint.recv_timeout(Duration::from_millis(20)) else { continue };
            match Head::from_bytes(&request.bytes) {
                Some(head) if head.is_intact(false, &request.bytes) => {
                    self.note_line(&format!("received {} {}", head.call_name(), head.attempt));
                    // If the caller is gone, so is its question.
                    let _ = request.reply(head.message_bytes(true));
                }
                _ => self.note_line("corrupted-request - 0"),
            }
        }
    }
}

fn host_address(host: u32) -> SocketAddr {
    (Ipv4Addr::from(0x0a00_0001 + host), PORT).into()
}

fn wait_for_end() {
    // It ends when the parent does, too, so that a killed test leaves no process.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

// --- all of them ---

struct Stage {
    transport: &'static str,
    logs: tempfile::TempDir,
    switch: [ChildProcess; 1],
    events: ChildEvents,
    anchors: Vec<Child>,
    hosts: Vec<Child>,
    incarnations: u32,
    memory: Memory,
}

impl Stage {
    fn set_up(transport: &'static str) -> Stage {
        let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
        let text = format!(
            "stop = \"10000 s\"\n[topology]\nkind = \"single-switch\"\nhosts = {HOSTS}\nrate = \"100 Mbps\"\ndelay = \"100 us\"\n\
             [fabric]\nbuffer = \"128 packets\"\n[transport]\nname = \"{transport}\"\n[[traffic]]\nkind = \"flows\"\n\
             flows = [{{ src = 0, dst = 1, bytes = 1000, start = \"0 s\" }}]\n\
             [[fault]]\nloss = 0.01\nduplicate = 0.01\nreorder = 0.01\nreorder_by = \"400 us\"\n"
        );
        std::fs::write(file.path(), text).expect("written");
        let args = JobArgs { scenario: file.path().into(), slowdown: Some(1), ..JobArgs::default() };
        let job = Job::load_job(&args, headway_testbed::scenario::packet_sizes(1500, false))
            .expect("a good scenario");
        let (sender, events) = ChildEvents::new();
        let mut words = args.to_arguments();
        words.extend(["--managed".into(), "--mtu=1500".into()]);
        words.extend((0..HOSTS).map(|h| format!("--port=h{h}={}", namespaces::switch_interface(h))));
        let program = Path::new(env!("CARGO_BIN_EXE_headway-switch"));
        let switch =
            [ChildProcess::spawn_child("switch".into(), program, &words, 0, &sender).expect("the switch")];
        // A host's namespace outlives the host.
        let anchors: Vec<Child> = (0..HOSTS).map(|_| spawn_self(&["anchor"], in_new_namespace)).collect();
        let pids: Vec<(u32, u32)> = (0..HOSTS).zip(&anchors).map(|(h, a)| (h, a.id())).collect();
        namespaces::join_hosts(switch[0].pid(), &pids, &job.addresses, 1500).expect("namespaces");
        let logs = tempfile::tempdir().expect("a directory");
        let mut stage = Stage {
            transport,
            logs,
            switch,
            events,
            anchors,
            hosts: Vec::new(),
            incarnations: 0,
            memory: Memory::default(),
        };
        stage.switch[0].send_command(ControlCommand::Open);
        stage.events.all_ready(&mut stage.switch, Duration::from_secs(20)).expect("the switch gets ready");
        stage.switch[0].send_command(ControlCommand::Start { at_ns: 0 });
        stage.hosts = (0..HOSTS).map(|h| stage.spawn_host(h)).collect();
        stage
    }

    fn spawn_host(&mut self, host: u32) -> Child {
        self.incarnations += 1;
        let (number, incarnation) = (host.to_string(), self.incarnations.to_string());
        let log: PathBuf = self.logs.path().join(format!("{host}.{incarnation}"));
        let namespace = self.anchors[host as usize].id();
        spawn_self(&["host", &number, &incarnation, self.transport, log.to_str().expect("text")], |command| {
            in_namespace_of(command, namespace).expect("it is there");
        })
    }

    /// Kills a host and brings it back: once in the middle, in a long run every half a minute.
    fn play_for(&mut self, lasts: Duration) {
        let began = Instant::now();
        let every = (lasts / 2).min(Duration::from_secs(30));
        let mut next = every;
        let mut victim = 0;
        while began.elapsed() < lasts {
            std::thread::sleep(Duration::from_millis(250));
            self.memory.take_sample(&self.switch, &self.hosts);
            if began.elapsed() >= next {
                next += every;
                victim = (victim + 1) % HOSTS;
                let host = &mut self.hosts[victim as usize];
                host.kill().and_then(|()| host.wait()).expect("killed");
                std::thread::sleep(AWAY);
                self.hosts[victim as usize] = self.spawn_host(victim);
            }
        }
    }

    /// Lets all hosts finish; none leaves before all have their answers.
    fn end_hosts(&mut self) -> (SwitchReport, Memory) {
        let (said, done) = std::sync::mpsc::channel();
        for host in &mut self.hosts {
            writeln!(host.stdin.as_mut().expect("piped"), "stop").expect("it listens");
            let output = host.stdout.take().expect("piped");
            let said = said.clone();
            std::thread::spawn(move || {
                let mut line = String::new();
                let _ = std::io::BufReader::new(output).read_line(&mut line);
                let _ = said.send(line);
            });
        }
        let deadline = Instant::now() + FINISH;
        for _ in 0..HOSTS {
            let line = done.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            assert_eq!(line.as_deref(), Ok("callers are done\n"), "a host did not finish its calls");
        }
        for host in &mut self.hosts {
            drop(host.stdin.take());
            assert!(host.wait().expect("a status").success(), "a host failed");
        }
        self.switch[0].send_command(ControlCommand::Finish);
        loop {
            match self.events.next_event(Instant::now() + Duration::from_secs(20)) {
                Some((_, ChildEvent::Answer(Answer::Switch(report)))) => {
                    return (*report, std::mem::take(&mut self.memory));
                }
                Some((_, ChildEvent::Answer(_))) => {}
                other => panic!("the switch did not report: {other:?}"),
            }
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for process in self.hosts.iter_mut().chain(&mut self.anchors) {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn spawn_self(words: &[&str], place: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
    place(&mut command);
    command.spawn().expect("started")
}

/// Resident memory over time, in KiB: the switch's, and the largest host's.
#[derive(Default)]
struct Memory {
    switch: Vec<u64>,
    hosts: Vec<u64>,
}

impl Memory {
    fn take_sample(&mut self, switch: &[ChildProcess; 1], hosts: &[Child]) {
        self.switch.extend(resident_kib(switch[0].pid()));
        self.hosts.extend(hosts.iter().filter_map(|h| resident_kib(h.id())).max());
    }

    /// Largest in the second quarter, and in the last.
    fn early_and_late(series: &[u64]) -> (u64, u64) {
        let quarter = series.len() / 4;
        let most = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
        // The first quarter is left out: buffers and tables grow to their size in it.
        (most(&series[quarter..2 * quarter]), most(&series[3 * quarter..]))
    }

    fn check_flat(&self) {
        for (who, series) in [("switch", &self.switch), ("hosts", &self.hosts)] {
            let (early, late) = Memory::early_and_late(series);
            // A leak grows with the run; half as much again and 16 MiB are what short runs vary by.
            assert!(late <= early * 3 / 2 + 16_384, "{who}: {early} KiB early, {late} KiB late");
        }
    }
}

fn resident_kib(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|l| l.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok())
}

/// Records of all hosts.
#[derive(Default)]
struct Tally {
    begun: BTreeSet<(String, u32)>,
    answered: BTreeSet<(String, u32)>,
    failed: BTreeMap<String, u64>,
    received: BTreeMap<(String, u32), u32>,
    corrupted: u64,
    stats: BTreeMap<String, u64>,
    /// Senders that lived to the end, as `host.incarnation.`
    survivors: Vec<String>,
    left_over: u64,
}

impl Tally {
    fn read_logs(directory: &Path) -> Tally {
        let mut tally = Tally::default();
        for entry in std::fs::read_dir(directory).expect("the logs") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            for line in std::fs::read_to_string(&path).expect("text").lines() {
                tally.enter_line(&name, line);
            }
        }
        tally
    }

    fn enter_line(&mut self, name: &str, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let attempt = || (words[1].to_string(), words[2].parse().expect("a number"));
        match words[0] {
            "begun" => drop(self.begun.insert(attempt())),
            "answered" => drop(self.answered.insert(attempt())),
            "failed" => *self.failed.entry(words[3..].join(" ")).or_insert(0) += 1,
            "received" => *self.received.entry(attempt()).or_insert(0) += 1,
            "memory" => {
                self.survivors.push(format!("{name}."));
                self.left_over += words[1].parse::<u64>().expect("a number");
            }
            "stat" => {
                *self.stats.entry(words[1].into()).or_insert(0) += words[2].parse::<u64>().expect("a number")
            }
            _ => self.corrupted += 1,
        }
    }

    fn check_calls(&self) {
        assert_eq!(self.corrupted, 0, "corrupted messages");
        let twice: Vec<_> = self.received.iter().filter(|(_, n)| **n > 1).collect();
        assert!(twice.is_empty(), "received twice: {twice:?}");
        let unheard: Vec<_> = self.answered.iter().filter(|a| !self.received.contains_key(*a)).collect();
        assert!(unheard.is_empty(), "answered but never received: {unheard:?}");
        let unsaid: Vec<_> = self.received.keys().filter(|a| !self.begun.contains(*a)).collect();
        assert!(unsaid.is_empty(), "received but never sent: {unsaid:?}");
        let done: BTreeSet<&String> = self.answered.iter().map(|(name, _)| name).collect();
        let lost = |(name, _): &&(String, u32)| {
            self.survivors.iter().any(|s| name.starts_with(s)) && !done.contains(name)
        };
        let lost: Vec<_> = self.begun.iter().filter(lost).collect();
        assert!(lost.is_empty(), "never answered: {lost:?}");
        assert!(!self.answered.is_empty(), "nobody called anybody");
        // No endpoint is closed on purpose here: one that is closed has failed.
        let closed = self.failed.keys().find(|why| why.contains("endpoint is closed"));
        assert_eq!(closed, None, "an endpoint ended by itself");
        assert_eq!(self.left_over, 0, "bytes still held by idle endpoints");
    }

    fn print_tally(&self, transport: &str, seconds: u64, report: &SwitchReport, memory: &Memory) {
        let faults = |count: fn(&headway_network::FaultCounts) -> u64| -> u64 {
            report.links.iter().filter_map(|l| l.to_record()).map(|l| count(&l.faults)).sum()
        };
        let (switch, hosts) = (Memory::early_and_late(&memory.switch), Memory::early_and_late(&memory.hosts));
        println!(
            "{transport}: {seconds} s, {} calls answered ({} messages), {} attempts failed, {} frames; injected: {} lost, \
             {} doubled, {} late; no message lost, doubled or corrupted; resident KiB, second quarter and last: \
             switch {} and {}, largest host {} and {}",
            self.answered.len(),
            2 * self.answered.len(),
            self.failed.values().sum::<u64>(),
            report.received,
            faults(|f| f.dropped_at_random),
            faults(|f| f.duplicated),
            faults(|f| f.delayed),
            switch.0,
            switch.1,
            hosts.0,
            hosts.1
        );
        self.failed.iter().for_each(|(why, count)| println!("  failed: {count} x {why}"));
    }
}
