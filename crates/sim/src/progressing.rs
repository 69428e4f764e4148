//! State of a flow while the run goes on.
//!
//! Shards of a network share these records. Each number but two belongs to one shard: arrivals to the receiver's,
//! repetitions to the sender's. Those that any switch may count are added up atomically. Numbers of several
//! flows are read together only while all shards rest.

use headway_network::FlowState;
use headway_units::Time;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

const PENDING: u8 = 0;
const UNFINISHED: u8 = 1;
const DONE: u8 = 2;
const FAILED: u8 = 3;
const STOPPED: u8 = 4;

/// Placeholder for the number of a message that has not been opened.
pub(crate) const UNOPENED: u32 = u32::MAX;

/// Placeholder for a time that has not come.
const NEVER: u64 = u64::MAX;

/// Progress of a flow so far.
pub(crate) struct Progressing {
    delivered: AtomicU64,
    finish: AtomicU64,
    known: AtomicU64,
    retransmitted: AtomicU64,
    drops: AtomicU32,
    trims: AtomicU32,
    marks: AtomicU32,
    state: AtomicU8,
    /// True if it counts among the flows that have ended.
    counted: AtomicBool,
    /// True if its end may come within a window (see the conductor).
    near: AtomicBool,
}

/// Adds to a number that no other shard writes.
#[inline(always)]
// A plain load and store: an atomic addition would lock the cache line.
fn add(own: &AtomicU64, more: u64) -> u64 {
    let sum = own.load(Relaxed) + more;
    own.store(sum, Relaxed);
    sum
}

impl Default for Progressing {
    fn default() -> Progressing {
        Progressing {
            delivered: AtomicU64::new(0),
            finish: AtomicU64::new(0),
            known: AtomicU64::new(NEVER),
            retransmitted: AtomicU64::new(0),
            drops: AtomicU32::new(0),
            trims: AtomicU32::new(0),
            marks: AtomicU32::new(0),
            state: AtomicU8::new(PENDING),
            counted: AtomicBool::new(false),
            near: AtomicBool::new(false),
        }
    }
}

impl Progressing {
    /// Another of the same numbers, for a longer list.
    pub(crate) fn copy(&self) -> Progressing {
        Progressing {
            delivered: AtomicU64::new(self.delivered.load(Relaxed)),
            finish: AtomicU64::new(self.finish.load(Relaxed)),
            known: AtomicU64::new(self.known.load(Relaxed)),
            retransmitted: AtomicU64::new(self.retransmitted.load(Relaxed)),
            drops: AtomicU32::new(self.drops.load(Relaxed)),
            trims: AtomicU32::new(self.trims.load(Relaxed)),
            marks: AtomicU32::new(self.marks.load(Relaxed)),
            state: AtomicU8::new(self.state.load(Relaxed)),
            counted: AtomicBool::new(self.counted.load(Relaxed)),
            near: AtomicBool::new(self.near.load(Relaxed)),
        }
    }

    pub(crate) fn state(&self) -> FlowState {
        match self.state.load(Relaxed) {
            PENDING => FlowState::Pending,
            UNFINISHED => FlowState::Unfinished,
            DONE => FlowState::Done,
            STOPPED => FlowState::Stopped,
            _ => FlowState::Failed,
        }
    }

    pub(crate) fn begin(&self) {
        self.state.store(UNFINISHED, Relaxed);
    }

    /// All its bytes are there. `false` if they were before.
    pub(crate) fn finish(&self, now: Time) -> bool {
        // Also after FAILED: packets that were on their way when the sender gave up may complete the message.
        let first = self.state.swap(DONE, Relaxed) != DONE;
        if first {
            self.finish.store(now.0, Relaxed);
        }
        first
    }

    /// Its sender gives it up. `false` if all its bytes are there, or it has been given up before.
    pub(crate) fn give_up(&self) -> bool {
        // A message that is complete is not given up. The reverse may happen: see `finish`.
        self.state.compare_exchange(UNFINISHED, FAILED, Relaxed, Relaxed).is_ok()
    }

    /// The scenario ends the flow before all its bytes are there. `false` if they are, or if it was over before.
    pub(crate) fn stop(&self) -> bool {
        self.state.compare_exchange(UNFINISHED, STOPPED, Relaxed, Relaxed).is_ok()
    }

    /// Its sender knows that all its bytes are there.
    pub(crate) fn know(&self, now: Time) {
        self.known.store(now.0, Relaxed);
    }

    /// Time at which its sender knew that.
    pub(crate) fn known(&self) -> Option<Time> {
        Some(Time(self.known.load(Relaxed))).filter(|at| at.0 != NEVER)
    }

    /// Counts it among the flows that have ended. `false` if it counted before.
    pub(crate) fn count(&self) -> bool {
        !self.counted.swap(true, Relaxed)
    }

    /// Records that its end may come within a window. Returns `false` if that was known.
    pub(crate) fn comes_near(&self) -> bool {
        !self.near.swap(true, Relaxed)
    }

    /// Time of its end, if all its bytes are there.
    pub(crate) fn finished(&self) -> Option<Time> {
        (self.state() == FlowState::Done).then(|| Time(self.finish.load(Relaxed)))
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.delivered.load(Relaxed)
    }

    /// Adds bytes that have arrived; returns their sum.
    #[inline(always)]
    pub(crate) fn deliver(&self, bytes: u32) -> u64 {
        add(&self.delivered, bytes.into())
    }

    pub(crate) fn retransmitted(&self) -> u64 {
        self.retransmitted.load(Relaxed)
    }

    #[inline(always)]
    pub(crate) fn retransmit(&self, bytes: u16) {
        add(&self.retransmitted, bytes.into());
    }

    pub(crate) fn marks(&self) -> u32 {
        self.marks.load(Relaxed)
    }

    #[inline(always)]
    pub(crate) fn mark(&self) {
        // As in `add`: marks are counted where packets arrive, by one shard alone.
        self.marks.store(self.marks.load(Relaxed) + 1, Relaxed);
    }

    pub(crate) fn drops(&self) -> u32 {
        self.drops.load(Relaxed)
    }

    /// Counts a packet of the flow that a port dropped.
    pub(crate) fn drop_one(&self) {
        self.drops.fetch_add(1, Relaxed);
    }

    pub(crate) fn trims(&self) -> u32 {
        self.trims.load(Relaxed)
    }

    /// A port trimmed one of its packets.
    pub(crate) fn trim(&self) {
        self.trims.fetch_add(1, Relaxed);
    }
}
