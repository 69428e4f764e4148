//! Checks of a fabric as a whole: pauses that wait for each other, counters of pauses, and what of memory was taken.

use super::{Conductor, Guards};
use crate::ports::lossless::{Guard, deadlock};
use headway_network::pfc::OnDeadlock;
use headway_network::{Fault, FaultSpec, LinkRecord, Stopped};
use headway_units::Time;

impl<'a> Conductor<'a> {
    /// Time at which pauses are looked at next, if something happens at `next`; never where switches drop.
    pub(super) fn next_check(&self, next: u64) -> Time {
        // A run that rested may be beyond it.
        if next == u64::MAX { Time::MAX } else { self.next_check.max(self.now) }
    }

    /// Looks for pauses that wait for each other, all events of this instant being over, and plans the next look: not
    /// before something happens, which is at `next`.
    pub(super) fn check_pauses(&mut self, all: &Guards<'_, 'a>, next: u64) {
        let Some(pfc) = &self.spec.fabric.pfc else { return };
        let ends = pfc.on_deadlock == OnDeadlock::End;
        let every = pfc.deadlock_check.0;
        // At least one unit of time later, so that the next check is another instant.
        // Rounded up to a multiple, so that checks happen at the same instants for any number of shards.
        self.next_check = Time(next.max(self.now.0 + 1).div_ceil(every).saturating_mul(every));
        // A link that goes down later drops what waits for it, which ends the cycle. Faults are known in advance (decision 18).
        let apart = |fault: &FaultSpec| matches!(&fault.what, Fault::Down(down) if down.at > self.now);
        if self.spec.faults.iter().any(apart) {
            return;
        }
        self.find_deadlock(all);
        if ends && self.deadlock.is_some() {
            self.stop = self.now;
        }
    }

    /// Looks for a deadlock; only the first one is reported.
    pub(super) fn find_deadlock(&mut self, all: &Guards<'_, 'a>) {
        let Some(first) = all.first().and_then(|shard| shard.ports.lossless.as_deref()) else { return };
        if self.deadlock.is_some() {
            return;
        }
        let mut stopped = Stopped::default();
        all.iter().for_each(|shard| shard.ports.gather(&mut stopped));
        let of_node = self.division.of_node();
        let hosts = self.network.interfaces();
        // Only the shard that owns a switch keeps account of its memory.
        let guard_of = |switch: u32| -> &Guard {
            let owner = usize::from(of_node[(hosts + switch) as usize]);
            all.get(owner).and_then(|shard| shard.ports.lossless.as_deref()).unwrap_or(first)
        };
        self.deadlock = deadlock(&stopped, self.now, first, &guard_of);
    }

    /// A sentence about a deadlock, if there is one.
    pub(super) fn deadlock_warning(&self) -> Option<String> {
        let deadlock = self.deadlock.as_ref()?;
        let names = self.network.link_names();
        let classes = self.spec.fabric.pfc.as_ref().map_or(1, |pfc| pfc.classes);
        let name = |(link, class): &(u32, u8)| match classes {
            1 => names[*link as usize].clone(),
            _ => format!("{} (class {class})", names[*link as usize]),
        };
        let cycle: Vec<String> = deadlock.cycle.iter().map(name).collect();
        let ended = match self.spec.fabric.pfc.as_ref().map(|pfc| pfc.on_deadlock) {
            Some(OnDeadlock::End) => format!("; the run ended at {}, when that was found", self.now),
            _ => String::new(),
        };
        Some(format!(
            "deadlock: since {} these links are stopped by pauses that wait for each other: {}. {} links stay stopped, with \
             {} B that never leave{ended}",
            deadlock.closed,
            cycle.join(", "),
            deadlock.stuck.len(),
            deadlock.bytes
        ))
    }

    /// Adds the most that was taken of shared memory to the records of links.
    ///
    /// # Panics
    /// If the memory of a switch does not hold the packets that wait at its ports: only a bug can cause that.
    pub(super) fn note_memory(&self, all: &Guards<'_, 'a>, records: &mut [LinkRecord]) {
        let hosts = self.network.interfaces();
        for (number, shard) in all.iter().enumerate() {
            let Some(stores) = shard.ports.memory.as_deref() else { return };
            if let Err(why) = shard.ports.check_shared_memory() {
                panic!("{why} (seed {})", self.spec.seed);
            }
            for (record, link) in records.iter_mut().zip(self.network.links()) {
                let owned = usize::from(self.division.of_node()[link.from as usize]) == number;
                if let (true, Some(switch)) = (owned, link.from.checked_sub(hosts)) {
                    record.pauses.shared_max = stores.used_max(switch);
                }
            }
        }
    }

    /// Adds the counts of pauses to the records of links.
    ///
    /// # Panics
    /// If the memory of a switch does not hold the packets that wait at its ports: only a bug can cause that.
    pub(super) fn note_pauses(&self, all: &Guards<'_, 'a>, records: &mut [LinkRecord]) {
        let of_node = self.division.of_node();
        let hosts = self.network.interfaces();
        for (number, shard) in all.iter().enumerate() {
            let Some(guard) = shard.ports.lossless.as_deref() else { return };
            let owns = |node: u32| usize::from(of_node[node as usize]) == number;
            // The ledger of a switch is kept by the shard that owns it.
            if let Err(why) = shard.ports.check_memory(|switch| owns(hosts + switch)) {
                panic!("{why} (seed {})", self.spec.seed);
            }
            for (place, (record, link)) in records.iter_mut().zip(self.network.links()).enumerate() {
                if owns(link.from) {
                    // `counts` does not know it, and another shard may have set it before.
                    let headroom_max = record.pauses.headroom_max;
                    record.pauses = guard.counts(place as u32, self.now);
                    record.pauses.headroom_max = headroom_max;
                    if let Some(switch) = link.from.checked_sub(hosts) {
                        record.pauses.shared_max = guard.shared_max(switch);
                    }
                }
                // Headroom is a matter of the receiving end, which may belong to another shard.
                if let Some(most) = guard.headroom_max(place as u32).filter(|_| owns(link.to)) {
                    record.pauses.headroom_max = most;
                }
            }
        }
    }
}
