//! What the last second still owes: the integral part of an encoder's rate control.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | debt | of the last 60 frames | the mean over 1 s is what a controller counts on |
//! | repaid | over 8 frames | what lacks steadily, as where a target trembles, is repaid to 60 / 8 parts of 60 / 8 + 1: seven eighths; over 6 frames x264 met two budgets of 480 not |

use std::collections::VecDeque;

const DEBT_FRAMES: usize = 60;
const REPAID_OVER: f64 = 8.0;

/// What the frames of the last second lack of what their rates would have carried.
#[derive(Debug, Clone, Default)]
pub struct Debt {
    lacks: VecDeque<f64>,
}

impl Debt {
    /// A frame was smaller than its budget by `bytes`; negative where it was larger.
    pub fn add(&mut self, bytes: f64) {
        remember(&mut self.lacks, bytes, DEBT_FRAMES);
    }

    /// What is to be added to the next frame, as a part of its `share`; at most `max` either way.
    #[must_use]
    pub fn repaid(&self, share: f64, max: f64) -> f64 {
        let debt: f64 = self.lacks.iter().sum();
        (debt / REPAID_OVER / share.max(1.0)).clamp(-max, max)
    }
}

/// Appends a value, and forgets the oldest of more than `max`.
pub(super) fn remember(values: &mut VecDeque<f64>, value: f64, max: usize) {
    if values.len() == max {
        values.pop_front();
    }
    values.push_back(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_is_repaid_within_bounds_and_forgotten_after_a_second() {
        let mut debt = Debt::default();
        debt.add(240.0);
        assert!((debt.repaid(1000.0, 0.05) - 0.03).abs() < 1e-12);
        debt.add(9000.0);
        assert!((debt.repaid(1000.0, 0.05) - 0.05).abs() < 1e-12);
        (0..60).for_each(|_| debt.add(0.0));
        assert!(debt.repaid(1000.0, 0.05).abs() < 1e-12);
    }
}
