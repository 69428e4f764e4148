//! Tells the module which commit it is built from.

#![allow(clippy::disallowed_methods, reason = "the commit is asked of git when the module is built")]

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|o| o.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_string())
    };
    // The log and not HEAD itself, which only names the branch and does not change with a commit.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    // Symbols of Python are resolved when it loads the module. maturin passes this as well; a build of the whole
    // workspace needs it here.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("macos") {
        println!("cargo::rustc-cdylib-link-arg=-undefined");
        println!("cargo::rustc-cdylib-link-arg=dynamic_lookup");
    }
    if let Some(commit) = git(&["rev-parse", "HEAD"]) {
        // Untracked files are not compiled in, and results would count as changed by every file of output.
        let changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|s| !s.is_empty());
        println!("cargo::rustc-env=HEADWAY_COMMIT={commit}{}", if changed { "-dirty" } else { "" });
    }
}
