//! Memory that may be used, shared by all of its users.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of a message in addition to its bytes: its entries in tables here and in the machine.
pub(crate) const MESSAGE_COST: u64 = 1024;
/// Largest memory of a packet of a message in the machine's tables.
pub(crate) const PACKET_COST: u64 = 48;

/// A number of bytes, some of them taken.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Arc<Budget> {
        Arc::new(Budget { limit, used: AtomicU64::new(0) })
    }

    /// Takes `bytes` if so many are left.
    pub(crate) fn try_charge(self: &Arc<Self>, bytes: u64) -> Option<Charge> {
        // Checked, because a peer may claim a message of 2^64 - 1 bytes.
        let more = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit);
        // Relaxed: the number protects no other memory.
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Charge { budget: Arc::clone(self), bytes })
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// Bytes taken from a budget until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_there_again_and_no_more_is_given_than_there_is() {
        let budget = Budget::new(100);
        let first = budget.try_charge(60);
        assert!(first.is_some() && budget.try_charge(41).is_none() && budget.try_charge(u64::MAX).is_none());
        let second = budget.try_charge(40);
        assert_eq!(budget.used_bytes(), 100);
        drop(first);
        assert_eq!(budget.used_bytes(), 40);
        drop(second);
        assert_eq!(budget.used_bytes(), 0);
    }
}
