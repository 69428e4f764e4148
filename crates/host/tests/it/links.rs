//! Two hosts with two links each: plain veth pairs between two network namespaces, one pair for each network.
#![allow(clippy::disallowed_methods, reason = "processes and real time")]

use headway_host::{Admission, Config, Endpoint, PathInfo, PathState};
use headway_units::{Rate, Time};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(60);
const MULTIPATH: [&str; 6] =
    ["proactmp", "mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-wvegas", "mptcp-cubic"];

/// One test has the links of this machine at a time; `None`, noted with the reason, where it can make none.
fn links_turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    let tried = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    // Tried in a namespace of its own, which takes the interfaces with it when `unshare` ends.
    let veth = ["-n", "ip", "link", "add", "name", "a", "type", "veth", "peer", "name", "b"];
    let tbf = [
        "-n", "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "1600", "limit",
        "9000",
    ];
    for (lacking, words) in [("veth interfaces in network namespaces", &veth[..]), ("tc with tbf", &tbf)] {
        if !tried("unshare", words) {
            headway_testing::absent(lacking);
            return None;
        }
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A process in a network namespace of its own, which goes with it. It ends by itself if this one is killed.
fn spawn_anchor() -> Child {
    let child = Command::new("unshare").args(["-n", "sleep", "300"]).spawn().expect("it starts");
    // `spawn` returns before `unshare` has made the namespace; until then its process is still in this one.
    let own = std::fs::read_link("/proc/self/ns/net").expect("a namespace");
    let began = Instant::now();
    while std::fs::read_link(format!("/proc/{}/ns/net", child.id())).is_ok_and(|of| of == own) {
        assert!(began.elapsed() < LONG, "it has no namespace of its own");
        thread::sleep(Duration::from_millis(2));
    }
    child
}

/// One link of both hosts.
#[derive(Clone, Copy)]
struct Link {
    mbps: u64,
    mtu: u32,
}

const PLAIN: Link = Link { mbps: 100, mtu: 1500 };

/// The namespaces of two hosts.
struct Pair([Child; 2]);

impl Pair {
    fn join_hosts(links: [Link; 2]) -> Pair {
        let pair = Pair([spawn_anchor(), spawn_anchor()]);
        for (n, Link { mbps, mtu }) in links.into_iter().enumerate() {
            let other = pair.0[1].id();
            pair.run_program(
                0,
                "ip",
                &format!("link add name eth{n} mtu {mtu} type veth peer name eth{n} mtu {mtu} netns {other}"),
            );
            for host in 0..2 {
                pair.run_program(
                    host,
                    "ip",
                    &format!("address add {}/24 dev eth{n}", host_address(host, n).ip()),
                );
                pair.run_program(host, "ip", &format!("link set eth{n} up"));
                pair.run_program(
                    host,
                    "tc",
                    &format!("qdisc add dev eth{n} root tbf rate {mbps}mbit burst 15140 limit 300000"),
                );
            }
        }
        (0..2).for_each(|host| pair.run_program(host, "ip", "link set lo up"));
        pair
    }

    /// Has a program do something in the namespace of a host.
    fn run_program(&self, host: usize, program: &str, words: &str) {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.0[host].id())).arg(program).args(words.split(' '));
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{program} {words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn bind_endpoint(&self, host: usize, config: Config) -> Endpoint {
        let namespace = File::open(format!("/proc/{}/ns/net", self.0[host].id())).expect("it is there");
        // A namespace is a property of a thread, and a socket stays in the one in which it was made.
        let made = thread::spawn(move || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network).expect("it may be entered");
            Endpoint::bind(host_address(host, 0), config).expect("bound")
        });
        made.join().expect("made")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn host_address(host: usize, network: usize) -> SocketAddr {
    SocketAddr::from(([10, 77, network as u8, 1 + host as u8], 7000))
}

fn host_config(transport: &str, host: usize, links: [Link; 2]) -> Config {
    Config {
        transport: transport.into(),
        addresses: vec![host_address(host, 1)],
        admission: Admission::Prefixes(vec!["10.77.0.0/16".parse().expect("a prefix")]),
        nic: Rate::new(links.iter().map(|link| link.mbps * 1_000_000).sum()),
        // Short, so that the tests see paths die; longer than a queue of 300 kB takes to drain at 25 Mb/s (100
        // ms).
        path_timeout: Time::ms(500),
        ..Config::default()
    }
}

/// Two endpoints, of which the second answers each message with its number.
struct Hosts {
    client: Endpoint,
    server: Arc<Endpoint>,
    serving: Option<thread::JoinHandle<()>>,
    sent: u64,
}

impl Hosts {
    fn from_pair(pair: &Pair, configs: [Config; 2]) -> Hosts {
        let [client, server] = configs;
        let (client, server) = (pair.bind_endpoint(0, client), Arc::new(pair.bind_endpoint(1, server)));
        let at = Arc::clone(&server);
        let serving = thread::spawn(move || {
            let mut expected = 0u64;
            while let Ok(message) = at.recv() {
                let bytes = &message.bytes;
                let number = u64::from_be_bytes(*bytes.first_chunk().expect("a number"));
                assert_eq!(number, expected, "in order, each once: one call at a time");
                assert!(
                    bytes[8..].iter().enumerate().all(|(at, byte)| *byte == pattern_byte(number, at)),
                    "unaltered"
                );
                expected += 1;
                let _ = message.reply(number.to_be_bytes().to_vec());
            }
        });
        Hosts { client, server, serving: Some(serving), sent: 0 }
    }

    /// A call with so many bytes.
    fn call_bytes(&mut self, length: usize) {
        let mut bytes = self.sent.to_be_bytes().to_vec();
        bytes.extend((0..length).map(|at| pattern_byte(self.sent, at)));
        let answer = self.client.call_timeout(host_address(1, 0), bytes, LONG);
        let answer =
            answer.unwrap_or_else(|e| panic!("{e}: {:#?} {:#?}", self.client.paths(), self.client.stats()));
        assert_eq!(answer[..], self.sent.to_be_bytes());
        self.sent += 1;
    }

    /// Calls until the paths of the client are so.
    fn call_until(&mut self, what: &str, are: impl Fn(&[PathInfo]) -> bool) {
        let began = Instant::now();
        while !are(&self.client.paths()) {
            assert!(began.elapsed() < LONG, "never {what}: {:#?}", self.client.paths());
            self.call_bytes(100_000);
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.server.close();
        if let Some(serving) = self.serving.take() {
            let ended = serving.join();
            assert!(ended.is_ok() || thread::panicking(), "the server has checked everything");
        }
    }
}

fn pattern_byte(number: u64, at: usize) -> u8 {
    (number as usize * 31 + at * 7 + at / 251) as u8
}

fn both_in(state: PathState) -> impl Fn(&[PathInfo]) -> bool {
    move |paths| paths.len() == 2 && paths.iter().all(|path| path.state == state)
}

fn second_in(state: PathState) -> impl Fn(&[PathInfo]) -> bool {
    move |paths| paths.get(1).is_some_and(|path| path.state == state)
}

#[test]
fn two_links_carry_messages_whatever_their_rates() {
    let Some(_turn) = links_turn() else { return };
    for links in [[PLAIN; 2], [PLAIN, Link { mbps: 25, ..PLAIN }]] {
        let pair = Pair::join_hosts(links);
        for transport in MULTIPATH {
            let mut hosts = Hosts::from_pair(&pair, [0, 1].map(|host| host_config(transport, host, links)));
            hosts.call_until("two open paths", both_in(PathState::Open));
            let began = Instant::now();
            (0..3).for_each(|_| hosts.call_bytes(2_000_000));
            let (seconds, paths) = (began.elapsed().as_secs_f64(), hosts.client.paths());
            let sent: Vec<u64> = paths.iter().map(|path| path.counts.bytes_sent).collect();
            println!(
                "{transport} over {} + {} Mb/s: {:.0} Mb/s, {sent:?} bytes by path",
                links[0].mbps,
                links[1].mbps,
                // Three messages of 2 MB are 48 Mb.
                48.0 / seconds
            );
            assert!(sent.iter().all(|bytes| *bytes > 100_000), "{transport}: {paths:#?}");
        }
    }
}

#[test]
fn a_link_goes_down_and_comes_back_and_every_message_arrives() {
    let Some(_turn) = links_turn() else { return };
    let links = [PLAIN; 2];
    for transport in ["proactmp", "mptcp-olia"] {
        let pair = Pair::join_hosts(links);
        let mut hosts = Hosts::from_pair(&pair, [0, 1].map(|host| host_config(transport, host, links)));
        hosts.call_until("two open paths", both_in(PathState::Open));
        pair.run_program(1, "ip", "link set eth1 down");
        hosts.call_until("dead", second_in(PathState::Dead));
        (0..10).for_each(|_| hosts.call_bytes(100_000));
        pair.run_program(1, "ip", "link set eth1 up");
        hosts.call_until("back", both_in(PathState::Open));
        let paths = hosts.client.paths();
        assert!(paths[1].counts.deaths >= 1 && paths[1].counts.returns >= 1, "{paths:#?}");
    }
}

#[test]
fn a_link_that_carries_shorter_packets_is_known_and_left_alone() {
    let Some(_turn) = links_turn() else { return };
    let links = [PLAIN, Link { mtu: 1000, ..PLAIN }];
    let pair = Pair::join_hosts(links);
    let mut hosts = Hosts::from_pair(&pair, [0, 1].map(|host| host_config("proactmp", host, links)));
    // The search for the MTU ends within 16 bytes of it.
    hosts.call_until("measured", |paths| paths.get(1).is_some_and(|path| path.mtu > 980));
    let path = hosts.client.paths()[1];
    assert!(path.state == PathState::Narrow && path.mtu <= 1000 && path.counts.packets_sent == 0, "{path:?}");
}

#[test]
fn an_address_goes_with_its_interface_and_comes_back_with_it() {
    let Some(_turn) = links_turn() else { return };
    let links = [PLAIN; 2];
    // The second network, and the one over which the two met.
    for (network, transport) in [(1, "proactmp"), (0, "mptcp-lia")] {
        let pair = Pair::join_hosts(links);
        let follow = |host| Config { follow_interfaces: true, ..host_config(transport, host, links) };
        let mut hosts = Hosts::from_pair(&pair, [0, 1].map(follow));
        hosts.call_until("two open paths", both_in(PathState::Open));
        let ip = host_address(0, network).ip();
        pair.run_program(0, "ip", &format!("address del {ip}/24 dev eth{network}"));
        let left = host_address(0, 1 - network);
        hosts.call_until("one path", |paths| paths.len() == 1 && paths[0].local == left);
        pair.run_program(0, "ip", &format!("address add {ip}/24 dev eth{network}"));
        hosts.call_until("two open paths again", both_in(PathState::Open));
    }
}

#[test]
fn a_peer_with_one_link_is_met_as_ever() {
    let Some(_turn) = links_turn() else { return };
    let links = [PLAIN; 2];
    let pair = Pair::join_hosts(links);
    let one = |host| Config { addresses: Vec::new(), ..host_config("proactmp", host, links) };
    let mut hosts = Hosts::from_pair(&pair, [host_config("proactmp", 0, links), one(1)]);
    (0..5).for_each(|_| hosts.call_bytes(500_000));
    // The client's second address leads there by whichever routes the two kernels have.
    let open = hosts.client.paths().iter().filter(|path| path.state == PathState::Open).count();
    assert!(open >= 1, "{:#?}", hosts.client.paths());
}
