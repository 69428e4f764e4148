//! Flows that are given while a run goes on.

use crate::common::{flow, link, outcome, spec, told_by_cause};
use headway_network::topology::SingleSwitch;
use headway_network::{
    Ask, Cause, Fault, FaultSpec, FlowSpec, FlowState, Graph, GraphStep, Happening, LinkChoice, Node,
    Outcome, RunError, RunSpec, Source, TransportSpec, Until,
};
use headway_sim::{Rest, Session};
use headway_transport::registry;
use headway_units::Time;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

const RANKS: u32 = 5;
const CHUNK: u64 = 30_000;
const ROUNDS: u32 = 2 * (RANKS - 1);

fn star(transport: &str, flows: Vec<FlowSpec>) -> RunSpec {
    let hosts = SingleSwitch { hosts: RANKS, link: link(10, Time::us(1)) };
    spec(hosts.into(), transport, flows, Time::ms(100))
}

fn go(session: &mut Session, source: &mut dyn Source, until: Option<Time>) -> Rest {
    session.go(source, until, &mut |_| true).expect("flows that can be")
}

/// Each rank tells the next one, round after round, when the one before has told it; computing takes a while in the
/// second round.
#[derive(Default)]
struct Ring {
    asks: VecDeque<Ask>,
    /// Rank and round of each flow.
    sent: Vec<(u32, u32)>,
    heard: Vec<(Time, Happening)>,
}

impl Ring {
    fn new() -> Ring {
        let mut ring = Ring::default();
        (0..RANKS).for_each(|rank| ring.send(rank, 0));
        ring
    }

    fn send(&mut self, rank: u32, round: u32) {
        self.sent.push((rank, round));
        let flow = flow(rank, (rank + 1) % RANKS, CHUNK, Time::ZERO);
        self.asks.push_back(Ask::Flow { flow, known: false });
    }
}

impl Source for Ring {
    fn hear(&mut self, now: Time, what: Happening) {
        self.heard.push((now, what));
        match what {
            Happening::Flow(number, Until::Received) => {
                let (rank, round) = self.sent[number as usize];
                let next = (rank + 1) % RANKS;
                match round + 1 {
                    ROUNDS => {}
                    2 => self.asks.push_back(Ask::Timer { after: Time::us(3), number: next.into() }),
                    round => self.send(next, round),
                }
            }
            Happening::Timer(rank) => self.send(rank as u32, 2),
            Happening::Flow(_, Until::Known) | Happening::Lost(_) => {}
        }
    }

    fn ask(&mut self) -> Option<Ask> {
        self.asks.pop_front()
    }
}

/// The ring's flows as a graph that is known before the run.
fn ring_graph(transport: &str) -> RunSpec {
    let flows: Vec<FlowSpec> =
        (0..ROUNDS * RANKS).map(|i| flow(i % RANKS, (i % RANKS + 1) % RANKS, CHUNK, Time::ZERO)).collect();
    let steps = (0..RANKS)
        .map(|host| GraphStep { host: Some(host), takes: Time::us(3), ..GraphStep::default() })
        .collect();
    let mut edges = Vec::new();
    for i in RANKS..ROUNDS * RANKS {
        let (rank, round) = (i % RANKS, i / RANKS);
        let before = Cause::Flow((round - 1) * RANKS + (rank + RANKS - 1) % RANKS, Until::Received);
        if round == 2 {
            edges.push((Node::Step(rank), before));
            edges.push((Node::Flow(i), Cause::Step(rank)));
        } else {
            edges.push((Node::Flow(i), before));
        }
    }
    let mut run = star(transport, flows);
    run.graph = Some(Arc::new(Graph::new(&run.flows, steps, &edges).expect("a graph")));
    run
}

