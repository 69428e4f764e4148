//! Flow tables: `src,dst,bytes,start_s` (or `start_us` and the like), `id` or `name`, and if wanted `class`, `deadline_s`
//! (from the start), `path`, `share` and `transport`. Other columns are kept for other readers of the table, such as
//! `headway compare`.

use super::{Given, ImportedFlow, Places};
use crate::text::error::counted;
use crate::text::source::BYTE_ORDER_MARK;
use crate::text::{Origin, Problem, ScenarioError, Share, Source, names, quantity};
use headway_network::FlowSpec;
use headway_units::Time;
use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

const COLUMNS: [&str; 11] =
    ["id", "name", "src", "dst", "bytes", "start_s", "class", "deadline_s", "path", "share", "transport"];
const ID: usize = 0;
const NAME: usize = 1;
const SRC: usize = 2;
const DST: usize = 3;
const BYTES: usize = 4;
const START: usize = 5;
const CLASS: usize = 6;
const DEADLINE: usize = 7;
const PATH: usize = 8;
const SHARE: usize = 9;
const TRANSPORT: usize = 10;
/// The columns that a table must have, in addition to `id` or `name`.
const REQUIRED: [usize; 4] = [SRC, DST, BYTES, START];
/// The column of start times in other units than seconds, and the unit.
const STARTS: [(&str, &str); 4] =
    [("start_ms", "ms"), ("start_us", "us"), ("start_ns", "ns"), ("start_ps", "ps")];
/// Shortest header with the required columns, for messages.
const SHORTEST: &str = "id,src,dst,bytes,start_s";
/// Columns that are written: all that every flow has.
const WRITTEN: &str = "id,src,dst,bytes,start_s,class,deadline_s";
/// A line above the header that is for people only.
const COMMENT: char = '#';

/// A table as its file gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Flows of the table.
    pub flows: Vec<ImportedFlow>,
    /// Columns that say nothing about flows, in their order.
    pub kept: Vec<String>,
}

/// Reads a table; columns may stand in any order.
pub fn parse(source: &Arc<Source>) -> Result<Imported, ScenarioError> {
    let mut lines = source.text.lines().enumerate().map(|(i, l)| (i + 1, l.trim()));
    let header = lines.find_map(|(n, l)| {
        let header = l.trim_start_matches(BYTE_ORDER_MARK);
        (!header.is_empty() && !header.starts_with(COMMENT)).then_some((n, header))
    });
    let Some((number, header)) = header else {
        let problem = Problem::Syntax("the table is empty".into());
        let help = format!("a table of flows begins with the header {SHORTEST}");
        return Err(ScenarioError::new(problem, &Origin::line(source, 1)).help(help));
    };
    let (order, kept) = columns(source, number, header)?;
    let mut flows = Vec::new();
    for (_, line) in lines.filter(|(_, l)| !l.is_empty()) {
        flows.push(Row::new(source, line, &order)?.flow()?);
    }
    if flows.is_empty() {
        let problem = Problem::Syntax("the table has no flow: nothing follows its header".into());
        return Err(ScenarioError::new(problem, &Origin::line(source, number)));
    }
    Ok(Imported { flows, kept })
}

