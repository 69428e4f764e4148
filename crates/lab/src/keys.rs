//! The keys of the tables `[hosts]`, `[start]`, `[sample]` and `[[fault]]`, as listings, Python and the documentation have them.
//! Those of `[fabric]` are in [`crate::fabric`].

use crate::text::key::{Key, Takes, key};

/// A table of a scenario that has one form.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name, and that of the function that makes it in Python.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Its forms, each with its keys: one, or as many as the page has headings for it.
    pub forms: &'static [(&'static str, &'static [Key])],
}

/// The tables, in the order of a scenario.
pub const TABLES: &[Table] = &[
    Table {
        name: "fabric",
        summary: "ports of switches and hosts, routes, and sizes of packets",
        forms: &[("fabric", crate::fabric::KEYS)],
    },
    Table {
        name: "hosts",
        summary: "times that processors and interfaces of hosts take",
        forms: &[("hosts", HOSTS)],
    },
    Table { name: "start", summary: "start of flows", forms: &[("start", START)] },
    Table { name: "sample", summary: "samples during the run", forms: &[("sample", SAMPLE)] },
    Table {
        name: "fault",
        summary: "links or switches that go down (`down_at`), links that change (`at`), or packets that are lost, doubled or late",
        forms: &[
            ("faults that take links down", DOWN),
            ("faults that change links", CHANGE),
            ("faults of packets", PACKETS),
        ],
    },
];

const HOSTS: &[Key] = &[
    key(
        "jitter",
        Takes::Duration,
        "`\"0 s\"`",
        "timing noise: each packet reaches the first switch later by a random time below this value, but never before an \
         earlier packet of its host",
    ),
    key(
        "packet_cost",
        Takes::Duration,
        "`\"0 s\"`",
        "processor time for each packet sent and for each packet received; with `burst`, for each burst",
    ),
    key(
        "message_cost",
        Takes::Duration,
        "`\"0 s\"`",
        "processor time for each message started, and for each message delivered",
    ),
    key(
        "coalesce",
        Takes::Duration,
        "`\"0 s\"`",
        "time for which the first packet that a host receives waits at the interface for further packets, which are then handed up \
         together",
    ),
    key(
        "coalesce_packets",
        Takes::Whole,
        "0",
        "the maximum number of packets that wait; as soon as this many wait, they are handed up at once; 0 means any number",
    ),
    key(
        "burst",
        Takes::Bytes,
        "0",
        "bytes on the wire, up to 1 MB, of consecutive data packets of one message that are handed to the interface together \
         (TSO, GSO); received packets that were handed up together are also handled as one, up to this size (GRO)",
    ),
    key(
        "queue",
        Takes::Word(&["none", "fifo"]),
        "`none`",
        "`fifo`: a first-in first-out queue stands between a host's transport and its link. The transport hands over packets as \
         soon as it may send them, and not one by one when the link is free",
    ),
    key(
        "buffer",
        Takes::Room,
        "`\"1000 packets\"`",
        "room of this queue for data packets, and as much again for control packets; packets that find no room are dropped",
    ),
];

const START: &[Key] = &[
    key(
        "mode",
        Takes::Word(&["as-written", "line-rate"]),
        "`as-written`",
        "`line-rate` ignores every `share`",
    ),
    key("clump", Takes::Count, "1", "default of `clump`"),
];

const SAMPLE: &[Key] = &[
    key(
        "every",
        Takes::Duration,
        "",
        "the time between two samples; needed where flows or links are sampled",
    ),
    key("flows", Takes::WordOrNames(&["all", "none"]), "`none`", "the flows whose throughput is sampled"),
    key(
        "links",
        Takes::WordOrNames(&["all", "none", "bottlenecks"]),
        "`none`",
        "the links whose queue and utilisation are sampled; `all`: the links that leave a switch; `bottlenecks`: those of \
         `bottleneck`, or the middle links of a dumbbell or parking lot",
    ),
    key(
        "probes",
        Takes::BoolOrNames,
        "`false`",
        "probes of the transports for each sampled flow that is under way: true for all that they declare, or probes by name",
    ),
    key(
        "causes",
        Takes::Bool,
        "`false`",
        "true to divide the completion time of every flow among its causes",
    ),
    key(
        "volumes",
        Takes::Bool,
        "`false`",
        "true to count the bytes of links separately for each `[[traffic]]` entry",
    ),
];

const DOWN: &[Key] = &[
    key("links", Takes::WordOrNames(&["all"]), "", "the links that go down"),
    key("switches", Takes::Names, "", "the switches that go down: all their links, in both directions"),
    key("down_at", Takes::Time, "", "the time at which they go down"),
    key("up_at", Takes::Time, "never", "the time at which they come up again"),
    key(
        "converge",
        Takes::DurationOrNever,
        "`\"0 s\"`",
        "routes avoid the links from `down_at + converge` on, and use them again from `up_at + converge` on",
    ),
];

const CHANGE: &[Key] = &[
    key("links", Takes::WordOrNames(&["all"]), "", "the links that change"),
    key("at", Takes::Time, "", "the time of the change"),
    key("rate", Takes::Rate, "unchanged", "the new rate"),
    key("delay", Takes::Duration, "unchanged", "the new one-way delay"),
    key(
        "until",
        Takes::Time,
        "none",
        "the time at which the former value is restored; without this key, the new value stays until the next entry for the link",
    ),
];

const PACKETS: &[Key] = &[
    key(
        "links",
        Takes::WordOrNames(&["all"]),
        "`all`",
        "the affected links; `all` includes the links of hosts",
    ),
    key(
        "kind",
        Takes::Word(&["data", "grant", "rts", "token", "ack", "finished", "header", "nack", "pull"]),
        "every kind",
        "the affected kind of packets; `header` is trimmed data",
    ),
    key(
        "drop",
        Takes::Wholes,
        "",
        "the numbers of the packets of that kind that are lost, counted from 1 on each link separately",
    ),
    key(
        "dark_from",
        Takes::Time,
        "",
        "every packet is lost whose last bit leaves at this time or later; on real packets, the time counts from the start of the \
         flows",
    ),
    key("dark_until", Takes::Time, "never", "the end of the loss that `dark_from` starts"),
    key("loss", Takes::Share, "0", "probability that a packet is lost"),
    key("duplicate", Takes::Share, "0", "probability that a packet arrives twice"),
    key("reorder", Takes::Share, "0", "probability that a packet arrives late by `reorder_by`"),
    key("reorder_by", Takes::Duration, "", "the delay of packets that `reorder` selects"),
];
