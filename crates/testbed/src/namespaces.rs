//! Hosts as network namespaces: one unnamed namespace a process, veth pairs between them and the switch.
//!
//! Nothing has a name that outlives its process: a namespace goes with the last process in it, its
//! interfaces go with it, and every child asks the kernel to be killed when its parent dies. So nothing
//! stays behind after Ctrl-C, after a crash, or after `kill -9`.

#![allow(clippy::disallowed_methods, reason = "namespaces are made through processes")]
#![allow(unsafe_code, reason = "entering a namespace happens between fork and exec")]

use crate::TestbedError;
use headway_switch::Addresses;
use headway_units::Rate;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use std::fs::File;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Bytes of preamble, frame check sequence and inter-frame gap around a frame.
const FRAMING: u32 = 24;
/// Bytes of the shortest frame on a wire, with that.
const SHORTEST: u32 = 84;
/// Packets that wait at a host's interface at most, as in Linux.
const QUEUE_PACKETS: u32 = 1000;

/// Checks for the prerequisites of real interfaces and namespaces; the error names the missing one.
pub fn check_prerequisites() -> Result<(), TestbedError> {
    if !nix::unistd::geteuid().is_root() {
        return Err(TestbedError::Missing(
            "root: it makes network namespaces and opens packet sockets\n  help: put `sudo` before the command, with the whole \
             path of `headway`, or `unshare -r` where the system lets users have namespaces"
                .into(),
        ));
    }
    let ip = Command::new("ip").arg("-Version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !ip.is_ok_and(|s| s.success()) {
        return Err(TestbedError::Missing("the program `ip` (package iproute2)".into()));
    }
    let mut probe = Command::new("ip");
    probe.args(["link", "add", "name", "probe0", "type", "veth", "peer", "name", "probe1"]);
    probe.stdout(Stdio::null()).stderr(Stdio::null());
    in_new_namespace(&mut probe);
    match probe.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(TestbedError::Missing("veth interfaces: the kernel has none".into())),
        // `unshare` fails before the program runs, so the error is that of starting it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(TestbedError::Missing(
            "the privilege CAP_SYS_ADMIN, to make network namespaces: root does not have it here, as in a container"
                .into(),
        )),
        Err(error) => Err(TestbedError::Missing(format!("network namespaces: {error}"))),
    }
}

/// Has a command run in a network namespace of its own, and die with this process.
pub fn in_new_namespace(command: &mut Command) {
    // SAFETY: both calls are plain system calls: they allocate nothing and take no lock, as the moment
    // between fork and exec demands.
    unsafe {
        command.pre_exec(|| {
            // SIGKILL, because the child may be a program that handles or ignores gentler signals.
            set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)?;
            unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
        });
    }
}

