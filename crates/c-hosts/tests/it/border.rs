//! Statuses for the mistakes of C programs; nothing else crosses the border.
#![allow(unsafe_code, reason = "calls the functions as a C program does")]

use headway::border::*;
use headway::status::hw_status::{self, *};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

const LONG: i64 = 30_000_000;

fn error_words() -> String {
    // SAFETY: the text stays until the next failure.
    unsafe { CStr::from_ptr(hw_error()) }.to_string_lossy().into_owned()
}

fn assert_fails(found: hw_status, status: hw_status, part: &str) {
    assert_eq!(found, status, "{}", error_words());
    assert!(error_words().contains(part), "{}", error_words());
}

fn assert_ok(found: hw_status) {
    assert_eq!(found, HW_OK, "{}", error_words());
}

fn bind_endpoint(address: &CStr, settings: &[&CStr]) -> (hw_status, *mut hw_endpoint) {
    let settings: Vec<*const c_char> = settings.iter().map(|setting| setting.as_ptr()).collect();
    let mut endpoint = null_mut();
    // SAFETY: all texts end with a zero byte.
    let status = unsafe { hw_bind(address.as_ptr(), settings.as_ptr(), settings.len(), &mut endpoint) };
    (status, endpoint)
}

/// An endpoint, and its address.
fn bound_endpoint(settings: &[&CStr]) -> (*mut hw_endpoint, hw_address) {
    let (status, endpoint) = bind_endpoint(c"127.0.0.1:0", settings);
    assert_ok(status);
    let mut address = hw_address::default();
    // SAFETY: the endpoint is open.
    assert_ok(unsafe { hw_local(endpoint, &mut address) });
    (endpoint, address)
}

fn bytes_of(message: *const hw_message) -> Vec<u8> {
    // SAFETY: the message has not been freed.
    unsafe { std::slice::from_raw_parts(hw_bytes(message).cast::<u8>(), hw_length(message)).to_vec() }
}

#[test]
fn null_pointers_are_answered() {
    let (endpoint, here) = bound_endpoint(&[]);
    let (mut message, mut event) = (null_mut(), std::mem::MaybeUninit::<hw_event>::zeroed());
    let (mut number, mut length, mut fd) = (0_u64, 0_usize, 0 as c_int);
    let some = b"1".as_ptr().cast::<c_void>();
    // SAFETY: what cannot be is what is tested; all else is as it must be.
    unsafe {
        let bad = |status| assert_fails(status, HW_BAD_ARGUMENT, "null pointer");
        bad(hw_bind(c"127.0.0.1:0".as_ptr(), null(), 0, null_mut()));
        bad(hw_bind(null(), null(), 0, &mut null_mut()));
        // No array of settings is fine with a count of 0 only.
        bad(hw_bind(c"127.0.0.1:0".as_ptr(), null(), 1, &mut null_mut()));
        bad(hw_bind(c"127.0.0.1:0".as_ptr(), [null()].as_ptr(), 1, &mut null_mut()));
        bad(hw_shutdown(null()));
        bad(hw_address_read(null(), &mut hw_address::default()));
        bad(hw_address_read(c"1.2.3.4:5".as_ptr(), null_mut()));
        bad(hw_address_write(null(), null_mut(), 0));
        bad(hw_local(null(), &mut hw_address::default()));
        bad(hw_local(endpoint, null_mut()));
        bad(hw_send(null(), &here, some, 1, 0));
        bad(hw_send(endpoint, null(), some, 1, 0));
        bad(hw_send(endpoint, &here, null(), 1, 0));
        bad(hw_call(null(), &here, some, 1, 0, &mut message));
        bad(hw_call(endpoint, null(), some, 1, 0, &mut message));
        bad(hw_call(endpoint, &here, null(), 1, 0, &mut message));
        bad(hw_call(endpoint, &here, some, 1, 0, null_mut()));
        bad(hw_recv(null(), 0, &mut message));
        bad(hw_recv(endpoint, 0, null_mut()));
        bad(hw_reply(null(), some, 1, 0));
        bad(hw_peer(null(), &mut hw_address::default()));
        bad(hw_fd(null(), &mut fd));
        bad(hw_fd(endpoint, null_mut()));
        bad(hw_send_begin(null(), &here, some, 1, 0));
        bad(hw_call_begin(null(), &here, some, 1, 0, 0));
        bad(hw_reply_begin(endpoint, null(), some, 1, 0));
        bad(hw_next(null(), event.as_mut_ptr()));
        bad(hw_next(endpoint, null_mut()));
        bad(hw_stat(null(), c"messages_sent".as_ptr(), &mut number));
        bad(hw_stat(endpoint, null(), &mut number));
        bad(hw_stat(endpoint, c"messages_sent".as_ptr(), null_mut()));
        bad(hw_prometheus(null(), null_mut(), 0, &mut length));
        bad(hw_prometheus(endpoint, null_mut(), 0, null_mut()));
        bad(hw_prometheus(endpoint, null_mut(), 10, &mut length));
        assert_eq!((hw_length(null()), hw_bytes(null()), hw_wants_reply(null())), (0, null(), 0));
        assert_ok(hw_free(null_mut()));
        assert_ok(hw_close(null_mut()));
        assert_ok(hw_close(endpoint));
    }
}

