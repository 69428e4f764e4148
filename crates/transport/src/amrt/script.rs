//! AMRT packet by packet: inputs, expected outputs, and their times.
//!
//! The path holds 10 packets (base round trip 12.304 us at 10 Gb/s); its largest round trip, and so
//! the loss time-out, is 20 us, and the restart time-out 60 us. Outputs are written as words: `data 3`,
//! `data 3 again`, `grant 7`, `grant 7+2 ece`, `grant 3 again`, `finished`, `delivered 1460`.

use crate::script;

use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::amrt::{Amrt, AmrtEndpoint, AmrtParams, LossTimer, Reissue};
use headway_transport::endpoint::Checked;
use headway_transport::{Endpoint, InitialWindow, Message, Transport};
use headway_units::Time;
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

// 1538 bytes of a full frame on the wire at 10 Gb/s.
const SLOT: Time = Time::ns(1230).saturating_add(Time::ps(400));
const T_LOSS: Time = Time::us(20);

/// One host's AMRT and the words for its outputs.
struct Script {
    machine: Checked<AmrtEndpoint>,
}

/// Packet `index` of message 0 of `PEER`, `packets` long, as it arrives here.
fn data_packet(packets: u64, index: u32, marked: bool) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, PEER, HERE, 0);
    packet.index = index;
    // The path holds ten packets, so that this is the window of a sender with default parameters.
    packet.count = packets.min(10) as u32;
    packet.message_bytes = packets * FULL;
    packet.payload = FULL as u16;
    packet.wire = Sizes::default().full_wire();
    packet.tag = 77;
    packet.priority = 1;
    packet.ecn = if marked { Ecn::Spare } else { Ecn::NotEct };
    packet
}

/// Permission from `PEER` for message 0 of this host.
fn grant_packet(index: u32, count: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Grant, PEER, HERE, 0);
    (packet.index, packet.count) = (index, count);
    packet.flags = PacketFlags::only_if(count == 2, PacketFlags::ECE);
    packet
}

fn grant_again(index: u32) -> Packet {
    Packet { flags: PacketFlags::AGAIN, ..grant_packet(index, 1) }
}

impl Script {
    fn new(params: AmrtParams) -> Script {
        let context = host_context(SLOT * 10, T_LOSS, 0);
        Script { machine: Checked::new(Amrt::make_endpoint(&params, context)) }
    }

    fn open_unsent(&mut self, now: Time, message: Message) {
        self.machine.open_message(now, &message);
        assert!(self.drain_events().is_empty());
    }
}

impl Steps for Script {
    type Machine = AmrtEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<AmrtEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        packet_words(packet)
    }
}

#[test]
fn a_peer_that_is_gone_is_forgotten_both_ways_and_others_are_not() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(1), message_of(5));
    s.open_unsent(us(1), Message { id: 1, tag: 78, ..message_of(50) });
    s.open_unsent(us(1), Message { dst: OTHER, tag: 79, ..message_of(2) });
    assert_eq!(s.receive_busy(us(2), data_packet(20, 3, true)), ["delivered 1460"]);
    assert_eq!(s.machine.live_messages(), 4);
    s.machine.forget_peer(us(3), PEER);
    assert_eq!(s.drain_events(), ["failed: the peer is gone", "failed: the peer is gone"]);
    assert_eq!(s.machine.live_messages(), 1);
    assert_eq!(s.sent_words(us(3)), burst_words(0..2), "the grant is gone, the other host's message is not");
    s.machine
        .receive_packet(us(4), &Packet { src: OTHER, ..Packet::new(PacketKind::Finished, OTHER, HERE, 0) });
    assert_eq!(s.drain_events(), ["acknowledged"]);
    assert_eq!(s.machine.live_messages(), 0);
    assert!(s.effects_until(us(1_000_000)).is_empty(), "and no deadline of it has an effect");
}

