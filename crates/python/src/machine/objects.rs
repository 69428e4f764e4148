//! Inputs and outputs of a machine in Python: hosts, messages, packets, events.

use headway_lab::text::names;
use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind};
use headway_transport::{End, EndpointEvent, HostContext, Message};
use headway_units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

const ECN: [(Ecn, &str); 4] =
    [(Ecn::NotEct, "not-ect"), (Ecn::Spare, "spare"), (Ecn::Ect, "ect"), (Ecn::Ce, "ce")];

/// The value of this name, or its fault.
fn find_named<T: Copy>(what: &str, name: &str, known: &[(T, &'static str)]) -> PyResult<T> {
    known.iter().find(|(_, own)| *own == name).map(|(value, _)| *value).ok_or_else(|| {
        let near = names::name_suggestion(name, known.iter().map(|(_, own)| *own));
        let near = near.map_or(String::new(), |near| format!("; {near}"));
        PyValueError::new_err(format!("there is no {what} {name:?}{near}"))
    })
}

fn kind_named(name: &str) -> PyResult<PacketKind> {
    find_named("kind of packet", name, &PacketKind::ALL.map(|kind| (kind, kind.name())))
}

/// One packet; numbers and flags as the transport declares for itself. Times are in picoseconds.
#[pyclass(name = "Packet", module = "headway")]
pub(crate) struct PyPacket {
    kind: PacketKind,
    ecn: Ecn,
    flags: PacketFlags,
    /// Host that sends the packet.
    #[pyo3(get, set)]
    src: u32,
    /// Host that the packet is for.
    #[pyo3(get, set)]
    dst: u32,
    /// Number of the message among those of its sender to its receiver, from 0.
    #[pyo3(get, set)]
    message: u32,
    /// Position in the message, in packets.
    #[pyo3(get, set)]
    index: u32,
    /// Packets spoken of. In a data packet: those of the first window.
    #[pyo3(get, set)]
    count: u32,
    /// A number, as the transport has it.
    #[pyo3(get, set)]
    token: u32,
    /// A number, as the transport has it.
    #[pyo3(get, set)]
    remaining: u32,
    /// Number that switches hash together with the addresses.
    #[pyo3(get, set)]
    entropy: u32,
    /// Bytes of the whole message.
    #[pyo3(get, set)]
    message_bytes: u64,
    /// A time, as the transport has it, in picoseconds.
    #[pyo3(get, set)]
    lifetime: u64,
    /// The simulator's number of the flow.
    #[pyo3(get, set)]
    tag: u32,
    /// Bytes on the wire, framing included.
    #[pyo3(get, set)]
    wire: u16,
    /// Application bytes carried.
    #[pyo3(get, set)]
    payload: u16,
    /// Class at every port; 0 is served first and is for control.
    #[pyo3(get, set)]
    priority: u8,
}

impl PyPacket {
    pub(super) fn from_packet(packet: &Packet) -> PyPacket {
        PyPacket {
            kind: packet.kind,
            ecn: packet.ecn,
            flags: packet.flags,
            src: packet.src.0,
            dst: packet.dst.0,
            message: packet.message,
            index: packet.index,
            count: packet.count,
            token: packet.token,
            remaining: packet.remaining,
            entropy: packet.entropy,
            message_bytes: packet.message_bytes,
            lifetime: packet.lifetime.0,
            tag: packet.tag,
            wire: packet.wire,
            payload: packet.payload,
            priority: packet.priority,
        }
    }

    pub(super) fn to_packet(&self) -> Packet {
        Packet {
            src: HostId(self.src),
            dst: HostId(self.dst),
            message: self.message,
            index: self.index,
            count: self.count,
            token: self.token,
            remaining: self.remaining,
            entropy: self.entropy,
            message_bytes: self.message_bytes,
            lifetime: Time(self.lifetime),
            tag: self.tag,
            wire: self.wire,
            payload: self.payload,
            kind: self.kind,
            priority: self.priority,
            ecn: self.ecn,
            flags: self.flags,
        }
    }

    fn set_flag(&mut self, flag: PacketFlags, on: bool) {
        self.flags = PacketFlags(if on { self.flags.0 | flag.0 } else { self.flags.0 & !flag.0 });
    }
}

#[pymethods]
impl PyPacket {
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind.name()
    }

    #[setter]
    fn set_kind(&mut self, name: &str) -> PyResult<()> {
        self.kind = kind_named(name)?;
        Ok(())
    }

    #[getter]
    fn ecn(&self) -> &'static str {
        // The table is in the order of the code points.
        ECN[self.ecn as usize].1
    }

    #[setter]
    fn set_ecn(&mut self, name: &str) -> PyResult<()> {
        self.ecn = find_named("ECN code point", name, &ECN)?;
        Ok(())
    }

    /// True if it repeats a packet sent before.
    #[getter]
    fn again(&self) -> bool {
        self.flags.has_all(PacketFlags::AGAIN)
    }

    #[setter]
    fn set_again(&mut self, on: bool) {
        self.set_flag(PacketFlags::AGAIN, on);
    }

    /// True if it was sent without permission, in the first window.
    #[getter]
    fn unscheduled(&self) -> bool {
        self.flags.has_all(PacketFlags::UNSCHEDULED)
    }

    #[setter]
    fn set_unscheduled(&mut self, on: bool) {
        self.set_flag(PacketFlags::UNSCHEDULED, on);
    }

    /// The receiver's echo of a mark.
    #[getter]
    fn echo(&self) -> bool {
        self.flags.has_all(PacketFlags::ECE)
    }

    #[setter]
    fn set_echo(&mut self, on: bool) {
        self.set_flag(PacketFlags::ECE, on);
    }

    fn __repr__(&self) -> String {
        format!(
            "<Packet {} from host {} to host {}: message {}, index {}, {} bytes>",
            self.kind.name(),
            self.src,
            self.dst,
            self.message,
            self.index,
            self.wire
        )
    }
}

