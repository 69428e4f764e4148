//! The functions that C programs call: pointers become references, texts and answers here, and nowhere else.
//!
//! No panic crosses the border: each function catches it and answers `HW_INTERNAL`.

#![allow(unsafe_code, reason = "pointers from C are all that this file is about")]

use crate::status::hw_status;
use bytes::Bytes;
use headway_host::{
    AddressError, BindError, CallError, Config, Count, Endpoint, Forked, Outcome, Queue, Received, RecvError,
    SendError, SendHandle, SettingError,
};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::time::Duration;

/// Of `timeout_us`: as long as it takes.
pub const HW_FOREVER: i64 = -1;
/// Of `timeout_us` of `hw_call` and `hw_call_begin`: what the setting `call_timeout` says, 60 s without it.
pub const HW_USUAL: i64 = -2;

/// Settings of an endpoint at most: a number that a negative one of a program never becomes.
const MOST_SETTINGS: usize = 1 << 16;

/// Of an `hw_event`: a message arrived that is not a reply.
pub const HW_MESSAGE: u32 = 0;
/// Of an `hw_event`: a message of `hw_send_begin` or `hw_reply_begin` was acknowledged, or failed.
pub const HW_SENT: u32 = 1;
/// Of an `hw_event`: a call of `hw_call_begin` has its reply, or failed.
pub const HW_REPLY: u32 = 2;

/// A host's end of messages to and from any number of peers. Threads may share it. It belongs to the process that bound it: in
/// one that was forked from that, every function but `hw_shutdown` and `hw_close` answers `HW_FORKED`.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct hw_endpoint {
    endpoint: Endpoint,
    queue: OnceLock<Queue>,
    call_timeout: Duration,
    /// Bytes of a message at most.
    longest: u64,
}

/// A message or a reply that was received. It holds its memory until `hw_free`.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct hw_message(Message);

enum Message {
    Received(Received),
    Reply(SocketAddr, Bytes),
}

/// An address and a port.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct hw_address {
    /// The address, its first byte first; the rest is zero.
    pub ip: [u8; 16],
    /// Length of the address in bytes: 4 for IPv4, 16 for IPv6.
    pub ip_bytes: u16,
    /// The port, as the processor writes numbers.
    pub port: u16,
}

/// Something that `hw_next` gives.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct hw_event {
    /// `HW_MESSAGE`, `HW_SENT` or `HW_REPLY`.
    pub kind: u32,
    /// Outcome; `HW_OK` for a message. `hw_error` has the words.
    pub status: hw_status,
    /// Number that the program gave the request; 0 for a message.
    pub tag: u64,
    /// The message or the reply, to be freed by `hw_free`; null where there is none.
    pub message: *mut hw_message,
}

/// Reason for which a function does not answer `HW_OK`.
pub(crate) struct Failure {
    status: hw_status,
    text: String,
}

pub(crate) type Answer<T> = Result<T, Failure>;

macro_rules! failures {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure { status: (&error).into(), text: error.to_string() }
            }
        }
    )*};
}
failures!(BindError, SendError, CallError, RecvError, Forked, AddressError);

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Failure {
        Failure { status: hw_status::HW_BAD_SETTING, text: error.to_string() }
    }
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps the words of the error, and returns the status.
fn to_status(answer: Answer<()>) -> hw_status {
    let Err(Failure { status, text }) = answer else { return hw_status::HW_OK };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    ERROR.with_borrow_mut(|error| *error = text);
    status
}

/// Answers what a function does, or that it panicked.
pub(crate) fn catch_panic(function: impl FnOnce() -> Answer<()>) -> hw_status {
    let outcome = catch_unwind(AssertUnwindSafe(function));
    to_status(outcome.unwrap_or_else(|_| {
        let text = "a mistake in Headway itself: what it printed says where; please report it";
        Err(Failure { status: hw_status::HW_INTERNAL, text: text.into() })
    }))
}

pub(crate) fn bad_argument(text: impl Into<String>) -> Failure {
    Failure { status: hw_status::HW_BAD_ARGUMENT, text: text.into() }
}

/// Reads the value behind a pointer.
///
/// # Safety
/// The pointer is null, or to something of this kind that stays meanwhile.
pub(crate) unsafe fn value_behind<'a, T>(pointer: *const T, what: &str) -> Answer<&'a T> {
    // SAFETY: as said above.
    unsafe { pointer.as_ref() }.ok_or_else(|| bad_argument(format!("{what} is a null pointer")))
}

