//! dcPIM packet by packet: inputs, expected outputs, and their times.
//!
//! A round lasts 20 us, and an epoch of four rounds 80 us: requests leave at 0, 20, 40 and 60 us, offers at 10, 30, 50 and 70 us,
//! and the data phase of an epoch begins with the next one. The bandwidth-delay product is 10 packets, and one of the four
//! channels carries 16 packets in a data phase. Outputs are written as words: `rts 20 (0)` (a message of 20 packets, none of
//! which is free), `ask 4+2 of 100 in 1.3` (four channels, two of them at once, for 100 packets, in round 3 of epoch 1), `offer` and
//! `take` in the same form, `token 3` or `token 3 #7` (where the token's number is not that of the packet), `data 3`, `finished`.

use crate::script;
#[path = "packets.rs"]
mod packets;

use headway_packet::{HostId, Packet, PacketFlags, PacketKind, Sizes, TypedView};
use headway_transport::dcpim::{Dcpim, DcpimEndpoint, DcpimParams};
use headway_transport::endpoint::Checked;
use headway_transport::{Endpoint, HostContext, Message, Transport};
use headway_units::Time;
use packets::{Busy, Credit, Data, Rts, Token};
use script::{FULL, HERE, OTHER, PEER, Steps, host_context, message_of, us};

// A full frame at 10 Gb/s.
const SLOT: Time = Time(1_230_400);
/// Rounds and epochs in one number, as packets carry them.
const EPOCH: u64 = 100;
/// Ranks of tokens: those of prompt matches come after those of a data phase.
const FIRST_RANK: u32 = 2;
const PROMPT_RANK: u32 = 7;

fn script_params() -> DcpimParams {
    DcpimParams { control_rtt: us(10), beta: 2.0, ..DcpimParams::default() }
}

struct Script {
    machine: Checked<DcpimEndpoint>,
}

impl Script {
    fn new(params: &DcpimParams) -> Script {
        Script::at_host(HERE, params)
    }

    fn at_host(host: HostId, params: &DcpimParams) -> Script {
        let context = HostContext { host, ..host_context(SLOT * 10, us(20), 0) };
        Script { machine: Checked::new(Dcpim::make_endpoint(params, context)) }
    }

    /// Opens a message while the wire is busy.
    fn open_unsent(&mut self, now: Time, message: Message) {
        self.machine.open_message(now, &message);
        assert_eq!(self.drain_events(), no_words());
    }

    /// A deadline is met while the wire is busy.
    fn wake_at(&mut self, now: Time) {
        self.machine.handle_timeout(now);
        assert_eq!(self.drain_events(), no_words());
    }

    /// Deadlines met up to `until`, with the packets of the matching that left: neither tokens nor data.
    fn matching_effects(&mut self, until: Time) -> Vec<(Time, Vec<String>)> {
        let mut out = self.effects_until(until);
        out.iter_mut().for_each(|(_, words)| words.retain(|word| !word.starts_with("token")));
        out.retain(|(_, words)| !words.is_empty());
        out
    }

    /// Tokens that left up to `until`, with their times.
    fn token_effects(&mut self, until: Time) -> Vec<(Time, String)> {
        let effects = self.effects_until(until);
        let each = effects.into_iter().flat_map(|(at, words)| words.into_iter().map(move |word| (at, word)));
        each.filter(|(_, word)| word.starts_with("token")).collect()
    }
}

impl Steps for Script {
    type Machine = DcpimEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<DcpimEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        let again = if packet.flags.has_all(PacketFlags::AGAIN) { " again" } else { "" };
        let bid = |channels, prompt, packets, round: u64| {
            format!("{channels}+{prompt} of {packets} in {}.{}", round / EPOCH, round % EPOCH)
        };
        let numbered = |index, number| match index == number {
            true => format!("{index}"),
            false => format!("{index} #{number}"),
        };
        match packet.kind {
            PacketKind::Rts => {
                let Rts { window, message_bytes } = Rts::from_packet(packet);
                format!("rts {} ({window})", Sizes::default().packets_of(message_bytes))
            }
            PacketKind::Credit => {
                let Credit { stage, channels, prompt, round, packets } = Credit::from_packet(packet);
                format!("{} {}", ["ask", "take"][stage as usize], bid(channels, prompt, packets, round))
            }
            PacketKind::Busy => {
                let Busy { channels, prompt, round, packets } = Busy::from_packet(packet);
                format!("offer {}", bid(channels, prompt, packets, round))
            }
            PacketKind::Token => {
                let Token { index, number, .. } = Token::from_packet(packet);
                format!("token {}", numbered(index, number))
            }
            PacketKind::Data => {
                let Data { index, number, .. } = Data::from_packet(packet);
                format!("data {}{again}", numbered(index, number))
            }
            kind => kind.name().into(),
        }
    }
}

