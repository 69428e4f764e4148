//! Addresses of endpoints: IPv4, or IPv6.
//!
//! An endpoint has one of the two, and so have all of its peers: packets of a message are cut to one length, which the
//! longer header of IPv6 makes shorter.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

/// Bytes of UDP's header.
const UDP: u16 = 8;

/// Bytes of the IP and UDP headers of what has this address.
pub(crate) const fn header_bytes(ip: IpAddr) -> u16 {
    UDP + match ip {
        IpAddr::V4(_) => 20,
        IpAddr::V6(_) => 40,
    }
}

/// True if one can be sent to from the other.
pub(crate) fn is_of_family(one: IpAddr, other: IpAddr) -> bool {
    one.is_ipv4() == other.is_ipv4()
}

/// 32 bits that stand for an address in packets, for programs that identify hosts by them: the address, or
/// the exclusive or of its four words.
pub(crate) fn address_word(ip: IpAddr) -> u32 {
    match ip {
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) => {
            let all = u128::from(ip);
            // All four words count: hosts of one network differ in the last, networks of one site in the
            // second.
            [96, 64, 32, 0].into_iter().fold(0, |word, shift| word ^ (all >> shift) as u32)
        }
    }
}

/// All addresses of a host that are of the family of `ip`.
pub(crate) fn unspecified_of(ip: IpAddr) -> IpAddr {
    if ip.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// The address of this family by which a host reaches itself.
pub(crate) fn loopback_of(ip: IpAddr) -> IpAddr {
    if ip.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() }
}

/// Address for an endpoint that only wants to reach `peer`: any port, of loopback where the peer is there, and
/// otherwise of all addresses of the peer's family.
///
/// ```
/// use headway_host::toward;
/// assert_eq!(toward("127.0.0.1".parse()?).to_string(), "127.0.0.1:0");
/// assert_eq!(toward("2001:db8::7".parse()?).to_string(), "[::]:0");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn toward(peer: IpAddr) -> SocketAddr {
    (if peer.is_loopback() { loopback_of(peer) } else { unspecified_of(peer) }, 0).into()
}

/// The first IPv4 address of several, or else the first: the address at which an endpoint with a name binds.
///
/// # Errors
/// The name cannot be resolved to an address.
pub fn chosen(address: impl ToSocketAddrs) -> io::Result<SocketAddr> {
    let all: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
    let v4 = all.iter().find(|address| address.is_ipv4());
    v4.or(all.first()).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn words_of_neighbours_differ() {
        assert_eq!(address_word(ip("10.0.0.1")), 0x0a00_0001);
        assert_eq!(address_word(ip("2001:db8::1")), 0x2001_0db8 ^ 1);
        // Two hosts of a network, then the same host number in two networks.
        assert_ne!(address_word(ip("2001:db8::1")), address_word(ip("2001:db8::2")));
        assert_ne!(address_word(ip("2001:db8:0:1::1")), address_word(ip("2001:db8:0:2::1")));
    }

    #[test]
    fn ipv4_comes_first_where_a_name_has_both() {
        let both = ["[::1]:7", "127.0.0.1:7", "[::2]:7"].map(|text| text.parse().expect("an address"));
        let both: [SocketAddr; 3] = both;
        assert_eq!(chosen(&both[..]).expect("three"), both[1]);
        assert_eq!(chosen(&both[2..]).expect("one"), both[2]);
        assert!(chosen(&both[..0]).is_err());
    }
}
