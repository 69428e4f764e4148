//! The path that a choice of a paper is a formula of: the longest that the scenario's flows take.

use super::Scenario;
use crate::text::{Problem, ScenarioError};
use headway_network::{FlowSpec, Ideals, Network};
use headway_units::{Rate, Time};
use rustc_hash::FxHashSet;

/// Most pairs of hosts that are compared; where there are more, they are alike.
const LOOKED_AT: usize = 10_000;

/// Properties of the longest path for a flow, when no other packet is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongestPath {
    /// Round trip of a full data packet out and a control packet back.
    pub round_trip: Time,
    /// Propagation and switch latency, one way.
    pub delay: Time,
    /// Rate of its slowest link, as transports know it.
    pub rate: Rate,
    /// Application bytes of a full packet.
    pub packet: u32,
    /// Application bytes that fill the path for a round trip, in packets as they are on the wire; not rounded.
    pub bdp: f64,
}

/// Path of a flow, and the time until its sender knows of an arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowWay {
    /// The links that all of its data packets take, by number: its whole path, or where packets may take several paths
    /// only the sender's and the receiver's own links.
    pub links: Vec<u32>,
    /// Time of a control packet from the receiver to the sender through the empty network.
    pub back: Time,
}

impl Scenario {
    /// The way of every flow, in their order, as the network is before anything of it fails.
    pub fn flow_ways(&self) -> Result<Vec<FlowWay>, ScenarioError> {
        let setup = self.setup()?;
        let spec = setup.resolve(self.seed)?.spec;
        let network = Network::build(&spec.topology, &spec.fabric)
            .map_err(|error| ScenarioError::nowhere(Problem::Topology(error.to_string())))?;
        let spec = network.address(&spec);
        let mut ideals = Ideals::new(&network, &spec);
        let control = u64::from(spec.fabric.sizes.control);
        let hop = |&link: &u32| {
            let link = &network.links()[link as usize];
            (link.spec.rate, network.hop_delay(link))
        };
        let way = |(number, flow): (usize, &FlowSpec)| {
            let ends = || {
                let path = network.links_between(flow.src, flow.dst).unwrap_or_default();
                // Packets may take several paths, but all leave and arrive by the hosts' own links.
                path.first().into_iter().chain(path.last()).copied().collect()
            };
            let links = ideals.path(number).unwrap_or_else(ends);
            let back = network.links_between(flow.dst, flow.src).unwrap_or_default();
            FlowWay { links, back: network.crossing(back.iter().map(hop), control) }
        };
        Ok(spec.flows.iter().enumerate().map(way).collect())
    }

