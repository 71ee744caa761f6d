//! SQP's measurements: frames as packet trains, the least one-way delay of a short window, and the samples
//! of bandwidth that come of both (Ray et al. 2022, section 4).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | window of the least delay | 2 sRTT, at least 2 frame intervals | paper; the floor is ours: the window must hold a frame's first packet |
//! | gain of sRTT | 1/8 | RFC 6298 |
//! | frames whose target is remembered | 64 | ours: bounds memory |
//! | delays kept | 4096 | ours: bounds memory |
//! | undershoot factor at most | 10 | ours: one packet tells nothing about ten |
//! | of a frame of one packet | below 2 | ours, as above |
//! | time of a frame of one packet, at least | 1 us | ours: a packet that met no queue would give an infinite sample |
//!
//! | Deviation | Why |
//! |---|---|
//! | A frame of a single packet is a sample too, not stretched | at bitrates below a packet a frame there would never be one, and the estimate would stay for ever |

use crate::{FrameId, FrameSent, PacketKind, PacketReport};
use gameway_units::{Bytes, Duration, Instant, ReceiverInstant};
use std::collections::VecDeque;

const REMEMBERED: usize = 64;
const DELAYS: usize = 4_096;
const UNDERSHOOT_MAX: f64 = 10.0;
const LONE_UNDERSHOOT_MAX: f64 = 2.0;
const MIN_SPAN_SECS: f64 = 1e-6;

/// The least one-way delay of a window that follows the round-trip time.
#[derive(Debug, Clone)]
pub(super) struct MinDelay {
    smoothed_rtt: Option<Duration>,
    floor: Duration,
    /// Oldest first; the delays grow.
    kept: VecDeque<(Instant, Duration)>,
}

impl MinDelay {
    pub(super) fn new(frame_interval: Duration) -> Self {
        Self {
            smoothed_rtt: None,
            floor: floor(frame_interval),
            kept: VecDeque::with_capacity(256),
        }
    }

    pub(super) fn on_round_trip(&mut self, rtt: Duration) {
        // An hour bounds what a jumping clock can do to the mean.
        let rtt = rtt.min(Duration::from_secs(3_600));
        self.smoothed_rtt =
            Some(self.smoothed_rtt.map_or(rtt, |smoothed| smoothed + (rtt - smoothed) / 8));
    }

    pub(super) fn window(&self) -> Duration {
        self.floor.max(self.smoothed_rtt.unwrap_or_default() * 2)
    }

    /// A delay of a packet sent at `sent`; times that go back count as the newest.
    pub(super) fn insert(&mut self, sent: Instant, delay: Duration) {
        let now = self.kept.back().map_or(sent, |(newest, _)| sent.max(*newest));
        let window = self.window();
        let old = |time: Instant| now.saturating_since(time) > window;
        while self.kept.back().is_some_and(|(_, kept)| *kept >= delay) {
            self.kept.pop_back();
        }
        while self.kept.front().is_some_and(|(time, _)| old(*time)) {
            self.kept.pop_front();
        }
        if self.kept.len() < DELAYS {
            self.kept.push_back((now, delay));
        }
    }

    pub(super) fn get(&self) -> Option<Duration> {
        self.kept.front().map(|(_, delay)| *delay)
    }

    pub(super) fn smoothed_rtt(&self) -> Option<Duration> {
        self.smoothed_rtt
    }
}

/// What was told of a frame's packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Train {
    pub(super) frame: FrameId,
    first_sent: Instant,
    first_arrival: Option<ReceiverInstant>,
    last_arrival: Option<ReceiverInstant>,
    /// Whether its last packet was told of: nothing more is to come.
    pub(super) ended: bool,
    received: Bytes,
    sent: Bytes,
    /// How many packets were told of.
    packets: u32,
}

impl Train {
    fn new(report: &PacketReport) -> Self {
        Self {
            frame: report.packet.frame,
            first_sent: report.packet.sent,
            first_arrival: None,
            last_arrival: None,
            ended: false,
            received: Bytes::ZERO,
            sent: Bytes::ZERO,
            packets: 0,
        }
    }

    fn add(&mut self, report: &PacketReport) {
        self.ended |= report.packet.last_of_frame;
        self.first_sent = self.first_sent.min(report.packet.sent);
        self.sent = self.sent.saturating_add(report.packet.size);
        self.packets = self.packets.saturating_add(1);
        let Some(arrival) = report.arrival else { return };
        self.received = self.received.saturating_add(report.packet.size);
        self.first_arrival = Some(self.first_arrival.map_or(arrival, |first| first.min(arrival)));
        self.last_arrival = Some(self.last_arrival.map_or(arrival, |last| last.max(arrival)));
    }

