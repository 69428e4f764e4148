//! Homa packet by packet, with Aeolus and without: inputs, expected outputs, and their times.
//!
//! RTTbytes is 4 packets, the base round trip 10 us and the largest 30 us, so that the time-out is 50 us. Four
//! priorities are unscheduled, by the cut-offs of Linux, and four scheduled: classes 1 to 4 and 5 to 8. Outputs
//! are written as words: `data 3 push @4` (class 4, without permission), `data 3 @8`, `data 3 again @1`,
//! `grant <9 @8` (nine packets in all), `resend 3+2 @1`, `busy`, `probe`, `ack 3`, `probe-ack`, `finished`.

use crate::script;

use headway_packet::{HostId, Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::{Checked, Path};
use headway_transport::homa::{Asking, Homa, HomaAeolus, HomaAeolusParams, HomaEndpoint, HomaParams};
use headway_transport::homa::{LossTimer, Preset, ScheduledBy, Settings, UnscheduledBy};
use headway_transport::{Endpoint, EndpointEvent, HostContext, InitialWindow, Message, Transport};
use headway_units::{Rate, Time};
use script::{FULL, HERE, Steps, us};

// Three base round trips of 10 us, and 20 us in which full buffers drain.
const TIMEOUT: Time = Time::us(50);

fn script_settings() -> Settings {
    Settings {
        rtt_bytes: 4 * FULL,
        unscheduled_by: UnscheduledBy::Length,
        boost_tail: false,
        ..Settings::default()
    }
}

fn host_context() -> HostContext {
    let path = |_| Path {
        longest_timeout: Time::MAX,
        base_rtt: us(10),
        max_rtt: us(30),
        bottleneck: Rate::gbps(10),
        paths: 0,
        hops: 1,
    };
    HostContext { host: HERE, nic: Rate::gbps(10), sizes: Sizes::default(), seed: 0, path: Box::new(path) }
}

/// A message of this host to `peer`.
fn message_to(peer: u32, id: u32, packets: u64) -> Message {
    Message {
        id,
        dst: HostId(peer),
        bytes: packets * FULL,
        class: 0,
        deadline: None,
        initial_window: InitialWindow::default(),
        responsive: true,
        entropy: 9,
        tag: peer * 100 + id,
    }
}

/// A packet of `peer` about its message or this host's.
fn from(kind: PacketKind, peer: u32, id: u32) -> Packet {
    let mut packet = Packet::new(kind, HostId(peer), HERE, id);
    packet.wire = Sizes::default().control;
    packet
}

/// Packet `index` of a message of `peer` of `packets` packets.
fn data_packet(peer: u32, id: u32, packets: u64, index: u32) -> Packet {
    let mut packet = from(PacketKind::Data, peer, id);
    packet.index = index;
    packet.count = packets.min(4) as u32;
    packet.message_bytes = packets * FULL;
    (packet.payload, packet.wire) = (FULL as u16, Sizes::default().full_wire());
    packet.flags = PacketFlags::only_if(index < packet.count, PacketFlags::UNSCHEDULED);
    packet
}

fn grant_packet(peer: u32, id: u32, number: u32, class: u32) -> Packet {
    Packet { token: number, remaining: class, flags: PacketFlags::PULL, ..from(PacketKind::Grant, peer, id) }
}

fn resend_packet(peer: u32, id: u32, index: u32, count: u32, class: u32) -> Packet {
    Packet { index, count, remaining: class, ..from(PacketKind::Resend, peer, id) }
}

fn ack_packet(peer: u32, id: u32, index: u32) -> Packet {
    Packet { index, ..from(PacketKind::Ack, peer, id) }
}

fn probe_ack(peer: u32, id: u32) -> Packet {
    Packet { index: 3, flags: PacketFlags::UNSCHEDULED, ..from(PacketKind::Ack, peer, id) }
}

/// A probe about a message of `peer`.
fn probe_packet(peer: u32, id: u32, packets: u64, flags: PacketFlags) -> Packet {
    let like = data_packet(peer, id, packets, 0);
    let (count, message_bytes) = (like.count, like.message_bytes);
    Packet { count, message_bytes, index: count - 1, flags, ..from(PacketKind::Probe, peer, id) }
}

/// One host and the words for its outputs.
struct Script {
    machine: Checked<HomaEndpoint>,
}

impl Script {
    fn with_homa(settings: Settings) -> Script {
        Script { machine: Checked::new(Homa::make_endpoint(&HomaParams(settings), host_context())) }
    }

    fn with_aeolus() -> Script {
        let params = HomaAeolusParams { homa: HomaParams(script_settings()), ..HomaAeolusParams::default() };
        Script { machine: Checked::new(HomaAeolus::make_endpoint(&params, host_context())) }
    }

    fn open_unsent(&mut self, now: Time, message: &Message) {
        self.machine.open_message(now, message);
        assert!(self.drain_events().is_empty());
    }

    /// Hands in packets one after another; returns all outputs but deliveries.
    fn receive_all(&mut self, now: Time, packets: impl IntoIterator<Item = Packet>) -> Vec<String> {
        packets
            .into_iter()
            .flat_map(|p| self.receive_and_send(now, p))
            .filter(|w| !w.starts_with("got"))
            .collect()
    }

    /// The next packets for a free wire, `most` of them.
    fn sends_at_most(&mut self, now: Time, most: usize) -> Vec<String> {
        std::iter::from_fn(|| self.poll_packet(now)).take(most).map(|packet| packet_word(&packet)).collect()
    }
}

impl Steps for Script {
    type Machine = HomaEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<HomaEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        packet_word(packet)
    }

    fn event_words(event: &EndpointEvent) -> Option<String> {
        Some(match event {
            EndpointEvent::Delivered { .. } => "got".into(),
            EndpointEvent::Completed { message, .. } => format!("complete {message}"),
            EndpointEvent::Acknowledged { tag } => format!("acknowledged {tag}"),
            EndpointEvent::Failed { tag, .. } => format!("failed {tag}"),
        })
    }
}

