//! Times in which the machine that forwards packets does not run, so that nothing arrives.
//!
//! Model: stalls come at random, the times between them exponentially distributed; how long each lasts is
//! drawn from measured ones. What is due in one happens at its end, in all lines of a path together.

use crate::{MeasuredDelays, uniform};
use gameway_units::{Duration, Instant};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// The stalls of a path over a run: start and end of each, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stalls(Arc<[(Instant, Instant)]>);

impl Stalls {
    /// Those from time zero to `until`: of such lengths, with a mean of `interval` from the end of one to the
    /// start of the next, which must be more than nothing.
    #[must_use]
    pub fn draw(
        interval: Duration,
        lengths: &MeasuredDelays,
        until: Instant,
        random: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let mut stalls = Vec::new();
        let mut end = Instant::ZERO;
        loop {
            let gap = interval.mul_f64(-libm::log(1.0 - uniform(random)));
            let start = end + gap.max(Duration::from_nanos(1));
            if start >= until {
                return Self(stalls.into());
            }
            end = start + lengths.draw(random);
            stalls.push((start, end));
        }
    }

    /// When that happens which would happen at `due` without stalls.
    #[must_use]
    pub fn held(&self, due: Instant) -> Instant {
        let begun = self.0.partition_point(|stall| stall.0 <= due);
        begun.checked_sub(1).map_or(due, |last| due.max(self.0[last].1))
    }
}