#[test]
fn a_number_given_to_another_host_starts_anew() {
    let mut s = Script::new(AmrtParams::default());
    assert_eq!(
        s.receive_and_send(us(1), data_packet(1, 0, false)),
        ["delivered 1460", "completed", "finished"]
    );
    assert_eq!(s.receive_and_send(us(2), data_packet(1, 0, false)), ["finished"]);
    s.machine.forget_peer(us(3), PEER);
    assert!(s.drain_events().is_empty());
    assert_eq!(
        s.receive_and_send(us(4), data_packet(1, 0, false)),
        ["delivered 1460", "completed", "finished"]
    );
}

fn packet_words(p: &Packet) -> String {
    let count = if p.kind == PacketKind::Grant && p.count != 1 { format!("+{}", p.count) } else { "".into() };
    let index = if p.kind == PacketKind::Finished { "".into() } else { format!(" {}{count}", p.index) };
    let ece = if p.flags.has_all(PacketFlags::ECE) { " ece" } else { "" };
    let again = if p.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
    format!("{}{index}{ece}{again}", p.kind.name())
}

fn burst_words(packets: std::ops::Range<u32>) -> Vec<String> {
    packets.map(|i| format!("data {i}")).collect()
}

#[test]
fn a_message_opens_with_one_bandwidth_delay_product() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(1), message_of(500));
    assert_eq!(s.sent_words(us(1)), burst_words(0..10));
    assert_eq!(s.machine.next_timeout(), Some(us(61)), "the restart time-out");
    assert_eq!(s.machine.live_messages(), 1);
}

#[test]
fn a_short_message_and_a_set_window_send_less() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(1), message_of(3));
    assert_eq!(s.sent_words(us(1)), burst_words(0..3));
    let mut s = Script::new(AmrtParams { window: 4, ..AmrtParams::default() });
    s.open_unsent(us(1), message_of(500));
    assert_eq!(s.sent_words(us(1)), burst_words(0..4));
}

#[test]
fn first_window_packets_say_what_the_receiver_must_know() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(1), Message { bytes: 30 * FULL + 5, ..message_of(0) });
    s.machine.receive_packet(us(1), &grant_packet(30, 1));
    assert!(s.drain_events().is_empty());
    let packets: Vec<_> = std::iter::from_fn(|| s.machine.poll_transmit(us(1))).collect();
    assert_eq!(packets.len(), 11);
    for p in &packets {
        assert_eq!((p.count, p.message_bytes, p.ecn), (10, 30 * FULL + 5, Ecn::Spare));
        assert_eq!((p.src, p.dst, p.message, p.tag, p.entropy, p.priority), (HERE, PEER, 0, 77, 9, 1));
    }
    assert!(packets[9].flags.has_all(PacketFlags::UNSCHEDULED));
    assert!(!packets[10].flags.has_all(PacketFlags::UNSCHEDULED));
    assert_eq!((packets[9].payload, packets[9].wire), (1460, 1538));
    assert_eq!((packets[10].payload, packets[10].wire), (5, 84), "the tail is padded to a least frame");
}

#[test]
fn an_unmarked_grant_releases_one_packet_and_a_marked_one_two() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(1), message_of(500));
    s.sent_words(us(1));
    assert_eq!(s.receive_and_send(us(13), grant_packet(10, 1)), ["data 10"]);
    assert_eq!(s.receive_and_send(us(14), grant_packet(11, 2)), ["data 11", "data 12"]);
    assert!(s.receive_and_send(us(14), grant_packet(11, 2)).is_empty(), "a repeated grant is used up");
    assert_eq!(s.receive_and_send(us(15), grant_packet(13, 1)), ["data 13"]);
    assert!(s.receive_and_send(us(15), grant_packet(500, 2)).is_empty(), "nothing past the end");
}

