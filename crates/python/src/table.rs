//! Tables that are handed to Python, and the files that Python makes of them.

use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use headway_lab::TableFormat;
use headway_lab::results::table::{Column, Table, Text};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyCapsule};
use rustc_hash::FxHashMap;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A table that any Arrow library reads.
#[pyclass(frozen, module = "headway._headway")]
pub(crate) struct ArrowTable {
    pub(crate) table: Table,
}

/// A column as `headway.data.parquet` has it: its name, NumPy's type of its values, and the values; whether each row has one,
/// unless all have; and of text the list that the values number.
type Parts<B> = (String, String, B, Option<B>, Option<Vec<String>>);

#[pymethods]
impl ArrowTable {
    /// A table that was read from a file.
    #[new]
    fn new(columns: Vec<Parts<PyBackedBytes>>) -> PyResult<ArrowTable> {
        let columns = columns.into_iter().map(|column| Ok((column.0.clone(), from_parts(column)?)));
        let (names, columns): (Vec<String>, Vec<Column>) =
            columns.collect::<PyResult<Vec<_>>>()?.into_iter().unzip();
        // Every column may have gaps: Python says for each whether it has.
        let field = |(name, column): (String, &Column)| Field::new(name, column.data_type(), true);
        let fields: Vec<Field> = names.into_iter().zip(&columns).map(field).collect();
        let table = Table::new(Arc::new(Schema::new(fields)), columns);
        Ok(ArrowTable { table: table.map_err(|error| PyValueError::new_err(error.to_string()))? })
    }

    /// The Arrow PyCapsule interface; the requested schema is a wish that producers may ignore.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.stream(py)
    }

    /// Its columns, for `headway.data.parquet`.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Parts<Bound<'py, PyBytes>>>> {
        let names = self.table.schema().fields().iter().map(|field| field.name().clone());
        names.zip(self.table.columns()).map(|(name, column)| to_parts(py, name, column)).collect()
    }

    /// Description of the columns in a file.
    fn schema(&self) -> ArrowSchema {
        ArrowSchema::from_table(&self.table)
    }

    fn __len__(&self) -> usize {
        self.table.rows()
    }
}

impl ArrowTable {
    #[cfg(feature = "parquet")]
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        use arrow_array::RecordBatchIterator;
        use arrow_array::ffi_stream::FFI_ArrowArrayStream;

        let batch = self.table.to_arrow().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let schema = batch.schema();
        let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
        // A consumer moves the stream out and clears its release callback; a stream that was not taken is
        // released when the capsule is.
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// That of a data frame, because the crates of Arrow are not compiled for `make demo`.
    #[cfg(not(feature = "parquet"))]
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let frame = functions_module(py)?.call_method1("frame", (self.columns(py)?,))?;
        Ok(frame.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?)
    }
}

fn to_parts<'py>(py: Python<'py>, name: String, column: &Column) -> PyResult<Parts<Bound<'py, PyBytes>>> {
    let (kind, values, texts) = match column {
        Column::UInt16(column) => ("uint16", packed(py, column.values(), u16::to_ne_bytes)?, None),
        Column::UInt32(column) => ("uint32", packed(py, column.values(), u32::to_ne_bytes)?, None),
        Column::UInt64(column) => ("uint64", packed(py, column.values(), u64::to_ne_bytes)?, None),
        Column::Float64(column) => ("float64", packed(py, column.values(), f64::to_ne_bytes)?, None),
        Column::Text(column) => {
            let (numbers, texts) = number_texts(column);
            ("uint32", packed(py, &numbers, u32::to_ne_bytes)?, Some(texts))
        }
    };
    let valid = column.valid().map(|valid| packed(py, valid, |there| [u8::from(there)])).transpose()?;
    Ok((name, kind.into(), values, valid, texts))
}

/// The values of a column as NumPy has them: in this machine's byte order, one after the other.
fn packed<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    to_bytes: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * N, |bytes| {
        for (place, value) in bytes.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&to_bytes(*value));
        }
        Ok(())
    })
}

/// The texts of a column, each once, and the number of that of each row: most tables repeat theirs.
fn number_texts(column: &Text) -> (Vec<u32>, Vec<String>) {
    let (mut numbers, mut texts) = (FxHashMap::default(), Vec::new());
    let mut number = |text| {
        *numbers.entry(text).or_insert_with(|| {
            texts.push(String::from(text));
            texts.len() as u32 - 1
        })
    };
    // A row without a text gets the number of the empty one; `valid` says that it has none.
    let of_rows = column.iter().map(|text| number(text.unwrap_or_default())).collect();
    (of_rows, texts)
}

