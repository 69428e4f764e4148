//! The socket: batches of datagrams with their type-of-service bytes.
//!
//! `recvmmsg` and `sendmmsg` with control messages exist in no maintained crate with all that is needed here
//! (batches, IP_TOS both ways), so they are called directly. The reason why each call is sound is written at it.
//!
//! If many packets leave at once, equal ones to one address go to the kernel as one buffer to be cut up
//! (UDP_SEGMENT), and arrive as one where the kernel need not cut (UDP_GRO): they share their way through it.
#![allow(unsafe_code, reason = "recvmmsg and sendmmsg with control messages")]

use crate::batch::{BATCH, Batch, Envelope, row_length};
use crate::leaving::{Asked, Kernel, Leaving, Outcome, Refused};
use headway_packet::Ecn;
use headway_units::Time;
use rustix::net::sockopt;
use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::Arc;

/// Bytes that the kernel is asked to keep for this socket each way; it may allow less.
const BUFFER: usize = 8 << 20;

/// Microseconds for which the kernel may look into the queue of an interface at a time.
const LONGEST_BUSY_POLL: u64 = 50;

/// Room for two control messages with an `int` each, aligned as the kernel wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

const _: () = {
    // SAFETY: CMSG_SPACE computes with its argument alone.
    let need = 2 * unsafe { libc::CMSG_SPACE(size_of::<libc::c_int>() as u32) } as usize;
    assert!(need <= size_of::<Control>() && align_of::<Control>() >= align_of::<libc::cmsghdr>());
};

/// A socket that others may wait at as well.
pub(crate) type Handle = Arc<UdpSocket>;
/// All sockets of an endpoint, to wait at.
pub(crate) type Handles = Arc<[Handle]>;

/// A bound, non-blocking UDP socket that hears and says the type-of-service byte.
pub(crate) struct Socket {
    socket: Handle,
    /// True if rows of equal datagrams arrive as one, and are sent so as long as the kernel takes them.
    rows: bool,
    leaving: Leaving,
}