#[test]
fn a_source_does_what_a_graph_does_to_the_picosecond_under_every_transport() {
    for transport in registry::NAMES {
        let graph = told_by_cause(ring_graph(transport));
        let listed = outcome(&graph);
        let run = told_by_cause(star(transport, Vec::new()));
        let mut session = Session::new(run, u64::MAX).expect("a run");
        let mut ring = Ring::new();
        assert_eq!(go(&mut session, &mut ring, None), Rest::Over, "{transport}");
        let (spec, given) = session.finish();
        assert_eq!(given.end, listed.end, "{transport}");
        // Times that a source waits for are at no host, so that the digests differ.
        assert_eq!(given.events, listed.events, "{transport}");
        for (number, &(rank, round)) in ring.sent.iter().enumerate() {
            let twin = (round * RANKS + rank) as usize;
            assert_eq!(spec.flows[number].start, listed.flows[twin].start.expect("it began"), "{transport}");
            assert_eq!(given.flows[number], listed.flows[twin], "{transport}: flow {number}");
            assert_eq!(given.by_cause[number], listed.by_cause[twin], "{transport}: flow {number}");
        }
    }
}

#[test]
fn pieces_of_time_make_the_same_run() {
    let whole = |pieces: &[u64]| {
        let mut session = Session::new(star("dctcp", Vec::new()), u64::MAX).expect("a run");
        let mut ring = Ring::new();
        for &at in pieces {
            assert_eq!(go(&mut session, &mut ring, Some(Time::us(at))), Rest::Until);
            assert_eq!(session.progress().0.now, Time::us(at));
        }
        let rest = go(&mut session, &mut ring, None);
        assert_eq!(rest, Rest::Over);
        (ring.heard, session.finish().1)
    };
    let (heard, outcome) = whole(&[]);
    for pieces in [&[1, 30, 31, 31, 200][..], &[0, 10, 20, 100]] {
        let (same_heard, same) = whole(pieces);
        assert_eq!(same_heard, heard);
        assert_eq!(same, outcome);
    }
}

/// Asks for a list of things once, and records the events that it hears.
#[derive(Default)]
struct List {
    asks: VecDeque<Ask>,
    heard: Vec<(Time, Happening)>,
    rests_after: Option<usize>,
}

impl List {
    fn of(asks: impl IntoIterator<Item = Ask>) -> List {
        List { asks: asks.into_iter().collect(), ..List::default() }
    }
}

impl Source for List {
    fn hear(&mut self, now: Time, what: Happening) {
        self.heard.push((now, what));
    }

    fn ask(&mut self) -> Option<Ask> {
        self.asks.pop_front()
    }

    fn rests(&self) -> bool {
        self.rests_after.is_some_and(|after| self.heard.len() >= after)
    }
}

fn message(src: u32, dst: u32, bytes: u64) -> Ask {
    Ask::Flow { flow: flow(src, dst, bytes, Time::ZERO), known: false }
}

fn timer(after: Time, number: u64) -> Ask {
    Ask::Timer { after, number }
}

#[test]
fn times_of_one_instant_are_over_in_the_order_in_which_they_were_asked_for() {
    let mut session = Session::new(star("ndp", Vec::new()), u64::MAX).expect("a run");
    let mut list = List::of([(9, 1), (0, 2), (9, 3), (0, 4), (9, 5)].map(|(us, n)| timer(Time::us(us), n)));
    assert_eq!(go(&mut session, &mut list, None), Rest::Over);
    let numbers: Vec<_> = list.heard.iter().map(|(at, what)| (at.0 / 1_000_000, *what)).collect();
    let expected = [(0, 2), (0, 4), (9, 1), (9, 3), (9, 5)].map(|(us, n)| (us, Happening::Timer(n)));
    assert_eq!(numbers, expected);
    // It goes on from there.
    list.asks.push_back(timer(Time::us(1), 6));
    assert_eq!(go(&mut session, &mut list, None), Rest::Over);
    assert_eq!(list.heard.last(), Some(&(Time::us(10), Happening::Timer(6))));
    // An empty network lets time pass, too.
    assert_eq!(go(&mut session, &mut list, Some(Time::us(50))), Rest::Until);
    list.asks.push_back(timer(Time::us(1), 7));
    assert_eq!(go(&mut session, &mut list, None), Rest::Over);
    assert_eq!(list.heard.last(), Some(&(Time::us(51), Happening::Timer(7))));
}

