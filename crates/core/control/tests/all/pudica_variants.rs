//! Pudica's variants: other estimates and other paces (section 5.5, Figure 7), and what the other readings
//! of the paper do. Each test has the default beside it, or bounds that it would not meet.

use crate::common::{Network, Three, controller, three_staggered};
use gameway_control::Pacing;
use gameway_units::{Bytes, Duration, Rate};
use std::collections::BTreeMap;

fn three(options: &[(&str, &str)]) -> Three {
    three_staggered("pudica", options, 3)
}

/// Utilization, and 95th percentile of the frame delay in ms, of one stream in seconds 10 to 30.
fn alone(capacity_mbps: u64, options: &[(&str, &str)]) -> (f64, f64) {
    let capacity = Rate::from_mbps(capacity_mbps);
    let mut network = Network::new(capacity, Duration::from_millis(20), Bytes::new(500_000));
    network.add(controller("pudica", options), 0.0, 0.0);
    network.run_until(30.0);
    let flow = &network.flows[0];
    let utilization = flow.received_mbps(10.0, 30.0) / capacity.as_mbps_f64();
    (utilization, flow.delay_ms(10.0, 30.0, 0.95))
}

#[test]
fn the_estimate_of_sqp_serves_one_stream_and_queues_three() {
    let (utilization, delay) = alone(20, &[("bur", "sqp")]);
    assert!((0.93..0.98).contains(&utilization), "{utilization}");
    assert!((26.0..30.0).contains(&delay), "{delay}");
    // Table 4: 49 ms against 29 ms.
    let three = three(&[("bur", "sqp")]);
    assert!((42.0..55.0).contains(&three.delay_ms), "{}", three.delay_ms);
    assert!((0.9..0.995).contains(&three.mean_fairness), "{}", three.mean_fairness);
    assert!(three.min_utilization > 0.96, "{}", three.min_utilization);
}

#[test]
fn the_estimate_of_salsify_does_not_see_other_streams() {
    let (utilization, delay) = alone(20, &[("bur", "salsify")]);
    assert!((0.95..1.0).contains(&utilization), "{utilization}");
    assert!((28.0..37.0).contains(&delay), "{delay}");
    // Between two packets of a frame is the link's gap, however long the queue: the buffer of 200 ms fills.
    let blind = three(&[("bur", "salsify")]);
    assert!((190.0..230.0).contains(&blind.delay_ms), "{}", blind.delay_ms);
    // Pudica's own ratio as the trigger of draining bounds that.
    let braked = three(&[("bur", "salsify"), ("trigger", "own")]);
    assert!((60.0..120.0).contains(&braked.delay_ms), "{}", braked.delay_ms);
}

#[test]
fn each_estimate_has_its_native_pace() {
    let pacing = |options: &[(&str, &str)]| controller("pudica", options).target().pacing;
    let probes =
        |options: &[(&str, &str)]| controller("pudica", options).target().requests.probes_per_frame;
    assert_eq!(pacing(&[]), Pacing::FrameMultiplier(1.25));
    assert_eq!(pacing(&[("bur", "sqp")]), Pacing::FrameMultiplier(2.0));
    // At first a packet of 1248 B at the start rate of 5 Mb/s is the gap; five times faster is 25 Mb/s.
    let Pacing::Rate(rate) = pacing(&[("bur", "salsify")]) else { panic!("paced by gap") };
    assert!((24.9..25.1).contains(&rate.as_mbps_f64()), "{rate}");
    assert_eq!(pacing(&[("bur", "salsify"), ("pace", "adaptive")]), Pacing::FrameMultiplier(1.25));
    assert_eq!(pacing(&[("pace", "3")]), Pacing::FrameMultiplier(3.0));
    assert_eq!(pacing(&[("pace", "burst")]), Pacing::Burst);
    assert_eq!([probes(&[]), probes(&[("bur", "sqp")]), probes(&[("bur", "salsify")])], [4, 0, 0]);
}

#[test]
fn a_held_bitrate_is_held_and_its_share_of_the_link_is_found() {
    for (options, min, max) in [
        (&[][..], 0.48, 0.53),
        (&[("pace", "burst")], 0.48, 0.53),
        (&[("bur", "sqp")], 0.5, 0.53), // it cannot show less than one over its pace
        (&[("bur", "salsify")], 0.46, 0.52),
    ] {
        let mut network = Network::usual();
        network.set_capacity(10.0, Rate::from_mbps(8));
        let options: Vec<_> = options.iter().copied().chain([("hold", "10 Mb/s")]).collect();
        network.add(controller("pudica", &options), 0.0, 0.0);
        network.run_until(10.0);
        let ratio = network.flows[0].observed("bur_corrected");
        assert!((min..max).contains(&ratio), "{options:?} {ratio}");
        network.run_until(15.0);
        let flow = &network.flows[0];
        assert!(flow.frames.iter().all(|frame| frame.target == Rate::from_mbps(10)));
        let ratio = flow.observed("bur_corrected");
        // SQP's and Salsify's ratios of a link that is too small: B/C, not the queue's growth.
        assert!(ratio > 1.0, "{options:?} {ratio}");
        // 5 s at 8 of 10 Mb/s leave a second in the queue, but no more than the buffer's 0.5 s.
        let behind = flow.frames.len() as f64 - flow.observed("bur_frame");
        assert!((20.0..40.0).contains(&behind), "{behind}");
    }
}

