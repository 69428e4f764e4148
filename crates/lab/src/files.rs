//! Files that a scenario names.

#![allow(clippy::disallowed_methods, reason = "scenarios name files, and this is where they are read")]

use crate::text::{Item, Problem, ScenarioError};
use std::path::{Path, PathBuf};

/// The path and the text of a file named in a scenario; relative paths start at `folder`.
pub(crate) fn read(item: &Item<'_>, folder: &Path) -> Result<(PathBuf, String), ScenarioError> {
    let path = folder.join(item.text()?);
    let fail = |reason: String| {
        let problem = Problem::Unreadable { path: path.display().to_string(), reason };
        item.fail(problem).help("relative paths start at the folder of the scenario")
    };
    // A device or a pipe may never end.
    if std::fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(fail("it is not a file".into()));
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(error) => Err(fail(error.to_string())),
    }
}

/// Digest of a file's text, so that a run is identified by what it read and not by where.
pub(crate) fn digest(text: &str) -> String {
    use sha2::Digest;
    hex(&sha2::Sha256::digest(text.as_bytes()))
}

/// Bytes as hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
