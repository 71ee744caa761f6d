//! From a struct to a table: one field a column.

/// Declares a record and how its rows become columns; the including module has `Column` and
/// `Record` in scope.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident in $table:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, ::serde::Serialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl Record for $name {
            const TABLE: &'static str = $table;
            type Rows = ($(<$type as Column>::Rows,)+);

            fn rows() -> Self::Rows {
                ($(<$type as Column>::Rows::default(),)+)
            }

            fn columns() -> Result<Vec<::parquet::schema::types::Type>, ::parquet::errors::ParquetError> {
                Ok(vec![$(<$type as Column>::describe(stringify!($field))?),+])
            }

            fn append(&self, rows: &mut Self::Rows) {
                let ($($field,)+) = rows;
                $(self.$field.append($field);)+
            }

            fn write(
                rows: &mut Self::Rows,
                group: &mut ::parquet::file::writer::SerializedRowGroupWriter<'_, ::std::fs::File>,
            ) -> Result<(), ::parquet::errors::ParquetError> {
                let ($($field,)+) = rows;
                $(
                    if let Some(mut column) = group.next_column()? {
                        <$type as Column>::write($field, &mut column)?;
                        column.close()?;
                    }
                )+
                Ok(())
            }
        }
    };
}
