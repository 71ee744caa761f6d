//! C libraries behind safe faces: the only place of this crate with `unsafe` code.
#![allow(
    unsafe_code,
    reason = "codecs and PipeWire are C libraries; each block says why it is sound"
)]

#[cfg(feature = "libav")]
pub(crate) mod libav_decoder;
#[cfg(feature = "libav")]
pub(crate) mod libav_encoder;
#[cfg(feature = "libav")]
pub(crate) mod libav_frame;
#[cfg(feature = "libav")]
mod libav_messages;
#[cfg(feature = "openh264")]
pub(crate) mod openh264;
#[cfg(feature = "wayland")]
pub(crate) mod pipewire;
#[cfg(feature = "x264")]
pub(crate) mod x264;
#[cfg(feature = "x265")]
pub(crate) mod x265;
