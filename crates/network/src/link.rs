//! Links: their properties, their ends, and the choice of some of them.

use headway_units::{Rate, Time};

/// Rate and one-way propagation delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Rate in each direction.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Time,
}

/// One directed link between two nodes; hosts are numbered first, then switches.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Node it leaves.
    pub from: u32,
    /// Node it ends at.
    pub to: u32,
    /// Rate and delay.
    pub spec: LinkSpec,
    /// Delay of the other direction of it.
    pub back: Time,
}

/// Links with another rate or delay than their topology gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Altered {
    /// Names of the links.
    pub names: Vec<String>,
    /// Rate of each, if it differs.
    pub rate: Option<Rate>,
    /// Delay of each, if it differs.
    pub delay: Option<Time>,
}

/// A choice of links by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChoice {
    /// No link at all.
    None,
    /// All that leave a switch.
    All,
    /// Links with these names.
    Some(Vec<String>),
}

impl LinkChoice {
    /// True if a link is in it.
    pub fn has_link(&self, name: &str, from_switch: bool) -> bool {
        match self {
            LinkChoice::None => false,
            LinkChoice::All => from_switch,
            LinkChoice::Some(names) => names.iter().any(|one| one == name),
        }
    }

    /// True if a link may be in both, as far as names tell.
    pub(crate) fn meets(&self, other: &LinkChoice) -> bool {
        match (self, other) {
            (LinkChoice::None, _) | (_, LinkChoice::None) => false,
            (LinkChoice::Some(names), LinkChoice::Some(others)) => names.iter().any(|n| others.contains(n)),
            (LinkChoice::All, LinkChoice::All | LinkChoice::Some(_))
            | (LinkChoice::Some(_), LinkChoice::All) => true,
        }
    }
}
