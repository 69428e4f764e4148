//! How much a run is to simulate, before it starts: from which its time is forecast.

use super::Scenario;
use headway_network::Network;
use headway_units::Time;
use rustc_hash::FxHashMap;

/// Flows whose paths are looked up; where there are more, they are taken to be alike.
const LOOKED_AT: usize = 1_000;
/// Packets that cross a link for one full packet of data: itself, and one that answers or grants it.
const PER_PACKET: f64 = 2.0;

/// What flows to one host take together.
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
            let packets = sizes.packets(spec.bytes);
            if index < LOOKED_AT {
                let links = network.links_between(spec.src, spec.dst).map_or(0, |path| path.len());
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
                let rate = network.links()[host as usize].spec.rate;
                let most = setup.stop.saturating_sub(due.first).as_secs_f64() * rate.bps() as f64 / 8.0;
                due.packets as f64 * (most / due.bytes.max(1) as f64).min(1.0)
            })
            .sum();
        (packets * PER_PACKET * weighted / weight) as u64
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
        assert_eq!(hops("1 s"), 10_000 * 2 * 2);
    }

    #[test]
    fn a_run_that_ends_early_counts_what_its_links_let_through() {
        let short = hops("1 ms") as f64;
        let fits = 10e9 / 8.0 * 1e-3 / 1460.0 * 4.0;
        assert!((short / fits - 1.0).abs() < 0.01, "{short} against {fits}");
    }
}
