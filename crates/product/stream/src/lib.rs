//! Host and client of a live game stream.
//!
//! ```text
//! host                                                    client
//! FrameSource ─► encoding thread ─► Outbox                Inbox ─► decoding thread ─► counter and clock
//!                     ▲ job            │                    ▲                          of the picture
//!                     │                ▼                    │
//!   controller ─► Sender ─► pacer ─► RTP ─► Peer ═ UDP ═ Peer ─► Receiver ─► report
//!        ▲                                    │             │                   │
//!        └────────── RFC 8888, key frames ◄───┘◄════════════┴◄──────────────────┘
//!
//! AudioSource ─► thread of sound ──────► RTP, past the pacer ─► SoundInbox ─► thread of sound ─► onsets of beeps
//! ```
//!
//! [`host::session`] and [`client::session`] decide and are handed the time; [`host::run`] and
//! [`client::run`] own sockets, clock and threads. `Sender` and `Receiver` are those of the simulator.

mod card;
pub mod client;
#[cfg(feature = "cli")]
pub mod command;
pub mod config;
pub mod control;
mod cpu;
mod error;
pub mod host;
pub mod inbox;
mod keys;
#[cfg(test)]
mod media_packet;
pub mod outbox;
pub mod photon;
mod wake;

pub use config::{ClientConfig, ControllerConfig, EncoderChoice, HostConfig, SourceConfig};
pub use cpu::ThreadTime;
pub use error::{BegunSink, StreamError};
pub use host::screen_shows;

use gameway_codec::encoder;
use gameway_media::Overhead;
use gameway_session::RepairCode;
use gameway_units::{Bytes, VideoCodec};

/// Encoders that this build has, those of H.264 first and the best of each codec first: name and licence.
#[must_use]
pub fn encoders() -> Vec<(&'static str, &'static str)> {
    [VideoCodec::H264, VideoCodec::H265].into_iter().flat_map(encoder::available).collect()
}

/// What a repair packet carries at most beyond the largest media packet: a length of 2 bytes, and one to make the sum
/// even ([`gameway_codec::repair::parity_size`]).
const REPAIR_LENGTH: Bytes = Bytes::new(3);

/// What a packet of parity carries at most beyond the largest media packet: its header ([`gameway_webrtc::flexfec`]), and of the
/// packets that it mends the extensions, with a request for a report and a playout delay.
const PARITY_LENGTH: Bytes = Bytes::new(gameway_webrtc::flexfec::MAX_HEADER as u64 + 16);

/// What packets carry and cost on the wire of a session whose headers and trailers take `packet` bytes, and `again` more when
/// they are sent again.
pub(crate) fn overhead(packet: u64, code: RepairCode, again: u64, mtu: Option<Bytes>) -> Overhead {
    let repair = match code {
        RepairCode::None => Bytes::ZERO,
        RepairCode::Interleaved => PARITY_LENGTH,
        RepairCode::AnyForAny => REPAIR_LENGTH,
    };
    let overhead = Overhead::new(Bytes::new(packet), repair, mtu);
    overhead.with_again(Bytes::new(again), mtu)
}
