//! A Parquet table that is written row by row.

use crate::TableError;
use parquet::basic::{Compression, Encoding, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that wait in memory before they are written: the bound of a table's memory.
const ROWS_IN_MEMORY: usize = 32_768;

/// The columns of a record type; made by the `record!` macro.
pub trait Record {
    /// File name without extension.
    const TABLE: &'static str;
    /// Rows of all columns.
    type Rows;
    /// No rows yet.
    fn rows() -> Self::Rows;
    /// The columns' types.
    fn columns() -> Result<Vec<Type>, ParquetError>;
    /// Appends one row.
    fn append(&self, rows: &mut Self::Rows);
    /// Writes all rows, column by column, and forgets them.
    fn write(
        rows: &mut Self::Rows,
        group: &mut SerializedRowGroupWriter<'_, File>,
    ) -> Result<(), ParquetError>;
}

/// A table of records of type `R` that is being written.
pub struct Table<R: Record> {
    path: PathBuf,
    rows: R::Rows,
    count: usize,
    writer: SerializedFileWriter<File>,
}

impl<R: Record> std::fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("path", &self.path).field("count", &self.count).finish()
    }
}

impl<R: Record> Table<R> {
    /// Creates the table's file in `folder`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(folder: &Path) -> Result<Self, TableError> {
        let path = folder.join(R::TABLE).with_extension("parquet");
        let writer = Self::open(&path).map_err(|source| TableError::new(&path, source))?;
        Ok(Self { path, rows: R::rows(), count: 0, writer })
    }

    fn open(path: &Path) -> Result<SerializedFileWriter<File>, ParquetError> {
        let columns: Vec<_> = R::columns()?.into_iter().map(Arc::new).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(false);
        // Times and counters rise steadily: their differences take a few bits each.
        let properties = columns.iter().fold(properties, |properties, column| {
            let name = column.name().into();
            match column.get_physical_type() {
                Physical::BYTE_ARRAY => properties.set_column_dictionary_enabled(name, true),
                Physical::INT32 | Physical::INT64 => {
                    properties.set_column_encoding(name, Encoding::DELTA_BINARY_PACKED)
                }
                _ => properties,
            }
        });
        let schema = Type::group_type_builder(R::TABLE).with_fields(columns).build()?;
        SerializedFileWriter::new(
            File::create(path)?,
            Arc::new(schema),
            Arc::new(properties.build()),
        )
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If rows had to be written and could not be.
    pub fn push(&mut self, record: &R) -> Result<(), TableError> {
        record.append(&mut self.rows);
        self.count += 1;
        if self.count >= ROWS_IN_MEMORY { self.write_rows() } else { Ok(()) }
    }

    fn write_rows(&mut self) -> Result<(), TableError> {
        if self.count == 0 {
            return Ok(());
        }
        self.count = 0;
        let rows = &mut self.rows;
        self.writer
            .next_row_group()
            .and_then(|mut group| {
                R::write(rows, &mut group)?;
                group.close().map(|_| ())
            })
            .map_err(|source| TableError::new(&self.path, source))
    }

    /// Writes what is left and closes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.write_rows()?;
        let path = self.path;
        self.writer.close().map(|_| ()).map_err(|source| TableError::new(&path, source))
    }
}
