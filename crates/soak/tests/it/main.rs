//! The integration tests of `headway-soak`, one module a subject, in one program that links once.

mod documented;
mod fixed;
mod found;
mod lone;
mod shrinks;
mod within_memory;

use headway_soak::memory::Counting;

#[global_allocator]
static HEAP: Counting = Counting;
