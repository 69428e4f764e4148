//! Matching of sends and receives.
//!
//! The n-th send of a rank to another with a tag belongs to the n-th receive there that names this rank and this tag, in the order of
//! the trace, as messages of MPI do not overtake each other. Receives of one rank that name no sender, or no tag, take what is left in
//! the order in which it arrives.

use super::trace::{Trace, What};
use crate::text::ScenarioError;
use crate::text::error::counted;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};

/// Send that a receive waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// This send, by its number.
    One(u32),
    /// The arrival of so many messages of the [`Open`] at this position.
    NthOf(u32, u32),
}

/// Sends whose messages go to receives in the order in which they arrive.
pub type Open = Vec<u32>;

/// Sends and receives that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Each receive, and the messages that it waits for.
    pub receives: Vec<(u32, Source)>,
    /// Sends that the order of arrival decides about.
    pub open: Vec<Open>,
}

/// Receives by the rank that they are at, and the sender and the tag that they name.
type Wanted = (u32, Option<u32>, Option<u32>);

/// Finds them, or names a send or a receive that is left.
pub fn matched(trace: &Trace) -> Result<Matched, ScenarioError> {
    // Sends by receiver, sender and tag.
    let mut sends: FxHashMap<(u32, u32, u32), VecDeque<u32>> = FxHashMap::default();
    // Wildcards come after all others, and those that name more before those that name less.
    let mut open: BTreeMap<(bool, bool, Wanted), Vec<u32>> = BTreeMap::new();
    for (number, one) in (0..).zip(&trace.operations) {
        if let What::Send { to, tag, .. } = one.what {
            sends.entry((to, one.rank, tag)).or_default().push_back(number);
        }
    }
    let mut found = Matched::default();
    for (number, one) in (0..).zip(&trace.operations) {
        let What::Receive { from, tag, .. } = one.what else { continue };
        let (Some(sender), Some(named)) = (from, tag) else {
            open.entry((from.is_none(), tag.is_none(), (one.rank, from, tag))).or_default().push(number);
            continue;
        };
        let Some(send) = sends.get_mut(&(one.rank, sender, named)).and_then(VecDeque::pop_front) else {
            return Err(nobody(trace, number));
        };
        fits(trace, send, number)?;
        found.receives.push((number, Source::One(send)));
    }
    for ((_, _, (rank, from, tag)), receives) in open {
        let is_wanted = |(to, sender, named): &(u32, u32, u32)| {
            *to == rank && from.is_none_or(|from| from == *sender) && tag.is_none_or(|tag| tag == *named)
        };
        let mut candidates: Vec<u32> = Vec::new();
        for (key, left) in &mut sends {
            if is_wanted(key) {
                candidates.extend(left.drain(..));
            }
        }
        // Back in the order of the trace, which a map does not keep.
        candidates.sort_unstable();
        if candidates.len() < receives.len() {
            return Err(nobody(trace, receives[candidates.len()]));
        }
        if candidates.len() > receives.len() {
            let text = format!(
                "{} may belong to {} that name no sender or no tag, and which of them is not said",
                counted(candidates.len() as u64, "send"),
                counted(receives.len() as u64, "receive")
            );
            return Err(trace
                .fail(receives[0], text)
                .help("as many receives as there are sends take them in the order of arrival"));
        }
        for send in &candidates {
            for receive in &receives {
                fits(trace, *send, *receive)?;
            }
        }
        let position = found.open.len() as u32;
        // With a single send, the order of arrival decides nothing.
        found.receives.extend((1..).zip(&receives).map(|(nth, receive)| match candidates[..] {
            [only] => (*receive, Source::One(only)),
            _ => (*receive, Source::NthOf(nth, position)),
        }));
        if candidates.len() > 1 {
            found.open.push(candidates);
        }
    }
    // The first in the trace, whatever the order of the map.
    if let Some(send) = sends.values().filter_map(VecDeque::front).min() {
        let What::Send { to, tag, .. } = trace.operations[*send as usize].what else { return Ok(found) };
        return Err(trace
            .fail(*send, format!("nobody receives this: rank {to} has no receive for it with tag {tag}")));
    }
    Ok(found)
}

fn nobody(trace: &Trace, receive: u32) -> ScenarioError {
    let What::Receive { from, tag, .. } = trace.operations[receive as usize].what else {
        return trace.fail(receive, "this is no receive");
    };
    let rank = trace.operations[receive as usize].rank;
    let from = from.map_or_else(|| "any rank".into(), |from| format!("rank {from}"));
    let tag = tag.map_or_else(|| "any tag".into(), |tag| format!("tag {tag}"));
    trace.fail(receive, format!("nobody sends this: {from} has no send for it to rank {rank} with {tag}"))
}

/// A message is not larger than its receiver has room for.
fn fits(trace: &Trace, send: u32, receive: u32) -> Result<(), ScenarioError> {
    let (What::Send { bytes, .. }, What::Receive { bytes: room, .. }) =
        (&trace.operations[send as usize].what, &trace.operations[receive as usize].what)
    else {
        return Ok(());
    };
    if bytes <= room {
        return Ok(());
    }
    let text =
        format!("{room} B are too few for the message of {bytes} B that is sent ({})", trace.called(send));
    Err(trace.fail(receive, text))
}