impl Socket {
    /// Binds. Equal datagrams travel in `rows` if that is wanted and the kernel can; the kernel looks into the queues of
    /// interfaces that allow it for as long as `spin`, when it is polled while empty.
    pub(crate) fn bind_socket(address: SocketAddr, rows: bool, spin: Time) -> io::Result<Socket> {
        let socket = match address {
            #[allow(clippy::disallowed_methods, reason = "this is the driver's socket")]
            SocketAddr::V4(address) => {
                // Datagrams that arrive before the next call have no byte to report; the peer's first ones are
                // handshakes, which need none.
                let socket = UdpSocket::bind(address)?;
                sockopt::set_ip_recvtos(&socket, true)?;
                socket
            }
            SocketAddr::V6(address) => bind_v6(address)?,
        };
        socket.set_nonblocking(true)?;
        // More than the kernel's limit needs a privilege; the size that it allows without will do.
        if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER);
        }
        // A smaller buffer only blocks sooner, and what is blocked is kept.
        let _ = sockopt::set_socket_send_buffer_size(&socket, BUFFER);
        // Linux has had this option since 5.0; with an older kernel rows are neither received nor sent.
        let rows = rows && set_option(&socket, libc::SOL_UDP, libc::UDP_GRO, 1);
        if spin > Time::ZERO {
            // Needs a privilege; without it, only the endpoint's own polling of the socket spins.
            let us = (spin.0 / Time::us(1).0).clamp(1, LONGEST_BUSY_POLL);
            set_option(&socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, us as libc::c_int);
        }
        Ok(Socket { socket: Arc::new(socket), rows, leaving: Leaving::new(rows) })
    }

    /// The kernel cuts up nothing that is longer than a link carries, nor says what it believes a path to carry.
    pub(crate) fn keep_whole(&self) {
        // A kernel that does not know the option cuts up what it cuts up.
        match self.socket.local_addr() {
            Ok(SocketAddr::V6(_)) => {
                let (name, probe) = (libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE);
                set_option(&self.socket, libc::IPPROTO_IPV6, name, probe);
            }
            _ => {
                let (name, probe) = (libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE);
                set_option(&self.socket, libc::IPPROTO_IP, name, probe);
            }
        }
    }

    /// A handle of this socket, for a thread that waits for datagrams.
    pub(crate) fn wait_handle(&self) -> Handle {
        Arc::clone(&self.socket)
    }

    /// Its number in this process.
    pub(crate) fn raw_descriptor(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    /// True if datagrams may arrive in rows.
    pub(crate) fn has_rows(&self) -> bool {
        self.rows
    }

    /// The address it is bound to.
    pub(crate) fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Fills an empty batch with arrived datagrams; it stays empty when nothing has. Of `places` buffers of the batch
    /// each takes a datagram or a row: to offer many where few arrive takes longer than to receive those few.
    pub(crate) fn receive_batch(&self, batch: &mut Batch, places: usize) -> io::Result<()> {
        batch.datagrams.clear();
        batch.full = false;
        // At most as many as the arrays below hold, and as the batch has room for.
        let places = places.clamp(1, BATCH.min(batch.bytes.len() / batch.place));
        let mut names = [const { MaybeUninit::<Name>::uninit() }; BATCH];
        let mut iovecs = [const { MaybeUninit::<libc::iovec>::uninit() }; BATCH];
        let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
        let mut controls = [const { MaybeUninit::<Control>::uninit() }; BATCH];
        for (i, bytes) in batch.bytes.chunks_exact_mut(batch.place).take(places).enumerate() {
            let iovec =
                iovecs[i].write(libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() });
            // SAFETY: all-zero bytes are valid values of this C struct of integers and raw pointers.
            let header = headers[i].write(unsafe { zeroed() });
            let header = &mut header.msg_hdr;
            header.msg_name = names[i].as_mut_ptr().cast();
            header.msg_namelen = size_of::<Name>() as u32;
            header.msg_iov = ptr::from_mut(iovec);
            header.msg_iovlen = 1;
            header.msg_control = controls[i].as_mut_ptr().cast();
            header.msg_controllen = size_of::<Control>();
        }
        // SAFETY: the first `places` headers, at most BATCH, were written. Each points to a name, one iovec and a control
        // buffer of the lengths it states; all of them, and the bytes behind the iovecs, which do not overlap, live until
        // after the call and are borrowed here alone.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr().cast(),
                places as u32,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        let Ok(count) = usize::try_from(count) else { return none_yet(io::Error::last_os_error()) };
        for i in 0..count.min(places) {
            // SAFETY: the kernel has filled the first `count` of the headers, which were written, and the name that each
            // points to: datagrams have an address of the socket's family.
            let (address, header) = unsafe { (address_of(&names[i]), headers[i].assume_init_ref()) };
            let truncated = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            let (tos, segment) = said_of(&header.msg_hdr);
            // The kernel returns no more than the buffer's length without MSG_TRUNC among the flags of the
            // call; the bound makes that certain.
            let length = (header.msg_len as usize).min(batch.place);
            let known = Envelope { address, tos, length, truncated, answer: false };
            // A datagram of no bytes has a segment of 0, with which `note_arrival` would make no progress.
            batch.note_arrival(i, length, segment.unwrap_or(length).max(1), known);
        }
        batch.full = count == places;
        Ok(())
    }

    /// Sends the batch from the front; datagrams that the kernel has no room for stay, and those that it refuses are
    /// gone. The outcome lists those that left if that is `wanted`.
    pub(crate) fn send_batch(&mut self, batch: &mut Batch, wanted: bool) -> io::Result<Outcome> {
        let Socket { socket, leaving, .. } = self;
        leaving.send_batch(&**socket, batch, wanted)
    }

    /// Last refusals of the kernel.
    pub(crate) fn last_refusals(&self) -> Refused {
        self.leaving.last_refusals()
    }
}

