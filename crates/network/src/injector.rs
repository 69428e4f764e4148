//! Faults on links: packets that are lost, doubled or late after they left their port.
//!
//! [`Injector::judge`] is asked once for every packet that a port has put on its link. It knows no clock and
//! no socket, so that the simulator and the real switch lose the same packets of the same link. Every link
//! and every entry of the specification has a stream of random numbers and a count of packets of its own:
//! faults on one link do not depend on another.

use crate::error::BuildError;
use crate::faults::{Change, Down, Fault, FaultSpec};
use crate::link::LinkChoice;
use crate::network::Network;
use crate::rng::{Purpose, stream};
use headway_packet::{Packet, PacketKind};
use headway_units::Time;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// Action on a packet on its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// It arrives as it would without faults.
    Pass,
    /// It is lost.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It arrives this much later.
    Delay(Time),
}

/// Counts of an injector's actions on the packets of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Lost because of their number.
    pub dropped_by_number: u64,
    /// Lost by chance.
    pub dropped_at_random: u64,
    /// Lost because the link was a black hole.
    pub dropped_in_blackhole: u64,
    /// Lost because the link went down while they were on it.
    pub dropped_on_the_wire: u64,
    /// Lost at the link's far end, a switch from which no link that is up led to their destination.
    pub dropped_without_route: u64,
    /// Packets that were sent twice.
    pub duplicated: u64,
    /// Packets that were delayed.
    pub delayed: u64,
}

impl FaultCounts {
    /// Number of packets lost.
    pub fn dropped(&self) -> u64 {
        self.dropped_by_number
            + self.dropped_at_random
            + self.dropped_in_blackhole
            + self.dropped_on_the_wire
            + self.dropped_without_route
    }

    /// The sum with another injector's counts of the same link.
    #[must_use]
    pub fn and(self, other: FaultCounts) -> FaultCounts {
        FaultCounts {
            dropped_by_number: self.dropped_by_number + other.dropped_by_number,
            dropped_at_random: self.dropped_at_random + other.dropped_at_random,
            dropped_in_blackhole: self.dropped_in_blackhole + other.dropped_in_blackhole,
            dropped_on_the_wire: self.dropped_on_the_wire + other.dropped_on_the_wire,
            dropped_without_route: self.dropped_without_route + other.dropped_without_route,
            duplicated: self.duplicated + other.duplicated,
            delayed: self.delayed + other.delayed,
        }
    }

