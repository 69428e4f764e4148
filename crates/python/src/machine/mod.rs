//! Transports written in Python: a machine of theirs behind the contract of every machine.

#[cfg(feature = "check")]
pub(crate) mod check;
mod objects;

pub(crate) use objects::{PyEnd, PyEvent, PyHost, PyMessage, PyPacket, PyPath};

use crate::HeadwayError;
use headway_lab::Foreign;
use headway_lab::run::{Machine, Machines, Maker};
use headway_network::{RunSpec, TransportSpec};
use headway_packet::Packet;
use headway_params::{ParamSpec, ParamValue};
use headway_transport::{End, Endpoint, EndpointEvent, HostContext, Message};
use headway_units::Time;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Inputs at one instant after which a deadline that never moves is taken for a mistake.
const STUCK: u32 = 100_000;

/// The first exception of any machine of a run. From then on no machine is called.
#[derive(Default)]
pub(crate) struct Failure {
    happened: AtomicBool,
    first: Mutex<Option<(PyErr, String)>>,
}

impl Failure {
    fn has_happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    fn note_first(&self, error: PyErr, place: String) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        // Later exceptions are often consequences of the first.
        if first.is_none() {
            *first = Some((error, place));
            // Relaxed: a machine that is called once more before it sees this does no harm, and its exception
            // is not kept.
            self.happened.store(true, Ordering::Relaxed);
        }
    }

    /// The exception to raise: with its traceback and its place in the run; `None` if nothing has failed.
    pub(crate) fn take_exception(&self, py: Python<'_>) -> Option<PyErr> {
        let (error, place) = self.first.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let interrupted = error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py);
        // Ctrl-C is no fault of a transport, and goes on as it is.
        if interrupted {
            return Some(error);
        }
        let text = if error.is_instance_of::<HeadwayError>(py) {
            error.value(py).to_string()
        } else {
            traceback_text(py, &error).unwrap_or_else(|_| error.to_string())
        };
        let shown = HeadwayError::new_err(format!("{place}:\n{}", text.trim_end()));
        shown.set_cause(py, Some(error));
        Some(shown)
    }
}

fn traceback_text(py: Python<'_>, error: &PyErr) -> PyResult<String> {
    let parts = (error.get_type(py), error.value(py), error.traceback(py));
    let lines = py.import("traceback")?.call_method1("format_exception", parts)?;
    Ok(lines.extract::<Vec<String>>()?.concat())
}

/// A transport that is written in Python: its factory of machines, and its declarations for scenarios.
pub(crate) struct Own {
    pub(crate) foreign: Foreign,
    /// Called with a host, and with the parameters by name.
    factory: Py<PyAny>,
}

/// Declaration of one in Python: `(name, factory, discipline, parameters, source)`.
pub(crate) type Declared = (String, Py<PyAny>, String, BTreeMap<String, Py<PyAny>>, String);

impl Own {
    pub(crate) fn new(py: Python<'_>, declared: Declared) -> PyResult<Own> {
        let (name, factory, discipline, parameters, source) = declared;
        let params = parameters.iter().map(|(key, value)| param_spec(py, &name, key, value));
        let params = params.collect::<PyResult<Vec<ParamSpec>>>()?;
        Ok(Own { foreign: Foreign { name, discipline, params, source }, factory })
    }

    /// A machine for a host, with the values of these parameters and the defaults of the others.
    fn make_machine(
        &self,
        params: &[(String, ParamValue)],
        context: HostContext,
        around: Around,
    ) -> PyMachine {
        let host = context.host.0;
        let place = format!("transport `{}` could not make the machine of host {host}", self.foreign.name);
        let made = Python::attach(|py| {
            let arguments = PyDict::new(py);
            for spec in &self.foreign.params {
                let set = params.iter().find(|(name, _)| name == spec.name).map(|(_, value)| value);
                match set.unwrap_or(&spec.default) {
                    ParamValue::Bool(value) => arguments.set_item(spec.name, value)?,
                    ParamValue::Int(value) => arguments.set_item(spec.name, value)?,
                    ParamValue::Float(value) => arguments.set_item(spec.name, value)?,
                    // No parameter is declared so.
                    ParamValue::Time(_) | ParamValue::Rate(_) | ParamValue::Choice(_) => {}
                }
            }
            self.factory.call(py, (PyHost::from_context(context),), Some(&arguments))
        });
        // Noted and not returned: the maker of machines has no errors, and the run ends when it sees the
        // failure.
        let object = made.map_err(|error| around.failure.note_first(error, place)).ok();
        PyMachine {
            object,
            name: self.foreign.name.clone(),
            host,
            around,
            stuck: (Time::ZERO, 0),
            received: BTreeMap::new(),
        }
    }
}

