//! A download over QUIC in real time: a server and a client, which are two parts of a live run.
//!
//! The protocol is s2n-quic's: recovery, congestion control, pacing, ECN. Here is what a run needs of it: when it begins
//! and ends, how much is sent, what is written. The simulated twin is `gameway-quic`.
//!
//! | choice | value | why |
//! |---|---|---|
//! | flow-control windows | 4 GiB, which s2n-quic extends as data is read | they never limit |
//! | send buffer | 32 MiB | what a simulated sender has in flight at most |
//! | ranges of an acknowledgement | 64 | those of the simulated receiver |
//! | size of datagrams | from the first on as configured, never probed | the size is a key of the experiment |
//! | time-outs of handshake and idleness | longer than the run | a path may stall |
//! | packets of the handshake | certificate of P-256, self-signed, made anew for each run | a server has one |
//!
//! s2n-quic waits by tokio's timers, which are exact to a millisecond: its pacer lets what is due in one leave together.

mod certificate;
mod client;
mod config;
mod endpoint;
mod log;
mod server;
mod transfer;

pub use client::run as client;
pub use config::{DownloadConfig, Transport};
pub use log::Report;
pub use server::run as server;

use gameway_events::SinkError;
use std::io;

/// Why a download cannot be, or ended too early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// A field of the configuration that is wrong.
    #[error("{field}: {why}")]
    Config {
        /// Which.
        field: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A file or a socket.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The connection.
    #[error("QUIC: {0}")]
    Quic(String),
    /// What happened cannot be kept.
    #[error("{0}")]
    Sink(#[from] SinkError),
}

impl DownloadError {
    /// What the library says.
    fn quic(error: impl std::fmt::Display) -> Self {
        Self::Quic(error.to_string())
    }
}
