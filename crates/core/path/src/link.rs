//! Links: how long a packet takes onto the wire when the capacity is constant, changes in steps, or
//! follows a recorded trace or table of rates.
//!
//! Model: a link sends one packet at a time. [`Link::transmit`] is told when a transmission starts and
//! answers when its last bit has left, exact to the nanosecond (rounded up); a change of capacity
//! applies to the bits that are sent after it, also within a packet.

use crate::segments::{Segments, index_at};
use crate::throughput::ThroughputTable;
use crate::trace::{Trace, TraceCursor};
use gameway_units::{Bytes, Instant, Rate};

/// Why a list of capacity steps is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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

/// A link's capacity over time.
#[derive(Debug, Clone)]
pub struct Link {
    capacity: Capacity,
}

#[derive(Debug, Clone)]
enum Capacity {
    Constant(Rate),
    Steps(Vec<(Instant, Rate)>),
    Trace(TraceCursor),
    Throughput(ThroughputTable),
}

impl Link {
    /// Always the same capacity, more than zero.
    ///
    /// # Errors
    /// [`StepsError::EndsAtZero`] for a capacity of zero.
    pub fn constant(capacity: Rate) -> Result<Self, StepsError> {
        if capacity == Rate::ZERO {
            return Err(StepsError::EndsAtZero);
        }
        Ok(Self { capacity: Capacity::Constant(capacity) })
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
        Ok(Self { capacity: Capacity::Steps(steps) })
    }

    /// Delivery opportunities from a trace, repeated for ever.
    #[must_use]
    pub fn trace(trace: Trace) -> Self {
        Self { capacity: Capacity::Trace(TraceCursor::new(trace)) }
    }

    /// Recorded rates, repeated for ever.
    #[must_use]
    pub fn throughput(table: ThroughputTable) -> Self {
        Self { capacity: Capacity::Throughput(table) }
    }

    /// When the last bit of a packet of `size` leaves if its transmission starts at `start`. Starts must
    /// not go back in time.
    pub fn transmit(&mut self, start: Instant, size: Bytes) -> Instant {
        match &mut self.capacity {
            Capacity::Constant(rate) => start + rate.time_for(size),
            Capacity::Steps(steps) => Segments::once(steps, start).transmit(size),
            Capacity::Trace(cursor) => cursor.transmit(start, size),
            Capacity::Throughput(table) => table.segments(start).transmit(size),
        }
    }

    /// The capacity by which a queue of so many milliseconds or BDPs is sized: the one in force at
    /// `now`; of a trace, its mean.
    #[must_use]
    pub fn nominal_capacity(&self, now: Instant) -> Rate {
        match &self.capacity {
            Capacity::Constant(rate) => *rate,
            Capacity::Steps(steps) => steps[index_at(steps, now)].1,
            Capacity::Trace(cursor) => cursor.trace().mean_capacity(),
            Capacity::Throughput(table) => table.mean_capacity(),
        }
    }

    /// The next change of [`Self::nominal_capacity`] after `now`.
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        match &self.capacity {
            Capacity::Steps(steps) => steps.get(index_at(steps, now) + 1).map(|(at, _)| *at),
            Capacity::Constant(_) | Capacity::Trace(_) | Capacity::Throughput(_) => None,
        }
    }

    /// What of the packet that [`Self::transmit`] was last told of, `size` from `start` on, leaves before `until`;
    /// rounded down.
    #[must_use]
    pub fn sent_before(&self, start: Instant, size: Bytes, until: Instant) -> Bytes {
        match &self.capacity {
            Capacity::Trace(cursor) => cursor.sent_before(until, size),
            _ => self.capacity_between(start, until).min(size),
        }
    }

    /// What the link could carry from `from` on and before `to`, rounded down.
    #[must_use]
    pub fn capacity_between(&self, from: Instant, to: Instant) -> Bytes {
        match &self.capacity {
            Capacity::Constant(rate) => *rate * (to - from),
            Capacity::Steps(steps) => Segments::once(steps, from).carried_until(to),
            Capacity::Trace(cursor) => cursor.trace().capacity_between(from, to),
            Capacity::Throughput(table) => table.capacity_between(from, to),
        }
    }
}
