//! A key that something in a scenario declares: for its reader, for listings, for messages, and for the documentation.

/// What a reader asks a table for.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// How it is called.
    pub name: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    /// What it is when nothing is said; empty where it has to be given.
    pub usual: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

/// A key with a value when nothing is said.
pub(crate) const fn key(
    name: &'static str,
    takes: &'static str,
    usual: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, takes, usual, doc }
}

/// A key that has to be given.
pub(crate) const fn needed(name: &'static str, takes: &'static str, doc: &'static str) -> Key {
    Key { name, takes, usual: "", doc }
}
