//! Parameters declared as data.
//!
//! A protocol or a port discipline lists its parameters once with the [`params!`](crate::params)
//! macro. The scenario schema, the command line, the documentation tables and the manifest are
//! derived from that list, so a parameter cannot exist in one of them alone.

pub mod names;
pub mod quantity;
pub mod takes;

use headway_units::{Rate, Time};
use quantity::Dimension;
use std::fmt;

/// Kind of a parameter: its type and range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// `true` or `false`.
    Bool,
    /// A count: a whole number in an inclusive range.
    Int {
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// A number in an inclusive range.
    Float {
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// A duration with a unit, in an inclusive range.
    Time {
        /// Shortest one allowed.
        min: Time,
        /// Longest one allowed.
        max: Time,
    },
    /// Bytes in an inclusive range: a whole number, or one with a unit.
    Bytes {
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// Bytes with a unit, in an inclusive range; 0 needs none. For keys such as thresholds, which elsewhere are packets
    /// without a unit: a number alone would be taken for those.
    Length {
        /// Smallest value allowed.
        min: u64,
        /// Largest value allowed.
        max: u64,
    },
    /// A rate with a unit, in an inclusive range.
    Rate {
        /// Slowest one allowed.
        min: Rate,
        /// Fastest one allowed.
        max: Rate,
    },
    /// One of a list of words.
    Choice(&'static [&'static str]),
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// Value of a [`ParamKind::Bool`].
    Bool(bool),
    /// See [`ParamKind::Int`] and [`ParamKind::Bytes`].
    Int(u64),
    /// Value of a [`ParamKind::Float`].
    Float(f64),
    /// Value of a [`ParamKind::Time`].
    Time(Time),
    /// Value of a [`ParamKind::Rate`].
    Rate(Rate),
    /// Value of a [`ParamKind::Choice`].
    Choice(String),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Bool(v) => v.fmt(f),
            ParamValue::Int(v) => v.fmt(f),
            ParamValue::Float(v) => v.fmt(f),
            ParamValue::Time(v) => v.fmt(f),
            ParamValue::Rate(v) => v.fmt(f),
            ParamValue::Choice(v) => v.fmt(f),
        }
    }
}

/// One declared parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSpec {
    /// Key in a scenario.
    pub name: &'static str,
    /// Type and range of its values.
    pub kind: ParamKind,
    /// Value when a scenario does not say.
    pub default: ParamValue,
    /// One sentence with unit and source.
    pub doc: &'static str,
}

/// Why a value was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamError {
    /// No parameter of that name.
    #[error("no parameter `{0}`")]
    Unknown(String),
    /// Wrong type of value.
    #[error("`{name}` takes {expected}")]
    Type {
        /// Name of the parameter.
        name: &'static str,
        /// Values that it takes, in words.
        expected: String,
    },
    /// The parameter lacks a default here.
    #[error("`{name}` has to be given: {why}")]
    Missing {
        /// Name of the parameter.
        name: &'static str,
        /// Why it is wanted.
        why: String,
    },
    /// Right type, value outside its range.
    #[error("`{name}` takes {expected}")]
    Range {
        /// Name of the parameter.
        name: &'static str,
        /// Values that it takes, in words.
        expected: String,
    },
}

impl ParamKind {
    /// Form of a value of this kind, in words.
    pub fn expected_form(&self) -> String {
        match self {
            ParamKind::Bool => "true or false".into(),
            ParamKind::Int { min, max: u64::MAX } => format!("a whole number of at least {min}"),
            ParamKind::Int { min, max } => format!("a whole number from {min} to {max}"),
            ParamKind::Float { min, max } => format!("a number from {min} to {max}"),
            ParamKind::Time { min, max } => {
                format!("a duration with a unit, such as \"40 us\", from {min} to {max}")
            }
            ParamKind::Bytes { min, max: u64::MAX } => {
                format!("bytes, such as 1500 or \"1 MB\", at least {min}")
            }
            ParamKind::Bytes { min, max } => format!("bytes, such as 1500 or \"1 MB\", from {min} to {max}"),
            ParamKind::Length { min, max } => {
                format!("bytes with a unit, such as \"100 kB\", from {min} B to {max} B")
            }
            ParamKind::Rate { min, max } => {
                format!("a rate with a unit, such as \"10 Gbps\", from {min} to {max}")
            }
            ParamKind::Choice(words) => format!("one of {}", words.join(", ")),
        }
    }
}