    /// The longest path among its flows, the first of those that are equal; none without flows.
    pub fn longest_path(&self) -> Option<LongestPath> {
        let setup = self.setup.as_ref()?;
        let network = Network::build(&setup.topology.spec, &setup.fabric).ok()?;
        let mut seen = FxHashSet::default();
        let mut longest: Option<(Time, u32, u32)> = None;
        for flow in setup.flows(self.seed) {
            let hosts = (flow.spec.src, flow.spec.dst);
            // Equal pairs take the same path: each is computed once.
            if seen.len() < LOOKED_AT && seen.insert(hosts) {
                let Some((src, dst)) = network.pair(hosts.0, hosts.1) else { continue };
                let round_trip = network.path(src, dst).base_rtt;
                if longest.is_none_or(|(most, ..)| round_trip > most) {
                    longest = Some((round_trip, src, dst));
                }
            }
        }
        let (_, src, dst) = longest?;
        let links = network.links_between(src, dst)?;
        let delay = links.iter().map(|&l| network.hop_delay(&network.links()[l as usize]));
        let sizes = &setup.fabric.sizes;
        // The same path properties that the engine gives transports.
        let path = network.path(src, dst);
        Some(LongestPath {
            round_trip: path.base_rtt,
            delay: delay.fold(Time::ZERO, |sum, one| sum + one),
            rate: path.bottleneck,
            packet: u32::from(sizes.payload),
            bdp: path.bdp_slots(path.bottleneck, sizes) * f64::from(sizes.payload),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Request;
    use std::path::Path;

    const TEXT: &str = r#"
        stop = "1 ms"
        [topology]
        kind = "dumbbell"
        senders = 2
        receivers = 2
        rate = "10 Gbps"
        delay = "2 us"
        bottleneck_delay = "10 us"
        [transport]
        name = "amrt"
        [[traffic]]
        kind = "flows"
        flows = [{ src = 0, dst = 1, bytes = 1000 }, { src = 0, dst = 2, bytes = 1000 }]
    "#;

    #[test]
    fn a_flow_takes_the_links_of_its_path_and_its_news_comes_back_over_as_many() {
        let scenario =
            Request::text(TEXT, "test", Path::new(""), &[], None).load().unwrap_or_else(|e| panic!("{e}"));
        let ways = scenario.flow_ways().expect("flows");
        // Both senders are behind one switch, the second receiver is behind the bottleneck.
        assert_eq!([ways[0].links.len(), ways[1].links.len()], [2, 3]);
        assert_eq!(ways[0].links[0], 0);
        // Three links of 10 Gb/s, and 2, 10 and 2 us.
        let control = scenario.setup().expect("a network").fabric.sizes.control;
        let wire = headway_units::Rate::gbps(10).time_of(u64::from(control));
        assert_eq!(ways[1].back, headway_units::Time::us(14) + wire * 3);
        let sprayed = Request::text(TEXT, "test", Path::new(""), &["fabric.routing=spray".into()], None);
        let ways = sprayed.load().expect("a scenario").flow_ways().expect("flows");
        assert_eq!([ways[0].links.len(), ways[1].links.len()], [2, 2], "only what all packets take");
    }

    #[test]
    fn the_longest_path_is_that_of_the_farthest_flow() {
        let scenario =
            Request::text(TEXT, "test", Path::new(""), &[], None).load().unwrap_or_else(|e| panic!("{e}"));
        let path = scenario.longest_path().expect("a path");
        assert_eq!(path.delay.to_string(), "14 us", "two edges and the bottleneck");
        assert_eq!(path.packet, 1460);
        let network = headway_network::Network::build(
            &scenario.setup().expect("a network").topology.spec,
            &scenario.setup().expect("a network").fabric,
        )
        .expect("a network");
        assert_eq!(path.round_trip, network.path(0, 2).base_rtt);
        let sizes = &scenario.setup().expect("a network").fabric.sizes;
        let packets = network.path(0, 2).bdp_packets(path.rate, sizes);
        assert_eq!((path.bdp / 1460.0).ceil() as u32, packets, "what transports count, before it is rounded");
    }

    /// The rate, the product in packets and in bytes, in two words each.
    fn shown(text: &str) -> (String, String, String) {
        let scenario = Request::text(text, "test", Path::new(""), &[], None).load();
        let path = scenario.unwrap_or_else(|error| panic!("{error}")).longest_path().expect("a path");
        let packets = path.bdp / f64::from(path.packet);
        (path.rate.to_string(), format!("{packets:.3}"), format!("{:.1}", path.bdp))
    }

    #[test]
    fn the_slowest_link_is_that_of_the_path_and_not_the_senders() {
        let slow = TEXT
            .replace("bottleneck_delay = \"10 us\"", "bottleneck_rate = \"1 Gbps\"")
            .replace("2 us", "1 us");
        // 21.57 us at 1 Gb/s.
        assert_eq!(shown(&slow), ("1 Gbps".into(), "1.753".into(), "2559.7".into()));
        let spines = "[topology]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 1\nhost_rate = \"100 Gbps\"\n\
            spine_rate = \"10 Gbps\"\nhost_delay = \"1 us\"\n[transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"flows\"\n\
            flows = [{ src = 0, dst = 2, bytes = 1000 }]\n";
        assert_eq!(shown(spines).0, "10 Gbps");
        assert_eq!(shown(&spines.replace("dst = 2", "dst = 1")).0, "100 Gbps");
    }
}
