//! Many deadlines, one earliest.

use headway_packet::HostId;
use headway_primitives::prefetch_at;
use headway_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Purpose of a deadline of a machine: see [`crate::timer_keys!`].
pub trait TimerKey: Ord + Copy {
    /// The host that it is about; `None` where it is about this host alone. Deadlines about a host that is gone are
    /// dropped.
    fn peer(self) -> Option<HostId>;
}

/// Declares the purposes of a machine's deadlines. A variant that is about a message begins with the peer.
///
/// ```
/// use headway_packet::HostId;
/// use headway_transport::timers::TimerKey;
///
/// headway_transport::timer_keys! {
///     /// What a deadline is for.
///     pub enum Key {
///         /// A sent message has heard nothing.
///         Timeout(HostId, u32),
///         /// This host may ask for the next packet.
///         Pacer,
///     }
/// }
/// assert_eq!(Key::Timeout(HostId(3), 7).peer(), Some(HostId(3)));
/// assert_eq!(Key::Pacer.peer(), None);
/// ```
#[macro_export]
macro_rules! timer_keys {
    (
        $(#[$meta:meta])* $vis:vis enum $name:ident {
            $($(#[$doc:meta])* $variant:ident $(($($field:ty),+))?),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name { $($(#[$doc])* $variant $(($($field),+))?),+ }
        impl $crate::timers::TimerKey for $name {
            #[inline]
            #[allow(irrefutable_let_patterns, reason = "there may be one variant only")]
            fn peer(self) -> Option<headway_packet::HostId> {
                $($crate::timer_keys!(@peer self, $name, $variant $(, $($field),+)?);)+
                None
            }
        }
    };
    (@peer $self:ident, $name:ident, $variant:ident) => {};
    (@peer $self:ident, $name:ident, $variant:ident, $($field:ty),+) => {
        // Named by position, the pattern fits variants of any number of fields.
        if let $name::$variant { 0: peer, .. } = $self {
            return Some(peer);
        }
    };
}

/// Deadlines with a key each. Keys are not removed when their reason goes away: the owner checks at
/// expiry whether the reason still stands (lazy cancelling). Ties expire in the order of arming.
#[derive(Clone, Debug)]
pub struct Timers<K> {
    // The count of armed deadlines decides ties before the key is compared.
    heap: BinaryHeap<Reverse<(Time, u64, K)>>,
    armed: u64,
}

impl<K: Ord + Copy> Default for Timers<K> {
    fn default() -> Self {
        Timers { heap: BinaryHeap::new(), armed: 0 }
    }
}

impl<K: Ord + Copy> Timers<K> {
    /// Arms a deadline.
    pub fn arm_deadline(&mut self, at: Time, key: K) {
        self.heap.push(Reverse((at, self.armed, key)));
        self.armed += 1;
    }

    /// The earliest deadline.
    #[inline]
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.0.0)
    }

    /// Asks the processor for the earliest deadline.
    #[inline]
    pub fn prefetch_earliest(&self) {
        // A binary heap has its earliest entry at index 0.
        prefetch_at(self.heap.as_slice(), 0);
    }

    /// Purpose of the earliest deadline.
    pub fn earliest_key(&self) -> Option<K> {
        self.heap.peek().map(|entry| entry.0.2)
    }

    /// Takes the earliest deadline that is not after `now`.
    pub fn pop_due(&mut self, now: Time) -> Option<(Time, K)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, key))| (at, key))
    }

    /// Drops every deadline whose key is not to be kept.
    pub fn retain(&mut self, keep: impl Fn(&K) -> bool) {
        self.heap.retain(|Reverse((_, _, key))| keep(key));
    }

    /// Deadlines armed and not yet taken.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if no deadline is armed.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
