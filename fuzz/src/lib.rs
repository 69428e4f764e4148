//! Checks of the fuzz targets, one file each; the same files are included by ordinary tests that
//! replay the corpora.

#[cfg(feature = "scenarios")]
pub mod cm;
#[cfg(feature = "scenarios")]
pub mod flow_table;
#[cfg(feature = "scenarios")]
pub mod graph;
pub mod host_receive;
pub mod packet_codec;
pub mod perf_protocol;
#[cfg(feature = "scenarios")]
pub mod scenario;
pub mod switch_frame;
#[cfg(feature = "scenarios")]
pub mod trace;
