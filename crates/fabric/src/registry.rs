//! The list of port disciplines: one line each.

use crate::discipline::{Arrival, Departing, Discipline, Overflow, PortContext, Space};
use crate::{Buffer, DisciplineInfo, DropReason, DropTail, Lengths, Need};
use headway_gauges::{Gauge, GaugeInfo};
use headway_packet::{Packet, Sizes};
use headway_params::{ParamError, ParamSpec, ParamValue, Params};
use headway_units::Time;

macro_rules! disciplines {
    ($($name:literal => crate::$module:ident::$variant:ident),+ $(,)?) => {
        /// Every name, in the order of the list.
        pub const NAMES: &[&str] = &[$($name),+];

        /// The rules of a port, chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyDiscipline { $(#[doc = $name] $variant(crate::$module::$variant)),+ }

        impl AnyDiscipline {
            /// The discipline called `name` with `params` set, for one port; `None` when there is none.
            pub fn make(name: &str, params: &[(String, ParamValue)], port: &PortContext) -> Option<Result<Self, ParamError>> {
                match name {
                    $($name => Some(with::<crate::$module::$variant>(params, port).map(AnyDiscipline::$variant)),)+
                    _ => None,
                }
            }

            pub(crate) fn classes(&self) -> usize {
                match self { $(AnyDiscipline::$variant(d) => d.classes()),+ }
            }

            #[inline(always)]
            pub(crate) fn arrive<L: Lengths>(
                &mut self,
                port: &PortContext,
                arrival: &Arrival,
                lengths: &L,
                packet: &mut Packet,
            ) -> Result<usize, DropReason> {
                match self { $(AnyDiscipline::$variant(d) => arrive(d, port, arrival, lengths, packet)),+ }
            }

            #[cold]
            pub(crate) fn overflow(&mut self, packet: &Packet) -> Overflow {
                match self { $(AnyDiscipline::$variant(d) => d.overflow(packet)),+ }
            }

            #[cold]
            pub(crate) fn not_done(&mut self) {
                match self { $(AnyDiscipline::$variant(d) => d.not_done()),+ }
            }

            pub(crate) fn is_strict(&self) -> bool {
                match self { $(AnyDiscipline::$variant(_) => !<crate::$module::$variant as Discipline>::CHOOSES),+ }
            }

            pub(crate) fn shapes(&self) -> bool {
                match self { $(AnyDiscipline::$variant(_) => <crate::$module::$variant as Discipline>::SHAPES),+ }
            }

            pub(crate) fn eligible_at(&self, occupied: u32) -> Time {
                match self { $(AnyDiscipline::$variant(d) => d.eligible_at(occupied)),+ }
            }

            #[inline(never)]
            pub(crate) fn choose(&mut self, now: Time, occupied: u32) -> usize {
                match self { $(AnyDiscipline::$variant(d) => d.choose(now, occupied)),+ }
            }

            #[inline(always)]
            pub(crate) fn depart<L: Lengths>(&mut self, departing: &Departing, lengths: &L, packet: &mut Packet) {
                match self { $(AnyDiscipline::$variant(d) => depart(d, departing, lengths, packet)),+ }
            }

            #[cold]
            pub(crate) fn discard<L: Lengths>(&mut self, now: Time, lengths: &L, packet: &Packet) {
                match self { $(AnyDiscipline::$variant(d) => d.discard(now, lengths, packet)),+ }
            }

            /// Rules of another kind are not those of this port, and change nothing.
            #[cold]
            pub(crate) fn retune(&mut self, now: Time, fresh: Self) {
                match (self, fresh) {
                    $((AnyDiscipline::$variant(d), AnyDiscipline::$variant(fresh)) => d.retune(now, fresh),)+
                    _ => debug_assert!(false, "rules of another kind"),
                }
            }

            pub(crate) fn gauges<L: Lengths>(&self, now: Time, lengths: &L) -> Vec<Gauge> {
                match self { $(AnyDiscipline::$variant(d) => d.gauges(now, lengths)),+ }
            }
        }

        /// Buffer space of each switch port under the discipline called `name` with `params` set, where a
        /// scenario leaves it open; `None` when there is none of that name.
        pub fn buffer(
            name: &str,
            params: &[(String, ParamValue)],
            sizes: &Sizes,
            space: Space,
        ) -> Option<Result<Buffer, ParamError>> {
            match name {
                $($name => Some(set::<crate::$module::$variant>(params).map(|p| <crate::$module::$variant as Discipline>::buffer(&p, sizes, space))),)+
                _ => None,
            }
        }

        /// True if the discipline called `name` only queues and drops: [`Discipline::PLAIN`].
        pub fn is_plain(name: &str) -> bool {
            match name {
                $($name => <crate::$module::$variant as Discipline>::PLAIN,)+
                _ => false,
            }
        }

        /// True if ports of the discipline called `name` can be held back class by class: [`Discipline::HOLDABLE`].
        pub fn is_holdable(name: &str) -> bool {
            match name {
                $($name => <crate::$module::$variant as Discipline>::HOLDABLE,)+
                _ => false,
            }
        }

        /// True if data may starve under the discipline called `name` with `params` set:
        /// [`Discipline::headers_starve_data`].
        pub fn headers_starve_data(name: &str, params: &[(String, ParamValue)]) -> bool {
            match name {
                $($name => set::<crate::$module::$variant>(params).is_ok_and(|p| <crate::$module::$variant as Discipline>::headers_starve_data(&p)),)+
                _ => false,
            }
        }

        /// Every discipline's name with the gauges that it declares.
        pub const GAUGES: &[(&str, &[GaugeInfo])] = &[$(($name, <crate::$module::$variant as Discipline>::GAUGES)),+];

        /// Every discipline's description and parameters.
        pub fn all() -> Vec<(DisciplineInfo, Vec<ParamSpec>)> {
            vec![$((<crate::$module::$variant as Discipline>::INFO, <<crate::$module::$variant as Discipline>::Params as Params>::specs())),+]
        }
    };
}