fn packet_word(p: &Packet) -> String {
    let to = if p.dst == HostId(1) { String::new() } else { format!("{}: ", p.dst.0) };
    let class = p.priority;
    to + &match p.kind {
        PacketKind::Data => {
            let push = if p.flags.has_all(PacketFlags::UNSCHEDULED) { " push" } else { "" };
            let again = if p.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
            format!("data {}{push}{again} @{class}", p.index)
        }
        PacketKind::Grant => {
            // Less where permissions come on top of the message's own: no packet beyond its end is named.
            assert!(p.flags.has_all(PacketFlags::PULL) && p.index + p.count <= p.token);
            format!("grant <{} @{}", p.token, p.remaining)
        }
        PacketKind::Resend => format!("resend {}+{} @{}", p.index, p.count, p.remaining),
        PacketKind::Ack if p.flags.has_all(PacketFlags::UNSCHEDULED) => "probe-ack".into(),
        PacketKind::Ack => format!("ack {}", p.index),
        PacketKind::Probe if class > 0 => format!("probe @{class}"),
        kind => kind.name().into(),
    }
}

#[test]
fn a_message_of_one_window_needs_no_grant() {
    let mut sender = Script::with_homa(script_settings());
    sender.open_unsent(us(0), &message_to(1, 0, 3));
    assert_eq!(sender.sends_at_most(us(0), 9), ["data 0 push @3", "data 1 push @3", "data 2 push @3"]);
    assert_eq!(sender.receive_and_send(us(9), from(PacketKind::Finished, 1, 0)), ["acknowledged 100"]);
    assert_eq!((sender.machine.live_messages(), sender.effects_until(us(9999)).len()), (0, 0));
    let mut receiver = Script::with_homa(script_settings());
    assert_eq!(receiver.receive_all(us(5), (0..2).map(|i| data_packet(1, 0, 3, i))), [""; 0]);
    assert_eq!(receiver.receive_and_send(us(6), data_packet(1, 0, 3, 2)), ["got", "complete 0", "finished"]);
    assert_eq!(
        receiver.receive_and_send(us(7), data_packet(1, 0, 3, 1)),
        ["finished"],
        "the last word may be lost"
    );
}

#[test]
fn the_first_window_may_be_another_than_what_is_granted() {
    let settings = Settings { unscheduled_bytes: 2 * FULL - 100, ..script_settings() };
    let mut sender = Script::with_homa(settings.clone());
    sender.open_unsent(us(0), &message_to(1, 0, 20));
    assert_eq!(sender.sends_at_most(us(0), 9).len(), 2, "whole packets");
    let mut receiver = Script::with_homa(settings);
    let first = Packet { count: 2, ..data_packet(1, 0, 20, 0) };
    let said = receiver.receive_and_send(us(5), first);
    assert!(said.contains(&"grant <5 @8".to_string()), "four beyond the one that is here: {said:?}");
}

