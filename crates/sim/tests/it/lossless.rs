//! Lossless switches: the effects of pauses, that nothing is dropped, and deadlocks of pauses.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_fabric::registry as disciplines;
use headway_fabric::{Buffer, DropReason, Limit};
use headway_network::pfc::OnDeadlock;
use headway_network::topology::{Graph, LeafSpine, SingleSwitch};
use headway_network::{
    BuildError, Change, Down, EventKind, Fault, FaultSpec, FlowChoice, FlowSpec, FlowState, HostCosts,
    LinkChoice, Network, Outcome, PfcParams, Place, ProbeChoice, RunError, RunSpec, SampleSpec, Seen,
    Witness,
};
use headway_packet::Sizes;
use headway_sim::{Around, run_within, run_witnessed};
use headway_transport::InitialWindow;
use headway_units::{Rate, Time};
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

/// Checks of every run: pauses and resumes take turns, and none arrives that was not sent.
fn check_pauses(out: &Outcome) {
    let sum =
        |of: fn(&headway_network::PauseCounts) -> u64| out.links.iter().map(|l| of(&l.pauses)).sum::<u64>();
    assert!(sum(|p| p.received) <= sum(|p| p.sent) && sum(|p| p.resumes_received) <= sum(|p| p.resumes_sent));
    for link in &out.links {
        let p = &link.pauses;
        assert!(
            // Of eight classes, each may be stopped at the end.
            p.resumes_received <= p.received && p.received - p.resumes_received <= 8,
            "{}: {p:?}",
            link.name
        );
        assert!(p.stopped <= out.end && (p.received > 0 || p.stopped == Time::ZERO), "{}: {p:?}", link.name);
    }
}

/// Time at which each pause or resume was heard, and its port.
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
    // which an eighth of the rest is 16728 B: no host is above. With 20 a host would have 17704 B: nine pauses are
    // decided at the 21st packet, at 2831.2 ns, and six at the 22nd. No acknowledgement is on the way back yet: the
    // first data was there at 2174.4 ns and its answer arrives at 3181.12 ns. A pause takes 6.72 ns and the link.
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
    // Links that leave hosts come before the switch's.
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

/// Two hosts fill the pool, and then a third begins: all of its packets go into the headroom. Pauses are apart from the
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
        // Headroom of six packets for each of four ports, and a pool of ten.
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
    // Enough to be built, until the switches say what they need.
    pfc.buffer = 1 << 40;
    let network = Network::build(&run.topology, &run.fabric).expect("a network");
    let least = headway_network::Lossless::new(
        &network,
        headway_network::Surplus::new(run.jitter, &run.transports, &run.faults),
    )
    .expect("it fits")
    .expect("it is lossless")
    .set_apart();
    if let Some(pfc) = &mut run.fabric.pfc {
        pfc.buffer = least + pool;
    }
}

proptest! {
    #![proptest_config(headway_testing::cases!(12))]

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
        run.sample = Some(SampleSpec { every: Time::MAX, flows, links, probes, most: u64::MAX, causes, volumes: vec![0, 5, 9] });
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
        for link in &out.links {
            // Frames are not in it, nor in the port's count of packets.
            prop_assert_eq!(link.volumes.iter().sum::<u64>(), link.counters.wire_bytes, "{}", link.name);
        }
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
        // Credits keep its queues too short for a pause.
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
        // While it is not stopped, sending takes at most all of that time.
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
        // Switches are checked every 50 us.
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
    // All but `fair-queue`.
    let holdable = disciplines::NAMES.iter().filter(|name| disciplines::is_holdable(name)).count();
    assert_eq!(holdable, disciplines::NAMES.len() - 1);
}

/// Links that go down at a time, and come up again.
fn down(links: &[&str], (at, until): (Time, Time), converge: Time) -> FaultSpec {
    let what = Fault::Down(Down { switches: Vec::new(), at, until, converge });
    let links = LinkChoice::Some(links.iter().map(|name| (*name).to_string()).collect());
    FaultSpec { links, kind: None, what }
}

/// All of 15 hosts fill the switch; host 14 is stopped, and its link dies and comes back.
fn incast_with(faults: Vec<FaultSpec>) -> RunSpec {
    let mut run = fifteen_to_one(PfcParams { buffer: 1 << 20, headroom: 37_500, ..PfcParams::default() });
    run.faults = faults;
    // Longer than a time-out.
    run.stop = Time::s(1);
    run
}

fn dropped(out: &Outcome, link: &str, reason: DropReason) -> u64 {
    let link = out.links.iter().find(|l| l.name == link).expect("a link");
    link.counters.dropped[reason as usize]
}

