//! How a table becomes a file, and a file a table.

use super::table::Table;
use std::error::Error;
use std::io::Write;
use std::path::Path;

/// Files of tables. The lab brings no format of its own, because the crates of it would be half of what a build of the
/// simulator compiles: whoever wants files says who makes them.
pub trait TableFormat: Sync {
    /// Writes a whole table, with the metadata of its columns.
    fn write(&self, table: &Table, to: &mut (dyn Write + Send)) -> Result<(), Box<dyn Error>>;

    /// Reads a whole table.
    fn read(&self, path: &Path) -> Result<Table, Box<dyn Error>>;
}

/// Where results are written.
#[derive(Clone, Copy)]
pub struct Directory<'a> {
    /// The directory.
    pub path: &'a Path,
    /// What makes files of the tables.
    pub format: &'a dyn TableFormat,
}
