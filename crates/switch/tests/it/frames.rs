//! The fuzz target of the switch's frames over its committed corpus, and over random inputs.

#![allow(clippy::disallowed_methods, reason = "the corpus is files")]

#[path = "../../../../fuzz/src/switch_frame.rs"]
#[allow(unreachable_pub, reason = "it is public to the fuzz target")]
mod switch_frame;

use proptest::prelude::*;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/switch_frame");

#[test]
fn the_corpus_holds() {
    let mut seeds = 0;
    for entry in std::fs::read_dir(FOLDER).expect("the corpus is committed") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        switch_frame::check(&std::fs::read(path).expect("a seed"));
        seeds += 1;
    }
    assert!(seeds >= 12, "only {seeds} seeds");
}

proptest! {
    #![proptest_config(headway_testing::cases!(150))]

    #[test]
    fn no_frames_are_lost_or_double(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        switch_frame::check(&bytes);
    }
}