impl Kernel for UdpSocket {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn take_batch(&self, batch: &mut Batch, asked: Asked) -> io::Result<usize> {
        let mut names = [const { MaybeUninit::<Name>::uninit() }; BATCH];
        let mut iovecs = [const { MaybeUninit::<libc::iovec>::uninit() }; BATCH];
        let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
        let mut controls = [const { MaybeUninit::<Control>::uninit() }; BATCH];
        let Batch { bytes, datagrams, gone, .. } = batch;
        let waiting = &datagrams[*gone..];
        // The caller has found one at least, so this cannot be out of bounds.
        let waiting = if asked.alone { &waiting[..1] } else { waiting };
        for (iovec, (start, envelope)) in iovecs.iter_mut().zip(waiting) {
            let bytes = &mut bytes[*start..start + envelope.length];
            iovec.write(libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() });
        }
        let (mut count, mut taken) = (0, 0);
        let mut ends = [0; BATCH];
        while let Some((_, envelope)) = waiting.get(taken) {
            let row = if asked.rows { row_length(&waiting[taken..]) } else { 1 };
            let (name, name_length) = name_of(envelope.address);
            let name = names[count].write(name);
            // SAFETY: all-zero bytes are valid values of this C struct of integers and raw pointers.
            let header = headers[count].write(unsafe { zeroed() });
            let header = &mut header.msg_hdr;
            header.msg_name = ptr::from_mut(name).cast();
            header.msg_namelen = name_length;
            header.msg_iov = iovecs[taken].as_mut_ptr();
            header.msg_iovlen = row;
            // A single datagram goes without UDP_SEGMENT, so that kernels and interfaces that refuse rows take
            // it.
            let segment = (row > 1).then_some(envelope.length as u16);
            let tos = Some(envelope.tos).filter(|&tos| asked.marks && tos != 0);
            let v6 = envelope.address.is_ipv6();
            write_controls(header, controls[count].write(Control([0; 64])), (v6, tos), segment);
            taken += row;
            // The kernel counts messages, and each is a row: this says how many datagrams the first of them
            // are.
            ends[count] = taken;
            count += 1;
        }
        // SAFETY: `count` headers, at most BATCH, were written, each with a name, a control buffer, and as many iovecs as its
        // row has datagrams, which were written too; all of them live until after the call, and sendmmsg only reads.
        let sent = unsafe {
            libc::sendmmsg(self.as_raw_fd(), headers.as_mut_ptr().cast(), count as u32, libc::MSG_DONTWAIT)
        };
        let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
        Ok(if sent == 0 { 0 } else { ends[sent - 1] })
    }
}

/// A name of a socket, as the kernel has it.
#[repr(C)]
#[derive(Clone, Copy)]
union Name {
    family: libc::sa_family_t,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

/// An address as the kernel wants it, and how long that is.
fn name_of(address: SocketAddr) -> (Name, u32) {
    match address {
        SocketAddr::V4(address) => {
            let v4 = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
                sin_zero: [0; 8],
            };
            (Name { v4 }, size_of::<libc::sockaddr_in>() as u32)
        }
        SocketAddr::V6(address) => {
            let v6 = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                // Senders may set a flow label, but then the kernel wants it to be leased first.
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            (Name { v6 }, size_of::<libc::sockaddr_in6>() as u32)
        }
    }
}

/// The address that the kernel has written.
///
/// # Safety
/// The kernel has written the name of an IPv4 or an IPv6 address into `name`.
unsafe fn address_of(name: &MaybeUninit<Name>) -> SocketAddr {
    let name = name.as_ptr();
    // SAFETY: every name begins with its family, and the kernel has written as much of it as this says.
    unsafe {
        if libc::c_int::from((*name).family) == libc::AF_INET6 {
            let v6 = &(*name).v6;
            let (ip, port) = (Ipv6Addr::from(v6.sin6_addr.s6_addr), u16::from_be(v6.sin6_port));
            // The flow label does not identify a peer.
            SocketAddrV6::new(ip, port, 0, v6.sin6_scope_id).into()
        } else {
            let v4 = &(*name).v4;
            SocketAddrV4::new(u32::from_be(v4.sin_addr.s_addr).into(), u16::from_be(v4.sin_port)).into()
        }
    }
}

/// A socket for IPv6 alone, which tells the traffic class of received datagrams.
fn bind_v6(address: SocketAddrV6) -> io::Result<UdpSocket> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
    let socket = socket_with(AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // Before the bind: afterwards the kernel refuses it. Without it, IPv4 peers would arrive under mapped
    // addresses.
    sockopt::set_ipv6_v6only(&socket, true)?;
    bind(&socket, &address)?;
    let socket = UdpSocket::from(socket);
    match set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1) {
        true => Ok(socket),
        false => Err(io::Error::last_os_error()),
    }
}

/// Sets an option of the socket whose value is an int; returns true if the kernel took it.
fn set_option(socket: &UdpSocket, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> bool {
    // SAFETY: the option's value is an int, which outlives the call, and its length is stated.
    let refused = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            ptr::from_ref(&value).cast(),
            size_of::<libc::c_int>() as u32,
        )
    };
    refused == 0
}

