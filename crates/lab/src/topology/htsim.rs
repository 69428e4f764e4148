//! htsim's fat-trees of two or three tiers (`.topo`).
//!
//! `Nodes N`, `Tiers T`, `Podsize P`, and after each `Tier i` the properties of its switches: `Radix_Down`, `Radix_Up`,
//! `Bundle`,
//! `Downlink_speed_Gbps`, `Downlink_Latency_ns`, `Switch_Latency_ns`, `Oversubscribed`. Tier 0 has the hosts. Aggregation
//! switch `i` of each pod is joined to the cores `i + l * A`, where `A` is the number of them in a pod, with `Bundle` links to
//! each. The switches are numbered tier by tier. Each switch has one latency in Headway, so that a tier's is part of the delay
//! of the links that lead to it.

use super::found::Found;
use super::words::{Line, Text};
use crate::text::{Origin, ScenarioError, Source, names};
use headway_network::LinkSpec;
use headway_network::topology::Graph;
use headway_units::{Rate, Time};
use std::sync::Arc;

type Read<T> = Result<T, ScenarioError>;

/// The keys of a tier.
const OF_A_TIER: [&str; 7] = [
    "radix_down",
    "radix_up",
    "bundle",
    "downlink_speed_gbps",
    "downlink_latency_ns",
    "switch_latency_ns",
    "oversubscribed",
];
/// The keys before the first tier.
const AT_THE_HEAD: [&str; 3] = ["nodes", "tiers", "podsize"];

/// A tier as it is written; a key has its value and the word that it is written as.
#[derive(Default)]
struct Tier<'a> {
    at: usize,
    keys: [Option<(u64, &'a str)>; OF_A_TIER.len()],
}

impl Tier<'_> {
    fn get(&self, key: &str) -> Option<u64> {
        let place = OF_A_TIER.iter().position(|known| *known == key)?;
        self.keys[place].map(|(value, _)| value)
    }
}

