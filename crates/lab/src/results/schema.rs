//! What results hold, said once: every column and every number of the summary, with its unit, label, meaning and
//! quantity; and every gauge, as transports and disciplines declare it. Writers are held to it, the native module hands it to Python, and the tables of docs/results.md are
//! written from it.

use Quantity::{Bytes, Count, List, Rate, Ratio, Share, Text, Time};
use headway_gauges::{GaugeInfo, GaugeUnit};
use serde_json::{Map, Value as Json, json};

/// What a value is a number of, which says how it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A name, or a number that only names something.
    Text,
    /// Something that has parts of its own.
    List,
    /// Seconds.
    Time,
    /// Amounts of data, shown as kB, MB and so on.
    Bytes,
    /// Bits per second.
    Rate,
    /// A number without unit that may be above 1.
    Ratio,
    /// A part of a whole, from 0 to 1, which is shown in percent.
    Share,
    /// A number of flows, packets or samples.
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

/// Of what a number of the summary is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Of the whole run alone.
    Run,
    /// Of flows: of the whole run, and of each transport where it has several.
    Flows,
    /// Of each of several transports alone.
    Transport,
}

/// One column, number or gauge.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in files.
    pub name: &'static str,
    /// The unit of its values; empty for names.
    pub unit: &'static str,
    /// What figures and tables call it.
    pub label: &'static str,
    /// One sentence of what it is.
    pub doc: &'static str,
    /// What it is a number of.
    pub quantity: Quantity,
    /// Whether a column may be without a value.
    pub nullable: bool,
    /// Of what a number of the summary is.
    pub scope: Scope,
}

impl Field {
    const fn new(name: &'static str, quantity: Quantity, label: &'static str, doc: &'static str) -> Field {
        Field { name, unit: quantity.unit(), label, doc, quantity, nullable: false, scope: Scope::Run }
    }

    /// A number of packets.
    const fn packets(name: &'static str, label: &'static str, doc: &'static str) -> Field {
        Field { unit: "packets", ..Field::new(name, Count, label, doc) }
    }

    /// What a transport or a discipline declares.
    const fn gauge(info: &GaugeInfo) -> Field {
        match info.unit {
            GaugeUnit::Bytes => Field::new(info.name, Bytes, info.label, info.doc),
            GaugeUnit::Packets => Field::packets(info.name, info.label, info.doc),
        }
    }

    /// A number of flows.
    const fn flows(name: &'static str, label: &'static str, doc: &'static str) -> Field {
        Field { unit: "flows", ..Field::new(name, Count, label, doc) }
    }

    const fn or_null(self) -> Field {
        Field { nullable: true, ..self }
    }

    const fn each(self) -> Field {
        Field { scope: Scope::Flows, ..self }
    }

    const fn part(self) -> Field {
        Field { scope: Scope::Transport, ..self }
    }

    /// As JSON, for whoever asks the native module.
    fn json(&self, doc: &str) -> Json {
        let scope = match self.scope {
            Scope::Run => "run",
            Scope::Flows => "flows",
            Scope::Transport => "transport",
        };
        json!({ "name": self.name, "unit": self.unit, "label": self.label, "doc": doc,
            "quantity": self.quantity.name(), "scope": scope })
    }
}

