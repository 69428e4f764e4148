//! A run as a whole: its shards and their limits, its samples and its end.
//!
//! **Windows.** Shards go on side by side for the shortest time that a packet takes from one to another, so that nothing
//! that happens in one in that time concerns another before the window is over. Then they hand over the packets that
//! they sent to each other. Samples, and all else that looks at the network as a whole, happen between two windows.
//!
//! **The end.** A run ends with the instant in which its last flow ends, and what would have happened after it must not
//! have happened anywhere. Shards go on side by side only while some flow cannot end within the window: one that starts later,
//! or that has more bytes to come than its receiver's link brings in that time. Else all events of the window happen one
//! by one in the order that they have on one thread. A sender that gives up a message does that without notice; a run
//! whose last flow ends so goes on for the longest delay of a link.
//!
//! **The same for any number of shards.** An event happens at the same time and in the same order among those of its host
//! or switch, in whichever shard: see [`crate::rank`]. All that is counted is either of one host or port, or a sum.

use crate::crew::{threads_for, with_crew};
use crate::division::Division;
use crate::engine::{Agenda, Common, Engine, Host, Nearness, Stop, Stopped, seen};
use crate::links::Sighting;
use crate::ports::{Egress, Ports, egress_of};
use crate::progressing::{Progressing, UNOPENED};
use crate::sampler::Sampler;
use crate::shared::Shared;
use crate::waiting::Waiting;
use headway_network::{Arrivals, BuildError, Deadlock, FlowSpec, Network, PER_FLOW, PER_SAMPLE, Progress};
use headway_network::{RunError, RunSpec, Source, Tap, Witness};
use headway_transport::Endpoint;
use headway_transport::registry::Machine;
use headway_units::Time;
use progress::Looks;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Events between two looks at what packets and samples take: as many packets may be too many.
const ROOM_EVENTS: u64 = 1 << 12;
/// Events between two calls of the progress function, a multiple of the former.
const PROGRESS_EVENTS: u64 = 1 << 16;
/// Flows of which the arrived bytes are counted for that, at most.
const FLOWS_LOOKED_AT: usize = 1 << 12;

/// Events of a window from which on the next one is worth it that threads wait for each other: with fewer, one thread
/// does them in the time that the waiting takes.
const WORTH_MEETING: u64 = 128;

/// Observers of a run, and its limits.
pub(crate) struct Watch<'w> {
    pub(crate) progress: &'w mut dyn FnMut(&Progress) -> bool,
    pub(crate) tap: Option<&'w mut dyn Tap>,
    pub(crate) witness: Option<&'w mut dyn Witness>,
    /// Gives flows while the run goes on, which then has one shard.
    pub(crate) source: Option<&'w mut dyn Source>,
    /// Bytes that packets in flight and samples may take.
    pub(crate) room: u64,
    pub(crate) threads: usize,
    pub(crate) trial: Option<&'w mut dyn Trial>,
}

/// Counts the events of each shard in each window. Shards then take turns on one thread.
pub trait Trial {
    /// All shards are done with a window, in which each handled so many events. `together` says whether they could have
    /// gone on side by side.
    fn window(&mut self, events: &[u64], together: bool);
}

/// Why a run rests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// All that it waits for is over.
    Over,
    /// The run waits for something, and nothing will ever happen again.
    Quiet,
    /// Its latest end is there.
    Stop,
    /// The time is there until which it was to go.
    Until,
    /// Its source asked for it.
    Asked,
    /// The run waits for something, nothing has arrived for as long as it had lasted before, and nothing is planned that
    /// could change that: only in a run without a latest end.
    NoProgress,
    /// An observer stopped the run, or ran out of memory.
    Cut,
}

