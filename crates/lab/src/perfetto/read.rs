//! Reading what a run left behind.

#![allow(clippy::disallowed_methods, reason = "this is where results are read")]

use crate::results::TableFormat;
use crate::text::LabError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrowPrimitiveType, Float64Array, PrimitiveArray, RecordBatch, StringArray};
use arrow_array::{UInt32Array, UInt64Array};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn unreadable(path: &Path, reason: impl ToString) -> LabError {
    LabError::Unreadable { path: path.to_path_buf(), reason: reason.to_string() }
}

/// A whole table.
pub(super) fn table(path: &Path, format: &dyn TableFormat) -> Result<RecordBatch, LabError> {
    format.read(path).map_err(|error| unreadable(path, error))
}

/// A JSON document.
pub(super) fn document(path: &Path) -> Result<Json, LabError> {
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(path, e))?;
    serde_json::from_str(&text).map_err(|e| unreadable(path, e))
}

/// The columns of a table, by name and type; an error names the file.
pub(super) struct Columns<'a> {
    path: PathBuf,
    batch: &'a RecordBatch,
}

impl<'a> Columns<'a> {
    pub(super) fn new(from: &Path, name: &str, batch: &'a RecordBatch) -> Columns<'a> {
        Columns { path: from.join(format!("{name}.parquet")), batch }
    }

    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn of(&self, name: &str) -> Result<&'a dyn Array, LabError> {
        let found = self.batch.column_by_name(name);
        let found = found.ok_or_else(|| unreadable(&self.path, format!("it lacks the column {name}")))?;
        Ok(found.as_ref())
    }

    fn wrong(&self, name: &str, wanted: &str) -> LabError {
        unreadable(&self.path, format!("the column {name} does not hold {wanted}"))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a StringArray, LabError> {
        self.of(name)?.as_string_opt::<i32>().ok_or_else(|| self.wrong(name, "text"))
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        name: &str,
        wanted: &str,
    ) -> Result<&'a PrimitiveArray<T>, LabError> {
        self.of(name)?.as_primitive_opt::<T>().ok_or_else(|| self.wrong(name, wanted))
    }

    pub(super) fn numbers(&self, name: &str) -> Result<&'a Float64Array, LabError> {
        self.primitive::<Float64Type>(name, "numbers")
    }

    pub(super) fn whole(&self, name: &str) -> Result<&'a UInt64Array, LabError> {
        self.primitive::<UInt64Type>(name, "whole numbers")
    }

    pub(super) fn small(&self, name: &str) -> Result<&'a UInt32Array, LabError> {
        self.primitive::<UInt32Type>(name, "numbers of hosts, flows or steps")
    }

    /// A column that tables of earlier versions lack; `None` there.
    pub(super) fn numbers_if_there(&self, name: &str) -> Result<Option<&'a Float64Array>, LabError> {
        self.batch.column_by_name(name).map(|_| self.numbers(name)).transpose()
    }
}

/// A value, unless it is null.
pub(super) fn value<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    array.is_valid(row).then(|| array.value(row))
}
