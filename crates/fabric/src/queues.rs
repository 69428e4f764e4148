//! Queues of one port and the buffers behind them.

use crate::counters::BrokenIdentity;
use headway_units::{Rate, Time};

/// Upper limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes, framing included.
    Bytes(u64),
}

impl Limit {
    /// True if one more packet of `wire` bytes fits in addition to those that wait already.
    #[inline]
    pub fn admits(self, packets: u32, bytes: u64, wire: u16) -> bool {
        match self {
            Limit::Packets(n) => packets < n,
            Limit::Bytes(n) => bytes + u64::from(wire) <= n,
        }
    }

    /// Time to send a full buffer of packets of `wire` bytes.
    pub fn drain_time(self, rate: Rate, wire: u16) -> Time {
        match self {
            Limit::Packets(n) => rate.time_of(u64::from(wire)) * u64::from(n),
            Limit::Bytes(n) => rate.time_of(n),
        }
    }
}

/// Buffer space of a port: data classes share one limit, control has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Limit of data packets.
    pub data: Limit,
    /// Limit for control, where the discipline keeps control apart.
    pub control: Limit,
}

impl Buffer {
    /// The limit of data, or that of control.
    #[inline]
    pub fn limit(&self, data: bool) -> Limit {
        if data { self.data } else { self.control }
    }
}

/// Packets that wait at a port, class by class, for disciplines that decide by them.
pub trait Lengths {
    /// Packets that wait in a class.
    fn packets(&self, class: usize) -> u32;
}

/// A first-in first-out queue in a power-of-two ring. The standard one spends twice the instructions on
/// the two operations that every queued packet of every hop needs.
#[derive(Clone, Debug)]
struct Ring<H> {
    slots: Box<[H]>,
    head: u32,
    len: u32,
}

impl<H: Copy> Ring<H> {
    fn new() -> Self {
        Ring { slots: Box::default(), head: 0, len: 0 }
    }

    #[inline]
    fn push_back(&mut self, handle: H) {
        if self.len as usize == self.slots.len() {
            self.grow(handle);
        }
        let mask = self.slots.len() - 1;
        self.slots[(self.head + self.len) as usize & mask] = handle;
        self.len += 1;
    }

    /// Takes the first of a ring that is not empty.
    #[inline]
    fn pop_front(&mut self) -> H {
        debug_assert!(self.len > 0);
        let mask = self.slots.len() - 1;
        let handle = self.slots[self.head as usize & mask];
        self.head = (self.head + 1) & mask as u32;
        self.len -= 1;
        handle
    }

    /// The handle pushed last.
    #[inline]
    fn pop_back(&mut self) -> Option<H> {
        if self.len == 0 {
            return None;
        }
        let mask = self.slots.len() - 1;
        self.len -= 1;
        Some(self.slots[(self.head + self.len) as usize & mask])
    }

    /// Doubles the ring, which is full; `filler` is any handle.
    // Rings double a few times in a run: out of line, the code for each packet stays small.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: H) {
        let mut slots = std::mem::take(&mut self.slots).into_vec();
        // The oldest handle comes first, so that the free half follows the newest.
        slots.rotate_left(self.head as usize);
        self.head = 0;
        // Powers of two: positions are masked.
        slots.resize((slots.len() * 2).max(8), filler);
        self.slots = slots.into();
    }
}

/// Classes of a port that have a bit of their own in [`Queues::occupied`], whose last bit is taken. Rules that choose
/// whom to serve ([`Discipline::CHOOSES`](crate::Discipline::CHOOSES)) may use further ones.
pub const MOST_CLASSES: u64 = 31;

/// The first class that shares its bit with all that follow.
const CROWD: usize = MOST_CLASSES as usize - 1;

/// A bit of [`Queues::occupied`] without a class: set for ever where rules may hold packets back. Such queues never
/// look empty, and a packet that arrives does not go past them; where nothing is ever held back, this costs no check of
/// its own.
const SHAPED: u32 = 1 << 31;

/// First-in first-out queues by class. The fields every packet asks for come first in memory.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Queues<H> {
    /// Bit `c` is set while class `c` holds something, that of [`CROWD`] while one from there on does; the highest one
    /// says [`SHAPED`].
    occupied: u32,
    /// Packets and bytes waiting: index 0 for control, 1 for data.
    packets: [u32; 2],
    /// True if the lowest class that holds something is always the one to leave.
    pub(crate) strict: bool,
    /// Classes from [`CROWD`] on that hold something: 24 bits, so that a port does not need another line of memory.
    crowd: [u8; 3],
    bytes: [u64; 2],
    /// The first two classes, which most disciplines have, lie in the port itself: a step of memory less
    /// on the way to a packet.
    first: [Ring<H>; 2],
    rest: Box<[Ring<H>]>,
}