/// The place behind a pointer.
///
/// # Safety
/// The pointer is null, or to where a value of this kind may be written.
pub(crate) unsafe fn place_behind<T>(pointer: *mut T, what: &str) -> Answer<Place<T>> {
    NonNull::new(pointer)
        .map(Place)
        .ok_or_else(|| bad_argument(format!("the place for {what} is a null pointer")))
}

/// Place for a value. It need not be initialised, so that there is no reference to it.
pub(crate) struct Place<T>(NonNull<T>);

impl<T> Place<T> {
    pub(crate) fn put_value(&self, value: T) {
        // SAFETY: who called `place` promised that a value may be written here.
        unsafe { self.0.write(value) };
    }
}

/// The text behind a pointer.
///
/// # Safety
/// The pointer is null, or to a text that a zero byte ends.
unsafe fn text_behind<'a>(pointer: *const c_char, what: &str) -> Answer<&'a str> {
    if pointer.is_null() {
        return Err(bad_argument(format!("{what} is a null pointer")));
    }
    // SAFETY: as said above.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| bad_argument(format!("{what} is not UTF-8")))
}

/// A copy of the bytes behind a pointer, of which nothing is read where there are more than a message may have: a negative length of a
/// program is such a number.
///
/// # Safety
/// The pointer is to so many bytes, or null.
unsafe fn copy_bytes(pointer: *const c_void, length: usize, longest: u64) -> Answer<Bytes> {
    if length == 0 {
        return Ok(Bytes::new());
    }
    if pointer.is_null() {
        return Err(bad_argument("the bytes of the message are a null pointer"));
    }
    if length as u64 > longest {
        return Err(SendError::TooLong { bytes: length as u64, limit: longest }.into());
    }
    // SAFETY: as said above.
    Ok(Bytes::copy_from_slice(unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length) }))
}

impl hw_address {
    pub(crate) fn from_socket(address: SocketAddr) -> hw_address {
        let mut ip = [0; 16];
        let ip_bytes = match address.ip() {
            IpAddr::V4(four) => {
                ip[..4].copy_from_slice(&four.octets());
                4
            }
            IpAddr::V6(six) => {
                ip = six.octets();
                16
            }
        };
        hw_address { ip, ip_bytes, port: address.port() }
    }

    pub(crate) fn to_socket(self) -> Answer<SocketAddr> {
        let [a, b, c, d, ..] = self.ip;
        let ip = match self.ip_bytes {
            4 => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
            16 => IpAddr::V6(Ipv6Addr::from(self.ip)),
            other => return Err(bad_argument(format!("an address has 4 or 16 bytes, and this one {other}"))),
        };
        Ok(SocketAddr::new(ip, self.port))
    }
}

impl hw_message {
    fn into_raw(message: Message) -> *mut hw_message {
        Box::into_raw(Box::new(hw_message(message)))
    }

    fn message_bytes(&self) -> &Bytes {
        match &self.0 {
            Message::Received(received) => &received.bytes,
            Message::Reply(_, bytes) => bytes,
        }
    }

    fn peer_address(&self) -> SocketAddr {
        match &self.0 {
            Message::Received(received) => received.peer,
            Message::Reply(peer, _) => *peer,
        }
    }

    fn as_received(&self) -> Answer<&Received> {
        match &self.0 {
            Message::Received(received) => Ok(received),
            Message::Reply(..) => Err(bad_argument("the message is a reply, and replies are not replied to")),
        }
    }
}

/// Meaning of a number of microseconds; `None` = as long as it takes.
fn timeout_of(us: i64) -> Answer<Option<Duration>> {
    match us {
        HW_FOREVER => Ok(None),
        _ => match u64::try_from(us) {
            Ok(us) => Ok(Some(Duration::from_micros(us))),
            Err(_) => Err(bad_argument(format!("a wait of {us} us is neither a time nor HW_FOREVER"))),
        },
    }
}

/// Waits until a message is acknowledged; not at all for 0.
fn wait_acknowledged(handle: SendHandle, longest: Option<Duration>) -> Answer<()> {
    match longest {
        None => Ok(handle.wait().map(drop)?),
        // The handle is dropped, and the message is sent all the same.
        Some(Duration::ZERO) => Ok(()),
        Some(longest) => match handle.wait_timeout(longest) {
            Some(outcome) => Ok(outcome.map(drop)?),
            None => {
                let text = "the message was not acknowledged in time, and is still under way";
                Err(Failure { status: hw_status::HW_TIMED_OUT, text: text.into() })
            }
        },
    }
}