/// Columns of `flows`.
pub const FLOWS: &[Field] = &[
    Field::new("flow", Text, "number", "position in the scenario's flows, from 0"),
    Field::new("name", Text, "flow", "the flow's name, or its number as text"),
    Field::new("src", Text, "source", "sending host"),
    Field::new("dst", Text, "destination", "receiving host"),
    Field::new("class", Text, "class", "application class"),
    Field::new(
        "transport",
        Text,
        "transport",
        "name; where several transports of the run have one name, with what each sets, as `dctcp(g=0.5)`",
    ),
    Field::new("bytes", Bytes, "size", "application bytes to deliver"),
    Field::new("start_s", Time, "start", "when the application handed the flow over"),
    Field::new("finish_s", Time, "finish", "when the last byte arrived at the receiver; null if it did not")
        .or_null(),
    Field::new("fct_s", Time, "FCT", "`finish_s - start_s`").or_null(),
    Field::new(
        "ideal_s",
        Time,
        "ideal FCT",
        "completion time on the flow's own path without other packets; formula in the manifest",
    ),
    Field::new(
        "slowdown",
        Ratio,
        "slowdown",
        "`fct_s / ideal_s`; below 1 only where packets of one flow take several paths at once, so that a short last one \
         overtakes, where the transport sends a short last one first (Homa), or where a link got faster during the run",
    )
    .or_null(),
    Field::new("delivered_bytes", Bytes, "delivered", "application bytes that arrived, each counted once"),
    Field::new(
        "retransmitted_bytes",
        Bytes,
        "retransmitted",
        "application bytes that left the sender again; a packet whose permission was lost, and which left once, does not count",
    ),
    Field::packets("drops", "drops", "its data packets dropped by ports, or lost to faults on links"),
    Field::packets("trims", "trims", "its data packets trimmed by ports"),
    Field::packets("marks", "marks", "its data packets that arrived with a mark"),
    Field::new("deadline_s", Time, "deadline", "deadline counted from `start_s`; null without one").or_null(),
    Field::new(
        "state",
        Text,
        "state",
        "`done`, `unfinished` (also: never started), `failed` (given up by the transport)",
    ),
];

/// Columns of `links`.
pub const LINKS: &[Field] = &[
    Field::new("name", Text, "link", "`from->to`"),
    Field::new("from_switch", Text, "from a switch", "1 if it leaves a switch, 0 if it leaves a host"),
    Field::new(
        "rate_bps",
        Rate,
        "rate",
        "rate as the scenario writes it, whatever it becomes during the run",
    ),
    Field::new(
        "busy_fraction",
        Share,
        "utilisation",
        "share of the run spent transmitting, at whatever rate, headers and framing included; a link that is down transmits nothing",
    ),
    Field::new(
        "goodput_bps",
        Rate,
        "goodput",
        "application bits that left, repeats included, over the run; a packet on the wire at its end counts whole, and so \
         does the time until its last bit leaves",
    ),
    Field::new(
        "wire_bytes",
        Bytes,
        "sent",
        "bytes of the packets that `dequeued` counts, headers and framing included",
    ),
    Field::packets("received", "received", "offered to the port"),
    Field::packets("enqueued", "enqueued", "accepted by the port"),
    Field::packets("dequeued", "dequeued", "that left, or had begun to by the end"),
    Field::packets("waiting", "waiting", "in the queues at the end"),
    Field::packets("drops", "drops", "dropped for any reason"),
    Field::packets("drops_buffer_full", "drops, buffer full", "dropped because the buffer had no room"),
    Field::packets(
        "drops_control_full",
        "drops, control full",
        "dropped because the queue of control had no room",
    ),
    Field::packets(
        "drops_unscheduled",
        "drops, unscheduled",
        "unscheduled packets that the port's rules dropped",
    ),
    Field::packets(
        "drops_link_down",
        "drops, link down",
        "data dropped because the link was down: what waited when it went down, and what came until it was up",
    ),
    Field::packets(
        "drops_control_link_down",
        "control drops, link down",
        "control dropped because the link was down, as with `drops_link_down`",
    ),
    Field::packets(
        "returned",
        "returned",
        "sent back to where they came from for want of room; they are offered to another port then, and received there",
    ),
    Field::packets(
        "trims",
        "trims",
        "whose payload was cut off; what was left of them is offered on as a control packet, and not received again",
    ),
    Field::packets("marks", "marks", "that left with a mark"),
    Field::new(
        "queue_max_bytes",
        Bytes,
        "largest queue",
        "most that ever waited, the packet on the wire not counted",
    ),
    Field::packets(
        "queue_max_packets",
        "largest queue (packets)",
        "most data packets that ever waited, the packet on the wire not counted",
    ),
    Field::new("queue_mean_bytes", Bytes, "mean queue", "what waited, averaged over time"),
];

