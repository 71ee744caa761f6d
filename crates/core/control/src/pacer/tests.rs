use super::*;
use crate::ProbeCluster;
use proptest::prelude::*;

const L: Duration = Duration::from_micros(16_000);

fn target(pacing: Pacing) -> Target {
    Target::new(Rate::from_mbps(10), pacing)
}

fn at(micros: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn pacer(target: &Target) -> Pacer<u32> {
    let mut pacer = Pacer::new(L, Bytes::new(1_200));
    pacer.set_target(at(0), target);
    pacer
}

fn enqueue(pacer: &mut Pacer<u32>, now: i64, frame: u64, count: u32) {
    let packets: Vec<_> =
        (0..count).map(|index| (frame as u32 * 1_000 + index, Bytes::new(1_000))).collect();
    pacer.enqueue_frame(at(now), FrameId(frame), packets.into_iter());
}

/// Everything until `end`, polled at its deadline: (time in us, token or 9999 for a probe, 8888 for padding).
fn drain(pacer: &mut Pacer<u32>, end: i64) -> Vec<(i64, u32)> {
    let mut out = Vec::new();
    while let Some(due) = pacer.next_deadline(Bytes::ZERO).filter(|due| *due <= at(end)) {
        while let Some(output) = pacer.poll(due, Bytes::ZERO) {
            out.push(described(output));
        }
    }
    out
}

fn described(output: PacerOutput<u32>) -> (i64, u32) {
    match output {
        PacerOutput::Packet { token, due, .. } => (due.as_nanos() / 1_000, token),
        PacerOutput::Probe { due, .. } => (due.as_nanos() / 1_000, 9_999),
        PacerOutput::Padding { due, .. } => (due.as_nanos() / 1_000, 8_888),
    }
}

#[test]
fn a_frame_is_spread_over_the_interval_by_the_multiplier() {
    let mut pacer = pacer(&target(Pacing::FrameMultiplier(2.0)));
    enqueue(&mut pacer, 0, 0, 5);
    let times: Vec<_> = drain(&mut pacer, 16_000).iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [0, 2_000, 4_000, 6_000, 8_000]);
}

#[test]
fn probes_share_the_rest_of_the_interval() {
    let mut wanted = target(Pacing::FrameMultiplier(2.0));
    wanted.requests.probes_per_frame = 3;
    let mut pacer = pacer(&wanted);
    enqueue(&mut pacer, 0, 0, 2);
    assert_eq!(
        drain(&mut pacer, 16_000),
        [(0, 0), (8_000, 1), (10_000, 9_999), (12_000, 9_999), (14_000, 9_999)]
    );
}

#[test]
fn probes_end_with_the_next_frame() {
    let mut wanted = target(Pacing::FrameMultiplier(2.0));
    wanted.requests.probes_per_frame = 3;
    let mut pacer = pacer(&wanted);
    enqueue(&mut pacer, 0, 0, 2);
    assert_eq!(drain(&mut pacer, 11_000).len(), 3);
    enqueue(&mut pacer, 11_000, 1, 1);
    let after = drain(&mut pacer, 30_000);
    assert_eq!(after[0], (11_000, 1_000));
    assert_eq!(after.iter().filter(|(_, token)| *token == 9_999).count(), 3);
    // At the same moment the frame comes first, and then there is nothing left to sense.
    let mut at_once = self::pacer(&wanted);
    enqueue(&mut at_once, 0, 0, 2);
    assert_eq!(drain(&mut at_once, 9_999).len(), 2);
    enqueue(&mut at_once, 10_000, 1, 1);
    assert_eq!(drain(&mut at_once, 10_000), [(10_000, 1_000)]);
}

#[test]
fn a_frame_does_not_overtake() {
    let mut pacer = pacer(&target(Pacing::FrameMultiplier(1.0)));
    enqueue(&mut pacer, 0, 0, 5);
    enqueue(&mut pacer, 6_000, 1, 2);
    let sent = drain(&mut pacer, 60_000);
    let expected = [(0, 0), (4_000, 1), (8_000, 2), (12_000, 3), (16_000, 4)];
    assert_eq!(sent[..5], expected);
    assert_eq!(sent[5..], [(19_200, 1_000), (27_200, 1_001)]);
}