impl ParamKind {
    /// The kind in one word, for listings.
    pub fn kind_name(&self) -> &'static str {
        match self {
            ParamKind::Bool => "bool",
            ParamKind::Int { .. } => "int",
            ParamKind::Float { .. } => "float",
            ParamKind::Time { .. } => "duration",
            ParamKind::Bytes { .. } | ParamKind::Length { .. } => "bytes",
            ParamKind::Rate { .. } => "rate",
            ParamKind::Choice(_) => "choice",
        }
    }

    /// Both ends of its range, for a duration also the second shortest (the shortest is often 0); or all words of a choice.
    pub fn range_ends(&self) -> Vec<ParamValue> {
        match *self {
            ParamKind::Bool => vec![ParamValue::Bool(false), ParamValue::Bool(true)],
            ParamKind::Int { min, max } | ParamKind::Bytes { min, max } | ParamKind::Length { min, max } => {
                vec![ParamValue::Int(min), ParamValue::Int(max)]
            }
            ParamKind::Float { min, max } => vec![ParamValue::Float(min), ParamValue::Float(max)],
            ParamKind::Time { min, max } => [min, Time(min.0 + 1), max].map(ParamValue::Time).to_vec(),
            ParamKind::Rate { min, max } => vec![ParamValue::Rate(min), ParamValue::Rate(max)],
            ParamKind::Choice(words) => words.iter().map(|word| ParamValue::Choice((*word).into())).collect(),
        }
    }
}

impl ParamKind {
    /// The value that a text says, as in `1500`, `1 MB`, `40 us`, `true`; its range is for [`ParamSpec::check_value`].
    fn parse_value(&self, text: &str) -> Option<ParamValue> {
        let amount = |wanted: Dimension| {
            quantity::parse_quantity(text)
                .ok()
                .filter(|found| found.dimension == wanted)
                .map(|found| found.amount)
        };
        match self {
            ParamKind::Bool => text.parse().ok().map(ParamValue::Bool),
            ParamKind::Int { .. } => text.parse().ok().map(ParamValue::Int),
            ParamKind::Float { .. } => {
                // `inf` and `nan` parse as numbers.
                text.parse().ok().filter(|number: &f64| number.is_finite()).map(ParamValue::Float)
            }
            ParamKind::Time { .. } => amount(Dimension::Time).map(|ps| ParamValue::Time(Time(ps))),
            ParamKind::Bytes { .. } => {
                text.parse().ok().or_else(|| amount(Dimension::Bytes)).map(ParamValue::Int)
            }
            ParamKind::Length { .. } if text == "0" => Some(ParamValue::Int(0)),
            ParamKind::Length { .. } => amount(Dimension::Bytes).map(ParamValue::Int),
            ParamKind::Rate { .. } => amount(Dimension::Rate).and_then(Rate::new).map(ParamValue::Rate),
            ParamKind::Choice(_) => Some(ParamValue::Choice(text.into())),
        }
    }
}

impl ParamSpec {
    /// Reads a value from plain text, such as `1500`, `1 MB`, `40 us` or `true`; files have a syntax of their own.
    ///
    /// ```
    /// use headway_params::{ParamKind, ParamSpec, ParamValue};
    /// use headway_units::Time;
    /// let kind = ParamKind::Time { min: Time::ZERO, max: Time::s(1) };
    /// let spec = ParamSpec { name: "grace", kind, default: ParamValue::Time(Time::ZERO), doc: "" };
    /// assert_eq!(spec.read_value(" 40 us"), Ok(ParamValue::Time(Time::us(40))));
    /// assert!(spec.read_value("40").is_err() && spec.read_value("2 s").is_err());
    /// ```
    pub fn read_value(&self, text: &str) -> Result<ParamValue, ParamError> {
        let wrong = || ParamError::Type { name: self.name, expected: self.kind.expected_form() };
        let value = self.kind.parse_value(text.trim()).ok_or_else(wrong)?;
        self.check_value(&value).map(|()| value)
    }

