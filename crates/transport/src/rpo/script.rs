//! RPO packet by packet: inputs, expected outputs, and their times.
//!
//! The path holds 10 packets, windows are 4. A receiver grants packets again that have not come in 3 round trips, and
//! asks after as much silence; a sender repeats packet 0 after as long, and an opportunistic packet is due as a normal
//! one after 1.5. Outputs are written as words: `normal 3 push`, `normal 5`, `low 9`, `low 9 again`, `normal 5 ce`,
//! `grant 3 x2 <4 >8` (for packet 3, two packets, all below 4 and from 8 on have arrived), `grant 3 x1 ece`,
//! `again 5` (packet 5 is missing).

use crate::script;

use headway_packet::{Ecn, Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::Checked;
use headway_transport::rpo::{Detection, LossTimer, OpportunisticMark, Reissue, Rpo, RpoEndpoint, RpoParams};
use headway_transport::{Endpoint, EndpointEvent, Message, Transport};
use headway_units::Time;
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

// A full frame at 10 Gb/s.
const SLOT: Time = Time::ns(1230).saturating_add(Time::ps(400));
// Ten of these.
const RTT: Time = Time::ps(12_304_000);

/// One host's RPO and the words for its outputs.
struct Script {
    machine: Checked<RpoEndpoint>,
    /// Data packets that have left, for grants to answer.
    left: Vec<Packet>,
}

/// A host whose link marks nothing, unless a test is about that; both ends find losses, and requests are paced.
fn both_params() -> RpoParams {
    RpoParams {
        detection: Detection::Both,
        reissue: Reissue::Paced,
        backoff: 5,
        meeting_patience: 1.5,
        ..paper_params()
    }
}

/// Parameters by the rules of the paper: a receiver's time-out alone finds losses, and everything overdue is granted
/// again.
fn paper_params() -> RpoParams {
    RpoParams { window: 4, nic_marks: false, ..RpoParams::default() }
}

/// Losses found by senders alone: a receiver asks after a silence, and for nothing else.
fn sender_params() -> RpoParams {
    RpoParams { detection: Detection::Acknowledgements, loss_timer: LossTimer::BaseRtt, ..both_params() }
}

/// Packet `index` of message 0 of `PEER`, `packets` long, as it arrives here: normal, without a mark.
fn data_packet(packets: u64, index: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, PEER, HERE, 0);
    packet.index = index;
    // The first window of `params`.
    packet.count = packets.min(4) as u32;
    packet.message_bytes = packets * FULL;
    packet.payload = FULL as u16;
    packet.wire = Sizes::default().full_wire();
    packet.tag = 77;
    packet.priority = 1;
    packet.ecn = Ecn::Ect;
    packet
}

fn with_mark(packet: Packet) -> Packet {
    Packet { ecn: Ecn::Ce, ..packet }
}

fn low_priority(packet: Packet) -> Packet {
    Packet { priority: 2, ..packet }
}

/// A request for packet `index` of this host's message 0, of which all below `below` have arrived.
fn request_packet(index: u32, below: u32) -> Packet {
    let mut grant = Packet::new(PacketKind::Grant, PEER, HERE, 0);
    (grant.index, grant.count, grant.flags) = (index, 1, PacketFlags::AGAIN);
    (grant.remaining, grant.message_bytes) = (below, 1000);
    grant
}

impl Script {
    fn new(params: RpoParams) -> Script {
        let context = host_context(RTT, us(40), 0);
        Script { machine: Checked::new(Rpo::make_endpoint(&params, context)), left: Vec::new() }
    }

    /// The receiver's grant for the last packet with this index that left here, and its effects.
    fn receive_grant(&mut self, now: Time, index: u32, ece: bool) -> Vec<String> {
        let grant = self.grant_for(index, ece);
        self.receive_and_send(now, grant)
    }

