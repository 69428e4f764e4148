//! Ports of lossless switches, and the switches' memory behind them.
//!
//! A switch counts arrivals by the link that they came over ([`headway_network::Ledger`]), and tells the far end of
//! that link by a pause frame to stop a class, or to go on. What it knows, it knows at once: each of its ports has an
//! event for each departure, at the instant of it. Ports of other switches are served later ([`super`]); here a
//! departure lets go of memory that decides about packets at other ports.
//!
//! A frame waits for the packet in service on its link, and for nothing else; it has the changes since the one
//! before, in all classes. To the far end it is an event like the arrival of a packet, a link's delay after its last bit:
//! it crosses from one shard to another in the same way.

use super::Ports;
use crate::links::RELEASE;
use crate::rank;
use headway_fabric::Full;
use headway_network::{
    BuildError, Deadlock, Ledger, Lossless, Network, PauseCounts, RunSpec, Step, Stopped, Surplus,
};
use headway_packet::{HostId, Packet, PacketKind, Stamps};
use headway_units::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// A packet of a host, and the stamps that it takes along, of a machine that reads them.
pub(crate) type Pulled = (Packet, Option<Option<Stamps>>);

/// A packet in the memory of a switch.
#[derive(Clone, Copy)]
struct Charge {
    link: u32,
    bytes: u16,
    /// 0 for one that is not counted.
    class: u8,
}

const UNCOUNTED: Charge = Charge { link: 0, bytes: 0, class: 0 };

/// State of one link.
#[derive(Clone, Default)]
struct Lane {
    /// Classes in which its port is stopped, as bits.
    stopped: u32,
    /// Since when, by class from 1; and since when any is.
    since: [Time; headway_network::pfc::MOST_PFC_CLASSES],
    stopped_since: Time,
    counts: PauseCounts,
    /// Classes in which its port was stopped, by the switch at its end.
    told: u32,
    /// Time at which the last frame over it is known at its end, and the number of frames in that instant before.
    framed: (Time, u32),
    /// True, at the switch at its end, if its port cannot be stopped, because the way back is down.
    deaf: bool,
    /// Classes, at the same place, that had no room already when the way back came up, and have had none since.
    late: u32,
    /// A packet that its host's machine gave away before it was known to be one of a class that is stopped.
    kept: VecDeque<Pulled>,
}

/// State of one shard's lossless switches. See the module.
pub(crate) struct Guard {
    rules: Arc<Lossless>,
    /// Ledgers by switch; empty for those of other shards.
    ledgers: Vec<Ledger>,
    /// Lanes by link: its port's side where it leaves a node of this shard, the switch's side where it ends at one.
    lanes: Vec<Lane>,
    /// Charges by handle.
    charges: Vec<Charge>,
    /// Charges of packets that links which go down just now have dropped.
    freed: Vec<Charge>,
}

/// True if the port of a link can be stopped queue by queue: all of switches, and those of hosts that have a queue. Of
/// other hosts, the machine is not polled.
pub(crate) fn has_gate(network: &Network, number: u32) -> bool {
    let fabric = network.fabric();
    fabric.pfc.is_some() && (number >= network.interfaces() || fabric.host_queue.is_some())
}

impl Guard {
    pub(crate) fn new(network: &Network, spec: &RunSpec) -> Result<Option<Guard>, BuildError> {
        let surplus = Surplus::new(spec.jitter, &spec.transports, &spec.faults);
        let Some(rules) = Lossless::new(network, surplus)? else { return Ok(None) };
        headway_network::lossless::check_around(&spec.costs)?;
        let ledgers = (0..network.switches()).map(|switch| rules.ledger(switch)).collect();
        let lanes = vec![Lane::default(); network.links().len()];
        Ok(Some(Guard { rules: Arc::new(rules), ledgers, lanes, charges: Vec::new(), freed: Vec::new() }))
    }

    fn class_of(&self, packet: &Packet) -> usize {
        self.rules.params().class_of(packet)
    }

    /// True if a link has news for the far end that has not been sent.
    fn has_frame(&self, number: u32) -> bool {
        let other = self.rules.back(number);
        let Some(inbound) = self.rules.inbound(other) else { return false };
        self.ledgers[inbound.switch as usize].stopped(inbound.place) != self.lanes[other as usize].told
    }

