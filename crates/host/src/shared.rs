//! Scheduling of an endpoint's driver: by the thread that waits for it, or by a thread of its own.
//!
//! A request that one thread hands to another, and its result, cost two wake-ups at each end, which take longer than
//! all other work for a small message. So an application's thread hands its message to the core itself, and while it
//! waits it *attends*: it waits at the socket, and drives the endpoint for all threads. It leaves when it has its
//! result.
//!
//! A background thread (`keeper` in names) drives whenever no thread attends. When an attending thread leaves, it is
//! likely to come back at once, with the next call or its reply. The background thread therefore gives it a moment of
//! grace before it waits at the socket; packets that the peer is still due (that the last message has arrived) leave
//! with the next message, or after the grace.
//!
//! The background thread drives alone, and applications wait for it, where that is better:
//!
//! * several threads or tasks wait at a time (*followers*): one that attends would have to hand over each time it leaves;
//! * messages that are long or many are under way: these go on while the application does something else;
//! * the link is so slow that packets leave one by one, each at its own time: the background thread's timers are
//!   precise.

use crate::completion::{Awaited, time_left};
use crate::counters::Counters;
use crate::driver::{Driver, is_observing};
use crate::error::Forked;
use crate::inbox::Inbox;
use crate::ports::Descriptors;
use crate::process::{self, Owner};
use crate::request::Request;
use crate::udp::Handles;
use headway_units::Time;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

/// Grace for an application that has just left: longer than it takes to make the next request or a reply.
const GRACE: Time = Time::us(500);
/// Interval between checks by the background thread for due work while an application attends. Timers are set again
/// with each message and hardly ever mean anything when they expire, and to set one of the kernel's for each takes
/// longer than a message.
const PERIOD: Time = Time::ms(1);
/// Time after a timer caused a departure for which the thread that attends wakes for timers.
const PRECISE: Time = Time::ms(100);
/// Time after heavy work for which the background thread drives: the next work is likely to be heavy too.
const HEAVY: Time = Time::ms(5);

/// An application that comes back within this time does so at once.
const AT_ONCE: Time = Time::us(100);
/// One that has come back at once so often is taken to do so again.
const OFTEN: u32 = 16;
/// Longest time for which the background thread's timer is put off for such an application.
const LONGEST_LATE: Time = Time::ms(4);
/// Number of times that a thread polls the lock on the driver. To sleep until it is free takes two wake-ups, and its
/// holder is done sooner than that.
const SEAT_SPINS: u32 = 1000;

/// Settings of the way in which an endpoint is driven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// True if applications' threads may attend.
    pub(crate) attended: bool,
    /// Time for which a waiting thread polls for datagrams before it sleeps.
    pub(crate) spin: Time,
    /// Largest delay of an acknowledgement without another packet to its peer.
    pub(crate) late: Time,
}

/// The driver, with the state that driving threads exchange.
struct Seat {
    /// Gone when the endpoint is closed.
    driver: Option<Driver>,
    /// Time until which the thread that attends sleeps, and the background thread; `None` = until something arrives.
    attendant_sleeps: Option<Time>,
    keeper_sleeps: Option<Time>,
    /// Time at which an application last left.
    left: Option<Time>,
    /// Number of times in a row that one has come back at once.
    at_once: u32,
    /// Latest expiry of the background thread's timer.
    timer: Option<Time>,
    /// Time until which timers matter to the thread that attends.
    precise: Time,
    /// Time at which something heavy was last under way.
    heavy: Option<Time>,
}

impl Seat {
    /// An application is there again.
    fn came_back(&mut self, now: Time) {
        if let Some(left) = self.left {
            self.at_once =
                // One pause that is longer ends the row: the application is doing something else.
                if now <= left.saturating_add(AT_ONCE) { self.at_once.saturating_add(1) } else { 0 };
        }
    }
}

