//! Bandwidth probes: when to send them, and what they found.
//!
//! Source: libwebrtc `probe_controller`, `probe_bitrate_estimator` (m128).
//!
//! Model: at the start, trains at 3 and 6 times the start rate; as long as the estimate then exceeds 0.7
//! of the last train's rate, another at twice the estimate. After a large drop has passed, one train at
//! 0.85 of the rate before. A train's result is the lower of its sending and receiving rate, or 0.95 of
//! the receiving rate if that is clearly lower.
//!
//! | Constant | Value |
//! |---|---|
//! | start trains; further | 3, 6 of the start rate; 2 of the estimate while above 0.7 of the train |
//! | length of a train | 15 ms and 5 packets |
//! | wait for results | 1 s |
//! | large drop; probe; valid | below 0.66; 0.85 of before; within 5 s, once in 5 s, not within 5 % |
//! | valid result | 80 % of packets and bytes, intervals of at most 1 s, received/sent at most 2 |
//! | link full; then | received/sent below 0.9; 0.95 of received |
//!
//! | Deviation | Why |
//! |---|---|
//! | Recovery probes are sent after any large drop | as its rapid-recovery trial; a game stream is never application-limited for long, where upstream allows them |
//! | No periodic probes of application-limited streams, none on allocation changes | the encoder fills its target |
//! | Clusters are asked for one after another | a `Target` names one |

use crate::{PacketReport, ProbeCluster, SentPacket};
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use std::collections::VecDeque;

const START_SCALES: [f64; 2] = [3.0, 6.0];
const FURTHER_SCALE: f64 = 2.0;
const FURTHER_THRESHOLD: f64 = 0.7;
const TRAIN_LENGTH: Duration = Duration::from_millis(15);
const TRAIN_PACKETS: u32 = 5;
const RESULT_TIMEOUT: Duration = Duration::from_secs(1);
const DROP_THRESHOLD: f64 = 0.66;
const DROP_VALID: Duration = Duration::from_secs(5);
const DROP_PROBE_INTERVAL: Duration = Duration::from_secs(5);
const DROP_PROBE_FRACTION: f64 = 0.85;
const DROP_PROBE_UNCERTAINTY: f64 = 0.05;
const MAX_CLUSTERS: usize = 8;
const MIN_RECEIVED_SHARE: f64 = 0.8;
const MAX_INTERVAL: Duration = Duration::from_secs(1);
const MAX_RATIO: f64 = 2.0;
const FULL_LINK_RATIO: f64 = 0.9;
const FULL_LINK_UTILIZATION: f64 = 0.95;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// A result above this rate calls for another train.
    Waiting {
        further_above: Rate,
    },
    Complete,
}

/// Decides on probes.
#[derive(Debug, Clone)]
pub(super) struct ProbeController {
    start: Rate,
    most: Rate,
    recovery: bool,
    state: State,
    next_id: u32,
    /// Not sent yet, oldest first; how much of the oldest has been sent.
    asked: VecDeque<ProbeCluster>,
    sent_bytes: Bytes,
    sent_packets: u32,
    last_probing: Option<Instant>,
    estimate: Rate,
    last_drop: Option<(Instant, Rate)>,
    last_drop_probe: Option<Instant>,
}

impl ProbeController {
    pub(super) fn new(start: Rate, most: Rate, at_start: bool, recovery: bool) -> Self {
        Self {
            start,
            most,
            recovery,
            state: if at_start { State::Start } else { State::Complete },
            next_id: 0,
            asked: VecDeque::with_capacity(MAX_CLUSTERS),
            sent_bytes: Bytes::ZERO,
            sent_packets: 0,
            last_probing: None,
            estimate: start,
            last_drop: None,
            last_drop_probe: None,
        }
    }

    /// The train to send now.
    pub(super) fn cluster(&self) -> Option<ProbeCluster> {
        self.asked.front().copied()
    }

    /// The stream begins.
    pub(super) fn begin(&mut self, now: Instant, estimator: &mut ProbeEstimator) {
        if self.state == State::Start {
            let rates = START_SCALES.map(|scale| self.start.mul_f64(scale));
            self.probe(now, &rates, true, estimator);
        }
    }

    pub(super) fn on_sent(&mut self, packet: &SentPacket) {
        let Some(cluster) = self.asked.front() else { return };
        if packet.probe_cluster != Some(cluster.id) {
            return;
        }
        self.sent_bytes = self.sent_bytes.saturating_add(packet.size);
        self.sent_packets = self.sent_packets.saturating_add(1);
        if self.sent_bytes >= cluster.min_bytes && self.sent_packets >= cluster.min_packets {
            self.asked.pop_front();
            (self.sent_bytes, self.sent_packets) = (Bytes::ZERO, 0);
        }
    }