#[test]
fn what_cannot_be_is_answered_by_type_and_words() {
    assert_fails(
        bind_endpoint(c"127.0.0.1:0", &[c"mtu=1"]).0,
        HW_BAD_SETTING,
        "a whole number from 256 to 9216",
    );
    assert_fails(bind_endpoint(c"127.0.0.1:0", &[c"mtuu=1"]).0, HW_BAD_SETTING, "did you mean `mtu`?");
    assert_fails(bind_endpoint(c"127.0.0.1:0", &[c"mtu"]).0, HW_BAD_ARGUMENT, "setting `mtu` has no `=`");
    assert_fails(bind_endpoint(c"127.0.0.1:0", &[c"\xff=1"]).0, HW_BAD_ARGUMENT, "not UTF-8");
    assert_fails(bind_endpoint(c"127.0.0.1:0", &[c"transport=dcpim"]).0, HW_BAD_SETTING, "one clock");
    assert_fails(bind_endpoint(c"0.0.0.0:0", &[]).0, HW_NOT_LOOPBACK, "key_file");
    assert_fails(bind_endpoint(c"[::]:0", &[]).0, HW_NOT_LOOPBACK, "key_file");
    assert_fails(bind_endpoint(c"192.0.2.1:0", &[c"allow=192.0.2.0/24"]).0, HW_SYSTEM, "binding the socket");
    let (endpoint, here) = bound_endpoint(&[c"message_bytes=1 kB"]);
    let mut message = null_mut();
    let far = hw_address { ip: [8; 16], ip_bytes: 4, port: 9 };
    let odd = hw_address { ip_bytes: 5, ..here };
    let six = hw_address { ip_bytes: 16, ..here };
    let long = [0_u8; 1001];
    let mut text = [0 as c_char; 64];
    // SAFETY: the endpoint is open, and the places are there.
    unsafe {
        let bytes = long.as_ptr().cast::<c_void>();
        assert_fails(hw_send(endpoint, &here, bytes, 1001, 0), HW_TOO_LONG, "1001 bytes");
        // A negative length of a program, of either width: nothing of it is read.
        for length in [usize::MAX, u32::MAX as usize, i32::MIN as usize] {
            assert_fails(hw_send(endpoint, &here, bytes, length, 0), HW_TOO_LONG, "the largest message");
            assert_fails(
                hw_call(endpoint, &here, bytes, length, 0, &mut message),
                HW_TOO_LONG,
                "the largest message",
            );
        }
        let (mut none, settings) = (null_mut(), [c"mtu=1500".as_ptr()]);
        let many = hw_bind(c"127.0.0.1:0".as_ptr(), settings.as_ptr(), usize::MAX, &mut none);
        assert_fails(many, HW_BAD_ARGUMENT, "a negative number");
        assert_fails(hw_send(endpoint, &far, bytes, 1, LONG), HW_NOT_ADMITTED, "not admitted");
        assert_fails(hw_send(endpoint, &six, bytes, 1, LONG), HW_BAD_ARGUMENT, "sends to IPv4 addresses");
        assert_fails(
            hw_send(endpoint, &odd, bytes, 1, LONG),
            HW_BAD_ARGUMENT,
            "4 or 16 bytes, and this one 5",
        );
        assert_fails(hw_send(endpoint, &here, bytes, 1, -7), HW_BAD_ARGUMENT, "-7 us");
        assert_fails(hw_send(endpoint, &here, bytes, 1, HW_USUAL), HW_BAD_ARGUMENT, "-2 us");
        assert_fails(hw_recv(endpoint, 1, &mut message), HW_TIMED_OUT, "no message came in time");
        assert!(message.is_null());
        assert_fails(hw_send_begin(endpoint, &here, bytes, 1, 0), HW_BAD_ARGUMENT, "`hw_fd` makes it");
        let mut value = 0;
        assert_fails(
            hw_stat(endpoint, c"message_sent".as_ptr(), &mut value),
            HW_BAD_ARGUMENT,
            "messages_sent",
        );
        assert_fails(
            hw_address_read(c"10.0.0.2".as_ptr(), &mut hw_address::default()),
            HW_BAD_ARGUMENT,
            "`10.0.0.2` is no address with a port",
        );
        assert_fails(hw_address_write(&here, text.as_mut_ptr(), 3), HW_BAD_ARGUMENT, "the text takes");
        assert_ok(hw_address_write(&here, text.as_mut_ptr(), text.len()));
        let mut again = hw_address::default();
        assert_ok(hw_address_read(text.as_ptr(), &mut again));
        assert_eq!(again, here);
        assert_ok(hw_close(endpoint));
    }
}

