//! Our time as the standard library's, which DTLS and SCTP are written in.
//!
//! The standard library gives out its instants only by reading the clock, so the base is read once for
//! each peer and serves as a name of time zero: no decision depends on what was read.

use gameway_units::{Duration, Instant};

/// Which standard instant stands for zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeBase(std::time::Instant);

impl TimeBase {
    #[expect(
        clippy::disallowed_methods,
        reason = "an origin to count from; what it reads is never used"
    )]
    pub(crate) fn new() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn standard(self, now: Instant) -> std::time::Instant {
        let nanos = now.as_nanos();
        let span = std::time::Duration::from_nanos(nanos.unsigned_abs());
        let shifted = if nanos < 0 { self.0.checked_sub(span) } else { self.0.checked_add(span) };
        shifted.unwrap_or(self.0)
    }

    pub(crate) fn ours(self, then: std::time::Instant) -> Option<Instant> {
        let nanos = match then.checked_duration_since(self.0) {
            Some(after) => i64::try_from(after.as_nanos()).ok()?,
            None => -i64::try_from(self.0.duration_since(then).as_nanos()).ok()?,
        };
        Some(Instant::ZERO.saturating_add(Duration::from_nanos(nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_the_way_there_and_back() {
        let base = TimeBase::new();
        for nanos in [0, 1, -5, 3_600_000_000_000, -1_000_000_000] {
            let time = Instant::from_nanos(nanos);
            assert_eq!(base.ours(base.standard(time)), Some(time));
        }
    }
}
