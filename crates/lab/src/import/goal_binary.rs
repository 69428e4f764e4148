//! GOAL schedules as LogGOPSim's `txt2bin` writes them (spcl/LogGOPSim, `Parser.hpp`).
//!
//! A number that tells them apart, the count of ranks, the highest processor and interface, and where each rank's part begins and ends.
//! A part is the count of its operations and of those that wait for nothing, the numbers of the latter, the operations in 39 bytes each,
//! and the numbers of the operations that wait for each. All numbers are little-endian.

use super::trace::{Binary, File, MOST_OPERATIONS, Place, Trace, What, When};
use crate::text::ScenarioError;
use headway_units::Time;
use std::ops::Range;
use std::sync::Arc;

/// First bytes of a schedule.
const MAGIC: u64 = 4223;
/// First bytes of a schedule that a simulation has used up.
const USED: u64 = 2342;
/// Bytes before the places of the ranks' parts.
const HEAD: usize = 8 + 4 + 2;
/// Position that offsets of parts count from.
const BASE: usize = 8;
/// Bytes of an operation.
const OPERATION: usize = 39;
/// A receive that names no sender, or no tag.
const ANY: u32 = u32::MAX;

/// True if bytes begin as a schedule does.
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes()) || bytes.starts_with(&USED.to_le_bytes())
}

/// Reads a schedule.
pub fn parse(file: &Arc<Binary>) -> Result<Trace, ScenarioError> {
    let bytes = Bytes(file);
    match bytes.u64(0)? {
        MAGIC => {}
        USED => {
            return Err(file
                .fail(0..8, "the schedule was used up by a simulation with little memory")
                .help("write it anew with `txt2bin`"));
        }
        _ => return Err(file.fail(0..8, "this is no binary GOAL schedule")),
    }
    let ranks = bytes.u32(8)?;
    if bytes.u8(13)? > 0 {
        return Err(file.fail(13..14, "a host has one interface, `nic 0`"));
    }
    // Before the loop: `ranks` is only a number in the file, and may be anything.
    bytes.need(HEAD, u64::from(ranks) * 16, "places of ranks")?;
    if ranks == 0 {
        return Err(file.fail(8..12, "the schedule has no rank"));
    }
    let mut trace = Trace { ranks, files: vec![File::Binary(Arc::clone(file))], ..Trace::default() };
    for rank in 0..ranks {
        let place = HEAD + rank as usize * 16;
        let (begin, end) = (bytes.u64(place)?, bytes.u64(place + 8)?);
        let all = (file.bytes.len() - BASE) as u64;
        if begin > end || end > all {
            let text = format!("the part of rank {rank} goes from byte {begin} to {end} of {all}");
            return Err(file.fail(place..place + 16, text).help("is the file cut off?"));
        }
        part(&bytes, rank, BASE + begin as usize..BASE + end as usize, &mut trace)?;
    }
    Ok(trace)
}

struct Bytes<'a>(&'a Arc<Binary>);