fn control_packet(kind: PacketKind, from: HostId) -> Packet {
    Packet { tag: 70 + from.0, ..Packet::new(kind, from, HERE, 0) }
}

/// Announcement of a message of `from`, of which `window` packets are free.
fn rts_packet(from: HostId, packets: u64, window: u32) -> Packet {
    Rts { window, message_bytes: packets * FULL }.put_on(control_packet(PacketKind::Rts, from))
}

/// Packet `index` of that message, sent by token `number`.
fn data_packet(from: HostId, packets: u64, window: u32, index: u32, number: u32) -> Packet {
    let view = Data { index, window, message_bytes: packets * FULL, number };
    Packet { payload: FULL as u16, wire: 1538, ..view.put_on(control_packet(PacketKind::Data, from)) }
}

/// `from` asks for `channels` for message 0 of this host, as many of them at once, in a round such as `103`: round 3 of epoch 1.
fn ask_packet(from: HostId, channels: u32, packets: u32, round: u64) -> Packet {
    Credit { stage: 0, channels, prompt: channels, round, packets }
        .put_on(control_packet(PacketKind::Credit, from))
}

/// `from` takes `channels` of those that it was offered, `prompt` of them at once.
fn take_packet(from: HostId, channels: u32, prompt: u32, round: u64) -> Packet {
    Credit { stage: 1, channels, prompt, round, packets: 100 }
        .put_on(control_packet(PacketKind::Credit, from))
}

/// `from` offers `channels` to this host, as many of them at once.
fn offer_packet(from: HostId, channels: u32, packets: u32, round: u64) -> Packet {
    Busy { channels, prompt: channels, round, packets }.put_on(control_packet(PacketKind::Busy, from))
}

/// `PEER` permits packet `index` of message `id` of this host, of which `left` are to come.
fn token_packet(id: u32, index: u32, rank: u32, left: u64) -> Packet {
    let view = Token { index, count: 1, number: index, rank, packets: left, lifetime: us(20) };
    Packet { message: id, ..view.put_on(control_packet(PacketKind::Token, PEER)) }
}

fn numbered_words(what: &str, numbers: std::ops::Range<u32>) -> Vec<String> {
    numbers.map(|n| format!("{what} {n}")).collect()
}

fn no_words() -> Vec<String> {
    Vec::new()
}

/// Effects at one time, in the form of [`Steps::effects_until`].
fn effect_at(time: u64, what: &[&str]) -> (Time, Vec<String>) {
    (us(time), what.iter().map(|word| word.to_string()).collect())
}

// ---- the sender -----------------------------------------------------------------------------------

#[test]
fn a_message_of_a_bandwidth_delay_product_is_free_and_a_longer_one_waits_for_tokens() {
    let mut s = Script::new(&script_params());
    assert_eq!(
        s.open_message(us(1), message_of(10)),
        [vec!["rts 10 (10)".into()], numbered_words("data", 0..10)].concat()
    );
    let mut s = Script::new(&script_params());
    assert_eq!(s.open_message(us(1), message_of(11)), ["rts 11 (0)"]);
}

#[test]
fn the_class_of_data_follows_from_the_size_of_its_message() {
    for (packets, class) in [(1, 1), (7, 1), (8, 2), (10, 2), (49, 2), (50, 3), (344, 4)] {
        let mut s = Script::new(&script_params());
        s.open_unsent(us(1), message_of(packets));
        assert_eq!(s.poll_packet(us(1)).expect("an announcement").priority, 0);
        s.receive_busy(us(2), token_packet(0, 0, FIRST_RANK, packets));
        assert_eq!(s.poll_packet(us(2)).expect("data").priority, class, "{packets} packets");
    }
}

#[test]
fn a_sender_answers_in_the_middle_of_a_round_what_has_come_by_then() {
    // Time at which a request arrives, the round that it belongs to, and the time of the answer.
    for (arrives, round, answered) in
        [(5, 101, 10), (12, 101, 30), (25, 102, 30), (75, 104, 90), (5, 102, 30)]
    {
        let mut s = Script::new(&script_params());
        s.open_message(us(0), message_of(100));
        assert_eq!(s.receive_and_send(us(arrives), ask_packet(PEER, 4, 100, round)), no_words());
        let offered = format!("offer 4+4 of 100 in 1.{}", round - 100);
        assert_eq!(s.effects_until(us(150)), [effect_at(answered, &[&offered])], "arrives at {arrives} us");
    }
}