#[test]
fn messages_are_what_was_sent_and_counted() {
    let ((server, there), (client, here)) = (bound_endpoint(&[]), bound_endpoint(&[]));
    // Seven is coprime to 256: a packet in another's place would show.
    let sent: Vec<u8> = (0..100_000_u32).map(|i| (i * 7) as u8).collect();
    // SAFETY: both endpoints are open.
    unsafe {
        let bytes = sent.as_ptr().cast::<c_void>();
        let mut received = null_mut();
        assert_ok(hw_send(client, &there, bytes, sent.len(), 0));
        assert_ok(hw_recv(server, LONG, &mut received));
        assert_eq!((bytes_of(received), hw_wants_reply(received)), (sent.clone(), 0));
        let mut from = hw_address::default();
        assert_ok(hw_peer(received, &mut from));
        assert_eq!(from, here);
        // The answer to a message that asks for none is a message.
        assert_ok(hw_reply(received, bytes, 3, LONG));
        assert_ok(hw_free(received));
        let mut answer = null_mut();
        assert_ok(hw_recv(client, LONG, &mut answer));
        assert_eq!(bytes_of(answer), sent[..3]);
        assert_ok(hw_free(answer));
        // A call is not answered in time, and a reply cannot be replied to.
        let mut reply = null_mut();
        assert_fails(hw_call(client, &there, bytes, 5, 1000, &mut reply), HW_TIMED_OUT, "no reply");
        let mut value = 0;
        assert_ok(hw_stat(server, c"messages_received".as_ptr(), &mut value));
        assert!(value >= 1, "{value}");
        // Filled with ones, so that a text without its end would run into them.
        let (mut needed, mut text) = (0, [1 as c_char; 40_000]);
        assert_ok(hw_prometheus(server, null_mut(), 0, &mut needed));
        assert!(needed > 1000 && needed < text.len(), "{needed}");
        assert_ok(hw_prometheus(server, text.as_mut_ptr(), 10, &mut needed));
        assert_eq!(CStr::from_ptr(text.as_ptr()).to_bytes().len(), 9);
        assert_ok(hw_prometheus(server, text.as_mut_ptr(), text.len(), &mut needed));
        let text = CStr::from_ptr(text.as_ptr()).to_str().expect("text");
        assert!(text.contains("headway_messages_received_total{endpoint=\"127.0.0.1:"), "{text}");
        assert_eq!(text.len() + 1, needed);
        assert_ok(hw_close(client));
        assert_ok(hw_close(server));
    }
}

