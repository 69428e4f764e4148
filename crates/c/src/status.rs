//! Statuses that functions return, and the words for them.

use std::ffi::CStr;

/// Status that a function returns. `headway_error` has the words for the last answer that was not
/// `HEADWAY_OK`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the names in C")]
pub enum headway_status {
    /// All is well. Of `headway_run`: all messages and times are over, or a callback asked for a rest.
    HEADWAY_OK = 0,
    /// An argument cannot be: a null pointer, a text that is not UTF-8, a rank or a host that is not there, a time that is
    /// past.
    HEADWAY_BAD_ARGUMENT = 1,
    /// The scenario cannot be read, or is wrong. The text shows where.
    HEADWAY_BAD_SCENARIO = 2,
    /// The function cannot be called from a callback.
    HEADWAY_BUSY = 3,
    /// A run belongs to the thread that opened it, and another one called.
    HEADWAY_WRONG_THREAD = 4,
    /// The results have been made: a run goes no further after that.
    HEADWAY_FINISHED = 5,
    /// The latest end of the scenario, its `stop`, is there.
    HEADWAY_STOP_REACHED = 6,
    /// Receives wait for messages that were never sent, and nothing else is to come.
    HEADWAY_RECEIVES_WAIT = 7,
    /// Messages are not complete, and nothing arrives any more.
    HEADWAY_STUCK = 8,
    /// The transport gave messages up, and their callbacks will not be called. The run can go on.
    HEADWAY_MESSAGE_LOST = 9,
    /// The run has taken all the memory that the scenario's `memory_limit` allows.
    HEADWAY_OUT_OF_MEMORY = 10,
    /// The results cannot be made or written.
    HEADWAY_NO_RESULTS = 11,
    /// A mistake in Headway itself.
    HEADWAY_INTERNAL = 12,
}

impl headway_status {
    /// Every status, in the order of its number.
    pub const ALL: [headway_status; 13] = [
        headway_status::HEADWAY_OK,
        headway_status::HEADWAY_BAD_ARGUMENT,
        headway_status::HEADWAY_BAD_SCENARIO,
        headway_status::HEADWAY_BUSY,
        headway_status::HEADWAY_WRONG_THREAD,
        headway_status::HEADWAY_FINISHED,
        headway_status::HEADWAY_STOP_REACHED,
        headway_status::HEADWAY_RECEIVES_WAIT,
        headway_status::HEADWAY_STUCK,
        headway_status::HEADWAY_MESSAGE_LOST,
        headway_status::HEADWAY_OUT_OF_MEMORY,
        headway_status::HEADWAY_NO_RESULTS,
        headway_status::HEADWAY_INTERNAL,
    ];

    /// Meaning in a few words.
    pub fn words(self) -> &'static CStr {
        match self {
            headway_status::HEADWAY_OK => c"all is well",
            headway_status::HEADWAY_BAD_ARGUMENT => c"an argument cannot be",
            headway_status::HEADWAY_BAD_SCENARIO => c"the scenario cannot be read, or is wrong",
            headway_status::HEADWAY_BUSY => c"the function cannot be called from a callback",
            headway_status::HEADWAY_WRONG_THREAD => c"the run belongs to another thread",
            headway_status::HEADWAY_FINISHED => c"the results have been made, and the run goes no further",
            headway_status::HEADWAY_STOP_REACHED => c"the run has reached the scenario's `stop`",
            headway_status::HEADWAY_RECEIVES_WAIT => c"receives wait for messages that nobody has sent",
            headway_status::HEADWAY_STUCK => c"messages are not complete, and nothing arrives any more",
            headway_status::HEADWAY_MESSAGE_LOST => c"the transport gave messages up",
            headway_status::HEADWAY_OUT_OF_MEMORY => c"the run has taken all the memory that it may",
            headway_status::HEADWAY_NO_RESULTS => c"the results cannot be made or written",
            headway_status::HEADWAY_INTERNAL => c"a mistake in Headway itself",
        }
    }
}

/// Progress of a run.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct headway_reached {
    /// Virtual time, in picoseconds.
    pub now_ps: u64,
    /// Events so far.
    pub events: u64,
    /// Messages that were handed over.
    pub messages: u64,
    /// Those of them that have arrived.
    pub messages_arrived: u64,
    /// Those of them that the transport gave up.
    pub messages_lost: u64,
    /// Receives for which no message has been handed over.
    pub receives_waiting: u64,
    /// Digest of all events so far: equal for equal calls, scenarios and versions.
    pub digest: u64,
}
