//! Hosts and the network between them, in virtual time.

use crate::ledger::{Broken, Ledger, Violation};
use crate::plan::{NIC, PerKind, Plan};
use headway_packet::{Ecn, Hop, HostId, Packet, PacketFlags, PacketKind, Sizes, Stamps};
use headway_transport::endpoint::Checked;
use headway_transport::{Endpoint, HostContext, Message};
use headway_units::Time;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Inputs of a machine, and its wire becoming free.
#[derive(Debug)]
enum Step {
    Open(HostId, Message),
    Deliver(Packet, Option<Box<Stamps>>),
    WireFree(HostId),
    Timer(HostId),
}

/// A step with its place in time; steps of one instant keep the order of their making.
struct Scheduled(Reverse<(Time, u64)>, Step);

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// Routers that lower rates leave at least this part of the link's to a message.
const LEAST_SHARE: u64 = 8;

/// Bytes that wait at a switch at the most, as it writes into packets.
const MOST_WAITING: u64 = 100_000;

struct Host<E> {
    machine: Checked<E>,
    wire_busy: bool,
    /// End of the last data packet on the wire; the gap after it decides anti-ECN here.
    last_data_end: Option<Time>,
    /// Bytes of data packets that have left.
    data_bytes: u64,
    /// Instant of the earliest scheduled `Timer` step.
    armed: Option<Time>,
}

/// Result of a run that broke no promise.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Data packets that left a host.
    pub data_packets: u64,
    /// Those among them marked as repetitions.
    pub repeated: u64,
    /// Control packets that left a host.
    pub control_packets: u64,
    /// Permissions among them: grants, tokens, pulls, credits.
    pub permissions: u64,
    /// Packets that the network lost.
    pub lost: u64,
    /// Calls of `handle_timeout`.
    pub timeouts: u64,
    /// Number of steps taken.
    pub steps: u64,
    /// Time at which the last message was complete at its receiver.
    pub completed: Time,
    /// Time at which nothing was scheduled any more.
    pub quiet: Time,
}

/// Hosts joined pairwise by equal paths.
pub struct Mesh<'a, E> {
    plan: &'a Plan,
    hosts: Vec<Host<E>>,
    steps: BinaryHeap<Scheduled>,
    sequence: u64,
    now: Time,
    rng: Pcg64Mcg,
    /// Packets of each kind that have left, for [`Plan::lose`].
    departed: [u32; PacketKind::ALL.len()],
    /// True if switches trim.
    trims: bool,
    /// Ledger of packets and messages.
    pub ledger: Ledger,
    outcome: Outcome,
    trace: Option<Vec<String>>,
    sent: Option<Vec<Packet>>,
}

impl<'a, E: Endpoint> Mesh<'a, E> {
    /// Hosts with the machines that `make` makes, and the opens of `plan` scheduled; `trims` says whether
    /// switches trim, and receivers pull by number.
    pub fn new(plan: &'a Plan, trims: bool, trace: bool, make: &dyn Fn(HostContext) -> E) -> Self {
        let host = |n: u8| {
            let path = plan.common_path();
            let context = HostContext {
                host: HostId(n.into()),
                nic: NIC,
                sizes: Sizes::default(),
                seed: 0,
                path: Box::new(move |_| path),
            };
            let machine = Checked::new(make(context));
            Host { machine, wire_busy: false, last_data_end: None, data_bytes: 0, armed: None }
        };
        let mut mesh = Mesh {
            plan,
            hosts: (0..plan.hosts).map(host).collect(),
            steps: BinaryHeap::new(),
            sequence: 0,
            now: Time::ZERO,
            rng: Pcg64Mcg::seed_from_u64(plan.seed),
            departed: [0; PacketKind::ALL.len()],
            trims,
            ledger: Ledger::new(plan, trims),
            outcome: Outcome::default(),
            trace: trace.then(Vec::new),
            sent: None,
        };
        for (at, src, message) in plan.numbered_messages() {
            mesh.schedule_step(at, Step::Open(HostId(src.into()), message));
        }
        mesh
    }

    /// Runs until nothing is scheduled.
    pub fn run_plan(&mut self) -> Result<Outcome, Violation> {
        // Thirty per cent of anything may be lost, and then the answer to it: a dozen steps for each
        // packet is ample, a hundred is a loop. Idle retries with back-off are what the constant is for.
        let most = 20_000 + 100 * self.plan.total_packets();
        while let Some(Scheduled(Reverse((at, _)), step)) = self.steps.pop() {
            self.now = at;
            self.outcome.steps += 1;
            if self.outcome.steps > most {
                return Err(self.ledger.endless_violation(at, most));
            }
            if let Some(trace) = &mut self.trace {
                trace.push(format!("{at}: {}", describe_step(&step)));
            }
            self.take_step(step)?;
        }
        let live: Vec<_> = self.hosts.iter().map(|h| h.machine.live_messages()).collect();
        self.ledger.check_finish(self.now, &live)?;
        let completed = self.ledger.records.values().filter_map(|r| r.completed_at).max();
        self.outcome.completed = completed.unwrap_or_default();
        self.outcome.quiet = self.now;
        Ok(self.outcome.clone())
    }