    fn grant_for(&self, index: u32, ece: bool) -> Packet {
        let sent = self.left.iter().rfind(|p| p.index == index).expect("it left");
        let mut grant = Packet::new(PacketKind::Grant, PEER, HERE, 0);
        (grant.index, grant.token) = (index, sent.token);
        grant.count = if ece { 1 } else { 2 };
        grant.flags = PacketFlags::only_if(ece, PacketFlags::ECE);
        // Beyond every message here: nothing has arrived from its end.
        grant.message_bytes = 1000;
        grant
    }

    /// Effects of its deadlines up to `until`, one word after the other.
    fn later_effects(&mut self, until: Time) -> Vec<(Time, String)> {
        let effects = self.effects_until(until);
        effects.into_iter().flat_map(|(at, out)| out.into_iter().map(move |word| (at, word))).collect()
    }

    fn gauge_value(&self, name: &str, now: Time) -> (u64, u64) {
        let gauges = self.machine.collect_gauges(now);
        let gauge = gauges.iter().find(|g| g.name == name).expect("a gauge of that name");
        (gauge.value, gauge.max)
    }
}

impl Steps for Script {
    type Machine = RpoEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<RpoEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        packet_words(packet)
    }

    fn event_words(event: &EndpointEvent) -> Option<String> {
        match event {
            EndpointEvent::Delivered { .. } => None,
            EndpointEvent::Completed { .. } => Some("completed".into()),
            EndpointEvent::Acknowledged { .. } => Some("acknowledged".into()),
            EndpointEvent::Failed { reason, .. } => Some(format!("failed: {reason}")),
        }
    }

    fn poll_packets(&mut self, now: Time) -> Vec<Packet> {
        let packets: Vec<Packet> = std::iter::from_fn(|| self.poll_packet(now)).collect();
        self.left.extend(packets.iter().filter(|p| p.is_data()));
        packets
    }
}

fn packet_words(p: &Packet) -> String {
    let flag = |flag, word: &'static str| if p.flags.has_all(flag) { word } else { "" };
    let again = flag(PacketFlags::AGAIN, " again");
    match p.kind {
        PacketKind::Data => {
            let queue = if p.priority == 1 { "normal" } else { "low" };
            let ce = if p.ecn == Ecn::Ce { " ce" } else { "" };
            format!("{queue} {}{}{again}{ce}", p.index, flag(PacketFlags::UNSCHEDULED, " push"))
        }
        PacketKind::Grant if p.flags.has_all(PacketFlags::AGAIN) => format!("again {}", p.index),
        PacketKind::Grant => {
            let ece = flag(PacketFlags::ECE, " ece");
            format!("grant {} x{}{ece} <{} >{}", p.index, p.count, p.remaining, p.message_bytes)
        }
        kind => kind.name().to_string(),
    }
}

fn pushed_words(packets: std::ops::Range<u32>) -> Vec<String> {
    packets.map(|i| format!("normal {i} push")).collect()
}

#[test]
fn a_grant_releases_a_packet_from_either_end_until_it_is_marked() {
    let mut s = Script::new(both_params());
    assert_eq!(s.open_message(us(1), message_of(40)), pushed_words(0..4));
    assert_eq!(s.receive_grant(us(13), 0, false), ["normal 4", "low 39"]);
    assert_eq!(s.receive_grant(us(14), 1, false), ["normal 5", "low 38"]);
    assert_eq!(s.receive_grant(us(15), 2, true), ["normal 6"], "a marked grant stops opportunistic packets");
    assert_eq!(s.receive_grant(us(16), 3, false), ["normal 7", "low 37"], "an unmarked one lets them go on");
    assert_eq!(
        s.receive_grant(us(25), 39, false),
        ["normal 8", "low 36"],
        "opportunistic arrivals count alike"
    );
    let fields = |p: &Packet| (p.priority, p.ecn, p.count, p.message_bytes, p.token & 1);
    assert_eq!(fields(&s.left[4]), (1, Ecn::Ect, 4, 40 * FULL, 0));
    assert_eq!(fields(&s.left[5]), (2, Ecn::Ect, 4, 40 * FULL, 1));
    assert_eq!(s.gauge_value("data_packets", us(25)).0, 13);
    assert_eq!(s.gauge_value("opportunistic_packets", us(25)).0, 4);
}

