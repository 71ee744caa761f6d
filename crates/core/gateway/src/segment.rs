//! What a gateway reads of a TCP segment, and the one field that it writes: the window.
//!
//! Source: RFC 9293 section 3.1 (header), RFC 7323 sections 2 and 3 (window scale, timestamps).
//! Model: numbers as on the wire: 32 bits that wrap, a window of 16 bits that its sender's shift scales,
//! options only if they are there. Payload is a length.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | largest shift | 14 | RFC 7323 section 2.3: what is larger counts as 14 |
//!
//! The checksum is the driver's business: with the old window m and the new one m', it is
//! HC' = ~(~HC + ~m + m') in ones' complement (RFC 1624 section 3, equation 3); no other field changes.

use gameway_path::Header;

/// Largest shift of a window.
pub const MAX_SHIFT: u8 = 14;

/// The flags of the header that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Opens the connection.
    pub syn: bool,
    /// The acknowledgment field is valid.
    pub ack: bool,
    /// The sender of this segment has no more data.
    pub fin: bool,
    /// The connection is gone.
    pub rst: bool,
}

impl Flags {
    /// Those of byte 13 of a header.
    #[must_use]
    pub const fn of(byte: u8) -> Self {
        Self {
            fin: byte & 0x01 != 0,
            syn: byte & 0x02 != 0,
            rst: byte & 0x04 != 0,
            ack: byte & 0x10 != 0,
        }
    }
}

/// The timestamps option, in ticks of the clocks of those who stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// When this segment was sent.
    pub value: u32,
    /// The newest stamp that its sender has from the other side.
    pub echo: u32,
}

/// A TCP segment as it passes a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Addresses and ports.
    pub header: Header,
    /// Flags.
    pub flags: Flags,
    /// Number of the first byte of payload (of a SYN: its own).
    pub sequence: u32,
    /// Number of the next byte that the sender of this segment expects.
    pub acknowledgment: u32,
    /// Bytes of payload.
    pub length: u32,
    /// The window, not scaled.
    pub window: u16,
    /// Shift of the window-scale option; it counts on SYN and SYN-ACK only.
    pub window_scale: Option<u8>,
    /// The timestamps option.
    pub timestamps: Option<Timestamps>,
}

impl Segment {
    /// The number that follows this segment; SYN and FIN take one each.
    #[must_use]
    pub fn end(&self) -> u32 {
        let flags = u32::from(self.flags.syn) + u32::from(self.flags.fin);
        self.sequence.wrapping_add(self.length).wrapping_add(flags)
    }

    /// Whether it only acknowledges.
    #[must_use]
    pub fn is_bare_ack(&self) -> bool {
        let Flags { syn, ack, fin, rst } = self.flags;
        ack && !syn && !fin && !rst && self.length == 0
    }
}

/// How far `later` is beyond `earlier` among numbers that wrap; negative if it is before.
#[must_use]
pub const fn ahead(later: u32, earlier: u32) -> i32 {
    later.wrapping_sub(earlier) as i32
}

/// The later of two numbers that wrap; the second where there is no first.
#[must_use]
pub fn latest(known: Option<u32>, new: u32) -> u32 {
    known.filter(|&known| ahead(new, known) <= 0).unwrap_or(new)
}

#[cfg(test)]
impl Segment {
    /// An acknowledgment without data, a window of 1000 and no options: of which tests say what they need else.
    pub(crate) fn bare_ack(header: Header) -> Self {
        Self {
            header,
            flags: Flags { ack: true, ..Flags::default() },
            sequence: 0,
            acknowledgment: 0,
            length: 0,
            window: 1000,
            window_scale: None,
            timestamps: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap() {
        assert_eq!(ahead(5, u32::MAX - 4), 10);
        assert_eq!(ahead(u32::MAX - 4, 5), -10);
        assert_eq!(latest(Some(u32::MAX), 3), 3);
        assert_eq!(latest(Some(3), u32::MAX), 3);
        assert_eq!(latest(None, 7), 7);
    }

    #[test]
    fn the_end_counts_payload_syn_and_fin() {
        let mut segment =
            Segment { sequence: u32::MAX, window: 0, ..Segment::bare_ack(Header::numbered(1)) };
        assert!(segment.is_bare_ack());
        assert_eq!(segment.end(), u32::MAX);
        segment.length = 1;
        assert_eq!(segment.end(), 0);
        segment.flags.fin = true;
        assert_eq!(segment.end(), 1);
        assert!(!segment.is_bare_ack());
        segment.length = 0;
        let no = Flags::default();
        let ack = Flags { ack: true, ..no };
        let others = [no, Flags { syn: true, ..ack }, Flags { fin: true, ..ack }];
        for flags in others.into_iter().chain([Flags { rst: true, ..ack }]) {
            assert!(!Segment { flags, ..segment }.is_bare_ack(), "{flags:?}");
        }
        assert!(Segment { flags: ack, ..segment }.is_bare_ack());
        assert!(!Segment { flags: ack, length: 1, ..segment }.is_bare_ack());
    }

    /// Byte 13 of a header has CWR, ECE, URG, ACK, PSH, RST, SYN and FIN (RFC 9293 section 3.1).
    #[test]
    fn flags_are_bits_of_their_byte() {
        let no = Flags::default();
        let [ack, rst] = [Flags { ack: true, ..no }, Flags { rst: true, ..no }];
        let [syn, fin] = [Flags { syn: true, ..no }, Flags { fin: true, ..no }];
        for (bit, flags) in [no, no, no, ack, no, rst, syn, fin].into_iter().enumerate() {
            let byte = 0x80 >> bit;
            assert_eq!(Flags::of(byte), flags, "{byte:#x}");
        }
        assert_eq!(Flags::of(0xff), Flags { syn: true, ack: true, fin: true, rst: true });
    }
}
