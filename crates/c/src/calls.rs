//! A run and its callbacks, as the functions of the interface see them.
//!
//! Callbacks are called while the simulator rests after an event, and call functions of this interface themselves. Those
//! that a callback may call touch only what is in [`Front`]; the simulator asks there when the callbacks have returned.

use crate::matching::{Label, Matching};
use crate::status::{headway_reached, headway_status};
use headway_lab::results::write::prepare;
use headway_lab::run::{Desk, Live, Rest};
use headway_lab::{Directory, LabError, Options, Request};
use headway_network::{Ask, Happening, Source, Until};
use headway_units::Time;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fmt::Write;
use std::path::Path;
use std::thread::{self, ThreadId};

/// A status that is not `HEADWAY_OK`, and the words for it.
#[derive(Debug)]
pub struct Failure {
    /// Status that is returned.
    pub status: headway_status,
    /// Text for `headway_error`.
    pub text: String,
}

impl Failure {
    /// A status with these words.
    pub fn new(status: headway_status, text: impl Into<String>) -> Failure {
        Failure { status, text: text.into() }
    }

    fn bad_argument(text: impl Into<String>) -> Failure {
        Failure::new(headway_status::HEADWAY_BAD_ARGUMENT, text)
    }
}

/// Result of a function of the interface.
pub type Answer<T> = Result<T, Failure>;

/// A function of the program, and its argument; no function at all if it does not want to be told.
#[derive(Clone, Copy, Debug)]
pub struct Callback {
    /// The function to call.
    pub function: Option<extern "C" fn(arg: *mut c_void)>,
    /// The argument to call it with.
    pub argument: *mut c_void,
}

impl Callback {
    fn call_back(self) {
        if let Some(function) = self.function {
            function(self.argument);
        }
    }
}

/// A message under way.
struct Message {
    label: Label,
    sent: Callback,
    /// Event at which its sender's callback is called.
    when: Until,
    /// The receive that takes it, if it has been asked for.
    receive: Option<Callback>,
    arrived: bool,
    /// True if its sender's callback has been called.
    told: bool,
}

impl Message {
    /// True if its sender waits for no callback any more.
    fn is_told(&self) -> bool {
        self.told || self.sent.function.is_none()
    }
}

/// State that callbacks and the simulator share.
struct Front {
    now: Cell<Time>,
    desk: RefCell<Desk>,
    ranks: RefCell<Vec<u32>>,
    asks: RefCell<VecDeque<Ask>>,
    /// Messages by the number of their flow.
    messages: RefCell<FxHashMap<u32, Message>>,
    matching: RefCell<Matching<u32, Callback>>,
    timers: RefCell<Slab<Callback>>,
    rests: Cell<bool>,
    /// Messages that were lost since the run was last continued.
    lost: RefCell<Vec<Label>>,
    counts: Cell<(u64, u64, u64)>,
}

/// A run that a C program drives.
pub struct Run {
    thread: ThreadId,
    front: Front,
    /// `None` once its results are made.
    live: RefCell<Option<Live>>,
}

impl Run {
    /// Opens a scenario. Until it is set otherwise, a rank is the host of the same number.
    pub fn open(request: &Request) -> Answer<Run> {
        let wrong = |error: LabError| Failure::new(headway_status::HEADWAY_BAD_SCENARIO, error.render());
        let scenario = request.load().map_err(|error| wrong(error.into()))?;
        let (live, desk) = Live::new(scenario).map_err(wrong)?;
        let hosts = desk.hosts();
        let front = Front {
            now: Cell::new(Time::ZERO),
            desk: RefCell::new(desk),
            ranks: RefCell::new((0..hosts).collect()),
            asks: RefCell::default(),
            messages: RefCell::default(),
            matching: RefCell::default(),
            timers: RefCell::default(),
            rests: Cell::new(false),
            lost: RefCell::default(),
            counts: Cell::new((0, 0, 0)),
        };
        Ok(Run { thread: thread::current().id(), front, live: RefCell::new(Some(live)) })
    }

    /// An error unless this is the thread that opened it.
    pub fn check_thread(&self) -> Answer<()> {
        if thread::current().id() == self.thread {
            return Ok(());
        }
        let text = "a run has one thread, the one that opened it, and another one called";
        Err(Failure::new(headway_status::HEADWAY_WRONG_THREAD, text))
    }

