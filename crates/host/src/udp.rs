//! The socket: batches of datagrams with their type-of-service bytes.
//!
//! `recvmmsg` and `sendmmsg` with control messages exist in no maintained crate with all that is needed here
//! (batches, IP_TOS both ways), so they are called directly. What makes each call sound is written beside it.
#![allow(unsafe_code, reason = "recvmmsg and sendmmsg with control messages")]

use rustix::net::sockopt;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

/// Datagrams moved by one system call at most.
pub(crate) const BATCH: usize = 32;

/// Bytes that the kernel is asked to keep for this socket each way; it may allow less.
const BUFFER: usize = 8 << 20;

/// Room for one control message with an `int`, aligned as the kernel wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

const _: () = {
    // SAFETY: CMSG_SPACE computes with its argument alone.
    let need = unsafe { libc::CMSG_SPACE(size_of::<libc::c_int>() as u32) } as usize;
    assert!(need <= size_of::<Control>() && align_of::<Control>() >= align_of::<libc::cmsghdr>());
};

/// A bound, non-blocking UDP socket that hears and says the type-of-service byte.
pub(crate) struct Socket(UdpSocket);

/// What is known of a datagram beside its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope {
    /// Where from, or where to.
    pub(crate) address: SocketAddrV4,
    /// Type-of-service byte.
    pub(crate) tos: u8,
    /// Bytes.
    pub(crate) length: usize,
    /// Whether bytes beyond the buffer were cut off.
    pub(crate) truncated: bool,
}

/// Room for a batch of datagrams, and what is known of each.
pub(crate) struct Batch {
    bytes: Vec<u8>,
    each: usize,
    envelopes: Vec<Envelope>,
}

impl Batch {
    /// Room for [`BATCH`] datagrams of at most `each` bytes.
    pub(crate) fn new(each: usize) -> Batch {
        Batch { bytes: vec![0; BATCH * each], each, envelopes: Vec::with_capacity(BATCH) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.envelopes.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.envelopes.len() == BATCH
    }

    /// The datagrams that are there.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (Envelope, &mut [u8])> {
        let datagrams = self.bytes.chunks_exact_mut(self.each);
        self.envelopes.iter().zip(datagrams).map(|(e, bytes)| (*e, &mut bytes[..e.length]))
    }

    /// Room for one more datagram; [`Batch::push`] keeps it.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let start = self.envelopes.len() * self.each;
        &mut self.bytes[start..start + self.each]
    }

    /// Keeps the datagram that was written to [`Batch::room`].
    pub(crate) fn push(&mut self, envelope: Envelope) {
        debug_assert!(!self.is_full() && envelope.length <= self.each);
        self.envelopes.push(envelope);
    }

    /// Drops the first `count` datagrams.
    fn drop_front(&mut self, count: usize) {
        self.envelopes.drain(..count);
        self.bytes.copy_within(count * self.each.., 0);
    }
}

