//! Lossless switches: what pauses do, that nothing is dropped, and what happens when pauses wait for each other.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_fabric::registry as disciplines;
use headway_fabric::{Buffer, DropReason, Limit};
use headway_network::pfc::OnDeadlock;
use headway_network::topology::{Graph, LeafSpine, SingleSwitch};
use headway_network::{
    BuildError, EventKind, Fault, FaultSpec, FlowChoice, FlowSpec, FlowState, HostCosts, LinkChoice, Network,
    Outcome, PfcParams, Place, ProbeChoice, RunError, RunSpec, SampleSpec, Seen, Witness,
};
use headway_packet::Sizes;
use headway_sim::{Around, run_within, run_witnessed};
use headway_transport::InitialWindow;
use headway_units::Time;
use proptest::prelude::*;

/// Makes the switches of a run lossless.
fn lossless(mut run: RunSpec, pfc: PfcParams) -> RunSpec {
    run.fabric.buffer = Buffer { data: Limit::Packets(128), control: Limit::Packets(u32::MAX) };
    run.fabric.pfc = Some(pfc);
    run
}

fn on_threads(run: &RunSpec, threads: usize) -> Outcome {
    run_within(run, Around { threads, ..Around::default() }, &mut |_| true).expect("a valid run")
}

/// Data that was dropped for want of room anywhere.
fn lost(out: &Outcome) -> u64 {
    let reasons = [DropReason::HeadroomFull, DropReason::BufferFull];
    out.links
        .iter()
        .map(|link| reasons.map(|reason| link.counters.dropped[reason as usize]).iter().sum::<u64>())
        .sum()
}

/// Links that lost packets, and for which reason.
fn losses(out: &Outcome) -> Vec<(&str, [u64; 6])> {
    let all = out.links.iter().map(|link| (link.name.as_str(), link.counters.dropped));
    all.filter(|(_, dropped)| dropped.iter().any(|count| *count > 0)).collect()
}

/// What holds of every run: pauses and what ends them take turns, and none arrives that was not sent.
fn check_pauses(out: &Outcome) {
    let sum =
        |of: fn(&headway_network::PauseCounts) -> u64| out.links.iter().map(|l| of(&l.pauses)).sum::<u64>();
    assert!(sum(|p| p.received) <= sum(|p| p.sent) && sum(|p| p.resumes_received) <= sum(|p| p.resumes_sent));
    for link in &out.links {
        let p = &link.pauses;
        assert!(
            p.resumes_received <= p.received && p.received - p.resumes_received <= 8,
            "{}: {p:?}",
            link.name
        );
        assert!(p.stopped <= out.end && (p.received > 0 || p.stopped == Time::ZERO), "{}: {p:?}", link.name);
    }
}

/// When each pause or resume was heard, and by which port.
#[derive(Default)]
struct Pauses(Vec<(Time, u32)>);

impl Witness for Pauses {
    fn event(&mut self, seen: &Seen) -> bool {
        if let (EventKind::Pause, Place::Port(port)) = (seen.kind, seen.place) {
            self.0.push((seen.at, port));
        }
        true
    }
}

/// Fifteen hosts send one 46 packets each, of 1090 B, at 100 Gb/s: 87.2 ns a packet.
fn fifteen_to_one(pfc: PfcParams) -> RunSpec {
    let window = InitialWindow { window: Some(46), ..InitialWindow::default() };
    let flows = (0..15).map(|h| FlowSpec { initial_window: window, ..flow(h, 15, 46_000, Time::ZERO) });
    let star = SingleSwitch { hosts: 16, link: link(100, Time::us(1)) };
    let mut run = lossless(spec(star.into(), "tcp", flows.collect(), Time::ms(10)), pfc);
    run.fabric.sizes = Sizes { payload: 1000, header: 52, framing: 38, control: 84 };
    run
}

