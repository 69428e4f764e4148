//! A result that comes later, waited for by a thread or by a task.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Something that a thread waits for, while it or another drives the endpoint.
pub(crate) trait Awaited {
    /// Type of the result.
    type Value;

    /// Takes it if it is there.
    fn take_value(&self) -> Option<Self::Value>;

    /// Waits for it, until `deadline` at most.
    fn wait_value(&self, deadline: Option<Instant>) -> Option<Self::Value>;

    /// True if the application is likely to send something to the same peer at once, with which what the endpoint
    /// still has to say may leave.
    fn leads_on(value: &Self::Value) -> bool;
}

struct State<T> {
    value: Option<T>,
    waker: Option<Waker>,
    /// Threads that wait for the value here: to wake none takes a system call too.
    asleep: usize,
}

/// Slot that the result is put into, once.
pub(crate) struct Completion<T>(Arc<(Mutex<State<T>>, Condvar)>);

impl<T> Clone for Completion<T> {
    fn clone(&self) -> Self {
        Completion(Arc::clone(&self.0))
    }
}

impl<T> Completion<T> {
    pub(crate) fn new() -> Completion<T> {
        let state = State { value: None, waker: None, asleep: 0 };
        Completion(Arc::new((Mutex::new(state), Condvar::new())))
    }

    fn lock_state(&self) -> MutexGuard<'_, State<T>> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the result; a second one is ignored.
    pub(crate) fn put_result(&self, value: T) {
        let mut state = self.lock_state();
        if state.value.is_none() {
            state.value = Some(value);
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
            if state.asleep > 0 {
                self.0.1.notify_all();
            }
        }
    }

    /// Takes the result if it is there.
    pub(crate) fn take_result(&self) -> Option<T> {
        self.lock_state().value.take()
    }

    /// True if the result is there; if not, `waker` is woken when it is.
    pub(crate) fn is_ready(&self, waker: &Waker) -> bool {
        let mut state = self.lock_state();
        if state.value.is_none() {
            // With the lock held, so that a result cannot come between the look and the waker.
            state.waker = Some(waker.clone());
        }
        state.value.is_some()
    }

    /// Waits for the result, until `deadline` at most.
    pub(crate) fn wait_result(&self, deadline: Option<Instant>) -> Option<T> {
        let mut state = self.lock_state();
        loop {
            if let Some(value) = state.value.take() {
                return Some(value);
            }
            let left = match deadline {
                Some(deadline) => Some(time_left(deadline)?),
                None => None,
            };
            // The lock is given up by `wait` itself, so `put_result` sees the count of every thread that sleeps.
            state.asleep += 1;
            state = match left {
                None => self.0.1.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.0.1.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
            state.asleep -= 1;
        }
    }
}

impl<T> Future for Completion<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.lock_state();
        match state.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Time until `deadline`; `None` when it has passed.
#[allow(clippy::disallowed_methods, reason = "applications wait in real time")]
pub(crate) fn time_left(deadline: Instant) -> Option<Duration> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
}

/// The instant `wait` from now; `None` when it is too far to say.
#[allow(clippy::disallowed_methods, reason = "applications wait in real time")]
pub(crate) fn deadline_after(wait: Duration) -> Option<Instant> {
    // An instant that is too far away to represent counts as no deadline.
    Instant::now().checked_add(wait)
}
