//! AF_XDP sockets: rings of frames in memory that is shared with the kernel.
//!
//! The kernel puts frames into this memory before it has made packets of its own of them. They are read
//! where they are, and a system call sends many at once. A small XDP program hands the frames over and writes the
//! time in front of each ([`program`]); it is detached when this process ends, however it ends. Frames are copied
//! in and out of the kernel (`XDP_COPY`), as between veth interfaces they must be.

#![allow(clippy::disallowed_methods, reason = "a driver of real interfaces lives in real time")]
#![allow(unsafe_code, reason = "the library asks its users to keep frames inside of their memory")]

mod program;

use super::names::{index_of, receive_queues};
use super::{FrameIo, Incoming, InterfaceError, Lost, Stamp};
use crate::frame::lacks_checksum;
use program::Redirect;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::{Duration, Instant};
use xdp::nic::NicIndex;
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfgBuilder};
use xdp::{
    CompletionRing, Packet, RingConfigBuilder, RxRing, Umem, WakableFillRing, WakableRings, WakableTxRing,
};

/// Frames that wait for this thread at most: as many as come at 1 Gb/s in 50 ms.
const RECEIVING: u32 = 4096;
/// Frames that wait for the kernel at most.
const SENDING: u32 = 1024;
/// Frames that are handed to the kernel at once at most.
const HANDED_OVER: usize = 256;
/// Frames taken at once.
const BATCH: usize = 64;
/// Time for which a queue may still be taken by a socket that is gone.
const QUEUE_COMES_FREE: Duration = Duration::from_secs(1);
/// Bytes in front of a frame for its time.
const STAMP: usize = 8;
/// Bytes that the kernel keeps for itself in front of that.
const KERNEL: usize = xdp::libc::xdp::XDP_PACKET_HEADROOM as usize;
/// Option of an AF_XDP socket: frames that one system call sends at most (Linux 6.17).
const XDP_MAX_TX_SKB_BUDGET: i32 = 9;

/// See the module.
pub struct AfXdp {
    // Fields go in this order: no frame comes any more, then the socket, then its memory.
    program: Redirect,
    socket: XdpSocket,
    fill: WakableFillRing,
    received: RxRing,
    sending: WakableTxRing,
    sent: CompletionRing,
    inbox: HeapSlab,
    outbox: HeapSlab,
    umem: Umem,
    /// Frames that the kernel has to send, or has sent and not yet given back.
    underway: usize,
    refused: usize,
    down: bool,
    failed: Option<io::Error>,
}

impl AfXdp {
    /// Opens an interface of this network namespace, for frames of at most `longest` bytes.
    pub fn open(name: &str, longest: usize) -> Result<AfXdp, InterfaceError> {
        let index = index_of(name)?;
        let fail = |why: String| InterfaceError::NoAfXdp { name: name.into(), why };
        let nic = NicIndex::new(index as u32);
        let queues = receive_queues(name).map_err(|e| fail(format!("its queues cannot be counted: {e}")))?;
        if let Some(count @ 2..) = queues {
            return Err(fail(format!(
                "it has {count} receive queues, and this needs one: `ethtool -L {name} combined 1`"
            )));
        }
        let Bound { socket, rings, umem } = bind(nic, longest).map_err(|why| match why {
            Unbound::Down => InterfaceError::Down(name.into()),
            Unbound::Because(why) => fail(why),
        })?;
        let (Some(received), Some(sending)) = (rings.rx_ring, rings.tx_ring) else {
            return Err(fail("a ring is missing".into()));
        };
        // Without it a batch takes several calls.
        let _ = set_budget(&socket);
        let program = Redirect::attach(name, index as u32, socket.raw_fd())?;
        Ok(AfXdp {
            program,
            socket,
            fill: rings.fill_ring,
            received,
            sending,
            sent: rings.completion_ring,
            inbox: HeapSlab::with_capacity(BATCH),
            outbox: HeapSlab::with_capacity(SENDING as usize),
            umem,
            underway: 0,
            refused: 0,
            down: false,
            failed: None,
        })
    }

    /// True if the interface's driver takes part. Otherwise frames come by the kernel's own receive path.
    pub fn is_native(&self) -> bool {
        self.program.is_native()
    }

    /// Takes back the memory of frames that are sent; answers of how many.
    fn reclaim(&mut self) -> usize {
        let back = self.sent.dequeue(&mut self.umem, SENDING as usize);
        self.underway -= back.min(self.underway);
        back
    }

