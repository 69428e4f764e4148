//! The kinds of values that the keys of a scenario's tables take.

use std::fmt;

/// The kind of value that a key takes. It is shown as the documentation has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// `true` or `false`.
    Bool,
    /// A whole number of at least 1.
    Count,
    /// A whole number of at least 1, or one of several words.
    CountOrWord(&'static [&'static str]),
    /// A whole number of at least 0.
    Whole,
    /// The position of a host.
    Host,
    /// Positions of hosts, or how many hosts.
    Hosts,
    /// A number, with or without a fraction.
    Number,
    /// A number from 0 to 1.
    Share,
    /// A number above 0 and at most 1.
    PositiveShare,
    /// A number of at least 1, to three decimals.
    Fraction,
    /// A rate with a unit.
    Rate,
    /// A duration with a unit.
    Duration,
    /// A duration with a unit, or `never`.
    DurationOrNever,
    /// A point in virtual time, as a duration from the start.
    Time,
    /// Bytes: a whole number, or one with a unit.
    Bytes,
    /// Packets or bytes, with a unit.
    Room,
    /// Path of a file.
    Path,
    /// A distribution of flow sizes: a name, a file, or a table.
    Sizes,
    /// A distribution of flow sizes, where the documentation has explained it before.
    SizesAsBefore,
    /// Bytes, or a distribution of sizes.
    BytesOrSizes,
    /// A discipline by name.
    Discipline,
    /// A transport: a name, or a table with its parameters.
    Transport,
    /// One of several words.
    Word(&'static [&'static str]),
    /// One of several words, or a table with `name` and settings.
    WordOrTable(&'static [&'static str]),
    /// One of several words, or a list of names.
    WordOrNames(&'static [&'static str]),
    /// `true`, `false`, or a list of names.
    BoolOrNames,
    /// A list of names.
    Names,
    /// A list of bytes.
    ListOfBytes,
    /// A list of counts.
    Counts,
    /// A list of whole numbers.
    Wholes,
    /// A list of numbers.
    Numbers,
    /// A TOML table.
    Table,
    /// A list of tables.
    Tables,
}

impl Takes {
    /// One word for programs that make something of a declaration.
    pub fn kind_name(self) -> &'static str {
        match self {
            Takes::Bool => "bool",
            // Ranges are for people: programs go by the type.
            Takes::Count | Takes::Whole | Takes::Host => "int",
            Takes::Hosts => "hosts",
            Takes::Number | Takes::Share | Takes::PositiveShare | Takes::Fraction => "float",
            Takes::Rate => "rate",
            Takes::Duration | Takes::DurationOrNever | Takes::Time => "duration",
            Takes::Bytes => "bytes",
            Takes::Room => "room",
            Takes::Path => "path",
            Takes::Sizes | Takes::SizesAsBefore => "sizes",
            Takes::BytesOrSizes => "bytes-or-sizes",
            Takes::Discipline => "discipline",
            Takes::Transport => "transport",
            Takes::Word(_) => "choice",
            Takes::WordOrTable(_) => "word-or-table",
            Takes::WordOrNames(_) => "word-or-names",
            Takes::CountOrWord(_) => "count-or-word",
            Takes::BoolOrNames => "bool-or-names",
            Takes::Names => "names",
            Takes::ListOfBytes => "list-of-bytes",
            Takes::Counts | Takes::Wholes => "list-of-int",
            Takes::Numbers => "list-of-float",
            Takes::Table => "table",
            Takes::Tables => "tables",
        }
    }

    /// The words that it may be, where there are some.
    pub fn allowed_words(self) -> &'static [&'static str] {
        match self {
            Takes::Word(words)
            | Takes::WordOrTable(words)
            | Takes::WordOrNames(words)
            | Takes::CountOrWord(words) => words,
            _ => &[],
        }
    }
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, word) in self.allowed_words().iter().enumerate() {
            write!(f, "{}`{word}`", if nth > 0 { ", " } else { "" })?;
        }
        f.write_str(match self {
            Takes::Bool => "true or false",
            Takes::Count => "count",
            Takes::Whole => "whole number",
            Takes::Host => "host",
            Takes::Hosts => "list of hosts, or count",
            Takes::Number => "number",
            Takes::Share => "from 0 to 1",
            Takes::PositiveShare => "above 0, at most 1",
            Takes::Fraction => "number from 1, to three decimals",
            Takes::Rate => "rate",
            Takes::Duration => "duration",
            Takes::DurationOrNever => "duration, or `\"never\"`",
            Takes::Time => "time",
            Takes::Bytes => "bytes",
            Takes::Room => "packets or bytes",
            Takes::Path => "path",
            Takes::Sizes => "name (`headway list workloads`), a path to a file, or a table",
            Takes::SizesAsBefore => "as of `poisson`",
            Takes::BytesOrSizes => "bytes, or as of `poisson`",
            Takes::Discipline => "name (`headway list disciplines`)",
            Takes::Transport => "name or table",
            // After the words themselves.
            Takes::Word(_) => "",
            Takes::WordOrTable(_) => ", or a table with `name` and settings",
            Takes::WordOrNames(_) => ", or list of names",
            Takes::CountOrWord(_) => ", or count",
            Takes::BoolOrNames => "true, false, or list of names",
            Takes::Names => "list of names",
            Takes::ListOfBytes => "list of bytes",
            Takes::Counts => "list of counts",
            Takes::Wholes => "list of whole numbers",
            Takes::Numbers => "list of numbers",
            Takes::Table => "table",
            Takes::Tables => "list of tables",
        })
    }
}
