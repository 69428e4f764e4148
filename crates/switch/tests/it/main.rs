//! The integration tests of `headway-switch`, one module a subject, in one program that links once.

#[path = "../../../kernel/tests/it/committed.rs"]
mod committed;
mod core;
mod frames;
mod hostile;
mod objects;
mod rewrites;
