//! What of Pudica (Wang et al. 2024) can be set: its constants, and the readings of what the paper leaves
//! open. The table at the head of the algorithm tells the origin of each.
//!
//! Variants of section 5.5, Appendix G and Figure 7:
//!
//! | Variant | Option |
//! |---|---|
//! | BUR by SQP's or Salsify's estimate, with their way of sending (see `estimate`) | `bur` |
//! | fixed or burst pace, no probes | `pace`, `probes = 0` |
//! | AI/MD: additive increase between alpha and one, decrease by draining (Appendix G) | `additive_only` |
//! | without fallback, without draining | `fallback`, `draining` |
//! | parameters of Table 6 | `alpha`, `gamma_mi`, `zeta`, `window` |
//! | a set bitrate, estimating only (Appendix A) | `hold`; log `bur_frame`, `bur`, `bur_corrected` |

use super::readings::{
    AboveOne, AdditiveTerm, Bur, Cadence, DrainTarget, DrainVolume, FrameBitrate, LogBase,
    MinDelay, Pace, PaceRatio, Recovery, TauReset, Trigger,
};
use gameway_units::declared::{Configuration, on_off};
use gameway_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Constants and readings; the default is the paper's, and the recommended reading where it is silent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PudicaOptions {
    /// whose estimate gives the utilization ratio
    pub bur: Bur,
    /// spread of packets: native is that of the estimate; a multiplier is the frame interval over a frame's spread
    #[schemars(extend("minimum" = 1.0, "maximum" = 1000.0))]
    pub pace: Pace,
    /// keep this bitrate and only estimate (appendix A)
    #[schemars(extend("x-none" = "off"))]
    pub hold: Option<Rate>,
    /// smoothed ratio where AI-MD takes over from MI, and share of the receiving rate in a drain
    #[schemars(range(min = 0.1, max = 1.0))]
    pub alpha: f64,
    /// damping of multiplicative increase
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma_mi: f64,
    /// multiplicative part of AI-MD
    #[schemars(range(min = 0.0, max = 1.0))]
    pub gamma_md: f64,
    /// pace multiplier at full utilization
    #[schemars(range(min = 1.0, max = 10.0))]
    pub gamma_p: f64,
    /// probe packets after each frame, with its own estimate
    #[schemars(range(min = 0, max = 16))]
    pub probes: u32,
    /// age at which a sample stops to count
    #[schemars(extend("x-min" = "20 ms", "x-max" = "5 s"))]
    pub window: Duration,
    /// share by which a fallback lowers one frame
    #[schemars(range(min = 0.0, max = 0.9))]
    pub zeta: f64,
    /// ratio that pulls fallback and drain: uncorrected, corrected, own (whatever bur is)
    pub trigger: Trigger,
    /// AI-MD while the smoothed ratio is above one
    pub above_one: AboveOne,
    /// growth of the additive term with tau
    pub ai_term: AdditiveTerm,
    /// base of the logarithm in the additive term
    pub log_base: LogBase,
    /// B_max in the additive term
    #[schemars(extend("x-none" = "max_bitrate"))]
    pub b_max: Option<Rate>,
    /// bound on one step of AI-MD, both ways
    pub a_cap: Rate,
    /// a further bound on it, as a share of the bitrate
    #[schemars(range(min = 0.001, max = 1.0))]
    pub a_cap_share: f64,
    /// how often AI-MD acts: gated by feedback, every-frame
    pub ai_cadence: Cadence,
    /// AI/MD: increase up to a ratio of one, decrease by draining only
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub additive_only: bool,
    /// step of additive_only
    pub additive_step: Rate,
    /// origin of the 5 s period that clears tau
    pub tau_reset: TauReset,
    /// lower one frame after one with a ratio above one, or a late one
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub fallback: bool,
    /// drain after three frames above one
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub draining: bool,
    /// data to drain within 200 ms
    pub drain_volume: DrainVolume,
    /// when the bitrate of a drain is computed
    pub drain_target: DrainTarget,
    /// bitrate after a drain: bounded by that before, unbounded
    pub recovery: Recovery,
    /// a frame is late when its feedback is overdue by this
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 s"))]
    pub next_delay_margin: Duration,
    /// packets that tell the least delay: any, frame (no probes)
    pub min_delay: MinDelay,
    /// scale past ratios by the present bitrate over the one then (eq. 6)
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub scale: bool,
    /// bitrate of a past frame: target, actual (its size)
    pub frame_bitrate: FrameBitrate,
    /// ratio that drives the pace
    pub pace_ratio: PaceRatio,
    /// bound on the pace multiplier
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub max_pace: f64,
    /// a bound as GCC's loss-based rate once more than a tenth is lost; not in the paper
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub reduce_on_loss: bool,
    /// a delay that no drain lowers is the path's at once, not after the 10 s of its window; not in the paper
    #[serde(with = "on_off")]
    #[schemars(with = "on_off::Switch")]
    pub longer_path: bool,
}

