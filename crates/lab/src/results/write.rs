//! Writing a run directory: each file whole or not at all.

#![allow(clippy::disallowed_methods, reason = "this is where run directories are written")]

use super::RunOutput;
use crate::text::LabError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::Value as Json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Makes the directory, proves that it can be written, and takes away what would make an unfinished run
/// look finished.
pub fn prepare(dir: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(dir).map_err(|e| unwritable(dir, &e))?;
    let probe = dir.join(".headway-probe");
    std::fs::write(&probe, b"")
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|e| unwritable(dir, &e))?;
    for stale in ["manifest.json", "flows.csv"] {
        match std::fs::remove_file(dir.join(stale)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(unwritable(&dir.join(stale), &e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes every file of a run; the manifest last, because a directory with one is complete.
pub fn write(dir: &Path, output: &RunOutput, csv: bool) -> Result<(), LabError> {
    for (name, table) in [("flows", &output.flows), ("links", &output.links), ("series", &output.series)] {
        atomically(&dir.join(format!("{name}.parquet")), |file| parquet_to(file, table))?;
    }
    if csv {
        atomically(&dir.join("flows.csv"), |file| csv_to(file, &output.flows))?;
    }
    for (name, document) in [("summary", &output.summary), ("manifest", &output.manifest)] {
        atomically(&dir.join(format!("{name}.json")), |file| json_to(file, document))?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> LabError {
    LabError::Unwritable { path: path.to_path_buf(), reason: error.to_string() }
}

type Written = Result<(), Box<dyn std::error::Error>>;

/// Writes beside the file and renames, so that a reader never meets half of it.
fn atomically(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Written) -> Result<(), LabError> {
    let fail = |e: &dyn std::fmt::Display| unwritable(path, e);
    let part = partial(path);
    let mut file = BufWriter::new(File::create(&part).map_err(|e| fail(&e))?);
    fill(&mut file).map_err(|e| fail(&e))?;
    file.flush().map_err(|e| fail(&e))?;
    std::fs::rename(&part, path).map_err(|e| fail(&e))
}

fn partial(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.part"))
}

fn parquet_to(file: &mut BufWriter<File>, table: &RecordBatch) -> Written {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("headway {}", crate::scenario::VERSION))
        .build();
    let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties))?;
    writer.write(table)?;
    writer.close()?;
    Ok(())
}

fn json_to(file: &mut BufWriter<File>, document: &Json) -> Written {
    serde_json::to_writer_pretty(&mut *file, document)?;
    writeln!(file)?;
    Ok(())
}

fn csv_to(file: &mut BufWriter<File>, table: &RecordBatch) -> Written {
    let schema = table.schema();
    let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
    writeln!(file, "{}", names.join(","))?;
    let mut line = String::new();
    for row in 0..table.num_rows() {
        line.clear();
        for (index, column) in table.columns().iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            line.push_str(&cell(column.as_ref(), row));
        }
        writeln!(file, "{line}")?;
    }
    Ok(())
}

/// One value as text; nothing for null.
fn cell(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        DataType::UInt16 => column.as_primitive::<UInt16Type>().value(row).to_string(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float64 => format!("{:?}", column.as_primitive::<Float64Type>().value(row)),
        _ => quoted(column.as_string::<i32>().value(row)),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}