impl hw_endpoint {
    /// The endpoint, if this process bound it.
    pub(crate) fn own_endpoint(&self) -> Answer<&Endpoint> {
        self.endpoint.check_process()?;
        Ok(&self.endpoint)
    }

    fn own_queue(&self) -> Answer<&Queue> {
        self.own_endpoint()?;
        self.queue.get().ok_or_else(|| bad_argument("the endpoint has no descriptor: `hw_fd` makes it"))
    }

    /// Time that a call may take.
    fn call_timeout(&self, us: i64) -> Answer<Option<Duration>> {
        if us == HW_USUAL { Ok(Some(self.call_timeout)) } else { timeout_of(us) }
    }
}

/// Makes an endpoint at an address and port such as "127.0.0.1:0" or "[::1]:0", with `count` settings such as "transport=homa",
/// "rate=25 Gbps" or "key_file=key"; port 0 = any. Without settings it is reached from this machine alone.
///
/// # Safety
/// Texts end with a zero byte; `endpoint` is where a pointer may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_bind(
    address: *const c_char,
    settings: *const *const c_char,
    count: usize,
    endpoint: *mut *mut hw_endpoint,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { place_behind(endpoint, "the endpoint") }?;
        // First, so that a program that ignores the status holds a null pointer and nothing uninitialised.
        place.put_value(std::ptr::null_mut());
        // SAFETY: the same.
        let address = unsafe { text_behind(address, "the address") }?;
        // `count` has not been checked yet, and memory for it is not taken.
        let mut all = Vec::with_capacity(count.min(64));
        if count > 0 && settings.is_null() {
            return Err(bad_argument("the settings are a null pointer"));
        }
        if count > MOST_SETTINGS {
            return Err(bad_argument(format!("{count} settings: a negative number becomes one like this")));
        }
        for n in 0..count {
            // SAFETY: the same.
            let setting = unsafe { text_behind(*settings.add(n), "a setting") }?;
            let parts = setting.split_once('=');
            let (name, value) =
                parts.ok_or_else(|| bad_argument(format!("setting `{setting}` has no `=`")))?;
            all.push((name.trim(), value.trim()));
        }
        let config = Config::from_settings(all)?;
        let call_timeout = Duration::from_nanos(config.call_timeout.0 / 1000);
        // Kept apart from the endpoint: a length is compared with it before any byte is read.
        let longest = config.limits.message_bytes;
        let endpoint = Endpoint::bind(address, config)?;
        let made = hw_endpoint { endpoint, queue: OnceLock::new(), call_timeout, longest };
        place.put_value(Box::into_raw(Box::new(made)));
        Ok(())
    })
}

/// Ends all waiting for this endpoint, in whichever threads, with `HW_CLOSED`. The endpoint has still to be freed by
/// `hw_close`.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_shutdown(endpoint: *const hw_endpoint) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        // Without `own_endpoint`: a forked child may close its descriptors.
        unsafe { value_behind(endpoint, "the endpoint") }?.endpoint.close();
        Ok(())
    })
}

/// Closes an endpoint and frees it: what was not acknowledged fails. A null pointer is closed already. No other thread may be in a
/// function of this endpoint; messages that were received may be freed later. In a process that was forked from the one that bound
/// it, this closes the descriptors of that process and nothing else, as `hw_shutdown` does.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; it is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_close(endpoint: *mut hw_endpoint) -> hw_status {
    catch_panic(|| {
        if !endpoint.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(endpoint) });
        }
        Ok(())
    })
}

/// The words for the last answer in this thread that was not `HW_OK`, in UTF-8. They stay until the next such answer.
#[unsafe(no_mangle)]
pub extern "C" fn hw_error() -> *const c_char {
    ERROR.with_borrow(|error| error.as_ptr())
}

/// A few words for a status; those for `HW_INTERNAL` for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn hw_words(status: u32) -> *const c_char {
    let all = hw_status::ALL;
    all.get(status as usize).unwrap_or(&all[hw_status::HW_INTERNAL as usize]).1.as_ptr()
}

