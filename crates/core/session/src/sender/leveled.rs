//! Size and frame rate of the picture follow the target, if there is a ladder.
//!
//! The ladder is asked at each frame. A new size begins with a key frame, in the frame's budget as any other; a new frame
//! rate begins with the interval behind the frame, and controller, pacer and repetitions are told of it. The grid of captures is that of
//! the source: a lower rate leaves places of it out.

use super::{Entry, Sender};
use crate::sender_config::SenderConfig;
use crate::sender_event::SenderEvent;
use gameway_control::Notice;
use gameway_media::{FrameBudget, Ladder, Level};
use gameway_units::{Duration, Instant, Rate};

/// What size and frame rate there are now.
#[derive(Debug)]
pub(super) struct Leveled {
    ladder: Option<Ladder>,
    /// Whether the ladder was asked already.
    begun: bool,
    pub(super) level: Level,
    /// From frame to frame, on this level; never zero.
    pub(super) frame_interval: Duration,
}

impl Leveled {
    pub(super) fn new(config: &SenderConfig) -> Self {
        Self {
            ladder: config.ladder.as_ref().map(Ladder::new),
            begun: false,
            level: Level::WHOLE,
            frame_interval: config.frame_interval.max(Duration::from_nanos(1)),
        }
    }

    /// As many as take that time.
    pub(super) fn max_waiting_frames(&self, config: &SenderConfig) -> usize {
        (config.max_waiting_frames / usize::from(self.level.intervals)).max(1)
    }
}

impl Sender {
    /// A frame is to be encoded that is captured then: of which size it is, and when the next comes.
    pub(super) fn choose_level(&mut self, now: Instant, captured: Instant) {
        let rate = self.encoder_rate();
        let Some(ladder) = &mut self.leveled.ladder else { return };
        let level = ladder.next(now, rate);
        let before = std::mem::replace(&mut self.leveled.level, level);
        if before == level && self.leveled.begun {
            return;
        }
        if before.twelfths != level.twelfths {
            self.entry = Entry::Wanted(None);
        }
        let one = self.config.frame_interval.max(Duration::from_nanos(1));
        let frame_interval = one * i64::from(level.intervals);
        if before.intervals != level.intervals {
            self.leveled.frame_interval = frame_interval;
            self.pacer.set_frame_interval(frame_interval);
            self.slots.set_interval(frame_interval);
            if let Some(resend) = &mut self.resend {
                resend.set_frame_interval(frame_interval);
            }
            self.controller.on_notice(now, &Notice::FrameInterval(frame_interval));
        }
        self.leveled.begun = true;
        self.events.push_back(SenderEvent::Level { at: captured, level, frame_interval });
    }

    /// What of the target is left for the encoder but for repair by losses, which comes and goes.
    fn encoder_rate(&self) -> Rate {
        let SenderConfig { repair_share, overhead, reserved_rate, .. } = self.config;
        let interval = self.leveled.frame_interval;
        let wire = self.target().bitrate.saturating_sub(reserved_rate) * interval;
        FrameBudget { wire, repair_share, overhead }.payload() / interval
    }
}
