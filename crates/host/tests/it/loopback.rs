//! Endpoints over real sockets on the loopback interface.
#![allow(clippy::disallowed_methods, reason = "real sockets, real threads, real time")]

use headway_host::{
    AddressError, Admission, BindError, CallError, Config, Endpoint, Limits, MessageEvent, MessageEventKind,
    PathState, PreSharedKey, Renewal, SendError, SendOptions,
};
#[cfg(feature = "tokio")]
use headway_host::{RecvError, Refused};
use headway_params::ParamValue;
use headway_transport::{InitialWindow, registry};
use headway_units::Time;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);

fn bound_endpoint(config: &Config) -> Endpoint {
    Endpoint::bind("127.0.0.1:0", config.clone()).expect("bound")
}

fn shared_key() -> Admission {
    Admission::PreSharedKey(PreSharedKey([3; 32]))
}

fn salted_bytes(length: usize, salt: u64) -> Vec<u8> {
    (0..length as u64).map(|i| ((i + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Answers requests with their bytes in reverse until the client says that it is done.
fn serve_reversed(server: Endpoint) -> thread::JoinHandle<Endpoint> {
    thread::spawn(move || {
        loop {
            let request = server.recv_timeout(LONG).expect("a request");
            if !request.wants_reply() {
                return server;
            }
            let reply: Vec<u8> = request.bytes.iter().rev().copied().collect();
            drop(request.reply(reply).expect("room for a reply"));
        }
    })
}

#[test]
fn megabytes_arrive_intact_over_every_transport_and_admission() {
    for transport in registry::NAMES.iter().copied() {
        for admission in [Admission::Loopback, shared_key()] {
            // pHost's tokens are valid for 1.5 frame times, here 2 us: less than a thread takes to wake up.
            let params = match transport {
                "phost" => vec![("token_lifetime".to_string(), ParamValue::Float(1e5))],
                // Swift aims at microseconds. Where threads wait for a processor for longer, a smallest window of a thousandth of
                // a packet is a packet in minutes.
                "swift" => vec![("min_cwnd".to_string(), ParamValue::Float(1.0))],
                _ => Vec::new(),
            };
            // The clock that all endpoints of a machine share.
            // Nor does anything write into packets between them: hosts that want it go on without.
            let (origin_ns, telemetry) = (Some(0), true);
            let config = Config {
                transport: transport.into(),
                params,
                admission,
                origin_ns,
                telemetry,
                ..Config::default()
            };
            let (a, b) = (bound_endpoint(&config), bound_endpoint(&config));
            let sent: Vec<_> = (0..4).map(|n| salted_bytes(1 << 20, n)).collect();
            let handles: Vec<_> =
                sent.iter().map(|m| a.send_nowait(b.local_addr(), m.clone()).expect("room")).collect();
            let take =
                |_| b.recv_timeout(LONG).unwrap_or_else(|e| panic!("{transport}: {e}, {:?}", a.stats()));
            let mut received: Vec<_> = (0..4).map(take).collect();
            received.sort_by_key(|message| message.message);
            for (message, sent) in received.iter().zip(&sent) {
                assert!(message.bytes == sent && message.peer == a.local_addr() && !message.wants_reply());
            }
            for handle in handles {
                handle.wait_timeout(LONG).expect("in time").expect("acknowledged");
            }
            drop(received);
            assert_eq!((a.stats().messages_sent, b.stats().messages_received), (4, 4), "{transport}");
            assert_eq!(b.memory_used(), 0, "{transport}");
        }
    }
}

#[test]
fn keys_are_renewed_again_and_again_while_megabytes_are_under_way() {
    // Each message has more than 700 packets, so that renewals by number come while packets are under way.
    let renewal = Renewal { datagrams: 100, time: Time::ms(20), late: Time::ms(2) };
    let config = Config { admission: shared_key(), renewal, ..Config::default() };
    let (a, b) = (bound_endpoint(&config), bound_endpoint(&config));
    for n in 0..60 {
        let (from, to) = if n % 2 == 0 { (&a, &b) } else { (&b, &a) };
        let sent = salted_bytes(1 << 20, n);
        let handle = from.send_nowait(to.local_addr(), sent.clone()).expect("room");
        let received = to.recv_timeout(LONG).unwrap_or_else(|e| panic!("{e}, {:?}", a.stats()));
        assert!(received.bytes == sent);
        handle.wait_timeout(LONG).expect("in time").expect("acknowledged");
        // Keys rest for `late` between two renewals; this is a little longer.
        thread::sleep(Duration::from_millis(3));
    }
    for stats in [a.stats(), b.stats()] {
        assert!(stats.keys_renewed >= 10, "{stats:?}");
        assert_eq!((stats.key_exchanges, stats.dropped_forged, stats.messages_failed), (1, 0, 0));
    }
}

/// True if this kernel has IPv6.
fn has_ipv6() -> bool {
    UdpSocket::bind("[::1]:0").is_ok()
}

#[test]
fn every_transport_works_over_ipv6() {
    if !has_ipv6() {
        headway_testing::absent("IPv6 in this kernel");
        return;
    }
    for (n, transport) in registry::NAMES.iter().copied().enumerate() {
        let params = match transport {
            "phost" => vec![("token_lifetime".to_string(), ParamValue::Float(1e5))],
            "swift" => vec![("min_cwnd".to_string(), ParamValue::Float(1.0))],
            _ => Vec::new(),
        };
        let admission = if n % 2 == 0 { Admission::Loopback } else { shared_key() };
        let config = Config {
            transport: transport.into(),
            params,
            admission,
            origin_ns: Some(0),
            telemetry: true,
            ..Config::default()
        };
        let bind = || Endpoint::bind("[::1]:0", config.clone()).expect("bound");
        let (a, b) = (bind(), bind());
        assert!(a.local_addr().is_ipv6());
        let (to, from) = (b.local_addr(), a.local_addr());
        let sent = salted_bytes(200_000, n as u64);
        let handle = a.send_nowait(to, sent.clone()).expect("room");
        let received = b.recv_timeout(LONG).unwrap_or_else(|e| panic!("{transport}: {e}, {:?}", a.stats()));
        assert!(received.bytes == sent && received.peer == from, "{transport}");
        handle.wait_timeout(LONG).expect("in time").expect("acknowledged");
        let serving = serve_reversed(b);
        assert_eq!(&a.call(to, "abc").expect("a reply")[..], b"cba", "{transport}");
        assert_eq!(a.send("127.0.0.1:9".parse().expect("an address"), "x"), Err(SendError::OtherFamily));
        a.send(to, "done").expect("acknowledged");
        drop(serving.join().expect("no panic"));
    }
}

#[test]
fn a_full_packet_fills_the_mtu_over_either_family() {
    // UDP has 8 bytes, IPv4 20 and IPv6 40.
    for (ip, headers) in [("127.0.0.1", 28), ("::1", 48)] {
        for admission in [Admission::Loopback, shared_key()] {
            let config = Config { admission, mtu: 1400, ..Config::default() };
            let sizes = config.sizes_at(ip.parse().expect("an address"));
            assert_eq!(sizes.payload + sizes.header, 1400);
            let over_ipv4 = config.sizes();
            assert_eq!(over_ipv4.payload - sizes.payload, headers - 28);
        }
    }
}

#[test]
fn a_server_over_ipv6_that_restarts_is_met_again() {
    if !has_ipv6() {
        headway_testing::absent("IPv6 in this kernel");
        return;
    }
    let config = Config::default();
    let bind = |at: &str| Endpoint::bind(at, config.clone()).expect("bound");
    let (client, server) = (bind("[::1]:0"), bind("[::1]:0"));
    let address = server.local_addr();
    client.send(address, "first").expect("acknowledged");
    drop(server);
    let server = Endpoint::bind(address, config.clone()).expect("the address is free again");
    // It went to the old incarnation. It fails and is not sent again, because that one may have received it.
    assert_eq!(client.send(address, "second"), Err(SendError::PeerRestarted));
    client.send(address, "third").expect("acknowledged");
    assert_eq!(&server.recv_timeout(LONG).expect("a message").bytes[..], b"third");
}

#[test]
fn a_hundred_calls_at_once_find_their_own_replies() {
    for admission in [Admission::Loopback, shared_key()] {
        let config = Config { admission, ..Config::default() };
        let (client, server) = (Arc::new(bound_endpoint(&config)), bound_endpoint(&config));
        let address = server.local_addr();
        let serving = serve_reversed(server);
        let call = |n: u64| {
            let client = Arc::clone(&client);
            thread::spawn(move || {
                let request = salted_bytes(100 + 37 * n as usize, n);
                let reply = client.call(address, request.clone()).expect("a reply");
                assert!(reply.iter().rev().eq(request.iter()), "call {n}");
            })
        };
        let calls: Vec<_> = (0..100).map(call).collect();
        calls.into_iter().for_each(|call| call.join().expect("the reply is right"));
        client.send(address, "done").expect("acknowledged");
        drop(serving.join().expect("no panic"));
    }
}

#[test]
fn a_server_that_restarts_fails_what_was_under_way_and_serves_what_comes_after() {
    let config = Config::default();
    let (client, server) = (bound_endpoint(&config), bound_endpoint(&config));
    let address = server.local_addr();
    client.send(address, "first").expect("acknowledged");
    drop(server);
    let server = Endpoint::bind(address, config).expect("the address is free again");
    assert_eq!(client.send(address, "second"), Err(SendError::PeerRestarted));
    client.send(address, "third").expect("acknowledged");
    assert_eq!(&server.recv_timeout(LONG).expect("a message").bytes[..], b"third");
    assert_eq!(client.stats().peer_restarts, 1);
}

#[test]
fn what_cannot_be_is_said_by_type() {
    let bind = |address: &str, config: Config| Endpoint::bind(address, config).expect_err("refused");
    let error = bind("0.0.0.0:0", Config::default());
    assert!(
        matches!(error, BindError::NotLoopback(_)) && error.to_string().contains("Admission::"),
        "{error}"
    );
    let unknown = Config { transport: "carrier-pigeon".into(), ..Config::default() };
    assert!(bind("127.0.0.1:0", unknown).to_string().starts_with("there is no transport `carrier-pigeon`: "));
    let alone = Config { transport: "dcpim".into(), ..Config::default() };
    let said = bind("127.0.0.1:0", alone).to_string();
    assert!(said.starts_with("transport `dcpim` needs one clock at all hosts: "), "{said}");
    let blind = Config { transport: "hpcc".into(), ..Config::default() };
    let said = bind("127.0.0.1:0", blind).to_string();
    assert!(said.starts_with("transport `hpcc` needs switches that write into its packets "), "{said}");
    let slip = Config { transport: "hom".into(), ..Config::default() };
    let said = bind("127.0.0.1:0", slip).to_string();
    assert_eq!(said, "there is no transport `hom`: did you mean `homa`?");
    let slip = Config { discipline: Some("drop-tial".into()), ..Config::default() };
    let said = bind("127.0.0.1:0", slip).to_string();
    assert_eq!(said, "there is no port discipline `drop-tial`: did you mean `drop-tail`?");
    // Too small for the headers of a sealed packet.
    let tiny = Config { mtu: 100, ..Config::default() };
    assert_eq!(bind("127.0.0.1:0", tiny).to_string(), "mtu is 100, and must be from 256 to 9216");

    let limits = Limits { message_bytes: 1000, total_bytes: 100_000, ..Limits::default() };
    let config = Config { limits, call_timeout: Time::ms(50), ..Config::default() };
    let (a, b) = (bound_endpoint(&config), bound_endpoint(&config));
    let to = b.local_addr();
    assert_eq!(a.send(to, vec![0; 1001]), Err(SendError::TooLong { bytes: 1001, limit: 1000 }));
    assert_eq!(a.send("192.0.2.1:9".parse().expect("an address"), "x"), Err(SendError::NotAdmitted));
    assert_eq!(a.send("[::1]:9".parse().expect("an address"), "x"), Err(SendError::OtherFamily));
    assert_eq!(a.call(to, "nobody answers"), Err(CallError::TimedOut));
    drop(a);
    drop(b);
}

#[test]
fn dropping_an_endpoint_ends_what_waits_for_it() {
    let a = bound_endpoint(&Config::default());
    let silent = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let handle = a.send_nowait(silent.local_addr().expect("an address"), "x").expect("room");
    assert!(handle.try_wait().is_none());
    drop(a);
    assert_eq!(handle.wait(), Err(SendError::Closed));
}

#[test]
fn garbage_is_counted_and_calls_go_on() {
    let config = Config::default();
    let (client, server) = (bound_endpoint(&config), bound_endpoint(&config));
    let address = server.local_addr();
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("bound");
    // One hundred lengths, of which the last 13 exceed the 1472 bytes that a datagram of MTU 1500 holds.
    for length in (0..1700).step_by(17) {
        stranger.send_to(&salted_bytes(length, 5), address).expect("sent");
    }
    let serving = serve_reversed(server);
    assert_eq!(&client.call(address, "abc").expect("a reply")[..], b"cba");
    client.send(address, "done").expect("acknowledged");
    let stats = serving.join().expect("no panic").stats();
    assert_eq!(stats.dropped_malformed + stats.dropped_truncated, 100, "{stats:?}");
    assert!(stats.dropped_truncated >= 10);
}

#[test]
fn an_observer_hears_of_every_byte_and_a_window_is_honoured() {
    let heard: Arc<Mutex<Vec<MessageEvent>>> = Arc::default();
    let observer = {
        let heard = Arc::clone(&heard);
        Arc::new(move |progress: &MessageEvent| heard.lock().expect("no panic").push(*progress))
    };
    let plain = Config::default();
    let (a, b) =
        (bound_endpoint(&plain), bound_endpoint(&Config { observer: Some(observer), ..plain.clone() }));
    let initial_window = InitialWindow { window: Some(2), ..InitialWindow::default() };
    let options = SendOptions { initial_window, entropy: Some(7), ..SendOptions::default() };
    let handle = a.send_with(b.local_addr(), salted_bytes(50_000, 1), options).expect("room");
    let received = b.recv_timeout(LONG).expect("a message");
    handle.wait().expect("acknowledged");
    let heard = heard.lock().expect("no panic");
    let delivered = |p: &MessageEvent| {
        if let MessageEventKind::Delivered { bytes } = p.what { u64::from(bytes) } else { 0 }
    };
    assert_eq!(heard.iter().map(delivered).sum::<u64>(), 50_000);
    let last = heard.last().expect("something was heard");
    assert_eq!((last.what, last.at), (MessageEventKind::Completed { bytes: 50_000 }, received.at));
    assert!(heard.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

/// A file for each end of a call: every byte leaves and arrives once, in both directions, and the files have an end.
#[test]
fn a_call_is_in_the_trace_of_either_end() {
    let folder = std::env::temp_dir().join(format!("headway-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a directory");
    let file = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let traced = |name: &str| Config::from_settings([("trace_file", file(name).as_str())]).expect("settings");
    let (client, server) = (bound_endpoint(&traced("client.sqlog")), bound_endpoint(&traced("server.sqlog")));
    let to = server.local_addr();
    thread::scope(|scope| {
        scope.spawn(|| {
            let request = server.recv_timeout(LONG).expect("a request");
            request.reply(salted_bytes(40_000, 1)).expect("room").wait().expect("acknowledged");
        });
        assert_eq!(client.call(to, salted_bytes(30_000, 2)).expect("a reply").len(), 40_000);
    });
    drop((client, server));
    let records = |name: &str| -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(file(name)).expect("the trace");
        let lines = text.split('\u{1e}').filter(|record| !record.is_empty());
        lines.map(|record| serde_json::from_str(record).expect("a record")).collect()
    };
    for (name, sent, received) in [("client.sqlog", 30_000, 40_000), ("server.sqlog", 40_000, 30_000)] {
        let all = records(name);
        let (head, events) = all.split_first().expect("a head");
        assert_eq!((&head["qlog_version"], &head["qlog_format"]), (&"0.3".into(), &"JSON-SEQ".into()));
        assert_eq!(head["trace"]["common_fields"]["transport"], "amrt");
        let named = |wanted: &'static str| events.iter().filter(move |event| event["name"] == wanted);
        let sum = |wanted| named(wanted).filter_map(|event| event["data"]["bytes"].as_u64()).sum::<u64>();
        assert!(sum("headway:data_sent") >= sent, "{name}: {}", sum("headway:data_sent"));
        assert!(sum("headway:data_received") >= received, "{name}");
        for once in ["message_opened", "message_acknowledged", "message_received"] {
            assert_eq!(events.iter().filter(|event| event["name"] == format!("headway:{once}")).count(), 1);
        }
        let end = events.last().expect("an end");
        assert_eq!(end["name"], "headway:trace_ended");
        // The record of the end does not count itself, so that a reader notices a file that was cut.
        assert_eq!(end["data"]["events"].as_u64(), Some(events.len() as u64 - 1));
        assert!(events.windows(2).all(|pair| pair[0]["time"].as_f64() <= pair[1]["time"].as_f64()));
    }
    std::fs::remove_dir_all(folder).expect("removed");
}

/// Waits until `done`, for as long as a loaded machine may need.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let until = std::time::Instant::now() + LONG;
    while !done() {
        assert!(std::time::Instant::now() < until, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn who_has_called_often_and_leaves_still_answers_what_comes() {
    let config = Config { nic: Some(headway_units::Rate::gbps(100)), ..Config::default() };
    let (a, b) = (bound_endpoint(&config), bound_endpoint(&config));
    let server = b.local_addr();
    let serving = thread::spawn(move || {
        let mut last = None;
        for _ in 0..200 {
            let request = b.recv_timeout(LONG).expect("a request");
            last = Some(request.reply(request.bytes.clone()).expect("room for a reply"));
        }
        // Each of the two leaves its endpoint alone now, and waits for what the other's still has to say.
        let acknowledged = last.expect("replies").wait_timeout(LONG).expect("in time");
        acknowledged.expect("the client's endpoint says that it has the last reply");
        b
    });
    for n in 0..200 {
        let request = salted_bytes(100, n);
        assert_eq!(a.call(server, request.clone()).expect("a reply"), request);
    }
    let client = a.local_addr();
    let b = serving.join().expect("the reply is acknowledged");
    let sent = b.send_nowait(client, salted_bytes(9000, 7)).expect("room");
    let outcome = sent.wait_timeout(LONG).expect("in time");
    outcome.expect("it arrives though nobody waits for it");
    assert_eq!(a.recv_timeout(LONG).expect("it is there").bytes, salted_bytes(9000, 7));
}

#[test]
fn prefixes_say_who_is_heard_and_allow_every_address() {
    let prefixes = |text: &str| Admission::Prefixes(vec![text.parse().expect("a prefix")]);
    let bind = |text| {
        let config = Config { admission: prefixes(text), ..Config::default() };
        let endpoint = Endpoint::bind("0.0.0.0:0", config).expect("bound");
        let port = endpoint.local_addr().port();
        (endpoint, std::net::SocketAddr::from(([127, 0, 0, 1], port)))
    };
    let client = bound_endpoint(&Config::default());
    let (open, to) = bind("127.0.0.0/8");
    client.send(to, "hello").expect("acknowledged");
    assert_eq!(&open.recv_timeout(LONG).expect("a message").bytes[..], b"hello");
    let (closed, to) = bind("10.0.0.0/8");
    let handle = client.send_nowait(to, "hello").expect("room");
    wait_until("a datagram from outside", || closed.stats().dropped_not_admitted > 0);
    // An address outside the prefixes gets no answer at all, not even a refusal.
    assert_eq!(closed.stats().datagrams_sent, 0);
    assert!(handle.try_wait().is_none());
}

#[test]
fn a_host_with_another_key_is_not_answered() {
    let server = bound_endpoint(&Config { admission: shared_key(), ..Config::default() });
    let other = Admission::PreSharedKey(PreSharedKey([4; 32]));
    let config = Config { admission: other, peer_timeout: Time::ms(200), ..Config::default() };
    let client = bound_endpoint(&config);
    assert_eq!(client.send(server.local_addr(), "let me in"), Err(SendError::Unreachable));
    wait_until("a handshake that is not genuine", || server.stats().dropped_handshake > 0);
    assert_eq!((server.stats().datagrams_sent, client.stats().peers_lost), (0, 1));
}

/// Names of the public methods of `Endpoint` in a source.
#[cfg(feature = "tokio")]
fn public_methods(source: &str) -> std::collections::BTreeSet<&str> {
    let start = source.find("\nimpl Endpoint {").expect("its methods");
    let body = source[start..].split("\n}\n").next().expect("they end");
    let public = body.lines().filter_map(|line| line.trim().strip_prefix("pub "));
    let functions = public.filter_map(|line| line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn "));
    functions.map(|line| line.split(['(', '<']).next().expect("a name")).collect()
}

#[cfg(feature = "tokio")]
#[test]
fn the_endpoint_of_tasks_has_every_method_of_the_other_and_those_that_the_guide_names() {
    let blocking = public_methods(include_str!("../../src/endpoint.rs"));
    let mut tasks = public_methods(include_str!("../../src/tokio.rs"));
    // That of a message that was received waits for nothing there.
    assert!(tasks.remove("reply"));
    assert_eq!(blocking, tasks);
    let guide = include_str!("../../../../docs/real-hosts.md");
    let table = guide.split("| Call | What it does |").nth(1).expect("the table of calls");
    let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    for row in &rows {
        let calls = row.split('|').nth(1).expect("its calls").split('`').skip(1).step_by(2);
        for call in calls.filter(|call| !call.starts_with("Queue::")) {
            let name = call.trim_start_matches("Endpoint::").split('(').next().expect("a name");
            assert!(blocking.contains(name), "{name}: {row}");
        }
    }
    for method in blocking {
        assert!(
            rows.iter().any(|row| row.contains(method)) || method == "local_addr",
            "{method} is not in the guide"
        );
    }
}

#[cfg(feature = "tokio")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_hold_messages_and_calls_under_way_and_ask_what_was_measured() {
    use headway_host::tokio::Endpoint;
    let server = Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound");
    let client = Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound");
    assert_eq!(server.recv_timeout(Duration::from_millis(5)).await.map(|_| ()), Err(RecvError::TimedOut));
    let sent = client.send_nowait(server.local_addr(), vec![5; 70_000]).expect("room");
    let message = server.recv_timeout(LONG).await.expect("a message");
    assert_eq!((message.bytes.len(), message.wants_reply()), (70_000, false));
    drop(message);
    let at = sent.acknowledged().await.expect("acknowledged");
    let call = client.call_nowait(server.local_addr(), "how late?").expect("room");
    let request = server.recv().await.expect("a request");
    server.reply(&request, "late").await.expect("acknowledged");
    assert_eq!(call.reply().await.expect("a reply"), "late");
    let measured = client.measured().await.expect("it is open");
    assert!(measured.at >= at && measured.base_round_trips.len() == 1);
    assert_eq!((client.refused(), client.memory_used()), (Refused::default(), 0));
    client.close();
    assert_eq!(client.recv().await.map(|_| ()), Err(RecvError::Closed));
    assert!(client.measured().await.is_none());
    assert_eq!(client.send(server.local_addr(), "more").await, Err(SendError::Closed));
}

#[cfg(feature = "tokio")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asynchronous_waits_can_be_given_up() {
    use headway_host::tokio::Endpoint;
    let config = Config { call_timeout: Time::ms(50), ..Config::default() };
    let bind = || Endpoint::bind("127.0.0.1:0", config.clone()).expect("bound");
    let (client, server) = (bind(), bind());
    let address = server.local_addr();
    assert_eq!(client.call(address, "nobody answers").await, Err(CallError::TimedOut));
    assert_eq!(&server.recv().await.expect("the request").bytes[..], b"nobody answers");
    // A receive that was given up takes no message with it.
    let given_up = tokio::time::timeout(Duration::from_millis(5), server.recv()).await;
    assert!(given_up.is_err());
    client.send(address, "later").await.expect("acknowledged");
    assert_eq!(&server.recv().await.expect("a message").bytes[..], b"later");
    assert!(matches!(
        client.send("[::1]:9".parse().expect("an address"), "x").await,
        Err(SendError::OtherFamily)
    ));
}

#[cfg(feature = "tokio")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_asynchronous_twin_does_the_same() {
    use headway_host::tokio::Endpoint;
    let config = Config::default();
    let bind = || Endpoint::bind("127.0.0.1:0", config.clone()).expect("bound");
    let (client, server) = (Arc::new(bind()), bind());
    let address = server.local_addr();
    let serving = tokio::spawn(async move {
        for _ in 0..50 {
            let request = server.recv().await.expect("a request");
            let reply: Vec<u8> = request.bytes.iter().rev().copied().collect();
            server.reply(&request, reply).await.expect("acknowledged");
        }
        let plain = server.recv().await.expect("a message");
        assert!(!plain.wants_reply() && plain.bytes.len() == 1 << 20);
    });
    let calls: Vec<_> = (0..50u64)
        .map(|n| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                let reply = client.call(address, salted_bytes(1000, n)).await.expect("a reply");
                assert!(reply.iter().rev().eq(salted_bytes(1000, n).iter()));
            })
        })
        .collect();
    for call in calls {
        call.await.expect("the reply is right");
    }
    client.send(address, salted_bytes(1 << 20, 3)).await.expect("acknowledged");
    serving.await.expect("no panic");
}

/// pHost's tokens are valid for 1.5 frame times, here less than a system call takes. They count from the instant at which
/// they arrived until what they permit has left, however long that takes.
#[test]
fn permissions_that_are_valid_for_less_than_a_system_call_are_used() {
    let config = Config { transport: "phost".into(), peer_timeout: Time::s(5), ..Config::default() };
    let (a, b) = (bound_endpoint(&config), bound_endpoint(&config));
    let handle = a.send_nowait(b.local_addr(), salted_bytes(1 << 20, 1)).expect("room");
    let received = b.recv_timeout(LONG).expect("a message");
    assert!(received.bytes == salted_bytes(1 << 20, 1));
    handle.wait_timeout(LONG).expect("in time").expect("acknowledged");
}

/// Two endpoints at 127.0.0.1, each with another address.
fn with_two_addresses(transport: &str) -> [Endpoint; 2] {
    let settings = [("transport", transport), ("addresses", "127.0.0.2")];
    let config = Config::from_settings(settings).expect("settings");
    [(); 2].map(|()| Endpoint::bind("127.0.0.1:0", config.clone()).expect("bound"))
}

#[test]
fn messages_take_two_paths_over_real_sockets() {
    for transport in ["proactmp", "mptcp-olia"] {
        let [server, client] = with_two_addresses(transport);
        let address = server.local_addr();
        let both = |endpoint: &Endpoint| {
            let paths = endpoint.paths();
            paths.len() == 2
                && paths.iter().all(|path| path.state == PathState::Open && path.mtu == 1500)
                && paths.iter().all(|path| path.counts.bytes_received > 0)
        };
        // Messages begin before the second path is proven, and a busy machine may prove it late.
        let began = Instant::now();
        for number in (0..=u8::MAX).cycle() {
            let bytes = vec![number; 1_000_000];
            client.send(address, bytes.clone()).expect("acknowledged");
            assert!(server.recv_timeout(LONG).expect("arrived").bytes == bytes, "{transport}");
            if both(&server) && both(&client) {
                break;
            }
            assert!(began.elapsed() < LONG, "{transport}: {:?} {:?}", server.paths(), client.paths());
        }
    }
}

#[test]
fn an_address_comes_and_goes_while_messages_do() {
    let config = Config { transport: "proactmp".into(), ..Config::default() };
    let [server, client] = [(); 2].map(|()| Endpoint::bind("127.0.0.1:0", config.clone()).expect("bound"));
    let to = server.local_addr();
    let round = || {
        client.send(to, vec![7; 300_000]).expect("acknowledged");
        assert_eq!(server.recv_timeout(LONG).expect("arrived").bytes.len(), 300_000);
    };
    round();
    assert!(client.paths().is_empty() && server.paths().is_empty(), "one address each");
    // Linux answers at all of 127.0.0.0/8 without any configuration.
    let second = client.add_address("127.0.0.2:0".parse().expect("an address")).expect("bound");
    let again = client.add_address(second);
    assert!(matches!(again, Err(AddressError::Kernel { address, .. }) if address == second), "{again:?}");
    (0..5).for_each(|_| round());
    let began = Instant::now();
    while server.paths().iter().filter(|path| path.state == PathState::Open).count() < 2 {
        assert!(began.elapsed() < LONG, "{:?}", server.paths());
        round();
    }
    // The address where the two met goes; what is under way takes the other.
    let first = client.local_addr();
    assert_eq!(client.remove_address(first), Ok(first));
    (0..5).for_each(|_| round());
    assert_eq!(client.paths().iter().map(|path| path.local).collect::<Vec<_>>(), [second]);
    // An endpoint without an address could not be reached to get another.
    assert_eq!(client.remove_address(second), Err(AddressError::Last(second)));
    let wrong = client.add_address("10.0.0.1:0".parse().expect("an address"));
    assert!(matches!(wrong, Err(AddressError::NotLoopback(_))), "{wrong:?}");
}
