//! `headway-perf doctor`: properties of this host, and of its way to a peer, that slow messages down.
//!
//! Every item is measured or read here and now, or says why it is not known.

use crate::args::DoctorArgs;
use crate::error::PerfError;
use headway_host::{Pace, PaceReason, Refused, try_to_send};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Instant;

/// Bytes that an endpoint asks the kernel to keep for its socket each way.
const BUFFER: usize = 8 << 20;
/// Factor by which the kernel's size of a buffer exceeds the requested one: it doubles the request for its own
/// overhead.
const DOUBLED: usize = 2;
/// Microseconds for which an interface may hold datagrams back without being the longest part of a call.
const SHORT_US: u64 = 10;
/// Microseconds that a wake-up takes at most where nothing is wrong.
const QUICK_US: f64 = 20.0;
/// Wake-ups that are measured, each there and back.
const WAKE_UPS: usize = 1000;
/// Bytes of a datagram in a row of equal ones, for the question whether the kernel takes rows.
const SEGMENT: i32 = 1400;

/// Verdict on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    Change,
    /// Not measured, for the reason that is given.
    Unknown,
}

/// An item, and its finding.
#[derive(Debug, Serialize)]
struct Finding {
    item: &'static str,
    verdict: Verdict,
    found: String,
    /// Advice: the change and its benefit; empty if there is none.
    advice: String,
}

/// Items that were examined.
#[derive(Serialize)]
pub(crate) struct DoctorReport {
    peer: String,
    interfaces: BTreeSet<String>,
    findings: Vec<Finding>,
}

fn good_finding(item: &'static str, found: impl Into<String>) -> Finding {
    Finding { item, verdict: Verdict::Good, found: found.into(), advice: String::new() }
}

