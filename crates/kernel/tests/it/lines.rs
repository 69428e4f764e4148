//! How many lines of C L2DCT takes beyond DCTCP: the paper says fewer than 75 in the TCP of Linux (§I).

use std::collections::BTreeMap;

/// Lines with code, without comments.
fn code(text: &str) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    let mut comment = false;
    for line in text.lines().map(str::trim) {
        let begins = line.starts_with("/*");
        let is_code = !(comment || begins || line.is_empty());
        comment = (comment || begins) && !line.ends_with("*/");
        if is_code {
            *lines.entry(line.to_string()).or_default() += 1;
        }
    }
    lines
}

/// Lines of `one` that `other` has not.
fn beyond(one: &BTreeMap<String, usize>, other: &BTreeMap<String, usize>) -> usize {
    one.iter().map(|(line, count)| count.saturating_sub(other.get(line).copied().unwrap_or(0))).sum()
}

#[test]
fn l2dct_takes_fewer_lines_beyond_dctcp_than_the_paper_says() {
    let dctcp = code(concat!(include_str!("../../bpf/dctcp.bpf.c"), "\n"));
    let own = concat!(include_str!("../../bpf/l2dct.bpf.c"), "\n", include_str!("../../bpf/l2dct.h"));
    let settings = include_str!("../../bpf/settings.h");
    // What the settings have for L2DCT, and the function that looks a power up.
    let fields = ["young;", "old;", "increase[ROWS];", "power[ROWS]["];
    let shared = settings.lines().filter(|line| fields.iter().any(|field| line.contains(field))).count();
    assert_eq!(shared, fields.len());
    let lookup = code(settings.split("static inline").nth(1).expect("power()")).values().sum::<usize>();
    let lines = beyond(&code(own), &dctcp) + shared + lookup;
    eprintln!("L2DCT: {lines} lines of C beyond DCTCP");
    assert!((20..75).contains(&lines), "{lines}");
}

#[test]
fn comments_and_blank_lines_are_not_counted() {
    let text = "/* one */\n/*\n * two\n */\n\nint a;\nint a; /* three */\n";
    assert_eq!(code(text).values().sum::<usize>(), 2);
    assert_eq!(beyond(&code("int a;\nint b;\nint a;"), &code("int a;")), 2);
}