    /// The bandwidth sample in bit/s: bytes that arrived, over the time from the first sent to the last
    /// received beyond the least delay. A frame smaller than its target is stretched to it at the rate at
    /// which it arrived. `None` if less than two packets' time can be told, unless the frame is just one.
    pub(super) fn sample(&self, min_delay: Duration, target: Option<Bytes>) -> Option<f64> {
        let (first, last) = self.first_arrival.zip(self.last_arrival)?;
        let spread = last.saturating_since(first).as_secs_f64();
        let delay = last.one_way_delay_since(self.first_sent);
        let span = delay.saturating_sub(min_delay).as_secs_f64();
        let whole = self.sent.as_f64().max(1.0);
        let factor = target.map_or(1.0, |target| target.as_f64() / whole);
        let factor = factor.clamp(1.0, UNDERSHOOT_MAX);
        let bits = self.received.as_f64() * 8.0;
        if self.packets == 1 {
            let tells = factor < LONE_UNDERSHOOT_MAX;
            return tells.then_some(bits / span.max(MIN_SPAN_SECS));
        }
        let time = span + (factor - 1.0) * spread;
        (spread > 0.0 && time > 0.0).then_some(bits * factor / time)
    }
}

/// The least window of the least delay.
fn floor(frame_interval: Duration) -> Duration {
    frame_interval.max(Duration::ZERO).min(Duration::from_secs(10)) * 2
}

/// Puts reports together into trains, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Trains {
    /// Frames encoded lately and their target sizes, oldest first.
    targets: VecDeque<(FrameId, Bytes)>,
    frame_interval: Duration,
    current: Option<Train>,
    /// Frames before this are done with.
    next: FrameId,
}

impl Trains {
    pub(super) fn new(frame_interval: Duration) -> Self {
        let targets = VecDeque::with_capacity(REMEMBERED);
        Self { targets, frame_interval, current: None, next: FrameId(0) }
    }

    pub(super) fn on_frame(&mut self, frame: &FrameSent) {
        if self.targets.len() == REMEMBERED {
            self.targets.pop_front();
        }
        self.targets.push_back((frame.frame, frame.target * self.frame_interval));
    }

    /// The target size of a frame, if it is still known.
    pub(super) fn target_of(&self, frame: FrameId) -> Option<Bytes> {
        self.targets.iter().rev().find(|(known, _)| *known == frame).map(|(_, size)| *size)
    }

    /// Takes a report of a media or repair packet; gives the train that it ends or follows.
    pub(super) fn on_packet(&mut self, report: &PacketReport) -> Option<Train> {
        let frame = report.packet.frame;
        if frame < self.next {
            return None; // late, or of a frame that has ended
        }
        let overtaken = self.current.take_if(|current| current.frame != frame);
        let current = self.current.get_or_insert_with(|| Train::new(report));
        current.add(report);
        self.next = frame;
        if overtaken.is_some() || !current.ended {
            return overtaken;
        }
        self.next = FrameId(frame.0.saturating_add(1));
        self.current.take()
    }
}

/// Samples of bandwidth, one for each frame.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    trains: Trains,
    min_delay: MinDelay,
}

impl Sampler {
    pub(crate) fn new(frame_interval: Duration) -> Self {
        let trains = Trains::new(frame_interval);
        Self { trains, min_delay: MinDelay::new(frame_interval) }
    }

    /// Frames come at this interval from now on.
    pub(crate) fn set_frame_interval(&mut self, interval: Duration) {
        self.trains.frame_interval = interval;
        self.min_delay.floor = floor(interval);
    }

    pub(crate) fn on_frame(&mut self, frame: &FrameSent) {
        self.trains.on_frame(frame);
    }

    pub(crate) fn on_round_trip(&mut self, rtt: Duration) {
        self.min_delay.on_round_trip(rtt);
    }

    pub(super) fn min_delay(&self) -> &MinDelay {
        &self.min_delay
    }

    /// Takes a report; gives a frame that is through and the bandwidth in bit/s that it showed.
    pub(crate) fn on_report(&mut self, report: &PacketReport) -> Option<(FrameId, f64)> {
        if !matches!(report.packet.kind, PacketKind::Media | PacketKind::Repair) {
            return None;
        }
        // A train's own delays count, so the one that a later frame ends must not see that frame's.
        let train = self.trains.on_packet(report);
        let overtaken = train.filter(|train| !train.ended).and_then(|train| self.sample(&train));
        if let Some(arrival) = report.arrival {
            let delay = arrival.one_way_delay_since(report.packet.sent);
            self.min_delay.insert(report.packet.sent, delay);
        }
        let ended = || train.filter(|train| train.ended).and_then(|train| self.sample(&train));
        overtaken.or_else(ended)
    }

