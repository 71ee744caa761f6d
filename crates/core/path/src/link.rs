//! Links: how long a packet takes onto the wire when the capacity is constant, changes in steps, or
//! follows a recorded trace or table of rates.
//!
//! Model: a link sends one packet at a time. [`Link::transmit`] is told when a transmission starts and
//! answers when its last bit has left, exact to the nanosecond (rounded up); a change of capacity
//! applies to the bits that are sent after it, also within a packet, whether it was known before ([`Link::steps`]) or
//! comes while the link runs ([`Link::change`]).

use crate::segments::{Segments, index_at, nanobits, whole_bytes};
use crate::throughput::ThroughputTable;
use crate::trace::{Trace, TraceCursor};
use gameway_units::{Bytes, Duration, Instant, Rate};

/// Why a list of capacity steps is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepsError {
    /// There is none.
    #[error("a list of capacity steps needs at least one [time, capacity] pair")]
    Empty,
    /// The first does not hold from the start.
    #[error("the first capacity step must be at 0 s, not at {0}")]
    First(Instant),
    /// Times do not rise.
    #[error("the capacity step at {later} does not come after the one at {earlier}")]
    Order {
        /// The step before.
        earlier: Instant,
        /// The step that is not after it.
        later: Instant,
    },
    /// The last step would hold packets for ever.
    #[error("the last capacity step is 0 b/s: what waits then would never leave")]
    EndsAtZero,
}

/// What a link could carry is known of so long a time before a change: tables ask for half a second.
const MEMORY: Duration = Duration::from_secs(10);

/// A link's capacity over time.
#[derive(Debug, Clone)]
pub struct Link {
    capacity: Capacity,
    /// When this capacity began; its own times count from then.
    since: Duration,
    /// What of the packet in transmission was left then, nanobits.
    left: u128,
    /// The capacities before, of the last [`MEMORY`].
    past: Vec<Past>,
}

/// A capacity that was in force before another.
#[derive(Debug, Clone)]
struct Past {
    capacity: Capacity,
    since: Duration,
    until: Duration,
}

#[derive(Debug, Clone)]
enum Capacity {
    Constant(Rate),
    Steps(Vec<(Instant, Rate)>),
    Trace(TraceCursor),
    Throughput(ThroughputTable),
}

impl Link {
    const fn of(capacity: Capacity) -> Self {
        Self { capacity, since: Duration::ZERO, left: 0, past: Vec::new() }
    }

    /// Always the same capacity, more than zero.
    ///
    /// # Errors
    /// [`StepsError::EndsAtZero`] for a capacity of zero.
    pub fn constant(capacity: Rate) -> Result<Self, StepsError> {
        if capacity == Rate::ZERO {
            return Err(StepsError::EndsAtZero);
        }
        Ok(Self::of(Capacity::Constant(capacity)))
    }

    /// Each capacity holds from its time on; zero is a blackout.
    ///
    /// # Errors
    /// If the list is empty, does not begin at 0 s, is out of order or ends in a blackout.
    pub fn steps(steps: Vec<(Instant, Rate)>) -> Result<Self, StepsError> {
        let (first, _) = *steps.first().ok_or(StepsError::Empty)?;
        if first != Instant::ZERO {
            return Err(StepsError::First(first));
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            return Err(StepsError::Order { earlier: pair[0].0, later: pair[1].0 });
        }
        if steps.last().is_some_and(|(_, capacity)| *capacity == Rate::ZERO) {
            return Err(StepsError::EndsAtZero);
        }
        Ok(Self::of(Capacity::Steps(steps)))
    }

    /// Delivery opportunities from a trace, repeated for ever.
    #[must_use]
    pub fn trace(trace: Trace) -> Self {
        Self::of(Capacity::Trace(TraceCursor::new(trace)))
    }

    /// Recorded rates, repeated for ever.
    #[must_use]
    pub fn throughput(table: ThroughputTable) -> Self {
        Self::of(Capacity::Throughput(table))
    }

    /// When the last bit of a packet of `size` leaves if its transmission starts at `start`. Starts must
    /// not go back in time.
    pub fn transmit(&mut self, start: Instant, size: Bytes) -> Instant {
        let own = start - self.since;
        let finished = match &mut self.capacity {
            Capacity::Constant(rate) => own + rate.time_for(size),
            Capacity::Steps(steps) => Segments::once(steps, own).transmit(size),
            Capacity::Trace(cursor) => cursor.transmit(own, size),
            Capacity::Throughput(table) => table.segments(own).transmit(size),
        };
        finished + self.since
    }

