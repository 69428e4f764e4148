//! Flow tables: `id,src,dst,bytes,start_s` and, if wanted, `class` and `deadline_s` (from the start).

use super::{ImportedFlow, Places};
use crate::text::error::counted;
use crate::text::source::BYTE_ORDER_MARK;
use crate::text::{Origin, Problem, ScenarioError, Source, names, quantity};
use headway_network::FlowSpec;
use headway_units::Time;
use std::fmt::Write;
use std::sync::Arc;

const COLUMNS: [&str; 7] = ["id", "src", "dst", "bytes", "start_s", "class", "deadline_s"];
const REQUIRED: usize = 5;

/// Reads a table; columns may stand in any order.
pub fn parse(source: &Arc<Source>) -> Result<Vec<ImportedFlow>, ScenarioError> {
    let mut lines = source.text.lines().enumerate().map(|(i, l)| (i + 1, l.trim()));
    let header = lines.find_map(|(n, l)| {
        let header = l.trim_start_matches(BYTE_ORDER_MARK);
        (!header.is_empty()).then_some((n, header))
    });
    let Some((number, header)) = header else {
        let problem = Problem::Syntax("the table is empty".into());
        let help = format!("a table of flows begins with the header {}", COLUMNS[..REQUIRED].join(","));
        return Err(ScenarioError::new(problem, &Origin::line(source, 1)).help(help));
    };
    let order = columns(source, number, header)?;
    let mut flows = Vec::new();
    for (_, line) in lines.filter(|(_, l)| !l.is_empty()) {
        flows.push(Row::new(source, line, &order)?.flow()?);
    }
    if flows.is_empty() {
        let problem = Problem::Syntax("the table has no flow: nothing follows its header".into());
        return Err(ScenarioError::new(problem, &Origin::line(source, number)));
    }
    Ok(flows)
}

/// For each known column, its position in the file.
fn columns(source: &Arc<Source>, line: usize, header: &str) -> Result<Order, ScenarioError> {
    let fail = |text: String| ScenarioError::new(Problem::Syntax(text), &Origin::line(source, line));
    let fail_at =
        |part: &str, text: String| ScenarioError::new(Problem::Syntax(text), &Origin::part(source, part));
    let found: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut order = Order { position: [None; COLUMNS.len()], width: found.len() };
    for (position, name) in found.iter().enumerate() {
        let Some(column) = COLUMNS.iter().position(|c| c == name) else {
            return Err(fail_at(name, format!("unknown column `{name}`"))
                .maybe_help(names::suggestion(name, COLUMNS)));
        };
        if order.position[column].replace(position).is_some() {
            return Err(fail_at(name, format!("the column `{name}` is there twice")));
        }
    }
    match (0..REQUIRED).find(|c| order.position[*c].is_none()) {
        Some(missing) => Err(fail(format!("the column `{}` is missing", COLUMNS[missing]))),
        None => Ok(order),
    }
}

struct Order {
    position: [Option<usize>; COLUMNS.len()],
    width: usize,
}

/// One row, by known column.
struct Row<'a> {
    source: &'a Arc<Source>,
    text: &'a str,
    /// Slices of the text; those without a column are empty.
    fields: [Option<&'a str>; COLUMNS.len()],
}

impl<'a> Row<'a> {
    fn new(source: &'a Arc<Source>, text: &'a str, order: &Order) -> Result<Row<'a>, ScenarioError> {
        let values: Vec<&str> = text.split(',').map(str::trim).collect();
        let mut row = Row { source, text, fields: [None; COLUMNS.len()] };
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

    fn seconds(&self, column: usize) -> Result<Time, ScenarioError> {
        let text = self.text(column)?;
        match quantity::parse(&format!("{text} s")) {
            Ok(found) if found.dimension == quantity::Dimension::Time => Ok(Time(found.amount)),
            Ok(_) => Err(self
                .fail_at(text, &format!("`{}` is `{text}`, which is no number of seconds", COLUMNS[column]))),
            Err(_) => Err(self.fail_at(
                text,
                &format!(
                    "`{}` is `{text}`, which is not a number of seconds in whole picoseconds, at least 0",
                    COLUMNS[column]
                ),
            )),
        }
    }

    fn flow(&self) -> Result<ImportedFlow, ScenarioError> {
        let bytes = self.whole(3)?;
        if bytes == 0 {
            return Err(self.fail_at(self.text(3)?, "`bytes` is 0"));
        }
        let narrow = |text: &str, class: u64| {
            u16::try_from(class).map_err(|_| self.fail_at(text, "`class` is above 65535"))
        };
        let class = self.given(5).map(|text| narrow(text, self.whole(5)?)).transpose()?;
        let deadline = self.given(6).map(|_| self.seconds(6)).transpose()?;
        Ok(ImportedFlow {
            id: self.text(0)?.into(),
            src: self.whole(1)?,
            dst: self.whole(2)?,
            bytes,
            start: self.seconds(4)?,
            class,
            deadline,
            places: Places::of(self.source, self.text, [self.text(1)?, self.text(2)?, self.text(3)?]),
        })
    }
}

/// Seconds with all their picoseconds.
pub fn seconds(time: Time) -> String {
    const SECOND: u64 = 1_000_000_000_000;
    let (whole, rest) = (time.0 / SECOND, time.0 % SECOND);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{}", format!("{rest:012}").trim_end_matches('0'))
}

/// Writes flows as a table.
///
/// # Errors
/// The first name that a table without quotes cannot hold.
pub fn write<'a>(flows: impl IntoIterator<Item = (&'a str, &'a FlowSpec)>) -> Result<String, String> {
    let mut out = COLUMNS.join(",");
    out.push('\n');
    for (id, spec) in flows {
        if id.is_empty() || id.trim() != id || id.contains([',', '\n', '\r']) {
            return Err(id.into());
        }
        let deadline = spec.deadline.map_or(String::new(), |d| seconds(d - spec.start));
        let row = (spec.src, spec.dst, spec.bytes, seconds(spec.start), spec.class);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{id},{},{},{},{},{},{deadline}", row.0, row.1, row.2, row.3, row.4);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ImportedFlow>, ScenarioError> {
        parse(&Source::new("x.csv", text))
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
    fn tables_that_are_none_say_why() {
        let cases = [
            ("id,src,dst,bytes\n", "the column `start_s` is missing"),
            ("id,src,dst,byte,start_s\n", "unknown column `byte`"),
            ("id,src,dst,bytes,start_s,id\n", "the column `id` is there twice"),
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
