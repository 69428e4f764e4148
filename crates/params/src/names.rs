//! Nearest names, for messages.

/// The candidate most like `word`, if one is like it at all.
pub fn nearest_name<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let likeness = name_likeness(word, candidate);
        if likeness > best.map_or(0.0, |(b, _)| b) {
            best = Some((likeness, candidate));
        }
    }
    // A word of which half is different is like one that begins as it does.
    let alike = |likeness: f64, name: &str| {
        likeness > 0.5 || (likeness == 0.5 && first_letter(word) == first_letter(name))
    };
    best.filter(|(likeness, name)| alike(*likeness, name)).map(|(_, name)| name)
}

fn first_letter(word: &str) -> Option<char> {
    word.chars().next().map(|c| c.to_ascii_lowercase())
}

fn name_likeness(word: &str, candidate: &str) -> f64 {
    let (a, b) = (word.to_lowercase(), candidate.to_lowercase());
    let edits = strsim::damerau_levenshtein(&a, &b) as f64;
    // At least 1: two empty words would divide by zero.
    let longest = a.chars().count().max(b.chars().count()).max(1) as f64;
    // One or two letters are inside too many names to mean anything.
    let inside = a.len() >= 3 && (b.contains(&a) || a.contains(&b));
    // A word inside another one (`rate` in `host_rate`) is a likelier slip than its edit distance says.
    if inside { (1.0 - edits / longest).max(0.6) } else { 1.0 - edits / longest }
}

/// The candidate that `word` surely means: one letter away, or the same but for case or the unit at its end.
pub fn obvious_slip<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    candidates.into_iter().find(|candidate| {
        let stem = |name: &'_ str| UNITS.iter().find_map(|u| name.strip_suffix(u)).map(str::len);
        let (own, other) = (stem(&lower).unwrap_or(lower.len()), stem(candidate).unwrap_or(candidate.len()));
        strsim::damerau_levenshtein(&lower, candidate) <= 1 || lower[..own] == candidate[..other]
    })
}

/// Endings that say the unit of a time.
const UNITS: [&str; 5] = ["_s", "_ms", "_us", "_ns", "_ps"];

/// Names without repeats, in the order of their first.
pub fn once_each<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// Help that names the nearest candidate, or lists them all when there are few.
pub fn name_suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let all = once_each(candidates);
    if let Some(name) = nearest_name(word, all.iter().copied()) {
        return Some(format!("did you mean `{name}`?"));
    }
    match all.len() {
        0 => None,
        1..=24 => Some(format!("there is {}", all.join(", "))),
        n => Some(format!("there is {}, ... ({n} in all)", all[..12].join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_less_than_a_likeness() {
        let columns = ["deadline_s", "path", "share", "transport"];
        for (word, meant) in [("paths", "path"), ("Deadline_S", "deadline_s"), ("deadline", "deadline_s")] {
            assert_eq!(obvious_slip(word, columns), Some(meant));
        }
        assert_eq!(obvious_slip("deadline_us", columns), Some("deadline_s"));
        for word in ["state", "fct_s", "ideal_s", "slowdown", "grün_s", ""] {
            assert_eq!(obvious_slip(word, columns), None, "{word}");
        }
    }

    #[test]
    fn slips_find_their_word_and_strangers_do_not() {
        let keys = ["hosts", "rate", "delay", "bottleneck_rate", "kind"];
        assert_eq!(nearest_name("host", keys), Some("hosts"));
        assert_eq!(nearest_name("dealy", keys), Some("delay"));
        assert_eq!(nearest_name("botleneck_rate", keys), Some("bottleneck_rate"));
        assert_eq!(nearest_name("colour", keys), None);
        assert_eq!(nearest_name("f2", ["f0"]), Some("f0"));
        assert_eq!(nearest_name("name", ["sample"]), None);
        assert_eq!(name_suggestion("x", ["rate", "delay", "rate"]).as_deref(), Some("there is rate, delay"));
        assert_eq!(
            name_suggestion("colour", keys).as_deref(),
            Some("there is hosts, rate, delay, bottleneck_rate, kind")
        );
    }
}