#[test]
fn a_pause_that_came_over_a_link_which_dies_is_void() {
    // Host 14 hears its pause at 3837.92 ns, as `an_incast_pauses_each_host_when_arithmetic_says` computes.
    let heard = Time(2_831_200 + 6_720 + 1_000_000);
    let dies = heard + Time::us(1);
    let both = ["h14->s0", "s0->h14"];
    // For 60 us: what the switch holds of the host has left long before.
    let out = outcome(&incast_with(vec![down(&both, (dies, dies + Time::us(60)), Time::MAX)]));
    let link = &out.links[14];
    assert_eq!((link.pauses.received, link.pauses.resumes_received), (1, 0));
    assert_eq!(link.pauses.stopped, Time::us(1), "until it was void");
    assert_eq!(lost(&out), 0);
    assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done));
    // A pause under way on a link that dies is lost with it, and the host is never stopped.
    let before = heard - Time(1);
    let out = outcome(&incast_with(vec![down(&["s0->h14"], (before, before + Time::us(60)), Time::MAX)]));
    assert_eq!((out.links[14].pauses.received, out.links[14].pauses.stopped), (0, Time::ZERO));
    assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done));
}

#[test]
fn a_link_that_comes_up_is_stopped_anew_if_its_switch_is_still_full() {
    let heard = Time(2_831_200 + 6_720 + 1_000_000);
    let (dies, comes) = (heard + Time::us(2), heard + Time::us(4));
    let both = ["h14->s0", "s0->h14"];
    let run = incast_with(vec![down(&both, (dies, comes), Time::MAX)]);
    let mut pauses = Pauses::default();
    let out = run_witnessed(&run, &mut pauses, &mut |_| true).expect("a valid run");
    // A frame and a link's delay after it came up.
    let again = comes + Time(6_720) + Time::us(1);
    let of_host: Vec<Time> = pauses.0.iter().filter(|(_, port)| *port == 14).map(|(at, _)| *at).collect();
    assert_eq!(&of_host[..2], [heard, again]);
    assert_eq!(out.links[14].pauses.received, out.links[14].pauses.resumes_received + 1);
    assert_eq!(lost(&out), 0);
    assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done));
}

#[test]
fn what_a_dead_way_back_cannot_stop_is_lost_to_the_fault() {
    // Pauses of host 14 are lost from the start; it sends four times what its switch has room for.
    let window = InitialWindow { window: Some(400), ..InitialWindow::default() };
    let mut run = incast_with(vec![down(&["s0->h14"], (Time(1), Time::us(300)), Time::MAX)]);
    run.flows[14] = FlowSpec { initial_window: window, ..flow(14, 15, 400_000, Time::ZERO) };
    let out = outcome(&run);
    let gone = dropped(&out, "s0->h15", DropReason::LinkDown);
    assert!(gone > 0, "nothing was beyond the headroom");
    assert_eq!(out.flows[14].drops, Some(gone as u32));
    assert!((0..14).all(|flow| out.flows[flow].drops == Some(0)));
    assert_eq!(lost(&out), 0, "nothing for any other reason");
    assert_eq!(out.links[14].pauses.received, 0);
    assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done));
}

#[test]
fn packets_that_wait_for_a_dead_port_give_back_their_room() {
    // The only way to host 15 dies while all are stopped: every account is empty at once, and every host goes on.
    let dies = Time::us(6);
    let run = incast_with(vec![down(&["s0->h15"], (dies, Time::us(40)), Time::MAX)]);
    let mut pauses = Pauses::default();
    let out = run_witnessed(&run, &mut pauses, &mut |_| true).expect("a valid run");
    // An acknowledgement may be on the wire before the frame.
    let first = dies + Time(6_720) + Time::us(1);
    let resumed = pauses.0.iter().filter(|(at, _)| (first..=first + Time(6_720)).contains(at)).count();
    assert_eq!(resumed, 15, "{:?}", pauses.0);
    let gone = dropped(&out, "s0->h15", DropReason::LinkDown);
    let all: u64 = out.flows.iter().map(|flow| u64::from(flow.drops.unwrap_or(0))).sum();
    assert!(gone > 400 && all > gone, "{gone} waited or came later, {all} with the one on the wire");
    assert_eq!(lost(&out), 0);
    assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done));
}

#[test]
fn frames_do_not_overtake_each_other_where_a_link_becomes_shorter() {
    // The way back of host 0 takes 200 us as its pause leaves, and a microsecond when its end does.
    let change = |at, delay| {
        let what = Fault::Change(Change { at, until: Time::MAX, rate: None, delay: Some(delay) });
        FaultSpec { links: LinkChoice::Some(vec!["s0->h0".into()]), kind: None, what }
    };
    let mut run = fifteen_to_one(PfcParams::default());
    run.faults = vec![change(Time(1), Time::us(200)), change(Time::us(4), Time::us(1))];
    // The run goes on until they are there.
    run.flows.push(flow(1, 2, 1_000, Time::us(300)));
    tight(&mut run, 383_040);
    let mut pauses = Pauses::default();
    let out = run_witnessed(&run, &mut pauses, &mut |_| true).expect("a valid run");
    let heard: Vec<Time> = pauses.0.iter().filter(|(_, port)| *port == 0).map(|(at, _)| *at).collect();
    assert!(heard.len() == 2 && heard[0] == heard[1] && heard[0] > Time::us(202), "{heard:?}");
    assert_eq!(out.links[0].pauses.stopped, Time::ZERO);
    assert_eq!(lost(&out), 0);
    assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done));
    check_pauses(&out);
}

