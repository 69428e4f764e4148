//! What a server does with an order, however it came.

use crate::args::LARGEST;
use crate::protocol::{Answer, Order, Totals};
use crate::usage::Usage;
use bytes::Bytes;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A measurement that is silent for so long was given up by its client.
const PATIENCE: Duration = Duration::from_secs(10);

/// The measurement under way; one at a time, because processor time is counted for the whole process.
#[derive(Default)]
pub(crate) struct Service(Mutex<Option<Run>>);

struct Run {
    id: u64,
    totals: Totals,
    before: Usage,
    last: Instant,
}

impl Service {
    /// Obeys; the answer, if the order wants one.
    pub(crate) fn handle(&self, message: &[u8]) -> Option<Bytes> {
        let answer = match Order::parse(message) {
            Some(Order::Data { run }) => {
                self.count(run, message.len());
                return None;
            }
            Some(Order::Echo { reply }) if reply <= LARGEST => {
                self.heard();
                return Some(Answer::Echo.message(reply as usize));
            }
            Some(Order::Begin { run }) => self.begin(run),
            Some(Order::End { run }) => self.end(run),
            Some(Order::Echo { .. }) | None => Answer::Unknown,
        };
        Some(answer.message(0))
    }

    fn run(&self) -> MutexGuard<'_, Option<Run>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, id: u64) -> Answer {
        let mut run = self.run();
        if run.as_ref().is_some_and(|run| run.id != id && run.last.elapsed() < PATIENCE) {
            return Answer::Busy;
        }
        *run = Some(Run { id, totals: Totals::default(), before: Usage::now(), last: Instant::now() });
        Answer::Begun
    }

    fn count(&self, id: u64, bytes: usize) {
        if let Some(run) = self.run().as_mut().filter(|run| run.id == id) {
            run.totals.bytes += bytes as u64;
            run.totals.messages += 1;
            run.last = Instant::now();
        }
    }

    fn heard(&self) {
        if let Some(run) = self.run().as_mut() {
            run.last = Instant::now();
        }
    }

    fn end(&self, id: u64) -> Answer {
        match self.run().take_if(|run| run.id == id) {
            Some(run) => Answer::Totals(Totals { cpu: Usage::now() - run.before, ..run.totals }),
            None => Answer::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_measurement_at_a_time_is_counted() {
        let service = Service::default();
        let ask = |order: Order| service.handle(&order.message(20)).and_then(|a| Answer::parse(&a));
        assert_eq!(ask(Order::End { run: 1 }), Some(Answer::Unknown));
        assert_eq!(ask(Order::Begin { run: 1 }), Some(Answer::Begun));
        assert_eq!(ask(Order::Begin { run: 2 }), Some(Answer::Busy));
        assert_eq!(ask(Order::Data { run: 1 }), None);
        assert_eq!(ask(Order::Data { run: 2 }), None);
        assert_eq!(ask(Order::End { run: 2 }), Some(Answer::Unknown));
        let Some(Answer::Totals(totals)) = ask(Order::End { run: 1 }) else { panic!("no totals") };
        assert_eq!((totals.bytes, totals.messages), (20, 1));
        assert_eq!(service.handle(&Order::Echo { reply: 50 }.message(9)).map(|b| b.len()), Some(50));
        assert_eq!(ask(Order::Echo { reply: u32::MAX }), Some(Answer::Unknown));
        assert_eq!(service.handle(b"?").and_then(|a| Answer::parse(&a)), Some(Answer::Unknown));
    }
}
