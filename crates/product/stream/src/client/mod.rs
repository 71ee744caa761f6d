//! The client: receives, mends, decodes and measures a stream, without a display.

mod decoding;
mod hearing;
mod log;
mod run;
pub mod session;
pub mod sound_inbox;
mod sound_meter;

pub use run::{ClientReport, run};
pub use sound_meter::SoundReport;
