//! Statuses for the mistakes of C programs; nothing else crosses the border.
#![allow(unsafe_code, reason = "calls the functions as a C program does")]

use headway_c::border::*;
use headway_c::status::headway_reached;
use headway_c::status::headway_status::{self, *};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};

const SCENARIO: &str = "[topology]\nkind = \"single-switch\"\nhosts = 4\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\
                        [transport]\nname = \"dctcp\"\n[[traffic]]\nkind = \"external\"\n";

fn open_text(text: &str) -> (headway_status, *mut headway) {
    let (text, mut run) = (CString::new(text).expect("text"), null_mut());
    let folder = c".".as_ptr();
    // SAFETY: all texts end with a zero byte.
    let status =
        unsafe { headway_open_text(text.as_ptr(), c"own".as_ptr(), folder, null(), 0, &raw mut run) };
    (status, run)
}

fn opened_run() -> *mut headway {
    let (status, run) = open_text(SCENARIO);
    assert_eq!(status, HEADWAY_OK, "{}", error_words());
    run
}

fn error_words() -> String {
    // SAFETY: the text stays until the next failure.
    unsafe { CStr::from_ptr(headway_error()) }.to_string_lossy().into_owned()
}

fn assert_fails(found: headway_status, status: headway_status, part: &str) {
    assert_eq!(found, status, "{}", error_words());
    assert!(error_words().contains(part), "{}", error_words());
}

/// Callbacks that were called, in order.
struct Seen {
    run: *mut headway,
    calls: Vec<(u64, char)>,
}

extern "C" fn note(arg: *mut c_void) {
    // SAFETY: every argument here is of this kind.
    let seen = unsafe { &mut *arg.cast::<Seen>() };
    seen.calls.push((unsafe { headway_now(seen.run) }, 'n'));
}

extern "C" fn note_and_send(arg: *mut c_void) {
    // SAFETY: as above.
    let seen = unsafe { &mut *arg.cast::<Seen>() };
    seen.calls.push((unsafe { headway_now(seen.run) }, 's'));
    let run = seen.run;
    // SAFETY: the run is open.
    unsafe {
        assert_eq!(headway_receive(run, 0, 1, 700, 2, Some(note), arg), HEADWAY_OK);
        assert_eq!(headway_send(run, 1, 0, 700, 2, HEADWAY_RECEIVED, None, null_mut()), HEADWAY_OK);
        // Those that may not be called from here say so.
        assert_fails(headway_run(run), HEADWAY_BUSY, "`headway_run` cannot be called from a callback");
        assert_fails(headway_run_until(run, 9), HEADWAY_BUSY, "headway_run_until");
        assert_fails(
            headway_progress(run, &mut headway_reached::default()),
            HEADWAY_BUSY,
            "headway_progress",
        );
        assert_fails(headway_finish(run, null()), HEADWAY_BUSY, "headway_finish");
        assert_fails(headway_close(run), HEADWAY_BUSY, "headway_close");
    }
}

#[test]
fn messages_times_and_receives_are_called_back_in_order() {
    let mut seen = Seen { run: opened_run(), calls: Vec::new() };
    let (run, arg) = (seen.run, (&raw mut seen).cast::<c_void>());
    let mut reached = headway_reached::default();
    // SAFETY: the run is open, and the argument is there until it is closed.
    unsafe {
        assert_eq!(headway_schedule(run, 5_000_000, Some(note), arg), HEADWAY_OK);
        assert_eq!(headway_send(run, 0, 1, 1_000, 1, HEADWAY_KNOWN, Some(note), arg), HEADWAY_OK);
        assert_eq!(headway_receive(run, 1, 0, 1_000, 1, Some(note_and_send), arg), HEADWAY_OK);
        assert_eq!(headway_run(run), HEADWAY_OK, "{}", error_words());
        assert_eq!(headway_progress(run, &mut reached), HEADWAY_OK);
    }
    assert_eq!((reached.messages, reached.messages_arrived, reached.receives_waiting), (2, 2, 0));
    // The receive is first, then the sender knows, then the answer is there; the time is over in between.
    let kinds: String = seen.calls.iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, "snnn", "{:?}", seen.calls);
    assert!(seen.calls.is_sorted() && seen.calls.iter().any(|(at, _)| *at == 5_000_000), "{:?}", seen.calls);
    // SAFETY: the same.
    unsafe {
        // A receive that comes late is called back in the instant in which it is added, by the run.
        assert_eq!(headway_send(run, 2, 3, 50, 0, HEADWAY_RECEIVED, None, null_mut()), HEADWAY_OK);
        assert_eq!(headway_run(run), HEADWAY_OK);
        let (before, now) = (seen.calls.len(), headway_now(run));
        assert_eq!(headway_receive(run, 3, 2, 50, 0, Some(note), arg), HEADWAY_OK);
        assert_eq!(seen.calls.len(), before);
        assert_eq!(headway_run(run), HEADWAY_OK);
        assert_eq!(seen.calls.last(), Some(&(now, 'n')));
        // Time passes where nothing happens.
        assert_eq!(headway_run_until(run, now + 7), HEADWAY_OK);
        assert_eq!(headway_now(run), now + 7);
        assert_fails(headway_run_until(run, now), HEADWAY_BAD_ARGUMENT, "is past");
        assert_eq!(headway_close(run), HEADWAY_OK);
    }
}

