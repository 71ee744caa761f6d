//! What a filter of acknowledgements reads of the bytes of a TCP header.
//!
//! Source: RFC 9293 section 3.1, RFC 2018 section 3 (kind 5), RFC 7323 section 3 (kind 8); which options and flags an
//! acknowledgement that may be dropped can have: Linux, `sch_cake.c`, `cake_tcph_may_drop`.

use super::wire::{long, word};
use gameway_path::{SackRanges, TcpHeader};

const MIN_HEADER: usize = 20;
/// Behind the length of the header, four bits: three that are reserved, AE, CWR, ECE, URG, ACK, PSH, RST, SYN, FIN.
const ACK: u16 = 0x010;
const SYN: u16 = 0x002;
const ECHOES: u16 = 0x0c0;
const FLAGS: u16 = 0xfff;

const END: u8 = 0;
const NOTHING: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const SIGNATURE: u8 = 19;

/// The header that begins at `tcp` in a packet of this many bytes.
pub fn tcp_header(packet: &[u8], tcp: usize) -> Option<TcpHeader> {
    let bits = word(packet, tcp + 12)?;
    let length = usize::from(bits >> 12) * 4;
    let flags = bits & FLAGS;
    let options = packet.get(tcp + MIN_HEADER..tcp + length)?;
    let mut header = TcpHeader {
        acknowledges: flags & (ACK | SYN) == ACK,
        is_plain: flags & !ECHOES == ACK && tcp + length == packet.len(),
        echoes: ((flags & ECHOES) >> 6) as u8,
        acknowledgment: long(packet, tcp + 8)?,
        timestamps: None,
        sack: SackRanges::default(),
    };
    header.is_plain &= read_options(options, &mut header);
    Some(header)
}

/// Whether all options are of those that say nothing more than an acknowledgement.
fn read_options(mut options: &[u8], header: &mut TcpHeader) -> bool {
    let mut are_plain = true;
    while let Some(&kind) = options.first().filter(|kind| **kind != END) {
        if kind == NOTHING {
            options = &options[1..];
            continue;
        }
        let length = options.get(1).map_or(0, |length| usize::from(*length));
        if length < 2 || length > options.len() {
            break;
        }
        let (option, rest) = options.split_at(length);
        are_plain &= match kind {
            SIGNATURE => true,
            SACK if length % 8 == 2 => read_sack(&option[2..], header),
            TIMESTAMPS if length == 10 => {
                header.timestamps = long(option, 2).zip(long(option, 6));
                true
            }
            _ => false,
        };
        options = rest;
    }
    are_plain
}

fn read_sack(blocks: &[u8], header: &mut TcpHeader) -> bool {
    for block in blocks.chunks_exact(8) {
        if let (Some(start), Some(end)) = (long(block, 0), long(block, 4)) {
            header.sack.push(start, end);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header with these flags and options, padded, and so much payload.
    fn packet(flags: u16, options: &[u8], payload: usize) -> Vec<u8> {
        let padded = options.len().next_multiple_of(4);
        let mut bytes = vec![0; MIN_HEADER + padded + payload];
        bytes[8..12].copy_from_slice(&77_u32.to_be_bytes());
        let head = ((MIN_HEADER + padded) / 4) as u16;
        bytes[12..14].copy_from_slice(&(head << 12 | flags).to_be_bytes());
        bytes[MIN_HEADER..MIN_HEADER + options.len()].copy_from_slice(options);
        bytes
    }

    fn is_plain(flags: u16, options: &[u8], payload: usize) -> bool {
        tcp_header(&packet(flags, options, payload), 0).expect("it is whole").is_plain
    }

    #[test]
    fn an_acknowledgement_as_linux_sends_it_is_plain() {
        let times = [1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4];
        let sack = [1, 1, 5, 18, 0, 0, 0, 90, 0, 0, 0, 95, 0, 0, 0, 80, 0, 0, 0, 85];
        let found = tcp_header(&packet(ACK | 0x040, &[&times[..], &sack].concat(), 0), 0).unwrap();
        assert!(found.is_plain && found.acknowledges);
        assert_eq!((found.acknowledgment, found.echoes, found.timestamps), (77, 1, Some((3, 4))));
        assert_eq!(found.sack.as_slice(), [(90, 95), (80, 85)]);
    }

    #[test]
    fn what_says_more_is_not_plain() {
        assert!(is_plain(ACK, &[], 0));
        assert!(!is_plain(ACK, &[], 1));
        // FIN, SYN, RST, PSH, URG, AE and the reserved bits.
        for flag in [0x001, SYN, 0x004, 0x008, 0x020, 0x100, 0x200, 0x400, 0x800] {
            assert!(!is_plain(ACK | flag, &[], 0), "{flag:#x}");
        }
        assert!(!is_plain(0, &[], 0));
        // The option of accurate ECN (RFC 9768), and a segment size.
        assert!(!is_plain(ACK, &[172, 5, 0, 0, 1], 0));
        assert!(!is_plain(ACK, &[2, 4, 5, 180], 0));
        assert!(!tcp_header(&packet(ACK | SYN, &[], 0), 0).unwrap().acknowledges);
        assert_eq!(tcp_header(&[0; 12], 0), None);
    }
}