#[test]
fn the_first_round_goes_by_size_and_later_ones_by_lot() {
    let first = |round: u64| {
        let mut s = Script::new(&script_params());
        s.open_message(us(0), message_of(100));
        s.open_message(us(0), Message { dst: OTHER, ..message_of(100) });
        let asked = us(round % EPOCH * 20 - 15) + us(80) * (round / EPOCH - 1);
        s.effects_until(asked);
        s.receive_busy(asked, ask_packet(PEER, 4, 100, round));
        s.receive_busy(asked, ask_packet(OTHER, 4, 50, round));
        s.wake_at(asked + us(5));
        let offers = s.poll_packets(asked + us(5));
        assert_eq!(offers.len(), 1, "the first takes all four channels");
        offers[0].dst
    };
    assert!((1..20).all(|epoch| first(epoch * EPOCH + 1) == OTHER), "50 packets before 100");
    let larger = (1..20).filter(|epoch| first(epoch * EPOCH + 2) == PEER).count();
    assert!((4..16).contains(&larger), "{larger} of 19");
}

#[test]
fn of_equal_requests_and_offers_that_of_the_message_that_began_first_comes_first() {
    // At the sender, by the time at which it opened them, whichever receiver asked first; of two that began together,
    // the one that asked first.
    for (peer, other, first) in [(1, 0, OTHER), (0, 1, PEER), (0, 0, OTHER)] {
        let mut s = Script::new(&script_params());
        let (early, late) = (Message { dst: OTHER, ..message_of(100) }, message_of(100));
        for at in 0..2 {
            [(other, early), (peer, late)].iter().filter(|(when, _)| *when == at).for_each(|(_, message)| {
                s.open_message(us(at), *message);
            });
        }
        s.receive_and_send(us(5), ask_packet(OTHER, 4, 100, 101));
        s.receive_and_send(us(6), ask_packet(PEER, 4, 100, 101));
        s.wake_at(us(10));
        let offers = s.poll_packets(us(10));
        assert_eq!(offers.iter().map(|offer| offer.dst).collect::<Vec<_>>(), [first]);
    }
    // At the receiver, by when they were announced.
    for (peer, other, first) in [(70, 71, PEER), (71, 70, OTHER)] {
        let mut s = Script::new(&script_params());
        for at in 70..72 {
            [(peer, PEER), (other, OTHER)].iter().filter(|(when, _)| *when == at).for_each(|(_, from)| {
                s.receive_and_send(us(at), rts_packet(*from, 100, 0));
            });
        }
        s.effects_until(us(85));
        s.receive_and_send(us(95), offer_packet(OTHER, 4, 100, 201));
        s.receive_and_send(us(95), offer_packet(PEER, 4, 100, 201));
        s.wake_at(us(100));
        let taken = s.poll_packets(us(100)).into_iter().find(|packet| Credit::from_packet(packet).stage == 1);
        assert_eq!(taken.expect("one takes").dst, first, "announced at {peer} us and {other} us");
    }
}

#[test]
fn epochs_begin_at_the_origin() {
    // 30 us later than from time 0 on; a whole number of epochs later changes nothing.
    for (origin, asks, offers) in [(0, 80, 90), (30, 110, 120), (30 + 80, 110, 120)] {
        let params = DcpimParams { origin: us(origin), ..script_params() };
        let mut s = Script::new(&params);
        s.receive_and_send(us(asks - 5), rts_packet(PEER, 100, 0));
        assert_eq!(s.matching_effects(us(asks + 5)), [effect_at(asks, &["ask 4+4 of 100 in 2.1"])]);
        let mut s = Script::new(&params);
        s.open_message(us(0), message_of(100));
        s.receive_and_send(us(offers - 5), ask_packet(PEER, 4, 100, 201));
        assert_eq!(s.effects_until(us(offers + 5)), [effect_at(offers, &["offer 4+4 of 100 in 2.1"])]);
    }
}

#[test]
fn what_the_first_leaves_is_offered_to_the_next() {
    let mut s = Script::new(&script_params());
    s.open_message(us(0), message_of(100));
    s.open_message(us(0), Message { dst: OTHER, ..message_of(11) });
    s.receive_and_send(us(5), ask_packet(PEER, 4, 100, 101));
    s.receive_and_send(us(5), ask_packet(OTHER, 1, 11, 101));
    assert_eq!(
        s.effects_until(us(15)),
        [effect_at(10, &["offer 1+1 of 11 in 1.1", "offer 3+3 of 100 in 1.1"])]
    );
}

