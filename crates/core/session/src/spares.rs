//! Which packets that are asked for need not be sent, since repair packets of their frame stand in for them.
//!
//! # Model
//! A receiver that can use repair packets asks once a frame lacks more than these can stand in for, and then for all that it
//! lacks. Of a frame that left with `m` repair packets, the first `m` media packets that are asked for are therefore passed over.
//! A repair packet that is asked for is lost, too, and stands in for nothing: a packet that was passed over is sent in its place.
//! Who asks a second time for a packet gets it.

use crate::packet::MediaPacket;
use gameway_control::FrameId;
use std::collections::VecDeque;

/// Frames that are remembered: two seconds at 120 frames/s, later than any repetition is of use.
const MOST: usize = 256;

/// Repair packets of a frame.
#[derive(Debug)]
struct Spare {
    frame: FrameId,
    /// How many stand in for nothing yet.
    left: u16,
    /// Numbers of the media packets for which the others stand in.
    passed_over: Vec<u64>,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    frames: VecDeque<Spare>,
}

impl Spares {
    /// A packet of a train left.
    pub(crate) fn on_sent(&mut self, packet: &MediaPacket) {
        let left = packet.train_packets.saturating_sub(packet.media_packets);
        if packet.media_packets == 0 || left == 0 || self.newest() >= Some(packet.frame) {
            return;
        }
        if self.frames.len() == MOST {
            self.frames.pop_front();
        }
        self.frames.push_back(Spare { frame: packet.frame, left, passed_over: Vec::new() });
    }

    /// Whether a media packet that is asked for the first time is passed over.
    pub(crate) fn passes_over(&mut self, frame: FrameId, number: u64) -> bool {
        let Some(spare) = self.of(frame).filter(|spare| spare.left > 0) else { return false };
        spare.left -= 1;
        spare.passed_over.push(number);
        true
    }

    /// A repair packet is lost; the packet to send in its place, if one was passed over.
    pub(crate) fn on_lost(&mut self, frame: FrameId) -> Option<u64> {
        let spare = self.of(frame)?;
        let passed_over = spare.passed_over.pop();
        if passed_over.is_none() {
            spare.left = spare.left.saturating_sub(1);
        }
        passed_over
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
        let mut spares = Spares::default();
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
        let asked = [0, 1, 2, 3].map(|number| spares.passes_over(FrameId(7), number));
        assert_eq!(asked, [true, true, false, false]);
        assert!(!spares.passes_over(FrameId(6), 9) && !spares.passes_over(FrameId(8), 9));
    }

    #[test]
    fn frames_of_two_seconds_are_remembered_each_once() {
        let mut spares = Spares::default();
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
        let passed_over = (0..2 * 257).filter(|frame| spares.passes_over(FrameId(*frame), 0));
        assert!(passed_over.eq((3..2 * 257).step_by(2)), "the first of 257 is forgotten");
        spares.on_sent(&packet(2 * 257 - 1, 2));
        spares.on_sent(&packet(7, 2));
        assert!((0..2 * 257).all(|frame| !spares.passes_over(FrameId(frame), 0)));
        assert_eq!(spares.frames.len(), 256);
    }

    #[test]
    fn a_repair_packet_that_is_lost_stands_in_for_nothing() {
        let mut before = spares();
        assert_eq!(before.on_lost(FrameId(7)), None);
        assert!(before.passes_over(FrameId(7), 2) && !before.passes_over(FrameId(7), 3));
        let mut behind = spares();
        assert!(behind.passes_over(FrameId(7), 2) && behind.passes_over(FrameId(7), 3));
        assert_eq!(behind.on_lost(FrameId(7)), Some(3));
        assert_eq!(behind.on_lost(FrameId(7)), Some(2));
        assert_eq!(behind.on_lost(FrameId(7)), None);
        assert!(!behind.passes_over(FrameId(7), 1));
    }
}
