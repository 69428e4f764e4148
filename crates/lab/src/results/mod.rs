//! Contents of a run directory, and the way in which it is written.

#[cfg(feature = "arrow")]
mod arrow;
mod columns;
mod field;
mod format;
mod jobs;
mod labels;
mod link_use;
mod made;
pub mod manifest;
mod measures;
pub mod open;
#[cfg(feature = "parquet")]
pub mod parquet;
mod part;
pub mod schema;
pub mod statistics;
mod steadiness;
pub mod summary;
pub mod table;
pub mod tables;
mod volumes;
pub mod write;

pub use format::{Directory, TableFormat};
pub use table::{Column, Table};

use serde_json::Value as Json;

/// Everything that one run leaves behind, in memory.
#[derive(Clone, Debug)]
pub struct RunOutput {
    /// One row a flow.
    pub flows: Table,
    /// One row a directed link.
    pub links: Table,
    /// Samples of the run.
    pub series: Table,
    /// One row a step between flows, and one row for each flow or step and what it waits for; `None` of a run in which
    /// nothing waits.
    pub graph: Option<(Table, Table)>,
    /// Numbers of the run.
    pub summary: Json,
    /// Record of the run: scenario, version and machine.
    pub manifest: Json,
}
