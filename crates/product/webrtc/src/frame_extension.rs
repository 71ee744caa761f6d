//! The header extension by which our own client learns a packet's place in its frame: what the session's
//! `MediaPacket` says beside what RTP says already. URI `urn:gameway:rtp-hdrext:frame`, one-byte form
//! (RFC 8285 section 4.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! |                         frame (low 32)                        |
//! |            index              |rh |       media packets       |
//! |rl |       train packets       |kind|k|l|seq 16-19|
//! ```
//!
//! `rh` and `rl` are the high and low two bits of how many frames the frame refers back, less one: zero for the one before.
//! Only a client that says what it has shown gets others.
//!
//! Both counts are zero in packets that leave before their frame is encoded to the end; those of its last slice, at
//! least the frame's last, have them.
//!
//! Eleven bytes, so that header and element are three words exactly. `kind` has 2 bits (media, repair,
//! probe, padding), `k` is a key frame, `l` the last of a frame's probes. The transport-wide number's low 16
//! bits are RTP's own sequence number; four more travel here, so that a gap of half a million packets is
//! bridged.
//!
//! A packet that is sent again goes on the stream of retransmissions, whose RTP numbers count by themselves (RFC 4588
//! section 4). There the element has two bytes more: the low 16 bits of the packet's own transport-wide number. Those of the
//! packet that it repeats stand at the head of its payload, as that RFC has it.

use crate::sequence::unwrap_number;
use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_session::MediaPacket;

