//! The program against itself on the loopback interface, over Headway and over TCP.
#![allow(clippy::disallowed_methods, reason = "real processes, real time")]

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest time that any one command may take.
const LONGEST: Duration = Duration::from_secs(60);

/// A program that ends when the test does.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start_perf(arguments: &[&str]) -> Running {
        Running::start_with(&[], arguments)
    }

    /// Starts the program with these variables in its environment.
    pub(crate) fn start_with(variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-perf"));
        command
            .envs(variables.iter().copied())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Running(command.spawn().expect("the program starts"))
    }

    /// A server, and the address that it says.
    fn start_server(arguments: &[&str]) -> (Running, String) {
        Running::serve_with(&[], arguments)
    }

    /// Starts a server with these variables in its environment; returns it, and the address that it prints.
    pub(crate) fn serve_with(variables: &[(&str, &str)], arguments: &[&str]) -> (Running, String) {
        Running::start_at("127.0.0.1:", variables, arguments)
    }

    /// Starts a server at this address, which lacks its port; returns it, and the address that it prints.
    fn serve_at(at: &str, arguments: &[&str]) -> (Running, String) {
        Running::start_at(at, &[], arguments)
    }

    fn start_at(at: &str, variables: &[(&str, &str)], arguments: &[&str]) -> (Running, String) {
        let bind = format!("{at}0");
        let mut server = Running::start_with(variables, &[&["serve", "--bind", &bind], arguments].concat());
        let mut line = String::new();
        let out = server.0.stdout.take().expect("it is a pipe");
        BufReader::new(out).read_line(&mut line).expect("it says where it is");
        let address = line.trim().rsplit(' ').next().expect("the address is last").to_string();
        assert!(address.starts_with(at), "{line}");
        (server, address)
    }

    /// Waits until a client's measurement is under way, which it says.
    fn wait_begun(&mut self) {
        let mut line = String::new();
        // One byte at a time: a larger buffer would swallow what `end` is to read.
        let mut error = BufReader::with_capacity(1, self.0.stderr.as_mut().expect("it is a pipe"));
        error.read_line(&mut line).expect("it says something");
        assert!(line.starts_with("measuring"), "{line}");
    }

    fn send_signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).expect("it runs");
    }

    /// Waits for the end.
    pub(crate) fn wait_end(mut self) -> Output {
        let until = Instant::now() + LONGEST;
        while self.0.try_wait().expect("it is ours").is_none() {
            assert!(Instant::now() < until, "it does not end");
            // Polled, because waiting with a time-out takes a signal handler or another thread.
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut output =
            Output { status: self.0.wait().expect("it has ended"), stdout: vec![], stderr: vec![] };
        if let Some(out) = &mut self.0.stdout {
            out.read_to_end(&mut output.stdout).expect("it is a pipe");
        }
        if let Some(err) = &mut self.0.stderr {
            err.read_to_end(&mut output.stderr).expect("it is a pipe");
        }
        output
    }
}

fn run_perf(arguments: &[&str]) -> Output {
    Running::start_perf(arguments).wait_end()
}

pub(crate) fn json_output(output: &Output) -> Value {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"))
}

pub(crate) fn json_number(report: &Value, path: &str) -> f64 {
    report.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {report}"))
}

