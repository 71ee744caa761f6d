//! Packets that carry no part of a frame: probes and padding.

use super::Sender;
use crate::packet::MediaPacket;
use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_units::Bytes;

impl Sender {
    pub(super) fn probe(&mut self, frame: FrameId) -> MediaPacket {
        let index = self.probes.sent;
        self.probes.sent += 1;
        MediaPacket {
            index: u16::try_from(index).unwrap_or(u16::MAX),
            last_probe: self.probes.sent >= self.probes.expected,
            ..self.without_frame_data(PacketKind::Probe, frame)
        }
    }

    pub(super) fn padding(&self, wire_size: Bytes) -> MediaPacket {
        let room = wire_size.saturating_sub(self.config.overhead.packet);
        let payload = room.min(self.config.padding).min(self.config.overhead.payload).get() as u16;
        MediaPacket { payload, ..self.without_frame_data(PacketKind::Padding, self.newest_sent) }
    }

    pub(super) fn header(&self) -> u16 {
        u16::try_from(self.config.overhead.packet.get()).unwrap_or(u16::MAX)
    }

    /// A packet that carries no part of a frame.
    fn without_frame_data(&self, kind: PacketKind, frame: FrameId) -> MediaPacket {
        MediaPacket {
            sequence: SequenceNumber(0),
            frame,
            index: 0,
            media_packets: 0,
            train_packets: 0,
            payload: 0,
            header: self.header(),
            kind,
            key_frame: false,
            refers_back: 1,
            last_probe: false,
            original: None,
        }
    }
}
