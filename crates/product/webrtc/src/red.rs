//! Redundant audio (RFC 2198): a packet carries its block and older ones again, so that one that was lost comes with the next.
//!
//! ```text
//! [1|payload type 7|time stamp offset 14|length 10] for each older block, the oldest first
//! [0|payload type 7]                                 for the newest, whose time stamp is the packet's
//! blocks, in the same order
//! ```

/// The longest older block that a header can tell of, in bytes.
pub const MAX_LENGTH: usize = (1 << 10) - 1;
/// The greatest offset of an older block, in units of the stream's clock.
pub const MAX_OFFSET: u32 = (1 << 14) - 1;
/// Bytes of the header of an older block.
pub const OLDER_HEADER: usize = 4;
/// Bytes of the header of the newest block.
pub const NEWEST_HEADER: usize = 1;
/// Older blocks that are read at most: a header is as short as an empty block.
const MAX_OLDER: usize = 32;

/// A block of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// What it is; 7 bits.
    pub payload_type: u8,
    /// By how much its time stamp is below the packet's.
    pub offset: u32,
    /// As the codec made it.
    pub payload: &'a [u8],
}

/// Writes a payload of the older blocks, the oldest first, and the newest; older ones that no header can tell of are left out.
#[must_use]
pub fn write(older: &[Block<'_>], newest: Block<'_>) -> Vec<u8> {
    let fits = |block: &&Block<'_>| block.offset <= MAX_OFFSET && block.payload.len() <= MAX_LENGTH;
    let older = || older.iter().filter(fits);
    let mut bytes = Vec::new();
    for block in older() {
        let header = 1 << 31
            | u32::from(block.payload_type & 127) << 24
            | block.offset << 10
            | block.payload.len() as u32;
        bytes.extend(header.to_be_bytes());
    }
    bytes.push(newest.payload_type & 127);
    older().chain([&newest]).for_each(|block| bytes.extend_from_slice(block.payload));
    bytes
}

/// Reads a payload: its blocks, the newest last; `None` if its headers tell of more than there is.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Vec<Block<'_>>> {
    let (mut headers, mut rest) = (Vec::new(), bytes);
    let newest = loop {
        match rest {
            [first @ 128..=255, second, third, fourth, after @ ..] if headers.len() < MAX_OLDER => {
                headers.push(u32::from_be_bytes([*first, *second, *third, *fourth]));
                rest = after;
            }
            [first @ ..=127, after @ ..] => {
                rest = after;
                break *first;
            }
            _ => return None,
        }
    };
    let mut blocks = Vec::with_capacity(headers.len() + 1);
    for header in headers {
        let (payload, after) = rest.split_at_checked(header as usize & MAX_LENGTH)?;
        let (payload_type, offset) = ((header >> 24) as u8 & 127, header >> 10 & MAX_OFFSET);
        blocks.push(Block { payload_type, offset, payload });
        rest = after;
    }
    blocks.push(Block { payload_type: newest, offset: 0, payload: rest });
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The packet of RFC 2198 section 4: LPC (payload type 7) of 14 bytes beside DVI4 (payload type 5) of 84, 20 ms later at 8 kHz.
    #[test]
    fn the_packet_of_the_rfc_is_read_and_written() {
        let blocks = [
            Block { payload_type: 7, offset: 160, payload: &[1; 14] },
            Block { payload_type: 5, offset: 0, payload: &[2; 84] },
        ];
        let bytes = write(&blocks[..1], blocks[1]);
        assert_eq!(bytes[..5], [0x80 | 7, 160 >> 6, (160 << 2) as u8, 14, 5]);
        assert_eq!(bytes.len(), OLDER_HEADER + NEWEST_HEADER + 14 + 84);
        assert_eq!(parse(&bytes).unwrap(), blocks);
    }

    #[test]
    fn what_no_header_can_tell_of_is_left_out() {
        let newest = Block { payload_type: 1, offset: 0, payload: b"new" };
        let long = Block { payload_type: 1, offset: 1, payload: &[0; MAX_LENGTH + 1] };
        let old = Block { payload_type: 1, offset: MAX_OFFSET + 1, payload: b"old" };
        assert_eq!(parse(&write(&[old, long], newest)).unwrap(), [newest]);
    }

    #[test]
    fn headers_of_more_than_there_is_are_refused() {
        for bytes in [&[][..], &[0x80], &[0x80, 0, 0, 0], &[0x80, 0, 0, 2, 1, 9], &[0x80; 200]] {
            assert_eq!(parse(bytes), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            older in prop::collection::vec(
                (0..128_u8, 0..=MAX_OFFSET, prop::collection::vec(any::<u8>(), 0..40)),
                0..5,
            ),
            newest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut blocks: Vec<Block<'_>> = older
                .iter()
                .map(|(payload_type, offset, payload)| Block {
                    payload_type: *payload_type, offset: *offset, payload,
                })
                .collect();
            let newest = Block { payload_type: 111, offset: 0, payload: &newest };
            let bytes = write(&blocks, newest);
            blocks.push(newest);
            prop_assert_eq!(parse(&bytes), Some(blocks));
        }

        #[test]
        fn what_is_read_is_within_the_packet(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(blocks) = parse(&bytes) {
                let payload: usize = blocks.iter().map(|block| block.payload.len()).sum();
                let headers = OLDER_HEADER * (blocks.len() - 1) + NEWEST_HEADER;
                prop_assert_eq!(payload + headers, bytes.len());
            }
        }
    }
}
