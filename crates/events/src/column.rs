//! How the type of a record's field becomes a column.

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, StringDictionaryBuilder,
    UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::types::UInt16Type;
use arrow_schema::DataType;
use std::sync::Arc;

/// A name that stands in many rows: a flow, an event, a variable. Stored as a dictionary.
pub type Name = Arc<str>;

/// A field type that a table can hold.
pub trait Column {
    /// The Arrow builder of the column.
    type Builder: ArrayBuilder + Default;
    /// Whether the column can hold nulls.
    const NULLABLE: bool = false;
    /// The Arrow type of the column.
    fn data_type() -> DataType;
    /// Appends this value.
    fn append(&self, builder: &mut Self::Builder);
    /// Takes the rows out of the builder.
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        builder.finish()
    }
}

macro_rules! plain_column {
    ($type:ty, $builder:ty, $data:expr) => {
        impl Column for $type {
            type Builder = $builder;
            fn data_type() -> DataType {
                $data
            }
            fn append(&self, builder: &mut Self::Builder) {
                builder.append_value(*self);
            }
        }
    };
}
plain_column!(u16, UInt16Builder, DataType::UInt16);
plain_column!(u32, UInt32Builder, DataType::UInt32);
plain_column!(u64, UInt64Builder, DataType::UInt64);
plain_column!(i64, Int64Builder, DataType::Int64);
plain_column!(f64, Float64Builder, DataType::Float64);
plain_column!(bool, BooleanBuilder, DataType::Boolean);

impl Column for Option<i64> {
    type Builder = Int64Builder;
    const NULLABLE: bool = true;
    fn data_type() -> DataType {
        DataType::Int64
    }
    fn append(&self, builder: &mut Self::Builder) {
        builder.append_option(*self);
    }
}

impl Column for Name {
    type Builder = StringDictionaryBuilder<UInt16Type>;
    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
    }
    fn append(&self, builder: &mut Self::Builder) {
        // A run has a handful of names; 65 536 is out of reach.
        builder.append_value(self.as_ref());
    }
}
