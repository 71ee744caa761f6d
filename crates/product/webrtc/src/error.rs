//! What can go wrong, in words for whoever has to mend it.

use thiserror::Error;

/// An error of this crate.
#[derive(Debug, Error)]
pub enum WebrtcError {
    /// A session description that we cannot read or that lacks what we need.
    #[error("session description: {0}")]
    Description(String),
    /// A packet that is not what it says it is.
    #[error("{packet}: {problem}")]
    Malformed {
        /// Which kind of packet.
        packet: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Something was asked of a peer that is not connected, or has closed.
    #[error("the peer is not connected: wait for Event::Connected before sending media or data")]
    NotConnected,
    /// A payload that does not fit.
    #[error("{what} has {size} bytes, but at most {limit} are possible")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// DTLS, SRTP, SCTP or RTCP refused.
    #[error("{layer}: {problem}")]
    Layer {
        /// Which layer.
        layer: &'static str,
        /// What it said.
        problem: String,
    },
}

impl WebrtcError {
    pub(crate) fn description(problem: impl Into<String>) -> Self {
        Self::Description(problem.into())
    }

    pub(crate) fn layer(layer: &'static str, problem: impl std::fmt::Display) -> Self {
        Self::Layer { layer, problem: problem.to_string() }
    }
}
