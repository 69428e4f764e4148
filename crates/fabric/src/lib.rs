//! The effect of one switch port on one packet: queues, marks, drops.
//!
//! A [`Port`] is one egress. It is generic over the packet handle (a pool index in the simulator, a
//! frame in a software switch), decides with integers from the time, its rate, the packet's fields and
//! its own counters, and counts everything. A discipline is one file and one line in [`registry`].

mod anti_ecn;
mod core_ecn;
mod counters;
mod credit_shaping;
mod cross_queue;
mod demands;
mod discipline;
mod drop_tail;
mod ecn_threshold;
mod explicit_rate;
mod fair_queue;
mod port;
mod priority_buffers;
mod queues;
mod random_drop;
mod red_ecn;
pub mod registry;
mod selective_credit_shaping;
mod selective_drop;
mod strict_priority;
#[cfg(test)]
mod testing;
mod trimming;
mod trimming_ecn;

pub use anti_ecn::{AntiEcn, AntiEcnParams, GapRule};
pub use counters::{BrokenIdentity, DropReason, PortCounters};
pub use credit_shaping::{CreditShaping, CreditShapingParams};
pub use cross_queue::{CrossQueueEcn, CrossQueueParams, DropRule, MarkWhen};
pub use demands::{DisciplineInfo, Need, Offers, Rewrite, Unoffered};
pub use discipline::{Arrival, Departing, Discipline, Overflow, PortContext, Space, USUAL_LIMIT};
pub use drop_tail::DropTail;
pub use ecn_threshold::{EcnThreshold, EcnThresholdParams, MarkAt};
pub use explicit_rate::{ExplicitRate, ExplicitRateParams};
pub use fair_queue::{FairQueue, FairQueueParams, FlowIs, GivesWay};
pub use port::{Departure, Fate, Full, Packets, Port};
pub use priority_buffers::{PriorityBuffers, PriorityBuffersParams};
pub use queues::{Buffer, Lengths, Limit, MOST_CLASSES};
pub use selective_credit_shaping::{SelectiveCreditShaping, SelectiveCreditShapingParams};
pub use selective_drop::{SelectiveDrop, SelectiveDropParams};
pub use strict_priority::StrictPriority;
pub use trimming::{Rule, TrimVariant, Trimming, TrimmingParams, Victim};