    fn sample(&self, train: &Train) -> Option<(FrameId, f64)> {
        let target = self.trains.target_of(train.frame);
        Some((train.frame, train.sample(self.min_delay.get()?, target)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SentPacket, SequenceNumber};
    use gameway_units::Rate;

    const ONE_WAY: i64 = 10_000;

    /// A packet of 1250 bytes sent at `sent` us and received after the one-way delay and `extra` us.
    fn report(frame: u64, sent: i64, extra: Option<i64>, last: bool) -> PacketReport {
        let packet = SentPacket::new(
            SequenceNumber(0),
            Instant::from_nanos(sent * 1_000),
            FrameId(frame),
            Bytes::new(1_250),
        )
        .with_last_of_frame(last);
        let arrival =
            extra.map(|extra| ReceiverInstant::from_nanos((sent + ONE_WAY + extra) * 1_000));
        PacketReport::new(packet, arrival)
    }

    /// A frame of four packets, 500 us apart, that arrive 1000 us apart (10 Mb/s).
    fn frame(trains: &mut Trains, frame: u64, received: [bool; 4]) -> Option<Train> {
        let mut ended = None;
        for (index, received) in received.into_iter().enumerate() {
            let index = index as i64;
            let extra = received.then_some(1_000 + 500 * index);
            ended = ended.or(trains.on_packet(&report(frame, 500 * index, extra, index == 3)));
        }
        ended
    }

    fn trains() -> Trains {
        Trains::new(Duration::from_millis(10))
    }

    fn sample(train: Option<Train>, target: Option<u64>) -> f64 {
        let min = Duration::from_micros(ONE_WAY);
        train.and_then(|train| train.sample(min, target.map(Bytes::new))).unwrap_or(0.0)
    }

    #[test]
    fn a_sample_by_hand() {
        let train = frame(&mut trains(), 0, [true; 4]);
        // The last arrives 4 ms over the least delay after the first was sent: 40000 bits in 4 ms.
        assert!((sample(train, None) - 10e6).abs() < 1.0);
        assert!((sample(train, Some(5_000)) - 10e6).abs() < 1.0);
        // Larger than the target: nothing is stretched.
        assert!((sample(train, Some(2_500)) - 10e6).abs() < 1.0);
        // Half of the target: 80000 bits in 4 + 3 ms.
        assert!((sample(train, Some(10_000)) - 80e3 / 7e-3).abs() < 1.0);
        // A hundredth of the target is stretched ten times: 400000 bits in 4 + 9 * 3 ms.
        assert!((sample(train, Some(500_000)) - 400e3 / 31e-3).abs() < 1.0);
    }

    #[test]
    fn lost_packets_lower_the_sample_and_a_lone_packet_gives_none() {
        let middle = frame(&mut trains(), 0, [true, false, true, true]);
        assert!((sample(middle, None) - 7.5e6).abs() < 1.0);
        // The clock starts with the first packet sent, lost or not.
        let first = frame(&mut trains(), 0, [false, true, true, true]);
        assert!((sample(first, None) - 7.5e6).abs() < 1.0);
        let last = frame(&mut trains(), 0, [true, true, true, false]);
        assert!((sample(last, None) - 10e6).abs() < 1.0);
        let lone = frame(&mut trains(), 0, [false, true, false, false]);
        assert!(lone.is_some() && sample(lone, None) == 0.0);
    }

    #[test]
    fn a_frame_of_one_packet_is_a_sample() {
        let lone = |extra| trains().on_packet(&report(0, 0, Some(extra), true));
        // 10000 bits that took 4 ms beyond the least delay, as they are if the target is not far above.
        assert!((sample(lone(4_000), Some(1_500)) - 2.5e6).abs() < 1.0);
        assert!(sample(lone(4_000), Some(2_500)) == 0.0);
        // Without a queue it shows no bound.
        assert!(sample(lone(0), None) > 9e9);
    }

    #[test]
    fn a_later_frame_ends_one_whose_last_packet_is_missing() {
        let mut trains = trains();
        assert_eq!(trains.on_packet(&report(3, 0, Some(0), false)), None);
        let ended = trains.on_packet(&report(4, 10, Some(0), false));
        assert_eq!(ended.map(|train| train.frame), Some(FrameId(3)));
        // Late packets of frames that are done with are no train of their own.
        assert_eq!(trains.on_packet(&report(3, 5, Some(99), true)), None);
        let ended = trains.on_packet(&report(4, 20, Some(0), true));
        assert_eq!(ended.map(|train| (train.frame, train.ended)), Some((FrameId(4), true)));
        assert_eq!(trains.on_packet(&report(4, 30, Some(0), true)), None);
    }

    #[test]
    fn targets_are_remembered_for_a_while() {
        let mut trains = trains();
        for frame in 0..100 {
            let target = Rate::from_mbps(8);
            let (frame, size) = (FrameId(frame), Bytes::new(9_000));
            trains.on_frame(&FrameSent::new(frame, target, size, 8));
        }
        assert_eq!(trains.target_of(FrameId(35)), None);
        assert_eq!(trains.target_of(FrameId(36)), Some(Bytes::new(10_000)));
    }

    #[test]
    fn the_least_delay_is_forgotten_after_two_round_trips() {
        let ms = Duration::from_millis;
        let at = |millis: i64| Instant::ZERO + ms(millis);
        let mut delay = MinDelay::new(ms(10));
        assert_eq!(delay.window(), ms(20));
        delay.on_round_trip(ms(50));
        assert_eq!(delay.window(), ms(100));
        delay.insert(at(0), ms(5));
        delay.insert(at(50), ms(8));
        delay.insert(at(100), ms(20));
        assert_eq!(delay.get(), Some(ms(5)));
        delay.insert(at(101), ms(20));
        assert_eq!(delay.get(), Some(ms(8)));
        // The mean follows by an eighth: 50 + (90 - 50) / 8.
        delay.on_round_trip(ms(90));
        assert_eq!(delay.window(), ms(110));
        delay.insert(at(161), ms(30));
        assert_eq!(delay.get(), Some(ms(20)));
    }

    /// What a sampler says of a train of four packets, the first of which waited `queue` in the queue; the fourth may be missing.
    fn sampled(sampler: &mut Sampler, number: u64, queue: i64, packets: i64) -> Option<(u64, f64)> {
        let mut found = None;
        for index in 0..packets {
            let extra = Some(queue + 500 * index);
            let report = report(number, 100_000 * number as i64 + 500 * index, extra, index == 3);
            found = sampler.on_report(&report).or(found);
        }
        found.map(|(frame, rate)| (frame.0, rate.round()))
    }

    #[test]
    fn a_train_is_judged_by_the_least_delay_of_its_own_packets_and_those_before() {
        let mut sampler = Sampler::new(Duration::from_millis(100));
        // The last arrives 3 ms after the first of 4: its own delay counts. The link's 10 Mb/s need an empty queue.
        assert_eq!(sampled(&mut sampler, 0, 1_000, 4), Some((0, 13_333_333.0)));
        assert_eq!(sampled(&mut sampler, 1, 0, 4), Some((1, 13_333_333.0)));
        assert_eq!(sampled(&mut sampler, 2, 1_000, 4), Some((2, 10e6)));
        // The delays of frames 0 to 2 are forgotten. A packet of the next frame ends a train whose last packet is missing, and
        // its own delay does not count for it.
        assert_eq!(sampled(&mut sampler, 6, 1_000, 3), None);
        assert_eq!(sampled(&mut sampler, 7, 0, 1), Some((6, 15e6)));
        // A probe packet is no part of a train.
        let mut probe = report(9, 900_000, Some(0), true);
        probe.packet.kind = PacketKind::Probe;
        assert_eq!(sampler.on_report(&probe), None);
    }

    #[test]
    fn a_sampler_stretches_frames_to_their_targets() {
        let mut sampler = Sampler::new(Duration::from_millis(100));
        assert_eq!(sampler.min_delay().smoothed_rtt(), None);
        sampler.on_round_trip(Duration::from_millis(300));
        assert_eq!(sampler.min_delay().smoothed_rtt(), Some(Duration::from_millis(300)));
        _ = sampled(&mut sampler, 0, 0, 4);
        // 10 kB, of which 5 were encoded: 80000 bits in 4 + 3 ms.
        let (target, size) = (Rate::from_kbps(800), Bytes::new(5_000));
        sampler.on_frame(&FrameSent::new(FrameId(1), target, size, 4));
        assert_eq!(sampled(&mut sampler, 1, 1_000, 4), Some((1, 11_428_571.0)));
    }

    #[test]
    fn two_packets_that_arrive_together_tell_nothing() {
        let mut trains = trains();
        trains.on_packet(&report(0, 0, Some(1_000), false));
        let train = trains.on_packet(&report(0, 500, Some(500), true));
        assert!(train.is_some() && sample(train, None) == 0.0);
    }
}
