//! pHost packet by packet: inputs, expected outputs, and their times.
//!
//! The path holds 10 packets (base round trip 12.304 us at 10 Gb/s); its largest round trip is 20 us. From
//! this follow a limit of 12 unanswered tokens, a downgrade time of 30 slots, a resend wait of 12 slots
//! (paced) or 20 us and 2 slots (arrival), and a first retry of the announcement after 60 us. Outputs are
//! written as words: `rts 500+10` (packets, of them free), `data 3`, `token 12`, `finished`, each with
//! ` again` when so flagged, and `delivered 1460`.

use crate::script;

use headway_packet::{HostId, Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::Checked;
use headway_transport::phost::{FreeRule, Mode, Phost, PhostEndpoint, PhostParams, Policy, Restore};
use headway_transport::{Endpoint, InitialWindow, Message, Transport};
use headway_units::Time;
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

// A full frame at 10 Gb/s.
const SLOT: Time = Time::ps(1_230_400);
const RTT: Time = Time::ps(12_304_000);
const LIMIT: usize = 12;

/// One host's pHost and the words for its outputs.
struct Script {
    machine: Checked<PhostEndpoint>,
}

fn slot_times(n: u64) -> Time {
    SLOT * n
}

/// Announcement of message 0 of `src`, `packets` long.
fn rts_from(src: HostId, packets: u64) -> Packet {
    let mut packet = Packet::new(PacketKind::Rts, src, HERE, 0);
    packet.count = packets.min(10) as u32;
    packet.lifetime = slot_times(u64::from(packet.count));
    packet.message_bytes = packets * FULL;
    packet.wire = Sizes::default().control;
    packet.tag = 77;
    packet
}

fn rts_packet(packets: u64) -> Packet {
    rts_from(PEER, packets)
}

/// Packet `index` of message 0 of `src`, sent by token `index`.
fn data_from(src: HostId, packets: u64, index: u32) -> Packet {
    let mut packet = rts_from(src, packets);
    packet.kind = PacketKind::Data;
    (packet.index, packet.token) = (index, index);
    packet.lifetime = Time::ZERO;
    packet.payload = FULL as u16;
    packet.wire = Sizes::default().full_wire();
    packet.priority = 1;
    packet
}

fn data_packet(packets: u64, index: u32) -> Packet {
    data_from(PEER, packets, index)
}

/// Token `number` of `src` for packet `index` of message 0 of this host, of which `src` misses `remaining`.
fn token_from(src: HostId, number: u32, index: u32, remaining: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Token, src, HERE, 0);
    (packet.token, packet.index, packet.remaining) = (number, index, remaining);
    // As a paced receiver grants it: one and a half frame times.
    packet.lifetime = slot_times(3) / 2;
    packet
}

fn token_packet(number: u32, index: u32) -> Packet {
    token_from(PEER, number, index, 400)
}

#[test]
fn a_peer_that_is_gone_is_forgotten_and_its_slots_go_on() {
    for params in [PhostParams::default(), arrival_params(Policy::Fair), arrival_params(Policy::Srpt)] {
        let mut s = Script::new(params);
        s.open_unsent(us(1), message_of(5));
        s.open_unsent(us(1), Message { dst: OTHER, tag: 79, ..message_of(2) });
        s.receive_busy(us(2), rts_packet(100));
        s.receive_busy(us(2), rts_from(OTHER, 3));
        assert_eq!(s.machine.live_messages(), 4);
        s.machine.forget_peer(us(3), PEER);
        assert_eq!(s.drain_events(), ["failed: the peer is gone"]);
        assert_eq!(s.machine.live_messages(), 2);
        let sent = s.sent_words(us(3));
        assert!(sent.contains(&"data 1".to_string()), "{sent:?}");
        for index in 0..3 {
            s.receive_busy(us(4), data_from(OTHER, 3, index));
        }
        assert_eq!(
            s.receive_busy(us(4), Packet::new(PacketKind::Finished, OTHER, HERE, 0)),
            ["acknowledged"]
        );
        assert_eq!(s.machine.live_messages(), 0);
    }
}

#[test]
fn a_token_number_out_of_the_blue_takes_no_memory_and_does_no_harm_to_others() {
    let mut s = Script::new(PhostParams::default());
    s.open_unsent(us(1), message_of(50));
    s.sent_words(us(1));
    for number in [u32::MAX, u32::MAX - 1, 3_000_000_000] {
        s.receive_busy(us(2), token_packet(number, 20));
    }
    assert_eq!(s.sent_words(us(2)), ["data 20"], "once, for a number far ahead");
}

fn flagged_again(packet: Packet) -> Packet {
    Packet { flags: PacketFlags::AGAIN, ..packet }
}

fn arrival_params(scheduler: Policy) -> PhostParams {
    PhostParams { mode: Mode::Arrival, scheduler, ..PhostParams::default() }
}

