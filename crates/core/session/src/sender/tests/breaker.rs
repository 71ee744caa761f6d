//! What a circuit breaker does to its stream: of a receiver that is silent nothing is known.

use super::*;
use crate::circuit_breaker::{BreakerAction, TripCause};

const MIN_BITRATE: Rate = Rate::from_kbps(800);

fn guarded(pacing: Pacing, breaker: Option<Rate>) -> (Sender, Scripted) {
    sender(target(pacing), |config| config.circuit_breaker = breaker)
}

/// Drives a stream by its deadlines, without reports, until it wants nothing more before `end`; gives the packets with their times.
fn drive(sender: &mut Sender, end: Instant) -> Vec<(Instant, MediaPacket)> {
    let mut packets = Vec::new();
    while let Some(due) = sender.next_deadline().filter(|due| *due < end) {
        encode(sender, due);
        packets.extend(transmit(sender, due).into_iter().map(|packet| (due, packet)));
    }
    packets
}

fn actions(events: &[SenderEvent]) -> Vec<(Instant, BreakerAction, Option<Rate>)> {
    let action = |event: &SenderEvent| match *event {
        SenderEvent::CircuitBreaker { at, action, limit } => Some((at, action, limit)),
        _ => None,
    };
    events.iter().filter_map(action).collect()
}

/// RFC 8083 section 4.1: three intervals of a second without a report.
#[test]
fn a_stream_of_which_nothing_is_heard_falls_to_its_least_rate_and_then_ends() {
    let (mut sender, _) = guarded(Pacing::Burst, Some(MIN_BITRATE));
    let packets = drive(&mut sender, at(20_000));
    let events: Vec<SenderEvent> = std::iter::from_fn(|| sender.poll_event()).collect();
    let cause = TripCause::RtcpTimeout;
    let expected = [
        (at(3_000), BreakerAction::Reduce(cause), Some(MIN_BITRATE)),
        (at(6_000), BreakerAction::End(cause), Some(Rate::ZERO)),
    ];
    assert_eq!(actions(&events), expected);
    let targets = events.iter().filter_map(|event| match *event {
        SenderEvent::FrameEncoded { captured, target, .. } => Some((captured, target)),
        _ => None,
    });
    for (captured, target) in targets {
        let expected = if captured < at(3_000) { Rate::from_mbps(10) } else { MIN_BITRATE };
        assert_eq!(target, expected, "{captured}");
    }
    // The last frame before the end, and nothing behind it.
    let (last, _) = packets.last().expect("it sent");
    assert!((at(5_980)..at(6_000)).contains(last), "{last}");
    assert!(sender.has_ended());
    sender.resume(at(20_000));
    assert_eq!((encode(&mut sender, at(20_000)), sender.next_deadline()), (None, None));
}

#[test]
fn without_a_breaker_and_with_reports_a_stream_goes_on() {
    let (mut alone, _) = guarded(Pacing::Burst, None);
    drive(&mut alone, at(10_000));
    let (mut heard, _) = guarded(Pacing::Burst, Some(MIN_BITRATE));
    for number in 0..600 {
        frame(&mut heard, number);
        let now = Instant::ZERO + INTERVAL * number;
        heard.on_feedback(now + INTERVAL / 2, &report(3 * number as u64, "###"));
    }
    for mut sender in [alone, heard] {
        assert!(!sender.has_ended());
        let events: Vec<SenderEvent> = std::iter::from_fn(|| sender.poll_event()).collect();
        assert_eq!(actions(&events), []);
    }
}

#[test]
fn a_stopped_stream_is_not_judged_and_a_slow_one_is_each_second() {
    let (mut slow, _) = sender(target(Pacing::Burst), |config| {
        (config.circuit_breaker, config.frame_interval) =
            (Some(MIN_BITRATE), Duration::from_secs(3));
    });
    frame(&mut slow, 0);
    slow.on_feedback(at(1), &report(0, "###"));
    assert_eq!(slow.next_deadline(), Some(at(1_000)));
    let (mut sender, _) = guarded(Pacing::Burst, Some(MIN_BITRATE));
    frame(&mut sender, 0);
    assert_eq!(
        sender.next_deadline(),
        Some(at(16)),
        "the next frame, before the first second is over"
    );
    sender.on_feedback(at(1), &report(0, "###"));
    sender.stop(at(2));
    assert_eq!(sender.next_deadline(), None);
}

#[test]
fn what_waits_leaves_at_the_least_rate_and_nothing_is_tried_beyond_it() {
    let rate = Rate::from_mbps(10);
    let interval = Duration::from_millis(40);
    for pacing in [Pacing::Rate(rate), Pacing::Bursts { rate, interval }] {
        let (mut sender, told) = guarded(pacing, Some(MIN_BITRATE));
        told.with(|shared| {
            let asking = target(pacing).asking(|ask| ask.probes_per_frame = 2);
            shared.target = Some(asking);
        });
        let packets = drive(&mut sender, at(6_000));
        let sent = |from: i64, to: i64, kinds: &[PacketKind]| {
            let those = packets.iter().filter(|(now, packet)| {
                (at(from)..at(to)).contains(now) && kinds.contains(&packet.kind)
            });
            those.map(|(_, packet)| packet.wire_size()).sum::<Bytes>()
        };
        let media = [PacketKind::Media];
        // Three packets in 16 ms are 1.3 Mb/s; 800 kb/s are 100 kB a second, and what has left once is beyond that.
        let (before, after) = (sent(0, 3_000, &media), sent(3_100, 5_900, &media));
        assert!((480_000..500_000).contains(&before.get()), "{pacing:?}: {before}");
        assert!((270_000..290_000).contains(&after.get()), "{pacing:?}: {after}");
        let probes = [PacketKind::Probe];
        assert!(sent(0, 3_000, &probes) > Bytes::ZERO, "{pacing:?}");
        assert_eq!(sent(3_100, 5_900, &probes), Bytes::ZERO, "{pacing:?}");
    }
}
