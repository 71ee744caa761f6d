//! How fast every controller yields and comes back, through the one trait: after a capacity that halves,
//! after blackouts of the path or of feedback alone, and after feedback that lied. Each check is passed in
//! time by the controllers that adapt and failed by constant bitrates.

use crate::common::{
    ADAPTIVE, FRAME_INTERVAL, LIES, Lie, Network, Stream, Variant, controller, controller_with,
    liar, secs,
};
use gameway_control::RateLimits;
use gameway_units::{Bytes, Duration, Rate};
use proptest::prelude::*;

const TOO_LITTLE: Variant = ("fixed", &[("bitrate", "5 Mb/s")]);
const FITTING: Variant = ("fixed", &[("bitrate", "18 Mb/s")]);
const TOO_MUCH: Variant = ("fixed", &[("bitrate", "25 Mb/s")]);

/// What is promised of a controller on 20 Mb/s and 20 ms.
struct Promise {
    /// Round trips after a halving within which the target is below the new capacity.
    notice: std::ops::Range<i64>,
    /// Seconds after a blackout of the path, then of feedback, until a second's mean is 12 Mb/s.
    after_path: std::ops::Range<f64>,
    after_feedback: std::ops::Range<f64>,
    /// Seconds after lies until it is `share` of the capacity, and the same where one kind follows another.
    after_lies: f64,
    after_sequence: f64,
    share: f64,
    /// The longest queue in ms that 95 % of frames meet once it is back.
    queue: f64,
}

fn promise((name, options): Variant) -> Promise {
    let lies = |after_lies, share| (after_lies, share);
    let (notice, after_path, after_feedback, (after_lies, share)) = match name {
        // A least round trip that was a lie lasts for its window of 10 s.
        "copa" => (1..8, 0.0..0.5, 0.0..0.5, lies(12.0, 0.6)),
        // Losses halve it, down to the minimum; then it grows by 8 % a second: 1.08^32 is 12.
        "gcc" if options.contains(&("loss", "threshold")) => {
            (15..40, 20.0..40.0, 20.0..40.0, lies(40.0, 0.6))
        }
        // What arrived last bounds what the losses say, and after silence the rate is what it was before.
        "gcc" => (15..40, 1.0..6.0, 1.0..6.0, lies(40.0, 0.6)),
        // A baseline delay that was a lie lasts for its window of ten minutes: x is then 15 ms without a queue, so the rate
        // grows by the gradual update, 0.8 Mb/s in a second.
        "nada" => (15..40, 1.0..6.0, 1.0..6.0, lies(20.0, 0.6)),
        "pudica" if options.contains(&("bur", "sqp")) => (1..8, 0.0..1.0, 0.0..0.5, lies(2.0, 0.6)),
        "pudica" => (1..8, 0.0..1.0, 0.0..0.5, lies(11.0, 0.6)),
        // The least round trip of all its life may be one that was a lie: D is then L alone.
        "salsify" => (1..8, 0.0..0.5, 0.0..0.5, lies(2.0, 0.5)),
        "scream" => (2..8, 1.0..4.0, 1.0..4.0, lies(4.0, 0.6)),
        "sqp" => (5..17, 0.0..0.5, 0.0..0.5, lies(3.0, 0.6)),
        _ => (1..8, 0.0..1.0, 0.0..1.0, lies(2.0, 0.6)),
    };
    // A level at QTH is not stable once something was lost (`nada.rs`): it cycles into the buffer.
    let queue = if options.contains(&("priority", "2")) { 200.0 } else { 120.0 };
    // What arrived at the last overuse stays for its capacity where it is halved or loses afterwards, as in libwebrtc: below that it
    // grows by 40 kb/s in a second.
    let after_sequence = if name == "gcc" { 300.0 } else { after_lies };
    Promise { notice, after_path, after_feedback, after_lies, after_sequence, share, queue }
}

fn within<T: PartialOrd + std::fmt::Debug>(
    what: &str,
    range: std::ops::Range<T>,
    value: T,
) -> Result<(), String> {
    if range.contains(&value) { Ok(()) } else { Err(format!("{what}: {value:?} not in {range:?}")) }
}