fn from_parts((name, kind, values, valid, texts): Parts<PyBackedBytes>) -> PyResult<Column> {
    fn known_values<T, const N: usize>(
        values: &[u8],
        valid: Option<&[u8]>,
        from_bytes: fn([u8; N]) -> T,
    ) -> impl Iterator<Item = Option<T>> {
        let there = move |row: usize| valid.is_none_or(|valid| valid.get(row) == Some(&1));
        let rows = values.chunks_exact(N).enumerate();
        rows.map(move |(row, value)| value.try_into().ok().filter(|_| there(row)).map(from_bytes))
    }
    let valid = valid.as_deref();
    Ok(match (kind.as_str(), texts) {
        ("uint16", None) => Column::with_gaps(known_values(&values, valid, u16::from_ne_bytes)),
        ("uint32", None) => Column::with_gaps(known_values(&values, valid, u32::from_ne_bytes)),
        ("uint64", None) => Column::with_gaps(known_values(&values, valid, u64::from_ne_bytes)),
        ("float64", None) => Column::with_gaps(known_values(&values, valid, f64::from_ne_bytes)),
        ("uint32", Some(texts)) => {
            let numbers = known_values(&values, valid, u32::from_ne_bytes);
            Column::text_with_gaps(numbers.map(|number| texts.get(number? as usize)))
        }
        (kind, _) => {
            let text = format!("the column {name} holds {kind}, which no table of a run does");
            return Err(PyValueError::new_err(text));
        }
    })
}

/// Description of a table's columns in a file: names, types, units and meanings.
#[pyclass(frozen, module = "headway._headway")]
pub(crate) struct ArrowSchema {
    schema: Schema,
}

impl ArrowSchema {
    /// Those of a table; text is `LargeUtf8`, which is how polars writes it.
    fn from_table(table: &Table) -> ArrowSchema {
        let schema = table.schema();
        // Both writers then give the same schema, and a file does not show which of them made it.
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
    /// Reason to stop other than a failure of writing or reading, such as Ctrl-C.
    raised: Mutex<Option<PyErr>>,
}

impl ByPython {
    /// Exception to raise instead of an error of the lab.
    pub(crate) fn raised_exception(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn compiled_format() -> Option<&'static dyn TableFormat> {
        #[cfg(feature = "parquet")]
        return Some(&headway_lab::results::parquet::Parquet);
        #[cfg(not(feature = "parquet"))]
        None
    }

    fn failed_call(&self, py: Python<'_>, error: PyErr) -> Box<dyn Error> {
        let reason = match error.value(py).str() {
            Ok(text) if !text.to_string().is_empty() => text.to_string(),
            _ => error.to_string(),
        };
        // KeyboardInterrupt and SystemExit are no subclasses of Exception: they are raised as they are.
        if !error.is_instance_of::<PyException>(py) {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
        reason.into()
    }
}

impl TableFormat for ByPython {
    fn write(&self, table: &Table, to: &mut (dyn Write + Send)) -> Result<(), Box<dyn Error>> {
        if let Some(compiled) = Self::compiled_format() {
            return compiled.write(table, to);
        }
        let made = Python::attach(|py| {
            let schema = ArrowSchema::from_table(table);
            let table = ArrowTable { table: table.clone() };
            let columns = table.columns(py).map_err(|error| self.failed_call(py, error))?;
            let made =
                functions_module(py).and_then(|module| module.call_method1("write", (columns, schema)));
            made.and_then(|bytes| Ok(bytes.extract::<PyBackedBytes>()?))
                .map_err(|error| self.failed_call(py, error))
        })?;
        Ok(to.write_all(&made)?)
    }

    fn read(&self, path: &Path) -> Result<Table, Box<dyn Error>> {
        if let Some(compiled) = Self::compiled_format() {
            return compiled.read(path);
        }
        Python::attach(|py| {
            let read = functions_module(py).and_then(|module| module.call_method1("read", (path,)));
            let table = read.and_then(|columns| ArrowTable::new(columns.extract()?));
            table.map(|read| read.table).map_err(|error| self.failed_call(py, error))
        })
    }
}

fn functions_module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("headway.data.parquet")
}