    /// The steps taken, when tracing.
    pub fn into_trace(self) -> Vec<String> {
        self.trace.unwrap_or_default()
    }

    /// Keeps every packet that leaves a host from now on.
    pub fn keep_sent(&mut self) {
        self.sent = Some(Vec::new());
    }

    /// The packets that left a host.
    pub fn into_sent(self) -> Vec<Packet> {
        self.sent.unwrap_or_default()
    }

    fn schedule_step(&mut self, at: Time, step: Step) {
        self.steps.push(Scheduled(Reverse((at, self.sequence)), step));
        self.sequence += 1;
    }

    fn take_step(&mut self, step: Step) -> Result<(), Violation> {
        let now = self.now;
        let host = match step {
            Step::Open(host, message) => {
                self.machine_mut(host).open_message(now, &message);
                host
            }
            Step::Deliver(packet, stamps) => {
                if self.is_dark(packet.dst) {
                    self.outcome.lost += 1;
                    return Ok(());
                }
                self.ledger.record_arrival(&packet);
                let machine = self.machine_mut(packet.dst);
                match &stamps {
                    Some(stamps) => machine.receive_stamped(now, &packet, stamps),
                    None => machine.receive_packet(now, &packet),
                }
                packet.dst
            }
            Step::WireFree(host) => {
                self.hosts[host.0 as usize].wire_busy = false;
                host
            }
            Step::Timer(host) => {
                // Steps for deadlines that gave way to earlier ones mean nothing.
                if self.hosts[host.0 as usize].armed != Some(now) {
                    return Ok(());
                }
                self.hosts[host.0 as usize].armed = None;
                // The deadline may have moved on since this step was scheduled.
                if self.machine_mut(host).next_timeout().is_some_and(|t| t <= now) {
                    self.outcome.timeouts += 1;
                    self.machine_mut(host).handle_timeout(now);
                }
                host
            }
        };
        self.drain_events(host)?;
        // Machines have to bear a call of `handle_timeout` when nothing is due.
        if self.draw_chance(self.plan.early_timeouts) {
            self.machine_mut(host).handle_timeout(now);
            self.drain_events(host)?;
        }
        self.pull_packet(host)?;
        self.arm_timer(host);
        Ok(())
    }

    fn machine_mut(&mut self, host: HostId) -> &mut Checked<E> {
        &mut self.hosts[host.0 as usize].machine
    }

    fn drain_events(&mut self, host: HostId) -> Result<(), Violation> {
        while let Some(event) = self.hosts[host.0 as usize].machine.poll_event() {
            if let Some(trace) = &mut self.trace {
                trace.push(format!("    host {} says {event:?}", host.0));
            }
            self.ledger.check_event(self.now, host, &event)?;
        }
        Ok(())
    }

