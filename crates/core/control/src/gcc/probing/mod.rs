//! Bandwidth probes: when to send them, and what they found.
//!
//! Source: libwebrtc `probe_controller`, `probe_bitrate_estimator` (m128; main branch of 2025, commit 37458ce40a17 of the
//! mirror that `likelihood` names), cases in `probe_controller_unittest`.
//!
//! Model: at the start, trains at 3 and 6 times the start rate; as long as the estimate then exceeds 0.7
//! of the last train's rate, another at twice the estimate. A stream that its application limits (`application_limit`) sends
//! one at twice the estimate every 5 s, and after a large drop has passed one at 0.85 of the rate before. None is sent
//! while queues grow or empty, and while loss limits the rate. A train's result is the lower of its sending and
//! receiving rate, or 0.95 of the receiving rate if that is clearly lower.
//!
//! | Constant | Value |
//! |---|---|
//! | start trains; further | 3, 6 of the start rate; 2 of the estimate while above 0.7 of the train |
//! | length of a train | 15 ms and 5 packets |
//! | wait for results | 1 s |
//! | large drop; probe; valid | below 0.66; 0.85 of before; within 5 s, once in 5 s, not within 5 %, up to 3 s after the limit ended |
//! | while limited by the application | 2 of the estimate, each 5 s |
//! | valid result | 80 % of packets and bytes, intervals of at most 1 s, received/sent at most 2 |
//! | link full; then | received/sent below 0.9; 0.95 of received |
//!
//! | Deviation | Why |
//! |---|---|
//! | Periodic probes by default | upstream's for the content of a screen, and for who asks for them; option `application_limited_probing` |
//! | Option `recovery_probing`: after any large drop | its rapid-recovery trial |
//! | No probes on changes of what is allocated | a stream's largest bitrate stays |
//! | No state of loss that allows probes up to 1.5 of the estimate | its padding of 2 s leaves none |
//! | Option `loss_recovery`: once in 5 s, at twice the estimate when loss no longer limits the rate | see the head of `gcc` |
//! | Clusters are asked for one after another | a `Target` names one |

#[cfg(test)]
mod tests;

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
const LIMIT_ENDED_VALID: Duration = Duration::from_secs(3);
const PERIOD: Duration = Duration::from_secs(5);
const PERIODIC_SCALE: f64 = 2.0;
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

/// When probes are sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Occasions {
    pub(super) start: bool,
    /// Every few seconds while limited by the application.
    pub(super) periodic: bool,
    /// After a large drop also where the application does not limit.
    pub(super) any_recovery: bool,
}

/// Decides on probes.
#[derive(Debug, Clone)]
pub(super) struct ProbeController {
    start: Rate,
    max: Rate,
    occasions: Occasions,
    state: State,
    next_id: u32,
    /// Not sent yet, oldest first; how much of the oldest has been sent.
    asked: VecDeque<ProbeCluster>,
    sent_bytes: Bytes,
    sent_packets: u32,
    last_probing: Option<Instant>,
    estimate: Rate,
    /// Neither queues nor loss limit the estimate.
    allowed: bool,
    last_drop: Option<(Instant, Rate)>,
    last_drop_probe: Option<Instant>,
    application_limited: Option<Instant>,
    limit_ended: Option<Instant>,
}

