//! Closed-form models of papers. Each is a file here, and a line in [`models!`] below.
//!
//! A model declares the keys of its `[model]` table, the functions that expressions of claims may call, and draws what
//! its table asks for. Nothing outside its file knows a model by its name.

mod function;
mod gain;
mod path;
mod picture;
mod reading;

pub use function::{Arguments, Function, Value, evaluate};
pub use picture::{Axis, Curve, Panel, Picture, Range};
pub use reading::{Settings, read, stored};

use crate::text::key::Key;
use crate::text::{Reader, ScenarioError};
use serde_json::{Map, Value as Json};
use std::fmt::Debug;
use std::sync::Arc;

/// Declares the files of all models, and makes the list of them.
macro_rules! models {
    ($($module:ident::$model:ident),+ $(,)?) => {
        $(
            pub mod $module;
            pub use $module::$model;
        )+

        /// Every kind of model.
        pub const KINDS: &[Kind] = &[$(Kind::of::<$model>()),+];
    };
}

models! {
    amrt::AmrtGain,
    rpo::RpoGain,
    scheduling::Scheduling,
    l2dct_backoff::L2dctBackoff,
    l2dct_cycle::L2dctCycle,
    proactmp::ProactmpCredit,
}

/// Declaration of a model.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Paper, year and section.
    pub paper: &'static str,
    /// The keys of its table: its reader may ask for these, and for no other.
    pub keys: &'static [Key],
    /// A table that is right, without `name`, as TOML.
    pub example: &'static str,
    /// Functions that expressions of claims may call.
    pub functions: &'static [Function],
}

/// A model of the list: its declarations, and the reader of its table.
pub struct Kind {
    /// Its name, its keys, its functions.
    pub info: Info,
    read: fn(&Reader<'_>) -> Result<Arc<dyn Model>, ScenarioError>,
}

impl Kind {
    const fn of<M: Declared>() -> Kind {
        Kind { info: M::INFO, read: read_one::<M> }
    }
}

fn read_one<M: Declared>(table: &Reader<'_>) -> Result<Arc<dyn Model>, ScenarioError> {
    Ok(Arc::new(M::read(table)?))
}

/// A model with the values of its table.
pub trait Model: Debug + Send + Sync {
    /// Every key with its value, and the results in the units of the model, in the order of the documentation.
    fn table(&self) -> Map<String, Json>;

    /// Draws the curves that its table asks for.
    fn draw(&self) -> Result<Picture, ModelError>;
}

/// A model: its declarations, and the reader of its table.
pub(crate) trait Declared: Model + Sized + 'static {
    /// Its name, its keys, its functions.
    const INFO: Info;

    /// The model with the values of its table.
    fn read(table: &Reader<'_>) -> Result<Self, ScenarioError>;
}

/// Reason why a model has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A value outside of the model.
    #[error("{name} must be {allowed}, not {found}")]
    Range {
        /// Name of the argument.
        name: &'static str,
        /// Range that is allowed.
        allowed: &'static str,
        /// Value that was given.
        found: f64,
    },
    /// A word that the model does not know.
    #[error("{found:?} is not one of {known}")]
    Word {
        /// The word that was given.
        found: String,
        /// All that it knows.
        known: String,
    },
    /// A number that the model does not compute.
    #[error("the model has no {found} (it has {known})")]
    Answer {
        /// The picture that was requested.
        found: String,
        /// All that it computes.
        known: String,
    },
    /// Lists that belong together and have different lengths.
    #[error("{0}")]
    Lengths(&'static str),
    /// An argument of another type.
    #[error("`{function}` takes {takes} as `{argument}`")]
    Argument {
        /// Name of the function.
        function: &'static str,
        /// Name of the argument.
        argument: &'static str,
        /// Values that it takes, in words.
        takes: &'static str,
    },
    /// Another number of arguments.
    #[error("it is {function}({arguments})")]
    Count {
        /// Name that the expression called.
        function: &'static str,
        /// The names of its arguments.
        arguments: String,
    },
    /// A function that no model has.
    #[error("no model has a function `{0}`")]
    Function(String),
}

/// An error unless a value is right.
fn check(name: &'static str, allowed: &'static str, found: f64, right: bool) -> Result<(), ModelError> {
    if right { Ok(()) } else { Err(ModelError::Range { name, allowed, found }) }
}

/// An error unless a value is finite and more than 0.
fn positive(name: &'static str, value: f64) -> Result<(), ModelError> {
    check(name, "more than 0", value, value > 0.0 && value.is_finite())
}
