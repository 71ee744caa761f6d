//! The share of packets that are lost, a figure each second, and the constants of the loss-based rate that goes by it.
//!
//! Source: libwebrtc `send_side_bandwidth_estimation` (m128).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | a figure each | 1 s | libwebrtc, where RTCP's reports come so |
//! | from at least | 20 packets | libwebrtc (`kLimitNumPackets`) |
//! | low and high loss | 2 %, 10 % | draft-ietf-rmcat-gcc-02 section 6; libwebrtc |
//! | growth | 8 % and 1 kb/s | libwebrtc |

use gameway_units::{Duration, Instant};

/// Up to this share lost the rate grows.
pub(crate) const LOW_LOSS: f64 = 0.02;
/// Above this share it is lowered.
pub(crate) const HIGH_LOSS: f64 = 0.1;
pub(crate) const GROWTH: f64 = 1.08;
pub(crate) const GROWTH_MARGIN_BPS: f64 = 1_000.0;
const INTERVAL: Duration = Duration::from_secs(1);
const MIN_PACKETS: u64 = 20;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossShare {
    lost: u64,
    reported: u64,
    next: Option<Instant>,
}

impl LossShare {
    /// `reported` packets were reported, of which `lost` are lost; gives a figure if one is due.
    pub(crate) fn on_packets(&mut self, now: Instant, lost: u64, reported: u64) -> Option<f64> {
        self.lost += lost;
        self.reported += reported;
        if self.next.is_some_and(|next| now <= next) {
            return None;
        }
        self.next = Some(now.saturating_add(INTERVAL));
        if self.reported < MIN_PACKETS {
            return None;
        }
        let share = self.lost as f64 / self.reported as f64;
        (self.lost, self.reported) = (0, 0);
        Some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_packets_are_enough() {
        let figure = |reported| LossShare::default().on_packets(Instant::ZERO, 5, reported);
        assert_eq!((figure(19), figure(20)), (None, Some(0.25)));
    }

    #[test]
    fn a_figure_each_second_of_twenty_packets_at_least() {
        let mut share = LossShare::default();
        let mut report = |millis: i64, lost: u64, reported: u64| {
            share.on_packets(Instant::ZERO + Duration::from_millis(millis), lost, reported)
        };
        assert_eq!(report(0, 1, 4), None);
        assert_eq!(report(1_000, 2, 6), None);
        assert_eq!(report(1_001, 0, 9), None); // 19 packets
        assert_eq!(report(2_001, 3, 21), None); // not more than a second later
        assert_eq!(report(2_002, 4, 0), Some(0.25));
        assert_eq!(report(3_100, 0, 30), Some(0.0));
    }
}