#[test]
fn channels_that_were_taken_are_not_offered_again_in_this_epoch_and_those_that_were_not_are() {
    let mut s = Script::new(&script_params());
    s.open_message(us(0), message_of(100));
    s.open_message(us(0), Message { dst: OTHER, ..message_of(100) });
    s.receive_and_send(us(5), ask_packet(PEER, 4, 100, 101));
    assert_eq!(s.effects_until(us(15)), [effect_at(10, &["offer 4+4 of 100 in 1.1"])]);
    // Nothing was taken by the next round: all are offered again.
    s.receive_and_send(us(25), ask_packet(OTHER, 4, 100, 102));
    assert_eq!(s.effects_until(us(35)), [effect_at(30, &["offer 4+4 of 100 in 1.2"])]);
    s.receive_and_send(us(45), take_packet(OTHER, 3, 1, 102));
    s.receive_and_send(us(45), ask_packet(PEER, 4, 100, 103));
    assert_eq!(s.effects_until(us(55)), [effect_at(50, &["offer 1+1 of 100 in 1.3"])]);
    s.receive_and_send(us(65), take_packet(PEER, 1, 1, 103));
    s.receive_and_send(us(65), ask_packet(OTHER, 4, 100, 104));
    assert_eq!(s.effects_until(us(75)), []);
    // The next epoch has all channels, and none of them at once: their data flows now.
    s.receive_and_send(us(85), ask_packet(PEER, 4, 100, 201));
    assert_eq!(s.effects_until(us(95)), [effect_at(90, &["offer 4+0 of 100 in 2.1"])]);
    // An epoch later the links of the first are free.
    s.receive_and_send(us(165), ask_packet(PEER, 4, 100, 301));
    assert_eq!(s.effects_until(us(175)), [effect_at(170, &["offer 4+4 of 100 in 3.1"])]);
}

#[test]
fn an_offer_that_a_slow_wire_has_not_taken_by_the_next_round_is_not_sent() {
    let mut s = Script::new(&script_params());
    s.open_message(us(0), message_of(100));
    s.receive_busy(us(5), ask_packet(PEER, 4, 100, 101));
    s.wake_at(us(10));
    s.receive_busy(us(25), ask_packet(PEER, 4, 100, 102));
    s.wake_at(us(30));
    assert_eq!(s.sent_words(us(30)), ["offer 4+4 of 100 in 1.2"]);
}

#[test]
fn tokens_are_used_by_rank_and_then_by_what_is_left_of_their_message() {
    let mut s = Script::new(&script_params());
    s.open_message(us(0), message_of(100));
    s.open_message(us(0), Message { id: 1, ..message_of(50) });
    for (id, index, rank, left) in [(0, 0, PROMPT_RANK, 99), (0, 1, 3, 98), (1, 5, 3, 44), (1, 6, 3, 43)] {
        s.receive_busy(us(10), token_packet(id, index, rank, left));
    }
    assert_eq!(s.sent_words(us(10)), ["data 5", "data 6", "data 1", "data 0"]);
    // A message of a bandwidth-delay product comes before all of them.
    s.receive_busy(us(11), token_packet(0, 2, FIRST_RANK, 97));
    assert_eq!(s.open_message(us(11), Message { id: 2, ..message_of(1) }), ["rts 1 (1)", "data 0", "data 2"]);
}

#[test]
fn a_token_is_good_for_one_packet_until_it_expires() {
    let mut s = Script::new(&script_params());
    s.open_message(us(0), message_of(100));
    assert_eq!(s.receive_and_send(us(10), token_packet(0, 7, FIRST_RANK, 92)), ["data 7"]);
    assert_eq!(s.receive_and_send(us(11), token_packet(0, 7, FIRST_RANK, 92)), ["data 7 again"]);
    assert_eq!(
        s.receive_and_send(us(12), token_packet(0, 100, FIRST_RANK, 0)),
        no_words(),
        "the message has no such packet"
    );
    assert_eq!(
        s.receive_and_send(us(12), token_packet(1, 0, FIRST_RANK, 0)),
        no_words(),
        "there is no such message"
    );
    s.receive_busy(us(20), token_packet(0, 8, FIRST_RANK, 91));
    assert_eq!(s.sent_words(us(40)), ["data 8"], "until 20 us after its arrival");
    s.receive_busy(us(50), token_packet(0, 9, FIRST_RANK, 90));
    assert_eq!(s.sent_words(Time(us(70).0 + 1)), no_words());
}