/// Reads an address such as "10.0.0.2:18519".
///
/// # Safety
/// The text ends with a zero byte; `address` is null, or where it may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_address_read(written: *const c_char, address: *mut hw_address) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (written, place) =
            unsafe { (text_behind(written, "the address")?, place_behind(address, "the address")?) };
        let wrong =
            |_| bad_argument(format!("`{written}` is no address with a port, such as 10.0.0.2:18519"));
        place.put_value(hw_address::from_socket(written.parse().map_err(wrong)?));
        Ok(())
    })
}

/// Writes an address as text into `size` bytes, a zero byte at its end included; 64 are enough.
///
/// # Safety
/// `address` is null or to an address; `written` is null, or `size` bytes may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_address_write(
    address: *const hw_address,
    written: *mut c_char,
    size: usize,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let address = unsafe { value_behind(address, "the address") }?.to_socket()?.to_string();
        // Not `<`: the zero byte at the end needs room, too.
        if written.is_null() || size <= address.len() {
            return Err(bad_argument(format!("the text takes {} bytes", address.len() + 1)));
        }
        // SAFETY: there is room for the text and a zero byte.
        unsafe {
            std::ptr::copy_nonoverlapping(address.as_ptr(), written.cast::<u8>(), address.len());
            *written.add(address.len()) = 0;
        }
        Ok(())
    })
}

/// The address that the endpoint is bound to.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `address` is null, or where it may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_local(endpoint: *const hw_endpoint, address: *mut hw_address) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, place) =
            unsafe { (value_behind(endpoint, "the endpoint")?, place_behind(address, "the address")?) };
        place.put_value(hw_address::from_socket(endpoint.own_endpoint()?.local_addr()));
        Ok(())
    })
}

/// Sends a message, and waits for `timeout_us` at most until the peer has received all of it. 0 does not wait at all, and
/// what becomes of the message is not known; it is copied.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `bytes` are `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_send(
    endpoint: *const hw_endpoint,
    peer: *const hw_address,
    bytes: *const c_void,
    length: usize,
    timeout_us: i64,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, peer) =
            unsafe { (value_behind(endpoint, "the endpoint")?, value_behind(peer, "the peer")?) };
        // SAFETY: the same.
        let bytes = unsafe { copy_bytes(bytes, length, endpoint.longest) }?;
        let longest = timeout_of(timeout_us)?;
        wait_acknowledged(endpoint.endpoint.send_nowait(peer.to_socket()?, bytes)?, longest)
    })
}

/// Sends a request, and waits for its reply for `timeout_us` at most, or `HW_USUAL`. The reply is to be freed by `hw_free`.
///
/// # Safety
/// As for `hw_send`; `reply` is null, or where a pointer may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_call(
    endpoint: *const hw_endpoint,
    peer: *const hw_address,
    bytes: *const c_void,
    length: usize,
    timeout_us: i64,
    reply: *mut *mut hw_message,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { place_behind(reply, "the reply") }?;
        place.put_value(std::ptr::null_mut());
        // SAFETY: the same.
        let (endpoint, peer) =
            unsafe { (value_behind(endpoint, "the endpoint")?, value_behind(peer, "the peer")?) };
        // SAFETY: the same.
        let bytes = unsafe { copy_bytes(bytes, length, endpoint.longest) }?;
        let (peer, longest) = (peer.to_socket()?, endpoint.call_timeout(timeout_us)?);
        // Too far away to be an instant, which counts as no deadline.
        let longest = longest.unwrap_or(Duration::MAX);
        let bytes = endpoint.endpoint.call_timeout(peer, bytes, longest)?;
        place.put_value(hw_message::into_raw(Message::Reply(peer, bytes)));
        Ok(())
    })
}

/// Waits for the next message for `timeout_us` at most; replies to calls do not come here. It is to be freed by `hw_free`.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `message` is null, or where a pointer may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_recv(
    endpoint: *const hw_endpoint,
    timeout_us: i64,
    message: *mut *mut hw_message,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { place_behind(message, "the message") }?;
        place.put_value(std::ptr::null_mut());
        // SAFETY: the same.
        let endpoint = &unsafe { value_behind(endpoint, "the endpoint") }?.endpoint;
        let received = match timeout_of(timeout_us)? {
            None => endpoint.recv()?,
            Some(longest) => endpoint.recv_timeout(longest)?,
        };
        place.put_value(hw_message::into_raw(Message::Received(received)));
        Ok(())
    })
}

