//! The response to counted congestion marks.
//!
//! Source: Linux google/bbr v2alpha `net/ipv4/tcp_bbr2.c` (`bbr2_update_ecn_alpha` and what uses it),
//! and v3 `tcp_bbr.c` for the differences.
//! Model: a moving average of the marked share, as DCTCP's; a round with marks that was not probing
//! cuts the short-term bounds by a third of it; probing of which half was marked went too far; two
//! rounds of that end Startup.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | gain of the average, its first value | 1/16, 1 | `bbr_ecn_alpha_gain`, `bbr_ecn_alpha_init` |
//! | cut | a third of the average | `bbr_ecn_factor` |
//! | too many marks | half of the delivered | `bbr_ecn_thresh` |
//! | rounds of them that end Startup | 2 | `bbr_full_ecn_cnt` |
//! | longest minimum RTT | 5 ms: above it, marks are taken for those of RFC 3168 | `bbr_ecn_max_rtt_us` |
//!
//! | Deviation | Why |
//! |---|---|
//! | the marks of a sample's flight are found in a list of counts, not in each segment | other congestion controls need none |

use gameway_units::Duration;
use std::collections::VecDeque;

const ALPHA_GAIN: f64 = 1.0 / 16.0;
const ALPHA_FIRST: f64 = 1.0;
const FACTOR: f64 = 1.0 / 3.0;
const THRESHOLD: f64 = 0.5;
const STARTUP_ROUNDS: u32 = 2;
const MAX_RTT: Duration = Duration::from_millis(5);
const MAX_COUNTS: usize = 4096;
const MAX_REPROBE_ROUNDS: u32 = 30;

/// What versions 2 and 3 differ in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::congestion) struct EcnParameters {
    /// Whether marks bound the rate, and not only the flight.
    pub(in crate::congestion) bounds_bandwidth: bool,
    /// Share of the long-term flight by which a new probe grows in its first round, when a cycle had
    /// marks but no loss; zero: no such probe.
    pub(in crate::congestion) reprobe_gain: f64,
}

/// The bytes delivered by some time, and those of them that were marked.
#[derive(Debug, Clone, Copy)]
struct Count {
    delivered: u64,
    marked: u64,
}

/// State of the response.
#[derive(Debug, Clone)]
pub(in crate::congestion) struct EcnResponse {
    parameters: EcnParameters,
    alpha: f64,
    used: bool,
    marked: u64,
    counts: VecDeque<Count>,
    /// The latest count that left the list.
    forgotten: u64,
    /// Counts at the latest update of the average.
    round: Count,
    high_rounds: u32,
    in_round: bool,
    in_cycle: bool,
    /// Whether this probe had a sample that was not too high.
    safe_sample: bool,
    bandwidth_bound: f64,
}

impl EcnResponse {
    pub(in crate::congestion) fn new(parameters: EcnParameters) -> Self {
        Self {
            parameters,
            alpha: ALPHA_FIRST,
            used: false,
            marked: 0,
            counts: VecDeque::new(),
            forgotten: 0,
            round: Count { delivered: 0, marked: 0 },
            high_rounds: 0,
            in_round: false,
            in_cycle: false,
            safe_sample: false,
            bandwidth_bound: f64::INFINITY,
        }
    }

    /// Whether counted marks matter on this path.
    pub(in crate::congestion) fn is_used(&self) -> bool {
        self.used
    }

    /// `newly_marked` bytes arrived among the `delivered` of the connection.
    pub(in crate::congestion) fn on_ack(&mut self, newly_marked: u64, delivered: u64) {
        if newly_marked == 0 {
            return;
        }
        self.marked = self.marked.saturating_add(newly_marked);
        self.in_round = true;
        if self.counts.len() >= MAX_COUNTS {
            self.forget_first();
        }
        self.counts.push_back(Count { delivered, marked: self.marked });
    }

