//! The memory of lossless switches: priority flow control (IEEE 802.1Qbb).
//!
//! A switch counts the bytes of each class by the link that they came over, and has the far end of that link stop a class
//! before it runs out of room for it. Its memory has three parts: the reserve of each link and class, a pool that all
//! share, and headroom for what still arrives after a pause was decided. How much of the pool one link and class may take
//! depends on how much of it is free (dynamic thresholds, Choudhury and Hahne, ToN 1998). The rules are those of HPCC's
//! simulator (SIGCOMM 2019), but for what [`headroom_of`] and decision 78 say.

use crate::chips::{Chip, part};
use headway_packet::Packet;
use headway_params::ParamKind;
use headway_units::{Rate, Time};

headway_params::choice! {
    /// Consequence of a deadlock of pauses for the run.
    pub enum OnDeadlock {
        /// The run ends.
        End = "end",
        /// It goes on, and its results say so.
        Report = "report",
    }
}

headway_params::params! {
    /// Parameters of lossless switches: `[fabric.pfc]`.
    pub struct PfcParams {
        /// A chip whose memory each switch has where `buffer` does not say.
        chip: Chip = Chip::None, ParamKind::Choice(Chip::WORDS);
        /// Memory of each switch; 0 = the chip's, or without one 16 MiB for each 50 Gb/s of the fastest link of a host in the network that the switch is in. HPCC's simulator
        buffer: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
        /// Part of it that each link and class has for itself. HPCC's simulator
        reserve: u64 = 4096, ParamKind::Bytes { min: 0, max: 1 << 30 };
        /// Part of it for data that arrives over a link in one class after the decision to stop it; 0 = the data that can arrive at the most, from the delay and the rate of the link and the packets that are on their way. 802.1Qbb
        headroom: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
        /// Headroom of each link in products of its rate and its own delay, instead; 0 = as `headroom` says. HPCC's simulator: 3
        headroom_products: f64 = 0.0, ParamKind::Float { min: 0.0, max: 1000.0 };
        /// Bytes by which the headroom is less than that: with 1, some traffic loses a packet.
        headroom_less: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
        /// Bytes of the largest packet on the wire, for the headroom; 0 = a full data packet, with the telemetry that ports write into it.
        largest_packet: u64 = 0, ParamKind::Bytes { min: 0, max: 65_535 };
        /// Part of the free pool that one link and class may take. Twice as much on a link of twice the rate of the fastest link of a host, four times on one of four times. HPCC's simulator
        alpha: f64 = 0.125, ParamKind::Float { min: 0.001, max: 64.0 };
        /// Bytes by which a link and class has to fall below that before it goes on. HPCC's simulator
        resume_offset: u64 = 3072, ParamKind::Bytes { min: 1, max: 1 << 30 };
        /// Classes of data that are stopped one by one: data of priority 1 is the first, and the last takes all that follow.
        classes: u64 = 1, ParamKind::Int { min: 1, max: 8 };
        /// True if control is counted and stopped as data of the first class is, as the switches of HPCC's simulator do with acknowledgements.
        pause_control: bool = false, ParamKind::Bool;
        /// Bytes that a pause frame takes on the wire. 802.1Qbb
        frame: u64 = 84, ParamKind::Bytes { min: 1, max: 16_384 };
        /// True if pause frames arrive a link's delay later without taking the wire, nor waiting for it. htsim
        out_of_band: bool = false, ParamKind::Bool;
        /// Consequence of a deadlock of pauses for the run.
        on_deadlock: OnDeadlock = OnDeadlock::End, ParamKind::Choice(OnDeadlock::WORDS);
        /// Interval at which deadlocks are looked for.
        deadlock_check: Time = Time::us(100), ParamKind::Time { min: Time::ns(1), max: Time::s(1000) };
    }
}

/// Classes of packets at the most, control among them.
pub const MOST_PFC_CLASSES: usize = 9;

/// Memory for each 50 Gb/s of a host's link.
const USUAL_BUFFER: u64 = 16 << 20;

impl PfcParams {
    /// Classes of packets, control first.
    pub fn all_classes(&self) -> usize {
        1 + self.classes as usize
    }

    /// Every class of data, as bits.
    pub fn every_class(&self) -> u32 {
        (1 << self.all_classes()) - 2
    }

    /// The class of a packet; 0 is neither counted nor stopped.
    #[inline]
    pub fn class_of(&self, packet: &Packet) -> usize {
        if !packet.is_data() && !self.pause_control {
            return 0;
        }
        usize::from(packet.priority).clamp(1, self.classes as usize)
    }
}

/// Memory of each switch.
pub(crate) fn buffer_of(params: &PfcParams, fastest: Rate) -> u64 {
    match (params.buffer, params.chip.memory()) {
        (0, Some(memory)) => memory.size,
        // In 128 bits: the product of bytes and a rate does not fit into 64.
        (0, None) => (u128::from(USUAL_BUFFER) * u128::from(fastest.bps()) / 50_000_000_000) as u64,
        (bytes, _) => bytes,
    }
}