/// Columns of `series`.
pub const SERIES: &[Field] = &[
    Field::new("t_s", Time, "time", "end of the interval; the last one is cut short by the end of the run"),
    Field::new("entity", Text, "entity", "name of a flow or of a link"),
    Field::new(
        "metric",
        Text,
        "metric",
        "what was sampled: one of the metrics below, or the name of a gauge",
    ),
    Field {
        unit: "as the metric says",
        ..Field::new("value", Ratio, "value", "its value, in the metric's unit")
    },
];

/// What `series` samples, besides gauges of the rules of ports.
pub const METRICS: &[Field] = &[
    Field::new(
        "throughput_bps",
        Rate,
        "throughput",
        "of a flow: new application bytes delivered in the interval",
    ),
    Field::new("queue_bytes", Bytes, "queue", "of a link: what waits at the end of the interval"),
    Field::new("queue_max_bytes", Bytes, "largest queue", "of a link: most that waited in the interval"),
    Field::new("utilisation", Share, "utilisation", "of a link: share of the interval spent transmitting"),
];

/// Numbers of `summary.json`, and what has numbers of its own there, as they stand in it.
pub const SUMMARY: &[Field] = &[
    Field::flows("flows_done", "flows done", "of all flows, those that were whole at the receiver").each(),
    Field::flows("flows_unfinished", "unfinished", "of all flows, those that were still open at the end").each(),
    Field::flows("flows_failed", "failed", "of all flows, those that the transport gave up").each(),
    Field::flows(
        "flows_measured",
        "flows measured",
        "done, and started after the warm-up: what the statistics are over",
    )
    .each(),
    Field::new("fct_mean_s", Time, "mean FCT", "mean completion time").each(),
    Field::new("fct_p50_s", Time, "median FCT", "median completion time").each(),
    Field::new("fct_p95_s", Time, "p95 FCT", "95th percentile of completion times").each(),
    Field::new("fct_p99_s", Time, "p99 FCT", "99th percentile of completion times").each(),
    Field::new("fct_max_s", Time, "longest FCT", "longest completion time").each(),
    Field::new("slowdown_mean", Ratio, "mean slowdown", "mean slowdown").each(),
    Field::new("slowdown_p50", Ratio, "median slowdown", "median slowdown").each(),
    Field::new("slowdown_p95", Ratio, "p95 slowdown", "95th percentile of slowdowns").each(),
    Field::new("slowdown_p99", Ratio, "p99 slowdown", "99th percentile of slowdowns").each(),
    Field::new("slowdown_max", Ratio, "largest slowdown", "largest slowdown").each(),
    Field::new(
        "by_size",
        List,
        "by size",
        "`equal_count`: up to 10 bins of nearly equal count, flows of one size together, each with `from_bytes`, `to_bytes`, \
         `count` and the statistics above; `bands`: the same for `le_10kB`, `le_100kB`, `le_1MB`, `gt_1MB`, each above the one before",
    )
    .each(),
    Field::new("link_utilisation", Share, "link utilisation", "mean busy share of the links that leave a switch"),
    Field::new(
        "bottleneck_utilisation",
        Share,
        "bottleneck utilisation",
        "mean busy share of the `bottleneck_links`",
    ),
    Field::new(
        "bottleneck_links",
        List,
        "bottleneck links",
        "the scenario's `bottleneck`, or the busiest link that leaves a switch",
    ),
    Field::new("arrivals_end_s", Time, "arrivals end", "when the last flow started; null if it never did, and on the testbed"),
    Field::new(
        "nominal_link_use",
        Share,
        "nominal link use",
        "what `load` means on the links of its `load_reference`, in bytes on the wire of data: headers, framing and padding \
         included; null without such a load, or with several on different links",
    ),
    Field::new(
        "reached_link_use",
        Share,
        "reached link use",
        "mean busy share of these links while the second half of the flows started, control packets included. Well \
         below the nominal one, arrivals ended before the flows that carry most bytes were under way",
    ),
    Field::new("queue_max_bytes", Bytes, "largest queue", "largest of the links that leave a switch"),
    Field::packets(
        "queue_max_packets",
        "largest queue (packets)",
        "largest of the links that leave a switch, in data packets",
    ),
    Field::packets("drops", "drops", "at all ports, control and credits included").each(),
    Field::packets(
        "data_drops",
        "data drops",
        "of the `drops`, those of data packets; a header that trimming left is control, and its packet is in `trims`",
    )
    .each(),
    Field::packets("trims", "trims", "packets trimmed at all ports").each(),
    Field::packets("marks", "marks", "data packets that arrived with a mark").each(),
    Field::new("retransmitted_bytes", Bytes, "retransmitted", "of all flows").each(),
    Field::new(
        "gauges",
        List,
        "gauges",
        "what machines and rules of switch ports measure of themselves, by the names below; empty for those that measure nothing",
    )
    .each(),
    Field::new(
        "round_trips",
        List,
        "round trips",
        "from the departure of a data packet to the arrival of what answers it, of all hosts together: the numbers below. The \
         answer is an acknowledgement with TCP, MPTCP and RCP; with Homa and ProactMP the grant that the packet brought \
         about, so that packets which nothing is granted for do not count. Null with the other transports, whose answers do \
         not say when their packet left",
    )
    .each(),
    Field::new(
        "jain",
        Ratio,
        "Jain index",
        "Jain's index over the mean throughputs (`bytes / fct_s`) of the measured flows",
    )
    .each(),
    Field::new("jain_over", Text, "Jain index over", "what `jain` is over, in words"),
    Field::new(
        "deadline_missed_fraction",
        Share,
        "deadlines missed",
        "of the flows with a deadline that is past: not whole at it; null without deadlines",
    )
    .each(),
    Field::new(
        "quantile_definition",
        Text,
        "quantiles",
        "nearest rank: the smallest value such that at least the share q of all values is not above it",
    ),
    Field::new("by_transport", List, "by transport", "of a run of several transports only: see below"),
    Field::new(
        "delivered_bytes",
        Bytes,
        "delivered",
        "application bytes that arrived, each counted once, of unfinished flows too",
    )
    .part(),
    Field::new(
        "goodput_share",
        Share,
        "share of the goodput",
        "`delivered_bytes` over those of all transports of the run. Who is the stronger only shows in flows that are still \
         open at the end of the run: flows that are all done have delivered what they were asked to",
    )
    .part(),
];

