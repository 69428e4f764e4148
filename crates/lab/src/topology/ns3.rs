//! The topology files of HPCC's ns-3 and of those made from it.
//!
//! The first line is `NODES SWITCHES LINKS` (HPCC, ns3-rdma, ConWeave, ASTRA-sim), `NODES SWITCHES TORS LINKS` (PowerTCP),
//! `NODES SWITCHES TORS LINKS HOST_RATE CORE_RATE` (Reverie), or SimAI's `NODES GPUS_PER_SERVER NVSWITCHES SWITCHES LINKS GPU_TYPE`. The
//! numbers of the switches follow, and then the links: `A B RATE DELAY ERROR_RATE`. Nodes that are not switches are hosts, in the
//! order of their numbers, and so are the switches. A rate without a unit is in bits per second. Packets are lost on a link at its error
//! rate, in both directions. Lines behind the links are not read, as in ns-3.
//!
//! Each link of a host is an interface of it, as to a leaf and to an NVLink switch.

use super::found::Found;
use super::words::Text;
use crate::text::error::counted;
use crate::text::{Origin, ScenarioError, Source};
use headway_network::LinkSpec;
use headway_network::topology::Graph;
use rustc_hash::FxHashMap;
use std::sync::Arc;

type Read<T> = Result<T, ScenarioError>;

/// Nodes at most.
const MOST: u64 = 1 << 24;

/// The words of a file, one after the other.
struct Words<'a> {
    text: Text<'a>,
    words: std::vec::IntoIter<&'a str>,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> Read<&'a str> {
        self.words.next().ok_or_else(|| {
            let error = self.text.wrong_line(self.text.end(), format!("the file ends before {what}"));
            error.help("is the file cut off?")
        })
    }
}

/// Counts in the first line.
struct Head<'a> {
    nodes: u64,
    nodes_word: &'a str,
    switches: u64,
    links: u64,
    links_word: &'a str,
}

fn head<'a>(text: &Text<'a>) -> Read<Head<'a>> {
    let Some(first) = text.lines().next() else { return Err(text.wrong_line(1, "the topology is empty")) };
    let count = |place: usize, what: &str| text.number(first.words[place], what, 0..=MOST);
    let is_rate = |place: usize| first.words[place].parse::<f64>().is_ok();
    let (switches, links) = match first.words.len() {
        3 => (count(1, "the number of switches")?, 2),
        4 => {
            count(2, "the number of switches of racks")?;
            (count(1, "the number of switches")?, 3)
        }
        // Reverie's last word is a rate, SimAI's the name of a GPU.
        6 if is_rate(5) => {
            count(2, "the number of switches of racks")?;
            (count(1, "the number of switches")?, 3)
        }
        6 => {
            count(1, "the GPUs of a server")?;
            // The topology has NVLink switches as switches like the others.
            (count(2, "the number of NVLink switches")? + count(3, "the number of switches")?, 4)
        }
        n => {
            let error =
                text.wrong_line(first.number, format!("the first line has {n} words, and not 3, 4 or 6"));
            return Err(error.help(
                "it is `NODES SWITCHES LINKS`, PowerTCP's `NODES SWITCHES TORS LINKS`, or Reverie's or SimAI's with six words",
            ));
        }
    };
    let nodes = count(0, "the number of nodes")?;
    if switches >= nodes {
        return Err(
            text.wrong(first.words[0], format!("{nodes} nodes with {switches} switches have no host"))
        );
    }
    if switches > 1 << 16 {
        return Err(text.wrong(first.words[1], format!("{switches} switches are more than 65536")));
    }
    Ok(Head {
        nodes,
        nodes_word: first.words[0],
        switches,
        links: count(links, "the number of links")?,
        links_word: first.words[links],
    })
}

