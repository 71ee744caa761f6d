//! The size of a segment as the reference knows it: that of the largest packet sent in the last one to two seconds.
//!
//! Source: Ericsson's `ScreamV2Tx::addTransmitted`, `isOkToTransmit` and `getMss` (0208f59 of November 2025).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | measured anew each | 1 s | C++ (`kMssUpdateInterval_ntp`) |
//! | least | 100 B | C++ (`kInitMss`), a packet of sound |
//!
//! With each measurement the window is raised to a few segments (`version`), so a window at its least is tried larger.

use gameway_units::{Duration, Instant};

const ROUND: Duration = Duration::from_secs(1);
const MIN_SEGMENT: f64 = 100.0;

/// See the module. Sizes are in bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct LargestPacket {
    present: f64,
    before: f64,
    began: Option<Instant>,
}

impl LargestPacket {
    /// A packet of that size left; gives the largest of late, and whether it is measured anew from this packet on.
    pub(super) fn on_sent(&mut self, now: Instant, size: f64) -> (f64, bool) {
        let began = *self.began.get_or_insert(now);
        let anew = now.saturating_since(began) > ROUND;
        if anew {
            self.before = std::mem::take(&mut self.present);
            self.began = Some(now);
        }
        self.present = self.present.max(size);
        (self.present.max(self.before).max(MIN_SEGMENT), anew)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_largest_packet_of_this_round_and_the_one_before() {
        let mut largest = LargestPacket::default();
        let mut send = |millis: i64, size: f64| {
            let (size, anew) = largest.on_sent(Instant::ZERO + Duration::from_millis(millis), size);
            (size as u32, anew)
        };
        assert_eq!(send(0, 60.0), (100, false));
        assert_eq!(send(10, 1_240.0), (1_240, false));
        assert_eq!(send(1_000, 300.0), (1_240, false));
        assert_eq!(send(1_001, 400.0), (1_240, true));
        assert_eq!(send(2_002, 300.0), (400, true));
        assert_eq!(send(3_003, 300.0), (300, true));
    }
}
