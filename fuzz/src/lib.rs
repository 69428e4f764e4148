//! What the fuzz targets check, one file each; the same files are included by ordinary tests that
//! replay the corpora.

pub mod cm;
pub mod host_receive;
pub mod packet_codec;
pub mod scenario;
