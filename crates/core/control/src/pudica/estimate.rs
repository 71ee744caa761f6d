//! Estimates of the path that can stand in for Pudica's own (Wang et al. 2024, section 5.5): the
//! utilization ratio of a frame is then its bitrate over the bandwidth or capacity that the estimate gives
//! when the frame is through.
//!
//! | Estimate | What it is | Pace |
//! |---|---|---|
//! | SQP (`sqp::train`) | size of the frame over its time beyond the least delay of two round trips | [`SQP_PACE`] |
//! | Salsify (`salsify::arrival_gap`) | a packet over the moving average of the gaps between packets | a fifth of the mean gap |
//!
//! A frame of size B L that takes D gives SQP's sample B L / (D - least), so the ratio B / S is
//! (D - least) / L: eq. 1 again, but with a least delay that is soon forgotten, without probes, and with a
//! train that leaves at twice the bitrate whatever the path does.
//!
//! | Deviation | Why |
//! |---|---|
//! | SQP's ratio is at least one over a fixed multiplier | a train cannot show more than the rate at which it left |

use super::options::PudicaOptions;
use super::readings::{Bur, Pace};
use crate::salsify::arrival_gap::ArrivalGap;
use crate::sqp::train::Sampler;
use crate::{FrameId, FrameSent, PacketReport, RateLimits};
use gameway_units::{Duration, Rate};
use std::collections::VecDeque;

/// The pace multiplier of SQP.
const SQP_PACE: f64 = 2.0;
/// Samples of this many frames are remembered: a frame is judged soon after its train is through.
const REMEMBERED: usize = 64;

/// An estimate of the bandwidth or of the capacity, if the ratio is not to be Pudica's own.
#[derive(Debug, Clone)]
pub(super) enum Estimate {
    Own,
    Sqp { sampler: Sampler, samples: VecDeque<(FrameId, f64)> },
    Salsify(ArrivalGap),
}

impl Estimate {
    pub(super) fn new(bur: Bur, limits: &RateLimits) -> Self {
        match bur {
            Bur::Pudica => Self::Own,
            Bur::Sqp => Self::Sqp {
                sampler: Sampler::new(limits.frame_interval),
                samples: VecDeque::with_capacity(REMEMBERED),
            },
            Bur::Salsify => Self::Salsify(ArrivalGap::of_rate(limits.clamp(limits.start))),
        }
    }

    pub(super) fn set_frame_interval(&mut self, interval: Duration) {
        if let Self::Sqp { sampler, .. } = self {
            sampler.set_frame_interval(interval);
        }
    }

    pub(super) fn on_frame(&mut self, frame: &FrameSent) {
        if let Self::Sqp { sampler, .. } = self {
            sampler.on_frame(frame);
        }
    }

    pub(super) fn on_round_trip(&mut self, rtt: Duration) {
        if let Self::Sqp { sampler, .. } = self {
            sampler.on_round_trip(rtt);
        }
    }

    pub(super) fn on_report(&mut self, report: &PacketReport) {
        match self {
            Self::Own => {}
            Self::Sqp { sampler, samples } => {
                let Some(sample) = sampler.on_report(report) else { return };
                if samples.len() == REMEMBERED {
                    samples.pop_front();
                }
                samples.push_back(sample);
            }
            Self::Salsify(gap) => {
                if let Some(arrival) = report.arrival {
                    gap.on_packet(&report.packet, arrival);
                }
            }
        }
    }

    /// What the path has for this frame, now that it is through, in bit/s.
    pub(super) fn bandwidth(&self, frame: FrameId) -> Option<f64> {
        match self {
            Self::Own => None,
            Self::Sqp { samples, .. } => {
                samples.iter().rev().find(|(known, _)| *known == frame).map(|(_, sample)| *sample)
            }
            Self::Salsify(gap) => Some(gap.capacity().as_bps_f64()),
        }
    }

    /// The newest, for the log; zero if there is none.
    pub(super) fn newest(&self) -> f64 {
        match self {
            Self::Own => 0.0,
            Self::Sqp { samples, .. } => samples.back().map_or(0.0, |(_, sample)| *sample),
            Self::Salsify(gap) => gap.capacity().as_bps_f64(),
        }
    }

    /// The rate at which packets leave, where the estimate sets one.
    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        if let Self::Salsify(gap) = self { Some(gap.pacing_rate()) } else { None }
    }
}

/// What [`Pace::Native`] is for the estimate; Salsify's is not a pace in Pudica's terms and stays.
pub(super) fn pace(options: &PudicaOptions) -> Pace {
    match (options.pace, options.bur) {
        (Pace::Native, Bur::Pudica) => Pace::Adaptive,
        (Pace::Native, Bur::Sqp) => Pace::Multiplier(SQP_PACE),
        (pace, _) => pace,
    }
}

