//! What a kind of traffic declares of its keys.

/// A kind of traffic, for listings, for messages, and for the documentation.
#[derive(Clone, Copy, Debug)]
pub struct PatternInfo {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line for listings and the documentation.
    pub summary: &'static str,
    /// Its own keys: its reader may ask for these, and for no other.
    pub keys: &'static [PatternKey],
    /// The keys that say how many flows it makes: the first that is written says it. Empty where the network says it.
    pub counts: &'static [&'static str],
}

/// What a pattern declares of one of its keys.
#[derive(Clone, Copy, Debug)]
pub struct PatternKey {
    /// How it is called.
    pub name: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    /// What it is when nothing is said; empty where it has to be given.
    pub usual: &'static str,
    /// One sentence for the documentation.
    pub doc: &'static str,
}

/// A key with a value when nothing is said.
pub(super) const fn key(
    name: &'static str,
    takes: &'static str,
    usual: &'static str,
    doc: &'static str,
) -> PatternKey {
    PatternKey { name, takes, usual, doc }
}

/// A key that has to be given.
pub(super) const fn needed(name: &'static str, takes: &'static str, doc: &'static str) -> PatternKey {
    PatternKey { name, takes, usual: "", doc }
}

pub(super) const START: PatternKey = key("start", "duration", "`\"0 s\"`", "when it begins");
pub(super) const BYTES: PatternKey = needed("bytes", "bytes", "of each message");
