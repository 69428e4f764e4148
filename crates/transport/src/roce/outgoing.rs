//! A message being sent: its next packet, and the time at which that may leave.

use super::control::{Answer, Controller, Controllers, Flow};
use super::packets::{Ack, Data};
use super::params::Recovery;
use super::{Shared, TimerKey};
use crate::endpoint::HostContext;
use crate::first_window::FirstWindowSchedule;
use crate::index_window::IndexWindow;
use crate::message::{InitialWindow, Message};
use headway_packet::{Ecn, Packet, PacketFlags, PacketKind, Stamps, TypedView};
use headway_units::{Rate, Time};

crate::state_machine! {
    /// A message at its sender.
    "sender message" pub(super) enum SenderState on SenderEvent {
        Sending { Nack => Recovering, Timeout => Recovering, AllAcked => Done }
        Recovering { Repaired => Sending, AllAcked => Done }
        Done {}
    }
    events { Nack, Timeout, Repaired, AllAcked }
}

/// Doublings of the time-out at most, while nothing is heard.
const MAX_BACKOFF: u32 = 5;

/// Packets under repair, with selective repeat. IRN §3.1
#[derive(Clone, Copy, Debug)]
struct Repair {
    /// Packets below were not looked at since the repair began, or were repeated in it.
    next: u32,
    /// Those below this that were not acknowledged are lost.
    lost: u32,
}

/// See the module.
pub(super) struct Outgoing {
    pub(super) message: Message,
    packets: u32,
    payload: u64,
    pub(super) control: Box<dyn Controller>,
    telemetry: u16,
    ecn: Ecn,
    state: SenderState,
    /// Packets that may leave before anything is heard, those of them whose time has come, and whether something was heard.
    first: u32,
    schedule: FirstWindowSchedule,
    released: u32,
    heard: bool,
    /// First packet that has not arrived, first one to be sent, and first one that was never sent.
    una: u32,
    pub(super) next: u32,
    high: u32,
    selective: bool,
    /// Packets that have arrived, with selective repeat.
    sacked: IndexWindow,
    repair: Repair,
    /// First packet that had not left when the repair began: it is over when all before are there.
    recovers: u32,
    cap: u64,
    /// Time and bytes of the last packet that left.
    last: Option<(Time, u16)>,
    /// Time at which something was heard or sent last, and time-outs since something was heard.
    active: Time,
    backoff: u32,
    timeouts: (Time, Time),
    few: u32,
    /// The earliest deadlines that are armed.
    timeout_armed: Time,
    pace_armed: Time,
    rise_armed: Time,
    /// True if it waits for the wire.
    pub(super) queued: bool,
}

impl Outgoing {
    pub(super) fn new(
        controllers: &Controllers,
        context: &HostContext,
        now: Time,
        message: &Message,
    ) -> Self {
        let path = (context.path)(message.dst);
        let (sizes, machine) = (&context.sizes, &controllers.machine);
        let base_rtt = machine.base_rtt(&path);
        let packets = sizes.packets_of(message.bytes) as u32;
        let (line, payload) = (context.nic.bps() as f64, u64::from(sizes.payload).max(1));
        let bdp = line / 8.0 * base_rtt.as_secs_f64();
        // `sharers` counts in thousandths.
        let first = line * 1000.0 / message.initial_window.sharer_thousandths() as f64;
        let flow = Flow { start: now, line, first, base_rtt, bdp, payload: payload as f64 };
        let control = controllers.make_controller(&flow);
        let cap = machine.flight_cap(context, base_rtt);
        // A message that is unbounded later is unbounded before the first answer, too, unless it asks for a first window.
        let alone = InitialWindow { connected: message.initial_window.connected, ..InitialWindow::default() };
        let asked = !message.responsive || message.initial_window != alone;
        let bound = if control.window_bytes().is_some() || asked { bdp as u64 } else { u64::MAX };
        let bytes = bound.min(cap);
        // One packet may leave through any window, or nothing would ever be heard.
        let window = u32::try_from(bytes.div_ceil(payload).max(1)).unwrap_or(u32::MAX);
        let slot = sizes.slot_time(path.bottleneck);
        let schedule = FirstWindowSchedule::new(message.initial_window, window, packets, slot, now);
        Outgoing {
            message: *message,
            packets,
            payload,
            control,
            telemetry: controllers.telemetry,
            ecn: if controllers.ecn { Ecn::Ect } else { Ecn::NotEct },
            state: SenderState::Sending,
            first: schedule.window_packets(),
            schedule,
            released: 0,
            heard: false,
            una: 0,
            next: 0,
            high: 0,
            selective: machine.recovery == Recovery::Selective,
            sacked: IndexWindow::default(),
            repair: Repair { next: 0, lost: 0 },
            recovers: 0,
            cap,
            last: None,
            active: now,
            backoff: 0,
            timeouts: machine.path_timeouts(&path),
            few: machine.few as u32,
            timeout_armed: Time::MAX,
            pace_armed: Time::MAX,
            rise_armed: Time::MAX,
            queued: false,
        }
    }