impl Script {
    fn new(params: PhostParams) -> Script {
        let context = host_context(RTT, us(20), 0);
        Script { machine: Checked::new(Phost::make_endpoint(&params, context)) }
    }

    fn open_unsent(&mut self, now: Time, message: Message) {
        self.machine.open_message(now, &message);
        assert!(self.drain_events().is_empty());
    }
}

impl Steps for Script {
    type Machine = PhostEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<PhostEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        packet_words(packet)
    }

    /// Hands in a packet and returns the application's events; the wire stays busy. Deadlines that lie before
    /// it have no effect: a script names those from which it expects one.
    fn receive_busy(&mut self, now: Time, packet: Packet) -> Vec<String> {
        assert_eq!(self.effects_until(now.saturating_sub(Time::ps(1))), [], "before {now}");
        self.machine.receive_packet(now, &packet);
        self.drain_events()
    }
}

fn packet_words(p: &Packet) -> String {
    let what = match p.kind {
        PacketKind::Rts => format!(" {}+{}", p.remaining, p.count),
        PacketKind::Finished => String::new(),
        _ => format!(" {}", p.index),
    };
    let again = if p.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
    format!("{}{what}{again}", p.kind.name())
}

fn burst_words(packets: std::ops::Range<u32>) -> Vec<String> {
    packets.map(|i| format!("data {i}")).collect()
}

fn one_word(word: &str) -> Vec<String> {
    vec![word.to_string()]
}

/// Effects that all are one token: when, and for which packet.
fn token_effects(effects: &[(Time, Vec<String>)]) -> Vec<(Time, String)> {
    effects
        .iter()
        .map(|(at, out)| {
            assert_eq!(out.len(), 1, "one token at a time: {out:?}");
            (*at, out[0].clone())
        })
        .collect()
}

// ---- the source -----------------------------------------------------------------------------------

#[test]
fn a_message_is_announced_and_starts_on_its_free_tokens() {
    let mut s = Script::new(PhostParams::default());
    s.open_unsent(us(1), message_of(500));
    let rts = s.poll_packet(us(1)).expect("an announcement");
    assert_eq!(packet_words(&rts), "rts 500+10");
    assert_eq!((rts.message_bytes, rts.wire, rts.priority), (500 * FULL, 84, 0));
    assert_eq!(rts.lifetime, slot_times(10), "how long the free packets take");
    assert_eq!(s.sent_words(us(1)), burst_words(0..10));
    assert_eq!(s.machine.next_timeout(), Some(us(61)), "the announcement's time-out");
}

#[test]
fn a_short_message_is_free_and_travels_before_long_ones() {
    let class = |packets, priorities| {
        let mut s = Script::new(PhostParams { priorities, ..PhostParams::default() });
        s.open_unsent(us(1), message_of(packets));
        s.poll_packet(us(1));
        let first = s.poll_packet(us(1)).expect("data");
        assert!(first.flags.has_all(PacketFlags::UNSCHEDULED));
        assert_eq!(1 + s.sent_words(us(1)).len() as u64, packets.min(10));
        first.priority
    };
    assert_eq!([class(10, true), class(11, true)], [1, 2]);
    assert_eq!([class(10, false), class(11, false)], [1, 1]);
}

#[test]
fn the_yaps_rule_gives_free_tokens_only_to_what_fits() {
    let yaps = PhostParams { free_rule: FreeRule::Yaps, ..PhostParams::default() };
    let mut s = Script::new(yaps.clone());
    s.open_unsent(us(1), message_of(10));
    assert_eq!(s.sent_words(us(1))[..2], ["rts 10+10", "data 0"]);
    let mut s = Script::new(yaps);
    s.open_unsent(us(1), message_of(11));
    assert_eq!(s.sent_words(us(1)), ["rts 11+0"]);
    assert_eq!(s.receive_and_send(us(14), token_packet(0, 0)), ["data 0"]);
}

#[test]
fn a_token_sends_the_packet_it_names_once() {
    let mut s = Script::new(PhostParams::default());
    s.open_unsent(us(1), message_of(500));
    s.sent_words(us(1));
    s.receive_busy(us(20), token_packet(10, 37));
    let packet = s.poll_packet(us(20)).expect("data");
    assert_eq!((packet.index, packet.token, packet.count), (37, 10, 10));
    assert_eq!(packet.flags, PacketFlags(0));
    assert!(s.receive_and_send(us(20), token_packet(10, 37)).is_empty(), "a repeated token is used up");
    assert!(s.receive_and_send(us(20), token_packet(11, 500)).is_empty(), "nothing past the end");
    assert_eq!(s.receive_and_send(us(21), flagged_again(token_packet(12, 37))), ["data 37 again"]);
}

