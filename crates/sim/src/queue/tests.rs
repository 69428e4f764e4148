//! The event queue against a library heap, and by hand where its parts meet.

use super::*;
use proptest::prelude::*;

/// The queue and a heap of (time, class, number of the event), fed alike.
struct Pair {
    queue: EventQueue,
    heap: BinaryHeap<Reverse<(u64, u8, u32)>>,
    now: u64,
    made: u32,
}

impl Pair {
    fn new(horizon: u64, density: usize, ahead: usize) -> Pair {
        let mut queue = EventQueue::new(horizon, density);
        queue.look_ahead(ahead);
        Pair { queue, heap: BinaryHeap::new(), now: 0, made: 0 }
    }

    /// Adds an event `ahead` picoseconds from now.
    fn push(&mut self, ahead: u64, class: u8) {
        let at = self.now + ahead;
        // The number in the rank makes it unique: the order is total, as the heap's is.
        self.queue.push(at, u64::from(class) << 42 | u64::from(self.made), self.made, !self.made);
        self.heap.push(Reverse((at, class, self.made)));
        self.made += 1;
    }

    /// Takes an event from both; `false` when there is none.
    fn pop(&mut self) -> bool {
        let known = self.queue.upcoming(0);
        let (got, want) = (self.queue.pop_before(u64::MAX), self.heap.pop().map(|Reverse(event)| event));
        let expected = want.map(|(at, _, what)| Event { at, what, packet: !what });
        assert_eq!(got, expected, "after {} events, at {}", self.made, self.now);
        assert!(known.is_none() || known == got, "{known:?} was announced, {got:?} came");
        self.now = got.map_or(self.now, |event| event.at);
        got.is_some()
    }

    fn drain(&mut self) {
        assert_eq!(self.queue.len(), self.heap.len());
        while self.pop() {}
        assert_eq!(self.queue.len(), 0);
    }
}

/// One step: take an event, or add one so far ahead and of this class.
#[derive(Clone, Copy, Debug)]
enum Step {
    Pop,
    Push(u64, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let ahead = prop_oneof![
        2 => Just(0u64),
        1 => 0..100u64,
        // Multiples of a slot tie with one another.
        4 => (0..30u64).prop_map(|slots| slots * 80_000),
        6 => 0..2_000_000u64,
        1 => 0..100_000_000u64,
        1 => 0..100_000_000_000u64,
    ];
    prop_oneof![4 => Just(Step::Pop), 5 => (ahead, 0..4u8).prop_map(|(ahead, class)| Step::Push(ahead, class))]
}

proptest! {
    #![proptest_config(headway_testing::cases!(32))]

    #[test]
    fn agrees_with_a_heap_whatever_is_asked_of_it(
        steps in prop::collection::vec(step(), 0..2000),
        density in 1..20_000usize,
        // The last one asks for buckets wider than a key has bits for.
        horizon in prop_oneof![Just(4096u64), Just(2_000_000), Just(u64::MAX / 2)],
        ahead in prop_oneof![Just(0usize), 1..200usize],
    ) {
        let mut pair = Pair::new(horizon, density, ahead);
        for step in steps {
            match step {
                Step::Pop => { pair.pop(); }
                Step::Push(ahead, class) => pair.push(ahead, class),
            }
        }
        pair.drain();
    }
}

/// A network in miniature: every event taken makes others a link's delay ahead, long enough for the ring
/// to turn many times and its chunks to be used again and again.
#[test]
fn agrees_with_a_heap_over_many_turns_of_the_ring() {
    for ahead in [0, 1, 24, 300] {
        let mut pair = Pair::new(2_000_000, 4096, ahead);
        for host in 0..700 {
            // A full packet, 1,538 B on the wire, takes 123,040 ps at 100 Gb/s.
            pair.push(host % 7 * 123_040, 0);
        }
        for turn in 0..100_000u64 {
            assert!(pair.pop());
            pair.push(1_000_000 + turn % 11 * 123_040, (turn % 3) as u8);
        }
        pair.drain();
    }
}

#[test]
fn events_of_one_instant_come_by_rank() {
    for ahead in [0, 10] {
        let mut pair = Pair::new(1 << 20, 1, ahead);
        for class in [3, 0, 2, 0, 1, 3, 0] {
            pair.push(5_000, class);
        }
        pair.drain();
    }
}

#[test]
fn what_is_added_to_a_bucket_already_sorted_finds_its_place() {
    let mut pair = Pair::new(1 << 20, 1, 50);
    for at in 0..40 {
        pair.push(at * 1_000, 0);
    }
    assert!(pair.pop());
    assert_eq!(pair.queue.upcoming(20).map(|event| event.at), Some(21_000), "sorted ahead of its turn");
    for at in [0, 500, 10_000, 10_001, 39_500, 20_000, 20_000] {
        pair.push(at, 0);
    }
    pair.drain();
}

#[test]
fn it_looks_no_further_ahead_than_it_should() {
    let mut pair = Pair::new(1 << 20, 4096, 1000);
    for at in 0..4000 {
        // 2^20 ps over 4,096 buckets: each is 256 ps wide and has one event.
        pair.push(at * 256, 0);
    }
    assert!(pair.pop());
    let known = (0..).take_while(|&place| pair.queue.upcoming(place).is_some()).count() as u64;
    assert!((MOST_AHEAD / 2..=MOST_AHEAD + 1).contains(&known), "{known} events of one a bucket");
    pair.drain();
}
