//! A key that something in a scenario declares: for its reader, for listings, for messages, and for the documentation.

pub use headway_params::takes::Takes;

/// What a reader asks a table for.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// How it is called.
    pub name: &'static str,
    /// The kind of value that it takes.
    pub takes: Takes,
    /// What it is when nothing is said; empty where it has to be given.
    pub usual: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// A key with a value when nothing is said.
pub(crate) const fn key(name: &'static str, takes: Takes, usual: &'static str, doc: &'static str) -> Key {
    Key { name, takes, usual, doc }
}

/// A key that has to be given.
pub(crate) const fn needed(name: &'static str, takes: Takes, doc: &'static str) -> Key {
    Key { name, takes, usual: "", doc }
}
