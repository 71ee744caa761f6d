//! What the versions of the one body differ in, and the constants that they share.
//!
//! Sources: draft-ietf-ccwg-bbr-06, by section; where it is silent Linux google/bbr v3 `tcp_bbr.c`.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | window gain, pacing gain of UP | 2, 1.25 | sections 5.6.1, 5.3.3.5 |
//! | loss threshold, beta, headroom | 2 %, 0.7, 15 % | section 2.8 |
//! | least window | 4 segments | section 2.8 |
//! | full pipe | 3 rounds that gain less than 25 % | section 5.3.1.2 |
//! | wait between probes | 2 s + uniform 0 to 1 s, at most 63 rounds less 0 or 1, or as many as the BDP has segments | section 5.3.3.8 |
//! | ProbeRTT | every 5 s, 200 ms and a round, half a BDP | section 2.16.2 |
//! | minimum RTT window | 10 s | section 2.16.1 |
//! | pacing margin | -1 % | section 5.6.2 |
//! | send quantum | 1 ms of pacing, 2 segments to 64 kB; 3 of them fit in any window | sections 5.6.3, 5.5.8.1 |

use super::ecn::EcnParameters;
use gameway_units::Duration;

pub(super) const WINDOW_GAIN: f64 = 2.0;
pub(super) const UP_PACING_GAIN: f64 = 1.25;
pub(super) const LOSS_THRESHOLD: f64 = 0.02;
pub(super) const BETA: f64 = 0.7;
pub(super) const HEADROOM: f64 = 0.15;
pub(super) const MIN_SEGMENTS: f64 = 4.0;
pub(super) const FULL_PIPE_GROWTH: f64 = 1.25;
pub(super) const FULL_PIPE_ROUNDS: u32 = 3;
pub(super) const MAX_PROBE_ROUNDS: f64 = 63.0;
pub(super) const MAX_UP_ROUNDS: u32 = 30;
pub(super) const PROBE_WAIT: Duration = Duration::from_secs(2);
pub(super) const PROBE_WAIT_SPREAD_NANOS: u64 = 1_000_000_000;
pub(super) const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
pub(super) const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
pub(super) const PROBE_RTT_GAIN: f64 = 0.5;
pub(super) const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
pub(super) const PACING_MARGIN: f64 = 0.99;
pub(super) const RTT_BEFORE_ANY_SAMPLE: Duration = Duration::from_millis(1);

/// When probing for bandwidth ends, unless losses or marks end it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::congestion) enum UpEnd {
    /// The delivery rate grows no more.
    Plateau,
    /// A minimum RTT has passed and that multiple of the BDP is in flight.
    Flight(f64),
}

/// What a version is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::congestion) struct Parameters {
    /// Its name in experiment files.
    pub(in crate::congestion) name: &'static str,
    pub(in crate::congestion) startup_pacing_gain: f64,
    /// Of Startup and Drain.
    pub(in crate::congestion) startup_window_gain: f64,
    pub(in crate::congestion) drain_pacing_gain: f64,
    /// Rounds after which Drain ends in any case.
    pub(in crate::congestion) drain_rounds: Option<u64>,
    pub(in crate::congestion) down_pacing_gain: f64,
    pub(in crate::congestion) up_window_gain: f64,
    pub(in crate::congestion) up_end: UpEnd,
    pub(in crate::congestion) probe_rtt_window_gain: f64,
    /// Lost ranges in a round that end Startup.
    pub(in crate::congestion) startup_lost_ranges: u32,
    /// Lost ranges in a round from which on a probe is judged.
    pub(in crate::congestion) probe_lost_ranges: u32,
    /// Whether what was delivered in the last round bounds the flight left after such an end.
    pub(in crate::congestion) keeps_latest_after_startup: bool,
    /// Whether the full pipe is seen in the filtered bandwidth instead of the latest sample.
    pub(in crate::congestion) plateau_of_filter: bool,
    /// Whether acknowledgments count towards a larger flight while the window is not used up.
    pub(in crate::congestion) keeps_unused_credit: bool,
    /// Whether an ACK, and not only a lost segment, can tell that probing went too far.
    pub(in crate::congestion) judges_acks: bool,
    /// Whether a spurious loss returns to the state that it ended.
    pub(in crate::congestion) returns_to_state: bool,
    /// Whether marks that say no more than that there are any count as loss.
    pub(in crate::congestion) classic_marks: bool,
    pub(in crate::congestion) ecn: EcnParameters,
}

/// Version 3.
pub(super) const VERSION_3: Parameters = Parameters {
    name: "bbr3",
    startup_pacing_gain: 2.77,
    startup_window_gain: 2.0,
    drain_pacing_gain: 0.5,
    drain_rounds: Some(3),
    down_pacing_gain: 0.9,
    up_window_gain: 2.25,
    up_end: UpEnd::Plateau,
    probe_rtt_window_gain: 0.5,
    startup_lost_ranges: 6,
    probe_lost_ranges: 1,
    keeps_latest_after_startup: true,
    plateau_of_filter: false,
    keeps_unused_credit: true,
    judges_acks: false,
    returns_to_state: true,
    classic_marks: true,
    ecn: EcnParameters { bounds_bandwidth: false, reprobe_gain: 0.5 },
};
