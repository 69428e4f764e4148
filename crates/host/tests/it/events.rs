//! Events for `tracing`.
#![allow(clippy::disallowed_methods, reason = "real sockets, real threads, real time")]

use headway_host::{Config, Endpoint, SendError};
use headway_units::Time;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Notes events as text.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "headway_host" && *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(event.metadata().level().to_string());
        event.record(&mut text);
        self.0.lock().expect("no panic").push(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Notes {
    /// Number of events that have all of these parts.
    fn count_matching(&self, parts: &[&str]) -> usize {
        let notes = self.0.lock().expect("no panic");
        notes.iter().filter(|note| parts.iter().all(|part| note.contains(part))).count()
    }

    /// Waits for the only event with all of these parts: a thread that waits for a message may be woken before the
    /// event.
    fn wait_matching(&self, parts: &[&str]) {
        let until = Instant::now() + Duration::from_secs(30);
        while self.count_matching(parts) == 0 {
            assert!(Instant::now() < until, "no event has {parts:?}: {:?}", self.0.lock());
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(self.count_matching(parts), 1, "{parts:?}");
    }
}

#[test]
fn subscribers_hear_what_happens_to_messages() {
    let notes = Notes::default();
    // Of all threads: those of the endpoints drive too. Endpoints of other tests have other addresses.
    tracing::subscriber::set_global_default(notes.clone()).expect("the only subscriber");
    // Short, because one of the events is that a peer is given up.
    let config = || Config { peer_timeout: Time::ms(300), ..Config::default() };
    let server = Endpoint::bind("127.0.0.1:0", config()).expect("bound");
    let client = Endpoint::bind("127.0.0.1:0", config()).expect("bound");
    let (from, to) = (client.local_addr(), server.local_addr());
    let sent = client.send_nowait(to, vec![7; 100_000]).expect("room");
    let ticket = format!("ticket={}", sent.ticket());
    sent.wait().expect("acknowledged");
    server.recv_timeout(Duration::from_secs(30)).expect("a message");
    let (at_client, at_server) = (format!("endpoint={from} peer={to}"), format!("endpoint={to} peer={from}"));
    notes.wait_matching(&["DEBUG", "message=opened", &at_client, &ticket, "bytes=100000"]);
    notes.wait_matching(&["DEBUG", "message=acknowledged", &at_client, &ticket]);
    notes.wait_matching(&["DEBUG", "message=completed", &at_server, "bytes=100000"]);
    drop(server);
    assert_eq!(client.send(to, "nobody is there"), Err(SendError::Unreachable));
    notes.wait_matching(&["WARN", "message=peer gone", &at_client, "reason=the peer does not answer"]);
    // Nothing below the level that is wanted.
    assert_eq!(notes.count_matching(&["TRACE"]), 0);
}