fn json_keys(report: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = report.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

fn check_bulk(report: &Value, carrier: &str, bytes: u64, messages: u64) {
    let expected = "base_rtt_us bytes carrier client counters goodput_gbps interrupted measurement message_size messages \
                    others pace pace_gbps peer seconds server streams transport version";
    assert_eq!(json_keys(report), expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!((&report["measurement"], &report["carrier"]), (&"bulk".into(), &carrier.into()));
    for path in ["/bytes", "/client/bytes", "/server/bytes"] {
        assert_eq!(json_number(report, path), bytes as f64, "{path}");
    }
    for path in ["/messages", "/client/messages", "/server/messages"] {
        assert_eq!(json_number(report, path), messages as f64, "{path}");
    }
    let goodput = bytes as f64 * 8e-9 / json_number(report, "/seconds");
    assert!((json_number(report, "/goodput_gbps") / goodput - 1.0).abs() < 1e-9);
    assert_eq!(report["base_rtt_us"].as_f64().is_some_and(|us| us > 0.0), carrier == "headway");
    for side in ["/client/cpu", "/server/cpu"] {
        assert_eq!(json_keys(report.pointer(side).expect("there")), ["s_per_gb", "system_s", "user_s"]);
        assert!(json_number(report, &format!("{side}/s_per_gb")) >= 0.0);
    }
}

fn check_latency(report: &Value, carrier: &str, calls: u64) {
    let expected = "base_rtt_us calls carrier client counters interrupted latency_us measurement others pace pace_gbps \
                    peer reply_size request_size seconds server transport version";
    assert_eq!(json_keys(report), expected.split_whitespace().collect::<Vec<_>>());
    assert_eq!((&report["measurement"], &report["carrier"]), (&"latency".into(), &carrier.into()));
    assert_eq!((json_number(report, "/calls"), json_number(report, "/request_size")), (calls as f64, 100.0));
    assert_eq!(json_number(report, "/server/bytes"), (calls * 3000) as f64);
    assert_eq!(json_keys(&report["latency_us"]), ["max", "mean", "min", "p50", "p90", "p99", "p99.9"]);
    let us: Vec<f64> = ["min", "p50", "p90", "p99", "p99.9", "max"]
        .iter()
        .map(|key| report["latency_us"][key].as_f64().expect("a number"))
        .collect();
    // A minute, which is longer than the test may take: only a wrong unit exceeds it.
    assert!(us[0] > 0.0 && us.is_sorted() && us[5] < 60e6, "{us:?}");
}

#[test]
fn both_carriers_work_over_ipv6() {
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        headway_testing::absent("IPv6 in this kernel");
        return;
    }
    let (server, address) = Running::serve_at("[::1]:", &["--tcp"]);
    for (carrier, flags) in [("headway", &[][..]), ("tcp", &["--tcp"])] {
        let bulk = ["bulk", &address, "--json", "--bytes", "3000000", "--message-size", "1000000"];
        check_bulk(&json_output(&run_perf(&[&bulk, flags].concat())), carrier, 3_000_000, 3);
    }
    drop(server);
    // Without a port it is the usual one, and no bracket is needed.
    let nobody = run_perf(&["latency", "::1", "--calls", "1", "--timeout", "0.2"]);
    assert!(!nobody.status.success());
    let error = String::from_utf8_lossy(&nobody.stderr);
    assert!(!error.contains("no address of"), "{error}");
    let report = json_output(&run_perf(&["doctor", "::1", "--json"]));
    assert_eq!(report["interfaces"], serde_json::json!(["lo"]));
    let mtu = report["findings"].as_array().and_then(|found| found.iter().find(|one| one["item"] == "mtu"));
    assert!(mtu.is_some_and(|mtu| mtu["found"].to_string().contains("65536")), "{mtu:?}");
}

#[test]
fn both_measurements_over_both_carriers_count_every_byte() {
    let (server, address) = Running::start_server(&["--tcp"]);
    for (carrier, flags) in [("headway", &[][..]), ("tcp", &["--tcp"])] {
        // A prime number of bytes, so that neither streams nor messages divide it.
        let bulk = ["bulk", &address, "--json", "--bytes", "10000019", "--message-size", "65536"];
        let report = json_output(&run_perf(&[&bulk, flags, &["--streams", "3"]].concat()));
        // Each of three streams sends 3333339 or 3333340 bytes: 50 whole messages and a rest.
        check_bulk(&report, carrier, 10_000_019, 153);
        assert_eq!(json_number(&report, "/streams"), 3.0);
        assert_eq!(report["counters"].as_object().expect("an object").is_empty(), carrier == "tcp");
        let latency = ["latency", &address, "--json", "--count", "300", "--reply-size", "3000"];
        check_latency(&json_output(&run_perf(&[&latency, flags].concat())), carrier, 300);
        let timed = run_perf(&[&["bulk", &address, "--seconds", "0.2"], flags].concat());
        let text = String::from_utf8(timed.stdout).expect("text");
        assert!(timed.status.success() && text.contains("goodput") && text.starts_with(carrier), "{text}");
    }
    server.send_signal(Signal::SIGINT);
    assert!(server.wait_end().status.success(), "a server that is asked to end has not failed");
}

#[test]
fn a_shared_key_is_needed_where_it_is_asked_for() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all("5a".repeat(32).as_bytes()).expect("written");
    let path = file.path().to_str().expect("a name");
    let (_server, address) = Running::start_server(&["--psk-file", path]);
    let bytes = ["bulk", &address, "--json", "--bytes", "3000000", "--psk-file", path];
    check_bulk(&json_output(&run_perf(&bytes)), "headway", 3_000_000, 3);
    let without = run_perf(&["latency", &address, "--timeout", "0.5"]);
    let error = String::from_utf8_lossy(&without.stderr).into_owned();
    assert_eq!(without.status.code(), Some(1), "{error}");
    assert!(error.contains("no answer from 127.0.0.1") && error.contains("key"), "{error}");
}