/// Nothing to receive is not an error, and neither is a passing failure: the kernel short of memory, an interface down.
fn none_yet(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        // Errors of this program, which do not pass by themselves.
        Some(libc::EBADF | libc::ENOTSOCK | libc::EINVAL | libc::EFAULT) | None => Err(error),
        Some(_) => Ok(()),
    }
}

/// Attaches to a message its type-of-service byte, which IPv6 calls the traffic class, and into pieces of what length it is to
/// be cut. A socket writes 0 into what says neither.
fn write_controls(
    header: &mut libc::msghdr,
    control: &mut Control,
    (v6, tos): (bool, Option<u8>),
    segment: Option<u16>,
) {
    let int = size_of::<libc::c_int>() as u32;
    // SAFETY: it computes with its argument alone.
    let space = unsafe { libc::CMSG_SPACE(int) } as usize;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = space * (usize::from(tos.is_some()) + usize::from(segment.is_some()));
    // SAFETY: the control buffer is aligned for a cmsghdr and has twice `space` bytes at least (checked when
    // this is compiled), of which the header states as many as there are messages, so that the first message
    // and, with both, the second lie within; the header points to it and both outlive the call of
    // sendmmsg. The values are written unaligned, as they may be. The buffer is all zeros before, so that
    // CMSG_NXTHDR reads a length of zero where no message is yet. Without a message CMSG_FIRSTHDR answers null, which is not
    // followed.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(header);
        if let Some(tos) = tos {
            (*next).cmsg_level = if v6 { libc::IPPROTO_IPV6 } else { libc::IPPROTO_IP };
            (*next).cmsg_type = if v6 { libc::IPV6_TCLASS } else { libc::IP_TOS };
            (*next).cmsg_len = libc::CMSG_LEN(int) as usize;
            ptr::write_unaligned(libc::CMSG_DATA(next).cast::<libc::c_int>(), tos.into());
            next = libc::CMSG_NXTHDR(header, next);
        }
        if let Some(segment) = segment {
            (*next).cmsg_level = libc::SOL_UDP;
            (*next).cmsg_type = libc::UDP_SEGMENT;
            // UDP_SEGMENT is 16 bits wide, unlike UDP_GRO (linux/udp.h).
            (*next).cmsg_len = libc::CMSG_LEN(2) as usize;
            ptr::write_unaligned(libc::CMSG_DATA(next).cast::<u16>(), segment);
        }
    }
}

