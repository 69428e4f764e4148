//! The text of a flow-size distribution, as Headway writes it and as other simulators do.

use crate::text::quantity::{Dimension, Quantity, QuantityError};
use crate::text::source::BYTE_ORDER_MARK;
use crate::text::{Origin, Problem, ScenarioError, Source, names, quantity};
use std::sync::Arc;

/// Largest distance of the last probability from 1, for tables written with few digits.
const LAST_ROW_TOLERANCE: f64 = 1e-6;
/// Data bytes of a packet in the tables of ns-2 and of the simulators that took them over.
const PACKET: u64 = 1460;
/// Sizes beyond this are not whole numbers as floating point any more.
const MOST_BYTES: f64 = 9e15;
/// The header that says everything.
const HEADER: &str = "bytes,cdf";
/// First words of headers that name sizes in bytes.
const SIZES: &[&str] =
    &["bytes", "size", "size_bytes", "flow_size", "flow_size_bytes", "flowsize", "message_size", "msg_size"];
/// First words of headers that name sizes in packets.
const PACKETS: &[&str] = &["packets", "pkts", "size_packets", "size_pkts", "flow_size_packets"];
/// Last words of headers that name the cumulative column.
const SHARES: &[&str] = &[
    "cdf",
    "probability",
    "cumulative_probability",
    "prob",
    "cumulative",
    "percent",
    "percentage",
    "percentile",
    "cdf_percent",
];
/// Forms that can be read, for messages.
const FORMS: &str = "readable are `bytes,cdf` and two columns of sizes in bytes and probabilities to 1 or percentages to \
    100, divided by commas, semicolons or blanks; and three columns with sizes in packets, as of ns-2";

/// Units that may stand behind a size, for messages.
const UNITS: &str = "a size is a number of bytes, or has a unit: B, kB, MB, GB, KiB, MiB or GiB";

/// A distribution's rows, and the fields that messages point at.
pub(super) struct Table<'a> {
    /// Size in bytes and cumulative probability, at least one; the last probability is 1.
    pub rows: Vec<(u64, f64)>,
    /// The first probability, as it is written.
    pub first_share: &'a str,
    /// The last size, as it is written.
    pub last_size: &'a str,
    /// Form that the text was taken to have, in words; `None` if its header says so.
    pub taken: Option<String>,
    /// The mean that its first line states, in bytes.
    pub stated: Option<f64>,
    /// True if nothing in the text defines the unit of its sizes.
    pub is_unit_open: bool,
}

/// Unit of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of application data.
    Bytes,
    /// Packets with 1460 bytes of data, as in ns-2.
    Packets,
}

impl Unit {
    /// Names in scenarios.
    pub const NAMES: &[&str] = &["bytes", "packets"];

    fn bytes(self) -> u64 {
        match self {
            Unit::Bytes => 1,
            Unit::Packets => PACKET,
        }
    }
}

/// Form in which the fields of a table are to be read.
#[derive(Clone, Copy)]
struct Form<'a> {
    separator: Separator,
    header: Option<&'a str>,
    columns: usize,
    /// Bytes of one unit of size.
    unit: u64,
    /// The share that is the whole: 1 or 100.
    whole: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Separator {
    Comma,
    Semicolon,
    Blank,
}

impl Separator {
    fn of(line: &str) -> Separator {
        // If both occur, the commas are those of decimals.
        if line.contains(';') {
            Separator::Semicolon
        } else if line.contains(',') {
            Separator::Comma
        } else {
            Separator::Blank
        }
    }

    fn fields(self, line: &str) -> Vec<&str> {
        match self {
            Separator::Comma => line.split(',').map(str::trim).collect(),
            Separator::Semicolon => line.split(';').map(str::trim).collect(),
            Separator::Blank => {
                let fields: Vec<&str> = line.split_whitespace().collect();
                match (&fields[..], line.trim().rsplit_once(char::is_whitespace)) {
                    // A size and its unit are one field.
                    ([size, unit, _], Some((both, share))) if is_number(size) && !is_number(unit) => {
                        vec![both.trim_end(), share]
                    }
                    _ => fields,
                }
            }
        }
    }
}

