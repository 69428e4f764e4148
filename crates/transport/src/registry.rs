//! The list of transports: one line each.

use crate::deploy::{self, Deployment};
use crate::endpoint::{
    Capabilities, CreditBound, CreditDemand, Endpoint, HostContext, Traffic, Transport, TransportInfo,
};
use crate::promises::Promised;
use crate::tcp::control::{Controlled, ControllerVisitor};
use headway_gauges::GaugeInfo;
use headway_packet::Family;
use headway_params::{ParamError, ParamSpec, ParamValue, Params, changed_values};
use headway_units::Rate;
use std::marker::PhantomData;

/// Something to do with a transport whose name is known only at run time, compiled once for each.
pub trait TransportVisitor {
    /// Result of a visit.
    type Output;
    /// The work, with the transport as a type.
    fn visit_transport<T: Transport>(self) -> Self::Output;
}

/// Something to do with a transport's promises to its test suite, compiled once for each transport.
pub trait PromisedVisitor {
    /// Result of a visit.
    type Output;
    /// The work, with the transport as a type.
    fn visit_promised_transport<T: Promised>(self) -> Self::Output;
}

/// A registered transport, for listings and documentation.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its own description.
    pub info: TransportInfo,
    /// Its declared parameters.
    pub params: Vec<ParamSpec>,
    /// Meaning of its packets' fields.
    pub packets: Family,
    /// Its requirements and effects on its surroundings.
    pub capabilities: Capabilities,
    /// Measurements of its machines.
    pub gauges: &'static [GaugeInfo],
    /// Probes of its machines, for one message each.
    pub probes: &'static [GaugeInfo],
    /// Its needs of a real network.
    pub deployment: Deployment,
    /// Changes of its behaviour within an epoch of all: [`Transport::REVISION`].
    pub revision: u32,
}

macro_rules! transports {
    ($($name:literal => $type:ty $(as $controlled:ident)?: $deployed:ident),+ $(,)?) => {
        /// Every name, in the order of the list.
        pub const NAMES: &[&str] = &[$($name),+];

        /// Runs `visitor` with the transport called `name`; `None` when there is none.
        pub fn visit_transport<V: TransportVisitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $($name => Some(visitor.visit_transport::<$type>()),)+
                _ => None,
            }
        }

        /// Needs of the transport called `name` in a real network; `None` when there is none of that name.
        pub fn deployment(name: &str) -> Option<Deployment> {
            match name {
                $($name => Some(deploy::$deployed),)+
                _ => None,
            }
        }

        /// Calls `visitor` with the promises of the transport called `name`; `None` when there is none of that name.
        pub fn visit_promised<V: PromisedVisitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $($name => Some(visitor.visit_promised_transport::<$type>()),)+
                _ => None,
            }
        }

        /// Runs `visitor` with the controller that decides the windows of the transport called `name`; `None` if the
        /// name is unknown, or if its machine decides by itself.
        pub fn visit_controller<V: ControllerVisitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $($($name => Some(visitor.visit_control::<<$type as $controlled>::Control>()),)?)+
                _ => None,
            }
        }
    };
}

transports! {
    "amrt" => crate::amrt::Amrt: AMRT,
    "homa" => crate::homa::Homa: HOMA,
    "homa-aeolus" => crate::homa::HomaAeolus: HOMA_AEOLUS,
    "expresspass" => crate::expresspass::ExpressPass: EXPRESSPASS,
    "expresspass-aeolus" => crate::expresspass::ExpressPassAeolus: EXPRESSPASS_AEOLUS,
    "ndp" => crate::ndp::Ndp: NDP,
    "phost" => crate::phost::Phost: PHOST,
    "proactmp" => crate::proactmp::ProactMp: PROACTMP,
    "rcp" => crate::rcp::Rcp: RCP,
    "rpo" => crate::rpo::Rpo: RPO,
    "tcp" => crate::tcp::NewReno as Controlled: RENO,
    "dctcp" => crate::tcp::Dctcp as Controlled: DCTCP,
    "d2tcp" => crate::tcp::D2tcp as Controlled: D2TCP,
    "l2dct" => crate::tcp::L2dct as Controlled: L2DCT,
    "cubic" => crate::tcp::Cubic as Controlled: CUBIC,
    "vegas" => crate::tcp::Vegas as Controlled: VEGAS,
    "bbr" => crate::tcp::Bbr as Controlled: BBR,
    "bbr3" => crate::tcp::Bbr3 as Controlled: BBR3,
    "mptcp-reno" => crate::mptcp::Reno as Controlled: MPTCP,
    "mptcp-cubic" => crate::mptcp::Cubic as Controlled: MPTCP,
    "mptcp-lia" => crate::mptcp::Lia as Controlled: MPTCP_COUPLED,
    "mptcp-olia" => crate::mptcp::Olia as Controlled: MPTCP_COUPLED,
    "mptcp-balia" => crate::mptcp::Balia as Controlled: MPTCP_COUPLED,
    "mptcp-wvegas" => crate::mptcp::Wvegas as Controlled: MPTCP_COUPLED,
    "dcpim" => crate::dcpim::Dcpim: DCPIM,
    "sird" => crate::sird::Sird: SIRD,
    "swift" => crate::tcp::Swift as Controlled: SWIFT,
    "eqds" => crate::eqds::Eqds: EQDS,
    "uet-nscc" => crate::uet::UetNscc: UET_NSCC,
    "uet-rccc" => crate::uet::UetRccc: UET_RCCC,
    "dcqcn" => crate::roce::Dcqcn: DCQCN,
    "timely" => crate::roce::Timely: TIMELY,
    "hpcc" => crate::roce::Hpcc: HPCC,
    "powertcp" => crate::roce::PowerTcp: POWERTCP,
    "powertcp-theta" => crate::roce::PowerTcpTheta: POWERTCP_THETA,
    "template" => crate::template::Template: TEMPLATE,
}

