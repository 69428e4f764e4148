//! Two machines, and between them a line on which the test decides about each packet.

use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind, Sizes};
use headway_params::{ParamKind, ParamSpec, ParamValue, Params};
use headway_transport::endpoint::Checked;
use headway_transport::{Endpoint, HostContext, InitialWindow, Message, Path, Transport};
use headway_units::{Rate, Time};
use proptest::prelude::*;

/// One thing that happens to a connection.
#[derive(Clone, Debug)]
pub enum Step {
    /// Both ends send so many packets, if they have them.
    Send(u8),
    /// Lets so many arrive, oldest first; data packets whose bit is set are marked.
    Arrive(u8, u64),
    /// One arrives out of turn.
    Overtake(u16),
    /// Loses so many, oldest first.
    Lose(u8),
    /// One is there twice.
    Repeat(u16),
    /// An acknowledgement tells of a departure so many 2^-16 of the way from now to the beginning.
    Echo(u16, u16),
    /// Lets this much time pass.
    Wait(u64),
    /// Time passes until a deadline.
    Expire,
}

/// Operations of any kind, and the usual ones more often.
pub fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let round = (1u8..=64, prop_oneof![3 => Just(0u64), 1 => any::<u64>()]);
    // Below the time of a packet, within round trips, beyond time-outs, and so long that sums come near the end of
    // the clock.
    let wait = prop_oneof![
        2 => 0u64..1_000,
        6 => 0u64..500_000_000,
        2 => 0u64..20_000_000_000_000,
        1 => 0u64..1 << 61,
    ];
    let step = prop_oneof![
        8 => (1u8..=64).prop_map(Step::Send),
        8 => round.prop_map(|(count, marks)| Step::Arrive(count, marks)),
        1 => any::<u16>().prop_map(Step::Overtake),
        1 => (1u8..=20).prop_map(Step::Lose),
        1 => any::<u16>().prop_map(Step::Repeat),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(which, part)| Step::Echo(which, part)),
        4 => wait.prop_map(Step::Wait),
        1 => Just(Step::Expire),
    ];
    proptest::collection::vec(step, 1..120)
}

/// A value within its declared range, at random: an end of it, a small one, or any.
pub fn value_within(spec: &ParamSpec, lot: u64) -> ParamValue {
    let part = (lot >> 8 & 0xffff) as f64 / 65_535.0;
    let (low, high) = (lot & 7 == 0, lot & 7 == 1);
    match spec.kind {
        ParamKind::Bool => ParamValue::Bool(low),
        ParamKind::Choice(words) => ParamValue::Choice(words[(lot >> 8) as usize % words.len()].into()),
        ParamKind::Int { min, .. } | ParamKind::Bytes { min, .. } | ParamKind::Length { min, .. } if low => {
            ParamValue::Int(min)
        }
        ParamKind::Int { max, .. } | ParamKind::Bytes { max, .. } | ParamKind::Length { max, .. } if high => {
            ParamValue::Int(max)
        }
        ParamKind::Int { min, max } | ParamKind::Bytes { min, max } | ParamKind::Length { min, max } => {
            ParamValue::Int(min + (lot >> 8) % (max - min).clamp(1, 40))
        }
        ParamKind::Rate { min, max } => ParamValue::Rate(if low { min } else { max }),
        ParamKind::Float { min, .. } if low => ParamValue::Float(min),
        ParamKind::Float { max, .. } if high => ParamValue::Float(max),
        ParamKind::Float { min, max } => ParamValue::Float(min + (max - min) * part),
        ParamKind::Time { min, .. } if low => ParamValue::Time(min),
        ParamKind::Time { max, .. } if high => ParamValue::Time(max),
        ParamKind::Time { min, .. } => ParamValue::Time(min + Time::us((lot >> 8) % 100_000)),
    }
}

/// See the module.
pub struct Line {
    // Boxed, so that the line is compiled once and not for every controller.
    ends: [Checked<Box<dyn Endpoint>>; 2],
    air: Vec<Packet>,
    now: Time,
}