disciplines! {
    "drop-tail" => crate::drop_tail::DropTail,
    "strict-priority" => crate::strict_priority::StrictPriority,
    "anti-ecn" => crate::anti_ecn::AntiEcn,
    "ecn-threshold" => crate::ecn_threshold::EcnThreshold,
    "selective-drop" => crate::selective_drop::SelectiveDrop,
    "trimming" => crate::trimming::Trimming,
    "explicit-rate" => crate::explicit_rate::ExplicitRate,
    "cross-queue-ecn" => crate::cross_queue::CrossQueueEcn,
    "credit-shaping" => crate::credit_shaping::CreditShaping,
    "selective-credit-shaping" => crate::selective_credit_shaping::SelectiveCreditShaping,
    "fair-queue" => crate::fair_queue::FairQueue,
    "priority-buffers" => crate::priority_buffers::PriorityBuffers,
    "core-ecn" => crate::core_ecn::CoreEcn,
    "red-ecn" => crate::red_ecn::RedEcn,
    "random-drop" => crate::random_drop::RandomDrop,
    "trimming-ecn" => crate::trimming_ecn::TrimmingEcn,
    "trimming-core-ecn" => crate::trimming_ecn::TrimmingCoreEcn,
}

/// Calls the rules for an arrival. The cost of a packet under one discipline should not grow with the number
/// of disciplines: the few that take a handful of instructions are compiled into the driver's loop, the
/// others are called.
#[inline(always)]
fn arrive<D: Discipline, L: Lengths>(
    rules: &mut D,
    port: &PortContext,
    arrival: &Arrival,
    lengths: &L,
    packet: &mut Packet,
) -> Result<usize, DropReason> {
    if D::LIGHT {
        return rules.arrive(port, arrival, lengths, packet);
    }
    // A copy, so that only here it has to lie in memory.
    let arrival = *arrival;
    called(|| rules.arrive(port, &arrival, lengths, packet))
}

#[inline(always)]
fn depart<D: Discipline, L: Lengths>(rules: &mut D, departing: &Departing, lengths: &L, packet: &mut Packet) {
    if D::LIGHT {
        return rules.depart_by_class(departing, lengths, packet);
    }
    let departing = *departing;
    called(|| rules.depart_by_class(&departing, lengths, packet));
}

// Kept apart, so that the rules of heavy disciplines are not inlined into the loop of the light ones.
#[inline(never)]
fn called<T>(work: impl FnOnce() -> T) -> T {
    work()
}

/// The discipline of ports that nothing else is asked of.
pub const USUAL: &str = DropTail::INFO.name;

