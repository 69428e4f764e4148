//! The committed object is what its source compiles to.
#![allow(clippy::disallowed_methods, reason = "the compiler is a program, and objects are files")]
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_object_is_what_the_source_compiles_to() {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let committed = fs::read_to_string(bpf.join("objects/clang-version")).expect("committed");
    let major = |version: &str| version.split('.').next().map(str::trim).unwrap_or_default().to_string();
    let here = Command::new("clang").arg("-dumpversion").output();
    let here = here.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if major(&here) != major(&committed) {
        let has = if here.is_empty() { "none".into() } else { major(&here) };
        eprintln!("skipped: the object is from clang {}, and here is {has}", major(&committed));
        return;
    }
    if Command::new("llvm-strip").arg("--version").output().is_err() {
        eprintln!("skipped: there is no llvm-strip");
        return;
    }
    let built = tempfile::tempdir().expect("a folder");
    let status = Command::new(bpf.join("build.sh")).arg(built.path()).status().expect("it runs");
    assert!(status.success());
    let read = |folder: &Path| fs::read(folder.join("redirect.bpf.o")).expect("an object");
    assert!(read(&bpf.join("objects")) == read(built.path()), "it is out of date: make kernel-objects");
}
