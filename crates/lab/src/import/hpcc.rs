//! Flow lists of HPCC's ns-3 and of those made from it.
//!
//! The number of flows, and then each in a row: `src dst class port bytes start_s` (HPCC, PowerTCP, Reverie), `src dst class bytes start_s`
//! (ConWeave), or `src dst class packets start_s end_s` (ns3-rdma, packets of 1000 bytes). `src` and `dst` are numbers of nodes of the
//! topology, switches included.

use super::trace::{Place, Trace, What};
use crate::text::error::counted;
use crate::text::source::BYTE_ORDER_MARK;
use crate::text::{Origin, Problem, ScenarioError, Source, quantity};
use headway_units::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Bytes of a packet in the configurations that come with ns3-rdma.
const PACKET: u64 = 1000;
/// Largest number of a port.
const MOST_PORT: u64 = 65_535;

/// Form of a list: the meaning of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `src dst class port bytes start_s`.
    Port,
    /// `src dst class bytes start_s`.
    Plain,
    /// `src dst class packets start_s end_s`.
    Packets,
}

impl Form {
    fn columns(self) -> &'static str {
        match self {
            Form::Port => "src dst class port bytes start_s",
            Form::Plain => "src dst class bytes start_s",
            Form::Packets => "src dst class packets start_s end_s",
        }
    }

    /// Form that the rows themselves have: a size is a whole number, and a port is small.
    fn of(rows: &[Row<'_>]) -> Form {
        let six = |row: &&Row<'_>| row.words.len() == 6;
        if rows.first().is_none_or(|row| row.words.len() == 5) {
            return Form::Plain;
        }
        let is_packets = |row: &Row<'_>| {
            let number = |place: usize| row.words[place].parse::<f64>().unwrap_or(-1.0);
            let is_large = row.words[3].parse::<u64>().is_ok_and(|port| port > MOST_PORT);
            // A size has no point and a port is not that large, so that these are packets, a start and an end.
            (row.words[4].contains('.') || is_large) && number(4) < number(5)
        };
        let mut all = rows.iter().filter(six).peekable();
        if all.peek().is_some() && all.all(is_packets) { Form::Packets } else { Form::Port }
    }
}

struct Row<'a> {
    line: &'a str,
    words: Vec<&'a str>,
}

/// Host of each node of the topology; `None` for switches.
pub type Nodes<'a> = &'a [Option<u32>];

/// Reads a list for a network of so many hosts, or for as many as it names.
pub fn parse(
    source: &Arc<Source>,
    nodes: Option<Nodes<'_>>,
    hosts: Option<u32>,
) -> Result<Trace, ScenarioError> {
    let fail =
        |part: &str, text: String| ScenarioError::new(Problem::Syntax(text), &Origin::part(source, part));
    let lines = source.text.trim_start_matches(BYTE_ORDER_MARK).lines().map(|line| Row {
        line: line.trim(),
        words: line.split_whitespace().take_while(|word| !word.starts_with('#')).collect(),
    });
    let mut rows = lines.filter(|row| !row.words.is_empty());
    let end = || {
        let end = source.text.trim_end().len();
        Origin::new(source, end..end)
    };
    let Some(head) = rows.next() else {
        return Err(ScenarioError::new(Problem::Syntax("the list is empty".into()), &end()));
    };
    let count = match head.words[..] {
        [word] => word.parse::<u64>().ok(),
        _ => None,
    };
    let count = count.ok_or_else(|| {
        fail(head.line, format!("`{}` is not the number of flows, with which a list begins", head.line))
    })?;
    let mut list: Vec<Row<'_>> = Vec::new();
    while (list.len() as u64) < count {
        let Some(row) = rows.next() else {
            let text = format!("promises {}, the file holds {}", counted(count, "flow"), list.len());
            return Err(ScenarioError::new(Problem::Syntax(text), &end()).help("is the file cut off?"));
        };
        list.push(row);
    }
    let form = Form::of(&list);
    let mut trace = Trace { ranks: hosts.unwrap_or(0), ..Trace::of_text(source) };
    let mut classes = BTreeSet::new();
    for row in &list {
        let flow = Reader { source, row, form, nodes, hosts }.flow()?;
        let most = flow.0.max(match flow.1 {
            What::Message { to, class, .. } => {
                classes.extend(class);
                to
            }
            _ => 0,
        });
        if hosts.is_none() {
            trace.ranks = trace.ranks.max(most + 1);
        }
        let place = Place { file: 0, span: Origin::part(source, row.line).span };
        trace.push(flow.0, flow.1, None, place);
    }
    let name = &source.name;
    if form == Form::Packets {
        let columns = form.columns();
        trace.notes.push(format!("{name}: read as `{columns}`, with packets of {PACKET} B"));
    }
    if nodes.is_none() && !list.is_empty() {
        trace.notes.push(format!(
            "{name}: its nodes are taken to be hosts, as the topology is not a file that numbers them"
        ));
    }
    if classes.len() > 1 {
        trace.classed = Some("the class (priority group) of flows".into());
    }
    // Prose behind the flows describes the columns in many of these files, and needs no note.
    let more = rows.filter(|row| row.words.iter().all(|word| word.parse::<f64>().is_ok())).count();
    if more > 0 {
        let behind = counted(more as u64, "line");
        trace.notes.push(format!(
            "{name}: {behind} of numbers behind the {} that it promises: not read, as in HPCC's ns-3",
            counted(count, "flow")
        ));
    }
    Ok(trace)
}

