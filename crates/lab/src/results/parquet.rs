//! Parquet files by the crate `parquet`, for programs without Python.

#![allow(clippy::disallowed_methods, reason = "this is where results are read")]

use super::format::{Directory, TableFormat};
use super::table::Table;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Parquet with Snappy.
pub struct Parquet;

impl TableFormat for Parquet {
    fn write(&self, table: &Table, to: &mut (dyn Write + Send)) -> Result<(), Box<dyn Error>> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("headway {}", crate::scenario::VERSION))
            .build();
        let mut writer = ArrowWriter::try_new(to, Arc::clone(table.schema()), Some(properties))?;
        writer.write(&table.to_arrow()?)?;
        writer.close()?;
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Table, Box<dyn Error>> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
        let rows = usize::try_from(builder.metadata().file_metadata().num_rows())?;
        let schema = builder.schema().clone();
        // All rows in one batch.
        let mut batches = builder.with_batch_size(rows.max(1)).build()?;
        let batch = batches.next().transpose()?.unwrap_or_else(|| RecordBatch::new_empty(schema));
        Ok(Table::from_arrow(&batch)?)
    }
}

impl<'a> Directory<'a> {
    /// A directory whose tables the crate `parquet` writes.
    pub fn parquet(path: &'a Path) -> Directory<'a> {
        Directory { path, format: &Parquet }
    }
}
