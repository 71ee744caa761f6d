//! Which losses break a frame that has parity, where nothing is sent again.
//!
//! # Model
//! A group is a parity packet and the media packets of which it is the exclusive or ([`parity_for`]). Of a group any one packet comes back
//! from the others, so that a frame is whole until a second one of a group is lost. What no parity packet stands in for breaks its
//! frame at once. A loss that turns out to be a late arrival counts as before: the answer to it has left.

use crate::packet::MediaPacket;
use crate::repair_code::parity_for;
use gameway_control::{FrameId, PacketKind, SentPacket, SequenceNumber};
use std::collections::VecDeque;

/// Frames that are remembered: two seconds at 120 frames/s, later than any report of a loss.
const MAX_FRAMES: usize = 256;

#[derive(Debug)]
struct Train {
    frame: FrameId,
    /// Its media and its repair packets; unknown while it is being encoded.
    counts: (u16, u16),
    /// Its packets that left, with their places, in order.
    packets: Vec<(SequenceNumber, u16)>,
    /// Groups of which one packet is lost, by their parity packets.
    hit: Vec<u16>,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct ParityLosses {
    trains: VecDeque<Train>,
}

impl ParityLosses {
    /// A packet of a train left.
    pub(crate) fn on_sent(&mut self, packet: &MediaPacket) {
        if self.trains.back().is_none_or(|newest| newest.frame < packet.frame) {
            if self.trains.len() == MAX_FRAMES {
                self.trains.pop_front();
            }
            let (frame, packets) = (packet.frame, Vec::new());
            self.trains.push_back(Train { frame, counts: (0, 0), packets, hit: Vec::new() });
        }
        let newest = self.trains.back_mut().filter(|newest| newest.frame == packet.frame);
        let Some(newest) = newest else { return };
        if packet.media_packets > 0 {
            let repair = packet.train_packets.saturating_sub(packet.media_packets);
            newest.counts = (packet.media_packets, repair);
        }
        newest.packets.push((packet.sequence, packet.index));
    }

    /// A packet of a train is lost. Whether its frame is no longer whole.
    pub(crate) fn breaks(&mut self, packet: &SentPacket) -> bool {
        let is_media = packet.kind == PacketKind::Media;
        let at = self.trains.binary_search_by_key(&packet.frame, |train| train.frame);
        let Some(train) = at.ok().and_then(|at| self.trains.get_mut(at)) else { return is_media };
        let Some(group) = train.group(packet) else { return is_media };
        if train.hit.contains(&group) {
            return true;
        }
        train.hit.push(group);
        false
    }
}

impl Train {
    /// The parity packet of a packet's group.
    fn group(&self, packet: &SentPacket) -> Option<u16> {
        let at = self.packets.binary_search_by_key(&packet.sequence, |(number, _)| *number).ok()?;
        let (_, place) = self.packets[at];
        let (media, repair) = self.counts;
        match packet.kind {
            PacketKind::Repair => place.checked_sub(media),
            _ => parity_for(place, media, repair),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use gameway_units::{Bytes, Instant};

    /// Frame 7 has four media and two repair packets, with numbers from 10: groups are 0, 2, 4 and 1, 3, 5. Of its first packet no
    /// counts are known when it leaves.
    fn sent() -> ParityLosses {
        let mut losses = ParityLosses::default();
        for index in 0..6_u16 {
            losses.on_sent(&MediaPacket {
                sequence: SequenceNumber(10 + u64::from(index)),
                frame: FrameId(7),
                index,
                media_packets: if index == 0 { 0 } else { 4 },
                train_packets: if index == 0 { 0 } else { 6 },
                ..packet(PacketKind::Media)
            });
        }
        losses
    }

    fn lost(losses: &mut ParityLosses, frame: u64, places: &[u16]) -> Vec<bool> {
        let packet = |place: &u16| {
            let number = SequenceNumber(10 + u64::from(*place));
            let kind = if *place < 4 { PacketKind::Media } else { PacketKind::Repair };
            SentPacket::new(number, Instant::ZERO, FrameId(frame), Bytes::new(1)).with_kind(kind)
        };
        places.iter().map(|place| losses.breaks(&packet(place))).collect()
    }

    #[test]
    fn a_frame_breaks_with_the_second_loss_of_a_group() {
        for (places, breaks) in [
            (&[0_u16, 1], [false, false]),
            (&[0, 2], [false, true]),
            (&[3, 5], [false, true]),
            (&[5, 3], [false, true]),
            (&[3, 4], [false, false]),
            (&[4, 5], [false, false]),
        ] {
            assert_eq!(lost(&mut sent(), 7, places), breaks, "{places:?}");
        }
    }

    #[test]
    fn what_has_no_parity_breaks_its_frame_at_once() {
        // Of a frame that is not remembered.
        assert_eq!(lost(&mut sent(), 6, &[0, 4]), [true, false]);
        let mut without = ParityLosses::default();
        let media = MediaPacket { media_packets: 4, train_packets: 4, ..packet(PacketKind::Media) };
        (0..4).for_each(|index: u16| {
            let sequence = SequenceNumber(10 + u64::from(index));
            without.on_sent(&MediaPacket { sequence, index, frame: FrameId(7), ..media });
        });
        assert_eq!(lost(&mut without, 7, &[1]), [true]);
    }

    #[test]
    fn frames_of_two_seconds_are_remembered() {
        let mut losses = sent();
        for frame in 8..7 + 257 {
            let sequence = SequenceNumber(1000 + frame);
            losses.on_sent(&MediaPacket {
                sequence,
                frame: FrameId(frame),
                media_packets: 1,
                train_packets: 1,
                ..packet(PacketKind::Media)
            });
        }
        assert_eq!(losses.trains.len(), 256);
        assert_eq!(lost(&mut losses, 7, &[0]), [true], "forgotten");
    }
}