#[test]
fn a_message_that_hears_nothing_is_announced_again_and_waits_twice_as_long() {
    // Three largest round trips and two epochs: 220 us.
    let mut s = Script::new(&script_params());
    s.open_message(us(1), message_of(100));
    assert_eq!(
        s.effects_until(us(1000)),
        [effect_at(221, &["rts 100 (0)"]), effect_at(661, &["rts 100 (0)"])]
    );
    s.receive_and_send(us(1000), ask_packet(PEER, 4, 100, 1303));
    assert_eq!(
        s.effects_until(us(1300)),
        [effect_at(1010, &["offer 4+4 of 100 in 13.3"]), effect_at(1220, &["rts 100 (0)"])]
    );
    assert_eq!(s.receive_and_send(us(1300), control_packet(PacketKind::Finished, PEER)), ["acknowledged"]);
    assert_eq!((s.effects_until(us(9000)), s.machine.live_messages()), (vec![], 0));
}

// ---- the receiver ---------------------------------------------------------------------------------

#[test]
fn a_receiver_asks_in_the_next_round_for_the_channels_that_a_message_needs() {
    // A channel carries 16 packets in a data phase.
    for (packets, channels) in [(11, 1), (16, 1), (17, 2), (48, 3), (49, 4), (1000, 4)] {
        let mut s = Script::new(&script_params());
        assert_eq!(s.receive_and_send(us(5), rts_packet(PEER, packets, 0)), no_words());
        let asked = |round| format!("ask {channels}+{channels} of {packets} in 1.{round}");
        assert_eq!(
            s.effects_until(us(45)),
            [effect_at(20, &[&asked(2)]), effect_at(40, &[&asked(3)])],
            "{packets} packets; and again in each round until something is offered"
        );
    }
    let mut s = Script::new(&DcpimParams { prompt: false, ..script_params() });
    s.receive_and_send(us(5), rts_packet(PEER, 100, 0));
    assert_eq!(s.effects_until(us(25)), [effect_at(20, &["ask 4+0 of 100 in 1.2"])]);
}

#[test]
fn every_sender_is_asked_for_its_smallest_message() {
    let mut s = Script::new(&script_params());
    s.receive_and_send(us(5), rts_packet(PEER, 100, 0));
    s.receive_and_send(us(5), Packet { message: 1, ..rts_packet(PEER, 30, 0) });
    s.receive_and_send(us(5), rts_packet(OTHER, 20, 0));
    assert_eq!(s.effects_until(us(25)), [effect_at(20, &["ask 2+2 of 30 in 1.2", "ask 2+2 of 20 in 1.2"])]);
}

#[test]
fn a_receiver_takes_the_smallest_offer_of_the_first_round_and_asks_for_what_it_still_has_free() {
    let mut s = Script::new(&script_params());
    s.receive_and_send(us(75), rts_packet(PEER, 100, 0));
    s.receive_and_send(us(75), rts_packet(OTHER, 40, 0));
    assert_eq!(
        s.matching_effects(us(85)),
        [effect_at(80, &["ask 4+4 of 100 in 2.1", "ask 3+3 of 40 in 2.1"])]
    );
    assert_eq!(s.receive_and_send(us(95), offer_packet(PEER, 4, 100, 201)), no_words());
    assert_eq!(s.receive_and_send(us(95), offer_packet(OTHER, 3, 40, 201)), no_words());
    let expected = ["take 3+3 of 40 in 2.1", "take 1+1 of 100 in 2.1"];
    assert_eq!(s.matching_effects(us(115)), [effect_at(100, &expected)], "nothing is left to ask for");
    // Later offers are in vain.
    s.receive_and_send(us(115), offer_packet(PEER, 4, 100, 202));
    assert_eq!(s.matching_effects(us(159)), []);
}