    /// The simulator, unless it is at work or has finished.
    fn with_live<T>(&self, what: &str, then: impl FnOnce(&mut Live) -> Answer<T>) -> Answer<T> {
        // The run is borrowed for as long as it goes on, so a second borrow means a call from a callback.
        let Ok(mut live) = self.live.try_borrow_mut() else { return Err(busy_failure(what)) };
        live.as_mut().map_or_else(|| Err(finished_failure(what)), then)
    }

    /// An error if the results have been made. While the run is under way they have not.
    fn check_open(&self, what: &str) -> Answer<()> {
        match self.live.try_borrow() {
            Ok(live) if live.is_none() => Err(finished_failure(what)),
            _ => Ok(()),
        }
    }

    /// An error while the run is under way.
    pub fn check_idle(&self) -> Answer<()> {
        match self.live.try_borrow_mut() {
            Ok(_) => Ok(()),
            Err(_) => Err(busy_failure("headway_close")),
        }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.front.desk.borrow().hosts()
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.front.ranks.borrow().len() as u32
    }

    /// Says at which host each rank is, before the first message.
    pub fn place(&self, hosts: &[u32]) -> Answer<()> {
        self.check_open("headway_place_ranks")?;
        // Messages are matched by rank: to move one would part messages from their receives.
        if self.front.counts.get().0 > 0 {
            return Err(Failure::bad_argument("ranks have a place before the first message"));
        }
        let all = self.hosts();
        let mut rank_at = vec![None; all as usize];
        for (rank, &host) in hosts.iter().enumerate() {
            let Some(place) = rank_at.get_mut(host as usize) else {
                return Err(Failure::bad_argument(format!("rank {rank}: {}", no_host(host, all))));
            };
            if let Some(other) = place.replace(rank) {
                let text = format!(
                    "ranks {other} and {rank} are both at host {host}: a message between them would not cross the network"
                );
                return Err(Failure::bad_argument(text));
            }
        }
        *self.front.ranks.borrow_mut() = hosts.to_vec();
        Ok(())
    }

    /// The host of a rank.
    pub fn host_of(&self, rank: u32) -> Answer<u32> {
        let ranks = self.front.ranks.borrow();
        ranks.get(rank as usize).copied().ok_or_else(|| {
            Failure::bad_argument(format!(
                "rank {rank} is not there: there are {} ranks, from 0",
                ranks.len()
            ))
        })
    }

    /// A message is handed over now.
    pub fn send(
        &self,
        (from, to): (u32, u32),
        bytes: u64,
        tag: i64,
        (when, sent): (Until, Callback),
    ) -> Answer<()> {
        self.check_open("headway_send")?;
        let (src, dst) = (self.host_of(from)?, self.host_of(to)?);
        let front = &self.front;
        let refuse = |error: headway_network::RunError| {
            let reason = match error {
                headway_network::RunError::Flow { reason, .. } => reason,
                other => other.to_string(),
            };
            Failure::bad_argument(format!("a message from rank {from} to rank {to}: {reason}"))
        };
        let (number, flow) =
            front.desk.borrow_mut().message(front.now.get(), src, dst, bytes).map_err(refuse)?;
        let label = Label { from, to, tag, bytes };
        // After the simulator has accepted the message: one that is refused must not take a receive.
        let receive = front.matching.borrow_mut().add_message(label, number);
        let message = Message { label, sent, when, receive, arrived: false, told: false };
        front.messages.borrow_mut().insert(number, message);
        // Without a callback the simulator need not report when the sender knows.
        let known = when == Until::Known && sent.function.is_some();
        front.asks.borrow_mut().push_back(Ask::Flow { flow, known });
        let (sent, arrived, lost) = front.counts.get();
        front.counts.set((sent + 1, arrived, lost));
        Ok(())
    }

    /// A rank is ready to receive a message.
    pub fn receive(&self, (to, from): (u32, u32), bytes: u64, tag: i64, received: Callback) -> Answer<()> {
        self.check_open("headway_receive")?;
        let (src, dst) = (self.host_of(from)?, self.host_of(to)?);
        // A send to itself is refused by the simulator; a receive would only wait for ever.
        if src == dst {
            return Err(Failure::bad_argument(format!("rank {to} receives from itself")));
        }
        let front = &self.front;
        let label = Label { from, to, tag, bytes };
        let Some(number) = front.matching.borrow_mut().add_receive(label, received) else { return Ok(()) };
        let mut messages = front.messages.borrow_mut();
        // The transport has given the message up: its callback will not be called.
        let Some(message) = messages.get_mut(&number) else { return Ok(()) };
        message.receive = Some(received);
        if message.arrived {
            // Not from within this function: its caller may not be ready for a callback.
            if message.is_told() {
                messages.remove(&number);
            }
            // `call_after` borrows other parts of the front, but a callback may come back to this one.
            drop(messages);
            front.call_after(Time::ZERO, received);
        }
        Ok(())
    }

