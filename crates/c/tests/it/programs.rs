//! C programs: they are compiled against the header, linked with the library, and run. Without a C compiler these tests
//! are skipped, and say so.

use headway_lab::{Options, Request, RunOutput, run_scenario};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The network of both ways to do the same; `traffic` says which.
fn scenario_text(transport: &str, hosts: u32, traffic: &str) -> String {
    format!(
        "[topology]\nkind = \"single-switch\"\nhosts = {hosts}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\
         [transport]\nname = \"{transport}\"\n[[traffic]]\n{traffic}"
    )
}

const EXTERNAL: &str = "kind = \"external\"\n";

fn find_compiler() -> Option<&'static str> {
    let found = ["cc", "gcc", "clang"].into_iter().find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    if found.is_none() {
        headway_testing::absent("C compiler");
    }
    found
}

/// The folder with the libraries that this test was built with.
fn library_folder() -> PathBuf {
    let program = std::env::current_exe().expect("a path");
    // Cargo puts the shared library that it builds for a test next to the test's program.
    program.parent().expect("a folder").to_path_buf()
}

/// Compiles one of the programs in `examples`.
fn compile_example(compiler: &str, name: &str, folder: &Path) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join(name);
    let library = library_folder();
    let output = Command::new(compiler)
        .args(["-std=c99", "-Wall", "-Wextra", "-Wno-sign-compare", "-Werror", "-O1", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(own.join("include"))
        .arg(own.join("examples").join(format!("{name}.c")))
        .arg("-L")
        .arg(&library)
        .arg("-lheadway_c")
        // The program finds the library where it was built; nothing is installed.
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .output()
        .expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run_program(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().expect("a program that runs")
}

fn printed_text(program: &Path, arguments: &[&str]) -> String {
    let output = run_program(program, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn in_rust(text: &str) -> RunOutput {
    let scenario = Request::text(text, "own", Path::new("."), &[], None).load().expect("a scenario");
    run_scenario(&scenario, &Options::default(), &mut |_| true).expect("a run")
}

#[test]
fn ping_pong_takes_as_long_each_way_as_a_message_alone() {
    let Some(compiler) = find_compiler() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_example(compiler, "ping_pong", folder.path());
    let path = folder.path().join("two.toml");
    std::fs::write(&path, scenario_text("ndp", 2, EXTERNAL)).expect("a file");
    let text = printed_text(&program, &[path.to_str().expect("text")]);
    let flow = "kind = \"flows\"\nflows = [{ src = 0, dst = 1, bytes = 100000 }]\n";
    // Messages of a ping-pong are never in each other's way, so the first takes as long as a flow alone.
    let alone =
        in_rust(&scenario_text("ndp", 2, flow)).summary["fct_mean_s"].as_f64().expect("a number") * 1e12;
    let took: Vec<u64> = text
        .lines()
        .filter_map(|line| line.strip_prefix("message ")?.split(' ').nth(2)?.parse().ok())
        .collect();
    assert_eq!(took.len(), 4, "{text}");
    assert_eq!(took[0], alone.round() as u64, "{text}");
    assert!(text.ends_with(&format!("all took {} ps\n", took.iter().sum::<u64>())), "{text}");
    // Settings come from the command line, and a mistake is shown with its place.
    let slower = printed_text(&program, &[path.to_str().expect("text"), "topology.delay=2 us"]);
    assert_ne!(slower, text);
    let wrong = run_program(&program, &[path.to_str().expect("text"), "topology.hots=3"]);
    let words = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && words.contains("hots") && words.contains("hosts"), "{words}");
}

#[test]
fn the_page_shows_the_example_and_what_it_prints() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(own.join("../../docs/c-interface.md")).expect("the page");
    let block = |begin: &str| {
        let from = page.find(begin).expect("a block") + begin.len();
        &page[from..from + page[from..].find("```").expect("its end")]
    };
    let example = std::fs::read_to_string(own.join("examples/ping_pong.c")).expect("the example");
    assert!(block("```c file=ping_pong.c\n") == example, "docs/c-interface.md shows another ping_pong.c");
    let Some(compiler) = find_compiler() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_example(compiler, "ping_pong", folder.path());
    let path = folder.path().join("two.toml");
    std::fs::write(&path, block("```toml file=two.toml\n")).expect("a file");
    let text = printed_text(&program, &[path.to_str().expect("text")]);
    assert!(page.contains(&format!("$ ./ping_pong two.toml\n{text}```")), "it prints:\n{text}");
}

#[test]
fn a_ring_all_reduce_in_c_is_that_of_a_scenario_to_the_picosecond_under_every_transport() {
    let Some(compiler) = find_compiler() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_example(compiler, "ring_allreduce", folder.path());
    let collective = "kind = \"allreduce\"\nalgorithm = \"ring\"\nbytes = 1000003\n";
    for transport in headway_transport::registry::NAMES.iter().copied() {
        let path = folder.path().join(format!("{transport}.toml"));
        std::fs::write(&path, scenario_text(transport, 6, EXTERNAL)).expect("a file");
        let results = folder.path().join(transport);
        let (path, results) = (path.to_str().expect("text"), results.to_str().expect("text"));
        let text = printed_text(&program, &[path, "1000003", results]);
        let listed = in_rust(&scenario_text(transport, 6, collective));
        let digest = listed.manifest["order_digest"].as_str().expect("a digest");
        let end = listed.manifest["virtual_s"].as_f64().expect("a time");
        let expected = format!("6 ranks, 60 messages: {} ps\ndigest {digest}\n", (end * 1e12).round());
        assert_eq!(text, expected, "{transport}");
        // Its results are those of a run of the command line.
        let written = std::fs::read_to_string(Path::new(results).join("manifest.json")).expect("a manifest");
        let manifest: serde_json::Value = serde_json::from_str(&written).expect("JSON");
        assert_eq!(manifest["order_digest"], digest, "{transport}");
        let warnings = manifest["warnings"].to_string();
        assert!(warnings.contains("60 of 60 flows came from another program"), "{transport}: {warnings}");
        for name in ["flows.parquet", "links.parquet", "summary.json", "SHA256SUMS"] {
            assert!(Path::new(results).join(name).is_file(), "{transport}: {name}");
        }
        // Equal calls, equal runs.
        assert_eq!(printed_text(&program, &[path, "1000003", "-"]), text, "{transport}");
    }
}

#[test]
fn the_header_is_one_for_cpp_as_well() {
    let Some(compiler) = find_compiler() else { return };
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(compiler)
        .args(["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
        .arg(own.join("include/headway_sim.h"))
        .output()
        .expect("a compiler");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    // gcc without its C++ part says that it cannot execute `cc1plus`.
    if words.contains("cc1plus") {
        headway_testing::absent("C++ compiler");
        return;
    }
    // A header alone has a `#pragma once` or is compiled as a main file; neither is a mistake of its own.
    assert!(output.status.success(), "{words}");
}
