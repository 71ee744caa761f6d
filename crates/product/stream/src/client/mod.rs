//! The client: receives, mends, decodes and measures a stream, without a display.

mod decoding;
mod log;
mod run;
pub mod session;
mod sound_decoding;
pub mod sound_inbox;
mod sound_meter;

pub use run::{ClientReport, run};
pub use sound_meter::SoundReport;
