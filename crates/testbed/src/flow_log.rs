//! What a host writes down of the flows that come to it: bytes by interval, from what its endpoint says.

use crate::messages::HostReport;
use headway_units::Time;
use std::collections::BTreeMap;

/// Bytes that arrived for the first time, by flow and interval.
#[derive(Debug)]
pub struct FlowLog {
    start: Time,
    every: Option<Time>,
    flows: BTreeMap<u32, Row>,
}

#[derive(Debug, Default)]
struct Row {
    delivered: u64,
    complete: bool,
    /// Bytes by number of the interval.
    bins: BTreeMap<u64, u64>,
}

impl FlowLog {
    /// Intervals count from `start`; `None` = no samples.
    pub fn new(start: Time, every: Option<Time>) -> FlowLog {
        FlowLog { start, every, flows: BTreeMap::new() }
    }

    /// Bytes of a flow arrived.
    pub fn delivered(&mut self, at: Time, flow: u32, bytes: u32) {
        let row = self.flows.entry(flow).or_default();
        row.delivered += u64::from(bytes);
        if let Some(every) = self.every {
            *row.bins.entry(at.saturating_sub(self.start).0 / every.0).or_insert(0) += u64::from(bytes);
        }
    }

    /// A flow is complete.
    pub fn completed(&mut self, flow: u32) {
        self.flows.entry(flow).or_default().complete = true;
    }

    /// Everything, as of `now`: a flow has a sample for every interval from its first byte to its last, or
    /// to `now` while it is open; a stall is a sample of zero.
    pub fn report(&self, now: Time) -> HostReport {
        let mut report = HostReport::default();
        for (&flow, row) in &self.flows {
            report.delivered.push((flow, row.delivered));
            let (Some(every), Some((&first, _)), Some((&last, _))) =
                (self.every, row.bins.first_key_value(), row.bins.last_key_value())
            else {
                continue;
            };
            let elapsed = now.saturating_sub(self.start).0 / every.0;
            let end = if row.complete { last + 1 } else { elapsed.max(last) };
            for bin in first..end {
                let at_ns = (every * (bin + 1)).0 / 1000;
                report.samples.push((at_ns, flow, row.bins.get(&bin).copied().unwrap_or(0)));
            }
        }
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_a_sample_of_zero_and_the_end_is_the_last_byte() {
        let mut log = FlowLog::new(Time::ms(5), Some(Time::ms(1)));
        log.delivered(Time::us(5_100), 2, 100);
        log.delivered(Time::us(5_900), 2, 50);
        log.delivered(Time::us(7_500), 2, 10);
        let open = log.report(Time::us(9_200));
        assert_eq!(
            open.samples,
            [(1_000_000, 2, 150), (2_000_000, 2, 0), (3_000_000, 2, 10), (4_000_000, 2, 0)]
        );
        log.completed(2);
        let done = log.report(Time::us(9_200));
        assert_eq!(done.samples.last(), Some(&(3_000_000, 2, 10)));
        assert_eq!(done.delivered, [(2, 160)]);
    }
}