/// Numbers of `round_trips` in the summary.
pub const ROUND_TRIPS: &[Field] = &[
    Field { unit: "packets", ..Field::new("samples", Count, "round trips", "how many were measured") },
    Field::new("mean_s", Time, "round trip, mean", "their mean"),
    Field::new(
        "p50_s",
        Time,
        "round trip, p50",
        "their median, which like every quantile is at most a hundredth too high",
    ),
    Field::new("p90_s", Time, "round trip, p90", "their 90th percentile"),
    Field::new("p99_s", Time, "round trip, p99", "their 99th percentile"),
    Field::new("p999_s", Time, "round trip, p999", "their 99.9th percentile"),
    Field::new("max_s", Time, "round trip, max", "the longest"),
    Field::new("histogram", List, "histogram", "pairs of a bin's upper end and how many are in it"),
];

/// What the summary says of each gauge.
pub const GAUGE_PARTS: &[Field] = &[
    Field::new("max", Ratio, "max", "the largest value that any of that name ever had"),
    Field::new(
        "mean",
        Ratio,
        "mean",
        "the mean of their means over time; of what only counts, of the counts",
    ),
    Field::new("sum", Ratio, "sum", "the sum of the last values"),
];

/// A gauge, and who has it.
#[derive(Clone, Debug)]
pub struct GaugeField {
    /// Its declaration.
    pub field: Field,
    /// The transports and disciplines that declare it.
    pub owners: Vec<&'static str>,
}

