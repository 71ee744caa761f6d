//! BIC.
//!
//! Source: Linux `net/ipv4/tcp_bic.c` and `tcp_cong.c` (5.10, read); Xu, Harfoush and Rhee, "Binary
//! Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM 2004 (from memory).
//! Model: the window at the last loss is taken for what the path bears. Below it the window rises by
//! a quarter of what is missing per RTT, by 16 segments at most, and creeps over the last stretch.
//! Above it the same in mirror image: creep, then faster the further away. A loss leaves four fifths;
//! one below the former maximum was brought by a newcomer, who is left room. Small windows are Reno's.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | beta | 819/1024 | `beta`; the paper cuts by 1/8, that is 0.875 |
//! | largest increment | 16 segments per RTT | `max_increment`; S_max = 32 in the paper |
//! | low window | 14 segments: up to there Reno | `low_window`; the paper likewise |
//! | divisor | 4: a quarter of the distance per RTT | `BICTCP_B`; half of it in the paper |
//! | smooth part | 20: 20/4 = 5 RTTs per segment near the maximum | `smooth_part`; S_min = 0.01 per RTT in the paper |
//! | fast convergence | (1 + beta) / 2 | `fast_convergence` |
//! | growth without a maximum | at least 1/20 of the window per RTT | `bictcp_update` |
//! | least threshold | 2 segments | `bictcp_recalc_ssthresh` |
//!
//! | Deviation | Why |
//! |---|---|
//! | no estimate of segments per ACK | it made up for counting ACKs; since Linux 3.19 (from memory) segments are counted and the estimate doubles the growth where ACKs are delayed |
//! | the rate of growth is not held for 1/32 s | it saved divisions: equal windows give equal rates |
//! | slow start has no HyStart | as Linux: HyStart is CUBIC's |

use super::{AckEvent, CongestionControl, INITIAL_WINDOW_SEGMENTS, Phase, TimeoutEvent};
use gameway_units::{Bytes, Duration, Instant};

const BETA: u64 = 819;
const BETA_SCALE: u64 = 1024;
const MAX_INCREMENT: u64 = 16;
const LOW_WINDOW: u64 = 14;
const DIVISOR: u64 = 4;
const SMOOTH_PART: u64 = 20;
const SLOWEST_WITHOUT_MAXIMUM: u64 = 20;
const MIN_THRESHOLD: u64 = 2;

/// State of BIC, in whole segments as in Linux: its divisions truncate, which quickens small windows.
#[derive(Debug, Clone)]
pub struct Bic {
    segment_size: u64,
    window: u64,
    threshold: u64,
    /// The window at the last loss, lowered by fast convergence; 0: unknown.
    maximum: u64,
    /// Bytes acknowledged and not yet turned into a segment of window.
    credit: u64,
    before_event: (u64, u64),
}

impl Bic {
    /// With the initial window of RFC 6928.
    #[must_use]
    pub fn new(segment_size: u32) -> Self {
        let window = INITIAL_WINDOW_SEGMENTS;
        Self {
            segment_size: u64::from(segment_size.max(1)),
            window,
            threshold: u64::MAX,
            maximum: 0,
            credit: 0,
            before_event: (window, u64::MAX),
        }
    }

    /// How many segments must be acknowledged for one more in the window.
    fn price(&self) -> u64 {
        let window = self.window;
        if window <= LOW_WINDOW {
            return window.max(1);
        }
        let price = match self.maximum.checked_sub(window) {
            Some(1..) => search_price(window, self.maximum - window),
            _ => probe_price(window, window - self.maximum),
        };
        let slowest = if self.maximum == 0 { SLOWEST_WITHOUT_MAXIMUM } else { u64::MAX };
        price.clamp(1, slowest)
    }

    /// Returns what slow start did not use: a part of a segment, or what came after it reached the threshold.
    fn slow_start(&mut self, delivered: u64) -> u64 {
        let available = std::mem::take(&mut self.credit) + delivered;
        let used = (available / self.segment_size).min(self.threshold - self.window);
        self.window += used;
        available - used * self.segment_size
    }

    /// As Linux `tcp_cong_avoid_ai`: credit saved up at a higher price buys one segment, not more.
    fn congestion_avoidance(&mut self, delivered: u64) {
        let price = self.price() * self.segment_size;
        if self.credit >= price {
            self.credit = 0;
            self.window += 1;
        }
        self.credit += delivered;
        self.window += self.credit / price;
        self.credit %= price;
    }

    fn decrease(&mut self) {
        let window = self.window;
        self.before_event = (window, self.threshold);
        let newcomer = window < self.maximum;
        self.maximum =
            if newcomer { window * (BETA_SCALE + BETA) / (2 * BETA_SCALE) } else { window };
        let kept = if window <= LOW_WINDOW { window / 2 } else { window * BETA / BETA_SCALE };
        self.threshold = kept.max(MIN_THRESHOLD);
    }
}

