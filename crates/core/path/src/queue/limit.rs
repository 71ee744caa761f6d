//! How much a queue holds.

use gameway_units::{Bytes, Duration, QueueSize, Rate};

/// The most that a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes on the wire.
    Bytes(Bytes),
    /// Packets of any size.
    Packets(u64),
}

impl Limit {
    /// That of a queue of `size` at `capacity` and `base_rtt`; at least one full packet, so that no set-up
    /// is a black hole.
    #[must_use]
    pub fn of(size: QueueSize, capacity: Rate, base_rtt: Duration) -> Self {
        const ONE_PACKET: Bytes = Bytes::new(1500);
        match size {
            QueueSize::Packets(count) => Self::Packets(count),
            other => {
                let bytes = other.in_bytes(capacity, base_rtt).unwrap_or(ONE_PACKET);
                Self::Bytes(bytes.max(ONE_PACKET))
            }
        }
    }
}
