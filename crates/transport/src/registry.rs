//! The list of transports: one line each.

use crate::endpoint::{Traffic, Transport, TransportInfo};
use headway_units::{ParamError, ParamSpec, ParamValue, Params};

/// Something to do with a transport whose name is known only at run time, compiled once for each.
pub trait TransportVisitor {
    /// What it makes.
    type Output;
    /// The work, with the transport as a type.
    fn visit<T: Transport>(self) -> Self::Output;
}

/// A registered transport, for listings and documentation.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its own description.
    pub info: TransportInfo,
    /// Its declared parameters.
    pub params: Vec<ParamSpec>,
    /// Whether it needs both directions of a flow on the same links.
    pub symmetric: bool,
    /// Whether packets of one message may take several paths although switches choose by flow.
    pub multipath: bool,
    /// Whether its windows grow until packets are lost or marked: senders find their own rate.
    pub window_grows: bool,
    /// Whether receivers give out credits at the rate of a link, whether data answers them or not.
    pub credits: bool,
}

macro_rules! transports {
    ($($name:literal => $type:ty),+ $(,)?) => {
        /// Every name, in the order of the list.
        pub const NAMES: &[&str] = &[$($name),+];

        /// Every transport's description and parameters.
        pub fn all() -> Vec<Entry> {
            vec![$(Entry {
                info: <$type as Transport>::INFO,
                params: <<$type as Transport>::Params as Params>::specs(),
                symmetric: <$type as Transport>::SYMMETRIC,
                multipath: <$type as Transport>::MULTIPATH,
                window_grows: <$type as Transport>::WINDOW_GROWS,
                credits: <$type as Transport>::CREDITS,
            }),+]
        }

        /// Runs `visitor` with the transport called `name`; `None` when there is none.
        pub fn visit<V: TransportVisitor>(name: &str, visitor: V) -> Option<V::Output> {
            match name {
                $($name => Some(visitor.visit::<$type>()),)+
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
    "tcp" => crate::tcp::NewReno,
    "dctcp" => crate::tcp::Dctcp,
    "d2tcp" => crate::tcp::D2tcp,
    "l2dct" => crate::tcp::L2dct,
    "cubic" => crate::tcp::Cubic,
    "vegas" => crate::tcp::Vegas,
    "bbr" => crate::tcp::Bbr,
    "mptcp-reno" => crate::mptcp::Reno,
    "mptcp-cubic" => crate::mptcp::Cubic,
    "mptcp-lia" => crate::mptcp::Lia,
    "mptcp-olia" => crate::mptcp::Olia,
    "mptcp-balia" => crate::mptcp::Balia,
    "mptcp-wvegas" => crate::mptcp::Wvegas,
    "template" => crate::template::Template,
}

/// The transport called `name`.
pub fn find(name: &str) -> Option<Entry> {
    all().into_iter().find(|entry| entry.info.name == name)
}

/// The value of every parameter of the transport called `name` once these are set, in declared order.
/// A parameter may set others, as a preset does.
pub fn resolved(name: &str, set: &[(String, ParamValue)]) -> Option<Result<Vec<ParamValue>, ParamError>> {
    struct Resolve<'a>(&'a [(String, ParamValue)]);
    impl TransportVisitor for Resolve<'_> {
        type Output = Result<Vec<ParamValue>, ParamError>;
        fn visit<T: Transport>(self) -> Self::Output {
            let mut params = T::Params::default();
            self.0.iter().try_for_each(|(name, value)| params.set(name, value.clone()))?;
            Ok(params.values())
        }
    }
    visit(name, Resolve(set))
}

/// Whether the transport called `name` has parameters that follow from the traffic.
pub fn tunes(name: &str) -> bool {
    struct Tunes;
    impl TransportVisitor for Tunes {
        type Output = bool;
        fn visit<T: Transport>(self) -> bool {
            T::TUNES
        }
    }
    visit(name, Tunes).unwrap_or(false)
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
            let mut params = T::Params::default();
            self.0.iter().try_for_each(|(name, value)| params.set(name, value.clone()))?;
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

    #[test]
    fn names_in_the_list_are_the_names_declared() {
        let declared: Vec<_> = all().iter().map(|e| e.info.name).collect();
        assert_eq!(declared, NAMES);
    }
}
