//! Threads that do one piece of work after another together.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::{Acquire, Relaxed, Release}};

/// How often a thread looks before it lets others have its core: a window takes microseconds to milliseconds.
const LOOKS: u32 = 1 << 12;

/// Where threads of a crew wait for each other. Waiting is a matter of microseconds, so it is done awake.
struct Meeting {
    threads: usize,
    /// Threads that are there, and meetings so far.
    there: AtomicUsize,
    meetings: AtomicUsize,
}

impl Meeting {
    /// Waits until all threads are there. What each did before is seen by all after it.
    #[allow(clippy::disallowed_methods, reason = "threads of one run wait for each other here, and nowhere else")]
    fn wait(&self) {
        let meeting = self.meetings.load(Relaxed);
        if self.there.fetch_add(1, std::sync::atomic::Ordering::AcqRel) + 1 == self.threads {
            self.there.store(0, Relaxed);
            self.meetings.store(meeting + 1, Release);
            return;
        }
        let mut looks = 0;
        while self.meetings.load(Acquire) == meeting {
            looks += 1;
            if looks % LOOKS == 0 { std::thread::yield_now() } else { spin_loop() }
        }
    }
}

/// See the module.
pub(crate) struct Crew<'c> {
    work: &'c (dyn Fn(usize) + Sync),
    meeting: Meeting,
    over: AtomicBool,
    /// What a thread died of.
    panic: Mutex<Option<Box<dyn std::any::Any + Send>>>,
}

impl Crew<'_> {
    /// Lets every thread do its part of the work, and waits for all.
    pub(crate) fn together(&self) {
        if self.meeting.threads == 1 {
            return (self.work)(0);
        }
        self.meeting.wait();
        self.part(0);
        self.meeting.wait();
        if let Some(panic) = self.panic.lock().ok().and_then(|mut panic| panic.take()) {
            self.over.store(true, Relaxed);
            self.meeting.wait();
            resume_unwind(panic);
        }
    }

    fn part(&self, number: usize) {
        // A thread that is missing would be waited for in vain.
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

/// Runs `conduct` with a crew of so many threads, of which the caller is one. Whenever it asks them to, thread `n` does
/// `work(n)`.
#[allow(clippy::disallowed_methods, reason = "a run on several threads makes them here, and nowhere else")]
pub(crate) fn with_crew<R>(threads: usize, work: &(dyn Fn(usize) + Sync), conduct: impl FnOnce(&Crew<'_>) -> R) -> R {
    let meeting = Meeting { threads, there: AtomicUsize::new(0), meetings: AtomicUsize::new(0) };
    let crew = Crew { work, meeting, over: AtomicBool::new(false), panic: Mutex::new(None) };
    if threads == 1 {
        return conduct(&crew);
    }
    std::thread::scope(|scope| {
        let crew = &crew;
        for number in 1..threads {
            scope.spawn(move || crew.serve(number));
        }
        let answer = catch_unwind(AssertUnwindSafe(|| conduct(crew)));
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