#[test]
fn a_token_expires_one_and_a_half_frame_times_after_its_arrival() {
    let mut s = Script::new(PhostParams::default());
    s.open_unsent(us(1), message_of(500));
    s.sent_words(us(1));
    s.receive_busy(us(20), token_packet(10, 10));
    s.receive_busy(us(20), token_packet(11, 11));
    let last = us(20) + slot_times(3) / 2;
    assert_eq!(s.poll_packet(last).map(|p| p.index), Some(10), "valid up to the last moment");
    assert_eq!(s.poll_packet(last + Time::ps(1)), None, "and no longer");
}

#[test]
fn free_tokens_expire_after_the_time_of_the_burst() {
    let mut s = Script::new(PhostParams::default());
    s.open_unsent(us(0), message_of(500));
    s.poll_packet(us(0));
    let last = slot_times(10) + slot_times(3) / 2;
    assert_eq!(s.poll_packet(last).map(|p| p.index), Some(0));
    assert_eq!(s.poll_packet(last + Time::ps(1)), None);
}

#[test]
fn in_arrival_mode_tokens_wait_for_their_turn() {
    let mut s = Script::new(arrival_params(Policy::Fair));
    s.open_unsent(us(0), message_of(500));
    s.poll_packet(us(0));
    s.receive_busy(us(1), Packet { lifetime: Time::MAX, ..token_packet(10, 10) });
    assert_eq!(s.sent_words(us(100_000)).len(), 11);
}

#[test]
fn a_token_issued_again_replaces_the_one_that_waits() {
    let mut s = Script::new(arrival_params(Policy::Fair));
    s.open_unsent(us(0), message_of(500));
    s.poll_packet(us(0));
    let for_ever = |p: Packet| Packet { lifetime: Time::MAX, ..p };
    s.receive_busy(us(1), for_ever(token_packet(10, 10)));
    s.receive_busy(us(30), for_ever(flagged_again(token_packet(11, 10))));
    s.receive_busy(us(30), for_ever(flagged_again(token_packet(12, 3))));
    let sent: Vec<_> = std::iter::from_fn(|| s.poll_packet(us(31))).map(|p| (p.index, p.token)).collect();
    let free = (0..10).map(|i| (i, i));
    assert_eq!(sent, free.chain([(10, 11)]).collect::<Vec<_>>());
}

#[test]
fn the_source_serves_the_message_with_the_fewest_packets_remaining() {
    let run = |source_scheduler| {
        let params = PhostParams { source_scheduler, free_tokens: 2, ..PhostParams::default() };
        let mut s = Script::new(params);
        s.open_unsent(us(1), message_of(500));
        s.open_unsent(us(1), Message { dst: OTHER, ..message_of(400) });
        s.receive_busy(us(2), token_from(PEER, 2, 2, 300));
        let sent = std::iter::from_fn(|| s.poll_packet(us(2))).filter(Packet::is_data);
        sent.map(|p| (p.dst.0, p.index)).collect::<Vec<_>>()
    };
    // The token says that 300 packets of the first are missing; the second has 400.
    // Of its tokens, the one that expires first goes first.
    assert_eq!(run(Policy::Srpt), [(1, 2), (1, 0), (1, 1), (2, 0), (2, 1)]);
    assert_eq!(run(Policy::Fair), [(1, 2), (2, 0), (1, 0), (2, 1), (1, 1)]);
}

#[test]
fn an_announcement_is_repeated_after_silence_with_a_doubling_timeout() {
    let mut s = Script::new(PhostParams::default());
    s.open_unsent(us(0), message_of(500));
    s.sent_words(us(0));
    let rts = one_word("rts 500+10 again");
    assert_eq!(
        s.effects_until(us(500)),
        [(us(60), rts.clone()), (us(180), rts.clone()), (us(420), rts.clone())]
    );
    s.receive_and_send(us(501), token_packet(0, 0));
    assert_eq!(s.effects_until(us(1000))[0], (us(561), rts), "a token resets the time-out");
}

#[test]
fn an_unresponsive_source_ignores_tokens_after_its_first_window() {
    let mut s = Script::new(PhostParams::default());
    s.open_unsent(us(1), Message { responsive: false, ..message_of(500) });
    assert_eq!(s.sent_words(us(1)).len(), 11);
    assert!(s.receive_and_send(us(13), token_packet(10, 10)).is_empty());
    assert!(s.receive_and_send(us(40), flagged_again(token_packet(11, 3))).is_empty());
}

#[test]
fn a_fair_start_takes_every_other_slot() {
    let mut s = Script::new(PhostParams::default());
    let initial_window = InitialWindow { share: 2, phase: 1, ..InitialWindow::default() };
    s.open_unsent(us(0), Message { initial_window, ..message_of(500) });
    assert_eq!(s.sent_words(us(0)), ["rts 500+5"]);
    let expected: Vec<_> = (0..5).map(|i| (slot_times(2 * i + 1), vec![format!("data {i}")])).collect();
    assert_eq!(s.effects_until(us(59)), expected, "half a bandwidth-delay product in the odd slots");
}