#[test]
fn a_message_that_is_over_is_forgotten_at_either_end() {
    let end = |sends| headway_transport::End { sends, peer: HostId(1), message: 0, tag: 100 };
    let mut sender = Script::with_homa(script_settings());
    sender.open_unsent(us(0), &message_to(1, 0, 20));
    sender.open_unsent(us(0), &message_to(1, 1, 3));
    sender.machine.abandon_message(us(1), end(true));
    assert_eq!(
        sender.machine.poll_event(),
        Some(EndpointEvent::Failed { tag: 100, reason: "the peer is gone" })
    );
    assert_eq!(sender.machine.poll_event(), None);
    assert_eq!(sender.machine.live_messages(), 1, "the other goes on");
    let mut receiver = Script::with_homa(script_settings());
    receiver.receive_and_send(us(5), data_packet(1, 0, 20, 0));
    receiver.machine.abandon_message(us(6), end(false));
    assert_eq!((receiver.machine.poll_event(), receiver.machine.live_messages()), (None, 0));
    assert_eq!(
        receiver.receive_and_send(us(7), data_packet(1, 0, 20, 1)),
        ["finished"],
        "as if it were complete"
    );
    assert_eq!(receiver.machine.live_messages(), 0);
}

#[test]
fn unscheduled_priority_follows_the_length_or_what_is_left() {
    let mut by_rest =
        Script::with_homa(Settings { unscheduled_by: UnscheduledBy::Remaining, ..script_settings() });
    by_rest.open_unsent(us(0), &message_to(1, 0, 20));
    by_rest.open_unsent(us(0), &Message { bytes: 2 * FULL + 100, ..message_to(1, 1, 3) });
    let expected = ["data 0 push @3", "data 1 push @2", "data 2 push @1", "data 0 push @4", "data 1 push @4"];
    assert_eq!(by_rest.sends_at_most(us(0), 5), expected, "the shorter first");
}

#[test]
fn a_receiver_keeps_one_window_permitted_and_not_arrived() {
    let mut s = Script::with_homa(script_settings());
    assert_eq!(s.receive_and_send(us(0), data_packet(1, 0, 7, 0)), ["got", "grant <5 @8"]);
    assert_eq!(s.receive_and_send(us(1), data_packet(1, 0, 7, 0)), [""; 0], "a duplicate changes nothing");
    assert_eq!(s.receive_all(us(2), [1, 2].map(|i| data_packet(1, 0, 7, i))), ["grant <6 @8", "grant <7 @8"]);
    assert_eq!(s.receive_all(us(3), [3, 4].map(|i| data_packet(1, 0, 7, i))), [""; 0], "all is granted");
}

#[test]
fn grants_go_to_the_shortest_of_each_sender_up_to_the_degree_of_overcommitment() {
    let mut s = Script::with_homa(Settings { overcommit: 2, ..script_settings() });
    assert_eq!(s.receive_and_send(us(0), data_packet(1, 0, 40, 0)), ["got", "grant <5 @8"]);
    assert_eq!(
        s.receive_and_send(us(0), data_packet(2, 0, 20, 0)),
        ["got", "2: grant <5 @7"],
        "shorter: a higher class"
    );
    assert_eq!(
        s.receive_and_send(us(1), data_packet(3, 0, 30, 0)),
        ["got", "3: grant <5 @8"],
        "takes the place of the longest"
    );
    assert_eq!(s.receive_and_send(us(2), data_packet(1, 0, 40, 1)), ["got"], "which gets no grant any more");
    assert_eq!(
        s.receive_and_send(us(2), data_packet(2, 1, 10, 0)),
        ["got", "2: grant <5 @7"],
        "one message a sender"
    );
    assert_eq!(s.receive_and_send(us(3), data_packet(2, 0, 20, 1)), ["got"]);
    // Message 1 of host 2 is granted in full, and message 0 takes its place.
    let rest = s.receive_all(us(4), (1..7).map(|i| data_packet(2, 1, 10, i)));
    let last = ["2: grant <10 @7", "2: grant <6 @7"];
    assert_eq!(rest[rest.len() - 2..], last, "{rest:?}");
}

