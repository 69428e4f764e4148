//! GOAL schedules as text (T. Hoefler, C. Siebert, A. Lumsdaine, "Group operation assembly language", 2009), as LogGOPSim's `txt2bin`
//! reads them.
//!
//! `num_ranks N`, then for each rank `rank R { ... }` with lines `label: send 8b to 1 tag 0 cpu 0`, `recv 8b from 0`, `calc 100`, and
//! `l2 requires l1` or `l2 irequires l1`: an operation begins when another is over, or has begun. The times of `calc` are nanoseconds.
//! Comments are `//` up to the end of a line, and `/* */`.

use super::trace::{MOST_OPERATIONS, Place, Trace, What, When};
use crate::text::source::BYTE_ORDER_MARK;
use crate::text::{Origin, Problem, ScenarioError, Source, names};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

/// Most ranks of a schedule: as many hosts as a network can have.
const MOST_RANKS: u64 = 1 << 20;

/// Reads a schedule.
pub fn parse(source: &Arc<Source>) -> Result<Trace, ScenarioError> {
    let mut parser = Parser {
        source,
        trace: Trace::of_text(source),
        ranks: None,
        words: Words::of(source)?,
        at: 0,
        seen: FxHashMap::default(),
    };
    while let Some(word) = parser.next() {
        match word.text {
            "num_ranks" => {
                let count = parser.number("a count of ranks")?;
                if parser.ranks.is_some() {
                    return Err(parser.fail(&word, "`num_ranks` is there twice"));
                }
                if count.value == 0 || count.value > MOST_RANKS {
                    return Err(parser.fail_at(
                        count.at,
                        format!("there are from 1 to {MOST_RANKS} ranks, not {}", count.value),
                    ));
                }
                parser.ranks = Some(count.value as u32);
            }
            "rank" => parser.rank(&word)?,
            other => {
                let error = parser.fail(&word, format!("`{other}` is neither `num_ranks` nor `rank`"));
                return Err(error.maybe_help(names::name_suggestion(other, ["num_ranks", "rank"])));
            }
        }
    }
    let Some(ranks) = parser.ranks else {
        let problem = Problem::Syntax("the schedule does not say how many ranks it has".into());
        return Err(ScenarioError::new(problem, &Origin::line(source, 1))
            .help("a schedule begins with `num_ranks N`"));
    };
    parser.trace.ranks = ranks;
    if let Some(missing) = (0..ranks).find(|rank| !parser.seen.contains_key(rank)) {
        let problem = Problem::Syntax(format!("there is no `rank {missing}`, and `num_ranks` is {ranks}"));
        let end = source.text.trim_end().len();
        let error = ScenarioError::new(problem, &Origin::new(source, end..end));
        return Err(error.help("is the file cut off?"));
    }
    Ok(parser.trace)
}

#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    /// Byte at which it begins.
    at: usize,
}

impl Word<'_> {
    fn span(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }
}

struct Number {
    value: u64,
    at: Range<usize>,
}

/// Words and signs of a schedule; the end of a line is a word of its own, since it ends an operation.
struct Words<'a>(Vec<Word<'a>>);

const END: &str = "\n";

impl<'a> Words<'a> {
    fn of(source: &'a Arc<Source>) -> Result<Words<'a>, ScenarioError> {
        let text = source.text.as_str();
        let mut words = Vec::new();
        let mut at = if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 };
        while let Some(first) = text[at..].chars().next() {
            let rest = &text[at..];
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    let problem = Problem::Syntax("this comment has no end".into());
                    return Err(ScenarioError::new(problem, &Origin::new(source, at..at + 2)));
                };
                end + 2
            } else if first == '\n' || "{}:".contains(first) {
                words.push(Word { text: &rest[..1], at });
                1
            } else if first.is_whitespace() {
                first.len_utf8()
            } else {
                let ends = |c: char| c.is_whitespace() || "{}:".contains(c);
                let length = rest.find(ends).unwrap_or(rest.len());
                // A comment may follow a word without a space.
                let length =
                    ["//", "/*"].iter().filter_map(|c| rest[..length].find(c)).fold(length, usize::min);
                words.push(Word { text: &rest[..length], at });
                length
            };
            at += length;
        }
        Ok(Words(words))
    }
}

struct Parser<'a> {
    source: &'a Arc<Source>,
    trace: Trace,
    ranks: Option<u32>,
    words: Words<'a>,
    at: usize,
    /// Ranks that were there, and where.
    seen: FxHashMap<u32, usize>,
}

/// Labels of the operations of a rank.
type Labels<'a> = FxHashMap<&'a str, u32>;

impl<'a> Parser<'a> {
    fn fail(&self, word: &Word<'_>, text: impl Into<String>) -> ScenarioError {
        self.fail_at(word.span(), text)
    }

