//! The native module `headway._headway`: it gives Python the scenarios, the runs, and the lists of registered parts.

#[cfg(all(target_os = "linux", feature = "hosts"))]
mod hosts;
mod machine;
mod result;
mod scenario;
mod table;

use headway_lab::imported::{self, Asked};
use headway_lab::text::spans;
use headway_lab::{Directory, LabError, ScenarioError as Diagnostic, catalogue, model};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use table::ByPython;

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

fn diagnostic_error(error: &Diagnostic) -> PyErr {
    ScenarioError::new_err(error.render())
}

fn lab_error(error: &LabError) -> PyErr {
    ScenarioError::new_err(error.render())
}

/// Everything of a kind that a scenario can name, as a JSON list.
#[pyfunction(name = "catalogue")]
fn list(thing: &str) -> PyResult<String> {
    match catalogue::catalogue(thing).map_err(|e| diagnostic_error(&e))? {
        Some(list) => Ok(list.to_string()),
        None => {
            Err(PyValueError::new_err(format!("{thing:?} is not one of {}", catalogue::THINGS.join(", "))))
        }
    }
}

/// A page of the documentation with the declarations in their places.
#[pyfunction]
fn filled_page(text: &str) -> String {
    headway_lab::pages::filled(text)
}

/// Contents of results, as JSON: columns, numbers of the summary and gauges, each with unit, label, meaning and
/// quantity.
#[pyfunction]
fn schema() -> String {
    headway_lab::results::schema::schema().to_string()
}

/// A TOML text with the place of every key and value, in characters, as JSON; `name` stands for the file in messages.
#[pyfunction]
fn read_toml(text: &str, name: &str) -> PyResult<String> {
    Ok(spans::document(name, text).map_err(|e| diagnostic_error(&e))?.to_string())
}

/// The diagnostic of a problem at characters `place` of a text: message, file, line, caret and help.
#[pyfunction]
#[pyo3(signature = (text, name, place, message, help = None))]
fn show_problem(text: &str, name: &str, place: (usize, usize), message: &str, help: Option<&str>) -> String {
    spans::diagnostic(name, text, place, message, help)
}

/// True if the module writes tables by itself, without polars.
#[pyfunction]
fn compiled_parquet() -> bool {
    cfg!(feature = "parquet")
}

/// Writes the run in a directory as a Perfetto trace.
#[pyfunction]
fn write_perfetto(py: Python<'_>, directory: PathBuf, out: PathBuf) -> PyResult<()> {
    let format = ByPython::default();
    let run = Directory { path: &directory, format: &format };
    let written = py.detach(|| headway_lab::perfetto::write_directory(run, &out));
    written.map_err(|error| format.raised_exception().unwrap_or_else(|| lab_error(&error)))
}

/// `mi_option_purge_delay` of mimalloc.h, which the bindings do not name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Memory that becomes free stays with this process from now on, and is there when more is needed: the kernel clears each
/// page once. For a process that makes one run. Answers after how many milliseconds it went back before; -1 for never.
#[pyfunction]
#[allow(unsafe_code, reason = "the allocator has no other way to be told")]
fn keep_memory() -> std::ffi::c_long {
    // SAFETY: options of the allocator may be read and set at any time.
    unsafe {
        let before = libmimalloc_sys::mi_option_get(PURGE_DELAY);
        // -1 means never; 0 would give pages back at once.
        libmimalloc_sys::mi_option_set(PURGE_DELAY, -1);
        before
    }
}

/// Version of the simulator.
#[pyfunction]
fn version() -> &'static str {
    headway_lab::scenario::VERSION
}

/// An argument or an answer of a model's function.
#[derive(FromPyObject, IntoPyObject)]
enum Number {
    One(f64),
    Many(Vec<f64>),
    Word(String),
}

/// Calls a function of a closed-form model; `catalogue("models")` lists them.
#[pyfunction]
#[pyo3(signature = (name, *arguments))]
fn evaluate(name: &str, arguments: Vec<Number>) -> PyResult<Number> {
    let values = arguments.into_iter().map(|argument| match argument {
        Number::One(number) => model::Value::Number(number),
        Number::Many(numbers) => model::Value::Numbers(numbers),
        Number::Word(word) => model::Value::Word(word),
    });
    let found = model::evaluate(name, &values.collect::<Vec<_>>()).map_err(out_of_range)?;
    Ok(match found {
        model::Value::Number(number) => Number::One(number),
        model::Value::Numbers(numbers) => Number::Many(numbers),
        model::Value::Word(word) => Number::Word(word),
    })
}

