//! A run of the simulator, within bounds that no draw needs.

use headway_network::{Outcome, RunSpec};
use headway_sim::Around;

/// Events after which a run counts as one that does not end: many times as many as its packets need.
const EVENTS: u64 = 20_000_000;
/// Largest number of events for each packet of data.
const EVENTS_A_PACKET: u64 = 2_000;

/// Bounds of a run.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// Events of a run at the most; `None` is many more than packets need.
    pub most: Option<u64>,
    /// Asked now and then whether the run may go on.
    pub has_time: &'a (dyn Fn() -> bool + Sync),
}

impl Default for Bounds<'_> {
    fn default() -> Self {
        Bounds { most: None, has_time: &|| true }
    }
}

/// Runs it on so many threads; one that takes more events or more memory than any draw needs is stopped.
pub fn simulate(spec: &RunSpec, threads: usize, bounds: Bounds<'_>) -> Result<Outcome, String> {
    let packets: u64 = spec.flows.iter().map(|f| spec.fabric.sizes.packets_of(f.bytes)).sum();
    let most = bounds.most.unwrap_or(EVENTS + EVENTS_A_PACKET * packets);
    let mut watch = |progress: &headway_network::Progress| progress.events < most && (bounds.has_time)();
    let around = Around { threads, room: ROOM, ..Around::default() };
    headway_sim::run_within(spec, around, &mut watch).map_err(|e| e.to_string())
}

/// Bytes for what grows while a run lasts; no draw needs so many.
const ROOM: u64 = 256_000_000;
