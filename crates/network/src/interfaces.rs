//! Hosts with several interfaces.
//!
//! An interface is a link of a host with an address of its own. A machine runs at each interface, so that what it knows of
//! its line, and of its path to a peer, is that of this link: first windows, pacing, credits and the clock of a receiver
//! follow it. A message leaves by one interface of its sender and arrives at one of its receiver. Those are the two with the
//! fewest links between them; among equal pairs, the seed and the number of the flow decide, as a hash of addresses and ports
//! does.
//!
//! An interface may have several ports, as a NIC has in several planes or a host at two leaves. Where packets of a message
//! may take several paths ([`crate::FabricSpec::bonded`]), one machine drives them: its address is the first port's, its line is as fast
//! as all of them, and a packet leaves by any port that is on a shortest path. Where messages take one path each, every port is an
//! interface.
//!
//! A [`RunSpec`](crate::RunSpec) names hosts. [`Network::address`](crate::Network::address) makes one whose flows name interfaces, which is what machines and ports
//! are driven by. Where every host has one interface, both are the same.

use crate::error::BuildError;

/// Host of each interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    hosts: u32,
    /// By interface its host; empty where every host has one interface, of its own number.
    of: Vec<u32>,
    /// By host, where its interfaces begin in `list`, and the end.
    first: Vec<u32>,
    list: Vec<u32>,
    /// By interface the one whose machine drives it; empty where each has its own.
    bonds: Vec<u32>,
}

impl Owners {
    /// Of so many interfaces; `of` has the host of each, or nothing where they are the hosts'.
    ///
    /// `bonds` has for each interface the first one of those that are ports of one, or nothing where none are.
    pub(crate) fn new(interfaces: u32, of: Vec<u32>, bonds: Vec<u32>) -> Result<Owners, BuildError> {
        let alike =
            of.is_empty() || of.iter().enumerate().all(|(interface, host)| interface == *host as usize);
        if alike {
            return Ok(Owners { hosts: interfaces, ..Owners::default() });
        }
        let hosts = of.iter().max().map_or(0, |last| last + 1);
        let mut first = vec![0u32; hosts as usize + 1];
        of.iter().for_each(|host| first[*host as usize + 1] += 1);
        if let Some(host) = first[1..].iter().position(|links| *links == 0) {
            return Err(BuildError::NoLink { host: host as u32 });
        }
        for host in 1..first.len() {
            first[host] += first[host - 1];
        }
        let mut list: Vec<u32> = (0..of.len() as u32).collect();
        // Stable: interfaces of a host keep their order.
        list.sort_by_key(|interface| of[*interface as usize]);
        let alike = bonds.iter().enumerate().all(|(interface, first)| interface == *first as usize);
        Ok(Owners { hosts, of, first, list, bonds: if alike { Vec::new() } else { bonds } })
    }

    /// True if every host has one interface.
    #[inline]
    pub fn are_alike(&self) -> bool {
        self.of.is_empty()
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The host of an interface.
    #[inline]
    pub fn host_of(&self, interface: u32) -> u32 {
        self.of.get(interface as usize).copied().unwrap_or(interface)
    }

    /// The interfaces of a host, in order.
    pub fn interfaces_of(&self, host: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let range = match self.first.get(host as usize..host as usize + 2) {
            Some(bounds) => bounds[0] as usize..bounds[1] as usize,
            None => 0..0,
        };
        self.list[range].iter().copied().chain(self.are_alike().then_some(host))
    }

    /// True if some interfaces have several ports.
    #[inline]
    pub fn is_bonded(&self) -> bool {
        !self.bonds.is_empty()
    }

    /// The address of an interface: its own number, or that of the first port of the interface that it is a port of.
    #[inline]
    pub fn address_of(&self, interface: u32) -> u32 {
        self.bonds.get(interface as usize).copied().unwrap_or(interface)
    }

    /// The addresses of a host, in order.
    pub fn addresses_of(&self, host: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        self.interfaces_of(host).filter(|one| self.address_of(*one) == *one)
    }

    /// The ports of an address, itself first.
    pub fn ports_of(&self, address: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        self.interfaces_of(self.host_of(address)).filter(move |one| self.address_of(*one) == address)
    }

    /// The first interface of a host, which stands for it where one has to.
    pub fn first_of(&self, host: u32) -> u32 {
        self.interfaces_of(host).next().unwrap_or(host)
    }
}
