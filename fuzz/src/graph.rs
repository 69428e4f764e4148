//! Properties of the reader of topology files on any text. The fuzz target and the test that replays the corpus
//! run this same function.

use headway_lab::text::Source;
use headway_lab::topology::graph;
use headway_network::topology::{Graph, Topology};

/// Panics when a text is neither read nor refused at a place of it, or is read as something that is not a network.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = || graph::parse(&Source::new("graph.toml", text));
    let found = match read() {
        Ok(found) => found,
        Err(error) => {
            let at = error.origin().expect("a place");
            assert!(at.span.end <= text.len());
            return assert!(error.render().contains("graph.toml"));
        }
    };
    let again = read().expect("it was read before");
    assert_eq!((&found.graph, &found.resolved), (&again.graph, &again.resolved));
    let Graph { hosts, switches, links, back } = &found.graph;
    assert!(back.iter().all(|(link, _)| (*link as usize) < links.len()));
    assert!(back.is_sorted_by(|one, other| one.0 < other.0));
    let pieces = found.graph.pieces().expect("a graph may be in pieces");
    assert_eq!(pieces.len(), *hosts as usize);
    let mut ends = vec![0; *hosts as usize];
    for (a, b, _) in links {
        assert!(a != b && *a.max(b) < hosts + switches);
        for host in [a, b].into_iter().filter(|node| *node < hosts) {
            ends[*host as usize] += 1;
        }
        let piece = |node: &u32| pieces.get(*node as usize);
        // Two hosts that a link joins are in a piece together.
        if let (Some(one), Some(other)) = (piece(a), piece(b)) {
            assert!(one.iter().any(|piece| other.contains(piece)));
        }
    }
    assert!(ends.iter().all(|links| *links > 0), "a host has a link");
    assert!(pieces.iter().zip(&ends).all(|(pieces, links)| pieces.len() == *links), "each is an interface");
}
