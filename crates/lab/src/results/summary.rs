//! The numbers of a run: `summary.json`. Each is declared once here, with how it is made and whether reports show it.

use super::field::Quantity::{Bytes, List, Ratio, Share, Text, Time};
use super::field::{Field, Number};
use super::jobs::jobs;
use super::labels::labels;
use super::made::{Made, with_bounds};
use super::measures::{Measured, Times, bands, deadlines, even_bins, fairness, gauges, round_trips};
use super::open::Found;
use super::part::{Part, Run};
use super::statistics::QUANTILE_DEFINITION;
use super::steadiness::Arrivals;
use super::volumes::busiest_links;
use crate::scenario::{Resolved, Setup};
use crate::text::quantity::as_seconds;
use headway_network::{FlowState, Network, Outcome};
use serde_json::{Map, Value as Json, json};

/// Scope of a number of the summary, and the function that makes it.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// A number of completion times: of the whole run, of each bin of `by_size`, and of each transport where the run
    /// has several.
    Times(fn(&Times) -> Option<Found>),
    /// A number of flows that count, with those that are open at the end: of the whole run, and of each transport.
    Counted(fn(&Part<'_>) -> Option<Found>),
    /// A number of only those of them that ended.
    Ended(fn(&Part<'_>) -> Option<f64>),
    /// Names of the numbers next to it that are bounds.
    Bounds,
    /// A number of flows: of the whole run, and of each transport where it has several.
    Flows(fn(&Part<'_>) -> Json),
    /// A number of the whole run alone.
    Run(fn(&Run<'_>) -> Json),
    /// A number of the whole run, if it has several transports.
    Mixture(fn(&Run<'_>) -> Json),
    /// Numbers of the entries of traffic, where there are any.
    Entries(fn(&Resolved, &Setup, &Outcome) -> Option<Json>),
    /// A number of messages that arrive at random, where there are any.
    Arrivals(fn(&Arrivals) -> Made),
    /// A number of each of several transports alone.
    Transport(fn(&Part<'_>) -> Json),
}

impl Of {
    /// True if it is a number of the whole run.
    pub fn is_of_run(self) -> bool {
        !matches!(self, Of::Transport(_))
    }

    /// True if it is a number of each of several transports.
    pub fn is_of_transport(self) -> bool {
        matches!(
            self,
            Of::Times(_) | Of::Counted(_) | Of::Ended(_) | Of::Bounds | Of::Flows(_) | Of::Transport(_)
        )
    }
}

/// Numbers of `summary.json`, and tables that have numbers of their own there, as they stand in it.
pub const SUMMARY: &[Number<Of>] = &[
    Number::new(Field::new(
        "ended_by",
        Text,
        "ended by",
        "`complete`: all that the run waits for was over; `stop`: the scenario's `stop` came first; `quiet`: nothing was left to \
         happen; `no-progress`: only in a run without a `stop`, nothing had arrived for as long as it had lasted before \
         (`headway docs scenario-format`); `deadlock`: `on_deadlock = \"end\"`; `memory`: `memory_limit`; `outside`: Ctrl-C, or the program that drives it",
    ), Of::Run(|run| run.part.outcome.ending.name().into())),
    Number::new(Field::flows("flows_done", "flows done", "of all flows, those that were whole at the receiver"), Of::Flows(|part| part.count(&[FlowState::Done]))).shown(),
    Number::new(Field::flows("flows_unfinished", "unfinished", "of all flows, those that were still open at the end"), Of::Flows(|part| part.count(&[FlowState::Unfinished, FlowState::Pending]))).shown(),
    Number::new(Field::flows("flows_failed", "failed", "of all flows, those that the transport gave up"), Of::Flows(|part| part.count(&[FlowState::Failed]))),
    Number::new(Field::flows("flows_stopped", "stopped", "of all flows, those that their `stop` ended before all bytes had arrived"), Of::Flows(|part| part.count(&[FlowState::Stopped]))),
    Number::new(Field::flows(
        "flows_measured",
        "flows measured",
        "flows that the statistics are over: those that ended and had started after the warm-up, and those that had started and were open at \
         the end, or were given up (`headway docs measures`)",
    ), Of::Flows(|part| part.measured.len().into())),
    Number::new(Field::flows("flows_open", "flows open", "of the measured ones, those that were open at the end, or were given up"), Of::Flows(|part| part.times.fct.counts().1.into())),
    Number::new(Field::new("fct_mean_s", Time, "mean FCT", "mean completion time"), Of::Times(|times| times.fct.mean())).shown(),
    Number::new(Field::new("fct_p50_s", Time, "median FCT", "median completion time"), Of::Times(|times| times.fct.quantile(0.50))).shown(),
    Number::new(Field::new("fct_p95_s", Time, "p95 FCT", "95th percentile of completion times"), Of::Times(|times| times.fct.quantile(0.95))),
    Number::new(Field::new("fct_p99_s", Time, "p99 FCT", "99th percentile of completion times"), Of::Times(|times| times.fct.quantile(0.99))).shown(),
    Number::new(Field::new("fct_max_s", Time, "longest FCT", "longest completion time"), Of::Times(|times| times.fct.largest())),
    Number::new(Field::slowdown("slowdown_mean", "mean slowdown", "mean slowdown"), Of::Times(|times| times.slowdown.mean())).shown(),
    Number::new(Field::slowdown("slowdown_p50", "median slowdown", "median slowdown"), Of::Times(|times| times.slowdown.quantile(0.50))),
    Number::new(Field::slowdown("slowdown_p95", "p95 slowdown", "95th percentile of slowdowns"), Of::Times(|times| times.slowdown.quantile(0.95))),
    Number::new(Field::slowdown("slowdown_p99", "p99 slowdown", "99th percentile of slowdowns"), Of::Times(|times| times.slowdown.quantile(0.99))).shown(),
    Number::new(Field::slowdown("slowdown_max", "largest slowdown", "largest slowdown"), Of::Times(|times| times.slowdown.largest())),
    Number::new(Field::new("sender_fct_mean_s", Time, "mean FCT at the sender", "mean time until the sender knows that the flow is whole, over the measured flows of which it knows"), Of::Counted(|part| part.known.mean())),
    Number::new(Field::new("sender_fct_p99_s", Time, "p99 FCT at the sender", "99th percentile of these times"), Of::Counted(|part| part.known.quantile(0.99))),
    Number::new(Field::new(
        "by_size",
        List,
        "by size",
        "`equal_count`: up to 10 bins of nearly equal count, flows of one size together, each with `from_bytes`, `to_bytes`, \
         `count` and the statistics above; `bands`: the same for `le_10kB`, `le_100kB`, `le_1MB`, `gt_1MB`, each above the one before",
    ), Of::Flows(|part| by_size(&part.measured))),
    Number::new(Field::new("link_utilisation", Share, "link utilisation", "mean busy share of the links that leave a switch"), Of::Run(|run| json!(run.busy(&run.switch)))).shown(),
    Number::new(Field::new(
        "bottleneck_utilisation",
        Share,
        "bottleneck utilisation",
        "mean busy share of the `bottleneck_links`",
    ), Of::Run(|run| json!(run.busy(&run.narrow)))).shown(),
    Number::new(Field::new(
        "bottleneck_links",
        List,
        "bottleneck links",
        "the scenario's `bottleneck`, or the busiest link that leaves a switch",
    ), Of::Run(|run| run.narrow.iter().map(|link| link.name.as_str()).collect())),
    Number::new(Field::new("queue_max_bytes", Bytes, "largest queue", "largest of the links that leave a switch"), Of::Run(|run| run.most(|port| port.queue_max_bytes))).shown(),
    Number::new(Field::packets(
        "queue_max_packets",
        "largest queue (packets)",
        "largest of the links that leave a switch, in data packets",
    ), Of::Run(|run| run.most(|port| port.queue_max_packets.into()))),
    Number::new(Field::new("host_queue_max_bytes", Bytes, "largest queue of a host", "largest of the queues in front of hosts' links; null without them"), Of::Run(|run| json!(run.host_queue()))),
    Number::new(Field::packets("drops", "drops", "at all ports, control and credits included"), Of::Flows(|part| json!(part.drops))).shown(),
    Number::new(Field::packets(
        "data_drops",
        "data drops",
        "of the `drops`, those of data packets; a header that trimming left is control, and its packet is in `trims`",
    ), Of::Flows(|part| json!(part.data_drops))).shown(),
    Number::new(Field::pauses("pauses", "pauses", "times that a lossless switch stopped a link, one for each class; 0 without `[fabric.pfc]`"), Of::Run(|run| run.sum_of_pauses(|pauses| pauses.sent))),
    Number::new(Field::new("paused_max_s", Time, "longest paused", "of all links, the longest time that one was stopped in any class"), Of::Run(|run| json!(run.longest_paused()))),
    Number::new(Field::new("headroom_max_bytes", Bytes, "largest headroom", "most bytes in the headroom of a link, of one class"), Of::Run(|run| run.most_of_pauses(|pauses| pauses.headroom_max))),
    Number::new(Field::new("pool_max_bytes", Bytes, "largest pool", "most bytes in the pool that all links of a switch share"), Of::Run(|run| run.most_of_pauses(|pauses| pauses.shared_max))),
    Number::new(Field::new("deadlock_s", Time, "deadlock", "time from which on pauses waited for each other for ever; null if none did"), Of::Run(|run| json!(run.part.outcome.deadlock.as_ref().map(|deadlock| as_seconds(deadlock.closed))))),
    Number::new(Field::new("deadlock_links", List, "deadlocked links", "links in a cycle, each of which waited for the next and the last for the first; empty without a deadlock"), Of::Run(|run| run.deadlocked().into())),
    Number::new(Field::packets("trims", "trims", "packets trimmed at all ports"), Of::Flows(|part| json!(part.trims))).shown(),
    Number::new(Field::new("arrivals_end_s", Time, "arrivals end", "start of the last flow; null if it never started, and on the testbed"), Of::Run(|run| json!(run.part.outcome.arrivals.as_ref().map(|arrivals| as_seconds(arrivals.end))))),
    Number::new(Field::new(
        "nominal_link_use",
        Share,
        "nominal link use",
        "`load` on the links of its `load_reference`, in bytes on the wire of data: headers, framing and padding \
         included; null without such a load, or with several on different links",
    ), Of::Run(|run| json!(run.link_use.map(|(nominal, _)| nominal)))).shown(),
    Number::new(Field::new(
        "reached_link_use",
        Share,
        "reached link use",
        "mean busy share of these links while the second half of the flows started, control packets included. Well \
         below the nominal one, arrivals ended before the flows that carry most bytes were under way",
    ), Of::Run(|run| json!(run.link_use.and_then(|(_, reached)| reached)))).shown(),
    Number::new(Field::new(
        "relaxation_s",
        Time,
        "relaxation time",
        "time that queues at this load take to forget that they were empty (`headway docs run-length`); null where the load is \
         not less than the links carry. This number and the next four are there where messages arrive at random",
    ), Of::Arrivals(|arrivals| json!(arrivals.length.and_then(|length| length.relaxation_s)).into())),
    Number::new(Field::new(
        "start_up_share",
        Share,
        "start-up share",
        "of the mean queue of a steady state, what the measured flows miss at most, about, because the network was empty when \
         arrivals began; null with several such entries that load different links",
    ), Of::Arrivals(|arrivals| json!(arrivals.length.map(|length| length.missing)).into())),
    Number::new(Field::slowdown(
        "slowdown_mean_early",
        "mean slowdown, first half",
        "of the measured flows that arrived at random, those that started in the first half of them; null if a half has fewer than 50",
    ), Of::Arrivals(|arrivals| arrivals.halves.map(|(early, _)| early).into())),
    Number::new(Field::slowdown(
        "slowdown_mean_late",
        "mean slowdown, second half",
        "the same of those that started in the second half. In a steady state the two differ by chance alone",
    ), Of::Arrivals(|arrivals| arrivals.halves.map(|(_, late)| late).into())),
    Number::new(Field::new(
        "backlog_growth",
        Ratio,
        "growth of the backlog",
        "of messages that arrive at random after the warm-up: what the bytes of unfinished ones grow by from the middle one to \
         the last, over the bytes that arrive in between. In a steady state it is 0 but for chance, also below 0; where a transport does not carry \
         the load, it is the share that is left over. Null with fewer than 100 such messages",
    ), Of::Arrivals(|arrivals| json!(arrivals.growth).into())),
    Number::new(Field::packets("marks", "marks", "data packets that arrived with a mark"), Of::Flows(|part| part.sum(|record| record.marks.map(u64::from)))).shown(),
    Number::new(Field::new("retransmitted_bytes", Bytes, "retransmitted", "of all flows"), Of::Flows(|part| part.sum(|record| record.retransmitted))).shown(),
    Number::new(Field::new(
        "gauges",
        List,
        "gauges",
        "measurements of machines and of the rules of switch ports, by the names below; empty for those that measure nothing",
    ), Of::Flows(|part| gauges(&part.gauges))),
    Number::new(Field::new(
        "round_trips",
        List,
        "round trips",
        "from the departure of a data packet to the arrival of what answers it, of all hosts together: the numbers below. The \
         answer is an acknowledgement with TCP, MPTCP and RCP; with Homa and ProactMP the grant that the packet brought \
         about, so that packets which nothing is granted for do not count. Null with the other transports, whose answers do \
         not say when their packet left",
    ), Of::Flows(|part| json!(part.round_trips.as_deref().map(round_trips)))),
    Number::new(Field::new(
        "jain",
        Ratio,
        "Jain index",
        "Jain's index over the mean throughputs (`bytes / fct_s`) of the measured flows that ended",
    ), Of::Ended(|part| fairness(&part.measured))).shown(),
    Number::new(Field::new("jain_over", Text, "Jain index over", "quantity that `jain` is over, in words"), Of::Run(|run| jain_over(&run.part).into())),
    Number::new(Field::new(
        "deadline_missed_fraction",
        Share,
        "deadlines missed",
        "of the measured flows with a deadline: not whole at it; null without deadlines, and if all that have one are open and may still meet it",
    ), Of::Counted(|part| deadlines(&part.flows, part.warmup, part.outcome.end))).shown(),
    Number::new(Field::new(
        "quantile_definition",
        Text,
        "quantiles",
        "nearest rank: the smallest value such that at least the share q of all values is not above it",
    ), Of::Run(|_| QUANTILE_DEFINITION.into())),
    Number::new(Field::new(
        "bounds",
        List,
        "bounds",
        "of the numbers next to it, those that flows which are open at the end could still move: `at least` for one that is at least \
         what stands there, `of those that ended` for one that leaves the open ones out; empty if there are none",
    ), Of::Bounds),
    Number::new(Field::new("jobs", List, "jobs", "of a run with jobs, or in which flows wait for others, only: see below"), Of::Entries(jobs)),
    Number::new(Field::new("busiest_links", List, "busiest links", "with `volumes` in `[sample]` only: the 16 links that carried most bytes, the busiest first, each with `link`, `bytes` on the wire, and of each \
        `[[traffic]]` entry `entry`, `kind`, `bytes` and `share` of the link's bytes (`entries`). Control of a flow counts for its entry; pause frames for none"), Of::Entries(busiest_links)),
    Number::new(Field::new("by_transport", List, "by transport", "of a run of several transports only: see below"), Of::Mixture(by_transport)),
    Number::new(Field::new(
        "delivered_bytes",
        Bytes,
        "delivered",
        "application bytes that arrived, each counted once, of unfinished flows too",
    ), Of::Transport(|part| part.sum(|record| Some(record.delivered)))),
    Number::new(Field::new(
        "goodput_share",
        Share,
        "share of the goodput",
        "`delivered_bytes` over those of all transports of the run. Who is the stronger only shows in flows that are still \
         open at the end of the run: flows that are all done have delivered what they were asked to",
    ), Of::Transport(|part| json!(part.goodput_share()))).shown(),
];

/// Makes the summary, and sentences about what in it is empty.
pub fn summarise(resolved: &Resolved, setup: &Setup, outcome: &Outcome) -> (Json, Vec<String>) {
    let spec = &resolved.spec;
    // Entries that load links declare their nominal load.
    let loads = setup.traffic.iter().any(|entry| entry.pattern.nominal_load().is_some());
    // Built only where it is needed: it takes longer than the numbers.
    let network = if loads { Network::build(&setup.topology.spec, &setup.fabric).ok() } else { None };
    let run = Run::new(spec, setup, network.as_ref(), outcome);
    let arrivals = Arrivals::of(resolved, setup, network.as_ref(), outcome);
    let made = numbers(|of| match of {
        Of::Run(make) => Some(make(&run).into()),
        Of::Mixture(make) => (spec.transports.len() > 1).then(|| make(&run).into()),
        Of::Entries(make) => make(resolved, setup, outcome).map(Made::from),
        Of::Arrivals(make) => arrivals.as_ref().map(make),
        Of::Transport(_) => None,
        _ => of_flows(of, &run.part),
    });
    let mut warnings = Vec::new();
    if run.part.times.fct.largest().is_none() {
        let why = if run.part.flows.iter().any(|(_, r)| r.state == FlowState::Done) {
            "every finished flow started in the warm-up"
        } else {
            "no flow finished"
        };
        warnings.push(format!("completion times are empty: {why}"));
    }
    (Json::Object(made), warnings)
}

/// The declared numbers that `make` makes, in their order, and which of them are bounds.
fn numbers(make: impl Fn(Of) -> Option<Made>) -> Map<String, Json> {
    with_bounds(SUMMARY.iter().filter_map(|number| Some((number.field.name, make(number.of)?))))
}

/// A number of flows.
fn of_flows(of: Of, part: &Part<'_>) -> Option<Made> {
    match of {
        Of::Times(make) => Some(make(&part.times).into()),
        Of::Counted(make) => Some(make(part).into()),
        Of::Ended(make) => Some(Made::of_ended(make(part), part.times.fct.counts().1 > 0)),
        Of::Bounds => Some(Made::bounds()),
        Of::Flows(make) => Some(make(part).into()),
        Of::Run(_) | Of::Mixture(_) | Of::Entries(_) | Of::Arrivals(_) | Of::Transport(_) => None,
    }
}

/// Quantity that Jain's index is over, in words.
fn jain_over(part: &Part<'_>) -> String {
    let over = "mean throughputs (bytes over FCT) of the measured flows";
    match part.times.fct.counts() {
        (_, 0) => over.into(),
        (all, open) => format!("{over} that ended: {} of {all}", all - open),
    }
}

/// An object for each transport, by its label.
fn by_transport(run: &Run<'_>) -> Json {
    let labels = labels(&run.spec.transports, &run.stacks);
    let mut map = Map::new();
    for label in &labels {
        // Transports of one label are one: settings that say nothing new.
        let own: Vec<usize> = (0..labels.len()).filter(|&number| labels[number] == *label).collect();
        map.entry(label.as_str()).or_insert_with(|| Json::Object(of_part(&run.part_of(&own))));
    }
    Json::Object(map)
}

fn of_part(part: &Part<'_>) -> Map<String, Json> {
    numbers(|of| match of {
        Of::Transport(make) => Some(make(part).into()),
        _ => of_flows(of, part),
    })
}

/// The statistics of flows by their sizes: `measured` are the smallest first.
fn by_size(measured: &[Measured]) -> Json {
    let even: Vec<Json> = even_bins(measured).into_iter().map(bin).collect();
    let bands: Map<String, Json> =
        bands(measured).into_iter().map(|(key, flows)| (key.to_string(), bin(flows))).collect();
    json!({ "equal_count": even, "bands": bands })
}

fn bin(flows: &[Measured]) -> Json {
    let mut map = Map::new();
    map.insert("from_bytes".into(), json!(flows.first().map(|f| f.bytes)));
    map.insert("to_bytes".into(), json!(flows.last().map(|f| f.bytes)));
    map.insert("count".into(), flows.len().into());
    let times = Times::of(flows);
    map.extend(numbers(|of| match of {
        Of::Times(make) => Some(make(&times).into()),
        Of::Bounds => Some(Made::bounds()),
        _ => None,
    }));
    Json::Object(map)
}
