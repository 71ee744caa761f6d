//! Which packets that are asked for need not be sent, since repair packets of their frame stand in for them.
//!
//! # Model
//! A receiver that can use repair packets asks once a frame lacks more than these can stand in for, and then for all that it
//! lacks. Of a frame that left with `m` repair packets, the first `m` media packets that are asked for are therefore passed over.
//! A repair packet that is asked for is lost, too, and stands in for nothing: a packet that was passed over is sent in its place.
//! Who asks a second time for a packet gets it. Of a receiver that knows parity alone ([`RepairCode::Interleaved`]) one packet of each
//! group is passed over, until a report tells that the group's repair packet is lost: such a receiver asks for media packets alone.

use crate::packet::MediaPacket;
use crate::repair_code::{RepairCode, parity_for};
use gameway_control::FrameId;
use std::collections::VecDeque;

/// Frames that are remembered: two seconds at 120 frames/s, later than any repetition is of use.
const MAX_FRAMES: usize = 256;

/// Repair packets of a frame.
#[derive(Debug)]
struct Spare {
    frame: FrameId,
    /// How many stand in for nothing yet.
    left: u16,
    /// How many media packets there are, and how many repair packets there were.
    packets: (u16, u16),
    /// Numbers of the media packets for which the others stand in, each with its place in the frame.
    passed_over: Vec<(u64, u16)>,
    /// Groups whose repair packet is lost.
    unmended: Vec<u16>,
}

impl Spare {
    /// Which parity packet stands in for the media packet at this place.
    fn parity_for(&self, place: u16) -> Option<u16> {
        let (media, repair) = self.packets;
        parity_for(place, media, repair)
    }
}

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    frames: VecDeque<Spare>,
    code: RepairCode,
}

impl Spares {
    /// For a receiver that can do this with repair packets.
    pub(crate) fn new(code: RepairCode) -> Self {
        Self { frames: VecDeque::new(), code }
    }

    /// A packet of a train left.
    pub(crate) fn on_sent(&mut self, packet: &MediaPacket) {
        let left = packet.train_packets.saturating_sub(packet.media_packets);
        if packet.media_packets == 0 || left == 0 || self.newest() >= Some(packet.frame) {
            return;
        }
        if self.frames.len() == MAX_FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back(Spare {
            frame: packet.frame,
            left,
            packets: (packet.media_packets, left),
            passed_over: Vec::new(),
            unmended: Vec::new(),
        });
    }

    /// Whether a media packet, at this place in its frame, that is asked for the first time is passed over.
    pub(crate) fn passes_over(&mut self, frame: FrameId, number: u64, index: u16) -> bool {
        let of_groups = self.code == RepairCode::Interleaved;
        let Some(spare) = self.of(frame).filter(|spare| spare.left > 0) else { return false };
        if of_groups {
            let Some(group) = spare.parity_for(index) else { return false };
            let is_taken = |(_, other): &(u64, u16)| spare.parity_for(*other) == Some(group);
            if spare.passed_over.iter().any(is_taken) || spare.unmended.contains(&group) {
                return false;
            }
        }
        spare.left -= 1;
        spare.passed_over.push((number, index));
        true
    }

    /// Whether a packet was passed over: who did not ask again has it by repair.
    pub(crate) fn has_passed_over(&mut self, frame: FrameId, number: u64) -> bool {
        self.of(frame).is_some_and(|spare| spare.passed_over.iter().any(|one| one.0 == number))
    }

    /// A repair packet is lost; the packet to send in its place, if one was passed over.
    pub(crate) fn on_lost(&mut self, frame: FrameId) -> Option<u64> {
        let spare = self.of(frame)?;
        let passed_over = spare.passed_over.pop();
        if passed_over.is_none() {
            spare.left = spare.left.saturating_sub(1);
        }
        passed_over.map(|(number, _)| number)
    }

    /// A report tells that a repair packet is lost, of a receiver that knows parity alone; the packet that was passed over for it.
    pub(crate) fn on_parity_lost(&mut self, packet: &MediaPacket) -> Option<u64> {
        let of_groups = self.code == RepairCode::Interleaved;
        let spare = self.of(packet.frame).filter(|_| of_groups)?;
        let group = packet.index.checked_sub(packet.media_packets)?;
        if spare.unmended.contains(&group) {
            return None;
        }
        spare.unmended.push(group);
        let is_of_group = |(_, index): &(u64, u16)| spare.parity_for(*index) == Some(group);
        let place = spare.passed_over.iter().position(is_of_group)?;
        Some(spare.passed_over.swap_remove(place).0)
    }

    fn newest(&self) -> Option<FrameId> {
        self.frames.back().map(|spare| spare.frame)
    }

