//! What to ask of an encoder so that frames keep to their budgets and their mean to the rate.
//!
//! The live encoders are asked by this, and so is the model of one ([`crate::EncoderModel::constrained`]):
//! what a controller's target becomes on the wire is the same on both drivers.

mod budget;
mod calibrator;
mod debt;
mod limits;

pub(crate) use budget::HEADROOM;
pub use budget::{FrameBudgets, bytes_per_frame, max_rate};
pub use calibrator::Calibrator;
pub(crate) use calibrator::MAX_REPAID;
pub use debt::Debt;
pub use limits::{BitrateError, check_bitrates};
