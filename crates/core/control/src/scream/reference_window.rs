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
//! | virtual RTT | 25 ms | draft, C++; mimics Prague |
//! | inflection: least damping | 0.25 | draft, C++ |
//! | least damping of growth by delay variation | 0.1 | draft (an optional part, an option here), C++ |
//! | L4S: a long time without reaction | 100 round trips | draft, C++ |
//! | kept after loss, after a classic mark | 0.7, 0.8 (options) | draft; C++: 0.7, 0.9, and both 0.7 in its test tool |
//! | what differs between the versions | | [`super::version`] |
//!
//! | Deviation | Why |
//! |---|---|
//! | Draft: the inflection point is recorded at the first reaction after any growth, not at most every 10 RTTs | as libwebrtc; the editors' copy has the latter |
//! | Draft: a delay reaction counts as congestion for the caution after it | the draft's prose and libwebrtc; its pseudocode counts loss and marks only |
//! | L4S backoff is damped while the delay is *below* a quarter of the target | as the pseudocode's condition and the C++; the comment of the former says the reverse |
//! | Draft: at the largest bitrate the window just stops growing | its further limit by a history of what was in flight is defined in the C++ only |
//! | Reference: the window grows at each report, not at new frames and reactions only | the sum is the same |
//! | Reference: 100 round trips without reaction, not without congestion | one clock for both versions; every congestion that it knows is a reaction |

use super::VIRTUAL_RTT;
use super::inflection::{Inflection, Reacted};
use super::version::WindowRules;
use gameway_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Before a packet tells more, where it does.
const FIRST_SEGMENT: f64 = 1_000.0;
const MIN_INFLECTION_DAMPING: f64 = 0.25;
const MIN_VARIATION_DAMPING: f64 = 0.1;
/// Without a reaction for longer, the window may be far above what is in flight.
const LONG_ROUND_TRIPS: f64 = 100.0;

/// How to read a mark "congestion experienced".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// Ignore it.
    Off,
    /// As RFC 3168 queues mean it: nearly as serious as a loss.
    Classic,
    /// As L4S queues (RFC 9331) mean it: the share of marks tells how serious.
    L4s,
}

/// What the user sets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
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
    /// Every packet of late was marked, but round trips become shorter.
    pub(super) drains_already: bool,
    /// Most bytes in flight in the previous round trip, if any were.
    pub(super) max_in_flight_before: Option<f64>,
    /// Most bytes in flight in the present and the previous round trip.
    pub(super) max_in_flight: f64,
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
    rules: WindowRules,
    settings: Settings,
    window: f64,
    segment: f64,
    inflection: Inflection,
    lost: bool,
    marked: bool,
    last_reaction: Option<Instant>,
    last_congestion: Option<Instant>,
}

impl ReferenceWindow {
    pub(super) fn new(rules: WindowRules, settings: Settings, window: f64) -> Self {
        let mut made = Self {
            rules,
            settings,
            window,
            segment: rules.segment.unwrap_or(FIRST_SEGMENT),
            inflection: Inflection::new(rules.median_inflection),
            lost: false,
            marked: false,
            last_reaction: None,
            last_congestion: None,
        };
        made.keep_min();
        made
    }

    pub(super) fn bytes(&self) -> f64 {
        self.window
    }

    pub(super) fn inflection(&self) -> f64 {
        self.inflection.point()
    }

    pub(super) fn segment(&self) -> f64 {
        self.segment
    }

    /// A segment as a part of the window, at most 1.
    pub(super) fn segment_ratio(&self) -> f64 {
        (self.segment / self.window).min(1.0)
    }

    /// Packets are as large as this, measured anew or not.
    pub(super) fn on_segment(&mut self, largest: f64, anew: bool) {
        if self.rules.segment.is_none() {
            self.segment = largest;
            self.keep_min();
        }
        if anew {
            self.window = self.window.max(self.rules.min_segments_anew * self.segment);
        }
    }

    fn keep_min(&mut self) {
        let min = self.rules.min_bytes.max(self.rules.min_segments * self.segment);
        self.window = self.window.max(min);
    }

    /// Keeps the rate when the first measured round trip replaces a guess.
    pub(super) fn scale(&mut self, factor: f64) {
        self.window *= factor;
        self.keep_min();
    }

    /// It is not above this.
    pub(super) fn bound(&mut self, max: f64) {
        self.window = self.window.min(max);
        self.keep_min();
    }

    /// Packets of a report were lost or marked.
    pub(super) fn note(&mut self, now: Instant, lost: bool, marked: bool, path: &PathState) {
        let marked = marked && self.settings.ecn != EcnMode::Off;
        if self.rules.defers {
            self.lost |= lost;
            self.marked |= marked;
            if lost || marked {
                self.last_congestion = Some(now);
            }
        } else {
            self.lost = lost && self.reacted_longer_ago(now, path.smoothed_rtt);
            self.marked = marked;
        }
    }