/// Operations on a transport that is chosen by name, so that all of them fit behind one pointer.
trait Registered {
    fn describe_entry(&self, deployment: Deployment) -> Entry;
    fn capabilities(&self) -> Capabilities;
    fn make_machine(&self, set: &[(String, ParamValue)], context: HostContext)
    -> Result<Machine, ParamError>;
    fn resolve_params(&self, set: &[(String, ParamValue)]) -> Result<Vec<ParamValue>, ParamError>;
    fn needs_pinned_paths(&self, set: &[(String, ParamValue)]) -> Result<bool, ParamError>;
    fn least_rate(&self, set: &[(String, ParamValue)]) -> Result<Option<Rate>, ParamError>;
    fn credit_bound(
        &self,
        set: &[(String, ParamValue)],
        demand: &CreditDemand,
    ) -> Result<Option<CreditBound>, ParamError>;
    fn tune_params(
        &self,
        set: &[(String, ParamValue)],
        traffic: &Traffic,
    ) -> Result<Vec<(&'static str, ParamValue)>, ParamError>;
}

struct Of<T>(PhantomData<T>);

impl<T: Transport> Registered for Of<T> {
    fn describe_entry(&self, deployment: Deployment) -> Entry {
        Entry {
            info: T::INFO,
            params: T::Params::specs(),
            packets: T::PACKETS,
            capabilities: T::CAPABILITIES,
            deployment,
            gauges: T::GAUGES,
            probes: T::PROBES,
            revision: T::REVISION,
        }
    }

    fn capabilities(&self) -> Capabilities {
        T::CAPABILITIES
    }

    fn make_machine(
        &self,
        set: &[(String, ParamValue)],
        context: HostContext,
    ) -> Result<Machine, ParamError> {
        Ok(Box::new(T::make_endpoint(&params_with(set)?, context)))
    }

    fn resolve_params(&self, set: &[(String, ParamValue)]) -> Result<Vec<ParamValue>, ParamError> {
        Ok(params_with::<T::Params>(set)?.values())
    }

    fn needs_pinned_paths(&self, set: &[(String, ParamValue)]) -> Result<bool, ParamError> {
        Ok(T::needs_pinned_paths(&params_with(set)?))
    }

    fn least_rate(&self, set: &[(String, ParamValue)]) -> Result<Option<Rate>, ParamError> {
        Ok(T::least_rate(&params_with(set)?))
    }

    fn credit_bound(
        &self,
        set: &[(String, ParamValue)],
        demand: &CreditDemand,
    ) -> Result<Option<CreditBound>, ParamError> {
        Ok(T::credit_bound(&params_with(set)?, demand))
    }

    fn tune_params(
        &self,
        set: &[(String, ParamValue)],
        traffic: &Traffic,
    ) -> Result<Vec<(&'static str, ParamValue)>, ParamError> {
        let mut params = params_with::<T::Params>(set)?;
        let before = params.values();
        // `tune_params` does not say which parameters it sets: they are found by comparison.
        T::tune_params(&mut params, traffic);
        Ok(changed_values(&T::Params::specs(), params.values(), &before))
    }
}

/// Parameters that have their defaults but for these.
// Six methods of each transport call it, and would each have a copy.
#[inline(never)]
fn params_with<P: Params>(set: &[(String, ParamValue)]) -> Result<P, ParamError> {
    let mut params = P::default();
    set.iter().try_for_each(|(name, value)| params.set(name, value.clone()))?;
    Ok(params)
}

fn find_registered(name: &str) -> Option<&'static dyn Registered> {
    struct Find;
    impl TransportVisitor for Find {
        type Output = &'static dyn Registered;
        fn visit_transport<T: Transport>(self) -> Self::Output {
            // A constant without content, so that the reference lives as long as the program.
            &Of::<T>(PhantomData)
        }
    }
    visit_transport(name, Find)
}

/// Every transport, in the order of the list.
pub fn all_entries() -> Vec<Entry> {
    NAMES.iter().filter_map(|name| find_entry(name)).collect()
}

