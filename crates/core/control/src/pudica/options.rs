//! What of Pudica (Wang et al. 2024) can be set: its constants, and the readings of what the paper leaves
//! open. The table at the head of the algorithm tells the origin of each.

use super::readings::{
    AboveOne, AdditiveTerm, Bur, Cadence, DrainTarget, DrainVolume, FrameBitrate, LeastDelay,
    LogBase, Pace, PaceRatio, Recovery, TauReset, Trigger,
};
use crate::catalogue::{OptionError, OptionSpec, OptionValues};
use crate::loss_bound;
use gameway_units::{Duration, Rate};

/// Constants and readings; the default is the paper's, and the recommended reading where it is silent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PudicaOptions {
    /// See [`Bur`].
    pub bur: Bur,
    /// See [`Pace`].
    pub pace: Pace,
    /// Keep this bitrate and only estimate (Appendix A).
    pub hold: Option<Rate>,
    /// Smoothed ratio above which AI-MD takes over from MI, and share of the receiving rate in a drain.
    pub alpha: f64,
    /// Damping of MI.
    pub gamma_mi: f64,
    /// Multiplicative part of AI-MD.
    pub gamma_md: f64,
    /// Pace multiplier at full utilization.
    pub gamma_p: f64,
    /// Probe packets after each frame.
    pub probes: u32,
    /// Samples older than this do not count.
    pub window: Duration,
    /// Share by which a fallback lowers one frame.
    pub zeta: f64,
    /// See [`Trigger`].
    pub trigger: Trigger,
    /// See [`AboveOne`].
    pub above_one: AboveOne,
    /// See [`AdditiveTerm`].
    pub ai_term: AdditiveTerm,
    /// See [`LogBase`].
    pub log_base: LogBase,
    /// B_max of the additive term; `None` for the greatest bitrate of the stream.
    pub b_max: Option<Rate>,
    /// Bound on the step of AI-MD, both ways.
    pub a_cap: Rate,
    /// A further bound on that step, as a share of the bitrate.
    pub a_cap_share: f64,
    /// See [`Cadence`].
    pub ai_cadence: Cadence,
    /// AI/MD of the microbenchmark: only increase up to a ratio of one, leave decrease to the drain.
    pub additive_only: bool,
    /// Step of `additive_only`.
    pub additive_step: Rate,
    /// See [`TauReset`].
    pub tau_reset: TauReset,
    /// Lower one frame after a frame above one or a late one.
    pub fallback: bool,
    /// Drain after three frames above one.
    pub draining: bool,
    /// See [`DrainVolume`].
    pub drain_volume: DrainVolume,
    /// See [`DrainTarget`].
    pub drain_target: DrainTarget,
    /// See [`Recovery`].
    pub recovery: Recovery,
    /// A frame is late when its feedback is overdue by more than this.
    pub next_delay_margin: Duration,
    /// See [`LeastDelay`].
    pub min_delay: LeastDelay,
    /// Scale past ratios by the present bitrate over the one then (eq. 6).
    pub scale: bool,
    /// See [`FrameBitrate`].
    pub frame_bitrate: FrameBitrate,
    /// See [`PaceRatio`].
    pub pace_ratio: PaceRatio,
    /// Bound on the pace multiplier.
    pub max_pace: f64,
    /// A bound once more than a tenth is lost.
    pub reduce_on_loss: bool,
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
            min_delay: LeastDelay::default(),
            scale: true,
            frame_bitrate: FrameBitrate::default(),
            pace_ratio: PaceRatio::default(),
            max_pace: 10.0,
            reduce_on_loss: false,
        }
    }
}

const fn option(name: &'static str, default: &'static str, summary: &'static str) -> OptionSpec {
    OptionSpec { name, default, summary }
}