impl Socket {
    /// Binds.
    pub(crate) fn bind(address: SocketAddrV4) -> io::Result<Socket> {
        #[allow(clippy::disallowed_methods, reason = "this is the driver's socket")]
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        sockopt::set_ip_recvtos(&socket, true)?;
        // More than the kernel's limit needs a privilege; what it allows without will do.
        if sockopt::set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
            let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER);
        }
        let _ = sockopt::set_socket_send_buffer_size(&socket, BUFFER);
        Ok(Socket(socket))
    }

    /// The address it is bound to.
    pub(crate) fn local(&self) -> io::Result<SocketAddrV4> {
        match self.0.local_addr()? {
            SocketAddr::V4(address) => Ok(address),
            SocketAddr::V6(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Fills an empty batch with what has arrived; it stays empty when nothing has.
    pub(crate) fn receive(&self, batch: &mut Batch) -> io::Result<()> {
        batch.envelopes.clear();
        // SAFETY: all-zero bytes are valid values of these C structs of integers and raw pointers.
        let (mut names, mut iovecs, mut headers): (
            [libc::sockaddr_in; BATCH],
            [libc::iovec; BATCH],
            [libc::mmsghdr; BATCH],
        ) = unsafe { (zeroed(), zeroed(), zeroed()) };
        let mut controls = [Control([0; 64]); BATCH];
        for (i, bytes) in batch.bytes.chunks_exact_mut(batch.each).enumerate() {
            iovecs[i] = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            let header = &mut headers[i].msg_hdr;
            header.msg_name = ptr::from_mut(&mut names[i]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in>() as u32;
            header.msg_iov = &raw mut iovecs[i];
            header.msg_iovlen = 1;
            header.msg_control = controls[i].0.as_mut_ptr().cast();
            header.msg_controllen = size_of::<Control>();
        }
        // SAFETY: every header points to a name, one iovec and a control buffer of the lengths it states; all
        // of them, and the bytes behind the iovecs, which do not overlap, live until after the call and are
        // borrowed by nobody else. BATCH is the number of headers.
        let count = unsafe {
            libc::recvmmsg(
                self.0.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        let Ok(count) = usize::try_from(count) else { return none_yet(io::Error::last_os_error()) };
        for (i, header) in headers.iter().enumerate().take(count) {
            let address = SocketAddrV4::new(
                Ipv4Addr::from(u32::from_be(names[i].sin_addr.s_addr)),
                u16::from_be(names[i].sin_port),
            );
            let length = (header.msg_len as usize).min(batch.each);
            let truncated = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            batch.envelopes.push(Envelope { address, tos: tos_of(&header.msg_hdr), length, truncated });
        }
        Ok(())
    }

    /// Sends the batch from the front; what the kernel has no room for stays. Answers how many datagrams it
    /// refused for other reasons: these are gone.
    pub(crate) fn send(&self, batch: &mut Batch) -> io::Result<u64> {
        let mut refused = 0;
        while !batch.is_empty() {
            match self.send_some(batch) {
                Ok(sent) => batch.drop_front(sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK)) => {
                    return Err(error);
                }
                Err(_) => {
                    // The first one is at fault: unreachable, too long, forbidden. It counts as lost.
                    refused += 1;
                    batch.drop_front(1);
                }
            }
        }
        Ok(refused)
    }

    fn send_some(&self, batch: &mut Batch) -> io::Result<usize> {
        // SAFETY: as in `receive`.
        let (mut names, mut iovecs, mut headers): (
            [libc::sockaddr_in; BATCH],
            [libc::iovec; BATCH],
            [libc::mmsghdr; BATCH],
        ) = unsafe { (zeroed(), zeroed(), zeroed()) };
        let mut controls = [Control([0; 64]); BATCH];
        let count = batch.envelopes.len();
        for (i, (envelope, bytes)) in batch.iter_mut().enumerate() {
            names[i].sin_family = libc::AF_INET as libc::sa_family_t;
            names[i].sin_port = envelope.address.port().to_be();
            names[i].sin_addr.s_addr = u32::from(*envelope.address.ip()).to_be();
            iovecs[i] = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
            let header = &mut headers[i].msg_hdr;
            header.msg_name = ptr::from_mut(&mut names[i]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_in>() as u32;
            header.msg_iov = &raw mut iovecs[i];
            header.msg_iovlen = 1;
            write_tos(header, &mut controls[i], envelope.tos);
        }
        // SAFETY: as in `receive`; `count` headers, at most BATCH, were filled in, and sendmmsg only reads.
        let sent = unsafe {
            libc::sendmmsg(self.0.as_raw_fd(), headers.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT)
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Nothing to receive is no error.
fn none_yet(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(error),
    }
}

/// Attaches a type-of-service byte to a message.
fn write_tos(header: &mut libc::msghdr, control: &mut Control, tos: u8) {
    // SAFETY: these compute with their arguments alone.
    let (space, length) = unsafe {
        let int = size_of::<libc::c_int>() as u32;
        (libc::CMSG_SPACE(int) as usize, libc::CMSG_LEN(int) as usize)
    };
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = space;
    // SAFETY: the control buffer is aligned for a cmsghdr and has `space` bytes at least (checked when this is
    // compiled), so that its first header and the int behind it lie within; the header points to it and both
    // outlive the call of sendmmsg. The int is written unaligned, as it may be.
    unsafe {
        let first = libc::CMSG_FIRSTHDR(header);
        (*first).cmsg_level = libc::IPPROTO_IP;
        (*first).cmsg_type = libc::IP_TOS;
        (*first).cmsg_len = length;
        ptr::write_unaligned(libc::CMSG_DATA(first).cast::<libc::c_int>(), tos.into());
    }
}

/// The type-of-service byte of a message that was received; 0 when the kernel did not say.
fn tos_of(header: &libc::msghdr) -> u8 {
    // SAFETY: the kernel has filled the control buffer of this header and set its length; CMSG_FIRSTHDR and
    // CMSG_NXTHDR stay within that length and answer null at its end. IP_TOS carries one byte at least, which
    // lies within the message because the kernel wrote it whole (a truncated one is left out).
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            let is_tos = (*message).cmsg_level == libc::IPPROTO_IP && (*message).cmsg_type == libc::IP_TOS;
            if is_tos && (*message).cmsg_len > libc::CMSG_LEN(0) as usize {
                return *libc::CMSG_DATA(message);
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    0
}

/// An instant of the machine's monotonic clock, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "waits for the kernel, for a second at most")]
    fn batches_arrive_with_their_type_of_service() {
        let loopback = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let (a, b) = (Socket::bind(loopback).expect("bound"), Socket::bind(loopback).expect("bound"));
        let to = b.local().expect("an address");
        let mut out = Batch::new(100);
        for n in 0..BATCH as u8 {
            out.room().fill(n);
            let envelope =
                Envelope { address: to, tos: n << 2 | 2, length: 100 - usize::from(n), truncated: false };
            out.push(envelope);
        }
        assert_eq!(a.send(&mut out).expect("sent"), 0);
        assert!(out.is_empty());
        let (mut seen, mut batch) = (0, Batch::new(90));
        for _ in 0..1000 {
            b.receive(&mut batch).expect("received");
            for (envelope, bytes) in batch.iter_mut() {
                assert_eq!(envelope.tos, seen << 2 | 2);
                assert_eq!(envelope.address, a.local().expect("an address"));
                assert_eq!(envelope.truncated, seen < 10);
                assert!(bytes.len() == (100 - usize::from(seen)).min(90) && bytes.iter().all(|&x| x == seen));
                seen += 1;
            }
            if usize::from(seen) == BATCH {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        panic!("only {seen} of {BATCH} datagrams came");
    }
}