fn param_spec(py: Python<'_>, transport: &str, key: &str, value: &Py<PyAny>) -> PyResult<ParamSpec> {
    let value = value.bind(py);
    // Asked first, since a bool is an int in Python.
    let read = if value.is_instance_of::<PyBool>() {
        Some(ParamValue::Bool(value.extract()?))
    } else if value.is_instance_of::<PyInt>() {
        Some(ParamValue::Int(value.extract()?))
    } else if value.is_instance_of::<PyFloat>() {
        Some(ParamValue::Float(value.extract()?))
    } else {
        None
    };
    read.and_then(|default| Foreign::param(key, default)).ok_or_else(|| {
        let shown = value.repr().map_or(String::new(), |text| text.to_string());
        PyTypeError::new_err(format!(
            "parameter `{key}` of transport `{transport}` has the default {shown}: a parameter is a bool, an int from 0, or a float"
        ))
    })
}

/// Surroundings of a machine.
#[derive(Clone)]
struct Around {
    failure: Arc<Failure>,
    /// Sender, receiver and bytes of each flow, by tag; `None` where the caller checks the machine's outputs itself.
    flows: Option<Arc<[(u32, u32, u64)]>>,
}

/// One host's machine.
struct PyMachine {
    /// `None` if it could not be made.
    object: Option<Py<PyAny>>,
    name: String,
    host: u32,
    around: Around,
    /// The instant of the last timeout, and how many there were in it.
    stuck: (Time, u32),
    /// Bytes that have arrived of each flow, and whether it is complete.
    received: BTreeMap<u32, (u64, bool)>,
}

/// Error for a machine that broke the contract.
fn broken_contract(text: String) -> PyErr {
    HeadwayError::new_err(text)
}

impl PyMachine {
    /// Calls a method, unless some machine of the run has failed; `None` then, and if this one fails.
    fn call_method<T>(
        &self,
        method: &str,
        now: Option<Time>,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        // After a failure the state of every machine is suspect, and its answers would only hide the cause.
        let object = self.object.as_ref().filter(|_| !self.around.failure.has_happened())?;
        let answer = Python::attach(|py| call(object.bind(py)));
        answer.map_err(|error| self.note_failure(error, method, now)).ok()
    }

    fn note_failure(&self, error: PyErr, method: &str, now: Option<Time>) {
        let at = now.map_or(String::new(), |now| format!(", at {now}"));
        let place = format!("`{method}` of transport `{}` at host {}{at}", self.name, self.host);
        self.around.failure.note_first(error, place);
    }

    /// Fault of a packet for the wire, of a kind that would break the simulator.
    fn fault_of(&self, packet: &Packet) -> Option<String> {
        let flows = self.around.flows.as_ref()?;
        let Some(&(src, dst, _)) = flows.get(packet.tag as usize) else {
            return Some(format!("there is no flow {}: a packet has the tag of its message", packet.tag));
        };
        let (from, to) = (packet.src.0, packet.dst.0);
        if from != self.host {
            return Some(format!("the packet says that it comes from host {from}"));
        }
        if (from, to) != (src, dst) && (from, to) != (dst, src) {
            return Some(format!(
                "the packet is for host {to}, and its flow goes from host {src} to host {dst}"
            ));
        }
        // It would take no time on a link, and a machine could send such packets at one instant for ever.
        (packet.wire == 0).then(|| "the packet has no bytes on the wire".to_string())
    }

    /// Fault of an event, of a kind that would break the simulator.
    fn fault_of_event(&mut self, event: &EndpointEvent) -> Option<String> {
        let flows = self.around.flows.as_ref()?;
        let (EndpointEvent::Delivered { tag, .. }
        | EndpointEvent::Completed { tag, .. }
        | EndpointEvent::Acknowledged { tag }
        | EndpointEvent::Failed { tag, .. }) = *event;
        let Some(&(src, dst, all)) = flows.get(tag as usize) else {
            return Some(format!("there is no flow {tag}: an event has the tag of its message"));
        };
        let receives = matches!(event, EndpointEvent::Delivered { .. } | EndpointEvent::Completed { .. });
        // The simulator writes events into the flow's record at this end, whoever reports them.
        if self.host != if receives { dst } else { src } {
            return Some(format!("{event:?} is about a flow from host {src} to host {dst}"));
        }
        let (bytes, complete) = self.received.entry(tag).or_default();
        match event {
            EndpointEvent::Delivered { bytes: more, .. } => {
                *bytes += u64::from(*more);
                (*bytes > all).then(|| format!("{bytes} bytes are delivered of a message of {all}"))
            }
            EndpointEvent::Completed { .. } => {
                let again = std::mem::replace(complete, true);
                if again {
                    return Some("the message is complete a second time".into());
                }
                (*bytes < all).then(|| format!("complete with {bytes} of {all} bytes delivered"))
            }
            EndpointEvent::Acknowledged { .. } | EndpointEvent::Failed { .. } => None,
        }
    }
}

impl Endpoint for PyMachine {
    fn open_message(&mut self, now: Time, message: &Message) {
        let message = PyMessage(*message);
        self.call_method("open", Some(now), |own| own.call_method1("open", (now.0, message)).map(drop));
    }