#[test]
fn by_length_a_long_message_has_a_low_class_at_every_receiver() {
    let by = |scheduled_by| Settings {
        overcommit: 4,
        scheduled_by,
        scheduled_cutoff_1: 10 * FULL,
        scheduled_cutoff_2: 30 * FULL,
        scheduled_cutoff_3: 60 * FULL,
        ..script_settings()
    };
    let mut s = Script::with_homa(by(ScheduledBy::MessageLength));
    // Alone, by rank each would be granted in class 8.
    assert_eq!(s.receive_and_send(us(0), data_packet(1, 0, 10, 0)), ["got", "grant <5 @5"]);
    assert_eq!(s.receive_and_send(us(0), data_packet(2, 0, 31, 0)), ["got", "2: grant <5 @7"]);
    assert_eq!(s.receive_and_send(us(1), data_packet(3, 0, 61, 0)), ["got", "3: grant <5 @8"]);
    assert_eq!(
        s.receive_and_send(us(1), data_packet(4, 0, 11, 0)),
        ["got", "4: grant <5 @6"],
        "and nobody is lifted or lowered by it"
    );
    assert_eq!(
        s.receive_and_send(us(2), data_packet(2, 0, 31, 1)),
        ["got", "2: grant <6 @7"],
        "however little is left"
    );
    let mut s = Script::with_homa(by(ScheduledBy::RemainingLength));
    assert_eq!(s.receive_and_send(us(0), data_packet(1, 0, 12, 0)), ["got", "grant <5 @6"], "11 are left");
    assert_eq!(s.receive_and_send(us(0), data_packet(1, 0, 12, 1)), ["got", "grant <6 @5"]);
}

#[test]
fn the_linux_window_is_shared_and_bounded() {
    let linux = HomaParams::for_preset(Preset::Linux).0;
    let mut s = Script::with_homa(Settings { rtt_bytes: 4 * FULL, max_incoming: 24 * FULL, ..linux });
    // One active message: half of 24, of which three are on their way.
    assert_eq!(s.receive_and_send(us(0), data_packet(1, 0, 99, 0)), ["got", "grant <13 @8"]);
    // Two: a third, and no more than 24 in all.
    assert_eq!(s.receive_and_send(us(0), data_packet(2, 0, 98, 0)), ["got", "2: grant <9 @7"]);
    assert_eq!(
        s.receive_and_send(us(0), data_packet(3, 0, 97, 0)),
        ["got", "3: grant <5 @6"],
        "8 + 12 + 3 are under way"
    );
}

#[test]
fn senders_serve_the_message_with_the_least_left() {
    let mut s = Script::with_homa(script_settings());
    s.open_unsent(us(0), &message_to(1, 0, 9));
    s.open_unsent(us(0), &message_to(2, 0, 8));
    let first = s.sends_at_most(us(0), 8);
    assert_eq!((first[3].as_str(), first[4].as_str()), ("2: data 3 push @3", "data 0 push @3"));
    assert_eq!(s.receive_and_send(us(1), grant_packet(1, 0, 4, 7)), [""; 0], "nothing new");
    for late in [grant_packet(1, 0, 6, 7), grant_packet(2, 0, 6, 6), grant_packet(2, 0, 5, 8)] {
        s.machine.receive_packet(us(2), &late);
        assert!(s.drain_events().is_empty());
    }
    let order = ["2: data 4 @6", "2: data 5 @6", "data 4 @7", "data 5 @7"];
    assert_eq!(s.sends_at_most(us(2), 9), order, "an old grant changes nothing");
}

#[test]
fn the_tail_of_a_message_is_boosted() {
    let mut s = Script::with_homa(Settings { boost_tail: true, ..script_settings() });
    s.open_unsent(us(0), &message_to(1, 0, 10));
    s.sends_at_most(us(0), 4);
    let sent = s.receive_and_send(us(1), grant_packet(1, 0, 10, 8));
    let expected = ["data 4 @8", "data 5 @8", "data 6 @3", "data 7 @3", "data 8 @3", "data 9 @2"];
    assert_eq!(sent, expected, "the last four packets, as unscheduled ones of that size");
}

#[test]
fn a_hole_is_asked_for_once_a_timeout_while_other_packets_arrive() {
    let mut s = Script::with_homa(script_settings());
    s.receive_all(us(0), [0, 1, 3].map(|i| data_packet(1, 0, 40, i)));
    // A packet every 10 us: the message is never silent.
    for (i, index) in (4u32..8).enumerate() {
        let now = us(10 * (i as u64 + 1));
        assert_eq!(s.effects_until(now - Time(1)), []);
        s.receive_and_send(now, data_packet(1, 0, 40, index));
    }
    let asked = s.effects_until(us(50));
    assert_eq!(asked, [(TIMEOUT, vec!["resend 2+1 @8".to_string()])]);
    assert_eq!(s.receive_all(us(60), [data_packet(1, 0, 40, 2)]), ["grant <12 @8"]);
}

