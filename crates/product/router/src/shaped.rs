//! A queue of the gateway's own with the rate that it is to have: one that is set, or the one that the law follows.

use crate::own_queue::{self, OwnQueue, OwnQueueStatus, QueueError, QueueKind, Way};
use gameway_units::{Bytes, Duration, Instant, Rate};

/// A packet of 1500 B for the kernel's shapers.
const ETHERNET: f64 = 1514.0 / 1500.0;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct ShapedQueue {
    queue: OwnQueue,
    fixed: Option<Rate>,
}

impl ShapedQueue {
    /// Puts it there, open until a rate is known if none is set; what is no game waits `target`, if given, before CoDel acts.
    pub(crate) fn install(
        place: (&str, Way),
        kind: QueueKind,
        fixed: Option<Rate>,
        target: Option<Duration>,
    ) -> Result<Self, QueueError> {
        let queue = OwnQueue::install(place, kind, fixed.unwrap_or(own_queue::OPEN), target)?;
        Ok(Self { queue, fixed })
    }

    /// A period has ended, with this rate by the law, as IP counts it.
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        followed: Option<Rate>,
    ) -> Result<(), QueueError> {
        self.queue.look(now);
        let wanted = self.fixed.or(followed.map(on_ethernet));
        wanted.map_or(Ok(()), |rate| self.queue.set_rate(rate))
    }

    /// As [`OwnQueue::follow`].
    pub(crate) fn follow(&mut self) -> Result<OwnQueueStatus, QueueError> {
        self.queue.follow()
    }

    /// As [`OwnQueue::sent`].
    pub(crate) fn sent(&self) -> Option<Bytes> {
        self.queue.sent()
    }
}

/// Bytes that the kernel's shapers counted, as IP counts them.
pub(crate) fn without_ethernet(size: Bytes) -> Bytes {
    Bytes::new((size.as_f64() / ETHERNET) as u64)
}

/// A rate of IP as the kernel's shapers count it, within what they take.
fn on_ethernet(rate: Rate) -> Rate {
    rate.mul_f64(ETHERNET).clamp(own_queue::MIN_RATE, own_queue::OPEN)
}
