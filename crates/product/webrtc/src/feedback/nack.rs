//! Requests for packets that are missing: generic NACK (RFC 4585 section 6.2.1).
//!
//! A client of ours asks by the low 16 bits of transport-wide numbers, which are the RTP numbers of its video. Among them may
//! be that of a retransmission, which had it on another stream: the sender knows which packet that repeated.

use super::DATAGRAM;
use crate::error::WebrtcError;
use crate::rtcp::{self, RtcpPacket};
use gameway_control::SequenceNumber;
use gameway_session::nack_entries;
use rtc_rtcp::transport_feedbacks::transport_layer_nack::{NackPair, TransportLayerNack};

/// Format of the feedback.
const FORMAT: u8 = 1;
/// Bytes of the packet without entries, and of one.
const HEAD: usize = 12;
const ENTRY: usize = 4;
/// Entries that one packet may have: `rtc-rtcp` refuses more.
const MAX_ENTRIES: usize = 253;

/// Asks for packets: in the last datagram of a report if that has room, in others behind it if not. `ssrcs` are those of who
/// asks and of the stream.
pub(super) fn write(
    asked: &[SequenceNumber],
    [sender_ssrc, media_ssrc]: [u32; 2],
    compounds: &mut Vec<Vec<u8>>,
) -> Result<(), WebrtcError> {
    let nacks = pairs(asked);
    let mut nacks = &nacks[..];
    while !nacks.is_empty() {
        let room = compounds.last().map_or(0, |last| DATAGRAM.saturating_sub(last.len()));
        let fit = (room.saturating_sub(HEAD) / ENTRY).min(MAX_ENTRIES);
        if fit == 0 || fit < nacks.len() && room < DATAGRAM {
            compounds.push(Vec::new());
            continue;
        }
        let (these, rest) = nacks.split_at(fit.min(nacks.len()));
        let packet = TransportLayerNack { sender_ssrc, media_ssrc, nacks: these.to_vec() };
        if let Some(last) = compounds.last_mut() {
            rtcp::write(&packet, last)?;
        }
        nacks = rest;
    }
    Ok(())
}

fn pairs(asked: &[SequenceNumber]) -> Vec<NackPair> {
    let pair = |(first, lost_packets): (SequenceNumber, u16)| NackPair {
        packet_id: first.0 as u16,
        lost_packets,
    };
    nack_entries(asked).map(pair).collect()
}

/// The numbers of stream `ssrc` that a packet asks for; none if it is another, or cannot be read.
pub(super) fn read(packet: &RtcpPacket<'_>, ssrc: u32) -> Vec<u16> {
    let is_nack = (packet.packet_type, packet.format) == (rtcp::TRANSPORT_FEEDBACK, FORMAT);
    let parsed = is_nack.then(|| packet.read::<TransportLayerNack>().ok()).flatten();
    let own = parsed.filter(|parsed| parsed.media_ssrc == ssrc);
    own.map(|own| own.nacks.into_iter().flatten().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(asked: &[u64]) -> Vec<SequenceNumber> {
        asked.iter().copied().map(SequenceNumber).collect()
    }

    fn read_all(compounds: &[Vec<u8>], ssrc: u32) -> Vec<u16> {
        let packets = compounds.iter().flat_map(|compound| rtcp::packets(compound));
        packets.flat_map(|packet| read(&packet, ssrc)).collect()
    }

    #[test]
    fn an_entry_has_a_number_and_sixteen_behind_it() {
        let found = pairs(&numbers(&[65_535, 65_536, 65_551, 65_552]));
        let pair = |packet_id, lost_packets| NackPair { packet_id, lost_packets };
        assert_eq!(found, [pair(65_535, 0x8001), pair(16, 0)]);
        let mut compounds = vec![vec![0; DATAGRAM]];
        write(&numbers(&[7, 9]), [1, 2], &mut compounds).unwrap();
        // RFC 4585: version 2, format 1, type 205, three words; both SSRCs; 7 and the second one behind it.
        let expected = [0x81, 205, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 7, 0, 2];
        assert_eq!(compounds[1..], [expected.to_vec()]);
    }

    #[test]
    fn what_another_stream_lacks_is_not_read() {
        let mut compounds = Vec::new();
        write(&numbers(&[7, 9]), [1, 2], &mut compounds).unwrap();
        assert_eq!((read_all(&compounds, 2), read_all(&compounds, 3)), (vec![7, 9], vec![]));
    }

    proptest! {
        #[test]
        fn all_numbers_arrive_in_datagrams_of_bounded_size(
            gaps in prop::collection::vec(1..40_u64, 0..1000),
            head in 0..DATAGRAM,
        ) {
            let mut last = 65_000;
            let asked: Vec<u64> = gaps.iter().map(|gap| { last += gap; last }).collect();
            let mut compounds = vec![];
            if head > 100 {
                compounds.push(vec![0; head / 4 * 4]);
            }
            let before = compounds.len();
            write(&numbers(&asked), [1, 2], &mut compounds).unwrap();
            prop_assert!(compounds.iter().all(|compound| compound.len() <= DATAGRAM));
            if let Some(first) = compounds.first_mut().filter(|_| before == 1) {
                first.drain(..head / 4 * 4);
            }
            let expected: Vec<u16> = asked.iter().map(|number| *number as u16).collect();
            prop_assert_eq!(read_all(&compounds, 2), expected);
        }
    }
}
