//! Flows that are written somewhere one by one.

use super::Making;
use crate::text::Origin;
use headway_network::FlowSpec;
use headway_units::Time;

/// A flow, its name, and where it is written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Specification of the flow.
    pub spec: FlowSpec,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Place of the flow in its file.
    pub at: Origin,
    /// Place where its path is written, if it has one.
    pub path_at: Option<Origin>,
}

/// Makes these flows.
pub(super) fn generate(flows: &[Written], making: &mut Making<'_>) {
    for flow in flows {
        making.push_named(flow.spec, flow.name.as_deref());
    }
}

/// The last start, and all bytes.
pub(super) fn horizon(flows: &[Written]) -> (Time, u64) {
    let last = flows.iter().map(|f| f.spec.start).max().unwrap_or_default();
    (last, flows.iter().map(|f| f.spec.bytes).fold(0, u64::saturating_add))
}

/// Number of hosts that they go to.
pub(super) fn receivers(flows: &[Written]) -> u64 {
    let mut all: Vec<u32> = flows.iter().map(|f| f.spec.dst).collect();
    all.sort_unstable();
    all.dedup();
    all.len() as u64
}
