//! From a struct to a table: one field a column.

/// Declares a record, and how its rows become columns where tables are kept as Parquet files.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident in $table:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, ::serde::Serialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl $name {
            /// The name of the table that has such rows.
            pub const TABLE: &'static str = $table;
        }

        #[cfg(feature = "parquet")]
        impl $crate::table::Record for $name {
            const TABLE: &'static str = $table;
            type Rows = ($(<$type as $crate::column::Column>::Rows,)+);

            fn rows() -> Self::Rows {
                ($(<$type as $crate::column::Column>::Rows::default(),)+)
            }

            fn columns() -> Result<Vec<::parquet::schema::types::Type>, ::parquet::errors::ParquetError> {
                Ok(vec![$(<$type as $crate::column::Column>::describe(stringify!($field))?),+])
            }

            fn append(&self, rows: &mut Self::Rows) {
                let ($($field,)+) = rows;
                $($crate::column::Column::append(&self.$field, $field);)+
            }

            fn write(
                rows: &mut Self::Rows,
                group: &mut ::parquet::file::writer::SerializedRowGroupWriter<'_, ::std::fs::File>,
            ) -> Result<(), ::parquet::errors::ParquetError> {
                let ($($field,)+) = rows;
                $(
                    if let Some(mut column) = group.next_column()? {
                        <$type as $crate::column::Column>::write($field, &mut column)?;
                        column.close()?;
                    }
                )+
                Ok(())
            }
        }
    };
}