/// Bytes that came over one link in one class and have not left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) reserve: u64,
    pub(crate) headroom_limit: u64,
    pub(crate) alpha: u64,
    pub(crate) resume_offset: u64,
    /// Bytes in the reserve and in the pool.
    pub(crate) ordinary: u64,
    /// Bytes in the headroom.
    pub(crate) headroom: u64,
    pub(crate) headroom_max: u64,
    /// True if the far end is to be stopped.
    pub(crate) stops: bool,
}

impl Account {
    /// Bytes in the pool.
    #[inline]
    fn shared(&self) -> u64 {
        self.ordinary.saturating_sub(self.reserve)
    }

    /// True if the far end may go on, with so much of the pool free.
    #[inline]
    fn may_resume(&self, free: u64) -> bool {
        let shared = self.shared();
        self.headroom == 0
            && (shared == 0 || shared.saturating_add(self.resume_offset) <= part(free, self.alpha))
    }
}

/// The memory of one lossless switch.
///
/// Accounts are by link and class: an inbound link's [`Inbound::place`], and the class of data from 1. The driver asks
/// [`Ledger::admit`] of each packet that arrives and tells each that leaves ([`Ledger::release`]); the classes that the
/// far end of a link is to be told stands in [`Ledger::stopped`].
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub(crate) pool: u64,
    pub(crate) classes: usize,
    pub(crate) shared: u64,
    pub(crate) shared_max: u64,
    pub(crate) accounts: Vec<Account>,
}

impl Ledger {
    #[inline]
    fn place(&self, place: u32, class: usize) -> usize {
        debug_assert!((1..=self.classes).contains(&class));
        place as usize * self.classes + class - 1
    }

    /// Takes in a packet of so many bytes, or returns `false` if it does not fit.
    pub fn admit(&mut self, place: u32, class: usize, bytes: u64) -> bool {
        let free = self.pool - self.shared;
        let at = self.place(place, class);
        let account = &mut self.accounts[at];
        let before = account.shared();
        let after = (account.ordinary + bytes).saturating_sub(account.reserve);
        // Bytes within the reserve need nothing of the others; those beyond its part of the pool are headroom.
        if after == 0 || after <= part(free, account.alpha) && after - before <= free {
            account.ordinary += bytes;
            self.shared += after - before;
            self.shared_max = self.shared_max.max(self.shared);
        } else if account.headroom + bytes <= account.headroom_limit {
            account.headroom += bytes;
            account.headroom_max = account.headroom_max.max(account.headroom);
        } else {
            return false;
        }
        let limit = part(self.pool - self.shared, account.alpha);
        let shared = account.shared();
        if account.headroom > 0 || shared > 0 && shared >= limit {
            account.stops = true;
        }
        true
    }

    /// Lets go of a packet of so many bytes: those in the headroom first, then those in the pool.
    pub fn release(&mut self, place: u32, class: usize, bytes: u64) {
        let at = self.place(place, class);
        let account = &mut self.accounts[at];
        let of_headroom = account.headroom.min(bytes);
        account.headroom -= of_headroom;
        let before = account.shared();
        account.ordinary -= bytes - of_headroom;
        self.shared -= before - account.shared();
        if account.stops && account.may_resume(self.pool - self.shared) {
            account.stops = false;
        }
    }

    /// The classes in which the far end of a link is to be stopped, as bits.
    #[inline]
    pub fn stopped(&self, place: u32) -> u32 {
        let own = &self.accounts[place as usize * self.classes..][..self.classes];
        own.iter().zip(1..).fold(0, |bits, (account, class)| bits | u32::from(account.stops) << class)
    }

    /// Bytes that came over a link in a class and have not left.
    pub fn bytes(&self, place: u32, class: usize) -> u64 {
        let account = &self.accounts[self.place(place, class)];
        account.ordinary + account.headroom
    }

    /// Most bytes in the headroom of a link, of any class.
    pub fn headroom_max(&self, place: u32) -> u64 {
        let own = &self.accounts[place as usize * self.classes..][..self.classes];
        own.iter().map(|account| account.headroom_max).max().unwrap_or(0)
    }

    /// Most bytes in the pool.
    pub fn shared_max(&self) -> u64 {
        self.shared_max
    }

    /// True if a link and class that is stopped stays so when no more than `stuck` of its bytes are left, and in the
    /// pool `shared` of all links and classes. A link and class that nothing leaves is not
    /// examined again.
    pub(crate) fn stays_stopped(&self, place: u32, class: usize, (stuck, shared): (u64, u64)) -> bool {
        let mut account = self.accounts[self.place(place, class)].clone();
        let leaves = (account.ordinary + account.headroom).saturating_sub(stuck);
        if leaves == 0 {
            return stuck > 0;
        }
        let of_headroom = account.headroom.min(leaves);
        account.headroom -= of_headroom;
        account.ordinary -= leaves - of_headroom;
        stuck > 0 && !account.may_resume(self.pool.saturating_sub(shared))
    }

    /// Bytes in the pool if so many are left of a link and class.
    pub(crate) fn shared_of(&self, place: u32, class: usize, stuck: u64) -> u64 {
        let account = &self.accounts[self.place(place, class)];
        stuck.min(account.ordinary).saturating_sub(account.reserve)
    }

