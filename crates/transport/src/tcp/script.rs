//! Packet scripts of the TCP machine: a packet in, the packets and deadlines that must come out.

use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind, Sizes};
use headway_params::{ParamValue, Params};
use headway_transport::endpoint::{EndpointEvent, HostContext, Path};
use headway_transport::tcp::control::{self, CongestionControl};
use headway_transport::tcp::params::TcpParams;
use headway_transport::tcp::{NewReno, Tcp, TcpEndpoint};
use headway_transport::{Endpoint, InitialWindow, Message, Transport};
use headway_units::{Rate, Time};

const RTT: Time = Time::us(100);

fn test_context() -> HostContext {
    let path = Path {
        longest_timeout: Time::MAX,
        base_rtt: RTT,
        max_rtt: RTT * 3,
        bottleneck: Rate::gbps(10),
        paths: 0,
        hops: 1,
    };
    HostContext {
        host: HostId(0),
        nic: Rate::gbps(10),
        sizes: Sizes::default(),
        seed: 0,
        path: Box::new(move |_| path),
    }
}

fn machine_with<C: CongestionControl>(set: &[(&str, ParamValue)]) -> TcpEndpoint {
    let mut params = TcpParams::<C::Params>::default();
    set.iter().for_each(|(name, value)| params.set(name, value.clone()).expect("legal"));
    Tcp::<C>::make_endpoint(&params, test_context())
}

fn newreno_with(set: &[(&str, ParamValue)]) -> <NewReno as Transport>::Endpoint {
    machine_with::<control::newreno::NewReno>(set)
}

fn make_message(packets: u64) -> Message {
    Message {
        id: 0,
        dst: HostId(1),
        bytes: packets * 1460,
        class: 0,
        deadline: None,
        initial_window: InitialWindow::default(),
        responsive: true,
        entropy: 0,
        tag: 7,
    }
}

/// All packets that are ready now.
fn drain_sent(machine: &mut impl Endpoint, now: Time) -> Vec<Packet> {
    while machine.poll_event().is_some() {}
    std::iter::from_fn(|| machine.poll_transmit(now)).collect()
}

fn packet_indices(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|p| p.index).collect()
}

/// Data packet `index` of a message of `packets` from host 1, sent at `at`.
fn data_packet(index: u32, packets: u64, ce: bool, at: Time) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, HostId(1), HostId(0), 0);
    (packet.index, packet.message_bytes, packet.payload) = (index, packets * 1460, 1460);
    packet.ecn = if ce { Ecn::Ce } else { Ecn::Ect };
    packet.lifetime = at;
    packet
}

/// The acknowledgement of everything below `count`, which echoes `echo`.
fn ack_below(count: u32, echo: Time) -> Packet {
    let mut packet = Packet::new(PacketKind::Ack, HostId(1), HostId(0), 0);
    // 1000 packets of receive window: more than any script sends.
    (packet.count, packet.index, packet.remaining) = (count, count.saturating_sub(1), 1000);
    packet.lifetime = echo;
    packet
}

/// RFC 8257 §3.2 with every second packet acknowledged: marked and unmarked packets never share one.
#[test]
fn marks_are_echoed_exactly_under_delayed_acknowledgements() {
    let mut machine = machine_with::<control::dctcp::Dctcp>(&[("ack_every", ParamValue::Int(2))]);
    // Answered two by two, a run of odd length leaves one packet over.
    let marks = [false, false, true, true, true, false];
    let mut heard = Vec::new();
    for (index, &ce) in (0..).zip(&marks) {
        let now = Time::us(10 * u64::from(index));
        machine.receive_packet(now, &data_packet(index, 100, ce, Time::us(u64::from(index))));
        heard.extend(drain_sent(&mut machine, now));
    }
    let answers: Vec<_> = heard.iter().map(|a| (a.count, a.flags.has_all(PacketFlags::ECE))).collect();
    assert_eq!(answers, [(2, false), (3, true), (5, true), (6, false)]);
    let echoes: Vec<_> = heard.iter().map(|a| a.lifetime).collect();
    assert_eq!(echoes, [0, 2, 3, 5].map(Time::us), "the earliest packet that each answers");
    // A mark that begins while a packet is owed: the packets before are answered for themselves.
    machine.receive_packet(Time::us(70), &data_packet(6, 100, false, Time::us(6)));
    assert_eq!(drain_sent(&mut machine, Time::us(70)), []);
    machine.receive_packet(Time::us(80), &data_packet(7, 100, true, Time::us(7)));
    let both = drain_sent(&mut machine, Time::us(80));
    let answers: Vec<_> = both.iter().map(|a| (a.count, a.flags.has_all(PacketFlags::ECE))).collect();
    assert_eq!(answers, [(7, false), (8, true)]);
}

