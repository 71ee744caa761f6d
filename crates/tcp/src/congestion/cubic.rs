//! CUBIC.
//!
//! Source: RFC 9438 sections 4.2 to 4.8 and 5.8; slow start by HyStart, as Linux `tcp_cubic.c`.
//! Model: after a reduction at `w_max` the window follows `C (t - K)^3 + w_max`, steep, flat around
//! `w_max`, steep again; where a Reno flow of equal loss would be faster, it follows that one.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | C | 0.4 segments/s^3 | RFC 9438 section 5.1 |
//! | beta | 0.7 | RFC 9438 section 4.6 |
//! | alpha | 3 (1 - beta) / (1 + beta) = 0.53, then 1 above the former window | RFC 9438 section 4.3 |
//! | largest target | 1.5 windows | RFC 9438 section 4.2 |
//! | fast convergence | (1 + beta) / 2 | RFC 9438 section 4.7 |
//! | least threshold | 2 segments | RFC 9438 section 4.6 |
//!
//! | Deviation | Why |
//! |---|---|
//! | the reduction starts from the window, not the flight | as Linux; the window does not grow while it is not the limit |
//! | before the first loss the window grows by the function alone | not yet as Linux, which grows by at least 5 % per RTT then (`bictcp_update`): deep queues fill seconds later here |
//! | growth counts bytes per ACK, not ACKs | delayed ACKs would halve it; Linux counts likewise |

use super::hystart::{HyStart, SlowStartAck};
use super::{AckEvent, CongestionControl, INITIAL_WINDOW_SEGMENTS, Phase, TimeoutEvent};
use gameway_units::{Bytes, Duration, Instant, Rate};

const SCALE: f64 = 0.4;
const BETA: f64 = 0.7;
const RENO_ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
const LARGEST_GROWTH: f64 = 1.5;
const LEAST_WINDOW: f64 = 2.0;
/// Linux `tcp_pacing_ss_ratio`: what HyStart takes for the rate of slow start.
const SLOW_START_PACING: f64 = 2.0;

/// A congestion avoidance since the last reduction, in segments and seconds.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Instant,
    plateau: f64,
    time_to_plateau: f64,
    reno_window: f64,
}

impl Epoch {
    fn new(start: Instant, window: f64, plateau: f64) -> Self {
        let plateau = plateau.max(window);
        let time_to_plateau = libm::cbrt((plateau - window) / SCALE);
        Self { start, plateau, time_to_plateau, reno_window: window }
    }

    /// RFC 9438 equation 1.
    fn window_at(&self, elapsed: Duration) -> f64 {
        let offset = elapsed.as_secs_f64() - self.time_to_plateau;
        SCALE * offset * offset * offset + self.plateau
    }
}

/// What a reduction overwrote.
#[derive(Debug, Clone, Copy)]
struct Saved {
    window: f64,
    threshold: f64,
    plateau: f64,
}

/// State of CUBIC, in segments.
#[derive(Debug, Clone)]
pub struct Cubic {
    segment_size: f64,
    window: f64,
    threshold: f64,
    /// `w_max`: the window at the last reduction, lowered by fast convergence.
    plateau: f64,
    /// `cwnd_prior`: the window just before the last reduction.
    prior: f64,
    epoch: Option<Epoch>,
    last_ack: Instant,
    slow_start: HyStart,
    saved: Saved,
}

impl Cubic {
    /// With the initial window of RFC 6928.
    #[must_use]
    pub fn new(segment_size: u32) -> Self {
        let segment_size = segment_size.max(1);
        let window = INITIAL_WINDOW_SEGMENTS as f64;
        Self {
            segment_size: f64::from(segment_size),
            window,
            threshold: f64::INFINITY,
            plateau: 0.0,
            prior: f64::INFINITY,
            epoch: None,
            last_ack: Instant::ZERO,
            slow_start: HyStart::default(),
            saved: Saved { window, threshold: f64::INFINITY, plateau: 0.0 },
        }
    }

