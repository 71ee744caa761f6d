//! A Parquet table that is written row by row.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that wait in memory before they are written: the bound of a table's memory.
const ROWS_IN_MEMORY: usize = 32_768;

/// Why a table could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct TableError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
    pub source: parquet::errors::ParquetError,
}

/// The columns of a record type; made by the `record!` macro.
pub trait Record {
    /// File name without extension.
    const TABLE: &'static str;
    /// Builders of all columns.
    type Builders;
    /// The schema.
    fn schema() -> Schema;
    /// Empty builders.
    fn builders() -> Self::Builders;
    /// Appends one row.
    fn append(&self, builders: &mut Self::Builders);
    /// Takes all rows as columns.
    fn finish(builders: &mut Self::Builders) -> Vec<ArrayRef>;
}

/// A table of records of type `R` that is being written.
pub struct Table<R: Record> {
    path: PathBuf,
    builders: R::Builders,
    rows: usize,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
}

impl<R: Record> std::fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("path", &self.path).field("rows", &self.rows).finish()
    }
}

impl<R: Record> Table<R> {
    /// Creates the table's file in `folder`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(folder: &Path) -> Result<Self, TableError> {
        let path = folder.join(R::TABLE).with_extension("parquet");
        let schema = Arc::new(R::schema());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROWS_IN_MEMORY))
            .set_dictionary_enabled(false);
        // Times and counters rise steadily: their differences take a few bits each.
        let properties = schema.fields().iter().fold(properties, |properties, field| {
            let column = field.name().as_str().into();
            match field.data_type() {
                arrow_schema::DataType::Dictionary(..) => {
                    properties.set_column_dictionary_enabled(column, true)
                }
                kind if kind.is_integer() => {
                    properties.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
                }
                _ => properties,
            }
        });
        let writer = File::create(&path)
            .map_err(Into::into)
            .and_then(|file| ArrowWriter::try_new(file, schema.clone(), Some(properties.build())))
            .map_err(|source| TableError { path: path.clone(), source })?;
        Ok(Self { path, builders: R::builders(), rows: 0, schema, writer })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If rows had to be written and could not be.
    pub fn push(&mut self, record: &R) -> Result<(), TableError> {
        record.append(&mut self.builders);
        self.rows += 1;
        if self.rows >= ROWS_IN_MEMORY { self.write_rows() } else { Ok(()) }
    }

    fn write_rows(&mut self) -> Result<(), TableError> {
        self.rows = 0;
        let columns = R::finish(&mut self.builders);
        RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(Into::into)
            .and_then(|batch| self.writer.write(&batch))
            .map_err(|source| TableError { path: self.path.clone(), source })
    }

    /// Writes what is left and closes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.write_rows()?;
        let path = self.path;
        self.writer.close().map(|_| ()).map_err(|source| TableError { path, source })
    }
}
