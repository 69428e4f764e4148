//! Reading the files of a run.

#![allow(clippy::disallowed_methods, reason = "this is where results are read")]

use crate::results::table::{Native, Text, Values};
use crate::results::{Column, Table, TableFormat};
use crate::text::LabError;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

fn unreadable(path: &Path, reason: impl ToString) -> LabError {
    LabError::Unreadable { path: path.to_path_buf(), reason: reason.to_string() }
}

/// A whole table.
pub(super) fn table(path: &Path, format: &dyn TableFormat) -> Result<Table, LabError> {
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
    table: &'a Table,
}

impl<'a> Columns<'a> {
    pub(super) fn new(from: &Path, name: &str, table: &'a Table) -> Columns<'a> {
        Columns { path: from.join(format!("{name}.parquet")), table }
    }

    pub(super) fn rows(&self) -> usize {
        self.table.rows()
    }

    fn of(&self, name: &str) -> Result<&'a Column, LabError> {
        let found = self.table.column(name);
        found.ok_or_else(|| unreadable(&self.path, format!("it lacks the column {name}")))
    }

    fn wrong(&self, name: &str, wanted: &str) -> LabError {
        unreadable(&self.path, format!("the column {name} does not hold {wanted}"))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a Text, LabError> {
        self.of(name)?.as_text().ok_or_else(|| self.wrong(name, "text"))
    }

    fn native<T: Native>(&self, name: &str, wanted: &str) -> Result<&'a Values<T>, LabError> {
        T::of(self.of(name)?).ok_or_else(|| self.wrong(name, wanted))
    }

    pub(super) fn numbers(&self, name: &str) -> Result<&'a Values<f64>, LabError> {
        self.native(name, "numbers")
    }

    pub(super) fn whole(&self, name: &str) -> Result<&'a Values<u64>, LabError> {
        self.native(name, "whole numbers")
    }

    pub(super) fn small(&self, name: &str) -> Result<&'a Values<u32>, LabError> {
        self.native(name, "numbers of hosts, flows or steps")
    }

    /// A column that tables of earlier versions lack; `None` there.
    pub(super) fn numbers_if_there(&self, name: &str) -> Result<Option<&'a Values<f64>>, LabError> {
        self.table.column(name).map(|_| self.numbers(name)).transpose()
    }
}