/// Reads a text as a table of sizes, which count `unit` where that is not said by the text itself.
pub(super) fn read(source: &Arc<Source>, unit: Option<Unit>) -> Result<Table<'_>, ScenarioError> {
    let text = source.text.trim_start_matches(BYTE_ORDER_MARK);
    let mut lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    // Homa's simulator and others begin with the mean.
    let mut stated = None;
    // A lone number cannot be a row, which has two fields at least.
    if let [first, second, ..] = lines[..]
        && let Ok(mean) = first.parse::<f64>()
        && Separator::of(second).fields(second).len() > 1
    {
        if !(mean.is_finite() && mean > 0.0) {
            return Err(wrong(source, first, format!("the mean in the first line is {first}")));
        }
        stated = Some(mean);
        lines.remove(0);
    }
    let Some(&first) = lines.first() else { return Err(empty(source)) };
    let mut form = Form::of(source, first)?;
    let is_unit_open = form.header.is_none() && form.columns == 2;
    match unit {
        Some(unit) if is_unit_open => form.unit = unit.bytes(),
        Some(unit) if unit.bytes() != form.unit => {
            let text = format!("sizes of this table are not in {}", Unit::NAMES[unit as usize]);
            return Err(
                wrong(source, first, text).help("`size_unit` is for tables that do not say it themselves")
            );
        }
        _ => {}
    }
    if form.header.is_some() {
        lines.remove(0);
    }
    let Some(&last) = lines.last() else { return Err(empty(source)) };
    // The last row decides, since a cumulative column ends in 1 or in 100.
    if let Some(share) = form.separator.fields(last).last().and_then(|share| share.parse::<f64>().ok())
        && (share - 100.0).abs() <= 100.0 * LAST_ROW_TOLERANCE
    {
        form.whole = 100.0;
    }
    let mut rows: Vec<(u64, f64)> = Vec::with_capacity(lines.len());
    let (mut first_share, mut last_row, mut with_units) = (None, None, false);
    for line in lines {
        let row = Row::parse(source, line, form)?;
        row.after(source, rows.last())?;
        rows.push((row.bytes, row.cdf));
        with_units |= row.has_unit;
        first_share.get_or_insert(row.share);
        last_row = Some(row);
    }
    let (Some(first_share), Some(row), Some(last)) = (first_share, last_row, rows.last_mut()) else {
        return Err(empty(source));
    };
    if (last.1 - 1.0).abs() > LAST_ROW_TOLERANCE {
        let error = wrong(source, row.share, format!("the last probability is {}, not 1", last.1));
        return Err(error.help("it is 1 in a table of probabilities, and 100 in one of percentages"));
    }
    // Exactly 1, so that every draw finds a row.
    last.1 = 1.0;
    let stated = stated.map(|mean| mean * form.unit as f64);
    let is_unit_open = is_unit_open && !with_units && unit.is_none();
    Ok(Table { rows, first_share, last_size: row.size, taken: form.taken(with_units), stated, is_unit_open })
}

fn empty(source: &Arc<Source>) -> ScenarioError {
    let problem = Problem::Distribution("the distribution has no row".into());
    ScenarioError::new(problem, &Origin::line(source, 1))
}

