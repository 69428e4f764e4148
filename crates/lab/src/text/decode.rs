//! From the bytes of a file to its text.

use super::error::{Problem, ScenarioError};
use super::source::{Origin, Source};

/// Bytes of a file that are searched for a zero byte, which no text has.
// As many as git looks at for the same question.
const LOOKED_AT: usize = 8000;

/// The text that `bytes` hold; the error names the place where the file `name` is not UTF-8.
///
/// A file with a zero byte near its beginning is not a text at all. Any other is shown at its first byte that is not
/// UTF-8.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String, ScenarioError> {
    if let Some(at) = bytes.iter().take(LOOKED_AT).position(|byte| *byte == 0) {
        let reason = format!("it is a binary file, not text: byte {} is zero", at + 1);
        return Err(ScenarioError::nowhere(Problem::Unreadable { path: name.into(), reason }));
    }
    let (valid, bytes) = match String::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => (error.utf8_error().valid_up_to(), error.into_bytes()),
    };
    let wrong = bytes[valid];
    // Invalid bytes are shown as U+FFFD: the first one stands where the text before it ends.
    let source = Source::new(name, String::from_utf8_lossy(&bytes));
    let at = Origin::new(&source, valid..valid + char::REPLACEMENT_CHARACTER.len_utf8());
    let latin = char::from(wrong);
    let perhaps =
        if latin.is_alphanumeric() { format!(" (in Latin-1 it is `{latin}`)") } else { String::new() };
    let problem = Problem::Syntax(format!("not UTF-8: byte 0x{wrong:02x}{perhaps}"));
    Err(ScenarioError::new(problem, &at).help("save the file as UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_no_text_is_shown_where_it_stands() {
        let error = decode("x.toml", b"a = 1\n# caf\xe9 \xe9\n".to_vec()).expect_err("Latin-1");
        assert_eq!(error.to_string(), "not UTF-8: byte 0xe9 (in Latin-1 it is `\u{e9}`)");
        let at = error.origin().expect("a place");
        assert_eq!(at.source.line_column(at.span.start), (2, 6));
        assert_eq!(&at.source.text[at.span.clone()], "\u{fffd}");
        for cut in [&b"a = \"\xe2\x82"[..], b"\xff"] {
            assert!(decode("x.toml", cut.to_vec()).expect_err("cut off").origin().is_some());
        }
    }

    #[test]
    fn a_binary_file_is_not_shown() {
        for bytes in [&b"\0\x01\xff"[..], b"\x7fELF\x02\x01\0\0", b"text\n\0"] {
            let error = decode("x.bin", bytes.to_vec()).expect_err("binary");
            assert!(error.origin().is_none(), "{error}");
            assert!(error.to_string().contains("a binary file, not text"), "{error}");
        }
        assert_eq!(decode("x", "\u{feff}a = \"\u{20ac}\"".into()).expect("text"), "\u{feff}a = \"\u{20ac}\"");
    }
}
