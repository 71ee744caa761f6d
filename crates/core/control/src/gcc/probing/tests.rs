//! Trains on a link, and the cases of `probe_controller_unittest` that this one has occasions for.

use super::*;
use crate::{FrameId, PacketKind, SequenceNumber};

fn at(micros: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn packet(cluster: u32, sent: i64) -> SentPacket {
    SentPacket::new(SequenceNumber(0), at(sent), FrameId(0), Bytes::new(1_250))
        .with_kind(PacketKind::Padding)
        .with_probe_cluster(Some(cluster))
}

fn occasions(start: bool, any_recovery: bool) -> Occasions {
    Occasions { start, periodic: true, any_recovery }
}

/// Sends trains until none is asked for; each arrives at the lesser of its rate and `capacity`.
fn run(capacity: Rate) -> Vec<(u64, u64)> {
    let (start, max) = (Rate::from_mbps(1), Rate::from_mbps(50));
    let mut controller = ProbeController::new(start, max, occasions(true, false));
    let mut estimator = ProbeEstimator::new();
    controller.begin(at(0), &mut estimator);
    let mut found = Vec::new();
    let mut time = 0;
    while let Some(cluster) = controller.cluster() {
        let (gap, spread) = (
            cluster.rate.time_for(Bytes::new(1_250)).as_nanos() / 1_000,
            cluster.rate.min(capacity).time_for(Bytes::new(1_250)).as_nanos() / 1_000,
        );
        let mut result = None;
        let begun = time;
        let mut index = 0;
        while controller.cluster() == Some(cluster) {
            let sent = packet(cluster.id, time);
            controller.on_sent(&sent);
            let arrival = ReceiverInstant::from_nanos((begun + index * spread) * 1_000);
            let report = PacketReport::new(sent, Some(arrival));
            result = estimator.on_packet(&report).or(result);
            time += gap;
            index += 1;
        }
        let result = result.unwrap_or(Rate::ZERO);
        found.push((cluster.rate.as_bps() / 1_000_000, result.as_bps() / 100_000));
        controller.on_estimate(at(time), result, true, &mut estimator);
    }
    found
}

#[test]
fn start_probes_double_until_the_link_is_full() {
    let found = run(Rate::from_mbps(20));
    let asked: Vec<u64> = found.iter().map(|(asked, _)| *asked).collect();
    assert_eq!(asked, [3, 6, 12, 24, 38]);
    assert_eq!(found.last().map(|(_, found)| *found), Some(190)); // 0.95 of 20 Mb/s
    assert!((29..=30).contains(&found[0].1), "{found:?}");
}

#[test]
fn a_wide_link_is_probed_up_to_the_maximum() {
    let asked: Vec<u64> = run(Rate::from_mbps(200)).iter().map(|(asked, _)| *asked).collect();
    assert_eq!(asked, [3, 6, 12, 24, 48, 50]);
}

#[test]
fn results_need_most_of_the_train() {
    let cluster = ProbeCluster {
        id: 7,
        rate: Rate::from_mbps(10),
        min_bytes: Bytes::new(12_500),
        min_packets: 5,
    };
    let mut estimator = ProbeEstimator::new();
    estimator.expect(&cluster);
    let mut results = (0..10).map(|index| {
        let arrival = Some(ReceiverInstant::from_nanos(index * 1_000_000));
        let report = PacketReport::new(packet(7, index * 1_000), arrival);
        estimator.on_packet(&report)
    });
    assert!(results.by_ref().take(7).all(|result| result.is_none()));
    assert_eq!(results.next(), Some(Some(Rate::from_mbps(10))));
}

/// The estimate from ten packets of a train, in kb/s, which are sent and arrive at these intervals in microseconds.
fn shown(sent_gap: i64, arrival_gap: i64) -> Option<u64> {
    let (rate, min_bytes) = (Rate::from_mbps(10), Bytes::new(12_500));
    let mut estimator = ProbeEstimator::new();
    estimator.expect(&ProbeCluster { id: 7, rate, min_bytes, min_packets: 5 });
    let results = (0..10).map(|index| {
        let arrival = Some(ReceiverInstant::from_nanos(index * arrival_gap * 1_000));
        estimator.on_packet(&PacketReport::new(packet(7, index * sent_gap), arrival))
    });
    results.last().flatten().map(|rate| rate.as_bps() / 1_000)
}

#[test]
fn a_result_is_the_lesser_rate_or_less_where_the_link_is_full() {
    assert_eq!(shown(1_000, 1_000), Some(10_000));
    assert_eq!(shown(1_000, 800), Some(10_000));
    assert_eq!(shown(1_000, 1_100), Some(9_090));
    assert_eq!(shown(1_000, 1_250), Some(7_600)); // 0.95 of 8 Mb/s
}

#[test]
fn a_train_shows_nothing_if_it_took_no_time_more_than_a_second_or_half_of_what_was_sent() {
    assert_eq!((shown(0, 1_000), shown(1_000, 0)), (None, None));
    // Nine intervals of a ninth of a second.
    assert!(shown(111_111, 111_111).is_some());
    assert_eq!((shown(111_112, 111_111), shown(111_111, 111_112)), (None, None));
    assert_eq!((shown(1_000, 500), shown(1_000, 499)), (Some(10_000), None));
}

#[test]
fn four_of_five_packets_are_enough_if_they_are_large() {
    let cluster = ProbeCluster {
        id: 7,
        rate: Rate::from_mbps(10),
        min_bytes: Bytes::new(1_000),
        min_packets: 5,
    };
    let mut estimator = ProbeEstimator::new();
    estimator.expect(&cluster);
    let results: Vec<_> = (0..4)
        .map(|index| {
            let arrival = Some(ReceiverInstant::from_nanos(index * 1_000_000));
            estimator.on_packet(&PacketReport::new(packet(7, index * 1_000), arrival)).is_some()
        })
        .collect();
    assert_eq!(results, [false, false, false, true]);
}

#[test]
fn one_probe_follows_a_large_drop() {
    let (start, max) = (Rate::from_mbps(20), Rate::from_mbps(50));
    let mut controller = ProbeController::new(start, max, occasions(false, true));
    let mut estimator = ProbeEstimator::new();
    controller.on_estimate(at(0), Rate::from_mbps(14), true, &mut estimator);
    controller.on_recovered(at(1), &mut estimator);
    assert_eq!(controller.cluster(), None); // not a large one
    controller.on_estimate(at(2), Rate::from_mbps(8), true, &mut estimator);
    controller.on_recovered(at(3), &mut estimator);
    assert_eq!(controller.cluster().map(|c| c.rate), Some(Rate::from_bps(11_900_000)));
    controller.on_recovered(at(4), &mut estimator);
    assert_eq!(controller.asked.len(), 1);
    // It awaits no result, so that it stays asked for; five seconds after it another may follow.
    controller.on_timer(at(2_000_000), &mut estimator);
    controller.on_estimate(at(5_000_002), Rate::from_mbps(5), true, &mut estimator);
    controller.on_recovered(at(5_000_003), &mut estimator);
    assert_eq!(controller.asked.len(), 1);
    controller.on_recovered(at(5_000_004), &mut estimator);
    assert_eq!(controller.asked.len(), 2);
}

/// 0.85 of 20 Mb/s, less a twentieth.
#[test]
fn a_drop_is_not_probed_where_the_rate_has_come_near_to_the_probe() {
    for (kbps, found) in [(16_149, 1), (16_150, 0)] {
        let (mut controller, mut estimator) = at_twenty();
        controller.set_application_limited(at(0), Some(at(0)));
        controller.on_estimate(at(0), Rate::from_mbps(8), true, &mut estimator);
        controller.on_estimate(at(1), Rate::from_kbps(kbps), true, &mut estimator);
        controller.on_recovered(at(2), &mut estimator);
        assert_eq!(controller.asked.len(), found, "{kbps}");
    }
}

/// At 20 Mb/s of at most 50, without probes at the start.
fn at_twenty() -> (ProbeController, ProbeEstimator) {
    let (start, max) = (Rate::from_mbps(20), Rate::from_mbps(50));
    (ProbeController::new(start, max, occasions(false, false)), ProbeEstimator::new())
}

/// The rate of each train that is asked for, in Mb/s.
fn asked(controller: &ProbeController) -> Vec<u64> {
    controller.asked.iter().map(|cluster| cluster.rate.as_bps() / 1_000_000).collect()
}

fn drop_and_recover(limit: impl Fn(&mut ProbeController)) -> Vec<u64> {
    let (mut controller, mut estimator) = at_twenty();
    controller.on_estimate(at(0), Rate::from_mbps(8), true, &mut estimator);
    limit(&mut controller);
    controller.on_recovered(at(4_000_000), &mut estimator);
    asked(&controller)
}

#[test]
fn a_drop_is_probed_while_the_application_limits_and_shortly_after() {
    assert_eq!(drop_and_recover(|_| {}), [0; 0]);
    assert_eq!(drop_and_recover(|c| c.set_application_limited(at(3_000_000), None)), [0; 0]);
    let limited = |c: &mut ProbeController| c.set_application_limited(at(0), Some(at(0)));
    assert_eq!(drop_and_recover(limited), [17]);
    let ended = |c: &mut ProbeController, micros: i64| {
        limited(c);
        c.set_application_limited(at(micros), None);
    };
    assert_eq!(drop_and_recover(|c| ended(c, 1_000_001)), [17]);
    assert_eq!(drop_and_recover(|c| ended(c, 1_000_000)), [0; 0]);
}

#[test]
fn a_drop_of_more_than_five_seconds_ago_is_not_probed() {
    for (micros, found) in [(4_999_999, 1), (5_000_000, 0)] {
        let (mut controller, mut estimator) = at_twenty();
        controller.on_estimate(at(0), Rate::from_mbps(8), true, &mut estimator);
        controller.set_application_limited(at(0), Some(at(0)));
        controller.on_recovered(at(micros), &mut estimator);
        assert_eq!(controller.asked.len(), found);
    }
}

#[test]
fn while_the_application_limits_a_train_is_sent_every_five_seconds() {
    let (mut controller, mut estimator) = at_twenty();
    controller.set_application_limited(at(0), Some(at(0)));
    controller.on_timer(at(4_999_999), &mut estimator);
    assert_eq!(asked(&controller), [0; 0]);
    controller.on_timer(at(5_000_000), &mut estimator);
    assert_eq!(asked(&controller), [40]);
    controller.on_timer(at(6_000_001), &mut estimator); // no result came
    controller.on_timer(at(9_999_999), &mut estimator);
    assert_eq!(asked(&controller), [0; 0]);
    controller.on_timer(at(10_000_000), &mut estimator);
    assert_eq!(asked(&controller), [40]);
    let mut without = at_twenty().0;
    without.occasions.periodic = false;
    without.set_application_limited(at(0), Some(at(0)));
    without.on_timer(at(60_000_000), &mut estimator);
    assert_eq!(asked(&without), [0; 0]);
}

#[test]
fn none_is_sent_while_queues_or_loss_limit() {
    let (mut controller, mut estimator) = at_twenty();
    controller.set_application_limited(at(0), Some(at(0)));
    controller.on_estimate(at(1), Rate::from_mbps(8), false, &mut estimator);
    controller.on_recovered(at(2), &mut estimator);
    controller.on_timer(at(5_000_001), &mut estimator);
    assert_eq!(asked(&controller), [0; 0]);
    controller.on_estimate(at(5_000_002), Rate::from_mbps(8), true, &mut estimator);
    controller.on_timer(at(5_000_003), &mut estimator);
    assert_eq!(asked(&controller), [16]);
}

/// 60 of 10 Mb/s x 6 call for 120 of at most 100, after which there is no more to find.
#[test]
fn a_train_at_the_largest_rate_is_the_last() {
    let (start, max) = (Rate::from_mbps(10), Rate::from_mbps(100));
    let mut controller = ProbeController::new(start, max, occasions(true, false));
    let mut estimator = ProbeEstimator::new();
    controller.begin(at(0), &mut estimator);
    controller.on_estimate(at(1), Rate::from_mbps(60), true, &mut estimator);
    assert_eq!(asked(&controller), [30, 60, 100]);
    controller.on_estimate(at(2), Rate::from_mbps(100), true, &mut estimator);
    assert_eq!(asked(&controller), [30, 60, 100]);
    // Of at most 60, the second train is at the largest rate.
    let mut controller = ProbeController::new(start, Rate::from_mbps(60), occasions(true, false));
    controller.begin(at(0), &mut estimator);
    controller.on_estimate(at(1), Rate::from_mbps(60), true, &mut estimator);
    assert_eq!(asked(&controller), [30, 60]);
}

/// 0.7 of 6 x 1 Mb/s.
#[test]
fn a_further_train_needs_more_than_seven_tenths_of_the_last() {
    let (start, max) = (Rate::from_mbps(1), Rate::from_mbps(50));
    let mut controller = ProbeController::new(start, max, occasions(true, false));
    let mut estimator = ProbeEstimator::new();
    controller.begin(at(0), &mut estimator);
    controller.on_estimate(at(1), Rate::from_kbps(4_200), true, &mut estimator);
    assert_eq!(asked(&controller), [3, 6]);
    controller.on_estimate(at(2), Rate::from_kbps(4_500), true, &mut estimator);
    assert_eq!(asked(&controller), [3, 6, 9]);
}

#[test]
fn no_more_trains_wait_than_are_kept() {
    let (start, max) = (Rate::from_mbps(1), Rate::from_mbps(1_000_000));
    let mut controller = ProbeController::new(start, max, occasions(true, false));
    let mut estimator = ProbeEstimator::new();
    controller.begin(at(0), &mut estimator);
    for doublings in 0..12 {
        let estimate = Rate::from_mbps(6 << doublings);
        controller.on_estimate(at(1), estimate, true, &mut estimator);
    }
    assert_eq!(asked(&controller), [3, 6, 12, 24, 48, 96, 192, 384]);
}

#[test]
fn results_are_awaited_for_a_second() {
    let (start, max) = (Rate::from_mbps(1), Rate::from_mbps(50));
    let mut controller = ProbeController::new(start, max, occasions(true, false));
    let mut estimator = ProbeEstimator::new();
    controller.begin(at(0), &mut estimator);
    controller.on_timer(at(1_000_000), &mut estimator);
    assert_eq!(asked(&controller), [3, 6]);
    controller.on_timer(at(1_000_001), &mut estimator);
    assert_eq!(asked(&controller), [0; 0]);
    controller.on_estimate(at(1_000_002), Rate::from_mbps(5), true, &mut estimator);
    assert_eq!(asked(&controller), [0; 0]);
}