/// Figure 7 and Appendix A: a stream and a rival of the same fixed bitrate, spread in some other way; median
/// of what the ratio is too high, at a true ratio of `share`.
fn median_error(share: f64, options: &[(&str, &str)]) -> f64 {
    let bitrate = format!("{} Mb/s", share * 10.0);
    let mut errors = Vec::new();
    for run in 0..8 {
        let rival_pace = format!("{}", 1.0 + 0.6 * f64::from(run));
        let offset = (f64::from(run) * 0.618 + 0.1).fract() * 0.016_667;
        let options: Vec<_> = options.iter().copied().chain([("hold", bitrate.as_str())]).collect();
        let rival = [("bitrate", bitrate.as_str()), ("pace_multiplier", rival_pace.as_str())];
        let mut network = Network::usual();
        network.add(controller("pudica", &options), 0.0, 0.1);
        network.add(controller("fixed", &rival), offset, 0.1);
        let mut ratios = BTreeMap::new();
        for step in 0..800 {
            network.run_until(2.0 + f64::from(step) * 0.005);
            let flow = &network.flows[0];
            ratios.insert(flow.observed("bur_frame") as u64, flow.observed("bur_corrected"));
        }
        assert!(ratios.len() > 230, "{} frames", ratios.len());
        errors.extend(ratios.values().map(|ratio| ratio - share));
    }
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

#[test]
fn adaptive_pace_and_probes_together_are_nearest_to_the_true_ratio() {
    // (share, options, bounds of the median error)
    let cases = [
        (0.7, &[][..], -0.09, 0.09),
        (0.9, &[], -0.09, 0.09),
        (0.7, &[("probes", "0")], -0.2, -0.09),
        (0.9, &[("probes", "0")], -0.2, -0.09),
        (0.7, &[("probes", "0"), ("pace", "2")], -0.2, -0.09),
        (0.9, &[("probes", "0"), ("pace", "2")], -0.3, -0.09),
        (0.7, &[("probes", "0"), ("pace", "burst")], -0.42, -0.32),
        (0.9, &[("probes", "0"), ("pace", "burst")], -0.52, -0.4),
    ];
    for (share, options, min, max) in cases {
        let error = median_error(share, options);
        assert!((min..max).contains(&error), "{share} {options:?} {error}");
    }
}

// What the other readings do, kept so that the effect of each choice stays visible. The table of effects is
// at the head of `readings`.

#[test]
fn corrected_ratios_as_trigger_starve_latecomers() {
    let mean = three(&[("trigger", "corrected")]).mean_fairness;
    assert!((0.34..0.8).contains(&mean), "{mean}");
}

#[test]
fn holding_ai_md_above_one_leaves_them_unfair() {
    let mean = three(&[("above_one", "hold")]).mean_fairness;
    assert!((0.34..0.85).contains(&mean), "{mean}");
}

#[test]
fn additive_increase_alone_leaves_them_unfair() {
    let mean = three(&[("additive_only", "on")]).mean_fairness;
    assert!((0.34..0.85).contains(&mean), "{mean}");
}

#[test]
fn a_bound_in_proportion_to_the_bitrate_leaves_them_unfair() {
    let mean = three(&[("a_cap_share", "0.02")]).mean_fairness;
    assert!((0.5..0.88).contains(&mean), "{mean}");
}

#[test]
fn ai_md_at_every_frame_is_fair_and_queues_more() {
    let (gated, every) = (three(&[]), three(&[("ai_cadence", "every-frame")]));
    assert!(every.min_fairness > 0.97, "{}", every.min_fairness);
    let more = every.delay_ms - gated.delay_ms;
    assert!((7.0..16.0).contains(&more), "{more}");
}

#[test]
fn an_exponential_term_needs_the_bound_on_the_step() {
    let run = |term, cap| alone(45, &[("ai_term", term), ("a_cap", cap)]);
    let (linear, exponential) = (run("linear", "1 Mb/s"), run("exponential", "1 Mb/s"));
    let free = run("exponential", "1 Gb/s");
    assert!((0.87..0.92).contains(&linear.0), "{linear:?}");
    assert!((0.93..0.98).contains(&exponential.0), "{exponential:?}");
    assert!((exponential.1 - linear.1).abs() < 1.0, "{linear:?} {exponential:?}");
    assert!(free.1 > linear.1 + 2.0, "{linear:?} {free:?}");
}

#[test]
fn draining_only_what_exceeds_the_path_uses_more_and_is_less_fair() {
    let (all, above) = (three(&[]), three(&[("drain_volume", "above-bdp")]));
    assert!(above.min_utilization > all.min_utilization + 0.005);
    assert!((0.8..0.97).contains(&above.min_fairness), "{}", above.min_fairness);
}

#[test]
fn readings_of_little_effect_have_little() {
    let usual = three_staggered("pudica", &[], 1);
    for option in [
        ("pace_ratio", "uncorrected"),
        ("min_delay", "frame"),
        ("drain_target", "once"),
        ("recovery", "unbounded"),
        ("next_delay_margin", "30 ms"),
        ("tau_reset", "aligned"),
        ("frame_bitrate", "actual"),
        ("scale", "off"),
        ("log_base", "10"),
    ] {
        let other = three_staggered("pudica", &[option], 1);
        assert!(other.mean_fairness > 0.97, "{option:?} {}", other.mean_fairness);
        assert!((other.delay_ms - usual.delay_ms).abs() < 2.0, "{option:?} {}", other.delay_ms);
        let used = other.min_utilization - usual.min_utilization;
        assert!(used.abs() < 0.02, "{option:?} {used}");
    }
}
