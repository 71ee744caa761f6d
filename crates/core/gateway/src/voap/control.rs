//! What VoAP keeps for each flow, and what a period does to it.

use super::{Fairness, Leftover, Newcomers, VoapConfig};
use crate::Direction;
use gameway_units::{Duration, Instant};

/// More than this over the last period is slow start.
const SLOW_START_GROWTH: f64 = 1.25;
/// A share that is limited by the flow is larger than its use by this.
const OVERSIZE: f64 = 1.1;
/// A flow in slow start doubles its window with each round.
const SLOW_START: f64 = 2.0;
/// It has done so twice until its use is known.
const SLOW_START_TWICE: f64 = 4.0;
const MIN_SEGMENTS: f64 = 2.0;
/// Multiples of it fall evenly between whole numbers, however many there are.
const GOLDEN_RATIO: f64 = 0.618_033_988_749_895;
const HALF: f64 = 0.5;
/// The initial window of a sender.
const INITIAL_SEGMENTS: f64 = 10.0;

/// Where the measured delay lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Band {
    Below,
    Within,
    Above,
}

impl Band {
    pub(super) fn of(delay: Duration, alpha: Duration, beta: Duration) -> Self {
        if delay < alpha {
            Self::Below
        } else if delay > beta {
            Self::Above
        } else {
            Self::Within
        }
    }
}

/// Whether a flow takes part in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Part {
    /// It does not.
    #[default]
    None,
    /// It sends.
    Active,
    /// It has stopped: for the last time.
    Leaving,
}

/// Parts of a memory, each the largest of a span.
const PARTS: usize = 16;

/// The largest of the estimates within a memory: exact while it holds as many periods as parts, else to a part.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    values: [f64; PARTS],
    next: usize,
    /// Periods in the newest part.
    filled: usize,
}

impl Recent {
    /// The largest of the last `periods` with this one.
    fn with(&mut self, value: f64, periods: usize) -> f64 {
        let periods = periods.max(1);
        let each = periods.div_ceil(PARTS);
        if self.filled >= each || self.filled == 0 {
            self.next = (self.next + 1) % PARTS;
            (self.values[self.next], self.filled) = (0.0, 0);
        }
        self.filled += 1;
        self.values[self.next] = self.values[self.next].max(value);
        let last = (0..periods.div_ceil(each)).map(|age| (self.next + PARTS - age) % PARTS);
        last.map(|place| self.values[place]).fold(0.0, f64::max)
    }
}

/// The state of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Control {
    /// VoAPactive of the paper: whether it is under control.
    active: bool,
    slow_start: bool,
    part: Part,
    in_need: bool,
    /// The advertised window, bytes.
    window: f64,
    /// What is told beyond it, bytes: senders use whole segments, and are not to use one more all at the same time.
    spread: f64,
    /// The window from before the queue was emptied.
    saved: Option<f64>,
    /// Of the congestion window, bytes; `None` before the first.
    estimate: Option<f64>,
    recent: Recent,
    /// Whether it used its window to the last segment.
    used_up: bool,
}

impl Control {
    /// What the gateway tells the sender at most; `None` while the flow is left alone.
    pub(super) fn wanted(&self) -> Option<u64> {
        self.active.then_some((self.window + self.spread).max(0.0) as u64)
    }

    /// Whether it is under control.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// The advertised window in bytes, if it is under control.
    #[must_use]
    pub fn window(&self) -> f64 {
        self.window
    }

    /// The estimate of its congestion window in bytes.
    #[must_use]
    pub fn estimate(&self) -> Option<f64> {
        self.estimate
    }

    pub(super) fn part(&self) -> Part {
        self.part
    }

    pub(super) fn is_in_need(&self) -> bool {
        self.in_need
    }

    /// From end to end and back, at its smallest.
    pub(super) fn rtt(data: &Direction<Self>) -> Option<Duration> {
        Some(data.sender_loop()? + data.receiver_loop()?)
    }

    /// By what windows are divided to be compared.
    pub(super) fn weight(data: &Direction<Self>, fairness: Fairness) -> f64 {
        let rtt = Self::rtt(data).filter(|_| fairness == Fairness::Rates);
        rtt.map_or(1.0, |rtt| rtt.as_secs_f64().max(1e-3))
    }

    /// What its window gives it while packets wait for `wait`, in bytes per second.
    pub(super) fn rate(data: &Direction<Self>, wait: Duration) -> f64 {
        let round = Self::rtt(data).unwrap_or_default().saturating_add(wait);
        data.state.window / round.as_secs_f64().max(1e-3)
    }

    /// Whether it sends and never was under control.
    pub(super) fn is_new(data: &Direction<Self>) -> bool {
        !data.state.active && data.is_in_queue()
    }

    /// It comes under control with what is free, bytes per second, but no less than it may begin with.
    pub(super) fn admit(data: &mut Direction<Self>, free: f64, wait: Duration) {
        let round = Self::rtt(data).unwrap_or_default().saturating_add(wait);
        let initial = INITIAL_SEGMENTS * f64::from(data.segment_size());
        let state = &mut data.state;
        state.active = true;
        state.window = initial.max(free * round.as_secs_f64());
    }

