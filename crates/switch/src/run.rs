//! The loop around a [`Core`]: interfaces and a real clock.
//!
//! It sleeps until shortly before the next frame for a host is due and spins the rest, because a thread's
//! wake-up is some twenty microseconds late. The traffic between the switches is in memory and may be
//! handled late, at the time it was due; it is given no spinning.

#![allow(unsafe_code, reason = "clocks and polling go through libc")]
#![allow(clippy::disallowed_methods, reason = "a driver of real interfaces lives in real time")]

use crate::core::Core;
use crate::delay_histogram::DelayHistogram;
use crate::frame;
use crate::interface::{FrameIo, Incoming, Stamp};
use headway_units::Time;
use std::io;
use std::os::fd::AsRawFd;

/// Virtual time zero as an instant of the machine's monotonic clock: all processes on one machine that
/// are given the same origin agree on the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// Time zero at this reading of the monotonic clock, in nanoseconds.
    pub fn from_origin(origin_ns: u64) -> Clock {
        Clock { origin_ns }
    }

    /// Time zero is now.
    pub fn start() -> Clock {
        Clock { origin_ns: read(libc::CLOCK_MONOTONIC) }
    }

    /// Time zero on the monotonic clock, in nanoseconds.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Time since the origin of the clock.
    pub fn now(&self) -> Time {
        Time::ns(read(libc::CLOCK_MONOTONIC).saturating_sub(self.origin_ns))
    }
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call; the clocks used exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000) + time.tv_nsec as u64
}

/// Times for which the loop spins and sleeps between frames.
#[derive(Clone, Copy, Debug)]
pub struct RunConfig {
    /// Time before a frame is due at which the thread stops sleeping and spins.
    pub spin: Time,
    /// Longest sleep, so that `keep_going` is asked now and then.
    pub longest_sleep: Time,
}

/// A sleeping thread wakes up to this late.
const OVERSLEEP: Time = Time::us(30);

impl RunConfig {
    /// Settings for links on which a full packet takes `packet`. If that is long compared with the delay of a
    /// wake-up, nothing is gained by spinning, and the hosts need the processor.
    pub fn for_packets_of(packet: Time) -> RunConfig {
        let spin = if packet > OVERSLEEP * 2 { Time::ZERO } else { OVERSLEEP };
        RunConfig { spin, longest_sleep: Time::ms(20) }
    }
}

/// Observations of the loop.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// Delays of frames that left for hosts.
    pub departure_delays: DelayHistogram,
    /// Frames that the kernel would not take.
    pub refused: u64,
    /// Frames longer than an interface's buffer.
    pub cut: u64,
    /// Frames whose checksum was completed here.
    pub completed_checksums: u64,
    /// Frames that the kernel dropped because this thread did not take them in time.
    pub overrun: u64,
}

/// Runs until `keep_going` returns `false`; it may also work on the core between frames. Interface `h` is
/// host `h`'s; a host without one is absent.
pub fn run(
    core: &mut Core,
    interfaces: &mut [Option<Box<dyn FrameIo>>],
    clock: Clock,
    config: RunConfig,
    keep_going: &mut dyn FnMut(&mut Core, Time) -> bool,
) -> io::Result<Running> {
    let mut seen = Running::default();
    let mut poller = InterfacePoller::of(interfaces);
    // SAFETY: no pointers; a refusal only makes sleeps coarser.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    loop {
        poller.wait(time_to_wait(core, clock.now(), config))?;
        receive_frames(core, interfaces, &poller, clock, &mut seen)?;
        let now = clock.now();
        core.advance(now);
        send_frames(core, interfaces, clock, &mut seen)?;
        if !keep_going(core, now) {
            for interface in interfaces.iter_mut().flatten() {
                let lost = interface.lost()?;
                seen.overrun += lost.overrun;
                seen.cut += lost.cut;
            }
            return Ok(seen);
        }
    }
}