impl Default for PudicaOptions {
    fn default() -> Self {
        Self {
            bur: Bur::default(),
            pace: Pace::default(),
            hold: None,
            alpha: 0.85,
            gamma_mi: 0.3,
            gamma_md: 0.05,
            gamma_p: 1.25,
            probes: 4,
            window: Duration::from_millis(200),
            zeta: 0.15,
            trigger: Trigger::default(),
            above_one: AboveOne::default(),
            ai_term: AdditiveTerm::default(),
            log_base: LogBase::default(),
            b_max: None,
            a_cap: Rate::from_mbps(1),
            a_cap_share: 1.0,
            ai_cadence: Cadence::default(),
            additive_only: false,
            additive_step: Rate::from_kbps(250),
            tau_reset: TauReset::default(),
            fallback: true,
            draining: true,
            drain_volume: DrainVolume::default(),
            drain_target: DrainTarget::default(),
            recovery: Recovery::default(),
            next_delay_margin: Duration::from_millis(5),
            min_delay: MinDelay::default(),
            scale: true,
            frame_bitrate: FrameBitrate::default(),
            pace_ratio: PaceRatio::default(),
            max_pace: 10.0,
            reduce_on_loss: false,
            longer_path: false,
        }
    }
}

impl Configuration for PudicaOptions {
    const NAME: &'static str = "pudica";
    const SUMMARY: &'static str =
        "keeps the queue empty between frames, from the bandwidth utilization ratio of each";
    const SOURCE: &'static str = "Wang et al., Pudica, NSDI 2024";
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_units::declared::{Description, Options};

    #[test]
    fn every_option_changes_something() {
        let other = [
            ("bur", "sqp"),
            ("pace", "2"),
            ("hold", "8 Mb/s"),
            ("a_cap_share", "0.02"),
            ("drain_target", "once"),
            ("recovery", "unbounded"),
            ("next_delay_margin", "0 s"),
            ("min_delay", "frame"),
            ("pace_ratio", "uncorrected"),
            ("alpha", "0.8"),
            ("gamma_mi", "0.2"),
            ("gamma_md", "0.1"),
            ("gamma_p", "1.5"),
            ("probes", "0"),
            ("window", "150 ms"),
            ("zeta", "0.1"),
            ("trigger", "corrected"),
            ("above_one", "hold"),
            ("ai_term", "exponential"),
            ("log_base", "2"),
            ("b_max", "40 Mb/s"),
            ("a_cap", "500 kb/s"),
            ("ai_cadence", "every-frame"),
            ("additive_only", "on"),
            ("additive_step", "1 Mb/s"),
            ("tau_reset", "aligned"),
            ("fallback", "off"),
            ("draining", "off"),
            ("drain_volume", "above-bdp"),
            ("scale", "off"),
            ("frame_bitrate", "actual"),
            ("max_pace", "4"),
            ("reduce_on_loss", "on"),
            ("longer_path", "on"),
        ];
        let description = Description::of::<PudicaOptions>();
        assert_eq!(other.len(), description.options().len());
        for (name, value) in other {
            let options = Options::from_iter([(name.to_owned(), value.into())]);
            let read = description.read::<PudicaOptions>(&options);
            assert!(read.is_ok_and(|read| read != PudicaOptions::default()), "{name}");
        }
    }
}