/// Position in the file of each known column; and the names of the others.
fn columns(source: &Arc<Source>, line: usize, header: &str) -> Result<(Order, Vec<String>), ScenarioError> {
    let fail = |text: String| ScenarioError::new(Problem::Syntax(text), &Origin::line(source, line));
    let fail_at =
        |part: &str, text: String| ScenarioError::new(Problem::Syntax(text), &Origin::part(source, part));
    let found = fields(source, header)?;
    let mut order =
        Order { position: [None; COLUMNS.len()], width: found.len(), start: (COLUMNS[START], "s") };
    let mut others: Vec<&str> = Vec::new();
    for (position, name) in found.iter().enumerate() {
        // If a table has `start_s` as well, other units are columns that are kept and not read.
        let other_unit = STARTS.iter().find(|(other, _)| other == name && !found.contains(&COLUMNS[START]));
        let column = other_unit.map(|_| START).or_else(|| COLUMNS.iter().position(|c| c == name));
        if let (Some(START), Some(before)) = (column, order.position[START])
            && found[before] != *name
        {
            return Err(fail_at(name, format!("start times are in `{}` already", found[before])));
        }
        order.start = other_unit.copied().unwrap_or(order.start);
        let twice = match column {
            Some(column) => order.position[column].replace(position).is_some(),
            None => others.contains(name),
        };
        if twice {
            return Err(fail_at(name, format!("the column `{name}` is there twice")));
        }
        if column.is_none() {
            others.push(name);
        }
    }
    // A slip in the name of a column would be one that is silently left out.
    let absent = || (0..COLUMNS.len()).filter(|c| order.position[*c].is_none()).map(|c| COLUMNS[c]);
    for name in &others {
        if let Some(meant) = names::obvious_slip(name, absent()) {
            let text = format!("unknown column `{name}`");
            let help = format!(
                "did you mean `{meant}`? Columns of other names are kept and say nothing about the flow"
            );
            return Err(fail_at(name, text).help(help));
        }
    }
    if order.position[ID].is_none() && order.position[NAME].is_none() {
        return Err(fail("the column `id` is missing".into()));
    }
    match REQUIRED.iter().find(|c| order.position[**c].is_none()) {
        Some(missing) => Err(fail(format!("the column `{}` is missing", COLUMNS[*missing]))),
        None => Ok((order, others.into_iter().map(str::to_string).collect())),
    }
}

struct Order {
    position: [Option<usize>; COLUMNS.len()],
    width: usize,
    /// Name and unit of the column of start times.
    start: (&'static str, &'static str),
}

/// The fields of a line, as slices of it: text between commas, or in quotes, in which a quote is doubled.
fn fields<'a>(source: &Arc<Source>, line: &'a str) -> Result<Vec<&'a str>, ScenarioError> {
    let fail = |part: &str, text: &str| {
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::part(source, part))
    };
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        let field = rest.trim_start();
        let end = if let Some(quoted) = field.strip_prefix('"') {
            let close = closing(quoted).ok_or_else(|| fail(field, "a quote is not closed on its line"))?;
            found.push(&quoted[..close]);
            let after = quoted[close + 1..].trim_start();
            if !(after.is_empty() || after.starts_with(',')) {
                return Err(fail(after, "a comma or the end of the line follows a quoted field"));
            }
            after
        } else {
            let end = field.find(',').unwrap_or(field.len());
            found.push(field[..end].trim_end());
            &field[end..]
        };
        match end.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(found),
        }
    }
}

