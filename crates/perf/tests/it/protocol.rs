//! The fuzz target of the server's protocol over its committed corpus, and over mutations of it.
#![allow(clippy::disallowed_methods, reason = "the corpus is files")]

#[path = "../../../../fuzz/src/perf_protocol.rs"]
#[allow(unreachable_pub, reason = "it is public to the fuzz target")]
mod perf_protocol;

use proptest::prelude::*;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/perf_protocol");

fn fuzz_seeds() -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(FOLDER).expect("the corpus is committed");
    entries.map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a seed")).collect()
}

#[test]
fn the_corpus_holds() {
    let seeds = fuzz_seeds();
    assert!(seeds.len() >= 10, "only {} seeds", seeds.len());
    seeds.iter().for_each(|seed| perf_protocol::check(seed));
}

proptest! {
    #![proptest_config(headway_testing::cases!(256))]

    #[test]
    fn changes_of_the_corpus_hold(
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 1..6),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let seeds = fuzz_seeds();
        let mut bytes: Vec<u8> = picks.iter().flat_map(|pick| pick.get(&seeds).clone()).collect();
        bytes.push(0);
        changes.iter().for_each(|(at, to)| *at.get_mut(&mut bytes) = *to);
        perf_protocol::check(&bytes);
    }
}