struct Reader<'a, 's> {
    source: &'s Arc<Source>,
    row: &'a Row<'s>,
    form: Form,
    nodes: Option<Nodes<'a>>,
    hosts: Option<u32>,
}

impl Reader<'_, '_> {
    fn fail(&self, part: &str, text: String) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text), &Origin::part(self.source, part))
    }

    fn number(&self, place: usize, what: &str) -> Result<u64, ScenarioError> {
        let word = self.row.words[place];
        word.parse().map_err(|_| self.fail(word, format!("`{word}` is not {what}: a whole number")))
    }

    fn seconds(&self, place: usize, what: &str) -> Result<Time, ScenarioError> {
        let word = self.row.words[place];
        // As a quantity, which is exact: floating point would round picoseconds.
        match quantity::parse_quantity(&format!("{word} s")) {
            Ok(found) if found.dimension == quantity::Dimension::Time => Ok(Time(found.amount)),
            _ => Err(self.fail(word, format!("`{word}` is not {what}: a number of seconds, at least 0"))),
        }
    }

    fn host(&self, place: usize) -> Result<u32, ScenarioError> {
        let number = self.number(place, "the number of a node")?;
        let word = self.row.words[place];
        if let Some(nodes) = self.nodes {
            let last = nodes.len().saturating_sub(1);
            return match usize::try_from(number).ok().and_then(|number| nodes.get(number)) {
                Some(Some(host)) => Ok(*host),
                Some(None) => Err(self.fail(word, format!("node {number} is a switch of the topology"))),
                None => Err(self
                    .fail(word, format!("node {number} is not there: the topology has nodes 0 to {last}"))),
            };
        }
        let most = u64::from(self.hosts.unwrap_or(1 << 24));
        if number >= most {
            let text = format!("node {number} is not there: the network has {}", counted(most, "host"));
            return Err(self
                .fail(word, text)
                .help("a file of the topology says which of its nodes are hosts"));
        }
        Ok(number as u32)
    }

    /// Sender of a line, and its operation.
    fn flow(&self) -> Result<(u32, What), ScenarioError> {
        let due = if self.form == Form::Plain { 5 } else { 6 };
        if self.row.words.len() != due {
            let text =
                format!("{} words, and a flow has {due}: `{}`", self.row.words.len(), self.form.columns());
            return Err(self.fail(self.row.line, text));
        }
        let (src, dst) = (self.host(0)?, self.host(1)?);
        let class = self.number(2, "a class")?;
        let class = u16::try_from(class).map_err(|_| {
            self.fail(self.row.words[2], format!("a class is at most {}, not {class}", u16::MAX))
        })?;
        let (size, start) = match self.form {
            Form::Port => (4, 5),
            Form::Plain => (3, 4),
            Form::Packets => (3, 4),
        };
        // Read for its errors alone: a simulated flow has no port.
        if self.form == Form::Port {
            self.number(3, "a port")?;
        }
        let amount = self.number(size, "a size in bytes")?;
        let unit = if self.form == Form::Packets { PACKET } else { 1 };
        let bytes = amount.checked_mul(unit).filter(|bytes| *bytes > 0);
        let word = self.row.words[size];
        let bytes = bytes.ok_or_else(|| {
            let why =
                if amount == 0 { "the size is 0".into() } else { format!("{amount} packets are too many") };
            self.fail(word, why)
        })?;
        let start = self.seconds(start, "a start")?;
        let stop = (self.form == Form::Packets).then(|| self.seconds(5, "an end")).transpose()?;
        if let Some(stop) = stop.filter(|stop| *stop <= start) {
            return Err(
                self.fail(self.row.words[5], format!("the flow ends at {stop}, and starts at {start}"))
            );
        }
        Ok((src, What::Message { to: dst, bytes, start, class: Some(class), stop }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, nodes: Option<Nodes<'_>>) -> Result<Trace, ScenarioError> {
        parse(&Source::new("flow.txt", text), nodes, None)
    }

    fn flows(trace: &Trace) -> Vec<(u32, u32, u64, Time, Option<Time>)> {
        let one = |one: &super::super::trace::Operation| match one.what {
            What::Message { to, bytes, start, stop, .. } => (one.rank, to, bytes, start, stop),
            _ => panic!("a message"),
        };
        trace.operations.iter().map(one).collect()
    }

    #[test]
    fn each_of_the_family_has_its_columns() {
        let hpcc = read("2\n0 2 3 100 1000000 0.001\n1 2 3 100 1000000 2\n", None).expect("HPCC's");
        assert_eq!(flows(&hpcc)[0], (0, 2, 1_000_000, Time::ms(1), None));
        assert_eq!((flows(&hpcc)[1].3, hpcc.ranks), (Time::s(2), 3));
        let conweave = read("2\n\n0 2 3 5000 2.000000001\n1 2 4 7 2.1", None).expect("ConWeave's");
        assert_eq!(flows(&conweave)[0], (0, 2, 5000, Time::s(2) + Time::ns(1), None));
        assert!(conweave.classed.is_some() && hpcc.classed.is_none());
        let rdma = read("1\n2 1 3 10000000 2.0 9.5\n\nsrc dst priority packet# start_time end_time", None);
        let rdma = rdma.expect("ns3-rdma's");
        assert_eq!(flows(&rdma), [(2, 1, 10_000_000_000, Time::s(2), Some(Time::us(9_500_000)))]);
        assert!(rdma.notes[0].contains("packets of 1000 B"), "{:?}", rdma.notes);
    }

    #[test]
    fn nodes_are_the_hosts_that_the_topology_says() {
        // Node 0 is a switch.
        let nodes = [None, Some(0), Some(1)];
        let trace = read("1\n2 1 3 100 5 0\n", Some(&nodes)).expect("a list");
        assert_eq!(flows(&trace), [(1, 0, 5, Time::ZERO, None)]);
        let error = read("1\n0 1 3 100 5 0\n", Some(&nodes)).expect_err("a switch").to_string();
        assert_eq!(error, "node 0 is a switch of the topology");
        let error = read("1\n3 1 3 100 5 0\n", Some(&nodes)).expect_err("no node").to_string();
        assert_eq!(error, "node 3 is not there: the topology has nodes 0 to 2");
    }

    #[test]
    fn rows_behind_those_that_are_promised_are_noted() {
        let trace =
            read("1\n0 1 3 100 5 0\n4 1 3 100 5 2\n\nFirst line: # of flows\n", None).expect("a list");
        assert_eq!(trace.operations.len(), 1);
        let note =
            "flow.txt: 1 line of numbers behind the 1 flow that it promises: not read, as in HPCC's ns-3";
        assert_eq!(trace.notes.last().map(String::as_str), Some(note));
    }

    #[test]
    fn what_is_wrong_is_refused_where_it_is_written() {
        let cases = [
            ("", 1, "the list is empty"),
            ("flows\n", 1, "`flows` is not the number of flows, with which a list begins"),
            ("2\n0 1 3 100 5 0\n", 2, "promises 2 flows, the file holds 1"),
            ("1\n0 1 3 100\n", 2, "4 words, and a flow has 6: `src dst class port bytes start_s`"),
            ("2\n0 1 3 5 0\n0 1 3 100 5 0\n", 3, "6 words, and a flow has 5: `src dst class bytes start_s`"),
            ("1\n0 x 3 100 5 0\n", 2, "`x` is not the number of a node: a whole number"),
            ("1\n0 1 3 100 5 -1\n", 2, "`-1` is not a start: a number of seconds, at least 0"),
            ("1\n0 1 3 100 0 0\n", 2, "the size is 0"),
            ("1\n0 1 99999 100 5 0\n", 2, "a class is at most 65535, not 99999"),
        ];
        for (text, line, message) in cases {
            let error = read(text, None).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }
}
