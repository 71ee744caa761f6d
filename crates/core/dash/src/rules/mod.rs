//! Which level to fetch next: dash.js's rules and how they are put together.
//!
//! Source: dash.js 5.2.1, `ABRRulesCollection` and `AbrController`.
//! Model: each rule may wish for a level, and the lowest wish counts. Of BOLA and throughput one is active:
//! with [`Strategy::Dynamic`] BOLA from 12 s of buffer on, and throughput again below 6 s.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | BOLA from | 12 s | `hybridSwitchBufferTime` |
//! | throughput again below | half of that | `_updateDynamicAbrStrategy` |
//!
//! | Deviation | Why |
//! |---|---|
//! | no `DroppedFramesRule` | it is off by default, and nothing is decoded here that could be late |
//! | no L2A, no LoL+ | off by default, made for low-latency live video |
//! | the buffer is known exactly, not a quarter of a second late | events of a browser's video element are its only clock |

pub(crate) mod abandon;
mod bola;
mod insufficient_buffer;
mod switch_history;
mod throughput_rule;

use crate::{Ladder, Throughput};
use bola::Bola;
use gameway_units::{Duration, Instant};
use insufficient_buffer::InsufficientBuffer;
use switch_history::SwitchHistory;

const BOLA_FROM: Duration = Duration::from_secs(12);
const THROUGHPUT_BELOW: Duration = Duration::from_secs(6);

/// Which rules choose the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Throughput while the buffer is small, BOLA while it is large: dash.js's default.
    #[default]
    Dynamic,
    /// Throughput only.
    Throughput,
    /// BOLA only.
    Bola,
}

/// A level that a rule asks for, by the name that dash.js has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SwitchRequest(pub usize);

/// What rules look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation<'a> {
    pub now: Instant,
    pub ladder: &'a Ladder,
    /// Length of a segment.
    pub segment: Duration,
    /// How much there is to play.
    pub buffer: Duration,
    /// Whether that counts as empty.
    pub empty: bool,
    pub throughput: &'a Throughput,
    /// The level in use.
    pub current: usize,
    /// Whether no download was abandoned of late.
    pub settled: bool,
}

/// What the rules agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The level, if any rule wants one.
    pub level: Option<usize>,
    /// How long to wait before the next request, if a rule says so.
    pub wait: Option<Duration>,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Rules {
    strategy: Strategy,
    uses_bola: bool,
    pub(crate) bola: Bola,
    insufficient_buffer: InsufficientBuffer,
    history: SwitchHistory,
}

impl Rules {
    pub(crate) fn new(strategy: Strategy, ladder: &Ladder, buffer_target: Duration) -> Self {
        Self {
            strategy,
            uses_bola: strategy == Strategy::Bola,
            bola: Bola::new(ladder, buffer_target),
            insufficient_buffer: InsufficientBuffer::default(),
            history: SwitchHistory::new(ladder.levels().len()),
        }
    }

    /// The buffer has reached this level, upwards or downwards.
    pub(crate) fn on_buffer_level(&mut self, buffer: Duration) {
        if self.strategy == Strategy::Dynamic {
            self.uses_bola = buffer >= if self.uses_bola { THROUGHPUT_BELOW } else { BOLA_FROM };
        }
    }

    /// A segment is in the buffer.
    pub(crate) fn on_appended(&mut self) {
        self.insufficient_buffer.on_appended();
    }

    /// A download was given up: what was learnt of switches is void.
    pub(crate) fn on_abandoned(&mut self) {
        self.history.clear();
    }

    /// Whether BOLA is in use.
    pub(crate) fn uses_bola(&self) -> bool {
        self.uses_bola
    }

    pub(crate) fn decide(&mut self, situation: &Situation<'_>) -> Decision {
        self.on_buffer_level(situation.buffer);
        let (main, wait) = if self.uses_bola {
            let (wish, wait) = self.bola.decide(situation);
            (wish, Some(wait))
        } else {
            let wish = throughput_rule::decide(situation);
            (wish, wish.map(|_| Duration::ZERO))
        };
        let others = [self.insufficient_buffer.decide(situation), self.history.decide()];
        let lowest = others.into_iter().flatten().chain(main).min();
        if let Some(SwitchRequest(level)) = lowest {
            self.history.push(situation.current, level);
        }
        Decision { level: lowest.map(|wish| wish.0), wait }
    }
}

#[cfg(test)]
mod tests;