#[test]
fn a_silent_message_is_asked_for_with_what_was_granted_and_the_timeout_doubles() {
    let mut s = Script::with_homa(Settings { loss_timer: LossTimer::Silence, ..script_settings() });
    s.receive_all(us(0), [0, 1, 3].map(|i| data_packet(1, 0, 40, i)));
    s.receive_and_send(us(30), data_packet(1, 0, 40, 4));
    let asked = s.effects_until(us(250));
    let words = vec!["resend 2+1 @8".to_string(), "resend 5+3 @8".to_string()];
    // Silence began at 30 us; the second wait is twice as long as the first.
    assert_eq!(asked, [(us(80), words.clone()), (us(180), words)]);
    assert_eq!(s.receive_and_send(us(260), from(PacketKind::Busy, 1, 0)), [""; 0]);
    assert_eq!(s.effects_until(us(459)), [], "the sender is alive: four time-outs more");
    assert_eq!(s.effects_until(us(460)).len(), 1);
}

#[test]
fn requests_are_paced_by_the_receivers_link() {
    let ask = |asking| {
        let mut s = Script::with_homa(Settings { asking, ..script_settings() });
        [1, 2, 3].into_iter().for_each(|peer| drop(s.receive_and_send(us(0), data_packet(peer, 0, 4, 0))));
        s.effects_until(us(60)).into_iter().flat_map(|(at, words)| vec![at; words.len()]).collect::<Vec<_>>()
    };
    let slot = Sizes::default().slot_time(Rate::gbps(10));
    // Each message misses three packets, whose frame times pass before the next one asks.
    assert_eq!(ask(Asking::Paced), [TIMEOUT, TIMEOUT + slot * 3, TIMEOUT + slot * 6]);
    assert_eq!(ask(Asking::AtOnce), [TIMEOUT; 3]);
}

#[test]
fn a_sender_repeats_what_has_left_and_says_busy_for_what_has_not() {
    let mut s = Script::with_homa(script_settings());
    s.open_unsent(us(0), &message_to(1, 0, 9));
    s.open_unsent(us(0), &message_to(2, 0, 3));
    assert_eq!(s.sends_at_most(us(0), 4)[3], "data 0 push @3");
    s.machine.receive_packet(us(1), &resend_packet(1, 0, 0, 4, 2));
    assert!(s.drain_events().is_empty());
    assert_eq!(s.sends_at_most(us(1), 1), ["busy"], "packet 0 left within a round trip");
    assert_eq!(s.sends_at_most(us(1), 9), ["data 1 push @3", "data 2 push @3", "data 3 push @3"]);
    let again = ["data 1 again @2", "data 2 again @2"];
    assert_eq!(s.receive_and_send(us(40), resend_packet(1, 0, 1, 2, 2)), again);
    assert_eq!(
        s.receive_and_send(us(41), resend_packet(1, 0, 4, 2, 1)),
        ["busy", "data 4 @8", "data 5 @8"],
        "a grant was lost"
    );
    assert_eq!(s.receive_and_send(us(42), resend_packet(7, 0, 0, 2, 2)), [""; 0], "of no message");
}

#[test]
fn a_sender_that_hears_nothing_probes_and_a_receiver_that_knows_nothing_asks_for_the_window() {
    let mut s = Script::with_homa(script_settings());
    s.open_unsent(us(0), &message_to(1, 0, 2));
    s.sends_at_most(us(0), 9);
    let probes: Vec<Time> = s
        .effects_until(us(400))
        .into_iter()
        .map(|(at, words)| {
            assert_eq!(words, ["probe"]);
            at
        })
        .collect();
    assert_eq!(probes, [us(50), us(150), us(350)]);
    let mut r = Script::with_homa(script_settings());
    assert_eq!(r.receive_and_send(us(50), probe_packet(1, 0, 9, PacketFlags::default())), ["resend 0+4 @3"]);
    assert_eq!(
        r.receive_and_send(us(51), probe_packet(1, 0, 9, PacketFlags::default())),
        [""; 0],
        "it knows now"
    );
    assert_eq!(r.effects_until(us(149)), []);
    assert_eq!(r.effects_until(us(150)), [(us(150), vec!["resend 0+4 @3".to_string()])]);
}

