//! Nearest names, for messages.

/// The candidate most like `word`, if one is like it at all.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let likeness = likeness(word, candidate);
        if likeness > best.map_or(0.0, |(b, _)| b) {
            best = Some((likeness, candidate));
        }
    }
    // A word of which half is different is like one that begins as it does.
    let alike =
        |likeness: f64, name: &str| likeness > 0.5 || (likeness == 0.5 && starts(word) == starts(name));
    best.filter(|(likeness, name)| alike(*likeness, name)).map(|(_, name)| name)
}

fn starts(word: &str) -> Option<char> {
    word.chars().next().map(|c| c.to_ascii_lowercase())
}

fn likeness(word: &str, candidate: &str) -> f64 {
    let (a, b) = (word.to_lowercase(), candidate.to_lowercase());
    let edits = strsim::damerau_levenshtein(&a, &b) as f64;
    let longest = a.chars().count().max(b.chars().count()).max(1) as f64;
    let inside = a.len() >= 3 && (b.contains(&a) || a.contains(&b));
    // A word inside another one (`rate` in `host_rate`) is a likelier slip than its edit distance says.
    if inside { (1.0 - edits / longest).max(0.6) } else { 1.0 - edits / longest }
}

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
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let all = once_each(candidates);
    if let Some(name) = nearest(word, all.iter().copied()) {
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
    fn slips_find_their_word_and_strangers_do_not() {
        let keys = ["hosts", "rate", "delay", "bottleneck_rate", "kind"];
        assert_eq!(nearest("host", keys), Some("hosts"));
        assert_eq!(nearest("dealy", keys), Some("delay"));
        assert_eq!(nearest("botleneck_rate", keys), Some("bottleneck_rate"));
        assert_eq!(nearest("colour", keys), None);
        assert_eq!(nearest("f2", ["f0"]), Some("f0"));
        assert_eq!(nearest("name", ["sample"]), None);
        assert_eq!(suggestion("x", ["rate", "delay", "rate"]).as_deref(), Some("there is rate, delay"));
        assert_eq!(
            suggestion("colour", keys).as_deref(),
            Some("there is hosts, rate, delay, bottleneck_rate, kind")
        );
    }
}
