//! Scenarios as Python objects.

use crate::machine::{Declared, Makers, Own};
use crate::result::RunResult;
use crate::table::ByPython;
use crate::{diagnostic_error, lab_error};
use headway_lab::run::Machines;
use headway_lab::scenario::ExportFormat;
use headway_lab::scenario::run_length::RunLength;
use headway_lab::{Capture, Directory, Options, Request, RunProgress, run_scenario, scaling};
use headway_network::Estimate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::Value as Json;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// Commit that the module was built from.
const COMMIT: Option<&str> = option_env!("HEADWAY_COMMIT");

/// A scenario with every default filled in.
#[pyclass(name = "Scenario", frozen, module = "headway._headway")]
pub(crate) struct PyScenario {
    inner: headway_lab::Scenario,
    /// Its transports that are written in Python.
    own: Arc<[Own]>,
}

#[pymethods]
impl PyScenario {
    /// Reads a file; `sets` override keys (`key=value`), `scale` picks a `[scale.NAME]` table.
    #[staticmethod]
    #[pyo3(signature = (path, sets = Vec::new(), scale = None, own = Vec::new()))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        sets: Vec<String>,
        scale: Option<&str>,
        own: Vec<Declared>,
    ) -> PyResult<PyScenario> {
        Self::from_request(py, Request::file(&path, &sets, scale).map_err(|e| diagnostic_error(&e))?, own)
    }

    /// Reads a string; `name` stands for the file in messages, relative paths start in `folder`, which is the working
    /// directory if there is none.
    #[staticmethod]
    #[pyo3(signature = (text, name, sets = Vec::new(), scale = None, folder = None, own = Vec::new()))]
    fn from_text(
        py: Python<'_>,
        text: &str,
        name: &str,
        sets: Vec<String>,
        scale: Option<&str>,
        folder: Option<PathBuf>,
        own: Vec<Declared>,
    ) -> PyResult<PyScenario> {
        Self::from_request(py, Request::text(text, name, &folder.unwrap_or_default(), &sets, scale), own)
    }

    /// Names of the transports in it that are written in Python.
    fn own_transports(&self) -> Vec<String> {
        let setup = self.inner.setup.as_ref();
        setup.map_or(Vec::new(), |setup| setup.foreign_transports().into_iter().map(str::to_string).collect())
    }

    /// Runs this scenario and another and compares their events, as JSON; `None` if `go_on` answered False, which is
    /// called now and then.
    fn diff(&self, py: Python<'_>, other: &PyScenario, go_on: Py<PyAny>) -> PyResult<Option<String>> {
        let mut raised: Option<PyErr> = None;
        let compared = py.detach(|| {
            headway_lab::diff::diff(&self.inner, &other.inner, &mut || {
                Python::attach(|py| {
                    let answer = py.check_signals().and_then(|()| go_on.call0(py)?.is_truthy(py));
                    answer.unwrap_or_else(|error| {
                        raised = Some(error);
                        false
                    })
                })
            })
        });
        match (raised, compared) {
            // The exception stopped the comparison, whose outcome then means nothing.
            (Some(error), _) => Err(error),
            (None, Ok(compared)) => Ok(compared.map(|c| c.to_json().to_string())),
            (None, Err(error)) => Err(lab_error(&error)),
        }
    }

    /// The same with further overrides, which come last.
    fn with_sets(&self, sets: Vec<String>) -> PyResult<PyScenario> {
        let inner = self.inner.with_sets(&sets).map_err(|e| diagnostic_error(&e))?;
        Ok(PyScenario { inner, own: Arc::clone(&self.own) })
    }

    /// The same with the keys that one of its variants sets.
    fn with_variant(&self, name: &str) -> PyResult<PyScenario> {
        let inner = self.inner.variant(name).map_err(|e| diagnostic_error(&e))?;
        Ok(PyScenario { inner, own: Arc::clone(&self.own) })
    }

    /// Raises for an override without effect: in a single run, or at all points of its sweep.
    fn check_sets(&self, sweep: bool) -> PyResult<()> {
        let checked = if sweep { self.inner.check_sets_of_sweep() } else { self.inner.check_sets_of_run() };
        checked.map_err(|e| diagnostic_error(&e))
    }

    /// The overrides that are in effect at no point of its sweep: position, and the diagnostic.
    fn idle_sets(&self) -> PyResult<Vec<(usize, String)>> {
        let idle = self.inner.idle_sets_of_sweep().map_err(|e| diagnostic_error(&e))?;
        Ok(idle.into_iter().map(|(number, error)| (number, error.render())).collect())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.about.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.inner.about.title
    }

    #[getter]
    fn paper(&self) -> &str {
        &self.inner.about.paper
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// Every key with its value, as JSON.
    fn resolved_json(&self) -> String {
        self.inner.resolved_json().to_string()
    }

    /// The part of a manifest that says which scenario asked for the run, as JSON.
    fn about_json(&self) -> String {
        serde_json::Value::Object(headway_lab::results::manifest::about(&self.inner)).to_string()
    }

    /// Identifies version, epoch, the run, and seed.
    fn digest(&self) -> String {
        self.inner.digest()
    }

    /// The `[report]` table, as JSON.
    fn report_json(&self) -> String {
        self.inner.report_json().to_string()
    }

    /// Nodes and links with places, as JSON.
    fn topology_json(&self) -> String {
        match &self.inner.setup {
            Some(setup) => headway_lab::topology::layout::topology_json(&setup.topology).to_string(),
            None => r#"{"nodes":[],"links":[]}"#.into(),
        }
    }

    /// The keys that its sweep varies.
    fn swept(&self) -> Vec<String> {
        self.inner.plan.axes.iter().map(|axis| axis.key.clone()).collect()
    }

    /// Names of its variants; none where it has none, and its points are called by their transport.
    fn variants(&self) -> Vec<String> {
        self.inner.plan.variants.iter().map(|variant| variant.name.clone()).collect()
    }

    /// Raises for a run of its sweep that cannot be.
    fn check_points(&self) -> PyResult<()> {
        self.inner.points().map(|_| ()).map_err(|e| diagnostic_error(&e))
    }

    /// So many runs of its sweep from a position on: label, variant, value of each swept key, seed, and the sets that are to be passed to
    /// `load` in addition to those that this was loaded with. A sweep may have a million.
    fn points<'py>(&self, py: Python<'py>, first: usize, most: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        // Callers page through a sweep, and `most` may be as large as Python's integers.
        for point in self.inner.points_in(first..first.saturating_add(most)) {
            let axes = PyDict::new(py);
            for (key, value) in &point.axes {
                axes.set_item(key, to_python(py, value)?)?;
            }
            let sets = PyTuple::new(py, point.sets())?;
            list.append((&point.label, &point.variant, axes, point.seed, sets))?;
        }
        Ok(list)
    }

    /// Reads the points of its sweep as [`headway_lab::Scenario::survey`] does. Number of combinations, and of each that was read: position
    /// of its first point, size of its run, warnings, length of its arrivals, and whether its `[report]` table is one of its own.
    fn survey<'py>(&self, py: Python<'py>, most: usize) -> PyResult<(usize, Bound<'py, PyList>)> {
        let found = py.detach(|| self.inner.survey(most)).map_err(|error| lab_error(&error))?;
        let list = PyList::empty(py);
        for one in &found.found {
            let length = one.run_length.as_ref().map(|found| run_length(py, found)).transpose()?;
            let estimate = one.estimate.as_ref().map(|found| size_dict(py, Some(found))).transpose()?;
            list.append((one.point, estimate, &one.warnings, length, one.reports))?;
        }
        Ok((found.places, list))
    }

    /// Raises for what `run` refuses before its first event.
    fn check_run(&self, py: Python<'_>) -> PyResult<()> {
        if self.inner.setup.is_none() {
            return Ok(());
        }
        let makers = Makers::new(&self.own);
        // Without transports in Python the run keeps its compiled machines, and takes Python's lock only for
        // progress.
        let machines = (!self.own.is_empty()).then_some(&makers as &dyn Machines);
        let checked = py.detach(|| headway_lab::check_scenario(&self.inner, machines));
        match makers.first_failure().take_exception(py) {
            // First: if a machine could not be made, the check of the scenario has failed for that reason.
            Some(error) => Err(error),
            None => checked.map_err(|error| lab_error(&error)),
        }
    }

    /// Hosts, links, flows, and bytes of memory that a run needs; refuses what does not fit.
    fn estimate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let estimate = match &self.inner.setup {
            Some(setup) => Some(setup.check_memory().map_err(|e| diagnostic_error(&e))?),
            None => None,
        };
        size_dict(py, estimate.as_ref())
    }

    /// Packets times links that a run should count; zero where nothing is simulated.
    fn expected_hops(&self) -> u64 {
        self.inner.expected_hops()
    }

    /// Bytes that the files of a run take on disk; zero where nothing is simulated.
    fn expected_file_bytes(&self) -> u64 {
        self.inner.expected_file_bytes()
    }

    /// Facts about the files of its traffic and the memory of its switches, in sentences.
    fn facts(&self) -> Vec<String> {
        self.inner.setup.as_ref().map_or(Vec::new(), |setup| setup.all_facts())
    }

    /// The switch chip that could be its switch which carries most, and the bytes of the chip's memory.
    fn fitting_chip(&self) -> Option<(&'static str, u64)> {
        let (chip, memory) = self.inner.setup.as_ref()?.fitting_chip()?;
        Some((chip.word(), memory.size))
    }

    /// The longest path among its flows, with nothing else on it; `None` without flows.
    fn longest_path<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(path) = self.inner.longest_path() else { return Ok(None) };
        let dict = PyDict::new(py);
        dict.set_item("rtt_s", path.round_trip.as_secs_f64())?;
        dict.set_item("delay_s", path.delay.as_secs_f64())?;
        dict.set_item("rate_bps", path.rate.bps())?;
        dict.set_item("packet_bytes", path.packet)?;
        dict.set_item("bdp_bytes", path.bdp)?;
        Ok(Some(dict))
    }

    /// Time for which messages arrive at random, and the time that a steady state would need; `None` without such
    /// arrivals, or where several load different links.
    fn run_length<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(found) = self.inner.setup.as_ref().and_then(|setup| setup.run_length()) else {
            return Ok(None);
        };
        run_length(py, &found).map(Some)
    }

    /// For every flow, the links that all of its packets take, as positions in the table of links, and the picoseconds
    /// that a control packet takes back through the empty network.
    fn flow_ways(&self) -> PyResult<Vec<(Vec<u32>, u64)>> {
        let ways = self.inner.flow_ways().map_err(|e| diagnostic_error(&e))?;
        Ok(ways.into_iter().map(|way| (way.links, way.back.0)).collect())
    }

    /// Warnings about odd values, before it is run.
    fn warnings(&self) -> Vec<String> {
        self.inner.setup.as_ref().map_or_else(Vec::new, |setup| setup.warnings())
    }

    /// Its flows as text: an htsim connection matrix (`cm`), or a table (`csv`).
    fn export_flows(&self, format: &str) -> PyResult<String> {
        let format = match format {
            "cm" => ExportFormat::ConnectionMatrix,
            "csv" => ExportFormat::Csv,
            other => return Err(PyValueError::new_err(format!("{other:?} is neither \"cm\" nor \"csv\""))),
        };
        self.inner.export_flows(format).map_err(|e| diagnostic_error(&e))
    }

    /// Gain of more threads for its run, as JSON: the work of each part, for each number of parts.
    fn scaling_json(&self, py: Python<'_>, threads: Vec<usize>) -> PyResult<String> {
        let found = py.detach(|| scaling(&self.inner, &threads));
        found.map(|rows| rows.to_string()).map_err(|error| lab_error(&error))
    }

    /// Runs it. `progress` is called about five times a second and stops the run by returning False; an
    /// exception in it (and Ctrl-C) stops the run too, and is raised when the results until then have been written.
    /// `capture` is a pcapng file to write, `capture_links` the links to capture, all if there is none. `threads` share the
    /// run, whose results do not depend on them; with `or_one` its first windows are measured, and one thread makes it if it is as fast.
    #[pyo3(signature = (out = None, progress = None, csv = false, capture = None, capture_links = Vec::new(), threads = NonZeroUsize::MIN, or_one = false))]
    #[allow(clippy::too_many_arguments, reason = "Python names each of them")]
    fn run(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
        csv: bool,
        capture: Option<PathBuf>,
        capture_links: Vec<String>,
        threads: NonZeroUsize,
        or_one: bool,
    ) -> PyResult<RunResult> {
        let capture = capture.map(|file| Capture { file, links: capture_links });
        let commit = COMMIT.map(str::to_string);
        let makers = Makers::new(&self.own);
        let machines = (!self.own.is_empty()).then_some(&makers as &dyn Machines);
        let format = ByPython::default();
        let out = out.as_deref().map(|path| Directory { path, format: &format });
        let options = Options { out, csv, commit, capture, threads: Some(threads), or_one, machines };
        let mut raised: Option<PyErr> = None;
        let output = py.detach(|| {
            run_scenario(&self.inner, &options, &mut |report| {
                Python::attach(|py| match ask_progress(py, progress.as_ref(), report) {
                    Ok(go_on) => go_on,
                    Err(error) => {
                        raised = Some(error);
                        false
                    }
                })
            })
        });
        // An exception comes first: it stopped the run, whose own outcome may only follow from that.
        match (
            raised
                .or_else(|| makers.first_failure().take_exception(py))
                .or_else(|| format.raised_exception()),
            output,
        ) {
            (Some(error), _) => Err(error),
            (None, Ok(output)) => Ok(RunResult::new(output)),
            (None, Err(error)) => Err(lab_error(&error)),
        }
    }
}

