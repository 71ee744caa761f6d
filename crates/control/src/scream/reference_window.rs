//! The reference window: how many bytes should be in flight.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Reference Window Update" (read in the editors' copy at
//! 00d8f51, still named draft-johansson); Ericsson's `ScreamV2Tx` at 0208f59; libwebrtc `scream_v2`.
//!
//! Model: at most once per min(25 ms, smoothed RTT), loss, marks or delay (in this order) cut the window.
//! Acknowledged bytes make it grow by about a segment per round trip, slower near the window at which
//! congestion last began (the inflection point), and multiplicatively once congestion is long past.
//! It grows only while what is in flight is not far below it and the source may still go faster.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | segment (MSS) | 1000 B | draft; the C++ measures it |
//! | least window | 3000 B | draft; C++: 2 or 3 measured segments |
//! | kept after loss, after a classic mark | 0.7, 0.8 (options) | draft; C++: 0.8, 0.9 |
//! | virtual RTT | 25 ms | draft, C++; mimics Prague |
//! | inflection: slope, least, least for damping | 8, 0.1, 0.25 | draft |
//! | multiplicative increase | 0.02 of the window per round trip | draft; C++: 0.05 |
//! | cautious after congestion | 100 round trips | draft; C++: 200 |
//! | headroom over what is in flight | 1.5 | draft; C++: 2 |
//! | least damping by delay variation | 0.1 | draft, an optional part (an option here) |
//! | L4S: a long time without reaction | 100 round trips | draft |
//!
//! | Deviation | Why |
//! |---|---|
//! | The inflection point is recorded at the first reaction after any growth, not at most every 10 RTTs | as libwebrtc; the editors' copy has the latter, the C++ waits 0.5 s at losses and one RTT at marks |
//! | A delay reaction counts as congestion for the caution after it | the draft's prose and libwebrtc; its pseudocode counts loss and marks only |
//! | Reactions as close as min(25 ms, smoothed RTT) | draft; the C++ keeps 30 ms |
//! | L4S backoff is damped while the delay is *below* a quarter of the target | as the pseudocode's condition; its comment says the reverse |
//! | At the largest bitrate the window just stops growing | the draft's further limit by a history of what was in flight is defined in the C++ only |

use super::VIRTUAL_RTT;
use gameway_units::{Duration, Instant};

/// Nominal size of a packet, in bytes.
pub(super) const SEGMENT: f64 = 1_000.0;
/// The window is never below, in bytes.
pub(super) const LEAST_WINDOW: f64 = 3_000.0;
const INFLECTION_SLOPE: f64 = 8.0;
const LEAST_INFLECTION_SCALE: f64 = 0.1;
const LEAST_INFLECTION_DAMPING: f64 = 0.25;
const MULTIPLICATIVE_INCREASE: f64 = 0.02;
const CAUTIOUS_ROUND_TRIPS: f64 = 100.0;
const IN_FLIGHT_HEADROOM: f64 = 1.5;
const LEAST_VARIATION_DAMPING: f64 = 0.1;

/// How to read a mark "congestion experienced".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnMode {
    /// Ignore it.
    Off,
    /// As RFC 3168 queues mean it: nearly as serious as a loss.
    Classic,
    /// As L4S queues (RFC 9331) mean it: the share of marks tells how serious.
    L4s,
}

/// What does not change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) ecn: EcnMode,
    pub(super) loss_beta: f64,
    pub(super) ecn_beta: f64,
    pub(super) delay_target_secs: f64,
}

/// What a report says of the path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathState {
    pub(super) smoothed_rtt: Duration,
    pub(super) delay_secs: f64,
    pub(super) average_delay_secs: f64,
    /// From 1, the delay is calm, to 0.
    pub(super) variation_headroom: f64,
    pub(super) l4s_alpha: f64,
    /// Most bytes in flight in the previous round trip, if any were.
    pub(super) most_in_flight_before: Option<f64>,
    /// Most bytes in flight in the present and the previous round trip.
    pub(super) most_in_flight: f64,
    /// The source may not go faster.
    pub(super) at_largest_bitrate: bool,
}

/// Why the window was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaction {
    Loss,
    Mark,
    Delay,
}

/// See the module. Sizes are in bytes.
#[derive(Debug, Clone)]
pub(super) struct ReferenceWindow {
    rules: Rules,
    window: f64,
    inflection: f64,
    grown: bool,
    lost: bool,
    marked: bool,
    last_reaction: Option<Instant>,
    last_congestion: Option<Instant>,
}

impl ReferenceWindow {
    pub(super) fn new(rules: Rules, window: f64) -> Self {
        Self {
            rules,
            window: window.max(LEAST_WINDOW),
            inflection: 1.0,
            grown: true,
            lost: false,
            marked: false,
            last_reaction: None,
            last_congestion: None,
        }
    }

    pub(super) fn bytes(&self) -> f64 {
        self.window
    }

    pub(super) fn inflection(&self) -> f64 {
        self.inflection
    }

    /// A segment as a part of the window, at most 1.
    pub(super) fn segment_ratio(&self) -> f64 {
        (SEGMENT / self.window).min(1.0)
    }

    /// Keeps the rate when the first measured round trip replaces a guess.
    pub(super) fn scale(&mut self, factor: f64) {
        self.window = (self.window * factor).max(LEAST_WINDOW);
    }

