//! What was sent and lost of late, and how likely that is over a channel.
//!
//! An observation is made of the reports on packets that were sent within 250 ms or more. Its age weighs it down, in the
//! likelihood and in the mean loss.
//!
//! Source: libwebrtc `loss_based_bwe_v2`, as in `likelihood`, which has the constants.

use super::{Channel, Constants};
use crate::{PacketReport, SequenceNumber};
use gameway_units::{Bytes, Instant, Rate};

/// The number of observations up to which the mean loss includes the extremes.
const WITH_EXTREMES: u64 = 3;
const MIN_PROBABILITY: f64 = 1e-6;

/// Weighed data in kilobytes.
#[derive(Debug, Clone, Copy, Default)]
struct Loss {
    lost: f64,
    sent: f64,
}

impl Loss {
    fn share(self) -> f64 {
        if self.sent > 0.0 { self.lost / self.sent } else { 0.0 }
    }

    fn times(self, weight: f64) -> Self {
        Self { lost: weight * self.lost, sent: weight * self.sent }
    }

    fn plus(self, other: Self) -> Self {
        Self { lost: self.lost + other.lost, sent: self.sent + other.sent }
    }

    fn minus(self, other: Self) -> Self {
        Self { lost: self.lost - other.lost, sent: self.sent - other.sent }
    }
}

