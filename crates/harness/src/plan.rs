//! Plan of a run, made by proptest so that a failing one shrinks.

use headway_packet::{PacketKind, Sizes};
use headway_params::{ParamKind, ParamSpec, ParamValue, Params};
use headway_transport::endpoint::Path;
use headway_transport::{InitialWindow, Message};
use headway_units::{Rate, Time};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Chances in percent, one for each packet kind.
pub type PerKind = [u8; PacketKind::ALL.len()];

/// A span in which one host, or every host, neither sends nor hears.
#[derive(Clone, Copy, Debug)]
pub struct Blackout {
    /// Beginning, in slots.
    pub start: u32,
    /// Length, in slots.
    pub slots: u32,
    /// The host; `None` = all.
    pub host: Option<u8>,
}

/// A message to open.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// Opening time, in slots.
    pub at: u32,
    /// Sending host; taken modulo the number of hosts.
    pub src: u8,
    /// Receiving host, counted from the sender.
    pub hop: u8,
    /// Payload in bytes.
    pub bytes: u64,
    /// Pace of the first window.
    pub initial_window: InitialWindow,
}

/// A run: hosts, links, faults, messages.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Hosts, at least two.
    pub hosts: u8,
    /// One-way delay in slots: the packets that the path holds.
    pub delay: u32,
    /// Size of the buffers on the path as machines learn it, in slots beyond the base round trip.
    pub buffer: u32,
    /// Losses of packets, by kind.
    pub loss: PerKind,
    /// Loss of exactly these: the kind, and which packet of that kind, from 0 over all hosts.
    pub lose: Vec<(PacketKind, u32)>,
    /// Repetition by the network.
    pub duplicate: PerKind,
    /// Lateness, which reorders.
    pub late: PerKind,
    /// Longest extra delay, in slots.
    pub lateness: u32,
    /// Chance that a mark is changed on the way: anti-ECN cleared, or congestion experienced set, or a rate
    /// lowered.
    pub marks: u8,
    /// Chance that a data packet is trimmed, where the transport is meant for switches that do.
    pub trims: u8,
    /// Chance that its header goes back to its sender.
    pub returns: u8,
    /// Chance that a machine is woken for no reason after an input.
    pub early_timeouts: u8,
    /// Spans of silence.
    pub blackouts: Vec<Blackout>,
    /// Messages to open.
    pub messages: Vec<Open>,
    /// One choice for each parameter that the transport declares; 0 = its default.
    pub parameters: Vec<u8>,
    /// Seed of the network's generator.
    pub seed: u64,
}

/// Link rate of every host.
pub const NIC: Rate = Rate::gbps(10);

impl Plan {
    /// `messages` over a path of `delay` slots without any fault.
    pub fn without_faults(delay: u32, messages: Vec<Open>) -> Plan {
        Plan {
            hosts: 2,
            delay,
            buffer: 16,
            loss: [0; PacketKind::ALL.len()],
            lose: Vec::new(),
            duplicate: [0; PacketKind::ALL.len()],
            late: [0; PacketKind::ALL.len()],
            lateness: 0,
            marks: 0,
            trims: 0,
            returns: 0,
            early_timeouts: 0,
            blackouts: Vec::new(),
            messages,
            parameters: Vec::new(),
            seed: 0,
        }
    }

    /// Serialisation time of a full packet.
    pub fn slot_time(&self) -> Time {
        Sizes::default().slot_time(NIC)
    }

    /// Path between any two hosts: the same for all.
    pub fn common_path(&self) -> Path {
        let sizes = Sizes::default();
        // A full packet goes there, a control packet comes back.
        let wire = self.slot_time() + NIC.time_of(u64::from(sizes.control));
        let base_rtt = self.delay_time() * 2 + wire;
        Path {
            longest_timeout: Time::MAX,
            base_rtt,
            max_rtt: base_rtt + self.slot_time() * u64::from(self.buffer),
            bottleneck: NIC,
            paths: 0,
            // Links join the hosts directly.
            hops: 0,
        }
    }

    /// One-way delay as a time.
    pub fn delay_time(&self) -> Time {
        self.slot_time() * u64::from(self.delay)
    }

    /// The messages with their hosts and opening times, numbered for each pair of hosts in order of time.
    pub fn numbered_messages(&self) -> Vec<(Time, u8, Message)> {
        let mut opens = self.messages.clone();
        // A stable sort: messages of one instant are numbered in the order of the plan.
        opens.sort_by_key(|o| o.at);
        let mut numbers = BTreeMap::new();
        let numbered = opens.iter().enumerate().map(|(i, o)| {
            let src = o.src % self.hosts;
            // Never the sender itself.
            let dst = (src + 1 + o.hop % (self.hosts - 1)) % self.hosts;
            let next = numbers.entry((src, dst)).or_insert(0);
            let id = *next;
            *next += 1;
            let message = Message {
                id,
                dst: headway_packet::HostId(u32::from(dst)),
                bytes: o.bytes,
                class: 0,
                deadline: None,
                initial_window: o.initial_window,
                responsive: true,
                entropy: i as u32,
                tag: 1000 + i as u32,
            };
            (self.slot_time() * u64::from(o.at), src, message)
        });
        numbered.collect()
    }

    /// Packets of all messages.
    pub fn total_packets(&self) -> u64 {
        self.messages.iter().map(|o| Sizes::default().packets_of(o.bytes)).sum()
    }
}

/// Parameters with value `choices[i]` for the i-th: 0 its default, else another legal value.
pub fn chosen_parameters<P: Params>(choices: &[u8]) -> P {
    let mut params = P::default();
    for (name, value) in chosen_values(&P::specs(), choices) {
        params.set(name, value).expect("a value in the declared range");
    }
    params
}