    /// Puts queued frames into the ring and has the kernel send it.
    fn hand_over(&mut self) -> io::Result<()> {
        self.reclaim();
        // The interface may be up again; `send` sets the flag anew if it is not, and then the frames are
        // refused.
        if std::mem::take(&mut self.down) {
            self.send()?;
        }
        if self.down {
            while let Some(packet) = self.outbox.pop_back() {
                self.refused += 1;
                self.umem.free_packet(packet);
            }
        }
        // SAFETY: the memory is a field of the same structure as the socket and is dropped later.
        self.underway += unsafe { self.sending.send(&mut self.outbox, false) }?;
        if self.underway > 0 {
            self.send()?;
            self.reclaim();
        }
        Ok(())
    }

    /// Has the kernel send the frames in the ring.
    fn send(&mut self) -> io::Result<()> {
        loop {
            // SAFETY: no pointers; the socket is open.
            let result =
                unsafe { libc::send(self.socket.as_raw_fd(), std::ptr::null(), 0, libc::MSG_DONTWAIT) };
            let error = if result < 0 { io::Error::last_os_error() } else { return Ok(()) };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // More frames than one call sends, or too many of them wait behind the other end.
                Some(libc::EAGAIN) => {
                    if self.reclaim() == 0 {
                        return Ok(());
                    }
                }
                // The other end did not take this frame: it is lost, as on a wire.
                Some(libc::EBUSY) => self.refused += 1,
                Some(libc::ENETDOWN | libc::ENXIO | libc::ENOBUFS) => {
                    self.down = true;
                    return Ok(());
                }
                _ => return Err(error),
            }
        }
    }

    /// The time that the program wrote in front of a frame; a driver that leaves no room for it leaves zeros.
    fn stamp(packet: &mut Packet) -> Option<Stamp> {
        packet.adjust_head(-(STAMP as i32)).ok()?;
        let front = packet.get_mut(..STAMP).and_then(|front| front.first_chunk_mut::<STAMP>());
        let stamp = front.map(|front| u64::from_ne_bytes(std::mem::take(front)));
        packet.adjust_head(STAMP as i32).ok()?;
        stamp.filter(|&ns| ns != 0).map(Stamp::Monotonic)
    }
}

impl FrameIo for AfXdp {
    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open for as long as `self` is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.socket.raw_fd()) }
    }

    fn receive(&mut self, take: &mut dyn FnMut(&mut [u8], Incoming)) -> io::Result<usize> {
        // SAFETY: every frame is returned to its memory below.
        let got = unsafe { self.received.recv(&self.umem, &mut self.inbox) };
        while let Some(mut packet) = self.inbox.pop_back() {
            let stamp = AfXdp::stamp(&mut packet);
            let checksum_pending = lacks_checksum(&packet);
            take(&mut packet, Incoming { stamp, checksum_pending, cut: false });
            self.umem.free_packet(packet);
        }
        // SAFETY: as when the socket was opened.
        unsafe { self.fill.enqueue(&mut self.umem, got, false) }?;
        Ok(got)
    }

    fn queue(&mut self, frame: &[u8]) {
        if self.outbox.len() == HANDED_OVER {
            // A thread that was late has more to send than there is memory for.
            self.failed = self.hand_over().err().or(self.failed.take());
        }
        // SAFETY: the packet goes into the outbox, and from there back to its memory or through the kernel.
        let Some(mut packet) = (unsafe { self.umem.alloc() }) else {
            self.refused += 1;
            return;
        };
        let whole = packet.append(frame).is_ok();
        let over = if whole { self.outbox.push_front(packet) } else { Some(packet) };
        if let Some(packet) = over {
            self.refused += 1;
            self.umem.free_packet(packet);
        }
    }

    fn flush(&mut self) -> io::Result<usize> {
        self.hand_over()?;
        self.failed.take().map_or(Ok(std::mem::take(&mut self.refused)), Err)
    }

    fn lost(&mut self) -> io::Result<Lost> {
        // SAFETY: all-zero is a valid value of this plain C structure.
        let mut so_far: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        let mut size = size_of::<libc::xdp_statistics>() as libc::socklen_t;
        // SAFETY: the structure has the size given and outlives the call.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_XDP,
                libc::XDP_STATISTICS,
                (&raw mut so_far).cast(),
                &raw mut size,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // Dropped are those that find no free memory, which are counted once more, and those that are too long.
        let without_memory = so_far.rx_fill_ring_empty_descs;
        Ok(Lost {
            overrun: so_far.rx_ring_full + without_memory,
            cut: so_far.rx_dropped.saturating_sub(without_memory),
        })
    }
}

