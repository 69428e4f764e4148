//! Properties of the readers of traces on any bytes. The first byte chooses the reader, so that one corpus serves all
//! formats; the fuzz target and the test that replays the corpus run this same function.

use headway_lab::import::format::{Format, NAMES, Told};
use headway_lab::import::matching;
use headway_lab::import::trace::{Binary, Trace, What};
use headway_units::Time;

/// Largest number of ranks for a workload.
const RANKS: u32 = 8;

/// Panics when bytes are neither read nor refused at a place of them, or when a result refers to an item that is not
/// there.
pub fn check(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let format = Format::at(usize::from(*first & 7).min(NAMES.len() - 1));
    let told = Told {
        start_unit: (first & 64 > 0).then_some(Time::us(1)),
        ranks: (first & 32 == 0).then_some(RANKS),
        operations_per_second: (first & 16 > 0).then_some(1e9),
        collective_bytes: Some(1 << 20),
        ..Told::default()
    };
    // The files of several ranks stand in one input, each between two separators.
    let files: Vec<Binary> = match format {
        Format::Chakra => bytes.split(|byte| *byte == 0xff).map(file).collect(),
        Format::Matrix | Format::Goal | Format::SimAi | Format::Hpcc => vec![file(bytes)],
    };
    match format.read(files, None, &told) {
        Ok(trace) => refers_to_what_is_there(&trace, bytes.len()),
        Err(error) => {
            let at = error.origin().expect("a place");
            assert!(at.span.end <= at.source.text.len());
            assert!(error.render().contains("a trace"));
        }
    }
}

fn file(bytes: &[u8]) -> Binary {
    Binary { name: "a trace".into(), bytes: bytes.to_vec() }
}

fn refers_to_what_is_there(trace: &Trace, bytes: usize) {
    // A workload of a few bytes may be one of many ranks, and no other trace has more operations than bytes.
    assert!(trace.operations.len() as u64 <= 64 * (bytes as u64 + 64) * u64::from(trace.ranks.max(1)));
    let count = trace.operations.len() as u32;
    assert!(trace.waits.iter().all(|wait| wait.operation < count && wait.cause < count));
    for one in &trace.operations {
        assert!(one.rank < trace.ranks);
        let at = trace.origin(&one.at);
        assert!(at.span.end <= at.source.text.len());
        match one.what {
            What::Message { to, .. } | What::Send { to, .. } => assert!(to < trace.ranks),
            What::Receive { from, .. } => assert!(from.is_none_or(|from| from < trace.ranks)),
            What::Collective { group, .. } => {
                assert!(trace.groups[group as usize].iter().all(|rank| *rank < trace.ranks));
            }
            What::Compute { .. } | What::Join { .. } => {}
        }
    }
    if let Err(error) = matching::matched(trace) {
        assert!(error.origin().is_some());
    }
}
