//! What a sender tells its driver.

use crate::circuit_breaker::BreakerAction;
use gameway_control::FrameId;
use gameway_media::Level;
use gameway_units::{Bytes, Duration, Instant, Rate};

/// Something that happened at the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderEvent {
    /// A frame was encoded and enters the pacer.
    FrameEncoded {
        /// Which frame.
        frame: FrameId,
        /// When it was captured.
        captured: Instant,
        /// The controller's target bitrate, in bytes on the wire.
        target: Rate,
        /// What of it was left for the encoder.
        encoder_target: Rate,
        /// Its encoded size.
        payload: Bytes,
        /// All its packets, headers and repair included.
        wire_size: Bytes,
        /// Of that, repair packets; what is sent again later is not known yet.
        repair_size: Bytes,
        /// How many packets that is.
        packets: u16,
        /// Whether it is a key frame.
        key_frame: bool,
    },
    /// A frame was not encoded because the pacer, the encoder or the driver was behind.
    FrameSkipped {
        /// When it would have been captured.
        captured: Instant,
    },
    /// A frame's first packet left.
    FrameFirstSent {
        /// Which frame.
        frame: FrameId,
        /// When.
        at: Instant,
    },
    /// A frame's last packet left.
    FrameLastSent {
        /// Which frame.
        frame: FrameId,
        /// When.
        at: Instant,
    },
    /// The receiver asked for a key frame; the next frame will be one.
    KeyFrameWanted {
        /// When the request came.
        at: Instant,
    },
    /// From this frame on pictures have this size, and come so often; also told of the first frame, if there is a ladder.
    Level {
        /// When it is captured.
        at: Instant,
        /// The size and how often.
        level: Level,
        /// From frame to frame.
        frame_interval: Duration,
    },
    /// The circuit breaker acted: it limits the stream from now on, or does so no longer.
    CircuitBreaker {
        /// When.
        at: Instant,
        /// What it does.
        action: BreakerAction,
        /// The most that the stream may send from now on; `None` if only its controller bounds it.
        limit: Option<Rate>,
    },
}
