//! The integration tests of `headway-perf`, one module a subject, in one program that links once.

mod protocol;
mod refused;
mod run;