/// Bitrate over bandwidth, but no less than a train paced like this can show.
pub(super) fn ratio(bitrate: Rate, bandwidth: f64, pace: Pace) -> f64 {
    let min = if let Pace::Multiplier(multiplier) = pace { 1.0 / multiplier } else { 0.0 };
    (bitrate.as_bps_f64() / bandwidth.max(1.0)).max(min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SentPacket, SequenceNumber};
    use gameway_units::{Bytes, Instant, ReceiverInstant};

    /// Reports on a frame of two packets that leave together and arrive 1 ms apart, after 10 ms.
    fn reported(estimate: &mut Estimate, frame: u64) {
        let sent = Instant::ZERO + Duration::from_millis(16 * frame as i64);
        let (target, size) = (Rate::from_mbps(1), Bytes::new(2_496));
        estimate.on_frame(&FrameSent::new(FrameId(frame), target, size, 2));
        for (place, last) in [(0, false), (1, true)] {
            let packet =
                SentPacket::new(SequenceNumber(0), sent, FrameId(frame), Bytes::new(1_248));
            let arrival = sent.as_nanos() + 10_000_000 + place * 1_000_000;
            let packet = packet.with_last_of_frame(last);
            let arrival = Some(ReceiverInstant::from_nanos(arrival));
            estimate.on_report(&PacketReport::new(packet, arrival));
        }
    }

    fn made(bur: Bur) -> Estimate {
        let limits = RateLimits {
            min: Rate::from_mbps(1),
            max: Rate::from_mbps(50),
            start: Rate::from_mbps(10),
            frame_interval: Duration::from_millis(16),
        };
        Estimate::new(bur, &limits)
    }

    #[test]
    fn that_of_sqp_is_the_frames_own_and_remembered_for_a_while() {
        let mut estimate = made(Bur::Sqp);
        assert!((estimate.newest().abs(), estimate.pacing_rate()) == (0.0, None));
        (0..70).for_each(|frame| reported(&mut estimate, frame));
        // 19968 bits in a millisecond.
        let known: Vec<_> = [5, 6, 69, 70].map(|frame| estimate.bandwidth(FrameId(frame))).into();
        assert_eq!(known, [None, Some(19_968e3), Some(19_968e3), None]);
        assert!((estimate.newest() - 19_968e3).abs() < 1e-3);
    }

    #[test]
    fn that_of_salsify_is_of_the_gaps_whatever_the_frame() {
        let mut estimate = made(Bur::Salsify);
        let known = |estimate: &Estimate| estimate.bandwidth(FrameId(0)).unwrap_or(0.0) / 1e6;
        assert!((known(&estimate) - 10.0).abs() < 1e-4);
        // Five packets for each gap, of which one is of 1 ms and one, after a pause, of none.
        assert!((estimate.pacing_rate().map_or(0.0, Rate::as_mbps_f64) - 50.0).abs() < 1e-3);
        (0..100).for_each(|frame| reported(&mut estimate, frame));
        assert!((18.0..22.0).contains(&known(&estimate)), "{}", known(&estimate));
        assert!((estimate.newest() / 1e6 - known(&estimate)).abs() < 1e-9);
        assert_eq!(made(Bur::Pudica).bandwidth(FrameId(0)), None);
        assert!(made(Bur::Pudica).newest().abs() < 1e-9);
    }

    #[test]
    fn a_ratio_is_bitrate_over_bandwidth_and_no_less_than_the_pace_can_show() {
        let of = |bandwidth, pace| ratio(Rate::from_mbps(10), bandwidth, pace);
        assert!((of(20e6, Pace::Adaptive) - 0.5).abs() < 1e-12);
        assert!((of(100e6, Pace::Adaptive) - 0.1).abs() < 1e-12);
        assert!((of(100e6, Pace::Multiplier(4.0)) - 0.25).abs() < 1e-12);
        assert!((of(20e6, Pace::Multiplier(4.0)) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_native_pace_is_that_of_the_estimate() {
        let of = |pace_option, bur| {
            pace(&PudicaOptions { pace: pace_option, bur, ..PudicaOptions::default() })
        };
        assert_eq!(of(Pace::Native, Bur::Pudica), Pace::Adaptive);
        assert_eq!(of(Pace::Native, Bur::Sqp), Pace::Multiplier(2.0));
        assert_eq!(of(Pace::Native, Bur::Salsify), Pace::Native);
        assert_eq!(of(Pace::Burst, Bur::Sqp), Pace::Burst);
    }
}
