//! Threads that do one piece of work after another together.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};

/// Number of times that a thread polls before it goes to sleep, some ten microseconds: longer than most waits where
/// every thread has a core, and little where it has none.
const LOOKS: u32 = 1 << 13;

/// Barrier of a pool's threads: they wait awake at first, since a wait is a matter of microseconds.
struct Meeting {
    threads: usize,
    /// Threads that are there, and meetings so far.
    there: AtomicUsize,
    meetings: AtomicUsize,
    /// Threads that sleep, and what wakes them.
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

impl Meeting {
    /// Waits until all threads are there. Each thread's earlier writes are visible to all after it.
    fn wait(&self) {
        let meeting = self.meetings.load(SeqCst);
        if self.there.fetch_add(1, SeqCst) + 1 == self.threads {
            // Reset before the others are released: one of them may be back at once.
            self.there.store(0, SeqCst);
            // SeqCst, as below: here a store precedes the load of `sleepers`; in a thread about to sleep, an
            // increment of `sleepers` precedes the load of `meetings`. With weaker orders both might see old
            // values, and it would sleep forever.
            self.meetings.store(meeting + 1, SeqCst);
            if self.sleepers.load(SeqCst) > 0 {
                // A thread that is about to sleep has looked again with the lock in hand, or sleeps by now.
                drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
                self.bell.notify_all();
            }
            return;
        }
        // To sleep and be woken takes longer than most waits.
        for _ in 0..LOOKS {
            if self.meetings.load(SeqCst) != meeting {
                return;
            }
            spin_loop();
        }
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, SeqCst);
        while self.meetings.load(SeqCst) == meeting {
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }
}

/// See the module.
pub(crate) struct Crew<'c> {
    work: &'c (dyn Fn(usize) + Sync),
    meeting: Meeting,
    over: AtomicBool,
    /// Panic that ended a thread.
    panic: Mutex<Option<Box<dyn std::any::Any + Send>>>,
}

impl Crew<'_> {
    /// Lets every thread do its part of the work, and waits for all.
    pub(crate) fn together(&self) {
        // Without other threads there is nothing to wait for.
        if self.meeting.threads == 1 {
            return (self.work)(0);
        }
        self.meeting.wait();
        self.part(0);
        self.meeting.wait();
        if let Some(panic) = self.panic.lock().ok().and_then(|mut panic| panic.take()) {
            // The others wait for the next piece of work, and have to be released before this thread unwinds.
            // Relaxed: the barrier below makes it visible to all.
            self.over.store(true, Relaxed);
            self.meeting.wait();
            resume_unwind(panic);
        }
    }

    fn part(&self, number: usize) {
        // A thread that unwinds would never reach the barrier, and the others would wait forever.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.work)(number)))
            && let Ok(mut first) = self.panic.lock()
        {
            first.get_or_insert(panic);
        }
    }

    fn serve(&self, number: usize) {
        loop {
            self.meeting.wait();
            if self.over.load(Relaxed) {
                return;
            }
            self.part(number);
            self.meeting.wait();
        }
    }
}

/// Threads for so many pieces of work: no more than there are cores, since those would only wait for each other.
#[allow(clippy::disallowed_methods, reason = "the number of threads changes the speed of a run alone")]
pub(crate) fn threads_for(pieces: usize) -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(pieces)
}

/// Runs `conduct` with a pool of so many threads, of which the caller is one. Whenever it requests that, thread `n`
/// does `work(n)`.
#[allow(clippy::disallowed_methods, reason = "a run on several threads makes them here, and nowhere else")]
pub(crate) fn with_crew<R>(
    threads: usize,
    work: &(dyn Fn(usize) + Sync),
    conduct: impl FnOnce(&Crew<'_>) -> R,
) -> R {
    let zero = || AtomicUsize::new(0);
    let (there, meetings, sleepers) = (zero(), zero(), zero());
    let meeting = Meeting { threads, there, meetings, sleepers, bed: Mutex::new(()), bell: Condvar::new() };
    let crew = Crew { work, meeting, over: AtomicBool::new(false), panic: Mutex::new(None) };
    if threads == 1 {
        return conduct(&crew);
    }
    std::thread::scope(|scope| {
        let crew = &crew;
        for number in 1..threads {
            scope.spawn(move || crew.serve(number));
        }
        // The scope joins its threads even when this one panics, so that they have to be released first.
        let answer = catch_unwind(AssertUnwindSafe(|| conduct(crew)));
        // Unless the panic of a thread has ended the pool before.
        if !crew.over.swap(true, Relaxed) {
            crew.meeting.wait();
        }
        answer.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn every_thread_does_its_part_each_time() {
        for threads in [1, 2, 5] {
            let done: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
            let work = |number: usize| {
                done[number].fetch_add(1, Relaxed);
            };
            with_crew(threads, &work, |crew| {
                for round in 1..=300 {
                    crew.together();
                    assert!(done.iter().all(|count| count.load(Relaxed) == round), "{threads} threads");
                }
            });
        }
    }

    #[test]
    #[should_panic(expected = "the third is ill")]
    fn a_thread_that_panics_ends_the_run_of_all() {
        with_crew(3, &|number| assert!(number != 2, "the third is ill"), |crew| crew.together());
    }

    #[test]
    #[should_panic(expected = "no more")]
    fn a_conductor_that_panics_leaves_no_thread_behind() {
        with_crew(3, &|_| {}, |crew| {
            crew.together();
            panic!("no more");
        });
    }
}
