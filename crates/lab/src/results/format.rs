//! Conversion between tables and files.

use super::table::Table;
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// Files of tables. The lab brings no format of its own, because the crates of it would be half of what a build of the
/// simulator compiles: a caller that wants files passes a writer.
pub trait TableFormat: Sync {
    /// Writes a whole table, with the metadata of its columns.
    fn write(&self, table: &Table, to: &mut (dyn Write + Send)) -> Result<(), Box<dyn Error>>;

    /// Reads a whole table.
    fn read(&self, path: &Path) -> Result<Table, Box<dyn Error>>;
}

/// Destination of results.
#[derive(Clone, Copy)]
pub struct Directory<'a> {
    /// Path of the directory.
    pub path: &'a Path,
    /// Format of the tables' files.
    pub format: &'a dyn TableFormat,
}