#[test]
fn a_match_on_idle_channels_begins_at_once_and_the_data_phase_begins_it_anew() {
    let mut s = Script::new(&DcpimParams { window_timeout: 100.0, ..script_params() });
    s.receive_and_send(us(5), rts_packet(PEER, 100, 0));
    s.effects_until(us(25));
    s.receive_and_send(us(35), offer_packet(PEER, 4, 100, 102));
    s.wake_at(us(40));
    let left = s.poll_packets(us(40));
    assert_eq!(
        left.iter().map(Script::packet_words).collect::<Vec<_>>(),
        ["take 4+4 of 100 in 1.2", "token 0"]
    );
    let Token { rank, packets, lifetime, .. } = Token::from_packet(&left[1]);
    assert_eq!((rank, packets), (PROMPT_RANK, 99));
    assert_eq!(lifetime, us(40) + SLOT * 4, "until the data phase, and the gap of one channel");
    // All channels give a token in each frame time, up to a window of ten and one.
    let tokens = s.token_effects(us(79));
    assert_eq!(
        tokens,
        (1..11).map(|n| (us(40) + SLOT * n, format!("token {n}"))).collect::<Vec<_>>(),
        "no answer comes"
    );
    (0..11).for_each(|n| drop(s.receive_busy(us(79), data_packet(PEER, 100, 0, n as u32, n as u32))));
    s.sent_words(us(79));
    s.wake_at(us(80));
    let begun = s.poll_packets(us(80));
    assert_eq!(
        begun.iter().map(Script::packet_words).collect::<Vec<_>>(),
        ["token 11", "ask 2+0 of 89 in 2.1"]
    );
    assert_eq!(Token::from_packet(&begun[0]).rank, FIRST_RANK);
}

#[test]
fn without_prompt_matches_tokens_wait_for_the_data_phase() {
    let mut s = Script::new(&DcpimParams { prompt: false, ..script_params() });
    s.receive_and_send(us(5), rts_packet(PEER, 40, 0));
    s.effects_until(us(25));
    s.receive_and_send(
        us(35),
        Busy { prompt: 0, ..Busy::from_packet(&offer_packet(PEER, 3, 40, 102)) }
            .put_on(control_packet(PacketKind::Busy, PEER)),
    );
    assert_eq!(
        s.effects_until(us(45)),
        [effect_at(40, &["take 3+0 of 40 in 1.2"])],
        "three channels for 40 packets"
    );
    let gap = Time(SLOT.0 * 4 / 3);
    let tokens = s.token_effects(us(92));
    assert_eq!(tokens, (0..8).map(|n| (us(80) + gap * n, format!("token {n}"))).collect::<Vec<_>>());
}

#[test]
fn a_window_of_tokens_that_nothing_answers_is_forgiven() {
    let mut s = Script::new(&DcpimParams { window_timeout: 2.0, ..script_params() });
    s.receive_and_send(us(5), rts_packet(PEER, 100, 0));
    s.effects_until(us(25));
    s.receive_and_send(us(35), offer_packet(PEER, 4, 100, 102));
    let last = us(40) + SLOT * 10;
    let after: Vec<_> = s.token_effects(us(79)).into_iter().filter(|(at, _)| *at > last).collect();
    assert_eq!(after[0], (last + SLOT * 20, "token 11".into()), "two bandwidth-delay products later");
}

#[test]
fn a_short_message_takes_the_place_of_as_many_tokens() {
    let mut s = Script::new(&script_params());
    s.receive_and_send(us(5), rts_packet(PEER, 100, 0));
    s.effects_until(us(25));
    s.receive_and_send(us(35), offer_packet(PEER, 4, 100, 102));
    s.effects_until(us(40));
    s.receive_busy(us(41), rts_packet(OTHER, 5, 5));
    let tokens = s.token_effects(us(50));
    assert_eq!(tokens[0], (us(40) + SLOT * 6, "token 1".into()), "five are left out");
}

#[test]
fn what_is_missing_of_a_short_message_is_matched_when_its_time_is_over() {
    // Four packets take 4 frame times; a bandwidth-delay product and two frame times of patience follow.
    let mut s = Script::new(&script_params());
    s.receive_busy(us(5), rts_packet(PEER, 4, 4));
    for index in [0, 1, 3] {
        assert_eq!(s.receive_and_send(us(6), data_packet(PEER, 4, 4, index, index)), ["delivered 1460"]);
    }
    // 5 us + 16 frame times = 24.7 us.
    assert_eq!(s.effects_until(us(45)), [effect_at(40, &["ask 1+1 of 1 in 1.3"])]);
    s.receive_and_send(us(55), offer_packet(PEER, 1, 1, 103));
    // Four tokens are left out for the short message even now, each a gap of one channel: they are counted, not timed.
    assert_eq!(
        s.effects_until(us(90)),
        [effect_at(60, &["take 1+1 of 1 in 1.3"]), (us(60) + SLOT * 16, vec!["token 2 #4".into()])]
    );
    let left = ["delivered 1460", "completed", "finished"];
    assert_eq!(s.receive_and_send(us(90), data_packet(PEER, 4, 4, 2, 4)), left);
    assert_eq!(s.receive_and_send(us(91), data_packet(PEER, 4, 4, 2, 4)), ["finished"], "a late copy");
    assert_eq!(s.machine.live_messages(), 0);
}

