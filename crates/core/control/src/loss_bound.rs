//! A bound where much is lost, for laws of rate control that know delay only.
//!
//! Such a law measures the queue against the least delay of late, or against the gaps between arrivals. Where something else
//! keeps the queue full for good it finds no queue, or free capacity, and sends its largest bitrate into loss.
//!
//! Source: draft-ietf-rmcat-gcc-02, section 6: a loss-based rate beside the delay-based one, of which the lesser is sent.
//! Above a tenth lost it is times (1 - loss / 2), up to 2 % it grows, between the two it holds. Growth, and a figure of loss
//! each second (`loss_share`), as in libwebrtc `send_side_bandwidth_estimation` (m128).
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | low and high loss | 2 %, 10 % | draft, section 6; libwebrtc |
//! | decrease | 1 - loss / 2, once for each figure | draft; libwebrtc |
//! | growth | 8 % and 1 kb/s, for each figure | libwebrtc; draft: 5 % for each report |
//!
//! | Deviation | Why |
//! |---|---|
//! | There is no loss-based rate before more than a tenth is lost, and none after it has grown to the law's own | up to there the law shall be the published one; GCC's would hold each rise to 8 % a second |
//! | Not the circuit breaker of RFC 8083 | it ends a stream that sends over ten times what TCP would: 50 Mb/s at 40 ms from 0.4 % loss on, where a game plays; and it finds no rate |
//! | The law is not told of the bound | as in GCC, where the delay-based rate is not lowered either |

use crate::FeedbackBatch;
use crate::loss_share::{GROWTH, GROWTH_MARGIN_BPS, HIGH_LOSS, LOW_LOSS, LossShare};
use gameway_units::{Instant, Rate};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct LossBound {
    enabled: bool,
    share: LossShare,
    bound: Option<Rate>,
}

impl LossBound {
    pub(crate) fn new(enabled: bool) -> Self {
        Self { enabled, ..Self::default() }
    }

    /// A report came while the law wanted this bitrate.
    pub(crate) fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>, wanted: Rate) {
        if !self.enabled {
            return;
        }
        let lost = batch.reports.iter().filter(|report| report.arrival.is_none()).count();
        if let Some(share) = self.share.on_packets(now, lost as u64, batch.reports.len() as u64) {
            self.on_share(share, wanted);
        }
    }

    fn on_share(&mut self, lost: f64, wanted: Rate) {
        if lost > HIGH_LOSS {
            self.bound = Some(self.limit(wanted).mul_f64(1.0 - lost / 2.0));
        } else if lost <= LOW_LOSS {
            let grown = self.bound.map(|bound| bound.as_bps_f64() * GROWTH + GROWTH_MARGIN_BPS);
            self.bound = grown.map(Rate::from_bps_f64).filter(|bound| *bound < wanted);
        }
    }

    /// What of that bitrate may be sent.
    pub(crate) fn limit(&self, wanted: Rate) -> Rate {
        self.bound.map_or(wanted, |bound| bound.min(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameId, PacketReport, SentPacket, SequenceNumber};
    use gameway_units::{Bytes, ReceiverInstant};

    fn after(shares: &[f64]) -> f64 {
        let (mut bound, wanted) = (LossBound::new(true), Rate::from_mbps(20));
        shares.iter().for_each(|share| bound.on_share(*share, wanted));
        bound.limit(wanted).as_mbps_f64()
    }

    #[test]
    fn it_is_lowered_above_a_tenth_holds_above_a_fiftieth_and_grows_until_it_is_gone() {
        let near =
            |found: f64, right: f64| assert!((found - right).abs() < 1e-6, "{found} {right}");
        near(after(&[0.1, 0.1]), 20.0);
        near(after(&[0.5]), 15.0);
        near(after(&[0.5, 0.2]), 13.5);
        near(after(&[0.5, 0.2, 0.1, 0.021]), 13.5);
        near(after(&[0.5, 0.2, 0.02]), 14.581);
        near(after(&[0.5, 0.0, 0.0, 0.0, 0.0]), 20.0);
        near(after(&[0.5, 0.0, 0.0, 0.0, 0.0, 0.2]), 18.0);
    }

    /// A report of which half is lost.
    #[test]
    fn it_bounds_only_where_it_is_asked_for() {
        for (enabled, mbps) in [(true, 15), (false, 20)] {
            let reports = [0, 1].map(|number| {
                let (sequence, size) = (SequenceNumber(number), Bytes::new(1_000));
                let packet = SentPacket::new(sequence, Instant::ZERO, FrameId(0), size);
                let arrival = (number == 0).then_some(ReceiverInstant::ZERO);
                PacketReport::new(packet, arrival)
            });
            let reports = reports.repeat(20);
            let batch = FeedbackBatch::new(&reports, ReceiverInstant::ZERO, Bytes::ZERO);
            let (mut bound, wanted) = (LossBound::new(enabled), Rate::from_mbps(20));
            bound.on_feedback(Instant::ZERO, &batch, wanted);
            assert_eq!(bound.limit(wanted), Rate::from_mbps(mbps));
        }
    }
}
