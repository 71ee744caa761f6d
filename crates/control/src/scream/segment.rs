//! The size of a segment as the reference knows it: that of the largest packet sent in the last one to two seconds.
//!
//! Source: Ericsson's `ScreamV2Tx::addTransmitted`, `isOkToTransmit` and `getMss` (0208f59 of November 2025).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | measured anew each | 1 s | C++ (`kMssUpdateInterval_ntp`) |
//! | least | 100 B | C++ (`kInitMss`), a packet of sound |

use gameway_units::{Duration, Instant};

const ROUND: Duration = Duration::from_secs(1);
const LEAST: f64 = 100.0;

/// See the module. Sizes are in bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct LargestPacket {
    present: f64,
    before: f64,
    began: Option<Instant>,
}

impl LargestPacket {
    /// A packet of that size left; gives the largest of late.
    pub(super) fn on_sent(&mut self, now: Instant, size: f64) -> f64 {
        let began = *self.began.get_or_insert(now);
        if now.saturating_since(began) > ROUND {
            self.before = std::mem::take(&mut self.present);
            self.began = Some(now);
        }
        self.present = self.present.max(size);
        self.present.max(self.before).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_largest_packet_of_this_round_and_the_one_before() {
        let mut largest = LargestPacket::default();
        let mut send = |millis: i64, size: f64| {
            largest.on_sent(Instant::ZERO + Duration::from_millis(millis), size) as u32
        };
        assert_eq!(send(0, 60.0), 100);
        assert_eq!(send(10, 1_240.0), 1_240);
        assert_eq!(send(1_001, 400.0), 1_240);
        assert_eq!(send(2_002, 300.0), 400);
        assert_eq!(send(3_003, 300.0), 300);
    }
}