impl PyScenario {
    fn from_request(py: Python<'_>, request: Request, own: Vec<Declared>) -> PyResult<PyScenario> {
        let own: Arc<[Own]> = own.into_iter().map(|one| Own::new(py, one)).collect::<PyResult<_>>()?;
        let foreign = own.iter().map(|one| one.foreign.clone()).collect();
        let request = request.with_foreign(foreign).map_err(|e| diagnostic_error(&e))?;
        Ok(PyScenario { inner: request.load().map_err(|e| diagnostic_error(&e))?, own })
    }
}

/// Hands the progress of a run to Python; returns true to go on.
fn ask_progress(py: Python<'_>, progress: Option<&Py<PyAny>>, report: &RunProgress) -> PyResult<bool> {
    // The main thread is in Rust for the whole run, so Ctrl-C is seen here or not at all.
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(true) };
    let dict = PyDict::new(py);
    dict.set_item("virtual_s", report.virtual_s)?;
    dict.set_item("stop_s", report.stop_s)?;
    dict.set_item("events", report.events)?;
    dict.set_item("events_per_s", report.events_per_s)?;
    dict.set_item("flows_done", report.flows_done)?;
    dict.set_item("flows_total", report.flows_total)?;
    dict.set_item("fraction", report.fraction)?;
    dict.set_item("eta_s", report.eta_s)?;
    let answer = progress.call1(py, (dict,))?;
    // A callback that returns nothing does not mean to stop.
    if answer.is_none(py) { Ok(true) } else { answer.is_truthy(py) }
}

