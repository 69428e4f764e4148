//! Messages that another implementation has run, and how the times compare.

use super::{flow, link, outcome, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::SingleSwitch;
use headway_network::{FlowSpec, FlowState, RunSpec, TopologySpec};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::Time;

/// Messages, and how long they take there in each way of running it, in us.
pub struct Case {
    pub flows: Vec<FlowSpec>,
    /// One for each column of the table.
    pub theirs: Vec<Vec<f64>>,
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

impl Case {
    /// A table of source, destination, bytes, start in ns, and then times in ns; lines with `#` are comments.
    pub fn read(table: &str) -> Case {
        let mut rows = table.lines().filter(|line| !line.starts_with('#'));
        let columns = rows.next().map_or(0, |names| names.split(',').count() - 4);
        let mut case = Case { flows: Vec::new(), theirs: vec![Vec::new(); columns] };
        for row in rows {
            let cells: Vec<&str> = row.split(',').collect();
            let start = Time::ns(number(cells[3]));
            case.flows.push(flow(number(cells[0]), number(cells[1]), number(cells[2]), start));
            for (column, cell) in case.theirs.iter_mut().zip(&cells[4..]) {
                column.push(number::<f64>(cell) / 1e3);
            }
        }
        assert!(!case.flows.is_empty());
        case
    }
}

/// Homa around one switch of 17 hosts with so many queues a port, 10 Gb/s and 2 us a link, where nothing is lost.
pub fn homa(
    flows: Vec<FlowSpec>,
    sizes: Sizes,
    queues: u64,
    settings: impl IntoIterator<Item = (&'static str, ParamValue)>,
) -> RunSpec {
    let star = TopologySpec::SingleSwitch(SingleSwitch { hosts: 17, link: link(10, Time::us(2)) });
    let mut run = spec(star, "homa", flows, Time::s(10));
    run.fabric.sizes = sizes;
    run.fabric.buffer = Buffer { data: Limit::Packets(1_000_000), control: Limit::Packets(1_000_000) };
    run.fabric.params =
        vec![("levels".into(), ParamValue::Int(queues)), ("control_apart".into(), ParamValue::Bool(false))];
    let run = param(run, "boost_tail", ParamValue::Bool(false));
    let run = param(run, "resend_floor", ParamValue::Time(Time::s(10)));
    settings.into_iter().fold(run, |run, (name, value)| param(run, name, value))
}

/// Completion times here, in us, in the order of the messages.
pub fn times(run: &RunSpec) -> Vec<f64> {
    let out = outcome(run);
    let took = |(flow, record): (&FlowSpec, &headway_network::FlowRecord)| {
        assert_eq!(record.state, FlowState::Done);
        (record.finish.expect("it is done") - flow.start).0 as f64 / 1e6
    };
    run.flows.iter().zip(&out.flows).map(took).collect()
}

/// Mean and 99th percentile.
fn mean_and_p99(times: &[f64]) -> (f64, f64) {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    (times.iter().sum::<f64>() / times.len() as f64, times[(0.99 * times.len() as f64) as usize])
}

/// By how many per cent mean and 99th percentile are above theirs.
fn apart(what: &str, ours: &[f64], theirs: &[f64]) -> (f64, f64) {
    let (ours, theirs) = (mean_and_p99(ours), mean_and_p99(theirs));
    let percent = |name: &str, a: f64, b: f64| {
        let apart = 100.0 * (a / b - 1.0);
        println!("{what}, {name}: {a:.3} us, theirs {b:.3} us, {apart:+.2} %");
        apart
    };
    (percent("mean", ours.0, theirs.0), percent("p99", ours.1, theirs.1))
}

/// Mean and 99th percentile are within so many per cent of theirs.
pub fn close(what: &str, ours: &[f64], theirs: &[f64], percent: (f64, f64)) {
    let (mean, p99) = apart(what, ours, theirs);
    assert!(mean.abs() <= percent.0 && p99.abs() <= percent.1, "{what}: mean {mean} %, p99 {p99} %");
}

/// Share of the messages that take as long here as there, to the nanosecond.
pub fn equal(ours: &[f64], theirs: &[f64]) -> f64 {
    let same = ours.iter().zip(theirs).filter(|(a, b)| (*a - *b).abs() < 1e-3).count();
    same as f64 / ours.len() as f64
}
