//! A key that something in a scenario declares: for its reader, for listings, for messages, and for the documentation.

pub use headway_params::takes::Takes;

/// Key that a reader asks a table for.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name of the key.
    pub name: &'static str,
    /// The kind of value that it takes.
    pub takes: Takes,
    /// Default; empty if the key has to be given.
    pub usual: &'static str,
    /// Description in one sentence.
    pub doc: &'static str,
}

/// A key with a default.
pub(crate) const fn key(name: &'static str, takes: Takes, usual: &'static str, doc: &'static str) -> Key {
    Key { name, takes, usual, doc }
}

/// A key that has to be given.
pub(crate) const fn needed(name: &'static str, takes: Takes, doc: &'static str) -> Key {
    Key { name, takes, usual: "", doc }
}
