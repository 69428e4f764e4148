//! An endpoint belongs to the process that bound it.
#![allow(unsafe_code, reason = "fork, and the end of a child without the rest of the tests")]
#![allow(clippy::disallowed_methods, reason = "real sockets, real processes, real time")]

use crate::nonces::Sealed;
use headway_host::{
    Admission, BindError, CallError, Config, Endpoint, Forked, PreSharedKey, Queue, RecvError, SendError,
    SendOptions,
};
use std::net::{SocketAddr, UdpSocket};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);
const SEND: SendError = SendError::Forked(Forked);
const CALL: CallError = CallError::Send(SEND);

fn bound_endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound")
}

/// Does something in a forked child, which must end well, and within the limit.
fn in_a_child(work: impl FnOnce()) {
    // SAFETY: the child does its work, and ends without anything of the other threads.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        // A panic must not unwind into the test harness, whose other threads do not exist in the child.
        let done = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: takes no pointers, and does not return.
        // `_exit` runs none of the parent's exit handlers and flushes none of its buffers a second time.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    let begun = Instant::now();
    let mut status = 0;
    // SAFETY: the child is this process's own.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if begun.elapsed() > LONG {
            // SAFETY: the same.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the forked child does not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(status, 0, "the forked child failed: what it printed says where");
}

/// Number of sockets that this process has open.
fn open_sockets() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").expect("a list of descriptors");
    let links = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

#[test]
fn a_forked_child_is_told_and_leaves_the_endpoint_as_it_is() {
    let (server, client, asking) = (bound_endpoint(), bound_endpoint(), bound_endpoint());
    let to = server.local_addr();
    let queue = Queue::new(&asking).expect("a queue");
    // Each kind of pending work is open during the fork: a call by queue, a call by handle and a message.
    queue.call(to, "by queue", 1, None).expect("room");
    let pending = client.call_nowait(to, "pending").expect("room");
    let first = server.recv_timeout(LONG).expect("a request");
    let second = server.recv_timeout(LONG).expect("a request");
    let sent = client.send_nowait(to, "sent").expect("room");
    let third = server.recv_timeout(LONG).expect("a message");
    // An option, because the child takes the values, and so does the parent: each has its own copy of this
    // memory.
    let mut own = Some((client, asking, queue, pending, sent));
    in_a_child(|| {
        let (client, asking, queue, pending, sent) = own.take().expect("there");
        assert_eq!(client.check_process(), Err(Forked));
        assert_eq!(client.send(to, "x").expect_err("forked"), SEND);
        assert_eq!(client.send_nowait(to, "x").expect_err("forked"), SEND);
        assert_eq!(client.send_with(to, "x", SendOptions::default()).expect_err("forked"), SEND);
        assert_eq!(client.call(to, "x").expect_err("forked"), CALL);
        assert_eq!(client.call_nowait(to, "x").expect_err("forked"), SEND);
        assert_eq!(client.recv().expect_err("forked"), RecvError::Forked(Forked));
        assert_eq!(client.recv_timeout(LONG).expect_err("forked"), RecvError::Forked(Forked));
        assert!(client.measured().is_none());
        assert!(matches!(Queue::new(&client), Err(BindError::Forked(Forked))));
        assert_eq!(queue.next().expect_err("forked"), RecvError::Forked(Forked));
        assert_eq!(queue.send(to, "x", 2).expect_err("forked"), SEND);
        assert_eq!(queue.call(to, "x", 2, None).expect_err("forked"), SEND);
        assert_eq!(queue.reply(&first, "x", 2).expect_err("forked"), SEND);
        assert_eq!(first.reply("x").expect_err("forked"), SEND);
        assert_eq!(pending.try_wait(), Some(Err(CALL)));
        assert_eq!(pending.wait_timeout(LONG), Some(Err(CALL)));
        assert_eq!(pending.wait().expect_err("forked"), CALL);
        assert_eq!(sent.try_wait(), Some(Err(SEND)));
        assert_eq!(sent.wait_timeout(LONG), Some(Err(SEND)));
        assert_eq!(sent.wait().expect_err("forked"), SEND);
        queue.cancel(1);
        let open = open_sockets();
        client.close();
        // The child closes its own descriptor; the parent's socket stays open, as the calls below show.
        assert_eq!(open_sockets(), open - 1);
        drop(client);
        assert_eq!(open_sockets(), open - 1);
        drop((queue, asking));
        assert_eq!(open_sockets(), open - 2);
        // A process has endpoints of its own, which are not those of its children.
        let own = bound_endpoint();
        own.send(own.local_addr(), "to itself").expect("delivered");
        in_a_child(|| assert_eq!(own.send(to, "x").expect_err("forked"), SEND));
        assert_eq!(own.recv_timeout(LONG).expect("a message").bytes, "to itself");
    });
    let (client, asking, queue, pending, sent) = own.take().expect("there");
    sent.wait().expect("delivered");
    // A child that had sent anything would appear at the server as another incarnation of this client.
    let before = client.stats();
    for request in [first, second] {
        request.reply(request.bytes.clone()).expect("room").wait().expect("delivered");
    }
    assert_eq!(pending.wait().expect("a reply"), "pending");
    assert_eq!(third.bytes, "sent");
    let answering = thread::spawn(move || {
        let request = server.recv_timeout(LONG).expect("a request");
        request.reply("on").expect("room").wait().expect("delivered");
    });
    assert_eq!(client.call(to, "goes").expect("a reply"), "on");
    answering.join().expect("no panic");
    let after = client.stats();
    assert_eq!(after.get(headway_host::Count::peer_restarts), before.get(headway_host::Count::peer_restarts));
    drop((queue, asking));
}

