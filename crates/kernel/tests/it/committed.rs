//! Checks that the committed objects of a crate are the compiled form of its sources; the crate is the one that
//! includes this file.
#![allow(clippy::disallowed_methods, reason = "the compiler is a program, and objects are files")]
#![allow(unreachable_pub, reason = "two crates include this file")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiles them again and compares all `count`; skips where there is another compiler.
pub fn compare_objects(count: usize) {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let committed = fs::read_to_string(bpf.join("objects/clang-version")).expect("committed");
    let major = |version: &str| version.split('.').next().map(str::trim).unwrap_or_default().to_string();
    let here = Command::new("clang").arg("-dumpversion").output();
    let here = here.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    // Another major version may compile to other instructions; within one the bytes are the same.
    if major(&here) != major(&committed) {
        headway_testing::absent(&format!("clang {}", major(&committed)));
        return;
    }
    if Command::new("llvm-strip").arg("--version").output().is_err() {
        headway_testing::absent("llvm-strip");
        return;
    }
    let built = tempfile::tempdir().expect("a folder");
    let status = Command::new(bpf.join("build.sh")).arg(built.path()).status().expect("it runs");
    assert!(status.success());
    let mut compared = 0;
    for entry in fs::read_dir(built.path()).expect("a folder").flatten() {
        if entry.file_name() == "clang-version" {
            continue;
        }
        let bytes =
            |path: &Path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let old = bytes(&bpf.join("objects").join(entry.file_name()));
        assert!(old == bytes(&entry.path()), "{:?} is out of date: make kernel-objects", entry.file_name());
        compared += 1;
    }
    // A build that makes nothing would otherwise pass.
    assert_eq!(compared, count);
}