#[derive(Debug, Clone, Copy)]
struct Observation {
    loss: Loss,
    sending: Rate,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Observations {
    constants: Constants,
    /// A ring: the observation with the number `n` is at `n` modulo its size.
    ring: Vec<Observation>,
    count: u64,
    /// By age.
    weights: Vec<f64>,
    /// Of the observation that is not complete: packets taken for lost, by number, and bytes of all.
    lost: Vec<(SequenceNumber, Bytes)>,
    bytes: Bytes,
    /// When the last packet of the newest observation was sent; at first, the first packet of all.
    end: Option<Instant>,
    mean_loss: f64,
    sorted: Vec<Rate>,
}

impl Observations {
    pub(super) fn new(constants: Constants) -> Self {
        let ages = 0..constants.window;
        let weights = ages.map(|age| libm::pow(constants.weight_by_age, age as f64)).collect();
        Self {
            constants,
            ring: Vec::with_capacity(constants.window),
            count: 0,
            weights,
            lost: Vec::with_capacity(256),
            bytes: Bytes::ZERO,
            end: None,
            mean_loss: 0.0,
            sorted: Vec::with_capacity(constants.window),
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Its time is when packets were sent.
    pub(super) fn end(&self) -> Option<Instant> {
        self.end
    }

    /// The share of bytes that are lost, without the observations of most and of least loss.
    pub(super) fn mean_loss(&self) -> f64 {
        self.mean_loss
    }

    /// Whether these reports completed an observation.
    pub(super) fn on_reports(&mut self, reports: &[PacketReport]) -> bool {
        let sent = reports.iter().map(|report| report.packet.sent);
        let (Some(first), Some(last)) = (sent.clone().min(), sent.max()) else { return false };
        for report in reports {
            self.count_packet(report);
        }
        let begun = *self.end.get_or_insert(first);
        let span = last.saturating_since(begun);
        if span < self.constants.observation {
            return false;
        }
        self.end = Some(last);
        let lost = self.lost.drain(..).map(|(_, size)| size.as_f64()).sum::<f64>() / 1e3;
        let bytes = std::mem::take(&mut self.bytes);
        let observation =
            Observation { loss: Loss { lost, sent: bytes.as_f64() / 1e3 }, sending: bytes / span };
        let place = self.newest_place(self.count);
        match self.ring.get_mut(place) {
            Some(oldest) => *oldest = observation,
            None => self.ring.push(observation),
        }
        self.count += 1;
        self.mean_loss = self.find_mean_loss();
        true
    }

    /// A packet that was reordered was taken for lost by one report, and is in the next.
    fn count_packet(&mut self, report: &PacketReport) {
        let packet = report.packet;
        self.bytes = self.bytes.saturating_add(packet.size);
        let place = self.lost.binary_search_by_key(&packet.sequence, |(number, _)| *number);
        match (report.arrival, place) {
            (None, Err(place)) => self.lost.insert(place, (packet.sequence, packet.size)),
            (Some(_), Ok(place)) => {
                self.lost.remove(place);
            }
            (None, Ok(_)) | (Some(_), Err(_)) => {}
        }
    }

    fn newest_place(&self, number: u64) -> usize {
        (number % self.constants.window as u64) as usize
    }

    fn weighed(&self) -> impl Iterator<Item = (f64, &Observation)> {
        let window = self.constants.window;
        let newest = self.newest_place(self.count.saturating_sub(1));
        let age = move |place: usize| (newest + window - place) % window;
        let weight = move |place| self.weights.get(age(place)).copied().unwrap_or(0.0);
        self.ring.iter().enumerate().map(move |(place, one)| (weight(place), one))
    }

    /// A single spike does not count, unless it came with a burst: then it is what the burst did.
    fn find_mean_loss(&mut self) -> f64 {
        let (mut all, mut spike_rate) = (Loss::default(), Rate::ZERO);
        let (mut max, mut min) = ((0.0, Loss::default()), (1.0, Loss::default()));
        for (weight, one) in self.weighed() {
            let (share, loss) = (one.loss.share(), one.loss.times(weight));
            all = all.plus(loss);
            if self.count <= WITH_EXTREMES {
                continue;
            }
            if share > max.0 {
                max = (share, loss);
                spike_rate = one.sending;
            }
            if share < min.0 {
                min = (share, loss);
            }
        }
        let rest = all.minus(max.1).minus(min.1);
        let burst = self.median_rate().mul_f64(self.constants.burst) <= spike_rate;
        let mean = if burst || rest.sent < 1e-3 { all } else { rest };
        mean.share().clamp(0.0, 1.0)
    }

    fn median_rate(&mut self) -> Rate {
        self.sorted.clear();
        self.sorted.extend(self.ring.iter().map(|one| one.sending).filter(|r| *r > Rate::ZERO));
        self.sorted.sort_unstable();
        let at = |place: usize| self.sorted.get(place).map_or(0.0, |rate| rate.as_bps_f64());
        let middle = self.sorted.len() / 2;
        let lower = middle.saturating_sub(1 - self.sorted.len() % 2);
        Rate::from_bps_f64((at(lower) + at(middle)) / 2.0)
    }

    /// One step of Newton's method towards the inherent loss that is most likely with this bandwidth.
    pub(super) fn newton_step(&self, channel: &Channel) -> f64 {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, one) in self.weighed() {
            let probability = channel.loss_at(one.sending);
            let passed = 1.0 - probability;
            let (lost, came) = (one.loss.lost, one.loss.sent - one.loss.lost);
            first += weight * (lost / probability - came / passed);
            second -= weight * (lost / (probability * probability) + came / (passed * passed));
        }
        if second < 0.0 { -first / second } else { 0.0 }
    }

    /// The logarithm of the likelihood, with the preference for high rates.
    pub(super) fn objective(&self, channel: &Channel) -> f64 {
        let preference = self.preference(channel.bandwidth);
        let one = |(weight, one): (f64, &Observation)| {
            let probability = channel.loss_at(one.sending);
            let came = one.loss.sent - one.loss.lost;
            let likelihood =
                one.loss.lost * libm::log(probability) + came * libm::log(1.0 - probability);
            weight * (likelihood + preference * one.loss.sent)
        };
        self.weighed().map(one).sum()
    }

    /// For each kilobyte; below zero where much is lost.
    fn preference(&self, bandwidth: Rate) -> f64 {
        let below = self.constants.preferred_below - self.mean_loss;
        let sign = below / (self.constants.preference_smoothing + below.abs());
        let kbps = bandwidth.as_bps_f64() / 1e3;
        let (linear, logarithmic) = self.constants.preference;
        sign * (linear * kbps + logarithmic * libm::log(1.0 + kbps))
    }
}

impl Channel {
    /// The probability that a byte is lost of what is sent at this rate.
    fn loss_at(&self, sending: Rate) -> f64 {
        let (sent, carried) = (sending.as_bps_f64(), self.bandwidth.as_bps_f64());
        let excess = if sent > carried { (sent - carried) / sent } else { 0.0 };
        let probability = self.inherent_loss + (1.0 - self.inherent_loss) * excess;
        probability.clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)
    }
}

#[cfg(test)]
mod tests {
    use super::super::TODAY;
    use super::*;
    use crate::{FrameId, SentPacket};
    use gameway_units::{Duration, ReceiverInstant};

    fn near(found: f64, right: f64) {
        assert!((found - right).abs() < 1e-9, "{found} {right}");
    }