/// Time for which nothing has to be done, unless a frame comes.
fn time_to_wait(core: &Core, now: Time, config: RunConfig) -> Time {
    // Only a frame for a host is worth spinning for.
    let delivery = core.next_delivery().map(|at| at.saturating_sub(config.spin));
    let next = [delivery, core.inside_deadline()].into_iter().flatten().min();
    next.map_or(config.longest_sleep, |at| at.saturating_sub(now).min(config.longest_sleep))
}

/// Tells which interfaces have something to read: one call for all of them.
struct InterfacePoller {
    polls: Vec<libc::pollfd>,
    hosts: Vec<usize>,
}

impl InterfacePoller {
    fn of(interfaces: &[Option<Box<dyn FrameIo>>]) -> InterfacePoller {
        let present = || interfaces.iter().enumerate().filter_map(|(h, i)| Some((h, i.as_deref()?)));
        let poll = |(_, i): (usize, &dyn FrameIo)| libc::pollfd {
            fd: i.fd().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        InterfacePoller { polls: present().map(poll).collect(), hosts: present().map(|(h, _)| h).collect() }
    }

    /// Waits for a frame, for `longest` at most.
    fn wait(&mut self, longest: Time) -> io::Result<()> {
        let ns = longest.0 / 1000;
        let timeout =
            libc::timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let count = self.polls.len() as libc::nfds_t;
        // SAFETY: the array and the time-out outlive the call; every descriptor is open as long as its
        // interface, which the loop holds.
        let result =
            unsafe { libc::ppoll(self.polls.as_mut_ptr(), count, &raw const timeout, std::ptr::null()) };
        if result >= 0 {
            return Ok(());
        }
        self.polls.iter_mut().for_each(|p| p.revents = 0);
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error => Err(error),
        }
    }

    /// Hosts whose interfaces have something.
    fn ready(&self) -> impl Iterator<Item = usize> {
        self.polls.iter().zip(&self.hosts).filter(|(p, _)| p.revents != 0).map(|(_, host)| *host)
    }
}

/// Takes in what hosts sent.
fn receive_frames(
    core: &mut Core,
    interfaces: &mut [Option<Box<dyn FrameIo>>],
    poller: &InterfacePoller,
    clock: Clock,
    seen: &mut Running,
) -> io::Result<()> {
    // Kernel stamps are wall-clock time; the difference of the clocks is read again, since one is adjusted.
    let monotonic = read(libc::CLOCK_MONOTONIC);
    let wall_ahead = read(libc::CLOCK_REALTIME).wrapping_sub(monotonic);
    for host in poller.ready() {
        let Some(interface) = &mut interfaces[host] else { continue };
        interface.receive(&mut |bytes: &mut [u8], about: Incoming| {
            if about.cut {
                seen.cut += 1;
                return;
            }
            if about.checksum_pending {
                seen.completed_checksums += 1;
                frame::complete_checksum(bytes);
            }
            let at = match about.stamp {
                // The clocks are read one after the other, so that a stamp may seem to be later than now.
                Some(Stamp::Wall(wall)) => wall.wrapping_sub(wall_ahead).min(monotonic),
                Some(Stamp::Monotonic(at)) => at.min(monotonic),
                None => monotonic,
            };
            let at = Time::ns(at.saturating_sub(clock.origin_ns));
            // Refused frames are in the core's counters.
            let _ = core.receive(at, host as u32, bytes);
        })?;
    }
    Ok(())
}

/// Sends the frames that are due.
fn send_frames(
    core: &mut Core,
    interfaces: &mut [Option<Box<dyn FrameIo>>],
    clock: Clock,
    seen: &mut Running,
) -> io::Result<()> {
    let now = clock.now();
    let mut any = false;
    while core
        .poll_frame(|host, due, bytes| {
            seen.departure_delays.note(now.saturating_sub(due).0 / 1000);
            if let Some(Some(interface)) = interfaces.get_mut(host as usize) {
                interface.queue(bytes);
            }
        })
        .is_some()
    {
        any = true;
    }
    if any {
        for interface in interfaces.iter_mut().flatten() {
            seen.refused += interface.flush()? as u64;
        }
    }
    Ok(())
}
