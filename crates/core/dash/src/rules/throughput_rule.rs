//! The level that throughput carries.
//!
//! Source: dash.js 5.2.1 `ThroughputRule`.
//! Model: the highest level within nine tenths of the throughput ([`crate::Throughput::safe`]); no wish
//! while the buffer is empty, or in the ten seconds after a download was abandoned.

use super::{Situation, Wish};

pub(crate) fn decide(situation: &Situation<'_>) -> Option<Wish> {
    let safe = situation.throughput.safe()?;
    (situation.settled && !situation.empty).then(|| Wish(situation.ladder.max_within(safe)))
}
