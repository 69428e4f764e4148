//! Declarations of columns, numbers and gauges: name, unit, label, meaning and quantity.

use Quantity::{Bytes, Count, List, Rate, Ratio, Share, Text, Time};
use headway_gauges::{GaugeInfo, GaugeUnit};

/// Quantity of a value, which decides how it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A name, or a number that only names something.
    Text,
    /// Something that has parts of its own.
    List,
    /// Time in seconds.
    Time,
    /// Amounts of data, shown as kB, MB and so on.
    Bytes,
    /// Bits per second.
    Rate,
    /// A number without unit that may be above 1.
    Ratio,
    /// A part of a whole, from 0 to 1, which is shown in percent.
    Share,
    /// A number of flows, packets, connections or samples, or a time in whole nanoseconds.
    Count,
}

impl Quantity {
    /// Its name, as Python and documents have it.
    pub const fn name(self) -> &'static str {
        match self {
            Text => "text",
            List => "list",
            Time => "time",
            Bytes => "bytes",
            Rate => "rate",
            Ratio => "ratio",
            Share => "percent",
            Count => "count",
        }
    }

    /// The unit that values are written in; a count has one of its own.
    const fn unit(self) -> &'static str {
        match self {
            Text | List | Count => "",
            Time => "s",
            Bytes => "B",
            Rate => "bit/s",
            Ratio | Share => "1",
        }
    }
}

/// One column, number or gauge.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in files.
    pub name: &'static str,
    /// The unit of its values; empty for names.
    pub unit: &'static str,
    /// Name in figures and tables.
    pub label: &'static str,
    /// Its meaning in one sentence.
    pub doc: &'static str,
    /// Quantity of the value.
    pub quantity: Quantity,
    /// True if a column may be without a value.
    pub nullable: bool,
    /// The least that a number is, but for exceptions that its sentence names: intervals do not reach below it.
    pub least: f64,
}

impl Field {
    pub(super) const fn new(
        name: &'static str,
        quantity: Quantity,
        label: &'static str,
        doc: &'static str,
    ) -> Field {
        Field { name, unit: quantity.unit(), label, doc, quantity, nullable: false, least: 0.0 }
    }

    /// A number of packets.
    pub(super) const fn packets(name: &'static str, label: &'static str, doc: &'static str) -> Field {
        Field { unit: "packets", ..Field::new(name, Count, label, doc) }
    }

    /// Field for the gauge of a transport or a discipline.
    pub(super) const fn gauge(info: &GaugeInfo) -> Field {
        match info.unit {
            GaugeUnit::Bytes => Field::new(info.name, Bytes, info.label, info.doc),
            GaugeUnit::Packets => Field::packets(info.name, info.label, info.doc),
            GaugeUnit::Connections => {
                Field { unit: "connections", ..Field::new(info.name, Count, info.label, info.doc) }
            }
            GaugeUnit::Seconds => Field::new(info.name, Time, info.label, info.doc),
            GaugeUnit::BitsPerSecond => Field::new(info.name, Rate, info.label, info.doc),
            GaugeUnit::Share => Field::new(info.name, Share, info.label, info.doc),
            GaugeUnit::Nanoseconds => {
                Field { unit: "ns", ..Field::new(info.name, Count, info.label, info.doc) }
            }
        }
    }

    /// A number of flows.
    pub(super) const fn flows(name: &'static str, label: &'static str, doc: &'static str) -> Field {
        Field { unit: "flows", ..Field::new(name, Count, label, doc) }
    }

    /// A number of pauses of links.
    pub(super) const fn pauses(name: &'static str, label: &'static str, doc: &'static str) -> Field {
        Field { unit: "pauses", ..Field::new(name, Count, label, doc) }
    }

    /// A time over the shortest that it could have been.
    pub(super) const fn slowdown(name: &'static str, label: &'static str, doc: &'static str) -> Field {
        Field { least: 1.0, ..Field::new(name, Ratio, label, doc) }
    }

    pub(super) const fn or_null(self) -> Field {
        Field { nullable: true, ..self }
    }
}

/// A number of results that is made from an `F`.
#[derive(Clone, Copy, Debug)]
pub struct Number<F> {
    /// Declaration of the number.
    pub field: Field,
    /// Function that computes it.
    pub of: F,
    /// True if the summary of a report shows it.
    pub shown: bool,
}

impl<F: Copy> Number<F> {
    pub(super) const fn new(field: Field, of: F) -> Number<F> {
        Number { field, of, shown: false }
    }

    pub(super) const fn shown(self) -> Number<F> {
        Number { shown: true, ..self }
    }
}
