//! Reaction of a server to an order, over any carrier.

use crate::protocol::{Answer, LARGEST, Order, Totals};
use crate::usage::Usage;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A measurement that is silent for so long counts as given up by its client.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Measurements at a time; those that were given up make room.
pub const MOST: usize = 1024;

/// The measurements under way.
#[derive(Default)]
pub struct Service {
    /// Measurements by the low half of their names.
    runs: Mutex<BTreeMap<u32, Run>>,
}

struct Run {
    id: u64,
    totals: Totals,
    before: Usage,
    last: Instant,
}

impl Run {
    fn is_live(&self) -> bool {
        self.last.elapsed() < IDLE_TIMEOUT
    }
}

impl Service {
    /// Obeys; the answer, if the order wants one.
    pub fn handle_order(&self, message: &[u8]) -> Option<Bytes> {
        let answer = match Order::from_message(message) {
            Some(Order::Data { run }) => {
                self.count_message(run, message.len());
                return None;
            }
            // Longer replies are refused: a client could make the server fill its memory.
            Some(Order::Echo { reply, run }) if reply <= LARGEST => {
                self.touch_run(run);
                return Some(Answer::Echo.to_message(reply as usize));
            }
            Some(Order::Begin { run }) => self.begin_run(run),
            Some(Order::End { run }) => self.end_run(run),
            Some(Order::Echo { .. }) | None => Answer::Unknown,
        };
        Some(answer.to_message(0))
    }

    /// Number of measurements under way.
    pub fn run_count(&self) -> usize {
        self.lock_runs().len()
    }

    fn lock_runs(&self) -> MutexGuard<'_, BTreeMap<u32, Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_run(&self, id: u64) -> Answer {
        let mut runs = self.lock_runs();
        // A client repeats its order if the answer was lost.
        let same = runs.get(&(id as u32)).is_some_and(|run| run.id == id);
        // Looked through only when it is full: until then measurements that were given up cost nothing.
        if runs.len() >= MOST && !same {
            runs.retain(|_, run| run.is_live());
        }
        let taken = runs.get(&(id as u32)).is_some_and(|run| run.id != id && run.is_live());
        if taken || (runs.len() >= MOST && !same) {
            return Answer::Busy;
        }
        // An order that is repeated begins again, so its processor time does not include the wait.
        let fresh = Run { id, totals: Totals::default(), before: Usage::until_now(), last: Instant::now() };
        runs.insert(id as u32, fresh);
        // All but this one.
        let others = runs.values().filter(|run| run.is_live()).count() as u64 - 1;
        for run in runs.values_mut().filter(|run| run.is_live()) {
            run.totals.others = run.totals.others.max(others);
        }
        Answer::Begun
    }

    fn count_message(&self, id: u64, bytes: usize) {
        if let Some(run) = self.lock_runs().get_mut(&(id as u32)).filter(|run| run.id == id) {
            run.totals.bytes += bytes as u64;
            run.totals.messages += 1;
            run.last = Instant::now();
        }
    }

    fn touch_run(&self, id: u32) {
        if let Some(run) = self.lock_runs().get_mut(&id) {
            run.last = Instant::now();
        }
    }

    fn end_run(&self, id: u64) -> Answer {
        let mut runs = self.lock_runs();
        match runs.remove(&(id as u32)) {
            Some(run) if run.id == id => {
                Answer::Totals(Totals { cpu: Usage::until_now() - run.before, ..run.totals })
            }
            // Another measurement has the same low half.
            Some(other) => {
                // Put back: the other measurement goes on.
                runs.insert(id as u32, other);
                Answer::Unknown
            }
            None => Answer::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask_service(service: &Service, order: Order) -> Option<Answer> {
        service.handle_order(&order.to_message(20)).and_then(|answer| Answer::from_message(&answer))
    }

    fn run_totals(service: &Service, run: u64) -> Totals {
        match ask_service(service, Order::End { run }) {
            Some(Answer::Totals(totals)) => totals,
            other => panic!("no totals of {run}: {other:?}"),
        }
    }

    #[test]
    fn measurements_at_the_same_time_are_counted_apart() {
        let service = Service::default();
        assert_eq!(ask_service(&service, Order::End { run: 1 }), Some(Answer::Unknown));
        assert_eq!(ask_service(&service, Order::Begin { run: 1 }), Some(Answer::Begun));
        assert_eq!(ask_service(&service, Order::Begin { run: 2 }), Some(Answer::Begun));
        // 3 was never begun, and the last one is not 1 although its low half is.
        for run in [1, 2, 2, 3, 1 << 32 | 1] {
            assert_eq!(ask_service(&service, Order::Data { run }), None);
        }
        // It has the same low half as another one.
        assert_eq!(ask_service(&service, Order::Begin { run: 1 << 32 | 1 }), Some(Answer::Busy));
        assert_eq!(ask_service(&service, Order::End { run: 1 << 32 | 1 }), Some(Answer::Unknown));
        let (one, two) = (run_totals(&service, 1), run_totals(&service, 2));
        assert_eq!([one.bytes, one.messages, one.others], [20, 1, 1]);
        assert_eq!([two.bytes, two.messages, two.others], [40, 2, 1]);
        assert_eq!(ask_service(&service, Order::Begin { run: 4 }), Some(Answer::Begun));
        assert_eq!((run_totals(&service, 4).others, service.run_count()), (0, 0));
        let echo = |reply| service.handle_order(&Order::Echo { reply, run: 1 }.to_message(9));
        assert_eq!(echo(50).map(|bytes| bytes.len()), Some(50));
        assert_eq!(echo(u32::MAX).and_then(|a| Answer::from_message(&a)), Some(Answer::Unknown));
        assert_eq!(service.handle_order(b"?").and_then(|a| Answer::from_message(&a)), Some(Answer::Unknown));
    }

    #[test]
    fn the_number_of_measurements_is_bounded_and_those_given_up_make_room() {
        let service = Service::default();
        for run in 0..MOST as u64 {
            assert_eq!(ask_service(&service, Order::Begin { run }), Some(Answer::Begun));
        }
        assert_eq!(ask_service(&service, Order::Begin { run: 1 << 20 }), Some(Answer::Busy));
        assert_eq!(
            ask_service(&service, Order::Begin { run: 5 }),
            Some(Answer::Begun),
            "said again, it begins again"
        );
        let long_ago = Instant::now().checked_sub(IDLE_TIMEOUT).expect("the machine runs for longer");
        // All but the first: that one and the new one are left.
        service.lock_runs().values_mut().skip(1).for_each(|run| run.last = long_ago);
        assert_eq!(ask_service(&service, Order::Begin { run: 1 << 20 }), Some(Answer::Begun));
        assert_eq!(service.run_count(), 2);
    }
}
