//! The integration tests of `headway-lab`, one module a subject, in one program that links once.

mod bad_input;
mod behaviour;
mod benchmark;
mod causes;
mod common;
mod corpus;
mod diff;
mod docs;
mod fabric;
mod idle;
mod jobs;
mod kernel;
mod layout;
mod memory;
mod models;
mod never_panics;
mod order;
mod probes;
mod run_length;
mod runs;
mod scenarios;
mod schema;
mod traces;
mod traffic;
mod tuning;
mod workloads;