/// A socket that is bound to the queue of an interface, with its memory.
struct Bound {
    socket: XdpSocket,
    rings: WakableRings,
    umem: Umem,
}

enum Unbound {
    Down,
    /// Reason, as a clause.
    Because(String),
}

/// The kernel gives a queue back a little after the socket that had it is gone.
fn bind(nic: NicIndex, longest: usize) -> Result<Bound, Unbound> {
    let began = Instant::now();
    loop {
        match try_bind(nic, longest)? {
            Ok(bound) => return Ok(bound),
            Err(error) => match error.raw_os_error() {
                Some(libc::EBUSY) if began.elapsed() < QUEUE_COMES_FREE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Some(libc::ENETDOWN) => return Err(Unbound::Down),
                _ => return Err(Unbound::Because(socket_clause(&SocketError::Bind(error)))),
            },
        }
    }
}

/// The inner error is that of the binding.
fn try_bind(nic: NicIndex, longest: usize) -> Result<Result<Bound, io::Error>, Unbound> {
    let because = |error: SocketError| Unbound::Because(socket_clause(&error));
    let mut umem = memory(longest).map_err(Unbound::Because)?;
    let mut builder = XdpSocketBuilder::new().map_err(because)?;
    let config = RingConfigBuilder {
        rx_count: RECEIVING,
        fill_count: RECEIVING,
        tx_count: SENDING,
        completion_count: SENDING,
    };
    let config = config.build().map_err(|e| Unbound::Because(e.to_string()))?;
    let (mut rings, mut flags) = builder.build_wakable_rings(&umem, config).map_err(because)?;
    // SAFETY: the owner of the socket owns its memory too, and drops it later.
    unsafe { rings.fill_ring.enqueue(&mut umem, RECEIVING as usize, false) }
        .map_err(|e| Unbound::Because(e.to_string()))?;
    flags.force_copy();
    match builder.bind(nic, 0, flags) {
        Ok(socket) => Ok(Ok(Bound { socket, rings, umem })),
        Err(SocketError::Bind(error)) => Ok(Err(error)),
        Err(error) => Err(because(error)),
    }
}

/// Memory for an interface's frames; the error is a clause.
fn memory(longest: usize) -> Result<Umem, String> {
    let room = |size: usize| size - KERNEL - STAMP;
    let frame_size = match longest {
        bytes if bytes <= room(2048) => FrameSize::TwoK,
        bytes if bytes <= room(4096) => FrameSize::FourK,
        _ => return Err(format!("its frames have {longest} bytes, and at most {} go", room(4096))),
    };
    let config = UmemCfgBuilder {
        frame_size,
        head_room: STAMP as u32,
        frame_count: RECEIVING + SENDING,
        ..UmemCfgBuilder::default()
    };
    let config = config.build().map_err(|e| e.to_string())?;
    Umem::map(config).map_err(|e| format!("no memory for its frames: {e}"))
}

fn set_budget(socket: &XdpSocket) -> io::Result<()> {
    let budget = SENDING;
    // SAFETY: the option's value is an `unsigned int` that outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            XDP_MAX_TX_SKB_BUDGET,
            (&raw const budget).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The reason why the socket could not be opened, with the remedy where it is known.
fn socket_clause(error: &SocketError) -> String {
    let (step, source) = match error {
        SocketError::SocketCreation(source) => ("its socket", source),
        SocketError::SetSockOpt { inner, .. } => ("setting its memory up", inner),
        SocketError::GetSockOpt { inner, .. } => ("asking for its rings", inner),
        SocketError::RingMap { inner, .. } => ("mapping its rings", inner),
        SocketError::Bind(source) => ("binding its socket", source),
    };
    match source.raw_os_error() {
        Some(libc::EAFNOSUPPORT) => "the kernel has no AF_XDP sockets (CONFIG_XDP_SOCKETS)".into(),
        Some(libc::EPERM) => "its socket needs the privilege CAP_NET_RAW: run as root".into(),
        Some(libc::ENOBUFS) => {
            "its memory is more than this user may lock (`ulimit -l`), as in a user namespace".into()
        }
        Some(libc::EBUSY) => "another AF_XDP socket has its queue".into(),
        _ => format!("{step}: {source}"),
    }
}
