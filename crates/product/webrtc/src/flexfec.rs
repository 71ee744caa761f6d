//! Parity packets that a browser takes: FlexFEC, of which Chromium has a draft's form.
//!
//! Source: draft-ietf-payload-flexible-fec-scheme-03 section 4.2 (RFC 8627, which came of it, has another header). The payload of a
//! parity packet is the exclusive or of packets of one other stream: of the first two bytes of their headers, of their lengths, of
//! their time stamps, and of all that follows their fixed headers, extensions included ([`crate::RtpPacket::for_parity`]).
//!
//! ```text
//!  0                   1                   2                   3
//! |R|F|P|X|  CC   |M| PT recovery |        length recovery        |
//! |                          TS recovery                          |
//! |   SSRC count  |                    reserved                   |
//! |                             SSRC                              |
//! |            SN base            |k|          mask 0-14          |
//! |k|                   mask 15-45 (optional)                     |
//! |k|                                                             |
//! |                   mask 46-108 (optional)                      |
//! ```
//!
//! | constant | value | origin |
//! |---|---|---|
//! | packets from the first to the last that one covers | 109 | bits of the three masks |
//! | header | 20, 24 or 32 B | with one, two or three masks; `k` is set in the last |

use crate::rtp::HEADER;

/// Most packets from the first to the last that a parity packet can cover.
pub const MAX_SPAN: usize = 109;
/// Bytes of the longest header.
pub const MAX_HEADER: usize = 32;
const MASKS_AT: usize = 18;
/// Bits of the masks up to each of them.
const MASK_ENDS: [usize; 3] = [15, 46, MAX_SPAN];

/// The payload of a parity packet over these packets of the stream `ssrc`: each with its distance from the number `base`, and all
/// its bytes before encryption. `None` if there is none, or one is too far or no packet.
#[must_use]
pub fn parity(ssrc: u32, base: u16, packets: &[(usize, &[u8])]) -> Option<Vec<u8>> {
    let &(last, _) = packets.iter().max_by_key(|(distance, _)| *distance)?;
    if last >= MAX_SPAN || packets.iter().any(|(_, packet)| packet.len() < HEADER) {
        return None;
    }
    let masks = MASK_ENDS.iter().take_while(|end| **end <= last).count() + 1;
    let header = MASKS_AT + [2, 6, 14][masks - 1];
    let longest = packets.iter().map(|(_, packet)| packet.len() - HEADER).max()?;
    let mut bytes = vec![0; header + longest];
    for (_, packet) in packets {
        let length = u16::try_from(packet.len() - HEADER).ok()?.to_be_bytes();
        let head = packet[..2].iter().chain(&length).chain(&packet[4..8]);
        exclusive_or(&mut bytes[..8], head);
        exclusive_or(&mut bytes[header..], &packet[HEADER..]);
    }
    // Neither a retransmission nor fixed blocks: the bits of the version are of no packet.
    bytes[0] &= 0x3F;
    bytes[8] = 1;
    bytes[12..16].copy_from_slice(&ssrc.to_be_bytes());
    bytes[16..18].copy_from_slice(&base.to_be_bytes());
    packets.iter().for_each(|(distance, _)| mark(&mut bytes[MASKS_AT..], *distance));
    bytes[MASKS_AT + [0, 2, 6][masks - 1]] |= 0x80;
    Some(bytes)
}

/// Sets a packet's bit in the masks, each of which begins with its bit `k`.
fn mark(masks: &mut [u8], distance: usize) {
    let before = MASK_ENDS.iter().filter(|end| **end <= distance).count();
    let bit = distance + before + 1;
    masks[bit / 8] |= 0x80 >> (bit % 8);
}

