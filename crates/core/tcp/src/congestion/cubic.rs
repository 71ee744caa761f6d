//! CUBIC, as Linux has it.
//!
//! Source: RFC 9438 sections 4.2 to 4.8 and 5.8; Linux `net/ipv4/tcp_cubic.c` (`bictcp_update`, HyStart) and
//! `tcp_cong_avoid_ai`, which the deviations below follow.
//! Model: after a reduction at `w_max` the window follows `C (t - K)^3 + w_max`, steep, flat around
//! `w_max`, steep again; where a Reno flow of equal loss would be faster, it follows that one.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | C | 0.4 segments/s^3 | RFC 9438 section 5.1 |
//! | beta | 0.7 | RFC 9438 section 4.6 |
//! | alpha | 8/15: 3 (1 - beta) / (1 + beta) = 0.529 in whole eighths | RFC 9438 section 4.3; Linux `beta_scale` |
//! | fastest growth | a segment per 2 acknowledged: half a window per RTT | RFC 9438 section 4.2, `bictcp_update` |
//! | slowest growth | a segment per 100 windows | `bictcp_update` |
//! | growth is judged anew | when the window has changed, or after 1/32 s | `bictcp_update` |
//! | fast convergence | (1 + beta) / 2 | RFC 9438 section 4.7 |
//! | least threshold | 2 segments | RFC 9438 section 4.6 |
//! | least growth before the first reduction | a segment per 20 acknowledged: 5 % per RTT | Linux `bictcp_update` |
//!
//! | Deviation | Why |
//! |---|---|
//! | the reduction starts from the window, not the flight | as Linux; the window does not grow while it is not the limit |
//! | the window grows by whole segments, as ACKs are counted; the Reno flow too | as Linux: behind the Reno flow it lags by two or three segments, which tells where windows are small |
//! | the distance from the plateau is cut to whole segments, so that below it the target is rounded up | as Linux: a window of two becomes three with the next ACK |
//! | alpha is not 1 above the window before the last reduction | as Linux |
//! | the target is the function's value one smallest RTT ahead, not one RTT | as Linux |
//! | a least growth before the first reduction, and after a time-out until the next | as Linux; no plateau is known then and the function starts flat |
//! | growth counts bytes per ACK, not ACKs | delayed ACKs would halve it; Linux counts likewise |
//! | with HyStart++ no ACK is cut to L = 8 segments of growth (RFC 9406 section 4.2) | the RFC asks that of who does not pace; the window of Linux grows by all that an ACK covers |

use super::hystart::{HyStart, SlowStartAck};
use super::hystart_plus_plus::HyStartPlusPlus;
use super::{
    AckEvent, CongestionControl, INITIAL_WINDOW_SEGMENTS, Phase, TcpAlgorithm, TimeoutEvent,
};
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SCALE: f64 = 0.4;
const BETA: f64 = 0.7;
/// 1 / alpha, in eighths.
const SEGMENTS_PER_WINDOW_OF_RENO: f64 = 15.0 / 8.0;
const MIN_WINDOW: f64 = 2.0;
/// Segments acknowledged for each by which the window grows.
const FASTEST: f64 = 2.0;
const SLOWEST_WINDOWS: f64 = 100.0;
const SLOWEST_WITHOUT_PLATEAU: f64 = 20.0;
const JUDGED_ANEW: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// Linux `tcp_pacing_ss_ratio`: what HyStart takes for the rate of slow start.
const SLOW_START_PACING: f64 = 2.0;

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CubicConfig {
    /// what ends slow start before the first loss: on, the HyStart of Linux; rfc9406, HyStart++; off, nothing
    pub hystart: SlowStartExit,
}

/// What ends slow start before the first loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum SlowStartExit {
    /// The HyStart of Linux.
    #[default]
    On,
    /// Nothing.
    Off,
    /// HyStart++.
    Rfc9406,
}

impl Configuration for CubicConfig {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str = "CUBIC, the default of Linux, Windows and macOS; here with the HyStart of Linux, or HyStart++";
    const SOURCE: &'static str = "RFC 9438; Linux tcp_cubic.c (HyStart); RFC 9406 (HyStart++)";
}

impl TcpAlgorithm for CubicConfig {
    fn build(&self, segment_size: u32, _seed: u64) -> Box<dyn CongestionControl> {
        Box::new(Cubic { config: *self, ..Cubic::new(segment_size) })
    }
}

/// A congestion avoidance since the last reduction, in segments and seconds.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    start: Instant,
    plateau: f64,
    time_to_plateau: f64,
    /// The Reno flow, and what was acknowledged since it last grew.
    reno_window: f64,
    reno_acknowledged: f64,
}

impl Epoch {
    fn new(start: Instant, window: f64, plateau: f64) -> Self {
        let plateau = plateau.max(window);
        let time_to_plateau = libm::cbrt((plateau - window) / SCALE);
        Self { start, plateau, time_to_plateau, reno_window: window, reno_acknowledged: 0.0 }
    }

    /// RFC 9438 equation 1.
    fn window_at(&self, elapsed: Duration) -> f64 {
        let offset = elapsed.as_secs_f64() - self.time_to_plateau;
        SCALE * offset * offset * offset + self.plateau
    }

    /// Whole segments of it: the distance from the plateau is rounded down, on either side.
    fn target_at(&self, elapsed: Duration) -> f64 {
        self.plateau + (self.window_at(elapsed) - self.plateau).trunc()
    }

    /// Lets the Reno flow grow by alpha a window.
    fn follow_reno(&mut self, window: f64) {
        let segment = (window * SEGMENTS_PER_WINDOW_OF_RENO).floor();
        while self.reno_acknowledged > segment {
            self.reno_acknowledged -= segment;
            self.reno_window += 1.0;
        }
    }
}

