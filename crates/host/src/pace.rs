//! Rate at which packets leave: that of the interface, if the kernel knows it.
//!
//! The kernel reports a speed even for virtual interfaces: for veth pairs always 10 Gb/s, for taps 10 Mb/s. Its report
//! counts only where there is a device behind the interface.
#![allow(clippy::disallowed_methods, reason = "asks the kernel, by files and by a socket")]

use crate::address::{loopback_of, unspecified_of};
use headway_units::Rate;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

/// Directory in which interfaces are described.
const INTERFACES: &str = "/sys/class/net";
/// Interfaces over interfaces, at most.
const DEEPEST: u32 = 8;

/// The rate at which an endpoint lets packets go, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Most bits a second that leave.
    pub rate: Rate,
    /// Source of the rate.
    pub reason: PaceReason,
}

/// Source of a link's rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaceReason {
    /// The configuration gives the rate.
    Given,
    /// The kernel knows the speed of this interface.
    Interface(String),
    /// The kernel knows no speed of these interfaces, so the rate is [`Pace::UNPACED`].
    Unknown(String),
}

impl Pace {
    /// Rate that stands for a link without one: more than an endpoint's thread gets through, so that packets
    /// leave as fast as it can. First windows of transports are as long as their link is fast: with buffers of
    /// sockets smaller than the 8 MB that an endpoint asks for, a lower [`crate::Config::nic`] loses less.
    pub const UNPACED: Rate = Rate::gbps(100);

    /// A rate that was given.
    pub fn given(rate: Rate) -> Pace {
        Pace { rate, reason: PaceReason::Given }
    }

    /// Pace of the interface with this address, the fastest of all where it is 0.0.0.0 or ::.
    pub fn at(local: IpAddr) -> Pace {
        let names =
            // The kernel gives a loopback interface no speed, and counting it would make the rate unknown.
            matching_interfaces(|name, address| !is_loopback(name) && (local.is_unspecified() || address == local));
        let known = names.iter().filter_map(|name| Some((interface_speed(name)?, name)));
        // The fastest: a slower pace would waste it, whereas too fast a pace only loses packets at the slower
        // ones.
        match known.max_by_key(|(rate, _)| rate.bps()) {
            Some((rate, name)) => Pace { rate, reason: PaceReason::Interface(name.clone()) },
            None => Pace::unknown_pace(if local.is_loopback() {
                matching_interfaces(|_, a| a.is_loopback())
            } else {
                names
            }),
        }
    }

    /// Of the interfaces with these addresses together, each of them once; of the first where there is one.
    pub fn of(addresses: &[IpAddr]) -> Pace {
        let [first, more @ ..] = addresses else { return Pace::unknown_pace(BTreeSet::new()) };
        if more.is_empty() {
            return Pace::at(*first);
        }
        let names = matching_interfaces(|_, address| addresses.contains(&address));
        // One unknown speed makes the sum unknown. A sum of the others would hold all of them back.
        let known: Option<Vec<Rate>> = names.iter().map(|name| interface_speed(name)).collect();
        let all = known.map(|rates| rates.iter().map(|rate| rate.bps()).sum::<u64>()).and_then(Rate::new);
        match all {
            Some(rate) => {
                let names = names.into_iter().collect::<Vec<_>>().join(" and ");
                Pace { rate, reason: PaceReason::Interface(names) }
            }
            None => Pace::unknown_pace(names),
        }
    }

    /// Of the interface through which the kernel reaches `peer`.
    pub fn to(peer: SocketAddr) -> io::Result<Pace> {
        let socket = UdpSocket::bind((unspecified_of(peer.ip()), 0))?;
        // Sends nothing for UDP: the kernel only looks up the route, and with it the local address.
        socket.connect(peer)?;
        let local = socket.local_addr()?.ip();
        // Packets to an address of this host's own do not leave it.
        Ok(Pace::at(if local == peer.ip() { loopback_of(local) } else { local }))
    }

    fn unknown_pace(names: BTreeSet<String>) -> Pace {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        Pace { rate: Pace::UNPACED, reason: PaceReason::Unknown(names) }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gbps = self.rate.bps() as f64 * 1e-9;
        match &self.reason {
            PaceReason::Given => write!(f, "{gbps} Gb/s, as given"),
            PaceReason::Interface(name) => write!(f, "{gbps} Gb/s, the speed of {name}"),
            PaceReason::Unknown(names) if names.is_empty() => write!(f, "unpaced, no interface has a speed"),
            PaceReason::Unknown(names) => write!(f, "unpaced, the kernel knows no speed of {names}"),
        }
    }
}

fn is_loopback(name: &str) -> bool {
    name == "lo"
}

