//! Why a run cannot be done.

use gameway_control::ControllerError;
use gameway_events::SinkError;
use gameway_media::{FrameTableError, RecordedVideoError};
use gameway_path::{StepsError, ThroughputError, TraceError};
use gameway_units::Instant;
use gameway_units::declared::OptionError;
use std::path::{Path, PathBuf};

/// Why a run cannot be done; the message names the field and what is allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The specification does not make sense.
    #[error("{field}: {why}")]
    Spec {
        /// The field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// A controller cannot be built.
    #[error("stream \"{stream}\": {source}")]
    Controller {
        /// The stream.
        stream: String,
        /// Why.
        source: ControllerError,
    },
    /// The capacity steps are wrong.
    #[error("path.capacity: {0}")]
    Steps(#[from] StepsError),
    /// A trace is wrong.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TraceError,
    },
    /// A table of rates is wrong.
    #[error("{}: {source}", path.display())]
    Throughput {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ThroughputError,
    },
    /// A frame table is wrong.
    #[error("{}: {source}", path.display())]
    FrameTable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FrameTableError,
    },
    /// A recording cannot be played.
    #[error("{}: {source}", path.display())]
    Video {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RecordedVideoError,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What happened cannot be kept.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// A part of it could not go on; whoever built that part knows why.
    #[error("it was ended after {}", *at - Instant::ZERO)]
    Ended {
        /// The time of its last event.
        at: Instant,
    },
}

/// A refusal of a field.
pub fn spec_error(field: impl Into<String>, why: impl Into<String>) -> RunError {
    RunError::Spec { field: field.into(), why: why.into() }
}

/// The error of an option as one of a specification.
pub(crate) fn option_refused(field: &str, error: OptionError) -> RunError {
    let option = error.option.map_or_else(String::new, |option| format!(".{option}"));
    spec_error(format!("{field}{option}"), error.why)
}

/// The content of a file.
///
/// # Errors
/// If it cannot be read; the message names it.
pub fn read(path: &Path) -> Result<Vec<u8>, RunError> {
    std::fs::read(path).map_err(|source| RunError::Read { path: path.to_owned(), source })
}