/// One run in progress.
pub(crate) struct Conductor<'a> {
    spec: &'a RunSpec,
    network: Arc<Network>,
    division: Division,
    flows: Arc<[Progressing]>,
    /// By flow, the number of its message once it is open; empty where no flow has a stop and none is probed.
    numbers: Arc<[AtomicU32]>,
    shards: Vec<Mutex<Engine<'a>>>,
    now: Time,
    /// Dependencies of flows, if there are any.
    waiting: Option<Arc<Waiting>>,
    /// Responsive flows that wait for others, begun or not, and whether one that has not begun cannot end within a window.
    waits: u64,
    waits_long: bool,
    /// Responsive flows, and steps between flows.
    responsive: u64,
    /// Responsive flows that cannot end within a window, as long as they do not come near.
    far: u64,
    /// The last start of a responsive flow.
    last_start: Time,
    /// Starts of flows that ask for the state of another shard, and the times at which flows are over whatever has arrived,
    /// in order.
    asking: Vec<u64>,
    sampler: Option<Sampler>,
    next_sample: Time,
    /// Starts of the flow in the middle and of the last one, as long as they are to come.
    middle: Option<Time>,
    last: Option<Time>,
    arrivals: Option<Arrivals>,
    /// Latest end of the run: as it was asked to, or when the sampler has taken all that it may.
    stop: Time,
    /// Time until which it is to go for now.
    until: Time,
    /// Why a flow that its source gave cannot be.
    refused: Option<RunError>,
    /// The part that took all the memory that it may.
    full: Option<&'static str>,
    /// The number of events at which to look for room and progress next.
    next_look: u64,
    /// Events after the last window, and in it.
    events: u64,
    busy: u64,
    /// Packets that a tap has not been shown yet.
    unseen: Vec<Sighting>,
    /// Time of the next check of pauses of lossless switches; never without such switches.
    next_check: Time,
    deadlock: Option<Deadlock>,
    /// Checks of a run without a latest end.
    looks: Option<Looks>,
    /// Why it rests, since it last went on.
    rest: Option<Rest>,
}

type Guards<'g, 'a> = Vec<MutexGuard<'g, Engine<'a>>>;

