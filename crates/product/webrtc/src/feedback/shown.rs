//! The newest frame that a client of ours has shown: reference picture selection indication (RFC 4585 section 6.3.3).
//!
//! The picture's name is its codec's in that section; here it is the low 32 bits of the frame's number, as the frame extension has
//! them: all of it for two years at 60 frames/s. A message in a data channel would come by SCTP's time, behind others, and apart from the request that it belongs to.

use crate::rtcp::{self, RtcpPacket};
use gameway_control::FrameId;

/// Format of the feedback.
const FORMAT: u8 = 3;
/// Bytes: header, both SSRCs, padding count and payload type, the number, and padding up to a word.
const SIZE: usize = 20;
const PADDING_BITS: u8 = 16;

/// Appends it; `ssrcs` are those of who says so and of the stream, with the stream's payload type.
pub(super) fn write(frame: FrameId, ssrcs: [u32; 2], payload_type: u8, compound: &mut Vec<u8>) {
    compound.extend([0x80 | FORMAT, rtcp::PAYLOAD_FEEDBACK, 0, (SIZE / 4 - 1) as u8]);
    compound.extend(ssrcs.into_iter().flat_map(u32::to_be_bytes));
    compound.extend([PADDING_BITS, payload_type & 0x7F]);
    compound.extend((frame.0 as u32).to_be_bytes());
    compound.extend([0, 0]);
}

/// The frame of stream `ssrc` that a packet names.
pub(super) fn read(packet: &RtcpPacket<'_>, ssrc: u32) -> Option<FrameId> {
    if (packet.packet_type, packet.format) != (rtcp::PAYLOAD_FEEDBACK, FORMAT) {
        return None;
    }
    let bytes: &[u8; SIZE] = packet.bytes().try_into().ok()?;
    let word =
        |at: usize| bytes[at..at + 4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
    let own = word(8) == ssrc && bytes[12] == PADDING_BITS;
    own.then(|| FrameId(u64::from(word(14))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_back(bytes: &[u8], ssrc: u32) -> Option<u64> {
        let found = rtcp::packets(bytes).find_map(|it| read(&it, ssrc));
        found.map(|frame| frame.0)
    }

    #[test]
    fn it_names_the_frame_of_one_stream() {
        let mut bytes = Vec::new();
        write(FrameId(0x0001_0203_0405), [1, 2], 96, &mut bytes);
        let expected = [0x83, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 16, 96, 2, 3, 4, 5, 0, 0];
        assert_eq!(bytes, expected);
        assert_eq!(read_back(&bytes, 2), Some(0x0203_0405));
        assert_eq!(read_back(&bytes, 3), None, "of another stream");
        bytes[12] = 8;
        assert_eq!(read_back(&bytes, 2), None, "of another length");
    }

    proptest! {
        #[test]
        fn a_frame_arrives_as_it_was_named(frame: u32, ssrc: u32) {
            let mut bytes = Vec::new();
            write(FrameId(frame.into()), [1, ssrc], 96, &mut bytes);
            prop_assert_eq!(bytes.len(), SIZE);
            prop_assert_eq!(read_back(&bytes, ssrc), Some(frame.into()));
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = read_back(&bytes, 2);
            let named = [&[0x83, 206, 0, 4][..], &bytes].concat();
            let _ = read_back(&named, 2);
        }
    }
}
