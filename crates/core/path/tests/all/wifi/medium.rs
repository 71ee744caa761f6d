//! Who sends when, what becomes of it, and that nothing is lost track of.

use super::{Home, Packet, home, saturate};
use gameway_path::{
    Backlog, DataRate, Dequeued, DropReason, DropTail, Dropped, FlowId, GuardInterval, Limit,
    Medium, Queue, Spatial, Timing, Transmitted, WifiConfig,
};
use gameway_units::{Bytes, Duration, Instant, Ratio};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn g() -> WifiConfig {
    WifiConfig::new(DataRate::Ofdm(54)).unwrap()
}

fn n() -> WifiConfig {
    let guard_interval = GuardInterval::Long;
    let spatial = Spatial { mcs: 7, streams: 2, width_mhz: 20, guard_interval };
    WifiConfig::new(DataRate::Ht(spatial)).unwrap()
}

fn at(micros: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn packet(number: u64, station: u16) -> Packet {
    Packet { number, station, size: 1500 }
}

/// Runs until `end` or until nothing is left to do.
fn run(home: &mut Home, end: Instant) -> (Vec<Transmitted<Packet>>, Vec<Dropped<Packet>>) {
    let (mut delivered, mut dropped) = (Vec::new(), Vec::new());
    while let Some(due) = home.next_deadline().filter(|due| *due <= end) {
        home.on_deadline(due);
        delivered.extend(std::iter::from_fn(|| home.poll_delivered()));
        dropped.extend(home.drain_dropped());
    }
    (delivered, dropped)
}

#[test]
fn a_packet_that_finds_the_medium_idle_leaves_at_the_next_slot() {
    let mut home = home(g(), 1, 10, 1);
    assert_eq!(home.next_deadline(), None);
    home.arrive(at(1000), 0, packet(0, 1));
    // Slots begin at 28 + 9 k us: the 108th at 1000 us.
    assert_eq!(home.next_deadline(), Some(at(28 + 9 * 108)));
    let (delivered, _) = run(&mut home, Instant::MAX);
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].queueing_delay(), Duration::ZERO);
    assert_eq!(delivered[0].finished, at(1000 + 254));
    assert_eq!(home.airtime(at(2000)), Duration::from_micros(298));
    // Long after its back-off has ended, the next one leaves as soon: slots count from 1298 + 28 us.
    home.arrive(at(5000), 0, packet(1, 1));
    assert_eq!(home.next_deadline(), Some(at(1326 + 9 * 409)));
}

#[test]
fn flows_of_one_client_are_at_its_station() {
    let home = home(g(), 2, 10, 1).with_stations(vec![2, 1, 2]);
    assert_eq!([0, 1, 2, 5].map(|flow| home.station_of(FlowId(flow))), [2, 1, 2, 5]);
}

#[test]
fn an_exchange_that_goes_on_has_airtime_so_far() {
    let mut home = home(g(), 1, 10, 1);
    home.arrive(at(1000), 0, packet(0, 1));
    assert!(run(&mut home, at(1100)).0.is_empty());
    assert_eq!(home.airtime(at(1100)), Duration::from_micros(100));
    // A call before something is due changes nothing.
    home.on_deadline(at(1253));
    assert_eq!((home.poll_delivered(), home.next_deadline()), (None, Some(at(1254))));
    home.on_deadline(at(1254));
    assert_eq!((home.packets_inside(), home.has_dropped()), (1, false), "until it is polled");
    assert!(home.poll_delivered().is_some());
    assert_eq!(home.packets_inside(), 0);
    home.on_deadline(at(1297));
    assert_eq!(home.next_deadline(), Some(at(1298)));
    // The packet is there, its acknowledgement is not.
    assert_eq!(home.airtime(at(1260)), Duration::from_micros(260));
}

