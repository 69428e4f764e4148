//! Links that go down and come up, and whose rate and delay change, at times that are known before the run.
//!
//! Because they are known, nothing has to be undone when the time comes: a packet that is put on a wire knows at
//! once whether the link goes down under it, and its next hop is chosen by the routes that are in force when it
//! arrives. At an [`Instant`] a driver has to bring the ports concerned up to date and to inform them. Both
//! drivers, simulator and real switch, use this.

use crate::detours::{Detours, Joints, Next};
use crate::error::BuildError;
use crate::faults::{Change, Down, Fault, FaultSpec};
use crate::injector::chosen;
use crate::network::Network;
use crate::routes::PathSelector;
use crate::spec::Routing;
use headway_packet::Packet;
use headway_units::{Rate, Time};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Change of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The link goes down.
    Down,
    /// The link comes up.
    Up,
    /// The link has this rate from now on.
    Rate(Rate),
    /// The link has this delay from now on.
    Delay(Time),
}

/// Changes at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instant {
    /// Instant of the change.
    pub at: Time,
    /// Links that change, by number; none if only routes change.
    pub steps: Vec<(u32, Step)>,
}

/// A packet on its way over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Time of arrival at the far end, in ps since the start of the run, including the forwarding time of a switch.
    pub arrives: Time,
    /// True if the link goes down before the packet has arrived, which loses the packet.
    pub cut: bool,
}

/// Extremes of a link's rate and delay during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest rate.
    pub lowest: Rate,
    /// The highest rate.
    pub highest: Rate,
    /// The longest delay, without the forwarding time of a switch.
    pub longest: Time,
}

/// The range of each link under these faults.
pub fn ranges(specs: &[FaultSpec], network: &Network) -> Result<Vec<Range>, BuildError> {
    let of = |link: &crate::link::Link| Range {
        lowest: link.spec.rate,
        highest: link.spec.rate,
        longest: link.spec.delay,
    };
    let mut ranges: Vec<Range> = network.links().iter().map(of).collect();
    if !specs.iter().any(|spec| matches!(spec.what, Fault::Change(_))) {
        return Ok(ranges);
    }
    for (link, step) in Plan::new(specs, network)?.steps.values().flatten() {
        let range = &mut ranges[*link as usize];
        match step {
            Step::Rate(rate) if rate.bps() < range.lowest.bps() => range.lowest = *rate,
            Step::Rate(rate) if rate.bps() > range.highest.bps() => range.highest = *rate,
            Step::Delay(delay) => range.longest = range.longest.max(*delay),
            Step::Rate(_) | Step::Down | Step::Up => {}
        }
    }
    Ok(ranges)
}

/// Routes from a time on.
struct Epoch {
    from: Time,
    /// Links that routes avoid.
    avoided: Vec<u32>,
    /// Made when a packet first asks.
    detours: Option<Detours>,
}

/// Spans of time, in order and apart.
type Spans = Vec<(Time, Time)>;

/// See the module.
pub struct Changes {
    instants: Vec<Instant>,
    /// Times at which each link is down, of those that ever are.
    down: FxHashMap<u32, Spans>,
    /// Epochs that may still be asked for, the one in force first.
    epochs: VecDeque<Epoch>,
    joints: Arc<Joints>,
    /// Present rate of each link.
    rates: Vec<Rate>,
    delays: Vec<Time>,
    latency: Vec<Time>,
}

impl Changes {
    /// Changes of a specification, or `None` if it changes nothing.
    pub fn new(
        specs: &[FaultSpec],
        network: &Network,
        choice: &PathSelector,
    ) -> Result<Option<Changes>, BuildError> {
        if let Some((first, second)) = conflict(specs) {
            let text = format!("entries {first} and {second} contradict each other");
            return Err(BuildError::Fault(text));
        }
        let plan = Plan::new(specs, network)?;
        if plan.steps.is_empty() {
            return Ok(None);
        }
        let links = network.links();
        let reverse = (network.fabric().routing == Routing::Symmetric).then(|| choice.reverse());
        let epochs = epochs(&plan.avoided, reverse);
        let mut steps = plan.steps;
        for epoch in epochs.iter().skip(1) {
            // Routes change some time after links do: drivers need an instant for that too.
            steps.entry(epoch.from).or_default();
        }
        Ok(Some(Changes {
            instants: steps.into_iter().map(|(at, steps)| Instant { at, steps }).collect(),
            down: plan.down,
            epochs,
            joints: Arc::new(Joints::new(network)),
            rates: links.iter().map(|link| link.spec.rate).collect(),
            delays: links.iter().map(|link| link.spec.delay).collect(),
            latency: links.iter().map(|link| network.hop_delay(link) - link.spec.delay).collect(),
        }))
    }

