//! Calls during an incast of long messages, over the switch.
//!
//! The client comes when the server's port is full: that it meets the server at all and gets its answers must not depend on what fills the port.
#![allow(clippy::disallowed_methods, reason = "sockets and real time")]
#![allow(clippy::print_stderr, reason = "how long each took")]

use crate::common::{note_absent, testbed_turn};
use crate::stage::Stage;
use headway_host::{Admission, Config, Endpoint, RecvError};
use headway_switch::{Addresses, IoChoice};
use headway_testbed::namespaces;
use headway_transport::registry;
use headway_units::{Rate, Time};
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server, a client, and senders of long messages.
const HOSTS: u32 = 10;
const SERVER: u32 = 0;
const CLIENT: u32 = 1;
const PORT: u16 = 4100;
/// Messages of a sender under way at a time, and bytes of each.
const UNDER_WAY: usize = 4;
const LONG: usize = 500_000;
/// Longest duration of a call, and until messages have arrived from every sender.
const LIMIT: Duration = Duration::from_secs(20);
const CALLS: u32 = 5;
/// Time by which ports are full.
const FILLS: Duration = Duration::from_millis(500);

fn host_address(host: u32) -> SocketAddrV4 {
    SocketAddrV4::new(Addresses::new(HOSTS).of(host), PORT)
}

fn bind_endpoint(stage: &Stage, host: u32, transport: &str) -> Arc<Endpoint> {
    let config = Config {
        transport: transport.into(),
        nic: Rate::new(100_000_000),
        // Transports whose hosts count rounds of time together need one clock.
        origin_ns: Some(0),
        // The switch fills in stamps where packets have room for them.
        telemetry: true,
        // All of them at once: the port is as full as it can be.
        turns: false,
        admission: Admission::Prefixes(vec!["10.0.0.0/8".parse().expect("a prefix")]),
        call_timeout: Time::ns(LIMIT.as_nanos() as u64),
        ..Config::default()
    };
    Arc::new(stage.run_within(host, move || Endpoint::bind(host_address(host), config)).expect("an endpoint"))
}

/// Threads that run until they are stopped.
struct Threads {
    stop: Arc<AtomicBool>,
    endpoints: Vec<Arc<Endpoint>>,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    fn spawn_loop(&mut self, endpoint: &Arc<Endpoint>, mut step: impl FnMut(&Endpoint) + Send + 'static) {
        let (stop, driven) = (Arc::clone(&self.stop), Arc::clone(endpoint));
        self.endpoints.push(Arc::clone(endpoint));
        self.threads.push(std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                step(&driven);
            }
        }));
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Closed before the join, which ends the waits that threads are in.
        self.endpoints.iter().for_each(|endpoint| endpoint.close());
        self.threads.drain(..).for_each(|thread| _ = thread.join());
    }
}

/// Failure of a transport, if there is one.
fn find_fault(transport: &str) -> Option<String> {
    let stage = Stage::set_up(HOSTS, "100 Mbps", "1 us", "128 kB", 1500);
    // Not `_`, which would kill the switch at once.
    let (_switch, said) =
        stage.start_switch(IoChoice::Auto, 1500, &["--set", &format!("transport.name={transport}")]);
    if !said.contains("Ctrl-C ends it") {
        return Some(format!("the switch: {said}"));
    }
    let mut threads =
        Threads { stop: Arc::new(AtomicBool::new(false)), endpoints: Vec::new(), threads: Vec::new() };
    let heard: Arc<[AtomicU64; HOSTS as usize]> = Arc::default();
    let counts = Arc::clone(&heard);
    let server = bind_endpoint(&stage, SERVER, transport);
    threads.spawn_loop(&server, move |server| match server.recv_timeout(Duration::from_millis(50)) {
        Ok(message) if message.wants_reply() => _ = message.reply(message.bytes.clone()),
        Ok(message) => {
            let from = (0..HOSTS).find(|&host| SocketAddr::from(host_address(host)) == message.peer);
            from.map(|host| counts[host as usize].fetch_add(1, Ordering::Relaxed));
        }
        Err(RecvError::TimedOut | RecvError::Closed | RecvError::Forked(_)) => {}
    });
    for host in CLIENT + 1..HOSTS {
        let sender = bind_endpoint(&stage, host, transport);
        let mut under_way = std::collections::VecDeque::new();
        threads.spawn_loop(&sender, move |sender| {
            while under_way.len() < UNDER_WAY {
                let Ok(handle) = sender.send_nowait(host_address(SERVER).into(), vec![host as u8; LONG])
                else {
                    break;
                };
                under_way.push_back(handle);
            }
            let first = under_way.front().map(|handle| handle.wait_timeout(Duration::from_millis(50)));
            // A failed message is replaced as well: the port has to stay full.
            if first.is_none_or(|outcome| outcome.is_some()) {
                under_way.pop_front();
            }
        });
    }
    let busy = |host: u32| heard[host as usize].load(Ordering::Relaxed) > 0;
    let until = Instant::now() + LIMIT;
    // Transports that serve the shortest first may serve one sender for long.
    while !(CLIENT + 1..HOSTS).any(busy) {
        if Instant::now() > until {
            return Some("no long message has arrived".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(FILLS);
    let client = bind_endpoint(&stage, CLIENT, transport);
    for number in 0..CALLS {
        let request = vec![number as u8; 100];
        match client.call(host_address(SERVER).into(), request.clone()) {
            Ok(reply) if reply == request => {}
            Ok(_) => return Some(format!("call {number} got another's reply")),
            Err(error) => return Some(format!("call {number}: {error}")),
        }
    }
    None
}

fn answered_by(names: &[&str]) {
    if let Err(error) = namespaces::check_prerequisites() {
        return note_absent(&error.to_string());
    }
    let _turn = testbed_turn();
    let mut wrong = Vec::new();
    for name in names {
        let began = Instant::now();
        let fault = find_fault(name);
        eprintln!("{name}: {:.1?} {}", began.elapsed(), fault.as_deref().unwrap_or("ok"));
        wrong.extend(fault.map(|fault| format!("{name}: {fault}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "ten hosts that fill a port, for seconds: make test-long"]
fn calls_beside_an_incast_over_the_switch_are_answered() {
    answered_by(&["amrt", "homa", "rpo"]);
}

#[test]
#[ignore = "90 s of real time, in which rate controls starve on a busy machine: make testbed-matrix runs it"]
fn every_transport_answers_calls_beside_an_incast_over_the_switch() {
    answered_by(registry::NAMES);
}