/// Values that `choices` set for some parameters.
pub fn chosen_values(specs: &[ParamSpec], choices: &[u8]) -> Vec<(&'static str, ParamValue)> {
    // Parameters behind the last choice keep their defaults: transports declare different numbers of them.
    let changed = specs.iter().zip(choices).filter(|(_, choice)| **choice > 0);
    changed.map(|(spec, &choice)| (spec.name, other_value(spec, choice))).collect()
}

fn other_value(spec: &ParamSpec, choice: u8) -> ParamValue {
    let factor = |choice: u8| [0.5, 2.0, 5.0][usize::from(choice) % 3];
    match (&spec.kind, &spec.default) {
        (ParamKind::Bool, _) => ParamValue::Bool(choice % 2 == 1),
        (ParamKind::Choice(words), _) => ParamValue::Choice(words[usize::from(choice) % words.len()].into()),
        (ParamKind::Int { min, max } | ParamKind::Bytes { min, max } | ParamKind::Length { min, max }, _) => {
            ParamValue::Int((min + u64::from(choice)).min(*max))
        }
        (ParamKind::Float { min, max }, ParamValue::Float(v)) => {
            // Zero stands for a default that depends on the path: any number is another value.
            let scale = if *v == 0.0 { 1.0 } else { *v };
            ParamValue::Float((scale * factor(choice)).clamp(*min, *max))
        }
        (ParamKind::Time { min, max }, ParamValue::Time(v)) => {
            ParamValue::Time(Time((v.0 as f64 * factor(choice)) as u64).clamp(*min, *max))
        }
        (_, default) => default.clone(),
    }
}

fn per_kind(most: u8) -> impl Strategy<Value = PerKind> {
    let one = (0..PacketKind::ALL.len(), 1..=most).prop_map(|(kind, chance)| {
        let mut chances = [0; PacketKind::ALL.len()];
        chances[kind] = chance;
        chances
    });
    prop_oneof![
        2 => Just([0; PacketKind::ALL.len()]),
        2 => (0..=most).prop_map(|chance| [chance; PacketKind::ALL.len()]),
        // Some faults show only while all other kinds get through.
        1 => one,
        1 => proptest::array::uniform(0..=most),
    ]
}

fn any_bytes() -> impl Strategy<Value = u64> {
    let full = u64::from(Sizes::default().payload);
    prop_oneof![
        1 => Just(0),
        1 => Just(1),
        // Whole packets, and a byte more or less, where the last packet is shortest or all but full.
        2 => (1u64..64).prop_map(move |n| n * full),
        1 => (1u64..64).prop_map(move |n| n * full + 1),
        1 => (1u64..64).prop_map(move |n| n * full - 1),
        3 => 1..full * 40,
        1 => 1..full * 300,
    ]
}

fn initial_window() -> impl Strategy<Value = InitialWindow> {
    let share = prop_oneof![(1u32..5, Just(0u16)), (2u32..5, 0u16..1000)];
    let shared = (share, 1u32..4, 0u32..4, proptest::option::of(1u32..40), any::<bool>());
    prop_oneof![
        3 => Just(InitialWindow::default()),
        1 => shared.prop_map(|((share, fewer), clump, slot, window, connected)| InitialWindow {
            share,
            fewer,
            burst: clump,
            phase: slot,
            window,
            connected
        }),
    ]
}

fn any_open() -> impl Strategy<Value = Open> {
    (0u32..400, any::<u8>(), any::<u8>(), any_bytes(), initial_window())
        .prop_map(|(at, src, hop, bytes, initial_window)| Open { at, src, hop, bytes, initial_window })
}

fn any_blackouts() -> impl Strategy<Value = Vec<Blackout>> {
    let one = (0u32..300, 1u32..200, proptest::option::of(0u8..4))
        .prop_map(|(start, slots, host)| Blackout { start, slots, host });
    prop_oneof![2 => Just(Vec::new()), 1 => vec(one, 1..3)]
}

fn parameter_choices() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![1 => Just(Vec::new()), 1 => vec(prop_oneof![2 => Just(0u8), 1 => 1u8..20], 0..12)]
}

/// Any plan: up to 30 % loss of any kind, repetition, lateness, blackouts, other parameters.
pub fn any_plan() -> impl Strategy<Value = Plan> {
    let shape = (2u8..5, 0u32..30, 0u32..60, vec(any_open(), 1..8), any::<u64>());
    let faults = (per_kind(30), per_kind(20), per_kind(40), 0u32..150);
    let cuts = prop_oneof![2 => Just((0u8, 0u8)), 1 => (0u8..60, 0u8..60), 1 => (0u8..90, Just(0u8))];
    // Drawn evenly, none and all would be rare.
    let rest = (prop_oneof![Just(0u8), Just(100), 0..=100u8], prop_oneof![Just(0u8), 1..=100u8], cuts);
    (shape, faults, rest, any_blackouts(), parameter_choices()).prop_map(
        |(shape, faults, (marks, early_timeouts, (trims, returns)), blackouts, parameters)| {
            let (hosts, delay, buffer, messages, seed) = shape;
            let (loss, duplicate, late, lateness) = faults;
            Plan {
                hosts,
                delay,
                buffer,
                loss,
                lose: Vec::new(),
                duplicate,
                late,
                lateness,
                marks,
                trims,
                returns,
                early_timeouts,
                blackouts,
                messages,
                parameters,
                seed,
            }
        },
    )
}

/// One message over a network without faults.
pub fn perfect_plan() -> impl Strategy<Value = Plan> {
    (0u32..40, any_bytes()).prop_map(|(delay, bytes)| {
        Plan::without_faults(
            delay,
            vec![Open { at: 0, src: 0, hop: 0, bytes, initial_window: InitialWindow::default() }],
        )
    })
}