/// The type-of-service byte of a message that was received, 0 when the kernel did not say; and the length of
/// the datagrams that it is made of, if the kernel has put several together.
fn said_of(header: &libc::msghdr) -> (u8, Option<usize>) {
    let (mut tos, mut segment) = (0, None);
    // SAFETY: the kernel has filled the control buffer of this header and set its length; CMSG_FIRSTHDR and
    // CMSG_NXTHDR stay within that length and answer null at its end. IP_TOS carries one byte at least, and
    // IPV6_TCLASS and UDP_GRO an int, which lie within the message where its length says so.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            let (level, kind, length) = ((*message).cmsg_level, (*message).cmsg_type, (*message).cmsg_len);
            if (level, kind) == (libc::IPPROTO_IP, libc::IP_TOS) && length >= libc::CMSG_LEN(1) as usize {
                // The kernel reports one byte here, although it takes an int when sending (ip(7)).
                tos = *libc::CMSG_DATA(message);
            }
            let int = size_of::<libc::c_int>() as u32;
            if (level, kind) == (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
                && length >= libc::CMSG_LEN(int) as usize
            {
                tos = ptr::read_unaligned(libc::CMSG_DATA(message).cast::<libc::c_int>()) as u8;
            }
            if (level, kind) == (libc::SOL_UDP, libc::UDP_GRO) && length >= libc::CMSG_LEN(int) as usize {
                let bytes = ptr::read_unaligned(libc::CMSG_DATA(message).cast::<libc::c_int>());
                segment = usize::try_from(bytes).ok().filter(|&bytes| bytes > 0);
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    (tos, segment)
}

/// Sends two datagrams that no endpoint takes to `peer`, as a row with marks, and says what this host's kernel refuses of it.
///
/// # Errors
/// No socket can be made.
pub fn try_to_send(peer: SocketAddr) -> io::Result<Refused> {
    let mut socket = Socket::bind_socket(crate::address::toward(peer.ip()), true, Time::ZERO)?;
    let mut batch = Batch::new(1);
    for _ in 0..2 {
        // Zeros begin neither a packet nor a handshake, so an endpoint drops them as malformed.
        batch.next_room().fill(0);
        let tos = crate::core::tos(0, Ecn::Ect);
        batch.push(Envelope { address: peer, tos, length: 1, truncated: false, answer: false });
    }
    socket.send_batch(&mut batch, false)?;
    Ok(socket.last_refusals())
}

/// An instant of the machine's monotonic clock, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    const LOOPBACK_V6: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0);

    /// Sends a batch of datagrams with these type-of-service bytes and lengths; what arrives of them in places
    /// for 90 bytes.
    #[allow(clippy::disallowed_methods, reason = "waits for the kernel, for some seconds at most")]
    fn exchange_batch(
        at: SocketAddr,
        rows: (bool, bool),
        datagrams: &[(u8, usize)],
    ) -> Vec<(u8, usize, bool)> {
        let mut sender = Socket::bind_socket(at, rows.0, Time::ZERO).expect("bound");
        let receiver = Socket::bind_socket(at, rows.1, Time::ZERO).expect("bound");
        let address = receiver.local_address().expect("an address");
        let mut out = Batch::new(100);
        for (n, &(tos, length)) in datagrams.iter().enumerate() {
            out.next_room().fill(n as u8);
            out.push(Envelope { address, tos, length, truncated: false, answer: false });
        }
        let outcome = sender.send_batch(&mut out, true).expect("sent");
        assert_eq!(outcome.told, vec![(address, None); datagrams.len()]);
        assert_eq!((outcome.unmarked, sender.last_refusals()), (0, Refused::default()));
        assert!(out.is_empty() && !out.is_full());
        let mut batch = if receiver.has_rows() { Batch::for_rows(90) } else { Batch::new(90) };
        let mut seen = Vec::new();
        // Five seconds at most: loopback delivers at once, but this machine may be busy.
        for _ in 0..5000 {
            receiver.receive_batch(&mut batch, BATCH).expect("received");
            batch.take_datagrams(|envelope, bytes| {
                assert_eq!(envelope.address, sender.local_address().expect("an address"));
                // Each datagram is filled with its own number when it is sent.
                assert!(bytes.iter().all(|&byte| usize::from(byte) == seen.len()), "in order");
                seen.push((envelope.tos, bytes.len(), envelope.truncated));
            });
            if seen.len() == datagrams.len() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        seen
    }

    #[test]
    fn batches_arrive_with_their_type_of_service() {
        // Every datagram differs in both, so none may share a row; two ECN bits stay the same.
        let different: Vec<_> = (0..BATCH as u8).map(|n| (n << 2 | 2, 100 - usize::from(n))).collect();
        let equal = vec![(0x22, 80); BATCH];
        // Rows that end with a shorter one, with another byte, and with nothing.
        let mixed = [(2, 90), (2, 90), (2, 50), (2, 50), (3, 50), (3, 50), (3, 0), (3, 0), (3, 95), (3, 95)];
        // A kernel may be without IPv6.
        let v6 = Socket::bind_socket(LOOPBACK_V6, false, Time::ZERO).is_ok();
        for at in [Some(LOOPBACK), v6.then_some(LOOPBACK_V6)].into_iter().flatten() {
            for rows in [(false, false), (true, true), (true, false), (false, true)] {
                for datagrams in [&different[..], &equal, &mixed] {
                    let expected: Vec<_> =
                        datagrams.iter().map(|&(tos, n)| (tos, n.min(90), n > 90)).collect();
                    assert_eq!(exchange_batch(at, rows, datagrams), expected, "{at}, {rows:?}");
                }
            }
        }
    }

    #[test]
    fn an_ipv6_socket_hears_ipv6_alone() {
        let any = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0);
        let Ok(v6) = Socket::bind_socket(any, false, Time::ZERO) else { return };
        let port = v6.local_address().expect("an address").port();
        // The same port is free for IPv4.
        let v4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        assert!(Socket::bind_socket(v4, false, Time::ZERO).is_ok(), "{v4}");
    }
}