    /// Checks that `value` is of this parameter's kind and in its range.
    pub fn check_value(&self, value: &ParamValue) -> Result<(), ParamError> {
        self.kind.check_value(self.name, value)
    }
}

impl ParamKind {
    fn check_value(&self, name: &'static str, value: &ParamValue) -> Result<(), ParamError> {
        let expected = || self.expected_form();
        let in_range = match (self, value) {
            (ParamKind::Bool, ParamValue::Bool(_)) => true,
            (ParamKind::Time { min, max }, ParamValue::Time(v)) => (min..=max).contains(&v),
            (
                ParamKind::Int { min, max } | ParamKind::Bytes { min, max } | ParamKind::Length { min, max },
                ParamValue::Int(v),
            ) => (min..=max).contains(&v),
            // `Rate` has no order of its own.
            (ParamKind::Rate { min, max }, ParamValue::Rate(v)) => (min.bps()..=max.bps()).contains(&v.bps()),
            // A NaN compares with nothing, and so is outside every range.
            (ParamKind::Float { min, max }, ParamValue::Float(v)) => (min..=max).contains(&v),
            (ParamKind::Choice(words), ParamValue::Choice(v)) => words.contains(&v.as_str()),
            _ => return Err(ParamError::Type { name, expected: expected() }),
        };
        if in_range { Ok(()) } else { Err(ParamError::Range { name, expected: expected() }) }
    }
}

/// A struct of parameters made by the [`params!`](crate::params) macro.
pub trait Params: Clone + Default + fmt::Debug + PartialEq {
    /// The declared parameters, in order.
    fn specs() -> Vec<ParamSpec>;
    /// The current value of each, in the order of [`Params::specs`].
    fn values(&self) -> Vec<ParamValue>;
    /// Sets one by name.
    fn set(&mut self, name: &str, value: ParamValue) -> Result<(), ParamError>;
}

/// Record of a parameter by [`params!`](crate::params): its name, its kind, and its sentence.
pub type Declared = (&'static str, ParamKind, &'static str);

/// The declarations with these defaults.
#[doc(hidden)]
pub fn make_specs(declared: &[Declared], defaults: Vec<ParamValue>) -> Vec<ParamSpec> {
    // Here and not in the macro, which would repeat it for every struct.
    let spec = |(&(name, kind, doc), default)| ParamSpec { name, kind, default, doc };
    declared.iter().zip(defaults).map(spec).collect()
}

/// Checks a value for the parameter called `name`.
#[doc(hidden)]
pub fn check_declared(declared: &[Declared], name: &str, value: &ParamValue) -> Result<(), ParamError> {
    let unknown = || ParamError::Unknown(name.into());
    let &(name, kind, _) = declared.iter().find(|declared| declared.0 == name).ok_or_else(unknown)?;
    kind.check_value(name, value)
}

/// The values `after`, but for those in which `params` differs from `before`, which stand; `except` never do.
/// This is the effect of a preset: it changes the values that were not set.
pub fn rebase_preset<P: Params>(params: &P, before: &P, after: P, except: &[&str]) -> Result<P, ParamError> {
    let mut out = after;
    // A value that was set to the preset's own cannot be told from one that was not set.
    let said = changed_values(&P::specs(), params.values(), &before.values());
    said.into_iter()
        .filter(|(name, _)| !except.contains(name))
        .try_for_each(|(name, mine)| out.set(name, mine))?;
    Ok(out)
}

/// The parameters whose value differs from that in `before`, with their new values.
pub fn changed_values(
    specs: &[ParamSpec],
    values: Vec<ParamValue>,
    before: &[ParamValue],
) -> Vec<(&'static str, ParamValue)> {
    let changed = specs.iter().zip(values).zip(before).filter(|((_, new), old)| new != *old);
    changed.map(|((spec, new), _)| (spec.name, new)).collect()
}

