//! The inflection point: the window at which congestion last began.
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2, "Reference Window Update"; Ericsson's `ScreamV2Tx::updateCwndI` and
//! `updateCwnd`.
//!
//! Model: the draft takes the window at the first reaction after any growth. The reference takes the median of three such
//! windows, at most one for each round trip (0.5 s for losses); after five round trips without a reaction the next median is
//! of that window alone.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | scale: slope, least | 8, 0.1 | draft, C++ |
//! | losses are apart | 0.5 s | C++ (32768 in units of 2^-16 s) |
//! | long ago | 5 round trips | C++ |

use gameway_units::{Duration, Instant};

const SLOPE: f64 = 8.0;
const MIN_SCALE: f64 = 0.1;
const LOSSES_APART: Duration = Duration::from_millis(500);
const LONG_AGO_ROUND_TRIPS: f64 = 5.0;

/// A reaction of the window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reacted {
    pub(super) now: Instant,
    pub(super) window: f64,
    /// For a loss, not for a mark or for delay.
    pub(super) lost: bool,
    pub(super) smoothed_rtt: Duration,
    pub(super) last_congestion: Option<Instant>,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Inflection {
    point: f64,
    rule: Rule,
}

#[derive(Debug, Clone)]
enum Rule {
    AfterGrowth { grown: bool },
    Median { latest: [f64; 3], next: usize, updated: Option<Instant> },
}

impl Inflection {
    pub(super) fn new(median: bool) -> Self {
        let rule = if median {
            Rule::Median { latest: [0.0; 3], next: 0, updated: None }
        } else {
            Rule::AfterGrowth { grown: true }
        };
        Self { point: 1.0, rule }
    }

    pub(super) fn point(&self) -> f64 {
        self.point
    }

    /// How far a window is from it: 0.1 there, 1 an eighth away or more.
    pub(super) fn scale(&self, window: f64) -> f64 {
        let distance = SLOPE * (window - self.point) / self.point;
        (distance * distance).clamp(MIN_SCALE, 1.0)
    }

    pub(super) fn on_growth(&mut self) {
        if let Rule::AfterGrowth { grown } = &mut self.rule {
            *grown = true;
        }
    }

    pub(super) fn on_reaction(&mut self, reacted: &Reacted) {
        match &mut self.rule {
            Rule::AfterGrowth { grown } => {
                if std::mem::take(grown) {
                    self.point = reacted.window;
                }
            }
            Rule::Median { latest, next, updated } => {
                let apart = if reacted.lost { LOSSES_APART } else { reacted.smoothed_rtt };
                if updated.is_some_and(|last| reacted.now.saturating_since(last) <= apart) {
                    return;
                }
                *updated = Some(reacted.now);
                self.point = median_with(latest, next, reacted.window);
                if !reacted.lost && long_ago(reacted) {
                    *latest = [reacted.window; 3];
                }
            }
        }
    }
}

fn long_ago(reacted: &Reacted) -> bool {
    let long = reacted.smoothed_rtt.mul_f64(LONG_AGO_ROUND_TRIPS);
    reacted.last_congestion.is_none_or(|last| reacted.now.saturating_since(last) > long)
}

fn median_with(latest: &mut [f64; 3], next: &mut usize, window: f64) -> f64 {
    if latest[0] <= 0.0 {
        *latest = [window; 3];
    }
    latest[*next] = window;
    *next = (*next + 1) % latest.len();
    let mut sorted = *latest;
    sorted.sort_by(f64::total_cmp);
    sorted[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn react(point: &mut Inflection, millis: i64, window: f64, lost: bool, before: i64) -> f64 {
        point.on_reaction(&Reacted {
            now: at(millis),
            window,
            lost,
            smoothed_rtt: Duration::from_millis(40),
            last_congestion: Some(at(before)),
        });
        point.point()
    }

    fn close(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-9, "{left} {right}");
    }

    #[test]
    fn the_drafts_is_the_window_at_the_first_reaction_after_growth() {
        let mut point = Inflection::new(false);
        close(react(&mut point, 0, 100.0, false, 0), 100.0);
        close(react(&mut point, 25, 90.0, false, 0), 100.0);
        point.on_growth();
        close(react(&mut point, 50, 80.0, true, 25), 80.0);
        close(point.scale(80.0), 0.1);
        close(point.scale(85.0), 0.25);
        close(point.scale(70.0), 1.0);
    }

    #[test]
    fn the_references_is_the_median_of_three_a_round_trip_apart() {
        let mut point = Inflection::new(true);
        close(react(&mut point, 0, 100.0, false, 0), 100.0);
        close(react(&mut point, 40, 60.0, false, 0), 100.0); // too soon: nothing is noted
        close(react(&mut point, 41, 60.0, false, 0), 100.0); // 100, 60, 100
        close(react(&mut point, 82, 70.0, false, 41), 70.0); // 100, 60, 70 if noted in turn
        close(react(&mut point, 130, 90.0, true, 82), 70.0); // a loss half a second after at the soonest
        close(react(&mut point, 583, 90.0, true, 500), 70.0); // 90, 60, 70
        // Long after: the median is still of the old ones, the next one of this window alone.
        close(react(&mut point, 800, 50.0, false, 583), 70.0); // 90, 50, 70
        close(react(&mut point, 841, 55.0, false, 800), 50.0); // 50, 50, 55
    }
}