#[test]
fn a_packet_that_finds_the_medium_busy_draws_a_back_off() {
    let starts: Vec<i64> = (0..400)
        .map(|seed| {
            let mut home = home(g(), 1, 10, seed);
            home.arrive(at(1000), 0, packet(0, 1));
            home.on_deadline(at(1000));
            home.arrive(at(1100), 1, packet(0, 1));
            let (delivered, _) = run(&mut home, Instant::MAX);
            let behind = delivered[1].finished - at(1000 + 298 + 28 + 254);
            behind.as_nanos() / 9_000
        })
        .collect();
    // All of 0 to 15, about as often.
    for slot in 0..16 {
        let count = starts.iter().filter(|start| **start == slot).count();
        assert!((10..=45).contains(&count), "{slot}: {count}");
    }
    assert!(starts.iter().all(|start| (0..16).contains(start)));
}

/// A back-off that began behind a station's last packet goes on while it has nothing to send, and stops while another
/// sends: it is as long as it would have been without, where the other sends at once.
#[test]
fn a_count_that_a_busy_medium_stopped_goes_on() {
    let start = |seed, meanwhile: bool| {
        let mut home = home(g(), 2, 10, seed);
        home.arrive(at(1000), 1, packet(0, 1));
        assert_eq!(run(&mut home, at(1298)).0.len(), 1);
        if meanwhile {
            home.arrive(at(1298), 2, packet(1, 2));
            assert_eq!(run(&mut home, at(1326 + 254)).0.len(), 1);
        }
        home.arrive(at(if meanwhile { 1326 + 254 } else { 1298 }), 1, packet(2, 1));
        let (delivered, _) = run(&mut home, Instant::MAX);
        (delivered[0].finished - at(1326 + 254)).as_nanos() / 1000
    };
    let slots: Vec<i64> = (0..100).map(|seed| start(seed, false) / 9).collect();
    assert!((0..16).all(|slot| slots.contains(&slot)), "{slots:?}");
    for (seed, slots) in (0..).zip(slots).filter(|(_, slots)| *slots >= 1) {
        assert_eq!(start(seed, true), 298 + 28 + 9 * slots, "{slots}");
    }
}

#[test]
fn the_queueing_delay_ends_when_the_mac_takes_a_packet_up() {
    let mut home = home(g(), 1, 10, 1);
    home.arrive(at(1000), 0, packet(0, 1));
    home.arrive(at(1000), 0, packet(1, 1));
    home.arrive(at(1050), 0, packet(2, 1));
    assert_eq!(home.queued_bytes(0), Bytes::new(3000));
    let (delivered, _) = run(&mut home, Instant::MAX);
    // The second when the acknowledgement of the first has come, back-off or not.
    assert_eq!(delivered[1].queueing_delay(), Duration::from_micros(298));
    assert_eq!(delivered[2].started - delivered[1].finished, Duration::from_micros(44));
}

#[test]
fn saturated_stations_share_alike() {
    // The same number of frames, of one packet and of 42.
    for (config, packets) in [(g(), 60_000), (n(), 42 * 40_000)] {
        let found = saturate(config, 10, 1500, packets, 3);
        let counts: Vec<f64> = found.delivered[1..].iter().map(|count| *count as f64).collect();
        let (sum, squares) =
            (counts.iter().sum::<f64>(), counts.iter().map(|one| one * one).sum::<f64>());
        let jain = sum * sum / (10.0 * squares);
        assert!(jain > 0.995, "{jain} {counts:?}");
    }
}

#[test]
fn an_access_point_gets_one_share_among_its_stations() {
    // Why downloads suffer from uploads: the access point is one node of five.
    let found = saturate(g(), 5, 1500, 20_000, 3);
    let share = found.delivered[1] as f64 / found.delivered.iter().sum::<u64>() as f64;
    assert!((0.18..0.22).contains(&share), "{share}");
}

/// Mean time for a packet of a lone node, and the share given up: stage by stage.
fn damaged_by_hand(config: &WifiConfig) -> (f64, f64) {
    let p = config.error_rate.as_f64();
    let timing = Timing::new(*config);
    let psdu = timing.alone(Bytes::new(1500));
    let ok = (timing.exchange(psdu, 1) + timing.ifs()).as_secs_f64();
    let vain = (timing.data_frame(psdu) + timing.eifs()).as_secs_f64();
    let (mut reached, mut time, mut window) = (1.0, 0.0, config.cw_min);
    for _ in 0..config.attempts {
        let back_off = f64::from(window) / 2.0 * config.slot.as_secs_f64();
        time += reached * (back_off + (1.0 - p) * ok + p * vain);
        reached *= p;
        window = (2 * window + 1).min(config.cw_max);
    }
    (time, reached)
}

