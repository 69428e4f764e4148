//! Tables as Arrow's record batches, for libraries that take those.

use super::table::{Column, Table, Values};
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, StringArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, ToByteSlice};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bytes::Bytes;
use std::sync::Arc;

impl Table {
    /// The table as a record batch, which shares the values.
    pub fn to_arrow(&self) -> Result<RecordBatch, ArrowError> {
        let columns = self.columns().iter().map(array).collect::<Result<_, _>>()?;
        RecordBatch::try_new(Arc::clone(self.schema()), columns)
    }

    /// A record batch of types that tables have; text may also be `LargeUtf8` or `Utf8View`.
    pub fn from_arrow(batch: &RecordBatch) -> Result<Table, ArrowError> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns()).map(|(field, array)| column(field, array));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let field = |(field, column): (&Arc<Field>, &Column)| {
            // Large and view texts become plain ones.
            field.as_ref().clone().with_data_type(column.data_type())
        };
        let fields: Vec<Field> = schema.fields().iter().zip(&columns).map(field).collect();
        Table::new(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())), columns)
    }
}

/// Data of a table that a buffer of Arrow keeps alive.
struct Shared<T>(Arc<T>);

impl<T: ArrowNativeType> AsRef<[u8]> for Shared<Vec<T>> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice().to_byte_slice()
    }
}

impl AsRef<[u8]> for Shared<String> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

fn shared<T: Send + Sync + 'static>(held: &Arc<T>) -> Buffer
where
    Shared<T>: AsRef<[u8]>,
{
    Buffer::from(Bytes::from_owner(Shared(Arc::clone(held))))
}

fn numbers<T: ArrowNativeType>(held: &Arc<Vec<T>>) -> ScalarBuffer<T> {
    ScalarBuffer::new(shared(held), 0, held.len())
}

fn array(column: &Column) -> Result<ArrayRef, ArrowError> {
    fn primitive<T: ArrowPrimitiveType>(
        values: &Values<T::Native>,
        gaps: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(PrimitiveArray::<T>::try_new(numbers(&values.values), gaps)?))
    }
    let gaps = column.valid().map(NullBuffer::from);
    match column {
        Column::UInt16(values) => primitive::<UInt16Type>(values, gaps),
        Column::UInt32(values) => primitive::<UInt32Type>(values, gaps),
        Column::UInt64(values) => primitive::<UInt64Type>(values, gaps),
        Column::Float64(values) => primitive::<Float64Type>(values, gaps),
        Column::Text(text) => {
            let offsets = OffsetBuffer::new(numbers(&text.offsets));
            Ok(Arc::new(StringArray::try_new(offsets, shared(&text.text), gaps)?))
        }
    }
}

fn column(field: &Field, array: &dyn Array) -> Result<Column, ArrowError> {
    Ok(match array.data_type() {
        DataType::UInt16 => Column::with_gaps(array.as_primitive::<UInt16Type>()),
        DataType::UInt32 => Column::with_gaps(array.as_primitive::<UInt32Type>()),
        DataType::UInt64 => Column::with_gaps(array.as_primitive::<UInt64Type>()),
        DataType::Float64 => Column::with_gaps(array.as_primitive::<Float64Type>()),
        DataType::Utf8 => Column::text_with_gaps(array.as_string::<i32>()),
        DataType::LargeUtf8 => Column::text_with_gaps(array.as_string::<i64>()),
        DataType::Utf8View => Column::text_with_gaps(array.as_string_view()),
        other => {
            let text = format!("the column {} holds {other}, which no table of a run does", field.name());
            return Err(ArrowError::SchemaError(text));
        }
    })
}