/// Conversion between a field of a parameter struct and a [`ParamValue`].
pub trait ParamField: Clone {
    /// The field as a value.
    fn to_value(&self) -> ParamValue;
    /// The field from a value that passed [`ParamSpec::check_value`].
    fn from_value(value: ParamValue) -> Option<Self>;
}

macro_rules! plain_field {
    ($($type:ty => $variant:ident),*) => {$(
        impl ParamField for $type {
            fn to_value(&self) -> ParamValue {
                ParamValue::$variant(self.clone())
            }
            fn from_value(value: ParamValue) -> Option<Self> {
                match value {
                    ParamValue::$variant(v) => Some(v),
                    _ => None,
                }
            }
        }
    )*};
}
plain_field!(bool => Bool, u64 => Int, f64 => Float, Time => Time, Rate => Rate);

/// Declares parameters of which one, `preset`, gives all others the values of that preset, but for those that differ
/// from the preset before: other settings of a scenario stand, in any order. `$values` declares them all, and has
/// `of(preset)`.
#[macro_export]
macro_rules! preset_params {
    ($(#[$meta:meta])* pub struct $name:ident(pub $values:ty);) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name(pub $values);

        impl $crate::Params for $name {
            fn specs() -> Vec<$crate::ParamSpec> {
                <$values as $crate::Params>::specs()
            }

            fn values(&self) -> Vec<$crate::ParamValue> {
                $crate::Params::values(&self.0)
            }

            fn set(&mut self, name: &str, value: $crate::ParamValue) -> Result<(), $crate::ParamError> {
                // The preset so far tells which values were set: those that differ from its own.
                let before = self.0.preset;
                $crate::Params::set(&mut self.0, name, value)?;
                if name == "preset" {
                    let (usual, wanted) = (<$values>::for_preset(before), <$values>::for_preset(self.0.preset));
                    self.0 = $crate::rebase_preset(&self.0, &usual, wanted, &["preset"])?;
                }
                Ok(())
            }
        }
    };
}

/// Declares several lists of parameters as one. A name belongs to the first part that knows it.
///
/// ```
/// headway_params::params! {
///     /// One.
///     pub struct One {
///         /// First.
///         a: u64 = 1, headway_params::ParamKind::Int { min: 0, max: 9 };
///     }
/// }
/// headway_params::params! {
///     /// Two.
///     pub struct Two {
///         /// Second.
///         b: bool = true, headway_params::ParamKind::Bool;
///     }
/// }
/// headway_params::joined_params! {
///     /// Both.
///     pub struct Both {
///         /// The first part.
///         one: One,
///         /// The second.
///         two: Two,
///     }
/// }
/// use headway_params::{ParamValue, Params};
/// let mut both = Both::default();
/// assert_eq!(both.set("b", ParamValue::Bool(false)), Ok(()));
/// assert_eq!((both.one.a, both.two.b, Both::specs().len()), (1, false, 2));
/// assert!(both.set("c", ParamValue::Int(1)).is_err());
/// ```
#[macro_export]
macro_rules! joined_params {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$part_meta:meta])* $part:ident: $type:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $($(#[$part_meta])* pub $part: $type),+ }

        impl $crate::Params for $name {
            fn specs() -> Vec<$crate::ParamSpec> {
                [$(<$type as $crate::Params>::specs()),+].concat()
            }

            fn values(&self) -> Vec<$crate::ParamValue> {
                [$($crate::Params::values(&self.$part)),+].concat()
            }

            fn set(&mut self, name: &str, value: $crate::ParamValue) -> Result<(), $crate::ParamError> {
                $(
                    match $crate::Params::set(&mut self.$part, name, value.clone()) {
                        // A name that this part does not know may belong to the next one. Any other error is
                        // final.
                        Err($crate::ParamError::Unknown(_)) => {}
                        other => return other,
                    }
                )+
                Err($crate::ParamError::Unknown(name.into()))
            }
        }
    };
}

