//! The functions that C programs call: pointers become references, texts and answers here, and nowhere else.
//!
//! No panic crosses the border: each function catches it and answers `HEADWAY_INTERNAL`.

#![allow(unsafe_code, reason = "pointers from C are all that this file is about")]

use crate::calls::{Answer, Callback, Failure, Run};
use crate::status::{headway_reached, headway_status};
use headway_lab::Request;
use headway_network::Until;
use headway_units::Time;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr::NonNull;

/// Of `headway_send`: the callback is called when the last byte of the message is at its receiver.
pub const HEADWAY_RECEIVED: u32 = 0;
/// Of `headway_send`: the callback is called when the sender knows that, as by an acknowledgement.
pub const HEADWAY_KNOWN: u32 = 1;

/// A run of a scenario. It belongs to the thread that opened it.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct headway(Run);

/// A function of the program, which is called with the argument that was given with it. It must return: no C++
/// exception and no `longjmp` may leave it. It may call every function of this interface but those that say otherwise.
#[allow(non_camel_case_types, reason = "the name in C")]
pub type headway_callback = Option<extern "C" fn(arg: *mut c_void)>;

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps the words of the error, and returns the status.
fn to_status(answer: Answer<()>) -> headway_status {
    let Err(Failure { status, text }) = answer else { return headway_status::HEADWAY_OK };
    // Texts of this side contain a zero byte only if a program passed one.
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| *error = text);
    status
}

/// Returns the status of a function, or that it panicked.
fn catch_panic(function: impl FnOnce() -> Answer<()>) -> headway_status {
    let outcome = catch_unwind(AssertUnwindSafe(function));
    to_status(outcome.unwrap_or_else(|_| {
        let text = "a mistake in Headway itself: what it printed says where; please report it";
        Err(Failure::new(headway_status::HEADWAY_INTERNAL, text))
    }))
}

/// Texts in a list at most: a number that a negative one of a program never becomes.
const MOST_TEXTS: usize = 1 << 16;

fn bad_argument(text: &str) -> Failure {
    Failure::new(headway_status::HEADWAY_BAD_ARGUMENT, text)
}

/// The run behind a pointer, if this is its thread.
///
/// # Safety
/// The pointer is null, or `headway_open` gave it and `headway_close` did not take it.
unsafe fn run_behind<'a>(pointer: *const headway) -> Answer<&'a Run> {
    // SAFETY: as said above.
    let run = unsafe { pointer.as_ref() }
        .map(|run| &run.0)
        .ok_or_else(|| bad_argument("the run is a null pointer"))?;
    run.check_thread()?;
    Ok(run)
}

/// The text behind a pointer.
///
/// # Safety
/// The pointer is null, or to a text that a zero byte ends.
unsafe fn text_behind<'a>(pointer: *const c_char, what: &str) -> Answer<&'a str> {
    if pointer.is_null() {
        return Err(bad_argument(&format!("{what} is a null pointer")));
    }
    // SAFETY: as said above.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| bad_argument(&format!("{what} is not UTF-8")))
}

/// The texts behind a pointer.
///
/// # Safety
/// There are so many pointers there, each as in [`text`].
unsafe fn texts_behind(pointer: *const *const c_char, count: usize, what: &str) -> Answer<Vec<String>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if pointer.is_null() {
        return Err(bad_argument(&format!("{what} are a null pointer")));
    }
    // Before a slice is made of it: a slice of such a length would be undefined behaviour.
    if count > MOST_TEXTS {
        return Err(bad_argument(&format!("{count} of {what}: a negative number becomes one like this")));
    }
    // SAFETY: as said above.
    let all = unsafe { std::slice::from_raw_parts(pointer, count) };
    // SAFETY: the same.
    all.iter().map(|one| unsafe { text_behind(*one, what) }.map(str::to_string)).collect()
}

/// Writes a value to a place that may be uninitialised, so that a reference to it is not allowed.
///
/// # Safety
/// `place` is null, or where a value of this kind may be written.
unsafe fn put_value<T>(place: *mut T, value: T, what: &str) -> Answer<()> {
    let place = NonNull::new(place)
        .ok_or_else(|| bad_argument(&format!("the place for {what} is a null pointer")))?;
    // SAFETY: as said above.
    unsafe { place.write(value) };
    Ok(())
}

/// Opens a run, and writes it behind a pointer.
///
/// # Safety
/// The pointer is null, or to where a pointer may be written.
unsafe fn open_run(out: *mut *mut headway, request: impl FnOnce() -> Answer<Request>) -> Answer<()> {
    // SAFETY: as said above.
    // First, so that a program that ignores the status holds a null pointer and nothing uninitialised.
    unsafe { put_value(out, std::ptr::null_mut(), "the run") }?;
    let run = Box::into_raw(Box::new(headway(Run::open(&request()?)?)));
    // SAFETY: the same.
    unsafe { put_value(out, run, "the run") }
}