#[test]
#[allow(clippy::single_range_in_vec_init, reason = "blocks are ranges")]
fn an_acknowledgement_is_put_off_for_as_long_as_it_may_and_not_above_a_hole() {
    let mut machine = newreno_with(&[("ack_every", ParamValue::Int(2)), ("quick_acks", ParamValue::Int(2))]);
    for index in 0..2 {
        machine.receive_packet(Time::ZERO, &data_packet(index, 100, false, Time::ZERO));
        assert_eq!(drain_sent(&mut machine, Time::ZERO)[0].count, index + 1, "at once, at first");
    }
    machine.receive_packet(Time::us(5), &data_packet(2, 100, false, Time::us(1)));
    assert_eq!(drain_sent(&mut machine, Time::us(5)), []);
    let due = machine.next_timeout().expect("armed");
    assert_eq!(due, Time::us(5) + Time::ms(40));
    machine.handle_timeout(due);
    assert_eq!((drain_sent(&mut machine, due)[0].count, machine.next_timeout()), (3, None));
    for (index, blocks) in [(5, vec![5..6]), (7, vec![7..8, 5..6]), (6, vec![5..8])] {
        machine.receive_packet(due, &data_packet(index, 100, false, due));
        let answer = drain_sent(&mut machine, due);
        assert_eq!((answer[0].count, answer[0].sack_blocks().collect::<Vec<_>>()), (3, blocks));
    }
}

/// Times that the acknowledgements of three packets echo, where every second one is acknowledged: as the second of two
/// arrives, and when the third has waited for as long as it may.
fn echoed_times<C: CongestionControl>() -> [Time; 2] {
    let set = [("ack_every", 2), ("quick_acks", 0)].map(|(name, value)| (name, ParamValue::Int(value)));
    let mut machine = machine_with::<C>(&set);
    let mut heard = Vec::new();
    for (index, at) in (0..).zip([10, 17, 20].map(Time::us)) {
        machine.receive_packet(at, &data_packet(index, 100, false, at - Time::us(5)));
        heard.extend(drain_sent(&mut machine, at));
    }
    // The deadline of the first two packets stays in the heap, but its reason is gone.
    while let Some(due) = machine.next_timeout() {
        machine.handle_timeout(due);
        heard.extend(drain_sent(&mut machine, due));
    }
    let heard: Vec<Time> = heard.iter().map(|ack| ack.lifetime).collect();
    heard.try_into().expect("two acknowledgements")
}

#[test]
fn how_long_an_acknowledgement_is_put_off_counts_as_round_trip_except_for_swift() {
    assert_eq!(echoed_times::<control::newreno::NewReno>(), [5, 15].map(Time::us));
    let moved_on = [Time::us(5 + 7), Time::us(15) + Time::ms(40)];
    assert_eq!(echoed_times::<control::swift::Swift>(), moved_on);
}

