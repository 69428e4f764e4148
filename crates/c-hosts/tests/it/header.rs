//! The committed header is that of the functions.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_functions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("its settings");
    let sources = ["status.rs", "border.rs", "paths.rs"].map(|name| folder.join("src").join(name));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(source);
    }
    let mut fresh = Vec::new();
    builder.generate().expect("a header").write(&mut fresh);
    let fresh = String::from_utf8(fresh).expect("text");
    let path = folder.join("include/headway.h");
    if std::env::var_os("HEADWAY_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the header");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == fresh,
        "HEADWAY_BLESS=1 cargo test -p headway-c-hosts -- header:: writes {}",
        path.display()
    );
}