    /// From `now` on the capacity is that of `to`, whose times count from now. Of the packet in transmission, `size` from
    /// `start` on, what is left goes by it: gives when its last bit leaves.
    pub fn change(
        &mut self,
        now: Instant,
        to: Self,
        current: Option<(Instant, Bytes)>,
    ) -> Option<Instant> {
        let left = current.map(|(start, size)| {
            nanobits(size).saturating_sub(self.nanobits_sent(start, size, now))
        });
        let since = now - Instant::ZERO;
        let capacity = std::mem::replace(&mut self.capacity, to.capacity);
        let begun = std::mem::replace(&mut self.since, since);
        self.past.retain(|past| past.until + MEMORY >= since);
        if begun < since {
            self.past.push(Past { capacity, since: begun, until: since });
        }
        self.left = left.unwrap_or(0);
        left.map(|left| self.capacity.resume(left) + since)
    }

    /// The capacity by which a queue given in milliseconds or BDPs is sized: the one in force at
    /// `now`; of a trace, its mean.
    #[must_use]
    pub fn nominal_capacity(&self, now: Instant) -> Rate {
        match &self.capacity {
            Capacity::Constant(rate) => *rate,
            Capacity::Steps(steps) => steps[index_at(steps, now - self.since)].1,
            Capacity::Trace(cursor) => cursor.trace().mean_capacity(),
            Capacity::Throughput(table) => table.mean_capacity(),
        }
    }

    /// The next change of [`Self::nominal_capacity`] after `now` that is known.
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        match &self.capacity {
            Capacity::Steps(steps) => {
                let next = steps.get(index_at(steps, now - self.since) + 1);
                next.map(|(at, _)| *at + self.since)
            }
            Capacity::Constant(_) | Capacity::Trace(_) | Capacity::Throughput(_) => None,
        }
    }

    /// What of the packet that [`Self::transmit`] was last told of, `size` from `start` on, leaves before `until`;
    /// rounded down.
    #[must_use]
    pub fn sent_before(&self, start: Instant, size: Bytes, until: Instant) -> Bytes {
        whole_bytes(self.nanobits_sent(start, size, until))
    }

    fn nanobits_sent(&self, start: Instant, size: Bytes, until: Instant) -> u128 {
        let whole = nanobits(size);
        let (start, until) = (start - self.since, until - self.since);
        if start >= Instant::ZERO {
            return self.capacity.sent(start, whole, until);
        }
        // Its rest goes by this capacity, from the capacity's begin on.
        whole.saturating_sub(self.left) + self.capacity.sent(Instant::ZERO, self.left, until)
    }

    /// What the link could carry from `from` on and before `to`, rounded down.
    #[must_use]
    pub fn capacity_between(&self, from: Instant, to: Instant) -> Bytes {
        let own = |since: Duration| ((from - since).max(Instant::ZERO), to - since);
        let (start, end) = own(self.since);
        let mut carried = self.capacity.nanobits(start, end);
        for Past { capacity, since, until } in &self.past {
            let (start, end) = own(*since);
            carried += capacity.nanobits(start, end.min(Instant::ZERO + (*until - *since)));
        }
        whole_bytes(carried)
    }
}

impl Capacity {
    /// The time by which `left` nanobits have been sent, if sending begins at zero.
    fn resume(&mut self, left: u128) -> Instant {
        match self {
            Self::Constant(rate) => {
                Segments::once(&[(Instant::ZERO, *rate)], Instant::ZERO).transmit_nanobits(left)
            }
            Self::Steps(steps) => Segments::once(steps, Instant::ZERO).transmit_nanobits(left),
            Self::Trace(cursor) => cursor.transmit(Instant::ZERO, bytes_of(left)),
            Self::Throughput(table) => table.segments(Instant::ZERO).transmit_nanobits(left),
        }
    }

    /// The part of the last `whole` nanobits, which were transmitted from `start` on, that leaves before `until`.
    fn sent(&self, start: Instant, whole: u128, until: Instant) -> u128 {
        match self {
            Self::Trace(cursor) => nanobits(cursor.sent_before(until, bytes_of(whole))).min(whole),
            _ => self.nanobits(start, until).min(whole),
        }
    }

    /// What can leave from `from` on and before `to`.
    fn nanobits(&self, from: Instant, to: Instant) -> u128 {
        if to <= from {
            return 0;
        }
        match self {
            Self::Constant(rate) => {
                u128::from(rate.as_bps()) * u128::from((to - from).as_nanos().unsigned_abs())
            }
            Self::Steps(steps) => Segments::once(steps, from).nanobits_until(to),
            Self::Trace(cursor) => nanobits(cursor.trace().capacity_between(from, to)),
            Self::Throughput(table) => table.segments(from).nanobits_until(to),
        }
    }
}

/// In whole bytes, rounded up: opportunities let bytes leave.
fn bytes_of(nanobits: u128) -> Bytes {
    let whole = whole_bytes(nanobits);
    if crate::segments::nanobits(whole) < nanobits { whole + Bytes::new(1) } else { whole }
}