    fn fail_at(&self, span: Range<usize>, text: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::new(self.source, span))
    }

    /// An error where the next word of the line should be.
    fn expected(&self, what: &str) -> ScenarioError {
        match self.words.0.get(self.at) {
            Some(word) if word.text != END => {
                self.fail(word, format!("`{}` stands where {what} should", word.text))
            }
            Some(word) => self.fail_at(word.at..word.at, format!("the line ends where {what} should stand")),
            None => {
                let end = self.source.text.trim_end().len();
                self.fail_at(end..end, format!("the file ends where {what} should stand"))
            }
        }
    }

    /// The next word that does not end a line.
    fn next(&mut self) -> Option<Word<'a>> {
        while self.words.0.get(self.at).is_some_and(|word| word.text == END) {
            self.at += 1;
        }
        self.in_line()
    }

    /// The next word of the line, and of the next line if this one is at its end.
    fn in_line(&mut self) -> Option<Word<'a>> {
        let word = self.words.0.get(self.at).copied()?;
        self.at += 1;
        Some(word)
    }

    /// Takes the next word of the line if it is this one.
    fn take(&mut self, text: &str) -> bool {
        let is_there = self.words.0.get(self.at).is_some_and(|word| word.text == text);
        self.at += usize::from(is_there);
        is_there
    }

    fn need(&mut self, text: &str) -> Result<(), ScenarioError> {
        if self.take(text) { Ok(()) } else { Err(self.expected(&format!("`{text}`"))) }
    }

    fn number(&mut self, what: &str) -> Result<Number, ScenarioError> {
        let word = self
            .words
            .0
            .get(self.at)
            .copied()
            // `parse` alone would accept `+5`.
            .filter(|word| word.text.starts_with(|c: char| c.is_ascii_digit()));
        let Some(word) = word else { return Err(self.expected(what)) };
        let value =
            word.text.parse().map_err(|_| self.fail(&word, format!("`{}` is not {what}", word.text)))?;
        self.at += 1;
        Ok(Number { value, at: word.span() })
    }

    fn small<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, ScenarioError> {
        let number = self.number(what)?;
        T::try_from(number.value)
            .map_err(|_| self.fail_at(number.at, format!("{} is too large for {what}", number.value)))
    }

    /// A number, or `None` for -1.
    fn any(&mut self, what: &str) -> Result<Option<u32>, ScenarioError> {
        if self.take("-1") { Ok(None) } else { self.small(what).map(Some) }
    }

    /// `8b`, or `8 b`.
    fn bytes(&mut self) -> Result<u64, ScenarioError> {
        let word = self
            .words
            .0
            .get(self.at)
            .copied()
            .filter(|word| word.text.starts_with(|c: char| c.is_ascii_digit()));
        let Some(word) = word else { return Err(self.expected("a size such as `8b`")) };
        let (digits, joined) = match word.text.strip_suffix('b') {
            Some(digits) => (digits, true),
            None => (word.text, false),
        };
        let value = digits
            .parse()
            .map_err(|_| self.fail(&word, format!("`{}` is not a size such as `8b`", word.text)))?;
        self.at += 1;
        if !joined {
            self.need("b")?;
        }
        Ok(value)
    }

    fn rank(&mut self, word: &Word<'a>) -> Result<(), ScenarioError> {
        let Some(ranks) = self.ranks else {
            return Err(self.fail(word, "`num_ranks N` stands before the first rank"));
        };
        let number = self.number("the number of a rank")?;
        let rank = u32::try_from(number.value).ok().filter(|rank| *rank < ranks);
        let Some(rank) = rank else {
            return Err(
                self.fail_at(number.at, format!("rank {} is not there: `num_ranks {ranks}`", number.value))
            );
        };
        if self.seen.insert(rank, word.at).is_some() {
            return Err(self.fail_at(number.at, format!("rank {rank} is there twice")));
        }
        self.need("{")?;
        let mut labels = Labels::default();
        // Labels may stand below the lines that name them.
        let mut requires: Vec<(Word<'a>, Word<'a>, When)> = Vec::new();
        loop {
            let Some(word) = self.next() else {
                return Err(self.expected("`}`").help("is the file cut off?"));
            };
            if word.text == "}" {
                break;
            }
            let (label, operation) = match self.words.0.get(self.at).map(|word| word.text) {
                Some(":") => {
                    self.at += 1;
                    let Some(operation) = self.in_line() else { return Err(self.expected("an operation")) };
                    (Some(word), operation)
                }
                Some(word_text @ ("requires" | "irequires")) => {
                    self.at += 1;
                    let when = if word_text == "requires" { When::Over } else { When::Begun };
                    let Some(other) = self.in_line().filter(|word| word.text != END) else {
                        // The end of the line is put back, so that the error says that the line ends there.
                        self.at -= 1;
                        return Err(self.expected("a label"));
                    };
                    requires.push((word, other, when));
                    self.end_of_line()?;
                    continue;
                }
                _ => (None, word),
            };
            if let Some(label) = &label
                && !(label.text.starts_with(|c: char| c.is_ascii_alphabetic())
                    && label.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
            {
                return Err(self.fail(
                    label,
                    format!("`{}` is not a label: a letter, then letters, digits and `_`", label.text),
                ));
            }
            let number = self.operation(rank, label.as_ref(), &operation)?;
            if let Some(label) = label
                && labels.insert(label.text, number).is_some()
            {
                return Err(
                    self.fail(&label, format!("another operation of rank {rank} is called `{}`", label.text))
                );
            }
        }
        for (waiting, cause, when) in requires {
            let find = |word: &Word<'_>| {
                labels.get(word.text).copied().ok_or_else(|| {
                    let error =
                        self.fail(word, format!("no operation of rank {rank} is called `{}`", word.text));
                    error.maybe_help(names::name_suggestion(word.text, labels.keys().copied()))
                })
            };
            let (waiting, cause) = (find(&waiting)?, find(&cause)?);
            self.trace.wait(waiting, cause, when);
        }
        Ok(())
    }

    fn operation(
        &mut self,
        rank: u32,
        label: Option<&Word<'a>>,
        word: &Word<'a>,
    ) -> Result<u32, ScenarioError> {
        let from = label.map_or(word.at, |label| label.at);
        let what = match word.text {
            "calc" => {
                let number = self.number("a number of nanoseconds")?;
                let takes =
                    number.value.checked_mul(1000).map(Time).ok_or_else(|| {
                        self.fail_at(number.at, format!("{} ns are too long", number.value))
                    })?;
                let processor =
                    if self.take("cpu") { self.small::<u8>("the number of a processor")? } else { 0 };
                What::Compute { takes, processor: Some(processor.into()) }
            }
            "send" => {
                let bytes = self.bytes()?;
                self.need("to")?;
                let at = self.at;
                let to = self.small("the number of a rank")?;
                self.is_rank(at, to)?;
                let (tag, processor) = self.tag()?;
                let Some(tag) = tag else {
                    return Err(
                        self.fail(&self.words.0[at], "a send has a tag of its own: -1 is for receives")
                    );
                };
                What::Send { to, bytes, tag, processor }
            }
            "recv" => {
                let bytes = self.bytes()?;
                self.need("from")?;
                let at = self.at;
                let from = self.any("the number of a rank")?;
                from.map_or(Ok(()), |from| self.is_rank(at, from))?;
                let (tag, processor) = self.tag()?;
                What::Receive { from, bytes, tag, processor }
            }
            other => {
                let error = self.fail(word, format!("`{other}` is not an operation"));
                let known = ["send", "recv", "calc", "requires", "irequires"];
                return Err(error.maybe_help(names::name_suggestion(other, known)));
            }
        };
        let last = self.words.0[self.at - 1].span().end;
        self.end_of_line()?;
        if self.trace.operations.len() as u64 >= MOST_OPERATIONS {
            return Err(self.fail(word, format!("more than {MOST_OPERATIONS} operations")));
        }
        let name = label.map(|label| format!("{rank}.{}", label.text));
        Ok(self.trace.push(rank, what, name.as_deref(), Place { file: 0, span: from..last }))
    }

    fn is_rank(&self, word: usize, rank: u32) -> Result<(), ScenarioError> {
        let ranks = self.ranks.unwrap_or(0);
        if rank < ranks {
            return Ok(());
        }
        Err(self.fail(&self.words.0[word], format!("rank {rank} is not there: `num_ranks {ranks}`")))
    }

    /// `tag`, `cpu` and `nic`, each if it is there. Every host has one interface.
    fn tag(&mut self) -> Result<(Option<u32>, Option<u16>), ScenarioError> {
        // LogGOPSim's defaults: tag 0 and processor 0.
        let tag = if self.take("tag") { self.any("a tag")? } else { Some(0) };
        let processor = if self.take("cpu") { self.small::<u8>("the number of a processor")? } else { 0 };
        if self.take("nic") {
            let at = self.at;
            if self.small::<u8>("the number of an interface")? > 0 {
                return Err(self.fail(&self.words.0[at], "a host has one interface, `nic 0`"));
            }
        }
        Ok((tag, Some(processor.into())))
    }

    fn end_of_line(&mut self) -> Result<(), ScenarioError> {
        match self.words.0.get(self.at).map(|word| word.text) {
            // The brace that closes the rank may stand on the same line.
            None | Some(END | "}") => Ok(()),
            Some(_) => Err(self.expected("the end of the line")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Trace, ScenarioError> {
        parse(&Source::new("x.goal", text))
    }

    #[test]
    fn operations_have_their_ranks_sizes_tags_and_processors() {
        let text = "num_ranks 2\n\nrank 0 {\nl1: calc 100 cpu 2 // work\nl2: send 10b to 1 tag 7 cpu 1 nic 0\nl2 requires l1\n\
            recv 5 b from -1 tag -1\n}\n/* the other */\nrank 1 {\nl1: recv 10b from 0 tag 7\nl2: send 5b to 0\nl2 irequires l1\n}\n";
        let trace = read(text).expect("a schedule");
        assert_eq!(trace.ranks, 2);
        let whats: Vec<&What> = trace.operations.iter().map(|one| &one.what).collect();
        assert_eq!(
            whats,
            [
                &What::Compute { takes: Time::ns(100), processor: Some(2) },
                &What::Send { to: 1, bytes: 10, tag: 7, processor: Some(1) },
                &What::Receive { from: None, bytes: 5, tag: None, processor: Some(0) },
                &What::Receive { from: Some(0), bytes: 10, tag: Some(7), processor: Some(0) },
                &What::Send { to: 0, bytes: 5, tag: 0, processor: Some(0) },
            ]
        );
        let waits: Vec<_> = trace.waits.iter().map(|wait| (wait.operation, wait.cause, wait.when)).collect();
        assert_eq!(waits, [(1, 0, When::Over), (4, 3, When::Begun)]);
        assert_eq!(trace.called(1), "0.l2");
        let at = trace.origin(&trace.operations[1].at);
        assert_eq!(&at.source.text[at.span], "l2: send 10b to 1 tag 7 cpu 1 nic 0");
    }

    #[test]
    fn what_is_wrong_is_refused_by_name_and_line() {
        let inside = |line: &str| format!("num_ranks 2\nrank 0 {{\n{line}\n}}\nrank 1 {{\n}}\n");
        let cases = [
            (String::new(), 1, "the schedule does not say how many ranks it has"),
            ("rank 0 {\n}\n".into(), 1, "`num_ranks N` stands before the first rank"),
            ("num_ranks 0\n".into(), 1, "there are from 1 to 1048576 ranks, not 0"),
            ("num_ranks 4000000000\n".into(), 1, "there are from 1 to 1048576 ranks, not 4000000000"),
            ("num_ranks 2\nrank 0 {\n}\n".into(), 3, "there is no `rank 1`, and `num_ranks` is 2"),
            ("num_ranks 1\nrank 0 {\ncalc 5\n".into(), 3, "the file ends where `}` should stand"),
            ("num_ranks 1\nrank 1 {\n}\n".into(), 2, "rank 1 is not there: `num_ranks 1`"),
            ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n".into(), 4, "rank 0 is there twice"),
            ("num_ranks 1\nrnk 0 {\n}\n".into(), 2, "`rnk` is neither `num_ranks` nor `rank`"),
            ("num_ranks 1 /* x".into(), 1, "this comment has no end"),
            (inside("sendd 1b to 1"), 3, "`sendd` is not an operation"),
            (inside("send 1b to 2"), 3, "rank 2 is not there: `num_ranks 2`"),
            (inside("send 1b to -1"), 3, "`-1` stands where the number of a rank should"),
            (inside("send 1b to 1 tag -1"), 3, "a send has a tag of its own: -1 is for receives"),
            (inside("send 1 to 1"), 3, "`to` stands where `b` should"),
            (inside("send xb to 1"), 3, "`xb` stands where a size such as `8b` should"),
            (inside("send 1b from 1"), 3, "`from` stands where `to` should"),
            (inside("send 1b to"), 3, "the line ends where the number of a rank should stand"),
            (inside("send 1b to 1 tag 4294967296"), 3, "4294967296 is too large for a tag"),
            (inside("calc 99999999999999999999"), 3, "`99999999999999999999` is not a number of nanoseconds"),
            (inside("calc 99999999999999999"), 3, "99999999999999999 ns are too long"),
            (inside("calc 5 cpu 256"), 3, "256 is too large for the number of a processor"),
            (inside("send 1b to 1 nic 1"), 3, "a host has one interface, `nic 0`"),
            (inside("calc 5 nic"), 3, "`nic` stands where the end of the line should"),
            (inside("a: calc 5\nb requires a"), 4, "no operation of rank 0 is called `b`"),
            (inside("a: calc 5\na requires"), 4, "the line ends where a label should stand"),
            (inside("a: calc 5\na: calc 5"), 4, "another operation of rank 0 is called `a`"),
            (inside("1: calc 5"), 3, "`1` is not a label: a letter, then letters, digits and `_`"),
        ];
        for (text, line, message) in cases {
            let error = read(&text).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }
}