/// Options of Pudica by name.
pub const OPTIONS: &[OptionSpec] = &[
    option("bur", "pudica", "whose estimate gives the utilization ratio: pudica, sqp, salsify"),
    option(
        "pace",
        "native",
        "spread of packets: native to the estimate, adaptive, burst, or a multiplier from 1 to 1000",
    ),
    option("hold", "off", "keep this bitrate and only estimate: off, or a rate"),
    option("alpha", "0.85", "smoothed ratio where AI-MD takes over from MI; 0.1 to 1"),
    option("gamma_mi", "0.3", "damping of multiplicative increase; 0 to 1"),
    option("gamma_md", "0.05", "multiplicative part of AI-MD; 0 to 1"),
    option("gamma_p", "1.25", "pace multiplier at full utilization; 1 to 10"),
    option("probes", "4", "probe packets after each frame, with its own estimate; 0 to 16"),
    option("window", "200 ms", "age at which a sample stops to count; 20 ms to 5 s"),
    option("zeta", "0.15", "share by which a fallback lowers one frame; 0 to 0.9"),
    option(
        "trigger",
        "uncorrected",
        "ratio that pulls fallback and drain: uncorrected, corrected, own (whatever bur is)",
    ),
    option("above_one", "continue", "AI-MD while the smoothed ratio is above one: continue, hold"),
    option("ai_term", "linear", "growth of the additive term with tau: linear, exponential"),
    option("log_base", "e", "base of the logarithm in the additive term: e, 2, 10"),
    option("b_max", "max_bitrate", "B_max in the additive term, as a rate"),
    option("a_cap", "1 Mb/s", "bound on one step of AI-MD, both ways"),
    option("a_cap_share", "1", "a further bound on it, as a share of the bitrate; 0.001 to 1"),
    option("ai_cadence", "gated", "how often AI-MD acts: gated by feedback, every-frame"),
    option(
        "additive_only",
        "off",
        "AI/MD: increase up to a ratio of one, decrease by draining only",
    ),
    option("additive_step", "250 kb/s", "step of additive_only"),
    option("tau_reset", "own", "origin of the 5 s period that clears tau: own, aligned"),
    option("fallback", "on", "lower one frame after a late one: on, off"),
    option("draining", "on", "drain after three frames above one: on, off"),
    option("drain_volume", "in-flight", "data to drain within 200 ms: in-flight, above-bdp"),
    option("drain_target", "every-frame", "bitrate of a drain is computed: every-frame, once"),
    option("recovery", "bounded", "bitrate after a drain: bounded by that before, unbounded"),
    option("next_delay_margin", "5 ms", "a frame is late when overdue by this; 0 s to 1 s"),
    option("min_delay", "any", "packets that tell the least delay: any, frame (no probes)"),
    option("scale", "on", "scale past ratios to the present bitrate (eq. 6): on, off"),
    option("frame_bitrate", "target", "bitrate of a past frame: target, actual (its size)"),
    option("pace_ratio", "corrected", "ratio that drives the pace: corrected, uncorrected"),
    option("max_pace", "10", "bound on the pace multiplier; 1 to 1000"),
    loss_bound::OPTION,
];

impl PudicaOptions {
    /// From options given as text.
    ///
    /// # Errors
    /// If a name or a value is not allowed; the message says what is.
    pub fn from_options(options: &[(String, String)]) -> Result<Self, OptionError> {
        let values = OptionValues::new("pudica", OPTIONS, options)?;
        let paces =
            [("native", Pace::Native), ("adaptive", Pace::Adaptive), ("burst", Pace::Burst)];
        let multiplier = values.number("pace", 1.0, 1_000.0).map(Pace::Multiplier);
        Ok(Self {
            alpha: values.number("alpha", 0.1, 1.0)?,
            gamma_mi: values.number("gamma_mi", 0.0, 1.0)?,
            gamma_md: values.number("gamma_md", 0.0, 1.0)?,
            gamma_p: values.number("gamma_p", 1.0, 10.0)?,
            probes: values.count("probes", 16)?,
            window: values.duration("window", Duration::from_millis(20), Duration::from_secs(5))?,
            zeta: values.number("zeta", 0.0, 0.9)?,
            hold: match values.rate_or("hold", "off", Rate::MAX)? {
                Rate::MAX => None,
                rate => Some(rate),
            },
            pace: values.choice_or("pace", &paces, multiplier)?,
            a_cap: values.rate("a_cap")?,
            a_cap_share: values.number("a_cap_share", 0.001, 1.0)?,
            next_delay_margin: values.duration(
                "next_delay_margin",
                Duration::ZERO,
                Duration::from_secs(1),
            )?,
            b_max: match values.rate_or("b_max", "max_bitrate", Rate::MAX)? {
                Rate::MAX => None,
                rate => Some(rate),
            },
            additive_only: values.switch("additive_only")?,
            additive_step: values.rate("additive_step")?,
            fallback: values.switch("fallback")?,
            draining: values.switch("draining")?,
            scale: values.switch("scale")?,
            max_pace: values.number("max_pace", 1.0, 1_000.0)?,
            reduce_on_loss: values.switch("reduce_on_loss")?,
            ..Self::readings(&values)?
        })
    }

