//! The committed object is what its source compiles to.

#[test]
fn the_object_is_what_the_source_compiles_to() {
    crate::committed::compare_objects(1);
}