#[test]
fn who_is_late_once_catches_up_however_few_the_packets() {
    for count in 1..=6 {
        let mut pacer = pacer(&target(Pacing::FrameMultiplier(1.25)));
        let mut waits = Vec::new();
        for frame in 0..30_i64 {
            // The second frame comes half an interval early: its packets still wait as the third comes.
            let now = frame * 16_000 - if frame == 1 { 8_000 } else { 0 };
            let _before = drain(&mut pacer, now);
            enqueue(&mut pacer, now, frame as u64, count);
            let behind = pacer.queued_packets() as i64 - i64::from(count);
            waits.push(behind);
        }
        assert_eq!(waits[10..], [0; 20], "{count} packets: {waits:?}");
    }
}

#[test]
fn late_polls_do_not_move_the_schedule() {
    let mut pacer = pacer(&target(Pacing::Rate(Rate::from_mbps(8)))); // 1 ms per packet
    enqueue(&mut pacer, 0, 0, 10);
    let mut out = Vec::new();
    for now in [0, 3_700, 3_900, 9_100] {
        while let Some(output) = pacer.poll(at(now), Bytes::ZERO) {
            out.push(described(output).0);
        }
    }
    assert_eq!(out, [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000]);
}

#[test]
fn bursts_take_longer_than_their_interval_and_keep_the_rate() {
    let pacing =
        Pacing::Bursts { rate: Rate::from_mbps(8), interval: Duration::from_micros(2_500) };
    let mut pacer = pacer(&target(pacing));
    enqueue(&mut pacer, 0, 0, 8);
    let mut out = Vec::new();
    for now in (0..10_000).step_by(100) {
        while let Some(output) = pacer.poll(at(now), Bytes::ZERO) {
            out.push((now, described(output).0));
        }
    }
    let dues = [0, 0, 0, 3_000, 3_000, 3_000, 6_000, 6_000];
    assert_eq!(out, dues.map(|due| (due, due)));
    // A pause earns nothing: the next burst is as long.
    enqueue(&mut pacer, 20_000, 1, 4);
    let mut later = Vec::new();
    for now in (20_000..24_000).step_by(100) {
        while let Some(output) = pacer.poll(at(now), Bytes::ZERO) {
            later.push(described(output).0);
        }
    }
    assert_eq!(later, [20_000, 20_000, 20_000, 23_000]);
}

/// As in libwebrtc: what counts is how long the bucket takes to empty, not how long ago the burst began.
#[test]
fn a_burst_goes_on_while_the_bucket_holds_less_than_its_interval() {
    let pacing = Pacing::Bursts { rate: Rate::from_mbps(8), interval: Duration::from_millis(4) };
    let mut pacer = pacer(&target(pacing));
    enqueue(&mut pacer, 0, 0, 3);
    assert_eq!(drain(&mut pacer, 1_900), [(0, 0), (0, 1), (0, 2)]);
    enqueue(&mut pacer, 2_000, 1, 5);
    let dues: Vec<_> = drain(&mut pacer, 9_000).iter().map(|(due, _)| *due).collect();
    assert_eq!(dues, [2_000, 2_000, 2_000, 2_000, 7_000]);
}

#[test]
fn an_idle_bucket_earns_no_credit() {
    let mut pacer = pacer(&target(Pacing::Rate(Rate::from_mbps(8))));
    enqueue(&mut pacer, 50_000, 0, 2);
    assert_eq!(drain(&mut pacer, 90_000), [(50_000, 0), (51_000, 1)]);
}

#[test]
fn no_packet_waits_longer_than_the_queue_limit() {
    // 4000 packets at 1 ms are 4 s of queue; the limit doubles the rate.
    let mut pacer = pacer(&target(Pacing::Rate(Rate::from_mbps(8))));
    enqueue(&mut pacer, 0, 0, 4_000);
    let last = drain(&mut pacer, 10_000_000).last().map_or(0, |(time, _)| *time);
    assert!((1_900_000..2_010_000).contains(&last), "{last}");
}