    /// Everything that happens, in order of time.
    pub fn instants(&self) -> &[Instant] {
        &self.instants
    }

    /// Applies the instant of this number, which has come; returns its changes.
    pub fn pass(&mut self, number: usize) -> Instant {
        let instant = self.instants[number].clone();
        for (link, step) in &instant.steps {
            match step {
                Step::Rate(rate) => self.rates[*link as usize] = *rate,
                Step::Delay(delay) => self.delays[*link as usize] = *delay,
                Step::Down | Step::Up => {}
            }
        }
        // No packet asks for routes of the past.
        while self.epochs.get(1).is_some_and(|next| next.from <= instant.at) {
            self.epochs.pop_front();
        }
        instant
    }

    /// A link's rate now.
    pub fn rate(&self, link: u32) -> Rate {
        self.rates[link as usize]
    }

    /// For each link, the shortest time during the run from the departure of a packet's last bit to its arrival.
    pub fn least_delays(&self) -> Vec<Time> {
        self.extreme_delays(Time::min)
    }

    /// For each link, the longest such time.
    pub fn longest_delays(&self) -> Vec<Time> {
        self.extreme_delays(Time::max)
    }

    /// For each link, one of its delays during the run, picked pair by pair, and the time of the switch at its end.
    fn extreme_delays(&self, pick: fn(Time, Time) -> Time) -> Vec<Time> {
        let mut picked = self.delays.clone();
        for (link, step) in self.instants.iter().flat_map(|instant| &instant.steps) {
            if let Step::Delay(delay) = step {
                let known = &mut picked[*link as usize];
                *known = pick(*known, *delay);
            }
        }
        picked.iter().zip(&self.latency).map(|(delay, latency)| *delay + *latency).collect()
    }

    /// The highest rate that each link ever has.
    pub fn highest_rates(&self) -> Vec<Rate> {
        let mut highest = self.rates.clone();
        for (link, step) in self.instants.iter().flat_map(|instant| &instant.steps) {
            match step {
                Step::Rate(rate) if rate.bps() > highest[*link as usize].bps() => {
                    highest[*link as usize] = *rate;
                }
                Step::Rate(_) | Step::Delay(_) | Step::Down | Step::Up => {}
            }
        }
        highest
    }

    /// A packet of `wire` bytes has been put on a link, the last bit of which leaves at `ends`.
    pub fn launch(&self, link: u32, wire: u16, ends: Time) -> Flight {
        let started = ends.saturating_sub(self.rates[link as usize].time_of(wire.into()));
        let far = ends.saturating_add(self.delays[link as usize]);
        // A link that goes down in the very instant in which a packet begins, or is there, does not hit it.
        let cut = self.down.get(&link).is_some_and(|spans| {
            let next = spans.partition_point(|span| span.0 <= started);
            spans.get(next).is_some_and(|span| span.0 < far)
        });
        Flight { arrives: far.saturating_add(self.latency[link as usize]), cut }
    }

    /// Time at which a signal, which began to be sent at `starts` and left at `ends`, is known at the far end;
    /// `None` if the link goes down before. A signal that arrives as the link goes down is void.
    pub fn signal(&self, link: u32, (starts, ends): (Time, Time)) -> Option<Time> {
        let far = ends.saturating_add(self.delays[link as usize]);
        let known = far.saturating_add(self.latency[link as usize]);
        let cut = self.down.get(&link).is_some_and(|spans| {
            let next = spans.partition_point(|span| span.0 <= starts);
            spans.get(next).is_some_and(|span| span.0 <= known)
        });
        (!cut).then_some(known)
    }