#[test]
fn an_endpoint_that_was_closed_before_the_fork_closes_nothing_in_the_child() {
    let closed = bound_endpoint();
    closed.close();
    assert_eq!(closed.recv().expect_err("closed"), RecvError::Closed);
    in_a_child(|| {
        let open = open_sockets();
        assert_eq!(closed.recv().expect_err("forked"), RecvError::Forked(Forked));
        drop(closed);
        assert_eq!(open_sockets(), open);
    });
}

/// Passes on what two hosts say to each other, and looks at all of it, until it is dropped.
struct Between {
    address: SocketAddr,
    seen: Arc<Mutex<Sealed>>,
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Between {
    fn new(server: SocketAddr) -> Between {
        let [front, back] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
        let address = front.local_addr().expect("an address");
        back.connect(server).expect("connected");
        let (seen, over) = (Arc::<Mutex<Sealed>>::default(), Arc::new(AtomicBool::new(false)));
        let theirs = (Arc::clone(&seen), Arc::clone(&over));
        for socket in [&front, &back] {
            socket.set_nonblocking(true).expect("a socket");
        }
        let work = move || {
            let (mut client, mut room) = (None, vec![0; 10_000]);
            while !theirs.1.load(Relaxed) {
                let mut idle = true;
                while let Ok((length, from)) = front.recv_from(&mut room) {
                    // There is one client at a time, so the last sender is the address for all answers.
                    (client, idle) = (Some(from), false);
                    theirs.0.lock().expect("no panic").check_datagram(address, &room[..length]);
                    _ = back.send(&room[..length]);
                }
                while let (Ok(length), Some(client)) = (back.recv(&mut room), client) {
                    idle = false;
                    theirs.0.lock().expect("no panic").check_datagram(server, &room[..length]);
                    _ = front.send_to(&room[..length], client);
                }
                if idle {
                    thread::sleep(Duration::from_micros(50));
                }
            }
        };
        Between { address, seen, over, thread: Some(thread::spawn(work)) }
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        let ended = self.thread.take().map_or(Ok(()), thread::JoinHandle::join);
        assert!(ended.is_ok() || thread::panicking(), "a datagram was sealed like another");
    }
}

/// All nonces of datagrams that a process and its forks seal, and of the process that comes after it at the same peer.
#[test]
fn no_two_datagrams_carry_one_nonce_over_forks_and_restarts() {
    let key = || Config { admission: Admission::PreSharedKey(PreSharedKey([7; 32])), ..Config::default() };
    let server = Endpoint::bind("127.0.0.1:0", key()).expect("bound");
    let between = Between::new(server.local_addr());
    let (to, rounds) = (between.address, 5 * headway_testing::times());
    // Zeros show the key stream itself (see `nonces.rs`).
    let zeros = vec![0; 100_000];
    for _ in 0..3 {
        between.seen.lock().expect("no panic").other_keys();
        let client = Endpoint::bind("127.0.0.1:0", key()).expect("bound");
        for _ in 0..rounds {
            let sent = client.send_nowait(to, zeros.clone()).expect("room");
            in_a_child(|| {
                for _ in 0..3 {
                    assert_eq!(client.send(to, zeros.clone()).expect_err("forked"), SEND);
                    assert_eq!(client.call(to, zeros.clone()).expect_err("forked"), CALL);
                }
            });
            sent.wait().expect("delivered");
            server.recv_timeout(LONG).expect("a message");
            client.send(to, zeros.clone()).expect("delivered");
            server.recv_timeout(LONG).expect("a message");
        }
    }
    let seen = between.seen.lock().expect("no panic");
    // A message of 100 kB is 73 packets. The bound proves that the datagrams were looked at, no more.
    assert!(seen.stream_count() as u32 >= rounds * 3 * 2 * 60, "{} have payload", seen.stream_count());
}

#[cfg(feature = "tokio")]
#[test]
fn tasks_of_a_forked_child_are_told_too() {
    use headway_host::tokio::Endpoint;
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let endpoint = Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound");
    let here = endpoint.local_addr();
    runtime().block_on(endpoint.send(here, "before")).expect("delivered");
    let message = runtime().block_on(endpoint.recv()).expect("a message");
    // A call that waits as the process forks.
    let waiting = endpoint.call_nowait(here, "x").expect("begun");
    in_a_child(|| {
        runtime().block_on(async {
            assert_eq!(waiting.reply().await, Err(CALL));
            assert!(endpoint.measured().await.is_none());
            assert_eq!(endpoint.send(here, "x").await, Err(SEND));
            assert_eq!(endpoint.call(here, "x").await, Err(CALL));
            assert_eq!(endpoint.recv().await.expect_err("forked"), RecvError::Forked(Forked));
            assert_eq!(endpoint.reply(&message, "x").await, Err(SEND));
        });
        let open = open_sockets();
        drop(endpoint);
        assert_eq!(open_sockets(), open - 1);
    });
}
