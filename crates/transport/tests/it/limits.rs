//! Every parameter of every transport at both ends of its declared range: machines are made, and messages go between
//! two of them. Whether they arrive is the business of other tests; here nothing may break.

use headway_packet::{Ecn, HostId, Packet, Sizes};
use headway_params::{ParamKind, ParamSpec, ParamValue};
use headway_transport::endpoint::Traffic;
use headway_transport::registry::{self, Machine};
use headway_transport::{CreditDemand, HostContext, InitialWindow, Message, Path};
use headway_units::{Rate, Time};
use std::panic::catch_unwind;

/// Packets between the two at most, their possible wake-ups, and one way between them.
const MOST_PACKETS: usize = 1500;
const MOST_STEPS: usize = 50_000;
const WAY: Time = Time::us(10);

/// Time that a wire takes for a packet, the time without any answer, and the number of packets that may wait for that
/// wire in the end: a few times the message.
const SLOT: Time = Time::us(12);
const SILENCE: Time = Time::ms(20);
const MOST_WAITING: usize = 200;

fn owned_params(params: &[(&'static str, ParamValue)]) -> Vec<(String, ParamValue)> {
    params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect()
}

/// True if these values are accepted together.
fn is_accepted(name: &str, params: &[(&'static str, ParamValue)]) -> bool {
    registry::resolve_params(name, &owned_params(params)).expect("registered").is_ok()
}

/// A machine of a host, with these parameters set.
fn machine_with(name: &str, params: &[(&'static str, ParamValue)], host: u32) -> Machine {
    let set = owned_params(params);
    let nic = Rate::gbps(10);
    let (base_rtt, max_rtt) = (Time::us(22), Time::us(400));
    let path = Box::new(move |_| Path {
        longest_timeout: Time::MAX,
        base_rtt,
        max_rtt,
        bottleneck: nic,
        paths: 4,
        hops: 1,
    });
    let context = HostContext { host: HostId(host), nic, sizes: Sizes::default(), seed: 0, path };
    registry::make_machine(name, &set, context).expect("registered").expect("within its range")
}

fn test_message(id: u32, bytes: u64) -> Message {
    let dst = HostId(1);
    let (initial_window, deadline) = (InitialWindow::default(), Some(Time::ms(1)));
    Message { id, dst, bytes, class: 0, deadline, initial_window, responsive: true, entropy: id, tag: id }
}

/// Two machines, a wire between them on which every tenth data packet is marked, and every thirtieth lost.
fn talk_to_peer(name: &str, params: &[(&'static str, ParamValue)]) {
    let mut hosts = [machine_with(name, params, 0), machine_with(name, params, 1)];
    let (mut now, mut flying, mut sent, mut steps) = (Time::ZERO, Vec::<(Time, Packet)>::new(), 0, 0);
    // Less than a packet, more than a window, and a few packets.
    for (id, bytes) in [(0, 100), (1, 60_000), (2, 3000)] {
        hosts[0].open_message(now, &test_message(id, bytes));
        settle_hosts(&mut hosts, now, &mut flying, &mut sent);
    }
    while sent < MOST_PACKETS && now < Time::s(1) {
        // The earliest goes to the end, from where `pop` takes it.
        flying.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let arrival = flying.last().map(|(at, _)| *at);
        let timers = hosts.iter().filter_map(|host| host.next_timeout()).min();
        let Some(at) = [arrival, timers].into_iter().flatten().min() else { return };
        steps += 1;
        assert!(steps < MOST_STEPS, "it is {now} still, and {sent} packets were sent");
        // A machine that asks for the present again and again must get on nevertheless.
        now = at.max(now + Time(1));
        match flying.pop() {
            Some((at, packet)) if at <= now => hosts[packet.dst.0 as usize].receive_packet(now, &packet),
            other => {
                flying.extend(other);
                for host in &mut hosts {
                    if host.next_timeout().is_some_and(|at| at <= now) {
                        host.handle_timeout(now);
                        while host.poll_event().is_some() {}
                    }
                }
            }
        }
        settle_hosts(&mut hosts, now, &mut flying, &mut sent);
    }
}

fn settle_hosts(hosts: &mut [Machine; 2], now: Time, flying: &mut Vec<(Time, Packet)>, sent: &mut usize) {
    for host in hosts {
        while host.poll_event().is_some() {}
        // A few at a time, so that arrivals and deadlines come in between even where a machine never stops.
        for _ in 0..20 {
            let Some(mut packet) = host.poll_transmit(now) else { break };
            while host.poll_event().is_some() {}
            *sent += 1;
            if sent.is_multiple_of(10) && packet.ecn == Ecn::Ect {
                packet.ecn = Ecn::Ce;
            }
            if !sent.is_multiple_of(30) {
                flying.push((now + WAY, packet));
            }
        }
    }
}

/// Runs a machine that gets no answers, on a wire that takes one packet at a time.
fn talk_to_nobody(name: &str, params: &[(&'static str, ParamValue)]) {
    let mut host = machine_with(name, params, 0);
    let (mut now, mut steps) = (Time::ZERO, 0);
    host.open_message(now, &test_message(0, 60_000));
    while host.poll_event().is_some() {}
    let mut free = now;
    while now < SILENCE {
        steps += 1;
        assert!(steps < MOST_STEPS, "it is {now} still");
        now = host.next_timeout().map_or(free, |at| at.min(free)).max(now);
        if host.next_timeout().is_some_and(|at| at <= now) {
            host.handle_timeout(now);
            while host.poll_event().is_some() {}
            assert!(host.next_timeout().is_none_or(|at| at > now), "a deadline that is met stands");
        }
        if now >= free {
            host.poll_transmit(now);
            while host.poll_event().is_some() {}
            free = now + SLOT;
        }
    }
    let waiting = (0..=MOST_WAITING).take_while(|_| {
        let packet = host.poll_transmit(now);
        while host.poll_event().is_some() {}
        packet.is_some()
    });
    assert!(waiting.count() <= MOST_WAITING, "more waits for the wire than there is to say");
}

/// Makes all trials, and names the values with which they failed.
fn try_all(cases: impl Iterator<Item = (&'static str, Vec<(&'static str, ParamValue)>)>) -> usize {
    let (mut broken, mut tried) = (Vec::new(), 0);
    for (name, params) in cases {
        for way in [talk_to_peer, talk_to_nobody] {
            // All cases are tried before the test fails, so that one run names every broken value.
            if catch_unwind(|| way(name, &params)).is_err() {
                broken.push((name, params.clone()));
            }
        }
        tried += 1;
    }
    assert!(broken.is_empty(), "{broken:#?}");
    tried
}

#[test]
fn both_ends_of_every_range_make_machines_that_work() {
    let of = |entry: registry::Entry| {
        let name = entry.info.name;
        let values = move |spec: ParamSpec| {
            spec.kind.range_ends().into_iter().map(move |value| (name, vec![(spec.name, value)]))
        };
        entry.params.into_iter().flat_map(values)
    };
    let tried = try_all(registry::all_entries().into_iter().flat_map(of));
    assert!(tried > 300, "only {tried} values");
}

/// The meaning of a duration depends on the rules in force: with every other word that a parameter takes.
#[test]
fn both_ends_of_every_duration_work_under_every_rule() {
    let mut cases = Vec::new();
    for entry in registry::all_entries() {
        let is_time = |spec: &&ParamSpec| matches!(spec.kind, ParamKind::Time { .. });
        let is_rule = |spec: &&ParamSpec| matches!(spec.kind, ParamKind::Bool | ParamKind::Choice(_));
        for spec in entry.params.iter().filter(is_time) {
            for rule in entry.params.iter().filter(is_rule) {
                for (value, word) in spec
                    .kind
                    .range_ends()
                    .iter()
                    .flat_map(|v| rule.kind.range_ends().into_iter().map(move |w| (v, w)))
                {
                    // A preset gives the others its values, but for those that were set.
                    cases.push((entry.info.name, vec![(rule.name, word), (spec.name, value.clone())]));
                }
            }
        }
    }
    let tried = try_all(cases.into_iter());
    assert!(tried > 1000, "only {tried} pairs");
}

/// Combinations of ends for each transport: each end of one parameter meets each of another in a sixteenth of them at
/// least.
const COMBINATIONS: u64 = 64;

/// Products and sums of parameters have room, whatever each of them is: every parameter is at one of its ends.
#[test]
fn all_ranges_at_some_end_together_make_machines_that_work() {
    let of = |entry: registry::Entry| {
        (0..COMBINATIONS).map(move |number| {
            let choose = |(place, spec): (u64, &ParamSpec)| {
                let ends = spec.kind.range_ends();
                let lot = headway_primitives::mix(number << 32 | place) as usize;
                (spec.name, ends[lot % ends.len()].clone())
            };
            (entry.info.name, (0..).zip(&entry.params).map(choose).collect())
        })
    };
    let known = |(name, params): &(&'static str, Vec<(&'static str, ParamValue)>)| is_accepted(name, params);
    let tried = try_all(registry::all_entries().into_iter().flat_map(of).filter(known));
    assert!(tried > 1000, "only {tried} combinations");
}

/// A round of dcPIM that is shorter than its wire takes for a request: requests of earlier rounds are useless, and do
/// not pile up in front of it.
#[test]
fn requests_of_rounds_that_are_over_do_not_wait_for_the_wire() {
    let params = [("control_rtt", ParamValue::Time(Time::us(4)))];
    let (mut sender, mut host) = (machine_with("dcpim", &params, 0), machine_with("dcpim", &params, 1));
    sender.open_message(Time::ZERO, &test_message(0, 60_000));
    let announced = sender.poll_transmit(Time::ZERO).expect("it is announced");
    host.receive_packet(WAY, &announced);
    let (mut now, mut rounds) = (WAY, 0);
    while let Some(at) = host.next_timeout().filter(|at| *at < SILENCE) {
        now = at.max(now);
        host.handle_timeout(now);
        while host.poll_event().is_some() {}
        rounds += 1;
    }
    assert!(rounds > 1000, "only {rounds} deadlines");
    let waiting = std::iter::from_fn(|| host.poll_transmit(now)).count();
    assert_eq!(waiting, 1, "the request of the last round");
}

/// Packets that a paused wire does not take are not queued again and again: after a pause of a hundred milliseconds no
/// more wait than a few times the message, whichever end of it the pause met.
#[test]
fn what_a_paused_wire_does_not_take_does_not_pile_up() {
    let mut piled = Vec::new();
    for name in registry::NAMES {
        for silent in [0, 1] {
            let mut hosts = [machine_with(name, &[], 0), machine_with(name, &[], 1)];
            hosts[0].open_message(Time::ZERO, &test_message(0, 60_000));
            let (mut now, mut steps) = (Time::ZERO, 0);
            // Until the receiver has heard of the message, then one end's wire stands still.
            while now < Time::ms(100) {
                steps += 1;
                assert!(steps < 4 * MOST_STEPS, "{name}: it is {now} still");
                for from in 0..2 {
                    let paused = from == silent && now > Time::us(40);
                    while host_sends(&mut hosts, from, paused, now) {}
                }
                let next = hosts.iter().filter_map(|host| host.next_timeout()).min();
                now = next.unwrap_or(Time::ms(100)).max(now + Time(1));
                hosts.iter_mut().for_each(|host| {
                    host.handle_timeout(now);
                    while host.poll_event().is_some() {}
                });
            }
            let waiting = (0..=MOST_WAITING).take_while(|_| {
                let packet = hosts[silent].poll_transmit(now);
                while hosts[silent].poll_event().is_some() {}
                packet.is_some()
            });
            let waiting = waiting.count();
            if waiting > MOST_WAITING {
                piled.push((*name, silent));
            }
        }
    }
    assert!(piled.is_empty(), "{piled:?}");
}

/// One packet from a host to the other, at once; `false` if there is none, or if the wire is paused.
fn host_sends(hosts: &mut [Machine; 2], from: usize, paused: bool, now: Time) -> bool {
    if paused {
        return false;
    }
    let Some(packet) = hosts[from].poll_transmit(now) else { return false };
    hosts[1 - from].receive_packet(now, &packet);
    hosts.iter_mut().for_each(|host| while host.poll_event().is_some() {});
    true
}

/// Parameters that follow from the traffic and the network may be set by hand as well, however large these are.
#[test]
fn what_follows_from_the_network_is_within_its_range() {
    let mut tried = 0;
    for entry in registry::all_entries().into_iter().filter(|entry| entry.capabilities.tunes) {
        for base_rtt in [Time(1), Time::ms(1), Time::s(10), Time::DAY] {
            for nic in [Rate::new(1).expect("not zero"), Rate::gbps(100), Rate::gbps(1000)] {
                for bytes in [1, 1 << 20, 1 << 40] {
                    let path = Path {
                        longest_timeout: Time::MAX,
                        base_rtt,
                        max_rtt: base_rtt,
                        bottleneck: nic,
                        paths: 4,
                        hops: 3,
                    };
                    let packet = Sizes { payload: 64, ..Sizes::default() };
                    let (sizes, mean) = (vec![(bytes, 1.0)], bytes as f64);
                    let traffic = Traffic { sizes, mean, path, nic, packet, oversubscription: 1e6 };
                    let tuned = registry::tune_params(entry.info.name, &[], &traffic).expect("registered");
                    let tuned = tuned.expect("nothing is set");
                    let values = registry::resolve_params(entry.info.name, &tuned).expect("registered");
                    assert!(values.is_ok(), "{} over {traffic:?}: {values:?}", entry.info.name);
                    tried += 1;
                }
            }
        }
    }
    assert!(tried >= 36 * 5, "only {tried}");
}

/// A transport that gives out credits bounds those on their way: the bound does not fall for a longer trip, and a message
/// that ends within its first round trip never gets a whole link's share.
#[test]
fn credits_have_a_bound_where_there_are_any() {
    let demand = |packets, trip| CreditDemand {
        packets,
        sharers: 1,
        round_trip: trip,
        nic: Rate::gbps(100),
        sizes: Sizes::default(),
    };
    for entry in registry::all_entries() {
        let ask = |packets, trip| registry::credit_bound(entry.info.name, &[], &demand(packets, trip));
        assert_eq!(ask(100, Time::ms(1)).is_some(), entry.capabilities.credits, "{}", entry.info.name);
        let (Some(few), Some(many)) = (ask(100, Time::ms(10)), ask(100_000_000, Time::ms(10))) else {
            continue;
        };
        assert!(few.bytes >= u64::from(Sizes::default().full_wire()), "{few:?}");
        assert!(few.share > 0.0 && few.share < many.share && many.share <= 1.0, "{few:?}, {many:?}");
    }
}