    /// [`PathSelector::choices`] for a packet that arrives at a time, without ports that lead to links that are down as far as
    /// routes know.
    pub fn choices(
        &mut self,
        choice: &PathSelector,
        network: &Network,
        (switch, dst, at): (u32, u32, Time),
        ports: &mut Vec<u32>,
    ) {
        match self.detours(at).map(|detours| detours.next(network, switch, dst)) {
            None | Some(Next::Usual) => choice.choices(network, switch, dst, ports),
            Some(Next::Few { ports: few, .. }) => {
                ports.clear();
                ports.extend_from_slice(few);
            }
            Some(Next::Nowhere) => ports.clear(),
        }
    }

    /// The port by which `switch` forwards a packet that arrives over the link of a number at a time; `None` when no
    /// link that is up leads to its destination, as far as routes know.
    pub fn route(
        &mut self,
        choice: &PathSelector,
        network: &Network,
        switch: u32,
        packet: &Packet,
        arrival: (u32, Time),
    ) -> Option<u32> {
        match self.detours(arrival.1) {
            Some(detours) => choice.route_around(network, switch, packet, arrival, detours),
            None => choice.route(network, switch, packet, arrival),
        }
    }

    /// Routes around links that are down, where any are at a time as far as routes know.
    fn detours(&mut self, at: Time) -> Option<&mut Detours> {
        let place = self.epochs.partition_point(|epoch| epoch.from <= at).checked_sub(1)?;
        let epoch = &mut self.epochs[place];
        if epoch.avoided.is_empty() {
            return None;
        }
        let (avoided, joints) = (&epoch.avoided, &self.joints);
        Some(epoch.detours.get_or_insert_with(|| Detours::new(avoided, Arc::clone(joints))))
    }
}

/// The specification, link by link.
#[derive(Default)]
struct Plan {
    steps: BTreeMap<Time, Vec<(u32, Step)>>,
    down: FxHashMap<u32, Spans>,
    avoided: FxHashMap<u32, Spans>,
}

impl Plan {
    fn new(specs: &[FaultSpec], network: &Network) -> Result<Plan, BuildError> {
        let names = network.link_names();
        let mut plan = Plan::default();
        let mut changes: BTreeMap<u32, Vec<Change>> = BTreeMap::new();
        for spec in specs {
            match &spec.what {
                Fault::Down(down) => {
                    let mut links = chosen(&spec.links, &names)?;
                    for name in &down.switches {
                        links.extend(of_switch(name, network)?);
                    }
                    // A link that is named, and whose switch is named as well, goes down once.
                    links.sort_unstable();
                    links.dedup();
                    links.iter().for_each(|link| plan.goes_down(*link as u32, down));
                }
                Fault::Change(change) => {
                    let links = chosen(&spec.links, &names)?;
                    links.iter().for_each(|link| changes.entry(*link as u32).or_default().push(*change));
                }
                Fault::DropNth(_) | Fault::Random { .. } | Fault::Blackhole { .. } => {}
            }
        }
        let mut down: Vec<u32> = plan.down.keys().copied().collect();
        // In order of links: that of a map would be arbitrary.
        down.sort_unstable();
        for link in down {
            let spans = plan.down.get_mut(&link).map(join).unwrap_or_default();
            for (from, until) in spans {
                plan.step(from, link, Step::Down);
                plan.step(until, link, Step::Up);
            }
        }
        plan.avoided.values_mut().for_each(|spans| drop(join(spans)));
        for (link, mut changes) in changes {
            changes.sort_by_key(|change| change.at);
            let before = network.links()[link as usize].spec;
            plan.becomes(link, &changes, |c| c.rate, before.rate, Step::Rate);
            plan.becomes(link, &changes, |c| c.delay, before.delay, Step::Delay);
        }
        Ok(plan)
    }

    fn step(&mut self, at: Time, link: u32, step: Step) {
        // The end of time is never.
        if at < Time::MAX {
            self.steps.entry(at).or_default().push((link, step));
        }
    }

    fn goes_down(&mut self, link: u32, down: &Down) {
        self.down.entry(link).or_default().push((down.at, down.until));
        let from = down.at.saturating_add(down.converge);
        if from < Time::MAX {
            let until = down.until.saturating_add(down.converge);
            self.avoided.entry(link).or_default().push((from, until));
        }
    }

