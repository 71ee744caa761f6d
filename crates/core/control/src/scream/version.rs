//! The rules of the two published versions of SCReAM 2: the draft and Ericsson's programs.
//!
//! Sources: draft-ietf-ccwg-rfc8298bis-screamv2 (working group version -00, the text of the editors' copy at 00d8f51), and
//! Ericsson's C++ (github.com/EricssonResearch/scream: `ScreamV2Tx`, `ScreamV2TxStream`, `ScreamRx`, the test tool
//! `scream_sender`), read at 0208f59 of November 2025 and, for what changed in January and March 2026, in the public copy
//! 5G-VCA-CC/scream at d2b1fbd. Constants are those with which the test tool makes its sender.
//!
//! | What | draft | reference | where in the C++ |
//! |---|---|---|---|
//! | segment (MSS) | 1000 B | the largest packet of the last one to two seconds | `addTransmitted`, `getMss` |
//! | least window | 3000 B | 2 segments; 3 at each measurement of the segment, once a second | `addTransmitted`, `isOkToTransmit` (`kMinCwndMss`) |
//! | reactions are apart | 25 ms, or the smoothed RTT if less | 30 ms | `kMinCongestionBackOffInterval_ntp` |
//! | marks and losses sooner than that | wait for the next reaction | count in alpha only; losses for a whole RTT | `incomingStandardizedFeedback`, `detectLoss` |
//! | cut for marks and delay at a long RTT | over RTT / 25 ms | over RTT / 30 ms, that for delay twice | `updateCwnd`, `virtualL4sAlpha` |
//! | all marked while the RTT falls | a reaction | none | `incomingStandardizedFeedback` |
//! | inflection point | the window at the first reaction after growth | median of three windows, one for each RTT (loss: 0.5 s) with a reaction | `updateCwndI` |
//! | distance to it, for the cut | from the new point | from the one before | `updateCwnd` |
//! | cut is damped by varying delay | to 0.1 at least | to 0.25 at least | `updateCwnd` |
//! | multiplicative increase | 0.02 | 0.05 | `-mulincrease` |
//! | cautious after congestion | 100 RTTs of 25 ms or more | 200 RTTs | `kPostCongestionDelayRtts` |
//! | window over what is in flight | 1.5 | 2 | `-inflightheadroom` |
//! | maxima in flight | per RTT of 25 ms or more | per 50 ms | `kSlowUpdateInterval_ntp` |
//! | near the largest bitrate (0.95) | nothing | the window is at most what was in flight in the last second, or 1.5 times what that bitrate needs | `updateCwnd` |
//! | in flight over the window | 1.5 to 3 | 1.5 to 5, and a segment | `-maxwindowheadroom`, `isOkToTransmit` |
//! | alpha at the start | 0 | 0.1 | constructor |
//! | smoothed RTT | gain 1/8 per report | that, and 1/8 of it once per RTT | `markAcked` |
//! | queueing delay is averaged | as it is | less an average of its minima (100 RTTs each) | `queueDelayMinAvg` |
//! | delay varies | beyond 6.25 ms, in 25 ms | beyond 10 ms, in 10 ms; at most 0.2, at the start 0.05 | `queueDelayDev`, `kDefaultEstimatedJitter` |
//! | target | over 1.2 and more for waits and uneven frames | over 1.1, and the RTT 1 ms longer | `updateCwnd` |
//! | pacing | 1.5, relaxed near the largest bitrate | 1.5, and up to 1.5 times that as a frame exceeds its nominal size | `newMediaFrame`, `updateCwnd` |
//! | packets leave | one by one | in bursts of 0.5 ms | `-microburstinterval` |
//! | a standing queue | stays | each minute the rate is halved for 5 RTTs, 100 ms at least, and the base delay measured anew, if the minima are above an eighth of the delay target | `getTargetBitrate` |
//! | reports | each 5 ms | at the end of each frame, and within it | `ScreamRx` |

use gameway_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose rules a controller keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScreamVersion {
    /// The draft's.
    #[default]
    Draft,
    /// Those of Ericsson's programs.
    Reference,
}

impl ScreamVersion {
    /// Its rules.
    pub(super) const fn rules(self) -> &'static Rules {
        match self {
            Self::Draft => &DRAFT,
            Self::Reference => &REFERENCE,
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Draft => Self::Reference,
            Self::Reference => Self::Draft,
        }
    }
}

/// What tells the versions apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rules {
    pub(super) window: WindowRules,
    pub(super) delay: DelayRules,
    pub(super) media: MediaRules,
    /// Alpha before any mark.
    pub(super) first_alpha: f64,
    /// Updates of alpha keep to a schedule; else each is an interval after the one before.
    pub(super) alpha_keeps_schedule: bool,
    /// The smoothed RTT is smoothed again, once per RTT.
    pub(super) rtt_twice: bool,
    /// Maxima in flight are those of such a time; if not given, of a round trip.
    pub(super) in_flight_round: Option<Duration>,
    /// How far what is in flight may exceed the window while the delay is calm.
    pub(super) max_overhead: f64,
    /// And by how many segments more.
    pub(super) overhead_segments: f64,
    /// A standing queue is drained now and then.
    pub(super) drains: bool,
    /// The receiver reports at this interval; if not given, at the end of each frame.
    pub(super) report_interval: Option<Duration>,
}

