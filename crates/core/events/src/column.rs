//! How the type of a record's field becomes a column.

use crate::Name;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::Type;

/// A field type that a table can hold.
pub trait Column {
    /// Rows of the column that wait to be written.
    type Rows: Default;
    /// Its Parquet type.
    fn describe(name: &str) -> Result<Type, ParquetError>;
    /// Appends this value.
    fn append(&self, rows: &mut Self::Rows);
    /// Writes the rows and forgets them.
    fn write(
        rows: &mut Self::Rows,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError>;
}

fn describe(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    repetition: Repetition,
) -> Result<Type, ParquetError> {
    Type::primitive_type_builder(name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}

fn write<T: DataType>(
    values: &mut Vec<T::T>,
    known: Option<&[i16]>,
    column: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    column.typed::<T>().write_batch(values, known, None)?;
    values.clear();
    Ok(())
}

/// A number that Parquet stores as it is, or as the signed number of the same bits.
macro_rules! plain_column {
    ($type:ty, $stored:ty, $physical:ident, $logical:expr) => {
        impl Column for $type {
            type Rows = Vec<<$stored as DataType>::T>;
            fn describe(name: &str) -> Result<Type, ParquetError> {
                describe(name, Physical::$physical, $logical, Repetition::REQUIRED)
            }
            #[allow(
                clippy::cast_possible_wrap,
                clippy::cast_lossless,
                trivial_numeric_casts,
                reason = "unsigned numbers are stored by their bits"
            )]
            fn append(&self, rows: &mut Self::Rows) {
                rows.push(*self as <$stored as DataType>::T);
            }
            fn write(
                rows: &mut Self::Rows,
                column: &mut SerializedColumnWriter<'_>,
            ) -> Result<(), ParquetError> {
                write::<$stored>(rows, None, column)
            }
        }
    };
}
plain_column!(u16, Int32Type, INT32, Some(LogicalType::integer(16, false)));
plain_column!(u32, Int32Type, INT32, Some(LogicalType::integer(32, false)));
plain_column!(u64, Int64Type, INT64, Some(LogicalType::integer(64, false)));
plain_column!(i64, Int64Type, INT64, None);
plain_column!(f64, DoubleType, DOUBLE, None);
plain_column!(bool, BoolType, BOOLEAN, None);

/// Numbers some of which are unknown.
#[derive(Debug, Default)]
pub struct Optional {
    known: Vec<i64>,
    /// Of each row: 1 if it is known.
    levels: Vec<i16>,
}

impl Column for Option<i64> {
    type Rows = Optional;
    fn describe(name: &str) -> Result<Type, ParquetError> {
        describe(name, Physical::INT64, None, Repetition::OPTIONAL)
    }
    fn append(&self, rows: &mut Self::Rows) {
        rows.known.extend(self);
        rows.levels.push(i16::from(self.is_some()));
    }
    fn write(
        rows: &mut Self::Rows,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        write::<Int64Type>(&mut rows.known, Some(&rows.levels), column)?;
        rows.levels.clear();
        Ok(())
    }
}

/// Names by row; a run has a handful, each is copied once.
#[derive(Debug, Default)]
pub struct Names {
    rows: Vec<ByteArray>,
    met: Vec<(Name, ByteArray)>,
}

impl Names {
    fn push(&mut self, name: &Name) {
        let met = self.met.iter().find(|(one, _)| Name::ptr_eq(one, name) || one == name);
        let bytes = met.map(|(_, bytes)| bytes.clone()).unwrap_or_else(|| {
            let bytes = ByteArray::from(name.as_bytes().to_vec());
            self.met.push((name.clone(), bytes.clone()));
            bytes
        });
        self.rows.push(bytes);
    }
}

impl Column for Name {
    type Rows = Names;
    fn describe(name: &str) -> Result<Type, ParquetError> {
        describe(name, Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED)
    }
    fn append(&self, rows: &mut Self::Rows) {
        rows.push(self);
    }
    fn write(
        rows: &mut Self::Rows,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        write::<ByteArrayType>(&mut rows.rows, None, column)
    }
}

/// Names some of which there are not.
#[derive(Debug, Default)]
pub struct OptionalNames {
    known: Names,
    /// Of each row: 1 if there is one.
    levels: Vec<i16>,
}

impl Column for Option<Name> {
    type Rows = OptionalNames;
    fn describe(name: &str) -> Result<Type, ParquetError> {
        describe(name, Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::OPTIONAL)
    }
    fn append(&self, rows: &mut Self::Rows) {
        if let Some(name) = self {
            rows.known.push(name);
        }
        rows.levels.push(i16::from(self.is_some()));
    }
    fn write(
        rows: &mut Self::Rows,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        write::<ByteArrayType>(&mut rows.known.rows, Some(&rows.levels), column)?;
        rows.levels.clear();
        Ok(())
    }
}