/// The curves that a `[model]` table, as results hold it, asks for, as JSON; `name` is of the file, for messages.
#[pyfunction]
fn draw_model(table: &str, name: &str) -> PyResult<String> {
    let table = serde_json::from_str(table).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let settings = model::stored(name, &table).map_err(|e| PyValueError::new_err(e.problem().to_string()))?;
    Ok(settings.model.draw().map_err(out_of_range)?.to_json().to_string())
}

fn out_of_range(error: model::ModelError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Text of a scenario, to be written into `folder`, for the trace among `files` (each a path and its name in the scenario); the
/// assumptions about the trace, in sentences; and its groups with their ranks.
#[pyfunction]
#[pyo3(signature = (files, folder, format = None, start_unit = None, ranks = None, operations_per_second = None,
    collective_bytes = None, groups = None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
fn import_trace(
    files: Vec<(PathBuf, String)>,
    folder: PathBuf,
    format: Option<&str>,
    start_unit: Option<&str>,
    ranks: Option<u32>,
    operations_per_second: Option<f64>,
    collective_bytes: Option<&str>,
    groups: Option<(PathBuf, String)>,
) -> PyResult<(String, Vec<String>, Vec<String>)> {
    let groups = groups.as_ref().map(|(path, shown)| (path.as_path(), shown.as_str()));
    let asked = Asked { format, start_unit, ranks, operations_per_second, collective_bytes, groups };
    let files: Vec<_> = files.iter().map(|(path, shown)| (path.as_path(), shown.as_str())).collect();
    let made = imported::scenario(&files, &folder, &asked).map_err(|e| diagnostic_error(&e))?;
    Ok((made.text, made.notes, made.about))
}

/// Kind of the flow log that begins with these bytes; `None` if it is not a log.
#[pyfunction]
fn log_kind(head: &[u8]) -> Option<String> {
    use headway_lab::import::kinds::{Reader, find};
    match find(head).ok()?.reader {
        Reader::Log(log) => Some(log.name().to_string()),
        _ => None,
    }
}

/// Names that columns of flow logs have: of times, sources, destinations and sizes.
#[pyfunction]
fn log_columns() -> [Vec<&'static str>; 4] {
    use headway_lab::import::logs::{SIZES, SOURCES, TARGETS, TIMES};
    [TIMES, SOURCES, TARGETS, SIZES].map(<[&str]>::to_vec)
}

/// The names of a header as `log_columns` has them, with a unit behind a dash.
#[pyfunction]
fn log_heads(header: &str) -> Vec<String> {
    headway_lab::import::logs::heads(&[header])
}

/// Counts the changes of behaviour: runs of another epoch are other runs.
#[pyfunction]
fn epoch() -> u32 {
    headway_lab::scenario::EPOCH
}

#[pymodule]
fn _headway(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("HeadwayError", module.py().get_type::<HeadwayError>())?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<scenario::PyScenario>()?;
    module.add_class::<result::RunResult>()?;
    module.add_class::<table::ArrowTable>()?;
    module.add_class::<table::ArrowSchema>()?;
    module.add_class::<machine::PyHost>()?;
    module.add_class::<machine::PyPath>()?;
    module.add_class::<machine::PyMessage>()?;
    module.add_class::<machine::PyPacket>()?;
    module.add_class::<machine::PyEvent>()?;
    module.add_class::<machine::PyEnd>()?;
    #[cfg(all(target_os = "linux", feature = "hosts"))]
    hosts::register_hosts(module)?;
    #[cfg(feature = "check")]
    module.add_function(wrap_pyfunction!(machine::check::check_transport, module)?)?;
    module.add_function(wrap_pyfunction!(list, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(filled_page, module)?)?;
    module.add_function(wrap_pyfunction!(read_toml, module)?)?;
    module.add_function(wrap_pyfunction!(show_problem, module)?)?;
    module.add_function(wrap_pyfunction!(compiled_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(write_perfetto, module)?)?;
    module.add_function(wrap_pyfunction!(keep_memory, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(epoch, module)?)?;
    module.add_function(wrap_pyfunction!(import_trace, module)?)?;
    module.add_function(wrap_pyfunction!(log_kind, module)?)?;
    module.add_function(wrap_pyfunction!(log_columns, module)?)?;
    module.add_function(wrap_pyfunction!(log_heads, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(draw_model, module)?)
}
