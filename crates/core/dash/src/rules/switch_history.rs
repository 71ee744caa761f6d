//! No level from which the player has just had to fall.
//!
//! Source: dash.js 5.2.1 `SwitchHistoryRule` and `SwitchRequestHistory`.
//! Model: of the last decisions each is a drop or none, and belongs to the level that was in use. From the
//! lowest level up both are added; at the first level where the drops are too many of enough decisions, the
//! level below it is the wish if it had a drop itself, else that level.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | decisions that are remembered, and that are enough | 8 | `sampleSize` |
//! | most drops per other decision | 0.075 | `switchPercentageThreshold` |

use super::SwitchRequest;
use std::collections::VecDeque;

const SAMPLES: usize = 8;
const MAX_DROPS: f64 = 0.075;

#[derive(Debug)]
pub(crate) struct SwitchHistory {
    levels: usize,
    /// The level in use and whether it was left for a lower one, the oldest first.
    decisions: VecDeque<(usize, bool)>,
}

impl SwitchHistory {
    pub(crate) fn new(levels: usize) -> Self {
        Self { levels, decisions: VecDeque::new() }
    }

    pub(crate) fn push(&mut self, current: usize, new: usize) {
        self.decisions.push_back((current, new < current));
        if self.decisions.len() > SAMPLES {
            self.decisions.pop_front();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.decisions.clear();
    }

    pub(crate) fn decide(&self) -> Option<SwitchRequest> {
        let (mut drops, mut others) = (0_usize, 0_usize);
        for level in 0..self.levels {
            let of_level = self.decisions.iter().filter(|decision| decision.0 == level);
            let here = of_level.clone().filter(|decision| decision.1).count();
            drops += here;
            others += of_level.count() - here;
            let too_many = drops as f64 > MAX_DROPS * others as f64;
            if drops + others >= SAMPLES && too_many {
                return Some(SwitchRequest(if here > 0 { level.saturating_sub(1) } else { level }));
            }
        }
        None
    }
}
