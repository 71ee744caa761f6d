//! Parity packets for a browser: what left of a frame is kept until its repair packets leave.
//!
//! # Model
//! Each repair packet is the exclusive or of the media packets that [`parity_for`] gives it.

use gameway_control::FrameId;
use gameway_session::{MAX_PARITY_SPAN, MediaPacket, RepairCode, parity_for};
use gameway_webrtc::Negotiated;
use gameway_webrtc::flexfec::{MAX_SPAN, parity};

const _: () = assert!(MAX_PARITY_SPAN <= MAX_SPAN);

/// What a client can do with repair packets.
pub(super) fn code(terms: &Negotiated) -> RepairCode {
    match (terms.repair, terms.parity) {
        (Some(_), _) => RepairCode::AnyForAny,
        (None, Some(_)) => RepairCode::Interleaved,
        (None, None) => RepairCode::None,
    }
}

/// The media packets of the frame that leaves, as they left, without encryption.
#[derive(Debug, Default)]
pub(super) struct ParityOut {
    frame: Option<FrameId>,
    /// By place in the frame: RTP number and bytes.
    packets: Vec<Option<(u16, Vec<u8>)>>,
}

impl ParityOut {
    /// A media packet left with this number.
    pub(super) fn keep(&mut self, packet: &MediaPacket, number: u16, bytes: Vec<u8>) {
        if self.frame != Some(packet.frame) {
            (self.frame, self.packets) = (Some(packet.frame), Vec::new());
        }
        let place = usize::from(packet.index);
        if place >= self.packets.len() {
            self.packets.resize(place + 1, None);
        }
        self.packets[place] = Some((number, bytes));
    }

    /// The payload of a repair packet of that frame; `None` if nothing of it left for which it could stand in.
    pub(super) fn payload(&self, packet: &MediaPacket, ssrc: u32) -> Option<Vec<u8>> {
        let media = packet.media_packets;
        let repairs = packet.train_packets.saturating_sub(media);
        let which = packet.index.checked_sub(media)?;
        if self.frame != Some(packet.frame) || which >= repairs {
            return None;
        }
        let places = (0..media).filter(|place| parity_for(*place, media, repairs) == Some(which));
        let covered = places.filter_map(|place| self.packets.get(usize::from(place))?.as_ref());
        let mut base = None;
        let covered: Vec<(usize, &[u8])> = covered
            .map(|(number, bytes)| {
                let base = *base.get_or_insert(*number);
                (usize::from(number.wrapping_sub(base)), bytes.as_slice())
            })
            .collect();
        parity(ssrc, base?, &covered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media_packet;
    use gameway_control::PacketKind;

    fn packet(index: u16, media_packets: u16, train_packets: u16) -> MediaPacket {
        MediaPacket {
            frame: FrameId(3),
            index,
            media_packets,
            train_packets,
            payload: 1,
            ..media_packet::packet(PacketKind::Media)
        }
    }

    /// Which of a frame's packets each of its repair packets stands in for, by the masks.
    fn covered(media: u16, repairs: u16) -> Vec<Vec<u16>> {
        let mut out = ParityOut::default();
        let bytes = |index: u16| vec![0x80, 96, 0, index as u8, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        (0..media).for_each(|index| {
            out.keep(
                &packet(index, media, media + repairs),
                65_530_u16.wrapping_add(index),
                bytes(index),
            );
        });
        let payloads = (media..media + repairs)
            .map(|index| out.payload(&packet(index, media, media + repairs), 9).unwrap());
        payloads
            .map(|payload| {
                let base = u16::from_be_bytes([payload[16], payload[17]]).wrapping_sub(65_530);
                let bits = (0..(payload.len() - 18).min(14) * 8).filter(|bit| {
                    let is_k = [0, 16, 48].contains(bit);
                    !is_k && payload[18 + bit / 8] & 0x80 >> (bit % 8) != 0
                });
                let ends = match payload.len() - 1 {
                    20 => 16,
                    24 => 48,
                    _ => 112,
                };
                let distance = |bit: usize| bit - 1 - usize::from(bit > 16) - usize::from(bit > 48);
                bits.filter(|bit| *bit < ends).map(|bit| base + distance(bit) as u16).collect()
            })
            .collect()
    }

    #[test]
    fn every_media_packet_has_one_and_neighbours_have_different_ones() {
        assert_eq!(covered(5, 2), [vec![0, 2, 4], vec![1, 3]]);
        for (media, repairs) in [(1, 1), (40, 7), (109, 3), (110, 2), (300, 10), (300, 3)] {
            let covered = covered(media, repairs);
            let mut all: Vec<u16> = covered.iter().flatten().copied().collect();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..media), "{media} {repairs}: {covered:?}");
        }
        // Two packets cannot reach all of three parts.
        let reached = covered(300, 2).iter().flatten().count();
        assert!(reached == 200, "{reached}");
    }

    #[test]
    fn of_another_frame_there_is_none() {
        let mut out = ParityOut::default();
        out.keep(&packet(0, 1, 2), 7, vec![0x80; 13]);
        assert!(out.payload(&packet(1, 1, 2), 9).is_some());
        let other = MediaPacket { frame: FrameId(4), ..packet(1, 1, 2) };
        assert_eq!(out.payload(&other, 9), None);
        assert_eq!(out.payload(&packet(2, 1, 2), 9), None, "beyond its train");
    }
}