    fn reduce(&mut self) {
        self.saved =
            Saved { window: self.window, threshold: self.threshold, plateau: self.plateau };
        let converging = self.window < self.plateau;
        self.plateau = if converging { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.prior = self.window;
        self.threshold = (self.window * BETA).max(LEAST_WINDOW);
        self.epoch = None;
    }

    /// Ends slow start where the pipe is full: also on ACKs that do not let the window grow.
    fn watch_slow_start(&mut self, ack: &AckEvent) {
        let Some(rtt) = ack.rtt.filter(|_| self.window < self.threshold) else { return };
        let smoothed = ack.smoothed_rtt.unwrap_or(rtt).as_secs_f64().max(1e-9);
        let bits = self.window * self.segment_size * 8.0;
        let full = self.slow_start.is_full(&SlowStartAck {
            now: ack.now,
            acknowledged: ack.acknowledged,
            next_sequence: ack.next_sequence,
            rtt,
            window: self.window,
            rate: Rate::from_bps_f64(SLOW_START_PACING * bits / smoothed),
        });
        if full {
            self.threshold = self.window;
        }
    }

    fn grow_in_congestion_avoidance(&mut self, ack: &AckEvent) {
        let (window, plateau) = (self.window, self.plateau);
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(ack.now, window, plateau));
        let acked = ack.newly_delivered.as_f64() / self.segment_size;
        let alpha = if epoch.reno_window >= self.prior { 1.0 } else { RENO_ALPHA };
        epoch.reno_window += alpha * acked / window;
        let elapsed = ack.now - epoch.start;
        if epoch.window_at(elapsed) < epoch.reno_window {
            self.window = window.max(epoch.reno_window);
            return;
        }
        let rtt = ack.smoothed_rtt.unwrap_or_default();
        let target = epoch.window_at(elapsed + rtt).clamp(window, window * LARGEST_GROWTH);
        self.window += (target - window) / window * acked;
    }

