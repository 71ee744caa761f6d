//! All tests in one program: what they use is linked once, and they run side by side.

mod allocation;
mod common;
mod conformance;
mod copa;
mod copa_model;
mod gcc;
mod nada;
mod never_empty;
mod pudica;
mod pudica_variants;
mod recovery;
mod salsify;
mod scream;
mod sqp;
mod told_ahead;