/// Replies to a request, and waits as `hw_send` does. To a message that is not a request the answer is a message.
///
/// # Safety
/// `request` is null, or a message that was not freed; `bytes` are `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_reply(
    request: *const hw_message,
    bytes: *const c_void,
    length: usize,
    timeout_us: i64,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let request = unsafe { value_behind(request, "the request") }?.as_received()?;
        // SAFETY: the same.
        // The endpoint that received the request may be freed by now; the message itself knows the limit.
        let bytes = unsafe { copy_bytes(bytes, length, request.longest_reply()) }?;
        let longest = timeout_of(timeout_us)?;
        wait_acknowledged(request.reply(bytes)?, longest)
    })
}

/// The bytes of a message, which stay until it is freed; null of a null pointer.
///
/// # Safety
/// `message` is null, or was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_bytes(message: *const hw_message) -> *const c_void {
    // SAFETY: the caller's promise.
    unsafe { message.as_ref() }.map_or(std::ptr::null(), |message| message.message_bytes().as_ptr().cast())
}

/// Length of a message in bytes; 0 of a null pointer.
///
/// # Safety
/// `message` is null, or was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_length(message: *const hw_message) -> usize {
    // SAFETY: the caller's promise.
    unsafe { message.as_ref() }.map_or(0, |message| message.message_bytes().len())
}

/// 1 if the sender of this message waits for a reply; 0 for a null pointer.
///
/// # Safety
/// `message` is null, or was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_wants_reply(message: *const hw_message) -> c_int {
    // SAFETY: the caller's promise.
    let message = unsafe { message.as_ref() };
    matches!(message, Some(hw_message(Message::Received(received))) if received.wants_reply()).into()
}

/// The address that a message came from.
///
/// # Safety
/// `message` is null, or was not freed; `address` is null, or where it may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_peer(message: *const hw_message, address: *mut hw_address) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (message, place) =
            unsafe { (value_behind(message, "the message")?, place_behind(address, "the address")?) };
        place.put_value(hw_address::from_socket(message.peer_address()));
        Ok(())
    })
}

/// Frees a message. A null pointer is freed already.
///
/// # Safety
/// `message` is null, or was not freed; it is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_free(message: *mut hw_message) -> hw_status {
    catch_panic(|| {
        if !message.is_null() {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(message) });
        }
        Ok(())
    })
}

/// A descriptor for `poll` and `epoll`, which is readable while `hw_next` has something to give. It belongs to the endpoint. From
/// the first call on, the endpoint's own thread does its work, so that blocking calls wake one thread more at each end.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `fd` is null, or where a number may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_fd(endpoint: *const hw_endpoint, fd: *mut c_int) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, place) =
            unsafe { (value_behind(endpoint, "the endpoint")?, place_behind(fd, "the descriptor")?) };
        endpoint.own_endpoint()?;
        let queue = match endpoint.queue.get() {
            Some(queue) => queue,
            None => {
                let made = Queue::new(&endpoint.endpoint)?;
                // Two threads may have made one each: the second is dropped, and both use the first.
                endpoint.queue.get_or_init(|| made)
            }
        };
        place.put_value(queue.as_fd().as_raw_fd());
        Ok(())
    })
}

/// Begins to send a message, which is copied. `hw_next` gives an event with this tag when it was acknowledged or failed. After
/// `hw_fd`.
///
/// # Safety
/// As for `hw_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_send_begin(
    endpoint: *const hw_endpoint,
    peer: *const hw_address,
    bytes: *const c_void,
    length: usize,
    tag: u64,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, peer) =
            unsafe { (value_behind(endpoint, "the endpoint")?, value_behind(peer, "the peer")?) };
        // SAFETY: the same.
        let bytes = unsafe { copy_bytes(bytes, length, endpoint.longest) }?;
        endpoint.own_queue()?.send(peer.to_socket()?, bytes, tag)?;
        Ok(())
    })
}

/// Begins a call. `hw_next` gives an event with this tag when the reply is there, after `timeout_us` at the latest. After
/// `hw_fd`.
///
/// # Safety
/// As for `hw_send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_call_begin(
    endpoint: *const hw_endpoint,
    peer: *const hw_address,
    bytes: *const c_void,
    length: usize,
    timeout_us: i64,
    tag: u64,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, peer) =
            unsafe { (value_behind(endpoint, "the endpoint")?, value_behind(peer, "the peer")?) };
        // SAFETY: the same.
        let bytes = unsafe { copy_bytes(bytes, length, endpoint.longest) }?;
        let longest = endpoint.call_timeout(timeout_us)?.unwrap_or(Duration::MAX);
        endpoint.own_queue()?.call(peer.to_socket()?, bytes, tag, Some(longest))?;
        Ok(())
    })
}