    /// Releases the packets of the first window whose time has come.
    pub(super) fn release_first_window(&mut self, shared: &mut Shared, now: Time) {
        let key = TimerKey::InitialWindow(self.message.dst, self.message.id);
        let (first, count) = self.schedule.release_and_arm(&mut shared.timers, now, key);
        self.released = first + count;
    }

    /// Packets that have left and are not known to have arrived.
    pub(super) fn in_flight(&self) -> u32 {
        // `sacked` contains everything below `una`, so the rest lies beyond.
        let beyond = if self.selective { self.sacked.len().saturating_sub(self.una) } else { 0 };
        (self.next - self.una).saturating_sub(beyond)
    }

    /// Bytes that may be under way, if there is a bound.
    pub(super) fn window_bytes(&self) -> Option<f64> {
        let cap = (self.cap < u64::MAX).then_some(self.cap as f64);
        self.control.window_bytes().into_iter().chain(cap).reduce(f64::min)
    }

    /// True if the window has room for a packet. HPCC's simulator checks this before each packet: one may be begun.
    /// HPCC §3.1 With nothing under way there is room, however small the window is: nothing would ever open it again.
    fn has_room(&self) -> bool {
        let under_way = u64::from(self.next - self.una) * self.payload;
        under_way == 0 || self.window_bytes().is_none_or(|window| (under_way as f64) < window)
    }

    /// The packet to be sent next, as far as windows permit it.
    #[inline]
    pub(super) fn pick_packet(&self) -> Option<u32> {
        if self.selective && self.state == SenderState::Recovering {
            let missing = self.sacked.next_missing(self.repair.next.max(self.una));
            if missing < self.repair.lost {
                return Some(missing);
            }
        }
        let end = if self.message.responsive { self.packets } else { self.first };
        let end = if self.heard { end } else { end.min(self.released) };
        (self.next < end && self.has_room()).then_some(self.next)
    }

    /// The rate to send at; 1 b/s where it would round to nothing.
    fn paced_rate(&self, nic: Rate) -> Rate {
        let rate = self.control.rate_bps();
        if rate >= nic.bps() as f64 { nic } else { Rate::new((rate as u64).max(1)).unwrap_or(nic) }
    }

    /// Time at which the next packet may leave: a change of the rate counts from the last one.
    pub(super) fn due_time(&self, context: &HostContext) -> Time {
        let Some((at, wire)) = self.last else { return Time::ZERO };
        at.saturating_add(self.paced_rate(context.nic).time_of(wire.into()))
    }

    /// Sends packet `index`.
    pub(super) fn send_packet(&mut self, context: &HostContext, now: Time, index: u32) -> Packet {
        let again = index < self.high;
        if index == self.next {
            self.next += 1;
            self.high = self.high.max(self.next);
        } else {
            // A missing packet is repeated once in a repair; if that is lost as well, the time-out begins another.
            self.repair.next = index + 1;
        }
        let packet = context.data_packet(&self.message, index, self.first);
        let mut packet = Data { left: now, ..Data::from_packet(&packet) }.put_on(packet);
        packet.wire = packet.wire.saturating_add(self.telemetry);
        packet.ecn = self.ecn;
        packet.flags = PacketFlags::only_if(again, PacketFlags::AGAIN);
        // With the bytes for stamps, which take time on the wire, too.
        self.last = Some((now, packet.wire));
        self.active = now;
        self.control.note_departure(now, packet.wire);
        packet
    }

