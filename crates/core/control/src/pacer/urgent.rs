//! Packets that are sent again: ahead of all frames, and yet no faster than these.
//!
//! Each takes the time that it takes at the pace of frames, and what waits is put off by as much: on the wire a
//! retransmission stands in the place of media. The window holds for both.

use super::{Pacer, PacerOutput, Queued};
use crate::Pacing;
use gameway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

/// See the module's head.
pub(super) struct Urgent<T> {
    queue: VecDeque<Queued<T>>,
    /// When the next of them may leave.
    free: Instant,
}

impl<T> Default for Urgent<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), free: Instant::from_nanos(i64::MIN) }
    }
}

impl<T> Urgent<T> {
    /// The size of the one that leaves next.
    pub(super) fn head_size(&self) -> Option<Bytes> {
        self.queue.front().map(|head| head.size)
    }
}

impl<T> Pacer<T> {
    /// Queues a packet that is sent again, of this size on the wire, ahead of all frames and behind others of its kind.
    pub fn enqueue_urgent(&mut self, now: Instant, token: T, size: Bytes) {
        self.urgent.queue.push_back(Queued { token, size, enqueued: now, due: now });
    }

    /// When the first of them is due.
    pub(super) fn urgent_due(&self) -> Option<Instant> {
        let due = self.urgent.queue.front()?.due.max(self.urgent.free);
        Some(match self.bucket() {
            Some((_, burst)) if !self.in_burst(burst) => due.max(self.bucket_free),
            _ => due,
        })
    }

    pub(super) fn send_urgent(&mut self, now: Instant, due: Instant) -> Option<PacerOutput<T>> {
        let packet = self.urgent.queue.pop_front()?;
        if let Pacing::FrameMultiplier(multiplier) = self.pacing {
            let at_bitrate = self.bitrate.time_for(packet.size).min(self.frame_interval);
            let takes = at_bitrate.mul_f64(1.0 / multiplier.max(1.0));
            self.urgent.free = due.saturating_add(takes);
            self.put_off(takes);
        }
        self.charge_bucket(now, due, packet.size, packet.enqueued);
        Some(PacerOutput::Packet { token: packet.token, due, probe_cluster: None })
    }

    /// Frames that wait leave so much later.
    fn put_off(&mut self, span: Duration) {
        if !self.queue.is_empty() {
            self.shift = self.shift.saturating_add(span);
        }
    }
}
