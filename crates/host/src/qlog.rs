//! A file with the events of messages, in the form of qlog, for people and for `headway report`.
//!
//! Source: draft-ietf-quic-qlog-main-schema, JSON text sequences (RFC 7464): a record a line, behind a record separator. The
//! events are those of [`MessageEvent`] under names of their own.

use crate::config::Observer;
use crate::message_event::{MessageEvent, MessageEventKind};
use crate::udp::monotonic_ns;
use headway_units::Time;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Error, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Version of the schema that a file says it follows.
const VERSION: &str = "0.3";
/// Before each record. RFC 7464 §2.2
const SEPARATOR: u8 = 0x1e;

/// State of an open trace.
struct Open {
    file: BufWriter<File>,
    events: u64,
    /// Time of the last event, in milliseconds.
    last: f64,
}

/// A file that is written until its last observer is gone. One that could not be written any more ends without
/// `headway:trace_ended`.
struct Qlog(Mutex<Option<Open>>);

impl Qlog {
    fn tell(&self, event: &MessageEvent) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &mut *open else { return };
        (file.events, file.last) = (file.events + 1, milliseconds(event.at));
        if file.write(&record(event)).is_err() {
            *open = None;
        }
    }
}

impl Open {
    fn write(&mut self, record: &Value) -> Result<(), Error> {
        self.file.write_all(&[SEPARATOR])?;
        serde_json::to_writer(&mut self.file, record)?;
        self.file.write_all(b"\n")
    }

    fn end(&mut self) -> Result<(), Error> {
        let (events, last) = (self.events, self.last);
        self.write(&json!({ "time": last, "name": "headway:trace_ended", "data": { "events": events } }))?;
        self.file.flush()
    }
}

impl Drop for Qlog {
    fn drop(&mut self) {
        let open = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // If the end cannot be written, readers of the trace report that it is missing.
        let _ = open.as_mut().map(Open::end);
    }
}

/// The name of an event in a file, behind `headway:`.
fn event_name(what: &MessageEventKind) -> &'static str {
    match what {
        MessageEventKind::Opened { .. } => "message_opened",
        MessageEventKind::Sent { .. } => "data_sent",
        MessageEventKind::Repeated { .. } => "data_repeated",
        MessageEventKind::Acknowledged { .. } => "message_acknowledged",
        MessageEventKind::Failed { .. } => "message_failed",
        MessageEventKind::Marked => "mark_received",
        MessageEventKind::Delivered { .. } => "data_received",
        MessageEventKind::Completed { .. } => "message_received",
    }
}

/// Milliseconds, as qlog has them, to the nanosecond.
fn milliseconds(at: Time) -> f64 {
    (at.0 / 1000) as f64 / 1e6
}

/// An event as a record.
fn record(event: &MessageEvent) -> Value {
    let MessageEvent { at, peer, message, what } = *event;
    let mut data = json!({ "peer": peer.to_string(), "message": message });
    match what {
        MessageEventKind::Opened { ticket, bytes } => {
            data["ticket"] = ticket.into();
            data["bytes"] = bytes.into();
        }
        MessageEventKind::Sent { bytes }
        | MessageEventKind::Repeated { bytes }
        | MessageEventKind::Delivered { bytes } => data["bytes"] = bytes.into(),
        MessageEventKind::Acknowledged { ticket } | MessageEventKind::Failed { ticket } => {
            data["ticket"] = ticket.into();
        }
        MessageEventKind::Marked => {}
        MessageEventKind::Completed { bytes } => data["bytes"] = bytes.into(),
    }
    json!({ "time": milliseconds(at), "name": format!("headway:{}", event_name(&what)), "data": data })
}

/// Facts about an endpoint: its address, its transport, and the zero of its clock on the machine's.
pub(crate) struct Of<'a> {
    pub(crate) local: SocketAddr,
    pub(crate) transport: &'a str,
    pub(crate) origin_ns: u64,
}

/// An observer that writes its events to a file, and tells `next`.
#[allow(
    clippy::disallowed_methods,
    reason = "the file is the endpoint's own, and says which time of day it begins at"
)]
pub(crate) fn observer(path: &Path, of: &Of<'_>, next: Option<Observer>) -> Result<Observer, Error> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let reference = since.saturating_sub(u128::from(monotonic_ns().saturating_sub(of.origin_ns)));
    let head = json!({
        "qlog_version": VERSION,
        "qlog_format": "JSON-SEQ",
        "title": format!("Messages of {} over {}", of.local, of.transport),
        "trace": {
            "vantage_point": { "name": of.local.to_string(), "type": "unknown" },
            "common_fields": {
                "protocol_type": ["HEADWAY"],
                "transport": of.transport,
                "time_format": "relative",
                "reference_time": reference as f64 / 1e6,
            },
        },
    });
    let mut open = Open { file: BufWriter::new(File::create(path)?), events: 0, last: 0.0 };
    open.write(&head)?;
    open.file.flush()?;
    let qlog = Qlog(Mutex::new(Some(open)));
    Ok(Arc::new(move |event: &MessageEvent| {
        qlog.tell(event);
        if let Some(next) = &next {
            next(event);
        }
    }))
}