#[test]
fn the_window_opens_doubles_and_is_halved_for_a_loss() {
    let mut machine = newreno_with(&[]);
    machine.open_message(Time::ZERO, &make_message(100));
    let mut now = Time::ZERO;
    assert_eq!(packet_indices(&drain_sent(&mut machine, now)), [0, 1]);
    for (round, count) in [(1u64, 2u32), (2, 6), (3, 14)] {
        // Acknowledgements of a round come together, as no link spaces them here.
        now = RTT * round;
        let before = count - (1 << round);
        for acked in before..count {
            machine.receive_packet(now, &ack_below(acked + 1, now - RTT));
            let packets = drain_sent(&mut machine, now);
            assert_eq!(packets.len(), 2, "two for one");
            assert!(packets.iter().all(|p| p.ecn == Ecn::NotEct && p.lifetime == now));
        }
    }
    // 16 in flight, 14 to 29. The first is lost; the third answer above it finds that out.
    now = RTT * 4;
    let mut answers = Vec::new();
    for arrived in 15..30u32 {
        let mut dup = ack_below(14, now - RTT);
        dup.set_sack(std::iter::once(15..arrived + 1));
        dup.index = arrived;
        machine.receive_packet(now, &dup);
        answers.push(packet_indices(&drain_sent(&mut machine, now)));
    }
    // Limited transmit twice, the repetition, then nothing until half of 16 is in flight.
    assert_eq!(answers[..3], [vec![30], vec![31], vec![14]]);
    let later: Vec<u32> = answers[3..].concat();
    let silent = answers[3..].iter().take_while(|a| a.is_empty()).count();
    assert_eq!((silent, later), (7, vec![32, 33, 34, 35, 36]), "8 of 15 answers make room");
    // The hole is filled: back to 8 in flight, no burst.
    machine.receive_packet(now + RTT, &ack_below(30, now));
    assert_eq!(drain_sent(&mut machine, now + RTT).len(), 1);
}

/// Of 10 packets the second is lost, and the last four: nothing above these arrives that would show it.
#[test]
fn a_partial_acknowledgement_sends_the_first_one_missing_if_it_is_told_to() {
    for (word, expected) in [("room", [vec![], vec![]]), ("resend", [vec![6], vec![7]])] {
        let mut machine = newreno_with(&[
            ("initial_window", ParamValue::Int(10)),
            ("partial_ack", ParamValue::Choice(word.into())),
        ]);
        machine.open_message(Time::ZERO, &make_message(10));
        assert_eq!(drain_sent(&mut machine, Time::ZERO).len(), 10);
        machine.receive_packet(RTT, &ack_below(1, Time::ZERO));
        for arrived in 2..6u32 {
            let mut dup = ack_below(1, Time::ZERO);
            dup.set_sack(std::iter::once(2..arrived + 1));
            machine.receive_packet(RTT, &dup);
            let again = packet_indices(&drain_sent(&mut machine, RTT));
            // Packet 4 is the third that arrives above the hole.
            assert_eq!(again, if arrived == 4 { vec![1] } else { vec![] }, "{word}, {arrived}");
        }
        let answers = [6, 7].map(|count| {
            let now = RTT * u64::from(count - 4);
            machine.receive_packet(now, &ack_below(count, now - RTT));
            // The same acknowledgement again brings no news.
            machine.receive_packet(now, &ack_below(count, now - RTT));
            packet_indices(&drain_sent(&mut machine, now))
        });
        assert_eq!(answers, expected, "{word}");
    }
}

#[test]
fn without_slow_start_the_window_grows_by_a_packet_a_round_trip() {
    let mut machine =
        newreno_with(&[("slow_start", ParamValue::Bool(false)), ("initial_window", ParamValue::Int(4))]);
    machine.open_message(Time::ZERO, &make_message(100));
    let (mut now, mut in_flight) = (Time::ZERO, packet_indices(&drain_sent(&mut machine, Time::ZERO)));
    for window in [4, 4, 5, 6, 7] {
        assert_eq!(in_flight.len(), window);
        now += RTT;
        let answer = |index: &u32| {
            machine.receive_packet(now, &ack_below(index + 1, now - RTT));
            packet_indices(&drain_sent(&mut machine, now))
        };
        in_flight = in_flight.iter().flat_map(answer).collect();
    }
}