#[test]
fn a_request_that_a_slow_wire_has_not_taken_by_the_next_round_is_not_sent_and_what_was_taken_is() {
    let mut s = Script::new(&script_params());
    s.receive_busy(us(5), rts_packet(PEER, 100, 0));
    s.wake_at(us(20));
    s.receive_busy(us(35), offer_packet(PEER, 1, 100, 102));
    s.wake_at(us(40));
    assert_eq!(s.sent_words(us(40)), ["take 1+1 of 100 in 1.2", "token 0", "ask 3+3 of 100 in 1.3"]);
}

#[test]
fn offers_of_a_message_that_is_over_or_of_an_epoch_to_come_are_not_taken() {
    let mut s = Script::new(&script_params());
    s.receive_and_send(us(5), rts_packet(PEER, 100, 0));
    s.effects_until(us(25));
    s.receive_and_send(us(35), Packet { message: 4, ..offer_packet(PEER, 4, 100, 102) });
    s.receive_and_send(us(35), offer_packet(PEER, 4, 100, 201));
    assert_eq!(s.effects_until(us(45)), [effect_at(40, &["ask 4+4 of 100 in 1.3"])]);
}

#[test]
fn a_peer_that_is_gone_leaves_its_channels_to_others() {
    let mut s = Script::new(&script_params());
    s.receive_and_send(us(5), rts_packet(PEER, 100, 0));
    s.receive_and_send(us(5), rts_packet(OTHER, 100, 0));
    s.effects_until(us(25));
    s.receive_and_send(us(35), offer_packet(PEER, 4, 100, 102));
    assert_eq!(s.matching_effects(us(45)), [effect_at(40, &["take 4+4 of 100 in 1.2"])]);
    s.matching_effects(us(50));
    s.machine.forget_peer(us(50), PEER);
    assert_eq!(s.drain_events(), no_words());
    assert_eq!(s.sent_words(us(50)), no_words());
    assert_eq!(s.effects_until(us(65)), [effect_at(60, &["ask 4+4 of 100 in 1.4"])]);
    assert_eq!(s.machine.live_messages(), 1);
}

// ---- both -----------------------------------------------------------------------------------------

/// A sender and a receiver, 5 us apart, over a wire that loses the first packet whose words begin with `lost`.
struct Pair {
    hosts: [Script; 2],
    under_way: Vec<(Time, usize, Packet)>,
    lost: Option<&'static str>,
    /// Packets that left: time, host and words.
    log: Vec<(Time, usize, String)>,
}

impl Pair {
    /// Runs a message until its sender knows that it has arrived; returns the time of that, and of its completion.
    fn run_message(packets: u64, lost: Option<&'static str>) -> (Pair, Time, Time) {
        let hosts = [HERE, PEER].map(|host| Script::at_host(host, &script_params()));
        let mut pair = Pair { hosts, under_way: Vec::new(), lost, log: Vec::new() };
        pair.hosts[0].open_unsent(us(1), message_of(packets));
        pair.send_packets(0, us(1));
        let mut completed = None;
        loop {
            let arrival = pair.under_way.iter().map(|(at, ..)| *at).min();
            let due = pair.hosts.iter_mut().filter_map(|host| host.machine.next_timeout()).min();
            let now = arrival.into_iter().chain(due).min().expect("something goes on");
            assert!(now < us(5000), "not over: {:?}", pair.log);
            let position = pair.under_way.iter().position(|(at, ..)| *at == now);
            let (host, heard) = match position.map(|position| pair.under_way.remove(position)) {
                Some((_, host, packet)) => (host, pair.hosts[host].receive_busy(now, packet)),
                None => {
                    let is_due = |host: &mut Script| host.machine.next_timeout() == Some(now);
                    let host = pair.hosts.iter_mut().position(is_due).expect("one is due");
                    pair.hosts[host].machine.handle_timeout(now);
                    (host, pair.hosts[host].drain_events())
                }
            };
            if heard.iter().any(|word| word == "completed") {
                completed = Some(now);
            }
            pair.send_packets(host, now);
            if heard.iter().any(|word| word == "acknowledged") {
                assert_eq!(pair.hosts.iter().map(|host| host.machine.live_messages()).sum::<usize>(), 0);
                return (pair, completed.expect("before it is known"), now);
            }
        }
    }