/// How many acknowledged segments let the window grow by one, since when, and how many are counted.
#[derive(Debug, Clone, Copy)]
struct Growth {
    per_segment: f64,
    counted: f64,
    judged: Instant,
    window: f64,
}

impl Growth {
    const NONE: Self = Self { per_segment: 0.0, counted: 0.0, judged: Instant::ZERO, window: 0.0 };

    fn is_fresh(&self, now: Instant, window: f64) -> bool {
        (self.window - window).abs() < f64::EPSILON
            && now.saturating_since(self.judged) <= JUDGED_ANEW
    }

    /// Counts what was acknowledged; by how many segments the window grows (`tcp_cong_avoid_ai`).
    fn count(&mut self, acknowledged: f64) -> f64 {
        let mut grown = 0.0;
        if self.counted >= self.per_segment {
            self.counted = 0.0;
            grown = 1.0;
        }
        self.counted += acknowledged;
        let more = (self.counted / self.per_segment).floor();
        self.counted -= more * self.per_segment;
        grown + more
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
    config: CubicConfig,
    segment_size: f64,
    window: f64,
    threshold: f64,
    /// `w_max`: the window at the last reduction, lowered by fast convergence.
    plateau: f64,
    epoch: Option<Epoch>,
    growth: Growth,
    min_rtt: Option<Duration>,
    last_ack: Instant,
    slow_start: HyStart,
    conservative: HyStartPlusPlus,
    saved: Saved,
}

impl Cubic {
    /// With the initial window of RFC 6928.
    #[must_use]
    pub fn new(segment_size: u32) -> Self {
        let segment_size = segment_size.max(1);
        let window = INITIAL_WINDOW_SEGMENTS as f64;
        Self {
            config: CubicConfig::default(),
            segment_size: f64::from(segment_size),
            window,
            threshold: f64::INFINITY,
            plateau: 0.0,
            epoch: None,
            growth: Growth::NONE,
            min_rtt: None,
            last_ack: Instant::ZERO,
            slow_start: HyStart::default(),
            conservative: HyStartPlusPlus::default(),
            saved: Saved { window, threshold: f64::INFINITY, plateau: 0.0 },
        }
    }

    fn reduce(&mut self) {
        self.saved =
            Saved { window: self.window, threshold: self.threshold, plateau: self.plateau };
        let converging = self.window < self.plateau;
        let converged = (self.window * (1.0 + BETA) / 2.0).floor();
        self.plateau = if converging { converged } else { self.window };
        self.threshold = (self.window * BETA).floor().max(MIN_WINDOW);
        self.epoch = None;
        self.growth.counted = 0.0;
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
        if full && self.config.hystart == SlowStartExit::On {
            self.threshold = self.window;
        }
        // RFC 9406 section 4.3: for the first slow start alone.
        let initial = self.threshold.is_infinite();
        if initial && self.config.hystart == SlowStartExit::Rfc9406 {
            self.conservative.on_ack(ack.acknowledged, ack.next_sequence, rtt);
            if self.conservative.is_over() {
                self.threshold = self.window;
            }
        }
    }

    /// Slow start goes up to the threshold; what is acknowledged beyond counts for congestion avoidance.
    fn grow(&mut self, ack: &AckEvent) {
        let acknowledged = ack.newly_delivered.as_f64() / self.segment_size;
        let slow_start = acknowledged.min((self.threshold - self.window).max(0.0));
        let is_first = self.threshold.is_infinite();
        let divisor = if is_first { self.conservative.growth_divisor() } else { 1.0 };
        self.window += slow_start / divisor;
        if acknowledged > slow_start {
            self.grow_in_congestion_avoidance(ack, acknowledged - slow_start);
        }
    }

    fn grow_in_congestion_avoidance(&mut self, ack: &AckEvent, acknowledged: f64) {
        let (window, plateau) = (self.window, self.plateau);
        let begins = self.epoch.is_none();
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(ack.now, window, plateau));
        epoch.reno_acknowledged += acknowledged;
        if begins || !self.growth.is_fresh(ack.now, window) {
            let ahead = ack.now - epoch.start + self.min_rtt.unwrap_or_default();
            let target = epoch.target_at(ahead);
            let slowest =
                if plateau > 0.0 { SLOWEST_WINDOWS * window } else { SLOWEST_WITHOUT_PLATEAU };
            epoch.follow_reno(window);
            let per_segment = slowest
                .min(segments_until(window, target))
                .min(segments_until(window, epoch.reno_window))
                .max(FASTEST);
            self.growth = Growth { per_segment, judged: ack.now, window, ..self.growth };
        }
        self.window += self.growth.count(acknowledged);
    }

    /// RFC 9438 section 5.8: time in which the window was not the limit does not count.
    fn pause_epoch(&mut self, now: Instant) {
        let idle = now.saturating_since(self.last_ack);
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(idle).min(now);
        }
    }
}

/// Segments acknowledged for each, so that a window grows to this within an RTT.
fn segments_until(window: f64, target: f64) -> f64 {
    if target > window { (window / (target - window)).floor() } else { f64::INFINITY }
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn on_established(&mut self, now: Instant, _rtt: Option<Duration>) {
        self.slow_start = HyStart::start(now, 0);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.min_rtt = [self.min_rtt, ack.rtt].into_iter().flatten().min();
        self.watch_slow_start(ack);
        if !ack.cwnd_limited {
            self.pause_epoch(ack.now);
        } else if ack.phase != Phase::Recovery && ack.newly_acknowledged > Bytes::ZERO {
            self.grow(ack);
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
        }
        // RFC 9438 section 4.8: the next congestion avoidance starts on its own plateau. Linux `bictcp_reset`.
        self.plateau = 0.0;
        self.min_rtt = None;
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
mod tests;