/// Of the reference window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WindowRules {
    /// A segment, in bytes; if not given, the largest packet of late.
    pub(super) segment: Option<f64>,
    /// The least window in bytes, and in segments: the larger holds.
    pub(super) min_bytes: f64,
    pub(super) min_segments: f64,
    /// The least window, in segments, whenever the segment is measured anew.
    pub(super) min_segments_anew: f64,
    /// Least time between reactions, unless a round trip is shorter; cuts are over the RTT in units of this.
    pub(super) reaction_interval: Duration,
    /// What comes sooner waits for the next reaction.
    pub(super) defers: bool,
    /// The cut for delay is divided by the RTT in units of the above twice.
    pub(super) divides_delay_cut_twice: bool,
    /// The inflection point is the median of three; else the window at the first reaction after growth.
    pub(super) median_inflection: bool,
    /// Varying delay damps the cut to no less than this.
    pub(super) min_damping_of_cut: f64,
    /// Share of the window per round trip.
    pub(super) multiplicative_increase: f64,
    /// Round trips after congestion until that is whole again.
    pub(super) cautious_round_trips: f64,
    /// How long such a round trip is at least.
    pub(super) cautious_min_rtt: Duration,
    /// The window may grow to this multiple of what is in flight.
    pub(super) in_flight_headroom: f64,
    /// Near the largest bitrate the window is bounded.
    pub(super) bounded_at_largest: bool,
}

/// Of the queueing delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DelayRules {
    /// Least time between updates, unless a round trip is shorter.
    pub(super) interval: Duration,
    /// An average of the minima counts as empty queue.
    pub(super) less_minima: bool,
    /// Unit and margin of the variation, in seconds.
    pub(super) unit_secs: f64,
    pub(super) margin_secs: f64,
    /// The variation at the start, and its cap; if no cap is given, each sample is capped.
    pub(super) first_variation: f64,
    pub(super) max_variation: Option<f64>,
}

/// Of the target bitrate and the pacing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MediaRules {
    pub(super) divisor: f64,
    /// The divisor grows with waits and uneven frames.
    pub(super) corrected: bool,
    /// Added to the RTT, and the most that counts then.
    pub(super) rtt_margin: Duration,
    pub(super) max_rtt: Duration,
    /// Pacing follows the frames' sizes; else it is relaxed near the largest bitrate.
    pub(super) paces_by_size: bool,
    /// Packets of such a time leave at once.
    pub(super) burst: Duration,
}

const DRAFT: Rules = Rules {
    window: WindowRules {
        segment: Some(1_000.0),
        min_bytes: 3_000.0,
        min_segments: 0.0,
        min_segments_anew: 0.0,
        reaction_interval: Duration::from_millis(25),
        defers: true,
        divides_delay_cut_twice: false,
        median_inflection: false,
        min_damping_of_cut: 0.1,
        multiplicative_increase: 0.02,
        cautious_round_trips: 100.0,
        cautious_min_rtt: Duration::from_millis(25),
        in_flight_headroom: 1.5,
        bounded_at_largest: false,
    },
    delay: DelayRules {
        interval: Duration::from_millis(25),
        less_minima: false,
        unit_secs: 0.025,
        margin_secs: 0.025 / 4.0,
        first_variation: 0.0,
        max_variation: None,
    },
    media: MediaRules {
        divisor: 1.2,
        corrected: true,
        rtt_margin: Duration::ZERO,
        max_rtt: Duration::MAX,
        paces_by_size: false,
        burst: Duration::ZERO,
    },
    first_alpha: 0.0,
    alpha_keeps_schedule: true,
    rtt_twice: false,
    in_flight_round: None,
    max_overhead: 3.0,
    overhead_segments: 0.0,
    drains: false,
    report_interval: Some(Duration::from_millis(5)),
};

const REFERENCE: Rules = Rules {
    window: WindowRules {
        segment: None,
        min_bytes: 0.0,
        min_segments: 2.0,
        min_segments_anew: 3.0,
        reaction_interval: Duration::from_millis(30),
        defers: false,
        divides_delay_cut_twice: true,
        median_inflection: true,
        min_damping_of_cut: 0.25,
        multiplicative_increase: 0.05,
        cautious_round_trips: 200.0,
        cautious_min_rtt: Duration::ZERO,
        in_flight_headroom: 2.0,
        bounded_at_largest: true,
    },
    delay: DelayRules {
        interval: Duration::from_millis(30),
        less_minima: true,
        unit_secs: 0.01,
        margin_secs: 0.01,
        first_variation: 0.05,
        max_variation: Some(0.2),
    },
    media: MediaRules {
        divisor: 1.1,
        corrected: false,
        rtt_margin: Duration::from_millis(1),
        max_rtt: Duration::from_millis(200),
        paces_by_size: true,
        burst: Duration::from_micros(500),
    },
    first_alpha: 0.1,
    alpha_keeps_schedule: false,
    rtt_twice: true,
    in_flight_round: Some(Duration::from_millis(50)),
    max_overhead: 5.0,
    overhead_segments: 1.0,
    drains: true,
    report_interval: None,
};
