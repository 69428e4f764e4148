//! Linux packet sockets: `recvmmsg` and `sendmmsg` on an `AF_PACKET` socket, no kernel module and no BPF.
//!
//! The kernel's receive time stamps travel with the frames, so that the ports see when a frame came and
//! not when this thread got round to it. Outgoing frames bypass the interface's queue discipline.

#![allow(unsafe_code, reason = "packet sockets have no safe interface in the standard library")]

use super::names::index_of;
use super::{FrameIo, Incoming, InterfaceError, Lost, Stamp};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Longest frame: jumbo frames fit.
pub(crate) const FRAME: usize = 9_236;
/// Frames a system call.
const BATCH: usize = 64;
/// Bytes for control messages of one frame: a time stamp and auxiliary data.
const CONTROL: usize = 128;
/// Receive buffer that the socket asks for, in bytes.
const SOCKET_BUFFER: i32 = 16 << 20;

/// See the module.
pub struct AfPacket {
    socket: OwnedFd,
    inbox: Box<[[u8; FRAME]]>,
    controls: Box<[Control]>,
    outbox: Vec<Vec<u8>>,
    queued: usize,
    overrun: u64,
}

/// Control messages need the alignment of their header.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

impl AfPacket {
    /// Opens an interface of this network namespace.
    pub fn open(name: &str) -> Result<AfPacket, InterfaceError> {
        let index = index_of(name)?;
        let step = |step| move |source| InterfaceError::Io { name: name.into(), step, source };
        // Protocol 0: nothing arrives before the socket is bound to its interface.
        // SAFETY: no pointers; the result is checked and owned here alone.
        let raw = unsafe {
            libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
        };
        if raw < 0 {
            let error = io::Error::last_os_error();
            return Err(match error.kind() {
                io::ErrorKind::PermissionDenied => InterfaceError::Privilege(name.into()),
                _ => step("socket")(error),
            });
        }
        // SAFETY: `raw` was just opened and is not used elsewhere.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        for (what, option) in [
            ("PACKET_IGNORE_OUTGOING", libc::PACKET_IGNORE_OUTGOING),
            ("PACKET_QDISC_BYPASS", libc::PACKET_QDISC_BYPASS),
            ("PACKET_AUXDATA", libc::PACKET_AUXDATA),
        ] {
            set(&socket, libc::SOL_PACKET, option, 1).map_err(step(what))?;
        }
        set(&socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).map_err(step("SO_TIMESTAMPNS"))?;
        if set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, SOCKET_BUFFER).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, SOCKET_BUFFER).map_err(step("SO_RCVBUF"))?;
        }
        bind(&socket, index).map_err(|error| match error.raw_os_error() {
            Some(libc::ENETDOWN) => InterfaceError::Down(name.into()),
            _ => step("bind")(error),
        })?;
        Ok(AfPacket {
            socket,
            inbox: vec![[0; FRAME]; BATCH].into_boxed_slice(),
            controls: vec![Control([0; CONTROL]); BATCH].into_boxed_slice(),
            outbox: Vec::new(),
            queued: 0,
            overrun: 0,
        })
    }

    /// Sends frames `from ..` of the outbox; returns the number of those sent.
    fn send_some(&mut self, from: usize) -> io::Result<usize> {
        // SAFETY: all-zero is a valid value of these plain C structures.
        let mut iovecs: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let batch = (self.queued - from).min(BATCH);
        for (i, frame) in self.outbox[from..from + batch].iter_mut().enumerate() {
            iovecs[i] = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
            headers[i].msg_hdr.msg_iov = &raw mut iovecs[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `batch` headers point at one iovec each, and those at frames of the lengths
        // given; all of them outlive the call.
        let sent = unsafe {
            libc::sendmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                batch as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }
}

impl FrameIo for AfPacket {
    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn receive(&mut self, take: &mut dyn FnMut(&mut [u8], Incoming)) -> io::Result<usize> {
        // SAFETY: all-zero is a valid value of these plain C structures.
        let mut iovecs: [libc::iovec; BATCH] = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        for i in 0..BATCH {
            iovecs[i] = libc::iovec { iov_base: self.inbox[i].as_mut_ptr().cast(), iov_len: FRAME };
            let header = &mut headers[i].msg_hdr;
            header.msg_iov = &raw mut iovecs[i];
            header.msg_iovlen = 1;
            header.msg_control = self.controls[i].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL;
        }
        // SAFETY: every header points at one iovec over a buffer of FRAME bytes and at CONTROL bytes of
        // aligned control space; all of them outlive the call, and no time-out is given.
        let got = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        if got < 0 {
            let error = io::Error::last_os_error();
            // An interface goes down with the host behind it, which may come back; the others go on.
            let nothing = error.kind() == io::ErrorKind::Interrupted || gone(&error);
            return if nothing { Ok(0) } else { Err(error) };
        }
        for (i, header) in headers[..got as usize].iter().enumerate() {
            let mut about = auxiliary(&header.msg_hdr);
            about.cut |= header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            let length = (header.msg_len as usize).min(FRAME);
            take(&mut self.inbox[i][..length], about);
        }
        Ok(got as usize)
    }

    fn queue(&mut self, frame: &[u8]) {
        if self.queued == self.outbox.len() {
            self.outbox.push(Vec::with_capacity(frame.len()));
        }
        let slot = &mut self.outbox[self.queued];
        slot.clear();
        slot.extend_from_slice(frame);
        self.queued += 1;
    }

    fn flush(&mut self) -> io::Result<usize> {
        let (mut done, mut refused) = (0, 0);
        while done < self.queued {
            match self.send_some(done) {
                // At least one, so that the loop ends even if the kernel takes none and reports no error.
                Ok(sent) => done += sent.max(1),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The other end's queue is full, or is gone: this frame is lost, as on a wire.
                Err(error) if gone(&error) => {
                    done += 1;
                    refused += 1;
                }
                Err(error) => {
                    self.queued = 0;
                    return Err(error);
                }
            }
        }
        self.queued = 0;
        Ok(refused)
    }

    fn lost(&mut self) -> io::Result<Lost> {
        // SAFETY: all-zero is a valid value of this plain C structure.
        let mut since: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut size = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the structure has the size given and outlives the call.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut since).cast(),
                &raw mut size,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // The kernel resets its counters with every answer.
        self.overrun += u64::from(since.tp_drops);
        Ok(Lost { overrun: self.overrun, cut: 0 })
    }
}

fn gone(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [libc::EAGAIN, libc::ENOBUFS, libc::ENETDOWN, libc::ENXIO, libc::EMSGSIZE]
        .iter()
        .any(|&c| code == Some(c))
}

/// Reads the control messages of a received frame.
fn auxiliary(header: &libc::msghdr) -> Incoming {
    let mut about = Incoming { stamp: None, checksum_pending: false, cut: false };
    // SAFETY: the kernel filled `msg_controllen` bytes at `msg_control`, which is aligned; the macros stay
    // inside them, and a message's data is copied out without assuming its alignment.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            let data = libc::CMSG_DATA(message);
            match ((*message).cmsg_level, (*message).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let stamp: libc::timespec = std::ptr::read_unaligned(data.cast());
                    let ns = (stamp.tv_sec as u64).wrapping_mul(1_000_000_000) + stamp.tv_nsec as u64;
                    about.stamp = Some(Stamp::Wall(ns));
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    let aux: libc::tpacket_auxdata = std::ptr::read_unaligned(data.cast());
                    about.checksum_pending = aux.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0;
                    about.cut = aux.tp_len as usize > FRAME;
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    about
}

fn set(socket: &OwnedFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    // SAFETY: the option's value is an `int` that outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn bind(socket: &OwnedFd, index: i32) -> io::Result<()> {
    // SAFETY: all-zero is a valid value of this plain C structure.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index;
    // SAFETY: the address is a whole `sockaddr_ll` of the length given and outlives the call.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