#[test]
fn a_run_lasts_until_senders_know_where_that_is_asked_for() {
    for transport in registry::NAMES {
        let mut session = Session::new(star(transport, Vec::new()), u64::MAX).expect("a run");
        let flow = flow(0, 1, 40_000, Time::ZERO);
        let mut list = List::of([Ask::Flow { flow, known: true }, message(2, 3, 100)]);
        assert_eq!(go(&mut session, &mut list, None), Rest::Over, "{transport}");
        assert!(
            list.heard.iter().any(|(_, what)| *what == Happening::Flow(0, Until::Known)),
            "{transport}: {:?}",
            list.heard
        );
        assert!(session.finish().1.flows.iter().all(|flow| flow.state == FlowState::Done));
    }
}

#[test]
fn a_source_hears_of_the_flows_of_the_specification_and_gives_others_beside_them() {
    let own = vec![flow(3, 4, 200_000, Time::us(5)), flow(1, 4, 1_000, Time::us(7))];
    let alone = outcome(&star("dctcp", own.clone()));
    let mut session = Session::new(star("dctcp", own), u64::MAX).expect("a run");
    // From another host and to another one, so that it meets none of them.
    let mut list = List::of([message(0, 2, 60_000)]);
    assert_eq!(go(&mut session, &mut list, None), Rest::Over);
    let (spec, found) = session.finish();
    assert_eq!(spec.flows.len(), 3);
    assert_eq!(found.flows[..2], alone.flows[..]);
    for number in 0..3 {
        assert!(list.heard.iter().any(|(_, what)| *what == Happening::Flow(number, Until::Received)));
    }
}

#[test]
fn a_source_may_let_its_run_rest_and_go_on() {
    let mut session = Session::new(star("amrt", Vec::new()), u64::MAX).expect("a run");
    let mut list = List::of([message(0, 1, 90_000), message(2, 3, 1_000)]);
    list.rests_after = Some(1);
    assert_eq!(go(&mut session, &mut list, None), Rest::Asked);
    let first = session.progress().0;
    assert_eq!((first.flows_done, first.flows_total), (1, 2));
    list.rests_after = None;
    assert_eq!(go(&mut session, &mut list, None), Rest::Over);
    assert!(session.progress().0.now > first.now);
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let two = vec!["ndp", "dctcp"].into_iter();
    let two = two.map(|name| TransportSpec::new(name, Vec::new())).collect();
    let several = RunSpec { transports: two, ..star("ndp", Vec::new()) };
    assert_eq!(Session::new(several, u64::MAX).err(), Some(RunError::SeveralTransports(2)));
    for (ask, reason) in [
        (message(0, 9, 1), "host 9 is not there; the network has 5 hosts"),
        (message(1, 1, 1), "host 1 sends to itself"),
        (
            Ask::Flow {
                flow: FlowSpec { stop: Some(Time::us(9)), ..flow(0, 1, 1, Time::ZERO) },
                known: false,
            },
            "a flow that is given while the run goes on has no stop and no connection",
        ),
    ] {
        let mut session = Session::new(star("ndp", Vec::new()), u64::MAX).expect("a run");
        let refused = session.go(&mut List::of([message(0, 1, 1), ask]), None, &mut |_| true);
        assert_eq!(refused, Err(RunError::Flow { flow: 1, reason: reason.into() }));
        // Everything before it is there.
        assert_eq!(go(&mut session, &mut List::default(), None), Rest::Over);
        assert_eq!(session.finish().1.flows.len(), 1);
    }
}

