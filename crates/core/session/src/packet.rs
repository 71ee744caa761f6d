//! The packet of a stream: in simulation it is the packet; live it is what an RTP packet's header says.

use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_media::PacketPlace;
use gameway_units::Bytes;

/// A packet from sender to receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaPacket {
    /// Its transport-wide number, in order of departure; what is sent again has a new one.
    pub sequence: SequenceNumber,
    /// The frame that it belongs to; for a probe or padding, the frame sent before it.
    pub frame: FrameId,
    /// Its place in the frame's train; for a probe, among the frame's probes. From zero.
    pub index: u16,
    /// How many packets make the frame whole; zero for a probe or padding, and for a packet that left before its frame
    /// was encoded to the end.
    pub media_packets: u16,
    /// How many packets the frame's train has, repair included; zero where `media_packets` is, but in the last packet of
    /// a frame that breaks off.
    pub train_packets: u16,
    /// Payload in bytes.
    pub payload: u16,
    /// Headers and trailers in bytes.
    pub header: u16,
    /// What it carries.
    pub kind: PacketKind,
    /// Whether the frame is a key frame.
    pub key_frame: bool,
    /// To which frame it refers if not, counted back from it: 1 is the one before.
    pub refers_back: u8,
    /// Whether it is the last of its frame's probes.
    pub last_probe: bool,
    /// The packet that it repeats, if it is a retransmission.
    pub original: Option<SequenceNumber>,
}

impl MediaPacket {
    /// Its size on the wire, all headers included.
    #[must_use]
    pub fn wire_size(&self) -> Bytes {
        Bytes::new(u64::from(self.payload) + u64::from(self.header))
    }

    /// Whether it is part of a frame's train, as opposed to a probe, padding, or what is sent again.
    #[must_use]
    pub fn is_train(&self) -> bool {
        matches!(self.kind, PacketKind::Media | PacketKind::Repair)
    }

    /// Whether it carries a part of a frame, for the first time or again.
    #[must_use]
    pub fn is_of_frame(&self) -> bool {
        self.is_train() || self.kind == PacketKind::Retransmission
    }

    /// Whether it is the first packet of its frame's train.
    #[must_use]
    pub fn is_first_of_frame(&self) -> bool {
        self.is_train() && self.index == 0
    }

    /// Whether it is the last packet of its frame's train.
    #[must_use]
    pub fn is_last_of_frame(&self) -> bool {
        self.is_train() && u32::from(self.index) + 1 == u32::from(self.train_packets)
    }

    /// Whether its frame does not refer to the one before it.
    #[must_use]
    pub fn is_of_entry(&self) -> bool {
        self.is_of_frame() && (self.key_frame || self.refers_back > 1)
    }

    /// Where it belongs, for reassembly.
    #[must_use]
    pub fn place(&self) -> PacketPlace {
        PacketPlace {
            frame: self.frame,
            index: self.index,
            media_packets: self.media_packets,
            train_packets: self.train_packets,
            key_frame: self.key_frame,
            refers_back: self.refers_back,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The only packet of frame 3.
    pub(crate) fn packet(kind: PacketKind) -> MediaPacket {
        MediaPacket {
            sequence: SequenceNumber(9),
            frame: FrameId(3),
            index: 0,
            media_packets: 1,
            train_packets: 1,
            payload: 1_200,
            header: 48,
            kind,
            key_frame: false,
            refers_back: 1,
            last_probe: false,
            original: None,
        }
    }

    #[test]
    fn probes_and_padding_begin_and_end_no_frame() {
        let first_and_last = |kind| {
            let packet = packet(kind);
            assert_eq!(packet.wire_size(), Bytes::new(1_248));
            (packet.is_train(), packet.is_first_of_frame(), packet.is_last_of_frame())
        };
        assert_eq!(first_and_last(PacketKind::Media), (true, true, true));
        assert_eq!(first_and_last(PacketKind::Repair), (true, true, true));
        assert_eq!(first_and_last(PacketKind::Probe), (false, false, false));
        assert_eq!(first_and_last(PacketKind::Padding), (false, false, false));
    }

    #[test]
    fn what_is_sent_again_is_of_its_frame_and_of_no_train() {
        let of = |kind| (packet(kind).is_of_frame(), packet(kind).is_train());
        assert_eq!([PacketKind::Media, PacketKind::Repair].map(of), [(true, true); 2]);
        assert_eq!(of(PacketKind::Retransmission), (true, false));
        assert_eq!([PacketKind::Probe, PacketKind::Padding].map(of), [(false, false); 2]);
    }
}