    /// One quantity of one link over time: each value holds until the next one, or ends by itself and gives way to
    /// the one before.
    fn becomes<T: Copy>(
        &mut self,
        link: u32,
        changes: &[Change],
        get: fn(&Change) -> Option<T>,
        before: T,
        step: fn(T) -> Step,
    ) {
        let mut value = before;
        for change in changes {
            let Some(next) = get(change) else { continue };
            self.step(change.at, link, step(next));
            match change.until {
                Time::MAX => value = next,
                // Changes that begin in this instant come after it, in order of creation.
                until => self.step(until, link, step(value)),
            }
        }
    }
}

/// Puts spans in order and joins those that touch.
fn join(spans: &mut Spans) -> Spans {
    spans.sort_unstable();
    let mut merged: Spans = Vec::with_capacity(spans.len());
    for &(from, until) in spans.iter() {
        match merged.last_mut() {
            // Spans that touch are one outage: the link does not come up in between.
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => merged.push((from, until)),
        }
    }
    spans.clone_from(&merged);
    merged
}

/// The links of a switch, both directions.
fn of_switch(name: &str, network: &Network) -> Result<Vec<usize>, BuildError> {
    let hosts = network.interfaces();
    let node = (hosts..hosts + network.switches()).find(|node| network.node_name(*node) == name);
    let node = node.ok_or_else(|| BuildError::Fault(format!("there is no switch `{name}`")))?;
    let joins = |(_, link): &(usize, &crate::link::Link)| link.from == node || link.to == node;
    Ok(network.links().iter().enumerate().filter(joins).map(|(number, _)| number).collect())
}

/// Times from which routes avoid links. Where routes are the same in both directions, they avoid a link in both
/// (`reverse`) as soon as one is down.
fn epochs(avoided: &FxHashMap<u32, Spans>, reverse: Option<&[u32]>) -> VecDeque<Epoch> {
    let ends = avoided.values().flatten().flat_map(|(from, until)| [*from, *until]);
    let starts: BTreeSet<Time> = ends.filter(|at| *at < Time::MAX).collect();
    let epoch = |from: Time| {
        let covers = |spans: &Spans| spans.iter().any(|span| span.0 <= from && from < span.1);
        let links = avoided.iter().filter(|(_, spans)| covers(spans)).map(|(link, _)| *link);
        let both = links.flat_map(|link| [Some(link), reverse.map(|other| other[link as usize])]);
        let links: BTreeSet<u32> = both.flatten().collect();
        Epoch { from, avoided: links.into_iter().collect(), detours: None }
    };
    let whole = Epoch { from: Time::ZERO, avoided: Vec::new(), detours: None };
    let later: VecDeque<Epoch> = starts.into_iter().map(epoch).collect();
    match later.front() {
        None => VecDeque::new(),
        Some(first) if first.from == Time::ZERO => later,
        Some(_) => std::iter::once(whole).chain(later).collect(),
    }
}

/// The first two entries that contradict each other, by position: the same link or switch is down twice
/// at once, or a rate or a delay to change while it has another for a stated time.
pub fn conflict(specs: &[FaultSpec]) -> Option<(usize, usize)> {
    let pairs = (0..specs.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.into_iter().find(|(first, second)| contradict(&specs[*first], &specs[*second]))
}

fn contradict(a: &FaultSpec, b: &FaultSpec) -> bool {
    match (&a.what, &b.what) {
        (Fault::Down(one), Fault::Down(other)) => {
            let meet = a.links.meets(&b.links) || one.switches.iter().any(|s| other.switches.contains(s));
            meet && one.at < other.until && other.at < one.until
        }
        (Fault::Change(one), Fault::Change(other)) => {
            let both = (one.rate.is_some() && other.rate.is_some())
                || (one.delay.is_some() && other.delay.is_some());
            let (first, second) = if one.at <= other.at { (one, other) } else { (other, one) };
            // One without an end lasts until the next.
            let meet = second.at == first.at || (first.until < Time::MAX && second.at < first.until);
            both && meet && a.links.meets(&b.links)
        }
        // Effects on packets add up, and a link that is down has a rate and a delay all the same.
        (Fault::Down(_), Fault::Change(_))
        | (Fault::Change(_), Fault::Down(_))
        | (Fault::DropNth(_) | Fault::Random { .. } | Fault::Blackhole { .. }, _)
        | (_, Fault::DropNth(_) | Fault::Random { .. } | Fault::Blackhole { .. }) => false,
    }
}
