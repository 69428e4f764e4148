//! Number of lines of C that a control takes beyond DCTCP; of L2DCT the paper says fewer than 75 in the TCP of Linux
//! (§I).

use crate::Control;
use std::collections::BTreeMap;

const DCTCP: &str = concat!(include_str!("../bpf/dctcp.bpf.c"), "\n");
const SETTINGS: &str = include_str!("../bpf/settings.h");

/// Files of a control's own, and the fields of `struct settings` that it has and DCTCP has not. `None` for one that is
/// not built on DCTCP.
fn own_files(control: Control) -> Option<(&'static str, &'static [&'static str])> {
    Some(match control {
        Control::Dctcp => (DCTCP, &[]),
        Control::L2dct => (
            concat!(include_str!("../bpf/l2dct.bpf.c"), "\n", include_str!("../bpf/l2dct.h")),
            &["u64 young;", "u64 old;", "u32 increase[", "u16 power["],
        ),
        Control::D2tcp => (
            concat!(include_str!("../bpf/d2tcp.bpf.c"), "\n", include_str!("../bpf/d2tcp.h")),
            &["u64 deadline_us;", "u64 bytes;", "u32 urgency[", "u16 power["],
        ),
        Control::Vegas => return None,
    })
}

/// Lines of C, without comments and blank lines, that a control has and DCTCP has not: those of its own files, of the
/// settings, and of the function that looks a power up. Tables that the loader fills in are data, and not counted. `None` for a
/// control that is not built on DCTCP: its lines beyond that would be all of it.
pub fn beyond_dctcp(control: Control) -> Option<usize> {
    let (files, fields) = own_files(control)?;
    let settings: Vec<&str> = SETTINGS.lines().map(str::trim).collect();
    let shared = settings.iter().filter(|line| fields.iter().any(|field| line.starts_with(field))).count();
    // DCTCP has no powers: the function would be dead code in it.
    let lookup = SETTINGS.split("static inline").nth(1).filter(|_| !fields.is_empty());
    let lookup = lookup.map_or(0, |text| code_lines(text).values().sum());
    Some(lines_beyond(&code_lines(files), &code_lines(DCTCP)) + shared + lookup)
}

/// Lines with code, without comments, and how often each occurs.
fn code_lines(text: &str) -> BTreeMap<&str, usize> {
    let mut lines = BTreeMap::new();
    let mut comment = false;
    for line in text.lines().map(str::trim) {
        let begins = line.starts_with("/*");
        if !(comment || begins || line.is_empty()) {
            *lines.entry(line).or_default() += 1;
        }
        // Only comments that have lines to themselves: the sources put none over several lines behind code.
        comment = (comment || begins) && !line.ends_with("*/");
    }
    lines
}

/// Lines of `one` that `other` has not.
fn lines_beyond(one: &BTreeMap<&str, usize>, other: &BTreeMap<&str, usize>) -> usize {
    one.iter().map(|(line, count)| count.saturating_sub(other.get(line).copied().unwrap_or(0))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_not_counted() {
        let text = "/* one */\n/*\n * two\n */\n\nint a;\nint a; /* three */\n";
        assert_eq!(code_lines(text).values().sum::<usize>(), 2);
        assert_eq!(lines_beyond(&code_lines("int a;\nint b;\nint a;"), &code_lines("int a;")), 2);
    }

    #[test]
    fn every_field_of_a_control_is_one_of_the_settings() {
        for control in Control::ALL {
            for field in own_files(control).map_or(&[][..], |(_, fields)| fields) {
                let found = SETTINGS.lines().filter(|line| line.trim().starts_with(field)).count();
                assert_eq!(found, 1, "{field}");
            }
        }
    }

    #[test]
    fn l2dct_takes_fewer_lines_beyond_dctcp_than_the_paper_says() {
        let lines = beyond_dctcp(Control::L2dct).expect("built on it");
        // The lower end guards against a count that has silently become nothing.
        assert!((20..75).contains(&lines), "{lines}");
        assert_eq!(beyond_dctcp(Control::Dctcp), Some(0));
        assert!(beyond_dctcp(Control::D2tcp).is_some_and(|lines| lines > 20));
        assert_eq!(beyond_dctcp(Control::Vegas), None);
    }
}