    /// Takes an answer in. Returns true if everything has arrived.
    pub(super) fn process_answer(&mut self, now: Time, packet: &Packet, stamps: Option<&Stamps>) -> bool {
        // Both kinds have the same fields.
        let Ack { index, arrived, echo } = Ack::from_packet(packet);
        let nack = packet.kind == PacketKind::Nack;
        if arrived > self.high || index >= self.high {
            return false;
        }
        (self.heard, self.backoff, self.active) = (true, 0, now);
        let newly = arrived.saturating_sub(self.una);
        self.una = self.una.max(arrived);
        // An answer from before the sender went back may be about packets that it was going to repeat.
        self.next = self.next.max(self.una);
        if self.selective {
            self.sacked.skip_to(self.una);
            if nack && index > arrived {
                self.sacked.insert(index);
            }
        }
        if self.una == self.packets {
            self.state.step(SenderEvent::AllAcked);
            return true;
        }
        if self.state == SenderState::Recovering && self.una >= self.recovers {
            self.state.step(SenderEvent::Repaired);
        }
        // An older complaint that was overtaken is about a gap which has been filled.
        if nack && arrived == self.una {
            self.process_complaint(index);
        }
        let rtt = now.saturating_sub(echo);
        let marked = packet.flags.has_all(PacketFlags::ECE);
        let (arrived, next) = (self.una, self.next);
        self.control.handle_answer(&Answer { now, arrived, newly, next, marked, rtt, stamps });
        false
    }

    /// The first packet that has not arrived is missing, and packet `index` behind it is there.
    fn process_complaint(&mut self, index: u32) {
        if !self.selective {
            self.go_back(SenderEvent::Nack);
            return;
        }
        if self.state != SenderState::Recovering {
            (self.recovers, self.repair) = (self.next, Repair { next: self.una, lost: 0 });
            self.state.step(SenderEvent::Nack);
        }
        // IRN §3.1: a packet is lost once one with a higher number has arrived.
        self.repair.lost = self.repair.lost.max(index);
    }

    /// Everything from the first missing packet on is to be sent again.
    fn go_back(&mut self, event: SenderEvent) {
        // The repair is over when all that had left is there, and not only what is repeated first.
        self.recovers = self.high;
        self.next = self.una;
        self.state.step(event);
    }

    fn current_timeout(&self) -> Time {
        let (high, low) = self.timeouts;
        // IRN §3.1: few packets cost little if they are repeated for nothing.
        let few = self.selective && self.in_flight() <= self.few;
        if few { low } else { high }.saturating_mul(1 << self.backoff)
    }

    /// A deadline that was `at` has come: returns true if nothing was heard for a time-out, and packets under way are
    /// taken for lost.
    pub(super) fn timed_out(&mut self, at: Time, now: Time) -> bool {
        // Deadlines are not cancelled, so one that another has replaced is ignored.
        if self.timeout_armed != at {
            return false;
        }
        self.timeout_armed = Time::MAX;
        // Departures and answers move the time-out, so an armed deadline may be early.
        if self.una == self.next || self.active.saturating_add(self.current_timeout()) > now {
            return false;
        }
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        self.active = now;
        if self.selective {
            (self.recovers, self.repair) = (self.next, Repair { next: self.una, lost: self.next });
            self.state.step(SenderEvent::Timeout);
        } else {
            self.go_back(SenderEvent::Timeout);
        }
        true
    }

    /// Arms the deadline of the time-out, unless one that is as early is armed.
    pub(super) fn arm_timeout(&mut self, shared: &mut Shared) {
        if self.una == self.next {
            return;
        }
        let due = self.active.saturating_add(self.current_timeout());
        if due < self.timeout_armed {
            self.timeout_armed = due;
            shared.timers.arm_deadline(due, TimerKey::Timeout(self.message.dst, self.message.id));
        }
    }

    /// Arms the deadline of the next packet, unless one that is as early is armed; for a packet that may not leave yet.
    pub(super) fn wait_for_pace(&mut self, shared: &mut Shared, due: Time) {
        if due < self.pace_armed {
            self.pace_armed = due;
            shared.timers.arm_deadline(due, TimerKey::Pace(self.message.dst, self.message.id));
        }
    }

    /// A deadline for the next packet has come: returns true if it is the one in force.
    pub(super) fn expire_pace(&mut self, at: Time) -> bool {
        let stands = self.pace_armed == at;
        if stands {
            self.pace_armed = Time::MAX;
        }
        stands
    }

    /// Arms the deadline at which the rate rises, if it does.
    pub(super) fn wait_for_rise(&mut self, shared: &mut Shared) {
        let Some(at) = self.control.next_rise() else { return };
        if at < self.rise_armed {
            self.rise_armed = at;
            shared.timers.arm_deadline(at, TimerKey::Rise(self.message.dst, self.message.id));
        }
    }

    /// The rate may have risen: returns true if the deadline is the one in force.
    pub(super) fn expire_rise(&mut self, at: Time, now: Time) -> bool {
        // Deadlines are not cancelled, so one that another has replaced is ignored.
        if self.rise_armed != at {
            return false;
        }
        self.rise_armed = Time::MAX;
        self.control.pass_time(now);
        true
    }
}
