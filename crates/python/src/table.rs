//! Tables that cross the border to Python as Arrow C streams, and the files that Python makes of them.

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray};
use arrow_schema::{DataType, Field, Schema};
use headway_lab::TableFormat;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyCapsule;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A table that any Arrow library reads without a copy.
#[pyclass(frozen, module = "headway._headway")]
pub(crate) struct ArrowTable {
    pub(crate) batch: RecordBatch,
}

#[pymethods]
impl ArrowTable {
    /// The Arrow PyCapsule interface; the requested schema is a wish that producers may ignore.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        // A consumer moves the stream out and clears its release callback; what nobody took is released
        // when the capsule is.
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// What a file says of its columns.
    fn schema(&self) -> ArrowSchema {
        ArrowSchema::of(&self.batch)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }
}

/// What a file says of the columns of a table: names, types, units and meanings.
#[pyclass(frozen, module = "headway._headway")]
pub(crate) struct ArrowSchema {
    schema: Schema,
}

impl ArrowSchema {
    /// Those of a table; text is `LargeUtf8`, which is how polars writes it.
    fn of(table: &RecordBatch) -> ArrowSchema {
        let schema = table.schema();
        let large = |field: &Arc<Field>| match field.data_type() {
            DataType::Utf8 => field.as_ref().clone().with_data_type(DataType::LargeUtf8),
            _ => field.as_ref().clone(),
        };
        let fields: Vec<Field> = schema.fields().iter().map(large).collect();
        ArrowSchema { schema: Schema::new_with_metadata(fields, schema.metadata().clone()) }
    }
}

#[pymethods]
impl ArrowSchema {
    /// The Arrow PyCapsule interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&self.schema);
        let schema = schema.map_err(|e| PyValueError::new_err(e.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

/// Parquet files by the crate `parquet`, where the module is built with that feature. Else by `headway.data.parquet`, which has
/// polars: the crate would be two fifths of what `make demo` compiles.
#[derive(Default)]
pub(crate) struct ByPython {
    /// What stopped it that is no failure of writing or reading, such as Ctrl-C.
    raised: Mutex<Option<PyErr>>,
}

impl ByPython {
    /// What is to be raised instead of an error of the lab.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn compiled() -> Option<&'static dyn TableFormat> {
        #[cfg(feature = "parquet")]
        return Some(&headway_lab::results::parquet::Parquet);
        #[cfg(not(feature = "parquet"))]
        None
    }

    fn failed(&self, py: Python<'_>, error: PyErr) -> Box<dyn Error> {
        let reason = match error.value(py).str() {
            Ok(text) if !text.to_string().is_empty() => text.to_string(),
            _ => error.to_string(),
        };
        if !error.is_instance_of::<PyException>(py) {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
        reason.into()
    }
}

impl TableFormat for ByPython {
    fn write(&self, table: &RecordBatch, to: &mut (dyn Write + Send)) -> Result<(), Box<dyn Error>> {
        if let Some(compiled) = Self::compiled() {
            return compiled.write(table, to);
        }
        let made = Python::attach(|py| {
            let schema = ArrowSchema::of(table);
            let table = ArrowTable { batch: table.clone() };
            let made = functions(py).and_then(|module| module.call_method1("write", (table, schema)));
            made.and_then(|bytes| Ok(bytes.extract::<PyBackedBytes>()?))
                .map_err(|error| self.failed(py, error))
        })?;
        Ok(to.write_all(&made)?)
    }

    fn read(&self, path: &Path) -> Result<RecordBatch, Box<dyn Error>> {
        if let Some(compiled) = Self::compiled() {
            return compiled.read(path);
        }
        Python::attach(|py| {
            let read = functions(py).and_then(|module| module.call_method1("read", (path,)));
            read.and_then(|frame| batch(&frame)).map_err(|error| self.failed(py, error))
        })
    }
}

fn functions(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("headway.data.parquet")
}

/// The only batch of a stream, with text as `Utf8`.
fn batch(stream: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let wrong = |text: String| PyValueError::new_err(text);
    let capsule = stream.call_method0("__arrow_c_stream__")?;
    let taken = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
    #[allow(unsafe_code, reason = "a stream crosses the border as a pointer")]
    // SAFETY: a capsule of this name holds a stream that nobody else has taken; its callback of release is cleared here.
    let mut batches = unsafe { RecordBatchStreamReader::from_raw(taken.as_ptr().cast()) }
        .map_err(|error| wrong(error.to_string()))?;
    let read = match batches.next() {
        Some(read) => read.map_err(|error| wrong(error.to_string()))?,
        None => RecordBatch::new_empty(batches.schema()),
    };
    if batches.next().is_some() {
        return Err(wrong("a table is in more than one piece".into()));
    }
    let schema = read.schema();
    let columns = schema.fields().iter().zip(read.columns()).map(|(field, column)| {
        let column: ArrayRef = match column.data_type() {
            DataType::Utf8View => Arc::new(column.as_string_view().iter().collect::<StringArray>()),
            DataType::LargeUtf8 => Arc::new(column.as_string::<i64>().iter().collect::<StringArray>()),
            _ => Arc::clone(column),
        };
        (field.name(), column)
    });
    RecordBatch::try_from_iter(columns).map_err(|error| wrong(error.to_string()))
}
