//! C programs: they are compiled against the header, linked with the library, and run. Without a C compiler these tests
//! are skipped, and say so.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(60);

fn find_compiler() -> Option<&'static str> {
    let found = ["cc", "gcc", "clang"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        headway_testing::absent("C compiler");
    }
    found
}

/// Compiles one of the programs in `examples` with the library that this test was built with.
fn compile_example(compiler: &str, name: &str, folder: &Path) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let test = std::env::current_exe().expect("a path");
    let (program, library) = (folder.join(name), test.parent().expect("a folder"));
    let output = Command::new(compiler)
        // Strict C99 hides `poll` unless POSIX is asked for.
        .args(["-std=c99", "-D_POSIX_C_SOURCE=200112L", "-Wall", "-Wextra", "-Wno-sign-compare", "-Werror"])
        .args(["-O1", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(own.join("include"))
        .arg(own.join("examples").join(format!("{name}.c")))
        .arg("-L")
        .arg(library)
        .arg("-lheadway")
        // The program finds the library where cargo built it; nothing is installed.
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .output()
        .expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// A program that is killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    fn start_program(program: &Path, arguments: &[&str]) -> Running {
        let child = Command::new(program)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a program that runs");
        Running(child)
    }

    fn read_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
        line.trim().to_string()
    }

    /// Output of the program by its end, which must come in time.
    fn wait_output(mut self) -> Output {
        let until = Instant::now() + LONGEST;
        let status = loop {
            if let Some(status) = self.0.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < until, "it runs for longer than {LONGEST:?}");
            std::thread::sleep(Duration::from_millis(5));
        };
        // Its output is read at the end only: what these programs print fits into a pipe.
        let read = |from: &mut dyn std::io::Read| {
            let mut bytes = Vec::new();
            from.read_to_end(&mut bytes).expect("output");
            bytes
        };
        let stdout = read(self.0.stdout.as_mut().expect("piped"));
        let stderr = read(self.0.stderr.as_mut().expect("piped"));
        Output { status, stdout, stderr }
    }
}

fn utf8_text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[test]
fn two_processes_ask_and_answer() {
    let Some(compiler) = find_compiler() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_example(compiler, "reverse", folder.path());
    for settings in [&[][..], &["transport=homa", "mtu=9000", "rate=10 Gbps"]] {
        let mut server = Running::start_program(&program, &[&["serve", "127.0.0.1:0"], settings].concat());
        let address = server.read_line();
        let asked = Running::start_program(&program, &[&["ask", &address, "stressed"], settings].concat())
            .wait_output();
        assert!(asked.status.success(), "{}", utf8_text(&asked.stderr));
        assert_eq!(utf8_text(&asked.stdout), "desserts\n");
        let ended = server.wait_output();
        assert!(ended.status.success(), "{}", utf8_text(&ended.stderr));
    }
    let refused =
        Running::start_program(&program, &["serve", "127.0.0.1:0", "transport=homma"]).wait_output();
    assert_eq!(utf8_text(&refused.stderr), "error: there is no transport `homma`: did you mean `homa`?\n");
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn one_thread_polls_two_endpoints() {
    let Some(compiler) = find_compiler() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_example(compiler, "many", folder.path());
    let output = Running::start_program(&program, &["500"]).wait_output();
    assert!(output.status.success(), "{}", utf8_text(&output.stderr));
    assert_eq!(utf8_text(&output.stdout), "500 replies, 0 of them wrong\n");
}

#[test]
fn the_page_shows_the_examples() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(own.join("../../docs/c-hosts.md")).expect("the page");
    for name in ["reverse.c", "many.c"] {
        let example = std::fs::read_to_string(own.join("examples").join(name)).expect("the example");
        let begin = format!("```c file={name}\n");
        let from =
            page.find(&begin).unwrap_or_else(|| panic!("docs/c-hosts.md does not show {name}")) + begin.len();
        let shown = &page[from..from + page[from..].find("```").expect("its end")];
        assert!(shown == example, "docs/c-hosts.md shows another {name}");
    }
}

#[test]
fn the_header_is_one_for_cpp_as_well() {
    let Some(compiler) = find_compiler() else { return };
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(compiler)
        .args(["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
        .arg(own.join("include/headway.h"))
        .output()
        .expect("a compiler");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if words.contains("cc1plus") {
        headway_testing::absent("C++ compiler");
        return;
    }
    assert!(output.status.success(), "{words}");
}