/// Has a command run in the network namespace of process `pid`, and die with this process.
pub fn in_namespace_of(command: &mut Command, pid: u32) -> io::Result<()> {
    let namespace = File::open(format!("/proc/{pid}/ns/net"))?;
    // SAFETY: as in `in_new_namespace`; the descriptor is kept open by the closure.
    unsafe {
        command.pre_exec(move || {
            set_pdeathsig(Signal::SIGKILL).map_err(io::Error::from)?;
            setns(&namespace, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
        });
    }
    Ok(())
}

/// Name of the switch's interface towards a host.
pub fn switch_interface(host: u32) -> String {
    format!("host{host}")
}

/// Joins the switch's namespace to every host's with a veth pair: addresses, fixed neighbours, and packets
/// of at most `mtu` bytes one at a time. `hosts` are (host, process).
pub fn join_hosts(
    switch: u32,
    hosts: &[(u32, u32)],
    addresses: &Addresses,
    mtu: u32,
) -> Result<(), TestbedError> {
    let mut lines = String::from("link set lo up\n");
    for &(host, pid) in hosts {
        let name = switch_interface(host);
        lines += &format!(
            "link add name {name} address {} mtu {mtu} type veth peer name eth0 address {} mtu {mtu} netns {pid}\n\
             link set {name} addrgenmode none\nlink set {name} up\n",
            mac_address(host, true),
            mac_address(host, false)
        );
    }
    // The pairs first: each host's end appears in its namespace with this.
    ip_batch(switch, &lines)?;
    for &(host, pid) in hosts {
        let mut lines = format!(
            "link set lo up\nlink set eth0 addrgenmode none\nlink set eth0 gso_max_segs 1 gso_max_size {}\n\
             address add {}/8 dev eth0\nlink set eth0 up\n",
            mtu + 14,
            addresses.of(host)
        );
        for &(peer, _) in hosts.iter().filter(|(peer, _)| *peer != host) {
            let (address, mac) = (addresses.of(peer), mac_address(peer, false));
            // Fixed, because the switch forwards no ARP.
            lines += &format!("neighbour add {address} lladdr {mac} dev eth0 nud permanent\n");
        }
        ip_batch(pid, &lines)?;
    }
    Ok(())
}

/// Gives a host its second address, from which its multipath TCP opens a second subflow, and has it know those of its
/// peers.
pub fn add_path(pid: u32, host: u32, peers: &[u32], addresses: &Addresses) -> Result<(), TestbedError> {
    let own = addresses.second_of(host);
    let mut lines = format!("address add {own}/8 dev eth0\n");
    for &peer in peers.iter().filter(|peer| **peer != host) {
        let (address, mac) = (addresses.second_of(peer), mac_address(peer, false));
        lines += &format!("neighbour add {address} lladdr {mac} dev eth0 nud permanent\n");
    }
    lines += &format!(
        "mptcp limits set subflow 1 add_addr_accepted 0\nmptcp endpoint add {own} dev eth0 subflow\n"
    );
    ip_batch(pid, &lines)
}

/// Has connections that a host opens begin with a window of so many packets.
pub fn set_first_window(pid: u32, own: Ipv4Addr, packets: u32) -> Result<(), TestbedError> {
    // The route that comes with the address.
    ip_batch(
        pid,
        &format!("route change 10.0.0.0/8 dev eth0 proto kernel scope link src {own} initcwnd {packets}\n"),
    )
}

/// Has the kernel of process `pid` send at no more than the rate of the host's link, so that its packets wait where a
/// real host's do, and its TCP notices. The error is a clause that says why not.
pub fn shape_rate(pid: u32, rate: Rate, mtu: u32) -> Result<(), String> {
    // Two packets, or the bytes that a late timer lets pass: some tens of microseconds.
    let burst = (2 * (u64::from(mtu) + 14)).max(rate.bps() / 8 * 120 / 1_000_000);
    let line = format!(
        "qdisc add dev eth0 root tbf rate {}bit burst {burst} limit {} overhead {FRAMING} mpu {SHORTEST}\n",
        rate.bps(),
        QUEUE_PACKETS * (mtu + 14)
    );
    run_batch("tc", pid, &line).map_err(|error| match error {
        TestbedError::Namespace(said) if !said.is_empty() => format!("tc: {said}"),
        other => other.to_string(),
    })
}

fn mac_address(host: u32, switch: bool) -> String {
    // Bit 1 of the first byte marks a locally administered address.
    let [.., b, c] = host.to_be_bytes();
    format!("02:48:57:{:02x}:{b:02x}:{c:02x}", u8::from(switch))
}

fn ip_batch(pid: u32, lines: &str) -> Result<(), TestbedError> {
    run_batch("ip", pid, lines)
}

/// Has a program of iproute2 carry out lines in the namespace of process `pid`.
fn run_batch(program: &str, pid: u32, lines: &str) -> Result<(), TestbedError> {
    let step =
        |source: io::Error| TestbedError::Io { step: format!("running {program} in a namespace"), source };
    let mut command = Command::new(program);
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    in_namespace_of(&mut command, pid).map_err(step)?;
    let mut child = command.spawn().map_err(step)?;
    // Dropped at the end of the block: the program reads until its input ends.
    if let Some(mut input) = child.stdin.take() {
        input.write_all(lines.as_bytes()).map_err(step)?;
    }
    let output = child.wait_with_output().map_err(step)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(TestbedError::Namespace(said))
}
