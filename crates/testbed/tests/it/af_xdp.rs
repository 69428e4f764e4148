//! The switch with AF_XDP: every frame is whole and counted, its program goes with it, and where there is no AF_XDP it
//! says why and takes packet sockets.
//!
//! Datagrams go in windows that are waited for, so that nothing depends on how fast the machine is.
#![allow(clippy::disallowed_methods, reason = "processes, sockets and real time")]
#![allow(unsafe_code, reason = "whether there are AF_XDP sockets is asked by opening one")]

use headway_switch::{Addresses, IoChoice, IoKind};
use headway_testbed::namespaces;
use serde_json::Value as Json;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::stage::Stage;

const PORT: u16 = 4000;
/// Datagrams that are on their way at once.
const WINDOW: usize = 32;
/// Longest duration of any step.
const LIMIT: Duration = Duration::from_secs(10);

/// True if this machine has the prerequisites; otherwise prints the missing one.
fn is_available() -> bool {
    if let Err(error) = namespaces::check_prerequisites() {
        crate::common::note_absent(&error.to_string());
        return false;
    }
    // SAFETY: no pointers; the descriptor is closed below by its owner.
    let socket = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        crate::common::note_absent("AF_XDP sockets");
        return false;
    }
    // SAFETY: it was just opened, and nothing else owns it.
    drop(unsafe { OwnedFd::from_raw_fd(socket) });
    true
}

fn two_hosts(mtu: u32) -> Stage {
    Stage::set_up(2, "1 Gbps", "10 us", "1000 packets", mtu)
}

/// A socket in a host's namespace.
fn host_socket(stage: &Stage, host: u32) -> UdpSocket {
    let socket = stage.run_within(host, move || UdpSocket::bind(host_address(host)).expect("a socket"));
    socket.set_read_timeout(Some(LIMIT)).expect("a limit");
    socket
}

fn host_address(host: u32) -> SocketAddrV4 {
    SocketAddrV4::new(Addresses::new(2).of(host), PORT)
}

/// Sends datagrams of every length up to `longest` from one host to the other and checks them; returns their number.
fn exchange_datagrams(stage: &Stage, longest: usize, step: usize) -> u64 {
    let (from, to) = (host_socket(stage, 0), host_socket(stage, 1));
    let lengths: Vec<usize> = (0..=longest).step_by(step).collect();
    let mut buffer = vec![0; longest + 1];
    for window in lengths.chunks(WINDOW) {
        for &length in window {
            from.send_to(&datagram_content(length), host_address(1)).expect("sent");
        }
        for &length in window {
            let (got, sender) = to.recv_from(&mut buffer).expect("every datagram arrives");
            assert_eq!((got, sender), (length, host_address(0).into()));
            assert!(buffer[..got] == datagram_content(length), "datagram of {length} bytes");
        }
        // The other way.
        to.send_to(&[1], host_address(0)).expect("sent");
        assert_eq!(from.recv_from(&mut buffer).expect("the answer arrives").0, 1);
    }
    (lengths.len() + lengths.len().div_ceil(WINDOW)) as u64
}

fn datagram_content(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + length) as u8).collect()
}

#[test]
fn every_frame_goes_through_whole_and_is_counted() {
    if !is_available() {
        return;
    }
    let stage = two_hosts(1500);
    let mut counted = Vec::new();
    for kind in [IoKind::AfXdp, IoKind::AfPacket] {
        let (switch, said) = stage.start_switch(IoChoice::Only(kind), 1500, &[]);
        assert!(said.contains(&format!("frames by {kind}: it was asked for")), "{said}");
        // Every third length up to a full frame (1472 bytes of payload) keeps the test short.
        let sent = exchange_datagrams(&stage, 1472, 3);
        let report = switch.end_switch();
        let number = |key: &str| report[key].as_u64().expect("a number");
        assert_eq!((number("received"), number("delivered")), (sent, sent), "{kind}");
        let dropped = report["refused"].as_array().expect("a list").iter().filter(|r| r[1] != 0).count();
        assert_eq!(dropped, 0, "{kind}: {}", report["refused"]);
        assert_eq!(report["io"], kind.word());
        let links = report["links"].as_array().expect("a list").iter();
        counted.push(
            links
                .map(|l| [&l["received"], &l["dequeued"], &l["wire_bytes"]].map(Json::clone))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(counted[0], counted[1], "both kinds count the same");
}

#[test]
fn the_program_goes_with_the_switch_however_it_ends() {
    if !is_available() {
        return;
    }
    let stage = two_hosts(1500);
    for round in 0..2 {
        let (mut switch, said) = stage.start_switch(IoChoice::Only(IoKind::AfXdp), 1500, &[]);
        assert!(said.contains("frames by AF_XDP: "), "round {round}: {said}");
        assert!(stage.links_output().contains("prog/xdp"), "{}", stage.links_output());
        // SIGKILL: the switch has no chance to take its program off the interfaces.
        switch.kill_switch();
        let deadline = Instant::now() + LIMIT;
        // The system closes the files of a process soon after it has ended.
        while stage.links_output().contains("prog/xdp") {
            assert!(Instant::now() < deadline, "{}", stage.links_output());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let (switch, _) = stage.start_switch(IoChoice::Only(IoKind::AfXdp), 1500, &[]);
    // 65 lengths, and an answer for each of the three windows of at most 32.
    assert_eq!(exchange_datagrams(&stage, 64, 1), 65 + 3);
    switch.end_switch();
    assert!(!stage.links_output().contains("prog/xdp"));
}

#[test]
fn frames_that_are_too_long_for_it_go_by_packet_sockets_and_the_reason_is_said() {
    if !is_available() {
        return;
    }
    let stage = two_hosts(9000);
    let (switch, said) = stage.start_switch(IoChoice::Auto, 9000, &[]);
    assert!(said.contains("frames by AF_PACKET: AF_XDP is not possible on interface `host0`: "), "{said}");
    assert!(said.contains("its frames have 9018 bytes, and at most 38"), "{said}");
    exchange_datagrams(&stage, 8972, 997);
    assert_eq!(switch.end_switch()["io"], "af-packet");
    let (_switch, said) = stage.start_switch(IoChoice::Only(IoKind::AfXdp), 9000, &[]);
    assert!(said.starts_with("headway-switch: AF_XDP is not possible on interface `host0`"), "{said}");
}
