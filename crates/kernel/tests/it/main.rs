//! The programs for the kernel, compared with the machines of the lab, and with their committed objects.
#![allow(clippy::disallowed_methods, reason = "tests run compilers")]
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

mod committed;
mod course;
mod host;
mod objects;
mod replay;
mod sequences;
mod tables;
