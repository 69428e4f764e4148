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
pub(crate) struct Service {
    run: Mutex<Option<Run>>,
    /// What clients over `headway-host` have to run.
    transport: String,
}

struct Run {
    id: u64,
    totals: Totals,
    before: Usage,
    last: Instant,
}

impl Service {
    pub(crate) fn new(transport: &str) -> Service {
        Service { run: Mutex::new(None), transport: transport.into() }
    }

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
            Some(Order::Begin { run }) => match Order::rest(message) {
                [] => self.begin(run),
                named if named == self.transport.as_bytes() => self.begin(run),
                _ => Answer::Other,
            },
            Some(Order::End { run }) => self.end(run),
            Some(Order::Echo { .. }) | None => Answer::Unknown,
        };
        Some(answer.message(0))
    }

    fn run(&self) -> MutexGuard<'_, Option<Run>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
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
        let service = Service::new("amrt");
        let ask = |order: Order| {
            let length = if matches!(order, Order::Begin { .. }) { 0 } else { 20 };
            service.handle(&order.message(length)).and_then(|a| Answer::parse(&a))
        };
        let named = |name: &[u8]| service.handle(&[&Order::Begin { run: 9 }.message(0)[..], name].concat());
        assert_eq!(named(b"phost").and_then(|a| Answer::parse(&a)), Some(Answer::Other));
        assert_eq!(named(b"amrt").and_then(|a| Answer::parse(&a)), Some(Answer::Begun));
        assert!(matches!(ask(Order::End { run: 9 }), Some(Answer::Totals(_))));
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
