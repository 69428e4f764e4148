//! The list of transports: one line each.

use crate::endpoint::{
    Capabilities, CreditBound, CreditDemand, Endpoint, HostContext, Traffic, Transport, TransportInfo,
};
use crate::promises::Promised;
use crate::tcp::control::{Controlled, ControllerVisitor};
use headway_gauges::GaugeInfo;
use headway_packet::Family;
use headway_params::{ParamError, ParamSpec, ParamValue, Params};
use headway_units::Rate;

/// Something to do with a transport whose name is known only at run time, compiled once for each.
pub trait TransportVisitor {
    /// What it makes.
    type Output;
    /// The work, with the transport as a type.
    fn visit<T: Transport>(self) -> Self::Output;
}

/// The same, of what a test suite holds the transport to.
pub trait PromisedVisitor {
    /// What it makes.
    type Output;
    /// The work, with the transport as a type.
    fn visit<T: Promised>(self) -> Self::Output;
}

/// A registered transport, for listings and documentation.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its own description.
    pub info: TransportInfo,
    /// Its declared parameters.
    pub params: Vec<ParamSpec>,
    /// What its packets hold.
    pub packets: Family,
    /// What it needs of its surroundings and does to them.
    pub capabilities: Capabilities,
    /// What its machines measure of themselves.
    pub gauges: &'static [GaugeInfo],
    /// What its machines can be asked of one message.
    pub probes: &'static [GaugeInfo],
    /// Changes of its behaviour within an epoch of all: [`Transport::REVISION`].
    pub revision: u32,
}

macro_rules! transports {
    ($($name:literal => $type:ty $(as $controlled:ident)?),+ $(,)?) => {
        /// Every name, in the order of the list.
        pub const NAMES: &[&str] = &[$($name),+];

        /// Runs `visitor` with the transport called `name`; `None` when there is none.
        pub fn visit<V: TransportVisitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $($name => Some(visitor.visit::<$type>()),)+
                _ => None,
            }
        }

        /// The same, for what a test suite holds it to.
        pub fn visit_promised<V: PromisedVisitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $($name => Some(visitor.visit::<$type>()),)+
                _ => None,
            }
        }

        /// Runs `visitor` with the controller that decides the windows of the transport called `name`; `None` when there
        /// is no such transport, or its machine decides by itself.
        pub fn visit_controller<V: ControllerVisitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $($($name => Some(visitor.visit::<<$type as $controlled>::Control>()),)?)+
                _ => None,
            }
        }
    };
}

transports! {
    "amrt" => crate::amrt::Amrt,
    "homa" => crate::homa::Homa,
    "homa-aeolus" => crate::homa::HomaAeolus,
    "expresspass" => crate::expresspass::ExpressPass,
    "expresspass-aeolus" => crate::expresspass::ExpressPassAeolus,
    "ndp" => crate::ndp::Ndp,
    "phost" => crate::phost::Phost,
    "proactmp" => crate::proactmp::ProactMp,
    "rcp" => crate::rcp::Rcp,
    "rpo" => crate::rpo::Rpo,
    "tcp" => crate::tcp::NewReno as Controlled,
    "dctcp" => crate::tcp::Dctcp as Controlled,
    "d2tcp" => crate::tcp::D2tcp as Controlled,
    "l2dct" => crate::tcp::L2dct as Controlled,
    "cubic" => crate::tcp::Cubic as Controlled,
    "vegas" => crate::tcp::Vegas as Controlled,
    "bbr" => crate::tcp::Bbr as Controlled,
    "bbr3" => crate::tcp::Bbr3 as Controlled,
    "mptcp-reno" => crate::mptcp::Reno as Controlled,
    "mptcp-cubic" => crate::mptcp::Cubic as Controlled,
    "mptcp-lia" => crate::mptcp::Lia as Controlled,
    "mptcp-olia" => crate::mptcp::Olia as Controlled,
    "mptcp-balia" => crate::mptcp::Balia as Controlled,
    "mptcp-wvegas" => crate::mptcp::Wvegas as Controlled,
    "dcpim" => crate::dcpim::Dcpim,
    "sird" => crate::sird::Sird,
    "swift" => crate::tcp::Swift as Controlled,
    "eqds" => crate::eqds::Eqds,
    "uet-nscc" => crate::uet::UetNscc,
    "uet-rccc" => crate::uet::UetRccc,
    "dcqcn" => crate::roce::Dcqcn,
    "timely" => crate::roce::Timely,
    "hpcc" => crate::roce::Hpcc,
    "powertcp" => crate::roce::PowerTcp,
    "powertcp-theta" => crate::roce::PowerTcpTheta,
    "template" => crate::template::Template,
}