    fn take_charge(&mut self, handle: u32) -> Charge {
        // Packets that have never been in a switch may have no place in the list.
        match self.charges.get_mut(handle as usize) {
            Some(charge) => std::mem::replace(charge, UNCOUNTED),
            None => UNCOUNTED,
        }
    }

    /// Packets have been dropped out of the memory of their switch by a link that goes down.
    pub(crate) fn free(&mut self, handles: &[u32]) {
        for handle in handles {
            let charge = self.take_charge(*handle);
            self.freed.push(charge);
        }
    }

    /// Frees the memory of a packet that has left its switch.
    fn release(&mut self, charge: Charge) {
        if charge.class == 0 {
            return;
        }
        if let Some(inbound) = self.rules.inbound(charge.link) {
            let ledger = &mut self.ledgers[inbound.switch as usize];
            ledger.release(inbound.place, charge.class.into(), charge.bytes.into());
            let lane = &mut self.lanes[charge.link as usize];
            if lane.late != 0 {
                lane.late &= ledger.stopped(inbound.place);
            }
        }
    }

    /// True if a packet that did not fit came over a link that could not be stopped in time because of a fault.
    pub(crate) fn could_not_stop(&self, link: u32, packet: &Packet) -> bool {
        let lane = &self.lanes[link as usize];
        lane.deaf || lane.late >> self.class_of(packet) & 1 == 1
    }

    /// Largest use of a switch's memory, of the pool.
    pub(crate) fn shared_max(&self, switch: u32) -> u64 {
        self.ledgers[switch as usize].shared_max()
    }

    /// Largest use of the headroom of a link that ends at a switch.
    pub(crate) fn headroom_max(&self, link: u32) -> Option<u64> {
        let inbound = self.rules.inbound(link)?;
        Some(self.ledgers[inbound.switch as usize].headroom_max(inbound.place))
    }

    /// Counts of pauses on a link, from its port's side.
    pub(crate) fn counts(&self, link: u32, now: Time) -> PauseCounts {
        let lane = &self.lanes[link as usize];
        let more = if lane.stopped == 0 { Time::ZERO } else { now.saturating_sub(lane.stopped_since) };
        PauseCounts { stopped: lane.counts.stopped + more, ..lane.counts }
    }
}

