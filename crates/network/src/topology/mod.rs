//! Kinds of topology: each is a file here, and a line in [`topologies!`] below.
//!
//! A topology declares its keys, and from what they say it is made ([`Declared`]). Everything else that anybody asks
//! about a shape is a method of [`Topology`]: its wiring, its size, its capacities, and how it is drawn. Nothing outside
//! its file knows a topology by its name.

mod keys;
mod next_hops;
pub mod sketch;

pub use keys::{Info, Key, Kind, SWITCH_LATENCY, Usual, Value, Values};
pub(crate) use next_hops::{FromTable, Hop, NextHops};

use crate::error::BuildError;
use crate::interfaces::Owners;
use crate::link::{Link, LinkSpec};
use headway_units::Rate;
use sketch::Sketch;

/// Declares the files of all topologies, and makes the enum of them, the list of their names, and the enum of
/// how they compute next hops.
macro_rules! topologies {
    ($($module:ident::$name:ident),+ $(,)?) => {
        $(
            mod $module;
            pub use $module::$name;
        )+

        /// A topology of any kind.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum TopologySpec {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name),
            )+
        }

        $(impl From<$name> for TopologySpec {
            fn from(topology: $name) -> TopologySpec {
                TopologySpec::$name(topology)
            }
        })+

        impl std::ops::Deref for TopologySpec {
            type Target = dyn Topology;

            fn deref(&self) -> &(dyn Topology + 'static) {
                match self {
                    $(TopologySpec::$name(topology) => topology),+
                }
            }
        }

        impl std::ops::DerefMut for TopologySpec {
            fn deref_mut(&mut self) -> &mut (dyn Topology + 'static) {
                match self {
                    $(TopologySpec::$name(topology) => topology),+
                }
            }
        }

        /// Every kind: its declarations, and its maker.
        pub const KINDS: &[(Info, fn(&Values) -> TopologySpec)] =
            &[$((<$name as Declared>::INFO, |values| <$name as Declared>::of(values).into())),+];

        /// Computation of next hops, for a topology that has one.
        pub(crate) enum Computed {
            $($name(<$name as Declared>::NextHops)),+
        }

        impl Computed {
            pub(crate) fn new(topology: &TopologySpec) -> Computed {
                match topology {
                    $(TopologySpec::$name(topology) => Computed::$name(NextHops::new(topology))),+
                }
            }

            /// No next hops that are computed: a table has all.
            pub(crate) fn none() -> Computed {
                Computed::Graph(FromTable)
            }

            /// True if no table is needed.
            pub(crate) fn is_all(&self) -> bool {
                match self {
                    $(Computed::$name(_) => <<$name as Declared>::NextHops as NextHops<$name>>::COMPUTED),+
                }
            }

            /// True if both directions meet: see [`NextHops::ALIKE`].
            pub(crate) fn is_alike(&self) -> bool {
                match self {
                    $(Computed::$name(_) => <<$name as Declared>::NextHops as NextHops<$name>>::ALIKE),+
                }
            }

            /// Next hops as a list: see [`NextHops::list`].
            pub(crate) fn list(&self) -> Vec<u32> {
                match self {
                    $(Computed::$name(hops) => NextHops::<$name>::list(hops)),+
                }
            }

            /// The next hop from a switch to a host; `None` where a table has it.
            #[inline(always)]
            pub(crate) fn hop(&self, switch: u32, dst: u32) -> Option<Hop> {
                match self {
                    $(Computed::$name(hops) => NextHops::<$name>::hop(hops, switch, dst)),+
                }
            }
        }
    };
}

topologies! {
    single_switch::SingleSwitch,
    dumbbell::Dumbbell,
    parking_lot::ParkingLot,
    leaf_spine::LeafSpine,
    dual_homed::DualHomed,
    fat_tree::FatTree,
    three_tier::ThreeTier,
    rail::Rail,
    torus::Torus,
    dragonfly::Dragonfly,
    graph::Graph,
}

/// Counts of everything, before anything is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of hosts.
    pub hosts: u64,
    /// Number of switches.
    pub switches: u64,
    /// Number of directed links.
    pub links: u64,
}

/// Directed links that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Number of these links.
    pub count: u64,
    /// Rate and delay of each.
    pub link: LinkSpec,
    /// True if they leave a switch.
    pub from_switch: bool,
    /// Number of them that the longest path crosses.
    pub hops: u64,
}

/// Properties of a shape. Hosts are numbered from 0, and switches from 0.
pub trait Topology {
    /// Size of the topology.
    fn size(&self) -> Size;

    /// Adds its hosts, its switches and its links; an error names its fault.
    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError>;

    /// Its links by their likeness. Where a path may cross a link more than once, it counts once.
    fn tiers(&self) -> Vec<Tier>;

    /// All that describe its links, to be changed.
    fn links_mut(&mut self) -> Vec<&mut LinkSpec>;

    /// Number of interfaces of all hosts.
    fn interfaces(&self) -> u64 {
        self.size().hosts
    }

    /// True if the link of an interface is among those that a load on hosts' links is relative to.
    fn bears_load(&self, _interface: u32) -> bool {
        true
    }

    /// The link of every host towards the network, where all are alike.
    fn host_link(&self) -> Option<LinkSpec>;

    /// Adds its picture.
    fn draw(&self, sketch: &mut Sketch);

    /// The name of a switch in results.
    fn switch_name(&self, switch: u32) -> String {
        format!("s{switch}")
    }

    /// Sum of the rates of some hosts' links, in bits per second.
    fn host_bps(&self, hosts: &[u32]) -> f64 {
        self.host_link().map_or(0.0, |link| link.rate.bps() as f64 * hosts.len() as f64)
    }

