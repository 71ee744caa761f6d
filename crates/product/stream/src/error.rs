//! Why a host or a client cannot go on.

use gameway_events::{Sink, SinkError};
use gameway_units::declared;
use std::io;

/// Why a host or a client ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The configuration cannot be used.
    #[error("{field}: {why}")]
    Config {
        /// Its field.
        field: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A setting cannot be so.
    #[error(transparent)]
    Setting(#[from] declared::OptionError),
    /// The system refused.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What it said.
        source: io::Error,
    },
    /// There is no host, it refuses, or it says what cannot be understood.
    #[error("{0}")]
    Host(String),
    /// What happened cannot be kept.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

/// A sink once it has begun; `None` where nothing is kept.
pub type BegunSink = Result<Option<Box<dyn Sink>>, StreamError>;

/// An error of the system while doing `what`.
pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> StreamError {
    let what = what.into();
    move |source| StreamError::System { what, source }
}