#[test]
fn the_receiver_echoes_the_mark_of_each_packet() {
    let mut s = Script::new(AmrtParams::default());
    assert_eq!(s.receive_and_send(us(10), data_packet(500, 0, true)), ["delivered 1460", "grant 10+2 ece"]);
    assert_eq!(s.receive_and_send(us(11), data_packet(500, 1, false)), ["delivered 1460", "grant 12"]);
    assert_eq!(
        s.receive_and_send(us(12), data_packet(500, 5, false)),
        ["delivered 1460", "grant 13"],
        "out of order too"
    );
    assert_eq!(s.machine.next_timeout(), Some(us(10) + T_LOSS));
}

#[test]
fn grants_stop_at_the_end_of_the_message() {
    let mut s = Script::new(AmrtParams::default());
    assert_eq!(s.receive_and_send(us(10), data_packet(13, 0, true)), ["delivered 1460", "grant 10+2 ece"]);
    assert_eq!(
        s.receive_and_send(us(10), data_packet(13, 1, true)),
        ["delivered 1460", "grant 12"],
        "one left: one, no echo"
    );
    assert_eq!(s.receive_and_send(us(10), data_packet(13, 2, true)), ["delivered 1460"]);
}

#[test]
fn a_duplicate_earns_no_grant() {
    let mut s = Script::new(AmrtParams::default());
    s.receive_and_send(us(10), data_packet(500, 0, true));
    assert!(s.receive_and_send(us(11), data_packet(500, 0, true)).is_empty());
    assert_eq!(s.receive_and_send(us(12), data_packet(500, 1, false)), ["delivered 1460", "grant 12"]);
}

/// Everything overdue is granted again at once, with as many doublings as there is time for.
fn doubling_params() -> AmrtParams {
    AmrtParams { backoff: 10, ..AmrtParams::default() }
}

/// AMRT §IV-B: a round trip after a grant without its packet, the same grant goes out again, and again.
#[test]
fn overdue_packets_are_granted_again_together_every_time_out() {
    let mut s = Script::new(AmrtParams::default());
    s.receive_and_send(us(10), data_packet(4, 0, false));
    let again: Vec<String> = (1..4).map(|i| format!("grant {i} again")).collect();
    let times = (1..=5).map(|n| (us(10) + T_LOSS * n, again.clone()));
    assert_eq!(s.effects_until(us(119)), times.collect::<Vec<_>>());
}

#[test]
fn overdue_packets_are_granted_again_one_a_frame_time_and_wait_three_doublings_at_most() {
    let mut s = Script::new(AmrtParams { reissue: Reissue::Paced, backoff: 3, ..AmrtParams::default() });
    s.receive_and_send(us(10), data_packet(4, 0, false));
    let again = |from: Time| -> Vec<_> {
        (0..3u64).map(|i| (from + SLOT * i, vec![format!("grant {} again", i + 1)])).collect()
    };
    // Packets 1 to 3 are overdue together; from then on each keeps its own time.
    assert_eq!(s.effects_until(us(40)), again(us(30)));
    let waits = [2, 4, 8, 8, 8];
    let mut at = us(30);
    for wait in waits {
        at += T_LOSS * wait;
        assert_eq!(s.effects_until(at + us(10)), again(at), "after {wait} time-outs");
    }
    assert_eq!(s.receive_and_send(at + us(11), data_packet(4, 2, false)), ["delivered 1460"]);
    at += T_LOSS * 8;
    let left: Vec<_> = again(at).into_iter().filter(|(_, out)| out[0] != "grant 2 again").collect();
    assert_eq!(s.effects_until(at + us(10)), left);
}