impl<'a> Form<'a> {
    /// Form of a table by the first line that is not a comment.
    fn of(source: &Arc<Source>, line: &'a str) -> Result<Form<'a>, ScenarioError> {
        let separator = Separator::of(line);
        let fields = separator.fields(line);
        let columns = fields.len();
        if !(2..=3).contains(&columns) {
            let text = format!("{columns} columns: a distribution has a size and a probability in each row");
            return Err(wrong(source, line, text).help(FORMS));
        }
        let numbers = fields.iter().filter(|field| starts_with_number(field)).count();
        let usual = Form { separator, header: None, columns, unit: 1, whole: 1.0 };
        if numbers > 0 {
            // Three columns are those of ns-2: packets, a number that nothing reads, probability.
            return Ok(Form { unit: if columns == 3 { PACKET } else { 1 }, ..usual });
        }
        let (size, share) = (fields[0].to_lowercase(), fields[columns - 1].to_lowercase());
        let known = |word: &str, of: &[&str]| of.contains(&word);
        let in_packets = known(&size, PACKETS);
        for (field, word, of) in
            [(fields[0], &size, [SIZES, PACKETS].concat()), (fields[columns - 1], &share, SHARES.to_vec())]
        {
            if !known(word, &of) {
                let text = format!("the header names a column `{field}`, whose unit is not known");
                let help =
                    names::nearest_name(word, of).map(|near| format!("did you mean `{near}`? {FORMS}"));
                return Err(wrong(source, field, text).help(FORMS).maybe_help(help));
            }
        }
        Ok(Form { header: Some(line), unit: if in_packets { PACKET } else { 1 }, ..usual })
    }

    /// The form in words, unless the text itself says so.
    fn taken(&self, with_units: bool) -> Option<String> {
        let plain = self.header.is_some_and(|header| header.replace(' ', "") == HEADER);
        if plain && self.whole == 1.0 && !with_units {
            return None;
        }
        let sizes = if with_units {
            "sizes in their own units (kB and KB are 1000 bytes, KiB 1024), or else in bytes,".to_string()
        } else if self.unit == 1 {
            "sizes in bytes".to_string()
        } else if self.columns == 3 {
            format!(
                "sizes in packets of {} bytes, as ns-2 has them (the second column is not used)",
                self.unit
            )
        } else {
            format!("sizes in packets of {} bytes", self.unit)
        };
        let shares =
            if self.whole == 1.0 { "probabilities from 0 to 1" } else { "percentages from 0 to 100" };
        Some(format!("{sizes} and cumulative {shares}"))
    }
}

/// One row, and its two fields as they are written.
#[derive(Clone, Copy)]
struct Row<'a> {
    bytes: u64,
    cdf: f64,
    size: &'a str,
    share: &'a str,
    has_unit: bool,
}

impl<'a> Row<'a> {
    fn parse(source: &Arc<Source>, line: &'a str, form: Form<'_>) -> Result<Row<'a>, ScenarioError> {
        let fields = form.separator.fields(line);
        let (Some(&size), Some(&share), true) = (fields.first(), fields.last(), fields.len() == form.columns)
        else {
            let text = match (form.columns, fields.len()) {
                (2, _) => "a row is a size and a probability: `bytes,cdf`".to_string(),
                (all, found) => format!("{found} columns in a table of {all}"),
            };
            return Err(wrong(source, line, text));
        };
        if let (3, None, &[_, middle, _]) = (form.columns, form.header, &fields[..])
            && !is_number(middle)
        {
            let text = format!("`{middle}` is not a number, as the second of three columns is");
            return Err(wrong(source, middle, text).help(FORMS));
        }
        let (bytes, has_unit) = size_of(source, size, form)?;
        let written = share.parse::<f64>().ok().filter(|c| c.is_finite()).ok_or_else(|| {
            let decimal = share.contains(',').then(|| "decimals are written with a point".to_string());
            wrong(source, share, format!("`{share}` is not a number")).maybe_help(decimal)
        })?;
        let percent = form.whole > 1.0;
        if !(0.0..=form.whole).contains(&written) {
            let kind = if percent { "percentage" } else { "probability" };
            let error =
                wrong(source, share, format!("the {kind} {share} is not between 0 and {}", form.whole));
            let help = "probabilities go from 0 to 1; percentages are read as such where the last one is 100";
            return Err(error.help(help));
        }
        Ok(Row { bytes, cdf: written / form.whole, size, share, has_unit })
    }

    /// Refuses a row that goes back behind the one before it.
    fn after(&self, source: &Arc<Source>, before: Option<&(u64, f64)>) -> Result<(), ScenarioError> {
        let Some(&(bytes, cdf)) = before else { return Ok(()) };
        if self.bytes < bytes {
            let text = format!("not monotone: {} B comes after {bytes} B", self.bytes);
            return Err(wrong(source, self.size, text));
        }
        if self.cdf < cdf {
            let text = format!("not monotone: the probability falls from {cdf} to {}", self.cdf);
            let error = wrong(source, self.share, text);
            return Err(error.help("the second column is cumulative and never falls"));
        }
        Ok(())
    }
}

