//! A path that has become longer (`longer_path`): not in the paper, which sees it once D_min's window of 10 s is over.
//!
//! By the published law a base RTT that goes from 20 to 100 ms passes for a queue of 40 ms that no drain empties: each frame sets the
//! bitrate anew to `alpha` of what arrives less what is in flight, and it falls to the least until the 10 s are over. At 25 Mb/s
//! (`coming_back` of the simulator's tests) the stream has 15 % of the capacity in the ten seconds behind the step, and 90 % of
//! its rate before after 11 s. With `longer_path` it has 83 %, and that rate after 1 s; beside a CUBIC download 10 % in place of 9.
//! From 100 to 20 ms nothing is lost, either way. The option is off, as the law is published without, and on in `gameway host`.
//!
//! Model: a drain sends less than arrives, so a queue in which the stream has a share becomes shorter while it lasts. Where the
//! delay of frames' first packets stays the same for as long as a drain shall take, from a round trip after its beginning, what
//! stays is no queue but the path. The least of these delays is then D_min, and the least of their round trips the least RTT;
//! what was less before is forgotten.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | how long | 200 ms | the time within which a drain empties the queue, section 4.3 |
//! | the same delay | within 1/1024 s | the unit in which arrivals are told, RFC 8888 section 3.1 |
//!
//! | Case | What happens |
//! |---|---|
//! | a queue of others that grows or sways by more than 1 ms | nothing: the paper's law, as on a path with jitter |
//! | a queue of others that stays the same to a millisecond | taken for the path, as after 10 s by the paper's law |

use super::Pudica;
use super::bur::FrameInFlight;
use crate::FeedbackBatch;
use gameway_units::{Duration, Instant};

/// See the module.
const SPAN: Duration = Duration::from_millis(200);
const SAME: Duration = Duration::from_nanos(1_000_000_000 / 1024);

/// The least of a time, and the greatest.
#[derive(Debug, Clone, Copy)]
struct Seen {
    since: Instant,
    min: Duration,
    max: Duration,
    min_rtt: Duration,
}

/// Watches the delays of a drain.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    /// When the drain is felt by the frames that arrive.
    felt: Option<Instant>,
    seen: Option<Seen>,
}

impl Standing {
    /// There is no drain.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// During a drain a frame is complete whose first packet took `delay`, after this round trip. Gives delay and round trip
    /// of the path, once they are known to be longer.
    pub(super) fn on_frame(
        &mut self,
        now: Instant,
        delay: Duration,
        rtt: Duration,
    ) -> Option<(Duration, Duration)> {
        let felt = *self.felt.get_or_insert(now.saturating_add(rtt));
        if now < felt {
            return None;
        }
        let first = Seen { since: now, min: delay, max: delay, min_rtt: rtt };
        let seen = self.seen.get_or_insert(first);
        seen.min = seen.min.min(delay);
        seen.max = seen.max.max(delay);
        seen.min_rtt = seen.min_rtt.min(rtt);
        if seen.max.saturating_sub(seen.min) > SAME {
            *seen = first;
        }
        let known = (seen.min, seen.min_rtt);
        (now.saturating_since(seen.since) >= SPAN).then(|| {
            self.end();
            known
        })
    }
}

impl Pudica {
    /// A frame is complete: has the path become longer?
    pub(super) fn look_for_longer_path(
        &mut self,
        now: Instant,
        frame: &FrameInFlight,
        batch: &FeedbackBatch<'_>,
    ) {
        if !self.options.longer_path || !self.draining.active() {
            self.standing.end();
            return;
        }
        let (Some(delay), Some(rtt)) = (frame.first_delay(), batch.round_trip_time(now)) else {
            return;
        };
        if let Some((delay, rtt)) = self.standing.on_frame(now, delay, rtt) {
            self.min_delay.forget_below(delay);
            self.min_rtt.forget_below(rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many ms of frames each 16 ms it is known, if it is; the round trip is 60 ms.
    fn known_after(delay_ms: impl Fn(i64) -> f64) -> Option<(i64, f64)> {
        let mut standing = Standing::default();
        (0..=1_600).step_by(16).find_map(|millis| {
            let now = Instant::ZERO + Duration::from_millis(millis);
            let delay = Duration::from_secs_f64(delay_ms(millis) / 1e3);
            let known = standing.on_frame(now, delay, Duration::from_millis(60));
            known.map(|(delay, _)| (millis, delay.as_millis_f64()))
        })
    }

    #[test]
    fn a_delay_that_no_drain_lowers_is_the_path_s() {
        // The first frame after 60 ms is that of 64 ms, the first one 200 ms later that of 272.
        assert_eq!(known_after(|_| 50.0), Some((272, 50.0)));
        // Told in units of 1/1024 s.
        assert_eq!(
            known_after(|millis| 50.0 + 0.97 * (millis % 3) as f64 / 2.0),
            Some((272, 50.0))
        );
        // A queue that is being emptied until 320 ms, then the path.
        let emptied = |millis: i64| 50.0 + 0.2 * (320 - millis).max(0) as f64;
        let known = known_after(emptied);
        assert!(known.is_some_and(|(after, delay)| (504..=560).contains(&after) && delay < 50.1));
    }

    #[test]
    fn a_queue_that_sways_or_is_emptied_is_none() {
        assert_eq!(known_after(|millis| 50.0 + 1.2 * (millis / 16 % 5) as f64), None);
        assert_eq!(known_after(|millis| 90.0 - 0.03 * millis as f64), None);
        assert_eq!(known_after(|millis| 50.0 + 0.02 * millis as f64), None);
    }
}