#[test]
fn damage_costs_retries_and_at_last_the_packet() {
    for percent in [10, 50, 80] {
        let config = WifiConfig { error_rate: Ratio::from_ppm(percent * 10_000), ..g() };
        let (time, lost) = damaged_by_hand(&config);
        let found = saturate(config, 1, 1500, 30_000, 5);
        let packets = found.delivered[1] + found.given_up;
        let found_time = found.end.as_secs_f64() / packets as f64;
        assert!((found_time / time - 1.0).abs() < 0.01, "{percent} %: {found_time} {time}");
        let found_lost = found.given_up as f64 / packets as f64;
        assert!((found_lost - lost).abs() < 0.006, "{percent} %: {found_lost} {lost}");
    }
}

#[test]
fn a_full_aggregate_carries_what_the_closed_form_says() {
    let found = saturate(n(), 1, 1500, 100_000, 5).mbps(1500);
    let expected = Timing::new(n()).saturation(Bytes::new(1500)).as_mbps_f64();
    // 42 packets of 1544 B in 64 kB at 130 Mb/s.
    assert!((found / expected - 1.0).abs() < 0.003, "{found} {expected}");
    assert!((115.0..125.0).contains(&found), "{found}");
    let mut alone = n();
    alone.aggregation.packets = 1;
    let alone = saturate(alone, 1, 1500, 20_000, 5).mbps(1500);
    assert!((40.0..50.0).contains(&alone), "{alone}");
}

#[test]
fn only_packets_to_one_station_are_aggregated() {
    let finish = |stations: [u16; 4]| {
        let mut home = home(n(), 2, 10, 1);
        home.arrive(at(1000), 0, packet(9, 1));
        home.on_deadline(home.next_deadline().unwrap());
        for (number, station) in stations.into_iter().enumerate() {
            home.arrive(at(1050), 0, packet(number as u64, station));
        }
        let (delivered, _) = run(&mut home, Instant::MAX);
        let numbers: Vec<u64> = delivered[1..].iter().map(|done| done.packet.number).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        let mut ends: Vec<Instant> = delivered[1..].iter().map(|done| done.finished).collect();
        ends.dedup();
        ends.len()
    };
    assert_eq!((finish([1, 1, 1, 1]), finish([1, 2, 1, 2]), finish([1, 1, 2, 2])), (1, 4, 2));
}

#[test]
fn damaged_parts_of_an_aggregate_are_sent_again_and_order_is_kept() {
    let config = WifiConfig { error_rate: Ratio::from_ppm(300_000), ..n() };
    let found = saturate(config, 1, 1500, 100_000, 5);
    // 0.3^7 of them.
    let lost = found.given_up as f64 / found.delivered[1] as f64;
    assert!((0.0001..0.0004).contains(&lost), "{lost}");
    // Each packet on the air 1 / 0.7 times; a window that waits for its oldest costs more.
    let clean = saturate(n(), 1, 1500, 100_000, 5).mbps(1500);
    let share = found.mbps(1500) / clean;
    assert!((0.4..0.7).contains(&share), "{share}");
}

/// A queue that lets a packet go every 10 ms.
struct Shaper {
    inner: DropTail<Packet>,
    next: Instant,
}

impl Queue<Packet> for Shaper {
    fn enqueue(&mut self, now: Instant, packet: Packet, dropped: &mut Vec<Dropped<Packet>>) {
        self.inner.enqueue(now, packet, dropped);
    }
    fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Dropped<Packet>>,
    ) -> Option<Dequeued<Packet>> {
        if now < self.next {
            return None;
        }
        let next = self.inner.dequeue(now, dropped)?;
        self.next = now + Duration::from_millis(10);
        Some(next)
    }
    fn drain(&mut self, into: &mut Vec<Dequeued<Packet>>) {
        self.inner.drain(into);
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
    fn oldest(&self) -> Option<Instant> {
        self.inner.oldest()
    }
    fn set_limit(&mut self, limit: Limit) {
        self.inner.set_limit(limit);
    }
    fn next_release(&self, now: Instant) -> Option<Instant> {
        (self.backlog().packets > 0 && now < self.next).then_some(self.next)
    }
}

