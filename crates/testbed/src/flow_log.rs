//! Log of a host's flows, from the events of its endpoint: bytes that arrive, by interval, and marks of those
//! that come to it; bytes sent again of those that it sends.

use crate::messages::HostReport;
use headway_units::Time;
use std::collections::BTreeMap;

/// Bytes that arrived for the first time, by flow and interval, marks, and bytes sent again.
#[derive(Debug)]
pub struct FlowLog {
    start: Time,
    every: Option<Time>,
    flows: BTreeMap<u32, Row>,
    /// Bytes that left again, by flow.
    repeated: BTreeMap<u32, u64>,
}

#[derive(Debug, Default)]
struct Row {
    delivered: u64,
    marks: u32,
    complete: bool,
    /// Bytes by number of the interval.
    bins: BTreeMap<u64, u64>,
}

impl FlowLog {
    /// Intervals count from `start`; `None` = no samples.
    pub fn new(start: Time, every: Option<Time>) -> FlowLog {
        FlowLog { start, every, flows: BTreeMap::new(), repeated: BTreeMap::new() }
    }

    /// Bytes of a flow arrived.
    pub fn note_delivered(&mut self, at: Time, flow: u32, bytes: u32) {
        let row = self.flows.entry(flow).or_default();
        row.delivered += u64::from(bytes);
        if let Some(every) = self.every {
            *row.bins.entry(at.saturating_sub(self.start).0 / every.0).or_insert(0) += u64::from(bytes);
        }
    }

    /// A data packet of a flow arrived with a mark.
    pub fn note_marked(&mut self, flow: u32) {
        self.flows.entry(flow).or_default().marks += 1;
    }

    /// Bytes of a flow left again.
    pub fn note_repeated(&mut self, flow: u32, bytes: u32) {
        *self.repeated.entry(flow).or_default() += u64::from(bytes);
    }

    /// Notes that a flow is complete.
    pub fn note_completed(&mut self, flow: u32) {
        self.flows.entry(flow).or_default().complete = true;
    }

    /// Everything, as of `now`: a flow has a sample for every interval from its first byte to its last, or
    /// to `now` while it is open; a stall is a sample of zero.
    pub fn host_report(&self, now: Time) -> HostReport {
        let retransmitted = self.repeated.iter().map(|(&flow, &bytes)| (flow, bytes)).collect();
        let mut report = HostReport { retransmitted, ..HostReport::default() };
        for (&flow, row) in &self.flows {
            report.delivered.push((flow, row.delivered));
            if row.marks > 0 {
                report.marks.push((flow, row.marks));
            }
            let (Some(every), Some((&first, _)), Some((&last, _))) =
                (self.every, row.bins.first_key_value(), row.bins.last_key_value())
            else {
                continue;
            };
            let elapsed = now.saturating_sub(self.start).0 / every.0;
            // The interval in which an open flow is now is not over, and would look like a drop in its rate.
            let end = if row.complete { last + 1 } else { elapsed.max(last) };
            for bin in first..end {
                // A sample stands at the end of its interval, as in the simulator.
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
        log.note_delivered(Time::us(5_100), 2, 100);
        log.note_delivered(Time::us(5_900), 2, 50);
        log.note_delivered(Time::us(7_500), 2, 10);
        let open = log.host_report(Time::us(9_200));
        assert_eq!(
            open.samples,
            [(1_000_000, 2, 150), (2_000_000, 2, 0), (3_000_000, 2, 10), (4_000_000, 2, 0)]
        );
        log.note_completed(2);
        let done = log.host_report(Time::us(9_200));
        assert_eq!(done.samples.last(), Some(&(3_000_000, 2, 10)));
        assert_eq!(done.delivered, [(2, 160)]);
    }

    #[test]
    fn marks_are_of_arriving_flows_and_bytes_sent_again_of_leaving_ones() {
        let mut log = FlowLog::new(Time::ZERO, None);
        log.note_marked(2);
        log.note_marked(2);
        log.note_repeated(1, 1460);
        log.note_repeated(1, 40);
        let report = log.host_report(Time::us(10));
        assert_eq!((report.marks, report.retransmitted), (vec![(2, 2)], vec![(1, 1500)]));
    }
}
