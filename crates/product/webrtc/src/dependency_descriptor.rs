//! The header extension by which a browser learns to which frame a frame refers: the dependency descriptor (AOMedia, RTP Payload Format For
//! AV1, v1.0.0, appendix A.8). It is defined beside AV1's payload and serves any. One-byte form (RFC 8285 section 4.2). Written only.
//!
//! # Model
//! Without it libwebrtc takes an H.264 frame to refer to the one before by sequence numbers (`RtpSeqNumOnlyRefFinder`), so that one lost packet stops
//! all that follow until a key frame. With it a frame is decoded if those have been to which its descriptor says it refers
//! (`RtpFrameReferenceFinder`, `RtpGenericFrameRefFinder`), whatever else is missing.
//!
//! There is one layer, one decode target and no chain. A key frame's first packet brings the structure: two templates, of which the first is a key frame
//! and the second one that refers to the frame before. A frame that refers further back says so in each packet.
//!
//! ```text
//!  0                   1                   2
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3
//! |s|e| template  |       frame (low 16)          |
//! |t|a|d|f|c| ...                                    structure of a key frame, or how far back
//! ```
//!
//! `s` and `e` are set in a frame's first and last packet; of the five bits that may follow, `t` says that the structure follows, `f` how far back.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | indication of a key frame | 2, switch | A.4: who wants this target can begin here |
//! | indication of others | 3, required | A.4 |
//! | most frames back | 16 | one group of four bits (A.8.3, `fdiff_minus_one`); an encoder keeps no more |

use gameway_session::MediaPacket;

/// Bytes of it in most packets.
pub const SIZE: usize = 3;
/// Templates of the structure.
const KEY_FRAME: u64 = 0;
const DELTA: u64 = 1;
const SWITCH: u64 = 2;
const REQUIRED: u64 = 3;
const SAME_LAYER: u64 = 0;
const NO_MORE_LAYERS: u64 = 3;

/// What the packets of a frame say of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DependencyDescriptor {
    /// The low 16 bits of the frame's number.
    pub frame: u16,
    /// This packet is its first.
    pub first: bool,
    /// This packet is its last.
    pub last: bool,
    /// It refers to no other frame.
    pub key_frame: bool,
    /// To which frame it refers else, counted back from it: 1 to 16.
    pub refers_back: u8,
}

/// Bits, the highest first.
#[derive(Debug, Default)]
struct Bits {
    value: u64,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u64, count: u32) {
        self.value = self.value << count | value;
        self.count += count;
    }

    /// Filled up with zeros to whole bytes.
    fn write(self, bytes: &mut Vec<u8>) {
        let filled = self.value << (u64::BITS - self.count);
        bytes.extend_from_slice(&filled.to_be_bytes()[..self.count.div_ceil(8) as usize]);
    }
}

impl DependencyDescriptor {
    /// Of a packet of a frame.
    #[must_use]
    pub fn of(packet: &MediaPacket) -> Self {
        Self {
            frame: packet.frame.0 as u16,
            first: packet.index == 0,
            last: packet.index + 1 == packet.media_packets,
            key_frame: packet.key_frame,
            refers_back: packet.refers_back.clamp(1, 16),
        }
    }

    /// Appends it to `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let mut bits = Bits::default();
        bits.push(u64::from(self.first), 1);
        bits.push(u64::from(self.last), 1);
        bits.push(if self.key_frame { KEY_FRAME } else { DELTA }, 6);
        bits.push(u64::from(self.frame), 16);
        if self.key_frame && self.first {
            bits.push(0b1_0000, 5);
            structure(&mut bits);
        } else if !self.key_frame && self.refers_back > 1 {
            bits.push(0b0_0010, 5);
            // One group of four bits, and none that follows.
            bits.push(1, 2);
            bits.push(u64::from(self.refers_back - 1), 4);
            bits.push(0, 2);
        }
        bits.write(bytes);
    }
}

/// The templates of a stream (A.8.2, `template_dependency_structure`).
fn structure(bits: &mut Bits) {
    // The number of the first template, and decode targets less one.
    bits.push(0, 6);
    bits.push(0, 5);
    bits.push(SAME_LAYER, 2);
    bits.push(NO_MORE_LAYERS, 2);
    bits.push(SWITCH, 2);
    bits.push(REQUIRED, 2);
    // References: none of the first, of the second one, of one frame back.
    bits.push(0, 1);
    bits.push(1, 1);
    bits.push(0, 4);
    bits.push(0, 1);
    // No chains, no resolutions.
    bits.push(0, 1);
    bits.push(0, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(first: bool, last: bool, key_frame: bool, refers_back: u8) -> Vec<u8> {
        let frame = 0x1234;
        let mut bytes = Vec::new();
        DependencyDescriptor { frame, first, last, key_frame, refers_back }.write(&mut bytes);
        bytes
    }

    /// By hand from the tables of A.8.
    #[test]
    fn packets_say_to_which_frame_theirs_refers() {
        assert_eq!(written(true, false, false, 1), [0x81, 0x12, 0x34]);
        assert_eq!(written(false, true, false, 1), [0x41, 0x12, 0x34]);
        assert_eq!(written(false, false, true, 1), [0x00, 0x12, 0x34]);
        // 00010 01 0011 00, then zeros: three less one is two.
        assert_eq!(written(true, true, false, 3), [0xC1, 0x12, 0x34, 0b0001_0010, 0b0100_0000]);
        assert_eq!(written(false, false, false, 16), [0x01, 0x12, 0x34, 0b0001_0011, 0b1110_0000]);
    }

    #[test]
    fn a_key_frame_brings_the_structure_once() {
        // 10000 000000 00000 | 00 11 | 10 11 | 0 1 0000 0 | 0 0
        let structure = [0b1000_0000, 0b0000_0000, 0b0011_1011, 0b0100_0000, 0];
        assert_eq!(written(true, false, true, 1), [&[0x80, 0x12, 0x34][..], &structure].concat());
        assert_eq!(written(false, true, true, 1), [0x40, 0x12, 0x34]);
    }
}
