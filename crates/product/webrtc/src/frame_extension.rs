//! The header extension by which our own client learns a packet's place in its frame: what the session's
//! `MediaPacket` says beside what RTP says already. URI `urn:gameway:rtp-hdrext:frame`, one-byte form
//! (RFC 8285 section 4.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                         frame (low 32)                        |
//! |            index              |         media packets         |
//! |         train packets         |kind|k|l|seq 16-19|
//! ```
//!
//! Both counts are zero in packets that leave before their frame is encoded to the end; those of its last slice, at
//! least the frame's last, have them.
//!
//! Eleven bytes, so that header and element are three words exactly. `kind` has 2 bits (media, repair,
//! probe, padding), `k` is a key frame, `l` the last of a frame's probes. The transport-wide number's low 16
//! bits are RTP's own sequence number; four more travel here, so that a gap of half a million packets is
//! bridged.

use crate::sequence::unwrap_number;
use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_session::MediaPacket;

/// Bytes of the element's value.
pub const SIZE: usize = 11;
/// Bits of the transport-wide number that a packet carries.
const NUMBER_BITS: u32 = 20;

/// The extension's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameExtension {
    /// Low bits of the frame's number.
    pub frame: u32,
    /// As in `MediaPacket`.
    pub index: u16,
    /// As in `MediaPacket`.
    pub media_packets: u16,
    /// As in `MediaPacket`.
    pub train_packets: u16,
    /// As in `MediaPacket`.
    pub kind: PacketKind,
    /// As in `MediaPacket`.
    pub key_frame: bool,
    /// As in `MediaPacket`.
    pub last_probe: bool,
    /// Bits 16 to 19 of the transport-wide number.
    pub sequence_high: u8,
}

impl FrameExtension {
    /// Of a packet that is to be sent.
    #[must_use]
    pub fn of(packet: &MediaPacket) -> Self {
        Self {
            frame: packet.frame.0 as u32,
            index: packet.index,
            media_packets: packet.media_packets,
            train_packets: packet.train_packets,
            kind: packet.kind,
            key_frame: packet.key_frame,
            last_probe: packet.last_probe,
            sequence_high: (packet.sequence.0 >> 16) as u8 & 15,
        }
    }

    /// As on the wire.
    #[must_use]
    pub fn to_bytes(self) -> [u8; SIZE] {
        let kind = match self.kind {
            PacketKind::Media => 0,
            PacketKind::Repair => 1,
            PacketKind::Probe => 2,
            PacketKind::Padding => 3,
        };
        let flags = kind << 6
            | u8::from(self.key_frame) << 5
            | u8::from(self.last_probe) << 4
            | self.sequence_high & 15;
        let mut bytes = [0; SIZE];
        bytes[..4].copy_from_slice(&self.frame.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.index.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.media_packets.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.train_packets.to_be_bytes());
        bytes[10] = flags;
        bytes
    }

    /// From the wire; `None` if the length is another.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
        let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let kind = match bytes[10] >> 6 {
            0 => PacketKind::Media,
            1 => PacketKind::Repair,
            2 => PacketKind::Probe,
            _ => PacketKind::Padding,
        };
        Some(Self {
            frame: u32::from(word(0)) << 16 | u32::from(word(2)),
            index: word(4),
            media_packets: word(6),
            train_packets: word(8),
            kind,
            key_frame: bytes[10] & 32 != 0,
            last_probe: bytes[10] & 16 != 0,
            sequence_high: bytes[10] & 15,
        })
    }
}

/// Makes `MediaPacket`s of what arrives: numbers are continued from the newest ones seen.
#[derive(Debug, Clone, Default)]
pub struct MediaPacketReader {
    newest_sequence: u64,
    newest_frame: u64,
}

impl MediaPacketReader {
    /// The packet that an RTP packet of our own stream carries.
    #[must_use]
    pub fn read(
        &mut self,
        rtp_sequence: u16,
        extension: &FrameExtension,
        payload: usize,
    ) -> MediaPacket {
        let low = u64::from(extension.sequence_high) << 16 | u64::from(rtp_sequence);
        let sequence = unwrap_number(self.newest_sequence, low, NUMBER_BITS);
        let frame = unwrap_number(self.newest_frame, u64::from(extension.frame), 32);
        self.newest_sequence = self.newest_sequence.max(sequence);
        self.newest_frame = self.newest_frame.max(frame);
        MediaPacket {
            sequence: SequenceNumber(sequence),
            frame: FrameId(frame),
            index: extension.index,
            media_packets: extension.media_packets,
            train_packets: extension.train_packets,
            payload: u16::try_from(payload).unwrap_or(u16::MAX),
            // What a receiver does not count.
            header: 0,
            kind: extension.kind,
            key_frame: extension.key_frame,
            last_probe: extension.last_probe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = PacketKind> {
        prop_oneof![
            Just(PacketKind::Media),
            Just(PacketKind::Repair),
            Just(PacketKind::Probe),
            Just(PacketKind::Padding)
        ]
    }

    proptest! {
        #[test]
        fn a_packet_arrives_as_it_left(
            sequence in 0..1_u64 << 40, back in 0..400_000_u64, frame in 0..1_u64 << 40,
            index: u16, media_packets: u16, train_packets: u16, payload in 0..1300_u16,
            kind in kinds(), key_frame: bool, last_probe: bool,
        ) {
            let packet = MediaPacket {
                sequence: SequenceNumber(sequence), frame: FrameId(frame), index, media_packets,
                train_packets, payload, header: 0, kind, key_frame, last_probe,
            };
            let read = FrameExtension::parse(&FrameExtension::of(&packet).to_bytes()).unwrap();
            for newest in [sequence.saturating_sub(back), sequence + back] {
                let mut reader = MediaPacketReader { newest_sequence: newest, newest_frame: frame };
                let arrived = reader.read(sequence as u16, &read, usize::from(payload));
                prop_assert_eq!(arrived, packet);
            }
        }
    }

    #[test]
    fn another_length_is_refused() {
        assert_eq!(FrameExtension::parse(&[0; SIZE - 1]), None);
        assert_eq!(FrameExtension::parse(&[0; SIZE + 1]), None);
    }
}