#[test]
fn an_incast_pauses_each_host_when_arithmetic_says() {
    // The pool is 1048576 - 16 x 37500 - 16 x 4096 = 383040 B. The k-th packets of all hosts arrive at 1000 + 87.2 k ns, and
    // with each arrival but the first one has left that came before. After the 20th, five hosts have 18 packets
    // waiting and ten have 19. At the 21st the sixth packet of the second round leaves first, so that six have
    // 18 and nine have 19. With 19, a host has 19 x 1090 - 4096 = 16614 B of the pool, and fifteen have 249210 B, of
    // which an eighth of the rest is 16728 B: nobody is above. With 20 a host would have 17704 B: nine pauses are decided at
    // the 21st packet, at 2831.2 ns, and six at the 22nd. No acknowledgement is on the way back yet: the first data was
    // there at 2174.4 ns and its answer arrives at 3181.12 ns. A pause takes 6.72 ns and the link.
    let pfc = PfcParams { buffer: 1 << 20, headroom: 37_500, ..PfcParams::default() };
    let run = fifteen_to_one(pfc);
    let mut pauses = Pauses::default();
    let out = run_witnessed(&run, &mut pauses, &mut |_| true).expect("a valid run");
    let first = Time(2_831_200 + 6_720 + 1_000_000);
    let expected = (6..15).map(|h| (first, h)).chain((0..6).map(|h| (first + Time(87_200), h)));
    let mut heard = pauses.0[..15].to_vec();
    heard.sort_unstable();
    let mut expected: Vec<_> = expected.collect();
    expected.sort_unstable();
    assert_eq!(heard, expected);
    // By then the nine have begun their 45th packet, the six their 46th: the last arrive with the 46th, when 45 have
    // left and one is leaving.
    let port = &out.links[16 + 15];
    assert_eq!(
        (port.name.as_str(), port.counters.queue_max_bytes),
        ("s0->h15", (9 * 45 + 6 * 46 - 46) * 1090)
    );
    let all =
        |of: fn(&headway_network::PauseCounts) -> u64| out.links.iter().map(|l| of(&l.pauses)).sum::<u64>();
    assert_eq!((all(|p| p.sent), all(|p| p.received), all(|p| p.resumes_received)), (15, 15, 15));
    // The packets of host 14 leave last of each round: the first before it is paused, with 19 in the reserve and the pool and
    // one in the headroom; 24 more arrive, and two leave.
    assert_eq!(out.links[14].pauses.headroom_max, (1 + 24 - 2) * 1090);
    assert_eq!(lost(&out), 0);
    assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done && flow.retransmitted == Some(0)));
    check_pauses(&out);
}

/// Bytes of a full packet at 10 Gb/s, and the time that it takes.
const FULL: u64 = 1538;
const SLOT: Time = Time(1_230_400);

/// Two hosts fill the pool, and then a third begins: all of what it sends goes into the headroom. Pauses are apart from the
/// wire, and there and back take four slots and two picoseconds, so that the packet that is the last to begin has just
/// begun when the pause is there: the headroom is full to the last byte.
fn headroom_to_the_last_byte(less: u64) -> RunSpec {
    let delay = Time(2 * SLOT.0 + 1);
    let star = SingleSwitch { hosts: 4, link: link(10, delay) };
    let flow = |src, packets: u32, start| FlowSpec {
        initial_window: InitialWindow { window: Some(packets), ..InitialWindow::default() },
        ..flow(src, 3, 1460 * u64::from(packets), start)
    };
    let begins = Time(12 * SLOT.0 + SLOT.0 / 3);
    let flows = vec![flow(0, 20, begins), flow(1, 30, Time::ZERO), flow(2, 30, Time::ZERO)];
    let pfc = PfcParams {
        out_of_band: true,
        reserve: 0,
        alpha: 64.0,
        headroom_less: less,
        buffer: 4 * (6 * FULL - less) + 10 * FULL,
        ..PfcParams::default()
    };
    lossless(spec(star.into(), "tcp", flows, Time::s(1)), pfc)
}

#[test]
fn with_one_byte_less_of_headroom_a_packet_is_lost() {
    let right = outcome(&headroom_to_the_last_byte(0));
    assert_eq!((lost(&right), right.links[0].pauses.headroom_max), (0, 6 * FULL));
    let wrong = outcome(&headroom_to_the_last_byte(1));
    let dropped: u64 =
        wrong.links.iter().map(|l| l.counters.dropped[DropReason::HeadroomFull as usize]).sum();
    assert_eq!((dropped, wrong.links[0].pauses.headroom_max), (1, 5 * FULL));
    assert_eq!((wrong.flows[0].drops, wrong.flows[1].drops), (Some(1), Some(0)));
    for out in [right, wrong] {
        assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done));
        check_pauses(&out);
    }
}

