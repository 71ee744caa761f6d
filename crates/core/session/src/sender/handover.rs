//! Another controller takes over a stream that runs.
//!
//! It begins as at a stream's start, and knows nothing of the frames before: what is heard of their packets goes to nobody, as no
//! controller can make sense of a frame of which it was told a part.

use super::Sender;
use gameway_control::{FeedbackBatch, FrameId, Notice, PacketReport, RateController};
use gameway_units::{Instant, Rate};

impl Sender {
    /// The bitrate that the stream has now, on the wire: where a controller that takes over may begin.
    #[must_use]
    pub fn bitrate(&self) -> Rate {
        self.target().bitrate
    }

    /// From now on this one decides. It is told of the frames that are encoded from now on.
    pub fn set_controller(&mut self, now: Instant, controller: Box<dyn RateController>) {
        self.controller = controller;
        self.controlled_from = FrameId(self.next_frame.0 + u64::from(self.begun.is_some()));
        if self.leveled.level.intervals > 1 {
            let interval = Notice::FrameInterval(self.leveled.frame_interval);
            self.controller.on_notice(now, &interval);
        }
        self.retarget(now);
    }

    /// Whether the controller is told of this frame.
    pub(super) fn is_controlled(&self, frame: FrameId) -> bool {
        frame >= self.controlled_from
    }

    /// Hands on what was heard of the packets of which the controller was told.
    pub(super) fn report_to_controller(&mut self, now: Instant) {
        let is_told = |report: &&PacketReport| self.is_controlled(report.packet.frame);
        let told: Vec<PacketReport>;
        let reports = if self.reports.iter().all(|report| is_told(&report)) {
            &self.reports
        } else {
            told = self.reports.iter().filter(is_told).copied().collect();
            &told
        };
        if !reports.is_empty() {
            let in_flight = self.history.in_flight();
            let batch = FeedbackBatch::new(reports, self.last_generated, in_flight);
            self.controller.on_feedback(now, &batch);
        }
    }
}