#[test]
fn an_overdue_packet_is_granted_again_alone_unmarked_and_may_double_its_timeout() {
    let mut s = Script::new(doubling_params());
    for index in 0..10 {
        s.receive_and_send(us(10), data_packet(12, index, index == 0));
    }
    // Packets 10 and 11 were granted together, with a mark; the grant is lost.
    let again = vec!["grant 10 again".to_string(), "grant 11 again".to_string()];
    let only_11 = vec!["grant 11 again".to_string()];
    assert_eq!(s.effects_until(us(10) + T_LOSS), [(us(30), again.clone())]);
    assert_eq!(s.effects_until(us(70)), [(us(30) + T_LOSS * 2, again)]);
    assert_eq!(s.receive_and_send(us(71), data_packet(12, 10, true)), ["delivered 1460"]);
    assert_eq!(
        s.effects_until(us(1000)),
        // Each repetition waits twice as long as the one before: 80, 160, 320 us.
        [(us(70) + T_LOSS * 4, only_11.clone()), (us(150 + 160), only_11.clone()), (us(310 + 320), only_11)]
    );
    assert_eq!(
        s.receive_and_send(us(1001), data_packet(12, 11, true)),
        ["delivered 1460", "completed", "finished"]
    );
    assert_eq!(s.effects_until(Time::MAX), [], "timers left over do nothing");
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn the_loss_timer_can_count_the_base_round_trip() {
    let mut s = Script::new(AmrtParams { loss_timer: LossTimer::BaseRtt, ..AmrtParams::default() });
    s.receive_and_send(us(10), data_packet(2, 0, false));
    // Ten slots are the base round trip of this path.
    assert_eq!(s.effects_until(us(30)), [(us(10) + SLOT * 10, vec!["grant 1 again".to_string()])]);
}

#[test]
fn a_newly_lost_packet_is_noticed_in_time_while_an_older_one_backs_off() {
    let mut s = Script::new(doubling_params());
    for index in 0..9 {
        s.receive_and_send(us(10), Packet { count: 9, ..data_packet(500, index, false) });
    }
    // Nothing more comes for a while: packets 9..18 are overdue at 30, 70, 150, 310 us.
    assert_eq!(
        s.effects_until(us(200)).iter().map(|(at, out)| (at.0 / us(1).0, out.len())).collect::<Vec<_>>(),
        [(30, 9), (70, 9), (150, 9)]
    );
    assert_eq!(s.receive_and_send(us(210), data_packet(500, 9, false)), ["delivered 1460", "grant 18"]);
    assert_eq!(s.effects_until(us(260)), [(us(230), vec!["grant 18 again".to_string()])]);
}

#[test]
fn a_spurious_repetition_is_not_sent_while_its_packet_still_waits() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(1), message_of(500));
    s.receive_busy(us(2), grant_again(5));
    assert_eq!(s.sent_words(us(2)), burst_words(0..10), "packet 5 once");
    s.receive_busy(us(40), grant_again(5));
    s.receive_busy(us(40), grant_again(5));
    assert_eq!(s.sent_words(us(40)), ["data 5 again"], "one copy for two requests in the queue");
    assert_eq!(
        s.receive_and_send(us(41), grant_again(10)),
        ["data 10"],
        "its first grant was lost, so it has not left yet"
    );
    assert!(s.receive_and_send(us(42), grant_packet(10, 1)).is_empty(), "or only late");
}

#[test]
fn a_sender_whose_whole_first_window_is_lost_repeats_packet_0_with_a_doubling_timeout() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(0), message_of(500));
    s.sent_words(us(0));
    let zero = vec!["data 0 again".to_string()];
    assert_eq!(
        s.effects_until(us(500)),
        [(us(60), zero.clone()), (us(180), zero.clone()), (us(420), zero.clone())]
    );
    assert_eq!(s.receive_and_send(us(501), grant_packet(10, 1)), ["data 10"]);
    let quiet_from = us(501);
    assert_eq!(s.effects_until(us(1000))[0], (quiet_from + us(60), zero), "a grant resets the time-out");
}

#[test]
fn the_restart_timeout_counts_from_the_last_packet_sent() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(0), message_of(500));
    assert_eq!(s.sent_words(us(50)), burst_words(0..10), "the wire was busy with another message");
    assert_eq!(s.effects_until(us(115)), [(us(110), vec!["data 0 again".to_string()])]);
}