/// A message to send: bytes for one host, delivered whole and once.
#[pyclass(name = "Message", module = "headway", frozen)]
pub(crate) struct PyMessage(pub(super) Message);

#[pymethods]
impl PyMessage {
    /// Its number among this host's messages to `dst`, from 0.
    #[getter]
    fn id(&self) -> u32 {
        self.0.id
    }

    /// Host that the message is for.
    #[getter]
    fn dst(&self) -> u32 {
        self.0.dst.0
    }

    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Class of the application.
    #[getter]
    fn class_(&self) -> u16 {
        self.0.class
    }

    /// Deadline, in picoseconds since the start of the run.
    #[getter]
    fn deadline(&self) -> Option<u64> {
        self.0.deadline.map(|at| at.0)
    }

    /// False for an application that has nothing to send after the first window.
    #[getter]
    fn responsive(&self) -> bool {
        self.0.responsive
    }

    /// Number that switches hash in its packets.
    #[getter]
    fn entropy(&self) -> u32 {
        self.0.entropy
    }

    /// The simulator's number of the flow.
    #[getter]
    fn tag(&self) -> u32 {
        self.0.tag
    }

    fn __repr__(&self) -> String {
        format!("<Message {} to host {}: {} bytes>", self.0.id, self.0.dst.0, self.0.bytes)
    }
}

/// One end of a message that is over before it is complete.
#[pyclass(name = "End", module = "headway", frozen)]
pub(crate) struct PyEnd(pub(super) End);

#[pymethods]
impl PyEnd {
    /// True if this host sends it.
    #[getter]
    fn sends(&self) -> bool {
        self.0.sends
    }

    /// The host at the other end.
    #[getter]
    fn peer(&self) -> u32 {
        self.0.peer.0
    }

    /// The message's number.
    #[getter]
    fn message(&self) -> u32 {
        self.0.message
    }

    /// The simulator's number of the flow.
    #[getter]
    fn tag(&self) -> u32 {
        self.0.tag
    }
}

/// Event that a machine reports to the simulator.
#[pyclass(name = "Event", module = "headway", frozen)]
pub(crate) struct PyEvent(pub(super) EndpointEvent);

#[pymethods]
impl PyEvent {
    /// The payload of a data packet arrived here for the first time.
    #[staticmethod]
    fn delivered(packet: &PyPacket) -> PyEvent {
        let Packet { tag, src, message, payload, .. } = packet.to_packet();
        PyEvent(EndpointEvent::Delivered { tag, src, message, bytes: payload.into() })
    }

    /// All bytes of the message of this data packet have arrived here. Exactly once for each message.
    #[staticmethod]
    fn completed(packet: &PyPacket) -> PyEvent {
        let Packet { tag, src, message, .. } = packet.to_packet();
        PyEvent(EndpointEvent::Completed { tag, src, message })
    }

    /// The sender knows that the message arrived, and has forgotten it.
    #[staticmethod]
    fn acknowledged(message: &PyMessage) -> PyEvent {
        PyEvent(EndpointEvent::Acknowledged { tag: message.0.tag })
    }

    /// The sender gave the message up.
    #[staticmethod]
    fn failed(message: &PyMessage) -> PyEvent {
        // The reason is a static text in the simulator, so that of a machine in Python cannot be passed on.
        PyEvent(EndpointEvent::Failed { tag: message.0.tag, reason: "its transport gave it up" })
    }

    fn __repr__(&self) -> String {
        format!("<Event {:?}>", self.0)
    }
}

