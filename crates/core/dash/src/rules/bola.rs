//! BOLA: the level that the buffer affords.
//!
//! Source: dash.js 5.2.1 `BolaRule` (BOLA-E); Spiteri, Urgaonkar, Sitaraman, "BOLA: Near-Optimal Bitrate
//! Adaptation for Online Videos", arXiv 1601.06748, and Spiteri et al., "From Theory to Practice", 2019.
//! Model: level i has utility u(i) = ln(bitrate(i) / bitrate(0)) + 1. With a buffer of Q seconds take the
//! level of the greatest (V (u(i) - 1 + g) - Q) / bitrate(i). V and g are such that this is zero for the
//! lowest level at the minimum buffer, and for the highest at the full one. A virtual placeholder buffer
//! is added to Q: in start-up it stands for what throughput promises; later for time that was no download,
//! and for segments that replaced others; it melts by a hundredth with each segment. A rise goes no
//! further than throughput carries.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | minimum buffer | 10 s | `MINIMUM_BUFFER_S` |
//! | buffer of a level more | 2 s | `MINIMUM_BUFFER_PER_BITRATE_LEVEL_S` |
//! | what of the placeholder stays | 0.99 per segment | `PLACEHOLDER_BUFFER_DECAY` |
//! | full buffer | the greater of the buffer target and 10 s + 2 s per level | `_calculateBolaParameters` |
//!
//! | Deviation | Why |
//! |---|---|
//! | none, though it looks like one: the least and the most buffer of a level are those of a score without the -1, and so V higher (4.6 s with the default ladder) | `_minBufferLevelForRepresentation` and `_maxBufferLevelForRepresentation` have it so |
//! | no seeks, no change of the buffer target while playing | nobody seeks here |

use super::{Situation, SwitchRequest};
use crate::Ladder;
use gameway_units::{Duration, Instant};

const MINIMUM_BUFFER: f64 = 10.0;
const BUFFER_PER_LEVEL: f64 = 2.0;
const PLACEHOLDER_KEPT: f64 = 0.99;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not asked yet: nothing that happens is noted.
    Unasked,
    Startup,
    Steady,
}

/// V and g of a ladder, and the buffer levels that follow from them.
#[derive(Debug, Clone)]
pub(crate) struct Utility {
    bitrates: Vec<f64>,
    utilities: Vec<f64>,
    v: f64,
    g: f64,
}

impl Utility {
    /// None for a ladder of one level: there is nothing to choose.
    pub(crate) fn new(ladder: &Ladder, buffer_target: Duration) -> Option<Self> {
        let bitrates: Vec<f64> = (0..=ladder.top()).map(|level| ladder.kbps(level)).collect();
        let utilities: Vec<f64> =
            bitrates.iter().map(|bitrate| libm::log(bitrate / bitrates[0]) + 1.0).collect();
        let highest = utilities.last().copied().filter(|_| ladder.top() > 0)?;
        let levels = bitrates.len() as f64;
        let full = buffer_target.as_secs_f64().max(MINIMUM_BUFFER + BUFFER_PER_LEVEL * levels);
        let g = (highest - 1.0) / (full / MINIMUM_BUFFER - 1.0);
        Some(Self { bitrates, utilities, v: MINIMUM_BUFFER / g, g })
    }

    /// The level of the greatest score; of equal ones the highest.
    pub(crate) fn level_for(&self, buffer: f64) -> usize {
        let score = |level: usize| {
            (self.v * (self.utilities[level] - 1.0 + self.g) - buffer) / self.bitrates[level]
        };
        (1..self.bitrates.len()).fold(
            0,
            |best, level| {
                if score(level) >= score(best) { level } else { best }
            },
        )
    }

    /// Above this buffer it is better to wait than to fetch this level.
    fn max_buffer(&self, level: usize) -> f64 {
        self.v * (self.utilities[level] + self.g)
    }

    /// V above the buffer from which on the level wins over all below it.
    fn min_buffer(&self, level: usize) -> f64 {
        let (bitrate, utility) = (self.bitrates[level], self.utilities[level]);
        (0..level)
            .map(|lower| {
                let (less, worse) = (self.bitrates[lower], self.utilities[lower]);
                self.v * (self.g + (bitrate * worse - less * utility) / (bitrate - less))
            })
            .fold(0.0, f64::max)
    }
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Bola {
    utility: Option<Utility>,
    state: State,
    placeholder: f64,
    current: usize,
    /// Index of the furthest segment that came.
    furthest: Option<u64>,
    /// The last request for media, until the next decision: when it was sent and over.
    request: Option<(Instant, Instant)>,
    segment_seen: Option<Duration>,
    last_call: Option<Instant>,
}

impl Bola {
    pub(crate) fn new(ladder: &Ladder, buffer_target: Duration) -> Self {
        Self {
            utility: Utility::new(ladder, buffer_target),
            state: State::Unasked,
            placeholder: 0.0,
            current: 0,
            furthest: None,
            request: None,
            segment_seen: None,
            last_call: None,
        }
    }

