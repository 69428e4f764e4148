//! The native module `headway._headway`: scenarios, runs, and the catalogue, for Python.

mod result;
mod scenario;

use headway_lab::text::spans;
use headway_lab::{LabError, ScenarioError as Diagnostic, catalogue, model};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A large network's hosts are thousands of small allocations that are all touched in turn: this allocator lays them out
/// so that a run of 1024 hosts takes a fifth less time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pyo3::create_exception!(
    _headway,
    HeadwayError,
    pyo3::exceptions::PyException,
    "Something a user can put right; the text says what and, where it can, how."
);

pyo3::create_exception!(
    _headway,
    ScenarioError,
    HeadwayError,
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

/// What results hold, as JSON: columns, numbers of the summary and gauges, each with unit, label, meaning and quantity.
#[pyfunction]
fn schema() -> String {
    headway_lab::results::schema::schema().to_string()
}

/// A TOML text with the place of every key and value, in characters, as JSON; `name` stands for the file in messages.
#[pyfunction]
fn read_toml(text: &str, name: &str) -> PyResult<String> {
    Ok(spans::document(name, text).map_err(|e| diagnostic(&e))?.to_string())
}

/// The diagnostic of a problem at characters `place` of a text: message, file, line, caret and help.
#[pyfunction]
#[pyo3(signature = (text, name, place, message, help = None))]
fn show_problem(text: &str, name: &str, place: (usize, usize), message: &str, help: Option<&str>) -> String {
    spans::diagnostic(name, text, place, message, help)
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
    let gains = model::amrt::gains(c_packets_per_rtt, r_over_c, size_packets, t_r).map_err(out_of_range)?;
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

/// ProactMP's credit (TNSM 2024 §III-C4, equations 4 to 8): the sum allocated to packets that arrive evenly over a span,
/// in OWDbytes and one-way delays.
#[pyfunction]
fn proactmp_credit(packets: u32, span: f64) -> PyResult<f64> {
    model::proactmp::total(packets, span).map_err(out_of_range)
}

/// ProactMP's division of credit among subflows (TNSM 2024 §III-C3, equation 2).
#[pyfunction]
fn proactmp_shares(weights: Vec<f64>, round_trips: Vec<f64>) -> PyResult<Vec<f64>> {
    model::proactmp::shares(&weights, &round_trips).map_err(out_of_range)
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

/// Jobs on one server of rate 1 (L2DCT §I) under `ps`, `srpt` or `las`: when each is done, and the phases between
/// changes with each job's share of the server.
#[pyfunction]
fn schedule<'py>(
    py: Python<'py>,
    discipline: &str,
    arrivals: Vec<f64>,
    sizes: Vec<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let known = model::scheduling::Discipline::NAMES.join(", ");
    let discipline = model::scheduling::Discipline::find(discipline)
        .ok_or_else(|| PyValueError::new_err(format!("{discipline:?} is not one of {known}")))?;
    if arrivals.len() != sizes.len() {
        return Err(PyValueError::new_err("each job has an arrival and a size"));
    }
    let jobs: Vec<_> = arrivals
        .into_iter()
        .zip(sizes)
        .map(|(arrival, size)| model::scheduling::Job { arrival, size })
        .collect();
    let schedule = model::scheduling::serve(discipline, &jobs).map_err(out_of_range)?;
    let phases: Vec<_> = schedule.phases.into_iter().map(|p| (p.from, p.to, p.rates)).collect();
    let dict = PyDict::new(py);
    dict.set_item("finish", schedule.finish)?;
    dict.set_item("phases", phases)?;
    Ok(dict)
}

fn out_of_range(error: model::ModelError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// L2DCT's steady state (§II-C, equations 5 to 12) of N synchronised flows; `exact` solves equation 5 as it stands.
#[pyfunction]
#[pyo3(signature = (flows, bdp, threshold, weight, increase, exact = false))]
fn l2dct_cycle<'py>(
    py: Python<'py>,
    flows: f64,
    bdp: f64,
    threshold: f64,
    weight: f64,
    increase: f64,
    exact: bool,
) -> PyResult<Bound<'py, PyDict>> {
    use model::l2dct::{Form, Setting, cycle};
    let setting = Setting { flows, bdp, threshold, weight, increase };
    let found = cycle(&setting, if exact { Form::Exact } else { Form::Approximate }).map_err(out_of_range)?;
    let dict = PyDict::new(py);
    let values = [
        ("critical_window", setting.critical_window()),
        ("alpha", found.alpha),
        ("backoff", found.backoff),
        ("drop", found.drop),
        ("amplitude", found.amplitude),
        ("period", found.period),
        ("queue_max", found.queue_max),
        ("queue_min", found.queue_min),
    ];
    values.into_iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
    Ok(dict)
}

/// L2DCT's back-off penalty alpha^w (§II-A, equation 2).
#[pyfunction]
fn l2dct_backoff(alpha: f64, weight: f64) -> PyResult<f64> {
    model::l2dct::backoff(alpha, weight).map_err(out_of_range)
}

/// Smallest marking threshold that keeps the link busy, over the path's packets (L2DCT §II-C, equation 13).
#[pyfunction]
fn l2dct_least_threshold(weight: f64) -> PyResult<f64> {
    model::l2dct::least_threshold(weight).map_err(out_of_range)
}

/// Packets a round trip that an L2DCT flow adds after so many bytes (§III).
#[pyfunction]
fn l2dct_increase(bytes: u64) -> f64 {
    model::l2dct::increase(bytes)
}

#[pymodule]
fn _headway(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("HeadwayError", module.py().get_type::<HeadwayError>())?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<scenario::PyScenario>()?;
    module.add_class::<result::RunResult>()?;
    module.add_class::<result::ArrowTable>()?;
    module.add_function(wrap_pyfunction!(list, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(read_toml, module)?)?;
    module.add_function(wrap_pyfunction!(show_problem, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(amrt_model, module)?)?;
    module.add_function(wrap_pyfunction!(rpo_model, module)?)?;
    module.add_function(wrap_pyfunction!(proactmp_credit, module)?)?;
    module.add_function(wrap_pyfunction!(proactmp_shares, module)?)?;
    module.add_function(wrap_pyfunction!(schedule, module)?)?;
    module.add_function(wrap_pyfunction!(l2dct_cycle, module)?)?;
    module.add_function(wrap_pyfunction!(l2dct_backoff, module)?)?;
    module.add_function(wrap_pyfunction!(l2dct_least_threshold, module)?)?;
    module.add_function(wrap_pyfunction!(l2dct_increase, module)?)
}
