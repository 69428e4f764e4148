//! Text of a problem: the message, the lines around its place with a mark below it, and advice.

use super::source::Origin;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// Columns from one tab stop to the next.
const TAB: usize = 4;

/// A message, its place with `label` below the mark, and advice, as text without colour.
pub(super) fn problem(message: &str, at: Option<&Origin>, label: &str, help: Option<&str>) -> String {
    let mut out = String::new();
    indented(&mut out, message, "  × ", "  │ ");
    if let Some(at) = at {
        place(&mut out, at, label);
    }
    if let Some(help) = help {
        indented(&mut out, help, "  help: ", "        ");
    }
    // Shown lines may be empty, and end with the space after their edge.
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn indented(out: &mut String, text: &str, first: &str, next: &str) {
    for (number, line) in text.lines().enumerate() {
        let indent = if number == 0 { first } else { next };
        let _ = writeln!(out, "{indent}{line}");
    }
}

/// The line that holds the start of the place, with the one before and the one after it. A place that goes on over further
/// lines is marked on its first line only: it may be a table of thousands of flows.
fn place(out: &mut String, at: &Origin, label: &str) {
    let source = &at.source;
    let (line, column) = source.line_column(at.span.start);
    let lines: Vec<&str> = source.text.lines().collect();
    let shown = line.saturating_sub(1).max(1)..=(line + 1).min(lines.len());
    let width = shown.end().to_string().len();
    let edge = " ".repeat(width + 2);
    let _ = if source.listing {
        writeln!(out, "{edge}╭─[{}]", source.name)
    } else {
        writeln!(out, "{edge}╭─[{}:{line}:{column}]", source.name)
    };
    for number in shown {
        let text = lines[number - 1];
        let _ = writeln!(out, " {number:width$} │ {}", untabbed(text));
        if number == line {
            let start = source.text[..at.span.start].rfind('\n').map_or(0, |newline| newline + 1);
            let (left, mark, below) = marked(text, at.span.start - start, at.span.end - start);
            let _ = writeln!(out, "{edge}· {:left$}{mark}", "");
            let _ = writeln!(out, "{edge}· {:below$}╰── {label}", "");
        }
    }
    let _ = writeln!(out, "{edge}╰────");
}

/// The mark below bytes `from` to `to` of a line: its column, the mark, and the column of the label.
fn marked(line: &str, from: usize, to: usize) -> (usize, String, usize) {
    let start = column(line, from);
    if from == to {
        return (start, "▲".into(), start);
    }
    // Characters without a width of their own get a mark, too.
    let end = column(line, to).max(start + 1);
    let middle = usize::midpoint(start, end);
    (start, format!("{}┬{}", "─".repeat(middle - start), "─".repeat(end - middle - 1)), middle)
}

/// The column at which byte `offset` of a line is shown; an offset beyond its end is one column past it.
fn column(line: &str, offset: usize) -> usize {
    let beyond = usize::from(offset > line.len());
    widths(line.char_indices().take_while(|(at, _)| *at < offset).map(|(_, c)| c)).sum::<usize>() + beyond
}

/// The columns that each character takes.
fn widths(text: impl Iterator<Item = char>) -> impl Iterator<Item = usize> {
    text.scan(0, |column, c| {
        // Control characters have no width.
        let width = if c == '\t' { TAB - *column % TAB } else { c.width().unwrap_or(0) };
        *column += width;
        Some(width)
    })
}

fn untabbed(line: &str) -> String {
    let mut out = String::new();
    for (c, width) in line.chars().zip(widths(line.chars())) {
        if c == '\t' {
            out.extend(std::iter::repeat_n(' ', width));
        } else {
            out.push(c);
        }
    }
    out
}