impl<H: Copy> Lengths for Queues<H> {
    #[inline]
    fn packets(&self, class: usize) -> u32 {
        self.ring(class).map_or(0, |queue| queue.len)
    }
}

impl<H: Copy> Queues<H> {
    pub(crate) fn new(classes: usize, strict: bool, shaped: bool) -> Self {
        assert!((1..=MOST_CLASSES as usize).contains(&classes), "a port has 1 to {MOST_CLASSES} classes");
        let rest = (2..classes).map(|_| Ring::new()).collect();
        Queues {
            first: [Ring::new(), Ring::new()],
            rest,
            occupied: if shaped { SHAPED } else { 0 },
            packets: [0; 2],
            strict,
            bytes: [0; 2],
            crowd: [0; 3],
        }
    }

    #[inline(always)]
    fn class(&mut self, class: usize) -> &mut Ring<H> {
        if class < 2 { &mut self.first[class] } else { &mut self.rest[class - 2] }
    }

    #[inline]
    pub(crate) fn push(&mut self, class: usize, data: bool, handle: H, wire: u16) {
        if class >= CROWD {
            self.join_crowd(class);
        } else {
            self.occupied |= 1 << class;
        }
        self.class(class).push_back(handle);
        self.packets[usize::from(data)] += 1;
        self.bytes[usize::from(data)] += u64::from(wire);
    }

    /// The first packet of a class, which holds one.
    #[inline]
    pub(crate) fn pop(&mut self, class: usize) -> H {
        let queue = self.class(class);
        let handle = queue.pop_front();
        if queue.len == 0 {
            self.emptied(class);
        }
        handle
    }

    fn crowd(&self) -> u32 {
        let [low, middle, high] = self.crowd;
        u32::from_le_bytes([low, middle, high, 0])
    }

    fn set_crowd(&mut self, classes: u32) {
        let [low, middle, high, beyond] = classes.to_le_bytes();
        assert!(beyond == 0, "a port has at most 2^24 queues");
        self.crowd = [low, middle, high];
    }

    /// A class from [`CROWD`] on gets a packet.
    // Only `fair-queue` has so many classes.
    #[cold]
    #[inline(never)]
    fn join_crowd(&mut self, class: usize) {
        debug_assert!(class == CROWD || !self.strict, "only rules that choose have so many classes");
        if class - 2 >= self.rest.len() {
            let mut rest = std::mem::take(&mut self.rest).into_vec();
            // Doubled, so that a port of many flows does not move its rings at each new one.
            rest.resize_with((class - 1).max(rest.len() * 2), Ring::new);
            self.rest = rest.into();
        }
        if self.rest[class - 2].len == 0 {
            self.set_crowd(self.crowd() + 1);
        }
        self.occupied |= 1 << CROWD;
    }

    /// A class holds nothing any more.
    #[inline]
    fn emptied(&mut self, class: usize) {
        if class >= CROWD {
            // Other classes behind the same bit may hold packets.
            self.set_crowd(self.crowd() - 1);
            if self.crowd() > 0 {
                return;
            }
        }
        self.occupied &= !(1 << class.min(CROWD));
    }

    /// The lowest class that holds something.
    pub(crate) fn lowest(&self) -> Option<usize> {
        match self.classes().trailing_zeros() as usize {
            32 => None,
            CROWD => (CROWD..self.rest.len() + 2).find(|&class| self.packets(class) > 0),
            class => Some(class),
        }
    }

    /// Classes that hold something, lowest first; of those that share a bit, the first alone, be it empty or not.
    #[inline]
    fn rings(&self) -> impl Iterator<Item = &Ring<H>> {
        let mut rest = self.occupied & !SHAPED;
        std::iter::from_fn(move || {
            let class = rest.trailing_zeros() as usize;
            // Clears the lowest bit that is set; wrapping, because there may be none.
            rest &= rest.wrapping_sub(1);
            match class {
                32 => None,
                0 | 1 => Some(&self.first[class]),
                _ => self.rest.get(class - 2),
            }
        })
    }

    /// Slices of the handles, class by class, from the first to leave to the end of the ring.
    #[inline]
    pub(crate) fn handle_slices(&self) -> impl Iterator<Item = &[H]> {
        self.rings().map(|ring| &ring.slots[ring.head as usize..])
    }

    /// Shows waiting packets, class by class, the first to leave first in each, as long as `more` asks for more;
    /// without the classes that share a bit. A chain of iterators took three times the instructions.
    #[inline(always)]
    pub(crate) fn show(&self, mut more: impl FnMut(H) -> bool) {
        for ring in self.rings() {
            // Rings have a power of two of slots. An empty one has none, and nothing to show.
            let mask = ring.slots.len().wrapping_sub(1);
            for place in ring.head..ring.head + ring.len {
                if !more(ring.slots[place as usize & mask]) {
                    return;
                }
            }
        }
    }