#[test]
fn a_closed_window_holds_packets_and_time() {
    let mut wanted = target(Pacing::FrameMultiplier(1.0));
    wanted.window = Some(Bytes::new(1_500));
    // Looked at before the next packet is due, which nobody has a reason to do again then, and after.
    for looked_at in [[500, 1_000], [4_000, 9_000]] {
        let mut pacer = pacer(&wanted);
        enqueue(&mut pacer, 0, 0, 5);
        let full = Bytes::new(1_000);
        assert_eq!(pacer.poll(at(0), Bytes::ZERO).map(|out| described(out).1), Some(0));
        assert_eq!(pacer.next_deadline(full), None);
        for time in looked_at {
            assert_eq!(pacer.poll(at(time), full), None);
        }
        assert_eq!(pacer.poll(at(10_000), Bytes::ZERO).map(described), Some((10_000, 1)));
        assert_eq!(pacer.poll(at(10_000), Bytes::ZERO), None); // no burst
        assert_eq!(pacer.next_deadline(Bytes::ZERO), Some(at(14_000)));
    }
}

#[test]
fn a_closed_window_holds_the_bucket() {
    let mut wanted = target(Pacing::Rate(Rate::from_mbps(8)));
    wanted.window = Some(Bytes::new(1_500));
    let mut pacer = pacer(&wanted);
    enqueue(&mut pacer, 0, 0, 5);
    assert_eq!(pacer.poll(at(0), Bytes::ZERO).map(|out| described(out).1), Some(0));
    assert_eq!(pacer.poll(at(4_000), Bytes::new(1_000)), None);
    assert_eq!(pacer.poll(at(10_000), Bytes::ZERO).map(described), Some((10_000, 1)));
    assert_eq!(pacer.poll(at(10_000), Bytes::ZERO), None); // no burst
    assert_eq!(drain(&mut pacer, 20_000), [(11_000, 2), (12_000, 3), (13_000, 4)]);
}

#[test]
fn a_window_that_opens_in_time_moves_nothing() {
    let mut wanted = target(Pacing::FrameMultiplier(1.0));
    wanted.window = Some(Bytes::new(1_500));
    let mut pacer = pacer(&wanted);
    enqueue(&mut pacer, 0, 0, 5);
    assert!(pacer.poll(at(0), Bytes::ZERO).is_some());
    assert_eq!(pacer.poll(at(1_000), Bytes::new(1_000)), None);
    assert_eq!(pacer.poll(at(2_000), Bytes::ZERO), None);
    assert_eq!(pacer.poll(at(4_500), Bytes::ZERO).map(described), Some((4_000, 1)));
}

#[test]
fn a_window_below_a_packet_does_not_stop_the_stream() {
    let mut wanted = target(Pacing::Burst);
    wanted.window = Some(Bytes::new(10));
    let mut pacer = pacer(&wanted);
    enqueue(&mut pacer, 0, 0, 1);
    assert!(pacer.poll(at(0), Bytes::ZERO).is_some());
}

#[test]
fn a_cluster_takes_media_and_fills_up_with_padding() {
    let mut wanted = target(Pacing::Rate(Rate::from_mbps(8)));
    wanted.requests.probe_cluster = Some(ProbeCluster {
        id: 3,
        rate: Rate::from_mbps(16),
        min_bytes: Bytes::new(4_000),
        min_packets: 4,
    });
    let mut pacer = pacer(&wanted);
    assert_eq!(pacer.next_deadline(Bytes::ZERO), None); // waits for media
    enqueue(&mut pacer, 0, 0, 2);
    // 1000 B at 16 Mb/s are 0.5 ms; padding packets have 1200 B.
    assert_eq!(drain(&mut pacer, 60_000), [(0, 0), (500, 1), (1_000, 8_888), (1_600, 8_888)]);
    pacer.set_target(at(60_000), &wanted); // the same cluster is not started again
    enqueue(&mut pacer, 60_000, 1, 1);
    assert_eq!(drain(&mut pacer, 90_000), [(60_000, 1_000)]);
}

