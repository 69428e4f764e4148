//! Properties of every discipline, under any sequence of operations: arrivals of any packets at any times,
//! departures as a driver takes them, links that go down, come up, and change their rate.
//!
//! The driver here owns handles as real ones do, and a model of the port's content: its handles, in their order
//! they came, of which class. It holds the port to this:
//!
//! * every handle is in one place: a packet offered waits, left, or came back as dropped or returned, once;
//! * a packet that gives way to another is one that waited, and the other waits in its place;
//! * what leaves of one class leaves in the order in which it came; the same for each kind under priorities, and for each
//!   flow where flows have queues of their own;
//! * departures do not overlap, and start neither before the wire is free nor before they may;
//! * no more waits than the buffers hold, and shaping lets no more through than its rate;
//! * a link that goes down takes all that waits with it, and nothing is queued or leaves until it is up;
//! * nothing is written into a packet that the discipline does not declare, nor does it do what it does not;
//! * the counters' identities, after every step.

use crate::common;

use common::{Pool, packet, within};
use headway_fabric::registry::{self, AnyDiscipline};
use headway_fabric::{
    Buffer, DisciplineInfo, DropReason, Fate, Full, Limit, Need, Port, PortContext, Rewrite,
};
use headway_packet::{Ecn, Packet, PacketFlags, PacketKind, Sizes};
use headway_params::ParamValue;
use headway_primitives::{TokenBucket, mix};
use headway_units::{Rate, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One thing that a driver does.
#[derive(Clone, Debug)]
enum Step {
    /// A packet arrives so many nanoseconds later.
    Arrive { after: u64, lot: u64 },
    /// Time passes, and everything leaves that may.
    Wait { ns: u64 },
    /// The link goes down, if it is up.
    Down,
    /// It comes up, if it is down.
    Up,
    /// It has another rate from now on.
    Retune { mbps: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![4 => Just(0u64), 2 => 0u64..200, 1 => 0u64..5000];
    let arrive = (gap, any::<u64>()).prop_map(|(after, lot)| Step::Arrive { after, lot });
    let wait = prop_oneof![0u64..2000, 0u64..100_000].prop_map(|ns| Step::Wait { ns });
    let retune = prop_oneof![Just(100u64), Just(1_000), Just(10_000), 1u64..100_000];
    let retune = retune.prop_map(|mbps| Step::Retune { mbps });
    let any = prop_oneof![
        80 => arrive, 10 => wait, 1 => Just(Step::Down), 3 => Just(Step::Up), 1 => retune
    ];
    proptest::collection::vec(any, 1..160)
}

/// A discipline of the registry with random parameters, and its port.
#[derive(Clone, Debug)]
struct Subject {
    info: DisciplineInfo,
    params: Vec<(String, ParamValue)>,
    context: PortContext,
}

fn subject(name: usize, lot: u64, buffer: Buffer) -> Subject {
    let (info, specs) = registry::all()[name].clone();
    let chosen = specs.iter().zip(0u64..).filter(|(_, i)| lot >> (i % 60) & 1 == 1);
    let params = chosen.map(|(spec, i)| (spec.name.to_string(), within(spec, mix(lot ^ i)))).collect();
    let (sizes, round_trip) = (Sizes::default(), Some(Time::us(20)));
    let to_host = mix(lot) & 1 == 1;
    let context = PortContext { rate: Rate::gbps(10), sizes, buffer, seed: lot, round_trip, to_host };
    Subject { info, params, context }
}

/// The port, and its driver's model of it.
struct Driver {
    subject: Subject,
    port: Port<u32>,
    pool: Pool,
    /// Packets that wait: for each handle its place in the order of arrivals, and true if it is data.
    waiting: BTreeMap<u32, (u64, bool)>,
    came: u64,
    now: Time,
    /// The end of the last departure.
    free: Time,
    /// Bytes of credits that left, where they are shaped: as many as a bucket of its own lets through.
    bucket: Option<TokenBucket>,
}

impl Driver {
    fn new(subject: Subject) -> Driver {
        let made = AnyDiscipline::make(subject.info.name, &subject.params, &subject.context);
        let rules = made.expect("known").expect("valid");
        let bucket = shaping(&subject);
        let port = Port::new(rules, subject.context.into());
        let pool = Pool(Vec::new());
        let (waiting, free) = (BTreeMap::new(), Time::ZERO);
        Driver { subject, port, pool, waiting, came: 0, now: Time::ZERO, free, bucket }
    }

    fn run(&mut self, steps: &[Step]) {
        for step in steps {
            match *step {
                Step::Wait { ns } => self.pass_time(self.now + Time::ns(ns)),
                Step::Arrive { after, lot } => {
                    self.pass_time(self.now + Time::ns(after));
                    self.arrive(lot);
                }
                Step::Down => self.take_down(),
                Step::Up => self.bring_up(),
                Step::Retune { mbps } => self.retune(Rate::new(mbps * 1_000_000).expect("above 0")),
            }
            self.check();
        }
        self.drain();
    }

    /// Everything leaves that may before `until`, at its own time.
    fn pass_time(&mut self, until: Time) {
        while let Some(start) = self.port.next_start().filter(|start| *start <= until) {
            let start = start.max(self.now);
            self.depart(start);
        }
        self.now = until;
    }

    /// Whatever waits is handed back, and is nowhere then; the rest of the packet on the wire is not sent.
    fn take_down(&mut self) {
        let before = self.pool.0.clone();
        let mut gone = Vec::new();
        self.port.take_down(self.now, &mut self.pool, |handle, _| gone.push(handle));
        assert!(self.port.is_down() && self.port.next_start().is_none());
        for handle in gone {
            self.waiting.remove(&handle).expect("it waited");
            self.written(&before[handle as usize], &self.pool.0[handle as usize]);
        }
        assert!(self.waiting.is_empty(), "left behind at a link that is down: {:?}", self.waiting);
    }

    fn bring_up(&mut self) {
        if self.port.is_down() {
            self.port.bring_up(self.now);
            assert_eq!((self.port.is_down(), self.port.free_at()), (false, self.now));
            self.free = self.now;
        }
    }

    /// Changes the rate: waiting packets stay, and the packet on the wire ends as it began.
    fn retune(&mut self, rate: Rate) {
        let (waits, free) = (self.port.waiting(), self.port.free_at());
        self.subject.context.rate = rate;
        let Subject { info, params, context } = &self.subject;
        let fresh = AnyDiscipline::make(info.name, params, context).expect("known").expect("valid");
        self.port.retune(self.now, fresh, rate);
        if let (Some(bucket), Some(fresh)) = (&mut self.bucket, shaping(&self.subject)) {
            bucket.retime(self.now, &fresh);
        }
        assert_eq!((self.port.waiting(), self.port.free_at()), (waits, free));
    }

    fn drain(&mut self) {
        self.bring_up();
        while let Some(start) = self.port.next_start() {
            self.depart(start.max(self.now));
            self.check();
        }
        assert!(self.waiting.is_empty(), "handles that never left: {:?}", self.waiting);
        assert_eq!((self.port.waiting(), self.port.queue_bytes()), (0, 0));
        let end = self.port.free_at();
        assert_eq!(self.port.queue_integral(end), self.port.queue_integral(end + Time::s(1)));
    }

    fn depart(&mut self, start: Time) {
        assert!(start >= self.free && start >= self.now, "a departure in the past");
        self.now = start;
        let before = self.pool.0.clone();
        let departure = self.port.next(start, &mut self.pool).expect("it said that something may leave");
        let packet = self.pool.0[departure.handle as usize];
        let takes = self.subject.context.rate.time_of(packet.wire.into());
        assert_eq!(departure.ends, start + takes);
        self.free = departure.ends;
        let (came, _) = self.waiting.remove(&departure.handle).expect("it waited");
        self.in_order(&packet, came);
        self.written(&before[departure.handle as usize], &packet);
        self.shaped(&packet, start);
    }

    /// Asserts that earlier packets like this one have left before it.
    fn in_order(&mut self, packet: &Packet, came: u64) {
        for (handle, (other, _)) in &self.waiting {
            let like = self.pool.0[*handle as usize];
            let same =
                (like.kind, like.priority) == (packet.kind, packet.priority) && self.one_queue(&like, packet);
            assert!(!same || *other > came, "{handle} came before it and still waits");
        }
    }

    /// True if two packets of one kind and class wait in one queue.
    fn one_queue(&self, a: &Packet, b: &Packet) -> bool {
        self.subject.info.name != "fair-queue" || (a.message, a.entropy) == (b.message, b.entropy)
    }

    fn shaped(&mut self, packet: &Packet, start: Time) {
        let Some(bucket) = self.bucket.as_mut().filter(|_| packet.kind == PacketKind::Credit) else { return };
        let bytes = packet.wire.into();
        assert!(bucket.eligible_at(bytes) <= start, "more credits than their share");
        bucket.take(start, bytes);
    }

    fn arrive(&mut self, lot: u64) {
        let handle = self.pool.0.len() as u32;
        let offered = packet(handle, lot);
        self.pool.0.push(offered);
        if self.port.can_bypass() && self.port.free_at() <= self.now {
            self.free = self.port.transmit_idle(self.now, &mut self.pool.0[handle as usize]);
            let left = self.pool.0[handle as usize];
            return self.written(&offered, &left);
        }
        let before = self.pool.0.clone();
        match self.port.offer(self.now, handle, &mut self.pool) {
            Ok(()) => {
                assert!(!self.port.is_down(), "queued at a link that is down");
                self.queued(handle);
            }
            Err(full) => self.overflowed(handle, full, &before),
        }
        let kept: Vec<u32> = self.waiting.keys().copied().collect();
        for handle in kept {
            let (was, is) = (before[handle as usize], self.pool.0[handle as usize]);
            self.written(&was, &is);
        }
    }

    fn queued(&mut self, handle: u32) {
        let data = self.pool.0[handle as usize].is_data();
        self.came += 1;
        assert_eq!(self.waiting.insert(handle, (self.came, data)), None, "queued twice");
    }

    fn overflowed(&mut self, offered: u32, full: Full<u32>, before: &[Packet]) {
        if self.port.is_down() {
            let why = if before[offered as usize].is_data() {
                DropReason::LinkDown
            } else {
                DropReason::ControlLinkDown
            };
            assert_eq!((full.handle, full.fate, full.trimmed), (offered, Fate::Dropped(why), false));
        }
        let (was, is) = (before[full.handle as usize], self.pool.0[full.handle as usize]);
        if full.handle != offered {
            let (_, data) = self.waiting.remove(&full.handle).expect("what gives way waited");
            assert_eq!(
                data,
                before[offered as usize].is_data(),
                "data gives way to data, control to control"
            );
            self.queued(offered);
            let moved = full.trimmed || self.subject.info.needs.contains(&Need::Displacement);
            assert!(moved, "it does not declare that it displaces");
        }
        assert!(!full.trimmed || (was.is_data() && !is.is_data() && is.payload == 0));
        match full.fate {
            Fate::Kept => {
                assert!(full.trimmed, "kept, and nothing became of it");
                self.queued(full.handle);
            }
            Fate::Dropped(reason) => assert!(DropReason::ALL.contains(&reason)),
            Fate::Returned => {
                assert!(self.subject.info.rewrites.contains(&Rewrite::Return));
                assert!((is.src, is.dst) == (was.dst, was.src) && is.flags.has_all(PacketFlags::BOUNCED));
            }
        }
        if full.fate != Fate::Returned {
            self.written(&was, &is);
        }
    }

    /// Nothing was written into a packet that the discipline does not declare.
    fn written(&self, was: &Packet, is: &Packet) {
        let declares = |what| self.subject.info.rewrites.contains(&what);
        let mut expected = *was;
        if declares(Rewrite::Mark) {
            let taken = was.ecn == Ecn::Spare && is.ecn == Ecn::NotEct;
            assert!(was.ecn == is.ecn || taken || (was.ecn, is.ecn) == (Ecn::Ect, Ecn::Ce));
            expected.ecn = is.ecn;
        }
        if declares(Rewrite::Rate) && was.flags.has_all(PacketFlags::RATE) {
            assert!((1..=was.token).contains(&is.token), "a rate only falls, and not to nothing");
            expected.token = is.token;
        }
        if declares(Rewrite::Trim) && was.is_data() && !is.is_data() {
            expected.trim_payload(self.subject.context.sizes.control);
            let in_front = self.subject.context.to_host && is.flags.has_all(PacketFlags::LAST_HOP);
            expected.flags = expected.flags.with(PacketFlags::only_if(in_front, PacketFlags::LAST_HOP));
        }
        assert_eq!(*is, expected, "{} wrote what it does not declare", self.subject.info.name);
    }

    fn check(&self) {
        if let Err(broken) = self.port.check() {
            panic!("{broken}");
        }
        let of = |kind: bool| self.waiting.iter().filter(move |(_, (_, data))| *data == kind);
        let count = |kind| of(kind).count() as u32;
        assert_eq!(self.port.waiting(), count(true) + count(false), "handles are lost, or double");
        let bytes = |kind| of(kind).map(|(h, _)| u64::from(self.pool.0[*h as usize].wire)).sum::<u64>();
        assert_eq!(self.port.queue_bytes(), bytes(true) + bytes(false));
        let buffer = self.subject.context.buffer;
        for (kind, limit) in [(true, buffer.data), (false, buffer.control)] {
            let within = match limit {
                Limit::Packets(n) => count(kind) <= n,
                Limit::Bytes(n) => bytes(kind) <= n,
            };
            assert!(within, "more waits than there is room for");
        }
        let counters = self.port.counters();
        assert!(u64::from(counters.queue_max_packets) <= counters.received);
        let trims = self.subject.info.rewrites.contains(&Rewrite::Trim);
        assert!(trims || counters.trimmed == 0);
    }
}

/// The bucket that credits must pass, where the discipline shapes them.
fn shaping(subject: &Subject) -> Option<TokenBucket> {
    subject.info.needs.contains(&Need::Shaping).then_some(())?;
    let said = |name: &str, usual: u64| match subject.params.iter().find(|(key, _)| key == name) {
        Some((_, ParamValue::Int(n))) => *n,
        _ => usual,
    };
    let sizes = subject.context.sizes;
    let credit = match said("credit_bytes", 0) {
        0 => u64::from(sizes.control),
        bytes => bytes,
    };
    let burst = credit * said("credit_burst", 2);
    Some(TokenBucket::of_link(subject.context.rate, credit, sizes.full_wire().into(), burst))
}

fn buffers() -> impl Strategy<Value = Buffer> {
    let limit = prop_oneof![(1u32..12).prop_map(Limit::Packets), (100u64..16_000).prop_map(Limit::Bytes)];
    (limit.clone(), limit).prop_map(|(data, control)| Buffer { data, control })
}

proptest! {
    #![proptest_config(headway_testing::cases!(200))]

    #[test]
    fn every_discipline_keeps_to_the_contract_of_a_port(
        name in 0..registry::NAMES.len(), lot: u64, buffer in buffers(), steps in steps(),
    ) {
        Driver::new(subject(name, lot, buffer)).run(&steps);
    }
}

/// A sequence in which every discipline has to refuse something.
fn crowd() -> Vec<Step> {
    let arrive = |n: u64| Step::Arrive { after: n % 3 * 100, lot: mix(n) };
    (0..200).map(arrive).collect()
}

/// The property can fail: a driver that treats the outcome of a full queue wrongly is found out under the disciplines
/// that throw out, cut or return.
#[test]
fn a_driver_that_frees_the_newcomer_instead_is_found_out() {
    let caught = |name: &str| {
        let number = registry::NAMES.iter().position(|known| *known == name).expect("known");
        let buffer = Buffer { data: Limit::Packets(4), control: Limit::Packets(4) };
        let mut driver = Driver::new(subject(number, 0, buffer));
        let wrong = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for step in crowd() {
                let Step::Arrive { after, lot } = step else { continue };
                driver.pass_time(driver.now + Time::ns(after));
                let handle = driver.pool.0.len() as u32;
                driver.pool.0.push(packet(handle, lot));
                if driver.port.can_bypass() && driver.port.free_at() <= driver.now {
                    driver.free = driver.port.transmit_idle(driver.now, &mut driver.pool.0[handle as usize]);
                } else if driver.port.offer(driver.now, handle, &mut driver.pool).is_ok() {
                    driver.queued(handle);
                }
                driver.check();
            }
            driver.drain();
        }));
        wrong.is_err()
    };
    assert!(caught("trimming") && caught("cross-queue-ecn"));
    assert!(!caught("drop-tail") && !caught("strict-priority"), "where nothing gives way, it is right");
}

/// Nor does a port that writes what its discipline does not declare go unnoticed.
#[test]
fn a_discipline_that_declares_too_little_is_found_out() {
    let undeclared = |name: &str| {
        let number = registry::NAMES.iter().position(|known| *known == name).expect("known");
        let buffer = Buffer { data: Limit::Packets(4), control: Limit::Packets(4) };
        let mut quiet = subject(number, 0, buffer);
        (quiet.info.rewrites, quiet.info.needs) = (&[], &[]);
        // Thresholds that a queue of four packets passes.
        let low: &[&str] = match name {
            "ecn-threshold" | "core-ecn" => &["threshold"],
            "red-ecn" => &["kmin", "kmax"],
            _ => &[],
        };
        quiet.params.extend(low.iter().map(|key| (key.to_string(), ParamValue::Int(2))));
        let mut driver = Driver::new(quiet);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| driver.run(&crowd()))).is_err()
    };
    for (info, _) in registry::all() {
        // Shaping alone changes no packet: it holds them back, and is declared for its driver's sake.
        let does = !info.rewrites.is_empty() || info.needs.contains(&Need::Displacement);
        assert_eq!(undeclared(info.name), does, "{}", info.name);
    }
}
