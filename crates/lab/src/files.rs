//! Files that a scenario names.

#![allow(clippy::disallowed_methods, reason = "scenarios name files, and this is where they are read")]

use crate::import::format::{Format, Ranked};
use crate::import::kinds;
use crate::import::trace::Binary;
use crate::text::{Item, Problem, ScenarioError, Source, decode};
use flate2::bufread::MultiGzDecoder;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// First bytes of a file that gzip has compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Bytes of text in a compressed file at most. A small file may hold more than fits into memory.
const MOST_TEXT: u64 = 4_000_000_000;

/// The path and the text of a file named in a scenario; relative paths start at `folder`. The file may be compressed.
pub(crate) fn read(item: &Item<'_>, folder: &Path) -> Result<(PathBuf, String), ScenarioError> {
    let path = folder.join(item.text()?);
    let bytes = open(&path, bytes_of)
        .map_err(|problem| item.fail(problem).help("relative paths start at the folder of the scenario"))?;
    // A zero byte means a binary file, whose kind says more than that it is no text.
    let known = kinds::other(&bytes, |_| false).filter(|_| bytes.contains(&0));
    let text = decode(&path.display().to_string(), bytes).map_err(|error| match (error.origin(), known) {
        (_, Some((what, help))) => {
            item.fail(Problem::Syntax(format!("{what}, and no text"))).maybe_help(help.map(Into::into))
        }
        (Some(_), None) => error,
        (None, None) => item.fail(error.problem().clone()),
    })?;
    Ok((path, text))
}

/// The name and the bytes of a file; it may be compressed.
pub(crate) fn contents(path: &Path) -> Result<(String, Vec<u8>), Problem> {
    Ok((path.display().to_string(), open(path, bytes_of)?))
}

/// Error for a file that cannot be read.
fn unreadable(path: &Path, reason: impl Into<String>) -> Problem {
    Problem::Unreadable { path: path.display().to_string(), reason: reason.into() }
}

fn open<T>(path: &Path, read: fn(&Path, u64) -> std::io::Result<T>) -> Result<T, Problem> {
    // A device or a pipe may never end.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(unreadable(path, "it is not a file"));
    }
    read(path, MOST_TEXT).map_err(|error| unreadable(path, error.to_string()))
}

/// The files of a trace.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Format of the files.
    pub(crate) format: Format,
    /// Files in the order of their ranks.
    pub(crate) files: Vec<Binary>,
    /// The list of groups next to them, and true if it was given by name.
    pub(crate) groups: Option<(Arc<Source>, bool)>,
}