/// Declares an enum whose variants are words in a scenario, usable as a parameter field.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }
        impl $name {
            /// The words, in order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// The word of this variant.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
        impl $crate::ParamField for $name {
            fn to_value(&self) -> $crate::ParamValue {
                $crate::ParamValue::Choice(self.word().into())
            }
            fn from_value(value: $crate::ParamValue) -> Option<Self> {
                match value {
                    $crate::ParamValue::Choice(word) => match word.as_str() {
                        $($word => Some($name::$variant),)+
                        _ => None,
                    },
                    _ => None,
                }
            }
        }
    };
}

/// Declares a struct of parameters.
///
/// ```
/// use headway_params::{ParamKind, Params};
/// headway_params::params! {
///     /// What a window protocol can be told.
///     pub struct WindowParams {
///         /// Packets in flight.
///         window: u64 = 8, ParamKind::Int { min: 1, max: u64::MAX };
///     }
/// }
/// assert_eq!(WindowParams::default().window, 8);
/// assert_eq!(WindowParams::specs()[0].doc, "Packets in flight.");
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty = $default:expr, $kind:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: $type),* }
        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default),* }
            }
        }
        impl $name {
            const DECLARED: &'static [$crate::Declared] = &[$(
                // A doc comment begins with a space.
                (stringify!($field), $kind, concat!($($doc),+).trim_ascii())
            ),*];
        }
        impl $crate::Params for $name {
            fn specs() -> Vec<$crate::ParamSpec> {
                $crate::make_specs(Self::DECLARED, $crate::Params::values(&<$name>::default()))
            }
            fn values(&self) -> Vec<$crate::ParamValue> {
                vec![$($crate::ParamField::to_value(&self.$field)),*]
            }
            fn set(&mut self, name: &str, value: $crate::ParamValue) -> Result<(), $crate::ParamError> {
                $crate::check_declared(Self::DECLARED, name, &value)?;
                match name {
                    $(stringify!($field) => {
                        // The check has seen to the type.
                        if let Some(v) = $crate::ParamField::from_value(value) {
                            self.$field = v;
                        }
                    })*
                    // `check_declared` has refused every other name.
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "the macro declares public structs")]
mod tests {
    use super::*;

    crate::params! {
        /// One of each kind that has a unit.
        pub struct Quantities {
            /// Depth in bytes.
            depth: u64 = 3_000, ParamKind::Bytes { min: 1, max: 1_000_000 };
            /// A rate with bounds.
            floor: Rate = Rate::gbps(1), ParamKind::Rate { min: Rate::gbps(1), max: Rate::gbps(400) };
            /// A duration with bounds.
            after: Time = Time::us(3), ParamKind::Time { min: Time::ZERO, max: Time::ms(1) };
        }
    }

    #[test]
    fn every_kind_takes_the_ends_of_its_range_and_nothing_of_another_kind() {
        let all: Vec<_> = Quantities::specs().iter().flat_map(|spec| spec.kind.range_ends()).collect();
        for spec in Quantities::specs() {
            let ends = spec.kind.range_ends();
            for value in &all {
                let mut params = Quantities::default();
                let set = params.set(spec.name, value.clone());
                assert_eq!(set.is_ok(), ends.contains(value), "{}: {value}", spec.name);
            }
        }
    }

    #[test]
    fn beyond_the_range_is_said_with_the_unit() {
        let mut params = Quantities::default();
        let slow = Rate::new(1).map(ParamValue::Rate).expect("not zero");
        let error = params.set("floor", slow).expect_err("below").to_string();
        assert_eq!(error, "`floor` takes a rate with a unit, such as \"10 Gbps\", from 1 Gbps to 400 Gbps");
        let error = params.set("depth", ParamValue::Int(0)).expect_err("below").to_string();
        assert_eq!(error, "`depth` takes bytes, such as 1500 or \"1 MB\", from 1 to 1000000");
    }
}