    /// Checks that the counters are possible: no headroom above its limit or of a link that goes on, and no more in the
    /// pool than it has.
    pub fn check(&self) -> Result<(), String> {
        let shared: u64 = self.accounts.iter().map(Account::shared).sum();
        if shared != self.shared || shared > self.pool {
            return Err(format!(
                "{} B of {} B of the pool are taken, by accounts {shared} B",
                self.shared, self.pool
            ));
        }
        for (at, account) in self.accounts.iter().enumerate() {
            let (place, class) = (at / self.classes, at % self.classes + 1);
            if account.headroom > account.headroom_limit || account.headroom > 0 && !account.stops {
                return Err(format!("link {place}, class {class}: {account:?}"));
            }
        }
        Ok(())
    }
}

/// Counts of pauses on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseCounts {
    /// Pauses that left over it, which stop the link in the other direction: one for each class.
    pub sent: u64,
    /// Frames sent that let that link go on.
    pub resumes_sent: u64,
    /// Pauses that stopped the link.
    pub received: u64,
    /// Frames received that let it go on.
    pub resumes_received: u64,
    /// Time for which a class or several of it were stopped.
    pub stopped: Time,
    /// Most bytes in the headroom of its far end.
    pub headroom_max: u64,
    /// Most bytes in the pool of the switch that it leaves.
    pub shared_max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chips::ALPHA_BITS;

    fn ledger(pool: u64, links: usize) -> Ledger {
        let alpha = 1 << (ALPHA_BITS - 3);
        let account = Account {
            reserve: 4096,
            headroom_limit: 10_000,
            alpha,
            resume_offset: 3072,
            ..Account::default()
        };
        Ledger { pool, classes: 1, accounts: vec![account; links], ..Ledger::default() }
    }

    #[test]
    fn a_link_takes_its_reserve_then_its_part_of_the_pool_then_its_headroom() {
        let mut ledger = ledger(45_000, 2);
        let mut counts = [0; 3];
        for packet in 0..20 {
            let before = (ledger.shared, ledger.accounts[0].headroom);
            let admitted = ledger.admit(0, 1, 1000);
            assert_eq!(admitted, packet < 9 + 10, "packet {packet}");
            let after = (ledger.shared, ledger.accounts[0].headroom);
            counts[0] += u64::from(admitted && before == after);
            counts[1] += u64::from(before.0 < after.0);
            counts[2] += u64::from(before.1 < after.1);
            ledger.check().expect("right");
        }
        // s = 4904 B of the part (45000 - s) / 8 = 5012 B after nine packets: not yet at it, and the tenth is beyond.
        assert_eq!((counts, ledger.shared), ([4, 5, 10], 4904));
        assert_eq!(ledger.stopped(0), 2);
        assert_eq!(ledger.headroom_max(0), 10_000);
    }

    #[test]
    fn it_stops_at_its_part_and_goes_on_an_offset_below_it() {
        let mut ledger = ledger(36_000, 1);
        let stops_at = (1..).find(|_| {
            assert!(ledger.admit(0, 1, 1000));
            ledger.stopped(0) != 0
        });
        // s = 3904 after the eighth, T = (36000 - 3904) / 8 = 4012; the ninth is headroom.
        assert_eq!(stops_at, Some(9));
        let goes_on = (1..).find(|_| {
            ledger.release(0, 1, 1000);
            ledger.stopped(0) == 0
        });
        // One out of the headroom; then s = 2904, 1904 and 904 with T = 4137, 4262 and 4387: 904 + 3072 <= 4387.
        assert_eq!(goes_on, Some(4));
        ledger.check().expect("right");
    }

    #[test]
    fn what_one_takes_leaves_less_for_the_others() {
        let mut ledger = ledger(40_000, 8);
        let mut parts = Vec::new();
        for link in 0..8 {
            while ledger.stopped(link) == 0 {
                assert!(ledger.admit(link, 1, 500));
            }
            parts.push(ledger.bytes(link, 1));
        }
        assert!(parts.windows(2).all(|pair| pair[0] >= pair[1]) && parts[0] > parts[7], "{parts:?}");
        ledger.check().expect("right");
    }

    #[test]
    fn a_class_is_of_data_alone_unless_control_shares_it() {
        use headway_packet::{HostId, PacketKind};
        let packet = |kind, priority| {
            let mut packet = Packet::new(kind, HostId(0), HostId(1), 0);
            packet.priority = priority;
            packet
        };
        let params = PfcParams { classes: 3, ..PfcParams::default() };
        let class = |kind, priority| params.class_of(&packet(kind, priority));
        assert_eq!(class(PacketKind::Ack, 0), 0);
        assert_eq!(class(PacketKind::Ack, 4), 0);
        let data: Vec<_> = (0..6).map(|priority| class(PacketKind::Data, priority)).collect();
        assert_eq!(data, [1, 1, 2, 3, 3, 3]);
        let with = PfcParams { pause_control: true, ..params };
        assert_eq!(with.class_of(&packet(PacketKind::Ack, 0)), 1);
    }
}
