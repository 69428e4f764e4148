//! The columns of the tables of a run.

use super::field::Field;
use super::field::Quantity::{Bytes, Rate, Ratio, Share, Text, Time};

/// Columns of `flows`.
pub const FLOWS: &[Field] = &[
    Field::new("flow", Text, "number", "position in the scenario's flows, from 0"),
    Field::new("name", Text, "flow", "the flow's name, or its number as text"),
    Field::new("src", Text, "source", "sending host"),
    Field::new("dst", Text, "destination", "receiving host"),
    Field::new("entry", Text, "entry", "number of its `[[traffic]]` entry, from 0, as in `jobs` of the summary"),
    Field::new(
        "round",
        Text,
        "round",
        "of a job: which step of a collective, micro-batch or call it is part of, from 0, as in `round_times`; null for flows in no rounds",
    )
    .or_null(),
    Field::new("class", Text, "class", "application class"),
    Field::new(
        "transport",
        Text,
        "transport",
        "name; where several transports of the run have one name, with what each sets, as `dctcp(g=0.5)`; `kernel-cubic` and the like with `stack = \"kernel\"`",
    ),
    Field::new("bytes", Bytes, "size", "application bytes to deliver"),
    Field::new("start_s", Time, "start", "time at which the application handed the flow over; null for a flow that waited for others until the end").or_null(),
    Field::new("finish_s", Time, "finish", "time at which the last byte arrived at the receiver; null if it did not")
        .or_null(),
    Field::new("fct_s", Time, "FCT", "`finish_s - start_s`").or_null(),
    Field::new(
        "at_least_s",
        Time,
        "FCT at least",
        "of a flow that was open at the end of the run, or was given up: from `start_s` to the end of the run. Its completion time \
         is at least that, and it counts so in every number; null for others",
    )
    .or_null(),
    Field::new(
        "sender_fct_s",
        Time,
        "FCT at the sender",
        "from `start_s` until the sender knows that the last byte has arrived; null if the run ended before, which the \
         scenario's `until = \"known\"` prevents, and on the testbed",
    )
    .or_null(),
    Field::new(
        "ideal_s",
        Time,
        "ideal FCT",
        "completion time on the flow's own path without other packets; formula in the manifest",
    ),
    Field::slowdown(
        "slowdown",
        "slowdown",
        "`fct_s / ideal_s`; below 1 only where packets of one flow take several paths at once, so that a short last one \
         overtakes, where the transport sends a short last one first (Homa), or where a link got faster during the run",
    )
    .or_null(),
    Field::slowdown(
        "sender_slowdown",
        "slowdown at the sender",
        "`sender_fct_s` over the same without other packets: `ideal_s`, and the time that one control packet takes back. \
         Simulators that end a flow with its last acknowledgement give slowdowns of this kind, such as HPCC's; a queue then \
         counts against a whole round trip, and short flows have about half of the slowdown that they have at the receiver",
    )
    .or_null(),
    Field::new("delivered_bytes", Bytes, "delivered", "application bytes that arrived, each counted once"),
    Field::new(
        "retransmitted_bytes",
        Bytes,
        "retransmitted",
        "application bytes that left the sender again; a packet whose permission was lost, and which left once, does not count",
    )
    .or_null(),
    Field::packets(
        "drops",
        "drops",
        "its data packets dropped by ports, or lost to faults on links; null on the testbed, whose ports do not know flows",
    )
    .or_null(),
    Field::packets("trims", "trims", "its data packets trimmed by ports; null on the testbed").or_null(),
    Field::packets(
        "marks",
        "marks",
        "its data packets that arrived with a mark; of the kernel's TCP, those that its receiver reported",
    )
    .or_null(),
    Field::new("deadline_s", Time, "deadline", "deadline counted from `start_s`; null without one").or_null(),
    Field::new(
        "state",
        Text,
        "state",
        "`done`, `unfinished` (also: never started), `failed` (given up by the transport), `stopped` (by its `stop`)",
    ),
    Field::new(
        "host_s",
        Time,
        "host busy",
        "of `fct_s`: until the packet left that completed the flow, the link of its sender was taken by packets of others; and \
         what processors and interfaces of both hosts took. This and the five below add up to `fct_s`; they are null without \
         `causes` in `[sample]`, for a flow that is not done, and on the testbed",
    )
    .or_null(),
    Field::new(
        "wait_s",
        Time,
        "waiting",
        "of `fct_s`: until that packet left, the link of its sender was idle, and a packet of the flow went next that was no \
         repetition. Its window or its permissions were used up, or it was paced. Its own control packets count here as well",
    )
    .or_null(),
    Field::new(
        "serialise_s",
        Time,
        "sending",
        "of `fct_s`: until that packet left, the link of its sender was taken by its data, each byte for the first time; and what \
         the bits of that packet took on each link",
    )
    .or_null(),
    Field::new(
        "propagate_s",
        Time,
        "flight",
        "of `fct_s`: delays of the links that that packet crossed, and the time that switches took to forward it",
    )
    .or_null(),
    Field::new("queue_s", Time, "queues", "of `fct_s`: time that this packet waited in queues of switches").or_null(),
    Field::new(
        "retransmit_s",
        Time,
        "resending",
        "of `fct_s`: until that packet left, the link of its sender was taken by data that was sent again, or was idle before it",
    )
    .or_null(),
    Field::new(
        "held_by",
        Text,
        "link that held it",
        "the link for which that packet waited longest in a queue of a switch; null where it waited for none, and as above",
    )
    .or_null(),
    Field::new("held_s", Time, "longest queue", "time that it waited there; null as above").or_null(),
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
        "rate_min_bps",
        Rate,
        "lowest rate",
        "the lowest that a `[[fault]]` gave it during the run; as `rate_bps` without one",
    ),
    Field::new("rate_max_bps", Rate, "highest rate", "the highest, the same way"),
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
    Field::packets(
        "drops_buffer_full",
        "drops, buffer full",
        "dropped because the buffer had no room, or by lot because it had little (`random-drop`)",
    ),
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
        "data dropped because the link was down: packets that waited when it went down, and packets that came until it was up. Also data that a lossless switch had no room for because a fault kept the link that it came over from being stopped",
    ),
    Field::packets(
        "drops_control_link_down",
        "control drops, link down",
        "control dropped because the link was down, as with `drops_link_down`",
    ),
    Field::packets(
        "drops_headroom_full",
        "drops, headroom full",
        "data that a lossless switch had no room for, although it had stopped the link that it came over: its headroom is too \
         small",
    ),
    Field::packets(
        "returned",
        "returned",
        "sent back to where they came from for want of room; they are offered to another port then, and received there",
    ),
    Field::packets(
        "trims",
        "trims",
        "whose payload was cut off; the rest of each is offered on as a control packet, and not received again",
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
    Field::new("queue_mean_bytes", Bytes, "mean queue", "bytes that waited, averaged over time"),
    Field::pauses(
        "pauses_sent",
        "pauses sent",
        "times that this end of the link told the other to stop, one for each class; 0 without `[fabric.pfc]`, as below. Frames are part of \
         `busy_fraction`, and of no number of packets or bytes",
    ),
    Field::pauses("pauses_received", "pauses received", "times that the other end told this port to stop"),
    Field::pauses("resumes_received", "resumes received", "times that the other end told this port to go on"),
    Field::new("paused_s", Time, "paused", "time for which a class or several of this port were stopped"),
    Field::new(
        "headroom_max_bytes",
        Bytes,
        "largest headroom",
        "most bytes of one class in the headroom that the switch at the end of the link has for it",
    ),
    Field::new(
        "pool_max_bytes",
        Bytes,
        "largest pool",
        "most bytes in the pool that all links share of the switch that the link leaves",
    ),
];