#[test]
fn the_oldest_message_gets_its_share() {
    let mut s = Script::with_homa(Settings { fifo_share: 0.5, ..script_settings() });
    s.open_unsent(us(0), &message_to(1, 0, 9));
    s.open_unsent(us(0), &message_to(2, 0, 8));
    let order = ["2: data 0 push @3", "data 0 push @3", "2: data 1 push @3", "data 1 push @3"];
    assert_eq!(s.sends_at_most(us(0), 4), order);
}

#[test]
fn aeolus_sends_a_probe_behind_the_window_and_recovers_losses_with_grants_first() {
    let mut s = Script::with_aeolus();
    s.open_unsent(us(0), &message_to(1, 0, 9));
    let burst = ["data 0 push @3", "data 1 push @3", "data 2 push @3", "data 3 push @3", "probe @3"];
    assert_eq!(s.sends_at_most(us(0), 9), burst);
    assert_eq!(
        s.receive_all(us(10), [ack_packet(1, 0, 0), ack_packet(1, 0, 2)]),
        [""; 0],
        "a hole is known, nothing is permitted"
    );
    assert_eq!(s.receive_and_send(us(11), grant_packet(1, 0, 6, 8)), ["data 1 again @8", "data 4 @8"]);
    assert_eq!(s.receive_and_send(us(12), probe_ack(1, 0)), [""; 0]);
    assert_eq!(s.receive_and_send(us(13), grant_packet(1, 0, 8, 8)), ["data 3 again @8", "data 5 @8"]);
    assert_eq!(
        s.receive_and_send(us(14), grant_packet(1, 0, 99, 8)),
        ["data 6 @8", "data 7 @8", "data 8 @8"]
    );
}

#[test]
fn aeolus_uses_spare_permissions_for_what_nothing_is_known_of() {
    let mut s = Script::with_aeolus();
    s.open_unsent(us(0), &message_to(1, 0, 5));
    s.sends_at_most(us(0), 9);
    assert_eq!(s.receive_and_send(us(9), ack_packet(1, 0, 0)), [""; 0]);
    assert_eq!(s.receive_and_send(us(10), grant_packet(1, 0, 6, 8)), ["data 4 @8", "data 1 again @8"]);
}

#[test]
fn an_aeolus_receiver_acknowledges_the_window_and_grants_once_more_for_what_the_probe_finds_missing() {
    let mut s = Script::with_aeolus();
    assert_eq!(s.receive_and_send(us(0), data_packet(1, 0, 5, 0)), ["got", "ack 0", "grant <5 @8"]);
    assert_eq!(s.receive_all(us(1), [data_packet(1, 0, 5, 3)]), ["ack 3"]);
    assert_eq!(
        s.receive_and_send(us(2), probe_packet(1, 0, 5, PacketFlags::UNSCHEDULED)),
        ["probe-ack", "grant <7 @8"]
    );
    assert_eq!(
        s.receive_and_send(us(3), probe_packet(1, 0, 5, PacketFlags::UNSCHEDULED)),
        ["probe-ack"],
        "not a second time"
    );
    let scheduled = |index| Packet { flags: PacketFlags::AGAIN, ..data_packet(1, 0, 5, index) };
    assert_eq!(
        s.receive_all(us(4), [scheduled(1), scheduled(1)]),
        ["grant <8 @8"],
        "one permission was used for nothing"
    );
    assert_eq!(s.receive_all(us(5), [scheduled(2), data_packet(1, 0, 5, 4)]), ["complete 0", "finished"]);
}

#[test]
fn an_aeolus_message_of_which_only_the_probe_arrives_is_granted_its_window() {
    let mut s = Script::with_aeolus();
    assert_eq!(
        s.receive_and_send(us(0), probe_packet(1, 0, 2, PacketFlags::UNSCHEDULED)),
        ["probe-ack", "grant <4 @8"]
    );
    let mut silent = Script::with_aeolus();
    silent.open_unsent(us(0), &message_to(1, 0, 2));
    silent.sends_at_most(us(0), 9);
    assert_eq!(
        silent.effects_until(us(60)),
        [(us(50), vec!["probe @3".to_string()])],
        "and the probe is repeated"
    );
}
