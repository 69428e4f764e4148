//! The native module `headway._headway`: scenarios, runs, and the catalogue, for Python.

mod result;
mod scenario;

use headway_lab::{LabError, ScenarioError as Diagnostic, catalogue, model};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pyo3::create_exception!(
    _headway,
    ScenarioError,
    pyo3::exceptions::PyException,
    "What is wrong with a scenario; its text is the whole diagnostic: file, line, caret, nearest name."
);

fn diagnostic(error: &Diagnostic) -> PyErr {
    ScenarioError::new_err(error.render())
}

fn lab_error(error: &LabError) -> PyErr {
    ScenarioError::new_err(error.render())
}

/// Everything of a kind that a scenario can name, as a JSON list.
#[pyfunction(name = "catalogue")]
fn list(thing: &str) -> PyResult<String> {
    match catalogue::catalogue(thing).map_err(|e| diagnostic(&e))? {
        Some(list) => Ok(list.to_string()),
        None => {
            Err(PyValueError::new_err(format!("{thing:?} is not one of {}", catalogue::THINGS.join(", "))))
        }
    }
}

/// Version of the simulator.
#[pyfunction]
fn version() -> &'static str {
    headway_lab::scenario::VERSION
}

/// AMRT's model (TNSM 2022 §V, equations 4 to 10), in packets per round trip and round trips.
#[pyfunction]
fn amrt_model<'py>(
    py: Python<'py>,
    c_packets_per_rtt: f64,
    r_over_c: f64,
    size_packets: f64,
    t_r: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let gains = model::amrt::gains(c_packets_per_rtt, r_over_c, size_packets, t_r)
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    let dict = PyDict::new(py);
    let values = [
        ("t_i", gains.t_i),
        ("t_1", gains.t_1),
        ("t_min", gains.t_min),
        ("t_max", gains.t_max),
        ("t_2_earliest", gains.t_2_earliest),
        ("t_2_latest", gains.t_2_latest),
        ("u_gain_earliest", gains.u_gain_earliest),
        ("u_gain_latest", gains.u_gain_latest),
        ("fct_gain_earliest", gains.fct_gain_earliest),
        ("fct_gain_latest", gains.fct_gain_latest),
    ];
    values.into_iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
    Ok(dict)
}

/// RPO's model (ICNP 2021 §V, equations 1 to 6), in packets per round trip and round trips.
#[pyfunction]
#[pyo3(signature = (c_packets_per_rtt, r_over_c, size_packets, t_c, flows = 1.0))]
fn rpo_model<'py>(
    py: Python<'py>,
    c_packets_per_rtt: f64,
    r_over_c: f64,
    size_packets: f64,
    t_c: f64,
    flows: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let gains = model::rpo::gains(c_packets_per_rtt, r_over_c, size_packets, flows, t_c)
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    let dict = PyDict::new(py);
    let values = [
        ("t_i", gains.t_i),
        ("t_f", gains.t_f),
        ("t_1", gains.t_1),
        ("t_2", gains.t_2),
        ("u_gain", gains.u_gain),
        ("fct_gain", gains.fct_gain),
    ];
    values.into_iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
    Ok(dict)
}

#[pymodule]
fn _headway(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<result::RunResult>()?;
    module.add_class::<result::ArrowTable>()?;
    module.add_function(wrap_pyfunction!(list, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(amrt_model, module)?)?;
    module.add_function(wrap_pyfunction!(rpo_model, module)?)
}
