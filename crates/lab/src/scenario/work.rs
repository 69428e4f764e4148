//! Amount of work of a run, before it starts: its time is forecast from that.

use super::Scenario;
use headway_network::Network;
use headway_units::Time;
use rustc_hash::FxHashMap;

/// Flows whose paths are looked up; where there are more, they are taken to be alike.
const LOOKED_AT: usize = 1_000;
/// Packets that cross a link for one full packet of data: itself, and one that answers or grants it.
const PER_PACKET: f64 = 2.0;

/// Flows to one host, taken together.
#[derive(Clone, Copy)]
struct Arrivals {
    first: Time,
    bytes: u64,
    packets: u64,
}

impl Scenario {
    /// Packets times links that a run should count: every flow's packets and as many that answer them, over the mean
    /// number of links of a path. Hosts take no more until the end of the run than their links let through. What is
    /// sent twice, and what never arrives, is not in it. Zero where nothing is simulated.
    pub fn expected_hops(&self) -> u64 {
        let Some(setup) = self.setup.as_ref() else { return 0 };
        let Ok(network) = Network::build(&setup.topology.spec, &setup.fabric) else { return 0 };
        let sizes = &setup.fabric.sizes;
        let mut arrivals: FxHashMap<u32, Arrivals> = FxHashMap::default();
        let (mut weighted, mut weight) = (0.0, 0.0);
        for (index, flow) in setup.flows(self.seed).iter().enumerate() {
            let spec = &flow.spec;
            let packets = sizes.packets_of(spec.bytes);
            if index < LOOKED_AT {
                let pair = network.pair(spec.src, spec.dst);
                let path = pair.and_then(|(src, dst)| network.links_between(src, dst));
                let links = path.map_or(0, |path| path.len());
                weighted += links as f64 * packets as f64;
                weight += packets as f64;
            }
            let none = Arrivals { first: spec.start, bytes: 0, packets: 0 };
            let host = arrivals.entry(spec.dst).or_insert(none);
            host.first = host.first.min(spec.start);
            host.bytes = host.bytes.saturating_add(spec.bytes);
            host.packets = host.packets.saturating_add(packets);
        }
        if weight == 0.0 {
            return 0;
        }
        let packets: f64 = arrivals
            .iter()
            .map(|(&host, due)| {
                let own = network.owners().interfaces_of(host);
                let bps: f64 = own.map(|one| network.links()[one as usize].spec.rate.bps() as f64).sum();
                let most = setup.stop.saturating_sub(due.first).as_secs_f64() * bps / 8.0;
                due.packets as f64 * (most / due.bytes.max(1) as f64).min(1.0)
            })
            .sum();
        (packets * PER_PACKET * weighted / weight) as u64
    }
}

/// Bytes of the files of a run: a constant part, and a part for each row of a table or entry of a list. Measured
/// over the runs of `scenarios/field` and small jobs, compressed as they are written. Flows of jobs are alike, and take less.
mod files {
    pub(super) const FIXED: f64 = 38_000.0;
    pub(super) const FLOW: f64 = 65.0;
    pub(super) const FLOW_OF_JOB: f64 = 32.0;
    pub(super) const LINK: f64 = 100.0;
    pub(super) const EDGE: f64 = 8.0;
    pub(super) const SAMPLE: f64 = 8.0;
    /// Bytes in `summary.json` of a job: a round, and a link of its critical path. There are at most so many of each.
    pub(super) const ROUND: f64 = 86.0;
    pub(super) const LINK_OF_PATH: f64 = 174.0;
    pub(super) const MOST: f64 = 10_000.0;
    /// Flows of a job for one round of it, and for one link of its critical path.
    pub(super) const PER_ROUND: f64 = 4.0;
    pub(super) const PER_LINK: f64 = 100.0;
}

impl Scenario {
    /// Bytes that the files of a run take on disk, by the tables that it asks for; zero where nothing is simulated.
    pub fn expected_file_bytes(&self) -> u64 {
        let Some(setup) = self.setup.as_ref() else { return 0 };
        let Ok(rows) = setup.expected_rows() else { return 0 };
        let tables = [
            (rows.flows, if rows.edges == 0 { files::FLOW } else { files::FLOW_OF_JOB }),
            (rows.links, files::LINK),
            (rows.edges, files::EDGE),
            (rows.samples, files::SAMPLE),
        ];
        let sum: f64 = tables.iter().map(|(rows, bytes)| *rows as f64 * bytes).sum();
        let of_jobs = if rows.edges == 0 { 0.0 } else { rows.flows as f64 };
        let rounds = (of_jobs / files::PER_ROUND).min(files::MOST) * files::ROUND;
        let path = (of_jobs / files::PER_LINK).min(files::MOST) * files::LINK_OF_PATH;
        (files::FIXED + sum + rounds + path) as u64
    }
}

#[cfg(test)]
mod tests {
    use crate::Request;
    use std::path::Path;

    fn hops(stop: &str) -> u64 {
        let text = format!(
            r#"
            stop = "{stop}"
            [topology]
            kind = "single-switch"
            hosts = 2
            rate = "10 Gbps"
            delay = "1 us"
            [transport]
            name = "amrt"
            [[traffic]]
            kind = "flows"
            flows = [{{ src = 0, dst = 1, bytes = 14600000 }}]
        "#
        );
        Request::text(&text, "test", Path::new(""), &[], None)
            .load()
            .unwrap_or_else(|e| panic!("{e}"))
            .expected_hops()
    }

    #[test]
    fn packets_and_their_answers_cross_both_links() {
        // 14.6 MB are 10,000 packets of 1,460 B.
        assert_eq!(hops("1 s"), 10_000 * 2 * 2);
    }

    #[test]
    fn a_run_that_ends_early_counts_what_its_links_let_through() {
        let short = hops("1 ms") as f64;
        // Each packet and its answer cross two links.
        let fits = 10e9 / 8.0 * 1e-3 / 1460.0 * 4.0;
        assert!((short / fits - 1.0).abs() < 0.01, "{short} against {fits}");
    }
}