    /// True if no fault has met a packet.
    pub fn is_zero(&self) -> bool {
        *self == FaultCounts::default()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Injector {
    /// Entries that apply to each link, in the order of the specification.
    links: Vec<Vec<Entry>>,
    counts: Vec<FaultCounts>,
}

/// An entry of the specification on one link.
#[derive(Clone, Debug)]
struct Entry {
    kind: Option<PacketKind>,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    /// Numbers still to come, the next one last, and the packets seen.
    Numbers { ahead: Vec<u64>, seen: u64 },
    /// Shares of the range of a random number, each on top of the one before.
    Chance { loss: u64, duplicate: u64, reorder: u64, by: Time, stream: Pcg32 },
    /// The span in which the link is a black hole.
    Blackhole { from: Time, until: Time },
}

impl Injector {
    /// An injector for the links of a network, or the fault of the specification.
    pub fn new(specs: &[FaultSpec], network: &Network, seed: u64) -> Result<Injector, BuildError> {
        let names = network.link_names();
        let mut links = vec![Vec::new(); names.len()];
        for (position, spec) in specs.iter().enumerate() {
            check(&spec.what).map_err(BuildError::Fault)?;
            if matches!(spec.what, Fault::Down(_) | Fault::Change(_)) {
                continue;
            }
            for number in chosen(&spec.links, &names)? {
                let entity = (position as u64) << 32 | number as u64;
                links[number].push(Entry { kind: spec.kind, rule: Rule::new(&spec.what, seed, entity) });
            }
        }
        Ok(Injector { counts: vec![FaultCounts::default(); links.len()], links })
    }

    /// Action on a packet that has left by this link's port, its last bit at `ends`. Every entry counts it;
    /// the first one that does anything to it decides.
    pub fn judge(&mut self, link: u32, packet: &Packet, ends: Time) -> FaultAction {
        let mut action = FaultAction::Pass;
        for entry in &mut self.links[link as usize] {
            if entry.kind.is_some_and(|kind| kind != packet.kind) {
                continue;
            }
            let found = entry.rule.judge(ends);
            if action == FaultAction::Pass && found != FaultAction::Pass {
                self.counts[link as usize].note(found, &entry.rule);
                action = found;
            }
        }
        action
    }

    /// Counts a packet that was on a link as it went down.
    pub fn note_cut(&mut self, link: u32) {
        self.counts[link as usize].dropped_on_the_wire += 1;
    }

    /// Counts a packet that came by a link to a switch without a route for it.
    pub fn note_no_route(&mut self, link: u32) {
        self.counts[link as usize].dropped_without_route += 1;
    }

    /// Counts so far, by link number.
    pub fn counts(&self) -> &[FaultCounts] {
        &self.counts
    }
}

impl FaultCounts {
    fn note(&mut self, action: FaultAction, rule: &Rule) {
        match action {
            FaultAction::Pass => {}
            FaultAction::Drop => match rule {
                Rule::Numbers { .. } => self.dropped_by_number += 1,
                Rule::Chance { .. } => self.dropped_at_random += 1,
                Rule::Blackhole { .. } => self.dropped_in_blackhole += 1,
            },
            FaultAction::Duplicate => self.duplicated += 1,
            FaultAction::Delay(_) => self.delayed += 1,
        }
    }
}

impl Rule {
    fn new(what: &Fault, seed: u64, entity: u64) -> Rule {
        match what {
            Fault::DropNth(numbers) => {
                let mut ahead = numbers.clone();
                ahead.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
                ahead.dedup();
                Rule::Numbers { ahead, seen: 0 }
            }
            Fault::Random { loss, duplicate, reorder, reorder_by } => Rule::Chance {
                loss: share(*loss),
                duplicate: share(loss + duplicate),
                reorder: share(loss + duplicate + reorder),
                by: *reorder_by,
                stream: stream(seed, Purpose::Faults, entity),
            },
            Fault::Blackhole { from, until } => Rule::Blackhole { from: *from, until: *until },
            // These faults concern links instead of packets, and have no rule.
            Fault::Down(_) | Fault::Change(_) => Rule::Blackhole { from: Time::MAX, until: Time::MAX },
        }
    }

    /// Action on the next packet.
    fn judge(&mut self, ends: Time) -> FaultAction {
        match self {
            Rule::Numbers { ahead, seen } => {
                *seen += 1;
                let hit = ahead.pop_if(|next| *next == *seen).is_some();
                if hit { FaultAction::Drop } else { FaultAction::Pass }
            }
            Rule::Chance { loss, duplicate, reorder, by, stream } => {
                // 53 bits: a probability of 1 is then above every number that is drawn.
                let drawn = stream.next_u64() >> 11;
                match drawn {
                    n if n < *loss => FaultAction::Drop,
                    n if n < *duplicate => FaultAction::Duplicate,
                    n if n < *reorder => FaultAction::Delay(*by),
                    _ => FaultAction::Pass,
                }
            }
            Rule::Blackhole { from, until } if (*from..*until).contains(&ends) => FaultAction::Drop,
            Rule::Blackhole { .. } => FaultAction::Pass,
        }
    }
}

/// A probability in units of 2^-53. The product with a power of two is exact, so that it is the same number
/// on every machine.
fn share(probability: f64) -> u64 {
    (probability * (1u64 << 53) as f64) as u64
}

fn check(what: &Fault) -> Result<(), String> {
    match what {
        Fault::DropNth(numbers) if numbers.contains(&0) => Err("packets are counted from 1".into()),
        Fault::DropNth(_) => Ok(()),
        Fault::Blackhole { from, until } if from >= until => {
            Err(format!("a black hole from {from} until {until}"))
        }
        Fault::Blackhole { .. } => Ok(()),
        Fault::Down(Down { at, until, .. }) | Fault::Change(Change { at, until, .. }) if at >= until => {
            Err(format!("from {at} until {until}"))
        }
        Fault::Down(_) | Fault::Change(_) => Ok(()),
        Fault::Random { loss, duplicate, reorder, reorder_by } => {
            let all = [*loss, *duplicate, *reorder];
            if let Some(wrong) = all.iter().find(|p| !(0.0..=1.0).contains(*p)) {
                return Err(format!("{wrong} is no probability"));
            }
            if all.iter().sum::<f64>() > 1.0 {
                return Err("the probabilities add up to more than 1".into());
            }
            if *reorder > 0.0 && *reorder_by == Time::ZERO {
                return Err("a packet that is reordered must be late by more than nothing".into());
            }
            Ok(())
        }
    }
}

/// Numbers of the links that are meant; a name of several parallel links means all of them.
pub(crate) fn chosen(links: &LinkChoice, names: &[String]) -> Result<Vec<usize>, BuildError> {
    let wanted = match links {
        LinkChoice::None => return Ok(Vec::new()),
        LinkChoice::All => return Ok((0..names.len()).collect()),
        LinkChoice::Some(wanted) => wanted,
    };
    let mut numbers = Vec::with_capacity(wanted.len());
    for name in wanted {
        let before = numbers.len();
        numbers.extend(names.iter().enumerate().filter(|(_, n)| *n == name).map(|(number, _)| number));
        if numbers.len() == before {
            return Err(BuildError::Fault(format!("there is no link `{name}`")));
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{FabricSpec, Routing};
    use crate::topology::SingleSwitch;
    use crate::{LinkSpec, TopologySpec};
    use headway_fabric::{Buffer, Limit};
    use headway_packet::{HostId, Sizes};
    use headway_units::Rate;

    fn network() -> Network {
        let link = LinkSpec { rate: Rate::gbps(10), delay: Time::us(1) };
        let limit = Limit::Packets(8);
        let fabric = FabricSpec {
            discipline: "drop-tail".into(),
            params: Vec::new(),
            buffer: Buffer { data: limit, control: limit },
            routing: Routing::Ecmp,
            sizes: Sizes::default(),
            switch_latency: Time::ZERO,
            at: Vec::new(),
            forwarding: crate::Forwarding::StoreAndForward,
            host_queue: None,
            bonded: false,
            altered: Vec::new(),
            pfc: None,
            memory: None,
        };
        Network::build(&TopologySpec::SingleSwitch(SingleSwitch { hosts: 2, link }), &fabric)
            .expect("a network")
    }

    fn injector(specs: &[FaultSpec]) -> Injector {
        Injector::new(specs, &network(), 1).expect("an injector")
    }

    fn packet(kind: PacketKind) -> Packet {
        Packet::new(kind, HostId(0), HostId(1), 0)
    }

    fn random(loss: f64, duplicate: f64, reorder: f64) -> FaultSpec {
        let what = Fault::Random { loss, duplicate, reorder, reorder_by: Time::us(5) };
        FaultSpec { links: LinkChoice::All, kind: None, what }
    }

    #[test]
    fn numbered_packets_of_a_kind_are_lost_on_each_link_apart() {
        let links = LinkChoice::Some(vec!["h0->s0".into(), "s0->h1".into()]);
        let spec = FaultSpec { links, kind: Some(PacketKind::Data), what: Fault::DropNth(vec![3, 1]) };
        let mut injector = injector(&[spec]);
        let (data, grant) = (packet(PacketKind::Data), packet(PacketKind::Grant));
        for link in [0, 3] {
            let actions: Vec<_> = [&data, &grant, &data, &grant, &data, &data]
                .iter()
                .map(|p| injector.judge(link, p, Time::ZERO) == FaultAction::Drop)
                .collect();
            assert_eq!(actions, [true, false, false, false, true, false], "link {link}");
        }
        assert_eq!(injector.judge(1, &data, Time::ZERO), FaultAction::Pass, "a link that is not named");
        assert_eq!(injector.counts()[0], FaultCounts { dropped_by_number: 2, ..FaultCounts::default() });
        assert!(injector.counts()[1].is_zero());
    }

    #[test]
    fn random_faults_come_as_often_as_they_should_and_the_same_way_again() {
        let spec = random(0.1, 0.05, 0.2);
        let run = || {
            let mut injector = injector(std::slice::from_ref(&spec));
            let data = packet(PacketKind::Data);
            let actions: Vec<_> = (0..40_000).map(|_| injector.judge(2, &data, Time::ZERO)).collect();
            (actions, injector.counts()[2])
        };
        let (actions, counts) = run();
        assert_eq!((actions, counts), run());
        // Four standard deviations.
        for (found, expected, room) in [
            (counts.dropped_at_random, 4_000, 240),
            (counts.duplicated, 2_000, 175),
            (counts.delayed, 8_000, 320),
        ] {
            assert!(found.abs_diff(expected) < room, "{counts:?}");
        }
    }

    #[test]
    fn one_link_does_not_shift_the_fate_of_another() {
        let spec = random(0.3, 0.0, 0.0);
        let (mut alone, mut shared) = (injector(std::slice::from_ref(&spec)), injector(&[spec]));
        let data = packet(PacketKind::Data);
        for _ in 0..200 {
            shared.judge(0, &data, Time::ZERO);
            assert_eq!(alone.judge(1, &data, Time::ZERO), shared.judge(1, &data, Time::ZERO));
        }
    }

    #[test]
    fn certainty_is_certain_and_never_is_never() {
        let data = packet(PacketKind::Data);
        let (mut all, mut none) = (injector(&[random(1.0, 0.0, 0.0)]), injector(&[random(0.0, 0.0, 0.0)]));
        for _ in 0..10_000 {
            assert_eq!(
                (all.judge(0, &data, Time::ZERO), none.judge(0, &data, Time::ZERO)),
                (FaultAction::Drop, FaultAction::Pass)
            );
        }
    }

    #[test]
    fn specifications_that_make_no_sense_are_refused() {
        let refused = |spec: FaultSpec| {
            Injector::new(&[spec], &network(), 1).expect_err("it makes no sense").to_string()
        };
        assert!(refused(random(0.7, 0.7, 0.0)).contains("more than 1"));
        assert!(refused(random(f64::NAN, 0.0, 0.0)).contains("no probability"));
        let what = Fault::DropNth(vec![0]);
        assert!(refused(FaultSpec { links: LinkChoice::All, kind: None, what }).contains("from 1"));
        let links = LinkChoice::Some(vec!["s0->h9".into()]);
        let what = Fault::DropNth(vec![1]);
        assert!(refused(FaultSpec { links, kind: None, what }).contains("s0->h9"));
        let what = Fault::Random { loss: 0.0, duplicate: 0.0, reorder: 0.1, reorder_by: Time::ZERO };
        assert!(refused(FaultSpec { links: LinkChoice::All, kind: None, what }).contains("late"));
    }

    #[test]
    fn a_black_hole_loses_everything_for_a_while() {
        let network = network();
        let what = Fault::Blackhole { from: Time::us(3), until: Time::us(5) };
        let spec = FaultSpec { links: LinkChoice::All, kind: None, what };
        let mut injector = Injector::new(&[spec], &network, 1).expect("a span");
        let data = packet(PacketKind::Data);
        let lost = (0..8).filter(|us| injector.judge(0, &data, Time::us(*us)) == FaultAction::Drop);
        assert_eq!(lost.collect::<Vec<_>>(), [3, 4]);
        assert_eq!((injector.counts()[0].dropped_in_blackhole, injector.counts()[0].dropped()), (2, 2));
        let never = Fault::Blackhole { from: Time::us(3), until: Time::us(3) };
        let spec = FaultSpec { links: LinkChoice::All, kind: None, what: never };
        assert!(Injector::new(&[spec], &network, 1).is_err());
    }
}
