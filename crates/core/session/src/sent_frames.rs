//! The frames that left last: what a receiver that tells of frames has got.

use gameway_control::{FrameId, SentPacket};
use gameway_units::Instant;
use std::collections::VecDeque;

/// Frames that are remembered: two seconds at 120 frames/s, later than any news of a frame is of use.
const MAX_FRAMES: usize = 256;

#[derive(Debug, Clone, Copy)]
struct SentFrame {
    frame: FrameId,
    first_sent: Instant,
    last: Option<SentPacket>,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct SentFrames {
    frames: VecDeque<SentFrame>,
}

impl SentFrames {
    /// A packet of a frame's train left.
    pub(crate) fn on_sent(&mut self, packet: &SentPacket) {
        if packet.first_of_frame {
            if self.frames.len() == MAX_FRAMES {
                self.frames.pop_front();
            }
            let SentPacket { frame, sent: first_sent, .. } = *packet;
            self.frames.push_back(SentFrame { frame, first_sent, last: None });
        }
        if packet.last_of_frame
            && let Some(newest) = self.frames.back_mut().filter(|it| it.frame == packet.frame)
        {
            newest.last = Some(*packet);
        }
    }

    /// When a frame's first packet left, and its last packet; `None` if not all of it has, or long ago.
    pub(crate) fn whole(&self, frame: FrameId) -> Option<(Instant, SentPacket)> {
        let index = self.frames.binary_search_by_key(&frame, |it| it.frame).ok()?;
        let found = self.frames[index];
        Some((found.first_sent, found.last?))
    }
}
