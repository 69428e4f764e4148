//! The kernel's information about a connection.

#![allow(unsafe_code, reason = "TCP_INFO has no safe interface that knows its later fields")]

use std::os::fd::{AsRawFd, BorrowedFd};

/// Bytes of `struct tcp_info` that are read: the kernel only ever appends to it.
const LENGTH: usize = 232;
/// Subflows of a connection at most, in Linux.
const MOST_SUBFLOWS: usize = 8;
/// `struct mptcp_subflow_data`: four numbers of four bytes.
const HEAD: usize = 16;
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_TCPINFO: libc::c_int = 2;

/// Values of `TCP_INFO`; for several subflows the sums, and the round trips of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Info {
    /// Smoothed round trips of the subflows that have one, in microseconds.
    pub(super) rtts_us: Vec<u32>,
    /// The smallest round trip, in microseconds.
    pub(super) min_rtt_us: Option<u32>,
    /// Congestion windows, in packets.
    pub(super) window_packets: u64,
    /// Packets that were sent again.
    pub(super) retransmitted_packets: u64,
    /// Bytes that were sent again.
    pub(super) retransmitted_bytes: u64,
    /// Packets that arrived marked.
    pub(super) marked_packets: u64,
    /// True if every subflow uses ECN.
    pub(super) ecn: bool,
}

impl Info {
    /// Information on an open or closed connection; `None` if the kernel returns none.
    pub(super) fn from_socket(socket: BorrowedFd<'_>, mptcp: bool) -> Option<Info> {
        let subflows = if mptcp { subflow_infos(socket) } else { None };
        // A multipath connection that has fallen back to TCP answers as TCP does.
        let subflows = subflows.or_else(|| Some(vec![single_info(socket)?]))?;
        (!subflows.is_empty()).then(|| Info::sum_subflows(&subflows))
    }

    fn sum_subflows(subflows: &[[u8; LENGTH]]) -> Info {
        // Offsets of fields in `struct tcp_info` (linux/tcp.h); the kernel's layout is the same on all
        // processors with 64 bits.
        let rtt = |info: &[u8; LENGTH]| info_u32(info, 68);
        // The kernel has all ones there before its first sample.
        let least = |info: &[u8; LENGTH]| Some(info_u32(info, 148)).filter(|us| *us != u32::MAX && *us > 0);
        Info {
            rtts_us: subflows.iter().map(rtt).filter(|us| *us > 0).collect(),
            min_rtt_us: subflows.iter().filter_map(least).min(),
            window_packets: subflows.iter().map(|s| u64::from(info_u32(s, 80))).sum(),
            retransmitted_packets: subflows.iter().map(|s| u64::from(info_u32(s, 100))).sum(),
            retransmitted_bytes: subflows.iter().map(|s| info_u64(s, 208)).sum(),
            marked_packets: subflows.iter().map(|s| u64::from(info_u32(s, 196))).sum(),
            // TCPI_OPT_ECN.
            ecn: subflows.iter().all(|s| s[5] & 8 != 0),
        }
    }

    /// Takes in earlier counts: they do not become less when a subflow is gone.
    pub(super) fn after_earlier(mut self, before: &Info) -> Info {
        self.retransmitted_packets = self.retransmitted_packets.max(before.retransmitted_packets);
        self.retransmitted_bytes = self.retransmitted_bytes.max(before.retransmitted_bytes);
        self.marked_packets = self.marked_packets.max(before.marked_packets);
        self.min_rtt_us = [self.min_rtt_us, before.min_rtt_us].into_iter().flatten().min();
        self
    }
}

fn info_u32(info: &[u8; LENGTH], at: usize) -> u32 {
    u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]])
}

fn info_u64(info: &[u8; LENGTH], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&info[at..at + 8]);
    u64::from_ne_bytes(bytes)
}

/// Fills `buffer` with an option's value; returns its number of bytes.
fn socket_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    buffer: &mut [u8],
) -> Option<usize> {
    let mut length = buffer.len() as libc::socklen_t;
    let to = buffer.as_mut_ptr().cast();
    // SAFETY: the descriptor is open for as long as it is borrowed, and the kernel writes `length` bytes at most.
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, to, &raw mut length) };
    (result == 0).then_some(length as usize)
}

fn single_info(socket: BorrowedFd<'_>) -> Option<[u8; LENGTH]> {
    let mut info = [0; LENGTH];
    socket_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    Some(info)
}

fn subflow_infos(socket: BorrowedFd<'_>) -> Option<Vec<[u8; LENGTH]>> {
    let mut buffer = [0; HEAD + MOST_SUBFLOWS * LENGTH];
    // The caller says how large its own structures are (`size_subflow_data`, `size_user`), so that the kernel
    // may have longer ones.
    buffer[..4].copy_from_slice(&(HEAD as u32).to_ne_bytes());
    buffer[12..16].copy_from_slice(&(LENGTH as u32).to_ne_bytes());
    socket_option(socket, SOL_MPTCP, MPTCP_TCPINFO, &mut buffer)?;
    let count = u32::from_ne_bytes([buffer[4], buffer[5], buffer[6], buffer[7]]) as usize;
    let (all, _) = buffer[HEAD..].as_chunks::<LENGTH>();
    // The count is of all subflows, also of those for which there was no room.
    Some(all[..count.min(MOST_SUBFLOWS)].to_vec())
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a real connection is what is asked")]
mod tests {
    use super::*;

    fn raw_info(fields: &[(usize, &[u8])]) -> [u8; LENGTH] {
        let mut info = [0; LENGTH];
        for (at, bytes) in fields {
            info[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        info
    }

    #[test]
    fn subflows_are_summed_and_counts_never_fall() {
        let (rtt, other) = (900_u32.to_ne_bytes(), 1200_u32.to_ne_bytes());
        let (window, again) = (10_u32.to_ne_bytes(), 2896_u64.to_ne_bytes());
        let first = raw_info(&[(5, &[8]), (68, &rtt), (80, &window), (148, &rtt), (208, &again)]);
        // No sample of the least round trip yet.
        let second = raw_info(&[(5, &[8]), (68, &other), (80, &window), (148, &u32::MAX.to_ne_bytes())]);
        let both = Info::sum_subflows(&[first, second]);
        assert_eq!((both.rtts_us.as_slice(), both.min_rtt_us), (&[900, 1200][..], Some(900)));
        assert_eq!((both.window_packets, both.retransmitted_bytes, both.ecn), (20, 2896, true));
        let left = Info::sum_subflows(&[second]).after_earlier(&both);
        assert_eq!((left.retransmitted_bytes, left.window_packets, left.min_rtt_us), (2896, 10, Some(900)));
    }

    #[test]
    fn a_real_connection_says_its_round_trip() {
        use std::io::{Read, Write};
        use std::os::fd::AsFd;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client =
            std::net::TcpStream::connect(listener.local_addr().expect("its address")).expect("open");
        let (mut server, _) = listener.accept().expect("a connection");
        client.write_all(&[1; 10_000]).expect("sent");
        server.read_exact(&mut [0; 10_000]).expect("received");
        let info = Info::from_socket(client.as_fd(), false).expect("it is TCP");
        assert!(info.window_packets >= 1 && !info.rtts_us.is_empty(), "{info:?}");
        assert_eq!((info.retransmitted_bytes, info.marked_packets, info.ecn), (0, 0, false));
    }
}