#[test]
fn receives_that_nobody_sends_for_are_named() {
    let run = opened_run();
    // SAFETY: the run is open.
    unsafe {
        assert_eq!(headway_receive(run, 1, 0, 100, 5, None, null_mut()), HEADWAY_OK);
        assert_eq!(headway_send(run, 0, 1, 200, 5, HEADWAY_RECEIVED, None, null_mut()), HEADWAY_OK);
        assert_fails(headway_run(run), HEADWAY_RECEIVES_WAIT, "from rank 0 to rank 1, tag 5, 100 bytes");
        assert!(
            error_words().contains("one that nobody receives is from rank 0 to rank 1, tag 5, 200 bytes"),
            "{}",
            error_words()
        );
        assert_eq!(headway_close(run), HEADWAY_OK);
    }
}

#[test]
fn ranks_are_at_the_hosts_that_they_are_placed_at() {
    let (run, mut host) = (opened_run(), 9);
    // SAFETY: the run is open.
    unsafe {
        assert_eq!(headway_hosts(run), 4);
        assert_eq!(headway_host_of_rank(run, 3, &mut host), HEADWAY_OK);
        assert_eq!(host, 3);
        assert_fails(
            headway_place_ranks(run, [2, 9].as_ptr(), 2),
            HEADWAY_BAD_ARGUMENT,
            "rank 1: host 9 is not there",
        );
        assert_fails(headway_place_ranks(run, [2, 2].as_ptr(), 2), HEADWAY_BAD_ARGUMENT, "both at host 2");
        assert_fails(headway_place_ranks(run, null(), 2), HEADWAY_BAD_ARGUMENT, "null pointer");
        // A negative number of a program: nothing is read.
        let many = headway_place_ranks(run, [2, 0].as_ptr(), usize::MAX);
        assert_fails(many, HEADWAY_BAD_ARGUMENT, "and there are 4 hosts");
        assert_eq!(headway_place_ranks(run, [2, 0].as_ptr(), 2), HEADWAY_OK);
        assert_eq!(headway_host_of_rank(run, 0, &mut host), HEADWAY_OK);
        assert_eq!(host, 2);
        assert_fails(headway_host_of_rank(run, 2, &mut host), HEADWAY_BAD_ARGUMENT, "there are 2 ranks");
        let send =
            |from, to, bytes| headway_send(run, from, to, bytes, 0, HEADWAY_RECEIVED, None, null_mut());
        assert_fails(send(0, 2, 1), HEADWAY_BAD_ARGUMENT, "rank 2 is not there");
        assert_fails(send(0, 1, 0), HEADWAY_BAD_ARGUMENT, "at least one byte");
        assert_fails(send(1, 1, 5), HEADWAY_BAD_ARGUMENT, "sends to itself");
        assert_fails(send(0, 1, u64::MAX), HEADWAY_BAD_ARGUMENT, "more than 2^32 packets");
        assert_fails(
            headway_send(run, 0, 1, 1, 0, 7, None, null_mut()),
            HEADWAY_BAD_ARGUMENT,
            "7 is neither",
        );
        assert_eq!(send(0, 1, 1), HEADWAY_OK);
        assert_fails(
            headway_place_ranks(run, [0].as_ptr(), 1),
            HEADWAY_BAD_ARGUMENT,
            "before the first message",
        );
        assert_eq!(headway_close(run), HEADWAY_OK);
    }
}