fn exclusive_or<'a>(into: &mut [u8], bytes: impl IntoIterator<Item = &'a u8>) {
    into.iter_mut().zip(bytes).for_each(|(into, byte)| *into ^= byte);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Section 4.2's header, by hand: packets 5 and 7 of SSRC 9 with time stamps 1 and 3, types 96 and 97 with the marker on the
    /// second, and payloads of one and two bytes.
    #[test]
    fn a_header_is_as_the_draft_draws_it() {
        let first = [0x80, 96, 0, 5, 0, 0, 0, 1, 0, 0, 0, 9, 0xA0];
        let second = [0x90, 0x80 | 97, 0, 7, 0, 0, 0, 3, 0, 0, 0, 9, 0x0B, 0xCC];
        let made = parity(9, 5, &[(0, &first), (2, &second)]).unwrap();
        let expected = [
            0x10,
            0x81,
            0,
            3, // X, M and the type's last bit; 1 ^ 2
            0,
            0,
            0,
            2, // 1 ^ 3
            1,
            0,
            0,
            0, //
            0,
            0,
            0,
            9, //
            0,
            5,
            0x80 | 0x50,
            0, // k, and bits 0 and 2
            0xAB,
            0xCC,
        ];
        assert_eq!(made, expected);
    }

    #[test]
    fn masks_are_as_many_as_the_distance_needs() {
        let packet = [0x80; HEADER];
        let made = |last: usize| parity(1, 0, &[(0, &packet), (last, &packet)]);
        let masks = |last| made(last).map(|bytes| bytes[MASKS_AT..].to_vec());
        assert_eq!(masks(14), Some(vec![0xC0, 0x01]));
        assert_eq!(masks(15), Some(vec![0x40, 0, 0xC0, 0, 0, 0]));
        assert_eq!(masks(45), Some(vec![0x40, 0, 0x80, 0, 0, 1]));
        assert_eq!(masks(46), Some(vec![0x40, 0, 0, 0, 0, 0, 0xC0, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(masks(108).map(|masks| masks[13]), Some(1));
        assert_eq!(made(109), None);
        assert_eq!(parity(1, 0, &[]), None);
        assert_eq!(parity(1, 0, &[(0, &packet[..11])]), None);
    }

    /// What a receiver does (section 6.3.2 of the draft): the missing packet is the parity over what is there and the parity packet.
    fn recover(payload: &[u8], there: &[&[u8]], number: u16) -> Vec<u8> {
        let header = match (payload[18] >> 7, payload.get(20).map_or(0, |byte| byte >> 7)) {
            (1, _) => 20,
            (_, 1) => 24,
            _ => 32,
        };
        let mut head = payload[..8].to_vec();
        let mut rest = payload[header..].to_vec();
        for packet in there {
            let length = ((packet.len() - HEADER) as u16).to_be_bytes();
            exclusive_or(&mut head, packet[..2].iter().chain(&length).chain(&packet[4..8]));
            exclusive_or(&mut rest, &packet[HEADER..]);
        }
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let mut packet = vec![head[0] & 0x3F | 0x80, head[1]];
        packet.extend(number.to_be_bytes());
        packet.extend(&head[4..8]);
        packet.extend(&payload[12..16]);
        packet.extend(&rest[..length]);
        packet
    }

    proptest! {
        #[test]
        fn any_packet_comes_back_of_the_others(
            bodies in prop::collection::vec((0usize..109, any::<u32>(), any::<u8>(),
                prop::collection::vec(any::<u8>(), 0..40)), 1..20),
            base: u16, ssrc: u32, missing: prop::sample::Index,
        ) {
            let mut packets: Vec<(usize, Vec<u8>)> = Vec::new();
            for (distance, timestamp, kind, body) in bodies {
                if packets.iter().any(|(other, _)| *other == distance) {
                    continue;
                }
                let mut bytes = vec![0x90, kind];
                bytes.extend(base.wrapping_add(distance as u16).to_be_bytes());
                bytes.extend(timestamp.to_be_bytes());
                bytes.extend(ssrc.to_be_bytes());
                bytes.extend(body);
                packets.push((distance, bytes));
            }
            let all: Vec<(usize, &[u8])> = packets.iter().map(|(at, it)| (*at, &it[..])).collect();
            let payload = parity(ssrc, base, &all).unwrap();
            let (distance, lost) = all[missing.index(all.len())];
            let there: Vec<&[u8]> =
                all.iter().filter(|(at, _)| *at != distance).map(|(_, it)| *it).collect();
            let number = base.wrapping_add(distance as u16);
            prop_assert_eq!(recover(&payload, &there, number), lost);
        }
    }
}