/// Columns of `steps`.
pub const STEPS: &[Field] = &[
    Field::new("step", Text, "number", "position among the steps of the run, from 0"),
    Field::new("name", Text, "step", "the step's name, or `step` and its number"),
    Field::new("entry", Text, "entry", "number of the `[[traffic]]` entry, from 0"),
    Field::new(
        "host",
        Text,
        "host",
        "host of the step; null for a step without a host, as a barrier between hosts",
    )
    .or_null(),
    Field::new(
        "start_s",
        Time,
        "start",
        "time at which all that it waited for was over; null if that never was",
    )
    .or_null(),
    Field::new("finish_s", Time, "finish", "time at which it was over; null if it was not").or_null(),
];

/// Columns of `edges`.
pub const EDGES: &[Field] = &[
    Field::new(
        "cause",
        Text,
        "cause",
        "event that is waited for: `received`, the last byte of a flow is at its receiver; `known`, the sender of a flow knows that; \
         `step`, a step is over",
    ),
    Field::new("from", Text, "from", "number of that flow or step"),
    Field::new("node", Text, "node", "kind of the node that waits: `flow` or `step`"),
    Field::new("to", Text, "to", "number of the flow or step that waits"),
];

/// Columns of `series`.
pub const SERIES: &[Field] = &[
    Field::new("t_s", Time, "time", "end of the interval; the last one is cut short by the end of the run"),
    Field::new("entity", Text, "entity", "name of a flow or of a link"),
    Field::new(
        "metric",
        Text,
        "metric",
        "sampled quantity: one of the metrics below, or the name of a gauge or of a probe",
    ),
    Field {
        unit: "as the metric says",
        ..Field::new("value", Ratio, "value", "its value, in the metric's unit")
    },
];

/// Metrics of `series`, in addition to gauges of the rules of ports.
pub const METRICS: &[Field] = &[
    Field::new(
        "throughput_bps",
        Rate,
        "throughput",
        "of a flow: new application bytes delivered in the interval",
    ),
    Field::new("queue_bytes", Bytes, "queue", "of a link: bytes that wait at the end of the interval"),
    Field::new("queue_max_bytes", Bytes, "largest queue", "of a link: most that waited in the interval"),
    Field::new("utilisation", Share, "utilisation", "of a link: share of the interval spent transmitting"),
];