/// Opens the scenario in a file. `sets` are `count` texts such as "seed=7" or "topology.hosts=16", as `headway run --set`
/// takes them. A `[[traffic]]` entry of kind = "external" sets the properties that the messages share.
///
/// # Safety
/// Texts end with a zero byte; `run` is where a pointer may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_open(
    path: *const c_char,
    sets: *const *const c_char,
    count: usize,
    run: *mut *mut headway,
) -> headway_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        unsafe {
            open_run(run, || {
                let (path, sets) =
                    (text_behind(path, "the path")?, texts_behind(sets, count, "the settings")?);
                let wrong = |error: headway_lab::ScenarioError| {
                    Failure::new(headway_status::HEADWAY_BAD_SCENARIO, error.render())
                };
                Request::file(Path::new(path), &sets, None).map_err(wrong)
            })
        }
    })
}

/// Opens a scenario that is written in a text. `name` stands for its file in messages and results, and relative paths in it
/// start in `folder`.
///
/// # Safety
/// As for `headway_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_open_text(
    scenario: *const c_char,
    name: *const c_char,
    folder: *const c_char,
    sets: *const *const c_char,
    count: usize,
    run: *mut *mut headway,
) -> headway_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        unsafe {
            open_run(run, || {
                let (scenario, name) =
                    (text_behind(scenario, "the scenario")?, text_behind(name, "the name")?);
                let (folder, sets) =
                    (text_behind(folder, "the folder")?, texts_behind(sets, count, "the settings")?);
                Ok(Request::text(scenario, name, Path::new(folder), &sets, None))
            })
        }
    })
}

/// Frees a run, whether its results were made or not. A null pointer is freed already. Not from a callback.
///
/// # Safety
/// `run` is null, or `headway_open` gave it; it is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_close(run: *mut headway) -> headway_status {
    catch_panic(|| {
        if run.is_null() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        // A callback may not free the run that is calling it.
        unsafe { self::run_behind(run) }?.check_idle()?;
        // SAFETY: the same, and no function of it is under way.
        drop(unsafe { Box::from_raw(run) });
        Ok(())
    })
}

/// The words for the last answer in this thread that was not `HEADWAY_OK`, in UTF-8: for a scenario several lines with the
/// place. They stay until the next such answer.
#[unsafe(no_mangle)]
pub extern "C" fn headway_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// A few words for a status; those for `HEADWAY_INTERNAL` for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn headway_words(status: u32) -> *const c_char {
    let all = headway_status::ALL;
    // The argument is a number and not the enum: in Rust an enum of another value would be undefined.
    all.get(status as usize).unwrap_or(&headway_status::HEADWAY_INTERNAL).words().as_ptr()
}

/// Number of hosts of the network; 0 of a null pointer, and in another thread.
///
/// # Safety
/// `run` is null, or `headway_open` gave it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_hosts(run: *const headway) -> u32 {
    let mut hosts = 0;
    catch_panic(|| {
        // SAFETY: the caller's promise.
        hosts = unsafe { self::run_behind(run) }?.hosts();
        Ok(())
    });
    hosts
}

/// Says at which host each rank is, no two at one host, before the first message. Without it, rank r is at host r, and there
/// are as many ranks as hosts.
///
/// # Safety
/// `run` is null, or `headway_open` gave it; `hosts` are `ranks` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_place_ranks(
    run: *mut headway,
    hosts: *const u32,
    ranks: usize,
) -> headway_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let run = unsafe { self::run_behind(run) }?;
        if hosts.is_null() || ranks == 0 {
            return Err(bad_argument("there is no rank: the hosts are a null pointer, or their number is 0"));
        }
        // Two ranks may not share a host, so more cannot be right; and a negative number of C becomes one like
        // this.
        if ranks > run.hosts() as usize {
            return Err(bad_argument(&format!("{ranks} ranks, and there are {} hosts", run.hosts())));
        }
        // SAFETY: the same.
        run.place(unsafe { std::slice::from_raw_parts(hosts, ranks) })
    })
}

/// The host of a rank.
///
/// # Safety
/// `run` is null, or `headway_open` gave it; `host` is null, or where a number may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_of_rank(
    run: *const headway,
    rank: u32,
    host: *mut u32,
) -> headway_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let found = unsafe { self::run_behind(run) }?.host_of(rank)?;
        // SAFETY: the same.
        unsafe { put_value(host, found, "the host") }
    })
}

