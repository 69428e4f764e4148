//! A kernel that refuses some calls, put before the real one with `LD_PRELOAD`.
#![allow(clippy::disallowed_methods, reason = "real processes")]

use crate::run::{Running, json_number, json_output};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

// Numbers of Linux as texts, because they are handed to the library in an environment variable.
const EPERM: &str = "1";
const EIO: &str = "5";
const EINVAL: &str = "22";

/// The kernel as a library, in a folder of its own; `None` without a C compiler.
fn build_kernel() -> Option<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join("refuse.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/refuse.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&library).arg(source);
    match compiler.arg("-ldl").status() {
        Ok(status) => assert!(status.success(), "it compiles"),
        Err(_) => {
            headway_testing::absent("C compiler");
            // A machine without a compiler skips the test, and says so.
            return None;
        }
    }
    Some((folder, library))
}

/// The variables of a kernel that refuses `what` with this error.
fn refusing_variables<'a>(library: &'a Path, what: &'a str, errno: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("LD_PRELOAD", library.to_str().expect("a name")), ("REFUSE", what), ("ERRNO", errno)]
}

/// A transport whose packets have marks and priorities.
const TRANSPORT: [&str; 2] = ["--transport", "dctcp"];

#[test]
fn messages_go_on_without_marks_where_the_kernel_refuses_them() {
    let Some((_folder, library)) = build_kernel() else { return };
    for (what, errno, said) in
        [("tos", EINVAL, "EINVAL"), ("ecn", EINVAL, "EINVAL"), ("tos", EPERM, "EPERM"), ("tos", EIO, "EIO")]
    {
        let with = refusing_variables(&library, what, errno);
        for (at_server, at_client) in [(&[][..], &with[..]), (&with, &[])] {
            let (server, address) = Running::serve_with(at_server, &TRANSPORT);
            let bulk = ["bulk", &address, "--json", "--bytes", "3000000"];
            let output = Running::start_with(at_client, &[&bulk[..], &TRANSPORT].concat()).wait_end();
            let report = json_output(&output);
            assert_eq!(json_number(&report, "/bytes"), 3e6, "{what} {said}");
            let error = String::from_utf8(output.stderr).expect("text");
            if !at_client.is_empty() {
                assert!(json_number(&report, "/counters/marks_refused") > 0.0, "{what} {said}: {report}");
                let note = format!(
                    "the kernel refused type-of-service bytes: datagrams leave without, and no switch can mark them ({said}"
                );
                assert_eq!(error.matches(&note).count(), 1, "{error}");
            } else {
                assert!(!error.contains("refused"), "{what} {said}: {error}");
            }
            assert_eq!(report.pointer("/counters/send_errors"), None, "{what} {said}: {report}");
            drop(server);
        }
    }
}

#[test]
fn who_cannot_send_at_all_is_not_told_that_the_peer_does_not_answer() {
    let Some((_folder, library)) = build_kernel() else { return };
    let (_server, address) = Running::serve_with(&[], &TRANSPORT);
    let with = refusing_variables(&library, "all", EPERM);
    // 0.3 s is shorter than the second after which refusals count as final, so the call itself times out.
    for (command, timeout) in [("bulk", "20"), ("latency", "20"), ("latency", "0.3")] {
        let arguments = [&[command, &address, "--timeout", timeout][..], &TRANSPORT].concat();
        let output = Running::start_with(&with, &arguments).wait_end();
        let error = String::from_utf8(output.stderr).expect("text");
        assert!(error.contains("this host's kernel refuses to send to the peer: EPERM"), "{error}");
        assert!(!error.contains("answer"), "{error}");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn a_row_that_is_refused_once_takes_nothing_from_the_rows_after_it() {
    let Some((_folder, library)) = build_kernel() else { return };
    let (_server, address) = Running::serve_with(&[], &TRANSPORT);
    let with = [refusing_variables(&library, "rows", EIO), vec![("ONCE", "1")]].concat();
    // 100 MB are thousands of rows, so that one more refusal would be seen.
    let arguments = [&["bulk", &address, "--json", "--bytes", "100000000"][..], &TRANSPORT].concat();
    let report = json_output(&Running::start_with(&with, &arguments).wait_end());
    // Were rows given up, or refused again and again, it would be 0 or many.
    assert_eq!(json_number(&report, "/counters/rows_refused"), 1.0, "{report}");
    assert_eq!(report.pointer("/counters/send_errors"), None, "{report}");
}

#[test]
fn the_doctor_says_what_the_kernel_refuses() {
    let Some((_folder, library)) = build_kernel() else { return };
    for (what, errno, verdict, found) in [
        ("none", EPERM, "good", "takes rows of datagrams with marks"),
        ("tos", EINVAL, "change", "refuses type-of-service bytes"),
        ("rows", EIO, "change", "refuses to cut up rows"),
        ("all", EPERM, "change", "refuses to send datagrams: they are lost (EPERM"),
    ] {
        let output = Running::start_with(
            &refusing_variables(&library, what, errno),
            &["doctor", "127.0.0.1", "--json"],
        )
        .wait_end();
        let report = json_output(&output);
        let findings = report["findings"].as_array().expect("a list");
        let sending = findings.iter().find(|finding| finding["item"] == "sending").expect("it is looked at");
        assert_eq!(sending["verdict"], verdict, "{sending}");
        assert!(sending["found"].as_str().expect("a text").contains(found), "{sending}");
    }
}
