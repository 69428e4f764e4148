//! Endpoints over real sockets on the loopback interface.
#![allow(clippy::disallowed_methods, reason = "real sockets, real threads, real time")]

use headway_host::{Config, Endpoint};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);

fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound")
}

#[test]
fn a_message_is_sent_received_and_acknowledged() {
    let (a, b) = (endpoint(), endpoint());
    let handle = a.send_nowait(b.local_addr(), "hello").expect("room");
    let received = b.recv_timeout(LONG).expect("a message");
    assert_eq!((&received.bytes[..], received.peer), (&b"hello"[..], a.local_addr()));
    assert!(!received.wants_reply());
    handle.wait_timeout(LONG).expect("in time").expect("acknowledged");
}