    /// Packets of a report were lost or marked: remembered until the window reacts.
    pub(super) fn note(&mut self, now: Instant, lost: bool, marked: bool) {
        let marked = marked && self.rules.ecn != EcnMode::Off;
        self.lost |= lost;
        self.marked |= marked;
        if lost || marked {
            self.last_congestion = Some(now);
        }
    }

    /// How far the window is from the inflection point: 0.1 there, 1 an eighth away or more.
    fn inflection_scale(&self) -> f64 {
        let distance = INFLECTION_SLOPE * (self.window - self.inflection) / self.inflection;
        (distance * distance).clamp(LEAST_INFLECTION_SCALE, 1.0)
    }

    /// Cuts the window if there is a reason and the last cut is long enough ago.
    pub(super) fn react(&mut self, now: Instant, path: &PathState) -> Option<Reaction> {
        let interval = VIRTUAL_RTT.min(path.smoothed_rtt);
        if self.last_reaction.is_some_and(|last| now.saturating_since(last) < interval) {
            return None;
        }
        let reaction = self.reason(path)?;
        if std::mem::take(&mut self.grown) {
            self.inflection = self.window;
        }
        match reaction {
            Reaction::Loss => self.window *= self.rules.loss_beta,
            Reaction::Mark if self.rules.ecn == EcnMode::L4s => self.cut_for_l4s(now, path),
            Reaction::Mark => self.window *= self.rules.ecn_beta,
            Reaction::Delay => {
                let virtual_alpha = self.virtual_alpha(path);
                self.window *= 1.0 - virtual_alpha / 2.0 / round_trips_per_virtual(path);
            }
        }
        self.window = self.window.max(LEAST_WINDOW);
        (self.lost, self.marked) = (false, false);
        (self.last_reaction, self.last_congestion) = (Some(now), Some(now));
        Some(reaction)
    }

    fn reason(&self, path: &PathState) -> Option<Reaction> {
        if self.lost {
            Some(Reaction::Loss)
        } else if self.marked {
            Some(Reaction::Mark)
        } else {
            (self.virtual_alpha(path) > 0.0).then_some(Reaction::Delay)
        }
    }

    /// The share of marks that an average delay stands for: 0 at half the target, 1 at the target.
    fn virtual_alpha(&self, path: &PathState) -> f64 {
        let half = self.rules.delay_target_secs / 2.0;
        ((path.average_delay_secs - half) / half).clamp(0.0, 1.0)
    }

    fn cut_for_l4s(&mut self, now: Instant, path: &PathState) {
        let mut backoff = path.l4s_alpha / 2.0 / round_trips_per_virtual(path);
        if path.delay_secs < self.rules.delay_target_secs / 4.0 {
            backoff *= self.inflection_scale_before_cut();
            backoff *= path.variation_headroom.max(LEAST_VARIATION_DAMPING);
        }
        // Long without congestion, the window may be far above what the source puts in flight.
        if since_in_round_trips(self.last_reaction, now, path) > CAUTIOUS_ROUND_TRIPS
            && let Some(most) = path.most_in_flight_before
        {
            self.window = self.window.min(most);
        }
        self.window *= 1.0 - backoff;
    }

    fn inflection_scale_before_cut(&self) -> f64 {
        self.inflection_scale().max(LEAST_INFLECTION_DAMPING)
    }

    /// Grows by what a report acknowledges, in bytes without a mark.
    pub(super) fn grow(&mut self, now: Instant, acknowledged_unmarked: f64, path: &PathState) {
        let limit = SEGMENT + IN_FLIGHT_HEADROOM * path.most_in_flight;
        let grown = self.window + self.increment(now, acknowledged_unmarked, path);
        if grown > self.window && grown <= limit && !path.at_largest_bitrate {
            self.window = grown;
            self.grown = true;
        }
    }

    fn increment(&self, now: Instant, acknowledged: f64, path: &PathState) -> f64 {
        let inflection_scale = self.inflection_scale();
        let calm = (since_in_round_trips(self.last_congestion, now, path) / CAUTIOUS_ROUND_TRIPS)
            .clamp(0.0, 1.0);
        let multiplicative = MULTIPLICATIVE_INCREASE * self.window / SEGMENT;
        acknowledged
            * self.segment_ratio()
            * (path.smoothed_rtt / VIRTUAL_RTT).min(1.0)
            * inflection_scale.max(LEAST_INFLECTION_DAMPING)
            * path.variation_headroom.max(LEAST_VARIATION_DAMPING)
            * (1.0 + multiplicative * calm * inflection_scale)
    }
}

/// As several reactions fit into a long round trip, each is the weaker for it.
fn round_trips_per_virtual(path: &PathState) -> f64 {
    (path.smoothed_rtt / VIRTUAL_RTT).max(1.0)
}

/// Time since an event in round trips (of at least the virtual RTT); without an event, for ever.
fn since_in_round_trips(event: Option<Instant>, now: Instant, path: &PathState) -> f64 {
    let round_trip = VIRTUAL_RTT.max(path.smoothed_rtt);
    event.map_or(f64::INFINITY, |event| now.saturating_since(event) / round_trip)
}

#[cfg(test)]
mod tests;
