//! Messages between real hosts for Python: `headway.endpoints` makes endpoints for threads and for tasks of it.
//!
//! An endpoint is driven by whichever thread is at it, with its own lock held. A thread that waited for Python's global lock
//! there would stop everybody's messages. So no call enters the endpoint with the global lock, and a buffer that the
//! endpoint has done with is put aside until a thread with the global lock comes by.

#![allow(unsafe_code, reason = "buffers of Python are read and given without a copy")]

use bytes::Bytes;
use headway_host::{
    BindError, CallError, Config, Endpoint, Forked, Outcome, PathInfo, Queue, Received, RecvError, SendError,
    SendHandle, SettingError,
};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyMemoryView, PyString, PyTuple};
use std::ffi::c_int;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// From this length on, bytes that are sent are not copied: below, a copy takes less time than keeping a buffer does.
const UNCOPIED: usize = 16_384;
/// Interval between checks of the main thread for signals, such as that of Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);
/// Longest time that is waited at once.
const LONGEST: Duration = Duration::from_secs(3600);

pub(crate) fn register_hosts(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyEndpoint>()?;
    module.add_class::<PyReceived>()?;
    module.add_function(wrap_pyfunction!(set_host_errors, module)?)
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The classes of errors, by name.
static ERRORS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Says of which classes the errors of endpoints are.
#[pyfunction]
fn set_host_errors(py: Python<'_>, classes: Py<PyDict>) -> PyResult<()> {
    // A second import of the package keeps the first classes, which programs may already catch.
    let _ = ERRORS.set(py, classes);
    Ok(())
}

fn exception_of(py: Python<'_>, class: &str, text: String) -> PyErr {
    let known = ERRORS.get(py).and_then(|all| all.bind(py).get_item(class).ok().flatten());
    match known.map(|class| class.call1((&text,))) {
        Some(Ok(error)) => PyErr::from_value(error),
        Some(Err(error)) => error,
        None => crate::HeadwayError::new_err(text),
    }
}

/// Something that a class of errors stands for.
trait Raised: std::fmt::Display {
    fn exception_class(&self) -> &'static str;

    fn to_exception(&self, py: Python<'_>) -> PyErr {
        exception_of(py, self.exception_class(), self.to_string())
    }
}

impl Raised for SettingError {
    fn exception_class(&self) -> &'static str {
        "SettingError"
    }
}

impl Raised for BindError {
    fn exception_class(&self) -> &'static str {
        match self {
            BindError::Config(_) => "SettingError",
            BindError::NotLoopback(_) | BindError::Io { .. } | BindError::Address(_) => "BindError",
            BindError::Forked(forked) => forked.exception_class(),
        }
    }
}

impl Raised for Forked {
    fn exception_class(&self) -> &'static str {
        "Forked"
    }
}

impl Raised for SendError {
    fn exception_class(&self) -> &'static str {
        match self {
            SendError::PeerRestarted => "PeerRestarted",
            SendError::Unreachable => "Unreachable",
            SendError::KernelRefuses(_) => "KernelRefuses",
            SendError::Refused(_) => "Refused",
            SendError::Stalled => "Stalled",
            SendError::NotAdmitted | SendError::OtherFamily => "NotAdmitted",
            SendError::TooLong { .. } => "TooLong",
            SendError::Full { .. } => "Full",
            SendError::TooManyPeers => "TooManyPeers",
            SendError::GaveUp(_) => "GaveUp",
            SendError::Closed => "Closed",
            SendError::Forked(forked) => forked.exception_class(),
        }
    }
}

impl Raised for CallError {
    fn exception_class(&self) -> &'static str {
        match self {
            CallError::Send(error) => error.exception_class(),
            CallError::TimedOut => "TimedOut",
        }
    }
}

impl Raised for RecvError {
    fn exception_class(&self) -> &'static str {
        match self {
            RecvError::TimedOut => "TimedOut",
            RecvError::Closed => "Closed",
            RecvError::Forked(forked) => forked.exception_class(),
        }
    }
}

