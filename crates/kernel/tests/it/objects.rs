//! The committed objects are what the sources compile to.

#[test]
fn objects_are_what_the_sources_compile_to() {
    crate::committed::compare_objects(5);
}
