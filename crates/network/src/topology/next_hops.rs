//! Next hops that are computed: regular shapes need no table.

/// Equal next hops: ports `first .. first + count`, or `count` entries of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    One(u32),
    /// Consecutive ports; `level` counts the choices made before this one on the way up.
    Many {
        first: u32,
        count: u32,
        level: u32,
    },
    Listed {
        first: u32,
        count: u32,
    },
    Nowhere,
}

/// Computation of next hops by a topology of kind `T`. Ports are numbered as the links are wired, those of hosts first.
pub(crate) trait NextHops<T> {
    /// True if next hops are computed, and not looked up in a table.
    const COMPUTED: bool;

    /// True if both directions of a pair of hosts meet at the same switches when every switch of a tier chooses the
    /// same place among equal next hops.
    const ALIKE: bool = true;

    fn new(topology: &T) -> Self;

    /// The ports that [`Hop::Listed`] is a range of, where equal next hops are computed that are not consecutive.
    fn list(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The next hop from a switch to a host.
    fn hop(&self, switch: u32, dst: u32) -> Option<Hop>;
}

/// Not at all: a table has them.
pub(crate) struct FromTable;

impl<T> NextHops<T> for FromTable {
    const COMPUTED: bool = false;

    fn new(_: &T) -> FromTable {
        FromTable
    }

    #[inline(always)]
    fn hop(&self, _: u32, _: u32) -> Option<Hop> {
        None
    }
}