proptest! {
    /// Whatever the calls: first in first out, nothing lost, nothing before it was enqueued, due times
    /// never fall, and none is later than the poll that gave it.
    #[test]
    fn packets_are_conserved_in_order(
        frames in prop::collection::vec((0_i64..40_000, 0_u32..30, 0_u32..4, 0.0_f64..12.0), 1..40),
        late in 0_i64..5_000,
    ) {
        let mut pacer = Pacer::new(L, Bytes::new(1_200));
        let (mut now, mut next, mut expected) = (0, 0_u32, 0_u32);
        let mut last_due = at(0);
        for (index, (gap, count, kind, number)) in frames.into_iter().enumerate() {
            now += gap;
            let pacing = match kind {
                0 => Pacing::FrameMultiplier(number),
                1 => Pacing::Rate(Rate::from_bps_f64(number * 1e6)),
                2 => Pacing::Bursts {
                    rate: Rate::from_bps_f64(number * 1e6),
                    interval: Duration::from_micros(500),
                },
                _ => Pacing::Burst,
            };
            let mut wanted = target(pacing);
            wanted.requests.probes_per_frame = 4;
            pacer.set_target(at(now), &wanted);
            let packets: Vec<_> = (0..count).map(|k| (next + k, Bytes::new(1_000))).collect();
            next += count;
            pacer.enqueue_frame(at(now), FrameId(index as u64), packets.into_iter());
            while let Some(output) = pacer.poll(at(now + late), Bytes::ZERO) {
                if let PacerOutput::Packet { token, due, .. } = output {
                    prop_assert_eq!(token, expected);
                    prop_assert!(due >= last_due && due <= at(now + late));
                    last_due = due;
                    expected += 1;
                }
            }
            now += late;
        }
        pacer.set_target(at(now), &target(Pacing::Burst));
        while let Some(output) = pacer.poll(Instant::MAX, Bytes::ZERO) {
            if let PacerOutput::Packet { token, .. } = output {
                prop_assert_eq!(token, expected);
                expected += 1;
            }
        }
        prop_assert_eq!(expected, next);
        prop_assert_eq!(pacer.queued_bytes(), Bytes::ZERO);
    }
}

#[test]
fn what_passes_takes_its_time_of_a_rate_and_none_of_a_frames_schedule() {
    let gaps = |pacing| {
        let mut pacer: Pacer<u32> = Pacer::new(Duration::from_millis(16), Bytes::new(1_200));
        pacer.set_target(Instant::ZERO, &Target::new(Rate::from_mbps(8), pacing));
        let packets = (0..2).map(|token| (token, Bytes::new(1_000)));
        let packets = packets.collect::<Vec<_>>().into_iter();
        pacer.enqueue_frame(Instant::ZERO, FrameId(0), packets);
        assert!(pacer.poll(Instant::ZERO, Bytes::ZERO).is_some());
        let before = pacer.next_deadline(Bytes::ZERO).expect("one waits");
        pacer.pass(Instant::ZERO, Bytes::new(200));
        (before, pacer.next_deadline(Bytes::ZERO).expect("one waits") - before)
    };
    let (alone, later) = gaps(Pacing::Rate(Rate::from_mbps(8)));
    assert_eq!(
        (alone, later),
        (Instant::ZERO + Duration::from_millis(1), Duration::from_micros(200))
    );
    let (alone, later) = gaps(Pacing::FrameMultiplier(2.0));
    assert_eq!((alone, later), (Instant::ZERO + Duration::from_millis(8), Duration::ZERO));
}

/// Queues the next packets of a frame, of which `part` tells how many are expected.
fn enqueue_part(pacer: &mut Pacer<u32>, now: i64, packets: std::ops::Range<u32>, part: FramePart) {
    let packets: Vec<_> = packets.map(|token| (token, Bytes::new(1_000))).collect();
    pacer.enqueue_part(at(now), FrameId(0), part, packets.into_iter());
}

