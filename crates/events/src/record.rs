//! From a struct to a table: one field a column.

/// Declares a record and how its rows become columns; the including module has `Column`, `Record`,
/// `ArrayRef`, `Field` and `Schema` in scope.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident in $table:literal {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)+
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        impl Record for $name {
            const TABLE: &'static str = $table;
            type Builders = ($(<$type as Column>::Builder,)+);

            fn schema() -> Schema {
                Schema::new(vec![$(Field::new(
                    stringify!($field),
                    <$type as Column>::data_type(),
                    <$type as Column>::NULLABLE,
                )),+])
            }

            fn builders() -> Self::Builders {
                ($(<$type as Column>::Builder::default(),)+)
            }

            fn append(&self, builders: &mut Self::Builders) {
                let ($($field,)+) = builders;
                $(self.$field.append($field);)+
            }

            fn finish(builders: &mut Self::Builders) -> Vec<ArrayRef> {
                let ($($field,)+) = builders;
                vec![$(<$type as Column>::finish($field)),+]
            }
        }
    };
}
