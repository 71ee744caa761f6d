//! Whatever acknowledgments, losses and time-outs come: never starved, always finite.

use super::probe_rtt::timeout;
use super::*;

/// What may happen to a congestion control.
#[derive(Debug, Clone)]
enum Step {
    Ack { wait: i64, bytes: u64, rtt: i64, prior: u64, marked: bool, phase: u8, limited: bool },
    Lose { size: u32, flight: u64, lost: u64, limited: bool },
    Congestion,
    Timeout,
    Spurious,
    Idle,
}

fn step() -> impl Strategy<Value = Step> {
    let amount = prop_oneof![Just(0u64), 1u64..100, 1000u64..200_000, Just(1u64 << 40)];
    let ack = (0i64..3_000_000, amount.clone(), 0i64..400_000, amount.clone());
    let ack = (ack, any::<bool>(), 0u8..3, any::<bool>());
    prop_oneof![
        8 => ack.prop_map(|((wait, bytes, rtt, prior), marked, phase, limited)| {
            Step::Ack { wait, bytes, rtt, prior, marked, phase, limited }
        }),
        3 => (0u32..3000, amount.clone(), amount, any::<bool>()).prop_map(
            |(size, flight, lost, limited)| Step::Lose { size, flight, lost, limited }
        ),
        1 => Just(Step::Congestion),
        1 => Just(Step::Timeout),
        1 => Just(Step::Spurious),
        1 => Just(Step::Idle),
    ]
}

fn apply(feed: &mut Feed, step: &Step) {
    match *step {
        Step::Ack { wait, bytes, rtt, prior, marked, phase, limited } => {
            feed.now += Duration::from_micros(wait);
            feed.delivered = feed.delivered.saturating_add(bytes);
            let phase = [Phase::Open, Phase::Recovery, Phase::Loss][usize::from(phase)];
            let delivered = Bytes::new(bytes);
            let rtt = Duration::from_micros(rtt);
            let rate = (rtt > Duration::ZERO).then(|| RateSample {
                delivered,
                interval: rtt,
                prior_delivered: Bytes::new(feed.delivered.saturating_sub(prior)),
                app_limited: limited,
                tx_in_flight: Bytes::new(prior),
                lost: Bytes::new(if marked { bytes } else { 0 }),
            });
            feed.bbr.on_ack(&AckEvent {
                phase,
                newly_delivered: delivered,
                newly_marked: if marked { delivered } else { Bytes::ZERO },
                prior_in_flight: Bytes::new(prior),
                in_flight: Bytes::new(prior.saturating_sub(bytes)),
                total_delivered: Bytes::new(feed.delivered),
                rtt: Some(rtt),
                cwnd_limited: !limited,
                rate,
                ..feed.event(0.0)
            });
        }
        Step::Lose { size, flight, lost, limited } => feed.bbr.on_segment_lost(&LostSegment {
            now: feed.now,
            sequence: flight,
            size: Bytes::new(u64::from(size)),
            tx_in_flight: Bytes::new(flight),
            lost: Bytes::new(lost),
            app_limited: limited,
            total_delivered: Bytes::new(feed.delivered),
        }),
        Step::Congestion => feed.bbr.on_congestion_event(feed.now, Bytes::from_f64(BDP)),
        Step::Timeout => timeout(feed),
        Step::Spurious => feed.bbr.on_spurious_loss(feed.now),
        Step::Idle => feed.bbr.on_transmit_start(feed.now, None),
    }
}

proptest! {
    /// Four segments after any ACK, one after a time-out; finite and positive rates.
    #[test]
    fn nothing_that_happens_starves_or_breaks_it(
        steps in prop::collection::vec(step(), 1..120), seed: u64, version_2: bool, short: bool,
    ) {
        let new = if version_2 { Bbr3::version_2 } else { Bbr3::new };
        let rtt = if short { Duration::from_millis(2) } else { RTT };
        let mut feed = Feed::new(new(SEGMENT as u32, seed), rtt);
        for step in &steps {
            apply(&mut feed, step);
            let min = if matches!(step, Step::Ack { .. }) { 4.0 } else { 1.0 };
            prop_assert!(feed.bbr.cwnd >= min * SEGMENT, "{step:?}: {}", feed.bbr.cwnd);
            prop_assert!(feed.bbr.cwnd.is_finite() && feed.bbr.pacing_rate.is_finite());
            prop_assert!(feed.bbr.pacing_rate >= 0.0);
            prop_assert!(feed.bbr.ssthresh() == Bytes::MAX || feed.bbr.ssthresh() <= feed.bbr.cwnd());
        }
    }
}