/// Why a trace cannot be opened.
#[derive(Debug)]
pub(crate) enum Unopened {
    /// A file does not exist, or cannot be read.
    Unreadable(Problem),
    /// It is not a trace, or not of the format that was named: its real kind, or the likeliest kinds and the objection
    /// to each.
    Other(Binary, String, Option<&'static str>),
}

impl Unopened {
    /// The error, placed at `item`, which names the file, or else at the file's own first byte.
    pub(crate) fn error(self, item: Option<&Item<'_>>) -> ScenarioError {
        match (self, item) {
            (Unopened::Unreadable(problem), Some(item)) => {
                item.fail(problem).help("relative paths start at the folder of the scenario")
            }
            (Unopened::Unreadable(problem), None) => ScenarioError::nowhere(problem),
            (Unopened::Other(file, text, help), _) => {
                file.into_file().fail(0..1, text).maybe_help(help.map(Into::into))
            }
        }
    }
}

impl Opened {
    /// Opens the file at `path` and, if there is one for each rank, all others next to it; and the list of groups at
    /// `groups`, or else the one next to them.
    pub(crate) fn new(path: &Path, said: Option<Format>, groups: Option<&Path>) -> Result<Opened, Unopened> {
        let read = |path: &Path| {
            let bytes = open(path, bytes_of).map_err(Unopened::Unreadable)?;
            Ok(Binary { name: path.display().to_string(), bytes })
        };
        let first = read(path)?;
        let format = match said {
            Some(format) => match kinds::other(&first.bytes, |kind| kind.is(format)) {
                Some((text, help)) => return Err(Unopened::Other(first, text, help)),
                None => format,
            },
            None => match kinds::find(&first.bytes) {
                Ok(kinds::Kind { reader: kinds::Reader::Trace(format), .. }) => *format,
                Ok(_) => {
                    let (text, help) = kinds::other(&first.bytes, |_| false).unwrap_or_default();
                    return Err(Unopened::Other(first, format!("{text}, and no trace"), help));
                }
                Err(unknown) => {
                    let help = "`format` says what it is, if it is one of these nevertheless";
                    return Err(Unopened::Other(first, unknown.text, Some(help)));
                }
            },
        };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let beside = beside(path);
        let default = || {
            let names = format.groups(name);
            names.iter().find(|name| beside.contains(name)).map(|name| (path.with_file_name(name), false))
        };
        let groups = match groups.map(|path| (path.to_path_buf(), true)).or_else(default) {
            None => None,
            Some((path, is_asked)) => {
                let Binary { name, bytes } = read(&path)?;
                let text = String::from_utf8(bytes).map_err(|_| {
                    Unopened::Unreadable(unreadable(&path, "it is no text, as a list of groups is"))
                })?;
                Some((Source::new(name, text), is_asked))
            }
        };
        let Some(Ranked { before, after, is_certain, .. }) = format.of_rank(name) else {
            return Ok(Opened { format, files: vec![first], groups });
        };
        let ranks: BTreeSet<u32> = beside
            .iter()
            .filter_map(|other| format.of_rank(other))
            .filter(|other| (&other.before, &other.after) == (&before, &after))
            .map(|other| other.rank)
            .collect();
        let is_whole = ranks.first() == Some(&0) && ranks.last() == Some(&(ranks.len() as u32 - 1));
        // `x_0.et` by itself may be any file; only next to `x_1.et` is its number a rank.
        if !(is_certain || is_whole && ranks.len() > 1) {
            return Ok(Opened { format, files: vec![first], groups });
        }
        let mut files = Vec::with_capacity(ranks.len());
        // The first missing rank is named in the error.
        for rank in 0..=ranks.last().copied().unwrap_or(0) {
            let path = path.with_file_name(format!("{before}{rank}{after}"));
            if !ranks.contains(&rank) {
                let most = ranks.last().copied().unwrap_or(0);
                let reason = format!("it is not there, and files of ranks up to {most} are");
                return Err(Unopened::Unreadable(unreadable(&path, reason)));
            }
            files.push(read(&path)?);
        }
        Ok(Opened { format, files, groups })
    }

    /// Digest of all files.
    pub(crate) fn digest(&self) -> String {
        let groups = self.groups.as_ref().map(|(source, _)| digest(&source.text));
        match &self.files[..] {
            [only] if groups.is_none() => digest(&only.bytes),
            all => digest(all.iter().map(|file| digest(&file.bytes)).chain(groups).collect::<String>()),
        }
    }
}

/// Names of the files in the same folder; none if the folder cannot be read.
fn beside(path: &Path) -> Vec<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn bytes_of(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut file = BufReader::new(std::fs::File::open(path)?);
    let mut bytes = Vec::new();
    // By content and not by name, as the kinds of files are.
    if !file.fill_buf()?.starts_with(&GZIP) {
        file.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    // One byte more than allowed tells a file that is too large from one that just fits.
    MultiGzDecoder::new(file).take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(std::io::Error::other(format!("it holds more than {most} bytes of text")));
    }
    Ok(bytes)
}

/// Digest of a file's text, so that a run is identified by the content that it read and not by its place.
pub(crate) fn digest(content: impl AsRef<[u8]>) -> String {
    use sha2::Digest;
    hex(&sha2::Sha256::digest(content))
}

/// Bytes as hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    #[test]
    fn a_compressed_file_is_read_by_its_first_bytes_and_never_without_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("flows.csv.gz");
        let mut encoder = GzEncoder::new(std::fs::File::create(&path).expect("a file"), Compression::fast());
        encoder.write_all(b"id,src\n").expect("it takes text");
        encoder.finish().expect("it ends");
        assert_eq!(bytes_of(&path, 100).expect("text"), b"id,src\n");
        assert_eq!(
            bytes_of(&path, 6).expect_err("too much").to_string(),
            "it holds more than 6 bytes of text"
        );
        let whole = std::fs::read(&path).expect("bytes");
        std::fs::write(&path, &whole[..whole.len() - 4]).expect("it is cut");
        assert!(bytes_of(&path, 100).is_err(), "a file that is cut off");
        std::fs::write(&path, "plain").expect("text");
        assert_eq!(bytes_of(&path, 100).expect("text"), b"plain");
    }
}
