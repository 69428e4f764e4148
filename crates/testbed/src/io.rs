//! The option `--io` of the programs.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use headway_switch::IoChoice;

/// Reads a choice of packet I/O.
pub fn io_choice() -> impl TypedValueParser<Value = IoChoice> {
    PossibleValuesParser::new(IoChoice::WORDS).map(|word| IoChoice::of(&word).unwrap_or_default())
}