#[test]
fn parts_in_time_leave_as_the_whole_would() {
    let mut wanted = target(Pacing::FrameMultiplier(2.0));
    wanted.requests.probes_per_frame = 3;
    let mut in_parts = pacer(&wanted);
    let part = |last| FramePart { expected: 5, last };
    enqueue_part(&mut in_parts, 0, 0..2, part(false));
    let mut times = drain(&mut in_parts, 3_000);
    enqueue_part(&mut in_parts, 3_000, 2..4, part(false));
    enqueue_part(&mut in_parts, 3_500, 4..5, part(true));
    times.extend(drain(&mut in_parts, 16_000));
    let mut whole = pacer(&wanted);
    enqueue(&mut whole, 0, 0, 5);
    assert_eq!(times, drain(&mut whole, 16_000));
}

#[test]
fn a_frame_larger_than_expected_ends_when_it_was_to_end() {
    let mut pacer = pacer(&target(Pacing::FrameMultiplier(2.0)));
    enqueue_part(&mut pacer, 0, 0..2, FramePart { expected: 5, last: false });
    let mut times = drain(&mut pacer, 1_000);
    enqueue_part(&mut pacer, 1_000, 2..9, FramePart { expected: 9, last: true });
    times.extend(drain(&mut pacer, 16_000));
    let expected = [0, 2_000, 2_857, 3_714, 4_571, 5_428, 6_285, 7_142, 8_000];
    let times: Vec<i64> = times.into_iter().map(|(time, _)| time).collect();
    assert!(times.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1), "{times:?}");
}

#[test]
fn a_late_part_makes_up_at_twice_the_pace_at_most() {
    let mut wanted = target(Pacing::FrameMultiplier(2.0));
    wanted.requests.probes_per_frame = 1;
    let mut pacer = pacer(&wanted);
    enqueue_part(&mut pacer, 0, 0..2, FramePart { expected: 8, last: false });
    let mut times = drain(&mut pacer, 6_900);
    // Without the rest there is neither another frame nor a probe.
    assert_eq!((times.len(), pacer.next_deadline(Bytes::ZERO)), (2, None));
    enqueue_part(&mut pacer, 7_000, 2..8, FramePart { expected: 8, last: true });
    times.extend(drain(&mut pacer, 16_000));
    let last = [7_000, 7_500, 8_000, 8_500, 9_000, 9_500];
    assert!(times[2..8].iter().map(|(time, _)| *time).eq(last), "{times:?}");
    assert_eq!(times[8], (13_500, 9_999));
}

#[test]
fn a_late_part_is_not_paced_behind_the_time_in_which_it_was_encoded() {
    // A packet takes 0.8 ms at 10 Mb/s. The whole frame would leave in 3.2 ms.
    let mut pacer = pacer(&target(Pacing::Rate(Rate::from_mbps(10))));
    enqueue_part(&mut pacer, 0, 0..2, FramePart { expected: 5, last: false });
    enqueue_part(&mut pacer, 100, 2..3, FramePart { expected: 5, last: false });
    let mut times = drain(&mut pacer, 2_900);
    enqueue_part(&mut pacer, 2_900, 3..5, FramePart { expected: 5, last: true });
    times.extend(drain(&mut pacer, 16_000));
    assert_eq!(times, [(0, 0), (800, 1), (1_600, 2), (2_900, 3), (3_200, 4)]);
    // Silence between frames is not made up for.
    enqueue(&mut pacer, 16_000, 1, 3);
    let next: Vec<i64> = drain(&mut pacer, 32_000).into_iter().map(|(time, _)| time).collect();
    assert_eq!(next, [16_000, 16_800, 17_600]);
}

#[test]
fn a_part_that_comes_after_its_time_leaves_at_once_and_what_waits_keeps_its_place() {
    let mut pacer = pacer(&target(Pacing::FrameMultiplier(2.0)));
    enqueue_part(&mut pacer, 0, 0..2, FramePart { expected: 4, last: false });
    enqueue_part(&mut pacer, 10_000, 2..4, FramePart { expected: 4, last: true });
    let dues = [(0, 0), (2_666, 1), (10_000, 2), (10_000, 3)];
    assert_eq!(drain(&mut pacer, 16_000), dues);
}