/// Reads a topology from its text.
pub fn parse(source: &Arc<Source>) -> Read<Found> {
    let text = Text { source };
    let head = head(&text)?;
    // ns-3 reads word by word, wherever lines break.
    let rest: Vec<&str> = text.lines().skip(1).flat_map(|line| line.words).collect();
    let mut words = Words { text, words: rest.into_iter() };
    let mut switches = Vec::new();
    for _ in 0..head.switches {
        let word = words.next("the numbers of its switches are all there")?;
        switches.push(words.text.number(word, "the number of a switch", 0..=head.nodes - 1)?);
        if switches[..switches.len() - 1].contains(&switches[switches.len() - 1]) {
            return Err(words.text.wrong(word, format!("switch {word} is there twice")));
        }
    }
    let number = numbers(&switches, head.nodes);
    let hosts = (head.nodes - head.switches) as u32;
    let mut links: Vec<(u32, u32, LinkSpec)> = Vec::new();
    let mut losses: Vec<(usize, f64, &str)> = Vec::new();
    for _ in 0..head.links {
        let promised = format!("all of its {} links are there", head.links);
        let [a, b, rate, delay, loss] = [(); 5].map(|()| words.next(&promised));
        let (a, b, loss) = (a?, b?, loss);
        let ends = [a, b].map(|word| words.text.number(word, "the number of a node", 0..=head.nodes - 1));
        let [from, to] = ends;
        let (from, to) = (from?, to?);
        let spec = LinkSpec { rate: words.text.rate(rate?)?, delay: words.text.time(delay?)? };
        let loss = loss?;
        let share = loss.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
        let share = share.ok_or_else(|| {
            words.text.wrong(loss, format!("`{loss}` is not an error rate: a number from 0 to 1"))
        })?;
        if share > 0.0 {
            losses.push((links.len(), share, loss));
        }
        if from == to {
            return Err(words.text.wrong(b, "a link joins a node to itself"));
        }
        links.push((number[from as usize], number[to as usize], spec));
    }
    let mut notes = Vec::new();
    if let Some(more) = words.words.next() {
        let line = source.line_column(Origin::part(source, more).span.start).0;
        notes.push(format!(
            "{}: what stands behind the {} links, from line {line} on, is not read, as in ns-3",
            source.name, head.links
        ));
    }
    let switches = head.switches as u32;
    let mut attached = vec![false; hosts as usize];
    links
        .iter()
        .flat_map(|(a, b, _)| [*a, *b])
        .filter(|n| *n < hosts)
        .for_each(|h| attached[h as usize] = true);
    if let Some(host) = attached.iter().position(|has| !has) {
        let node = number.iter().position(|n| *n == host as u32).unwrap_or(host);
        return Err(words.text.wrong(head.links_word, format!("node {node}, a host, has no link")));
    }
    let losses = by_ends(&words.text, &links, &losses)?;
    if !losses.is_empty() {
        let lossy = counted(losses.len() as u64, "link");
        notes.push(format!("{}: {lossy} with an error rate: packets are lost there at random", source.name));
    }
    let graph = Graph { hosts, switches, links, back: Vec::new() };
    let nodes = number.iter().map(|node| (*node < hosts).then_some(*node)).collect();
    let found = Found::new(graph, Origin::part(source, head.nodes_word));
    Ok(Found { notes, losses, nodes: Some(nodes), ..found })
}