#[test]
fn a_shaper_at_the_access_point_is_obeyed() {
    let queue = || Shaper { inner: DropTail::new(Limit::Packets(10)), next: Instant::ZERO };
    let mut home =
        Medium::new(g(), [queue(), queue()], Xoshiro256PlusPlus::seed_from_u64(1)).unwrap();
    for number in 0..3 {
        home.arrive(at(1000), 0, packet(number, 1));
    }
    let mut started = Vec::new();
    while let Some(due) = home.next_deadline() {
        home.on_deadline(due);
        started.extend(home.poll_delivered().map(|done| done.started));
    }
    assert_eq!(started, [at(1000), at(11_000), at(21_000)]);
}

#[derive(Debug, Clone)]
struct Arrival {
    gap: i64,
    node: usize,
    station: u16,
    size: u64,
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let arrival =
        (0i64..600_000, 0usize..4, 1u16..4, 40u64..1500).prop_map(|(gap, node, station, size)| {
            Arrival { gap, node, station: if node == 0 { station } else { node as u16 }, size }
        });
    prop::collection::vec(arrival, 1..300)
}

proptest! {
    /// Every packet is delivered or dropped, once; what goes from one node to another stays in order, and
    /// times make sense.
    #[test]
    fn a_medium_conserves_packets_and_keeps_order(
        seed in any::<u64>(),
        aggregates in any::<bool>(),
        rts in any::<bool>(),
        error in prop::sample::select(vec![0u64, 10_000, 300_000, 950_000]),
        queue in 1u64..40,
        arrivals in arrivals(),
    ) {
        let rts_above = rts.then_some(Bytes::new(700));
        let base = if aggregates { n() } else { g() };
        let config = WifiConfig { error_rate: Ratio::from_ppm(error), rts_above, ..base };
        let mut home = home(config, 3, queue, seed);
        let (mut now, mut delivered, mut dropped) = (Instant::ZERO, Vec::new(), Vec::new());
        for (number, arrival) in arrivals.iter().enumerate() {
            now += Duration::from_nanos(arrival.gap);
            let (some, lost) = run(&mut home, now);
            delivered.extend(some);
            dropped.extend(lost);
            let packet = Packet { number: number as u64, station: arrival.station, size: arrival.size };
            home.arrive(now, arrival.node, packet);
            dropped.extend(home.drain_dropped());
            let counted = delivered.len() + dropped.len() + home.packets_inside() as usize;
            prop_assert_eq!(counted, number + 1);
        }
        let (some, lost) = run(&mut home, Instant::MAX);
        delivered.extend(some);
        dropped.extend(lost);
        prop_assert_eq!(home.packets_inside(), 0);
        let expected = |drop: &Dropped<Packet>| {
            matches!(drop.reason, DropReason::Overflow | DropReason::RetryLimit)
        };
        prop_assert!(dropped.iter().all(expected));
        for done in &delivered {
            prop_assert!(done.enqueued <= done.started && done.started < done.finished);
        }
        for node in 0..4 {
            for station in 1..4 {
                let of_pair = |done: &&Transmitted<Packet>| {
                    arrivals[done.packet.number as usize].node == node && done.packet.station == station
                };
                let numbers: Vec<u64> =
                    delivered.iter().filter(of_pair).map(|done| done.packet.number).collect();
                prop_assert!(numbers.is_sorted(), "{numbers:?}");
            }
        }
        let mut all: Vec<u64> = delivered.iter().map(|done| done.packet.number).collect();
        all.extend(dropped.iter().map(|drop| drop.packet.number));
        all.sort_unstable();
        prop_assert_eq!(all, (0..arrivals.len() as u64).collect::<Vec<_>>());
    }
}