impl Bytes<'_> {
    fn get<const N: usize>(&self, at: usize) -> Result<[u8; N], ScenarioError> {
        let part = self.0.bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied();
        part.ok_or_else(|| {
            let end = self.0.bytes.len();
            self.0
                .fail(end..end, format!("the file ends inside a number of {N} B"))
                .help("is the file cut off?")
        })
    }

    fn u8(&self, at: usize) -> Result<u8, ScenarioError> {
        self.get::<1>(at).map(|[byte]| byte)
    }

    fn u32(&self, at: usize) -> Result<u32, ScenarioError> {
        self.get(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Result<u64, ScenarioError> {
        self.get(at).map(u64::from_le_bytes)
    }

    /// An error unless so many bytes are there.
    fn need(&self, at: usize, length: u64, what: &str) -> Result<(), ScenarioError> {
        let left = self.0.bytes.len().saturating_sub(at) as u64;
        if length <= left {
            return Ok(());
        }
        let error = self.0.fail(at..at + 1, format!("{what} take {length} B, and {left} B are left"));
        Err(error.help("is the file cut off?"))
    }
}

fn part(bytes: &Bytes<'_>, rank: u32, span: Range<usize>, trace: &mut Trace) -> Result<(), ScenarioError> {
    let (count, free) = (bytes.u32(span.start)?, bytes.u32(span.start + 4)?);
    // Both counts have 32 bits, so that no sum here overflows 64.
    let begin = span.start + 8 + 4 * free as usize;
    let length = 8 + 4 * u64::from(free) + u64::from(count) * OPERATION as u64;
    if length > (span.end - span.start) as u64 {
        let text = format!(
            "{count} operations of rank {rank} take {length} B, and its part has {} B",
            span.end - span.start
        );
        return Err(bytes.0.fail(span.start..span.start + 8, text));
    }
    if trace.operations.len() as u64 + u64::from(count) > MOST_OPERATIONS {
        return Err(bytes
            .0
            .fail(span.start..span.start + 4, format!("more than {MOST_OPERATIONS} operations")));
    }
    let waiting = begin + count as usize * OPERATION;
    let first = trace.operations.len() as u32;
    let mut causes = vec![0u32; count as usize];
    for number in 0..count {
        let at = begin + number as usize * OPERATION;
        let what = operation(bytes, rank, at, trace.ranks)?;
        let name = format!("operation {number} of rank {rank}");
        trace.push(rank, what, Some(&name), Place { file: 0, span: at..at + OPERATION });
        // Each operation has two lists of those that wait for it: until it is over, and until it has begun.
        for (place, when) in [(at + 23, When::Over), (at + 31, When::Begun)] {
            let (many, from) = (bytes.u32(place)?, bytes.u32(place + 4)?);
            let listed = waiting as u64 + 4 * (u64::from(from) + u64::from(many));
            if many > 0 && listed > span.end as u64 {
                let text = format!(
                    "{many} operations that wait for operation {number} of rank {rank} are listed beyond its part"
                );
                return Err(bytes.0.fail(place..place + 8, text));
            }
            for nth in 0..many {
                // Cannot overflow: the check above keeps the whole list within the part.
                let entry = waiting + 4 * (from + nth) as usize;
                let next = bytes.u32(entry)?;
                let Some(count) = causes.get_mut(next as usize) else {
                    return Err(bytes
                        .0
                        .fail(entry..entry + 4, format!("operation {next} of rank {rank} is not there")));
                };
                *count += 1;
                trace.wait(first + next, first + number, when);
            }
        }
    }
    for (number, found) in (0..).zip(causes) {
        let at = begin + number as usize * OPERATION;
        let said = bytes.u32(at)?;
        // The same is written twice, in both directions: a difference means that the file was changed.
        if said != found {
            let text =
                format!("operation {number} of rank {rank} waits for {said} others, and {found} name it");
            return Err(bytes.0.fail(at..at + 4, text));
        }
    }
    Ok(())
}

fn operation(bytes: &Bytes<'_>, rank: u32, at: usize, ranks: u32) -> Result<What, ScenarioError> {
    let peer = |any: bool| {
        let peer = bytes.u32(at + 5)?;
        if peer < ranks || any && peer == ANY {
            return Ok(peer);
        }
        Err(bytes.0.fail(at + 5..at + 9, format!("rank {peer} is not there: the schedule has {ranks}")))
    };
    let (size, tag) = (bytes.u64(at + 9)?, bytes.u32(at + 17)?);
    let processor = Some(u16::from(bytes.u8(at + 21)?));
    Ok(match bytes.u8(at + 4)? {
        1 => What::Send { to: peer(false)?, bytes: size, tag, processor },
        2 => {
            let from = Some(peer(true)?).filter(|peer| *peer != ANY);
            What::Receive { from, bytes: size, tag: Some(tag).filter(|tag| *tag != ANY), processor }
        }
        3 => {
            let takes = size.checked_mul(1000).map(Time);
            let takes =
                takes.ok_or_else(|| bytes.0.fail(at + 9..at + 17, format!("{size} ns are too long")))?;
            What::Compute { takes, processor }
        }
        other => {
            return Err(bytes.0.fail(
                at + 4..at + 5,
                format!(
                    "rank {rank} has an operation of type {other}: 1 is a send, 2 a receive, 3 a computation"
                ),
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::goal;
    use super::*;
    use crate::text::Source;

    /// A schedule as `txt2bin` writes it.
    fn written(trace: &Trace) -> Vec<u8> {
        let mut parts = Vec::new();
        for rank in 0..trace.ranks {
            let own: Vec<u32> =
                (0..).zip(&trace.operations).filter(|(_, one)| one.rank == rank).map(|(n, _)| n).collect();
            let number =
                |operation: u32| own.iter().position(|one| *one == operation).expect("of the rank") as u32;
            let waits = |operation: u32, when: When| {
                let after =
                    trace.waits.iter().filter(move |wait| wait.cause == operation && wait.when == when);
                after.map(|wait| number(wait.operation)).collect::<Vec<u32>>()
            };
            let causes =
                |operation: u32| trace.waits.iter().filter(|wait| wait.operation == operation).count() as u32;
            let free: Vec<u32> =
                own.iter().filter(|one| causes(**one) == 0).map(|one| number(*one)).collect();
            let mut part: Vec<u8> = Vec::new();
            let mut listed: Vec<u32> = Vec::new();
            let u32s = |list: &[u32]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
            part.extend(u32s(&[own.len() as u32, free.len() as u32]));
            part.extend(u32s(&free));
            for one in &own {
                let (kind, peer, size, tag, processor) = match trace.operations[*one as usize].what {
                    What::Send { to, bytes, tag, processor } => (1u8, to, bytes, tag, processor),
                    What::Receive { from, bytes, tag, processor } => {
                        (2, from.unwrap_or(ANY), bytes, tag.unwrap_or(ANY), processor)
                    }
                    What::Compute { takes, processor } => (3, 0, takes.0 / 1000, 0, processor),
                    _ => panic!("not of a schedule"),
                };
                part.extend(causes(*one).to_le_bytes());
                part.push(kind);
                part.extend(peer.to_le_bytes());
                part.extend(size.to_le_bytes());
                part.extend(tag.to_le_bytes());
                part.extend([processor.unwrap_or(0) as u8, 0]);
                for when in [When::Over, When::Begun] {
                    let after = waits(*one, when);
                    part.extend(u32s(&[after.len() as u32, listed.len() as u32]));
                    listed.extend(after);
                }
            }
            part.extend(u32s(&listed));
            parts.push(part);
        }
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend(trace.ranks.to_le_bytes());
        bytes.extend([0, 0]);
        let mut at = (HEAD - BASE + parts.len() * 16) as u64;
        for part in &parts {
            bytes.extend(at.to_le_bytes());
            at += part.len() as u64;
            bytes.extend(at.to_le_bytes());
        }
        parts.into_iter().for_each(|part| bytes.extend(part));
        bytes
    }

    const TEXT: &str = "num_ranks 3\nrank 0 {\na: calc 100 cpu 2\nb: send 10b to 1 tag 7\nb requires a\nc: calc 5\nc irequires b\n}\nrank 1 {\n\
        a: recv 10b from -1 tag -1\nb: send 7b to 2\nb requires a\n}\nrank 2 {\nrecv 7b from 1\n}\n";

    fn read(bytes: &[u8]) -> Result<Trace, ScenarioError> {
        parse(&Arc::new(Binary { name: "x.bin".into(), bytes: bytes.to_vec() }))
    }

    #[test]
    fn a_binary_schedule_says_the_same_as_its_text() {
        let text = goal::parse(&Source::new("x.goal", TEXT)).expect("a schedule");
        let binary = read(&written(&text)).expect("a schedule");
        let whats = |trace: &Trace| {
            trace.operations.iter().map(|one| (one.rank, one.what.clone())).collect::<Vec<_>>()
        };
        assert_eq!(whats(&binary), whats(&text));
        let waits = |trace: &Trace| {
            let mut all: Vec<_> =
                trace.waits.iter().map(|wait| (wait.operation, wait.cause, wait.when as u8)).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(waits(&binary), waits(&text));
    }

    #[test]
    fn what_is_cut_or_changed_is_refused_or_another_schedule() {
        let text = goal::parse(&Source::new("x.goal", TEXT)).expect("a schedule");
        let whole = written(&text);
        for cut in 0..whole.len() {
            let error = read(&whole[..cut]).expect_err("it is cut off");
            assert!(error.origin().is_some());
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                // Another value may make another schedule; what counts is that nothing panics.
                if let Ok(trace) = read(&changed) {
                    assert_eq!(trace.ranks, 3, "byte {at}");
                }
            }
        }
        let mut many = whole.clone();
        many[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(
            read(&many).expect_err("too many").to_string().starts_with("places of ranks take 68719476720 B")
        );
        many = whole;
        many[..8].copy_from_slice(&USED.to_le_bytes());
        assert!(read(&many).expect_err("used").to_string().starts_with("the schedule was used up"));
    }
}