impl Ports<'_> {
    fn guard(&mut self) -> &mut Guard {
        match &mut self.lossless {
            Some(guard) => guard,
            None => unreachable!("only lossless fabrics come here"),
        }
    }

    /// Takes a packet that came over a link into the memory of its switch; `false` if that is full.
    pub(crate) fn admit(&mut self, link: u32, handle: u32, now: Time) -> bool {
        let packet = self.links.pool.get(handle);
        let (bytes, Some(guard)) = (packet.wire, &mut self.lossless) else { return true };
        let class = guard.class_of(packet);
        let at = handle as usize;
        if guard.charges.len() <= at {
            guard.charges.resize(at + 1, UNCOUNTED);
        }
        // Pauses do not concern packets of class 0, which so take no counted memory.
        let inbound = guard.rules.inbound(link).copied().filter(|_| class > 0);
        let Some(inbound) = inbound else {
            guard.charges[at] = UNCOUNTED;
            return true;
        };
        if !guard.ledgers[inbound.switch as usize].admit(inbound.place, class, bytes.into()) {
            return false;
        }
        guard.charges[at] = Charge { link, bytes, class: class as u8 };
        // This packet may be the one that goes past the threshold.
        self.tell(link, now);
        true
    }

    /// Frees the memory of a packet, and informs the far end if that changes anything.
    fn let_go(&mut self, charge: Charge, now: Time) {
        if charge.class == 0 {
            return;
        }
        self.guard().release(charge);
        self.tell(charge.link, now);
    }

    /// Sends the far end of a link the changes of its pauses, or sees to it that this is done as soon as the wire is
    /// free.
    fn tell(&mut self, link: u32, now: Time) {
        let guard = self.guard();
        let back = guard.rules.back(link);
        if !guard.has_frame(back) || guard.lanes[link as usize].deaf {
            return;
        }
        let apart = guard.rules.params().out_of_band;
        if apart || self.egress[back as usize].port.free_at() <= now {
            self.send_frame(back, now);
        } else {
            self.watch_lossless(back, now);
        }
    }

    /// Sends a frame over a link whose wire is free, or apart from it.
    fn send_frame(&mut self, number: u32, now: Time) {
        let guard = self.guard();
        let port = guard.rules.back(number);
        let (bytes, apart) = (guard.rules.params().frame, guard.rules.params().out_of_band);
        let Some(inbound) = guard.rules.inbound(port).copied() else { return };
        let state = guard.ledgers[inbound.switch as usize].stopped(inbound.place);
        // Only changes are sent: a class that is stopped already is not stopped again.
        let changed = state ^ std::mem::replace(&mut guard.lanes[port as usize].told, state);
        let counts = &mut guard.lanes[number as usize].counts;
        counts.sent += u64::from((changed & state).count_ones());
        counts.resumes_sent += u64::from((changed & !state).count_ones());
        let egress = &mut self.egress[number as usize];
        let ends = if apart { now } else { egress.port.occupy(now, bytes) };
        // A frame travels as a packet, since neither pool nor mailbox of a shard holds anything else. No port sees
        // it as one.
        let mut frame = Packet::new(PacketKind::Probe, HostId(0), HostId(0), 0);
        (frame.index, frame.count) = (changed, state);
        let link = egress.link(number);
        // A link that goes down voids the pauses that came over it: a frame that it loses is not repeated.
        let Some(known) = self.links.signal(link, (now, ends)) else { return };
        let lane = &mut self.guard().lanes[number as usize];
        // None overtakes another, even where the link has become shorter.
        let known = known.max(lane.framed.0);
        let place = if lane.framed.0 == known { lane.framed.1 + 1 } else { 0 };
        lane.framed = (known, place);
        self.links.bring_frame(link, port, frame, (known, place));
    }

    /// A frame is there that stops a port, or lets it go on.
    pub(crate) fn hear(&mut self, number: u32, handle: u32, now: Time) {
        let frame = *self.links.pool.get(handle);
        self.links.pool.release(handle);
        let (changed, state) = (frame.index, frame.count);
        let lane = &mut self.guard().lanes[number as usize];
        debug_assert_eq!(lane.stopped & changed, changed & !state, "pauses and what ends them take turns");
        let before = lane.stopped;
        lane.stopped = before & !changed | state & changed;
        lane.counts.received += u64::from((changed & state).count_ones());
        lane.counts.resumes_received += u64::from((changed & !state).count_ones());
        for (class, since) in lane.since.iter_mut().enumerate() {
            if changed & state & 1 << class != 0 {
                *since = now;
            }
        }
        if before == 0 && lane.stopped != 0 {
            lane.stopped_since = now;
        } else if before != 0 && lane.stopped == 0 {
            lane.counts.stopped += now - lane.stopped_since;
        }
        self.go_on(number, now);
    }

    /// The set of packets that a port may send has changed.
    fn go_on(&mut self, number: u32, now: Time) {
        self.hold(number);
        if has_gate(&self.links.network, number) {
            self.serve(number, now);
            self.watch_lossless(number, now);
        }
    }

    /// Tells a port the queues that must not be served: those whose first packet is of a class that is stopped.
    fn hold(&mut self, number: u32) {
        let Some(guard) = &self.lossless else { return };
        let (port, pool) = (&mut self.egress[number as usize].port, &self.links.pool);
        let stopped = guard.lanes[number as usize].stopped;
        if stopped == 0 && port.held() == 0 {
            return;
        }
        let mut held = 0;
        port.show_heads(|queue, handle| {
            held |= (stopped >> guard.class_of(pool.get(handle)) & 1) << queue;
        });
        port.hold(held);
    }

    /// Sends the packets that leave a port now: a frame first, and then the packet whose turn it is.
    #[inline(never)]
    pub(crate) fn serve(&mut self, number: u32, now: Time) {
        while self.egress[number as usize].port.free_at() <= now {
            if self.guard().has_frame(number) {
                self.send_frame(number, now);
                continue;
            }
            let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
            let Some(departure) = egress.port.next_open(now, &mut links.pool) else { return };
            let link = egress.link(number);
            self.leave(link, departure.handle, departure.ends, now);
            // The packet now at the head may be of a stopped class, or no longer be.
            self.hold(number);
        }
    }

    /// A packet leaves a switch.
    fn leave(&mut self, link: crate::links::Link, handle: u32, ends: Time, now: Time) {
        let charge = self.guard().take_charge(handle);
        self.links.launch(link, &self.egress[link.number as usize].port, handle, ends);
        self.let_go(charge, now);
    }

    /// A packet that is in the memory of a switch arrives at a port of it; or one of a host at the queue of that.
    pub(crate) fn offer_lossless(&mut self, number: u32, handle: u32, now: Time) -> Result<(), Full<u32>> {
        // Departures that were due before this arrival come first.
        // Also brings `hold` up to date, before this packet's class is looked at.
        self.serve(number, now);
        let guard = self.guard();
        let stopped = guard.lanes[number as usize].stopped;
        let packet = self.links.pool.get(handle);
        let class = self.lossless.as_ref().map_or(0, |guard| guard.class_of(packet));
        let (egress, links) = (&mut self.egress[number as usize], &mut self.links);
        if egress.port.passes(now) && stopped >> class & 1 == 0 {
            let ends = egress.port.transmit_idle(now, links.pool.get_mut(handle));
            let link = egress.link(number);
            self.leave(link, handle, ends, now);
            return Ok(());
        }
        let offered = egress.port.offer_in_class(now, handle, class, &mut links.pool);
        if let Err(full) = &offered {
            // The packet that was dropped or cut, whichever it is, no longer takes memory.
            let charge = self.guard().take_charge(full.handle);
            self.let_go(charge, now);
        }
        self.hold(number);
        self.serve(number, now);
        self.watch_lossless(number, now);
        offered
    }

    /// Makes sure that a port is served when something can leave it.
    pub(crate) fn watch_lossless(&mut self, number: u32, now: Time) {
        let has_frame = self.guard().has_frame(number);
        let port = &self.egress[number as usize].port;
        let next = if has_frame { Some(port.free_at()) } else { port.next_start() };
        if let Some(at) = next {
            self.look_at(number, at.max(now));
        }
    }

    fn look_at(&mut self, number: u32, at: Time) {
        let release = &mut self.releases[number as usize];
        // An event that is planned for an earlier time sets the next one.
        if at < *release {
            *release = at;
            self.links.queue.push(at.0, rank::of_work(RELEASE | number), RELEASE | number, 0);
        }
    }
}

