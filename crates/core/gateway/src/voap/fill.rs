//! Step "fill": windows change by what fits, at once, and not again before that is seen; newcomers get what is free.
//!
//! Model: `C` is what the link carried while packets waited ([`Full`]). Above beta all windows together give up
//! `C (wait - beta)`; then they wait two of the longest RTTs, and as long as the queue drains. Below alpha the cut has had its effect,
//! and they grow together by `C (beta - wait)`; then they wait one RTT. A newcomer's window is what of `C` the windows of
//! others do not give away, times beta and its RTT. Of a flow that begins while the link is full no RTT is known yet: beta
//! alone counts. A queue that stood for ten seconds is emptied once, so that what is taken for the path without a queue stays
//! that. A cut that takes rate and leaves the wait shows that what is measured is no queue of these flows ([`Trial`]).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | a queue drains | by a quarter of the period in it | ours: while senders stand still it drains by all of it |
//! | a queue stands | if what is read of it off the connections was never below 1 ms in 10 s | as BBR's window of the smallest RTT (draft-ietf-ccwg-bbr, MinRTTFilterLen) |
//! | it is emptied | by what waits, 2 ms and what two segments take | ours: what waits is known to a clock of stamps |
//! | alpha and beta | and what two segments take at `C` | RFC 5681 section 4.2: an acknowledgment lets two segments go, which wait for each other |
//! | gently: windows grow by at most | 3 ms at `C`, or a sixteenth of them, once packets waited less than alpha for half an RTT | ours: what windows grow by comes as a burst, and waits where a shaper ([`crate::Home`], mode `both`) wants nothing to wait |
//! | gently: windows differ by | up to half a segment | ours: senders use whole segments; twenty flows that all use one more at once are 12 ms of 20 Mb/s |
//! | gently: a share that is limited by its flow | four times its use, and up to what the windows of others leave of `C` | ours: a sender in slow start has doubled its use twice before it is known; the windows of all grow too slowly to follow it |
//! | least window of a newcomer | 10 segments | RFC 6928 section 2: what it may begin with |

use super::full::Full;
use super::trial::Trial;
use super::{Control, Voap};
use crate::Direction;
use crate::arrival_rate::ArrivalRate;
use gameway_units::{Duration, Instant};

const EMPTY: Duration = Duration::from_millis(1);
const MAX_STANDING: Duration = Duration::from_secs(10);
/// In seconds, for links of 230 kb/s and less.
const MAX_PAIR: f64 = 0.1;
const GENTLE: Duration = Duration::from_millis(3);
const GENTLE_PART: f64 = 16.0;
const BELOW_EMPTY: Duration = Duration::from_millis(2);

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub(super) struct Fill {
    settling_until: Instant,
    growing_until: Instant,
    /// Of the period before.
    wait: Duration,
    /// When packets waited longer than alpha last.
    low_since: Instant,
    /// When the queue was empty last, or was to be.
    empty_at: Instant,
    pub(super) full: Full,
    came: ArrivalRate,
    /// The queue is being emptied; windows are to be as before then.
    empties: bool,
    /// The cut that settles.
    trial: Option<Trial>,
    /// A cut has shown that what is measured is no queue.
    pub(super) refuted: bool,
    /// What the windows give away, in bytes per second.
    pub(super) given: f64,
}

impl Fill {
    /// Nothing is under control any more: what was cut shows nothing, and no window is to be as before.
    pub(super) fn start_over(&mut self) {
        (self.trial, self.empties, self.refuted) = (None, false, false);
    }

    /// A flow comes that was not under control; it is left alone while the link was not full lately.
    pub(super) fn admit(&mut self, now: Instant, data: &mut Direction<Control>, beta: Duration) {
        if let Some(rate) = self.full.rate(now) {
            Control::admit(data, (rate - self.given).max(0.0), beta);
            self.given += Control::rate(data, beta);
        }
    }
}

impl Voap {
    /// How long the link takes for what an acknowledgment lets go.
    fn pair(&mut self, rate: f64) -> Duration {
        let segment = self.active().map(|data| data.segment_size()).max().unwrap_or(0);
        let seconds = 2.0 * f64::from(segment) / rate.max(1.0);
        Duration::from_secs_f64(seconds.min(MAX_PAIR))
    }