/// Bytes of a size as it is written, and true if its unit stands next to it.
fn size_of(source: &Arc<Source>, size: &str, form: Form<'_>) -> Result<(u64, bool), ScenarioError> {
    // Integers first: as floating point, large ones would be rounded.
    let whole = size.parse::<u64>().ok().or_else(|| rounded(size));
    if let Some(bytes) = whole.and_then(|number| number.checked_mul(form.unit)) {
        return Ok((bytes, false));
    }
    let mut help = None;
    let text = match quantity::parse_quantity(size) {
        Ok(Quantity { dimension: Dimension::Bytes, amount }) if form.unit == 1 => return Ok((amount, true)),
        Ok(Quantity { dimension: Dimension::Bytes, .. }) => {
            format!("`{size}` has a unit, in a table of sizes in packets")
        }
        Ok(_) => format!("`{size}` is not a size in bytes"),
        Err(QuantityError::NoNumber(_) | QuantityError::NoUnit(_)) => {
            let unit = if form.unit == 1 { "bytes" } else { "packets" };
            format!("`{size}` is not a whole number of {unit}")
        }
        Err(error) => {
            if matches!(error, QuantityError::NoSuchUnit { .. }) {
                help = Some(UNITS.to_string());
            }
            error.to_string()
        }
    };
    Err(wrong(source, size, text).maybe_help(help))
}

fn is_number(field: &str) -> bool {
    field.parse::<f64>().is_ok()
}

/// True if it is a number, or one with a unit behind it.
fn starts_with_number(field: &str) -> bool {
    is_number(field) || field.starts_with(|first: char| first.is_ascii_digit())
}

/// A whole number that is written as `1e6` or `1500.0`.
fn rounded(text: &str) -> Option<u64> {
    let number = text.parse::<f64>().ok()?;
    ((0.0..MOST_BYTES).contains(&number) && libm::floor(number) == number).then_some(number as u64)
}