/// State that an endpoint's threads share.
pub(crate) struct Shared {
    /// The process that bound the endpoint.
    owner: Owner,
    /// True if a process that was forked has closed its copies of the descriptors.
    let_go: AtomicBool,
    /// The driver's sockets, without its lock.
    sockets: Arc<Descriptors>,
    seat: Mutex<Seat>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) counters: Arc<Counters>,
    manner: Manner,
    /// Requests of threads that found the driver locked.
    requests: Mutex<Vec<Request>>,
    /// True if a thread has been woken for them.
    told: AtomicBool,
    /// Wakes the thread that attends.
    attendant: OwnedFd,
    /// Event that wakes the background thread.
    keeper: OwnedFd,
    /// Timer that wakes the background thread.
    timer: OwnedFd,
    /// True if the background thread is to drive without grace.
    urgent: AtomicBool,
    /// True if an application attends; changed by the thread that holds the lock.
    attended: AtomicBool,
    /// True if the background thread drives while no thread attends; changed by the thread that holds the
    /// lock.
    kept: AtomicBool,
    /// True if something heavy is under way, or was until lately.
    heavy: AtomicBool,
    /// Threads that wait while others drive.
    followers: AtomicUsize,
    stop: AtomicBool,
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn to_timespec(time: Time) -> Timespec {
    // Rounded up: a wait that ends a moment early would be for nothing.
    let ns = time.0.div_ceil(1000);
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

/// True if `other` comes before `than`, which may be never.
fn is_sooner(other: Option<Time>, than: Option<Time>) -> bool {
    other.is_some_and(|other| than.is_none_or(|than| other < than))
}

fn signal_eventfd(eventfd: &OwnedFd) {
    // An event with a full counter wakes as well.
    let _ = rustix::io::write(eventfd, &1u64.to_ne_bytes());
}

/// Sleeps until a datagram arrives, which it answers, somebody wakes the thread, or so much time has passed.
fn sleep_until_ready(sockets: &Handles, blocked: bool, woken: &OwnedFd, longest: Option<Time>) -> bool {
    // A socket is nearly always writable, so asking for that without need would never let the thread sleep.
    let interest = if blocked { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    let longest = longest.map(to_timespec);
    // Whatever else the reason why it returns, the next turn looks.
    // The usual case takes no allocation.
    let (arrived, told) = if let [socket] = &sockets[..] {
        let mut fds = [PollFd::new(&**socket, interest), PollFd::new(woken, PollFlags::IN)];
        let _ = poll(&mut fds, longest.as_ref());
        let [arrived, told] = fds.map(|fd| !fd.revents().is_empty());
        (arrived, told)
    } else {
        let mut fds = vec![PollFd::new(woken, PollFlags::IN)];
        fds.extend(sockets.iter().map(|socket| PollFd::new(&**socket, interest)));
        let _ = poll(&mut fds, longest.as_ref());
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        (fds[1..].iter().any(is_ready), is_ready(&fds[0]))
    };
    if told {
        // Emptied only if it was set: a read of an empty counter is a system call for nothing.
        let _ = rustix::io::read(woken, &mut [0; 8]);
    }
    arrived
}

/// Next step of the background thread.
enum Next {
    Drive,
    /// Sleep until that time, unless it is woken.
    Rest(Option<Time>),
}

impl Shared {
    pub(crate) fn new(
        driver: Driver,
        inbox: Arc<Inbox>,
        counters: Arc<Counters>,
        manner: Manner,
    ) -> io::Result<Shared> {
        let sockets = driver.socket_descriptors();
        let seat = Seat {
            driver: Some(driver),
            attendant_sleeps: None,
            keeper_sleeps: None,
            left: None,
            at_once: 0,
            timer: None,
            precise: Time::ZERO,
            heavy: None,
        };
        Ok(Shared {
            owner: Owner::this_process(),
            let_go: AtomicBool::new(false),
            sockets,
            seat: Mutex::new(seat),
            inbox,
            counters,
            manner,
            requests: Mutex::default(),
            told: AtomicBool::new(false),
            attendant: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            keeper: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?,
            urgent: AtomicBool::new(false),
            attended: AtomicBool::new(false),
            // The background thread is at the socket first, before any application waits.
            kept: AtomicBool::new(true),
            heavy: AtomicBool::new(false),
            followers: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        })
    }

    /// Checks that this process bound the endpoint. In another one nothing of it may be touched: a thread that the fork
    /// left behind may have had any of its locks.
    pub(crate) fn check_owner(&self) -> Result<(), Forked> {
        self.owner.check_process()
    }

    /// In a process that does not own the endpoint: closes this process's descriptors of it, once. The owner has its own.
    pub(crate) fn let_go(self: &Arc<Shared>) {
        if self.let_go.swap(true, SeqCst) {
            return;
        }
        // The owner of the descriptors is never dropped here, as it would close their numbers a second time.
        std::mem::forget(Arc::clone(self));
        self.sockets.close_copies();
        for fd in [&self.attendant, &self.keeper, &self.timer] {
            process::close_descriptor(fd.as_raw_fd());
        }
    }

    /// Hands a request to the endpoint. A caller that `stays` waits for it at once, by [`Shared::wait_driving`].
    pub(crate) fn submit_request(&self, request: Request, stays: bool) {
        if let Some(mut seat) = self.lock_seat() {
            let Some(driver) = seat.driver.as_mut() else {
                drop(seat);
                return request.refuse_closed();
            };
            let now = driver.clock_time();
            let replies = request.is_reply();
            self.take_requests(driver, now);
            driver.take_request(now, request);
            driver.settle_work(now);
            match driver.transmit_batch(now) {
                Ok(_) => self.hand_over(&mut seat, now, stays, replies),
                Err(_) => self.end_endpoint(&mut seat),
            }
            return;
        }
        let mut requests = lock_ignoring_poison(&self.requests);
        // With the lock held, so that no request comes in after `end_endpoint` has refused all.
        if self.stop.load(SeqCst) {
            drop(requests);
            return request.refuse_closed();
        }
        requests.push(request);
        drop(requests);
        self.wake_driver();
    }

    /// Locks the driver. Turns are short, so that the thread waits, unless heavy work is under way or this thread has
    /// the lock and is in an observer.
    fn lock_seat(&self) -> Option<MutexGuard<'_, Seat>> {
        if !self.heavy.load(SeqCst) && !is_observing() {
            // Waiting is right here: what the lock's holder does is short, and handing the request over would
            // take two wake-ups.
            return Some(self.soon_locked());
        }
        match self.seat.try_lock() {
            Ok(seat) => Some(seat),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Locks the driver, for a thread that each wake-up delays.
    fn soon_locked(&self) -> MutexGuard<'_, Seat> {
        for _ in 0..SEAT_SPINS {
            match self.seat.try_lock() {
                Ok(seat) => return seat,
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        lock_ignoring_poison(&self.seat)
    }

    /// Wakes a thread that takes the requests. A thread that leaves checks if it was woken just before.
    fn wake_driver(&self) {
        // One wake-up is enough for all requests until they are taken.
        if !self.told.swap(true, SeqCst) {
            // The other may be at the socket, but would only wake to find nothing for it.
            signal_eventfd(if self.attended.load(SeqCst) { &self.attendant } else { &self.keeper });
        }
    }

    fn tell_keeper_to_drive(&self) {
        if !self.urgent.swap(true, SeqCst) {
            signal_eventfd(&self.keeper);
        }
    }

    /// Takes the requests that came while the driver was locked.
    fn take_requests(&self, driver: &mut Driver, now: Time) {
        // Cleared before the list is taken: a request that comes in between wakes a thread once too often, and
        // is never left behind.
        if self.told.swap(false, SeqCst) {
            let requests = std::mem::take(&mut *lock_ignoring_poison(&self.requests));
            requests.into_iter().for_each(|request| driver.take_request(now, request));
        }
    }

    /// After a non-blocking call, hands the endpoint to another driver. A thread that `replies` is likely to wait for
    /// the next request at once.
    fn hand_over(&self, seat: &mut Seat, now: Time, stays: bool, replies: bool) {
        let Some(driver) = seat.driver.as_mut() else { return };
        let answered = driver.has_answered();
        let next = driver.next_timeout();
        let attended = self.attended.load(SeqCst);
        if attended {
            let precise = now < seat.precise && is_sooner(next, seat.attendant_sleeps);
            // Something changed that the thread asleep at the socket cannot see: it has to poll for room, wake
            // earlier, or take its result.
            if driver.is_blocked() || precise || answered {
                signal_eventfd(&self.attendant);
            }
            if let Some(next) = next {
                self.set_timer(seat, now, next.max(now.saturating_add(PERIOD)));
            }
        } else if self.kept.load(SeqCst) {
            if driver.is_blocked() || is_sooner(next, seat.keeper_sleeps) {
                signal_eventfd(&self.keeper);
            }
        // A caller that stays attends next, and does all this itself.
        } else if !stays {
            seat.came_back(now);
            self.hand_to_keeper(seat, now, replies);
        }
    }

    /// Records if something heavy is under way, or was until lately.
    fn update_load(&self, seat: &mut Seat, now: Time) {
        if seat.driver.as_ref().is_some_and(|driver| !driver.is_light()) {
            seat.heavy = Some(now);
            self.heavy.store(true, SeqCst);
        // Not at once: bulk comes in messages with gaps between them, and each change of driver takes a
        // wake-up.
        } else if seat.heavy.is_some_and(|at| now >= at.saturating_add(HEAVY)) {
            seat.heavy = None;
            self.heavy.store(false, SeqCst);
        }
    }

    /// No thread is at the socket: the background thread comes, after a grace unless there is much to do. The grace may
    /// be longer for an application that `returns` at once.
    fn hand_to_keeper(&self, seat: &mut Seat, now: Time, returns: bool) {
        seat.left = Some(now);
        self.update_load(seat, now);
        let light = seat.driver.as_ref().is_none_or(Driver::is_light);
        if !light || self.followers.load(SeqCst) > 0 {
            self.tell_keeper_to_drive();
        } else if !(returns
            && seat.timer.is_some_and(|timer| timer <= now.saturating_add(self.grace_time(seat))))
        {
            self.set_timer(seat, now, now.saturating_add(GRACE));
        }
    }

    /// The longest that an application has to come back.
    fn grace_time(&self, seat: &Seat) -> Time {
        // An acknowledgement may be late by this much, so only an application with a history gets the longer
        // one.
        if seat.at_once >= OFTEN { self.manner.late.clamp(PERIOD, LONGEST_LATE) } else { PERIOD }
    }

    /// Wakes the background thread at that time, or before.
    fn set_timer(&self, seat: &mut Seat, now: Time, at: Time) {
        // A timer that is set for soon will do: to set it again takes longer than it is worth.
        let soon = now.saturating_add(PERIOD).max(at);
        if seat.timer.is_some_and(|timer| timer <= soon) {
            return;
        }
        seat.timer = Some(at);
        // Never 0, which would stop the timer instead.
        self.arm_timer(at.saturating_sub(now).max(Time::us(1)));
    }

    /// Puts off the background thread's timer, if it is set for soon: a thread is about to wait for the peer, which
    /// leaves the time to do so, and is likely to come back. A wake-up would delay that call.
    fn put_off(&self, seat: &mut Seat, now: Time) {
        if seat.timer.is_some_and(|timer| timer < now.saturating_add(GRACE)) {
            let grace = self.grace_time(seat);
            seat.timer = Some(now.saturating_add(grace));
            self.arm_timer(grace);
        }
    }

    fn arm_timer(&self, time: Time) {
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let spec = Itimerspec { it_interval: once, it_value: to_timespec(time) };
        if timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec).is_err() {
            // A timer that exists takes any time; if it fails nevertheless, the background thread drives at
            // once.
            self.tell_keeper_to_drive();
        }
    }

    /// Waits for something, until `deadline` at most, and drives the endpoint meanwhile if that is best.
    pub(crate) fn wait_driving<A: Awaited>(&self, what: &A, deadline: Option<Instant>) -> Option<A::Value> {
        // Before any lock: a result that is there needs no driver.
        if let Some(value) = what.take_value() {
            return Some(value);
        }
        let seat = if self.manner.attended { self.lock_seat() } else { None };
        let Some(seat) = seat else { return self.wait_following(what, deadline) };
        let others = self.attended.load(SeqCst) || self.followers.load(SeqCst) > 0;
        // Looked at with the lock held, because whoever attends sets `attended` with it.
        if others || self.heavy.load(SeqCst) {
            drop(seat);
            return self.wait_following(what, deadline);
        }
        self.attended.store(true, SeqCst);
        match self.drive_until(seat, what, deadline) {
            Ended::Here(value) => value,
            Ended::Heavy => self.wait_following(what, deadline),
        }
    }

    /// Waits while others drive.
    fn wait_following<A: Awaited>(&self, what: &A, deadline: Option<Instant>) -> Option<A::Value> {
        // Counted before `kept` is read. The background thread clears `kept` before it reads the count, so
        // that one of the two sees the other.
        self.followers.fetch_add(1, SeqCst);
        if !self.attended.load(SeqCst) && !self.kept.load(SeqCst) {
            self.tell_keeper_to_drive();
        }
        let value = what.wait_value(deadline);
        self.followers.fetch_sub(1, SeqCst);
        value
    }

    /// Drives until the awaited result is there, the deadline has passed, or there is too much to do.
    fn drive_until<'a, A: Awaited>(
        &'a self,
        mut seat: MutexGuard<'a, Seat>,
        what: &A,
        deadline: Option<Instant>,
    ) -> Ended<A::Value> {
        let (mut arrived, mut spins_until) = (false, None);
        if let Some(driver) = &seat.driver {
            let now = driver.clock_time();
            seat.came_back(now);
        }
        loop {
            let turn = match seat.driver.as_mut() {
                Some(driver) => self.attend_once(driver, arrived, what),
                None => return self.closed_value(what),
            };
            let Ok((now, value)) = turn else {
                self.end_endpoint(&mut seat);
                return self.closed_value(what);
            };
            let late = deadline.is_some_and(|deadline| time_left(deadline).is_none());
            // The result counts even if it came after the deadline.
            if value.is_some() || late {
                self.stop_attending(&mut seat, now);
                return Ended::Here(value);
            }
            let Some(driver) = seat.driver.as_mut() else { return self.closed_value(what) };
            if !driver.is_light() {
                self.update_load(&mut seat, now);
                self.stop_attending(&mut seat, now);
                return Ended::Heavy;
            }
            if now < *spins_until.get_or_insert(now.saturating_add(self.manner.spin)) {
                drop(seat);
                // A peer on the same processor would otherwise wait until this thread sleeps.
                rustix::thread::sched_yield();
                // Looks at the socket in the next turn without having slept.
                arrived = true;
            } else {
                // Taken with the lock held; while this thread sleeps without it another may change the sockets.
                let (handle, blocked, due) =
                    (driver.socket_handles(), driver.is_blocked(), driver.next_timeout());
                let precise = due.filter(|_| now < seat.precise);
                // Known to threads that hand in requests: they wake this one only for something earlier.
                seat.attendant_sleeps = precise;
                if let (Some(due), None) = (due, precise) {
                    let latest = now.saturating_add(self.grace_time(&seat));
                    self.set_timer(&mut seat, now, due.max(latest));
                }
                self.put_off(&mut seat, now);
                drop(seat);
                let left = deadline.map(|deadline| time_left(deadline).unwrap_or_default());
                let left =
                    // The longest time whose picoseconds fit into 64 bits.
                    left.map(|left| Time::ns(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX / 1000)));
                let longest = [left, precise.map(|at| at.saturating_sub(now))].into_iter().flatten().min();
                arrived = sleep_until_ready(&handle, blocked, &self.attendant, longest);
            }
            // Spins rather than sleeps: this thread was just woken, and a second wake-up would double the
            // delay.
            seat = self.soon_locked();
        }
    }

    /// One turn of a thread that attends: the time, and the awaited result if it is there.
    fn attend_once<A: Awaited>(
        &self,
        driver: &mut Driver,
        arrived: bool,
        what: &A,
    ) -> io::Result<(Time, Option<A::Value>)> {
        let now = if arrived { driver.receive_batch()?.1 } else { driver.clock_time() };
        self.take_requests(driver, now);
        driver.settle_work(now);
        // Followers have been woken.
        driver.has_answered();
        // Before transmitting, to know whether the application is about to send something that the answers may
        // leave with.
        let value = what.take_value();
        // The background thread has the grace, if it does not sleep at the socket.
        let later = value.as_ref().is_some_and(A::leads_on) && !self.kept.load(SeqCst) && driver.is_light();
        if !later {
            driver.transmit_batch(now)?;
        }
        // Once more, because transmitting may complete a message as well.
        Ok((now, value.or_else(|| what.take_value())))
    }

    fn closed_value<A: Awaited>(&self, what: &A) -> Ended<A::Value> {
        self.attended.store(false, SeqCst);
        Ended::Here(what.take_value())
    }

    /// Notes that an application no longer attends.
    fn stop_attending(&self, seat: &mut Seat, now: Time) {
        self.attended.store(false, SeqCst);
        if self.told.load(SeqCst) {
            signal_eventfd(&self.keeper);
        }
        if !self.kept.load(SeqCst) {
            self.hand_to_keeper(seat, now, true);
        } else if let Some(driver) = seat.driver.as_ref()
            && (driver.is_blocked() || is_sooner(driver.next_timeout(), seat.keeper_sleeps))
        {
            signal_eventfd(&self.keeper);
        }
    }

    /// Loop of the endpoint's own thread, until the endpoint is closed or its socket fails.
    pub(crate) fn run_keeper(&self) {
        // The default slack of 50 us would be added to every wait.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while !self.stop.load(SeqCst) {
            let mut seat = lock_ignoring_poison(&self.seat);
            let Some(now) = seat.driver.as_ref().map(Driver::clock_time) else { break };
            // First in each turn, because whoever left the requests was told that they would be served.
            if self.serve_requests(&mut seat, now).is_err() {
                break;
            }
            match self.keeper_step(&mut seat, now) {
                Next::Rest(until) => {
                    if let Some(until) = until {
                        self.set_timer(&mut seat, now, until);
                    }
                    drop(seat);
                    self.sleep_keeper();
                }
                Next::Drive => {
                    let Some(driver) = seat.driver.as_mut() else { break };
                    let Ok(more) = self.drive_once(driver, now) else { break };
                    let (due, now) = (driver.next_timeout(), driver.clock_time());
                    let (handle, blocked) = (driver.socket_handles(), driver.is_blocked());
                    // Known to threads that hand in requests: they wake this one only for something earlier.
                    seat.keeper_sleeps = due;
                    self.update_load(&mut seat, now);
                    drop(seat);
                    if !more {
                        sleep_until_ready(
                            &handle,
                            blocked,
                            &self.keeper,
                            due.map(|at| at.saturating_sub(now)),
                        );
                    }
                }
            }
        }
        self.end_endpoint(&mut lock_ignoring_poison(&self.seat));
    }

    /// Decides if the background thread drives now.
    fn keeper_step(&self, seat: &mut Seat, now: Time) -> Next {
        self.kept.store(true, SeqCst);
        // After `kept` is set: a thread that begins to follow either sees `kept`, or is seen here (see
        // `begin_to_follow`).
        let urgent = self.urgent.swap(false, SeqCst) || self.followers.load(SeqCst) > 0;
        if urgent || !self.manner.attended {
            return Next::Drive;
        }
        let until = if self.attended.load(SeqCst) {
            if self.do_due_work(seat, now).is_err() {
                return Next::Drive;
            }
            let due = seat.driver.as_ref().and_then(Driver::next_timeout);
            due.map(|due| due.max(now.saturating_add(PERIOD)))
        } else {
            let back = seat.left.map_or(Time::ZERO, |left| left.saturating_add(GRACE));
            let light = seat.driver.as_ref().is_none_or(Driver::is_light);
            if now >= back || !light {
                return Next::Drive;
            }
            Some(back)
        };
        self.kept.store(false, SeqCst);
        // A thread that began to follow before that may have relied on it.
        if self.followers.load(SeqCst) > 0 {
            self.kept.store(true, SeqCst);
            return Next::Drive;
        }
        Next::Rest(until)
    }

    /// Does due work while an application attends.
    fn do_due_work(&self, seat: &mut Seat, now: Time) -> io::Result<()> {
        let Some(driver) = seat.driver.as_mut() else { return Ok(()) };
        if driver.next_timeout().is_some_and(|at| at <= now) {
            driver.settle_work(now);
            if driver.transmit_batch(now)? {
                // A timer let something leave, so timers matter now: the attending thread wakes for the next
                // ones itself.
                seat.precise = now.saturating_add(PRECISE);
                signal_eventfd(&self.attendant);
            } else if driver.has_answered() {
                signal_eventfd(&self.attendant);
            }
        }
        Ok(())
    }

    /// Sleeps until the timer expires or the background thread is woken.
    fn sleep_keeper(&self) {
        let mut taken = true;
        while taken {
            let mut fds = [PollFd::new(&self.timer, PollFlags::IN), PollFd::new(&self.keeper, PollFlags::IN)];
            let _ = poll(&mut fds, None);
            let [timer, told] = fds.map(|fd| !fd.revents().is_empty());
            taken = false;
            if timer {
                let _ = rustix::io::read(&self.timer, &mut [0; 8]);
                match self.seat.try_lock() {
                    Ok(mut seat) => seat.timer = None,
                    Err(TryLockError::Poisoned(seat)) => seat.into_inner().timer = None,
                    Err(TryLockError::WouldBlock) => {
                        // Another thread drives just now. Waiting for it would make both of them wait.
                        self.arm_timer(PERIOD);
                        taken = !told;
                    }
                }
            }
            if told {
                let _ = rustix::io::read(&self.keeper, &mut [0; 8]);
            }
        }
    }

    /// Serves the requests that came while the driver was locked, though another thread may attend by now.
    fn serve_requests(&self, seat: &mut Seat, now: Time) -> io::Result<()> {
        if self.told.load(SeqCst)
            && let Some(driver) = seat.driver.as_mut()
        {
            self.take_requests(driver, now);
            driver.settle_work(now);
            driver.transmit_batch(now)?;
            if self.attended.load(SeqCst) {
                // `stays` is true: somebody attends, so nothing has to be entrusted.
                self.hand_over(seat, now, true, false);
            }
        }
        Ok(())
    }

    /// One turn of the background thread; true if there may be more to do at once.
    fn drive_once(&self, driver: &mut Driver, now: Time) -> io::Result<bool> {
        // On waking, what waited for the wire leaves before anything new is taken in: so the link's departure clock
        // sees what was there, however late the thread is.
        driver.transmit_batch(now)?;
        // One batch a turn, so that requests and deadlines are not kept waiting by a peer that sends without
        // end.
        let (more, now) = driver.receive_batch()?;
        self.take_requests(driver, now);
        driver.settle_work(now);
        driver.transmit_batch(now)?;
        if driver.has_answered() && self.attended.load(SeqCst) {
            signal_eventfd(&self.attendant);
        }
        Ok(more)
    }

    /// From now on the background thread drives: an application waits at a descriptor, which drives nothing.
    pub(crate) fn begin_to_follow(&self) {
        self.followers.fetch_add(1, SeqCst);
        self.tell_keeper_to_drive();
    }

    /// Ends that: no application waits at a descriptor any more.
    pub(crate) fn cease_to_follow(&self) {
        self.followers.fetch_sub(1, SeqCst);
    }

    /// Whoever sleeps at the sockets is to look which ones there are now.
    pub(crate) fn sockets_changed(&self) {
        signal_eventfd(&self.attendant);
        signal_eventfd(&self.keeper);
    }

    /// The endpoint is closed: everybody gets to know.
    pub(crate) fn close_endpoint(&self) {
        self.stop.store(true, SeqCst);
        signal_eventfd(&self.keeper);
    }

    fn end_endpoint(&self, seat: &mut Seat) {
        self.stop.store(true, SeqCst);
        // Completes everything that waits with `Closed`, before the requests that no driver has seen.
        drop(seat.driver.take());
        let requests = std::mem::take(&mut *lock_ignoring_poison(&self.requests));
        requests.into_iter().for_each(Request::refuse_closed);
        self.inbox.close_inbox();
        signal_eventfd(&self.attendant);
        signal_eventfd(&self.keeper);
    }
}

/// End of attending.
enum Ended<T> {
    /// Attending ended here: with the awaited result, or without it when the time was over.
    Here(Option<T>),
    /// There is too much to do.
    Heavy,
}
