//! Text that people write: scenarios, arguments, tables; the origin of each value, and its faults.

pub mod decode;
pub mod error;
pub mod key;
pub mod overrides;
pub mod parse;
pub mod reader;
pub mod share;
mod show;
pub mod source;
pub mod spans;
pub mod tree;

pub use headway_params::{names, quantity};

pub use decode::decode;
pub use error::{LabError, Problem, ScenarioError};
pub use reader::{Item, Reader};
pub use share::Share;
pub use source::{Origin, Source};
pub use tree::{Entry, Node, Table, Value};