#[test]
fn events_have_tags_words_and_messages() {
    let ((server, there), (client, _)) = (bound_endpoint(&[]), bound_endpoint(&[]));
    let next = |endpoint: *const hw_endpoint, fd: c_int| {
        let mut event = std::mem::MaybeUninit::<hw_event>::uninit();
        // SAFETY: the endpoint is open.
        while let status @ (HW_NOTHING | HW_CLOSED) = unsafe { hw_next(endpoint, event.as_mut_ptr()) } {
            assert_eq!(status, HW_NOTHING, "{}", error_words());
            wait_readable(fd);
        }
        // SAFETY: it has been written.
        unsafe { event.assume_init() }
    };
    let (mut at_server, mut at_client) = (0, 0);
    // SAFETY: both endpoints are open.
    unsafe {
        assert_ok(hw_fd(server, &mut at_server));
        assert_ok(hw_fd(client, &mut at_client));
        let again = &mut 0;
        assert_ok(hw_fd(client, again));
        assert_eq!(*again, at_client);
        let bytes = b"ping".as_ptr().cast::<c_void>();
        assert_ok(hw_call_begin(client, &there, bytes, 4, HW_USUAL, 77));
        let request = next(server, at_server);
        assert_eq!(
            (request.kind, request.status, bytes_of(request.message)),
            (HW_MESSAGE, HW_OK, b"ping".to_vec())
        );
        assert_eq!(hw_wants_reply(request.message), 1);
        assert_ok(hw_reply_begin(server, request.message, b"pong!".as_ptr().cast(), 5, 5));
        assert_ok(hw_free(request.message));
        let reply = next(client, at_client);
        assert_eq!((reply.kind, reply.status, reply.tag), (HW_REPLY, HW_OK, 77));
        assert_eq!(bytes_of(reply.message), b"pong!");
        let mut from = hw_address::default();
        assert_ok(hw_peer(reply.message, &mut from));
        assert_eq!((from, hw_wants_reply(reply.message)), (there, 0));
        assert_fails(hw_reply(reply.message, bytes, 4, 0), HW_BAD_ARGUMENT, "replies are not replied to");
        assert_ok(hw_free(reply.message));
        let sent = next(server, at_server);
        assert_eq!((sent.kind, sent.status, sent.tag, sent.message), (HW_SENT, HW_OK, 5, null_mut()));
        // The server never answers this one.
        assert_ok(hw_call_begin(client, &there, bytes, 4, 2_000, 78));
        let late = next(client, at_client);
        assert_eq!((late.kind, late.status, late.tag), (HW_REPLY, HW_TIMED_OUT, 78));
        assert!(late.message.is_null() && error_words().contains("no reply"), "{}", error_words());
        // A shutdown ends what is open, and then there is nothing more.
        assert_ok(hw_call_begin(client, &there, bytes, 4, HW_FOREVER, 79));
        assert_ok(hw_shutdown(client));
        let closed = next(client, at_client);
        assert_eq!((closed.tag, closed.status), (79, HW_CLOSED));
        let mut event = std::mem::MaybeUninit::<hw_event>::uninit();
        let mut status = hw_next(client, event.as_mut_ptr());
        while status == HW_NOTHING {
            wait_readable(at_client);
            status = hw_next(client, event.as_mut_ptr());
        }
        assert_eq!(status, HW_CLOSED);
        assert_ok(hw_close(client));
        assert_ok(hw_close(server));
    }
}