/// Hands a message over now: from rank `from` to rank `to`, at least one byte. `callback` may be null; it is called when
/// `when` says: `HEADWAY_RECEIVED` or `HEADWAY_KNOWN`. The message begins after everything else that happens in this instant.
///
/// # Safety
/// `run` is null, or `headway_open` gave it; `callback` may be called with `arg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_send(
    run: *mut headway,
    from: u32,
    to: u32,
    bytes: u64,
    tag: i64,
    when: u32,
    callback: headway_callback,
    arg: *mut c_void,
) -> headway_status {
    catch_panic(|| {
        let when = match when {
            HEADWAY_RECEIVED => Until::Received,
            HEADWAY_KNOWN => Until::Known,
            other => {
                return Err(bad_argument(&format!("{other} is neither HEADWAY_RECEIVED nor HEADWAY_KNOWN")));
            }
        };
        let call = Callback { function: callback, argument: arg };
        // SAFETY: the caller's promise.
        unsafe { self::run_behind(run) }?.send((from, to), bytes, tag, (when, call))
    })
}

/// Rank `to` is ready for a message from rank `from` of this size and tag. `callback` is called when the message has arrived,
/// or in this instant if it was there before, but not before this function returns. Of messages of one sender, receiver, size
/// and tag, the n-th receive takes the n-th that was handed over.
///
/// # Safety
/// As for `headway_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_receive(
    run: *mut headway,
    to: u32,
    from: u32,
    bytes: u64,
    tag: i64,
    callback: headway_callback,
    arg: *mut c_void,
) -> headway_status {
    catch_panic(|| {
        let call = Callback { function: callback, argument: arg };
        // SAFETY: the caller's promise.
        unsafe { self::run_behind(run) }?.receive((to, from), bytes, tag, call)
    })
}

/// Calls `callback` when so many picoseconds have passed. With 0 that is in this instant, after everything else that happens
/// in it; callbacks of one instant are called in the order in which they were scheduled.
///
/// # Safety
/// As for `headway_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_schedule(
    run: *mut headway,
    after_ps: u64,
    callback: headway_callback,
    arg: *mut c_void,
) -> headway_status {
    catch_panic(|| {
        let call = Callback { function: callback, argument: arg };
        // SAFETY: the caller's promise.
        unsafe { self::run_behind(run) }?.schedule(Time(after_ps), call)
    })
}

/// Virtual time in picoseconds; `UINT64_MAX` of a null pointer, and in another thread.
///
/// # Safety
/// `run` is null, or `headway_open` gave it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_now(run: *const headway) -> u64 {
    let mut now = u64::MAX;
    catch_panic(|| {
        // SAFETY: the caller's promise.
        now = unsafe { self::run_behind(run) }?.now().0;
        Ok(())
    });
    now
}

/// Goes on until all messages and all scheduled times are over, those included that callbacks ask for meanwhile. More can be
/// handed over afterwards, and the run goes on from there. Not from a callback.
///
/// # Safety
/// `run` is null, or `headway_open` gave it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_run(run: *mut headway) -> headway_status {
    // SAFETY: the caller's promise.
    catch_panic(|| unsafe { self::run_behind(run) }?.go(None))
}

/// Goes on until this virtual time in picoseconds, everything included that happens in that instant, even if nothing is to
/// come until then. Not from a callback.
///
/// # Safety
/// `run` is null, or `headway_open` gave it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_run_until(run: *mut headway, time_ps: u64) -> headway_status {
    // SAFETY: the caller's promise.
    catch_panic(|| unsafe { self::run_behind(run) }?.go(Some(Time(time_ps))))
}

/// From a callback: `headway_run` returns `HEADWAY_OK` when this callback, and others of the same event, have returned.
///
/// # Safety
/// `run` is null, or `headway_open` gave it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_rest(run: *mut headway) -> headway_status {
    // SAFETY: the caller's promise.
    catch_panic(|| unsafe { self::run_behind(run) }?.rest())
}

/// Progress of the run. Must not be called from a callback.
///
/// # Safety
/// `run` is null, or `headway_open` gave it; `reached` is null, or where the answer may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_progress(
    run: *const headway,
    reached: *mut headway_reached,
) -> headway_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let found = unsafe { self::run_behind(run) }?.reached()?;
        // SAFETY: the same.
        unsafe { put_value(reached, found, "the answer") }
    })
}

/// Ends the run where it is and writes its results into a directory, as `headway run --out` does; with a null pointer nothing
/// is written. The run goes no further, and has still to be closed. Not from a callback.
///
/// # Safety
/// `run` is null, or `headway_open` gave it; the directory's path ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_finish(run: *mut headway, directory: *const c_char) -> headway_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let run = unsafe { self::run_behind(run) }?;
        let directory = match directory.is_null() {
            true => None,
            // SAFETY: the same.
            false => Some(Path::new(unsafe { text_behind(directory, "the directory") }?)),
        };
        run.finish(directory)
    })
}
