//! Delivery-rate samples.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02 section 3; Linux `net/ipv4/tcp_rate.c`;
//! for what was in flight and lost, draft-ietf-ccwg-bbr-06 section 4.1.2.
//! Model: each segment remembers how much had been delivered, and when, as it left. When it is
//! acknowledged, the difference is what the path delivered over its flight; the longer of the time
//! taken to send and the time taken to acknowledge that amount keeps bursts of either from lying.
//! A sample taken while the application had nothing to send is marked.

use gameway_units::{Bytes, Duration, Instant, Rate};

/// What a segment remembers from when it was sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Snapshot {
    pub(crate) delivered: u64,
    pub(crate) delivered_time: Instant,
    pub(crate) first_sent: Instant,
    /// Whether the application, not the path, may have been the limit.
    pub app_limited: bool,
    /// In flight with this segment as it left.
    pub tx_in_flight: u64,
    /// Judged lost until it left.
    pub lost: u64,
}

/// How fast the path delivered over the flight of one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RateSample {
    /// Payload delivered over the interval.
    pub delivered: Bytes,
    /// The longer of the sending and the acknowledging time.
    pub interval: Duration,
    /// Total delivered when the segment left: tells rounds apart.
    pub prior_delivered: Bytes,
    /// Whether the application, not the path, may have been the limit.
    pub app_limited: bool,
    /// In flight, the segment included, when it left.
    pub tx_in_flight: Bytes,
    /// Judged lost since it left.
    pub lost: Bytes,
}

impl RateSample {
    /// Delivered payload per time.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.delivered / self.interval
    }
}

/// The connection's side of the estimator.
#[derive(Debug, Clone, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_time: Instant,
    first_sent: Instant,
    app_limited_until: Option<u64>,
}

impl DeliveryRate {
    /// The state to remember in a segment that leaves now.
    pub fn on_send(
        &mut self,
        now: Instant,
        nothing_in_flight: bool,
        tx_in_flight: u64,
        lost: u64,
    ) -> Snapshot {
        if nothing_in_flight {
            self.first_sent = now;
            self.delivered_time = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until.is_some(),
            tx_in_flight,
            lost,
        }
    }

    /// The application ran dry with `in_flight` outstanding.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some((self.delivered + in_flight).max(1));
    }

    /// Whether what leaves now is marked so.
    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// `bytes` more bytes are known to have arrived.
    pub fn on_delivered(&mut self, now: Instant, bytes: u64) {
        self.delivered += bytes;
        self.delivered_time = now;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
    }

    /// The sample of the segment sent last among those that an ACK delivered; `None` where the
    /// interval is shorter than any RTT, and so says nothing (section 3.3 of the draft).
    pub fn sample(
        &mut self,
        snapshot: Snapshot,
        sent: Instant,
        min_rtt: Duration,
        total_lost: u64,
    ) -> Option<RateSample> {
        let send_elapsed = sent.saturating_since(snapshot.first_sent);
        let ack_elapsed = self.delivered_time.saturating_since(snapshot.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        self.first_sent = sent;
        (interval >= min_rtt && interval > Duration::ZERO).then(|| RateSample {
            delivered: Bytes::new(self.delivered - snapshot.delivered),
            interval,
            prior_delivered: Bytes::new(snapshot.delivered),
            app_limited: snapshot.app_limited,
            tx_in_flight: Bytes::new(snapshot.tx_in_flight),
            lost: Bytes::new(total_lost.saturating_sub(snapshot.lost)),
        })
    }

    /// Bytes known to have arrived since the connection began.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: i64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn compressed_acks_do_not_exceed_the_sending_rate() {
        let mut rate = DeliveryRate::default();
        let first = rate.on_send(at(0), true, 1000, 0);
        let last = rate.on_send(at(10), false, 2000, 500);
        rate.on_delivered(at(50), 1000);
        assert!(rate.sample(first, at(0), Duration::from_millis(1), 500).is_some());
        rate.on_delivered(at(51), 1000);
        let sample = rate.sample(last, at(10), Duration::from_millis(1), 800);
        // 2000 B since the segment left: 51 ms of acknowledging, 10 ms of sending.
        let sample = sample.expect("a sample");
        assert_eq!((sample.delivered, sample.interval), (Bytes::new(2000), at(51) - at(0)));
        // What else was in flight as it left, and what was lost since.
        assert_eq!((sample.tx_in_flight, sample.lost), (Bytes::new(2000), Bytes::new(300)));
    }

    /// The draft's section 3.3: over less than the least RTT a sample says nothing, nor over no time at all. Where
    /// sending took longer than acknowledging, that is the interval.
    #[test]
    fn a_sample_is_what_was_delivered_over_the_longer_of_two_times() {
        let after = |sent: i64, acknowledged: i64, min_rtt| {
            let mut rate = DeliveryRate::default();
            rate.on_delivered(at(0), 700);
            let _ = rate.on_send(at(0), true, 1000, 0);
            let last = rate.on_send(at(sent), false, 2000, 0);
            rate.on_delivered(at(acknowledged), 3000);
            assert_eq!(rate.delivered(), 3700);
            let sample = rate.sample(last, at(sent), Duration::from_millis(min_rtt), 0);
            // The next one's sending time counts from the segment of this one.
            assert_eq!(rate.on_send(at(90), false, 1, 0).first_sent, at(sent));
            sample.map(|sample| {
                assert_eq!(sample.prior_delivered, Bytes::new(700));
                sample.rate()
            })
        };
        assert_eq!(after(10, 30, 20), Some(Bytes::new(3000) / Duration::from_millis(30)));
        assert_eq!(after(40, 30, 20), Some(Bytes::new(3000) / Duration::from_millis(40)));
        assert_eq!(after(10, 20, 20), Some(Bytes::new(3000) / Duration::from_millis(20)));
        assert_eq!(after(10, 20, 21), None);
        assert_eq!(after(0, 0, 0), None);
    }

    #[test]
    fn app_limited_marks_the_flight_and_then_ends() {
        let mut rate = DeliveryRate::default();
        assert!(!rate.is_app_limited());
        rate.on_app_limited(1000);
        assert!(rate.is_app_limited());
        assert!(rate.on_send(at(0), true, 1, 0).app_limited);
        rate.on_delivered(at(5), 1000);
        assert!(rate.on_send(at(5), false, 1, 0).app_limited);
        rate.on_delivered(at(6), 1);
        assert!(!rate.on_send(at(6), false, 1, 0).app_limited);
    }
}