impl<'a> Conductor<'a> {
    pub(crate) fn new(
        spec: &'a RunSpec,
        network: Arc<Network>,
        machines: Vec<Machine>,
        watch: &Watch<'_>,
    ) -> Result<Conductor<'a>, BuildError> {
        let graph = spec.graph.as_ref();
        // Hosts that hear of each other without a packet belong to one shard.
        let apart = watch.witness.is_none() && graph.is_none_or(|graph| graph.local());
        let division = Division::new(&network, spec, if apart { watch.threads } else { 1 });
        let waiting = graph.map(|graph| Arc::new(Waiting::new(graph, spec.flows.len())));
        let shards = division.shards();
        let flows: Arc<[Progressing]> = spec.flows.iter().map(|_| Progressing::default()).collect();
        let (egress, reach) = egress_of(&network, spec.seed, &division)?;
        let egress = Shared::of(egress, shards, division.of_link());
        let of_host: Arc<[u8]> = division.of_node()[..network.interfaces() as usize].into();
        let hosts = Shared::of(machines.into_iter().map(Host::new).collect(), shards, &of_host);
        // Shared by agendas and sampler: the middle and the last flow are the same for any number of shards.
        let order = in_order(spec);
        let agendas = agendas(spec, &order, &of_host, shards);
        let periodic = spec.sample.as_ref().filter(|sample| sample.is_periodic());
        let sampler = periodic.map(|s| Sampler::new(s, &network, &spec.flows, &order));
        let asked =
            sampler.as_ref().is_some_and(Sampler::asks) || spec.flows.iter().any(|flow| flow.stop.is_some());
        let numbers: Arc<[AtomicU32]> =
            (0..if asked { spec.flows.len() } else { 0 }).map(|_| AtomicU32::new(UNOPENED)).collect();
        let common = Common {
            spec,
            network: Arc::clone(&network),
            flows: Arc::clone(&flows),
            patience: division.longest,
            shards,
            waiting: waiting.clone(),
            numbers: Arc::clone(&numbers),
        };
        let within = (shards > 1).then(|| within(spec, &network, &division));
        let made = egress.into_iter().zip(hosts).zip(agendas).enumerate();
        let made = made.map(|(shard, ((egress, hosts), agenda))| {
            let place = (&division, shard as u8);
            let ports = Ports::new(Arc::clone(&network), spec, watch.tap.is_some(), (egress, reach), place)?;
            let mut engine = Engine::new(&common, ports, hosts, agenda, shard)?;
            engine.deliveries = sampler.as_ref().and_then(Sampler::deliveries);
            engine.nearness = within.map(|within| Nearness { within, came: 0 });
            Ok(Mutex::new(engine))
        });
        let shards = made.collect::<Result<Vec<_>, BuildError>>()?;
        let mut far = 0;
        for (flow, progress) in spec.flows.iter().zip(flows.iter()).filter(|(flow, _)| flow.responsive) {
            // A flow that fits into one window may end within any, so shards do not go on side by side because of
            // it.
            if within.is_some_and(|within| flow.bytes <= within) {
                progress.comes_near();
            } else {
                far += 1;
            }
        }
        let start_of = |place: usize| order.get(place).map(|flow| spec.flows[*flow as usize].start);
        let responsive = || spec.flows.iter().enumerate().filter(|(_, f)| f.responsive);
        let waits = |flow: usize| graph.is_some_and(|graph| graph.waits(flow as u32) > 0);
        Ok(Conductor {
            waits: responsive().filter(|(flow, _)| waits(*flow)).count() as u64,
            waits_long: division.shortest_flight >= division.window(),
            responsive: (responsive().count() + graph.map_or(0, |graph| graph.steps().len())) as u64,
            waiting,
            far,
            looks: Looks::of(spec, &network),
            rest: None,
            last_start: responsive()
                // The start of a flow that waits for another is not known yet: `waits` counts those.
                .filter(|(flow, _)| !waits(*flow))
                .map(|(_, f)| f.start)
                .max()
                .unwrap_or(Time::ZERO),
            asking: asking(spec, &of_host),
            next_sample: sampler.as_ref().map_or(Time::MAX, Sampler::every),
            middle: start_of(order.len() / 2),
            last: order.len().checked_sub(1).and_then(start_of),
            spec,
            network,
            division,
            flows,
            numbers,
            shards,
            now: Time::ZERO,
            sampler,
            arrivals: None,
            stop: spec.stop,
            until: Time::MAX,
            refused: None,
            full: None,
            next_look: ROOM_EVENTS,
            events: 0,
            busy: 0,
            unseen: Vec::new(),
            next_check: spec.fabric.pfc.as_ref().map_or(Time::MAX, |pfc| pfc.deadlock_check),
            deadlock: None,
        })
    }

    /// Looks ahead, or does not, whatever the size of the network.
    #[cfg(test)]
    pub(crate) fn force_look_ahead(&mut self, on: bool) {
        self.shards.iter().for_each(|shard| lock(shard).ports.force_look_ahead(on));
    }

    /// Runs to the end; `false` when stopped early.
    pub(crate) fn run(&mut self, watch: &mut Watch<'_>) -> bool {
        // Full samples end the run by its `stop`, so that `drive` alone does not tell.
        self.drive(watch) != Rest::Cut && self.full.is_none()
    }

    /// Goes on with the flows of a source, until a time or until all that the run waits for is over.
    pub(crate) fn go(&mut self, watch: &mut Watch<'_>, until: Option<Time>) -> Result<Rest, RunError> {
        self.until = until.unwrap_or(Time::MAX);
        let only = &self.shards[0];
        lock(only).take_flows();
        if until.is_some() {
            lock(only).hold(true);
        }
        let rest = self.drive(watch);
        let mut only = lock(&self.shards[0]);
        if until.is_some() {
            only.hold(false);
        }
        if rest == Rest::Until {
            // The last event may have been earlier, but the caller asked for this time: what it gives next starts
            // from here.
            only.now = self.now;
        }
        self.flows = Arc::clone(&only.flows);
        match self.refused.take() {
            Some(error) => Err(error),
            None => Ok(if self.full.is_some() { Rest::Cut } else { rest }),
        }
    }

    fn drive(&mut self, watch: &mut Watch<'_>) -> Rest {
        // Threads lock their shard for a window; the conductor has all of them in between.
        let shards = std::mem::take(&mut self.shards);
        let limit = AtomicU64::new(0);
        let threads = if watch.trial.is_some() { 1 } else { threads_for(shards.len()) };
        let work = |number: usize| {
            // Relaxed: the barrier of the pool orders it after the store.
            let limit = limit.load(Relaxed);
            for shard in shards.iter().skip(number).step_by(threads) {
                lock(shard).run_window(limit);
            }
        };
        let rest = with_crew(threads, &work, |crew| {
            let side_by_side = |until: u64| {
                limit.store(until, Relaxed);
                crew.together();
            };
            self.conduct(&shards, watch, &side_by_side)
        });
        self.shards = shards;
        self.rest = Some(rest);
        rest
    }

    fn conduct(
        &mut self,
        shards: &[Mutex<Engine<'a>>],
        watch: &mut Watch<'_>,
        side_by_side: &dyn Fn(u64),
    ) -> Rest {
        // Before the first event: without a flow from the source there may never be one.
        if let Some(source) = &mut watch.source
            && let Err(error) = lock(&shards[0]).consult(&mut **source)
        {
            self.refused = Some(error);
            return Rest::Cut;
        }
        // Events of each shard that a trial has seen.
        let mut tried = vec![0; shards.len()];
        loop {
            let mut together = true;
            let mut all: Guards<'_, 'a> = shards.iter().map(lock).collect();
            let next = exchange(&mut all);
            let control = self.next_control(next);
            if self.is_over(&all) {
                self.stop_here(&mut all, watch);
                return Rest::Over;
            }
            // Not at equality: samples see the network after all events of their instant.
            if next > control.0 {
                // If the run has a latest end, samples are taken until then.
                let sampled = self.sampler.is_some() && self.stop < Time::MAX;
                let looked = self.middle.is_none() && self.last.is_none();
                if next == u64::MAX && !sampled && looked && self.until == Time::MAX {
                    // Nothing will ever happen again.
                    self.stop_here(&mut all, watch);
                    return Rest::Quiet;
                }
                self.now = control;
                self.look_around(&mut all);
                if control == self.next_check(next) {
                    self.check_pauses(&all, next);
                }
                // After the sample and the check of pauses, which a run that ends at this instant still gets.
                if control >= self.stop {
                    self.show(&mut all, watch, true);
                    return Rest::Stop;
                }
                if control >= self.until {
                    return Rest::Until;
                }
                if self.stands_still(&all) {
                    self.show(&mut all, watch, true);
                    return Rest::NoProgress;
                }
                continue;
            }
            let alone = all.len() == 1;
            let span = match watch.tap {
                // The packets that a tap has not seen yet must not become too many.
                // At least 1 us: with links without delay the span would be empty, and no event before its end.
                Some(_) if alone => self.division.longest.max(Time::us(1)),
                _ => self.division.window(),
            };
            // Exclusive, hence + 1: events at the instant of the control belong to this window.
            let until = next.saturating_add(span.0).min(control.0.saturating_add(1));
            if alone {
                if let Some(rest) = self.alone(&mut all, until, watch) {
                    self.stop_here(&mut all, watch);
                    return rest;
                }
            } else if self.may_part(&all, next, until) {
                drop(all);
                // Windows that follow each other have similar numbers of events: the last one predicts this one.
                if watch.trial.is_some() || self.busy < WORTH_MEETING {
                    take_turns(shards, until);
                } else {
                    side_by_side(until);
                }
                all = shards.iter().map(lock).collect();
            } else {
                together = false;
                self.one_by_one(&mut all, until);
            }
            let events: u64 = all.iter().map(|shard| shard.events).sum();
            (self.busy, self.events) = (events - self.events, events);
            if let Some(trial) = &mut watch.trial {
                let counts: Vec<u64> = all.iter().map(|shard| shard.events).collect();
                let since: Vec<u64> = counts.iter().zip(&tried).map(|(now, before)| now - before).collect();
                trial.window(&since, together);
                tried = counts;
            }
            self.far -= all
                .iter_mut()
                .filter_map(|s| s.nearness.as_mut())
                .map(|n| std::mem::take(&mut n.came))
                .sum::<u64>();
            self.show(&mut all, watch, false);
            // A lone shard has done this in `alone`, in the middle of its window.
            if !alone && events >= self.next_look {
                self.now = reached(&all);
                if !self.goes_on(&all, watch, events) {
                    self.stop_here(&mut all, watch);
                    return Rest::Cut;
                }
            }
        }
    }

    /// The run ends at the last event that was handled.
    fn stop_here(&mut self, all: &mut Guards<'_, 'a>, watch: &mut Watch<'_>) {
        self.now = reached(all);
        self.show(all, watch, true);
    }

    /// True if all flows have ended that the run waits for.
    fn is_over(&self, all: &Guards<'_, 'a>) -> bool {
        let given = |shard: &Engine<'_>| shard.given.as_ref().map_or(0, |given| given.awaited);
        let awaited = self.responsive + all.iter().map(|shard| given(shard)).sum::<u64>();
        all.iter().map(|shard| shard.ended).sum::<u64>() == awaited
    }

    /// The next instant at which the network is looked at as a whole, or the run ends.
    fn next_control(&self, next: u64) -> Time {
        let looks = [self.middle, self.last].into_iter().flatten().fold(self.next_sample, Time::min);
        let looks = looks.min(self.next_check(next)).min(self.next_progress());
        looks.min(self.stop).min(self.until)
    }

    /// True if shards may go on side by side until a time: see the module.
    fn may_part(&self, all: &Guards<'_, 'a>, from: u64, until: u64) -> bool {
        let asked = self.asking.partition_point(|at| *at < from);
        let asks = self.asking.get(asked).is_some_and(|at| *at < until);
        // A flow that waits for another starts when something arrives and then needs a flight of its own. Where
        // that takes a whole window or more, it cannot end in this one.
        let some_waits =
            || self.waits_long && self.waits > all.iter().map(|shard| shard.released).sum::<u64>();
        !asks && (self.far > 0 || self.last_start.0 >= until || some_waits())
    }

    /// Events of the only shard before a time, or as many as may pass unseen. Returns the reason why it is to go no
    /// further, if it is not.
    fn alone(&mut self, all: &mut Guards<'_, 'a>, until: u64, watch: &mut Watch<'_>) -> Option<Rest> {
        if watch.source.is_some() {
            return self.alone_with_source(all, until, watch);
        }
        let shard = &mut all[0];
        if let Some(witness) = &mut watch.witness {
            loop {
                // As in a run without a witness: once nothing is open, only the rest of this instant happens.
                let until = if shard.open > 0 { until } else { until.min(shard.now.0 + 1) };
                let Some(event) = shard.next_before(until) else { break };
                let pool = &shard.ports.links.pool;
                // Shown before the step, which may free the packet.
                if !witness.event(&seen(&event, |handle| *pool.get(handle))) {
                    return Some(Rest::Cut);
                }
                shard.step(event);
            }
            return None;
        }
        shard.pause = self.next_look;
        if shard.run_before(until) != Stopped::Events {
            return None;
        }
        self.now = shard.now;
        let events = shard.events;
        (!self.goes_on(all, watch, events)).then_some(Rest::Cut)
    }

    /// Runs the only shard of a run with a source, which hears of each end after the event that caused it.
    #[cold]
    #[inline(never)]
    fn alone_with_source(
        &mut self,
        all: &mut Guards<'_, 'a>,
        until: u64,
        watch: &mut Watch<'_>,
    ) -> Option<Rest> {
        let shard = &mut all[0];
        let source = watch.source.as_deref_mut()?;
        while shard.events < self.next_look {
            // As without a source, the run ends with the instant in which the last thing is over.
            let until = if shard.open > 0 { until } else { until.min(shard.now.0 + 1) };
            let event = shard.next_before(until)?;
            shard.step(event);
            if !shard.has_news() {
                continue;
            }
            if let Err(error) = shard.consult(source) {
                self.refused = Some(error);
                return Some(Rest::Cut);
            }
            if source.rests() {
                return Some(Rest::Asked);
            }
        }
        self.now = shard.now;
        let events = shard.events;
        (!self.goes_on(all, watch, events)).then_some(Rest::Cut)
    }

    /// All events of all shards before a time, in their order, up to the instant in which the last flow ends.
    fn one_by_one(&mut self, all: &mut Guards<'_, 'a>, mut until: u64) {
        all.iter_mut().for_each(|shard| shard.take_letters());
        loop {
            let first = |(number, shard): (usize, &mut MutexGuard<'_, Engine<'a>>)| {
                let (at, rank) = shard.ports.links.queue.first()?;
                (at < until).then_some((at, rank, number))
            };
            let Some((.., number)) = all.iter_mut().enumerate().filter_map(first).min() else { break };
            all[number].step_once();
            if self.is_over(all) {
                until = until.min(all[number].now.0 + 1);
            }
            // At once and not after the window: another shard's next event may be this very arrival.
            if all[number].ports.links.post.first < u64::MAX {
                hand_over(all);
                all.iter_mut().for_each(|shard| shard.take_letters());
            }
        }
        if !self.is_over(all) {
            all.iter_mut().for_each(|shard| shard.flush(until));
        }
    }

    /// True if there is room for more, and no observer has stopped the run.
    #[cold]
    fn goes_on(&mut self, all: &Guards<'_, 'a>, watch: &mut Watch<'_>, events: u64) -> bool {
        // A multiple of PROGRESS_EVENTS has been passed since the last look. One window may pass several looks.
        let reports = events / PROGRESS_EVENTS > (self.next_look - 1) / PROGRESS_EVENTS;
        self.next_look = (events / ROOM_EVENTS + 1) * ROOM_EVENTS;
        let samples = self.sampler.as_ref().map_or(0, Sampler::rows) * PER_SAMPLE;
        let packets = all.iter().map(|shard| shard.ports.links.pool.slots()).sum::<u64>();
        let packets = packets * headway_network::per_packet(self.spec);
        // Those of the specification are known beforehand, and counted there.
        let given = all.iter().filter_map(|shard| shard.given.as_ref());
        let flows = given.map(|given| given.flows.len() as u64).sum::<u64>() * PER_FLOW;
        if samples + packets + flows > watch.room {
            let parts = [(flows, "flows"), (samples, "samples"), (packets, "packets in flight")];
            self.full = parts.iter().max_by_key(|(bytes, _)| *bytes).map(|(_, what)| *what);
            return false;
        }
        !reports || (watch.progress)(&self.reached(all))
    }

    fn reached(&self, all: &Guards<'_, 'a>) -> Progress {
        let apart = self.flows.len() / FLOWS_LOOKED_AT + 1;
        let some = || self.spec.flows.iter().zip(self.flows.iter()).step_by(apart);
        Progress {
            delivered: some().map(|(spec, flow)| flow.delivered().min(spec.bytes)).sum(),
            offered: some().map(|(spec, _)| spec.bytes).fold(0, u64::saturating_add),
            now: self.now,
            stop: self.spec.stop,
            events: all.iter().map(|shard| shard.events).sum(),
            flows_done: all.iter().map(|shard| shard.done).sum(),
            // Every shard knows the flows of all, so that a sum would count them repeatedly.
            flows_total: all.iter().map(|shard| shard.all_flows()).max().unwrap_or(0) as u64,
        }
    }

    /// Flows that it was given while it went on.
    pub(crate) fn given(&self) -> Vec<FlowSpec> {
        given(&self.shards.iter().map(lock).collect())
    }

    /// Progress of the run, and the digest of its events so far.
    pub(crate) fn progress(&self) -> (Progress, u64) {
        let all: Guards<'_, 'a> = self.shards.iter().map(lock).collect();
        // A wrapping sum: the order and number of shards do not matter.
        let digest = all.iter().fold(0u64, |digest, shard| digest.wrapping_add(shard.digest));
        (self.reached(&all), digest)
    }

    /// Takes the measurements of the network as a whole, all events of this instant being over.
    fn look_around(&mut self, all: &mut Guards<'_, 'a>) {
        let now = self.now;
        let samples = self.next_sample == now;
        let (middle, last) = (self.middle == Some(now), self.last == Some(now));
        if !(samples || middle || last) {
            return;
        }
        all.iter_mut().for_each(|shard| shard.ports.catch_up_all(now));
        if middle {
            self.middle = None;
            self.arrivals = Some(Arrivals { middle: now, end: Time::MAX, busy: busy(all, now) });
        }
        if last {
            self.last = None;
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.end = now;
                let pairs = arrivals.busy.iter_mut().zip(busy(all, now));
                pairs.for_each(|(before, now)| *before = now.saturating_sub(*before));
            }
        }
        if samples {
            self.take_sample(all);
            if self.sampler.as_ref().is_some_and(Sampler::is_full) {
                // `conduct` compares with `stop` right after this, and so ends the run at this sample.
                (self.full, self.stop) = (Some("samples"), now);
            }
        }
    }

    fn take_sample(&mut self, all: &mut Guards<'_, 'a>) {
        let Some(sampler) = &mut self.sampler else { return };
        let mut shards: Vec<&mut Engine<'a>> = all.iter_mut().map(|guard| &mut **guard).collect();
        // Taken out for the call, since the sampler borrows lists of the first shard at the same time.
        let mut deliveries: Vec<_> = shards.iter_mut().map(|shard| shard.deliveries.take()).collect();
        let first = &mut *shards[0];
        // Hosts and ports are lists that all shards share: the first shard's handle reaches all.
        let hosts = whole(&mut first.hosts);
        sampler.take(
            self.now,
            whole(&mut first.ports.egress),
            (&self.spec.flows, &first.flows, &self.numbers),
            deliveries.iter_mut().flatten().map(|shard| &mut **shard),
            &|host, end, found| hosts[host as usize].endpoint.probe_message(end, found),
        );
        shards.iter_mut().zip(deliveries).for_each(|(shard, own)| shard.deliveries = own);
        self.next_sample = self.now.saturating_add(sampler.every());
    }

    /// Shows a tap the packets that it has not seen and that are complete: in order of time, and of links in one
    /// instant.
    fn show(&mut self, all: &mut Guards<'_, 'a>, watch: &mut Watch<'_>, everything: bool) {
        let Some(tap) = &mut watch.tap else { return };
        if everything {
            all.iter_mut().for_each(|shard| shard.ports.catch_up_all(self.now));
        }
        for shard in all.iter_mut() {
            if let Some(seen) = &mut shard.ports.links.seen {
                self.unseen.append(seen);
            }
        }
        // A port is behind by a link's delay at most.
        let complete = reached(all).saturating_sub(self.division.longest);
        self.unseen.sort_by_key(|seen| (seen.start, seen.link));
        let count = self.unseen.partition_point(|seen| everything || seen.start < complete);
        for Sighting { start, link, packet } in self.unseen.drain(..count) {
            tap.started(link, start, &packet);
        }
    }
}