    /// A function is to be called when this time has passed.
    pub fn schedule(&self, after: Time, call: Callback) -> Answer<()> {
        self.check_open("headway_schedule")?;
        if call.function.is_none() {
            return Err(Failure::bad_argument("nothing is to be called: the callback is a null pointer"));
        }
        self.front.call_after(after, call);
        Ok(())
    }

    /// The run is to rest after the event that is being handled.
    pub fn rest(&self) -> Answer<()> {
        self.check_open("headway_rest")?;
        self.front.rests.set(true);
        Ok(())
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.front.now.get()
    }

    /// Progress of the run.
    pub fn reached(&self) -> Answer<headway_reached> {
        self.with_live("headway_progress", |live| {
            let ((progress, digest), (messages, messages_arrived, messages_lost)) =
                (live.progress(), self.front.counts.get());
            Ok(headway_reached {
                now_ps: self.now().0,
                events: progress.events,
                messages,
                messages_arrived,
                messages_lost,
                receives_waiting: self.front.matching.borrow().waiting_receives(),
                digest,
            })
        })
    }

    /// Goes on: until a time, or until all is over.
    pub fn go(&self, until: Option<Time>) -> Answer<()> {
        let what = if until.is_some() { "headway_run_until" } else { "headway_run" };
        self.with_live(what, |live| {
            if let Some(until) = until.filter(|until| *until < self.now()) {
                let text = format!("{until} is past: the run is at {}", self.now());
                return Err(Failure::bad_argument(text));
            }
            // A wish to rest from before the run goes on is over with it.
            self.front.rests.set(false);
            let rest = live.go(&mut Telling(&self.front), until, &mut |_| true);
            // The clock stands at the end of the run even if no callback was called there.
            self.front.now.set(live.progress().0.now);
            let rest =
                rest.map_err(|error| Failure::new(headway_status::HEADWAY_INTERNAL, error.render()))?;
            self.front.rest_answer(rest)
        })
    }

    /// Ends the run where it is, makes its results, and writes them into a directory if there is one.
    pub fn finish(&self, directory: Option<&Path>) -> Answer<()> {
        // Before anything is checked or written: the answer for a finished run, or from a callback, comes
        // first.
        self.with_live("headway_finish", |_| Ok(()))?;
        // The simulator takes requests only while it goes on.
        let waiting = self.front.asks.borrow().iter().filter(|ask| matches!(ask, Ask::Flow { .. })).count();
        if waiting > 0 {
            let messages = counted_text(waiting as u64, "message");
            let text =
                format!("{messages} handed over since the run last went on: no result would have them");
            return Err(Failure::bad_argument(text));
        }
        let wrong = |error: LabError| Failure::new(headway_status::HEADWAY_NO_RESULTS, error.render());
        // A directory that cannot be written must not cost the run.
        directory.map_or(Ok(()), prepare).map_err(wrong)?;
        let Some(live) = self.live.borrow_mut().take() else {
            return Err(finished_failure("headway_finish"));
        };
        let options = Options { out: directory.map(Directory::parquet), ..Options::default() };
        live.finish(&options).map(drop).map_err(wrong)
    }
}

impl Front {
    fn call_after(&self, after: Time, call: Callback) {
        let number = self.timers.borrow_mut().insert(call) as u64;
        self.asks.borrow_mut().push_back(Ask::Timer { after, number });
    }

    /// The last byte of a message is at its receiver, or its sender knows that.
    fn message_over(&self, number: u32, until: Until) {
        let mut messages = self.messages.borrow_mut();
        // Flows of the scenario itself have no callbacks.
        let Some(message) = messages.get_mut(&number) else { return };
        let mut calls = [None, None];
        if message.when == until && !message.told {
            message.told = true;
            calls[0] = Some(message.sent);
        }
        if until == Until::Received {
            message.arrived = true;
            calls[1] = message.receive;
            let (sent, arrived, lost) = self.counts.get();
            self.counts.set((sent, arrived + 1, lost));
        }
        // Nothing can refer to it any more. Without this a long run would keep an entry for every message.
        if message.arrived && message.is_told() && message.receive.is_some() {
            messages.remove(&number);
        }
        drop(messages);
        // Last, and with nothing borrowed: a callback may call any function that touches the front.
        calls.into_iter().flatten().for_each(Callback::call_back);
    }

