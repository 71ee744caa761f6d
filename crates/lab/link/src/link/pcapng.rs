//! The blocks of a capture file, as bytes: what a link writes, and nothing else of the format.
//!
//! Source: draft-ietf-opsawg-pcapng-03, sections 3 (blocks, options), 4.1 (section header), 4.2 (interface
//! description), 4.3 (enhanced packet), 4.6 (interface statistics). A reader tells the byte order by the magic number.
//! (The crate for it brings an old generation of procedural macros, which takes longer to build than this to read.)
//!
//! | constant | value | origin |
//! |---|---|---|
//! | byte-order magic | 0x1A2B3C4D | section 4.1 |
//! | link type | 101 | LINKTYPE_RAW: packets begin with their IP header |
//! | resolution of times | 9 | option if_tsresol, section 4.2: nanoseconds |
//! | direction | 1 in, 2 out | option epb_flags, section 4.3.1 |

/// Bytes of a packet that are kept: IPv6 with extensions, TCP with all options, or UDP with an RTP header.
pub const SNAP: usize = 128;

/// A packet's block at most: frame, fields, bytes, and options of 12.
pub const MAX_BLOCK: usize = FRAME + 20 + SNAP + 12;

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const MAGIC: u32 = 0x1A2B_3C4D;
const LINK_TYPE_RAW: u16 = 101;
const NANOSECONDS: u8 = 9;
/// Type and length at the front, and the length again behind.
const FRAME: usize = 12;

/// Which way a packet passed an interface of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passed {
    /// Into the link.
    In,
    /// Out of it.
    Out,
}

/// A block in the making, at the end of `out`.
struct Block<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Block<'a> {
    fn new(out: &'a mut Vec<u8>, kind: u32) -> Self {
        let start = out.len();
        out.extend(kind.to_le_bytes());
        out.extend([0; 4]);
        Self { out, start }
    }

    fn word(&mut self, value: u32) {
        self.out.extend(value.to_le_bytes());
    }

    /// A time has its upper half first, whatever the byte order.
    fn time(&mut self, nanos: u64) {
        self.word((nanos >> 32) as u32);
        self.word(nanos as u32);
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.out.extend(bytes);
        self.out.resize(self.out.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.out.extend(code.to_le_bytes());
        self.out.extend((value.len() as u16).to_le_bytes());
        self.padded(value);
    }

    /// Ends the options, writes the length at both ends.
    fn end(mut self) {
        self.option(0, &[]);
        let length = (self.out.len() - self.start + 4) as u32;
        let at = self.start + FRAME - 8;
        self.out[at..at + 4].copy_from_slice(&length.to_le_bytes());
        self.word(length);
    }
}

/// What a file begins with: who wrote it, and the names of its interfaces, numbered from zero.
pub fn begin(out: &mut Vec<u8>, comment: &str, interfaces: &[&str]) {
    const COMMENT: u16 = 1;
    const APPLICATION: u16 = 4;
    const NAME: u16 = 2;
    const RESOLUTION: u16 = 9;
    let mut section = Block::new(out, SECTION);
    section.word(MAGIC);
    section.out.extend([1, 0, 0, 0]);
    // The section's length is not known.
    section.out.extend((-1_i64).to_le_bytes());
    section.option(COMMENT, comment.as_bytes());
    section.option(APPLICATION, concat!("gameway ", env!("CARGO_PKG_VERSION")).as_bytes());
    section.end();
    for name in interfaces {
        let mut interface = Block::new(out, INTERFACE);
        interface.word(u32::from(LINK_TYPE_RAW));
        interface.word(SNAP as u32);
        interface.option(NAME, name.as_bytes());
        interface.option(RESOLUTION, &[NANOSECONDS]);
        interface.end();
    }
}

/// A packet that passed an interface at `nanos` since 1970.
pub fn packet(out: &mut Vec<u8>, interface: usize, passed: Passed, nanos: u64, bytes: &[u8]) {
    const FLAGS: u16 = 2;
    let kept = &bytes[..bytes.len().min(SNAP)];
    let mut block = Block::new(out, PACKET);
    block.word(interface as u32);
    block.time(nanos);
    block.word(kept.len() as u32);
    block.word(bytes.len() as u32);
    block.padded(kept);
    let direction: u32 = match passed {
        Passed::In => 1,
        Passed::Out => 2,
    };
    block.option(FLAGS, &direction.to_le_bytes());
    block.end();
}

/// How many packets passed an interface until `nanos`, and how many of them are not in the file.
pub fn statistics(out: &mut Vec<u8>, interface: usize, nanos: u64, passed: u64, missing: u64) {
    const RECEIVED: u16 = 4;
    const DROPPED: u16 = 5;
    let mut block = Block::new(out, STATISTICS);
    block.word(interface as u32);
    block.time(nanos);
    block.option(RECEIVED, &passed.to_le_bytes());
    block.option(DROPPED, &missing.to_le_bytes());
    block.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Types and bodies of all blocks, whose lengths must agree at both ends.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
        let word = |bytes: &[u8], at: usize| {
            u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
        };
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let length = word(bytes, 4) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(bytes, length - 4) as usize, length);
            found.push((word(bytes, 0), &bytes[8..length - 4]));
            bytes = &bytes[length..];
        }
        found
    }

    #[test]
    fn a_file_begins_with_its_section_and_interfaces() {
        let mut out = Vec::new();
        begin(&mut out, "why", &["server", "client"]);
        let found = blocks(&out);
        let kinds: Vec<u32> = found.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, INTERFACE]);
        assert_eq!(found[0].1[..8], [0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0]);
        assert_eq!(found[1].1[..8], [101, 0, 0, 0, 128, 0, 0, 0]);
        assert_eq!(found[1].1[8..18], *b"\x02\0\x06\0server");
    }

    proptest! {
        #[test]
        fn packets_keep_their_head_and_their_length(sizes in prop::collection::vec(0_usize..3000, 1..20)) {
            let mut out = Vec::new();
            for size in &sizes {
                packet(&mut out, 1, Passed::Out, 0x0102_0304_0506_0708, &vec![7; *size]);
            }
            let found = blocks(&out);
            prop_assert_eq!(found.len(), sizes.len());
            for ((kind, body), size) in found.into_iter().zip(sizes) {
                prop_assert_eq!(kind, PACKET);
                let kept = size.min(SNAP);
                prop_assert_eq!(&body[..12], &[1, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5]);
                prop_assert_eq!(&body[12..16], &(kept as u32).to_le_bytes());
                prop_assert_eq!(&body[16..20], &(size as u32).to_le_bytes());
                prop_assert!(body[20..20 + kept].iter().all(|byte| *byte == 7));
                let options = 20 + kept.next_multiple_of(4);
                prop_assert_eq!(&body[options..], &[2, 0, 4, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
            }
        }
    }

    #[test]
    fn statistics_are_of_one_interface() {
        let mut out = Vec::new();
        statistics(&mut out, 1, 5, 10, 3);
        let found = blocks(&out);
        let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0];
        body.extend([
            4, 0, 8, 0, 10, 0, 0, 0, 0, 0, 0, 0, 5, 0, 8, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ]);
        assert_eq!(found, [(STATISTICS, &body[..])]);
    }
}
