//! The committed code of the tests' services is what tonic makes of `tests/proto`; a program of its own, which compiles whatever
//! that code is.
#![allow(clippy::disallowed_methods, reason = "reads and writes files of generated code")]

use std::path::Path;

#[test]
fn the_committed_code_is_that_of_the_services() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let fresh = std::env::temp_dir().join(format!("headway-tonic-{}", std::process::id()));
    std::fs::create_dir_all(&fresh).expect("a folder");
    let files = ["helloworld.proto", "routeguide.proto"];
    let services = protox::compile(files, [folder.join("proto")]).expect("services");
    tonic_prost_build::configure()
        .build_transport(false)
        .out_dir(&fresh)
        .compile_fds(services)
        .expect("their code");
    for name in ["helloworld.rs", "routeguide.rs"] {
        let code = std::fs::read_to_string(fresh.join(name)).expect("code");
        let path = folder.join("it/generated").join(name);
        if std::env::var_os("HEADWAY_BLESS").is_some() {
            std::fs::write(&path, &code).expect("the code");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == code,
            "HEADWAY_BLESS=1 cargo test -p headway-tonic --test code writes {}",
            path.display()
        );
    }
    std::fs::remove_dir_all(&fresh).expect("removed");
}
