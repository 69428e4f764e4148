//! Checks of flows.

use headway_network::{FlowSpec, Network};

/// Why a flow cannot be, wherever it comes from, in a run of so many transports.
pub fn check_flow(transports: usize, network: &Network, flow: &FlowSpec) -> Result<(), String> {
    let FlowSpec { src, dst, .. } = *flow;
    Err(if src >= network.hosts() || dst >= network.hosts() {
        // If only one of the two is missing, it is the larger.
        format!("host {} is not there; the network has {} hosts", src.max(dst), network.hosts())
    } else if src == dst {
        format!("host {src} sends to itself")
    } else if !network.connects(src, dst) {
        format!("host {dst} cannot be reached from host {src}")
    } else if usize::from(flow.transport) >= transports {
        format!("transport number {} is not there", flow.transport)
    // Packets of a message are numbered by 32 bits.
    } else if network.sizes().packets_of(flow.bytes) > u64::from(u32::MAX) {
        format!("{} bytes are more than 2^32 packets", flow.bytes)
    } else {
        return Ok(());
    })
}
