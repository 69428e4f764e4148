//! Runs a scenario on real packets on one machine. Every host is a process in its own network namespace. One
//! software switch runs every switch of the topology. Time is slowed down by one factor, so that ordinary
//! hosts keep up ([`slowdown`]). The result is an [`Outcome`](headway_network::Outcome) in the scenario's own
//! units, as from the simulator.

pub mod capture;
pub mod child;
pub mod flow_log;
mod io;
pub mod kernel;
pub mod messages;
pub mod namespaces;
mod outcome;
pub mod payload;
mod run;
pub mod scenario;
pub mod slowdown;
mod usage;

pub use io::io_choice;
pub use outcome::Notes;
pub use run::{Measured, Programs, Settings, run_testbed};
pub use scenario::{Job, JobArgs};
pub use usage::{cpu_seconds, run_first};

/// Why a testbed run cannot be made, or went wrong.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// A privilege, a program or a kernel feature.
    #[error("the testbed needs {0}")]
    Missing(String),
    /// The scenario cannot be read or run.
    #[error(transparent)]
    Scenario(#[from] headway_lab::ScenarioError),
    /// A scenario that the testbed cannot run.
    #[error("{0}")]
    Unsuitable(String),
    /// The program `ip` failed.
    #[error("configuring a network namespace: {0}")]
    Namespace(String),
    /// A process of the testbed.
    #[error("the testbed's {name} failed: {why}")]
    Child {
        /// Name of the process.
        name: String,
        /// Reason of the failure.
        why: String,
    },
    /// The operating system refused an operation.
    #[error("{step}: {source}")]
    Io {
        /// Operation that failed.
        step: String,
        /// Error of the system.
        source: std::io::Error,
    },
}