#[test]
fn pointers_and_texts_that_are_none_are_refused() {
    // SAFETY: null pointers are what is tested; other texts end with a zero byte.
    unsafe {
        let mut run = null_mut();
        assert_fails(
            headway_open(null(), null(), 0, &mut run),
            HEADWAY_BAD_ARGUMENT,
            "the path is a null pointer",
        );
        assert_fails(
            headway_open(c"x.toml".as_ptr(), null(), 0, null_mut()),
            HEADWAY_BAD_ARGUMENT,
            "place for the run",
        );
        assert_fails(headway_open(c"x.toml".as_ptr(), null(), 1, &mut run), HEADWAY_BAD_ARGUMENT, "settings");
        assert_fails(headway_open(c"\xff".as_ptr(), null(), 0, &mut run), HEADWAY_BAD_ARGUMENT, "not UTF-8");
        assert_fails(
            headway_open(c"no/such.toml".as_ptr(), null(), 0, &mut run),
            HEADWAY_BAD_SCENARIO,
            "no/such.toml",
        );
        assert!(run.is_null());
        assert_fails(headway_run(null_mut()), HEADWAY_BAD_ARGUMENT, "the run is a null pointer");
        assert_eq!((headway_now(null()), headway_hosts(null())), (u64::MAX, 0));
        assert_eq!(headway_close(null_mut()), HEADWAY_OK);
        let run = opened_run();
        assert_fails(headway_progress(run, null_mut()), HEADWAY_BAD_ARGUMENT, "place for the answer");
        assert_fails(headway_host_of_rank(run, 0, null_mut()), HEADWAY_BAD_ARGUMENT, "place for the host");
        assert_fails(
            headway_schedule(run, 0, None, null_mut()),
            HEADWAY_BAD_ARGUMENT,
            "nothing is to be called",
        );
        assert_eq!(headway_close(run), HEADWAY_OK);
    }
    let settings: [*const c_char; 2] = [c"seed=4".as_ptr(), c"topology.hosts=two".as_ptr()];
    let (text, mut run) = (CString::new(SCENARIO).expect("text"), null_mut());
    // SAFETY: as above.
    let status = unsafe {
        headway_open_text(text.as_ptr(), c"own".as_ptr(), c".".as_ptr(), settings.as_ptr(), 2, &mut run)
    };
    assert_fails(status, HEADWAY_BAD_SCENARIO, "topology.hosts=two");
}

#[test]
fn scenarios_that_cannot_take_messages_say_why() {
    let own = "kind = \"permutation\"\nbytes = 1000\n";
    for (traffic, part) in [
        (own.to_string(), "no [[traffic]] entry is of kind = \"external\""),
        (
            format!("{own}[[traffic]]\nkind = \"external\"\n[[traffic]]\nkind = \"external\"\n"),
            "two [[traffic]] entries",
        ),
        (
            format!("{own}transport = \"d2tcp\"\n[[traffic]]\nkind = \"external\"\n"),
            "a run of one transport, and this one has 2",
        ),
        ("kind = \"external\"\nstop = \"1 ms\"\n".into(), "have no `stop`"),
        ("kind = \"external\"\nbytes = 5\n".into(), "bytes"),
        (
            "kind = \"external\"\n[sample]\nevery = \"1 us\"\nflows = \"all\"\nprobes = true\n".into(),
            "not probed",
        ),
    ] {
        let (before, _) = SCENARIO.split_once("kind = \"external\"").expect("an entry");
        let (status, run) = open_text(&format!("{before}{traffic}"));
        assert_fails(status, HEADWAY_BAD_SCENARIO, part);
        assert!(run.is_null());
    }
}