/// Bursts between the hosts of a leaf-spine network.
fn bursts(transport: &str, pfc: PfcParams, (gbps, delay): (u64, Time), seed: u64) -> RunSpec {
    let links = |gbps| link(gbps, delay);
    let leaf_spine =
        LeafSpine { racks: 3, spines: 2, hosts_per_rack: 3, host: links(gbps), spine: links(gbps) };
    let flow_of = |number: u64| {
        let mut lot = headway_primitives::mix(seed ^ number << 32);
        let mut below = |n: u64| {
            lot = headway_primitives::mix(lot);
            lot % n
        };
        let src = below(9) as u32;
        // Most go to one host.
        let dst = if below(3) > 0 { 8 } else { below(9) as u32 };
        let dst = if dst == src { (src + 1) % 9 } else { dst };
        flow(src, dst, 1 + below(150_000), Time::ns(below(20_000)))
    };
    let mut run = spec(leaf_spine.into(), transport, (0..16).map(flow_of).collect(), Time::s(20));
    run.seed = seed;
    lossless(run, pfc)
}

/// Memory for these bursts: headroom and a little more.
fn tight(run: &mut RunSpec, pool: u64) {
    let Some(pfc) = &mut run.fabric.pfc else { return };
    pfc.buffer = 1 << 40;
    let network = Network::build(&run.topology, &run.fabric).expect("a network");
    let least =
        headway_network::Lossless::new(&network, headway_network::Surplus::new(run.jitter, &run.transports))
            .expect("it fits")
            .expect("it is lossless")
            .set_apart();
    if let Some(pfc) = &mut run.fabric.pfc {
        pfc.buffer = least + pool;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_all_goes_on_for_every_transport(
        (name, own) in (0..headway_transport::registry::NAMES.len(), any::<bool>()),
        (gbps, delay) in (prop::sample::select(vec![10u64, 25, 40, 100]), 0..3_000_000u64),
        (alpha, classes, resume_offset) in (0.01..8.0f64, 1..9u64, 1..20_000u64),
        (reserve, pool) in (0..8_000u64, 2_000..400_000u64),
        (out_of_band, pause_control) in (any::<bool>(), any::<bool>()),
        (jitter, queue) in (0..2_000_000u64, prop::option::of(20_000..30_000u32)),
        seed in any::<u64>(),
    ) {
        let name = headway_transport::registry::NAMES[name];
        let pfc = PfcParams { alpha, classes, resume_offset, reserve, out_of_band, pause_control, ..PfcParams::default() };
        let mut run = bursts(name, pfc, (gbps, Time(delay)), seed);
        if !own {
            run.fabric.discipline = "strict-priority".into();
        }
        let causes = seed % 2 == 0;
        let (flows, links, probes) = (FlowChoice::None, LinkChoice::None, ProbeChoice::None);
        run.sample = Some(SampleSpec { every: Time::MAX, flows, links, probes, most: u64::MAX, causes });
        run.jitter = Time(jitter);
        run.fabric.host_queue = queue.map(Limit::Packets);
        tight(&mut run, pool);
        let out = outcome(&run);
        // RPO's ports have a limit of their own for opportunistic packets.
        let limited = run.fabric.discipline == "cross-queue-ecn";
        let full = out.links.iter().map(|l| l.counters.dropped[DropReason::HeadroomFull as usize]).sum::<u64>();
        prop_assert_eq!(if limited { full } else { lost(&out) }, 0, "{}: {:?}", name, losses(&out));
        prop_assert_eq!(&out.deadlock, &None, "{}: a tree has no cycle", name);
        let open: Vec<_> = out.flows.iter().filter(|flow| flow.state != FlowState::Done).collect();
        prop_assert!(open.is_empty(), "{}: {:?}", name, open);
        check_pauses(&out);
        for (number, flow) in out.flows.iter().enumerate() {
            prop_assert_eq!(out.by_cause(number).map(|told| told.sum()), flow.fct().filter(|_| causes), "{}", name);
        }
        let threads = 2 + (seed % 4) as usize;
        prop_assert!(on_threads(&run, threads) == out, "{} on {} threads", name, threads);
    }
}

#[test]
fn runs_are_the_same_on_any_number_of_threads() {
    for (transport, out_of_band) in [("tcp", false), ("dctcp", true), ("homa", false), ("expresspass", false)]
    {
        let pfc = PfcParams { out_of_band, classes: 2, ..PfcParams::default() };
        let mut run = bursts(transport, pfc, (40, Time::ns(700)), 7);
        tight(&mut run, 30_000);
        let out = on_threads(&run, 1);
        let pauses: u64 = out.links.iter().map(|link| link.pauses.received).sum();
        assert!(pauses > 0 || transport == "expresspass", "{transport}: no pause");
        for threads in 2..6 {
            let other = on_threads(&run, threads);
            assert_eq!(other.digest, out.digest, "{transport} on {threads} threads");
            assert!(other == out, "{transport} on {threads} threads");
        }
    }
}

#[test]
fn a_stopped_host_still_acknowledges() {
    // Hosts 0 and 1 send to host 2, and are stopped half of the time; host 3 sends to host 0, whose acknowledgements go on.
    let star = SingleSwitch { hosts: 4, link: link(10, Time::us(1)) };
    let window = InitialWindow { window: Some(400), ..InitialWindow::default() };
    let into = |src| FlowSpec { initial_window: window, ..flow(src, 2, 3_000_000, Time::ZERO) };
    let back = flow(3, 0, 1_000_000, Time::us(100));
    let mut alone = lossless(spec(star.clone().into(), "tcp", vec![back], Time::s(1)), PfcParams::default());
    let mut run =
        lossless(spec(star.into(), "tcp", vec![into(0), into(1), back], Time::s(1)), PfcParams::default());
    [&mut alone, &mut run].into_iter().for_each(|run| tight(run, 100_000));
    let (alone, out) = (outcome(&alone), outcome(&run));
    let stopped = out.links[0].pauses.stopped;
    assert!(stopped > Time(out.end.0 / 4), "host 0 was stopped for {stopped} of {}", out.end);
    let (usual, took) = (alone.flows[0].fct().expect("done"), out.flows[2].fct().expect("done"));
    // Each acknowledgement waits for a packet on the wire at most, and leaves between two of data.
    assert!(took < usual + Time(usual.0 / 5), "{took} with pauses, {usual} without");
    assert_eq!(lost(&out), 0);
}

#[test]
fn the_data_of_a_stopped_host_stands_still() {
    let pfc = PfcParams { buffer: 1 << 20, headroom: 37_500, ..PfcParams::default() };
    let out = outcome(&fifteen_to_one(pfc));
    for host in 0..15 {
        let link = &out.links[host];
        // What it sends while it is not stopped takes the whole of that time at the most.
        let open = out.end - link.pauses.stopped;
        assert!(link.counters.busy <= open, "{}: {} of {open}", link.name, link.counters.busy);
        assert!(link.pauses.stopped > Time::us(1));
    }
}

/// Five switches in a ring with a host each, which sends to the one two switches on: no other path is as short.
fn ring(bytes: u64, on_deadlock: OnDeadlock) -> RunSpec {
    let own = (0..5).map(|i| (i, 5 + i, link(10, Time::us(1))));
    let round = (0..5).map(|i| (5 + i, 5 + (i + 1) % 5, link(10, Time::us(1))));
    let graph = Graph { hosts: 5, switches: 5, links: own.chain(round).collect(), back: Vec::new() };
    let window = InitialWindow { window: Some(1000), ..InitialWindow::default() };
    let flows =
        (0..5).map(|i| FlowSpec { initial_window: window, ..flow(i, (i + 2) % 5, bytes, Time::ZERO) });
    let pfc = PfcParams { on_deadlock, deadlock_check: Time::us(50), ..PfcParams::default() };
    let mut run = lossless(spec(graph.into(), "tcp", flows.collect(), Time::ms(20)), pfc);
    tight(&mut run, 20_000);
    run
}

#[test]
fn pauses_that_wait_for_each_other_are_found_and_named() {
    let run = ring(2_000_000, OnDeadlock::End);
    let mut pauses = Pauses::default();
    let out = run_witnessed(&run, &mut pauses, &mut |_| true).expect("a valid run");
    let deadlock = out.deadlock.clone().expect("a deadlock");
    let names: Vec<&str> =
        deadlock.cycle.iter().map(|(link, _)| out.links[*link as usize].name.as_str()).collect();
    let start = names.iter().position(|name| *name == "s0->s1").expect("it is in the cycle");
    let turned: Vec<&str> = (0..5).map(|i| names[(start + i) % 5]).collect();
    assert_eq!((names.len(), turned), (5, vec!["s0->s1", "s1->s2", "s2->s3", "s3->s4", "s4->s0"]));
    // It closed when the last of these links heard its last pause.
    let heard = pauses.0.iter().filter(|(_, port)| deadlock.cycle.iter().any(|(link, _)| link == port));
    assert_eq!(Some(deadlock.closed), heard.map(|(at, _)| *at).max());
    assert!(
        deadlock.found >= deadlock.closed
            && deadlock.found == out.end
            && out.end.0.is_multiple_of(Time::us(50).0)
    );
    assert!(deadlock.bytes > 0 && deadlock.stuck.len() >= 5);
    assert!(
        out.warnings.iter().any(|text| text.starts_with("deadlock: since") && text.contains("s4->s0")),
        "{:?}",
        out.warnings
    );
    assert!(!out.interrupted && lost(&out) == 0);
    for threads in 2..6 {
        assert!(on_threads(&run, threads) == out, "{threads} threads");
    }
    // It stays: whatever time it is given, nothing of it moves.
    let on = outcome(&ring(2_000_000, OnDeadlock::Report));
    let later = on.deadlock.clone().expect("the same");
    assert_eq!((later.closed, &later.cycle, later.bytes), (deadlock.closed, &deadlock.cycle, deadlock.bytes));
    assert_eq!(on.end, Time::ms(20));
    assert!(on.flows.iter().all(|flow| flow.state == FlowState::Unfinished));
}

#[test]
fn a_ring_with_little_to_carry_is_no_deadlock() {
    let out = outcome(&ring(4_000, OnDeadlock::End));
    assert_eq!(out.deadlock, None);
    assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done));
}

