//! The list of port disciplines: one line each.

use crate::discipline::{Arrival, Departing, Discipline, DisciplineInfo, PortContext};
use crate::{AntiEcn, DropReason, DropTail, EcnThreshold, StrictPriority};
use headway_packet::Packet;
use headway_units::{ParamError, ParamSpec, ParamValue, Params};

macro_rules! disciplines {
    ($($name:literal => $variant:ident),+ $(,)?) => {
        /// Every name, in the order of the list.
        pub const NAMES: &[&str] = &[$($name),+];

        /// The rules of a port, chosen at run time.
        #[derive(Clone, Debug)]
        pub enum AnyDiscipline { $(#[doc = $name] $variant($variant)),+ }

        impl AnyDiscipline {
            /// The discipline called `name` with `params` set, for one port; `None` when there is none.
            pub fn make(name: &str, params: &[(String, ParamValue)], port: &PortContext) -> Option<Result<Self, ParamError>> {
                match name {
                    $($name => Some(with::<$variant>(params, port).map(AnyDiscipline::$variant)),)+
                    _ => None,
                }
            }

            pub(crate) fn classes(&self) -> usize {
                match self { $(AnyDiscipline::$variant(d) => d.classes()),+ }
            }

            #[inline]
            pub(crate) fn class_of(&self, packet: &Packet) -> usize {
                match self { $(AnyDiscipline::$variant(d) => d.class_of(packet)),+ }
            }

            #[inline]
            pub(crate) fn admit(&mut self, port: &PortContext, arrival: &Arrival, packet: &mut Packet) -> Result<(), DropReason> {
                match self { $(AnyDiscipline::$variant(d) => d.admit(port, arrival, packet)),+ }
            }

            #[inline]
            pub(crate) fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
                match self { $(AnyDiscipline::$variant(d) => d.depart(departing, packet)),+ }
            }
        }

        /// Every discipline's description and parameters.
        pub fn all() -> Vec<(DisciplineInfo, Vec<ParamSpec>)> {
            vec![$((<$variant as Discipline>::INFO, <<$variant as Discipline>::Params as Params>::specs())),+]
        }
    };
}

disciplines! {
    "drop-tail" => DropTail,
    "strict-priority" => StrictPriority,
    "anti-ecn" => AntiEcn,
    "ecn-threshold" => EcnThreshold,
}

fn with<D: Discipline>(params: &[(String, ParamValue)], port: &PortContext) -> Result<D, ParamError> {
    let mut set = D::Params::default();
    for (name, value) in params {
        set.set(name, value.clone())?;
    }
    Ok(D::new(&set, port))
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
}