/// The paper's Fig. 5: packet 5 and packet 40 of 40 fly (counted from 1), each grant doubles what follows,
/// and marked ones leave only normal packets.
#[test]
fn the_papers_example_of_forty_packets_comes_out_packet_by_packet() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(40));
    // The whole window has arrived; three of its grants are not of interest here.
    let mut round = |now, arrivals: &[u32], ece| {
        let mut out = Vec::new();
        for &index in arrivals {
            let grant = Packet { remaining: 4, ..s.grant_for(index, ece) };
            out.extend(s.receive_and_send(now, grant));
        }
        out.sort();
        out
    };
    let rounds = [
        round(us(13), &[0], false),
        round(us(26), &[4, 39], false),
        round(us(39), &[5, 38, 6, 37], false),
        round(us(52), &[7, 8, 9, 10], true),
    ];
    let sent = |normal: &[u32], low: &[u32]| {
        let mut all: Vec<String> = normal.iter().map(|i| format!("normal {i}")).collect();
        all.extend(low.iter().map(|i| format!("low {i}")));
        all.sort();
        all
    };
    assert_eq!(rounds[0], sent(&[4], &[39]));
    assert_eq!(rounds[1], sent(&[5, 6], &[38, 37]));
    assert_eq!(rounds[2], sent(&[7, 8, 9, 10], &[36, 35, 34, 33]));
    assert_eq!(rounds[3], sent(&[11, 12, 13, 14], &[]));
}

#[test]
fn normal_packets_go_first_at_the_host_too() {
    let mut s = Script::new(both_params());
    s.machine.open_message(us(1), &message_of(40));
    assert!(s.drain_events().is_empty());
    s.sent_words(us(1));
    for index in [0, 1] {
        let grant = s.grant_for(index, false);
        s.machine.receive_packet(us(13), &grant);
        assert!(s.drain_events().is_empty());
    }
    assert_eq!(s.sent_words(us(13)), ["normal 4", "normal 5", "low 39", "low 38"]);
}

#[test]
fn the_hosts_own_link_marks_by_its_opportunistic_queue() {
    let mut s = Script::new(RpoParams { window: 4, ..RpoParams::default() });
    s.open_message(us(1), message_of(100));
    // In the first round trip nothing is known of normal packets: k is 10, the packets that the link carries in one.
    for index in 0..4 {
        let grant = s.grant_for(index, false);
        s.machine.receive_packet(us(10), &grant);
        assert!(s.drain_events().is_empty());
    }
    let sent = s.sent_words(us(10));
    assert_eq!(sent.iter().filter(|w| w.contains("ce")).count(), 0, "four wait, k is ten: {sent:?}");
    // Nine packets took the link for a round trip, so that k is 1: enough waits for a mark, then not.
    let mut now = us(13) + RTT;
    let mut grants = Vec::new();
    for index in [4, 99, 5, 98, 6, 97, 7, 96] {
        grants.push(s.grant_for(index, false));
    }
    for grant in &grants {
        s.machine.receive_packet(now, grant);
        assert!(s.drain_events().is_empty());
    }
    let first: Vec<String> = (0..16)
        .filter_map(|_| {
            let packet = s.machine.poll_transmit(now)?;
            now += SLOT;
            Some(packet_words(&packet))
        })
        .collect();
    assert_eq!(first.iter().filter(|w| w.starts_with("normal")).count(), 8);
    let later = first.iter().position(|w| w.contains("ce"));
    assert!(later.is_some(), "eight wait behind a link that normal packets take: {first:?}");
}