fn given(all: &Guards<'_, '_>) -> Vec<FlowSpec> {
    let given = all.iter().filter_map(|shard| shard.given.as_ref());
    given.flat_map(|given| given.flows.iter().copied()).collect()
}

/// Flows that wait for no other in the order in which they start: those of one instant by their host, and those of one host
/// as they are given.
fn in_order(spec: &RunSpec) -> Vec<u32> {
    let waits = |flow: &u32| spec.graph.as_ref().is_some_and(|graph| graph.waits(*flow) > 0);
    let mut order: Vec<u32> = (0..spec.flows.len() as u32).filter(|flow| !waits(flow)).collect();
    order.sort_by_key(|&f| (spec.flows[f as usize].start, spec.flows[f as usize].src));
    order
}

/// Starts of flows over a connection whose ends belong to several shards: whether it is open is known at both. And the
/// times at which flows are over, which may end the run.
fn asking(spec: &RunSpec, of_host: &[u8]) -> Vec<u64> {
    let apart = |flow: &&headway_network::FlowSpec| {
        flow.connection.is_some() && of_host[flow.src as usize] != of_host[flow.dst as usize]
    };
    let starts = spec.flows.iter().filter(apart).map(|flow| flow.start.0);
    let stops = spec.flows.iter().filter_map(|flow| flow.stop).map(|stop| stop.0);
    let mut all: Vec<u64> = starts.chain(stops).collect();
    all.sort_unstable();
    all
}

