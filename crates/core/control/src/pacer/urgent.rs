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
        // Media of the same burst are not due before it.
        self.last_due = self.last_due.max(due);
        Some(PacerOutput::Packet { token: packet.token, due, probe_cluster: None })
    }

    /// Frames that wait are sent later by `span`.
    fn put_off(&mut self, span: Duration) {
        if !self.queue.is_empty() {
            self.shift = self.shift.saturating_add(span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameId, Target};
    use gameway_units::Rate;

    const AGAIN: u32 = 777;

    fn at(micros: i64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// A frame of packets of 1000 bytes at zero, of a stream of 10 Mb/s with 16 ms from frame to frame.
    fn pacer(pacing: Pacing, packets: u32) -> Pacer<u32> {
        let mut pacer = Pacer::new(Duration::from_millis(16), Bytes::new(1_200));
        pacer.set_target(at(0), &Target::new(Rate::from_mbps(10), pacing));
        let all: Vec<_> = (0..packets).map(|token| (token, Bytes::new(1_000))).collect();
        pacer.enqueue_frame(at(0), FrameId(0), all.into_iter());
        pacer
    }

    /// What leaves until then, polled each 100 us: when it was due, and which packet.
    fn drain(pacer: &mut Pacer<u32>, from: i64, until: i64) -> Vec<(i64, u32)> {
        let mut out = Vec::new();
        for now in (from..until).step_by(100) {
            while let Some(PacerOutput::Packet { token, due, .. }) =
                pacer.poll(at(now), Bytes::ZERO)
            {
                out.push((due.as_nanos() / 1_000, token));
            }
        }
        out
    }

    fn again(pacer: &mut Pacer<u32>, now: i64, count: u32) {
        for _ in 0..count {
            pacer.enqueue_urgent(at(now), AGAIN, Bytes::new(1_000));
        }
    }

    #[test]
    fn under_a_rate_it_takes_the_next_place_and_the_others_follow() {
        let mut pacer = pacer(Pacing::Rate(Rate::from_mbps(8)), 4);
        assert_eq!(drain(&mut pacer, 0, 1_500), [(0, 0), (1_000, 1)]);
        again(&mut pacer, 1_500, 1);
        let rest = [(2_000, AGAIN), (3_000, 2), (4_000, 3)];
        assert_eq!(drain(&mut pacer, 1_500, 9_000), rest);
    }

    /// At twice the bitrate a packet takes 0.4 ms.
    #[test]
    fn it_puts_a_spread_frame_off_by_the_time_that_it_takes() {
        let mut spread = pacer(Pacing::FrameMultiplier(2.0), 5);
        assert_eq!(drain(&mut spread, 0, 1_000), [(0, 0)]);
        again(&mut spread, 1_000, 2);
        let rest = [(1_000, AGAIN), (1_400, AGAIN), (2_800, 1), (4_800, 2), (6_800, 3), (8_800, 4)];
        assert_eq!(drain(&mut spread, 1_000, 9_000), rest);
        // Where nothing waits, the next frame is in time.
        again(&mut spread, 10_000, 1);
        assert_eq!(drain(&mut spread, 10_000, 16_000), [(10_000, AGAIN)]);
        spread.enqueue_frame(at(16_000), FrameId(1), [(9, Bytes::new(1_000))].into_iter());
        assert_eq!(drain(&mut spread, 16_000, 20_000), [(16_000, 9)]);
    }

    #[test]
    fn it_is_part_of_a_burst_or_waits_for_the_next() {
        let (rate, interval) = (Rate::from_mbps(8), Duration::from_micros(2_500));
        let mut pacer = pacer(Pacing::Bursts { rate, interval }, 5);
        again(&mut pacer, 0, 2);
        assert_eq!(drain(&mut pacer, 0, 100), [(0, AGAIN), (0, AGAIN), (0, 0)]);
        again(&mut pacer, 100, 1);
        assert_eq!(drain(&mut pacer, 100, 3_100), [(3_000, AGAIN), (3_000, 1), (3_000, 2)]);
    }

    #[test]
    fn the_window_holds_for_what_leaves_next() {
        for (size, blocked) in [(500, false), (501, true)] {
            let mut pacer = pacer(Pacing::Burst, 1);
            let window = Some(Bytes::new(1_500));
            let target = Target::new(Rate::from_mbps(10), Pacing::Burst).with_window(window);
            pacer.set_target(at(0), &target);
            assert!(!pacer.window_blocks(Bytes::new(500)) && pacer.window_blocks(Bytes::new(501)));
            pacer.enqueue_urgent(at(0), AGAIN, Bytes::new(size));
            let full = Bytes::new(1_000);
            assert_eq!(pacer.window_blocks(full), blocked);
            assert_eq!(pacer.next_deadline(full), (!blocked).then_some(at(0)));
            assert_eq!(pacer.queued_bytes(), full); // of frames
        }
    }
}