#[test]
fn after_the_meeting_only_what_waits_too_long_goes_again() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(10));
    assert_eq!(s.receive_grant(us(13), 0, false), ["normal 4", "low 9"]);
    assert_eq!(s.receive_grant(us(13), 1, false), ["normal 5", "low 8"]);
    assert_eq!(s.receive_grant(us(13), 2, false), ["normal 6", "low 7"]);
    assert!(s.receive_grant(us(14), 3, false).is_empty(), "the ends have met, and all are on their way");
    assert!(s.receive_grant(us(26), 9, false).is_empty());
    // 7 and 8 left at 13 us; they are due after one and a half round trips, the smaller first.
    let due = us(13) + Time(RTT.0 * 3 / 2);
    assert_eq!(
        s.effects_until(due),
        [(due, vec!["normal 7 again".to_string(), "normal 8 again".to_string()])]
    );
    assert!(s.effects_until(us(40)).is_empty(), "once");
}

#[test]
fn the_letter_of_the_meeting_rule_repeats_what_is_on_its_way() {
    let mut s = Script::new(RpoParams { meeting_patience: 0.0, ..both_params() });
    s.open_message(us(1), message_of(10));
    for index in 0..3 {
        s.receive_grant(us(13), index, false);
    }
    assert_eq!(s.receive_grant(us(14), 3, true), ["normal 7 again"]);
    assert_eq!(s.receive_grant(us(15), 4, true), ["normal 8 again"]);
    assert!(s.receive_grant(us(16), 9, true).is_empty(), "9 has arrived");
}

#[test]
fn an_opportunistic_packet_that_has_not_left_changes_queues_at_the_meeting() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(8));
    for index in [0, 1, 2] {
        let grant = s.grant_for(index, false);
        s.machine.receive_packet(us(13), &grant);
        assert!(s.drain_events().is_empty());
    }
    // 4, 5 and then 7, 6 are queued; the third grant finds the ends met and takes 6 from its queue.
    assert_eq!(s.sent_words(us(13)), ["normal 4", "normal 5", "normal 6", "low 7"]);
}

#[test]
fn what_later_packets_of_its_queue_overtook_is_lost_and_goes_first() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(60));
    assert_eq!(s.receive_grant(us(13), 2, false), ["normal 0 again", "low 59"], "0 and 1 did not arrive");
    assert_eq!(s.receive_grant(us(14), 3, true), ["normal 1 again"]);
    assert_eq!(s.receive_grant(us(26), 0, false), ["normal 4", "low 58"]);
    // An opportunistic packet is repeated with low priority while the normal ones have not come to it.
    assert_eq!(s.receive_grant(us(27), 1, false), ["normal 5", "low 57"]);
    assert_eq!(s.receive_grant(us(39), 58, false), ["normal 6", "low 59 again"]);
    assert_eq!(s.receive_grant(us(39), 57, true), ["normal 7"]);
}

#[test]
fn a_message_that_lost_most_of_its_only_window_doubles_from_either_end() {
    let mut s = Script::new(RpoParams { window: 12, ..both_params() });
    assert_eq!(s.open_message(us(1), message_of(12)).len(), 12);
    assert_eq!(
        s.receive_grant(us(13), 11, false),
        ["normal 0 again", "low 10 again"],
        "0 to 10 did not arrive"
    );
    assert_eq!(s.receive_grant(us(26), 0, false), ["normal 1 again", "low 9 again"]);
    assert_eq!(s.receive_grant(us(26), 10, false), ["normal 2 again", "low 8 again"]);
    assert_eq!(s.receive_grant(us(39), 1, true), ["normal 3 again"], "a marked grant repeats one");
}

#[test]
fn a_reordering_tolerance_waits_for_more_evidence() {
    let mut s = Script::new(RpoParams { reordering: 2, ..both_params() });
    s.open_message(us(1), message_of(60));
    assert_eq!(s.receive_grant(us(13), 1, true), ["normal 4"]);
    assert_eq!(s.receive_grant(us(14), 2, true), ["normal 5"]);
    assert_eq!(s.receive_grant(us(15), 3, true), ["normal 0 again"], "three have overtaken packet 0");
}