/// Every transport, in the order of the list.
pub fn all() -> Vec<Entry> {
    NAMES.iter().filter_map(|name| find(name)).collect()
}

/// The transport called `name`.
pub fn find(name: &str) -> Option<Entry> {
    struct Whole;
    impl TransportVisitor for Whole {
        type Output = Entry;
        fn visit<T: Transport>(self) -> Entry {
            Entry {
                info: T::INFO,
                params: T::Params::specs(),
                packets: T::PACKETS,
                capabilities: T::CAPABILITIES,
                gauges: T::GAUGES,
                probes: T::PROBES,
                revision: T::REVISION,
            }
        }
    }
    visit(name, Whole)
}

/// What the transport called `name` needs of its surroundings and does to them. It costs nothing, while an [`Entry`]
/// writes down every parameter.
pub fn capabilities(name: &str) -> Option<Capabilities> {
    struct Declared;
    impl TransportVisitor for Declared {
        type Output = Capabilities;
        fn visit<T: Transport>(self) -> Capabilities {
            T::CAPABILITIES
        }
    }
    visit(name, Declared)
}

/// Parameters that have their defaults but for these.
fn with<P: Params>(set: &[(String, ParamValue)]) -> Result<P, ParamError> {
    let mut params = P::default();
    set.iter().try_for_each(|(name, value)| params.set(name, value.clone()))?;
    Ok(params)
}

/// A machine behind a pointer, of whichever transport.
pub type Machine = Box<dyn Endpoint + Send>;

/// A machine of the transport called `name` for one host, with these parameters set; `None` when there is no such
/// transport.
///
/// Machines with a controller are generic. They are compiled here, and where the compiler shares generic code, which it
/// does at the level that tests are built at, crates that build upon this one do not compile them again.
pub fn machine(
    name: &str,
    set: &[(String, ParamValue)],
    context: HostContext,
) -> Option<Result<Machine, ParamError>> {
    struct Make<'a>(&'a [(String, ParamValue)], HostContext);
    impl TransportVisitor for Make<'_> {
        type Output = Result<Machine, ParamError>;
        fn visit<T: Transport>(self) -> Self::Output {
            Ok(Box::new(T::endpoint(&with(self.0)?, self.1)))
        }
    }
    visit(name, Make(set, context))
}

/// The value of every parameter of the transport called `name` once these are set, in declared order.
/// A parameter may set others, as a preset does.
pub fn resolved(name: &str, set: &[(String, ParamValue)]) -> Option<Result<Vec<ParamValue>, ParamError>> {
    struct Resolve<'a>(&'a [(String, ParamValue)]);
    impl TransportVisitor for Resolve<'_> {
        type Output = Result<Vec<ParamValue>, ParamError>;
        fn visit<T: Transport>(self) -> Self::Output {
            Ok(with::<T::Params>(self.0)?.values())
        }
    }
    visit(name, Resolve(set))
}

/// Every parameter of the transport called `name` with its value once these are set; nothing where there is no such
/// transport, or where it refuses one of them.
pub fn settings(name: &str, set: &[(String, ParamValue)]) -> Vec<(&'static str, ParamValue)> {
    let known = find(name).map(|entry| entry.params).unwrap_or_default();
    let values = resolved(name, set).and_then(Result::ok).unwrap_or_default();
    known.iter().map(|spec| spec.name).zip(values).collect()
}

/// Whether the transport called `name` has parameters that follow from the traffic.
pub fn tunes(name: &str) -> bool {
    find(name).is_some_and(|entry| entry.capabilities.tunes)
}

