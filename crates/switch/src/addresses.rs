//! Mapping between IPv4 addresses and hosts.

use headway_packet::HostId;
use std::net::{IpAddr, Ipv4Addr};

/// Distance between a host's first address and its second.
const SECOND: u32 = 1 << 22;

/// Consecutive addresses for consecutive hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Address of host 0.
    pub first: Ipv4Addr,
    /// Number of hosts, which are numbered from 0.
    pub hosts: u32,
}

impl Addresses {
    /// Host 0 is 10.0.0.1, host 1 is 10.0.0.2, and so on, as in captures of simulations.
    pub fn new(hosts: u32) -> Addresses {
        Addresses { first: HostId(0).ipv4_address().into(), hosts }
    }

    /// The address of a host.
    pub fn of(&self, host: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits().wrapping_add(host))
    }

    /// The second address of a host, for subflows of multipath TCP: 10.64.0.1 of host 0, and so on.
    pub fn second_of(&self, host: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.of(host).to_bits().wrapping_add(SECOND))
    }

    /// True if an address is the second one of a host.
    pub fn is_second(&self, address: Ipv4Addr) -> bool {
        self.host(address).is_some_and(|host| self.second_of(host) == address)
    }

    /// The host with an address. None has an IPv6 address.
    pub fn host(&self, address: impl Into<IpAddr>) -> Option<u32> {
        let IpAddr::V4(address) = address.into() else { return None };
        // An address below the first wraps to a number that no host has.
        let number = address.to_bits().wrapping_sub(self.first.to_bits());
        let known = |host: u32| (host < self.hosts).then_some(host);
        known(number).or_else(|| known(number.checked_sub(SECOND)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_hosts_answer_each_other() {
        let plan = Addresses::new(300);
        assert_eq!(plan.of(299), Ipv4Addr::new(10, 0, 1, 44));
        assert!((0..300).all(|h| plan.host(plan.of(h)) == Some(h)));
        assert_eq!(plan.second_of(299), Ipv4Addr::new(10, 64, 1, 44));
        assert!((0..300).all(|h| plan.host(plan.second_of(h)) == Some(h)));
        assert!((0..300).all(|h| plan.is_second(plan.second_of(h)) && !plan.is_second(plan.of(h))));
        assert_eq!(plan.host(Ipv4Addr::new(10, 64, 1, 45)), None);
        assert_eq!(plan.host(Ipv4Addr::new(10, 0, 1, 45)), None);
        assert_eq!(plan.host(Ipv4Addr::new(10, 0, 0, 0)), None);
    }
}