#[test]
fn a_lost_grant_is_not_a_lost_packet() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(60));
    // The grant for packet 0 is lost; the next one says that all below 2 have arrived.
    let second = Packet { remaining: 2, ..s.grant_for(1, false) };
    assert_eq!(s.receive_and_send(us(13), second), ["normal 4", "low 59"]);
    let again = Packet { remaining: 2, ..s.grant_for(1, false) };
    assert!(s.receive_and_send(us(14), again).is_empty(), "the same grant again permits nothing");
    s.receive_grant(us(15), 2, false);
    let tail = Packet { message_bytes: 58, ..s.grant_for(58, false) };
    assert_eq!(s.receive_and_send(us(27), tail), ["normal 6", "low 57"], "59 has arrived as well");
}

#[test]
fn a_request_repeats_the_packet_or_counts_as_permission() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(60));
    s.receive_grant(us(13), 0, false);
    assert_eq!(s.receive_and_send(us(60), request_packet(1, 1)), ["normal 1 again"]);
    assert_eq!(s.receive_and_send(us(61), request_packet(59, 1)), ["low 59 again"]);
    assert_eq!(s.receive_and_send(us(62), request_packet(20, 1)), ["normal 5"], "20 has never left");
    assert!(s.receive_and_send(us(63), request_packet(0, 1)).is_empty(), "0 has arrived");
    assert!(s.receive_and_send(us(64), request_packet(4000, 1)).is_empty());
}

#[test]
fn a_packet_on_its_way_is_not_repeated_and_its_first_copy_still_permits() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(60));
    // The round trip is 12 us.
    assert_eq!(s.receive_grant(us(13), 0, false), ["normal 4", "low 59"]);
    assert!(s.receive_and_send(us(20), request_packet(4, 1)).is_empty(), "it left 7 us ago");
    assert!(s.receive_and_send(us(30), request_packet(59, 1)).is_empty());
    let first = s.grant_for(4, false);
    assert_eq!(
        s.receive_and_send(us(38), request_packet(4, 1)),
        ["normal 4 again"],
        "two round trips are over"
    );
    assert_eq!(
        s.receive_and_send(us(39), first),
        ["normal 1 again", "low 58"],
        "it was late, and has overtaken the window"
    );
    // A sender that finds no losses repeats the packets that it is asked for.
    let mut timer = Script::new(RpoParams { detection: Detection::Timer, ..both_params() });
    timer.open_message(us(1), message_of(60));
    timer.receive_grant(us(13), 0, false);
    assert_eq!(timer.receive_and_send(us(20), request_packet(4, 1)), ["normal 4 again"]);
}

#[test]
fn silence_repeats_packet_0_twice_as_late_each_time() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(60));
    let (first, second) = (us(1) + RTT * 3, us(1) + RTT * 9);
    let again = || vec!["normal 0 again".to_string()];
    assert_eq!(s.effects_until(second), [(first, again()), (second, again())]);
    // It is not part of the first window any more: ports do not drop it at their threshold.
    assert!(!s.left[4].flags.has_all(PacketFlags::UNSCHEDULED));
    assert_eq!(
        s.receive_grant(second + RTT, 0, false),
        ["normal 1 again", "low 59"],
        "it overtook the window"
    );
    assert_eq!(s.receive_grant(second + RTT * 2, 1, false), ["normal 2 again", "low 58"]);
}

#[test]
fn every_arrival_earns_one_grant_with_its_mark() {
    let mut s = Script::new(both_params());
    assert_eq!(s.receive_and_send(us(1), data_packet(20, 0)), ["grant 0 x2 <1 >20"]);
    assert_eq!(s.receive_and_send(us(2), with_mark(data_packet(20, 1))), ["grant 1 x1 ece <2 >20"]);
    assert_eq!(
        s.receive_and_send(us(3), low_priority(data_packet(20, 19))),
        ["grant 19 x1 ece <2 >19"],
        "it inherits the last mark"
    );
    assert_eq!(s.receive_and_send(us(4), data_packet(20, 3)), ["grant 3 x2 <2 >19"]);
    assert_eq!(s.receive_and_send(us(5), low_priority(data_packet(20, 18))), ["grant 18 x2 <2 >18"]);
    assert!(s.receive_and_send(us(6), data_packet(20, 3)).is_empty(), "a duplicate earns nothing");
    assert_eq!(s.gauge_value("duplicate_packets", us(6)).0, 1);
    let mut never = Script::new(RpoParams { opportunistic_mark: OpportunisticMark::Never, ..both_params() });
    never.receive_and_send(us(1), with_mark(data_packet(20, 0)));
    assert_eq!(never.receive_and_send(us(2), low_priority(data_packet(20, 19))), ["grant 19 x2 <1 >19"]);
}