fn advised_change(item: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Finding {
    Finding { item, verdict: Verdict::Change, found: found.into(), advice: advice.into() }
}

fn unknown_finding(item: &'static str, why: impl Display) -> Finding {
    Finding { item, verdict: Verdict::Unknown, found: format!("not measured: {why}"), advice: String::new() }
}

/// Looks at everything.
pub(crate) fn run_doctor(args: &DoctorArgs) -> Result<DoctorReport, PerfError> {
    let peer = args.peer_address()?;
    let (socket, interfaces) = socket_toward(peer).map_err(PerfError::io_error("looking for a route"))?;
    let pace = Pace::to(peer).map_err(PerfError::io_error("looking for a route"))?;
    let refused = try_to_send(peer).map_err(PerfError::io_error("making a socket"))?;
    let mut findings = vec![check_mtu(&socket, args.mtu), judge_sending(refused)];
    // After the MTU was asked for: these change options of the same socket.
    findings.extend([check_rows(&socket), receive_buffer(&socket), check_pace(&pace)]);
    for interface in interfaces.iter().filter(|name| *name != "lo") {
        findings.push(check_coalescing(interface));
        findings.push(check_offloads(interface));
    }
    findings.extend([
        check_governor(),
        check_processors(),
        wake_ups().map_err(PerfError::io_error("measuring wake-ups"))?,
    ]);
    let marks = "it takes a peer that says which marks arrived, and headway-perf has no question for that";
    findings.extend([unknown_finding("ecn", marks), unknown_finding("priorities", marks)]);
    Ok(DoctorReport { peer: peer.to_string(), interfaces, findings })
}

/// A socket whose datagrams go to the peer, and the interfaces with the address that they leave from.
fn socket_toward(peer: SocketAddr) -> io::Result<(UdpSocket, BTreeSet<String>)> {
    let socket = UdpSocket::bind(headway_host::toward(peer.ip()))?;
    // Connecting a datagram socket sends nothing: the kernel only chooses the route and the local address.
    socket.connect(peer)?;
    let local = socket.local_addr()?.ip();
    let address_of = |interface: &InterfaceAddress| {
        let address = interface.address.as_ref()?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
    };
    let here = getifaddrs()?.filter(|interface| address_of(interface) == Some(local));
    let names = here.map(|interface| interface.interface_name);
    // A packet to one of this host's own addresses goes through the loopback interface.
    Ok((socket, if local == peer.ip() { BTreeSet::from(["lo".into()]) } else { names.collect() }))
}

fn check_mtu(socket: &UdpSocket, wanted: u16) -> Finding {
    let found = match socket.local_addr() {
        Ok(SocketAddr::V6(_)) => rustix::net::sockopt::ipv6_mtu(socket),
        _ => rustix::net::sockopt::ip_mtu(socket),
    };
    match found {
        Ok(found) => judge_mtu(found, wanted),
        Err(error) => unknown_finding("mtu", error),
    }
}

fn judge_mtu(found: u32, wanted: u16) -> Finding {
    let said = format!("{found} bytes by this host's routes; what is beyond them is not measured");
    if found < u32::from(wanted) {
        let advice = format!("give both ends --mtu {found}: longer packets are cut up or dropped");
        return advised_change("mtu", said, advice);
    }
    // Advice only where the gain is large.
    if found > u32::from(wanted) * 2 {
        let advice = "if the whole path carries longer packets, give both ends a longer --mtu: bulk takes less processor time";
        return advised_change("mtu", said, advice);
    }
    good_finding("mtu", said)
}

fn judge_sending(refused: Refused) -> Finding {
    let all =
        refused.iter().map(|(what, why)| format!("the kernel refuses {what} ({why})")).collect::<Vec<_>>();
    let advice = if refused.sending.is_some() {
        "look at this host's firewall (nft list ruleset, iptables -S OUTPUT) and its routes: no message leaves"
    } else if refused.marks.is_some() {
        "let this host set the type-of-service byte (IP_TOS), or choose a transport that needs no marks and no priorities"
    } else if refused.rows.is_some() {
        "look at the offloads of the interface: each packet takes a way through the kernel of its own"
    } else {
        return good_finding("sending", "the kernel takes rows of datagrams with marks to the peer");
    };
    advised_change("sending", all.join("; "), advice)
}

fn check_rows(socket: &UdpSocket) -> Finding {
    // Nothing is sent with it; a kernel that does not know the option refuses it.
    let sent = setsockopt(socket, sockopt::UdpGsoSegment, &SEGMENT);
    let received = setsockopt(socket, sockopt::UdpGroSegment, &true);
    match (sent, received) {
        (Ok(()), Ok(())) => {
            good_finding("rows", "the kernel takes and gives rows of datagrams (UDP_SEGMENT, UDP_GRO)")
        }
        (Err(error), _) | (_, Err(error)) => {
            let advice =
                "use Linux 5.0 or later: without rows, each packet takes a way through the kernel of its own";
            advised_change("rows", format!("the kernel takes no rows of datagrams: {error}"), advice)
        }
    }
}

fn receive_buffer(socket: &UdpSocket) -> Finding {
    // The forced size ignores the limit `net.core.rmem_max`, but takes CAP_NET_ADMIN.
    if setsockopt(socket, sockopt::RcvBufForce, &BUFFER).is_err() {
        // As much as the kernel allows without the privilege.
        let _ = setsockopt(socket, sockopt::RcvBuf, &BUFFER);
    }
    match getsockopt(socket, sockopt::RcvBuf) {
        // The size is read back, because the kernel lowers a request above its limit without an error.
        Ok(bytes) => judge_buffer(bytes / DOUBLED),
        Err(error) => unknown_finding("buffers", error),
    }
}

fn judge_buffer(bytes: usize) -> Finding {
    let found = format!("a socket of this user gets {} kB for what arrives", bytes / 1000);
    if bytes >= BUFFER {
        return good_finding("buffers", found);
    }
    let advice = format!(
        "sysctl -w net.core.rmem_max={BUFFER}: what arrives while a thread is late is dropped otherwise"
    );
    advised_change("buffers", found, advice)
}

fn check_pace(pace: &Pace) -> Finding {
    match pace.reason {
        PaceReason::Given | PaceReason::Interface(_) => good_finding("pacing", pace.to_string()),
        PaceReason::Unknown(_) => {
            let advice = "give --rate-gbps the rate of the slowest link, if there is one: windows and pacing follow it";
            advised_change("pacing", pace.to_string(), advice)
        }
    }
}

/// Output of `ethtool` for an interface, or the reason why there is none.
fn ethtool_output(option: &str, interface: &str) -> Result<String, String> {
    let output = Command::new("ethtool").args([option, interface]).output();
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "ethtool is not installed".into(),
        _ => format!("ethtool: {error}"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(format!("ethtool {option} {interface}: {}", error.lines().next().unwrap_or("it failed").trim()))
}

/// The value after `name:` at the beginning of a line.
fn value_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let after = |line: &'a str| line.trim().strip_prefix(name)?.trim_start().strip_prefix(':');
    text.lines().find_map(after).map(str::trim)
}

fn check_coalescing(interface: &str) -> Finding {
    match ethtool_output("-c", interface) {
        Ok(text_behind) => judge_coalescing(interface, &text_behind),
        Err(why) => unknown_finding("coalescing", why),
    }
}

fn judge_coalescing(interface: &str, text: &str) -> Finding {
    // Drivers without the setting print `n/a`, which is not a number.
    let held = value_after(text, "rx-usecs").and_then(|us| us.parse::<u64>().ok());
    match held {
        None => unknown_finding("coalescing", format!("{interface} does not say rx-usecs")),
        Some(us) if us <= SHORT_US => {
            good_finding("coalescing", format!("{interface} holds datagrams back for {us} us"))
        }
        Some(us) => {
            let advice = format!(
                "ethtool -C {interface} rx-usecs {SHORT_US}: a call may take {} us less",
                // A call waits at both ends.
                2 * (us - SHORT_US)
            );
            advised_change(
                "coalescing",
                format!("{interface} holds datagrams back for up to {us} us"),
                advice,
            )
        }
    }
}

fn check_offloads(interface: &str) -> Finding {
    match ethtool_output("-k", interface) {
        Ok(text_behind) => judge_offloads(interface, &text_behind),
        Err(why) => unknown_finding("offloads", why),
    }
}

fn judge_offloads(interface: &str, text: &str) -> Finding {
    // "[fixed]" follows a feature that the device cannot change.
    let state =
        |name| value_after(text, name).map(|state| (state.starts_with("on"), state.contains("[fixed]")));
    let names = ["tx-udp-segmentation", "generic-receive-offload", "rx-checksumming"];
    // Off and not fixed: a device cannot follow advice about what is fixed.
    let off: Vec<_> = names.into_iter().filter(|name| state(name) == Some((false, false))).collect();
    if names.iter().all(|name| state(name).is_none()) {
        return unknown_finding(
            "offloads",
            format!("ethtool -k {interface} names none of {}", names.join(", ")),
        );
    }
    if off.is_empty() {
        return good_finding("offloads", format!("{interface} has what it can of {}", names.join(", ")));
    }
    let advice = format!("ethtool -K {interface} {} on: bulk takes less processor time", off.join(" on "));
    advised_change("offloads", format!("{interface} has {} off", off.join(", ")), advice)
}

fn check_governor() -> Finding {
    let folders = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let files = folders.map(|folder| folder.path().join("cpufreq/scaling_governor"));
    let governors: BTreeSet<_> =
        files.filter_map(|file| fs::read_to_string(file).ok()).map(|text| text.trim().to_string()).collect();
    judge_governor(&governors)
}

fn judge_governor(governors: &BTreeSet<String>) -> Finding {
    if governors.is_empty() {
        return unknown_finding("governor", "the kernel shows no governor; a virtual machine has none");
    }
    let found = governors.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    if governors.iter().all(|governor| governor == "performance") {
        return good_finding("governor", found);
    }
    let advice = "cpupower frequency-set -g performance: slow processors make each wake-up longer";
    advised_change("governor", found, advice)
}

fn check_processors() -> Finding {
    match std::thread::available_parallelism() {
        Err(error) => unknown_finding("processors", error),
        Ok(count) if count.get() == 1 => {
            let advice = "give the program two: the application and its endpoint share one now";
            advised_change("processors", "1 for this program", advice)
        }
        Ok(count) => good_finding("processors", format!("{count} for this program")),
    }
}

/// Measures how long it takes until a thread that sleeps at a socket runs.
fn wake_ups() -> io::Result<Finding> {
    let (mut here, mut there) = UnixStream::pair()?;
    let echo = std::thread::spawn(move || -> io::Result<()> {
        let mut byte = [0];
        for _ in 0..WAKE_UPS {
            there.read_exact(&mut byte)?;
            there.write_all(&byte)?;
        }
        Ok(())
    });
    let mut taken = Vec::with_capacity(WAKE_UPS);
    for _ in 0..WAKE_UPS {
        let start = Instant::now();
        // One byte there and one back wake two threads.
        here.write_all(&[7])?;
        here.read_exact(&mut [0])?;
        taken.push(start.elapsed().as_secs_f64() * 1e6 / 2.0);
    }
    drop(here);
    echo.join().unwrap_or_else(|_| unreachable!("it only reads and writes"))?;
    taken.sort_by(f64::total_cmp);
    // The median: a single long interruption should not decide the verdict.
    Ok(judge_wake_ups(taken[WAKE_UPS / 2], taken[WAKE_UPS * 99 / 100]))
}

fn judge_wake_ups(median_us: f64, p99_us: f64) -> Finding {
    let found =
        format!("a thread wakes up in {median_us:.1} us (median), {p99_us:.1} us (p99); a call takes two");
    if median_us <= QUICK_US {
        return good_finding("wake-ups", found);
    }
    let advice = "look for deep idle states of processors (/dev/cpu_dma_latency) and for other programs; --spin-us avoids wake-ups";
    advised_change("wake-ups", found, advice)
}

impl Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interfaces = self.interfaces.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        writeln!(f, "this host, and its way to {} through {interfaces}", self.peer)?;
        for Finding { item, verdict, found, advice } in &self.findings {
            let mark = match verdict {
                Verdict::Good => "good",
                Verdict::Change => "CHANGE",
                Verdict::Unknown => "unknown",
            };
            writeln!(f, "  {mark:<8} {item:<11} {found}")?;
            if !advice.is_empty() {
                writeln!(f, "  {:<20} {advice}", "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_to_be_changed_and_what_is_right_is_not() {
        let text = "Features for eth0:\nrx-checksumming: on\ntx-udp-segmentation: off\n\
                    generic-receive-offload: off [fixed]\n";
        let fine = text.replace("off\n", "on\n");
        let slow =
            "Coalesce parameters for eth0:\nAdaptive RX: off  TX: off\nrx-usecs:\t50\nrx-frames:\tn/a\n";
        let governors = |name: &str| BTreeSet::from([name.to_string()]);
        let pairs = [
            (judge_mtu(1500, 1500), judge_mtu(1400, 1500)),
            (judge_mtu(9000, 9000), judge_mtu(9000, 1500)),
            (judge_buffer(BUFFER), judge_buffer(212_992)),
            (judge_coalescing("eth0", &slow.replace("50", "8")), judge_coalescing("eth0", slow)),
            (judge_offloads("eth0", &fine), judge_offloads("eth0", text)),
            (judge_governor(&governors("performance")), judge_governor(&governors("powersave"))),
            (judge_wake_ups(3.0, 9.0), judge_wake_ups(60.0, 90.0)),
        ];
        for (right, wrong) in pairs {
            assert_eq!((right.verdict, right.advice.as_str()), (Verdict::Good, ""), "{right:?}");
            assert!(wrong.verdict == Verdict::Change && !wrong.advice.is_empty(), "{wrong:?}");
        }
        assert!(judge_offloads("eth0", text).advice.contains("-K eth0 tx-udp-segmentation on:"));
        assert!(judge_coalescing("eth0", slow).advice.ends_with("may take 80 us less"));
    }

    #[test]
    fn what_nobody_says_is_unknown() {
        let unknown = [
            judge_coalescing("eth0", "rx-usecs: n/a\n"),
            judge_offloads("eth0", "Features for eth0:\n"),
            judge_governor(&BTreeSet::new()),
        ];
        for finding in unknown {
            assert!(finding.verdict == Verdict::Unknown && finding.found.starts_with("not measured: "));
        }
    }
}
