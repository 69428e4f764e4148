//! The kernel's programs in C, compiled for this machine.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Compiles a source next to this file and runs it: arguments, then the file of the settings; the text is its input.
/// `None` without a C compiler.
pub(crate) fn compiled_output(
    source: &str,
    arguments: &[&str],
    settings: &[u8],
    text: &str,
) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(source);
    let mut compiler = Command::new("cc");
    compiler.args([
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        // Overflow of signed numbers and shifts out of range end the program instead of going unnoticed.
        "-fsanitize=undefined",
        "-fno-sanitize-recover",
        "-o",
    ]);
    match compiler.arg(file("program")).arg(source).status() {
        Ok(status) => assert!(status.success(), "it compiles"),
        Err(_) => {
            headway_testing::absent("C compiler");
            return None;
        }
    }
    fs::write(file("settings"), settings).expect("written");
    fs::write(file("steps"), text).expect("written");
    let output = Command::new(file("program"))
        .args(arguments)
        .arg(file("settings"))
        .stdin(Stdio::from(File::open(file("steps")).expect("written")))
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("numbers"))
}