/// The transport called `name`.
pub fn find_entry(name: &str) -> Option<Entry> {
    Some(find_registered(name)?.describe_entry(deployment(name)?))
}

/// Requirements and effects of the transport called `name`. The call costs nothing, while an [`Entry`]
/// writes down every parameter.
pub fn capabilities(name: &str) -> Option<Capabilities> {
    Some(find_registered(name)?.capabilities())
}

/// A machine behind a pointer, of whichever transport.
pub type Machine = Box<dyn Endpoint + Send>;

/// A machine of the transport called `name` for one host, with these parameters set; `None` if the name is unknown.
pub fn make_machine(
    name: &str,
    set: &[(String, ParamValue)],
    context: HostContext,
) -> Option<Result<Machine, ParamError>> {
    Some(find_registered(name)?.make_machine(set, context))
}

/// The value of every parameter of the transport called `name` once these are set, in declared order.
/// A parameter may set others, as a preset does.
pub fn resolve_params(
    name: &str,
    set: &[(String, ParamValue)],
) -> Option<Result<Vec<ParamValue>, ParamError>> {
    Some(find_registered(name)?.resolve_params(set))
}

/// Every parameter of the transport called `name` with its value once these are set; empty if the name is unknown, or
/// if the transport refuses one of them.
pub fn param_settings(name: &str, set: &[(String, ParamValue)]) -> Vec<(&'static str, ParamValue)> {
    let known = find_entry(name).map(|entry| entry.params).unwrap_or_default();
    let values = resolve_params(name, set).and_then(Result::ok).unwrap_or_default();
    known.iter().map(|spec| spec.name).zip(values).collect()
}

/// True if the transport called `name` has parameters that follow from the traffic.
pub fn tunes_params(name: &str) -> bool {
    capabilities(name).is_some_and(|capabilities| capabilities.tunes)
}

/// True if the transport called `name` has messages whose subflows must take different paths once these parameters
/// are set: [`Transport::needs_pinned_paths`].
pub fn needs_pinned_paths(name: &str, set: &[(String, ParamValue)]) -> bool {
    // Parameters that the transport refuses are reported where its machine is made.
    find_registered(name).is_some_and(|transport| transport.needs_pinned_paths(set).unwrap_or(false))
}

/// The rate below which senders of the transport called `name` do not go once these parameters are set:
/// [`Transport::least_rate`].
pub fn least_rate(name: &str, set: &[(String, ParamValue)]) -> Option<Rate> {
    find_registered(name)?.least_rate(set).ok()?
}

/// Bound of the credits on their way to senders, where receivers of the transport called `name` give out any once these
/// parameters are set: [`Transport::credit_bound`].
pub fn credit_bound(name: &str, set: &[(String, ParamValue)], demand: &CreditDemand) -> Option<CreditBound> {
    find_registered(name)?.credit_bound(set, demand).ok()?
}

/// The parameters in `set`, and the values that the transport called `name` derives from the traffic for others.
pub fn tune_params(
    name: &str,
    set: &[(String, ParamValue)],
    traffic: &Traffic,
) -> Option<Result<Vec<(String, ParamValue)>, ParamError>> {
    let added = |changed: Vec<(&str, ParamValue)>| {
        let changed = changed.into_iter().map(|(name, value)| (name.to_string(), value));
        set.iter().cloned().chain(changed).collect()
    };
    Some(find_registered(name)?.tune_params(set, traffic).map(added))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Path;
    use headway_packet::{HostId, Sizes};
    use headway_units::Time;

    #[test]
    fn names_in_the_list_are_the_names_declared() {
        // The list repeats the names, because the arms of a match are literals.
        let declared: Vec<_> = all_entries().iter().map(|e| e.info.name).collect();
        assert_eq!(declared, NAMES);
    }

    #[test]
    fn the_gauges_of_a_machine_are_the_ones_declared() {
        struct Measured;
        impl TransportVisitor for Measured {
            type Output = Vec<&'static str>;
            fn visit_transport<T: Transport>(self) -> Vec<&'static str> {
                let rate = Rate::gbps(10);
                let path = Path {
                    longest_timeout: Time::MAX,
                    base_rtt: Time::us(50),
                    max_rtt: Time::us(500),
                    bottleneck: rate,
                    paths: 0,
                    hops: 1,
                };
                let (sizes, path) = (Sizes::default(), Box::new(move |_| path));
                let host = HostContext { host: HostId(0), nic: rate, sizes, seed: 0, path };
                let machine = T::make_endpoint(&T::Params::default(), host);
                machine.collect_gauges(Time::us(1)).iter().map(|gauge| gauge.name).collect()
            }
        }
        for entry in all_entries() {
            let declared: Vec<_> = entry.gauges.iter().map(|info| info.name).collect();
            assert_eq!(visit_transport(entry.info.name, Measured), Some(declared), "{}", entry.info.name);
        }
    }
}