#[test]
fn a_message_that_never_arrives_ends_the_run_at_its_latest_end() {
    let mut run = star("dctcp", Vec::new());
    let what = Fault::Blackhole { from: Time::ZERO, until: Time::MAX };
    run.faults.push(FaultSpec { links: LinkChoice::Some(vec!["h0->s0".into()]), kind: None, what });
    let mut session = Session::new(run, u64::MAX).expect("a run");
    let mut list = List::of([message(0, 1, 5_000), message(2, 1, 5_000)]);
    assert_eq!(go(&mut session, &mut list, None), Rest::Stop);
    assert_eq!(go(&mut session, &mut list, Some(Time::s(1))), Rest::Stop);
    let (_, found) = session.finish();
    assert_eq!(found.end, Time::ms(100));
    assert_eq!(
        found.flows.iter().map(|f| f.state).collect::<Vec<_>>(),
        [FlowState::Unfinished, FlowState::Done]
    );
    // Lost packets are counted with their flow, although it was not there at the start.
    assert!(found.flows[0].drops > Some(3) && found.flows[1].drops == Some(0));
}

#[test]
fn a_run_that_has_no_memory_left_can_go_no_further() {
    let mut session = Session::new(star("ndp", Vec::new()), 100_000).expect("a run");
    let mut list = List::of((0..1_000).map(|_| message(0, 1, 20_000)));
    assert_eq!(go(&mut session, &mut list, None), Rest::Cut);
    let (_, found) = session.finish();
    assert!(found.interrupted && found.warnings.iter().any(|w| w.contains("its flows took all the memory")));
}

fn random_run(asks: &[(u32, u32, u64, u64)], pieces: &[u64]) -> (Vec<(Time, Happening)>, Outcome) {
    let asks = asks.iter().map(|&(src, by, bytes, after)| match by {
        0 => timer(Time(after), bytes),
        by => Ask::Flow { flow: flow(src, (src + by) % RANKS, bytes, Time(after)), known: bytes % 2 == 0 },
    });
    let mut session = Session::new(star("dctcp", Vec::new()), u64::MAX).expect("a run");
    let mut list = List::of(asks);
    let mut at = 0;
    for piece in pieces {
        at += piece;
        go(&mut session, &mut list, Some(Time(at)));
    }
    go(&mut session, &mut list, None);
    (list.heard, session.finish().1)
}

/// Checks that a run that was made to wait is the same up to where the other one ended, and goes on from there.
fn goes_on(found: &(Vec<(Time, Happening)>, Outcome), waited: &(Vec<(Time, Happening)>, Outcome)) {
    let until = found.0.len();
    assert_eq!(found.0[..], waited.0[..until]);
    assert!(waited.0[until..].iter().all(|(at, _)| *at > found.1.end));
    assert_eq!(found.1.flows.len(), waited.1.flows.len());
    for (flow, longer) in found.1.flows.iter().zip(&waited.1.flows) {
        assert_eq!(
            (flow.start, flow.state, flow.finish, flow.delivered),
            (longer.start, longer.state, longer.finish, longer.delivered)
        );
        // Its sender may have heard by now.
        assert!(flow.known == longer.known || (flow.known.is_none() && longer.known > Some(found.1.end)));
    }
    if waited.1.end == found.1.end {
        assert_eq!(found, waited);
    }
}

#[test]
fn a_run_that_waits_hears_what_happens_after_its_last_flow() {
    // The flow is whole at 4.9512 us, and its sender hears at 7.0856 us.
    let asks = [(0, 1, 1_995, 0)];
    let found = random_run(&asks, &[]);
    assert_eq!((found.1.end, found.1.flows[0].known), (Time::ns(4_951) + Time(200), None));
    for at in [0, 4_951_200, 7_085_599, 7_085_600, 10_000_000] {
        goes_on(&found, &random_run(&asks, &[at]));
    }
    assert_eq!(random_run(&asks, &[7_085_600]).1.flows[0].known, Some(Time(7_085_600)));
}

proptest! {
    #![proptest_config(headway_testing::cases!(8))]

    #[test]
    fn equal_calls_make_equal_runs_wherever_they_rest(
        asks in prop::collection::vec((0..RANKS, 0..RANKS, 1u64..200_000, 0u64..200_000_000), 1..40),
        pieces in prop::collection::vec(0u64..60_000_000, 0..6),
    ) {
        let found = random_run(&asks, &[]);
        prop_assert_eq!(&found, &random_run(&asks, &[]));
        // A run that is made to wait may rest later than its last flow.
        goes_on(&found, &random_run(&asks, &pieces));
    }
}
