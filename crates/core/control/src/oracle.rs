//! The oracle: knows the path's capacity and the other traffic in advance, and sends what fits.
//!
//! Source: ours; the yardstick that the scoreboard draws in. Only a simulator can build one, because it
//! alone has a [`Foresight`].
//!
//! Model: the stream's share of the path is what the bottlenecks on its way will carry, less the traffic
//! that nothing slows down, divided max-min fairly among the flows that can be slowed down and are there at
//! that time. A frame gets what the share will carry from the end of the last frame's transmission until a
//! frame interval after it is captured, and leaves as fast as the bottleneck can carry it. So every frame
//! has left the bottleneck when the stream's next one comes, no packet waits behind one of its own stream,
//! and nothing that could be carried is left out. Behind other streams' frames it waits as they come: each
//! is captured when it is captured, and holding it back at the sender would only hide the delay.
//!
//! # In which sense it is a limit
//! Alone, or among its like, no controller has more utilization *and* less frame delay: more utilization
//! than all there is cannot be, and at `share` below one the oracle uses just that share of each frame
//! interval, in the least time in which the link can carry it. `crates/lab/sim/tests/all/oracle.rs` holds each
//! controller against it both ways. Beside a TCP, which fills any queue whatever a stream does, the equal
//! share is a yardstick and no bound: who takes more than that may see less delay.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | step of the pace | 1 ms | ours: the grain of a recorded trace |
//! | packet | 1248 B | a full packet of a stream: less than that within a frame interval is an outage, in which it holds what it has |
//! | look-ahead for what is already sent | 60 s | ours: the longest outage that it plans for |
//!
//! Its stream is encoded exactly at target (the simulator sees to that): the noise of an encoder is no
//! part of the limit. Deviation from a true bound: the least bitrate is sent also where nothing fits.

use crate::{
    ControllerError, FeedbackBatch, FeedbackStyle, FrameSent, Notice, Pacing, RateController,
    RateLimits, SentPacket, Target,
};
use gameway_units::declared::{Configuration, Description, Options};
use gameway_units::{Bytes, Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const PACE_STEP: Duration = Duration::from_millis(1);
const ONE_PACKET: Bytes = Bytes::new(1_248);
const LOOK_AHEAD: Duration = Duration::from_secs(60);

/// What the oracle can be told. It is in no list of controllers that can be built by name alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OracleOptions {
    /// part of what fits that it uses: below 1 it trades utilization for frame delay
    #[schemars(range(min = 0.01, max = 1.0))]
    pub share: f64,
}

impl Default for OracleOptions {
    fn default() -> Self {
        Self { share: 1.0 }
    }
}

impl OracleOptions {
    /// These options of a file.
    ///
    /// # Errors
    /// The first option that is wrong, and what is allowed.
    pub fn read(options: &Options) -> Result<Self, ControllerError> {
        let read = Description::of::<Self>().read(options);
        read.map_err(|source| ControllerError::Option { controller: Self::NAME, source })
    }
}

impl Configuration for OracleOptions {
    const NAME: &'static str = "oracle";
    const SUMMARY: &'static str =
        "knows the path and the other traffic in advance and sends what fits: simulation only";
    const SOURCE: &'static str = "the limit that others are measured against";
}

/// What will be there for a stream.
pub trait Foresight: Send + std::fmt::Debug {
    /// What the stream's share of the path will carry between two times.
    fn available(&self, from: Instant, to: Instant) -> Bytes;

    /// What the tightest bottleneck could carry of this stream if nobody shared with it.
    fn capacity(&self, from: Instant, to: Instant) -> Bytes;
}

/// See the module.
#[derive(Debug)]
pub struct Oracle {
    foresight: Box<dyn Foresight>,
    limits: RateLimits,
    share: f64,
    /// When the share has carried all that was sent.
    drained: Instant,
    /// When the next frame will be captured; a later one if that was skipped.
    next_capture: Instant,
    next_step: Instant,
    bitrate: Rate,
    pace: Rate,
    /// Nothing that is sent now would be carried within a frame interval.
    holds: bool,
}

impl Oracle {
    /// An oracle that sees what `foresight` sees.
    #[must_use]
    pub fn new(options: OracleOptions, limits: RateLimits, foresight: Box<dyn Foresight>) -> Self {
        let limits = RateLimits {
            frame_interval: limits.frame_interval.max(Duration::from_nanos(1)),
            ..limits
        };
        let mut oracle = Self {
            foresight,
            limits,
            share: options.share,
            drained: Instant::ZERO,
            next_capture: Instant::ZERO,
            next_step: Instant::ZERO,
            bitrate: limits.start,
            pace: limits.start,
            holds: false,
        };
        oracle.look(Instant::ZERO);
        oracle
    }

