//! How a table becomes a file, and a file a table.

use arrow_array::RecordBatch;
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// Files of tables. The lab brings no format of its own, because the crate of it would be two fifths of what a build of the
/// simulator compiles: whoever wants files says who makes them.
pub trait TableFormat: Sync {
    /// Writes a whole table, with the metadata of its columns.
    fn write(&self, table: &RecordBatch, to: &mut (dyn Write + Send)) -> Result<(), Box<dyn Error>>;

    /// Reads a whole table, as one batch with text as `Utf8`.
    fn read(&self, path: &Path) -> Result<RecordBatch, Box<dyn Error>>;
}

/// Where results are written.
#[derive(Clone, Copy)]
pub struct Directory<'a> {
    /// The directory.
    pub path: &'a Path,
    /// What makes files of the tables.
    pub format: &'a dyn TableFormat,
}
