//! The RTP payload format of VP8 (RFC 7741) with access units of another codec in it.
//!
//! # Model
//! A browser whose WebRTC lacks a codec may still decode it for its page. Of a payload in the format of VP8 it reads the descriptor, and
//! of a frame's first payload the header of the frame; what follows it hands to a page that takes encoded frames. So a frame here is a
//! header of [`FRAME_HEADER`] bytes, which the page takes off, and the access unit as it is. RTP has no rule for this: it is done only with
//! a page that asks for it. Frames that are encrypted from end to end travel through browsers the same way.
//!
//! A part of a frame is cut into as many payloads as it needs, whose sizes differ by one byte at most.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | descriptor | 1 B: S (0x10) on a frame's first payload, partition 0, no extension | RFC 7741 section 4.2 |
//! | header of a frame | 3 B tag, 3 B start code, 2 B width, 2 B height | RFC 6386 section 9.1; frames that are none of key have the tag alone there, here all have as many bytes |
//! | tag | 0x10, the frame is shown; and 1 unless it is a key frame | RFC 6386 section 9.1 |
//! | width, height | 0 | the access unit has its own |

use super::nal::{MIN_PAYLOAD, START, even_parts};

/// Bytes of a payload beside those of the frame.
pub(crate) const DESCRIPTOR: usize = 1;
/// Bytes of a frame ahead of the access unit.
pub(crate) const FRAME_HEADER: usize = 10;
const BEGINS: u8 = 0x10;
const SHOWN: u8 = 0x10;
const REFERS: u8 = 1;
const START_CODE: [u8; 3] = [0x9d, 0x01, 0x2a];

/// What a frame begins with.
pub(crate) fn frame_header(key_frame: bool) -> Vec<u8> {
    let tag = SHOWN | if key_frame { 0 } else { REFERS };
    let mut header = vec![tag, 0, 0];
    header.extend(START_CODE);
    header.resize(FRAME_HEADER, 0);
    header
}

/// Cuts a part of a frame into payloads of at most `largest` bytes.
///
/// # Panics
/// If `largest` is below [`MIN_PAYLOAD`].
pub(crate) fn packetize(part: &[u8], begins: bool, largest: usize) -> Vec<Vec<u8>> {
    assert!(largest >= MIN_PAYLOAD, "payloads of at least {MIN_PAYLOAD} bytes");
    let payload = |(place, data): (u8, &[u8])| {
        let first = begins && place & START != 0;
        [&[if first { BEGINS } else { 0 }], data].concat()
    };
    even_parts(part, largest - DESCRIPTOR).map(payload).collect()
}
