//! The integration tests of `headway-switch`, one module a subject, in one program that links once.

mod core;
mod frames;
mod objects;
mod rewrites;
