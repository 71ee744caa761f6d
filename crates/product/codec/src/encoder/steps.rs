//! What to ask of an encoder to which each change of its rate costs a key frame.
//!
//! # Model
//! The encoder holds what it was asked until that is too far from what is wanted:
//!
//! ```text
//! lower   as soon as held > 1.1 wanted: what is sent too much stands in a queue
//!         when the last second had 5 % more than wanted
//! higher  when the last second had 10 % less than wanted, and the last change is half a second old
//! either  with a key frame that was asked for, if it is 5 % off: there it costs nothing
//! ```
//!
//! A target that trembles by less than a tenth brings its encoder down to its lower edge, and there it stays.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | far too much | 1.1 | below the 1.35 that a frame's budget grants, above what controllers tremble by (8 %) |
//! | too much | 5 % of a second | what the mean over a second may be off |
//! | too little | 10 % of a second | twice that: a key frame is paid for in quality, and a low rate hurts nobody else |
//! | second | 60 frames | as [`gameway_media::rate_control::Debt`] has it |
//! | rest before a rise | 30 frames | a start that doubles each round trip takes some large steps, not many small ones |

use std::collections::VecDeque;

const FAR_TOO_MUCH: f64 = 1.1;
const TOO_MUCH: f64 = 0.05;
const TOO_LITTLE: f64 = 0.1;
const SECOND: usize = 60;
const REST: usize = 30;

/// What an encoder holds, and how that was in the last second.
#[derive(Debug, Clone)]
pub(super) struct Steps {
    held: f64,
    /// By how much each frame had more than was wanted, as a part of that.
    excess: VecDeque<f64>,
    since: usize,
}

impl Steps {
    /// An encoder that holds `held`.
    pub(super) fn new(held: f64) -> Self {
        Self { held, excess: VecDeque::with_capacity(SECOND), since: 0 }
    }

    /// Whether the next frame is the first with what is `wanted`; if not, what was held before stays.
    pub(super) fn change(&mut self, wanted: f64, key_frame: bool) -> bool {
        let excess = self.held / wanted - 1.0;
        if self.excess.len() == SECOND {
            self.excess.pop_front();
        }
        self.excess.push_back(excess);
        self.since += 1;
        let second = self.excess.iter().sum::<f64>() / SECOND as f64;
        let lower = excess > FAR_TOO_MUCH - 1.0 || second > TOO_MUCH;
        let higher = second < -TOO_LITTLE && self.since >= REST;
        let free = key_frame && excess.abs() > TOO_MUCH;
        let change = lower || higher || free;
        if change {
            *self = Self::new(wanted);
        }
        change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames at which an encoder changes.
    fn changes(frames: usize, wanted: impl Fn(usize) -> f64) -> Vec<usize> {
        let mut steps = Steps::new(wanted(0));
        (0..frames).filter(|frame| steps.change(wanted(*frame), false)).collect()
    }

    #[test]
    fn a_fall_is_followed_at_once_and_a_rise_after_half_a_second() {
        assert_eq!(changes(120, |frame| if frame < 60 { 10.0 } else { 5.0 }), [60]);
        assert_eq!(changes(120, |frame| if frame < 10 { 5.0 } else { 10.0 }), [29]);
        assert_eq!(
            changes(120, |frame| if frame < 60 { 9.5 } else { 10.0 }),
            [0_usize; 0],
            "half a tenth"
        );
    }

    #[test]
    fn a_small_excess_is_taken_back_within_a_second() {
        let changes = changes(120, |frame| if frame < 30 { 10.0 } else { 9.3 });
        assert!(changes.len() == 1 && (60..90).contains(&changes[0]), "{changes:?}");
    }

    #[test]
    fn trembling_costs_one_key_frame_at_most() {
        let tremble = |frame: usize| 10.0 * [1.0, 1.08, 0.92, 1.04][frame / 3 % 4];
        assert_eq!(changes(600, tremble), [0_usize; 0]);
        assert_eq!(changes(600, |frame| tremble(frame + 3)), [3], "down to the lower edge");
    }

    #[test]
    fn a_key_frame_that_comes_anyway_is_used() {
        let mut steps = Steps::new(10.0);
        assert!(!steps.change(10.6, false));
        assert!(!steps.change(10.4, true), "not worth it");
        assert!(steps.change(10.6, true));
        assert!(!steps.change(10.6, true));
    }
}
