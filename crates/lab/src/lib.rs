//! The lab reads scenarios, runs them, and writes their results.
//!
//! [`Request`] reads a scenario ([`Scenario`]) and reports mistakes with file, line and caret.
//! [`run_scenario`] runs it and writes a run directory. Wall-clock time, files and floating point are used
//! here, and not in the crates below.

pub mod capture;
pub mod catalogue;
mod declared;
pub mod diff;
pub mod fabric;
mod files;
pub mod foreign;
pub mod import;
pub mod imported;
pub mod keys;
pub mod model;
pub mod pages;
mod param_values;
pub mod perfetto;
pub mod results;
pub mod run;
pub mod scenario;
pub mod switch_memory;
pub mod text;
pub mod topology;
pub mod traffic;
pub mod workload;

pub use capture::Capture;
pub use foreign::Foreign;
pub use results::{Directory, RunOutput, TableFormat};
pub use run::{Desk, Live, Options, RunProgress, check_scenario, run_scenario, scaling, write_results};
pub use scenario::{Request, Resolved, Scenario, Setup};
pub use text::{LabError, Problem, ScenarioError};
