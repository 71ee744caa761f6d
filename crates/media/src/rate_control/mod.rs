//! What to ask of an encoder so that frames keep to their budgets and their mean to the rate.
//!
//! The live encoders are asked by this, and so is the model of one ([`crate::EncoderModel::constrained`]):
//! what a controller's target becomes on the wire is the same on both drivers.

mod budget;
mod calibrator;
mod debt;

pub use budget::{FrameBudgets, bytes_per_frame};
pub use calibrator::Calibrator;
pub use debt::Debt;