#[test]
fn the_receiver_recovers_a_first_window_of_which_only_packet_0_came() {
    let mut s = Script::new(doubling_params());
    assert_eq!(
        s.receive_and_send(us(10), Packet { flags: PacketFlags::AGAIN, ..data_packet(500, 0, true) }).len(),
        2
    );
    let overdue: Vec<_> = (1..12).map(|i| format!("grant {i} again")).collect();
    assert_eq!(s.effects_until(us(30)), [(us(30), overdue)]);
}

#[test]
fn a_lost_finished_is_sent_again_and_completes_nothing_twice() {
    let mut s = Script::new(AmrtParams::default());
    assert_eq!(
        s.receive_and_send(us(10), data_packet(1, 0, true)),
        ["delivered 1460", "completed", "finished"]
    );
    assert_eq!(s.receive_and_send(us(70), data_packet(1, 0, true)), ["finished"]);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn finished_ends_the_message_at_its_sender() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(1), message_of(500));
    let finished = Packet::new(PacketKind::Finished, PEER, HERE, 0);
    assert_eq!(
        s.receive_and_send(us(2), finished),
        ["acknowledged"],
        "queued packets are of no use any more"
    );
    assert!(s.receive_and_send(us(3), finished).is_empty());
    assert!(s.receive_and_send(us(3), grant_packet(10, 2)).is_empty());
    assert_eq!(s.effects_until(Time::MAX), []);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn an_unresponsive_sender_leaves_its_permissions_unused() {
    let mut s = Script::new(AmrtParams::default());
    s.open_unsent(us(1), Message { responsive: false, ..message_of(500) });
    assert_eq!(s.sent_words(us(1)), burst_words(0..10));
    assert!(s.receive_and_send(us(13), grant_packet(10, 2)).is_empty());
    assert!(s.receive_and_send(us(40), grant_again(3)).is_empty());
}

#[test]
fn senders_serve_their_messages_first_in_first_out() {
    let mut s = Script::new(AmrtParams { window: 3, ..AmrtParams::default() });
    s.open_unsent(us(1), message_of(500));
    s.receive_busy(us(1), grant_packet(3, 1));
    s.open_unsent(us(1), Message { dst: OTHER, ..message_of(500) });
    s.receive_busy(us(1), grant_packet(4, 2));
    let sent: Vec<_> =
        std::iter::from_fn(|| s.machine.poll_transmit(us(1))).map(|p| (p.dst.0, p.index)).collect();
    assert_eq!(sent, [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 1), (2, 2), (1, 4), (1, 5)]);
}

#[test]
fn a_fair_start_takes_every_other_slot() {
    let mut s = Script::new(AmrtParams::default());
    let initial_window = InitialWindow { share: 2, phase: 1, ..InitialWindow::default() };
    s.open_unsent(us(0), Message { initial_window, ..message_of(500) });
    let sent = s.effects_until(us(59));
    let expected: Vec<_> = (0..5).map(|i| (SLOT * (2 * i + 1), vec![format!("data {i}")])).collect();
    assert_eq!(sent, expected, "half a bandwidth-delay product in the odd slots");
}

#[test]
fn a_packet_granted_again_before_its_turn_in_a_fair_start_leaves_once() {
    let mut s = Script::new(AmrtParams::default());
    let initial_window = InitialWindow { share: 4, window: Some(40), ..InitialWindow::default() };
    s.open_unsent(us(0), Message { initial_window, ..message_of(500) });
    assert_eq!(s.sent_words(us(0)), ["data 0"]);
    // The receiver counts all ten as authorised at packet 0 and finds packet 9 overdue too early.
    assert_eq!(s.effects_until(us(35)).len(), 7, "one every four slots");
    assert!(s.receive_and_send(us(35), grant_again(9)).is_empty(), "its turn is to come");
    let sent: Vec<_> = s.effects_until(us(50)).into_iter().flat_map(|(_, out)| out).collect();
    assert_eq!(sent, burst_words(8..10));
}