/// Error rates by the two ends of their links; those of links between the same two nodes have to agree, as their ends
/// identify links.
fn by_ends(
    text: &Text<'_>,
    links: &[(u32, u32, LinkSpec)],
    losses: &[(usize, f64, &str)],
) -> Read<Vec<(u32, u32, f64)>> {
    // In either direction, since a link loses packets in both.
    let ends = |link: usize| (links[link].0.min(links[link].1), links[link].0.max(links[link].1));
    let mut found: FxHashMap<(u32, u32), f64> = FxHashMap::default();
    let lossy: FxHashMap<usize, f64> = losses.iter().map(|(link, share, _)| (*link, *share)).collect();
    for (link, share, word) in losses {
        let beside = (0..links.len()).filter(|other| ends(*other) == ends(*link));
        if beside.into_iter().any(|other| lossy.get(&other) != Some(share)) {
            return Err(text.wrong(word, "links between the same two nodes have other error rates"));
        }
        found.insert(ends(*link), *share);
    }
    let mut found: Vec<(u32, u32, f64)> = found.into_iter().map(|((a, b), share)| (a, b, share)).collect();
    // A list out of a hash map: its order goes into the scenario's digest.
    found.sort_by_key(|(a, b, _)| (*a, *b));
    Ok(found)
}