    fn reacted_longer_ago(&self, now: Instant, span: Duration) -> bool {
        self.last_reaction.is_none_or(|last| now.saturating_since(last) >= span)
    }

    /// Cuts the window if there is a reason and the last cut is long enough ago.
    pub(super) fn react(&mut self, now: Instant, path: &PathState) -> Option<Reaction> {
        if !self.reacted_longer_ago(now, self.rules.reaction_interval.min(path.smoothed_rtt)) {
            return None;
        }
        let reaction = self.reason(path)?;
        if reaction == Reaction::Mark && path.drains_already && !self.rules.defers {
            self.last_reaction = Some(now);
            return None;
        }
        let before = self.inflection.scale(self.window);
        self.inflection.on_reaction(&Reacted {
            now,
            window: self.window,
            lost: reaction == Reaction::Loss,
            smoothed_rtt: path.smoothed_rtt,
            last_congestion: self.last_congestion,
        });
        match reaction {
            Reaction::Loss => self.window *= self.settings.loss_beta,
            Reaction::Mark if self.settings.ecn == EcnMode::L4s => {
                self.cut_for_l4s(now, before, path);
            }
            Reaction::Mark => self.window *= self.settings.ecn_beta,
            Reaction::Delay => {
                let round_trips = self.round_trips_per_reaction(path);
                let again = if self.rules.divides_delay_cut_twice { round_trips } else { 1.0 };
                self.window *= 1.0 - self.virtual_alpha(path) / 2.0 / round_trips / again;
            }
        }
        self.keep_min();
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
        let half = self.settings.delay_target_secs / 2.0;
        ((path.average_delay_secs - half) / half).clamp(0.0, 1.0)
    }

    /// As several reactions fit into a long round trip, each is the weaker for it.
    fn round_trips_per_reaction(&self, path: &PathState) -> f64 {
        (path.smoothed_rtt / self.rules.reaction_interval).max(1.0)
    }

    fn cut_for_l4s(&mut self, now: Instant, scale_before: f64, path: &PathState) {
        let mut backoff = path.l4s_alpha / 2.0 / self.round_trips_per_reaction(path);
        if path.delay_secs < self.settings.delay_target_secs / 4.0 {
            let scale = if self.rules.median_inflection {
                scale_before
            } else {
                self.inflection.scale(self.window)
            };
            backoff *= scale.max(MIN_INFLECTION_DAMPING);
            backoff *= path.variation_headroom.max(self.rules.min_damping_of_cut);
        }
        // Long without congestion, the window may be far above what the source puts in flight.
        if since_in_round_trips(self.last_reaction, now, VIRTUAL_RTT, path) > LONG_ROUND_TRIPS
            && let Some(max) = path.max_in_flight_before
        {
            self.window = self.window.min(max);
        }
        self.window *= 1.0 - backoff;
    }

    /// Grows by what a report acknowledges, in bytes without a mark.
    pub(super) fn grow(&mut self, now: Instant, acknowledged_unmarked: f64, path: &PathState) {
        let limit = self.segment + self.rules.in_flight_headroom * path.max_in_flight;
        let grown = self.window + self.increment(now, acknowledged_unmarked, path);
        if grown > self.window && grown <= limit && !path.at_largest_bitrate {
            self.window = grown;
            self.inflection.on_growth();
        }
    }

    fn increment(&self, now: Instant, acknowledged: f64, path: &PathState) -> f64 {
        let rules = &self.rules;
        let inflection_scale = self.inflection.scale(self.window);
        let since = since_in_round_trips(self.last_congestion, now, rules.cautious_min_rtt, path);
        let calm = (since / rules.cautious_round_trips).clamp(0.0, 1.0);
        let multiplicative = rules.multiplicative_increase * self.window / self.segment;
        acknowledged
            * self.segment_ratio()
            * (path.smoothed_rtt / VIRTUAL_RTT).min(1.0)
            * inflection_scale.max(MIN_INFLECTION_DAMPING)
            * path.variation_headroom.max(MIN_VARIATION_DAMPING)
            * (1.0 + multiplicative * calm * inflection_scale)
    }
}

/// Time since an event in round trips, of at least `min`; without an event, for ever.
fn since_in_round_trips(
    event: Option<Instant>,
    now: Instant,
    min: Duration,
    path: &PathState,
) -> f64 {
    let round_trip = min.max(path.smoothed_rtt);
    event.map_or(f64::INFINITY, |event| now.saturating_since(event) / round_trip)
}

#[cfg(test)]
mod tests;
