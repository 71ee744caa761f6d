//! The packets of encoded frames, kept until the pacer lets them go, and longer where they may be sent again.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | frames kept after they left | 64 | half a second at 120 frames/s, the longest that a packet is worth sending again |
//! | bytes kept | 8 MiB | as much as the session's sender remembers |

use gameway_control::FrameId;
use gameway_session::MediaPacket;
use std::collections::VecDeque;

/// A frame as its packets carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingFrame {
    /// Its number.
    pub frame: FrameId,
    /// Its time stamp on the wire, in units of 1/90000 s (RFC 6184 section 8.1).
    pub timestamp: u32,
    /// The payloads of its train, by index: media, then repair.
    pub payloads: Vec<Vec<u8>>,
}

const MAX_LEFT: usize = 64;
const MAX_BYTES: usize = 8 << 20;

/// Frames of which packets wait in the pacer, oldest first.
#[derive(Debug, Default)]
pub struct Outbox {
    frames: VecDeque<OutgoingFrame>,
    /// Those that left, if they may be sent again.
    left: Option<VecDeque<OutgoingFrame>>,
}

impl Outbox {
    /// Keeps frames that left, for [`Self::again`].
    pub fn keep_left(&mut self) {
        self.left.get_or_insert_default();
    }

    /// Keeps a frame, or the next part of one, that was given to the pacer.
    pub fn put(&mut self, part: OutgoingFrame) {
        match self.frames.back_mut().filter(|newest| newest.frame == part.frame) {
            Some(newest) => newest.payloads.extend(part.payloads),
            None => self.frames.push_back(part),
        }
    }

    /// Time stamp and payload of a packet that leaves now. Trains leave in order: older frames are let go. A
    /// probe has no payload, padding has zeros; both have the time stamp of the frame before them.
    pub fn take(&mut self, packet: &MediaPacket) -> (u32, Vec<u8>) {
        while self.frames.len() > 1 && self.frames[0].frame < packet.frame {
            let left = self.frames.pop_front();
            self.keep(left);
        }
        let keeps = self.left.is_some();
        let Some(frame) = self.frames.front_mut() else {
            return (0, vec![0; usize::from(packet.payload)]);
        };
        if !packet.is_train() {
            return (frame.timestamp, vec![0; usize::from(packet.payload)]);
        }
        let payload = frame.payloads.get_mut(usize::from(packet.index));
        let payload = payload.map(|payload| match keeps {
            true => payload.clone(),
            false => std::mem::take(payload),
        });
        (frame.timestamp, payload.unwrap_or_default())
    }

    /// Time stamp and payload of a packet that is sent again; `None` if it is no longer kept.
    #[must_use]
    pub fn again(&self, packet: &MediaPacket) -> Option<(u32, &[u8])> {
        let kept = self.frames.iter().rev().chain(self.left.iter().flatten().rev());
        let frame = kept.into_iter().find(|frame| frame.frame == packet.frame)?;
        let payload = frame.payloads.get(usize::from(packet.index))?;
        Some((frame.timestamp, payload))
    }

    fn keep(&mut self, frame: Option<OutgoingFrame>) {
        let Some(left) = &mut self.left else { return };
        left.extend(frame);
        let bytes = |frame: &OutgoingFrame| frame.payloads.iter().map(Vec::len).sum::<usize>();
        while left.len() > MAX_LEFT || left.iter().map(bytes).sum::<usize>() > MAX_BYTES {
            left.pop_front();
        }
    }

    /// Frames kept; the one that left last among them, for what follows it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media_packet;
    use gameway_control::PacketKind;

    fn packet(frame: u64, index: u16, kind: PacketKind) -> MediaPacket {
        MediaPacket {
            frame: FrameId(frame),
            index,
            media_packets: 2,
            train_packets: 3,
            payload: 4,
            ..media_packet::packet(kind)
        }
    }

    fn frame(number: u64) -> OutgoingFrame {
        let payloads = (0..3).map(|index| vec![number as u8, index]).collect();
        OutgoingFrame { frame: FrameId(number), timestamp: 100 + number as u32, payloads }
    }

    #[test]
    fn each_packet_gets_its_payload_and_old_frames_go() {
        let mut outbox = Outbox::default();
        outbox.put(frame(0));
        outbox.put(frame(1));
        assert_eq!(outbox.take(&packet(0, 0, PacketKind::Media)), (100, vec![0, 0]));
        assert_eq!(outbox.take(&packet(0, 2, PacketKind::Repair)), (100, vec![0, 2]));
        assert_eq!(outbox.take(&packet(0, 0, PacketKind::Padding)), (100, vec![0; 4]));
        assert_eq!(outbox.len(), 2);
        assert_eq!(outbox.take(&packet(1, 1, PacketKind::Media)), (101, vec![1, 1]));
        assert_eq!(outbox.len(), 1);
        outbox.put(OutgoingFrame { payloads: vec![vec![7]], ..frame(1) });
        assert_eq!(outbox.take(&packet(1, 3, PacketKind::Media)), (101, vec![7]));
        assert_eq!(outbox.len(), 1);
    }
}