impl GaugeField {
    /// One sentence of what it is, with who has it.
    pub fn doc(&self) -> String {
        let owners: Vec<String> = self.owners.iter().map(|owner| format!("`{owner}`")).collect();
        format!("{}: {}", owners.join(", "), self.field.doc)
    }
}

/// What machines and rules of switch ports measure of themselves, as transports and disciplines declare it.
pub fn gauges() -> Vec<GaugeField> {
    let transports = headway_transport::registry::all();
    let machines = transports.iter().map(|entry| (entry.info.name, entry.gauges));
    let mut found: Vec<GaugeField> = Vec::new();
    for (owner, infos) in machines.chain(headway_fabric::registry::GAUGES.iter().copied()) {
        for info in infos {
            match found.iter_mut().find(|gauge| gauge.field.name == info.name) {
                Some(gauge) => gauge.owners.push(owner),
                None => found.push(GaugeField { field: Field::gauge(info), owners: vec![owner] }),
            }
        }
    }
    found
}

/// Every list of declarations that is the same whatever transports and disciplines there are, by its name.
pub const ALL: &[(&str, &[Field])] = &[
    ("flows", FLOWS),
    ("links", LINKS),
    ("series", SERIES),
    ("metrics", METRICS),
    ("summary", SUMMARY),
    ("round_trips", ROUND_TRIPS),
    ("gauge_parts", GAUGE_PARTS),
];

/// All of it, as JSON: for each list its declarations in their order.
pub fn schema() -> Json {
    let list = |fields: &[Field]| fields.iter().map(|field| field.json(field.doc)).collect::<Json>();
    let mut lists: Map<String, Json> =
        ALL.iter().map(|(name, fields)| (name.to_string(), list(fields))).collect();
    let gauges = gauges().iter().map(|gauge| gauge.field.json(&gauge.doc())).collect();
    lists.insert("gauges".into(), gauges);
    Json::Object(lists)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_fabric::DropReason;
    use std::collections::BTreeSet;

    #[test]
    fn every_list_declares_each_name_once_with_a_label_and_a_sentence() {
        for (list, fields) in ALL {
            let names: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), fields.len(), "{list}");
            assert!(fields.iter().all(|f| !f.label.is_empty() && !f.doc.is_empty()), "{list}");
        }
    }

    #[test]
    fn every_reason_to_drop_has_a_column_after_the_sum() {
        let at = LINKS.iter().position(|field| field.name == "drops").expect("drops");
        for (reason, field) in DropReason::ALL.iter().zip(&LINKS[at + 1..]) {
            assert_eq!(field.name, format!("drops_{}", reason.name()));
        }
        assert_eq!(LINKS[at + 1 + DropReason::ALL.len()].name, "returned");
    }

    #[test]
    fn gauges_of_one_name_are_declared_alike_and_have_a_label_and_a_sentence() {
        let all = gauges();
        let declared = headway_transport::registry::all().into_iter().flat_map(|entry| entry.gauges);
        for info in declared.chain(headway_fabric::registry::GAUGES.iter().flat_map(|(_, infos)| *infos)) {
            assert!(!info.label.is_empty() && !info.doc.is_empty(), "{}", info.name);
            let field = Field::gauge(info);
            let found = all.iter().find(|gauge| gauge.field.name == info.name).expect("collected");
            let parts = |f: &Field| (f.label, f.doc, f.unit);
            assert_eq!(parts(&found.field), parts(&field), "{}", info.name);
        }
    }

    #[test]
    fn names_end_in_the_unit_that_they_declare() {
        let gauges = gauges();
        let fields = ALL.iter().flat_map(|(_, fields)| *fields);
        for field in fields.chain(gauges.iter().map(|gauge| &gauge.field)) {
            let ends = [("_s", Time), ("_bytes", Bytes), ("_bps", Rate), ("_packets", Count)];
            for (end, quantity) in ends {
                assert!(!field.name.ends_with(end) || field.quantity == quantity, "{}", field.name);
            }
            assert!(field.quantity != Time || field.name.ends_with("_s"), "{}", field.name);
        }
    }
}
