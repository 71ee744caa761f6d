//! One rule of a version exchanged for the other version's: what each of them does ([`super::version`]).
//!
//! Source: draft-ietf-ccwg-rfc8298bis-screamv2 and Ericsson's programs, as [`super::version`] has them.

use super::version::{Rules, ScreamVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the versions differ in, by rules that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScreamRule {
    /// When the receiver reports.
    Reports,
    /// Whether marks and losses that come too soon after a reaction wait for the next.
    Deferral,
    /// What a segment is, and the least window, which is in segments.
    Segment,
    /// The bitrate that follows from the window.
    Target,
    /// How far reactions are apart.
    ReactionInterval,
    /// What the inflection point is.
    Inflection,
    /// Whether packets leave in bursts.
    Bursts,
    /// How the cut for delay depends on the RTT.
    DelayCut,
    /// How much varying delay damps a cut.
    CutDamping,
    /// The multiplicative increase, and the caution after congestion.
    Increase,
    /// How far the window may be above what is in flight, and over what time that is measured.
    Headroom,
    /// The bound of the window near the largest bitrate.
    Bound,
    /// How the queueing delay and its variation are averaged.
    DelayAverage,
    /// How the pacing rate follows from target and frames.
    PacingRate,
    /// Where alpha begins, and when it is updated.
    Alpha,
    /// Whether the RTT is smoothed once more.
    RoundTrip,
    /// How much may be in flight over the window.
    Overhead,
    /// Whether a standing queue is drained.
    Drain,
}

/// The rules of a version, with one of them the other version's.
pub(super) fn rules(version: ScreamVersion, exchanged: Option<ScreamRule>) -> Rules {
    let mut rules = *version.rules();
    let other = *version.other().rules();
    if let Some(rule) = exchanged {
        exchange(&mut rules, &other, rule);
    }
    rules
}

fn exchange(rules: &mut Rules, other: &Rules, rule: ScreamRule) {
    match rule {
        ScreamRule::Reports => rules.report_interval = other.report_interval,
        ScreamRule::Bursts => rules.media.burst = other.media.burst,
        ScreamRule::PacingRate => rules.media.paces_by_size = other.media.paces_by_size,
        ScreamRule::DelayAverage => rules.delay = other.delay,
        ScreamRule::RoundTrip => rules.rtt_twice = other.rtt_twice,
        ScreamRule::Drain => rules.drains = other.drains,
        ScreamRule::Alpha => {
            rules.first_alpha = other.first_alpha;
            rules.alpha_keeps_schedule = other.alpha_keeps_schedule;
        }
        ScreamRule::Overhead => {
            rules.max_overhead = other.max_overhead;
            rules.overhead_segments = other.overhead_segments;
        }
        ScreamRule::Headroom => {
            rules.in_flight_round = other.in_flight_round;
            rules.window.in_flight_headroom = other.window.in_flight_headroom;
        }
        ScreamRule::Target => {
            rules.media.divisor = other.media.divisor;
            rules.media.corrected = other.media.corrected;
            rules.media.rtt_margin = other.media.rtt_margin;
            rules.media.max_rtt = other.media.max_rtt;
        }
        _ => exchange_of_window(rules, other, rule),
    }
}

fn exchange_of_window(rules: &mut Rules, other: &Rules, rule: ScreamRule) {
    let (window, other) = (&mut rules.window, other.window);
    match rule {
        ScreamRule::Deferral => window.defers = other.defers,
        ScreamRule::ReactionInterval => window.reaction_interval = other.reaction_interval,
        ScreamRule::Inflection => window.median_inflection = other.median_inflection,
        ScreamRule::DelayCut => window.divides_delay_cut_twice = other.divides_delay_cut_twice,
        ScreamRule::CutDamping => window.min_damping_of_cut = other.min_damping_of_cut,
        ScreamRule::Bound => window.bounded_at_largest = other.bounded_at_largest,
        ScreamRule::Increase => {
            window.multiplicative_increase = other.multiplicative_increase;
            window.cautious_round_trips = other.cautious_round_trips;
            window.cautious_min_rtt = other.cautious_min_rtt;
        }
        ScreamRule::Segment => {
            window.segment = other.segment;
            window.min_bytes = other.min_bytes;
            window.min_segments = other.min_segments;
            window.min_segments_anew = other.min_segments_anew;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScreamOptions;
    use gameway_units::declared;

    #[test]
    fn each_rule_is_the_others_and_all_together_make_the_other_version() {
        let (draft, reference) = (ScreamVersion::Draft, ScreamVersion::Reference);
        let mut all = *draft.rules();
        let declared = declared::list(&declared::schema::<ScreamOptions>());
        let exchanged = declared.iter().find(|option| option.name == "exchanged").unwrap();
        for name in exchanged.kind.split(", ") {
            let rule: ScreamRule = serde_json::from_value(name.into()).unwrap();
            assert_ne!(rules(draft, Some(rule)), *draft.rules(), "{name}");
            exchange(&mut all, reference.rules(), rule);
        }
        assert_eq!(rules(draft, None), *draft.rules());
        assert_eq!(all, *reference.rules());
    }
}
