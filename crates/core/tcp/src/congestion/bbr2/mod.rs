//! BBR, version 2: the body of [version 3](super::bbr3) with other parameters.
//!
//! Source: Linux google/bbr, branch v2alpha, `net/ipv4/tcp_bbr2.c`: what papers from 2019 to 2023 call
//! BBRv2.
//!
//! | What | Version 2 (v2alpha) | Version 3 (draft-ietf-ccwg-bbr-06) | Names in the source of version 2 |
//! |---|---|---|---|
//! | Startup: gains of pacing, window | 2.89, 2.89 | 2.77, 2 | `bbr_high_gain`, `bbr_startup_cwnd_gain` |
//! | Startup: lost ranges that end it | 8 | 6 | `bbr_full_loss_cnt` |
//! | Startup: flight that it may keep after losses | the BDP | the larger of BDP and last delivered round | `bbr2_handle_queue_too_high_in_startup` |
//! | Startup: plateau of | the filtered bandwidth | the latest sample | `bbr_check_full_bw_reached` |
//! | a probe: lost ranges in a round from which on it is judged (`probe_lost_ranges`) | 1; over QUIC 2, as quiche's `BBR2SenderParams` and s2n-quic 1.91 have it (`PROBE_BW_FULL_LOSS_COUNT`) | 1 | `bbr2_is_inflight_too_high` |
//! | Drain: pacing gain, longest | 0.35, no limit | 0.5, 3 rounds | `bbr_drain_gain` |
//! | Down: pacing gain | 0.75 | 0.9 | `bbr_pacing_gain` |
//! | Up: window gain | 2 | 2.25 | `bbr_cwnd_gain` |
//! | Up: ends without congestion | 1.25 BDP in flight, after a minimum RTT | bandwidth grows no more, 3 rounds | `bbr2_update_cycle_phase` |
//! | Up: acknowledgments before the window is used | do not count | count | `bbr2_probe_inflight_hi_upward` |
//! | who judges a probe | lost segments and ACKs | lost segments | `bbr2_adapt_upper_bounds` |
//! | ProbeRTT: window gain (its window is half a BDP in both) | 1 | 0.5 | `bbr_update_gains` |
//! | spurious loss | bounds restored | and back to Startup or probing | `bbr2_undo_cwnd` |
//! | marks cut | short-term flight and rate, long-term rate | short-term flight (Linux v3) | `bbr_ecn_bw_lo`, `bbr_ecn_bw_hi` |
//! | marks gone: probe again at once | no | with half the flight (Linux v3) | `bbr_ecn_reprobe_gain` |
//! | marks that are not counted (RFC 3168) | ignored | as loss | `bbr2_main` reads no others |
//!
//! The same are loss threshold, beta, headroom, the waits between probes, ProbeRTT and its schedule
//! and the response to counted marks (`bbr3/ecn.rs`), which acts on paths of at most 5 ms only.
//!
//! | Deviation | Why |
//! |---|---|
//! | those of version 3, but for the ones about undo and RFC 3168 | the same body |
//! | marks are used as soon as some were counted | `bbr_ecn_enable`, off by default, is for labs that know their marks to be shallow: to negotiate accurate ECN says so here |
//! | lost ranges, not ACKs that report losses, end Startup | section 5.3.1.3 of the draft; the two are close |
//! | an RTT equal to the minimum does not put off ProbeRTT | simulated RTTs are equal to the nanosecond |
//! | Startup: the window has no other floor than the target and the first ten segments | `bbr_set_cwnd` lets it grow to 20 segments in any case; the other counts what is delivered |
//! | Drain ends at a BDP of the bounded bandwidth; a probe's target carries no quantization | the draft; the difference is below two segments on any path of over 6 segments |

use super::bbr3::{Bbr3, EcnParameters, Parameters, UpEnd};
use super::{CongestionControl, TcpAlgorithm};
use gameway_units::declared::Configuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const VERSION_2: Parameters = Parameters {
    name: "bbr2",
    startup_pacing_gain: 739.0 / 256.0,
    startup_window_gain: 739.0 / 256.0,
    drain_pacing_gain: 88.0 / 256.0,
    drain_rounds: None,
    down_pacing_gain: 0.75,
    up_window_gain: 2.0,
    up_end: UpEnd::Flight(1.25),
    probe_rtt_window_gain: 1.0,
    startup_lost_ranges: 8,
    probe_lost_ranges: 1,
    keeps_latest_after_startup: false,
    plateau_of_filter: true,
    keeps_unused_credit: false,
    judges_acks: true,
    returns_to_state: false,
    classic_marks: false,
    ecn: EcnParameters { bounds_bandwidth: true, reprobe_gain: 0.0 },
};

impl Bbr3 {
    /// Version 2 with the initial window of RFC 6928; `seed` draws when it probes.
    #[must_use]
    pub fn version_2(segment_size: u32, seed: u64) -> Self {
        Self::with_parameters(VERSION_2, segment_size, seed)
    }
}

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bbr2Config {
    /// lost ranges in a round from which on more than 2 % lost ends a probe: 1 in Linux, 2 over QUIC in Chromium and s2n-quic
    #[schemars(range(min = 1, max = 100))]
    pub probe_lost_ranges: u32,
}

impl Default for Bbr2Config {
    fn default() -> Self {
        Self { probe_lost_ranges: VERSION_2.probe_lost_ranges }
    }
}

impl Configuration for Bbr2Config {
    const NAME: &'static str = VERSION_2.name;
    const SUMMARY: &'static str =
        "BBR version 2 (v2alpha): as version 1, but bounded where losses or marks set in";
    const SOURCE: &'static str = "Linux google/bbr v2alpha tcp_bbr2.c";
}

impl TcpAlgorithm for Bbr2Config {
    fn build(&self, segment_size: u32, seed: u64) -> Box<dyn CongestionControl> {
        let Self { probe_lost_ranges } = *self;
        let parameters = Parameters { probe_lost_ranges, ..VERSION_2 };
        Box::new(Bbr3::with_parameters(parameters, segment_size, seed))
    }
}

#[cfg(test)]
mod tests;
