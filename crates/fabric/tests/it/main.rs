//! The integration tests of `headway-fabric`, one module a subject, in one program that links once.

mod common;
mod limits;
mod sequences;
