//! Texts and places in them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Mark that spreadsheets put before a text.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

/// A text with the name that messages show for it.
#[derive(PartialEq, Eq)]
pub struct Source {
    /// A path, or a text in place of one.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// True if its name contains the place already, as that of a part of a binary file does: then it has no lines of
    /// its own.
    pub listing: bool,
}

impl Source {
    /// A named text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source { name: name.into(), text: text.into(), listing: false })
    }

    /// A part of a binary file, as it is shown; the name identifies the part.
    pub fn listing(name: impl Into<String>, text: impl Into<String>) -> Arc<Source> {
        Arc::new(Source { name: name.into(), text: text.into(), listing: true })
    }

    /// The line, from 1, and the column in characters, from 1, of a byte offset.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        // An offset within a character counts as its beginning.
        let end = (0..=offset.min(self.text.len())).rev().find(|&i| self.text.is_char_boundary(i));
        let before = &self.text[..end.unwrap_or(0)];
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({})", self.name)
    }
}

/// A place in a text.
#[derive(Clone, PartialEq, Eq)]
pub struct Origin {
    /// The text that it points into.
    pub source: Arc<Source>,
    /// Range of bytes of the text.
    pub span: Range<usize>,
}

impl Origin {
    /// The bytes `span` of `source`, cut to the existing text.
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Origin {
        let end = span.end.min(source.text.len());
        Origin { source: Arc::clone(source), span: span.start.min(end)..end }
    }

    /// A part of the text, given as a slice of it.
    pub fn part(source: &Arc<Source>, part: &str) -> Origin {
        // A slice of another text gives a wrong place, which `new` cuts to the text, and no panic.
        let start = (part.as_ptr() as usize).saturating_sub(source.text.as_ptr() as usize);
        Origin::new(source, start..start.saturating_add(part.len()))
    }

    /// A whole line, from 1.
    pub fn line(source: &Arc<Source>, line: usize) -> Origin {
        let mut start = 0;
        for (number, text) in source.text.split_inclusive('\n').enumerate() {
            if number + 1 == line {
                return Origin::new(source, start..start + text.trim_end().len());
            }
            start += text.len();
        }
        let end = source.text.trim_end().len();
        Origin::new(source, end..end)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.listing {
            return f.write_str(&self.source.name);
        }
        let (line, column) = self.source.line_column(self.span.start);
        write!(f, "{}:{line}:{column}", self.source.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters() {
        let source = Source::new("x", "a\nbé = 1\n");
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column(5), (2, 3));
        assert_eq!(source.line_column(4), (2, 2), "inside a character");
        assert_eq!(Origin::part(&source, &source.text[5..6]).span, 5..6);
        assert_eq!(Origin::line(&source, 2).span, 2..9);
        assert_eq!(Origin::line(&source, 9).span, 9..9);
    }
}
