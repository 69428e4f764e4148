//! Instructions of a packet-hop by part of the simulator: counted by valgrind, instruction by instruction.
//!
//! Nearly all of a hop is inlined into one function. The debug information says, for each instruction, which functions it was
//! inlined from: it belongs to the innermost one that is of a part. What a part calls of the standard library is thus its
//! own. Programs without that information, such as those of the profile `programs`, cannot be divided.

use super::{CASES, Case, callgrind_into, gate};
use addr2line::Loader;
use std::collections::BTreeMap;
use std::path::Path;

/// Parts by the beginning of a source file below `crates` or `core`, the first that fits. Files of no part are helpers of
/// their callers. Nothing but the event queue sorts while a run goes on.
const PARTS: &[(&str, &str)] = &[
    ("sim/src/queue", "event queue"),
    ("src/slice/sort", "event queue"),
    ("sim/src/rank.rs", "event queue"),
    ("sim/src/packet_pool.rs", "packets"),
    ("packet/", "packets"),
    ("fabric/", "port"),
    ("sim/src/ports", "port"),
    ("network/", "route"),
    ("sim/src/links", "link"),
    ("transport/", "machine"),
    ("sim/", "event loop"),
];
/// Instructions that no part asked for: of libraries that were not compiled with the program.
const ELSEWHERE: &str = "C library, allocator";

/// Prints a row for each part and a column for each list whose name contains one of the words.
pub(crate) fn table(words: &[String]) {
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let lists: Vec<_> = gate::lists().filter(|(name, _)| wanted(name)).collect();
    let mut columns = Vec::new();
    for (name, until) in &lists {
        let case = CASES.iter().find(|case| case.name == *name).expect("a case of that name");
        match shares(case) {
            Ok(shares) => columns.push((shares, gate::hops(case, *until))),
            Err(why) => return println!("no table: {why}"),
        }
    }
    let names: Vec<_> = lists.iter().map(|(name, _)| *name).collect();
    println!("| instructions a packet-hop | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(columns.len()));
    let mut parts: Vec<&str> = PARTS.iter().map(|(_, part)| *part).chain([ELSEWHERE]).collect();
    parts.dedup();
    let row = |name: &str, of: &dyn Fn(&BTreeMap<&'static str, f64>) -> f64| {
        let cells = columns.iter().map(|(shares, hops)| format!("{:.1}", of(shares) / *hops as f64));
        println!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    };
    for part in parts {
        row(part, &|shares| shares.get(part).copied().unwrap_or_default());
    }
    row("all", &|shares| shares.values().sum());
}

/// Instructions of the beginning of a list by part, without those before its first event.
fn shares(case: &Case) -> Result<BTreeMap<&'static str, f64>, String> {
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let loader = Loader::new(&me).map_err(|e| format!("the debug information of {}: {e}", me.display()))?;
    let mut of_part = BTreeMap::new();
    for (sign, part) in [(1.0, "whole"), (-1.0, "setup")] {
        let out = std::env::temp_dir().join(format!("headway-parts-{}", std::process::id()));
        let counted = callgrind_into(&["gate", "once", case.name, part], Some(&out));
        let text = std::fs::read_to_string(&out);
        // Before anything below can return.
        drop(std::fs::remove_file(&out));
        counted.ok_or("valgrind is not installed")?;
        for (place, count) in costs(&text.map_err(|e| e.to_string())?, &me) {
            let part = place.map_or(Ok(ELSEWHERE), |address| part_of(&loader, address))?;
            *of_part.entry(part).or_default() += sign * count as f64;
        }
    }
    // Without lines, hardly an instruction is of a part.
    if of_part.len() < 3 {
        return Err("this program was built without lines; use the profile `bench`".into());
    }
    Ok(of_part)
}

/// The part of an instruction of this program.
fn part_of(loader: &Loader, address: u64) -> Result<&'static str, String> {
    let mut frames = loader.find_frames(address).map_err(|e| e.to_string())?;
    while let Some(frame) = frames.next().map_err(|e| e.to_string())? {
        let file = frame.location.and_then(|location| location.file).unwrap_or_default();
        let below = file.rsplit_once("crates/").or(file.rsplit_once("library/core/")).map(|(_, below)| below);
        if let Some((_, part)) = PARTS.iter().find(|(start, _)| below.is_some_and(|f| f.starts_with(start))) {
            return Ok(part);
        }
    }
    Ok(ELSEWHERE)
}

/// Cost of each instruction in all, by its address in this program; `None` for those of other objects. The text is
/// callgrind's, with `--dump-instr=yes`: `ob=` names the object of what follows, `cob=` that of a called function, and numbers stand for names once they were
/// given. A line of cost has an address, a line, and a count, the first two also as a difference to the line before. The
/// line after `calls=` has what the called function cost, which stands with that function.
fn costs(text: &str, me: &Path) -> BTreeMap<Option<u64>, u64> {
    let mut objects: BTreeMap<&str, bool> = BTreeMap::new();
    let (mut own, mut address, mut called) = (false, 0u64, false);
    let mut all = BTreeMap::new();
    for line in text.lines() {
        if let Some(object) = line.strip_prefix("ob=").or(line.strip_prefix("cob=")) {
            let (number, name) = object.split_once(' ').unwrap_or((object, ""));
            if !name.is_empty() {
                objects.insert(number, Path::new(name) == me);
            }
            if line.starts_with("ob=") {
                own = objects.get(number).copied().unwrap_or_default();
            }
        } else if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let mut words = line.split(' ');
            let place = words.next().unwrap_or_default();
            let number = |digits: &str| match digits.strip_prefix("0x") {
                Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).unwrap_or_default(),
                None => digits.parse().unwrap_or_default(),
            };
            address = match place.split_at(1) {
                ("*", _) => address,
                ("+", by) => address.wrapping_add(number(by)),
                ("-", by) => address.wrapping_sub(number(by)),
                _ => number(place),
            };
            // After the line in the source.
            let count = words.nth(1).and_then(|count| count.parse().ok()).unwrap_or(0);
            if !std::mem::take(&mut called) {
                *all.entry(own.then_some(address)).or_default() += count;
            }
        }
    }
    all
}