#[test]
fn the_resequencing_buffer_holds_what_waits_for_a_missing_packet() {
    let mut s = Script::new(both_params());
    s.receive_and_send(us(1), data_packet(6, 0));
    for (at, index, held) in [(2, 5, 1), (3, 1, 1), (4, 4, 2), (5, 3, 3)] {
        s.receive_and_send(us(at), data_packet(6, index));
        assert_eq!(s.gauge_value("reorder_buffer_bytes", us(at)).0, held * FULL, "after packet {index}");
    }
    assert_eq!(s.receive_and_send(us(6), data_packet(6, 2)), ["completed", "finished"]);
    assert_eq!(s.gauge_value("reorder_buffer_bytes", us(6)), (0, 3 * FULL));
    assert_eq!(s.receive_and_send(us(7), data_packet(6, 2)), ["finished"], "the sender has not heard");
    let mean =
        s.machine.collect_gauges(us(6)).iter().find(|g| g.name == "reorder_buffer_bytes").map(|g| g.mean);
    // One packet from 2 to 4 us, two to 5 us, three to 6 us, over 6 us.
    assert_eq!(mean, Some((2.0 + 2.0 + 3.0) * FULL as f64 / 6.0));
}

#[test]
fn a_receiver_that_hears_nothing_asks_for_the_first_missing_packet() {
    let mut s = Script::new(sender_params());
    s.receive_and_send(us(1), data_packet(20, 0));
    s.receive_and_send(us(2), data_packet(20, 2));
    let (first, second) = (us(2) + RTT * 3, us(2) + RTT * 9);
    let again = || vec!["again 1".to_string()];
    assert_eq!(s.effects_until(second), [(first, again()), (second, again())]);
    s.receive_and_send(us(200), data_packet(20, 1));
    let mut late = Script::new(RpoParams { loss_timer: LossTimer::MaxRtt, ..sender_params() });
    late.receive_and_send(us(1), data_packet(20, 0));
    assert_eq!(late.effects_until(us(121)), [(us(121), vec!["again 1".to_string()])]);
}

fn words_at(at: Time, words: &[&str]) -> Vec<(Time, String)> {
    words.iter().enumerate().map(|(i, word)| (at + SLOT * i as u64, (*word).to_string())).collect()
}

/// RPO §IV-C, with the time-out of the paper.
#[test]
fn what_was_granted_is_granted_again_after_three_round_trips_one_a_frame_time() {
    let mut s = Script::new(both_params());
    s.receive_and_send(us(1), data_packet(20, 0));
    s.receive_and_send(us(2), data_packet(20, 3));
    // The first window counts as granted a round trip before its first packet came, each packet a slot later.
    assert_eq!(s.later_effects(us(1) + RTT * 2 + SLOT), words_at(us(1) + RTT * 2 + SLOT, &["again 1"]));
    assert_eq!(
        s.later_effects(us(1) + RTT * 2 + SLOT * 2),
        words_at(us(1) + RTT * 2 + SLOT * 2, &["again 2"])
    );
    // Packets 4 and 19 were granted at 1 us, 5 and 18 at 2 us, and by then nothing has come for three round trips.
    let third = us(1) + RTT * 3;
    assert_eq!(
        s.later_effects(third + SLOT * 4),
        words_at(third, &["again 4", "again 19", "again 5", "again 18", "again 1"])
    );
    // A packet that was granted again is overdue after twice the time.
    let again = us(1) + RTT * 2 + SLOT + RTT * 6;
    assert_eq!(s.later_effects(again), words_at(again, &["again 1"]));
}

