//! Closed-form models of papers.

pub mod amrt;
pub mod rpo;