/// Position at which a quoted text ends: at its first quote that is not doubled.
fn closing(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        // A quote is one byte, so that the byte after it begins a character.
        let at = from + text[from..].find('"')?;
        if !text[at + 1..].starts_with('"') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// One row, by known column.
struct Row<'a> {
    source: &'a Arc<Source>,
    text: &'a str,
    /// Slices of the text; those without a column are empty.
    fields: [Option<&'a str>; COLUMNS.len()],
    /// Name and unit of the column of start times.
    start: (&'static str, &'static str),
}

impl<'a> Row<'a> {
    fn new(source: &'a Arc<Source>, text: &'a str, order: &Order) -> Result<Row<'a>, ScenarioError> {
        let values = fields(source, text)?;
        let mut row = Row { source, text, fields: [None; COLUMNS.len()], start: order.start };
        if values.len() != order.width {
            let (fields, columns) =
                (counted(values.len() as u64, "field"), counted(order.width as u64, "column"));
            let text = format!("{fields} under {columns}");
            // With too many fields, the caret marks the first extra field. With too few, it marks the whole row.
            return Err(values.get(order.width).map_or_else(|| row.fail(&text), |v| row.fail_at(v, &text)));
        }
        for (field, position) in row.fields.iter_mut().zip(order.position) {
            *field = position.map(|p| values[p]);
        }
        Ok(row)
    }

    fn fail(&self, text: &str) -> ScenarioError {
        self.fail_at(self.text, text)
    }

    fn fail_at(&self, part: &str, text: &str) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::part(self.source, part))
    }

    /// A field, if it is there and not empty.
    fn given(&self, column: usize) -> Option<&'a str> {
        self.fields[column].filter(|field| !field.is_empty())
    }

    fn text(&self, column: usize) -> Result<&'a str, ScenarioError> {
        let empty = || {
            let place = self.fields[column].unwrap_or(self.text);
            self.fail_at(place, &format!("`{}` is empty", COLUMNS[column]))
        };
        self.given(column).ok_or_else(empty)
    }

    fn whole(&self, column: usize) -> Result<u64, ScenarioError> {
        let text = self.text(column)?;
        let wrong = |_| {
            self.fail_at(text, &format!("`{}` is `{text}`, which is not a whole number", COLUMNS[column]))
        };
        text.parse().map_err(wrong)
    }

    /// A whole number of a column that may be left out, from `least` to `most`.
    fn optional<T>(&self, column: usize, least: T, most: T) -> Result<Option<Given<T>>, ScenarioError>
    where
        T: TryFrom<u64> + PartialOrd + std::fmt::Display,
    {
        let Some(text) = self.given(column) else { return Ok(None) };
        let number = self.whole(column)?;
        let value = T::try_from(number).ok().filter(|value| *value >= least && *value <= most);
        let beyond = || {
            let text = format!("`{}` is {number}, and must be from {least} to {most}", COLUMNS[column]);
            self.fail_at(self.given(column).unwrap_or(self.text), &text)
        };
        Ok(Some(Given { value: value.ok_or_else(beyond)?, at: Origin::part(self.source, text).span }))
    }

    fn share(&self) -> Result<Option<Given<Share>>, ScenarioError> {
        let Some(text) = self.given(SHARE) else { return Ok(None) };
        let found = text.parse::<f64>().ok().and_then(Share::new);
        let wrong = || {
            let why = format!("`share` is {text}, and must be a number from 1, with three decimals at most");
            self.fail_at(text, &why)
        };
        Ok(Some(Given { value: found.ok_or_else(wrong)?, at: Origin::part(self.source, text).span }))
    }

    fn time(&self, column: usize, (name, unit): (&str, &str)) -> Result<Time, ScenarioError> {
        let text = self.text(column)?;
        let words = match unit {
            "s" => "seconds",
            unit => unit,
        };
        // By the reader of quantities, which is exact where floating point would round picoseconds.
        match quantity::parse_quantity(&format!("{text} {unit}")) {
            Ok(found) if found.dimension == quantity::Dimension::Time => Ok(Time(found.amount)),
            Ok(_) => Err(self.fail_at(text, &format!("`{name}` is `{text}`, which is no number of {words}"))),
            Err(_) => {
                let why = "in whole picoseconds, at least 0";
                Err(self
                    .fail_at(text, &format!("`{name}` is `{text}`, which is not a number of {words} {why}")))
            }
        }
    }

    /// Name of the flow: its name, or else its number in the file.
    fn called(&self) -> Result<String, ScenarioError> {
        // An empty name leaves it to `id`.
        let text = match (self.given(NAME), self.fields[ID]) {
            (Some(name), _) => name,
            (None, Some(_)) => self.text(ID)?,
            (None, None) => self.text(NAME)?,
        };
        Ok(unquoted(text).into_owned())
    }

    fn flow(&self) -> Result<ImportedFlow, ScenarioError> {
        let bytes = self.whole(BYTES)?;
        if bytes == 0 {
            return Err(self.fail_at(self.text(BYTES)?, "`bytes` is 0"));
        }
        let transport = self.given(TRANSPORT).map(|text| Given {
            value: unquoted(text).into_owned(),
            at: Origin::part(self.source, text).span,
        });
        Ok(ImportedFlow {
            id: self.called()?,
            src: self.whole(SRC)?,
            dst: self.whole(DST)?,
            bytes,
            start: self.time(START, self.start)?,
            class: self.optional(CLASS, 0, u16::MAX)?.map(|class| class.value),
            deadline: self
                .given(DEADLINE)
                .map(|_| self.time(DEADLINE, (COLUMNS[DEADLINE], "s")))
                .transpose()?,
            path: self.optional(PATH, 0, u32::MAX)?,
            share: self.share()?,
            transport,
            places: Places::of(self.source, self.text, [self.text(SRC)?, self.text(DST)?, self.text(BYTES)?]),
        })
    }
}