#[test]
fn finished_ends_the_message_at_its_source() {
    let mut s = Script::new(PhostParams::default());
    s.open_unsent(us(1), message_of(500));
    let finished = Packet::new(PacketKind::Finished, PEER, HERE, 0);
    assert_eq!(s.receive_and_send(us(2), finished), ["acknowledged", "rts 500+10"], "no data any more");
    assert!(s.receive_and_send(us(3), finished).is_empty());
    assert!(s.receive_and_send(us(3), token_packet(10, 10)).is_empty());
    assert_eq!(s.effects_until(Time::MAX), []);
    assert_eq!(s.machine.live_messages(), 0);
}

// ---- the paced receiver ---------------------------------------------------------------------------

#[test]
fn a_message_within_the_free_tokens_needs_no_token() {
    let mut s = Script::new(PhostParams::default());
    assert!(s.receive_and_send(us(10), rts_packet(10)).is_empty());
    for index in 0..9 {
        assert_eq!(
            s.receive_and_send(us(11) + slot_times(u64::from(index)), data_packet(10, index)),
            ["delivered 1460"]
        );
    }
    assert_eq!(
        s.receive_and_send(us(11) + slot_times(9), data_packet(10, 9)),
        ["delivered 1460", "completed", "finished"]
    );
    assert_eq!(s.effects_until(Time::MAX), [], "timers left over do nothing");
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn one_token_leaves_each_frame_time_from_the_first_packet_on() {
    let mut s = Script::new(PhostParams::default());
    assert!(s.receive_and_send(us(10), rts_packet(500)).is_empty(), "the free packets are on their way");
    assert_eq!(s.receive_and_send(us(11), data_packet(500, 0)), ["delivered 1460", "token 10"]);
    // Further packets arrive early: the pacer does not care.
    assert_eq!(s.receive_and_send(us(11), data_packet(500, 1)), ["delivered 1460"]);
    assert_eq!(s.receive_and_send(us(11), data_packet(500, 2)), ["delivered 1460"]);
    let paced = token_effects(&s.effects_until(us(11) + slot_times(3)));
    let expected: Vec<_> = (1..=3).map(|n| (us(11) + slot_times(n), format!("token {}", 10 + n))).collect();
    assert_eq!(paced, expected);
}

#[test]
fn a_token_says_what_its_source_must_know() {
    let mut s = Script::new(PhostParams::default());
    s.receive_busy(us(11), data_packet(500, 0));
    let token = s.poll_packet(us(11)).expect("a token");
    assert_eq!((token.index, token.token, token.remaining), (10, 10, 499));
    assert_eq!((token.src, token.dst, token.message, token.tag), (HERE, PEER, 0, 77));
    assert_eq!((token.lifetime, token.priority, token.wire), (slot_times(3) / 2, 0, 84));
}

#[test]
fn a_source_that_stays_silent_gets_the_limit_of_tokens_each_downgrade_time() {
    let mut s = Script::new(PhostParams::default());
    s.receive_busy(us(10), rts_packet(500));
    for index in 0..10 {
        s.receive_busy(us(11), data_packet(500, index));
    }
    s.sent_words(us(11));
    let all = token_effects(&s.effects_until(us(1000)));
    // The first of a dozen left at 11 us; the next dozen starts 30 slots after the last of it.
    let first: Vec<_> = (1..12).map(|n| us(11) + slot_times(n)).collect();
    assert_eq!(all[..11].iter().map(|t| t.0).collect::<Vec<_>>(), first);
    assert_eq!(all[11].0, us(11) + slot_times(11 + 30));
    let times: Vec<_> = all.iter().map(|t| t.0).collect();
    for (n, &from) in times.iter().enumerate() {
        let within = times[n..].iter().take_while(|&&t| t < from + RTT * 3).count();
        assert!(within <= LIMIT, "{within} tokens in the three round trips after {from}");
    }
    assert_eq!(all[23].1, "token 34", "always for further packets");
}

#[test]
fn an_answer_restores_a_downgraded_source() {
    let mut s = Script::new(PhostParams::default());
    for index in 0..10 {
        s.receive_busy(us(11), data_packet(500, index));
    }
    s.sent_words(us(11));
    assert_eq!(s.effects_until(us(11) + slot_times(20)).len(), 11, "downgraded after a dozen");
    let now = us(11) + slot_times(20);
    assert_eq!(s.receive_and_send(now, data_packet(500, 10)), ["delivered 1460", "token 22"]);
    assert_eq!(s.effects_until(now + slot_times(10)), [], "a dozen is out again");
}

#[test]
fn in_the_authors_simulator_a_receiver_sleeps_through_answers_and_then_gives_one_token() {
    let mut s = Script::new(PhostParams { restore: Restore::Token, ..PhostParams::default() });
    for index in 0..10 {
        s.receive_busy(us(11), data_packet(500, index));
    }
    s.sent_words(us(11));
    assert_eq!(s.effects_until(us(11) + slot_times(20)).len(), 11, "downgraded after a dozen");
    let answered = Packet { token: 12, ..data_packet(500, 12) };
    assert_eq!(s.receive_and_send(us(11) + slot_times(20), answered), ["delivered 1460"], "it sleeps on");
    // Thirty slots after the last token; three were answered, so that three are out again, and it sleeps.
    let woken = us(11) + slot_times(11 + 30);
    let three: Vec<_> =
        (0..3).map(|n| (woken + slot_times(n), one_word(&format!("token {}", 22 + n)))).collect();
    assert_eq!(s.effects_until(woken + slot_times(20)), three);
    // Nothing is answered any more: one token each thirty slots.
    let lone: Vec<_> =
        (1..4).map(|n| (woken + slot_times(2 + 30 * n), one_word(&format!("token {}", 24 + n)))).collect();
    assert_eq!(s.effects_until(woken + slot_times(2 + 100)), lone);
}

#[test]
fn missing_packets_get_new_tokens_when_all_were_asked_for() {
    let mut s = Script::new(PhostParams::default());
    s.receive_busy(us(10), rts_packet(12));
    // Packets 3 and 10 are lost.
    for index in (0..10).filter(|i| *i != 3) {
        s.receive_busy(us(11), data_packet(12, index));
    }
    assert_eq!(s.sent_words(us(11)), ["token 10"]);
    assert_eq!(s.effects_until(us(11) + slot_times(1)), [(us(11) + slot_times(1), one_word("token 11"))]);
    assert_eq!(s.receive_and_send(us(25), data_packet(12, 11)), ["delivered 1460"]);
    // The free packets were to leave within ten slots of the announcement; then a time-out of twelve.
    let resend = us(10) + slot_times(10 + 12);
    let expected =
        [(resend, one_word("token 3 again")), (resend + slot_times(1), one_word("token 10 again"))];
    assert_eq!(s.effects_until(resend + slot_times(11)), expected);
    let answer = |index, token| Packet { token, ..data_packet(12, index) };
    assert_eq!(s.receive_and_send(us(45), answer(10, 13)), ["delivered 1460"]);
    assert_eq!(s.receive_and_send(us(45), answer(3, 12)), ["delivered 1460", "completed", "finished"]);
}

#[test]
fn the_timeout_for_the_same_packets_doubles() {
    let mut s = Script::new(PhostParams::default());
    s.receive_busy(us(10), rts_packet(2));
    s.receive_busy(us(11), data_packet(2, 0));
    let all = token_effects(&s.effects_until(us(400)));
    // The free packets take two slots, then a time-out of twelve, 24, 48, ...
    let first = us(10) + slot_times(2 + 12);
    let expected =
        [0, 24, 24 + 48, 24 + 48 + 96].map(|n| (first + slot_times(n), "token 1 again".to_string()));
    assert_eq!(all, expected);
}

#[test]
fn data_doubles_as_the_announcement() {
    let mut s = Script::new(PhostParams::default());
    assert_eq!(s.receive_and_send(us(11), data_packet(500, 4)), ["delivered 1460", "token 10"]);
    assert!(s.receive_and_send(us(12), rts_packet(500)).is_empty(), "late and known");
    assert_eq!(s.machine.live_messages(), 1);
}

#[test]
fn a_repeated_announcement_of_an_unknown_message_asks_for_everything() {
    let mut s = Script::new(PhostParams::default());
    assert_eq!(s.receive_and_send(us(70), flagged_again(rts_packet(500))), ["token 0 again"]);
    let next: Vec<_> =
        token_effects(&s.effects_until(us(70) + slot_times(2))).into_iter().map(|t| t.1).collect();
    assert_eq!(next, ["token 1 again", "token 2 again"]);
}

#[test]
fn nothing_of_a_first_window_but_the_announcement() {
    let mut s = Script::new(PhostParams::default());
    assert!(s.receive_and_send(us(10), rts_packet(500)).is_empty());
    let all = token_effects(&s.effects_until(us(10) + slot_times(40)));
    // A round trip after the free packets should have left, tokens start without them.
    assert_eq!(all[0], (us(10) + slot_times(10) + RTT, "token 10".to_string()));
    assert_eq!(all[1], (us(10) + slot_times(11) + RTT, "token 11".to_string()));
}

#[test]
fn the_receiver_serves_one_message_first_or_all_in_turn() {
    let run = |scheduler| {
        let mut s = Script::new(PhostParams { scheduler, hold_back: false, ..PhostParams::default() });
        s.receive_busy(us(10), rts_from(PEER, 500));
        s.receive_busy(us(10), rts_from(OTHER, 100));
        s.receive_busy(us(11), data_from(PEER, 500, 0));
        s.receive_busy(us(11), data_from(OTHER, 100, 0));
        let first = s.poll_packet(us(11)).map(|p| p.dst.0);
        let mut to: Vec<_> = first.into_iter().collect();
        for n in 1..4 {
            s.machine.handle_timeout(us(11) + slot_times(n));
            s.drain_events();
            to.extend(s.poll_packet(us(11) + slot_times(n)).map(|p| p.dst.0));
        }
        to
    };
    // The first token was issued before the shorter message was there.
    assert_eq!(run(Policy::Srpt), [1, 2, 2, 2]);
    assert_eq!(run(Policy::Fair), [1, 2, 1, 2]);
}

#[test]
fn an_announcement_holds_the_pacer_back_for_packets_on_top_of_a_full_pipe() {
    let first_token_after = |hold_back| {
        let mut s = Script::new(PhostParams { hold_back, ..PhostParams::default() });
        s.receive_busy(us(10), rts_from(PEER, 500));
        s.receive_and_send(us(11), data_from(PEER, 500, 0));
        // Ten are awaited; eight free ones come on top.
        s.receive_busy(us(12), rts_from(OTHER, 8));
        token_effects(&s.effects_until(us(60)))[0].0
    };
    assert_eq!(first_token_after(false), us(11) + slot_times(1));
    assert_eq!(first_token_after(true), us(11) + slot_times(1 + 8));
}

#[test]
fn a_finished_message_is_acknowledged_again() {
    let mut s = Script::new(PhostParams::default());
    assert_eq!(s.receive_and_send(us(10), data_packet(1, 0)), ["delivered 1460", "completed", "finished"]);
    assert_eq!(s.receive_and_send(us(70), data_packet(1, 0)), ["finished"]);
    assert_eq!(s.receive_and_send(us(71), flagged_again(rts_packet(1))), ["finished"]);
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn a_duplicate_is_delivered_once() {
    let mut s = Script::new(PhostParams::default());
    assert_eq!(s.receive_and_send(us(11), data_packet(500, 0)), ["delivered 1460", "token 10"]);
    assert!(s.receive_and_send(us(11), data_packet(500, 0)).is_empty());
}

// ---- the receiver that answers arrivals ------------------------------------------------------------

#[test]
fn each_arrival_becomes_one_token_at_once() {
    let mut s = Script::new(arrival_params(Policy::Fair));
    assert!(s.receive_and_send(us(10), rts_packet(500)).is_empty());
    assert_eq!(s.receive_and_send(us(11), data_packet(500, 0)), ["delivered 1460", "token 10"]);
    assert_eq!(s.receive_and_send(us(11), data_packet(500, 1)), ["delivered 1460", "token 11"]);
    assert_eq!(
        s.receive_and_send(us(11), data_packet(500, 5)),
        ["delivered 1460", "token 12"],
        "out of order too"
    );
    assert!(s.receive_and_send(us(11), data_packet(500, 5)).is_empty(), "a duplicate earns nothing");
}

#[test]
fn an_overdue_packet_is_asked_for_again_alone_with_a_doubling_timeout() {
    let mut s = Script::new(arrival_params(Policy::Fair));
    s.receive_busy(us(10), rts_packet(12));
    for index in 0..10 {
        s.receive_and_send(us(11), data_packet(12, index));
    }
    // Tokens 10 and 11 left at 11 us; the largest round trip and two slots later they are overdue.
    assert_eq!(s.receive_and_send(us(20), data_packet(12, 11)), ["delivered 1460"]);
    let overdue = us(11 + 20) + slot_times(2);
    let wait = us(20) + slot_times(2);
    let again = one_word("token 10 again");
    let expected =
        [(overdue, again.clone()), (overdue + wait * 2, again.clone()), (overdue + wait * 6, again.clone())];
    assert_eq!(s.effects_until(overdue + wait * 7), expected);
    assert_eq!(s.receive_and_send(us(300), data_packet(12, 10)), ["delivered 1460", "completed", "finished"]);
}

#[test]
fn tokens_that_no_arrival_clocks_are_paced() {
    let mut s = Script::new(arrival_params(Policy::Fair));
    s.receive_busy(us(10), rts_packet(500));
    let all = token_effects(&s.effects_until(us(10) + us(20) + slot_times(2 + 10 + 1)));
    // Free packets are overdue one by one, as they should have left.
    let first = us(10) + us(20) + slot_times(2);
    let expected: Vec<_> = (0..10).map(|n| (first + slot_times(n + 1), format!("token {n} again"))).collect();
    assert_eq!(all, expected);
    let mut s = Script::new(arrival_params(Policy::Fair));
    assert_eq!(
        s.receive_and_send(us(70), flagged_again(rts_packet(500))),
        ["token 0 again"],
        "all lost: a new window, paced"
    );
    assert_eq!(token_effects(&s.effects_until(us(70) + slot_times(15))).len(), 9);
}

#[test]
fn a_packet_that_comes_late_takes_the_place_of_the_token_issued_again() {
    let mut s = Script::new(arrival_params(Policy::Fair));
    s.receive_busy(us(10), Packet { count: 1, lifetime: SLOT, ..rts_packet(500) });
    assert_eq!(s.effects_until(us(35)).len(), 1, "token 0 again");
    assert_eq!(s.receive_and_send(us(36), data_packet(500, 0)), ["delivered 1460", "token 1"]);
    assert!(
        s.receive_and_send(us(37), flagged_again(Packet { token: 1, ..data_packet(500, 0) })).is_empty(),
        "one packet, one token"
    );
    assert_eq!(s.effects_until(us(57)), [], "and nothing is overdue twice");
}

/// Two messages to this host: the first of `packets`, the second long; both in the middle of their run.
fn last_hop(scheduler: Policy, packets: u64) -> Script {
    let mut s = Script::new(arrival_params(scheduler));
    let half = |p: Packet| Packet { count: 5, ..p };
    s.receive_busy(us(10), half(rts_from(PEER, packets)));
    s.receive_busy(us(10), half(rts_from(OTHER, 500)));
    s
}

#[test]
fn the_tokens_of_a_finished_message_go_to_another_after_the_downgrade_time() {
    // AMRT §III-B, Fig. 3.
    let mut s = last_hop(Policy::Fair, 8);
    let from = |src, packets, index| Packet { count: 5, ..data_from(src, packets, index) };
    for index in 0..8 {
        let expected = if index < 3 { vec![format!("token {}", index + 5)] } else { vec![] };
        let out = s.receive_and_send(us(20) + slot_times(u64::from(index)), from(PEER, 8, index));
        assert_eq!(out.into_iter().filter(|w| w.starts_with("token")).collect::<Vec<_>>(), expected);
    }
    for index in 0..5 {
        assert_eq!(s.receive_and_send(us(30), from(OTHER, 500, index))[1], format!("token {}", index + 5));
    }
    assert_eq!(s.effects_until(us(52)), [], "nothing passes on before");
    for index in 5..10 {
        s.receive_and_send(us(52), from(OTHER, 500, index));
    }
    // Three tokens were given to it: three of its last five arrivals pass on, each thirty slots later.
    let passed = token_effects(&s.effects_until(us(20) + slot_times(10) + RTT * 3));
    let expected: Vec<_> =
        (0..3).map(|n| (us(20) + slot_times(3 + n) + RTT * 3, format!("token {}", 15 + n))).collect();
    assert_eq!(passed, expected);
}

#[test]
fn a_message_that_was_given_no_token_passes_none_on() {
    let mut s = last_hop(Policy::Fair, 5);
    for index in 0..5 {
        s.receive_and_send(us(20), Packet { count: 5, ..data_from(PEER, 5, index) });
        s.receive_and_send(us(20), Packet { count: 5, ..data_from(OTHER, 500, index) });
    }
    let extra = s.effects_until(us(20) + RTT * 4).into_iter().flat_map(|e| e.1);
    assert_eq!(extra.filter(|w| !w.ends_with("again")).count(), 0);
}

#[test]
fn a_slot_that_waits_for_the_pacer_passes_on_when_its_message_ends() {
    let mut s = Script::new(arrival_params(Policy::Fair));
    s.receive_busy(us(10), Packet { count: 5, lifetime: Time::ZERO, ..rts_from(OTHER, 500) });
    for index in 0..11 {
        s.receive_busy(us(10), Packet { count: 5, ..data_from(PEER, 12, index) });
    }
    assert_eq!(s.sent_words(us(10)).len(), 7);
    // At the same instant the first window of OTHER and packet 11 of PEER are overdue; OTHER is first.
    let overdue = us(10 + 20) + slot_times(2);
    assert_eq!(s.effects_until(overdue), [(overdue, one_word("token 0 again"))]);
    assert_eq!(
        s.receive_and_send(us(33), data_from(PEER, 12, 11)),
        ["delivered 1460", "completed", "finished"]
    );
    // Of eleven arrivals seven had a use; four slots and the one that waited go to OTHER.
    let fresh = |effects: Vec<(Time, Vec<String>)>| {
        let fresh = effects.into_iter().filter(|e| !e.1[0].ends_with("again"));
        fresh.map(|e| (e.0, e.1[0].clone())).collect::<Vec<_>>()
    };
    let passed: Vec<_> =
        (0..4).map(|n| (us(10) + RTT * 3 + slot_times(n), format!("token {}", 5 + n))).collect();
    assert_eq!(fresh(s.effects_until(us(60))), passed);
    for index in 5..9 {
        let answer = Packet { count: 5, token: index + 5, ..data_from(OTHER, 500, index) };
        assert_eq!(s.receive_and_send(us(60), answer)[1], format!("token {}", index + 4));
    }
    assert_eq!(fresh(s.effects_until(us(75))), [(us(33) + RTT * 3, "token 13".to_string())]);
}

#[test]
fn srpt_feeds_the_shorter_message_and_returns_what_it_took() {
    // AMRT §VII: the long message stops until the short one has all its tokens.
    let mut s = last_hop(Policy::Srpt, 9);
    let long = |index| Packet { count: 5, ..data_from(OTHER, 500, index) };
    let short = |index| Packet { count: 5, ..data_from(PEER, 9, index) };
    let to = |out: Vec<String>, s: &str| out.iter().filter(|w| w.starts_with(s)).count();
    // Four arrivals of the long one, four tokens for the rest of the short one.
    s.receive_busy(us(20), short(0));
    s.receive_busy(us(20), long(0));
    s.receive_busy(us(20), long(1));
    s.receive_busy(us(20), long(2));
    let out: Vec<_> = std::iter::from_fn(|| s.poll_packet(us(20))).map(|p| (p.dst, p.index)).collect();
    assert_eq!(out, [(PEER, 5), (PEER, 6), (PEER, 7), (PEER, 8)]);
    // It has asked for everything: arrivals, its own too, feed the long one at once.
    assert_eq!(to(s.receive_and_send(us(21), long(3)), "token 5"), 1);
    assert_eq!(to(s.receive_and_send(us(21), short(1)), "token 6"), 1);
}

#[test]
fn a_silent_source_is_downgraded_and_its_tokens_serve_others() {
    let mut s = last_hop(Policy::Fair, 400);
    let from = |src, packets, index| Packet { count: 5, ..data_from(src, packets, index) };
    for index in 0..5 {
        s.receive_and_send(us(20), from(PEER, 400, index));
    }
    // PEER has five tokens out and answers none; OTHER answers each at once, one round trip later.
    let (mut now, mut next, mut given) = (us(20), 0, Vec::new());
    let (mut awaiting, mut asked) = (Vec::new(), 0);
    awaiting.extend((0..5).map(|i| (us(20) + slot_times(i), i as u32)));
    while now < us(600) {
        let due = s.machine.next_timeout().unwrap_or(Time::MAX);
        awaiting.sort();
        let arrives = awaiting.first().map_or(Time::MAX, |a| a.0);
        now = due.min(arrives);
        if due <= arrives {
            s.machine.handle_timeout(now);
        } else {
            let (_, index) = awaiting.remove(0);
            s.machine.receive_packet(now, &Packet { token: asked, ..from(OTHER, 500, index) });
            asked += 1;
        }
        s.drain_events();
        while let Some(p) = s.poll_packet(now) {
            match p.dst {
                OTHER => {
                    next = next.max(p.index);
                    awaiting.push((now + RTT, p.index));
                }
                _ => given.push(now),
            }
        }
    }
    assert_eq!(awaiting.len(), 10, "its own five tokens circulate, and the five that were lent");
    assert!(next > 300);
    for (n, &from) in given.iter().enumerate() {
        let within = given[n..].iter().take_while(|&&t| t < from + RTT * 3).count();
        assert!(
            within <= LIMIT,
            "{within} tokens to the silent source in the three round trips after {from}"
        );
    }
}

#[test]
fn a_downgrade_may_last_frame_times() {
    let mut s = Script::new(PhostParams { downgrade_frames: 50, ..PhostParams::default() });
    for index in 0..10 {
        s.receive_busy(us(11), data_packet(500, index));
    }
    s.sent_words(us(11));
    let all = token_effects(&s.effects_until(us(1000)));
    assert_eq!(all[11].0, us(11) + slot_times(11 + 50), "the last of a dozen, and fifty frames");
}

#[test]
fn what_is_missing_of_a_short_message_is_asked_for_after_some_frames_a_packet() {
    let first = |short_wait| {
        let mut s = Script::new(PhostParams { short_wait, ..PhostParams::default() });
        s.receive_busy(us(10), rts_packet(4));
        s.receive_busy(us(12), data_packet(4, 0));
        let all = token_effects(&s.effects_until(us(1000)));
        (all[0].0, all[1].0)
    };
    let usual = first(0.0);
    // Twice four frames, and from then on as ever: a token a frame.
    assert_eq!(first(2.0), (us(10) + slot_times(8), us(10) + slot_times(9)));
    assert_eq!(first(20.0).0, us(10) + slot_times(80));
    assert!(usual.0 > us(10) + slot_times(8), "{usual:?}");
    // A message beyond its free tokens does not wait like this.
    let mut long = Script::new(PhostParams { short_wait: 2.0, ..PhostParams::default() });
    let mut plain = Script::new(PhostParams::default());
    for s in [&mut long, &mut plain] {
        s.receive_busy(us(10), rts_packet(11));
        s.receive_busy(us(12), data_packet(11, 0));
    }
    assert_eq!(long.effects_until(us(500)), plain.effects_until(us(500)));
}