/// A value of a swept key.
fn to_python<'py>(py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Json::Bool(v) => v.into_pyobject(py)?.to_owned().into_any(),
        // Whole numbers stay `int` in Python: as keys of results 8 and 8.0 would look different.
        Json::Number(n) => match n.as_i64() {
            Some(v) => v.into_pyobject(py)?.into_any(),
            None => n.as_f64().into_pyobject(py)?,
        },
        Json::String(v) => v.into_pyobject(py)?.into_any(),
        other => other.to_string().into_pyobject(py)?.into_any(),
    })
}

/// The size of a run by name, all 0 where nothing is run.
fn size_dict<'py>(py: Python<'py>, found: Option<&Estimate>) -> PyResult<Bound<'py, PyDict>> {
    let values = found.map_or([0; 4], |found| [found.hosts, found.links, found.flows, found.memory_bytes]);
    let dict = PyDict::new(py);
    let mut named = ["hosts", "links", "flows", "memory_bytes"].iter().zip(values);
    named.try_for_each(|(name, value)| dict.set_item(name, value))?;
    Ok(dict)
}

/// The length of the arrivals of a run, by name.
fn run_length<'py>(py: Python<'py>, found: &RunLength) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("load", found.load)?;
    dict.set_item("other_load", found.other_load)?;
    dict.set_item("arrivals_s", found.arrivals_s)?;
    dict.set_item("warmup_s", found.warmup_s)?;
    dict.set_item("relaxation_s", found.relaxation_s)?;
    dict.set_item("missing", found.missing)?;
    dict.set_item("per_second", found.per_second)?;
    let advice = found.advice();
    dict.set_item("advised_warmup_s", advice.map(|(warmup, _)| found.start_s + warmup))?;
    dict.set_item("advised_arrivals_s", advice.map(|(_, arrivals)| arrivals))?;
    Ok(dict)
}
