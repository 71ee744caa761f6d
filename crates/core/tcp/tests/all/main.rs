//! All tests in one program: what they use is linked once, and they run side by side.

mod accepting;
mod bbr_versions;
mod bic_vegas;
mod bursts;
mod common;
mod dynamics;
mod ecn;
mod gaps;
mod mechanisms;
mod narrow;
mod receive_window;
mod recovery;
mod reliability;
mod scripted;
mod told;
