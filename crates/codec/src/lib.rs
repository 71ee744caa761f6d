//! Real pictures to real packets, and back.
//!
//! # A frame's way
//!
//! ```text
//!  host                                                     client
//!  capture::FrameSource::next(now, frame, &mut picture)     Stamp::read(&picture) ─► frame, captured, input
//!     │                                                        ▲
//!  Stamp { frame, captured: now, input }.write(&mut picture)   decoder::Decoder::decode(&access_unit)
//!     │                                                        ▲       lose(), needs_key_frame()
//!  controller's target less headers, repair ─► Rate            h264_payload::depacketize(payloads)
//!     │  encoder::FrameBudgets::next(rate) ─► Bytes            ▲
//!     ▼                                                        repair::RepairDecoder::repair(received)
//!  encoder::VideoEncoder::encode(&picture, EncodeRequest)      ▲  lost media payloads, with their places
//!     │  EncodedFrame { data: Annex B, key_frame, .. }         │
//!  h264_payload::packetize(&data, 1200) ─► media payloads      │
//!     │                                                        │
//!  repair::RepairEncoder::protect(&media, r) ─► parity         │
//!     │                                                        │
//!     └──► RTP, pacer, SRTP, UDP ───────── path ───────────────┘
//! ```
//!
//! Nothing here has a socket, a clock or a thread of its own (libx264 and openh264 may start threads when
//! asked for slices; a file and PulseAudio are read from child processes): `now` is an argument, and each
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
//! - **Sizes of payloads**: a frame is one slice by default, so its payloads are FU-As of one size (a byte
//!   more or less), behind one STAP-A with the parameter sets in a key frame.
//! - **Budgets**: [`encoder::FrameBudgets`] says what a frame may have, so that the mean is the rate and
//!   no frame is above its share after a decrease; a caller with another budget may give its own.
//!
//! # Features
//!
//! | feature | brings | licence of what is linked | Debian packages to build |
//! |---|---|---|---|
//! | `openh264` (default) | [`decoder`], an encoder | BSD-2-Clause | a C++ compiler; `nasm` for speed |
//! | `x264` | the encoder to use | **GPL-2.0-or-later**: such a binary may be distributed under the GPL only | `libx264-dev libclang-dev pkg-config` |
//! | `opus` | Opus in [`audio`] | BSD-3-Clause | `cmake` and a C compiler |
//! | `x11` | X11 screens in [`capture`] | none | none |
//!
//! Programs that are run, where used: `ffmpeg` (files), `parec` of `pulseaudio-utils` (audio).
//!
//! There is no hardware encoder and no H.265 yet: [`encoder::available`] lists what a binary has.

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