/// RPO §IV-C: a grant without its packet is repeated after three round trips, and again after as many.
#[test]
fn by_the_letter_everything_overdue_is_granted_again_together_every_three_round_trips() {
    let mut s = Script::new(paper_params());
    s.receive_and_send(us(1), data_packet(4, 0));
    let first = us(1) + RTT * 2;
    let mut expected = Vec::new();
    for round in 0..3 {
        for packet in 1..4u64 {
            expected.push((first + SLOT * packet + RTT * 3 * round, format!("again {packet}")));
        }
    }
    let asked: Vec<_> = s.later_effects(first + SLOT * 4 + RTT * 6);
    let overdue: Vec<_> = asked.iter().filter(|asked| expected.contains(asked)).cloned().collect();
    assert_eq!(overdue, expected);
}

#[test]
fn turns_are_taken_over_all_messages_of_a_receiver() {
    let mut s = Script::new(both_params());
    let other = |index| Packet { src: OTHER, ..data_packet(4, index) };
    s.receive_and_send(us(1), data_packet(4, 0));
    s.receive_and_send(us(1), other(0));
    let due = us(1) + RTT * 2 + SLOT;
    let mut turns = Vec::new();
    while turns.len() < 6 {
        let now = s.machine.next_timeout().expect("more is missing");
        s.machine.handle_timeout(now);
        assert!(s.drain_events().is_empty());
        turns.extend(s.poll_packets(now).iter().map(|p| (now, p.dst, p.index)));
    }
    let expected = [(0, PEER, 1), (1, OTHER, 1), (2, PEER, 2), (3, OTHER, 2), (4, PEER, 3), (5, OTHER, 3)];
    assert_eq!(turns, expected.map(|(slot, dst, index)| (due + SLOT * slot, dst, index)));
    // As the paper says it they have them all at once, and the turns of a message that is over expire.
    let mut together = Script::new(RpoParams { reissue: Reissue::AtOnce, ..both_params() });
    together.receive_and_send(us(1), data_packet(4, 0));
    together.receive_and_send(us(1), other(0));
    assert_eq!(together.later_effects(due), [(due, "again 1".to_string()), (due, "again 1".to_string())]);
    let mut over = Script::new(both_params());
    over.receive_and_send(us(1), data_packet(4, 0));
    over.receive_and_send(us(1), other(0));
    over.later_effects(due);
    over.machine.forget_peer(due, OTHER);
    assert!(over.drain_events().is_empty());
    let rest = over.later_effects(due + SLOT * 4);
    assert_eq!(rest, [(due + SLOT, "again 2".to_string()), (due + SLOT * 2, "again 3".to_string())]);
}

#[test]
fn the_time_out_counts_the_round_trip_that_the_sender_measures() {
    let mut sender = Script::new(both_params());
    sender.open_message(us(1), message_of(60));
    sender.receive_grant(us(25), 0, true);
    assert_eq!((sender.left[0].lifetime, sender.left[4].lifetime), (Time::ZERO, us(24)));
    sender.receive_grant(us(33), 1, true);
    assert_eq!(sender.left[5].lifetime, us(25), "an eighth of the way to 32 us");
    let mut s = Script::new(both_params());
    for index in 0..4 {
        s.receive_and_send(us(1), Packet { lifetime: us(100), ..data_packet(20, index) });
    }
    assert!(s.later_effects(us(300)).is_empty(), "nor is anything silent");
    assert_eq!(s.later_effects(us(301))[0], (us(301), "again 4".to_string()));
    // One below that of empty queues, or beyond reason, is not believed.
    for (claimed, least, most) in [(us(1), RTT * 3, us(40)), (Time::MAX, us(2_000_000), us(3_000_001))] {
        let mut s = Script::new(both_params());
        for index in 0..4 {
            s.receive_and_send(us(1), Packet { lifetime: claimed, ..data_packet(20, index) });
        }
        let next = s.effects_until(most).first().expect("it asks").0;
        assert!(next >= us(1) + least, "{next}");
    }
}