/// A quoted field's text, in which each quote is doubled.
fn unquoted(field: &str) -> Cow<'_, str> {
    if field.contains("\"\"") { field.replace("\"\"", "\"").into() } else { field.into() }
}

/// Seconds with all their picoseconds.
pub fn seconds(time: Time) -> String {
    const SECOND: u64 = 1_000_000_000_000;
    let (whole, rest) = (time.0 / SECOND, time.0 % SECOND);
    if rest == 0 {
        return whole.to_string();
    }
    // As digits, because floating point would round picoseconds.
    format!("{whole}.{}", format!("{rest:012}").trim_end_matches('0'))
}

/// Writes flows as a table.
///
/// # Errors
/// The first name that a row cannot hold.
pub fn write<'a>(flows: impl IntoIterator<Item = (&'a str, &'a FlowSpec)>) -> Result<String, String> {
    let mut out = format!("{WRITTEN}\n");
    for (id, spec) in flows {
        let id = quoted(id).ok_or(id)?;
        // A table counts a deadline from the flow's start, the simulator from that of the run.
        let deadline = spec.deadline.map_or(String::new(), |d| seconds(d - spec.start));
        let row = (spec.src, spec.dst, spec.bytes, seconds(spec.start), spec.class);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{id},{},{},{},{},{},{deadline}", row.0, row.1, row.2, row.3, row.4);
    }
    Ok(out)
}