/// Names of the interfaces that are up and have an address that is wanted.
fn matching_interfaces(wanted: impl Fn(&str, IpAddr) -> bool) -> BTreeSet<String> {
    let all = getifaddrs().into_iter().flatten();
    let up = all.filter(|interface| interface.flags.contains(InterfaceFlags::IFF_UP));
    let named = up.filter(|i| address_of(i).is_some_and(|address| wanted(&i.interface_name, address)));
    named.map(|interface| interface.interface_name).collect()
}

/// The IP address that an entry of the list of interfaces is about.
fn address_of(interface: &InterfaceAddress) -> Option<IpAddr> {
    let address = interface.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|address| address.ip().into());
    v4.or_else(|| address.as_sockaddr_in6().map(|address| address.ip().into()))
}

/// The speed of an interface that the kernel knows.
fn interface_speed(name: &str) -> Option<Rate> {
    let folder = Path::new(INTERFACES).join(name);
    // In another network namespace than that of the files there may be another interface of this name.
    let number: u32 = fs::read_to_string(folder.join("ifindex")).ok()?.trim().parse().ok()?;
    if if_nametoindex(name) != Ok(number) {
        return None;
    }
    speed_in(&folder, DEEPEST)
}

/// Speed of the interface that a folder describes.
fn speed_in(folder: &Path, deepest: u32) -> Option<Rate> {
    // The entries are symbolic links into /sys/devices, whose path shows whether there is a device.
    let real = fs::canonicalize(folder).ok()?;
    // A link that is down says -1, which is no unsigned number.
    let mbps: u64 = fs::read_to_string(real.join("speed")).ok()?.trim().parse().ok()?;
    let made_up =
        real.components().any(|part| part.as_os_str() == "virtual") && !is_over_devices(&real, deepest);
    if made_up { None } else { Rate::new(mbps.checked_mul(1_000_000)?) }
}

/// True if an interface without a device of its own lies over interfaces that have one, and a speed.
fn is_over_devices(folder: &Path, deepest: u32) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let lower = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("lower_"));
    let mut known =
        lower.map(|entry| deepest > 0 && speed_in(&entry.path(), deepest - 1).is_some()).peekable();
    // A bridge has ports of any kind. Its made-up speed counts only if every one of them is known.
    known.peek().is_some() && known.all(|known| known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::os::unix::fs::symlink;

    #[test]
    fn a_speed_counts_where_there_is_a_device() {
        let root = std::env::temp_dir().join(format!("headway-pace-{}", std::process::id()));
        let make = |place: &str, speed: &str| {
            let folder = root.join(place);
            fs::create_dir_all(&folder).expect("made");
            fs::write(folder.join("speed"), speed).expect("written");
            folder
        };
        let (eth, off) = (make("devices/pci/net/eth0", "25000\n"), make("devices/pci/net/eth1", "-1\n"));
        let (veth, bond) =
            (make("devices/virtual/net/veth0", "10000\n"), make("devices/virtual/net/bond0", "50000\n"));
        let bridge = make("devices/virtual/net/br0", "10000\n");
        symlink(&eth, bond.join("lower_eth0")).expect("linked");
        symlink(&veth, bridge.join("lower_veth0")).expect("linked");
        symlink(&eth, bridge.join("lower_eth0")).expect("linked");
        let speed = |folder: &Path| speed_in(folder, DEEPEST).map(|rate| rate.bps() / 1_000_000_000);
        assert_eq!(
            [&eth, &off, &veth, &bond, &bridge].map(|f| speed(f)),
            [Some(25), None, None, Some(50), None]
        );
        assert_eq!(speed(&root.join("nothing")), None);
        // An interface over itself has an unknown speed, and the search for it ends.
        symlink(&bridge, bridge.join("lower_br0")).expect("linked");
        assert_eq!(speed(&bridge), None);
        fs::remove_dir_all(&root).expect("removed");
    }

    #[test]
    fn this_machine_reaches_itself_unpaced_and_says_so() {
        let pace = Pace::to(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 9)).expect("a route");
        assert_eq!(pace, Pace { rate: Pace::UNPACED, reason: PaceReason::Unknown("lo".into()) });
        if let Ok(over_ipv6) = Pace::to(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 9)) {
            assert_eq!(over_ipv6, pace);
        }
        assert_eq!(pace.to_string(), "unpaced, the kernel knows no speed of lo");
        assert_eq!(
            Pace::given(Rate::new(2_500_000_000).expect("positive")).to_string(),
            "2.5 Gb/s, as given"
        );
        let pace = Pace { rate: Rate::gbps(25), reason: PaceReason::Interface("eth0".into()) };
        assert_eq!(pace.to_string(), "25 Gb/s, the speed of eth0");
    }
}