/// An error at a part of the table's text.
pub(super) fn wrong(source: &Arc<Source>, part: &str, text: String) -> ScenarioError {
    ScenarioError::new(Problem::Distribution(text), &Origin::part(source, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same distribution in each form, and the sentences about it.
    #[test]
    fn forms_of_other_simulators_are_the_same_distribution() {
        let rows = [(0, 0.0), (14_600, 0.15), (1_460_000, 0.995), (2_920_000, 1.0)];
        let bytes = "sizes in bytes and cumulative probabilities from 0 to 1";
        let percent = "sizes in bytes and cumulative percentages from 0 to 100";
        let units = "sizes in their own units (kB and KB are 1000 bytes, KiB 1024), or else in bytes, and cumulative \
            probabilities from 0 to 1";
        let packets = "sizes in packets of 1460 bytes, as ns-2 has them (the second column is not used) and cumulative \
            probabilities from 0 to 1";
        let cases = [
            ("bytes,cdf\n0,0\n14600,0.15\n1460000,0.995\n2920000,1\n", None),
            ("\u{feff}bytes, cdf\n0,0\n14600,0.15\n1460000,0.995\n2920000,1\n", None),
            ("bytes,cdf\n0,0\n14600,15\n1460000,99.5\n2920000,100\n", Some(percent)),
            ("# a comment\n0 0\n14600 0.15\n1460000\t0.995\n2920000 1.0\n\n", Some(bytes)),
            ("0 0\r\n14600 15\r\n1.46e6 99.5\r\n2920000.0 100\r\n", Some(percent)),
            ("0;0\n14600;15\n1460000;99.5\n2920000;100\n", Some(percent)),
            ("bytes;cdf\n0;0\n14600;0.15\n1460000;0.995\n2920000;1\n", Some(bytes)),
            ("bytes,cdf\n0,0\n14.6 KB,0.15\n1.46 MB,0.995\n2920 kB,1\n", Some(units)),
            ("0 B;0\n14.6KB;0.15\n1.46MB;0.995\n2920000;1\n", Some(units)),
            ("0 0\n14.6 KB 0.15\n1.46  MB\t0.995\n2920000 1\n", Some(units)),
            ("0 B 0\n14.6 KB 0.15\n1.46 MB 0.995\n2.92 MB 1\n", Some(units)),
            ("Flow_Size Percent\n0 0\n14600 15\n1460000 99.5\n2920000 100\n", Some(percent)),
            ("0 1 0\n10 1 0.15\n1000 1 0.995\n2000 1 1\n", Some(packets)),
        ];
        for (text, taken) in cases {
            let source = Source::new("x", text);
            let table = read(&source, None).unwrap_or_else(|e| panic!("{}", e.render()));
            assert_eq!(table.rows, rows, "{text}");
            assert_eq!(table.taken.as_deref(), taken, "{text}");
        }
    }

    #[test]
    fn a_form_that_would_be_guessed_is_refused_at_its_place() {
        let cases = [
            ("kb,cdf\n1,0\n2,1\n", (1, 1), "the header names a column `kb`, whose unit is not known"),
            ("bytes,pdf\n1,0\n2,1\n", (1, 7), "the header names a column `pdf`, whose unit is not known"),
            ("10\n20\n", (1, 1), "1 columns: a distribution has a size and a probability in each row"),
            ("1 2 3 4\n", (1, 1), "4 columns: a distribution has a size and a probability in each row"),
            ("0 0\n10 50\n20 90\n", (2, 4), "the probability 50 is not between 0 and 1"),
            ("0 0\n10 150\n20 100\n", (2, 4), "the percentage 150 is not between 0 and 100"),
            ("0 0\n10.5 50\n20 100\n", (2, 1), "`10.5` is not a whole number of bytes"),
            ("0 0\n10 1 1\n", (2, 1), "a row is a size and a probability: `bytes,cdf`"),
            ("0 1 0\n10 1\n", (2, 1), "2 columns in a table of 3"),
            ("# nothing\n", (1, 1), "the distribution has no row"),
            ("0,0\n10 Kb,1\n", (2, 1), "`Kb` are kilobits, and sizes are in bytes, with a capital B"),
            ("0,0\n10 chunks,1\n", (2, 1), "`chunks` is not a unit"),
            ("0,0\n10 ms,1\n", (2, 1), "`10 ms` is not a size in bytes"),
            ("0,0\n1.2345 kB,1\n", (2, 1), "`1.2345 kB` is finer than a byte"),
            ("packets,cdf\n0,0\n10 kB,1\n", (3, 1), "`10 kB` has a unit, in a table of sizes in packets"),
            ("0,B,0\n10,KB,1\n", (1, 3), "`B` is not a number, as the second of three columns is"),
            ("bytes;cdf\n1000;0\n2000;0,5\n3000;1\n", (3, 6), "`0,5` is not a number"),
            ("1000;0,0\n2000;0,5\n3000;1\n", (1, 6), "`0,0` is not a number"),
        ];
        for (text, place, message) in cases {
            let source = Source::new("x", text);
            let error = read(&source, None).err().expect(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start), place, "{message}");
        }
    }
}