impl ProbeController {
    pub(super) fn new(start: Rate, max: Rate, occasions: Occasions) -> Self {
        Self {
            start,
            max,
            occasions,
            state: if occasions.start { State::Start } else { State::Complete },
            next_id: 0,
            asked: VecDeque::with_capacity(MAX_CLUSTERS),
            sent_bytes: Bytes::ZERO,
            sent_packets: 0,
            last_probing: None,
            estimate: start,
            allowed: true,
            last_drop: None,
            last_drop_probe: None,
            application_limited: None,
            limit_ended: None,
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

    /// Since when the application has limited the stream, if it does.
    pub(super) fn set_application_limited(&mut self, now: Instant, since: Option<Instant>) {
        if self.application_limited.is_some() && since.is_none() {
            self.limit_ended = Some(now);
        }
        self.application_limited = since;
    }

    /// The estimate has changed; `allowed` if neither queues nor loss limit it.
    pub(super) fn on_estimate(
        &mut self,
        now: Instant,
        estimate: Rate,
        allowed: bool,
        estimator: &mut ProbeEstimator,
    ) {
        self.allowed = allowed;
        if estimate < self.estimate.mul_f64(DROP_THRESHOLD) {
            self.last_drop = Some((now, self.estimate));
        }
        self.estimate = estimate;
        if let State::Waiting { further_above } = self.state
            && estimate > further_above
        {
            self.probe(now, &[estimate.mul_f64(FURTHER_SCALE)], true, estimator);
        }
    }

    /// Queues have emptied after overuse.
    pub(super) fn on_recovered(&mut self, now: Instant, estimator: &mut ProbeEstimator) {
        let Some((dropped, before)) = self.last_drop else { return };
        let lately = |ended| now.saturating_since(ended) < LIMIT_ENDED_VALID;
        let limited = self.application_limited.is_some() || self.limit_ended.is_some_and(lately);
        if !(limited || self.occasions.any_recovery) || self.state != State::Complete {
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

    /// Loss no longer limits the rate.
    pub(super) fn on_loss_ended(&mut self, now: Instant, estimator: &mut ProbeEstimator) {
        let rested = self.last_probing.is_none_or(|last| now.saturating_since(last) >= PERIOD);
        if rested && self.state == State::Complete {
            self.probe(now, &[self.estimate.mul_f64(PERIODIC_SCALE)], true, estimator);
        }
    }

    /// Gives up waiting for results that do not come, and probes where it is time to.
    pub(super) fn on_timer(&mut self, now: Instant, estimator: &mut ProbeEstimator) {
        let waited = self.last_probing.is_some_and(|l| now.saturating_since(l) > RESULT_TIMEOUT);
        if waited && matches!(self.state, State::Waiting { .. }) {
            self.state = State::Complete;
            self.asked.clear();
            (self.sent_bytes, self.sent_packets) = (Bytes::ZERO, 0);
        }
        let Some(since) = self.application_limited else { return };
        let last = self.last_probing.map_or(since, |last| last.max(since));
        let due = now.saturating_since(last) >= PERIOD;
        if self.occasions.periodic && due && self.state == State::Complete {
            self.probe(now, &[self.estimate.mul_f64(PERIODIC_SCALE)], true, estimator);
        }
    }

    fn probe(
        &mut self,
        now: Instant,
        rates: &[Rate],
        mut further: bool,
        estimator: &mut ProbeEstimator,
    ) {
        if !self.allowed {
            return;
        }
        for &rate in rates {
            further &= rate < self.max;
            let rate = rate.min(self.max);
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
struct ReceivedCluster {
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

impl ReceivedCluster {
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
    trains: VecDeque<ReceivedCluster>,
}

impl ProbeEstimator {
    pub(super) fn new() -> Self {
        Self { trains: VecDeque::with_capacity(MAX_CLUSTERS) }
    }

    fn expect(&mut self, cluster: &ProbeCluster) {
        if self.trains.len() >= MAX_CLUSTERS {
            self.trains.pop_front();
        }
        self.trains.push_back(ReceivedCluster::new(*cluster));
    }

    /// A packet that arrived; gives what its train has found so far, once enough has arrived.
    pub(super) fn on_packet(&mut self, report: &PacketReport) -> Option<Rate> {
        let (id, arrival) = (report.packet.probe_cluster?, report.arrival?);
        let train = self.trains.iter_mut().find(|train| train.cluster.id == id)?;
        train.add(report.packet.sent, arrival, report.packet.size);
        train.result()
    }
}
