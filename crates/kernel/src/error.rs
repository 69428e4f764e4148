//! Errors, in one sentence each.

use headway_params::ParamError;

/// Why a congestion control is not loaded, listed or unloaded.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The machine, or this build, lacks something.
    #[error("congestion controls in the kernel need {0}")]
    Missing(String),
    /// A `--set` that is not `name=value`.
    #[error("--set {0}: write it as name=value")]
    NoValue(String),
    /// A parameter of no such name.
    #[error("--set {name}: {control} has no such parameter{hint}")]
    NoSuchParameter {
        /// Name as it was written.
        name: String,
        /// Name of the control.
        control: &'static str,
        /// Suggestion of a similar name.
        hint: String,
    },
    /// A value that the parameter does not take.
    #[error("--set {text}: {reason}")]
    BadValue {
        /// Text as it was written.
        text: String,
        /// Reason of the refusal.
        reason: String,
    },
    /// A name that Linux does not take.
    #[error(
        "`{0}` cannot be the name of a congestion control: 1 to 15 letters, digits, `_` and `-`; choose another --suffix"
    )]
    BadName(String),
    /// A name that is in use.
    #[error(
        "a congestion control named {0} is registered already: another --suffix gives this one another name"
    )]
    NameTaken(String),
    /// Nothing of that name.
    #[error("no congestion control named {name} is loaded from BPF{hint}")]
    NotLoaded {
        /// Name as it was written.
        name: String,
        /// Those that are.
        hint: String,
    },
    /// It is held by something else than a `headway-kernel`.
    #[error("{name} is held by {holder}, which is not this program: end that")]
    Foreign {
        /// The congestion control.
        name: String,
        /// Process or network namespace that holds it.
        holder: String,
    },
    /// The kernel or the file system refused.
    #[error("{step}: {reason}")]
    Refused {
        /// Step that was tried.
        step: String,
        /// Error that came back.
        reason: String,
    },
}

impl KernelError {
    /// Makes the error of a step that the kernel refused.
    pub fn refused_step(step: impl Into<String>, reason: impl std::fmt::Display) -> KernelError {
        KernelError::Refused { step: step.into(), reason: reason.to_string() }
    }

    /// A refused value.
    pub fn bad_value(text: &str, error: &ParamError) -> KernelError {
        KernelError::BadValue { text: text.into(), reason: error.to_string() }
    }
}
