//! Declaration of a topology's keys, and the values that it is made from.

use crate::link::LinkSpec;
use headway_units::{Rate, Time};
use std::collections::BTreeMap;

/// A kind of topology, for listings, for messages, and for readers of scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for listings and the documentation.
    pub summary: &'static str,
    /// Its keys, in the order in which they are read.
    pub keys: &'static [Key],
    /// Keys that determine its size most.
    pub size: &'static [&'static str],
}

/// Declaration of one key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name of the key.
    pub name: &'static str,
    /// Kind of value that the key takes.
    pub kind: Kind,
    /// Default of the key.
    pub usual: Usual,
    /// One sentence for the documentation.
    pub doc: &'static str,
}

/// Kind of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of at least 1.
    Count,
    /// An even number from 2 to 65,534.
    EvenCount,
    /// A rate with a unit.
    Rate,
    /// A duration with a unit.
    Duration,
    /// A file with a graph.
    Graph,
}

impl Kind {
    /// Name of the kind in listings.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Count => "count",
            Kind::EvenCount => "even count",
            Kind::Rate => "rate",
            Kind::Duration => "duration",
            Kind::Graph => "path",
        }
    }
}

/// Default of a key.
#[derive(Clone, Copy, Debug)]
pub enum Usual {
    /// It has to be given.
    Needed,
    /// That of another key, which is read before.
    As(&'static str),
    /// 0 of its unit.
    Zero(&'static str),
    /// A count that follows from others, and how.
    Count(&'static str, fn(&Values) -> u32),
}

impl Usual {
    /// Text for listings; empty where a value has to be given.
    pub fn text(self) -> &'static str {
        match self {
            Usual::Needed => "",
            Usual::As(text) | Usual::Zero(text) | Usual::Count(text, _) => text,
        }
    }
}

/// The value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Value of [`Kind::Count`] and [`Kind::EvenCount`].
    Count(u32),
    /// A rate, of [`Kind::Rate`].
    Rate(Rate),
    /// A time, of [`Kind::Duration`].
    Duration(Time),
    /// Contents of the file of [`Kind::Graph`].
    Graph {
        /// Number of hosts.
        hosts: u32,
        /// Number of switches.
        switches: u32,
        /// Undirected links by node number, hosts first.
        links: Vec<(u32, u32, LinkSpec)>,
        /// Those that are different the other way, by position.
        back: Vec<(u32, LinkSpec)>,
    },
}

/// The values of all keys of a topology, each of the kind that is declared.
#[derive(Clone, Debug, Default)]
pub struct Values(BTreeMap<&'static str, Value>);

impl Values {
    /// Stores the value of a key.
    pub fn put(&mut self, key: &'static str, value: Value) {
        self.0.insert(key, value);
    }

    /// The value of a key.
    ///
    /// # Panics
    /// If there is none: a topology asks for keys that it declares, and its reader gives them all.
    pub fn get(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or_else(|| panic!("the key `{key}` has no value: it is not declared"))
    }

    /// Value of a count.
    ///
    /// # Panics
    /// As [`Values::get`], and when the key is declared as something else.
    pub fn count(&self, key: &str) -> u32 {
        match self.get(key) {
            Value::Count(n) => *n,
            other => panic!("`{key}` is no count but {other:?}"),
        }
    }

    /// A link, from the key of its rate and that of its delay.
    ///
    /// # Panics
    /// As [`Values::count`].
    pub fn link(&self, rate: &str, delay: &str) -> LinkSpec {
        match (self.get(rate), self.get(delay)) {
            (Value::Rate(rate), Value::Duration(delay)) => LinkSpec { rate: *rate, delay: *delay },
            other => panic!("`{rate}` and `{delay}` are no rate and no duration but {other:?}"),
        }
    }
}

/// The key that topologies of every kind have in addition to their own.
pub const SWITCH_LATENCY: Key = Key {
    name: "switch_latency",
    kind: Kind::Duration,
    usual: Usual::Zero("0 s"),
    doc: "time a switch takes beyond store-and-forward",
};

impl Info {
    /// All keys of a topology of this kind, the common one included.
    pub fn all_keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().chain([&SWITCH_LATENCY])
    }
}

/// A key that has to be given.
pub(super) const fn needed(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, usual: Usual::Needed, doc }
}

/// A key whose default is the value of another.
pub(super) const fn like(other: &'static str, name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, usual: Usual::As(other), doc }
}

pub(super) const RATE: Key = needed("rate", Kind::Rate, "of each host's link");
pub(super) const DELAY: Key = needed("delay", Kind::Duration, "of each host's link, one way");
pub(super) const HOST_RATE: Key = needed("host_rate", Kind::Rate, "of each host's link");
pub(super) const HOST_DELAY: Key = needed("host_delay", Kind::Duration, "of each host's link, one way");
pub(super) const BOTTLENECK_RATE: Key =
    like("rate", "bottleneck_rate", Kind::Rate, "of each link between switches");
pub(super) const BOTTLENECK_DELAY: Key =
    like("delay", "bottleneck_delay", Kind::Duration, "of each link between switches");
