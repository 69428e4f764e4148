//! Closed-form models of papers.

pub mod amrt;
pub mod l2dct;
pub mod proactmp;
pub mod rpo;
pub mod scheduling;

/// Why a model has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A value outside of the model.
    #[error("{name} must be {allowed}, not {found}")]
    Range {
        /// Which.
        name: &'static str,
        /// What it may be.
        allowed: &'static str,
        /// What it is.
        found: f64,
    },
}

/// An error unless a value is right.
fn check(name: &'static str, allowed: &'static str, found: f64, right: bool) -> Result<(), ModelError> {
    if right { Ok(()) } else { Err(ModelError::Range { name, allowed, found }) }
}