/// Waits until a descriptor is readable.
fn wait_readable(fd: c_int) {
    // SAFETY: the descriptor is that of an open endpoint.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    let longest = rustix::event::Timespec { tv_sec: 30, tv_nsec: 0 };
    let mut fds = [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
    assert!(rustix::event::poll(&mut fds, Some(&longest)).expect("a descriptor") > 0, "nothing in 30 s");
}

#[test]
fn a_thread_that_waits_is_woken_by_a_shutdown() {
    struct Carried(*mut hw_endpoint);
    // SAFETY: threads may share an endpoint.
    unsafe impl Send for Carried {}
    let (endpoint, _) = bound_endpoint(&[]);
    let carried = Carried(endpoint);
    let waiting = std::thread::spawn(move || {
        let carried = carried;
        // SAFETY: the endpoint is closed when this thread has ended.
        let status = unsafe { hw_recv(carried.0, HW_FOREVER, &mut null_mut()) };
        assert_fails(status, HW_CLOSED, "the endpoint is closed");
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    // SAFETY: the endpoint is open.
    unsafe {
        assert_ok(hw_shutdown(endpoint));
        waiting.join().expect("no panic");
        assert_ok(hw_close(endpoint));
    }
}

#[test]
fn a_forked_child_is_answered_at_once() {
    let (endpoint, here) = bound_endpoint(&[]);
    let (mut fd, mut message, mut number, mut length) = (0 as c_int, null_mut(), 0_u64, 0_usize);
    let some = b"1".as_ptr().cast::<c_void>();
    let mut event = std::mem::MaybeUninit::<hw_event>::zeroed();
    // SAFETY: the endpoint is open; the child ends without anything of the other threads.
    unsafe {
        assert_ok(hw_send(endpoint, &here, some, 1, LONG));
        assert_ok(hw_recv(endpoint, LONG, &mut message));
        let request = message;
        assert_ok(hw_fd(endpoint, &mut fd));
        let child = libc::fork();
        if child == 0 {
            let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let forked = |status| assert_fails(status, HW_FORKED, "belongs to the process that bound it");
                forked(hw_send(endpoint, &here, some, 1, HW_FOREVER));
                forked(hw_call(endpoint, &here, some, 1, HW_FOREVER, &mut message));
                forked(hw_recv(endpoint, HW_FOREVER, &mut message));
                forked(hw_reply(request, some, 1, HW_FOREVER));
                forked(hw_local(endpoint, &mut hw_address::default()));
                forked(hw_fd(endpoint, &mut fd));
                forked(hw_send_begin(endpoint, &here, some, 1, 0));
                forked(hw_call_begin(endpoint, &here, some, 1, HW_FOREVER, 0));
                forked(hw_reply_begin(endpoint, request, some, 1, 0));
                forked(hw_next(endpoint, event.as_mut_ptr()));
                forked(hw_stat(endpoint, c"messages_sent".as_ptr(), &mut number));
                forked(hw_prometheus(endpoint, null_mut(), 0, &mut length));
                assert_ok(hw_free(request));
                assert_ok(hw_shutdown(endpoint));
                assert_ok(hw_close(endpoint));
            }));
            libc::_exit(told.is_err().into());
        }
        let mut status = -1;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert_eq!(status, 0, "the child failed: what it printed says where");
        assert_ok(hw_free(request));
        assert_ok(hw_send(endpoint, &here, some, 1, LONG));
        assert_ok(hw_close(endpoint));
    }
}

#[test]
fn every_status_has_words_of_its_own() {
    // SAFETY: the words are always there.
    let of = |status: u32| unsafe { CStr::from_ptr(hw_words(status)) }.to_owned();
    let all: Vec<CString> = (0..hw_status::ALL.len() as u32).map(of).collect();
    for (number, words) in all.iter().enumerate() {
        assert!(!words.is_empty() && !all[..number].contains(words), "{words:?}");
        assert_eq!(hw_status::ALL[number].0 as usize, number);
        assert_eq!(hw_status::ALL[number].0.words(), words.as_c_str());
    }
    assert_eq!(of(99), of(HW_INTERNAL as u32));
}