#[test]
fn a_frame_that_breaks_off_makes_way() {
    let mut wanted = target(Pacing::FrameMultiplier(2.0));
    wanted.requests.probes_per_frame = 1;
    for left in [0, 2_000] {
        let mut pacer = pacer(&wanted);
        enqueue_part(&mut pacer, 0, 0..2, FramePart { expected: 5, last: false });
        let before = drain(&mut pacer, left).len();
        enqueue_part(&mut pacer, 2_500, 0..0, FramePart { expected: 2, last: true });
        enqueue(&mut pacer, 16_000, 1, 1);
        let after: Vec<u32> = drain(&mut pacer, 16_000).iter().map(|(_, token)| *token).collect();
        let rest: &[u32] = if before == 2 { &[1_000] } else { &[1, 9_999, 1_000] };
        assert_eq!(after, rest, "{before} had left");
    }
}

#[test]
fn a_cluster_has_its_bytes_and_its_packets_and_is_given_up_after_five_seconds() {
    let cluster = ProbeCluster {
        id: 1,
        rate: Rate::from_mbps(16),
        min_bytes: Bytes::new(2_000),
        min_packets: 4,
    };
    for (begins, packets) in [(4_990_000, 4), (5_000_001, 2)] {
        let mut wanted = target(Pacing::Rate(Rate::from_mbps(8)));
        wanted.requests.probe_cluster = Some(cluster);
        let mut pacer = pacer(&wanted);
        enqueue(&mut pacer, begins, 0, 2);
        assert_eq!(drain(&mut pacer, 6_000_000).len(), packets, "{begins}");
    }
}

#[test]
fn a_cluster_waits_for_the_rest_of_a_frame() {
    let mut wanted = target(Pacing::Rate(Rate::from_mbps(8)));
    let cluster = ProbeCluster {
        id: 1,
        rate: Rate::from_mbps(80),
        min_bytes: Bytes::new(4_000),
        min_packets: 4,
    };
    wanted.requests.probe_cluster = Some(cluster);
    let mut pacer = pacer(&wanted);
    enqueue_part(&mut pacer, 0, 0..2, FramePart { expected: 3, last: false });
    assert_eq!(drain(&mut pacer, 1_000), [(0, 0), (100, 1)]);
    enqueue_part(&mut pacer, 1_000, 2..3, FramePart { expected: 3, last: true });
    assert_eq!(drain(&mut pacer, 2_000), [(1_000, 2), (1_000, 8_888)]);
}

proptest! {
    /// However parts come, packets leave once and in order, none before its part is there nor before it is due, and a
    /// frame whose parts come in time takes no longer than a whole one.
    #[test]
    fn packets_of_parts_leave_once_and_in_order(
        frames in prop::collection::vec(
            (prop::collection::vec((0..6_000_i64, 1_u32..6), 1..5), 0_usize..20, 1.0..4.0_f64),
            1..20,
        ),
    ) {
        let mut pacer = pacer(&target(Pacing::Burst));
        let (mut now, mut next) = (0, 0_u32);
        let mut left: Vec<(i64, u32)> = Vec::new();
        for (number, (parts, expected, multiplier)) in frames.into_iter().enumerate() {
            pacer.set_target(at(now), &target(Pacing::FrameMultiplier(multiplier)));
            let count = parts.len();
            for (index, (wait, packets)) in parts.into_iter().enumerate() {
                now += wait;
                left.extend(drain(&mut pacer, now));
                let tokens: Vec<_> = (next..next + packets).map(|t| (t, Bytes::new(1_000))).collect();
                next += packets;
                let part = FramePart { expected, last: index + 1 == count };
                pacer.enqueue_part(at(now), FrameId(number as u64), part, tokens.into_iter());
                prop_assert!(pacer.next_deadline(Bytes::ZERO).is_some());
                let from = left.len();
                left.extend(drain(&mut pacer, now));
                prop_assert!(left[from..].iter().all(|(due, _)| *due <= now));
            }
        }
        let waits = pacer.queued_packets() as i64;
        left.extend(drain(&mut pacer, i64::MAX / 2_000));
        prop_assert!(left.iter().map(|(_, token)| *token).eq(0..next));
        prop_assert!(left.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        // A gap is a frame interval at most.
        prop_assert!(left.last().is_none_or(|(due, _)| *due <= now + 16_000 * (waits + 1)));
        prop_assert_eq!(pacer.queued_bytes(), Bytes::ZERO);
    }
}