/// Seconds from `from` until the mean rate of a second is at least `mbps`; infinite if never.
fn seconds_until(flow: &Stream, from: f64, mbps: f64) -> f64 {
    let tenths = (flow.received.len() as f64 - from * 10.0) as i64;
    let start = |tenth: i64| from + tenth as f64 * 0.1;
    let found =
        (0..tenths).find(|tenth| flow.received_mbps(start(*tenth), start(*tenth) + 1.0) >= mbps);
    found.map_or(f64::INFINITY, |tenth| tenth as f64 * 0.1)
}

fn halving(variant: Variant) -> Result<(), String> {
    let mut network = Network::usual();
    network.set_capacity(10.0, Rate::from_mbps(10));
    network.add(controller(variant.0, variant.1), 0.0, 0.0);
    network.run_until(16.0);
    let flow = &network.flows[0];
    // Not the target: Copa's is a frame's, which makes up for what the window lacks, and swings about what is received.
    within("Mb/s before", 14.0..20.1, flow.received_mbps(8.0, 10.0))?;
    let below = |rate: Rate| rate < Rate::from_mbps(10);
    let noticed = flow.targets.iter().find(|(at, rate)| *at > secs(10.0) && below(*rate));
    let noticed = noticed.ok_or("never noticed")?.0 - secs(10.0);
    within("round trips", promise(variant).notice, noticed.as_nanos() / 20_000_000)?;
    within("Mb/s after", 6.0..10.1, flow.received_mbps(13.0, 16.0))?;
    within("ms of queue after", 0.0..120.0, flow.first_queueing_ms(13.0, 16.0, 0.95))
}

fn blackout(variant: Variant, of_feedback: bool) -> Result<(), String> {
    let promised = promise(variant);
    let span = if of_feedback { promised.after_feedback } else { promised.after_path };
    let mut network = Network::usual();
    if of_feedback {
        network.feedback_blackout = Some((secs(10.0), secs(15.0)));
    } else {
        network.set_capacity(10.0, Rate::ZERO);
        network.set_capacity(15.0, Rate::from_mbps(20));
    }
    network.add(controller(variant.0, variant.1), 0.0, 0.0);
    let settled = 15.0 + span.end + 10.0;
    network.run_until(settled + 5.0);
    let flow = &network.flows[0];
    within("Mb/s before", 12.0..20.1, flow.received_mbps(8.0, 10.0))?;
    if !of_feedback {
        within("Mb/s during", 0.0..0.1, flow.received_mbps(10.5, 15.0))?;
    }
    within("seconds", span, seconds_until(flow, 15.0, 12.0))?;
    within("Mb/s after", 12.0..20.1, flow.received_mbps(settled, settled + 5.0))?;
    let queue = flow.first_queueing_ms(settled, settled + 5.0, 0.95);
    within("ms of queue after", 0.0..promised.queue, queue)
}

/// From second 2 on each of `lies` for a second and a half, then the truth for so many seconds.
fn lied_to(variant: Variant, lies: &[Lie], seed: u64, patience: f64) -> Result<(), String> {
    let promised = promise(variant);
    let end = 2.0 + 1.5 * lies.len() as f64;
    let mut network = Network::usual();
    let mut liars: Vec<_> = (0..)
        .zip(lies)
        .map(|(index, lie)| {
            let from = 2.0 + 1.5 * f64::from(index);
            liar(*lie, secs(from), secs(from + 1.5), seed ^ index as u64)
        })
        .collect();
    network.mangle = Some(Box::new(move |now, reports, generated, in_flight| {
        for liar in &mut liars {
            liar(now, reports, generated, in_flight);
        }
    }));
    network.add(controller(variant.0, variant.1), 0.0, 0.0);
    let settled = end + patience;
    network.run_until(settled + 4.0);
    let flow = &network.flows[0];
    let wanted = 20.0 * promised.share;
    within("seconds", 0.0..patience, seconds_until(flow, end, wanted))?;
    within("Mb/s after", 0.9 * wanted..20.1, flow.received_mbps(settled, settled + 4.0))
}