#[test]
fn another_thread_is_refused() {
    struct Carried(*mut headway);
    // SAFETY: what the other thread may not do is what is tested.
    unsafe impl Send for Carried {}
    let run = Carried(opened_run());
    let run = std::thread::spawn(move || {
        let run = run;
        // SAFETY: the run is open.
        let status = unsafe { headway_run(run.0) };
        assert_fails(status, HEADWAY_WRONG_THREAD, "one thread");
        run
    });
    let run = run.join().expect("an answer");
    // SAFETY: the run is open.
    unsafe {
        assert_eq!(headway_run(run.0), HEADWAY_OK);
        assert_eq!(headway_close(run.0), HEADWAY_OK);
    }
}

#[test]
fn a_run_that_is_finished_goes_no_further() {
    let run = opened_run();
    // SAFETY: the run is open.
    unsafe {
        assert_eq!(headway_finish(run, null()), HEADWAY_OK, "{}", error_words());
        assert_fails(headway_run(run), HEADWAY_FINISHED, "`headway_run`: the results have been made");
        assert_fails(headway_schedule(run, 0, Some(note), null_mut()), HEADWAY_FINISHED, "headway_schedule");
        assert_fails(headway_finish(run, null()), HEADWAY_FINISHED, "headway_finish");
        assert_eq!(headway_close(run), HEADWAY_OK);
        let run = opened_run();
        assert_eq!(headway_send(run, 0, 1, 1_000, 0, HEADWAY_RECEIVED, None, null_mut()), HEADWAY_OK);
        assert_fails(headway_finish(run, null()), HEADWAY_BAD_ARGUMENT, "1 message handed over");
        assert_eq!(headway_run(run), HEADWAY_OK);
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = CString::new(file.path().join("below").to_str().expect("text")).expect("text");
        assert_fails(headway_finish(run, path.as_ptr()), HEADWAY_NO_RESULTS, "cannot write");
        // The run is still there.
        assert_eq!(headway_finish(run, null()), HEADWAY_OK, "{}", error_words());
        assert_eq!(headway_close(run), HEADWAY_OK);
    }
}

#[test]
fn a_run_that_reaches_its_stop_says_so() {
    let (status, run) = open_text(&format!("stop = \"2 us\"\n{SCENARIO}"));
    assert_eq!(status, HEADWAY_OK, "{}", error_words());
    // SAFETY: the run is open.
    unsafe {
        assert_eq!(headway_send(run, 0, 1, 1_000_000, 0, HEADWAY_RECEIVED, None, null_mut()), HEADWAY_OK);
        assert_fails(headway_run(run), HEADWAY_STOP_REACHED, "2 us");
        assert_eq!(headway_close(run), HEADWAY_OK);
    }
}

#[test]
fn a_run_without_a_stop_goes_on_for_as_long_as_it_is_asked_to() {
    // In picoseconds. A run without a stop is first checked after 100 s (decision 120); these times lie
    // beyond.
    let second = 1_000_000_000_000;
    let mut seen = Seen { run: opened_run(), calls: Vec::new() };
    let (run, arg) = (seen.run, (&raw mut seen).cast::<c_void>());
    // SAFETY: the run is open, and what is noted stays until it is closed.
    unsafe {
        // Nothing has been sent.
        assert_eq!(headway_run_until(run, 150 * second), HEADWAY_OK, "{}", error_words());
        assert_eq!(headway_send(run, 0, 1, 1000, 0, HEADWAY_RECEIVED, None, null_mut()), HEADWAY_OK);
        // Everything has arrived.
        assert_eq!(headway_run_until(run, 400 * second), HEADWAY_OK, "{}", error_words());
        assert_eq!(headway_schedule(run, 100 * second, Some(note), arg), HEADWAY_OK);
        assert_eq!(headway_run(run), HEADWAY_OK, "{}", error_words());
        assert_eq!(headway_close(run), HEADWAY_OK);
    }
    assert_eq!(seen.calls, [(500 * second, 'n')]);
}

#[test]
fn every_status_has_words_of_its_own() {
    // SAFETY: the words are always there.
    let of = |status: u32| unsafe { CStr::from_ptr(headway_words(status)) }.to_owned();
    let all: Vec<CString> = headway_status::ALL.iter().map(|status| of(*status as u32)).collect();
    for (number, words) in all.iter().enumerate() {
        assert!(!words.is_empty() && !all[..number].contains(words), "{words:?}");
        assert_eq!(headway_status::ALL[number] as usize, number);
    }
    assert_eq!(of(99), of(HEADWAY_INTERNAL as u32));
}