    fn lose_message(&self, number: u32) {
        let Some(message) = self.messages.borrow_mut().remove(&number) else { return };
        let (sent, arrived, lost) = self.counts.get();
        self.counts.set((sent, arrived, lost + 1));
        self.lost.borrow_mut().push(message.label);
        self.rests.set(true);
    }

    /// Answer for a run that has come to rest.
    fn rest_answer(&self, rest: Rest) -> Answer<()> {
        // Before the reason for the rest: a loss is why the run stands still, whatever else is true of it.
        let lost = std::mem::take(&mut *self.lost.borrow_mut());
        if let [first, ..] = lost[..] {
            let messages = counted_text(lost.len() as u64, "message");
            let text = format!("the transport gave up {messages}; the first is {}", first.label_text());
            return Err(Failure::new(headway_status::HEADWAY_MESSAGE_LOST, text));
        }
        let now = self.now.get();
        match rest {
            Rest::Over => self.check_receives(),
            Rest::Until | Rest::Asked => Ok(()),
            Rest::Quiet => {
                let text = format!("at {now}: messages are not complete, and nothing will ever happen again");
                Err(Failure::new(headway_status::HEADWAY_STUCK, text))
            }
            Rest::NoProgress => {
                let text = format!(
                    "at {now}: messages are not complete, nothing has arrived for half of that time, and only timers go on"
                );
                Err(Failure::new(headway_status::HEADWAY_STUCK, text))
            }
            Rest::Stop => {
                let text = format!("the run has reached {now}, the scenario's `stop`");
                Err(Failure::new(headway_status::HEADWAY_STOP_REACHED, text))
            }
            Rest::Cut => {
                let text =
                    format!("at {now}: the run has taken all that the scenario's `memory_limit` allows");
                Err(Failure::new(headway_status::HEADWAY_OUT_OF_MEMORY, text))
            }
        }
    }

    fn check_receives(&self) -> Answer<()> {
        let matching = self.matching.borrow();
        let Some((first, sent)) = matching.least_waiting() else { return Ok(()) };
        let mut text = format!(
            "{} for messages that nobody has sent: {}",
            match matching.waiting_receives() {
                1 => "1 receive waits".to_string(),
                many => format!("{many} receives wait"),
            },
            first.label_text()
        );
        if let Some(sent) = sent {
            let _ = write!(text, "; one that nobody receives is {}", sent.label_text());
        }
        Err(Failure::new(headway_status::HEADWAY_RECEIVES_WAIT, text))
    }
}

impl Label {
    fn label_text(&self) -> String {
        let Label { from, to, tag, bytes } = self;
        format!("from rank {from} to rank {to}, tag {tag}, {bytes} bytes")
    }
}

/// Calls callbacks for a simulator, and hands over their requests.
struct Telling<'a>(&'a Front);

impl Source for Telling<'_> {
    fn hear(&mut self, now: Time, what: Happening) {
        self.0.now.set(now);
        match what {
            Happening::Flow(number, until) => self.0.message_over(number, until),
            Happening::Lost(number) => self.0.lose_message(number),
            Happening::Timer(number) => {
                let call = self.0.timers.borrow_mut().try_remove(number as usize);
                call.into_iter().for_each(Callback::call_back);
            }
        }
    }

    fn ask(&mut self) -> Option<Ask> {
        self.0.asks.borrow_mut().pop_front()
    }

    fn rests(&self) -> bool {
        self.0.rests.get()
    }
}

fn busy_failure(what: &str) -> Failure {
    let text = format!("`{what}` cannot be called from a callback: the run is under way");
    Failure::new(headway_status::HEADWAY_BUSY, text)
}

fn finished_failure(what: &str) -> Failure {
    let text = format!("`{what}`: the results have been made, and the run goes no further");
    Failure::new(headway_status::HEADWAY_FINISHED, text)
}

fn no_host(host: u32, hosts: u32) -> String {
    format!("host {host} is not there: the network has {hosts}, from 0")
}

fn counted_text(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
