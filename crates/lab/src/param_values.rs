//! Values of parameters and of buffers, as scenarios write them.

use crate::text::{Reader, ScenarioError};
use headway_fabric::Limit;
use headway_params::{ParamSpec, ParamValue};
use serde_json::{Value as Json, json};

/// The parameters of `specs` that a table sets, with their values.
pub(crate) fn read_params(
    table: &Reader<'_>,
    specs: &[ParamSpec],
) -> Result<Vec<(String, ParamValue)>, ScenarioError> {
    let mut params = Vec::new();
    for spec in specs {
        if let Some(item) = table.get(spec.name) {
            params.push((spec.name.to_string(), item.param(spec)?));
        }
    }
    Ok(params)
}

/// A buffer as a scenario would write it.
pub fn show_limit(limit: Limit) -> String {
    match limit {
        Limit::Packets(n) => format!("{n} packets"),
        Limit::Bytes(n) => format!("{n} B"),
    }
}

/// A parameter's value as a scenario would write it.
pub fn param_json(value: &ParamValue) -> Json {
    match value {
        ParamValue::Bool(v) => json!(v),
        ParamValue::Int(v) => json!(v),
        ParamValue::Float(v) => json!(v),
        ParamValue::Time(v) => json!(v.to_string()),
        ParamValue::Rate(v) => json!(v.to_string()),
        ParamValue::Choice(v) => json!(v),
    }
}