/// Buffers that endpoints have done with.
static ASIDE: Mutex<Vec<PyUntypedBuffer>> = Mutex::new(Vec::new());
static ANY_ASIDE: AtomicBool = AtomicBool::new(false);

/// Releases the buffers that were put aside.
fn release_buffers(py: Python<'_>) {
    // Cleared before the list is taken: a buffer that is put aside in between sets it again.
    if ANY_ASIDE.swap(false, Ordering::AcqRel) {
        let done = std::mem::take(&mut *lock_ignoring_poison(&ASIDE));
        done.into_iter().for_each(|buffer| buffer.release(py));
    }
}

/// The bytes of a buffer of Python, for as long as an endpoint sends them.
struct Lent(Option<PyUntypedBuffer>);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            // SAFETY: the buffer is contiguous and stays until it is released. The endpoint only copies from it. A program that
            // changes it meanwhile sends some of the old bytes and some of the new, which its documentation says.
            Some(buffer) => unsafe {
                std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes())
            },
            None => &[],
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(buffer) = self.0.take() {
            // This thread may not have Python's lock, without which a buffer cannot be released.
            lock_ignoring_poison(&ASIDE).push(buffer);
            ANY_ASIDE.store(true, Ordering::Release);
        }
    }
}

/// The bytes to send of an object with a buffer; those of long ones are not copied.
fn lend_bytes(data: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    // The common case first: short `bytes` need no buffer, which costs more than the copy.
    if let Ok(bytes) = data.cast::<PyBytes>()
        && bytes.as_bytes().len() < UNCOPIED
    {
        return Ok(Bytes::copy_from_slice(bytes.as_bytes()));
    }
    let buffer = PyUntypedBuffer::get(data)?;
    if !buffer.is_c_contiguous() {
        return Err(PyBufferError::new_err("the bytes of a message have to lie one after another in memory"));
    }
    let length = buffer.len_bytes();
    if length == 0 {
        return Ok(Bytes::new());
    }
    let lent = Lent(Some(buffer));
    // `lent` goes at the end and puts its buffer aside; the next call of Python releases it.
    if length < UNCOPIED {
        return Ok(Bytes::copy_from_slice(lent.as_ref()));
    }
    Ok(Bytes::from_owner(lent))
}

/// Bytes that were received, as a buffer that can only be read.
#[pyclass(name = "HostBytes", module = "headway.endpoints", frozen)]
struct PyReceivedBytes(Bytes);

#[pymethods]
impl PyReceivedBytes {
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: Python gives a view to fill.
        unsafe { fill_view(slf.as_any(), &slf.get().0, view, flags) }
    }
}

/// Fills a view of bytes that their owner keeps.
///
/// # Safety
/// The view is one to fill; the owner never changes the bytes.
unsafe fn fill_view(
    owner: &Bound<'_, PyAny>,
    bytes: &Bytes,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    let (start, length) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as ffi::Py_ssize_t);
    // SAFETY: Python keeps the owner for as long as it has the view.
    let status = unsafe { ffi::PyBuffer_FillInfo(view, owner.as_ptr(), start, length, 1, flags) };
    if status == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}

