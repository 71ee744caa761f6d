//! Virtual-time driver: one event queue, seeded, bit-identical for the same spec on any machine.
//!
//! [`run_into`] takes a [`RunSpec`], runs it and tells a sink of what happens, [`run_until`] ends once its caller says so, and
//! [`check`] only says whether a specification could be run. With the feature `parquet`, which is on unless a user turns it off,
//! `run` leaves the result tables in a folder.

mod build;
mod clock;
mod dash;
mod datagrams;
mod encoding;
mod flow;
mod frame_log;
mod headers;
mod packet;
mod ping;
mod quic;
mod segments;
mod short_tcp;
mod simulation;
mod stream;
mod tcp;
mod tcp_header;
mod transport_log;

pub use build::{Registry, check, check_with, run_into, run_until};
#[cfg(feature = "parquet")]
pub use build::{run, run_with, tables};
pub use gameway_experiment::{RunError, RunSpec, spec};
pub use packet::Packet;