/// At the rates of a video call, where a frame may be a part of a packet: 1 Mb/s and 100 ms, for 20 s hardly
/// more than the least bitrate, and 1 Mb/s again.
fn low_rates((name, options): Variant) -> Result<(), String> {
    let [min, start, max] = [150, 300, 1_500].map(Rate::from_kbps);
    let limits = RateLimits { min, max, start, frame_interval: FRAME_INTERVAL };
    let rtt = Duration::from_millis(100);
    let mut network = Network::new(Rate::from_mbps(1), rtt, Bytes::new(37_500));
    network.set_capacity(40.0, Rate::from_kbps(160));
    network.set_capacity(60.0, Rate::from_mbps(1));
    network.add(controller_with(name, options, limits), 0.0, 0.1);
    network.run_until(120.0);
    let flow = &network.flows[0];
    within("Mb/s before", 0.7..1.01, flow.received_mbps(20.0, 40.0))?;
    within("Mb/s during", 0.14..0.162, flow.received_mbps(50.0, 60.0))?;
    within("Mb/s after", 0.7..1.01, flow.received_mbps(80.0, 120.0))
}

fn failures(check: impl Fn(Variant) -> Result<(), String>) -> Vec<String> {
    let told = |variant: &Variant| check(*variant).err().map(|why| format!("{variant:?} {why}"));
    ADAPTIVE.iter().filter_map(told).collect()
}

#[test]
fn a_halved_capacity_is_noticed_in_time() {
    assert_eq!(failures(halving), Vec::<String>::new());
    for twin in [TOO_LITTLE, FITTING, TOO_MUCH] {
        assert!(halving(twin).is_err(), "{twin:?}");
    }
}

#[test]
fn a_blackout_of_the_path_is_recovered_from() {
    assert_eq!(failures(|variant| blackout(variant, false)), Vec::<String>::new());
    assert!(blackout(TOO_LITTLE, false).is_err() && blackout(TOO_MUCH, false).is_err());
}

#[test]
fn a_blackout_of_feedback_alone_is_recovered_from() {
    assert_eq!(failures(|variant| blackout(variant, true)), Vec::<String>::new());
    assert!(blackout(TOO_LITTLE, true).is_err() && blackout(TOO_MUCH, true).is_err());
}

#[test]
fn frames_below_a_packet_are_no_trap() {
    assert_eq!(failures(low_rates), Vec::<String>::new());
    assert!(low_rates(("fixed", &[("bitrate", "300 kb/s")])).is_err());
}

#[test]
fn no_lie_is_believed_for_ever() {
    for lie in LIES {
        let lied = |variant| lied_to(variant, &[lie, lie], 1, promise(variant).after_lies);
        let failed = failures(lied);
        assert_eq!(failed, Vec::<String>::new(), "{lie:?}");
        assert!(lied_to(TOO_LITTLE, &[lie], 1, 2.0).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_sequence_of_lies_is_believed_for_ever(
        variant in prop::sample::select(ADAPTIVE),
        lies in prop::collection::vec(prop::sample::select(&LIES[..]), 1..6),
        seed in any::<u64>(),
    ) {
        let patience = promise(variant).after_sequence;
        prop_assert_eq!(lied_to(variant, &lies, seed, patience), Ok(()));
    }
}

/// The fixed twin that fits is the control of the tests above: it has no need to recover.
#[test]
fn a_fitting_constant_bitrate_passes_what_asks_for_no_reaction() {
    assert_eq!(blackout(FITTING, true), Ok(()));
    assert_eq!(lied_to(FITTING, &[Lie::AllLost], 1, 2.0), Ok(()));
    let mut network = Network::usual();
    network.feedback_blackout = Some((secs(1.0), secs(2.0)));
    network.add(controller("nada", &[]), 0.0, 0.0);
    network.run_until(3.0);
    // What was not heard of for a second is told of as lost, once.
    let dark = |at: &gameway_units::Instant| *at > secs(1.0) && *at < secs(1.9);
    assert!(!network.flows[0].targets.iter().any(|(at, _)| dark(at)));
    assert!(network.flows[0].targets.iter().any(|(at, _)| *at > secs(2.0)));
}
