//! Writing a trace.

use crate::messages::{
    CounterDescriptor, DebugAnnotation, EventType, InternedData, InternedName, TracePacket, TrackDescriptor,
    TrackEvent,
};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Everything is one sequence.
const SEQUENCE: u32 = 1;
/// Flags of a packet: names interned before are forgotten, and: the packet needs interned names.
// `SEQ_INCREMENTAL_STATE_CLEARED` and `SEQ_NEEDS_INCREMENTAL_STATE` of trace_packet.proto.
const CLEARED: u32 = 1;
const NEEDS_INTERNED: u32 = 2;
/// The field of a trace that packets are.
const PACKET: u32 = 1;

/// A track, by the number that it has in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(u64);

/// A value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// A number as value.
    Number(f64),
    /// A text as value.
    Text(String),
}

/// An argument of a slice: its name and its value.
pub type Arg = (&'static str, Value);

/// Start of a slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slice<'a> {
    /// Name of the slice.
    pub name: &'a str,
    /// Arguments of the slice.
    pub args: Vec<Arg>,
    /// Numbers of arrows that begin at it. An arrow has one begin and one end.
    pub arrows_out: Vec<u64>,
    /// Numbers of arrows that end at it.
    pub arrows_in: Vec<u64>,
}

/// Writes a trace. Slices of one track must be nested, and the items of one track must come in order of time.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    tracks: u64,
    /// Names of arguments, by number.
    names: BTreeMap<&'static str, u64>,
    buffer: Vec<u8>,
    /// True if the first packet is written, which clears names that a reader may have interned.
    began: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    pub fn new(out: W) -> Writer<W> {
        Writer { out, tracks: 0, names: BTreeMap::new(), buffer: Vec::new(), began: false }
    }

    /// A track for slices, or for other tracks, below another one or at the root.
    pub fn track(&mut self, parent: Option<Track>, name: &str) -> io::Result<Track> {
        self.describe(parent, name, None)
    }

    /// A track for a counter in this unit.
    pub fn counter_track(&mut self, parent: Option<Track>, name: &str, unit: &str) -> io::Result<Track> {
        self.describe(parent, name, Some(CounterDescriptor { unit_name: unit.into() }))
    }

    fn describe(
        &mut self,
        parent: Option<Track>,
        name: &str,
        counter: Option<CounterDescriptor>,
    ) -> io::Result<Track> {
        // From 1 on: track 0 of the format is that of the whole trace.
        self.tracks += 1;
        let descriptor = TrackDescriptor {
            uuid: self.tracks,
            name: name.into(),
            parent_uuid: parent.map(|track| track.0),
            counter,
        };
        self.packet(TracePacket { track_descriptor: Some(descriptor), ..TracePacket::default() })?;
        Ok(Track(self.tracks))
    }

    /// A slice begins at this nanosecond.
    pub fn begin(&mut self, track: Track, at_ns: u64, slice: Slice<'_>) -> io::Result<()> {
        let mut interned = Vec::new();
        let mut annotations = Vec::with_capacity(slice.args.len());
        for (name, value) in slice.args {
            // From 1 on: the format takes 0 for no number.
            let next = self.names.len() as u64 + 1;
            let name_iid = *self.names.entry(name).or_insert_with(|| {
                interned.push(InternedName { iid: next, name: name.into() });
                next
            });
            let bare = DebugAnnotation { name_iid, ..DebugAnnotation::default() };
            annotations.push(match value {
                Value::Whole(n) => DebugAnnotation { uint_value: Some(n), ..bare },
                Value::Number(n) => DebugAnnotation { double_value: Some(n), ..bare },
                Value::Text(text) => DebugAnnotation { string_value: Some(text), ..bare },
            });
        }
        let flags = if annotations.is_empty() { 0 } else { NEEDS_INTERNED };
        let interned = (!interned.is_empty()).then_some(InternedData { debug_annotation_names: interned });
        let event = TrackEvent {
            debug_annotations: annotations,
            r#type: EventType::SliceBegin as i32,
            track_uuid: track.0,
            name: Some(slice.name.into()),
            flow_ids: slice.arrows_out,
            terminating_flow_ids: slice.arrows_in,
            ..TrackEvent::default()
        };
        self.packet(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(event),
            interned_data: interned,
            sequence_flags: flags,
            ..TracePacket::default()
        })
    }

    /// The slice of a track that began last and has not ended ends.
    pub fn end(&mut self, track: Track, at_ns: u64) -> io::Result<()> {
        let r#type = EventType::SliceEnd as i32;
        self.event(at_ns, TrackEvent { r#type, track_uuid: track.0, ..TrackEvent::default() })
    }

    /// A counter has this value from now on.
    pub fn count(&mut self, track: Track, at_ns: u64, value: f64) -> io::Result<()> {
        /// Below it, every whole number has a place of its own among doubles.
        const WHOLE: f64 = 9e15;
        let mut event =
            TrackEvent { r#type: EventType::Counter as i32, track_uuid: track.0, ..TrackEvent::default() };
        if value.fract() == 0.0 && value.abs() < WHOLE {
            event.counter_value = Some(value as i64);
        } else {
            event.double_counter_value = Some(value);
        }
        self.event(at_ns, event)
    }

    /// Ends the trace.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn event(&mut self, at_ns: u64, event: TrackEvent) -> io::Result<()> {
        self.packet(TracePacket {
            timestamp: Some(at_ns),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn packet(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = SEQUENCE;
        if !self.began {
            self.began = true;
            packet.sequence_flags |= CLEARED;
        }
        self.buffer.clear();
        // Each packet is an element of the trace's only field, so that a file is their concatenation.
        encode_key(PACKET, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(packet.encoded_len() as u64, &mut self.buffer);
        // A vector grows as needed.
        packet.encode_raw(&mut self.buffer);
        self.out.write_all(&self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Trace;

    #[test]
    fn what_is_written_is_read_and_each_name_is_told_once_before_it_is_used() {
        let mut trace = Writer::new(Vec::new());
        let host = trace.track(None, "h0").expect("memory");
        let queue = trace.counter_track(Some(host), "queue", "B").expect("memory");
        for (at, arrow) in [(5, 1), (9, 2)] {
            let args = vec![("bytes", Value::Whole(at)), ("share", Value::Number(0.5))];
            let slice = Slice { name: "flow", args, arrows_out: vec![arrow], arrows_in: vec![arrow - 1] };
            trace.begin(host, at, slice).expect("memory");
            trace.end(host, at + 3).expect("memory");
        }
        trace.count(queue, 7, 1_500.0).expect("memory");
        trace.count(queue, 8, 0.25).expect("memory");
        let bytes = trace.finish().expect("memory");
        let packets = Trace::decode(&bytes[..]).expect("a trace").packet;
        let told = packets.iter().filter_map(|packet| packet.interned_data.as_ref());
        let told: Vec<&str> =
            told.flat_map(|data| &data.debug_annotation_names).map(|name| name.name.as_str()).collect();
        assert_eq!(told, ["bytes", "share"]);
        let flags: Vec<u32> = packets.iter().map(|packet| packet.sequence_flags).collect();
        // Two tracks, then begin and end of two slices, then two counts.
        assert_eq!(flags, [CLEARED, 0, NEEDS_INTERNED, 0, NEEDS_INTERNED, 0, 0, 0]);
        let events: Vec<(u64, &TrackEvent)> = packets
            .iter()
            .filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)))
            .collect();
        let times: Vec<u64> = events.iter().map(|event| event.0).collect();
        assert_eq!(times, [5, 8, 9, 12, 7, 8]);
        assert_eq!(
            (events[2].1.flow_ids[..].to_vec(), &events[2].1.terminating_flow_ids[..]),
            (vec![2], &[1][..])
        );
        assert_eq!(events[4].1.counter_value, Some(1_500));
        assert_eq!(events[5].1.double_counter_value, Some(0.25));
    }
}