/// Starts and ends of each shard. `order` is that of the flows that wait for no other.
fn agendas(spec: &RunSpec, order: &[u32], of_host: &[u8], shards: usize) -> Vec<Agenda> {
    let mut all: Vec<Agenda> = (0..shards).map(|_| Agenda::default()).collect();
    let shard_of = |host: u32| usize::from(of_host[host as usize]);
    for &flow in order {
        all[shard_of(spec.flows[flow as usize].src)].order.push(flow);
    }
    for (flow, one) in spec.flows.iter().enumerate() {
        // Both ends are told, each by an event of its own shard (decision 43).
        for host in [one.src, one.dst] {
            if let Some(at) = one.stop {
                all[shard_of(host)].stops.push(Stop { at, host, flow: flow as u32 });
            }
        }
    }
    all.iter_mut().for_each(|agenda| agenda.stops.sort_unstable());
    if let Some(graph) = &spec.graph {
        for (step, one) in (0..).zip(graph.steps()) {
            if graph.waits(graph.of_step(step)) == 0 {
                all[one.host.map_or(0, shard_of)].steps.push(step);
            }
        }
    }
    all
}

/// No more bytes than these are delivered to a host in a window.
fn within(spec: &RunSpec, network: &Network, division: &Division) -> u64 {
    let hosts = network.interfaces();
    let rates = network.links().iter().filter(|link| link.to < hosts).map(|link| link.spec.rate.bps());
    // A change may make a link faster than the topology has it.
    let raised = spec.faults.iter().filter_map(|fault| match &fault.what {
        headway_network::Fault::Change(change) => change.rate.map(|rate| rate.bps()),
        _ => None,
    });
    let fastest = u128::from(rates.chain(raised).max().unwrap_or(0));
    // Packets that a fault delays may arrive together with those that were sent later, once for each fault.
    let times = 1 + spec.faults.len() as u128;
    let span = u128::from(division.window().0) + u128::from(spec.jitter.0);
    let bits = fastest * span / 1_000_000_000_000 * times;
    // Packets count when their last bit arrives, so that some of those bytes may have been sent before the window.
    u64::try_from(bits / 8).unwrap_or(u64::MAX).saturating_add(2 * 65_536)
}

