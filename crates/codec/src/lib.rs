//! Real pictures to real packets and back.

pub mod audio;
pub mod capture;
#[cfg(feature = "openh264")]
pub mod decoder;
pub mod encoder;
pub mod h264_payload;
mod picture;
pub mod repair;
mod scene;
mod stamp;
#[cfg(any(feature = "x264", feature = "openh264"))]
mod sys;

pub use picture::{MAX_SIDE, Picture, PictureError, Size};
pub use scene::Scene;
pub use stamp::{Stamp, StampError};