/// A fault of a leaf-spine network of three racks, two spines and nine hosts.
fn some_fault() -> impl Strategy<Value = FaultSpec> {
    let pair = prop_oneof![
        (0..9u32).prop_map(|h| (format!("h{h}"), format!("leaf{}", h / 3))),
        (0..3u32, 0..2u32).prop_map(|(leaf, spine)| (format!("leaf{leaf}"), format!("spine{spine}"))),
    ];
    let links = (pair, 0..5u8).prop_map(|((a, b), ways)| {
        let there = format!("{a}->{b}");
        let back = format!("{b}->{a}");
        LinkChoice::Some(match ways {
            0 => vec![there],
            1 => vec![back],
            _ => vec![there, back],
        })
    });
    let at = 1_000_000..60_000_000u64;
    let lasts = 1_000..80_000_000u64;
    let converge = prop::option::of(0..20_000_000u64);
    let switch = prop::option::weighted(0.2, prop_oneof![Just("spine0"), Just("leaf2")]);
    let goes_down = (links.clone(), at.clone(), lasts.clone(), converge, switch).prop_map(
        |(links, at, lasts, converge, switch)| {
            let switches: Vec<String> = switch.into_iter().map(String::from).collect();
            let links = if switches.is_empty() { links } else { LinkChoice::None };
            let converge = converge.map_or(Time::MAX, Time);
            let what = Fault::Down(Down { switches, at: Time(at), until: Time(at + lasts), converge });
            FaultSpec { links, kind: None, what }
        },
    );
    let rate = prop::option::of(1_000_000_000..200_000_000_000u64);
    let delay = prop::option::of(0..6_000_000u64);
    let changes =
        (links, at, lasts, rate, delay, any::<bool>()).prop_map(|(links, at, lasts, rate, delay, ends)| {
            let until = if ends { Time(at + lasts) } else { Time::MAX };
            // A change has to change something.
            let delay = delay.or(rate.is_none().then_some(1_000)).map(Time);
            let what = Fault::Change(Change { at: Time(at), until, rate: rate.and_then(Rate::new), delay });
            FaultSpec { links, kind: None, what }
        });
    prop_oneof![3 => goes_down, 2 => changes]
}

proptest! {
    #![proptest_config(headway_testing::cases!(12))]

    #[test]
    fn links_that_fail_and_change_cost_no_more_than_they_do(
        name in 0..headway_transport::registry::NAMES.len(),
        (gbps, delay) in (prop::sample::select(vec![10u64, 25, 100]), 0..3_000_000u64),
        (alpha, classes, pool) in (0.01..8.0f64, 1..9u64, 2_000..200_000u64),
        (out_of_band, pause_control) in (any::<bool>(), any::<bool>()),
        (jitter, queue) in (0..2_000_000u64, prop::option::of(20_000..30_000u32)),
        faults in prop::collection::vec(some_fault(), 1..5),
        seed in any::<u64>(),
    ) {
        // Runs with faults that contradict each other are refused.
        prop_assume!(headway_network::conflict(&faults).is_none());
        let name = headway_transport::registry::NAMES[name];
        let pfc = PfcParams { alpha, classes, out_of_band, pause_control, ..PfcParams::default() };
        let mut run = bursts(name, pfc, (gbps, Time(delay)), seed);
        run.faults = faults;
        run.jitter = Time(jitter);
        run.fabric.host_queue = queue.map(Limit::Packets);
        tight(&mut run, pool);
        // A panic at the end of a run says that a switch's memory does not hold what waits at its ports.
        let out = outcome(&run);
        let full = out.links.iter().map(|l| l.counters.dropped[DropReason::HeadroomFull as usize]).sum::<u64>();
        let limited = run.fabric.discipline == "cross-queue-ecn";
        prop_assert_eq!(if limited { full } else { lost(&out) }, 0, "{}: {:?}", name, losses(&out));
        prop_assert_eq!(&out.deadlock, &None, "{}: a tree has no cycle", name);
        let open: Vec<_> = out.flows.iter().filter(|flow| flow.state != FlowState::Done).collect();
        prop_assert!(open.is_empty(), "{}: {:?}", name, open);
        let threads = 2 + (seed % 7) as usize;
        prop_assert!(on_threads(&run, threads) == out, "{} on {} threads", name, threads);
    }
}
