//! Real pictures to real packets and back.

#[cfg(feature = "openh264")]
pub mod decoder;
pub mod encoder;
pub mod h264_payload;
mod picture;
mod scene;
mod stamp;
#[cfg(feature = "x264")]
mod sys;

pub use picture::{MAX_SIDE, Picture, PictureError, Size};
pub use scene::Scene;
pub use stamp::{Stamp, StampError};
