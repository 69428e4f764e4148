//! Writing a run directory: each file whole or not at all, with a checksum next to it.

#![allow(clippy::disallowed_methods, reason = "this is where run directories are written")]

use super::{Column, Directory, RunOutput, Table};
use crate::files::hex;
use crate::text::LabError;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The file of checksums, as `sha256sum` writes and checks it.
const CHECKSUMS: &str = "SHA256SUMS";

/// Makes the directory, proves that it can be written, and takes away what would make an unfinished run
/// look finished.
pub fn prepare(dir: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(dir).map_err(|e| unwritable(dir, &e))?;
    let probe = dir.join(".headway-probe");
    // Before the run, which may take hours that would be lost.
    std::fs::write(&probe, b"")
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|e| unwritable(dir, &e))?;
    // The manifest first, since a directory with one is complete. The last three are not written by every run.
    for stale in ["manifest.json", CHECKSUMS, "flows.csv", "steps.parquet", "edges.parquet"] {
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
pub fn write(to: Directory<'_>, output: &RunOutput, csv: bool) -> Result<(), LabError> {
    let Directory { path: dir, format } = to;
    let mut sums = String::new();
    let mut one = |name: &str, fill: &dyn Fn(&mut Sink) -> Written| {
        let written = Part::write(&dir.join(name), fill)?;
        sums += &written.line(name);
        Ok::<Part, LabError>(written)
    };
    let always = [("flows", &output.flows), ("links", &output.links), ("series", &output.series)];
    let of_graph = output.graph.iter().flat_map(|(steps, edges)| [("steps", steps), ("edges", edges)]);
    for (name, table) in always.into_iter().chain(of_graph) {
        one(&format!("{name}.parquet"), &|file| format.write(table, file))?.place()?;
    }
    if csv {
        one("flows.csv", &|file| csv_to(file, &output.flows))?.place()?;
    }
    one("summary.json", &|file| json_to(file, &output.summary))?.place()?;
    // Written before the checksums, which cover it, and put in its place after them.
    let manifest = one("manifest.json", &|file| json_to(file, &output.manifest))?;
    Part::write(&dir.join(CHECKSUMS), &|file| Ok(file.write_all(sums.as_bytes())?))?.place()?;
    manifest.place()
}

fn unwritable(path: &Path, error: &(dyn std::error::Error + 'static)) -> LabError {
    let kind = error.downcast_ref().map_or(std::io::ErrorKind::Other, std::io::Error::kind);
    LabError::Unwritable { path: path.to_path_buf(), reason: error.to_string(), kind }
}

type Written = Result<(), Box<dyn std::error::Error>>;

/// A file that is being written, and the checksum of its bytes.
struct Sink {
    file: BufWriter<File>,
    hash: Sha256,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hash.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// A file that is written whole next to its place, so that a reader never meets half of it.
struct Part {
    path: PathBuf,
    hash: Sha256,
}

impl Part {
    fn write(path: &Path, fill: &dyn Fn(&mut Sink) -> Written) -> Result<Part, LabError> {
        let file = BufWriter::new(File::create(partial(path)).map_err(|e| unwritable(path, &e))?);
        let mut sink = Sink { file, hash: Sha256::new() };
        fill(&mut sink).map_err(|e| unwritable(path, &*e))?;
        sink.flush().map_err(|e| unwritable(path, &e))?;
        Ok(Part { path: path.to_path_buf(), hash: sink.hash })
    }

    /// Its line in the file of checksums.
    fn line(&self, name: &str) -> String {
        format!("{}  {name}\n", hex(&self.hash.clone().finalize()))
    }

    /// Puts it in its place.
    fn place(self) -> Result<(), LabError> {
        std::fs::rename(partial(&self.path), &self.path).map_err(|e| unwritable(&self.path, &e))
    }
}

fn partial(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.part"))
}

fn json_to(file: &mut Sink, document: &Json) -> Written {
    serde_json::to_writer_pretty(&mut *file, document)?;
    writeln!(file)?;
    Ok(())
}

fn csv_to(file: &mut Sink, table: &Table) -> Written {
    let names: Vec<&str> = table.schema().fields().iter().map(|f| f.name().as_str()).collect();
    writeln!(file, "{}", names.join(","))?;
    let mut line = String::new();
    for row in 0..table.rows() {
        line.clear();
        for (index, column) in table.columns().iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            line.push_str(&cell(column, row));
        }
        writeln!(file, "{line}")?;
    }
    Ok(())
}

/// One value as text; nothing for null.
fn cell(column: &Column, row: usize) -> String {
    let text = match column {
        Column::UInt16(numbers) => numbers.get(row).map(|number| number.to_string()),
        Column::UInt32(numbers) => numbers.get(row).map(|number| number.to_string()),
        Column::UInt64(numbers) => numbers.get(row).map(|number| number.to_string()),
        // The shortest text that reads back as the same number.
        Column::Float64(numbers) => numbers.get(row).map(|number| format!("{number:?}")),
        Column::Text(text) => text.get(row).map(quoted),
    };
    text.unwrap_or_default()
}

/// A text as a field. A spreadsheet takes what begins with one of these signs for a formula, but for the apostrophe.
fn quoted(text: &str) -> String {
    let mark = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    let text = format!("{mark}{text}");
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