/// Properties of the path to a peer, in picoseconds and bits per second.
#[pyclass(name = "Path", module = "headway", frozen)]
pub(crate) struct PyPath {
    /// Round trip of a full data packet out and a control packet back through empty queues.
    #[pyo3(get)]
    base_rtt: u64,
    /// Longest round trip when nothing is lost: one full buffer drained at each switch.
    #[pyo3(get)]
    max_rtt: u64,
    /// Rate of the slowest link.
    #[pyo3(get)]
    bottleneck_bps: u64,
    /// Full packets that fill the path for a base round trip at the rate of this host's link.
    #[pyo3(get)]
    bdp_packets: u32,
}

/// The host that a machine runs on.
#[pyclass(name = "Host", module = "headway", frozen)]
pub(crate) struct PyHost(Mutex<HostContext>);

impl PyHost {
    pub(super) fn from_context(context: HostContext) -> PyHost {
        PyHost(Mutex::new(context))
    }

    fn lock_context(&self) -> MutexGuard<'_, HostContext> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyHost {
    /// Its number, from 0.
    #[getter]
    fn number(&self) -> u32 {
        self.lock_context().host.0
    }

    /// Rate of its link, in bits per second.
    #[getter]
    fn link_bps(&self) -> u64 {
        self.lock_context().nic.bps()
    }

    /// Application bytes of a full data packet.
    #[getter]
    fn payload(&self) -> u16 {
        self.lock_context().sizes.payload
    }

    /// Picoseconds that a full data packet takes on its link.
    #[getter]
    fn slot(&self) -> u64 {
        let context = self.lock_context();
        context.sizes.slot_time(context.nic).0
    }

    /// Seed of random choices, where the machine makes any.
    #[getter]
    fn seed(&self) -> u64 {
        self.lock_context().seed
    }

    /// The path to another host.
    fn path(&self, peer: u32) -> PyPath {
        let context = self.lock_context();
        let path = (context.path)(HostId(peer));
        PyPath {
            base_rtt: path.base_rtt.0,
            max_rtt: path.max_rtt.0,
            bottleneck_bps: path.bottleneck.bps(),
            bdp_packets: path.bdp_packets(context.nic, &context.sizes),
        }
    }

    /// Packets that a message of so many bytes is cut into.
    fn packets(&self, bytes: u64) -> u64 {
        self.lock_context().sizes.packets_of(bytes)
    }

    /// The times at which the packets of a message's first window may leave, in picoseconds; there are as many as it has
    /// packets. `window` is its size in packets; 0 stands for one bandwidth-delay product.
    #[pyo3(signature = (message, now, window = 0))]
    fn first_window(&self, message: &PyMessage, now: u64, window: u32) -> Vec<u64> {
        let mut schedule = self.lock_context().initial_window(window.into(), &message.0, Time(now));
        let mut leave = Vec::with_capacity(schedule.window_packets() as usize);
        // The whole schedule at once: an object that lives on would borrow from the host.
        while let Some(at) = schedule.next() {
            let (_, count) = schedule.take_released(at);
            leave.extend((0..count).map(|_| at.0));
        }
        leave
    }

    /// Packet `index` of a message whose first window has `window` packets, ready to leave.
    #[pyo3(signature = (message, index, window, *, again = false))]
    fn data_packet(&self, message: &PyMessage, index: u32, window: u32, again: bool) -> PyResult<PyPacket> {
        let context = self.lock_context();
        let packets = context.sizes.packets_of(message.0.bytes);
        if u64::from(index) >= packets {
            let text = format!("there is no packet {index}: the message has {packets}, from 0");
            return Err(PyValueError::new_err(text));
        }
        let mut packet = PyPacket::from_packet(&context.data_packet(&message.0, index, window));
        packet.set_flag(PacketFlags::AGAIN, again);
        Ok(packet)
    }

    /// A control packet to the receiver of a message.
    fn control_packet(&self, kind: &str, message: &PyMessage) -> PyResult<PyPacket> {
        let Message { id, dst, entropy, tag, .. } = message.0;
        self.build_control(kind, dst, id, tag, entropy)
    }

    /// A control packet to the host that a packet came from, about the same message.
    fn reply(&self, kind: &str, packet: &PyPacket) -> PyResult<PyPacket> {
        self.build_control(kind, HostId(packet.src), packet.message, packet.tag, packet.entropy)
    }

    fn __repr__(&self) -> String {
        format!("<Host {}>", self.number())
    }
}

impl PyHost {
    fn build_control(&self, kind: &str, peer: HostId, id: u32, tag: u32, entropy: u32) -> PyResult<PyPacket> {
        let context = self.lock_context();
        let mut packet = Packet::new(kind_named(kind)?, context.host, peer, id);
        (packet.wire, packet.tag, packet.entropy) = (context.sizes.control, tag, entropy);
        Ok(PyPacket::from_packet(&packet))
    }
}
