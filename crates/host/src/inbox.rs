//! Messages that have arrived, until the application takes them.

use crate::completion::{Awaited, time_left};
use crate::core::{Arrived, Purpose};
use crate::error::RecvError;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

#[derive(Default)]
struct Messages {
    waiting: VecDeque<Arrived>,
    wakers: Vec<Waker>,
    /// Threads that wait for a message here.
    asleep: usize,
    closed: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Inbox {
    messages: Mutex<Messages>,
    arrived: Condvar,
}

impl Inbox {
    fn lock_messages(&self) -> MutexGuard<'_, Messages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message if it is there; otherwise `waker` is woken when one comes.
    pub(crate) fn poll_take(&self, waker: &Waker) -> Option<Result<Arrived, RecvError>> {
        let mut messages = self.lock_messages();
        let next = messages.next();
        // A task that polls again without being woken would otherwise be in the list several times.
        if next.is_none() && !messages.wakers.iter().any(|other| other.will_wake(waker)) {
            messages.wakers.push(waker.clone());
        }
        next
    }

    pub(crate) fn deliver_message(&self, message: Arrived) {
        let mut messages = self.lock_messages();
        messages.waiting.push_back(message);
        // All of them: a task that was dropped meanwhile would swallow the one wake-up.
        messages.wakers.drain(..).for_each(Waker::wake);
        if messages.asleep > 0 {
            // One message, one thread: each that wakes takes exactly one.
            self.arrived.notify_one();
        }
    }

    /// Nothing more arrives.
    pub(crate) fn close_inbox(&self) {
        let mut messages = self.lock_messages();
        messages.closed = true;
        messages.wakers.drain(..).for_each(Waker::wake);
        self.arrived.notify_all();
    }
}

impl Messages {
    fn next(&mut self) -> Option<Result<Arrived, RecvError>> {
        match self.waiting.pop_front() {
            Some(message) => Some(Ok(message)),
            // Messages that arrived before the end are still received.
            None => self.closed.then_some(Err(RecvError::Closed)),
        }
    }
}

impl Awaited for Inbox {
    type Value = Result<Arrived, RecvError>;

    fn take_value(&self) -> Option<Self::Value> {
        self.lock_messages().next()
    }

    fn wait_value(&self, deadline: Option<Instant>) -> Option<Self::Value> {
        let mut messages = self.lock_messages();
        loop {
            if let Some(next) = messages.next() {
                return Some(next);
            }
            let left = match deadline {
                Some(deadline) => Some(time_left(deadline)?),
                None => None,
            };
            messages.asleep += 1;
            messages = match left {
                None => self.arrived.wait(messages).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    self.arrived.wait_timeout(messages, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            messages.asleep -= 1;
        }
    }

    /// A request is replied to.
    fn leads_on(value: &Self::Value) -> bool {
        matches!(value, Ok(message) if matches!(message.purpose, Purpose::Request(_)))
    }
}
