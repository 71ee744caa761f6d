//! A packet for tests of this crate.

use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_session::MediaPacket;

/// The first of the stream, a whole frame by itself; of no bytes.
pub fn packet(kind: PacketKind) -> MediaPacket {
    MediaPacket {
        sequence: SequenceNumber(0),
        frame: FrameId(0),
        index: 0,
        media_packets: 1,
        train_packets: 1,
        payload: 0,
        header: 0,
        kind,
        key_frame: false,
        refers_back: 1,
        last_probe: false,
        original: None,
    }
}
