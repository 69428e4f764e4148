//! Transports outside of the registry: the caller passes them with the scenario.

use headway_network::TransportSpec;
use headway_params::{ParamKind, ParamSpec, ParamValue};
use headway_transport::registry;
use rustc_hash::FxHashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

/// A transport that is in no registry. Its machines come from [`crate::run::Machines`] when a run begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// Name in scenarios; of no transport of the registry.
    pub name: String,
    /// The port discipline it is meant to run over.
    pub discipline: String,
    /// Parameters of the transport.
    pub params: Vec<ParamSpec>,
    /// Source that distinguishes it from another of its name, such as its text.
    pub source: String,
}

impl Foreign {
    /// A parameter of the kind that its default has, without limits; `None` for other kinds than true or false, whole
    /// numbers, and numbers.
    pub fn param(name: &str, default: ParamValue) -> Option<ParamSpec> {
        let kind = match &default {
            ParamValue::Bool(_) => ParamKind::Bool,
            ParamValue::Int(_) => ParamKind::Int { min: 0, max: u64::MAX },
            ParamValue::Float(_) => ParamKind::Float { min: f64::MIN, max: f64::MAX },
            ParamValue::Time(_) | ParamValue::Rate(_) | ParamValue::Choice(_) => return None,
        };
        Some(ParamSpec { name: lasting(name), kind, default, doc: "" })
    }
}

/// The same text for as long as the program runs: a parameter's name is declared once, and then asked for in any number
/// of scenarios.
fn lasting(text: &str) -> &'static str {
    static KNOWN: LazyLock<Mutex<FxHashSet<&'static str>>> = LazyLock::new(Mutex::default);
    // A thread that panicked has left the set whole.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = known.get(text) {
        return before;
    }
    // Leaked once for each name; programs declare a handful.
    let new: &'static str = String::leak(text.to_string());
    known.insert(new);
    new
}

/// Facts about a transport for scenarios, in the registry or not.
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) discipline: String,
    pub(crate) params: Vec<ParamSpec>,
    /// True if both directions need the same links: see [`headway_transport::Capabilities::symmetric`].
    pub(crate) symmetric: bool,
}

/// The transport called `name`, in the registry or among `foreign`.
pub(crate) fn find(name: &str, foreign: &[Foreign]) -> Option<Known> {
    let registered = registry::find_entry(name).map(|entry| Known {
        name: name.into(),
        discipline: entry.info.discipline.into(),
        params: entry.params,
        symmetric: entry.capabilities.symmetric,
    });
    registered.or_else(|| {
        let found = foreign.iter().find(|foreign| foreign.name == name)?;
        let (discipline, params) = (found.discipline.clone(), found.params.clone());
        Some(Known { name: name.into(), discipline, params, symmetric: false })
    })
}

/// Every name, to find the nearest to one that is unknown.
pub(crate) fn names(foreign: &[Foreign]) -> Vec<&str> {
    registry::NAMES.iter().copied().chain(foreign.iter().map(|foreign| foreign.name.as_str())).collect()
}

/// Every parameter with its value.
pub(crate) fn settings(choice: &TransportSpec, foreign: &[Foreign]) -> Vec<(&'static str, ParamValue)> {
    let Some(foreign) = foreign.iter().find(|foreign| foreign.name == choice.name) else {
        // The machine itself resolves them: a preset sets other parameters.
        return registry::param_settings(&choice.name, &choice.params);
    };
    let value = |spec: &ParamSpec| {
        let set = choice.params.iter().find(|(name, _)| name == spec.name);
        set.map_or(spec.default.clone(), |(_, value)| value.clone())
    };
    foreign.params.iter().map(|spec| (spec.name, value(spec))).collect()
}
