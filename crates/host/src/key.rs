//! The shared key, and the file that it is in.

use rustix::fs::OFlags;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Bytes of the longest file that can be a key: its hexadecimal digits, with some space around them.
const LONGEST_FILE: u64 = 256;

/// The key of [`crate::Admission::PreSharedKey`]: never printed, and overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct PreSharedKey(pub [u8; 32]);

impl fmt::Debug for PreSharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PreSharedKey(..)")
    }
}

/// Why a file gives no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It cannot be read.
    #[error("{}: {source}", file.display())]
    Io {
        /// Path as it was given.
        file: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Others than its owner may read or change it.
    #[error(
        "{}: mode {mode:04o} lets others than its owner at the key: chmod 600 {}",
        file.display(),
        file.display()
    )]
    Open {
        /// Path as it was given.
        file: PathBuf,
        /// Permissions of the file.
        mode: u32,
    },
    /// It belongs to another user, who can read and change it whatever its mode.
    #[error("{}: the file belongs to user {owner}, who can read the key: chown {user} {}", file.display(), file.display())]
    Owner {
        /// Path as it was given.
        file: PathBuf,
        /// The user that it belongs to.
        owner: u32,
        /// The user of this process.
        user: u32,
    },
    /// It is a directory, a pipe or a device.
    #[error("{}: no regular file, as a key has to be in", file.display())]
    Kind {
        /// Path as it was given.
        file: PathBuf,
    },
    /// It is all zeros.
    #[error("{}: the key is all zeros, which protects nothing: make one by `openssl rand -hex 32`", file.display())]
    Zero {
        /// Path as it was given.
        file: PathBuf,
    },
    /// It is not as long as a key, or not of digits.
    #[error("{}: a key is 32 bytes, or 64 hexadecimal digits", file.display())]
    Form {
        /// Path as it was given.
        file: PathBuf,
    },
}