#[test]
fn a_first_window_that_is_lost_whole_is_granted_again_at_once() {
    let mut s = Script::new(both_params());
    let repeated = Packet { flags: PacketFlags::AGAIN, ..data_packet(20, 0) };
    assert_eq!(s.receive_and_send(us(50), repeated), ["grant 0 x2 <1 >20"]);
    assert_eq!(s.later_effects(us(60)), words_at(us(50), &["again 1", "again 2", "again 3"]));
}

#[test]
fn a_permission_that_was_lost_comes_back_although_the_packet_was_repaired() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(60));
    assert_eq!(s.receive_grant(us(13), 3, true), ["normal 0 again"], "three are lost");
    assert_eq!(
        s.receive_and_send(us(60), request_packet(0, 0)),
        ["normal 1 again"],
        "packet 0 is on its way already"
    );
    assert_eq!(s.receive_and_send(us(61), request_packet(1, 0)), ["normal 2 again"]);
    assert_eq!(s.receive_and_send(us(62), request_packet(2, 0)), ["normal 4"], "nothing is lost any more");
    assert!(s.receive_and_send(us(63), request_packet(2, 0)).is_empty(), "it left 2 us ago");
    assert_eq!(s.receive_and_send(us(90), request_packet(2, 0)), ["normal 2 again"], "asked for twice");
    let silence = Packet { count: 0, ..request_packet(4, 0) };
    assert_eq!(
        s.receive_and_send(us(91), silence),
        ["normal 4 again"],
        "after a silence it is this packet or nothing"
    );
}

#[test]
fn opportunistic_packets_of_a_marked_message_are_not_granted_again() {
    let mut s = Script::new(both_params());
    for index in 0..4 {
        let packet = data_packet(20, index);
        s.receive_and_send(us(1), if index == 3 { with_mark(packet) } else { packet });
    }
    let asked = |words: Vec<(Time, String)>, word: &str| words.iter().any(|(_, w)| w == word);
    assert!(!asked(s.later_effects(us(1) + RTT * 5), "again 19"), "it may wait in a queue");
    s.receive_and_send(us(1) + RTT * 5, data_packet(20, 4));
    assert!(asked(s.later_effects(us(1) + RTT * 7), "again 19"), "the queue is short again");
}

#[test]
fn by_the_letter_senders_wait_to_be_granted_again() {
    let mut sender = Script::new(RpoParams { detection: Detection::Timer, ..both_params() });
    sender.open_message(us(1), message_of(60));
    assert_eq!(sender.receive_grant(us(13), 3, true), ["normal 4"]);
    assert_eq!(sender.receive_and_send(us(60), request_packet(0, 0)), ["normal 0 again"]);
}

#[test]
fn a_small_message_has_nothing_opportunistic() {
    let mut s = Script::new(both_params());
    assert_eq!(s.open_message(us(1), message_of(4)), pushed_words(0..4));
    for index in 0..3 {
        assert!(s.receive_grant(us(13), index, false).is_empty());
    }
    let finished = Packet::new(PacketKind::Finished, PEER, HERE, 0);
    assert_eq!(s.receive_and_send(us(14), finished), ["acknowledged"]);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn a_forgotten_peer_leaves_nothing_behind() {
    let mut s = Script::new(both_params());
    s.open_message(us(1), message_of(60));
    s.machine.open_message(us(2), &Message { dst: OTHER, tag: 78, ..message_of(60) });
    assert!(s.drain_events().is_empty());
    s.receive_and_send(us(3), data_packet(20, 19));
    let grant = s.grant_for(0, false);
    s.machine.receive_packet(us(13), &grant);
    assert!(s.drain_events().is_empty());
    s.machine.forget_peer(us(14), PEER);
    assert_eq!(s.drain_events(), ["failed: the peer is gone"]);
    assert_eq!(s.gauge_value("reorder_buffer_bytes", us(14)).0, 0);
    s.sent_words(us(14));
    assert!(s.left.iter().skip(8).all(|p| p.dst == OTHER), "nothing more to the peer");
    assert_eq!(s.machine.live_messages(), 1);
}