/// Bytes of the element's value.
pub const SIZE: usize = 11;
/// The same in a packet that is sent again.
pub const SIZE_AGAIN: usize = SIZE + 2;
/// Bytes of the number in front of the payload of a packet that is sent again.
const ORIGINAL: usize = 2;
/// Bits of the transport-wide number that a packet carries.
const NUMBER_BITS: u32 = 20;
/// Bits of a count of packets: [`gameway_media::MAX_TRAIN_PACKETS`] and more.
const COUNT_BITS: u32 = 14;
const COUNT_MASK: u16 = (1 << COUNT_BITS) - 1;

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
    /// As in `MediaPacket`, from 1 to 16.
    pub refers_back: u8,
    /// As in `MediaPacket`.
    pub last_probe: bool,
    /// Bits 16 to 19 of the transport-wide number.
    pub sequence_high: u8,
    /// Of a packet that is sent again, bits 0 to 15 of it.
    pub again: Option<u16>,
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
            refers_back: packet.refers_back,
            last_probe: packet.last_probe,
            sequence_high: (packet.sequence.0 >> 16) as u8 & 15,
            again: packet.original.map(|_| packet.sequence.0 as u16),
        }
    }

    /// Bytes on the wire.
    #[must_use]
    pub fn size(self) -> usize {
        if self.again.is_some() { SIZE_AGAIN } else { SIZE }
    }

    /// Appends it as on the wire.
    pub fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.place());
        bytes.extend(self.again.into_iter().flat_map(u16::to_be_bytes));
    }

    fn place(self) -> [u8; SIZE] {
        let kind = match self.kind {
            PacketKind::Media | PacketKind::Retransmission => 0,
            PacketKind::Repair => 1,
            PacketKind::Probe => 2,
            PacketKind::Padding => 3,
        };
        let flags = kind << 6
            | u8::from(self.key_frame) << 5
            | u8::from(self.last_probe) << 4
            | self.sequence_high & 15;
        let back = u16::from(self.refers_back.saturating_sub(1));
        let media_packets = back >> 2 << COUNT_BITS | self.media_packets & COUNT_MASK;
        let train_packets = back << COUNT_BITS | self.train_packets & COUNT_MASK;
        let mut bytes = [0; SIZE];
        bytes[..4].copy_from_slice(&self.frame.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.index.to_be_bytes());
        bytes[6..8].copy_from_slice(&media_packets.to_be_bytes());
        bytes[8..10].copy_from_slice(&train_packets.to_be_bytes());
        bytes[10] = flags;
        bytes
    }

    /// From the wire; `None` if the length is another.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (bytes, again) = bytes.split_at_checked(SIZE)?;
        let again = match *again {
            [] => None,
            [high, low] => Some(u16::from_be_bytes([high, low])),
            _ => return None,
        };
        let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let kind = match bytes[10] >> 6 {
            0 if again.is_some() => PacketKind::Retransmission,
            0 => PacketKind::Media,
            1 => PacketKind::Repair,
            2 => PacketKind::Probe,
            _ => PacketKind::Padding,
        };
        Some(Self {
            frame: u32::from(word(0)) << 16 | u32::from(word(2)),
            index: word(4),
            media_packets: word(6) & COUNT_MASK,
            train_packets: word(8) & COUNT_MASK,
            kind,
            key_frame: bytes[10] & 32 != 0,
            refers_back: ((word(6) >> COUNT_BITS) << 2 | word(8) >> COUNT_BITS) as u8 + 1,
            last_probe: bytes[10] & 16 != 0,
            sequence_high: bytes[10] & 15,
            again,
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
        let payload = u16::try_from(payload).unwrap_or(u16::MAX);
        let packet = self.place(rtp_sequence, extension);
        MediaPacket { payload, ..packet }
    }

    /// The packet that an RTP packet of the stream of retransmissions carries, and its payload; `None` if it is none.
    #[must_use]
    pub fn read_again<'a>(
        &mut self,
        extension: &FrameExtension,
        payload: &'a [u8],
    ) -> Option<(MediaPacket, &'a [u8])> {
        let own = extension.again.filter(|_| extension.kind == PacketKind::Retransmission)?;
        let (original, payload) = payload.split_first_chunk::<ORIGINAL>()?;
        let packet = self.place(own, extension);
        let low = u64::from(u16::from_be_bytes(*original));
        let original = unwrap_number(packet.sequence.0, low, 16);
        let original = Some(SequenceNumber(original)).filter(|it| *it < packet.sequence)?;
        let size = u16::try_from(payload.len()).unwrap_or(u16::MAX);
        Some((MediaPacket { payload: size, original: Some(original), ..packet }, payload))
    }

    fn place(&mut self, low: u16, extension: &FrameExtension) -> MediaPacket {
        let low = u64::from(extension.sequence_high) << 16 | u64::from(low);
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
            payload: 0,
            // What a receiver does not count.
            header: 0,
            kind: extension.kind,
            key_frame: extension.key_frame,
            refers_back: extension.refers_back,
            last_probe: extension.last_probe,
            original: None,
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
            index: u16, media_packets in 0..1_u16 << 14, train_packets in 0..1_u16 << 14,
            payload in 0..1300_u16, refers_back in 1..=16_u8,
            kind in kinds(), key_frame: bool, last_probe: bool,
        ) {
            let packet = MediaPacket {
                sequence: SequenceNumber(sequence), frame: FrameId(frame), index, media_packets,
                train_packets, payload, header: 0, kind, key_frame, refers_back, last_probe, original: None,
            };
            let read = on_wire(&packet);
            for newest in [sequence.saturating_sub(back), sequence + back] {
                let mut reader = MediaPacketReader { newest_sequence: newest, newest_frame: frame };
                let arrived = reader.read(sequence as u16, &read, usize::from(payload));
                prop_assert_eq!(arrived, packet);
            }
        }
    }

    fn on_wire(packet: &MediaPacket) -> FrameExtension {
        let mut bytes = Vec::new();
        FrameExtension::of(packet).write(&mut bytes);
        FrameExtension::parse(&bytes).unwrap()
    }

    #[test]
    fn a_packet_that_is_sent_again_says_what_it_was_and_what_it_is() {
        let packet = MediaPacket {
            sequence: SequenceNumber(0x0002_0003),
            frame: FrameId(7),
            index: 5,
            media_packets: 20,
            train_packets: 22,
            payload: 2,
            header: 0,
            kind: PacketKind::Retransmission,
            key_frame: true,
            refers_back: 1,
            last_probe: false,
            original: Some(SequenceNumber(0x0001_FFFD)),
        };
        let extension = on_wire(&packet);
        let mut reader = MediaPacketReader { newest_sequence: 0x0001_FFF0, newest_frame: 7 };
        let read = reader.read_again(&extension, &[0xFF, 0xFD, 8, 9]);
        assert_eq!(read, Some((packet, &[8, 9][..])));
        assert_eq!(reader.read_again(&extension, &[0xFF]), None, "no number");
        let first = FrameExtension { again: None, kind: PacketKind::Media, ..extension };
        assert_eq!(reader.read_again(&first, &[0, 1, 8, 9]), None, "not sent again");
        assert_eq!(reader.read_again(&extension, &[0, 3, 8, 9]), None, "of itself");
    }

    #[test]
    fn another_length_is_refused() {
        assert_eq!(FrameExtension::parse(&[0; SIZE - 1]), None);
        assert_eq!(FrameExtension::parse(&[0; SIZE + 1]), None);
        assert_eq!(FrameExtension::parse(&[0; SIZE_AGAIN + 1]), None);
    }
}