impl Line {
    /// A message of `packets` packets between two machines with these parameters.
    pub fn new<T: Transport>(
        params: &[(&'static str, ParamValue)],
        packets: u32,
        deadline: Option<Time>,
        entropy: u32,
    ) -> Self {
        let mut chosen = T::Params::default();
        for (name, value) in params {
            chosen.set(name, value.clone()).expect("within its range");
        }
        let end = |host| {
            let nic = Rate::gbps(10);
            let (base_rtt, max_rtt) = (Time::us(22), Time::us(400));
            let path = Box::new(move |_| Path {
                longest_timeout: Time::MAX,
                base_rtt,
                max_rtt,
                bottleneck: nic,
                paths: 2,
                hops: 1,
            });
            let context = HostContext { host: HostId(host), nic, sizes: Sizes::default(), seed: 0, path };
            let machine: Box<dyn Endpoint> = Box::new(T::make_endpoint(&chosen, context));
            Checked::new(machine)
        };
        Line::open_message([end(0), end(1)], packets, deadline, entropy)
    }

    fn open_message(
        ends: [Checked<Box<dyn Endpoint>>; 2],
        packets: u32,
        deadline: Option<Time>,
        entropy: u32,
    ) -> Self {
        let mut line = Line { ends, air: Vec::new(), now: Time::us(3) };
        let (initial_window, bytes) = (InitialWindow::default(), u64::from(packets) * 1460);
        let dst = HostId(1);
        let message = Message {
            id: 0,
            dst,
            bytes,
            class: 0,
            deadline,
            initial_window,
            responsive: true,
            entropy,
            tag: 0,
        };
        line.ends[0].open_message(line.now, &message);
        line.drain_events();
        line
    }

    /// Everything in order.
    pub fn run_steps(&mut self, steps: &[Step]) {
        for step in steps {
            match *step {
                Step::Send(count) => self.send_packets(count),
                Step::Arrive(count, marks) => {
                    (0..count).for_each(|n| self.deliver_packet(0, marks >> (n % 64) & 1 == 1))
                }
                Step::Overtake(which) => self.deliver_packet(which.into(), false),
                Step::Lose(count) => drop(self.air.drain(..usize::from(count).min(self.air.len()))),
                Step::Repeat(which) => self.air.extend(self.random_place(which).map(|at| self.air[at])),
                Step::Echo(which, part) => self.change_echo(which, part),
                // The last instant of the clock stands for never.
                Step::Wait(ps) => self.wait_until(self.now.saturating_add(Time(ps)).min(Time(u64::MAX - 1))),
                Step::Expire => {
                    if let Some(at) = self.next().filter(|at| *at < Time(u64::MAX - 1)) {
                        self.wait_until(at);
                    }
                }
            }
        }
    }

    /// One packet of the air, at random.
    fn random_place(&self, lot: u16) -> Option<usize> {
        usize::from(lot).checked_rem(self.air.len())
    }

    fn send_packets(&mut self, count: u8) {
        for _ in 0..count {
            for end in 0..2 {
                let packet = self.ends[end].poll_transmit(self.now);
                self.drain_events();
                self.air.extend(packet);
            }
        }
    }

    fn deliver_packet(&mut self, which: usize, marked: bool) {
        let Some(at) = which.checked_rem(self.air.len()) else { return };
        let mut packet = self.air.remove(at);
        if marked && packet.ecn == Ecn::Ect {
            packet.ecn = Ecn::Ce;
        }
        // An echo of marks that was not requested does no harm either.
        if marked && packet.kind == PacketKind::Ack {
            packet.flags.0 |= PacketFlags::ECE.0;
        }
        self.ends[packet.dst.0 as usize].receive_packet(self.now, &packet);
        self.drain_events();
    }

    fn change_echo(&mut self, which: u16, part: u16) {
        let Some(at) = self.random_place(which).filter(|at| self.air[*at].kind == PacketKind::Ack) else {
            return;
        };
        // In 64 bits, times near the end of the clock would overflow.
        let back = ((u128::from(self.now.0) * u128::from(part)) >> 16) as u64;
        self.air[at].lifetime = Time(self.now.0 - back);
    }

    fn next(&self) -> Option<Time> {
        self.ends.iter().filter_map(Endpoint::next_timeout).min()
    }

    /// Time passes until `until`, and every deadline before that is met.
    fn wait_until(&mut self, until: Time) {
        // A bound on the time of a case: of a wait with more deadlines the rest is left out.
        for _ in 0..2000 {
            let Some(at) = self.next().filter(|at| *at <= until) else { break };
            assert!(at >= self.now, "a deadline at {at}, asked for at {} or later", self.now);
            self.now = at;
            for end in &mut self.ends {
                if end.next_timeout().is_some_and(|due| due <= at) {
                    end.handle_timeout(at);
                    while end.poll_event().is_some() {}
                }
            }
            assert!(self.next().is_none_or(|due| due > at), "a deadline is met, and stands");
        }
        if self.next().is_none_or(|at| at > until) {
            self.now = until;
        }
    }

    /// Events are drained, and no deadline is in the past.
    fn drain_events(&mut self) {
        for end in &mut self.ends {
            while end.poll_event().is_some() {}
        }
        assert!(self.next().is_none_or(|at| at >= self.now), "{:?} at {}", self.next(), self.now);
    }
}
