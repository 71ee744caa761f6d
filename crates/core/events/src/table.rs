//! A Parquet table that is written row by row.
//!
//! A Parquet file can be read once its footer is there, so a process that is killed leaves none that can. Where this
//! matters a table lies in pieces ([`Files::Pieces`]): `frames.00000.parquet` and so on, each a whole file that gets its
//! name when it is written. The last one is written anew with the rows that have come, until it is full.

use crate::SinkError;
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
/// Rows of a piece: while it is not full all of it is written each time, by a thread that has packets to send.
const ROWS_OF_PIECE: usize = 4_096;

/// How the tables of a folder lie there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Files {
    /// A file for each, which can be read at the end.
    #[default]
    Whole,
    /// In pieces, which can be read as soon as [`crate::Sink::keep`] has been called.
    Pieces,
}

/// Why a table could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct TableError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl TableError {
    fn new(path: &Path, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { path: path.to_owned(), source: source.into() }
    }
}

impl From<TableError> for SinkError {
    fn from(error: TableError) -> Self {
        Self::new(error)
    }
}

/// The columns of a record type; made by the `record!` macro.
pub trait Record {
    /// File name without extension.
    const TABLE: &'static str;
    /// Rows of all columns.
    type Rows: Clone;
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
    output: Output,
}

/// Where rows go.
enum Output {
    Whole(Box<SerializedFileWriter<File>>),
    /// The piece of this number; whether it lacks rows that have come.
    Piece(usize, bool),
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
    pub fn create(folder: &Path, files: Files) -> Result<Self, TableError> {
        let path = folder.join(R::TABLE).with_extension("parquet");
        let output = match files {
            Files::Whole => {
                let writer = Self::open(&path).map_err(|source| TableError::new(&path, source))?;
                Output::Whole(Box::new(writer))
            }
            Files::Pieces => Output::Piece(0, false),
        };
        Ok(Self { path, rows: R::rows(), count: 0, output })
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
        match &mut self.output {
            Output::Whole(_) if self.count >= ROWS_IN_MEMORY => self.write_rows(),
            Output::Piece(_, lacks_rows) => {
                *lacks_rows = true;
                if self.count >= ROWS_OF_PIECE { self.next_piece() } else { Ok(()) }
            }
            Output::Whole(_) => Ok(()),
        }
    }

    fn write_rows(&mut self) -> Result<(), TableError> {
        let Output::Whole(writer) = &mut self.output else { return Ok(()) };
        if self.count == 0 {
            return Ok(());
        }
        self.count = 0;
        Self::write_group(&mut self.rows, writer)
            .map_err(|source| TableError::new(&self.path, source))
    }

    fn write_group(
        rows: &mut R::Rows,
        writer: &mut SerializedFileWriter<File>,
    ) -> Result<(), ParquetError> {
        let mut group = writer.next_row_group()?;
        R::write(rows, &mut group)?;
        group.close().map(|_| ())
    }

    /// Sees to it that all rows so far can be read, where the table lies in pieces.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn keep(&mut self) -> Result<(), TableError> {
        let Output::Piece(number, lacks_rows @ true) = &mut self.output else { return Ok(()) };
        let piece = self.path.with_extension(format!("{number:05}.parquet"));
        let partial = piece.with_extension("parquet.partial");
        let mut rows = self.rows.clone();
        Self::open(&partial)
            .and_then(|mut writer| {
                Self::write_group(&mut rows, &mut writer)?;
                writer.close().map(|_| ())
            })
            .map_err(|source| TableError::new(&partial, source))?;
        std::fs::rename(&partial, &piece).map_err(|source| TableError::new(&piece, source))?;
        *lacks_rows = false;
        Ok(())
    }

    /// Closes the piece, which is full.
    fn next_piece(&mut self) -> Result<(), TableError> {
        self.keep()?;
        if let Output::Piece(number, _) = &mut self.output {
            *number += 1;
        }
        self.rows = R::rows();
        self.count = 0;
        Ok(())
    }

    /// Writes what is left and closes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<(), TableError> {
        self.write_rows()?;
        self.keep()?;
        let Self { path, output, .. } = self;
        match output {
            Output::Whole(writer) => {
                writer.close().map(|_| ()).map_err(|source| TableError::new(&path, source))
            }
            Output::Piece(..) => Ok(()),
        }
    }
}