fn with<D: Discipline>(params: &[(String, ParamValue)], port: &PortContext) -> Result<D, ParamError> {
    let set = set::<D>(params)?;
    let told = port.round_trip.is_some_and(|time| time > Time::ZERO);
    if D::INFO.needs.contains(&Need::RoundTrip) && !told {
        let (name, time) = D::own_round_trip(&set).unwrap_or((D::INFO.name, Time::ZERO));
        if time == Time::ZERO {
            return Err(ParamError::Missing { name, why: "no round trip of a network is known here".into() });
        }
    }
    Ok(D::new(&set, port))
}

fn set<D: Discipline>(params: &[(String, ParamValue)]) -> Result<D::Params, ParamError> {
    let mut set = D::Params::default();
    for (name, value) in params {
        set.set(name, value.clone())?;
    }
    Ok(set)
}

/// The discipline called `name`.
pub fn find(name: &str) -> Option<(DisciplineInfo, Vec<ParamSpec>)> {
    all().into_iter().find(|(info, _)| info.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_the_list_are_the_names_declared() {
        let declared: Vec<_> = all().iter().map(|(info, _)| info.name).collect();
        assert_eq!(declared, NAMES);
    }

    #[test]
    fn the_gauges_of_a_discipline_are_the_ones_declared() {
        let buffer = Buffer { data: crate::Limit::Packets(8), control: crate::Limit::Packets(8) };
        let (rate, round_trip) = (headway_units::Rate::gbps(10), Some(Time::us(50)));
        let port = PortContext { rate, sizes: Sizes::default(), buffer, seed: 0, round_trip, to_host: false };
        for (name, declared) in GAUGES {
            let rules = AnyDiscipline::make(name, &[], &port).expect("known").expect("told");
            let queues =
                crate::queues::Queues::<u32>::new(rules.classes(), rules.is_strict(), rules.shapes());
            let names: Vec<_> = rules.gauges(Time::us(1), &queues).iter().map(|gauge| gauge.name).collect();
            assert_eq!(names, declared.iter().map(|info| info.name).collect::<Vec<_>>(), "{name}");
        }
    }

    #[test]
    fn who_needs_a_round_trip_is_told_one_or_refuses() {
        let buffer = Buffer { data: crate::Limit::Packets(8), control: crate::Limit::Packets(8) };
        let rate = headway_units::Rate::gbps(10);
        let mut port =
            PortContext { rate, sizes: Sizes::default(), buffer, seed: 0, round_trip: None, to_host: false };
        for (info, _) in all() {
            let needs = info.needs.contains(&Need::RoundTrip);
            for time in [None, Some(Time::ZERO)] {
                port.round_trip = time;
                let refused = AnyDiscipline::make(info.name, &[], &port).expect("known").err();
                let expected = "`round_trip` has to be given: no round trip of a network is known here";
                assert_eq!(refused.map(|e| e.to_string()), needs.then(|| expected.into()), "{}", info.name);
            }
            port.round_trip = Some(Time::us(50));
            AnyDiscipline::make(info.name, &[], &port).expect("known").expect("told");
            let shapes = AnyDiscipline::make(info.name, &[], &port).expect("known").expect("told").shapes();
            assert_eq!(info.needs.contains(&Need::Shaping), shapes, "{}", info.name);
        }
        port.round_trip = None;
        let said = [("round_trip".to_string(), ParamValue::Time(Time::us(9)))];
        AnyDiscipline::make("cross-queue-ecn", &said, &port).expect("known").expect("said");
    }

    #[test]
    fn headers_starve_data_where_nothing_bounds_them() {
        let csg = ("variant".to_string(), ParamValue::Choice("csg-htsim".into()));
        let bound = |n| ("headers_per_data".to_string(), ParamValue::Int(n));
        let starves = |set: &[(String, ParamValue)]| headers_starve_data("trimming", set);
        assert!(starves(std::slice::from_ref(&csg)) && starves(&[csg.clone(), bound(0)]));
        assert!(!starves(&[]) && !starves(&[bound(0)]) && !starves(&[csg, bound(3)]));
        let others: Vec<_> = NAMES.iter().filter(|name| headers_starve_data(name, &[])).collect();
        assert_eq!(others, [&"trimming-ecn", &"trimming-core-ecn"]);
    }
}
