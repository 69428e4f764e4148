//! Outcomes at a descriptor, over real sockets on the loopback interface.
#![allow(clippy::disallowed_methods, reason = "real sockets, real threads, real time")]

use headway_host::{CallError, Config, Endpoint, Outcome, Queue, RecvError, SendError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

const LONG: i64 = 30;

fn bound_endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound")
}

/// True if the descriptor becomes readable within that time.
fn is_readable(queue: &Queue, longest: Timespec) -> bool {
    let fd = queue.as_fd();
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&longest)).expect("a descriptor") > 0
}

/// The next outcome, waited for at the descriptor.
fn wait_outcome(queue: &Queue) -> Result<Outcome, RecvError> {
    loop {
        if let Some(outcome) = queue.next()? {
            return Ok(outcome);
        }
        assert!(is_readable(queue, Timespec { tv_sec: LONG, tv_nsec: 0 }), "nothing in {LONG} s: {queue:?}");
    }
}

#[test]
fn hundreds_of_calls_and_sends_find_their_outcomes_by_poll_alone() {
    let (server, client) = (bound_endpoint(), bound_endpoint());
    let address = server.local_addr();
    let serving = thread::spawn(move || {
        let queue = Queue::new(&server).expect("a queue");
        let (mut plain, mut replied) = (0, 0);
        while replied < 300 || plain < 100 {
            match wait_outcome(&queue).expect("open") {
                Outcome::Message(message) if message.wants_reply() => {
                    let reply: Vec<u8> = message.bytes.iter().rev().copied().collect();
                    queue.reply(&message, reply, 1).expect("room");
                }
                Outcome::Message(_) => plain += 1,
                Outcome::Sent { tag, result } => {
                    assert_eq!((tag, result.is_ok()), (1, true));
                    replied += 1;
                }
                Outcome::Reply { .. } => panic!("nothing was asked"),
            }
        }
        drop(queue);
        server
    });
    let queue = Queue::new(&client).expect("a queue");
    let mut open = BTreeMap::new();
    for n in 0..400_u64 {
        // Lengths from 0 to 2.8 kB: messages of no byte, of one packet and of several.
        let bytes: Vec<u8> = (0..n * 7).map(|i| (i ^ n) as u8).collect();
        if n % 4 == 0 {
            queue.send(address, bytes.clone(), n).expect("room");
        } else {
            queue.call(address, bytes.clone(), n, None).expect("room");
        }
        open.insert(n, bytes);
    }
    while !open.is_empty() {
        match wait_outcome(&queue).expect("open") {
            Outcome::Sent { tag, result } => {
                assert!(tag % 4 == 0 && result.is_ok(), "{tag}: {result:?}");
                open.remove(&tag).expect("once");
            }
            Outcome::Reply { tag, result, peer } => {
                let sent = open.remove(&tag).expect("once");
                assert_eq!(peer, address);
                assert!(result.expect("a reply").iter().rev().eq(sent.iter()), "{tag}");
            }
            Outcome::Message(message) => panic!("{message:?}"),
        }
    }
    assert!(matches!(queue.next(), Ok(None)));
    // Nothing is readable where nothing is there.
    assert!(!is_readable(&queue, Timespec { tv_sec: 0, tv_nsec: 0 }));
    drop(serving.join().expect("no panic"));
}

#[test]
fn calls_time_out_by_the_descriptor_and_cancelled_ones_have_no_outcome() {
    let (server, client) = (bound_endpoint(), bound_endpoint());
    let queue = Queue::new(&client).expect("a queue");
    let call =
        |tag, ms| queue.call(server.local_addr(), "?", tag, Some(Duration::from_millis(ms))).expect("room");
    call(1, 60_000);
    let second = call(2, 40);
    call(3, 30);
    queue.cancel(second);
    let late = wait_outcome(&queue).expect("open");
    assert!(matches!(late, Outcome::Reply { tag: 3, result: Err(CallError::TimedOut), .. }), "{late:?}");
    // The timer of a call that is cancelled may ring, but then rings no more.
    while is_readable(&queue, Timespec { tv_sec: 0, tv_nsec: 100_000_000 }) {
        assert!(queue.next().expect("open").is_none());
    }
    // The server has all three requests, and only one reply is waited for.
    for _ in 0..3 {
        let request = server.recv_timeout(Duration::from_secs(LONG as u64)).expect("a request");
        request.reply("!").expect("room").wait().expect("acknowledged");
    }
    let reply = wait_outcome(&queue).expect("open");
    assert!(matches!(reply, Outcome::Reply { tag: 1, result: Ok(_), .. }), "{reply:?}");
    assert!(queue.next().expect("open").is_none());
}

#[test]
fn closing_ends_what_is_open_and_then_the_queue() {
    let (server, client) = (bound_endpoint(), bound_endpoint());
    let queue = Queue::new(&client).expect("a queue");
    queue.call(server.local_addr(), "never answered", 5, None).expect("room");
    client.close();
    let failed = wait_outcome(&queue).expect("the outcome comes first");
    let closed = CallError::Send(SendError::Closed);
    assert!(
        matches!(failed, Outcome::Reply { tag: 5, result: Err(error), .. } if error == closed),
        "{failed:?}"
    );
    assert!(matches!(wait_outcome(&queue), Err(RecvError::Closed)));
    assert!(matches!(queue.next(), Err(RecvError::Closed)));
    assert_eq!(client.recv().expect_err("closed"), RecvError::Closed);
}

#[test]
fn what_arrived_before_the_queue_was_made_is_there() {
    let (server, client) = (bound_endpoint(), bound_endpoint());
    client.send(server.local_addr(), "early").expect("acknowledged");
    let queue = Queue::new(&server).expect("a queue");
    assert!(is_readable(&queue, Timespec { tv_sec: 0, tv_nsec: 0 }));
    assert!(matches!(wait_outcome(&queue), Ok(Outcome::Message(message)) if &message.bytes[..] == b"early"));
    assert!(queue.next().expect("open").is_none());
    // Threads may wait for the same endpoint too.
    let peer = client.local_addr();
    let answering = thread::spawn(move || {
        let request = client.recv_timeout(Duration::from_secs(LONG as u64)).expect("a request");
        request.reply("yes").expect("room").wait().expect("acknowledged");
    });
    let handle = server.call_nowait(peer, "is anybody there?").expect("room");
    assert_eq!(handle.wait().expect("a reply"), "yes");
    answering.join().expect("no panic");
}
