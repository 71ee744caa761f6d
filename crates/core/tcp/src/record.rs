//! The record of a segment that is outstanding.

use crate::delivery_rate::Snapshot;
use gameway_units::Instant;

/// A segment that is outstanding. A FIN has length 1.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Record {
    pub(crate) sequence: u64,
    pub(crate) length: u32,
    pub(crate) fin: bool,
    pub(crate) sent: Instant,
    pub(crate) snapshot: Snapshot,
    pub(crate) sacked: bool,
    pub(crate) lost: bool,
    pub(crate) retransmitted: bool,
    pub(crate) ever_retransmitted: bool,
    /// When it was first sent again since the last time-out.
    pub(crate) first_retransmission: Option<Instant>,
}

impl Record {
    pub(crate) fn new(
        sequence: u64,
        length: u32,
        fin: bool,
        sent: Instant,
        snapshot: Snapshot,
    ) -> Self {
        Self { sequence, length, fin, sent, snapshot, ..Self::default() }
    }

    pub(crate) fn end(&self) -> u64 {
        self.sequence + u64::from(self.length)
    }
}
