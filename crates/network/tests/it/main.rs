//! The integration tests of `headway-network`, one module a subject, in one program that links once.

mod clusters;
mod detours;
mod symmetric;
mod topologies;
