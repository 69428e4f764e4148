//! Endpoints without work take no processor and little memory. In a process of its own, whose threads and memory are
//! those of this test.
#![allow(clippy::disallowed_methods, reason = "real threads, real time")]

use headway_host::{Admission, Config, Endpoint, Limits, PreSharedKey};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Number of times that the endpoints' own threads have gone to sleep so far.
fn count_sleeps() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").expect("this is Linux");
    let of = |task: fs::DirEntry| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let mut lines = status.lines();
        lines.next().filter(|name| name.contains("headway-host"))?;
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        count.trim().parse::<u64>().ok()
    };
    tasks.flatten().filter_map(of).sum()
}

/// Bytes of memory that this process has.
fn resident_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").expect("this is Linux");
    let pages = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number");
    pages * 4096
}

/// Memory of a peer that called once and stays in the table, of many that come one after another.
fn each_peer(config: &Config) -> u64 {
    let limits = Limits { peers: 20_000, ..Limits::default() };
    let server = Endpoint::bind("127.0.0.1:0", Config { limits, ..config.clone() }).expect("bound");
    let address = server.local_addr();
    let serving = answer_requests(server);
    let call = |number: u32| {
        let client = Endpoint::bind("127.0.0.1:0", config.clone()).expect("bound");
        let reply = client.call(address, number.to_be_bytes().to_vec()).expect("a reply");
        assert_eq!(&reply[..], number.to_be_bytes());
    };
    (0..100).for_each(call);
    // The first hundred grow the tables of the process; what comes after is counted.
    let before = resident_bytes();
    (0..1000).for_each(call);
    let each = resident_bytes().saturating_sub(before) / 1000;
    drop(serving.join().expect("no panic"));
    each
}

fn answer_requests(server: Endpoint) -> std::thread::JoinHandle<Endpoint> {
    std::thread::spawn(move || {
        while let Ok(request) = server.recv_timeout(Duration::from_secs(2)) {
            let reply = request.bytes.clone();
            let _ = request.reply(reply).expect("room");
        }
        server
    })
}

#[test]
fn endpoints_without_work_cost_neither_wake_ups_nor_much_memory() {
    let sealed = Config { admission: Admission::PreSharedKey(PreSharedKey([7; 32])), ..Config::default() };
    for config in [Config::default(), sealed] {
        let each = each_peer(&config);
        println!("{each} bytes for each idle peer");
        assert!(each <= 10_000, "{each} bytes for each idle peer, {:?}", config.admission);
    }

    let server = Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound");
    let address = server.local_addr();
    let serving = answer_requests(server);
    let client = Endpoint::bind("127.0.0.1:0", Config::default()).expect("bound");
    for _ in 0..100 {
        client.call(address, vec![7; 100]).expect("a reply");
    }
    let server = serving.join().expect("no panic");
    // Timers that were set meanwhile expire, and then nothing happens any more.
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let before = count_sleeps();
        sleep(Duration::from_millis(500));
        if count_sleeps() == before {
            break;
        }
        assert!(Instant::now() < until, "the endpoints' threads wake up for nothing");
    }
    drop((server, client));
}
