//! Virtual-time driver: one event queue, seeded, bit-identical for the same spec on any machine.
//!
//! [`run`] takes a [`RunSpec`] and a folder, runs it and leaves the result tables there; [`check()`] only
//! says whether it could.

mod agenda;
mod build;
mod check;
mod clock;
mod datagrams;
mod flow;
mod frame_log;
mod gateway;
mod headers;
mod hop;
mod network;
mod packet;
mod ping;
mod random;
mod recognition;
mod recorder;
mod short_tcp;
pub mod spec;
mod stream;
mod tcp;

pub use build::{BuildController, SimError, check, check_with, run, run_with};
pub use check::{check_gateway, check_queue, check_wifi};
pub use spec::RunSpec;