/// Begins to reply to a request of this endpoint. `hw_next` gives an event with this tag when the reply was acknowledged or
/// failed. After `hw_fd`. The request may be freed at once.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `request` is null, or a message that was not freed; `bytes` are `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_reply_begin(
    endpoint: *const hw_endpoint,
    request: *const hw_message,
    bytes: *const c_void,
    length: usize,
    tag: u64,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, request) =
            unsafe { (value_behind(endpoint, "the endpoint")?, value_behind(request, "the request")?) };
        // SAFETY: the same.
        let bytes = unsafe { copy_bytes(bytes, length, endpoint.longest) }?;
        endpoint.own_queue()?.reply(request.as_received()?, bytes, tag)?;
        Ok(())
    })
}

/// The next event if one is there, and `HW_NOTHING` if none is. Never waits. After `hw_fd`. Its message is to be freed by
/// `hw_free`.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `event` is null, or where one may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_next(endpoint: *const hw_endpoint, event: *mut hw_event) -> hw_status {
    let mut nothing = false;
    let status = catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, place) =
            unsafe { (value_behind(endpoint, "the endpoint")?, place_behind(event, "the event")?) };
        let Some(outcome) = endpoint.own_queue()?.next()? else {
            nothing = true;
            return Ok(());
        };
        let mut found =
            hw_event { kind: HW_MESSAGE, status: hw_status::HW_OK, tag: 0, message: std::ptr::null_mut() };
        match outcome {
            Outcome::Message(received) => found.message = hw_message::into_raw(Message::Received(received)),
            Outcome::Sent { tag, result } => {
                (found.kind, found.tag) = (HW_SENT, tag);
                // Keeps the words as well, so that `hw_error` explains the event although `hw_next` returns
                // `HW_OK`.
                found.status = to_status(result.map(drop).map_err(Failure::from));
            }
            Outcome::Reply { tag, peer, result } => {
                (found.kind, found.tag) = (HW_REPLY, tag);
                let given =
                    result.map(|bytes| found.message = hw_message::into_raw(Message::Reply(peer, bytes)));
                found.status = to_status(given.map_err(Failure::from));
            }
        }
        place.put_value(found);
        Ok(())
    });
    // Not an error, so the words of the last one stay.
    if nothing { hw_status::HW_NOTHING } else { status }
}

/// The value of a counter by its name, such as "messages_received"; docs/real-hosts.md lists them.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; the name ends with a zero byte; `value` is null, or where a number may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_stat(
    endpoint: *const hw_endpoint,
    name: *const c_char,
    value: *mut u64,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, name, place) = unsafe {
            (
                value_behind(endpoint, "the endpoint")?,
                text_behind(name, "the name")?,
                place_behind(value, "the value")?,
            )
        };
        let count = Count::find(name).map_err(bad_argument)?;
        place.put_value(endpoint.own_endpoint()?.stats().get(count));
        Ok(())
    })
}

/// All counters as text for Prometheus, each with the endpoint's address as label `endpoint`. Writes as much as fits into `size`
/// bytes, a zero byte at its end included, and the bytes that the whole text takes with its zero byte into `needed`. With a
/// `size` of 0, `written` may be null.
///
/// # Safety
/// `endpoint` is null, or `hw_bind` gave it; `size` bytes may be written at `written`; `needed` is null, or where a number may be
/// written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hw_prometheus(
    endpoint: *const hw_endpoint,
    written: *mut c_char,
    size: usize,
    needed: *mut usize,
) -> hw_status {
    catch_panic(|| {
        // SAFETY: the caller's promise.
        let (endpoint, needed) =
            unsafe { (value_behind(endpoint, "the endpoint")?, place_behind(needed, "the length")?) };
        let text = endpoint.own_endpoint()?.prometheus();
        // Even if the text does not fit, so that the program can ask again with enough room.
        needed.put_value(text.len() + 1);
        if size == 0 {
            return Ok(());
        }
        if written.is_null() {
            return Err(bad_argument("the place for the text is a null pointer"));
        }
        let length = text.len().min(size - 1);
        // SAFETY: there is room for so many bytes and a zero byte.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), written.cast::<u8>(), length);
            *written.add(length) = 0;
        }
        Ok(())
    })
}
