//! Virtual-time driver: one event queue, seeded, bit-identical for the same spec on any machine.
//!
//! [`run`] takes a [`RunSpec`] and a folder, runs it and leaves the result tables there; [`run_into`] tells a sink of
//! what happens instead, and [`check`] only says whether a specification could be run.

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

pub use build::{Registry, check, check_with, run, run_into, run_with, tables};
pub use gameway_experiment::{RunError, RunSpec, spec};
pub use packet::Packet;