    fn receive_packet(&mut self, now: Time, packet: &Packet) {
        let packet = PyPacket::from_packet(packet);
        self.call_method("receive", Some(now), |own| own.call_method1("receive", (now.0, packet)).map(drop));
    }

    fn handle_timeout(&mut self, now: Time) {
        // A machine may have several deadlines at one instant, so only a great many in a row are a mistake.
        self.stuck = (now, if self.stuck.0 == now { self.stuck.1 + 1 } else { 0 });
        if self.stuck.1 > STUCK {
            let text =
                format!("`next_timeout` answers {now} or less after every `timeout`: time cannot go on");
            return self.note_failure(broken_contract(text), "timeout", Some(now));
        }
        self.call_method("timeout", Some(now), |own| own.call_method1("timeout", (now.0,)).map(drop));
    }

    fn forget_peer(&mut self, now: Time, peer: headway_packet::HostId) {
        self.call_method("forget", Some(now), |own| own.call_method1("forget", (now.0, peer.0)).map(drop));
    }

    fn abandon_message(&mut self, now: Time, end: End) {
        self.call_method("abandon", Some(now), |own| {
            own.call_method1("abandon", (now.0, PyEnd(end))).map(drop)
        });
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        let packet = self.call_method("poll_transmit", Some(now), |own| {
            let answer = own.call_method1("poll_transmit", (now.0,))?;
            if answer.is_none() {
                return Ok(None);
            }
            let packet = answer.cast::<PyPacket>().map_err(|_| wrong_type("a Packet or None", &answer))?;
            Ok(Some(packet.borrow().to_packet()))
        });
        let packet = packet.flatten()?;
        if let Some(fault) = self.fault_of(&packet) {
            self.note_failure(broken_contract(fault), "poll_transmit", Some(now));
            return None;
        }
        Some(packet)
    }

    fn wants_transmit(&self) -> bool {
        self.call_method("wants_transmit", None, |own| own.call_method0("wants_transmit")?.is_truthy())
            .unwrap_or(false)
    }

    fn next_timeout(&self) -> Option<Time> {
        let at = self.call_method("next_timeout", None, |own| {
            own.call_method0("next_timeout")?.extract::<Option<u64>>()
        });
        at.flatten().map(Time)
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        let event = self.call_method("poll_event", None, |own| {
            let answer = own.call_method0("poll_event")?;
            if answer.is_none() {
                return Ok(None);
            }
            let event = answer.cast::<PyEvent>().map_err(|_| wrong_type("an Event or None", &answer))?;
            Ok(Some(event.get().0))
        });
        let event = event.flatten()?;
        if let Some(fault) = self.fault_of_event(&event) {
            self.note_failure(broken_contract(fault), "poll_event", None);
            return None;
        }
        Some(event)
    }

    fn live_messages(&self) -> usize {
        self.call_method("live_messages", None, |own| own.call_method0("live_messages")?.extract())
            .unwrap_or(0)
    }
}

fn wrong_type(wanted: &str, found: &Bound<'_, PyAny>) -> PyErr {
    let shown = found.repr().map_or(String::new(), |text| text.to_string());
    PyTypeError::new_err(format!("it has to answer {wanted}, and answered {shown}"))
}

/// Source, destination and bytes of each flow.
type Listed = Arc<[(u32, u32, u64)]>;

/// The machines of one run.
pub(crate) struct Makers<'a> {
    own: &'a [Own],
    failure: Arc<Failure>,
    flows: Mutex<Option<Listed>>,
}

impl<'a> Makers<'a> {
    pub(crate) fn new(own: &'a [Own]) -> Makers<'a> {
        Makers { own, failure: Arc::default(), flows: Mutex::default() }
    }

    pub(crate) fn first_failure(&self) -> &Failure {
        &self.failure
    }

    fn find_own(&self, name: &str) -> Option<&'a Own> {
        self.own.iter().find(|own| own.foreign.name == name)
    }
}

impl Maker for Makers<'_> {
    fn knows(&self, name: &str) -> bool {
        self.find_own(name).is_some()
    }

    fn endpoint(&self, spec: &RunSpec, transport: &TransportSpec, context: HostContext) -> Machine {
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        let all = || spec.flows.iter().map(|flow| (flow.src, flow.dst, flow.bytes)).collect();
        // Made for the first machine, and shared by all of the run.
        let flows = Some(Arc::clone(flows.get_or_insert_with(all)));
        let around = Around { failure: Arc::clone(&self.failure), flows };
        match self.find_own(&transport.name) {
            Some(own) => Box::new(own.make_machine(&transport.params, context, around)),
            None => unreachable!("asked for `{}`, which is not known", transport.name),
        }
    }
}

impl Machines for Makers<'_> {
    fn failed(&self) -> bool {
        self.failure.has_happened()
    }
}