    /// The estimate has changed; `calm` if the detector is normal.
    pub(super) fn on_estimate(
        &mut self,
        now: Instant,
        estimate: Rate,
        calm: bool,
        estimator: &mut ProbeEstimator,
    ) {
        if estimate < self.estimate.mul_f64(DROP_THRESHOLD) {
            self.last_drop = Some((now, self.estimate));
        }
        self.estimate = estimate;
        if let State::Waiting { further_above } = self.state
            && estimate > further_above
            && calm
        {
            self.probe(now, &[estimate.mul_f64(FURTHER_SCALE)], true, estimator);
        }
    }

    /// Queues have emptied after overuse.
    pub(super) fn on_recovered(&mut self, now: Instant, estimator: &mut ProbeEstimator) {
        let Some((dropped, before)) = self.last_drop else { return };
        if !self.recovery || self.state != State::Complete {
            return;
        }
        let rate = before.mul_f64(DROP_PROBE_FRACTION);
        let promising = rate.mul_f64(1.0 - DROP_PROBE_UNCERTAINTY) > self.estimate;
        let fresh = now.saturating_since(dropped) < DROP_VALID;
        let rested = self
            .last_drop_probe
            .is_none_or(|last| now.saturating_since(last) > DROP_PROBE_INTERVAL);
        if promising && fresh && rested {
            self.last_drop_probe = Some(now);
            self.probe(now, &[rate], false, estimator);
        }
    }

    /// Gives up waiting for results that do not come.
    pub(super) fn on_timer(&mut self, now: Instant) {
        let waited = self.last_probing.is_some_and(|l| now.saturating_since(l) > RESULT_TIMEOUT);
        if waited && matches!(self.state, State::Waiting { .. }) {
            self.state = State::Complete;
            self.asked.clear();
            (self.sent_bytes, self.sent_packets) = (Bytes::ZERO, 0);
        }
    }

    fn probe(
        &mut self,
        now: Instant,
        rates: &[Rate],
        mut further: bool,
        estimator: &mut ProbeEstimator,
    ) {
        for &rate in rates {
            further &= rate <= self.most;
            let rate = rate.min(self.most);
            let cluster = ProbeCluster {
                id: self.next_id,
                rate,
                min_bytes: rate * TRAIN_LENGTH,
                min_packets: TRAIN_PACKETS,
            };
            self.next_id = self.next_id.wrapping_add(1);
            if self.asked.len() < MAX_CLUSTERS {
                self.asked.push_back(cluster);
                estimator.expect(&cluster);
            }
        }
        self.last_probing = Some(now);
        let newest = rates.last().map_or(Rate::ZERO, |rate| rate.mul_f64(FURTHER_THRESHOLD));
        self.state =
            if further { State::Waiting { further_above: newest } } else { State::Complete };
    }
}

/// What has been heard of a train.
#[derive(Debug, Clone, Copy)]
struct Heard {
    cluster: ProbeCluster,
    packets: u32,
    bytes: Bytes,
    first_sent: Instant,
    last_sent: Instant,
    last_sent_size: Bytes,
    first_arrival: ReceiverInstant,
    first_arrival_size: Bytes,
    last_arrival: ReceiverInstant,
}

impl Heard {
    fn new(cluster: ProbeCluster) -> Self {
        Self {
            cluster,
            packets: 0,
            bytes: Bytes::ZERO,
            first_sent: Instant::MAX,
            last_sent: Instant::from_nanos(i64::MIN),
            last_sent_size: Bytes::ZERO,
            first_arrival: ReceiverInstant::MAX,
            first_arrival_size: Bytes::ZERO,
            last_arrival: ReceiverInstant::from_nanos(i64::MIN),
        }
    }

    fn add(&mut self, sent: Instant, arrival: ReceiverInstant, size: Bytes) {
        self.packets = self.packets.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
        self.first_sent = self.first_sent.min(sent);
        if sent > self.last_sent {
            (self.last_sent, self.last_sent_size) = (sent, size);
        }
        if arrival < self.first_arrival {
            (self.first_arrival, self.first_arrival_size) = (arrival, size);
        }
        self.last_arrival = self.last_arrival.max(arrival);
    }

    fn result(&self) -> Option<Rate> {
        let enough = f64::from(self.packets)
            >= (f64::from(self.cluster.min_packets) * MIN_RECEIVED_SHARE).floor()
            && self.bytes.as_f64() >= self.cluster.min_bytes.as_f64() * MIN_RECEIVED_SHARE;
        let sending = self.last_sent.saturating_since(self.first_sent);
        let receiving = self.last_arrival.saturating_since(self.first_arrival);
        let valid = |span: Duration| span > Duration::ZERO && span <= MAX_INTERVAL;
        if !enough || !valid(sending) || !valid(receiving) {
            return None;
        }
        // The last packet's sending and the first one's receiving lie outside the intervals.
        let sent = (self.bytes.saturating_sub(self.last_sent_size) / sending).as_bps_f64();
        let received =
            (self.bytes.saturating_sub(self.first_arrival_size) / receiving).as_bps_f64();
        if received > sent * MAX_RATIO {
            return None;
        }
        let full = received < sent * FULL_LINK_RATIO;
        let found = if full { received * FULL_LINK_UTILIZATION } else { sent.min(received) };
        Some(Rate::from_bps_f64(found))
    }
}

