//! Words of a text file of another simulator, with their places.

use crate::text::{Origin, Problem, ScenarioError, Source, quantity};
use headway_units::{Rate, Time};
use std::sync::Arc;

type Read<T> = Result<T, ScenarioError>;

/// A line that is not empty and not a comment: its number, from 1, and its words.
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) words: Vec<&'a str>,
}

/// A file, to be read line by line.
pub(super) struct Text<'a> {
    pub(super) source: &'a Arc<Source>,
}

impl<'a> Text<'a> {
    /// Its lines; a `#` begins a comment.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        let text = self.source.text.trim_start_matches(crate::text::source::BYTE_ORDER_MARK);
        let line = |(index, line): (usize, &'a str)| {
            let words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
            Line { number: index + 1, words: words.collect() }
        };
        text.lines().enumerate().map(line).filter(|line| !line.words.is_empty())
    }

    /// Something is wrong with a part of the text.
    pub(super) fn wrong(&self, part: &str, what: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Topology(what.into()), &Origin::part(self.source, part))
    }

    /// Something is wrong with a line.
    pub(super) fn wrong_line(&self, line: usize, what: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Topology(what.into()), &Origin::line(self.source, line))
    }

    /// The last line, where a file ends too early.
    pub(super) fn end(&self) -> usize {
        self.source.text.lines().count().max(1)
    }

    /// A whole number of a range.
    pub(super) fn number(&self, word: &str, what: &str, range: std::ops::RangeInclusive<u64>) -> Read<u64> {
        let number = word.parse::<u64>();
        let number =
            number.map_err(|_| self.wrong(word, format!("`{word}` is not {what}: a whole number")))?;
        if !range.contains(&number) {
            let text = format!("{what} is from {} to {}, not {number}", range.start(), range.end());
            return Err(self.wrong(word, text));
        }
        Ok(number)
    }

    /// A rate with its unit, or in bits per second as ns-3 reads it.
    pub(super) fn rate(&self, word: &str) -> Read<Rate> {
        if let Some(bps) = word.parse::<f64>().ok().filter(|bps| *bps >= 1.0 && *bps < 1e18) {
            let rate = Rate::new(libm::round(bps) as u64);
            return rate.ok_or_else(|| self.wrong(word, "a link without a rate"));
        }
        let bps = self.quantity(word, quantity::Dimension::Rate)?;
        Rate::new(bps).ok_or_else(|| self.wrong(word, "a link without a rate"))
    }

    /// A time with its unit.
    pub(super) fn time(&self, word: &str) -> Read<Time> {
        self.quantity(word, quantity::Dimension::Time).map(Time)
    }

    fn quantity(&self, word: &str, wanted: quantity::Dimension) -> Read<u64> {
        let found = quantity::parse_quantity(word).map_err(|error| self.wrong(word, error.to_string()))?;
        if found.dimension != wanted {
            let text = format!(
                "`{word}` is {}, and {} is wanted",
                found.dimension.dimension_name(),
                wanted.dimension_name()
            );
            return Err(self.wrong(word, text));
        }
        Ok(found.amount)
    }
}