    fn of(&mut self, frame: FrameId) -> Option<&mut Spare> {
        let index = self.frames.binary_search_by_key(&frame, |spare| spare.frame).ok()?;
        self.frames.get_mut(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::tests::packet;
    use gameway_control::PacketKind;

    /// A frame of four media and two repair packets.
    fn spares() -> Spares {
        let mut spares = Spares::new(RepairCode::AnyForAny);
        let packet = |index, counts: (u16, u16)| MediaPacket {
            frame: FrameId(7),
            index,
            media_packets: counts.0,
            train_packets: counts.1,
            ..packet(if index < 4 { PacketKind::Media } else { PacketKind::Repair })
        };
        // What left while the frame was being encoded says nothing.
        spares.on_sent(&packet(0, (0, 0)));
        (1..6).for_each(|index| spares.on_sent(&packet(index, (4, 6))));
        spares
    }

    #[test]
    fn as_many_are_passed_over_as_there_are_repair_packets() {
        let mut spares = spares();
        let asked =
            [0, 1, 2, 3].map(|number| spares.passes_over(FrameId(7), number, number as u16));
        assert_eq!(asked, [true, true, false, false]);
        assert!(!spares.passes_over(FrameId(6), 9, 9) && !spares.passes_over(FrameId(8), 9, 9));
    }

    /// Of four packets in two groups: 0 and 2, 1 and 3.
    #[test]
    fn of_parity_one_in_each_group_is_passed_over() {
        let mut spares = Spares { code: RepairCode::Interleaved, ..spares() };
        let asked =
            [0, 2, 3, 1].map(|number| spares.passes_over(FrameId(7), number, number as u16));
        assert_eq!(asked, [true, false, true, false]);
        let repaired = [0, 1, 2, 3].map(|number| spares.has_passed_over(FrameId(7), number));
        assert_eq!(repaired, [true, false, false, true]);
        // The repair packet of 1 and 3 is lost, and told of twice.
        let lost = |frame| MediaPacket {
            frame: FrameId(frame),
            index: 5,
            media_packets: 4,
            train_packets: 6,
            ..packet(PacketKind::Repair)
        };
        let told = [6, 7, 7].map(|frame| spares.on_parity_lost(&lost(frame)));
        assert_eq!(told, [None, Some(3), None]);
        assert!(!spares.has_passed_over(FrameId(7), 3));
        assert!(!spares.passes_over(FrameId(7), 1, 1) && !spares.passes_over(FrameId(7), 3, 3));
    }

    /// 220 packets have three parts with one parity packet each: 0 to 73, 74 to 146, 147 to 219.
    #[test]
    fn of_a_frame_longer_than_parity_reaches_one_in_each_part_is_passed_over() {
        let mut spares = Spares::new(RepairCode::Interleaved);
        let media = MediaPacket {
            frame: FrameId(7),
            media_packets: 220,
            train_packets: 223,
            ..packet(PacketKind::Media)
        };
        spares.on_sent(&media);
        let asked = [0, 1, 73, 74, 146, 147, 219]
            .map(|place| spares.passes_over(FrameId(7), place.into(), place));
        assert_eq!(asked, [true, false, false, true, false, true, false]);
        let lost = MediaPacket { kind: PacketKind::Repair, index: 222, ..media };
        assert_eq!(spares.on_parity_lost(&lost), Some(147));
    }

    #[test]
    fn frames_of_two_seconds_are_remembered_each_once() {
        let mut spares = Spares::new(RepairCode::AnyForAny);
        let packet = |frame, train_packets| MediaPacket {
            frame: FrameId(frame),
            media_packets: 1,
            train_packets,
            ..packet(PacketKind::Media)
        };
        // Every other frame has a repair packet.
        for frame in 0..2 * 257 {
            (0..3).for_each(|_| spares.on_sent(&packet(frame, 1 + (frame % 2) as u16)));
        }
        let passed_over = (0..2 * 257).filter(|frame| spares.passes_over(FrameId(*frame), 0, 0));
        assert!(passed_over.eq((3..2 * 257).step_by(2)), "the first of 257 is forgotten");
        spares.on_sent(&packet(2 * 257 - 1, 2));
        spares.on_sent(&packet(7, 2));
        assert!((0..2 * 257).all(|frame| !spares.passes_over(FrameId(frame), 0, 0)));
        assert_eq!(spares.frames.len(), 256);
    }

    #[test]
    fn a_repair_packet_that_is_lost_stands_in_for_nothing() {
        let mut before = spares();
        assert_eq!(before.on_lost(FrameId(7)), None);
        assert!(before.passes_over(FrameId(7), 2, 2) && !before.passes_over(FrameId(7), 3, 3));
        let mut behind = spares();
        assert!(behind.passes_over(FrameId(7), 2, 2) && behind.passes_over(FrameId(7), 3, 3));
        assert_eq!(behind.on_lost(FrameId(7)), Some(3));
        assert_eq!(behind.on_lost(FrameId(7)), Some(2));
        assert_eq!(behind.on_lost(FrameId(7)), None);
        assert!(!behind.passes_over(FrameId(7), 1, 1));
    }
}