/// Judges trains.
#[derive(Debug, Clone)]
pub(super) struct ProbeEstimator {
    trains: VecDeque<Heard>,
}

impl ProbeEstimator {
    pub(super) fn new() -> Self {
        Self { trains: VecDeque::with_capacity(MAX_CLUSTERS) }
    }

    fn expect(&mut self, cluster: &ProbeCluster) {
        if self.trains.len() >= MAX_CLUSTERS {
            self.trains.pop_front();
        }
        self.trains.push_back(Heard::new(*cluster));
    }

    /// A packet that arrived; gives what its train has found so far, once enough has arrived.
    pub(super) fn on_packet(&mut self, report: &PacketReport) -> Option<Rate> {
        let (id, arrival) = (report.packet.probe_cluster?, report.arrival?);
        let train = self.trains.iter_mut().find(|train| train.cluster.id == id)?;
        train.add(report.packet.sent, arrival, report.packet.size);
        train.result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameId, PacketKind, SequenceNumber};

    fn at(micros: i64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn packet(cluster: u32, sent: i64) -> SentPacket {
        SentPacket::new(SequenceNumber(0), at(sent), FrameId(0), Bytes::new(1_250))
            .with_kind(PacketKind::Padding)
            .with_probe_cluster(Some(cluster))
    }

    /// Sends trains until none is asked for; each arrives at the lesser of its rate and `capacity`.
    fn run(capacity: Rate) -> Vec<(u64, u64)> {
        let (start, most) = (Rate::from_mbps(1), Rate::from_mbps(50));
        let mut controller = ProbeController::new(start, most, true, true);
        let mut estimator = ProbeEstimator::new();
        controller.begin(at(0), &mut estimator);
        let mut found = Vec::new();
        let mut time = 0;
        while let Some(cluster) = controller.cluster() {
            let (gap, spread) = (
                cluster.rate.time_for(Bytes::new(1_250)).as_nanos() / 1_000,
                cluster.rate.min(capacity).time_for(Bytes::new(1_250)).as_nanos() / 1_000,
            );
            let mut result = None;
            let begun = time;
            let mut index = 0;
            while controller.cluster() == Some(cluster) {
                let sent = packet(cluster.id, time);
                controller.on_sent(&sent);
                let arrival = ReceiverInstant::from_nanos((begun + index * spread) * 1_000);
                let report = PacketReport::new(sent, Some(arrival));
                result = estimator.on_packet(&report).or(result);
                time += gap;
                index += 1;
            }
            let result = result.unwrap_or(Rate::ZERO);
            found.push((cluster.rate.as_bps() / 1_000_000, result.as_bps() / 100_000));
            controller.on_estimate(at(time), result, true, &mut estimator);
        }
        found
    }

    #[test]
    fn start_probes_double_until_the_link_is_full() {
        let found = run(Rate::from_mbps(20));
        let asked: Vec<u64> = found.iter().map(|(asked, _)| *asked).collect();
        assert_eq!(asked, [3, 6, 12, 24, 38]);
        assert_eq!(found.last().map(|(_, found)| *found), Some(190)); // 0.95 of 20 Mb/s
        assert!((29..=30).contains(&found[0].1), "{found:?}");
    }

    #[test]
    fn a_wide_link_is_probed_up_to_the_maximum() {
        let asked: Vec<u64> = run(Rate::from_mbps(200)).iter().map(|(asked, _)| *asked).collect();
        assert_eq!(asked, [3, 6, 12, 24, 48, 50]);
    }

    #[test]
    fn results_need_most_of_the_train() {
        let cluster = ProbeCluster {
            id: 7,
            rate: Rate::from_mbps(10),
            min_bytes: Bytes::new(12_500),
            min_packets: 5,
        };
        let mut estimator = ProbeEstimator::new();
        estimator.expect(&cluster);
        let mut results = (0..10).map(|index| {
            let arrival = Some(ReceiverInstant::from_nanos(index * 1_000_000));
            let report = PacketReport::new(packet(7, index * 1_000), arrival);
            estimator.on_packet(&report)
        });
        assert!(results.by_ref().take(7).all(|result| result.is_none()));
        assert_eq!(results.next(), Some(Some(Rate::from_mbps(10))));
    }

    #[test]
    fn one_probe_follows_a_large_drop() {
        let (start, most) = (Rate::from_mbps(20), Rate::from_mbps(50));
        let mut controller = ProbeController::new(start, most, false, true);
        let mut estimator = ProbeEstimator::new();
        controller.on_estimate(at(0), Rate::from_mbps(14), true, &mut estimator);
        controller.on_recovered(at(1), &mut estimator);
        assert_eq!(controller.cluster(), None); // not a large one
        controller.on_estimate(at(2), Rate::from_mbps(8), true, &mut estimator);
        controller.on_recovered(at(3), &mut estimator);
        assert_eq!(controller.cluster().map(|c| c.rate), Some(Rate::from_bps(11_900_000)));
        controller.on_recovered(at(4), &mut estimator);
        assert_eq!(controller.asked.len(), 1);
    }
}