    /// What the flow did in the period that ends now; `waits_out`: its acknowledgments may wait on their way to the sender.
    pub(super) fn observe(
        data: &mut Direction<Self>,
        now: Instant,
        config: &VoapConfig,
        waits_out: bool,
    ) {
        let VoapConfig { period, leftover, .. } = *config;
        let periods = (config.memory.as_nanos() / period.as_nanos().max(1)).unsigned_abs() as usize;
        let last = data.last_round().filter(|_| waits_out);
        let rtt = Self::rtt(data).max(last).unwrap_or_default();
        let recent = |at| now.saturating_since(at) <= period.max(rtt * 2);
        let sends = data.is_in_queue() && data.last_data().is_some_and(recent);
        let fresh = data.take_estimate().map(|bytes| bytes as f64);
        let all_but_a_segment = data.in_units(data.state.window) - f64::from(data.segment_size());
        let state = &mut data.state;
        state.in_need = false;
        let was = state.part;
        state.part = match was {
            _ if sends && (fresh.is_some() || state.estimate.is_some()) => Part::Active,
            Part::Active if leftover == Leftover::HandedOn => Part::Leaving,
            _ => Part::None,
        };
        if state.part == Part::Leaving {
            (state.estimate, state.used_up, state.slow_start) = (Some(0.0), false, false);
            state.recent = Recent::default();
            return;
        }
        let Some(fresh) = fresh else { return };
        state.slow_start = fresh > SLOW_START_GROWTH * state.estimate.unwrap_or(0.0);
        state.estimate = Some(state.recent.with(fresh, periods));
        state.used_up = state.active && fresh > all_but_a_segment;
    }

    /// The delay is above beta: lines 22 to 25.
    pub(super) fn take_control(&mut self, newcomers: Newcomers) {
        let left_alone = newcomers == Newcomers::LeftAlone && self.slow_start;
        let Some(estimate) = self.estimate.filter(|_| !self.active && !left_alone) else {
            return;
        };
        self.active = self.part == Part::Active;
        self.window = estimate;
        self.used_up = true;
    }

    /// What it does not use of its window is no part of the queue.
    pub(super) fn come_down(&mut self) {
        if self.part == Part::Active {
            self.window = self.window.min(self.estimate.unwrap_or(self.window));
        }
    }

    /// Lines 5, 15 and 26.
    pub(super) fn change(&mut self, band: Band, change: f64, segment: f64) {
        if band == Band::Within {
            self.come_down();
        }
        self.grow(change, segment);
    }

    /// It is the one of this number of those that are told different parts of a segment more or less.
    pub(super) fn spread(&mut self, number: usize, segment: f64) {
        self.spread = ((number as f64).mul_add(GOLDEN_RATIO, HALF).fract() - HALF) * segment;
    }

    /// Its window is to be what it is now, when [`Self::restore`] says so.
    pub(super) fn save(&mut self) {
        self.saved = Some(self.window);
    }

    /// See [`Self::save`].
    pub(super) fn restore(&mut self) {
        self.window = self.saved.take().unwrap_or(self.window);
    }

    /// The window grows by `change` bytes, or shrinks if that is negative.
    pub(super) fn grow(&mut self, change: f64, segment: f64) {
        self.window = (self.window + change).max(MIN_SEGMENTS * segment);
    }

    /// Lines 2 to 18 of algorithm 4, or algorithm 3; gives what the flow leaves of its share. `max`, which is not below that, is
    /// what a flow may have that does not use it.
    pub(super) fn share(
        &mut self,
        (split, max): (f64, f64),
        margin: f64,
        config: &VoapConfig,
    ) -> f64 {
        let redistribution = config.redistribution;
        let oversize = match config.newcomers {
            Newcomers::LeftAlone => OVERSIZE,
            Newcomers::Admitted if max > split => SLOW_START_TWICE,
            Newcomers::Admitted => SLOW_START,
        };
        let estimate = self.estimate.unwrap_or(self.window);
        let oversized = (oversize * estimate).max(estimate + margin);
        self.in_need = redistribution && (self.used_up || estimate > split);
        let is_limited = !self.in_need && redistribution;
        if !is_limited || max <= split && oversized > split {
            self.window = f64::midpoint(self.window, split);
            return 0.0;
        }
        self.window = oversized.min(max);
        (split - self.window).max(0.0)
    }

    /// The least by which a limited share is larger than its use: two segments that survive the rounding.
    pub(super) fn margin(data: &Direction<Self>) -> f64 {
        let (segment, unit) = (f64::from(data.segment_size()), f64::from(data.unit()));
        2.0 * segment + unit.min(segment)
    }

    /// Line 24 of algorithm 4.
    pub(super) fn receive(&mut self, window: f64) {
        self.window = window;
    }
}