    /// A round starts: updates the average; whether marks say that Startup filled the pipe.
    pub(in crate::congestion) fn on_round(
        &mut self,
        delivered: u64,
        min_rtt: Option<Duration>,
    ) -> bool {
        let bytes = delivered.saturating_sub(self.round.delivered);
        if bytes == 0 {
            return false;
        }
        self.used |= self.marked > 0 && min_rtt.is_some_and(|rtt| rtt <= MAX_RTT);
        let share = self.marked.saturating_sub(self.round.marked) as f64 / bytes as f64;
        self.alpha = (self.alpha + ALPHA_GAIN * (share - self.alpha)).min(1.0);
        self.round = Count { delivered, marked: self.marked };
        let high = self.used && share >= THRESHOLD;
        self.high_rounds = if high { self.high_rounds.saturating_add(1) } else { 0 };
        self.high_rounds >= STARTUP_ROUNDS
    }

    /// The factor for the short-term bounds if the round had marks.
    pub(in crate::congestion) fn cut_of_round(&self) -> Option<f64> {
        (self.used && self.in_round).then(|| self.cut())
    }

    fn cut(&self) -> f64 {
        1.0 - self.alpha * FACTOR
    }

    pub(in crate::congestion) fn end_round(&mut self) {
        self.in_round = false;
    }

    pub(in crate::congestion) fn start_cycle(&mut self) {
        self.in_round = false;
        self.in_cycle = false;
    }

    pub(in crate::congestion) fn start_probe(&mut self) {
        self.safe_sample = false;
    }

    pub(in crate::congestion) fn bounds_bandwidth(&self) -> bool {
        self.parameters.bounds_bandwidth
    }

    fn forget_first(&mut self) {
        if let Some(count) = self.counts.pop_front() {
            self.forgotten = count.marked;
        }
    }

    /// Marked bytes by the time that `delivered` bytes were; forgets what came before.
    fn marked_at(&mut self, delivered: u64) -> u64 {
        while self.counts.front().is_some_and(|count| count.delivered <= delivered) {
            self.forget_first();
        }
        self.forgotten
    }

    /// Whether half of what was delivered since `prior_delivered` was marked.
    pub(in crate::congestion) fn is_too_high(
        &mut self,
        prior_delivered: u64,
        delivered: f64,
    ) -> bool {
        let marked = self.marked.saturating_sub(self.marked_at(prior_delivered)) as f64;
        self.in_cycle |= marked > 0.0;
        self.used && marked > 0.0 && marked >= delivered * THRESHOLD
    }

    /// A probe went too far, by losses or marks.
    pub(in crate::congestion) fn on_too_high(&mut self, max_bandwidth: f64) {
        if self.used && self.parameters.bounds_bandwidth && !self.safe_sample {
            let bound = self.bandwidth_bound;
            let bound = if bound.is_infinite() { max_bandwidth } else { bound };
            self.bandwidth_bound = bound * self.cut();
        }
    }

    /// A sample was not too high: its rate is safe.
    pub(in crate::congestion) fn on_safe_sample(&mut self, probing: bool, rate: f64) {
        self.safe_sample |= probing;
        self.bandwidth_bound = self.bandwidth_bound.max(rate);
    }

    /// Long-term bound of the rate; infinite if none was set.
    pub(in crate::congestion) fn bandwidth_bound(&self) -> f64 {
        self.bandwidth_bound
    }

    /// Where the growth of a new probe begins, in powers of two of segments, if marks ask for one
    /// now; `longterm` is the long-term flight in segments.
    pub(in crate::congestion) fn reprobe_rounds(&self, longterm: f64) -> Option<u32> {
        let wanted = self.used && self.in_cycle && self.parameters.reprobe_gain > 0.0;
        let growth = longterm * self.parameters.reprobe_gain;
        wanted.then(|| {
            (0..MAX_REPROBE_ROUNDS).take_while(|n| growth >= (2u64 << n) as f64).count() as u32
        })
    }
}