/// Numbers here of the file's nodes: hosts first, each kind in order.
fn numbers(switches: &[u64], nodes: u64) -> Vec<u32> {
    let mut sorted = switches.to_vec();
    sorted.sort_unstable();
    let hosts = nodes - sorted.len() as u64;
    let number = |node: u64| match sorted.binary_search(&node) {
        Ok(place) => hosts + place as u64,
        Err(before) => node - before as u64,
    };
    (0..nodes).map(|node| number(node) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_network::topology::Topology;
    use headway_units::{Rate, Time};

    const HPCC: &str = "6 2 5\n0 3\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 1us 0.000000\n3 4 25Gbps 500ns 0\n3 5 25Gbps 500ns 0\n\
        0 3 400Gbps 2us 0\n";
    /// Two servers of two GPUs, two leaves and a spine.
    const SIMAI: &str = "9 2 2 3 10 H100\n4 5 6 7 8 \n0 4 2880Gbps 0.000025ms 0\n0 6 400Gbps 0.0005ms 0\n1 4 2880Gbps 0.000025ms 0\n\
        1 7 400Gbps 0.0005ms 0\n2 5 2880Gbps 0.000025ms 0\n2 6 400Gbps 0.0005ms 0\n3 5 2880Gbps 0.000025ms 0\n\
        3 7 400Gbps 0.0005ms 0\n6 8 400Gbps 0.0005ms 0\n7 8 400Gbps 0.0005ms 0\n";

    fn read(text: &str) -> Read<Found> {
        parse(&Source::new("topology.txt", text))
    }

    #[test]
    fn hosts_and_switches_are_numbered_in_the_order_of_the_file() {
        let graph = read(HPCC).expect("a topology").graph;
        assert_eq!((graph.hosts, graph.switches), (4, 2));
        let link = |gbps, ns| LinkSpec { rate: Rate::gbps(gbps), delay: Time::ns(ns) };
        let expected = [
            (4, 0, link(100, 1000)),
            (4, 1, link(100, 1000)),
            (5, 2, link(25, 500)),
            (5, 3, link(25, 500)),
            (4, 5, link(400, 2000)),
        ];
        assert_eq!(graph.links, expected);
    }

    #[test]
    fn each_of_the_family_has_its_head_and_rates() {
        let bare = HPCC
            .replace("100Gbps", "100000000000.0")
            .replace("25Gbps", "25000000000")
            .replace("400Gbps", "4e11");
        let graph = read(HPCC).expect("a topology").graph;
        for head in ["6 2 5", "6 2 2 5", "6 2 2 5 25000000000 1e11"] {
            let found = read(&bare.replace("6 2 5", head)).unwrap_or_else(|error| panic!("{head}: {error}"));
            assert_eq!(found.graph, graph, "{head}");
            assert_eq!(found.nodes, Some(vec![None, Some(0), Some(1), None, Some(2), Some(3)]));
            assert!(found.notes.is_empty(), "{:?}", found.notes);
        }
    }

    #[test]
    fn what_stands_behind_the_links_is_noted_and_not_read() {
        let prose = "First line: total node #\nsrc0 dst0 rate delay error_rate\n";
        for more in ["note", "0 4 10Gbps 1us 0\n", prose] {
            let found = read(&format!("{HPCC}{more}")).expect("a topology");
            assert_eq!(found.graph, read(HPCC).expect("a topology").graph);
            let note =
                "topology.txt: what stands behind the 5 links, from line 8 on, is not read, as in ns-3";
            assert_eq!(found.notes, [note]);
        }
        let fewer = read(&HPCC.replace("6 2 5", "6 2 4").replace("3 5 25Gbps", "0 5 25Gbps"));
        assert_eq!(fewer.expect("a topology").graph.links.len(), 4);
    }

    #[test]
    fn error_rates_are_losses_of_their_links() {
        let found =
            read(&HPCC.replace("2us 0", "2us 0.01").replace("3 4 25Gbps 500ns 0", "3 4 25Gbps 500ns 1e-3"));
        let found = found.expect("a topology");
        assert_eq!(found.losses, [(2, 5, 0.001), (4, 5, 0.01)]);
        assert_eq!(
            found.notes,
            ["topology.txt: 2 links with an error rate: packets are lost there at random"]
        );
        let apart = HPCC
            .replace("6 2 5", "6 2 6")
            .replace("0 3 400Gbps 2us 0", "0 3 400Gbps 2us 0.1\n3 0 400Gbps 2us 0");
        let error = read(&apart).expect_err("two rates").to_string();
        assert_eq!(error, "links between the same two nodes have other error rates");
    }

    #[test]
    fn each_link_of_a_host_is_an_interface() {
        let graph = read(SIMAI).expect("a topology").graph;
        assert_eq!((graph.hosts, graph.switches, graph.links.len()), (4, 5, 10));
        assert_eq!(graph.interfaces(), 8, "each GPU has one to its NVLink switch and one to its leaf");
        let pieces = graph.pieces().expect("a graph");
        let nics = pieces.iter().map(|pieces| pieces[1]);
        assert!(nics.clone().all(|piece| piece == pieces[0][1]), "one network of NICs: {pieces:?}");
        assert_eq!(
            [pieces[0][0] == pieces[1][0], pieces[0][0] == pieces[2][0]],
            [true, false],
            "a node each"
        );
    }

    #[test]
    fn what_is_wrong_is_refused_where_it_is_written() {
        let cases = [
            ("6 2 5", "6 2", 1, "the first line has 2 words, and not 3, 4 or 6"),
            ("6 2 5", "2 2 5", 1, "2 nodes with 2 switches have no host"),
            ("6 2 5", "6 2 6", 7, "the file ends before all of its 6 links are there"),
            ("6 2 5", "7 2 5", 1, "node 6, a host, has no link"),
            ("0 3\n", "0 0\n", 2, "switch 0 is there twice"),
            ("0 3\n", "0 9\n", 2, "the number of a switch is from 0 to 5, not 9"),
            ("3 5 25Gbps", "3 8 25Gbps", 6, "the number of a node is from 0 to 5, not 8"),
            ("3 5 25Gbps", "5 5 25Gbps", 6, "a link joins a node to itself"),
            ("3 5 25Gbps", "3 5 25GBit", 6, "`GBit` is not a unit"),
            ("3 5 25Gbps", "3 5 25us", 6, "`25us` is a duration, and a rate is wanted"),
            ("2us 0", "2us 1.01", 7, "`1.01` is not an error rate: a number from 0 to 1"),
        ];
        for (from, to, line, message) in cases {
            let error = read(&HPCC.replace(from, to)).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused_wherever_that_is() {
        for text in [HPCC, SIMAI] {
            // The last link but its error rate, and every shorter beginning.
            let last = text.trim_end().len() - 1;
            for end in (0..=last).filter(|end| text.is_char_boundary(*end)) {
                let error = read(&text[..end]).expect_err("a part of a topology");
                assert!(error.origin().is_some(), "{end}: {error}");
            }
        }
    }
}