impl PreSharedKey {
    /// The key in a file that only its owner can read: 32 bytes, or 64 hexadecimal digits.
    #[allow(clippy::disallowed_methods, reason = "keys come from files")]
    pub fn read(file: &Path) -> Result<PreSharedKey, KeyFileError> {
        let failed = |source| KeyFileError::Io { file: file.into(), source };
        // Opening a pipe would wait for a writer.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(file).map_err(failed)?;
        // Checks the opened file, because its name may belong to another one by now.
        let about = opened.metadata().map_err(failed)?;
        if !about.is_file() {
            return Err(KeyFileError::Kind { file: file.into() });
        }
        let mode = about.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyFileError::Open { file: file.into(), mode });
        }
        let (owner, user) = (about.uid(), rustix::process::geteuid().as_raw());
        // Root can read every file anyway, and often installs keys.
        if owner != user && owner != 0 {
            return Err(KeyFileError::Owner { file: file.into(), owner, user });
        }
        // As large as it can get: a vector that grows leaves copies of the key behind in freed memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST_FILE as usize + 1));
        // One byte more than allowed, to tell a file that is too long from one that fits exactly.
        opened.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
        let key = PreSharedKey::parse_file(&bytes).ok_or_else(|| KeyFileError::Form { file: file.into() })?;
        if key.is_zero() {
            return Err(KeyFileError::Zero { file: file.into() });
        }
        Ok(key)
    }

    /// True if it is all zeros, as a key is that was never filled in.
    pub(crate) fn is_zero(&self) -> bool {
        self.0 == [0; 32]
    }

    /// The key in the bytes of a file.
    fn parse_file(bytes: &[u8]) -> Option<PreSharedKey> {
        let mut key = PreSharedKey([0; 32]);
        // Before digits are tried: 32 bytes are never 64 digits.
        if bytes.len() == key.0.len() {
            key.0.copy_from_slice(bytes);
            return Some(key);
        }
        let digits = bytes.trim_ascii();
        if digits.len() != 2 * key.0.len() {
            return None;
        }
        for (byte, pair) in key.0.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Some(key)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "keys come from files")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn keys_are_bytes_or_digits() {
        let parse = |bytes: &[u8]| PreSharedKey::parse_file(bytes).map(|key| key.0.to_vec());
        let expected: Vec<u8> = [0x0a, 0xf1].repeat(16);
        assert_eq!(parse(format!(" {}\n", "0aF1".repeat(16)).as_bytes()), Some(expected.clone()));
        assert_eq!(parse(&expected), Some(expected));
        assert!(parse(b"").is_none() && parse(&[b'g'; 64]).is_none() && parse(&[0; 31]).is_none());
        assert!(parse("é".repeat(32).as_bytes()).is_none());
    }

    #[test]
    fn what_others_can_read_is_refused_by_mode_and_with_the_remedy() {
        let file = std::env::temp_dir().join(format!("headway-key-{}", std::process::id()));
        fs::write(&file, [5; 32]).expect("written");
        // Each lets the group or others read, write or execute, alone and together.
        for mode in [0o640, 0o604, 0o644, 0o620, 0o777, 0o610] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("set");
            let error = PreSharedKey::read(&file).expect_err("others can read it").to_string();
            let name = file.display();
            let expected =
                format!("{name}: mode {mode:04o} lets others than its owner at the key: chmod 600 {name}");
            assert_eq!(error, expected);
        }
        for mode in [0o600, 0o400] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("set");
            assert_eq!(PreSharedKey::read(&file).expect("a key"), PreSharedKey([5; 32]));
        }
        fs::write(&file, [5; 500]).expect("written");
        assert!(matches!(PreSharedKey::read(&file), Err(KeyFileError::Form { .. })));
        fs::write(&file, [0; 32]).expect("written");
        let error = PreSharedKey::read(&file).expect_err("all zeros").to_string();
        assert!(error.contains("the key is all zeros"), "{error}");
        fs::remove_file(&file).expect("removed");
        assert!(matches!(PreSharedKey::read(&file), Err(KeyFileError::Io { .. })));
        for other in ["/", "/dev/null"] {
            assert!(
                matches!(PreSharedKey::read(Path::new(other)), Err(KeyFileError::Kind { .. })),
                "{other}"
            );
        }
    }

    /// A pipe without a writer: reading it would never end.
    #[test]
    fn a_pipe_in_place_of_a_key_is_refused_at_once() {
        let pipe = std::env::temp_dir().join(format!("headway-pipe-{}", std::process::id()));
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).expect("a pipe");
        let error = PreSharedKey::read(&pipe).expect_err("no key");
        fs::remove_file(&pipe).expect("removed");
        assert!(matches!(error, KeyFileError::Kind { .. }), "{error}");
    }

    /// Only root can open such a file, or give one away.
    #[test]
    fn a_file_of_another_user_is_refused() {
        let file = std::env::temp_dir().join(format!("headway-owner-{}", std::process::id()));
        fs::write(&file, [5; 32]).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
        let given = std::os::unix::fs::chown(&file, Some(12_345), None).is_ok();
        let read = PreSharedKey::read(&file);
        fs::remove_file(&file).expect("removed");
        if given {
            let error = read.expect_err("of another").to_string();
            assert!(error.contains("belongs to user 12345"), "{error}");
        } else {
            assert_eq!(read.expect("one's own"), PreSharedKey([5; 32]));
        }
    }

    #[test]
    fn a_key_is_never_printed_and_is_overwritten() {
        let mut key = PreSharedKey([0x5a; 32]);
        assert_eq!(format!("{key:?}"), "PreSharedKey(..)");
        let config = crate::Config {
            admission: crate::Admission::PreSharedKey(key.clone()),
            ..crate::Config::default()
        };
        let (secret, text) = (crate::Secret([0x5a; 16]), format!("{config:?}"));
        assert!(!text.contains("90") && !text.contains("5a"), "{text}");
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        key.zeroize();
        assert_eq!(key.0, [0; 32]);
    }
}
