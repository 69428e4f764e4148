//! A table in memory: columns of five types, which may have gaps, and the schema that names and describes them.
//!
//! Values lie as Arrow has them. With the feature `arrow` a table becomes a record batch, and shares them with it.

use arrow_schema::{ArrowError, DataType, Schema};
use std::fmt::Debug;
use std::sync::Arc;

/// One table of a run. A copy shares the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    schema: Arc<Schema>,
    columns: Arc<[Column]>,
    rows: usize,
}

impl Table {
    /// A table of columns as the schema declares them.
    pub fn new(schema: Arc<Schema>, columns: Vec<Column>) -> Result<Table, ArrowError> {
        let wrong = |text: String| Err(ArrowError::InvalidArgumentError(text));
        if schema.fields().len() != columns.len() {
            return wrong(format!("{} columns are declared, not {}", schema.fields().len(), columns.len()));
        }
        let rows = columns.first().map_or(0, Column::rows);
        for (field, column) in schema.fields().iter().zip(&columns) {
            let name = field.name();
            if *field.data_type() != column.data_type() {
                return wrong(format!("{name} holds {}, not {}", column.data_type(), field.data_type()));
            }
            if column.rows() != rows {
                return wrong(format!("{name} has {} rows, and the first column {rows}", column.rows()));
            }
            if column.valid().is_some() && !field.is_nullable() {
                return wrong(format!("{name} lacks values"));
            }
            // Arrow's offsets of text are signed numbers of 32 bits.
            if let Column::Text(column) = column
                && i32::try_from(column.text.len()).is_err()
            {
                return wrong(format!("{name} holds {} B of text, and at most 2 GiB fit", column.text.len()));
            }
        }
        Ok(Table { schema, columns: columns.into(), rows })
    }

    /// Names, types and descriptions of the columns.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.get(self.schema.index_of(name).ok()?)
    }

    /// The column of a name, if it is of this type of numbers.
    pub fn numbers<T: Native>(&self, name: &str) -> Option<&Values<T>> {
        T::of(self.column(name)?)
    }

    /// The column of a name, if it is text.
    pub fn text(&self, name: &str) -> Option<&Text> {
        self.column(name)?.as_text()
    }
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are named after Arrow's types")]
pub enum Column {
    UInt16(Values<u16>),
    UInt32(Values<u32>),
    UInt64(Values<u64>),
    Float64(Values<f64>),
    Text(Text),
}

impl Column {
    /// A column of numbers without gaps.
    pub fn of<T: Native>(values: impl IntoIterator<Item = T>) -> Column {
        T::column(Values { values: Arc::new(values.into_iter().collect()), valid: None })
    }

    /// A column of numbers, with a gap for each `None`.
    pub fn with_gaps<T: Native>(values: impl IntoIterator<Item = Option<T>>) -> Column {
        let mut valid = Vec::new();
        let known = |value: Option<T>| {
            valid.push(value.is_some());
            value.unwrap_or_default()
        };
        let values = values.into_iter().map(known).collect();
        T::column(Values { values: Arc::new(values), valid: gaps(valid) })
    }

    /// A column of text without gaps.
    pub fn text(values: impl IntoIterator<Item = impl AsRef<str>>) -> Column {
        Column::text_with_gaps(values.into_iter().map(Some))
    }

    /// A column of text, with a gap for each `None`.
    pub fn text_with_gaps(values: impl IntoIterator<Item = Option<impl AsRef<str>>>) -> Column {
        let (mut text, mut offsets, mut valid) = (String::new(), vec![0], Vec::new());
        for value in values {
            valid.push(value.is_some());
            text += value.as_ref().map_or("", AsRef::as_ref);
            // No table is made of more text than that.
            offsets.push(i32::try_from(text.len()).unwrap_or(i32::MAX));
        }
        Column::Text(Text { offsets: Arc::new(offsets), text: Arc::new(text), valid: gaps(valid) })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Column::UInt16(column) => column.values.len(),
            Column::UInt32(column) => column.values.len(),
            Column::UInt64(column) => column.values.len(),
            Column::Float64(column) => column.values.len(),
            Column::Text(column) => column.offsets.len() - 1,
        }
    }

    /// Arrow's type of it.
    pub fn data_type(&self) -> DataType {
        match self {
            Column::UInt16(_) => DataType::UInt16,
            Column::UInt32(_) => DataType::UInt32,
            Column::UInt64(_) => DataType::UInt64,
            Column::Float64(_) => DataType::Float64,
            Column::Text(_) => DataType::Utf8,
        }
    }

    /// True for each row that has a value; `None` for a column without gaps.
    pub fn valid(&self) -> Option<&[bool]> {
        let valid = match self {
            Column::UInt16(column) => &column.valid,
            Column::UInt32(column) => &column.valid,
            Column::UInt64(column) => &column.valid,
            Column::Float64(column) => &column.valid,
            Column::Text(column) => &column.valid,
        };
        valid.as_ref().map(|valid| valid.as_slice())
    }

    /// It, if it is text.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Column::Text(column) => Some(column),
            _ => None,
        }
    }
}

/// True for each row that has a value, of a column with gaps.
type Valid = Option<Arc<Vec<bool>>>;

fn gaps(valid: Vec<bool>) -> Valid {
    // As in Arrow, a column without gaps has no such list.
    valid.contains(&false).then(|| Arc::new(valid))
}

fn is_valid(valid: &Valid, row: usize) -> bool {
    valid.as_ref().is_none_or(|valid| valid[row])
}

/// Numbers, one a row; zero in a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Values<T> {
    pub(super) values: Arc<Vec<T>>,
    pub(super) valid: Valid,
}

impl<T: Copy> Values<T> {
    /// All of them, with a zero for each gap.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The number of a row; zero in a gap.
    pub fn value(&self, row: usize) -> T {
        self.values[row]
    }

    /// The number of a row; `None` in a gap.
    pub fn get(&self, row: usize) -> Option<T> {
        is_valid(&self.valid, row).then(|| self.values[row])
    }

    /// Values of all rows.
    pub fn iter(&self) -> impl Iterator<Item = Option<T>> {
        (0..self.values.len()).map(|row| self.get(row))
    }
}

/// Text, one a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Start of each row's text, and the end of the last one.
    pub(super) offsets: Arc<Vec<i32>>,
    /// The text of all rows, one after another.
    pub(super) text: Arc<String>,
    pub(super) valid: Valid,
}

impl Text {
    /// The text of a row; empty in a gap.
    pub fn value(&self, row: usize) -> &str {
        &self.text[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// The text of a row; `None` in a gap.
    pub fn get(&self, row: usize) -> Option<&str> {
        is_valid(&self.valid, row).then(|| self.value(row))
    }

    /// Texts of all rows.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.offsets.len() - 1).map(|row| self.get(row))
    }
}

/// Numbers that columns hold.
pub trait Native: Copy + Default {
    /// A column of them.
    fn column(values: Values<Self>) -> Column;

    /// The numbers of a column, if they are of this type.
    fn of(column: &Column) -> Option<&Values<Self>>;
}

macro_rules! native {
    ($($number:ty => $column:ident),*) => { $(
        impl Native for $number {
            fn column(values: Values<Self>) -> Column {
                Column::$column(values)
            }

            fn of(column: &Column) -> Option<&Values<Self>> {
                match column {
                    Column::$column(values) => Some(values),
                    _ => None,
                }
            }
        }
    )* };
}

native!(u16 => UInt16, u32 => UInt32, u64 => UInt64, f64 => Float64);