/// Links that go down, and come up.
impl Ports<'_> {
    /// Applies changes of links to lossless switches and the ports that they stop. `back` are hosts that may
    /// send again, to which others are added.
    ///
    /// All is noted before anything leaves: memory that one link frees must not be announced over another that goes
    /// down with it.
    pub(crate) fn change_lossless(&mut self, steps: &[(u32, Step)], now: Time, back: &mut Vec<u32>) {
        let mut tells: Vec<u32> = Vec::new();
        for charge in std::mem::take(&mut self.guard().freed) {
            self.guard().release(charge);
            tells.extend((charge.class > 0).then_some(charge.link));
        }
        let mut opened = Vec::new();
        for &(link, step) in steps {
            let other = self.guard().rules.back(link);
            let (starts, ends) = (self.owns(link), self.owns(other));
            match step {
                Step::Down => {
                    if starts {
                        let lane = &mut self.guard().lanes[other as usize];
                        // The far end voids its pauses, and cannot be stopped until the link is back.
                        (lane.told, lane.deaf) = (0, true);
                        self.lose_kept(link);
                    }
                    if ends && self.open(other, now) {
                        opened.push(other);
                    }
                }
                Step::Up if starts => {
                    let guard = self.guard();
                    let lane = &mut guard.lanes[other as usize];
                    lane.deaf = false;
                    if let Some(inbound) = guard.rules.inbound(other) {
                        lane.late = guard.ledgers[inbound.switch as usize].stopped(inbound.place);
                        tells.push(other);
                    }
                }
                Step::Up | Step::Rate(_) | Step::Delay(_) => {}
            }
        }
        tells.into_iter().for_each(|link| self.tell(link, now));
        for number in opened {
            self.go_on(number, now);
            back.extend((number < self.hosts).then_some(number));
        }
    }

    /// Pauses of a port are void: the link over which they came is down. Returns true if there were any.
    fn open(&mut self, number: u32, now: Time) -> bool {
        let lane = &mut self.guard().lanes[number as usize];
        if lane.stopped == 0 {
            return false;
        }
        lane.stopped = 0;
        lane.counts.stopped += now - lane.stopped_since;
        true
    }

    /// The link of a host is down: packets that were kept back for it are lost.
    fn lose_kept(&mut self, link: u32) {
        for (packet, _) in std::mem::take(&mut self.guard().lanes[link as usize].kept) {
            self.egress[link as usize].port.refuse(&packet);
            self.links.dropped.note(packet.tag, packet.is_data());
            let handle = self.links.pool.insert(packet);
            self.links.lose(handle);
        }
    }

    /// A packet that a host hands over although its link is down is lost, and takes as long as if it were sent.
    pub(crate) fn refuse_lossless(&mut self, host: u32, packet: &Packet, now: Time) {
        let takes = self.egress[host as usize].port.refuse(packet);
        self.links.dropped.note(packet.tag, packet.is_data());
        self.look_at(host, now + takes);
    }

    /// `Some` if a host's link is down, and true if none of its packets would still be on the wire.
    pub(crate) fn is_dark(&self, host: u32) -> Option<bool> {
        let dark = self.egress[host as usize].port.is_down();
        dark.then(|| self.releases[host as usize] == Time::MAX)
    }
}