    /// What the next frame may have, and how fast packets may leave now.
    fn look(&mut self, now: Instant) {
        let interval = self.limits.frame_interval;
        let capture = self.next_capture.max(now);
        let end = capture.saturating_add(interval);
        let from = self.drained.max(capture);
        let room = if from < end { self.foresight.available(from, end) } else { Bytes::ZERO };
        self.bitrate = self.limits.clamp((room / interval).mul_f64(self.share));
        let over = |span| self.foresight.capacity(now, now.saturating_add(span)) / span;
        // A recorded link carries nothing in one millisecond and three packets in the next.
        self.pace = over(PACE_STEP).max(over(interval)).max(self.limits.min);
        self.holds = over(interval) * interval < ONE_PACKET;
        self.next_step = now.saturating_add(PACE_STEP);
    }

    /// When the share has carried `size` more, from `start` on.
    fn carried_by(&self, start: Instant, size: Bytes) -> Instant {
        let (mut low, mut high) = (start, start.saturating_add(LOOK_AHEAD));
        if self.foresight.available(start, high) < size {
            return high;
        }
        while high - low > Duration::from_nanos(1) {
            let middle = low + (high - low) / 2;
            if self.foresight.available(start, middle) >= size {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }
}

impl RateController for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }
    fn feedback_style(&self) -> FeedbackStyle {
        FeedbackStyle::PerFrame
    }
    fn on_notice(&mut self, _now: Instant, notice: &Notice) {
        if let Notice::FrameInterval(interval) = notice {
            self.limits.frame_interval = (*interval).max(Duration::from_nanos(1));
        }
    }

    fn on_frame(&mut self, now: Instant, frame: &FrameSent) {
        self.drained = self.carried_by(self.drained.max(now), frame.size);
        self.next_capture = now.saturating_add(self.limits.frame_interval);
        self.look(now);
    }
    fn on_sent(&mut self, _now: Instant, _packet: &SentPacket) {}
    fn on_feedback(&mut self, _now: Instant, _batch: &FeedbackBatch<'_>) {}
    fn on_timer(&mut self, now: Instant) {
        self.look(now);
    }
    fn next_timer(&self) -> Option<Instant> {
        Some(self.next_step)
    }
    fn target(&self) -> Target {
        let window = self.holds.then_some(Bytes::ZERO);
        Target::new(self.bitrate, Pacing::Rate(self.pace)).with_window(window)
    }
    fn observe(&self, sink: &mut dyn FnMut(&str, f64)) {
        sink("target_bps", self.bitrate.as_bps_f64());
        sink("pace_bps", self.pace.as_bps_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameId;

    /// 20 Mb/s, and nothing from one second to two.
    #[derive(Debug)]
    struct Outage;

    impl Foresight for Outage {
        fn available(&self, from: Instant, to: Instant) -> Bytes {
            let second = |count| Instant::ZERO + Duration::from_secs(count);
            let early = Rate::from_mbps(20) * (to.min(second(1)) - from.min(second(1)));
            early + Rate::from_mbps(20) * (to.max(second(2)) - from.max(second(2)))
        }

        fn capacity(&self, from: Instant, to: Instant) -> Bytes {
            self.available(from, to)
        }
    }

    fn oracle(share: f64) -> Oracle {
        let limits = RateLimits {
            min: Rate::from_mbps(2),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(5),
            frame_interval: Duration::from_millis(20),
        };
        Oracle::new(OracleOptions { share }, limits, Box::new(Outage))
    }

    fn millis(count: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(count)
    }

    fn send(oracle: &mut Oracle, now: Instant, size: u64) {
        let target = oracle.target().bitrate;
        let frame = FrameSent::new(FrameId(0), target, Bytes::new(size), 1);
        oracle.on_frame(now, &frame);
    }

    #[test]
    fn it_fills_what_is_there_and_no_more() {
        let mut oracle = oracle(1.0);
        assert_eq!(
            oracle.target(),
            Target::new(Rate::from_mbps(20), Pacing::Rate(Rate::from_mbps(20)))
        );
        // A frame one fifth too large takes it from the next one: 50 000 B fit into 20 ms.
        send(&mut oracle, millis(0), 60_000);
        oracle.on_timer(millis(20));
        assert_eq!(oracle.target().bitrate, Rate::from_mbps(16));
    }

    #[test]
    fn a_share_leaves_the_rest_and_keeps_the_pace() {
        let target = oracle(0.5).target();
        assert_eq!(target, Target::new(Rate::from_mbps(10), Pacing::Rate(Rate::from_mbps(20))));
    }

    #[test]
    fn it_sees_an_outage_and_its_end() {
        let mut oracle = oracle(1.0);
        oracle.on_timer(millis(990));
        assert_eq!(oracle.target().bitrate, Rate::from_mbps(10), "half of the interval is left");
        assert_eq!(oracle.target().window, None);
        send(&mut oracle, millis(990), 25_000);
        oracle.on_timer(millis(1_500));
        assert_eq!(oracle.target().bitrate, Rate::from_mbps(2), "the least, where nothing fits");
        assert_eq!(oracle.target().window, Some(Bytes::ZERO), "nothing of which leaves");
        assert_eq!(oracle.next_timer(), Some(millis(1_501)));
        send(&mut oracle, millis(1_500), 25_000);
        oracle.on_timer(millis(2_000));
        // Those 25 000 B are to be carried first, within 10 ms of the outage's end.
        assert_eq!(oracle.target().bitrate, Rate::from_mbps(10));
    }
}
