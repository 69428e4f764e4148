//! A file with the events of messages, in the form of qlog, for people and for `headway report`.
//!
//! Source: draft-ietf-quic-qlog-main-schema, JSON text sequences (RFC 7464): a record a line, behind a record separator. The
//! events are those of [`MessageEvent`] under names of their own.

use crate::config::{Observer, PathObserver};
use crate::message_event::{MessageEvent, MessageEventKind};
use crate::path_event::PathEvent;
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
    fn write_record(&self, at: Time, record: &Value) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &mut *open else { return };
        // Counted before the write: an event that fails to be written leaves a file without an end record
        // anyway.
        (file.events, file.last) = (file.events + 1, to_milliseconds(at));
        if file.append_record(record).is_err() {
            *open = None;
        }
    }
}

impl Open {
    fn append_record(&mut self, record: &Value) -> Result<(), Error> {
        self.file.write_all(&[SEPARATOR])?;
        serde_json::to_writer(&mut self.file, record)?;
        self.file.write_all(b"\n")
    }

    fn end_trace(&mut self) -> Result<(), Error> {
        let (events, last) = (self.events, self.last);
        self.append_record(
            &json!({ "time": last, "name": "headway:trace_ended", "data": { "events": events } }),
        )?;
        self.file.flush()
    }
}

impl Drop for Qlog {
    fn drop(&mut self) {
        let open = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // If the end cannot be written, readers of the trace report that it is missing.
        let _ = open.as_mut().map(Open::end_trace);
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
fn to_milliseconds(at: Time) -> f64 {
    // Divided in integers first: picoseconds above 2^53 (2.5 hours) are not exact as floating point.
    (at.0 / 1000) as f64 / 1e6
}

/// An event as a record.
fn event_record(event: &MessageEvent) -> Value {
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
    json!({ "time": to_milliseconds(at), "name": format!("headway:{}", event_name(&what)), "data": data })
}

/// An event of a path as a record.
fn path_record(event: &PathEvent) -> Value {
    let PathEvent { at, peer, local, remote, what } = *event;
    let data = json!({
        "peer": peer.to_string(),
        "local": local.to_string(),
        "remote": remote.to_string(),
    });
    json!({ "time": to_milliseconds(at), "name": format!("headway:path_{}", what.name()), "data": data })
}

/// Of an endpoint: where it is, what it talks over, and where its clock is zero on the machine's.
pub(crate) struct Of<'a> {
    pub(crate) local: SocketAddr,
    pub(crate) transport: &'a str,
    pub(crate) origin_ns: u64,
}

/// Observers of messages and of paths.
pub(crate) type Observers = (Option<Observer>, Option<PathObserver>);

/// Observers that write what they hear to a file, and tell `next`.
#[allow(
    clippy::disallowed_methods,
    reason = "the file is the endpoint's own, and says which time of day it begins at"
)]
pub(crate) fn qlog_observers(path: &Path, of: &Of<'_>, next: Observers) -> Result<Observers, Error> {
    // Read next to the monotonic clock, by which it is moved back to the endpoint's time zero.
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
    open.append_record(&head)?;
    // A file that cannot be written to is an error of `bind`, and not one that shows up with the first event.
    open.file.flush()?;
    let qlog = Arc::new(Qlog(Mutex::new(Some(open))));
    let (same, (next, next_path)) = (Arc::clone(&qlog), next);
    let of_messages = Arc::new(move |event: &MessageEvent| {
        qlog.write_record(event.at, &event_record(event));
        if let Some(next) = &next {
            next(event);
        }
    });
    let of_paths = Arc::new(move |event: &PathEvent| {
        same.write_record(event.at, &path_record(event));
        if let Some(next) = &next_path {
            next(event);
        }
    });
    Ok((Some(of_messages), Some(of_paths)))
}