/// Kind of packets that a machine is polled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asks {
    All,
    /// All of its data is stopped, or a packet of it waits already.
    Control,
    /// Nothing may be polled: control is stopped with data.
    Nothing,
}

/// Hosts without a queue, whose machines are polled for each packet.
impl Ports<'_> {
    pub(crate) fn is_free(&self, host: u32, now: Time) -> bool {
        self.egress[host as usize].port.free_at() <= now
    }

    /// Asks the host again when its wire is free.
    pub(crate) fn wake(&mut self, host: u32) {
        let at = self.egress[host as usize].port.free_at();
        self.look_at(host, at);
    }

    /// Kind of packets that a host's machine may be polled for.
    pub(crate) fn asks(&mut self, host: u32) -> Asks {
        let guard = self.guard();
        let lane = &guard.lanes[host as usize];
        let params = guard.rules.params();
        // With one class open all are asked for: what turns out to be of a stopped one is kept.
        match !lane.kept.is_empty() || lane.stopped == params.every_class() {
            false => Asks::All,
            true if params.pause_control => Asks::Nothing,
            true => Asks::Control,
        }
    }

    /// True if all data is stopped on the link of a host.
    pub(crate) fn stops_data(&self, host: u32) -> bool {
        let Some(guard) = &self.lossless else { return false };
        guard.lanes[host as usize].stopped == guard.rules.params().every_class()
    }

    /// True if control is stopped with data.
    pub(crate) fn stops_control(&self) -> bool {
        self.lossless.as_ref().is_some_and(|guard| guard.rules.params().pause_control)
    }

    /// True if a packet is of a class that is stopped on the link of a host.
    pub(crate) fn holds_back(&self, host: u32, packet: &Packet) -> bool {
        let Some(guard) = &self.lossless else { return false };
        guard.lanes[host as usize].stopped >> guard.class_of(packet) & 1 == 1
    }

    pub(crate) fn keeps(&mut self, host: u32) -> bool {
        !self.guard().lanes[host as usize].kept.is_empty()
    }

    /// Sends the first packet that was kept, if there is one and it may go.
    pub(crate) fn send_kept(&mut self, host: u32, now: Time) -> bool {
        let guard = self.guard();
        let lane = &guard.lanes[host as usize];
        // The first one only: packets leave in the order in which their machine gave them away.
        let open = |(packet, _): &&Pulled| lane.stopped >> guard.class_of(packet) & 1 == 0;
        let Some(kept) = lane.kept.front().filter(open).copied() else { return false };
        guard.lanes[host as usize].kept.pop_front();
        self.send_or_keep(host, kept, now);
        true
    }

    /// Puts a packet of a host on its idle wire, or keeps it if its class is stopped.
    pub(crate) fn send_or_keep(&mut self, host: u32, (packet, echo): Pulled, now: Time) {
        let guard = self.guard();
        let class = guard.class_of(&packet);
        let lane = &mut guard.lanes[host as usize];
        if lane.stopped >> class & 1 == 1 {
            lane.kept.push_back((packet, echo));
            return;
        }
        let (egress, links) = (&mut self.egress[host as usize], &mut self.links);
        // Not when the machine gave it away: the stamps go with the next packet on the wire, which may have been
        // another.
        if let (Some(echo), Some(stamping)) = (echo, &mut links.stamping) {
            stamping.take_along(echo);
        }
        let handle = links.pool.insert(packet);
        let ends = egress.port.transmit_idle(now, links.pool.get_mut(handle));
        links.launch(egress.link(host), &egress.port, handle, ends);
    }
}