fn memory_view(py: Python<'_>, bytes: Bytes) -> PyResult<Bound<'_, PyMemoryView>> {
    PyMemoryView::from(Bound::new(py, PyReceivedBytes(bytes))?.as_any())
}

/// An address such as "10.0.0.2:18519", or a pair of the two parts.
fn parse_address(peer: &Bound<'_, PyAny>) -> PyResult<SocketAddr> {
    let (text, read) = if let Ok(text) = peer.cast::<PyString>() {
        let text = text.to_str()?;
        (text.to_string(), text.parse().ok())
    } else if let Ok((host, port)) = peer.extract::<(String, u16)>() {
        let read = host.parse().ok().map(|ip| SocketAddr::new(ip, port));
        (format!("{host}:{port}"), read)
    } else {
        let text = "a peer is an address such as \"10.0.0.2:18519\", or a pair such as (\"10.0.0.2\", 18519)";
        return Err(PyTypeError::new_err(text));
    };
    read.ok_or_else(|| {
        PyValueError::new_err(format!("{text:?} is no address with a port, such as 10.0.0.2:18519"))
    })
}

/// An address of this host, such as "10.0.1.2" or "10.0.1.2:7000".
fn parse_local(text: &str) -> PyResult<SocketAddr> {
    let read = text.parse().or_else(|_| text.parse().map(|ip: IpAddr| SocketAddr::new(ip, 0)));
    read.map_err(|_| {
        PyValueError::new_err(format!("{text:?} is no address, such as 10.0.1.2 or 10.0.1.2:7000"))
    })
}

/// So many seconds; `None` = as long as it takes.
fn parse_timeout(timeout: Option<f64>) -> PyResult<Option<Duration>> {
    // Longer waits count as 1e9 s. A NaN is not longer, and the conversion refuses it.
    let read = |seconds: f64| Duration::try_from_secs_f64(if seconds > 1e9 { 1e9 } else { seconds }).ok();
    timeout
        .map(|seconds| {
            let wrong = || PyValueError::new_err(format!("a timeout of {seconds} s is no time"));
            read(seconds).ok_or_else(wrong)
        })
        .transpose()
}

#[allow(clippy::disallowed_methods, reason = "applications wait in real time")]
fn now() -> Instant {
    Instant::now()
}

/// Waits without the global lock, and looks for signals in the main thread; `None` when the time is over.
fn wait_unlocked<T: Send>(
    py: Python<'_>,
    longest: Option<Duration>,
    mut once: impl FnMut(Duration) -> Option<T> + Send,
) -> PyResult<Option<T>> {
    // Signals are the main thread's, whose number is that of the process.
    let slice = if rustix::thread::gettid() == rustix::process::getpid() { LOOK } else { LONGEST };
    let until = longest.and_then(|longest| now().checked_add(longest));
    loop {
        let left = until.map_or(slice, |until| until.saturating_duration_since(now()).min(slice));
        let found = py.detach(|| once(left));
        release_buffers(py);
        // Before signals are looked at: an outcome that is there must not get lost to an exception.
        if found.is_some() {
            return Ok(found);
        }
        py.check_signals()?;
        if until.is_some_and(|until| now() >= until) {
            return Ok(None);
        }
    }
}

/// Waits until a message is acknowledged.
fn wait_acknowledged(py: Python<'_>, handle: SendHandle, timeout: Option<f64>) -> PyResult<()> {
    match wait_unlocked(py, parse_timeout(timeout)?, |longest| handle.wait_timeout(longest))? {
        Some(outcome) => outcome.map(drop).map_err(|error| error.to_exception(py)),
        None => {
            let text = "the message was not acknowledged in time, and is still under way";
            Err(exception_of(py, "TimedOut", text.into()))
        }
    }
}

/// An endpoint, until it is closed.
#[pyclass(name = "HostEndpoint", module = "headway.endpoints", frozen)]
pub(crate) struct PyEndpoint {
    open: Mutex<Option<Arc<Open>>>,
    local: SocketAddr,
    call_timeout: Duration,
}

struct Open {
    // It goes first: a queue is of an endpoint that is open.
    queue: OnceLock<Queue>,
    endpoint: Endpoint,
}

impl PyEndpoint {
    fn open_endpoint(&self, py: Python<'_>) -> PyResult<Arc<Open>> {
        let open =
            lock_ignoring_poison(&self.open).clone().ok_or_else(|| SendError::Closed.to_exception(py))?;
        open.endpoint.check_process().map_err(|forked| forked.to_exception(py))?;
        release_buffers(py);
        Ok(open)
    }

    fn open_queue<'a>(open: &'a Open, py: Python<'_>) -> PyResult<&'a Queue> {
        if let Some(queue) = open.queue.get() {
            return Ok(queue);
        }
        let made = py.detach(|| Queue::new(&open.endpoint)).map_err(|error| error.to_exception(py))?;
        // Another thread may have made one meanwhile, which stays.
        Ok(open.queue.get_or_init(|| made))
    }
}

#[pymethods]
impl PyEndpoint {
    /// Makes an endpoint, with settings by name.
    #[staticmethod]
    fn bind(py: Python<'_>, address: String, settings: Vec<(String, String)>) -> PyResult<PyEndpoint> {
        let pairs = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let config = Config::from_settings(pairs).map_err(|error| error.to_exception(py))?;
        let call_timeout = Duration::from_nanos(config.call_timeout.0 / 1000);
        let bound = py.detach(|| Endpoint::bind(address, config));
        let endpoint = bound.map_err(|error| error.to_exception(py))?;
        let local = endpoint.local_addr();
        let open = Arc::new(Open { queue: OnceLock::new(), endpoint });
        Ok(PyEndpoint { open: Mutex::new(Some(open)), local, call_timeout })
    }

    /// The address that it is bound to.
    #[getter]
    fn address(&self) -> String {
        self.local.to_string()
    }

    /// True if it is open in a process that was forked from the one that bound it.
    #[getter]
    fn forked(&self) -> bool {
        lock_ignoring_poison(&self.open).as_ref().is_some_and(|open| open.endpoint.check_process().is_err())
    }

    /// Sends a message, and waits until it is acknowledged.
    #[pyo3(signature = (peer, data, timeout = None))]
    fn send(
        &self,
        py: Python<'_>,
        peer: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (open, peer, bytes) = (self.open_endpoint(py)?, parse_address(peer)?, lend_bytes(data)?);
        let handle =
            py.detach(|| open.endpoint.send_nowait(peer, bytes)).map_err(|error| error.to_exception(py))?;
        wait_acknowledged(py, handle, timeout)
    }

    /// Sends a message; its outcome is not reported.
    fn send_nowait(&self, py: Python<'_>, peer: &Bound<'_, PyAny>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let (open, peer, bytes) = (self.open_endpoint(py)?, parse_address(peer)?, lend_bytes(data)?);
        py.detach(|| open.endpoint.send_nowait(peer, bytes)).map(drop).map_err(|error| error.to_exception(py))
    }

    /// Sends a request, and waits for its reply.
    #[pyo3(signature = (peer, data, timeout = None))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        peer: &Bound<'py, PyAny>,
        data: &Bound<'py, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyMemoryView>> {
        let (open, peer, bytes) = (self.open_endpoint(py)?, parse_address(peer)?, lend_bytes(data)?);
        let longest = parse_timeout(timeout)?.unwrap_or(self.call_timeout);
        // Begun and waited for apart, because the wait is cut into slices to look for signals.
        let call =
            py.detach(|| open.endpoint.call_nowait(peer, bytes)).map_err(|error| error.to_exception(py))?;
        let outcome = wait_unlocked(py, Some(longest), |longest| call.wait_timeout(longest))?;
        let outcome = outcome.unwrap_or(Err(CallError::TimedOut));
        // To drop a call enters the endpoint, which no thread does with Python's lock.
        py.detach(|| drop(call));
        memory_view(py, outcome.map_err(|error| error.to_exception(py))?)
    }

    /// Waits for the next message.
    #[pyo3(signature = (timeout = None))]
    fn recv(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<PyReceived> {
        let open = self.open_endpoint(py)?;
        let received = wait_unlocked(py, parse_timeout(timeout)?, |longest| {
            match open.endpoint.recv_timeout(longest) {
                Err(RecvError::TimedOut) => None,
                other => Some(other),
            }
        })?;
        let received =
            received.unwrap_or(Err(RecvError::TimedOut)).map_err(|error| error.to_exception(py))?;
        Ok(PyReceived(received))
    }

    /// A descriptor that is readable while `next` has something.
    fn fileno(&self, py: Python<'_>) -> PyResult<i32> {
        let open = self.open_endpoint(py)?;
        Ok(PyEndpoint::open_queue(&open, py)?.as_fd().as_raw_fd())
    }

    /// Begins to send; the answer is for `cancel`.
    fn begin_send(
        &self,
        py: Python<'_>,
        peer: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        tag: u64,
    ) -> PyResult<u64> {
        let (open, peer, bytes) = (self.open_endpoint(py)?, parse_address(peer)?, lend_bytes(data)?);
        let queue = PyEndpoint::open_queue(&open, py)?;
        py.detach(|| queue.send(peer, bytes, tag)).map_err(|error| error.to_exception(py))
    }

    /// Begins a call; the answer is for `cancel`.
    #[pyo3(signature = (peer, data, tag, timeout = None))]
    fn begin_call(
        &self,
        py: Python<'_>,
        peer: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        tag: u64,
        timeout: Option<f64>,
    ) -> PyResult<u64> {
        let (open, peer, bytes) = (self.open_endpoint(py)?, parse_address(peer)?, lend_bytes(data)?);
        let (queue, longest) = (PyEndpoint::open_queue(&open, py)?, parse_timeout(timeout)?);
        py.detach(|| queue.call(peer, bytes, tag, longest)).map_err(|error| error.to_exception(py))
    }

    /// Begins to reply to a request; the answer is for `cancel`.
    fn begin_reply(
        &self,
        py: Python<'_>,
        request: &PyReceived,
        data: &Bound<'_, PyAny>,
        tag: u64,
    ) -> PyResult<u64> {
        let (open, bytes) = (self.open_endpoint(py)?, lend_bytes(data)?);
        let (queue, received) = (PyEndpoint::open_queue(&open, py)?, &request.0);
        py.detach(|| queue.reply(received, bytes, tag)).map_err(|error| error.to_exception(py))
    }

    /// Forgets something that was begun.
    fn cancel(&self, py: Python<'_>, number: u64) -> PyResult<()> {
        let open = self.open_endpoint(py)?;
        let queue = PyEndpoint::open_queue(&open, py)?;
        py.detach(|| queue.cancel(number));
        Ok(())
    }

    /// The next operation that is over, as its tag and its result: a message (tag `None`), a reply, `None`, or an
    /// exception.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let open = self.open_endpoint(py)?;
        let queue = PyEndpoint::open_queue(&open, py)?;
        let outcome = py.detach(|| queue.next()).map_err(|error| error.to_exception(py))?;
        let (tag, result) = match outcome {
            None => return Ok(None),
            Some(Outcome::Message(received)) => {
                let received = Bound::new(py, PyReceived(received))?;
                (None, received.into_any())
            }
            Some(Outcome::Sent { tag, result }) => match result {
                Ok(_) => (Some(tag), py.None().into_bound(py)),
                Err(error) => (Some(tag), error.to_exception(py).into_value(py).into_bound(py).into_any()),
            },
            Some(Outcome::Reply { tag, result, .. }) => match result {
                Ok(bytes) => (Some(tag), memory_view(py, bytes)?.into_any()),
                Err(error) => (Some(tag), error.to_exception(py).into_value(py).into_bound(py).into_any()),
            },
        };
        Ok(Some((tag, result).into_pyobject(py)?))
    }

    /// All counters, by name.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (open, counters) = (self.open_endpoint(py)?, PyDict::new(py));
        for (name, value) in open.endpoint.stats().iter() {
            counters.set_item(name, value)?;
        }
        Ok(counters)
    }

    /// Another address of this host; where it is bound.
    fn add_address(&self, py: Python<'_>, address: &str) -> PyResult<String> {
        let (open, address) = (self.open_endpoint(py)?, parse_local(address)?);
        let bound = py.detach(|| open.endpoint.add_address(address));
        bound
            .map(|address| address.to_string())
            .map_err(|error| exception_of(py, "BindError", error.to_string()))
    }

    /// An address is gone for good.
    fn remove_address(&self, py: Python<'_>, address: &str) -> PyResult<()> {
        let (open, address) = (self.open_endpoint(py)?, parse_local(address)?);
        let gone = py.detach(|| open.endpoint.remove_address(address));
        gone.map(drop).map_err(|error| exception_of(py, "BindError", error.to_string()))
    }

    /// What is known of paths, a dictionary each.
    fn paths<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let open = self.open_endpoint(py)?;
        let paths = py.detach(|| open.endpoint.paths());
        let described = |path: &PathInfo| {
            let found = PyDict::new(py);
            found.set_item("peer", path.peer.to_string())?;
            found.set_item("local", path.local.to_string())?;
            found.set_item("remote", path.remote.to_string())?;
            found.set_item("state", path.state.name())?;
            found.set_item("round_trip", path.round_trip.map(headway_units::Time::as_secs_f64))?;
            found.set_item("mtu", path.mtu)?;
            found.set_item("weight", path.share.weight)?;
            found.set_item("credit", path.share.credit)?;
            found.set_item("cap", path.share.cap)?;
            found.set_item("in_flight", path.share.in_flight)?;
            found.set_item("packets_sent", path.counts.packets_sent)?;
            found.set_item("bytes_sent", path.counts.bytes_sent)?;
            found.set_item("packets_received", path.counts.packets_received)?;
            found.set_item("bytes_received", path.counts.bytes_received)?;
            found.set_item("deaths", path.counts.deaths)?;
            found.set_item("returns", path.counts.returns)?;
            Ok(found)
        };
        paths.iter().map(described).collect()
    }

    /// All counters as text for Prometheus.
    fn prometheus(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.open_endpoint(py)?.endpoint.prometheus())
    }

    /// Bytes of memory that messages take.
    fn memory_used(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.open_endpoint(py)?.endpoint.memory_used())
    }

    /// Ends all waiting, and the endpoint.
    fn close(&self, py: Python<'_>) {
        let open = lock_ignoring_poison(&self.open).take();
        let forked = open.as_ref().is_some_and(|open| open.endpoint.check_process().is_err());
        py.detach(|| {
            if let Some(open) = &open {
                open.endpoint.close();
            }
            drop(open);
        });
        // A child must not release the parent's buffers: the list was copied by the fork, and its lock may be
        // taken for ever.
        if !forked {
            release_buffers(py);
        }
    }
}