#[test]
fn a_time_out_starts_over_and_doubles() {
    let mut machine = newreno_with(&[]);
    machine.open_message(Time::ZERO, &make_message(100));
    assert_eq!(drain_sent(&mut machine, Time::ZERO).len(), 2);
    for expected in [10, 30, 70] {
        let due = machine.next_timeout().expect("armed");
        assert_eq!(due, Time::ms(expected), "10 ms, then 20, then 40 more");
        machine.handle_timeout(due);
        let again = drain_sent(&mut machine, due);
        assert_eq!(packet_indices(&again), [0], "one packet");
        assert!(again[0].flags.has_all(PacketFlags::AGAIN));
    }
    // Just after the third time-out, at 70 ms.
    let now = Time::ms(71);
    machine.receive_packet(now, &ack_below(1, now - RTT));
    assert_eq!(packet_indices(&drain_sent(&mut machine, now)), [1, 2], "slow start from the first hole");
    machine.receive_packet(now, &ack_below(2, now - RTT));
    assert_eq!(machine.next_timeout().map(|at| at > now), Some(true));
}

#[test]
fn a_handshake_comes_first_and_is_repeated() {
    let mut machine = newreno_with(&[
        ("handshake", ParamValue::Bool(true)),
        ("prime_rtt", ParamValue::Bool(false)),
        ("initial_rto", ParamValue::Time(Time::ms(1000))),
    ]);
    machine.open_message(Time::ZERO, &make_message(3));
    let syn = drain_sent(&mut machine, Time::ZERO);
    assert_eq!((syn.len(), syn[0].kind, syn[0].message_bytes), (1, PacketKind::Rts, 3 * 1460));
    assert_eq!(machine.next_timeout(), Some(Time::ms(1000)));
    machine.handle_timeout(Time::ms(1000));
    assert_eq!(drain_sent(&mut machine, Time::ms(1000))[0].kind, PacketKind::Rts);
    machine.receive_packet(Time::ms(1001), &ack_below(0, Time::ms(1000)));
    assert_eq!(packet_indices(&drain_sent(&mut machine, Time::ms(1001))), [0, 1]);
    // A fresh receiver answers a SYN with an acknowledgement of nothing, as often as it comes.
    let mut receiver = newreno_with(&[]);
    let mut syn = data_packet(0, 3, false, Time::us(3));
    // A SYN has the length in the field of data packets: the kind alone makes the difference.
    (syn.kind, syn.payload) = (PacketKind::Rts, 0);
    for _ in 0..2 {
        receiver.receive_packet(Time::us(50), &syn);
        let answer = drain_sent(&mut receiver, Time::us(50));
        assert_eq!((answer.len(), answer[0].count, answer[0].lifetime), (1, 0, Time::us(3)));
    }
}

#[test]
fn the_receive_window_bounds_what_is_sent() {
    let window = [("initial_window", ParamValue::Int(10)), ("receive_window", ParamValue::Int(4))];
    let mut machine = newreno_with(&window);
    machine.open_message(Time::ZERO, &make_message(100));
    assert_eq!(packet_indices(&drain_sent(&mut machine, Time::ZERO)), [0, 1, 2, 3]);
    let mut answer = ack_below(2, Time::ZERO);
    answer.remaining = 4;
    machine.receive_packet(RTT, &answer);
    assert_eq!(packet_indices(&drain_sent(&mut machine, RTT)), [4, 5]);
}

#[test]
fn the_last_acknowledgement_ends_a_message_and_is_given_again() {
    let mut machine = newreno_with(&[]);
    machine.open_message(Time::ZERO, &make_message(1));
    assert_eq!(drain_sent(&mut machine, Time::ZERO).len(), 1);
    machine.receive_packet(RTT, &ack_below(1, Time::ZERO));
    assert_eq!(machine.poll_event(), Some(EndpointEvent::Acknowledged { tag: 7 }));
    assert_eq!((machine.live_messages(), machine.poll_transmit(RTT)), (0, None));
    let mut receiver = newreno_with(&[]);
    for _ in 0..3 {
        receiver.receive_packet(RTT, &data_packet(0, 1, false, Time::ZERO));
        let answers = drain_sent(&mut receiver, RTT);
        assert_eq!((answers.len(), answers[0].count, receiver.live_messages()), (1, 1, 0));
    }
}
