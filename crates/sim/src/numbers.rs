//! Numbers of messages.

use headway_network::FlowSpec;
use rustc_hash::FxHashMap;

/// The number of each flow's message, by flow: hosts number the messages of a transport to another host as they start,
/// which is in this order.
pub(crate) fn message_numbers(flows: &[FlowSpec], order: &[u32]) -> Vec<u32> {
    let mut next: FxHashMap<(u32, u32, u8), u32> = FxHashMap::default();
    let mut numbers = vec![0; flows.len()];
    for &tag in order {
        let flow = &flows[tag as usize];
        let free = next.entry((flow.src, flow.dst, flow.transport)).or_insert(0);
        numbers[tag as usize] = *free;
        *free += 1;
    }
    numbers
}