    fn readings(values: &OptionValues<'_>) -> Result<Self, OptionError> {
        let bur = [("pudica", Bur::Pudica), ("sqp", Bur::Sqp), ("salsify", Bur::Salsify)];
        let trigger = [
            ("uncorrected", Trigger::Uncorrected),
            ("corrected", Trigger::Corrected),
            ("own", Trigger::Own),
        ];
        let above = [("continue", AboveOne::Continue), ("hold", AboveOne::Hold)];
        let term = [("linear", AdditiveTerm::Linear), ("exponential", AdditiveTerm::Exponential)];
        let base = [("e", LogBase::Natural), ("2", LogBase::Two), ("10", LogBase::Ten)];
        let cadence = [("gated", Cadence::Gated), ("every-frame", Cadence::EveryFrame)];
        let reset = [("own", TauReset::Own), ("aligned", TauReset::Aligned)];
        let volume = [("in-flight", DrainVolume::InFlight), ("above-bdp", DrainVolume::AboveBdp)];
        let bitrate = [("target", FrameBitrate::Target), ("actual", FrameBitrate::Actual)];
        let drain = [("every-frame", DrainTarget::EveryFrame), ("once", DrainTarget::Once)];
        let recovery = [("bounded", Recovery::Bounded), ("unbounded", Recovery::Unbounded)];
        let least = [("any", LeastDelay::AnyPacket), ("frame", LeastDelay::FramePackets)];
        let pace_ratio =
            [("corrected", PaceRatio::Corrected), ("uncorrected", PaceRatio::Uncorrected)];
        Ok(Self {
            bur: values.choice("bur", &bur)?,
            drain_target: values.choice("drain_target", &drain)?,
            recovery: values.choice("recovery", &recovery)?,
            min_delay: values.choice("min_delay", &least)?,
            pace_ratio: values.choice("pace_ratio", &pace_ratio)?,
            trigger: values.choice("trigger", &trigger)?,
            above_one: values.choice("above_one", &above)?,
            ai_term: values.choice("ai_term", &term)?,
            log_base: values.choice("log_base", &base)?,
            ai_cadence: values.choice("ai_cadence", &cadence)?,
            tau_reset: values.choice("tau_reset", &reset)?,
            drain_volume: values.choice("drain_volume", &volume)?,
            frame_bitrate: values.choice("frame_bitrate", &bitrate)?,
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_list_calls_default_is_the_default() {
        let written: Vec<_> = OPTIONS
            .iter()
            .map(|option| (option.name.to_owned(), option.default.to_owned()))
            .collect();
        assert_eq!(PudicaOptions::from_options(&written), Ok(PudicaOptions::default()));
        assert_eq!(PudicaOptions::from_options(&[]), Ok(PudicaOptions::default()));
    }

    #[test]
    fn a_pace_is_a_word_or_a_number() {
        let read = |text: &str| {
            PudicaOptions::from_options(&[("pace".to_owned(), text.to_owned())])
                .map(|options| options.pace)
                .map_err(|error| error.to_string())
        };
        assert_eq!(read("2"), Ok(Pace::Multiplier(2.0)));
        assert_eq!(read("burst"), Ok(Pace::Burst));
        assert_eq!(read("adaptive"), Ok(Pace::Adaptive));
        let wrong = "controller \"pudica\": option \"pace\" cannot be \"0.5\": \
                     native, adaptive, burst; or a number from 1 to 1000";
        assert_eq!(read("0.5"), Err(wrong.to_owned()));
    }

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
        ];
        assert_eq!(other.len(), OPTIONS.len());
        for (name, value) in other {
            let options = [(name.to_owned(), value.to_owned())];
            let read = PudicaOptions::from_options(&options);
            assert!(read.is_ok_and(|read| read != PudicaOptions::default()), "{name}");
        }
    }
}