    /// Which level it wants, and how long to wait before the request.
    pub(crate) fn decide(
        &mut self,
        situation: &Situation<'_>,
    ) -> (Option<SwitchRequest>, Duration) {
        let Some(utility) = self.utility.take() else { return (None, Duration::ZERO) };
        if self.state == State::Unasked {
            self.state = State::Startup;
        }
        let decision = match (self.state, situation.throughput.safe()) {
            (State::Steady, safe) => self.steady(&utility, situation, safe.unwrap_or(0.0)),
            (_, Some(safe)) => (Some(self.startup(&utility, situation, safe)), Duration::ZERO),
            (_, None) => (None, Duration::ZERO),
        };
        self.utility = Some(utility);
        decision
    }

    fn startup(
        &mut self,
        utility: &Utility,
        situation: &Situation<'_>,
        safe: f64,
    ) -> SwitchRequest {
        let level = situation.ladder.max_within(safe);
        let buffer = situation.buffer.as_secs_f64();
        self.placeholder = (utility.min_buffer(level) - buffer).max(0.0);
        self.current = level;
        if self.segment_seen.is_some_and(|length| situation.buffer >= length) {
            self.state = State::Steady;
        }
        SwitchRequest(level)
    }

    fn steady(
        &mut self,
        utility: &Utility,
        situation: &Situation<'_>,
        safe: f64,
    ) -> (Option<SwitchRequest>, Duration) {
        self.add_waiting_time(situation.now);
        let buffer = situation.buffer.as_secs_f64();
        let mut level = utility.level_for(buffer + self.placeholder);
        let carried = situation.ladder.max_within(safe);
        if level > self.current && level > carried {
            level = carried.max(self.current);
        }
        let excess = (buffer + self.placeholder - utility.max_buffer(level)).max(0.0);
        let melted = excess.min(self.placeholder);
        self.placeholder -= melted;
        let wait = if level == situation.ladder.top() { 0.0 } else { excess - melted };
        self.current = level;
        (Some(SwitchRequest(level)), Duration::from_secs_f64(wait))
    }

    /// Time since the last segment, or the last decision, was no download: it shall not count.
    fn add_waiting_time(&mut self, now: Instant) {
        let from = self.request.map(|(_, over)| over).or(self.last_call);
        let waited = from.map_or(Duration::ZERO, |from| now.saturating_since(from));
        self.placeholder += waited.as_secs_f64();
        self.last_call = Some(now);
        self.request = None;
    }

    /// A request for media is over, whole or abandoned.
    pub(crate) fn on_request_over(&mut self, sent: Instant, over: Instant) {
        if self.state != State::Unasked {
            self.request = Some((sent, over));
        }
    }

    /// A segment has come and is not yet in the buffer.
    pub(crate) fn on_segment(&mut self, situation: &Situation<'_>, index: u64, level: usize) {
        if self.state == State::Unasked {
            return;
        }
        let replacement = self.furthest.is_some_and(|furthest| index <= furthest);
        self.furthest = self.furthest.max(Some(index));
        self.segment_seen = Some(situation.segment);
        self.current = level;
        let (Some(utility), Some((sent, over))) = (&self.utility, self.request) else { return };
        let at_request = situation.buffer + over.saturating_since(sent);
        let max = (utility.max_buffer(level) - at_request.as_secs_f64()).max(0.0);
        self.placeholder = (self.placeholder * PLACEHOLDER_KEPT).min(max);
        if replacement {
            self.placeholder += situation.segment.as_secs_f64();
        }
    }

    /// The player changes level, by whatever rule.
    pub(crate) fn on_quality_change(&mut self, level: usize) {
        if self.state != State::Unasked {
            self.current = level;
        }
    }

    /// A download was given up.
    pub(crate) fn on_abandoned(&mut self, buffer: Duration) {
        let Some(utility) = self.utility.as_ref().filter(|_| self.state != State::Unasked) else {
            return;
        };
        let wanted =
            if self.current > 0 { utility.min_buffer(self.current) } else { MINIMUM_BUFFER };
        self.placeholder = self.placeholder.min((wanted - buffer.as_secs_f64()).max(0.0));
    }

    /// The buffer counts as empty.
    pub(crate) fn on_empty(&mut self) {
        if self.state == State::Steady {
            self.placeholder = 0.0;
        }
    }
}

#[cfg(test)]
mod tests;
