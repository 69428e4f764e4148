//! Needs of a transport in a real network: of switches, of hosts and of the flows next to it. Each declares them in the
//! registry.

/// A feature of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Switch {
    /// Marks at a threshold of the queue (RFC 3168; RED with one threshold).
    Ecn,
    /// A threshold above which packets that cannot be marked are dropped, while others are marked: RED with ECN.
    RedDrop,
    /// Strict priorities: so many queues a port, that of control included.
    Priorities(u8),
    /// Priority flow control (IEEE 802.1Qbb): no data is lost.
    Pfc,
    /// A path for each packet: by a random choice of the switch, or by a field that hosts write.
    Spraying,
    /// A class of packets that is sent at a small share of the link, with a queue of a few packets.
    Shaping,
    /// The same links in both directions of a flow.
    Symmetric,
    /// Packets are cut down to their headers where a queue is full.
    Trimming,
    /// In-band telemetry: queue, bytes and time of each hop in each packet.
    Telemetry,
    /// A program of its own.
    Program(&'static str),
}

impl Switch {
    /// In a few words.
    pub fn feature_words(self) -> String {
        match self {
            Switch::Ecn => "ECN".into(),
            Switch::RedDrop => "RED that drops what cannot be marked".into(),
            Switch::Priorities(queues) => format!("{queues} priorities"),
            Switch::Pfc => "PFC".into(),
            Switch::Spraying => "a path for each packet".into(),
            Switch::Shaping => "a shaped class for credits".into(),
            Switch::Symmetric => "symmetric paths".into(),
            Switch::Trimming => "trimming".into(),
            Switch::Telemetry => "telemetry".into(),
            Switch::Program(what) => format!("a program: {what}"),
        }
    }
}

/// Place on hosts in which a transport runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// In a kernel, and how.
    Kernel(&'static str),
    /// In user space, and the known implementation.
    UserSpace(&'static str),
    /// In hardware, and which.
    Hardware(&'static str),
}

impl Host {
    /// In a few words.
    pub fn place_words(self) -> String {
        match self {
            Host::Kernel(how) => format!("kernel: {how}"),
            Host::UserSpace("") => "user space".into(),
            Host::UserSpace(how) => format!("user space: {how}"),
            Host::Hardware(which) => format!("hardware: {which}"),
        }
    }
}

/// Needs of a transport for its deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Features of switches that it cannot do without; empty if any switch will do.
    pub switches: &'static [Switch],
    /// Places in which implementations of its authors or of others run.
    pub hosts: &'static [Host],
    /// Its needs of the flows next to it, or its effect on them.
    pub neighbours: &'static str,
}

/// A kind of network in use: its name, and the features of its switches.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Its name on the command line.
    pub name: &'static str,
    /// Description of the network.
    pub what: &'static str,
    has: fn(Switch) -> bool,
}

impl Network {
    /// Features that a transport lacks there; empty if it can be deployed.
    pub fn lacking_features(&self, needs: &Deployment) -> Vec<Switch> {
        needs.switches.iter().copied().filter(|feature| !(self.has)(*feature)).collect()
    }
}

/// Queues a port that switches have for classes of traffic (IEEE 802.1Q).
const CLASSES: u8 = 8;

/// Networks, those first that can less.
pub const NETWORKS: &[Network] = &[
    Network { name: "plain", what: "any switch: no marks, one queue, a path for each flow", has: |_| false },
    Network {
        name: "plain-ecn",
        what: "switches that mark with ECN, and nothing else",
        has: |feature| feature == Switch::Ecn,
    },
    Network {
        name: "ecn-priorities",
        what: "switches that mark, drop by RED, and have up to 8 strict priorities",
        has: has_classes,
    },
    Network {
        name: "lossless",
        what: "the same with PFC, as for RoCE",
        has: |feature| has_classes(feature) || feature == Switch::Pfc,
    },
    Network {
        name: "spraying",
        what: "switches that mark, have priorities, and choose a path for each packet",
        has: |feature| has_classes(feature) || feature == Switch::Spraying,
    },
    Network {
        name: "trimming",
        what: "the same with packet trimming",
        has: |feature| has_classes(feature) || matches!(feature, Switch::Spraying | Switch::Trimming),
    },
    Network {
        name: "credits",
        what: "switches that mark, have priorities, shape a class, and route both directions over the same links",
        has: |feature| has_classes(feature) || matches!(feature, Switch::Shaping | Switch::Symmetric),
    },
    Network {
        name: "telemetry",
        what: "switches that mark, have PFC, and write telemetry into packets",
        has: |feature| has_classes(feature) || matches!(feature, Switch::Pfc | Switch::Telemetry),
    },
    Network { name: "programs", what: "switches that can be programmed at will", has: |_| true },
];