/// The whole, while all shards rest.
impl Ports<'_> {
    /// Adds the stopped links of this shard, and the packets that wait for them.
    pub(crate) fn gather(&self, all: &mut Stopped) {
        let Some(guard) = &self.lossless else { return };
        for number in self.own.iter() {
            let lane = &guard.lanes[*number as usize];
            for class in 1..headway_network::pfc::MOST_PFC_CLASSES {
                if lane.stopped >> class & 1 == 1 {
                    all.since.insert((*number, class as u8), lane.since[class]);
                }
            }
            // Packets that wait at a host take no memory of a switch, and so cannot be part of a cycle.
            if lane.stopped == 0 || *number < self.hosts {
                continue;
            }
            self.egress[*number as usize].port.show_waiting(|handle| {
                let Some(charge) = guard.charges.get(handle as usize) else { return };
                // Bit 0 is never set, so that packets that are not counted fall through.
                if lane.stopped >> charge.class & 1 == 1 {
                    let waits = ((charge.link, charge.class), (*number, charge.class));
                    *all.waits.entry(waits).or_default() += u64::from(charge.bytes);
                }
            });
        }
    }

    /// Checks that each switch's memory holds the packets that wait at its ports, and no more.
    pub(crate) fn check_memory(&self, owns: impl Fn(u32) -> bool) -> Result<(), String> {
        let Some(guard) = &self.lossless else { return Ok(()) };
        let mut waits: std::collections::BTreeMap<(u32, u8), u64> = std::collections::BTreeMap::new();
        for number in self.own.iter().filter(|number| **number >= self.hosts) {
            self.egress[*number as usize].port.show_waiting(|handle| {
                if let Some(charge) = guard.charges.get(handle as usize).filter(|charge| charge.class > 0) {
                    *waits.entry((charge.link, charge.class)).or_default() += u64::from(charge.bytes);
                }
            });
        }
        for (switch, ledger) in guard.ledgers.iter().enumerate().filter(|(switch, _)| owns(*switch as u32)) {
            ledger.check().map_err(|why| format!("switch {switch}: {why}"))?;
        }
        for number in 0..guard.lanes.len() as u32 {
            let Some(inbound) = guard.rules.inbound(number).filter(|inbound| owns(inbound.switch)) else {
                continue;
            };
            for class in 1..guard.rules.params().all_classes() {
                let counted = guard.ledgers[inbound.switch as usize].bytes(inbound.place, class);
                let found = waits.get(&(number, class as u8)).copied().unwrap_or(0);
                if counted != found {
                    return Err(format!(
                        "link {number}, class {class}: {counted} B are counted and {found} B wait"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A deadlock of the whole network; `guard_of` is the state in the shard of a switch.
pub(crate) fn deadlock<'g>(
    all: &Stopped,
    now: Time,
    first: &'g Guard,
    guard_of: &dyn Fn(u32) -> &'g Guard,
) -> Option<Deadlock> {
    if all.since.is_empty() {
        return None;
    }
    let ledger = |switch: u32| &guard_of(switch).ledgers[switch as usize];
    all.deadlock(now, &first.rules, &ledger)
}