    /// Shows every packet that waits, of all classes.
    pub(crate) fn show_all(&self, mut show: impl FnMut(H)) {
        for ring in self.first.iter().chain(&self.rest) {
            let mask = ring.slots.len().wrapping_sub(1);
            (ring.head..ring.head + ring.len).for_each(|place| show(ring.slots[place as usize & mask]));
        }
    }

    /// Control packets waiting.
    #[inline]
    pub(crate) fn control_packets(&self) -> u32 {
        self.packets[0]
    }

    /// The last packet of a class, if it holds one.
    pub(crate) fn pop_last(&mut self, class: usize) -> Option<H> {
        let queue = self.class(class);
        let handle = queue.pop_back()?;
        if queue.len == 0 {
            self.emptied(class);
        }
        Some(handle)
    }

    /// The first packet of a class, which stays.
    pub(crate) fn first(&self, class: usize) -> Option<H> {
        let queue = self.ring(class).filter(|queue| queue.len > 0)?;
        Some(queue.slots[queue.head as usize])
    }

    /// The last packet of a class, which stays.
    pub(crate) fn last(&self, class: usize) -> Option<H> {
        let queue = self.ring(class)?;
        let last = queue.len.checked_sub(1)?;
        Some(queue.slots[(queue.head + last) as usize & (queue.slots.len() - 1)])
    }

    fn ring(&self, class: usize) -> Option<&Ring<H>> {
        if class < 2 { Some(&self.first[class]) } else { self.rest.get(class - 2) }
    }

    /// Bit `c` is set while class `c` holds a packet; the last bit stands for all higher classes too. Not for shaping ports.
    #[inline]
    pub(crate) fn occupied(&self) -> u32 {
        debug_assert!(!self.is_shaped());
        self.occupied
    }

    /// Number of classes of any port.
    #[inline]
    pub(crate) fn classes(&self) -> u32 {
        self.occupied & !SHAPED
    }

    /// True if rules may hold packets back.
    #[inline]
    pub(crate) fn is_shaped(&self) -> bool {
        self.occupied & SHAPED != 0
    }

    /// True if nothing waits and nothing is ever held back.
    #[inline]
    pub(crate) fn can_bypass(&self) -> bool {
        self.occupied == 0
    }

    /// Accounts for a packet that was handed out.
    #[inline]
    pub(crate) fn left(&mut self, data: bool, wire: u16) {
        self.packets[usize::from(data)] -= 1;
        self.bytes[usize::from(data)] -= u64::from(wire);
    }

    /// Checks that the counters fit the packets in the queues: a counter that fell below zero is larger than all of
    /// them.
    pub(crate) fn check(&self) -> Result<(), BrokenIdentity> {
        let held = self.first.iter().chain(&*self.rest).map(|ring| u64::from(ring.len)).sum::<u64>();
        let [control, data] = self.packets.map(u64::from);
        // Wrapping, because this looks for counters that fell below zero.
        let counted = control.wrapping_add(data);
        if control > held || data > held || counted != held {
            return Err(BrokenIdentity::Waiting { control, data, held });
        }
        for (packets, bytes) in [control, data].into_iter().zip(self.bytes) {
            if bytes > packets * u64::from(u16::MAX) {
                return Err(BrokenIdentity::Bytes { packets, bytes });
            }
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.classes() == 0
    }

    #[inline]
    pub(crate) fn data_packets(&self) -> u32 {
        self.packets[1]
    }

    #[inline]
    pub(crate) fn waiting_packets(&self) -> u32 {
        self.packets[0] + self.packets[1]
    }

    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes[0] + self.bytes[1]
    }

    #[inline]
    pub(crate) fn waiting(&self, data: bool) -> (u32, u64) {
        (self.packets[usize::from(data)], self.bytes[usize::from(data)])
    }
}

#[cfg(test)]
impl<H> Queues<H> {
    /// Counts a packet out that was never in, as a release build would.
    pub(crate) fn wrap(&mut self, data: bool, wire: u16) {
        let kind = usize::from(data);
        self.packets[kind] = self.packets[kind].wrapping_sub(1);
        self.bytes[kind] = self.bytes[kind].wrapping_sub(wire.into());
    }

    /// Counts only the bytes of a packet out that was never in, as a release build would.
    pub(crate) fn wrap_bytes(&mut self, wire: u16) {
        self.bytes[1] = self.bytes[1].wrapping_sub(wire.into());
    }
}