fn has_classes(feature: Switch) -> bool {
    match feature {
        Switch::Ecn | Switch::RedDrop => true,
        Switch::Priorities(queues) => queues <= CLASSES,
        _ => false,
    }
}

macro_rules! deployments {
    ($($name:ident: [$($switch:expr),*], [$($host:expr),*], $neighbours:literal;)+) => {
        $(pub(crate) const $name: Deployment = Deployment {
            switches: &[$($switch),*],
            hosts: &[$($host),*],
            neighbours: $neighbours,
        };)+
    };
}

use Host::{Hardware, Kernel, UserSpace};
use Switch::{Ecn, Pfc, Priorities, Program, RedDrop, Shaping, Spraying, Symmetric, Telemetry, Trimming};

deployments! {
    AMRT: [Program("sets ECT(1) in packets that leave after a gap")], [UserSpace("")],
        "a class of its own: its receivers share the link only among themselves";
    HOMA: [Priorities(8)], [Kernel("module HomaModule, not in mainline"), UserSpace("DPDK, RAMCloud")],
        "a class of its own: unscheduled packets of others take its priorities' place";
    HOMA_AEOLUS: [Priorities(8), RedDrop], [UserSpace("DPDK")], "a class of its own, as Homa";
    EXPRESSPASS: [Shaping, Symmetric], [UserSpace("SoftNIC, DPDK")],
        "a class of its own: data of others has no credit and meets its own at ports";
    EXPRESSPASS_AEOLUS: [Shaping, Symmetric, RedDrop], [UserSpace("DPDK")], "a class of its own, as ExpressPass";
    NDP: [Trimming, Spraying, Priorities(2)], [UserSpace("DPDK")],
        "a class of its own: its first windows are sent blindly, and packets of others cannot be trimmed";
    PHOST: [Priorities(3)], [UserSpace("")], "a class of its own: its receivers share the link only among themselves";
    PROACTMP: [], [UserSpace("")], "a class of its own: its credit counts the whole link of a receiver as its own";
    RCP: [Program("computes a rate for all flows of a port and writes it into packets")], [UserSpace("")],
        "a class of its own: the rate counts all that crosses the port";
    RPO: [Program("marks packets by what another queue left unused"), Priorities(3)], [UserSpace("")],
        "a class of its own above its opportunistic packets";
    RENO: [], [Kernel("Linux, `reno`")], "fair to itself at equal round trips; takes from what backs off earlier";
    DCTCP: [Ecn], [Kernel("Linux 3.18, `dctcp`; FreeBSD 11; Windows Server 2012")],
        "a queue of its own: losses of CUBIC and Reno come long after its marks, and it gives way";
    D2TCP: [Ecn], [Kernel("no mainline; by BPF here (Linux 6.4)")],
        "shares with DCTCP; takes more as deadlines come near";
    L2DCT: [Ecn], [Kernel("no mainline; by BPF here (Linux 6.4)")],
        "its long flows give way to DCTCP's; its short ones take more";
    CUBIC: [], [Kernel("Linux 2.6.13, the default since 2.6.19; FreeBSD; Windows; macOS")],
        "takes from DCTCP, whose marks come long before its losses, and from what backs off by delay";
    VEGAS: [], [Kernel("Linux 2.6.13, `vegas`")], "gives way to whatever fills queues";
    BBR: [], [Kernel("Linux 4.9, `bbr`")], "takes a share that does not fall with the number of flows that back off for losses";
    BBR3: [], [Kernel("google/bbr, branch v3; not in mainline")], "gentler than BBR to those that back off for losses; uses marks if there are any";
    MPTCP: [], [Kernel("Linux 5.6: subflows of any control of TCP, not coupled")],
        "takes a share for each subflow where they meet on one link";
    MPTCP_COUPLED: [], [Kernel("multipath-tcp.org, up to Linux 5.4; not in mainline")],
        "takes no more than one flow of TCP on a link that its subflows share";
    DCPIM: [Priorities(4)], [UserSpace("")],
        "the network to itself: receivers are matched as if nobody else sent; clocks that agree to a part of a round";
    SIRD: [Ecn], [UserSpace("Caladan, DPDK")], "a class of its own at receivers' links; shares links between switches by marks";
    SWIFT: [], [UserSpace("Google's Pony Express"), Hardware("NICs that stamp arrivals and departures")],
        "gives way to whatever holds queues above its target";
    EQDS: [Trimming, Spraying, Priorities(2)], [UserSpace("DPDK")],
        "carries TCP and RDMA inside; a class of its own next to others";
    UET_NSCC: [Ecn, Spraying], [Hardware("NICs for Ultra Ethernet 1.0")],
        "shares by marks and delay; repairs by time-outs where switches do not trim";
    UET_RCCC: [Ecn, Spraying], [Hardware("NICs for Ultra Ethernet 1.0")],
        "a class of its own at receivers' links; repairs by time-outs where switches do not trim";
    DCQCN: [Ecn, Pfc], [Hardware("RoCE NICs, as ConnectX-3 Pro and later")],
        "a lossless class of its own: TCP in it is paused with it";
    TIMELY: [Pfc], [Hardware("RoCE NICs that stamp round trips")], "a lossless class of its own; gives way to whatever holds queues";
    HPCC: [Telemetry, Pfc], [Hardware("NICs with FPGAs, or programmable ones")], "a lossless class of its own: it counts all bytes of a port as its own";
    POWERTCP: [Telemetry, Pfc], [Kernel("Linux, the authors' module with P4 switches"), Hardware("programmable NICs")],
        "a lossless class of its own: it counts all bytes of a port as its own";
    POWERTCP_THETA: [Pfc], [Kernel("Linux, the authors' module")], "a lossless class of its own; gives way to whatever holds queues";
    TEMPLATE: [], [UserSpace("")], "takes a fixed window, whoever else is there";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn a_network_that_can_more_takes_more() {
        let takes = |name: &str| -> Vec<&str> {
            let network = NETWORKS.iter().find(|one| one.name == name).expect("a network");
            let all = registry::all_entries();
            all.iter()
                .filter(|one| network.lacking_features(&one.deployment).is_empty())
                .map(|one| one.info.name)
                .collect()
        };
        assert_eq!(takes("programs").len(), registry::NAMES.len());
        let (plain, ecn) = (takes("plain"), takes("plain-ecn"));
        assert!(plain.contains(&"cubic") && !plain.contains(&"dctcp") && ecn.contains(&"dctcp"));
        assert!(plain.iter().all(|name| ecn.contains(name)));
        assert!(!ecn.contains(&"homa") && !ecn.contains(&"phost"));
        // A transport whose discipline marks packets has to declare that its switches mark.
        for entry in registry::all_entries() {
            let has = |of: fn(&Switch) -> bool| entry.deployment.switches.iter().any(of);
            // BBRv3 runs over a discipline that marks, and does without marks where there are none.
            let marks =
                ["ecn-threshold", "core-ecn", "red-ecn", "trimming-ecn"].contains(&entry.info.discipline);
            assert!(
                !marks || entry.info.name == "bbr3" || has(|one| *one == Switch::Ecn),
                "{}",
                entry.info.name
            );
            // A machine that counts on a lossless network says so to the simulator as well as here.
            let lossless = entry.capabilities.room == crate::endpoint::Room::Lossless;
            assert_eq!(lossless, has(|one| *one == Switch::Pfc), "{}", entry.info.name);
            assert_eq!(
                entry.capabilities.symmetric,
                has(|one| *one == Switch::Symmetric),
                "{}",
                entry.info.name
            );
            assert!(!entry.deployment.hosts.is_empty() && !entry.deployment.neighbours.is_empty());
        }
    }
}
