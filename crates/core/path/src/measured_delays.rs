//! Delays as they were measured, to be drawn from.

use crate::uniform;
use gameway_units::Duration;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

/// Measured delays: a bucket is drawn by its count, and in it each delay is as likely as any other; as many times as
/// a packet meets such a delay, and summed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredDelays {
    /// Low and high edge of each bucket, and how many delays are in it or in those before it.
    buckets: Arc<[(Duration, Duration, u64)]>,
    times: u32,
}

impl MeasuredDelays {
    /// Of buckets with low edge, high edge and count of delays; `None` if they count nothing, or an edge is negative or above
    /// the other.
    #[must_use]
    pub fn new(
        counted: impl IntoIterator<Item = (Duration, Duration, u64)>,
        times: u32,
    ) -> Option<Self> {
        let mut sum = 0_u64;
        let mut buckets = Vec::new();
        for (low, high, count) in counted {
            if low < Duration::ZERO || high < low {
                return None;
            }
            sum = sum.checked_add(count)?;
            buckets.push((low, high, sum));
        }
        (sum > 0).then(|| Self { buckets: buckets.into(), times })
    }

    /// Draws one delay.
    #[must_use]
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus) -> Duration {
        (0..self.times).fold(Duration::ZERO, |sum, _| sum + self.draw_one(random))
    }

    fn draw_one(&self, random: &mut Xoshiro256PlusPlus) -> Duration {
        let sum = self.buckets.last().map_or(0, |last| last.2);
        let place = uniform(random) * sum as f64;
        let index = self.buckets.partition_point(|bucket| bucket.2 as f64 <= place);
        let Some(&(low, high, _)) = self.buckets.get(index) else { return Duration::ZERO };
        low + (high - low).mul_f64(uniform(random))
    }
}
