//! The client: receives, mends, decodes and measures a stream, without a display.

mod decoding;
mod log;
mod run;
pub mod session;

pub use run::{ClientReport, run};
