//! Whether the engine is compiled for each transport.
//!
//! An optimised build has an engine for the machines of each transport, which is what makes runs fast. Compiling them takes
//! most of the time of this crate. An unoptimised build, as the tests are, has one engine for machines behind a pointer,
//! which sees the same events.
#![allow(clippy::disallowed_methods, reason = "cargo says by the environment how it builds")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(engine_for_each)");
    if !matches!(std::env::var("OPT_LEVEL").as_deref(), Ok("0" | "1")) {
        println!("cargo::rustc-cfg=engine_for_each");
    }
}