fn refused(run: &RunSpec) -> String {
    match headway_sim::run(run, &mut |_| true) {
        Err(RunError::Build(error @ (BuildError::Lossless(_) | BuildError::Memory { .. }))) => {
            error.to_string()
        }
        other => panic!("{:?}", other.map(|out| out.end)),
    }
}

#[test]
fn what_does_not_go_with_lossless_switches_is_refused() {
    let usual = || bursts("tcp", PfcParams::default(), (10, Time::us(1)), 1);
    let mut small = usual();
    tight(&mut small, 0);
    assert_eq!(lost(&outcome(&small)), 0);
    if let Some(pfc) = &mut small.fabric.pfc {
        pfc.buffer -= 1;
    }
    assert!(refused(&small).starts_with("switch leaf0 has "), "{}", refused(&small));
    let mut stiff = usual();
    stiff.fabric.discipline = "fair-queue".into();
    assert!(refused(&stiff).contains("`fair-queue` cannot be stopped class by class"));
    let mut slow = usual();
    slow.costs = HostCosts { packet: Time::ns(1), ..HostCosts::default() };
    assert!(refused(&slow).contains("processors"));
    let mut dark = usual();
    let what = Fault::Change(headway_network::Change {
        at: Time::us(5),
        until: Time::MAX,
        rate: None,
        delay: Some(Time::us(2)),
    });
    dark.faults = vec![FaultSpec { links: LinkChoice::All, kind: None, what }];
    assert!(refused(&dark).contains("headroom is made for links as they are"));
    let holdable = disciplines::NAMES.iter().filter(|name| disciplines::is_holdable(name)).count();
    assert_eq!(holdable, disciplines::NAMES.len() - 1);
}
