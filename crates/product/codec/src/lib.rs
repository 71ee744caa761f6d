//! Real pictures to real packets, and back.
//!
//! # A frame's way
//!
//! ```text
//!  host                                                     client
//!  capture::FrameSource::next(now, frame, &mut picture)     Stamp::read(&picture) ─► frame, captured, input
//!     │                                                        ▲
//!  Stamp { frame, captured: now, input }.write(&mut picture)   decoder::Decoder::begin(slices), decode(rest)
//!     │                                                        ▲       lose(), needs_key_frame()
//!  controller's target less headers, repair ─► Rate            payload::Depacketizer::push(payload), take(), finish()
//!     │  FrameBudgets::next(rate) ─► Bytes (gameway-media)     ▲
//!     ▼                                                        repair::RepairDecoder::repair(received)
//!  encoder::VideoEncoder::encode(&picture, EncodeRequest)      ▲  lost media payloads, with their places
//!     │  EncodedFrame { data: Annex B, key_frame, .. }         │
//!  payload::packetize(&data, 1200) ─► media payloads      │
//!     │                                                        │
//!  repair::RepairEncoder::protect(&media, r) ─► parity         │
//!     │                                                        │
//!     └──► RTP, pacer, SRTP, UDP ───────── path ───────────────┘
//! ```
//!
//! Nothing here has a socket, a clock or a thread of its own (but libx265 and libpipewire; a file and PulseAudio are
//! read from child processes): `now` is an argument, and each
//! part is `Send`, so that a driver gives an encoder a thread of its own and asks for one frame at a time.
//! Calls block for as long as they work; what each takes, `examples/costs.rs` measures.
//!
//! # What a driver minds
//!
//! - **Encoder dies**: any [`encoder::EncoderError`] means a new [`encoder::open`]; its first frame is a
//!   key frame by itself.
//! - **Frame lost**: [`decoder::Decoder::lose`], then ask for a key frame while
//!   [`decoder::Decoder::needs_key_frame`]; frames before it are refused, not shown.
//! - **Counts and places** of media and parity payloads travel outside of the payloads (an RTP header
//!   extension), as does the frame's number.
//! - **Parity** is larger than the largest media payload by 2 bytes, 3 if that is odd:
//!   [`repair::parity_size`].
//! - **Slices**: x264 makes four of a picture, one after the other. A decoder of H.264 by libavcodec takes each as
//!   it comes ([`decoder::Decoder::begin`]); others, and H.265, are given the frame once it is whole.
//! - **Sizes of payloads**: a slice's payloads are FU-As of one size (a byte more or less), behind one STAP-A with
//!   the parameter sets in a key frame; slices smaller than a packet share one.
//! - **Budgets**: [`gameway_media::rate_control::FrameBudgets`] says what a frame may have, so that the mean is the rate and
//!   no frame is above its share after a decrease; a caller with another budget may give its own.
//!
//! # Features
//!
//! | feature | brings | licence of what is linked | Debian packages to build |
//! |---|---|---|---|
//! | `openh264` (default) | a [`decoder`], an encoder | BSD-2-Clause | a C++ compiler; `nasm` for speed |
//! | `libav` | the [`decoder`] to use, and encoders in hardware | LGPL-2.1-or-later; **GPL-2.0-or-later** with the packages of Debian and Ubuntu, as x264 | `libavcodec-dev libavutil-dev libclang-dev pkg-config` |
//! | `x264` | the encoder to use | **GPL-2.0-or-later**: such a binary may be distributed under the GPL only | `libx264-dev libclang-dev pkg-config` |
//! | `x265` | an encoder of H.265 | **GPL-2.0-or-later**, as x264 | `libx265-dev` of version 3, `libclang-dev pkg-config` |
//! | `opus` | Opus in [`audio`] | BSD-3-Clause | `cmake` and a C compiler |
//! | `x11` | X11 screens in [`capture`] | none | none |
//! | `wayland` | Wayland screens in [`capture`], and `x11` | MIT (PipeWire); AFL-2.1 or GPL-2.0-or-later, at one's option (libdbus) | `libpipewire-0.3-dev libdbus-1-dev libclang-dev pkg-config` |
//!
//! Programs that are run, where used: `ffmpeg` (files), `parec` of `pulseaudio-utils` (audio).
//!
//! [`encoder::available`] lists the encoders in software that a binary has; [`encoder::open_hardware`] finds what works
//! of the machine's hardware.

pub mod audio;
pub mod capture;
#[cfg(any(feature = "libav", feature = "openh264"))]
pub mod decoder;
pub mod encoder;
pub mod payload;
mod picture;
pub mod repair;
mod scale;
mod scene;
mod stamp;
#[cfg(any(
    feature = "libav",
    feature = "x264",
    feature = "x265",
    feature = "openh264",
    feature = "wayland"
))]
mod sys;

pub use picture::{MAX_SIDE, Picture, PictureError, Size};
pub use scale::Scaler;
pub use scene::{Hand, Scene};
pub use stamp::{Stamp, StampError};