struct Reader<'a> {
    text: Text<'a>,
    head: [Option<(u64, &'a str)>; 3],
    tiers: [Option<Tier<'a>>; 3],
    current: Option<usize>,
}

/// Reads a fat-tree from its text.
pub fn parse(source: &Arc<Source>) -> Read<Found> {
    let text = Text { source };
    let mut reader = Reader { text, head: [None; 3], tiers: [None, None, None], current: None };
    let lines: Vec<Line<'_>> = reader.text.lines().collect();
    for line in lines {
        reader.line(&line)?;
    }
    reader.finish()
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &Line<'a>) -> Read<()> {
        let &[key, value] = &line.words[..] else {
            let text = format!("`{}` takes one number", line.words[0]);
            return Err(self.text.wrong_line(line.number, text));
        };
        // htsim ignores the case of keys.
        let lower = key.to_ascii_lowercase();
        if lower == "tier" {
            let tier = self.text.number(value, "a tier", 0..=2)? as usize;
            if self.tiers[tier].is_some() {
                return Err(self.text.wrong(value, format!("tier {tier} is there twice")));
            }
            self.tiers[tier] = Some(Tier { at: line.number, ..Tier::default() });
            self.current = Some(tier);
            return Ok(());
        }
        if lower == "queue_up" || lower == "queue_down" {
            let error = self.text.wrong(key, format!("`{key}` is not part of a topology here"));
            return Err(error.help(
                "the scenario says how much room ports have: `buffer` of [fabric] or of [[fabric.at]]",
            ));
        }
        let known: &[&str] = if self.current.is_some() { &OF_A_TIER } else { &AT_THE_HEAD };
        let Some(place) = known.iter().position(|name| *name == lower) else {
            let error = self.text.wrong(key, format!("`{key}` is not a key of this part of the file"));
            return Err(error.maybe_help(names::name_suggestion(&lower, known.iter().copied())));
        };
        // Latencies may be zero, and nothing else.
        let least = u64::from(!lower.ends_with("latency_ns"));
        let number = self.text.number(value, &format!("`{key}`"), least..=1 << 24)?;
        let slots: &mut [Option<(u64, &'a str)>] = match self.current {
            Some(tier) => self.tiers[tier].as_mut().map_or(&mut [], |tier| &mut tier.keys),
            None => &mut self.head,
        };
        if slots[place].replace((number, value)).is_some() {
            return Err(self.text.wrong(key, format!("`{key}` is there twice")));
        }
        Ok(())
    }

    /// A number before the first tier.
    fn head(&self, place: usize) -> Read<(u64, &'a str)> {
        self.head[place].ok_or_else(|| {
            let name = ["Nodes", "Tiers", "Podsize"][place];
            self.text.wrong_line(1, format!("the topology has no `{name}`"))
        })
    }

    fn tier(&self, number: usize) -> Read<&Tier<'a>> {
        let missing = || {
            let error = self.text.wrong_line(self.text.end(), format!("the topology has no `Tier {number}`"));
            error.help("is the file cut off?")
        };
        self.tiers[number].as_ref().ok_or_else(missing)
    }

    /// A number that a tier needs.
    fn need(&self, number: usize, key: &str) -> Read<u64> {
        let tier = self.tier(number)?;
        tier.get(key).ok_or_else(|| {
            let error = self.text.wrong_line(tier.at, format!("tier {number} has no `{key}`"));
            error.help("is the file cut off?")
        })
    }

    /// Says at a tier's key that it does not fit to the others, unless it does.
    fn fits(&self, number: usize, key: &str, due: u64, why: &str) -> Read<()> {
        let tier = self.tier(number)?;
        let place = OF_A_TIER.iter().position(|known| *known == key).unwrap_or(0);
        match tier.keys[place] {
            Some((value, word)) if value != due => Err(self
                .text
                .wrong(word, format!("`{key}` of tier {number} is {value}, and {why} make it {due}"))),
            _ => Ok(()),
        }
    }

    /// Number of times that one divides another, if that is a whole number.
    fn divided(&self, (whole, word): (u64, &str), by: u64, why: &str) -> Read<u64> {
        if by == 0 || !whole.is_multiple_of(by) {
            return Err(self.text.wrong(word, format!("{whole} is not a multiple of {by}: {why}")));
        }
        Ok(whole / by)
    }

    fn finish(self) -> Read<Found> {
        let (nodes, nodes_word) = self.head(0)?;
        let (tiers, tiers_word) = self.head(1)?;
        if !(2..=3).contains(&tiers) {
            return Err(self.text.wrong(tiers_word, format!("there are two or three tiers, not {tiers}")));
        }
        let (podsize, pod_word) = self.head(2)?;
        let top = tiers as usize - 1;
        if let Some(more) = self.tiers.iter().skip(top + 1).flatten().next() {
            return Err(self.text.wrong_line(more.at, format!("there are {tiers} tiers, numbered from 0")));
        }
        if tiers == 2 && podsize != nodes {
            return Err(self
                .text
                .wrong(pod_word, "with two tiers all hosts are in one pod: `Podsize` is `Nodes`"));
        }
        let pods = self.divided((nodes, nodes_word), podsize, "hosts of a pod")?;
        let down = self.need(0, "radix_down")?;
        let tors = self.divided((podsize, pod_word), down, "hosts of a switch of tier 0")?;
        self.fits(0, "bundle", 1, "hosts with one link")?;
        let bundles = [1, self.bundle(1), self.bundle(2)];
        let up = self.need(0, "radix_up")?;
        let aggs = self.upwards(0, up, bundles[1])?;
        self.need(1, "radix_down")?;
        self.fits(1, "radix_down", tors * bundles[1], "the switches of tier 0")?;
        // With two tiers the upper one is the top.
        let (cores_of_agg, cores) = if tiers == 3 {
            let each = self.upwards(1, self.need(1, "radix_up")?, bundles[2])?;
            self.need(2, "radix_down")?;
            self.fits(2, "radix_down", pods * bundles[2], "the pods")?;
            (each, aggs * each)
        } else {
            (0, 0)
        };
        self.oversubscribed(0, down, up)?;
        if tiers == 3 {
            self.oversubscribed(1, tors * bundles[1], self.need(1, "radix_up")?)?;
        }
        let (all_tors, all_aggs) = (pods * tors, pods * aggs);
        let switches = all_tors + all_aggs + cores;
        if switches > 1 << 16 {
            return Err(self.text.wrong(nodes_word, format!("{switches} switches are more than 65536")));
        }
        let mut graph =
            Graph { hosts: nodes as u32, switches: switches as u32, links: Vec::new(), back: Vec::new() };
        let host = self.link(0)?;
        (0..nodes).for_each(|h| add(&mut graph, (h, nodes + h / down), host));
        let middle = self.link(1)?;
        for tor in 0..all_tors {
            for agg in 0..aggs * bundles[1] {
                // One of the same pod.
                let agg = tor / tors * aggs + agg / bundles[1];
                add(&mut graph, (nodes + tor, nodes + all_tors + agg), middle);
            }
        }
        if tiers == 3 {
            let upper = self.link(2)?;
            for agg in 0..all_aggs {
                for link in 0..cores_of_agg * bundles[2] {
                    let core = agg % aggs + link / bundles[2] * aggs;
                    add(&mut graph, (nodes + all_tors + agg, nodes + all_tors + all_aggs + core), upper);
                }
            }
        }
        Ok(Found::new(graph, Origin::part(self.text.source, nodes_word)))
    }

    fn bundle(&self, tier: usize) -> u64 {
        self.tiers[tier].as_ref().and_then(|tier| tier.get("bundle")).unwrap_or(1)
    }

    /// The switches above one of a tier.
    fn upwards(&self, tier: usize, radix: u64, bundle: u64) -> Read<u64> {
        if radix.is_multiple_of(bundle) {
            return Ok(radix / bundle);
        }
        let at = self.tier(tier)?.at;
        let text = format!(
            "`radix_up` of tier {tier} is {radix}, and not a multiple of the bundle of {bundle} above it"
        );
        Err(self.text.wrong_line(at, text))
    }

    /// Checks that the over-subscription of a tier is that of its links, in ports.
    fn oversubscribed(&self, tier: usize, down: u64, up: u64) -> Read<()> {
        self.fits(tier, "oversubscribed", down / up.max(1), "`radix_down` and `radix_up`")
    }

    /// The links below a tier, upwards and back.
    fn link(&self, tier: usize) -> Read<(LinkSpec, LinkSpec)> {
        let gbps = self.need(tier, "downlink_speed_gbps")?;
        let delay = Time::ns(self.need(tier, "downlink_latency_ns")?);
        let switch = |tier: Option<usize>| {
            let written = tier.and_then(|tier| self.tiers[tier].as_ref()?.get("switch_latency_ns"));
            Time::ns(written.unwrap_or(0))
        };
        let rate = Rate::gbps(gbps);
        let (up, back) = (delay + switch(Some(tier)), delay + switch(tier.checked_sub(1)));
        Ok((LinkSpec { rate, delay: up }, LinkSpec { rate, delay: back }))
    }
}

fn add(graph: &mut Graph, (lower, upper): (u64, u64), (up, back): (LinkSpec, LinkSpec)) {
    // Only differences are listed, so that equal graphs of different files are equal.
    if up != back {
        graph.back.push((graph.links.len() as u32, back));
    }
    graph.links.push((lower as u32, upper as u32, up));
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_network::topology::Topology;

    const THREE: &str = "# a small one\nNodes 16\nTiers 3\nPodsize 8\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n\
        Downlink_Latency_ns 500\nSwitch_Latency_ns 100\nOversubscribed 2\n\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\n\
        Radix_Up 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 300\nBundle 1\n\nTier 2\nDownlink_speed_Gbps 400\nRadix_Down 4\n\
        Downlink_Latency_ns 2000\nBundle 2\n";

    fn read(text: &str) -> Read<Found> {
        parse(&Source::new("x.topo", text))
    }

    #[test]
    fn a_fat_tree_has_the_links_of_its_tiers() {
        let graph = read(THREE).expect("a fat-tree").graph;
        // Two pods of two and two switches, and two cores above each place in a pod, with two links to each.
        assert_eq!((graph.hosts, graph.switches), (16, 4 + 4 + 4));
        assert_eq!(graph.links.len(), 16 + 4 * 2 + 4 * 2 * 2);
        let rate = |gbps| Rate::gbps(gbps);
        assert_eq!(graph.links[5], (5, 17, LinkSpec { rate: rate(100), delay: Time::ns(600) }));
        assert_eq!(graph.links[16], (16, 20, LinkSpec { rate: rate(200), delay: Time::ns(1300) }));
        // Up to a core nothing is added, and down to tier 1 its latency is.
        let (first, agg) = (24, 16 + 4);
        assert_eq!(graph.links[first], (agg, 24, LinkSpec { rate: rate(400), delay: Time::ns(2000) }));
        assert_eq!(graph.links[first + 1].1, 24, "a bundle of two");
        assert_eq!((graph.links[first + 2].1, graph.links[first + 4].0), (26, agg + 1));
        assert!(graph.back.contains(&(24, LinkSpec { rate: rate(400), delay: Time::ns(2300) })));
        assert!(graph.back.contains(&(0, LinkSpec { rate: rate(100), delay: Time::ns(500) })));
        let pieces = graph.pieces().expect("a graph");
        assert!(pieces.iter().all(|piece| *piece == pieces[0]), "in one piece");
    }

    #[test]
    fn two_tiers_are_a_leaf_spine() {
        let two = THREE
            .split("Tier 2")
            .next()
            .expect("a text")
            .replace("Tiers 3", "Tiers 2")
            .replace("Podsize 8", "Podsize 16");
        let two = two.replace("Radix_Down 2\n", "Radix_Down 4\n").replace("Radix_Up 4\n", "");
        let graph = read(&two).expect("a leaf-spine").graph;
        assert_eq!((graph.hosts, graph.switches, graph.links.len()), (16, 4 + 2, 16 + 8));
    }

    #[test]
    fn what_does_not_fit_is_refused_where_it_is_written() {
        let cases = [
            ("Nodes 16", "Nodes 17", 2, "17 is not a multiple of 8: hosts of a pod"),
            (
                "Radix_Down 4\nRadix_Up 2",
                "Radix_Down 3\nRadix_Up 2",
                4,
                "8 is not a multiple of 3: hosts of a switch of tier 0",
            ),
            (
                "Radix_Down 2",
                "Radix_Down 3",
                16,
                "`radix_down` of tier 1 is 3, and the switches of tier 0 make it 2",
            ),
            ("Tiers 3", "Tiers 4", 3, "there are two or three tiers, not 4"),
            ("Podsize 8\n", "", 1, "the topology has no `Podsize`"),
            ("Radix_Up 2", "Radixup 2", 9, "`Radixup` is not a key of this part of the file"),
            ("Radix_Up 2", "Queue_Up 2", 9, "`Queue_Up` is not part of a topology here"),
            ("Radix_Up 2", "Radix_Up x", 9, "`x` is not `Radix_Up`: a whole number"),
            ("Radix_Up 2", "Radix_Up", 9, "`Radix_Up` takes one number"),
            (
                "Oversubscribed 2",
                "Oversubscribed 4",
                12,
                "`oversubscribed` of tier 0 is 4, and `radix_down` and `radix_up` make it 2",
            ),
            ("Tier 1", "Tier 0", 14, "tier 0 is there twice"),
            ("Downlink_speed_Gbps 400\n", "", 22, "tier 2 has no `downlink_speed_gbps`"),
        ];
        for (from, to, line, message) in cases {
            let error = read(&THREE.replace(from, to)).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused_wherever_that_is() {
        let lines: Vec<&str> = THREE.lines().collect();
        let whole = read(THREE).expect("a fat-tree").graph;
        for end in 0..lines.len() {
            // The last line says what would be so without it.
            match read(&lines[..end].join("\n")) {
                Ok(found) => assert_ne!(found.graph, whole, "{end}"),
                Err(error) => assert!(error.origin().is_some(), "{end}: {error}"),
            }
        }
    }
}