    fn send_packets(&mut self, host: usize, now: Time) {
        for packet in self.hosts[host].poll_packets(now) {
            let word = Script::packet_words(&packet);
            match self.lost {
                Some(lost) if word.starts_with(lost) => self.lost = None,
                _ => self.under_way.push((now + us(5), 1 - host, packet)),
            }
            self.log.push((now, host, word));
        }
    }

    /// Number of packets that left whose words begin with `kind`.
    fn count_packets(&self, kind: &str) -> usize {
        self.log.iter().filter(|(.., word)| word.starts_with(kind)).count()
    }
}

#[test]
fn a_long_message_alone() {
    let (pair, completed, known) = Pair::run_message(20, None);
    let expected = [(1, 0, "rts 20 (0)"), (20, 1, "ask 2+2 of 20 in 1.2"), (30, 0, "offer 2+2 of 20 in 1.2")];
    for (i, (at, host, word)) in expected.into_iter().enumerate() {
        assert_eq!(pair.log[i], (us(at), host, word.to_string()));
    }
    assert_eq!(pair.log[3], (us(40), 1, "take 2+2 of 20 in 1.2".into()));
    let tokens: Vec<Time> =
        pair.log.iter().filter(|(.., word)| word.starts_with("token")).map(|(at, ..)| *at).collect();
    let sent: Vec<Time> =
        pair.log.iter().filter(|(.., word)| word.starts_with("data")).map(|(at, ..)| *at).collect();
    assert_eq!(tokens[..3], [us(40), us(40) + SLOT * 2, us(40) + SLOT * 4], "two of four channels");
    assert_eq!(sent, tokens.iter().map(|at| *at + us(5)).collect::<Vec<_>>());
    assert_eq!((tokens.len(), pair.count_packets("finished")), (20, 1));
    assert_eq!((completed, known), (*tokens.last().expect("20") + us(10), completed + us(5)));
}

#[test]
fn what_a_lost_packet_costs_and_what_is_sent_again() {
    // Alone, 17 tokens leave from 40 us on, every two frame times, and three more in the data phase that begins at 80 us.
    let alone = us(80) + SLOT * 4 + us(10);
    // Another round passes: 9 tokens leave from 60 us on, and 11 in the data phase.
    let a_round_later = us(80) + SLOT * 20 + us(10);
    // After 220 us of silence, an epoch begins with a round at 240 us, and all tokens leave from 260 us on.
    let announced_again = us(260) + SLOT * 38 + us(10);
    // After the last token, a bandwidth-delay product and two frame times of patience; the match still has its channels.
    let named_again = us(80) + SLOT * 4 + SLOT * 12 + us(10);
    // The first packet that is lost; when the message is complete; and how often which packets leave then.
    type Row = (&'static str, Time, &'static [(&'static str, usize)]);
    let table: [Row; 8] = [
        ("nothing", alone, &[("rts", 1), ("ask", 1), ("offer", 1), ("take", 1), ("token", 20), ("data", 20)]),
        ("rts", announced_again, &[("rts", 2), ("ask", 1), ("token", 20)]),
        ("ask", a_round_later, &[("ask", 2), ("offer", 1), ("take", 1)]),
        ("offer", a_round_later, &[("ask", 2), ("offer", 2), ("take", 1)]),
        ("take", alone, &[("ask", 1), ("offer", 1), ("take", 1), ("token", 20)]),
        ("token 5", named_again, &[("token 5", 2), ("token", 21), ("data", 20), ("data 5 #20", 1)]),
        ("data 5", named_again, &[("token 5", 2), ("token", 21), ("data", 21), ("data 5 #20 again", 1)]),
        ("finished", alone, &[("finished", 2), ("rts", 2), ("data", 20)]),
    ];
    for (lost, complete, left) in table {
        let (pair, completed, known) = Pair::run_message(20, Some(lost));
        assert_eq!(completed, complete, "without {lost}: {:?}", pair.log);
        for (what, times) in left {
            assert_eq!(pair.count_packets(what), *times, "{what}, without {lost}: {:?}", pair.log);
        }
        // The sender of a message whose end got lost hears nothing for 220 us, and asks by announcing it again.
        let asks = if lost == "finished" { us(220) } else { us(0) };
        assert_eq!(known, completed + us(5) + asks, "without {lost}");
    }
}
