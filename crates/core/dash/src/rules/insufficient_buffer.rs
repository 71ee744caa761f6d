//! No level whose next segment would come later than the buffer lasts.
//!
//! Source: dash.js 5.2.1 `InsufficientBufferRule`.
//! Model: the lowest level while the buffer is empty; else the highest within the share of throughput that
//! brings a segment while 0.7 of the buffer plays. Silent for the first segments, before which every
//! buffer is small.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | safety factor | 0.7 | `throughputSafetyFactor` |
//! | silent until | 2 segments are appended | `segmentIgnoreCount` |

use super::{Situation, SwitchRequest};

const SAFETY_FACTOR: f64 = 0.7;
const SILENT_SEGMENTS: u32 = 2;

#[derive(Debug, Default)]
pub(crate) struct InsufficientBuffer {
    appended: u32,
}

impl InsufficientBuffer {
    pub(crate) fn on_appended(&mut self) {
        self.appended = self.appended.saturating_add(1);
    }

    pub(crate) fn decide(&self, situation: &Situation<'_>) -> Option<SwitchRequest> {
        if self.appended < SILENT_SEGMENTS {
            return None;
        }
        if situation.empty {
            return Some(SwitchRequest(0));
        }
        let segments = situation.buffer.as_secs_f64() / situation.segment.as_secs_f64();
        let bitrate = situation.throughput.average()? * SAFETY_FACTOR * segments;
        (bitrate > 0.0).then(|| SwitchRequest(situation.ladder.max_within(bitrate)))
    }
}
