//! Results of a run, with tables as Arrow C streams.

use crate::lab_error;
use crate::table::ArrowTable;
use headway_lab::{RunOutput, perfetto};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Results of one run.
#[pyclass(frozen, module = "headway._headway")]
pub(crate) struct RunResult {
    output: RunOutput,
}

impl RunResult {
    pub(crate) fn new(output: RunOutput) -> RunResult {
        RunResult { output }
    }
}

#[pymethods]
impl RunResult {
    /// One row a flow.
    #[getter]
    fn flows(&self) -> ArrowTable {
        ArrowTable { table: self.output.flows.clone() }
    }

    /// One row a directed link.
    #[getter]
    fn links(&self) -> ArrowTable {
        ArrowTable { table: self.output.links.clone() }
    }

    /// One row a step between flows; `None` where nothing waits.
    #[getter]
    fn steps(&self) -> Option<ArrowTable> {
        self.output.graph.as_ref().map(|(steps, _)| ArrowTable { table: steps.clone() })
    }

    /// One row for each dependency of a flow or step; `None` where nothing waits.
    #[getter]
    fn edges(&self) -> Option<ArrowTable> {
        self.output.graph.as_ref().map(|(_, edges)| ArrowTable { table: edges.clone() })
    }

    /// Writes it as a Perfetto trace.
    fn write_perfetto(&self, py: Python<'_>, out: PathBuf) -> PyResult<()> {
        py.detach(|| perfetto::write(&self.output, &out)).map_err(|e| lab_error(&e))
    }

    /// Samples of the run.
    #[getter]
    fn series(&self) -> ArrowTable {
        ArrowTable { table: self.output.series.clone() }
    }

    /// The numbers of `summary.json`.
    fn summary_json(&self) -> String {
        self.output.summary.to_string()
    }

    /// Contents of `manifest.json`.
    fn manifest_json(&self) -> String {
        self.output.manifest.to_string()
    }
}
