//! What a run is, whoever drives it: its specification ([`spec`]), what that must satisfy ([`check`]), the parts
//! of the path that are built from it ([`build`]), and the tables of what they do ([`Recorder`]).
//!
//! The simulator and the live link are its users; neither clock nor network is here.

mod attached;
pub mod build;
pub mod check;
mod error;
mod gateway;
pub mod random;
mod recognition;
mod recorder;
mod registry;
pub mod spec;

pub use attached::Attached;
pub use error::{RunError, read, spec_error};
pub use gateway::{FlowOf, HomeGateway};
pub use recognition::Recognition;
pub use recorder::{FlowTotals, Recorded, Recorder, Totals, intern};
pub use registry::{Known, Registry};
pub use spec::RunSpec;