    /// Offers a free wire to the machine.
    fn pull_packet(&mut self, host: HostId) -> Result<(), Violation> {
        let now = self.now;
        if self.hosts[host.0 as usize].wire_busy {
            return Ok(());
        }
        // Asked first: a driver offers the wire only to a machine that says that it wants it.
        let wanted = self.machine_mut(host).wants_transmit();
        let Some(packet) = self.machine_mut(host).poll_transmit(now) else { return Ok(()) };
        let stamped = self.machine_mut(host).reads_stamps();
        // Before anything else is asked of the machine: the echo is that of the packet polled last.
        let echo = if stamped { self.machine_mut(host).poll_echo() } else { None };
        if !wanted {
            return Err(Violation { broken: Broken::HidPacket, at: now, detail: brief_packet(&packet) });
        }
        self.drain_events(host)?;
        self.ledger.check_departure(now, host, &packet)?;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("    host {} sends {}", host.0, brief_packet(&packet)));
        }
        self.sent.iter_mut().for_each(|sent| sent.push(packet));
        let end = now + NIC.time_of(packet.wire.into());
        self.hosts[host.0 as usize].wire_busy = true;
        self.schedule_step(end, Step::WireFree(host));
        if packet.is_data() {
            self.outcome.data_packets += 1;
            self.outcome.repeated += u64::from(packet.flags.has_all(PacketFlags::AGAIN));
        } else {
            self.outcome.control_packets += 1;
            let permissions = [PacketKind::Grant, PacketKind::Token, PacketKind::Pull, PacketKind::Credit];
            self.outcome.permissions += u64::from(permissions.contains(&packet.kind));
        }
        let marked = self.mark_packet(host, end, packet);
        let stamps = stamped.then(|| self.stamp_packet(host, end, &packet, echo));
        self.carry_packet(end, marked, stamps.map(Box::new));
        Ok(())
    }

    /// Stamps that the one switch on the way writes into data of transports that read them, or that an answer takes
    /// along. Now and then, as often as it would mark, something waits there.
    fn stamp_packet(&mut self, host: HostId, end: Time, packet: &Packet, echo: Option<Stamps>) -> Stamps {
        let mut stamps = echo.unwrap_or_default();
        if packet.is_data() {
            let sent = self.hosts[host.0 as usize].data_bytes;
            self.hosts[host.0 as usize].data_bytes += u64::from(packet.wire);
            let waits = self.draw_chance(self.plan.marks);
            let queue = if waits { self.rng.next_u64() % MOST_WAITING } else { 0 };
            stamps.push(Hop { at: end, sent, queue, rate: NIC });
        }
        stamps
    }

    /// Applies the effect of the sender's own link and the hops after it on the ECN field, and on a rate.
    fn mark_packet(&mut self, host: HostId, end: Time, mut packet: Packet) -> Packet {
        if packet.flags.has_all(PacketFlags::RATE) && self.draw_chance(self.plan.marks) {
            let share = 1 + self.rng.next_u64() % LEAST_SHARE;
            // The field counts kilobits a second.
            packet.token = packet.token.min((NIC.bps() / 1000 / share) as u32);
        }
        if !packet.is_data() {
            return packet;
        }
        let last = self.hosts[host.0 as usize].last_data_end.replace(end);
        // A link that was busy until now has no spare capacity.
        let gap = last.is_none_or(|last| last < self.now);
        let changed = self.draw_chance(self.plan.marks);
        packet.ecn = match packet.ecn {
            Ecn::Spare if changed || !gap => Ecn::NotEct,
            Ecn::Ect if changed => Ecn::Ce,
            other => other,
        };
        packet
    }

    /// Loses, repeats or delays the packet, or just brings it.
    fn carry_packet(&mut self, end: Time, mut packet: Packet, stamps: Option<Box<Stamps>>) {
        if self.trims && packet.is_data() && self.draw_chance(self.plan.trims) {
            packet.trim_payload(Sizes::default().control);
            if self.draw_chance(self.plan.returns) {
                packet.bounce_header();
            }
        }
        // Read after trimming, which changes the kind.
        let kind = packet.kind as usize;
        let of = |chances: &PerKind| chances[kind];
        let (loss, duplicate, late) = (of(&self.plan.loss), of(&self.plan.duplicate), of(&self.plan.late));
        let nth = self.departed[kind];
        self.departed[kind] += 1;
        // A packet that the plan names is lost with all of its copies.
        if self.plan.lose.contains(&(packet.kind, nth)) {
            self.outcome.lost += 1;
            return;
        }
        let copies = if self.draw_chance(duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            if self.is_dark(packet.src) || self.draw_chance(loss) {
                self.outcome.lost += 1;
                continue;
            }
            let mut at = end + self.plan.delay_time();
            if self.draw_chance(late) {
                // `lateness` may be 0, and a remainder by 0 panics.
                let most = self.plan.slot_time().0 * u64::from(self.plan.lateness) + 1;
                at += Time(self.rng.next_u64() % most);
            }
            self.schedule_step(at, Step::Deliver(packet, stamps.clone()));
        }
    }

    fn arm_timer(&mut self, host: HostId) {
        let now = self.now;
        let state = &mut self.hosts[host.0 as usize];
        // A deadline that has passed is due now.
        let Some(at) = state.machine.next_timeout().map(|t| t.max(now)) else { return };
        // Later deadlines need no step of their own: each step arms the next one.
        if state.armed.is_none_or(|armed| at < armed) {
            state.armed = Some(at);
            self.schedule_step(at, Step::Timer(host));
        }
    }

    fn draw_chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.rng.next_u32() % 100 < u32::from(percent)
    }

    fn is_dark(&self, host: HostId) -> bool {
        self.plan.blackouts.iter().any(|b| {
            let start = self.plan.slot_time() * u64::from(b.start);
            let end = start + self.plan.slot_time() * u64::from(b.slots);
            b.host.is_none_or(|h| u32::from(h) == host.0) && (start..end).contains(&self.now)
        })
    }
}

/// A packet in a few words.
pub fn brief_packet(p: &Packet) -> String {
    let flags = [
        (PacketFlags::ECE, " ece"),
        (PacketFlags::AGAIN, " again"),
        (PacketFlags::UNSCHEDULED, " unscheduled"),
        (PacketFlags::PULL, " pull"),
        (PacketFlags::BOUNCED, " bounced"),
    ];
    let flags: String = flags.iter().filter(|(f, _)| p.flags.has_all(*f)).map(|(_, name)| *name).collect();
    format!(
        "{} {}->{} message {} index {} count {} token {} {:?}{flags}",
        p.kind.name(),
        p.src.0,
        p.dst.0,
        p.message,
        p.index,
        p.count,
        p.token,
        p.ecn
    )
}

fn describe_step(step: &Step) -> String {
    match step {
        Step::Open(host, m) => {
            format!("host {} opens message {} to {}, {} B", host.0, m.id, m.dst.0, m.bytes)
        }
        Step::Deliver(packet, _) => format!("arrives {}", brief_packet(packet)),
        Step::WireFree(host) => format!("wire of host {} free", host.0),
        Step::Timer(host) => format!("timer of host {}", host.0),
    }
}