    /// RFC 9438 section 5.8: time in which the window was not the limit does not count.
    fn pause_epoch(&mut self, now: Instant) {
        let idle = now.saturating_since(self.last_ack);
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(idle).min(now);
        }
    }
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn on_established(&mut self, now: Instant, _rtt: Option<Duration>) {
        self.slow_start = HyStart::start(now, 0);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.watch_slow_start(ack);
        if !ack.cwnd_limited {
            self.pause_epoch(ack.now);
        } else if ack.phase != Phase::Recovery && ack.newly_acknowledged > Bytes::ZERO {
            if self.window < self.threshold {
                self.window += ack.newly_delivered.as_f64() / self.segment_size;
            } else {
                self.grow_in_congestion_avoidance(ack);
            }
        }
        self.last_ack = ack.now;
    }

    fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {
        self.reduce();
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        if timeout.first {
            self.reduce();
            // RFC 9438 section 4.8: the next congestion avoidance starts on its own plateau.
            self.plateau = 0.0;
        }
        self.window = 1.0;
        self.epoch = None;
        self.slow_start = HyStart::start(timeout.now, timeout.next_sequence);
    }

    fn on_spurious_loss(&mut self, _now: Instant) {
        self.window = self.window.max(self.saved.window);
        self.threshold = self.threshold.max(self.saved.threshold);
        self.plateau = self.saved.plateau;
        self.epoch = None;
    }

    fn on_transmit_start(&mut self, _now: Instant, idle: Option<Duration>) {
        if let Some(idle) = idle {
            self.window = self.window.min(INITIAL_WINDOW_SEGMENTS as f64);
            if let Some(epoch) = &mut self.epoch {
                epoch.start = epoch.start.saturating_add(idle);
            }
        }
    }

    fn cwnd(&self) -> Bytes {
        Bytes::from_f64(self.window * self.segment_size)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::from_f64(self.threshold * self.segment_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u32 = 1000;

    fn ack(now: Instant, window: f64) -> AckEvent {
        AckEvent {
            now,
            phase: Phase::Open,
            acknowledged: 0,
            next_sequence: 0,
            newly_delivered: Bytes::from_f64(window * f64::from(SIZE)),
            newly_acknowledged: Bytes::from_f64(window * f64::from(SIZE)),
            newly_lost: Bytes::ZERO,
            newly_marked: Bytes::ZERO,
            prior_in_flight: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            total_delivered: Bytes::ZERO,
            total_lost: Bytes::ZERO,
            rtt: None,
            smoothed_rtt: Some(Duration::from_millis(1)),
            cwnd_limited: true,
            ack_delayed: false,
            until_departure: Duration::ZERO,
            rate: None,
        }
    }

    fn reduced_at(window: f64) -> Cubic {
        let mut cubic = Cubic { window, threshold: window, ..Cubic::new(SIZE) };
        cubic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        cubic
    }

    #[test]
    fn closed_form_of_the_cubic_function() {
        // 1000 segments reduced to 700: K = cbrt(300 / 0.4) = 9.0856 s.
        let epoch = Epoch::new(Instant::ZERO, 700.0, 1000.0);
        assert!((epoch.time_to_plateau - 9.085_603).abs() < 1e-6);
        for (seconds, expected) in [(0, 700.0), (5, 972.721), (9, 999.9997), (15, 1082.754)] {
            let got = epoch.window_at(Duration::from_secs(seconds));
            assert!((got - expected).abs() < 0.01, "{seconds} s: {got} instead of {expected}");
        }
    }

    #[test]
    fn the_window_follows_the_function() {
        let mut cubic = reduced_at(2000.0);
        // 100 ms rounds: the Reno window gains 0.53 per round and stays below.
        for step in 1..=200 {
            let now = Instant::from_nanos(step * 100_000_000);
            for _ in 0..20 {
                let share = cubic.window / 20.0;
                cubic.on_ack(&ack(now, share));
            }
        }
        let expected = Epoch::new(Instant::ZERO, 1400.0, 2000.0).window_at(Duration::from_secs(20));
        assert!((cubic.window / expected - 1.0).abs() < 0.02, "{} / {expected}", cubic.window);
    }

    #[test]
    fn small_windows_follow_reno() {
        let mut cubic = reduced_at(20.0);
        for step in 1..=10 {
            cubic.on_ack(&ack(Instant::from_nanos(step * 10_000_000), cubic.window));
        }
        // Ten rounds of alpha on top of 14: the cubic function still lies at 14.0 to 14.4 there.
        assert!((cubic.window - (14.0 + 10.0 * RENO_ALPHA)).abs() < 0.1, "{}", cubic.window);
    }

    #[test]
    fn fast_convergence_gives_room() {
        let mut cubic = reduced_at(100.0);
        assert!((cubic.plateau - 100.0).abs() < 1e-9 && (cubic.window - 70.0).abs() < 1e-9);
        cubic.on_congestion_event(Instant::ZERO, Bytes::ZERO);
        assert!((cubic.plateau - 59.5).abs() < 1e-9 && (cubic.window - 49.0).abs() < 1e-9);
        cubic.on_spurious_loss(Instant::ZERO);
        assert!((cubic.plateau - 100.0).abs() < 1e-9 && (cubic.window - 70.0).abs() < 1e-9);
    }

    #[test]
    fn time_without_use_of_the_window_does_not_count() {
        let (mut used, mut unused) = (reduced_at(500.0), reduced_at(500.0));
        let second = |s: i64| Instant::from_nanos(s * 1_000_000_000);
        for cubic in [&mut used, &mut unused] {
            cubic.on_ack(&ack(second(1), 1.0));
        }
        for s in 2..8 {
            unused.on_ack(&AckEvent { cwnd_limited: false, ..ack(second(s), 1.0) });
        }
        used.on_ack(&ack(second(2), 1.0));
        unused.on_ack(&ack(second(8), 1.0));
        assert!((used.window - unused.window).abs() < 1e-6);
    }
}
