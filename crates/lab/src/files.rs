//! Files that a scenario names.

#![allow(clippy::disallowed_methods, reason = "scenarios name files, and this is where they are read")]

use crate::text::{Item, Problem, ScenarioError};
use flate2::bufread::MultiGzDecoder;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// How a file that gzip has compressed begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Bytes of text in a compressed file at most. A small file may hold more than fits into memory.
const MOST_TEXT: u64 = 4_000_000_000;

/// The path and the text of a file named in a scenario; relative paths start at `folder`. The file may be compressed.
pub(crate) fn read(item: &Item<'_>, folder: &Path) -> Result<(PathBuf, String), ScenarioError> {
    let path = folder.join(item.text()?);
    let text = open(item, &path, text_of)?;
    Ok((path, text))
}

/// The bytes of a file that a scenario names or that belongs to one. The file may be compressed.
pub(crate) fn read_bytes(item: &Item<'_>, path: &Path) -> Result<Vec<u8>, ScenarioError> {
    open(item, path, bytes_of)
}

/// Names of the files beside one, in order; none where its folder cannot be read.
pub(crate) fn beside(path: &Path) -> Vec<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

fn open<T>(
    item: &Item<'_>,
    path: &Path,
    read: fn(&Path, u64) -> std::io::Result<T>,
) -> Result<T, ScenarioError> {
    let fail = |reason: String| {
        let problem = Problem::Unreadable { path: path.display().to_string(), reason };
        item.fail(problem).help("relative paths start at the folder of the scenario")
    };
    // A device or a pipe may never end.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(fail("it is not a file".into()));
    }
    read(path, MOST_TEXT).map_err(|error| fail(error.to_string()))
}

/// What kind of file its name says it is: the ending before that of a compressed file.
pub(crate) fn ending(path: &Path) -> Option<&str> {
    let inner = Path::new(path.file_stem()?);
    let outer = path.extension()?.to_str()?;
    if outer == "gz" { inner.extension()?.to_str() } else { Some(outer) }
}

fn text_of(path: &Path, most: u64) -> std::io::Result<String> {
    // As the standard library says it of a file that it reads as text.
    let no_text = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(bytes_of(path, most)?).map_err(no_text)
}

fn bytes_of(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut file = BufReader::new(std::fs::File::open(path)?);
    let mut bytes = Vec::new();
    if !file.fill_buf()?.starts_with(&GZIP) {
        file.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    MultiGzDecoder::new(file).take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(std::io::Error::other(format!("it holds more than {most} bytes of text")));
    }
    Ok(bytes)
}

/// Digest of a file's text, so that a run is identified by what it read and not by where.
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
        assert_eq!(text_of(&path, 100).expect("text"), "id,src\n");
        assert_eq!(
            text_of(&path, 6).expect_err("too much").to_string(),
            "it holds more than 6 bytes of text"
        );
        let whole = std::fs::read(&path).expect("bytes");
        std::fs::write(&path, &whole[..whole.len() - 4]).expect("it is cut");
        assert!(text_of(&path, 100).is_err(), "a file that is cut off");
        std::fs::write(&path, "plain").expect("text");
        assert_eq!(text_of(&path, 100).expect("text"), "plain");
    }

    #[test]
    fn the_ending_of_a_compressed_file_is_the_one_before() {
        let cases = [("a/b.csv", Some("csv")), ("b.cm.gz", Some("cm")), ("b.gz", None), ("b", None)];
        for (name, ending_of) in cases {
            assert_eq!(ending(Path::new(name)), ending_of, "{name}");
        }
    }
}
