//! Messages of the format, each with the fields that are written and no others.

use crate::protobuf_messages;

#[cfg(test)]
protobuf_messages! {
    /// A whole trace. It is written one packet after the other.
    pub(crate) struct Trace {
        pub(crate) packet: Vec<TracePacket> = repeated message[1],
    }
}

protobuf_messages! {
    /// One entry of a trace. A file is a sequence of these, each as field 1 of a message without end.
    pub(crate) struct TracePacket {
        /// Time in nanoseconds.
        pub(crate) timestamp: Option<u64> = optional uint64[8],
        /// Interned names hold within one sequence.
        pub(crate) trusted_packet_sequence_id: u32 = uint32[10],
        pub(crate) track_event: Option<TrackEvent> = optional message[11],
        pub(crate) interned_data: Option<InternedData> = optional message[12],
        pub(crate) sequence_flags: u32 = uint32[13],
        pub(crate) track_descriptor: Option<TrackDescriptor> = optional message[60],
    }

    /// A track: of slices, or of a counter.
    pub(crate) struct TrackDescriptor {
        pub(crate) uuid: u64 = uint64[1],
        pub(crate) name: String = string[2],
        pub(crate) parent_uuid: Option<u64> = optional uint64[5],
        pub(crate) counter: Option<CounterDescriptor> = optional message[8],
    }

    /// Part that makes a track one of a counter.
    pub(crate) struct CounterDescriptor {
        pub(crate) unit_name: String = string[6],
    }

    /// Something on a track.
    pub(crate) struct TrackEvent {
        pub(crate) debug_annotations: Vec<DebugAnnotation> = repeated message[4],
        pub(crate) r#type: i32 = int32[9],
        pub(crate) track_uuid: u64 = uint64[11],
        pub(crate) name: Option<String> = optional string[23],
        pub(crate) counter_value: Option<i64> = optional int64[30],
        pub(crate) double_counter_value: Option<f64> = optional double[44],
        /// Arrows that begin here, or go on.
        pub(crate) flow_ids: Vec<u64> = repeated fixed64[47],
        /// Arrows that end here.
        pub(crate) terminating_flow_ids: Vec<u64> = repeated fixed64[48],
    }

    /// An argument of a slice.
    pub(crate) struct DebugAnnotation {
        pub(crate) name_iid: u64 = uint64[1],
        pub(crate) uint_value: Option<u64> = optional uint64[3],
        pub(crate) double_value: Option<f64> = optional double[5],
        pub(crate) string_value: Option<String> = optional string[6],
    }

    /// Names that later packets of the sequence refer to by number.
    pub(crate) struct InternedData {
        pub(crate) debug_annotation_names: Vec<InternedName> = repeated message[3],
    }

    /// One of them.
    pub(crate) struct InternedName {
        pub(crate) iid: u64 = uint64[1],
        pub(crate) name: String = string[2],
    }
}

/// Kind of a [`TrackEvent`].
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum EventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Counter = 4,
}