fn lock<T>(shard: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panics ends the run, whatever its shard looks like.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Every element of a list that shards share.
#[allow(unsafe_code, reason = "the conductor holds all shards, so that none of them runs")]
fn whole<T>(list: &mut Shared<T>) -> &mut [T] {
    // SAFETY: called only with a shard out of guards of all, and the other shards' handles are behind those.
    unsafe { list.whole() }
}

/// The time of the last event of any shard.
fn reached(all: &Guards<'_, '_>) -> Time {
    all.iter().map(|shard| shard.now).fold(Time::ZERO, Time::max)
}

/// Hands over what shards sent to each other, and returns the time of the next event; the end of time if nothing will.
fn exchange(all: &mut Guards<'_, '_>) -> u64 {
    hand_over(all);
    let next = |shard: &mut MutexGuard<'_, Engine<'_>>| {
        shard.next_event_at().min(shard.first_letter).min(shard.next_start)
    };
    all.iter_mut().map(next).min().unwrap_or(u64::MAX)
}

fn hand_over(all: &mut Guards<'_, '_>) {
    for from in 0..all.len() {
        let first = std::mem::replace(&mut all[from].ports.links.post.first, u64::MAX);
        if first == u64::MAX {
            continue;
        }
        for to in (0..all.len()).filter(|to| *to != from) {
            let mut letters = std::mem::take(&mut all[from].ports.links.post.letters[to]);
            if letters.is_empty() {
                all[from].ports.links.post.letters[to] = letters;
                continue;
            }
            let inbox = &mut all[to];
            inbox.first_letter = inbox.first_letter.min(first);
            // Swapped, not copied: both lists keep their memory for the next window.
            if inbox.inbox[from].is_empty() {
                std::mem::swap(&mut inbox.inbox[from], &mut letters);
            } else {
                inbox.inbox[from].append(&mut letters);
            }
            all[from].ports.links.post.letters[to] = letters;
            let Some(from_here) = &mut all[from].ports.links.attribution else { continue };
            let mut trips = std::mem::take(from_here.outgoing(to));
            if let Some(there) = &mut all[to].ports.links.attribution {
                there.inbox[from].append(&mut trips);
            }
        }
    }
}

/// Shards one after the other, on this thread.
fn take_turns(shards: &[Mutex<Engine<'_>>], until: u64) {
    shards.iter().for_each(|shard| lock(shard).run_window(until));
}

/// Time that each link spent transmitting until now.
fn busy(all: &mut Guards<'_, '_>, now: Time) -> Vec<Time> {
    whole::<Egress>(&mut all[0].ports.egress).iter().map(|egress| egress.port.busy_until(now)).collect()
}

mod lossless;
mod outcome;
mod progress;
#[cfg(test)]
mod tests;