/// A name as a field: in quotes where it has to be. `None` if there is none or if it goes over several lines.
fn quoted(name: &str) -> Option<Cow<'_, str>> {
    if name.is_empty() || name.contains(['\n', '\r']) {
        return None;
    }
    // Readers drop spaces around a field that has no quotes.
    if name.trim() == name && !name.contains([',', '"']) {
        return Some(name.into());
    }
    Some(format!("\"{}\"", name.replace('"', "\"\"")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ImportedFlow>, ScenarioError> {
        parse(&Source::new("x.csv", text)).map(|table| table.flows)
    }

    #[test]
    fn columns_stand_in_any_order_and_options_may_be_left_out() {
        let flows =
            read("\u{feff}src,dst,id,bytes,start_s,deadline_s\n1,2,a,1000,0.0000015,\n2,1,b,5,1e-3,0.5\n")
                .expect("flows");
        assert_eq!((flows[0].id.as_str(), flows[0].start, flows[0].deadline), ("a", Time::ns(1500), None));
        assert_eq!((flows[1].start, flows[1].deadline), (Time::ms(1), Some(Time::ms(500))));
        assert_eq!(seconds(Time::ns(1500)), "0.0000015");
    }

    #[test]
    fn what_a_flow_may_have_is_read_and_other_columns_are_kept() {
        let text = "# made by hand, 2 flows\n\"name\",src,dst,bytes,start_s,path,share,transport,class,fct_s,note\n\
                    \"a, \"\"b\"\"\",1,2,1000,0,3,2,dctcp,7,1e-3,\"x, y\"\nc,2,1,5,0,,,,,,\n";
        let table = parse(&Source::new("x.csv", text)).expect("flows");
        assert_eq!(table.kept, ["fct_s", "note"]);
        let [first, second] = &table.flows[..] else { panic!("two flows") };
        assert_eq!((first.id.as_str(), first.class), ("a, \"b\"", Some(7)));
        assert_eq!(first.path.as_ref().map(|given| given.value), Some(3));
        assert_eq!(first.share.as_ref().map(|given| given.value), Some(Share { of: 2, fewer: 0 }));
        let transport = first.transport.as_ref().expect("a transport");
        assert_eq!((transport.value.as_str(), &text[transport.at.clone()]), ("dctcp", "dctcp"));
        assert_eq!((&second.path, &second.share, &second.transport), (&None, &None, &None));
        assert_eq!(second.class, None);
    }

    #[test]
    fn start_times_may_count_other_units_than_seconds() {
        for (name, text) in
            [("start_ms", "0.0125"), ("start_us", "12.5"), ("start_ns", "12500"), ("start_ps", "12500000")]
        {
            let flows = read(&format!("id,{name},src,dst,bytes\n0,{text},1,2,3\n")).expect("flows");
            assert_eq!(flows[0].start, Time::ns(12_500), "{name}");
        }
        let wrong = read("id,src,dst,bytes,start_ns\n0,1,2,3,0.0001\n").expect_err("less than a picosecond");
        let said = "`start_ns` is `0.0001`, which is not a number of ns in whole picoseconds, at least 0";
        assert_eq!(wrong.to_string(), said);
        let twice = read("id,src,dst,bytes,start_us,start_ns\n").expect_err("two columns");
        assert_eq!(twice.to_string(), "start times are in `start_us` already");
        let both =
            read("id,src,dst,bytes,start_us,start_s\n0,1,2,3,5,1\n").expect("seconds are what is read");
        assert_eq!(both[0].start, Time::s(1));
    }

    #[test]
    fn a_name_stands_before_an_id() {
        let flows = read("id,name,src,dst,bytes,start_s\n7,web,1,2,1000,0\n8,,1,2,1000,0\n").expect("flows");
        assert_eq!([flows[0].id.as_str(), flows[1].id.as_str()], ["web", "8"]);
    }

    #[test]
    fn tables_that_are_none_say_why() {
        let cases = [
            ("id,src,dst,bytes\n", "the column `start_s` is missing"),
            ("id,src,dst,byte,start_s\n", "unknown column `byte`"),
            ("id,src,dst,bytes,start_s,deadline_us\n", "unknown column `deadline_us`"),
            ("id,src,dst,bytes,start_s,Path\n", "unknown column `Path`"),
            ("src,dst,bytes,start_s\n", "the column `id` is missing"),
            ("id,src,dst,bytes,start_s,id\n", "the column `id` is there twice"),
            ("id,src,dst,bytes,start_s,x,x\n", "the column `x` is there twice"),
            ("id,src,dst,bytes,start_s\n\"0,1,2,3,0\n", "a quote is not closed on its line"),
            (
                "id,src,dst,bytes,start_s\n\"0\"x,1,2,3,0\n",
                "a comma or the end of the line follows a quoted field",
            ),
            (
                "id,src,dst,bytes,start_s,share\n0,1,2,3,0,0\n",
                "`share` is 0, and must be a number from 1, with three decimals at most",
            ),
            (
                "id,src,dst,bytes,start_s,class\n0,1,2,3,0,65536\n",
                "`class` is 65536, and must be from 0 to 65535",
            ),
            ("id,src,dst,bytes,start_s\n0,1,2,3\n", "4 fields under 5 columns"),
            ("id,src,dst,bytes,start_s\n0,1,2,0,0\n", "`bytes` is 0"),
            ("id,src,dst,bytes,start_s\n0,1,x,3,0\n", "`dst` is `x`, which is not a whole number"),
            (
                "id,src,dst,bytes,start_s\n0,1,2,3,-1\n",
                "`start_s` is `-1`, which is not a number of seconds in whole picoseconds, at least 0",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(read(text).expect_err(message).to_string(), message);
        }
    }
}