/// Whether the transport called `name` has messages whose subflows are to take different paths once these parameters
/// are set: [`Transport::needs_pinned_paths`].
pub fn needs_pinned_paths(name: &str, set: &[(String, ParamValue)]) -> bool {
    struct Ask<'a>(&'a [(String, ParamValue)]);
    impl TransportVisitor for Ask<'_> {
        type Output = bool;
        fn visit<T: Transport>(self) -> bool {
            with(self.0).is_ok_and(|params| T::needs_pinned_paths(&params))
        }
    }
    visit(name, Ask(set)).unwrap_or(false)
}

/// The rate below which senders of the transport called `name` do not go once these parameters are set:
/// [`Transport::least_rate`].
pub fn least_rate(name: &str, set: &[(String, ParamValue)]) -> Option<Rate> {
    struct Ask<'a>(&'a [(String, ParamValue)]);
    impl TransportVisitor for Ask<'_> {
        type Output = Option<Rate>;
        fn visit<T: Transport>(self) -> Option<Rate> {
            T::least_rate(&with(self.0).ok()?)
        }
    }
    visit(name, Ask(set)).flatten()
}

/// Bound of the credits on their way to senders, where receivers of the transport called `name` give out any once these
/// parameters are set: [`Transport::credit_bound`].
pub fn credit_bound(name: &str, set: &[(String, ParamValue)], demand: &CreditDemand) -> Option<CreditBound> {
    struct Ask<'a>(&'a [(String, ParamValue)], &'a CreditDemand);
    impl TransportVisitor for Ask<'_> {
        type Output = Option<CreditBound>;
        fn visit<T: Transport>(self) -> Option<CreditBound> {
            T::credit_bound(&with(self.0).ok()?, self.1)
        }
    }
    visit(name, Ask(set, demand)).flatten()
}

/// What is set, and what the transport called `name` makes of the traffic for parameters that are not.
pub fn tuned(
    name: &str,
    set: &[(String, ParamValue)],
    traffic: &Traffic,
) -> Option<Result<Vec<(String, ParamValue)>, ParamError>> {
    struct Tune<'a>(&'a [(String, ParamValue)], &'a Traffic);
    impl TransportVisitor for Tune<'_> {
        type Output = Result<Vec<(String, ParamValue)>, ParamError>;
        fn visit<T: Transport>(self) -> Self::Output {
            let mut params = with::<T::Params>(self.0)?;
            let before = params.values();
            T::tune(&mut params, self.1);
            let specs = T::Params::specs();
            let changed = specs.iter().zip(params.values()).zip(before).filter(|((_, new), old)| new != old);
            let added = changed.map(|((spec, new), _)| (spec.name.to_string(), new));
            Ok(self.0.iter().cloned().chain(added).collect())
        }
    }
    visit(name, Tune(set, traffic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Path;
    use headway_packet::{HostId, Sizes};
    use headway_units::Time;

    #[test]
    fn names_in_the_list_are_the_names_declared() {
        let declared: Vec<_> = all().iter().map(|e| e.info.name).collect();
        assert_eq!(declared, NAMES);
    }

    #[test]
    fn the_gauges_of_a_machine_are_the_ones_declared() {
        struct Measured;
        impl TransportVisitor for Measured {
            type Output = Vec<&'static str>;
            fn visit<T: Transport>(self) -> Vec<&'static str> {
                let rate = Rate::gbps(10);
                let path = Path {
                    base_rtt: Time::us(50),
                    max_rtt: Time::us(500),
                    bottleneck: rate,
                    paths: 0,
                    hops: 1,
                };
                let (sizes, path) = (Sizes::default(), Box::new(move |_| path));
                let host = HostContext { host: HostId(0), nic: rate, sizes, seed: 0, path };
                let machine = T::endpoint(&T::Params::default(), host);
                machine.gauges(Time::us(1)).iter().map(|gauge| gauge.name).collect()
            }
        }
        for entry in all() {
            let declared: Vec<_> = entry.gauges.iter().map(|info| info.name).collect();
            assert_eq!(visit(entry.info.name, Measured), Some(declared), "{}", entry.info.name);
        }
    }
}
