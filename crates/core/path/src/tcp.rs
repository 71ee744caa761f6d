//! What a queue that filters acknowledgements reads of a TCP header.
//!
//! Source: RFC 9293 section 3.1 (flags, numbers), RFC 2018 section 3 (SACK), RFC 7323 section 3 (timestamps).

/// The header of a TCP segment, as far as it decides whether an acknowledgement may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpHeader {
    /// ACK is set and SYN is not.
    pub acknowledges: bool,
    /// It does nothing but acknowledge: no payload, no other flag but ECE and CWR, no option but SACK and
    /// timestamps.
    pub is_plain: bool,
    /// ECE and CWR, as two bits.
    pub echoes: u8,
    /// The acknowledgment number.
    pub acknowledgment: u32,
    /// The timestamps option: value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// The blocks of the SACK option: each from its start up to but without its end.
    pub sack: SackRanges,
}

/// The blocks of a SACK option, at most four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackRanges {
    blocks: [(u32, u32); Self::CAPACITY],
    count: u8,
}

impl SackRanges {
    /// As many fit into the 40 B of options.
    pub const CAPACITY: usize = 4;

    /// Adds a block; a fifth is ignored.
    pub fn push(&mut self, start: u32, end: u32) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = (start, end);
            self.count += 1;
        }
    }

    /// The blocks in the order of the option.
    #[must_use]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// Whether number `one` comes after `other`, as numbers that wrap are compared (RFC 9293 section 3.4).
#[must_use]
pub const fn is_after(one: u32, other: u32) -> bool {
    (other.wrapping_sub(one) as i32) < 0
}