/// The price `below` the maximum.
const fn search_price(window: u64, below: u64) -> u64 {
    match below / DIVISOR {
        0 | 1 => window * SMOOTH_PART / DIVISOR,
        increment if increment > MAX_INCREMENT => window / MAX_INCREMENT,
        increment => window / increment,
    }
}

/// The price `above` the maximum, or at it.
const fn probe_price(window: u64, above: u64) -> u64 {
    if above < DIVISOR {
        window * SMOOTH_PART / DIVISOR
    } else if above < MAX_INCREMENT * (DIVISOR - 1) {
        window * (DIVISOR - 1) / above
    } else {
        window / MAX_INCREMENT
    }
}

without_options! {
    BicConfig, "bic",
    "BIC, the default of Linux before CUBIC: searches for the window of the last loss",
    "Xu et al. 2004; Linux tcp_bic.c",
    needs_accurate_ecn: false,
    |segment_size, _seed| Box::new(Bic::new(segment_size))
}

impl CongestionControl for Bic {
    fn name(&self) -> &'static str {
        "bic"
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let duplicate = ack.newly_acknowledged == Bytes::ZERO;
        if ack.phase == Phase::Recovery || !ack.cwnd_limited || duplicate {
            return;
        }
        let mut delivered = ack.newly_delivered.get();
        if self.window < self.threshold {
            delivered = self.slow_start(delivered);
        }
        if delivered > 0 {
            self.congestion_avoidance(delivered);
        }
    }

    fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {
        self.decrease();
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        if timeout.first {
            self.decrease();
        }
        // After a time-out nothing is known of what the path bears (Linux `bictcp_state`).
        self.maximum = 0;
        self.window = 1;
        self.credit = 0;
    }

    /// As Linux: the maximum stays, so that the window creeps from there.
    fn on_spurious_loss(&mut self, _now: Instant) {
        self.window = self.window.max(self.before_event.0);
        self.threshold = self.threshold.max(self.before_event.1);
    }

    fn on_transmit_start(&mut self, _now: Instant, idle: Option<Duration>) {
        if idle.is_some() {
            self.window = self.window.min(INITIAL_WINDOW_SEGMENTS);
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window * self.segment_size)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.threshold.saturating_mul(self.segment_size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::quiet_events;

    const SIZE: u64 = 1000;

    fn ack(segments: u64) -> AckEvent {
        quiet_events::ack(Bytes::new(segments * SIZE))
    }

    fn at(window: u64, maximum: u64) -> Bic {
        Bic { window, maximum, threshold: 2, ..Bic::new(SIZE as u32) }
    }

    /// One segment per ACK, a window of them: a round trip.
    fn round(bic: &mut Bic) {
        for _ in 0..bic.window {
            bic.on_ack(&ack(1));
        }
    }

    #[test]
    fn steps_of_the_search_by_hand() {
        // (window, maximum, segments to acknowledge for one more)
        let steps = [
            (14, 1000, 14),    // low window: Reno
            (15, 1000, 1),     // 15 / 16, but at least 1
            (800, 1000, 50),   // (1000 - 800) / 4 = 50 > 16: 800 / 16
            (932, 1000, 58),   // 68 / 4 = 17 > 16: 932 / 16 = 58.25
            (936, 1000, 58),   // 64 / 4 = 16: the same from the search
            (960, 1000, 96),   // 40 / 4 = 10 per RTT
            (992, 1000, 496),  // 8 / 4 = 2 per RTT
            (993, 1000, 4965), // 7 / 4 = 1: five RTTs
            (999, 1000, 4995),
            (1000, 1000, 5000), // at the maximum and up to 3 above: the same creep
            (1003, 1000, 5015),
            (1004, 1000, 753), // 3/4 per RTT: the mirror image doubles on and on
            (1030, 1000, 103), // 30 * 1/3 = 10 per RTT
            (1047, 1000, 66),  // 47/3 = 15.7 per RTT
            (1048, 1000, 65),  // 48 above: 16 per RTT
            (1060, 1000, 66),  // and no more: 60/3 = 20
            (5000, 1000, 312),
            (320, 0, 20),  // no maximum known: 16 per RTT
            (1000, 0, 20), // but at least a twentieth
            (30, 0, 3),    // 30 * 3 / 30: a third per RTT
        ];
        for (window, maximum, expected) in steps {
            let bic = at(window, maximum);
            assert_eq!(bic.price(), expected, "{window} of {maximum}");
        }
    }

    /// After a loss at W: `d` segments are missing. 16 per RTT while `d` >= 68; then `floor(d/4)`,
    /// which makes four steps of each of 16, 15, ... 2: 4 (H_16 - 1) = 9.52 RTTs; then seven of five
    /// RTTs each.
    #[test]
    fn time_back_to_the_maximum_in_closed_form() {
        for window in [1600u64, 4000] {
            let mut bic = at(window, 0);
            bic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
            let missing = window - bic.window;
            let mut rounds = [0.0; 3];
            while bic.window < window {
                let part = match window - bic.window {
                    68.. => 0,
                    8.. => 1,
                    _ => 2,
                };
                rounds[part] += 1.0 / bic.window as f64;
                bic.on_ack(&ack(1));
            }
            let linear = (missing - 67) as f64 / 16.0;
            let harmonic: f64 = (2..=16).map(|step| 4.0 / f64::from(step)).sum();
            assert!((harmonic - 9.5229).abs() < 1e-4);
            for (got, expected) in rounds.into_iter().zip([linear, harmonic, 35.0]) {
                assert!((got / expected - 1.0).abs() < 0.03, "{window}: {got} of {expected} RTTs");
            }
        }
    }

    #[test]
    fn at_most_sixteen_segments_per_round_far_from_the_maximum() {
        for (window, maximum) in [(1600, 10_000), (1600, 100)] {
            let mut bic = at(window, maximum);
            round(&mut bic);
            assert_eq!(bic.window, window + 16);
        }
        // Divisions truncate: 31 / 16 is 1, and the window doubles.
        let mut small = at(31, 1000);
        small.on_ack(&ack(31));
        assert_eq!(small.window, 62);
    }

    #[test]
    fn small_windows_are_those_of_reno() {
        let mut bic = at(10, 100);
        for expected in 11..=15 {
            round(&mut bic);
            assert_eq!(bic.window, expected);
        }
        let mut bic = at(14, 0);
        bic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert_eq!((bic.window, bic.threshold), (7, 7));
        bic.window = 3;
        bic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert_eq!((bic.window, bic.threshold), (2, 2));
    }

    #[test]
    fn a_loss_leaves_four_fifths_and_one_below_the_maximum_gives_room() {
        let mut bic = at(1000, 0);
        bic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert_eq!((bic.window, bic.threshold, bic.maximum), (799, 799, 1000));
        bic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        // 799 * 1843 / 2048 = 719.02.
        assert_eq!((bic.window, bic.maximum), (639, 719));
        bic.on_spurious_loss(Instant::ZERO);
        assert_eq!((bic.window, bic.threshold, bic.maximum), (799, 799, 719));
        assert_eq!((bic.cwnd(), bic.ssthresh()), (Bytes::new(799_000), Bytes::new(799_000)));
        let mut reached = at(1000, 1000);
        reached.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert_eq!(reached.maximum, 1000, "no newcomer keeps it from what it had");
    }

    /// RFC 5681 section 4.1.
    #[test]
    fn after_an_idle_time_the_window_is_the_first_at_most() {
        let mut bic = at(400, 500);
        for (idle, expected) in [(None, 400), (Some(Duration::from_secs(1)), 10)] {
            bic.on_transmit_start(Instant::ZERO, idle);
            assert_eq!(bic.window, expected);
        }
        let mut small = at(4, 500);
        small.on_transmit_start(Instant::ZERO, Some(Duration::from_secs(1)));
        assert_eq!(small.window, 4);
    }

    #[test]
    fn slow_start_ends_at_the_threshold_and_hands_the_rest_on() {
        let mut bic = Bic { threshold: 12, ..Bic::new(SIZE as u32) };
        bic.on_ack(&ack(5));
        assert_eq!((bic.window, bic.credit), (12, 3 * SIZE));
        bic.on_ack(&ack(9));
        assert_eq!((bic.window, bic.credit), (13, 0));
        // A part of a segment waits for the rest of it.
        let mut parts = Bic::new(SIZE as u32);
        for expected in [10, 11, 12] {
            parts.on_ack(&quiet_events::ack(Bytes::new(SIZE * 7 / 10)));
            assert_eq!(parts.window, expected);
        }
    }

    #[test]
    fn credit_from_a_higher_price_buys_one_segment() {
        // 4000 acknowledged at a price of 4995, then the price falls to 999 / 16 = 62.
        let mut bic = at(999, 1000);
        bic.on_ack(&ack(4000));
        assert_eq!((bic.window, bic.credit), (999, 4000 * SIZE));
        bic.maximum = 5000;
        bic.on_ack(&ack(62));
        assert_eq!((bic.window, bic.credit), (1001, 0));
    }

    #[test]
    fn a_time_out_forgets_the_maximum() {
        let mut bic = at(400, 500);
        bic.on_timeout(&quiet_events::timeout(true));
        assert_eq!((bic.window, bic.threshold, bic.maximum), (1, 319, 0));
        bic.on_timeout(&quiet_events::timeout(false));
        assert_eq!((bic.window, bic.threshold, bic.maximum), (1, 319, 0));
    }

    #[test]
    fn nothing_grows_in_recovery_on_duplicates_or_with_room_in_the_window() {
        let mut bic = at(20, 0);
        bic.on_ack(&AckEvent { phase: Phase::Recovery, ..ack(20) });
        bic.on_ack(&AckEvent { newly_acknowledged: Bytes::ZERO, ..ack(20) });
        bic.on_ack(&AckEvent { cwnd_limited: false, ..ack(20) });
        assert_eq!((bic.window, bic.credit), (20, 0));
    }
}
