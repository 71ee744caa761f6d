//! How the type of a record's field becomes a column.

use crate::Name;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::Type;
use std::collections::BTreeMap;

/// A field type that a table can hold.
pub trait Column {
    /// Rows of the column that wait to be written.
    type Rows: Default + Clone;
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
#[derive(Debug, Clone, Default)]
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

/// Names by row; each is copied once, however many rows have it.
#[derive(Debug, Clone, Default)]
pub struct Names {
    rows: Vec<ByteArray>,
    met: Vec<(Name, ByteArray)>,
    /// Where each is in `met`.
    places: BTreeMap<Name, usize>,
    /// That of the last row.
    last: usize,
}

impl Names {
    fn push(&mut self, name: &Name) {
        self.last = self.place(name);
        self.rows.push(self.met[self.last].1.clone());
    }

    /// Most rows have the name of the row before, or the name that follows it as it did the last time: then nothing
    /// is searched, and a table of a thousand flows costs no more per row than one of two.
    fn place(&mut self, name: &Name) -> usize {
        let next = if self.last + 1 < self.met.len() { self.last + 1 } else { 0 };
        for place in [self.last, next] {
            if self.met.get(place).is_some_and(|(one, _)| Name::ptr_eq(one, name)) {
                return place;
            }
        }
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        self.met.push((name.clone(), ByteArray::from(name.as_bytes().to_vec())));
        self.places.insert(name.clone(), self.met.len() - 1);
        self.met.len() - 1
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
#[derive(Debug, Clone, Default)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_name_in_whatever_order_they_come() {
        let name = |number: usize| Name::from(format!("flow {number}"));
        let known: Vec<Name> = (0..3).map(name).collect();
        let mut names = Names::default();
        let order = [0, 1, 2, 0, 1, 2, 2, 0, 2, 1, 1, 0];
        for (row, number) in order.into_iter().enumerate() {
            // The same text, now and then in other memory.
            names.push(&if row % 4 == 3 { name(number) } else { known[number].clone() });
        }
        let rows: Vec<&str> = names.rows.iter().filter_map(|row| row.as_utf8().ok()).collect();
        assert_eq!(rows, order.map(|number| format!("flow {number}")));
        assert_eq!(names.met.len(), 3);
    }
}