    /// A period has ended; see the module's head.
    pub(super) fn fill(&mut self, now: Instant) {
        self.fill.came.on_period(now, self.left);
        // While packets wait, what comes is what the link carries, also after it has changed.
        let full = self.fill.full.rate(now).filter(|_| self.measured < self.config.beta);
        let rate = full.unwrap_or(0.0).max(self.came(now));
        let pair = self.pair(rate);
        let (alpha, beta) = (self.config.alpha + pair, self.config.beta + pair);
        let waits = self.measured >= alpha;
        for data in self.active() {
            if waits {
                data.state.come_down();
            }
            // A flow that was silent has used nothing; it needs a window to begin anew.
            data.state.grow(0.0, f64::from(data.segment_size()));
        }
        if self.grows_gently {
            for (number, data) in self.active().enumerate() {
                data.state.spread(number, f64::from(data.segment_size()));
            }
        }
        if self.active().next().is_none() {
            (self.fill.wait, self.fill.empty_at) = (self.measured, now);
        } else if !self.has_tried(now, beta)
            && let Some(aim) = self.aim(now, alpha, beta, pair)
        {
            let bytes = rate * (aim - self.measured).as_secs_f64();
            let max = self.max_growth(rate);
            self.change(now, bytes.min(max));
        }
    }

    /// By how many bytes all windows together may grow at once.
    fn max_growth(&mut self, rate: f64) -> f64 {
        if !self.grows_gently {
            return f64::INFINITY;
        }
        let total: f64 = self.active().map(|data| data.state.window()).sum();
        (rate * GENTLE.as_secs_f64()).max(total / GENTLE_PART)
    }

    /// What a cut that has settled shows; gives whether that is all for this period.
    fn has_tried(&mut self, now: Instant, beta: Duration) -> bool {
        if self.period_start < self.fill.settling_until {
            return false;
        }
        let Some(trial) = self.fill.trial.take() else { return false };
        let round = self.round();
        let after = self.fill.came.rate(now, round);
        self.fill.refuted = trial.refutes((self.measured, self.in_front), after);
        if std::mem::take(&mut self.fill.empties) {
            self.active().for_each(|data| data.state.restore());
            // It fills again in a round trip, and is seen in another.
            self.fill.growing_until = now.saturating_add((round + beta) * 2);
            return true;
        }
        self.fill.refuted
    }

    /// What packets are to wait; `None`: what was changed is not yet seen, or nothing is to change.
    fn aim(
        &mut self,
        now: Instant,
        alpha: Duration,
        beta: Duration,
        pair: Duration,
    ) -> Option<Duration> {
        let (wait, round) = (self.measured, self.round());
        let before = std::mem::replace(&mut self.fill.wait, wait);
        if wait >= alpha {
            self.fill.low_since = now;
        }
        let drains = wait + self.config.period / 4 < before;
        let settled = self.period_start >= self.fill.settling_until;
        let grown = self.period_start >= self.fill.growing_until;
        if self.in_front < EMPTY {
            self.fill.empty_at = now;
        }
        if settled && now.saturating_since(self.fill.empty_at) >= MAX_STANDING {
            self.active().for_each(|data| data.state.save());
            (self.fill.empties, self.fill.empty_at) = (true, now);
            self.fill.settling_until = now.saturating_add(round * 2);
            return Some(Duration::ZERO - BELOW_EMPTY - pair);
        }
        if wait > beta && settled && !drains {
            self.fill.settling_until = now.saturating_add(round * 2);
            return Some(beta);
        }
        let lasts = !self.grows_gently || now.saturating_since(self.fill.low_since) >= round / 2;
        let grows = wait < alpha && lasts && grown && !self.fill.empties;
        if grows {
            // The queue has gone: what was cut has had its effect.
            (self.fill.settling_until, self.fill.trial) = (now, None);
            self.fill.growing_until = now.saturating_add(round);
        }
        grows.then_some(beta)
    }

    /// All windows together change by `bytes`, each in proportion.
    fn change(&mut self, now: Instant, bytes: f64) {
        let total: f64 = self.active().map(|data| data.state.window()).sum();
        let gently = self.grows_gently;
        for data in self.active() {
            let segment = f64::from(data.segment_size());
            let whole = bytes > 0.0 && !gently;
            let min = if whole { segment } else { f64::NEG_INFINITY };
            data.state.grow((bytes * data.state.window() / total).max(min), segment);
        }
        // Also where nothing comes, so that nothing can be cut: what is being emptied has an end.
        if bytes <= 0.0 {
            let left: f64 = self.active().map(|data| data.state.window()).sum();
            let round = self.round();
            let rate = self.fill.came.rate(now, round);
            self.fill.trial = Some(Trial::new((self.measured, self.in_front), rate, total, left));
        }
    }
}