#[test]
fn the_first_ctrl_c_prints_what_was_measured() {
    let (_server, address) = Running::start_server(&["--tcp"]);
    for flags in [&[][..], &["--tcp"]] {
        // Longer than any test: only the signal ends them.
        for measurement in [&["bulk", "--seconds", "1000"], &["latency", "--count", "1000000000"]] {
            let arguments = [&measurement[..], &[&address, "--json", "--timeout", "20"], flags].concat();
            let mut client = Running::start_perf(&arguments);
            client.wait_begun();
            client.send_signal(Signal::SIGINT);
            let report = json_output(&client.wait_end());
            assert_eq!(report["interrupted"], true);
            assert!(json_number(&report, "/seconds") < 60.0);
        }
    }
}

#[test]
fn what_cannot_be_ends_with_2_and_silence_with_1() {
    let status = |arguments: &[&str]| run_perf(arguments).status.code();
    for usage in [
        &["bulk"][..],
        &["bulk", "127.0.0.1:0"],
        &["bulk", "127.0.0.1", "--message-size", "3"],
        &["bulk", "127.0.0.1", "--bytes", "15"],
        &["bulk", "127.0.0.1", "--transport", "no-such"],
        &["latency", "127.0.0.1", "--psk-file", "/no/such/file"],
        &["latency", "127.0.0.1", "--tcp", "--psk-file", "/no/such/file"],
        &["latency", "127.0.0.1", "--rate-gbps", "0"],
        &["serve", "--bind", "0.0.0.0:0"],
        &["serve", "--allow", "no prefix"],
    ] {
        assert_eq!(status(usage), Some(2), "{usage:?}");
    }
    // Bound and never read, so that nothing answers and the kernel refuses nothing.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("bound");
    let address = silent.local_addr().expect("an address").to_string();
    assert_eq!(status(&["bulk", &address, "--timeout", "0.3"]), Some(1));
    assert_eq!(status(&["bulk", &address, "--timeout", "0.3", "--tcp"]), Some(1));
}

#[test]
fn a_server_measures_with_many_clients_at_a_time_and_with_the_next_after_one_is_killed() {
    let (_server, address) = Running::start_server(&["--tcp"]);
    let mut killed =
        Running::start_perf(&["bulk", &address, "--seconds", "1000", "--json", "--timeout", "20"]);
    killed.wait_begun();
    let bulk = ["bulk", &address, "--json", "--bytes", "5000000", "--timeout", "20"];
    let latency =
        ["latency", &address, "--json", "--count", "200", "--reply-size", "3000", "--timeout", "20"];
    let start = |flags: &[&'static str]| {
        (Running::start_perf(&[&bulk, flags].concat()), Running::start_perf(&[&latency, flags].concat()))
    };
    let clients = [("headway", start(&[])), ("tcp", start(&["--tcp"])), ("headway", start(&[]))];
    for (carrier, (bulk, latency)) in clients {
        let report = json_output(&bulk.wait_end());
        check_bulk(&report, carrier, 5_000_000, 5);
        assert!(json_number(&report, "/others") >= 1.0, "the first one is still at it");
        check_latency(&json_output(&latency.wait_end()), carrier, 200);
    }
    // SIGKILL: the client cannot tell the server that it is over.
    killed.0.kill().expect("it runs");
    drop(killed);
    // No wait for a client that is gone.
    check_bulk(&json_output(&run_perf(&bulk)), "headway", 5_000_000, 5);
}