    /// An observation of 250 ms for each pair: kilobytes lost, and sent.
    fn observed(all: &[(u64, u64)]) -> Observations {
        let mut made = Observations::new(TODAY);
        let packet = |number: u64, millis: i64, kilobytes: u64, arrives: bool| {
            let sent = Instant::ZERO + Duration::from_millis(millis);
            let size = Bytes::new(1_000 * kilobytes);
            let packet = SentPacket::new(SequenceNumber(number), sent, FrameId(0), size);
            PacketReport::new(packet, arrives.then_some(ReceiverInstant::ZERO))
        };
        assert!(!made.on_reports(&[packet(0, 0, 0, true)]));
        for (index, (lost, sent)) in (1..).zip(all) {
            let (number, at) = (2 * index as u64, 250 * index);
            let came = packet(number, at, sent - lost, true);
            assert!(made.on_reports(&[came, packet(number + 1, at, *lost, false)]));
        }
        made
    }

    fn channel(mbps: u64, inherent_loss: f64) -> Channel {
        Channel { bandwidth: Rate::from_mbps(mbps), inherent_loss }
    }

    #[test]
    fn a_channel_loses_its_share_and_of_the_rest_what_is_above_its_bandwidth() {
        near(channel(2, 0.1).loss_at(Rate::from_mbps(1)), 0.1);
        near(channel(2, 0.1).loss_at(Rate::from_mbps(2)), 0.1);
        near(channel(2, 0.1).loss_at(Rate::from_mbps(8)), 0.1 + 0.9 * 0.75);
        near(channel(2, 0.0).loss_at(Rate::ZERO), MIN_PROBABILITY);
        near(channel(0, 0.0).loss_at(Rate::from_mbps(1)), 1.0 - MIN_PROBABILITY);
    }

    #[test]
    fn the_mean_loss_is_weighed_by_age_and_from_four_observations_on_without_the_extremes() {
        near(observed(&[]).mean_loss(), 0.0);
        near(observed(&[(0, 0), (0, 0)]).mean_loss(), 0.0);
        near(observed(&[(3, 30), (15, 30), (0, 30)]).mean_loss(), (0.81 * 3.0 + 0.9 * 15.0) / 81.3);
        let (lost, sent) = (0.6561 * 3.0 + 0.9 * 6.0 + 3.0, (0.6561 + 0.9 + 1.0) * 30.0);
        let five = [(3, 30), (15, 30), (0, 30), (6, 30), (3, 30)];
        near(observed(&five).mean_loss(), lost / sent);
    }

    #[test]
    fn the_median_rate_is_of_observations_in_which_something_was_sent() {
        let kilobytes =
            |all: &[(u64, u64)]| observed(all).median_rate() * Duration::from_millis(250);
        assert_eq!(kilobytes(&[(0, 20), (0, 60), (0, 10)]), Bytes::new(20_000));
        assert_eq!(kilobytes(&[(0, 20), (0, 60), (0, 10), (0, 30)]), Bytes::new(25_000));
        assert_eq!(kilobytes(&[(0, 20), (0, 0), (0, 60), (0, 0)]), Bytes::new(40_000));
    }

    /// A spike of loss is left out, unless twice the median rate was sent then.
    #[test]
    fn a_spike_counts_at_twice_the_median_rate() {
        let with = |sent: u64| {
            observed(&[(0, 30), (0, 30), (0, 30), (20, sent), (0, 30), (0, 30)]).mean_loss()
        };
        near(with(59), 0.0);
        assert!((0.05..0.15).contains(&with(60)), "{}", with(60));
    }

    /// Of `lost ln p + came ln (1 - p)`: the derivative over its own derivative.
    #[test]
    fn a_newton_step_by_hand() {
        near(observed(&[]).newton_step(&channel(2, 0.2)), 0.0);
        // 1 / 0.2 - 9 / 0.8 = -6.25 and 1 / 0.04 + 9 / 0.64 = 39.0625.
        let one = observed(&[(1, 10)]);
        near(one.newton_step(&channel(2, 0.2)), -0.16);
        near(one.newton_step(&channel(2, 0.1)), 0.0);
        // The older one, 2 of 10 kB lost, is at rest and weighs nine tenths: 50 + 12.5.
        near(observed(&[(2, 10), (1, 10)]).newton_step(&channel(2, 0.2)), -6.25 / 95.3125);
    }

    #[test]
    fn the_preference_grows_with_the_rate_and_turns_at_a_fifth_of_loss() {
        let at_loss = |mean_loss: f64| Observations { mean_loss, ..Observations::new(TODAY) };
        let whole = 0.000_2 * 1_000.0 + 0.02 * libm::log(1_001.0);
        for (loss, sign) in [(0.0, 0.2 / 0.202), (0.2, 0.0), (0.3, -0.1 / 0.102)] {
            near(at_loss(loss).preference(Rate::from_mbps(1)), sign * whole);
        }
    }
}
