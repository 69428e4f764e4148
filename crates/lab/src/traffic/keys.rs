//! Declaration of the keys of a kind of traffic.

pub(super) use crate::text::key::{Takes, key, needed};

pub use crate::text::key::Key;

/// A kind of traffic, for listings, for messages, and for the documentation.
#[derive(Clone, Copy, Debug)]
pub struct PatternInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for listings and the documentation.
    pub summary: &'static str,
    /// Its own keys: its reader may ask for these, and for no other.
    pub keys: &'static [Key],
    /// The keys that say how many flows it makes: the first that is written says it. Empty where the network says it.
    pub counts: &'static [&'static str],
}

pub(super) const START: Key = key("start", Takes::Duration, "`\"0 s\"`", "time at which it begins");
pub(super) const BYTES: Key = needed("bytes", Takes::Bytes, "of each message");