/// A message that was received.
#[pyclass(name = "HostMessage", module = "headway.endpoints", frozen)]
pub(crate) struct PyReceived(Received);

#[pymethods]
impl PyReceived {
    /// Address of the sender.
    #[getter]
    fn peer(&self) -> String {
        self.0.peer.to_string()
    }

    /// The bytes; the message takes memory of its endpoint for as long as there is a view of them.
    #[getter]
    fn data<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyMemoryView>> {
        PyMemoryView::from(slf.as_any())
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: Python gives a view to fill.
        unsafe { fill_view(slf.as_any(), &slf.get().0.bytes, view, flags) }
    }

    /// True if the sender waits for a reply.
    #[getter]
    fn wants_reply(&self) -> bool {
        self.0.wants_reply()
    }

    /// Replies, and waits until the reply is acknowledged.
    #[pyo3(signature = (data, timeout = None))]
    fn reply(&self, py: Python<'_>, data: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        self.0.check_process().map_err(|forked| forked.to_exception(py))?;
        release_buffers(py);
        let (bytes, received) = (lend_bytes(data)?, &self.0);
        let handle = py.detach(|| received.reply(bytes)).map_err(|error| error.to_exception(py))?;
        wait_acknowledged(py, handle, timeout)
    }

    /// Replies; the outcome of the reply is not reported.
    fn reply_nowait(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.check_process().map_err(|forked| forked.to_exception(py))?;
        release_buffers(py);
        let (bytes, received) = (lend_bytes(data)?, &self.0);
        py.detach(|| received.reply(bytes)).map(drop).map_err(|error| error.to_exception(py))
    }
}
