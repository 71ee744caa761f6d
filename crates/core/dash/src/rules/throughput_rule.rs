//! The level that throughput carries.
//!
//! Source: dash.js 5.2.1 `ThroughputRule`.
//! Model: the highest level within nine tenths of the throughput ([`crate::Throughput::safe`]); no request
//! while the buffer is empty, or in the ten seconds after a download was abandoned.

use super::{Situation, SwitchRequest};

pub(crate) fn decide(situation: &Situation<'_>) -> Option<SwitchRequest> {
    let safe = situation.throughput.safe()?;
    (situation.settled && !situation.empty)
        .then(|| SwitchRequest(situation.ladder.max_within(safe)))
}
