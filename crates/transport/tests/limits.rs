//! Every parameter of every transport at both ends of its declared range: machines are made, and messages go between
//! two of them. Whether they arrive is the business of other tests; here nothing may break.

use headway_packet::{Ecn, HostId, Packet, Sizes};
use headway_transport::registry::{self, TransportVisitor};
use headway_transport::{Endpoint, HostContext, Message, Opening, Path, Transport};
use headway_units::{ParamKind, ParamSpec, ParamValue, Params, Rate, Time};
use std::panic::catch_unwind;

/// Packets between the two at most, and one way between them.
const MOST_PACKETS: usize = 1500;
const WAY: Time = Time::us(10);

struct Make<'a>(&'a [(&'static str, ParamValue)], u32);

impl TransportVisitor for Make<'_> {
    type Output = Box<dyn Endpoint>;

    fn visit<T: Transport>(self) -> Box<dyn Endpoint> {
        let mut params = T::Params::default();
        for (name, value) in self.0 {
            params.set(name, value.clone()).expect("within its range");
        }
        let nic = Rate::gbps(10);
        let (base_rtt, max_rtt) = (Time::us(22), Time::us(400));
        let path = Box::new(move |_| Path { base_rtt, max_rtt, bottleneck: nic, paths: 4 });
        let context = HostContext { host: HostId(self.1), nic, sizes: Sizes::default(), path };
        Box::new(T::endpoint(&params, context))
    }
}

/// Both ends of a range. Durations have no declared one.
fn ends(spec: &ParamSpec) -> Vec<ParamValue> {
    match spec.kind {
        ParamKind::Bool => vec![ParamValue::Bool(false), ParamValue::Bool(true)],
        ParamKind::Int { min, max } => vec![ParamValue::Int(min), ParamValue::Int(max)],
        ParamKind::Float { min, max } => vec![ParamValue::Float(min), ParamValue::Float(max)],
        ParamKind::Time => Vec::new(),
        ParamKind::Choice(words) => words.iter().map(|word| ParamValue::Choice((*word).into())).collect(),
    }
}

/// Two machines, a wire between them on which every tenth data packet is marked, and every thirtieth lost.
fn talk(name: &str, params: &[(&'static str, ParamValue)]) {
    let make = |host| registry::visit(name, Make(params, host)).expect("registered");
    let mut hosts = [make(0), make(1)];
    let (mut now, mut flying, mut sent) = (Time::ZERO, Vec::<(Time, Packet)>::new(), 0);
    for (id, bytes) in [(0, 100), (1, 60_000), (2, 3000)] {
        let dst = HostId(1);
        let (opening, deadline) = (Opening::default(), Some(Time::ms(1)));
        let message =
            Message { id, dst, bytes, class: 0, deadline, opening, responsive: true, entropy: id, tag: id };
        hosts[0].open(now, &message);
        settle(&mut hosts, now, &mut flying, &mut sent);
    }
    while sent < MOST_PACKETS && now < Time::s(1) {
        flying.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        let arrival = flying.last().map(|(at, _)| *at);
        let timers = hosts.iter().filter_map(|host| host.next_timeout()).min();
        let Some(at) = [arrival, timers].into_iter().flatten().min() else { return };
        // A machine that asks for the present again and again must get on nevertheless.
        now = at.max(now + Time(1));
        match flying.pop() {
            Some((at, packet)) if at <= now => hosts[packet.dst.0 as usize].receive(now, &packet),
            other => {
                flying.extend(other);
                for host in &mut hosts {
                    if host.next_timeout().is_some_and(|at| at <= now) {
                        host.timeout(now);
                        while host.poll_event().is_some() {}
                    }
                }
            }
        }
        settle(&mut hosts, now, &mut flying, &mut sent);
    }
}

fn settle(hosts: &mut [Box<dyn Endpoint>; 2], now: Time, flying: &mut Vec<(Time, Packet)>, sent: &mut usize) {
    for host in hosts {
        while host.poll_event().is_some() {}
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

#[test]
fn both_ends_of_every_range_make_machines_that_work() {
    let mut broken = Vec::new();
    let mut tried = 0;
    for entry in registry::all() {
        for spec in &entry.params {
            for value in ends(spec) {
                let what = format!("{} with {} = {value}", entry.info.name, spec.name);
                println!("{what}");
                let params = [(spec.name, value)];
                if catch_unwind(|| talk(entry.info.name, &params)).is_err() {
                    broken.push(what);
                }
                tried += 1;
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(tried > 200, "only {tried} values");
}
