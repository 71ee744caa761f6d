//! How a sender behaves.

use crate::repair_code::RepairCode;
use gameway_media::{LadderConfig, MAX_PAYLOAD, Overhead};
use gameway_units::{Bytes, Duration, Instant, Rate, Ratio, Recovery, Repair};

/// How a sender behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderConfig {
    /// When the first frame is captured.
    pub start: Instant,
    /// Time from frame to frame.
    pub frame_interval: Duration,
    /// Repair packets per media packet, whatever is lost.
    pub repair_share: Ratio,
    /// What is done about losses.
    pub repair: Repair,
    /// What follows a frame that the receiver has given up.
    pub recovery: Recovery,
    /// What the receiver can do with repair packets.
    pub code: RepairCode,
    /// How often the receiver looks which packets it has to ask for again: so much later than a round trip after the last
    /// request the next one may come. Zero if it asks at once.
    pub request_interval: Duration,
    /// While this number of frames wait in the pacer, frames are skipped.
    pub max_waiting_frames: usize,
    /// What packets cost beside what they carry.
    pub overhead: Overhead,
    /// Payload of a padding packet.
    pub padding: Bytes,
    /// Whether a frame of which a packet is lost, and no longer worth sending again, is answered by a key frame, without
    /// waiting to be asked.
    pub key_frame_on_loss: bool,
    /// By what size and frame rate of the picture follow the bitrate, if they do.
    pub ladder: Option<LadderConfig>,
    /// The rate that is reserved for audio, on the wire. It is part of the controller's target bitrate, and frames get the rest.
    pub reserved_rate: Rate,
    /// The rate to which a circuit breaker lets the stream fall; `None` for no circuit breaker.
    pub circuit_breaker: Option<Rate>,
}

impl SenderConfig {
    /// The defaults for a stream with this time from frame to frame.
    #[must_use]
    pub fn new(start: Instant, frame_interval: Duration) -> Self {
        Self {
            start,
            frame_interval,
            repair_share: Ratio::ZERO,
            repair: Repair::None,
            recovery: Recovery::KeyFrame,
            code: RepairCode::AnyForAny,
            request_interval: Duration::ZERO,
            max_waiting_frames: 6,
            overhead: Overhead::default(),
            padding: MAX_PAYLOAD,
            key_frame_on_loss: false,
            ladder: None,
            reserved_rate: Rate::ZERO,
            circuit_breaker: None,
        }
    }
}