    /// The first host of each switch that has hosts, and at the end the number of hosts; `None` where switches are not
    /// told apart.
    fn racks(&self) -> Option<Vec<u32>> {
        None
    }

    /// Capacity from hosts' switches into the rest of the network, in bits per second, where it is one number.
    fn core_bps(&self) -> Option<f64> {
        None
    }

    /// Rate of the one link that all flows from some hosts to others cross, where there is one between switches.
    fn between(&self, _senders: &[u32], _receivers: &[u32]) -> Option<Rate> {
        None
    }

    /// Names of the links that "the bottleneck" usually means; empty if none is obvious.
    fn bottlenecks(&self) -> Vec<String> {
        Vec::new()
    }

    /// True if switches may have several paths to choose from.
    fn has_many_paths(&self) -> bool {
        false
    }

    /// By host the pieces of the network that its interfaces are in, where there may be several.
    fn pieces(&self) -> Option<Vec<Vec<u32>>> {
        None
    }
}

/// A kind of topology: its name, its keys, and its source.
pub(crate) trait Declared: Topology + Clone + Into<TopologySpec> {
    /// Its name, its keys.
    const INFO: Info;
    /// Computation of next hops; [`FromTable`] if it has none.
    type NextHops: NextHops<Self>;

    /// One of it, from the values of all its keys.
    fn of(values: &Values) -> Self;
}

/// A network as it is wired.
#[derive(Debug, Default)]
pub struct Wiring {
    pub(crate) interfaces: u32,
    /// By interface its host; empty where every host has one.
    pub(crate) owners: Vec<u32>,
    /// By interface the first of those that are ports of one; empty where none are.
    pub(crate) bonds: Vec<u32>,
    pub(crate) switches: u32,
    pub(crate) links: Vec<Link>,
}

impl Wiring {
    /// Says how many nodes there are; every host has one interface.
    pub fn nodes(&mut self, hosts: u32, switches: u32) {
        (self.interfaces, self.switches) = (hosts, switches);
    }

    /// Says how many nodes there are where hosts have several interfaces; `owners` has the host of each interface. Interfaces
    /// are the first nodes, each with one link.
    pub fn interfaces(&mut self, owners: Vec<u32>, switches: u32) {
        (self.interfaces, self.switches) = (owners.len() as u32, switches);
        self.owners = owners;
    }

    /// Makes interfaces ports of one: `bonds` has for each interface the first of its ports. They are equally fast.
    pub fn bond(&mut self, bonds: Vec<u32>) {
        self.bonds = bonds;
    }

    /// The node of a switch.
    pub fn switch(&self, number: u32) -> u32 {
        self.interfaces + number
    }

    /// Both directions of a link between two nodes, one after the other.
    pub fn join(&mut self, a: u32, b: u32, spec: LinkSpec) {
        self.join_uneven(a, b, spec, spec);
    }

    /// Adds a link with other properties from `b` to `a`.
    pub fn join_uneven(&mut self, a: u32, b: u32, spec: LinkSpec, back: LinkSpec) {
        self.links.push(Link { from: a, to: b, spec, back: back.delay });
        self.links.push(Link { from: b, to: a, spec: back, back: spec.delay });
    }

    /// One direction of a link that is the same both ways.
    pub fn one_way(&mut self, from: u32, to: u32, spec: LinkSpec) {
        self.links.push(Link { from, to, spec, back: spec.delay });
    }
}

fn positive(what: &str, n: u32) -> Result<(), BuildError> {
    if n == 0 { Err(BuildError::Shape(format!("{what} must be at least 1"))) } else { Ok(()) }
}

/// The links of hosts, to their switch and from it.
fn ends(hosts: u64, link: LinkSpec) -> Vec<Tier> {
    [false, true].map(|from_switch| Tier { count: hosts, link, from_switch, hops: 1 }).into()
}

/// The tier of hosts, and one of links between switches.
fn two_tiers(size: Size, host: LinkSpec, inner: LinkSpec, hops: u64) -> Vec<Tier> {
    let mut tiers = ends(size.hosts, host);
    let count = size.links.saturating_sub(2 * size.hosts);
    tiers.push(Tier { count, link: inner, from_switch: true, hops });
    tiers
}

impl TopologySpec {
    /// Rate of its slowest link.
    pub fn slowest(&self) -> Rate {
        self.rates().min_by_key(|r| r.bps()).unwrap_or(Rate::gbps(1))
    }

    /// Rate of its fastest link.
    pub fn fastest(&self) -> Rate {
        self.rates().max_by_key(|r| r.bps()).unwrap_or(Rate::gbps(1))
    }

    /// Rates of tiers that have links: the smallest of a shape may have none.
    fn rates(&self) -> impl Iterator<Item = Rate> {
        self.tiers().into_iter().filter(|tier| tier.count > 0).map(|tier| tier.link.rate)
    }

    /// Name of a node: an interface is called as its host.
    pub(crate) fn node_name(&self, node: u32, interfaces: u32, owners: &Owners) -> String {
        match node.checked_sub(interfaces) {
            None => format!("h{}", owners.host_of(node)),
            Some(switch) => self.switch_name(switch),
        }
    }

    /// Names of all directed links, in the order in which they are wired.
    pub fn link_names(&self) -> Result<Vec<String>, BuildError> {
        let mut wiring = Wiring::default();
        self.wire(&mut wiring)?;
        let owners = Owners::new(wiring.interfaces, wiring.owners, Vec::new())?;
        let name = |node: u32| self.node_name(node, wiring.interfaces, &owners);
        Ok(wiring.links.iter().map(|link| format!("{}->{}", name(link.from), name(link.to))).collect())
    }

    /// True if its next hops are computed. A table of them takes memory for each pair of switches.
    pub fn has_computed_hops(&self) -> bool {
        Computed::new(self).is_all()
    }
}