#[test]
fn the_pace_is_never_a_secret() {
    let (server, address) = Running::start_server(&[]);
    let report = json_output(&run_perf(&["bulk", &address, "--json", "--bytes", "1000000"]));
    assert_eq!(report["pace"], "unpaced, the kernel knows no speed of lo");
    drop(server);
    let (_server, address) = Running::start_server(&["--rate-gbps", "2.5"]);
    let bulk = ["bulk", &address, "--bytes", "1000000", "--rate-gbps", "2.5"];
    let report = json_output(&run_perf(&[&bulk[..], &["--json"]].concat()));
    assert_eq!((&report["pace"], json_number(&report, "/pace_gbps")), (&"2.5 Gb/s, as given".into(), 2.5));
    let text = String::from_utf8(run_perf(&bulk).stdout).expect("text");
    assert!(text.contains("pace         2.5 Gb/s, as given"), "{text}");
}

#[test]
fn a_peer_that_runs_something_else_is_named_at_once() {
    let (_server, address) = Running::start_server(&["--transport", "homa", "--mtu", "9000"]);
    let bulk = ["bulk", &address, "--timeout", "30"];
    for (flags, expected) in [
        (&["--mtu", "9000"][..], "the peer speaks `homa`, this endpoint `amrt`"),
        (&["--transport", "homa"], "the peer speaks packets of 9000 bytes (MTU), this endpoint of 1500"),
    ] {
        let start = Instant::now();
        let refused = run_perf(&[&bulk, flags].concat());
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(1) && error.contains(expected), "{error}");
        assert!(start.elapsed() < Duration::from_secs(20), "not the time-out");
    }
}

#[test]
fn a_key_that_others_can_read_is_refused_with_the_remedy() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), [5; 32]).expect("written");
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o644)).expect("set");
    let path = file.path().to_str().expect("a name");
    for command in [&["serve", "--bind", "127.0.0.1:0"][..], &["latency", "127.0.0.1"]] {
        let refused = run_perf(&[command, &["--psk-file", path]].concat());
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(error.contains("mode 0644 lets others") && error.contains("chmod 600"), "{error}");
        assert_eq!(refused.status.code(), Some(2), "{error}");
    }
}

#[test]
fn parameters_of_a_transport_are_checked_by_name_and_value() {
    for (transport, parameter, expected) in [
        ("phost", "token_lifetme=1", "did you mean `transport.token_lifetime`?"),
        (
            "ndp",
            "window=-1",
            "setting `transport.window` is `-1`, and takes a whole number from 0 to 1000000",
        ),
        ("ndp", "window", "must be a name, `=` and a value"),
        ("ndpp", "window=1", "there is no transport `ndpp`"),
    ] {
        let what = ["--transport", transport, "--param", parameter];
        for command in [&["serve", "--bind", "127.0.0.1:0"][..], &["latency", "127.0.0.1"]] {
            let refused = run_perf(&[command, &what].concat());
            let error = String::from_utf8_lossy(&refused.stderr);
            assert!(error.contains(expected), "{error}");
            assert_eq!(refused.status.code(), Some(2), "{error}");
        }
    }
}

#[test]
fn the_doctor_says_of_every_item_what_was_found_or_why_not() {
    let report = json_output(&run_perf(&["doctor", "127.0.0.1", "--json"]));
    assert_eq!(report["interfaces"], serde_json::json!(["lo"]));
    let findings = report["findings"].as_array().expect("a list");
    let items: Vec<_> = findings.iter().map(|finding| finding["item"].as_str().expect("a name")).collect();
    let expected = "mtu sending rows buffers pacing governor processors wake-ups ecn priorities";
    assert_eq!(items, expected.split(' ').collect::<Vec<_>>());
    for finding in findings {
        let said = |key: &str| finding[key].as_str().expect("a text").to_string();
        assert_eq!(said("verdict") == "change", !said("advice").is_empty(), "{finding}");
        assert_eq!(said("verdict") == "unknown", said("found").starts_with("not measured: "), "{finding}");
    }
    let mtu = std::fs::read_to_string("/sys/class/net/lo/mtu").expect("there is a loopback interface");
    // An IP packet has 65,535 bytes at most, whatever the interface carries.
    let mtu = mtu.trim().parse::<u32>().expect("a number").min(65_535);
    assert!(findings[0]["found"].as_str().expect("a text").starts_with(&format!("{mtu} bytes")));
    let text = String::from_utf8(run_perf(&["doctor", "127.0.0.1"]).stdout).expect("text");
    assert!(items.iter().all(|item| text.contains(&format!(" {item} "))), "{text}");
    assert_eq!(run_perf(&["doctor", "no-such-host.invalid"]).status.code(), Some(2));
}
