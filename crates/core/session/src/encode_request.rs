//! What a sender asks of an encoder.

use gameway_control::FrameId;
use gameway_media::Level;
use gameway_units::{Bytes, Instant, Rate, Ratio};

/// A frame that is to be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodeRequest {
    /// The number that it gets.
    pub frame: FrameId,
    /// When it is captured.
    pub captured: Instant,
    /// What the encoder may fill over time.
    pub rate: Rate,
    /// What this frame may take.
    pub payload: Bytes,
    /// Repair packets that it shall have per media packet.
    pub repair_share: Ratio,
    /// Whether it may take no more than that, or may as part of a mean.
    pub bounded: bool,
    /// The size of the picture and how often there is one; in another size than the frame before, this is a key frame.
    pub level: Level,
    /// Whether it must be a key frame.
    pub key_frame: bool,
    /// To which frame it refers otherwise, counted back from it: 1 is the one before. Later frames refer to none of those between
    /// them. An encoder that cannot makes a key frame.
    pub refers_back: u8,
    /// Whether parts of it may leave while the rest is being encoded ([`crate::Sender::on_encoded_part`]).
    pub in_parts: bool,
}