/// Packet `index` of message 0 of host `src`.
fn from(src: HostId, index: u32, marked: bool) -> Packet {
    Packet { src, ..data_packet(500, index, marked) }
}

fn fair_script() -> Script {
    Script::new(AmrtParams { fair_marks: true, ..AmrtParams::default() })
}

fn has_mark(out: &[String]) -> bool {
    out.iter().any(|w| w.ends_with("ece"))
}

#[test]
fn fair_marks_go_to_the_message_that_has_used_fewest() {
    let mut s = fair_script();
    let mut used = [0, 0];
    for index in 0..100 {
        // All marks come with packets of one message.
        used[0] += u32::from(has_mark(&s.receive_and_send(us(10), from(PEER, index, index % 4 == 0))));
        used[1] += u32::from(has_mark(&s.receive_and_send(us(10), from(OTHER, index, false))));
    }
    assert_eq!(used[0] + used[1], 25, "all marks handed on");
    assert!(used[0].abs_diff(used[1]) <= 1, "evenly: {used:?}");
}

#[test]
fn fair_marks_never_exceed_the_marks_brought() {
    let mut s = fair_script();
    let (mut brought, mut used) = (0, 0);
    for index in 0..200u32 {
        for (host, salt) in [(PEER, 3), (OTHER, 5)] {
            // Knuth's multiplicative hash: about five packets in sixteen are marked, without a pattern.
            let mark = index.wrapping_mul(2_654_435_761).wrapping_mul(salt) >> 28 < 5;
            brought += u32::from(mark);
            used +=
                u32::from(has_mark(&s.receive_and_send(us(10 + u64::from(index)), from(host, index, mark))));
            assert!(used <= brought, "{used} marked grants for {brought} marks at packet {index}");
        }
    }
    assert!(used > brought / 2, "{used} of {brought} used");
}

#[test]
fn a_mark_expires_after_a_round_trip() {
    let mut s = fair_script();
    // Three marks reach a message that may use one more than the other.
    s.receive_and_send(us(10), from(OTHER, 0, false));
    let used: Vec<_> = (0..3).map(|i| has_mark(&s.receive_and_send(us(10), from(PEER, i, true)))).collect();
    assert_eq!(used, [true, false, false]);
    // Marks brought at 10 us live for a base round trip, until 22.3 us.
    assert!(has_mark(&s.receive_and_send(us(20), from(OTHER, 1, false))), "handed to the other in time");
    assert!(
        !has_mark(&s.receive_and_send(us(23), from(OTHER, 2, false))),
        "the third is more than a round trip old"
    );
}

#[test]
fn a_message_that_sends_nothing_does_not_hold_back_the_marks() {
    let mut s = fair_script();
    s.receive_and_send(us(10), from(OTHER, 0, false));
    let mut used = 0;
    for index in 0..100 {
        let now = us(10) + SLOT * u64::from(index);
        used += u32::from(has_mark(&s.receive_and_send(now, from(PEER, index, true))));
    }
    assert!(used > 80, "only {used} of 100 marks used beside a stalled message");
}

#[test]
fn a_newcomer_does_not_take_all_marks_until_it_has_caught_up() {
    let mut s = fair_script();
    let step = |index: u32| us(10) + SLOT * u64::from(index);
    for index in 0..100 {
        s.receive_and_send(step(index), from(PEER, index, true));
    }
    let mut used = [0, 0];
    for index in 100..140 {
        used[0] += u32::from(has_mark(&s.receive_and_send(step(index), from(PEER, index, index % 2 == 0))));
        used[1] +=
            u32::from(has_mark(&s.receive_and_send(step(index), from(OTHER, index - 100, index % 2 == 1))));
    }
    assert!(used[0].abs_diff(used[1]) <= 2, "shared from the start: {used:?}");
}
