//! The connections of signalling that are open: who comes last is served.

use crate::guard::Source;
use std::collections::VecDeque;
use tokio::task::AbortHandle;

const CONNECTIONS: usize = 256;
const CONNECTIONS_OF_ONE: usize = 8;

/// The connections that are open, the oldest first.
#[derive(Default)]
pub(super) struct Connections(VecDeque<(Source, AbortHandle)>);

impl Connections {
    /// Room for one more of this source: where there is none, the oldest closes.
    pub(super) fn make_room(&mut self, source: Source) {
        self.0.retain(|(_, task)| !task.is_finished());
        let own = |(other, _): &(Source, AbortHandle)| *other == source;
        let oldest = if self.0.iter().filter(|one| own(one)).count() >= CONNECTIONS_OF_ONE {
            self.0.iter().position(own)
        } else {
            (self.0.len() >= CONNECTIONS).then_some(0)
        };
        if let Some((_, task)) = oldest.and_then(|place| self.0.remove(place)) {
            task.abort();
        }
    }

    /// One more of this source.
    pub(super) fn add(&mut self, source: Source, task: AbortHandle) {
        self.0.push_back((source, task));
    }
}
