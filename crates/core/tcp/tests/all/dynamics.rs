//! Behaviour over a shared bottleneck against what theory and the specifications say, both sides.

use crate::common::{Flow, Meter, Network, shared};
use gameway_tcp::{
    Application, CongestionControl, CubicConfig, EcnMode, MAXIMUM_SEGMENT_SIZE, NewReno, Phase,
    SlowStartExit, TcpAlgorithm,
};
use gameway_units::{Bytes, Duration, Instant, Rate};

const RTT: Duration = Duration::from_millis(20);
const CAPACITY: Rate = Rate::from_mbps(25);

fn network(algorithm: &str, queue_bdps: f64) -> Network {
    let queue = Bytes::from_f64((CAPACITY * RTT).as_f64() * queue_bdps);
    shared(CAPACITY, RTT, queue, vec![Flow::bulk(algorithm)])
}

fn seconds(count: i64) -> Instant {
    Instant::ZERO + Duration::from_secs(count)
}

/// Smallest and largest window over `span`, sampled every millisecond outside recoveries.
fn window_range(net: &mut Network, span: Duration) -> (f64, f64) {
    let end = net.now + span;
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    while net.now < end {
        net.run_for(Duration::from_millis(1));
        let stats = net.flows[0].sender.stats();
        if stats.phase == Phase::Open {
            low = low.min(stats.cwnd.as_f64());
            high = high.max(stats.cwnd.as_f64());
        }
    }
    (low, high)
}

#[test]
fn cubic_fills_the_link_with_a_saw_tooth_of_seven_tenths() {
    let mut net = network("cubic", 1.0);
    net.run_until(seconds(20));
    net.restart_measurement();
    let (low, high) = window_range(&mut net, Duration::from_secs(60));
    // Payload of what fits in path and queue.
    let full = 2.0 * net.bdp().as_f64() * 1448.0 / 1500.0;
    assert!((0.97..1.06).contains(&(high / full)), "W_max {high} of {full}");
    assert!((0.67..0.73).contains(&(low / high)), "beta: {low} / {high}");
    assert!(net.utilization() > 0.995, "{}", net.utilization());
    let stats = net.flows[0].sender.stats();
    assert_eq!(stats.timeouts, 0);
}

#[test]
fn new_reno_halves() {
    let mut net = network("newreno", 1.5);
    net.run_until(seconds(30));
    net.restart_measurement();
    let (low, high) = window_range(&mut net, Duration::from_secs(60));
    let full = 2.5 * net.bdp().as_f64() * 1448.0 / 1500.0;
    assert!((0.97..1.06).contains(&(high / full)), "W_max {high} of {full}");
    assert!((0.47..0.53).contains(&(low / high)), "half: {low} / {high}");
    assert!(net.utilization() > 0.995, "{}", net.utilization());
}

#[test]
fn bbr_keeps_the_link_full_and_the_queue_short() {
    for queue_bdps in [1.0, 2.0, 7.0] {
        let mut net = network("bbr", queue_bdps);
        net.run_until(seconds(5));
        net.restart_measurement();
        net.run_for(Duration::from_secs(60));
        let (used, queued) = (net.utilization(), net.mean_backlog() / net.bdp().as_f64());
        assert!((0.93..=1.0).contains(&used), "{queue_bdps} BDP: {used}");
        assert!(queued < 0.5, "{queue_bdps} BDP: mean queue {queued} BDP");
        let longest = net.path.queue.max_backlog().as_f64() / net.bdp().as_f64();
        assert!(longest < 1.35, "{queue_bdps} BDP: longest queue {longest} BDP");
    }
}

#[test]
fn bbr_probes_up_once_in_eight_rounds_and_looks_at_the_rtt_every_ten_seconds() {
    let mut net = network("bbr", 4.0);
    net.run_until(seconds(15));
    let start = net.now;
    let (mut ups, mut probing_up, mut rtt_probes, mut starved) = (0, false, Vec::new(), false);
    while net.now < start + Duration::from_secs(40) {
        net.run_for(Duration::from_millis(1));
        let stats = net.flows[0].sender.stats();
        let rate = stats.pacing_rate.map_or(0.0, Rate::as_mbps_f64) / 25.0;
        ups += u32::from(rate > 1.1 && !probing_up);
        probing_up = rate > 1.1;
        let starving = stats.cwnd <= Bytes::new(4 * 1448);
        if starving && !starved {
            rtt_probes.push(net.now);
        }
        starved = starving;
    }
    // A cycle is 8 minimum RTTs, a bit longer where acknowledgments are awaited: 160 to 200 ms.
    assert!((190..=250).contains(&ups), "{ups} probes in 40 s");
    let gaps: Vec<f64> = rtt_probes.windows(2).map(|p| (p[1] - p[0]).as_secs_f64()).collect();
    assert!(gaps.len() >= 2 && gaps.iter().all(|gap| (10.0..10.6).contains(gap)), "{gaps:?}");
}

/// The bandwidth filter spans ten rounds: until then a halved capacity is not believed, while the
/// window of two BDPs of the old capacity stretches the rounds from 20 to 80 ms. Probing up at the
/// new rate stays below seven tenths of the old one.
#[test]
fn bbr_forgets_a_bandwidth_after_ten_rounds() {
    for phase in 0..8 {
        let mut net = network("bbr", 8.0);
        let start = seconds(5) + Duration::from_millis(25 * phase);
        net.run_until(start);
        net.set_capacity(Rate::from_bps(CAPACITY.as_bps() / 2));
        let mut last_believed = start;
        while net.now < start + Duration::from_secs(3) {
            net.run_for(Duration::from_millis(1));
            let rate = net.flows[0].sender.stats().pacing_rate.unwrap_or_default();
            if rate > Rate::from_bps(CAPACITY.as_bps() * 8 / 10) {
                last_believed = net.now;
            }
        }
        let took = (last_believed - start).as_secs_f64();
        assert!((0.3..1.0).contains(&took), "{took} s");
    }
}

/// Mathis et al. 1997: rate = MSS/RTT * C/sqrt(p), C = sqrt(3/2), or sqrt(3/4) where each second
/// segment is acknowledged and the window grows per ACK. Here it grows per byte: sqrt(3/2).
#[test]
fn new_reno_follows_the_square_root_law() {
    for loss in [0.0005, 0.001, 0.002, 0.005] {
        let capacity = Rate::from_mbps(1000);
        let rtt = Duration::from_millis(50);
        let flow = Flow::bulk("newreno");
        let mut net = shared(capacity, rtt, Bytes::new(10_000_000), vec![flow]);
        net.path.loss = loss;
        net.run_until(seconds(20));
        let before = net.flows[0].receiver.received().as_f64();
        net.run_for(Duration::from_secs(1000));
        let delivered = net.flows[0].receiver.received().as_f64() - before;
        let law = 1448.0 / 0.050 * (1.5 / loss).sqrt() * 1000.0;
        let ratio = delivered / law;
        assert!((0.85..1.15).contains(&ratio), "p = {loss}: {ratio} of the law");
    }
}

/// RFC 9438 section 5.1: with random loss in the Reno-friendly region CUBIC gets what Reno gets; Linux's, which stays
/// some segments behind its emulated Reno, gets a little less.
#[test]
fn cubic_is_reno_friendly_on_short_paths() {
    let rate = |algorithm| {
        let capacity = Rate::from_mbps(1000);
        let rtt = Duration::from_millis(10);
        let flow = Flow::bulk(algorithm);
        let mut net = shared(capacity, rtt, Bytes::new(10_000_000), vec![flow]);
        net.path.loss = 0.002;
        net.run_until(seconds(200));
        net.flows[0].receiver.received().as_f64()
    };
    let ratio = rate("cubic") / rate("newreno");
    assert!((0.8..1.0).contains(&ratio), "{ratio}");
}

/// RFC 9438 section 5.1, table 1: average window of `(C (3 + beta) / (4 (1 - beta)))^(1/4) *
/// RTT^(3/4) / p^(3/4)` for deterministic loss, where the cubic function is above Reno.
#[test]
fn cubic_follows_its_response_function_on_long_paths() {
    let (capacity, rtt, loss) = (Rate::from_mbps(4000), Duration::from_millis(200), 1e-5);
    let flow = Flow::bulk("cubic");
    let config = gameway_tcp::ReceiverConfig {
        receive_window: gameway_tcp::ReceiveWindow::Fixed(Bytes::new(200_000_000)),
        ..gameway_tcp::ReceiverConfig::default()
    };
    let receiver = gameway_tcp::Receiver::new(config, Instant::ZERO);
    let flow = Flow { receiver, ..flow };
    let mut net = shared(capacity, rtt, Bytes::new(100_000_000), vec![flow]);
    let mut count = 0u64;
    net.path.lose = Some(Box::new(move |segment| {
        count += u64::from(segment.length > 0);
        segment.length > 0 && count.is_multiple_of((1.0 / loss) as u64)
    }));
    net.run_until(seconds(60));
    let before = net.flows[0].receiver.received().as_f64();
    net.run_for(Duration::from_secs(200));
    let delivered = net.flows[0].receiver.received().as_f64() - before;
    let window = delivered / 1448.0 / 200.0 * 0.2;
    let law = libm::pow(0.4 * 3.7 / 1.2, 0.25) * libm::pow(0.2 / loss, 0.75);
    assert!((0.85..1.15).contains(&(window / law)), "{window} of {law}");
}

/// HyStart leaves slow start when the ACKs of a round last half of the RTT: before there is a queue.
#[test]
fn hystart_tames_the_overshoot_of_slow_start() {
    let losses = |algorithm: &dyn Fn(u32) -> Box<dyn CongestionControl>| {
        let flow = Flow::ecn(algorithm(MAXIMUM_SEGMENT_SIZE), EcnMode::Off);
        let mut net = shared(
            Rate::from_mbps(50),
            Duration::from_millis(40),
            Bytes::new(1_000_000),
            vec![flow],
        );
        net.run_until(seconds(3));
        assert!(net.utilization() > 0.8, "{}", net.utilization());
        net.path.dropped(0)
    };
    let cubic = |hystart| move |size| CubicConfig { hystart }.build(size, 1);
    let reno = |size| -> Box<dyn CongestionControl> { Box::new(NewReno::new(size)) };
    let (with, without) = (losses(&cubic(SlowStartExit::On)), losses(&cubic(SlowStartExit::Off)));
    for without in [without, losses(&reno)] {
        assert!(without > 200, "plain slow start loses a good part of the queue: {without}");
        assert!(with <= without / 20, "{with} with HyStart, {without} without");
        let slowed = losses(&cubic(SlowStartExit::Rfc9406));
        assert!(slowed <= without / 2, "{slowed} with HyStart++, {without} without");
    }
}

#[test]
fn two_cubics_share_fairly_and_bbr_holds_its_own() {
    let share = |first: &str, second: &str| {
        let flows = vec![Flow::bulk(first), Flow::bulk(second)];
        let mut net = shared(CAPACITY, RTT, (CAPACITY * RTT) * 2, flows);
        net.run_until(seconds(120));
        let bytes = |index: usize| net.flows[index].receiver.received().as_f64();
        bytes(0) / (bytes(0) + bytes(1))
    };
    let equal = share("cubic", "cubic");
    assert!((0.4..0.6).contains(&equal), "{equal}");
    // Two BDPs of queue: BBR and CUBIC take turns, neither starves (Hock et al. 2017, Cao et al. 2019).
    let mixed = share("bbr", "cubic");
    assert!((0.15..0.85).contains(&mixed), "{mixed}");
}

#[test]
fn rate_limited_flow_keeps_its_rate_and_a_small_window() {
    let application =
        Application { rate_limit: Some(Rate::from_mbps(5)), ..Application::default() };
    let flow = Flow::with("cubic", application);
    let mut net = shared(CAPACITY, RTT, (CAPACITY * RTT) * 4, vec![flow]);
    net.run_until(seconds(60));
    let rate = net.flows[0].receiver.received() / Duration::from_secs(60);
    assert!((4.95..5.1).contains(&rate.as_mbps_f64()), "{rate}");
    // It writes 128 KiB at a time: the window never had reason to exceed twice that.
    let stats = net.flows[0].sender.stats();
    assert!(stats.cwnd <= Bytes::new(2 * 131_072 + 1448), "{}", stats.cwnd);
    assert_eq!(stats.retransmissions, 0);
}

/// One iperf 3 download each with Linux 6.18's own CUBIC and BBR, through 25 Mb/s with a FIFO of
/// 300 kB and a base RTT of 20 ms, gave 23.9 Mb/s at a mean ping of 97 ms, and 23.5 Mb/s at 25 ms.
#[test]
fn throughput_and_rtt_are_those_of_the_kernel() {
    for (algorithm, mbps, ping) in [("cubic", 23.9, 97.0), ("bbr", 23.5, 25.0)] {
        let mut net = shared(CAPACITY, RTT, Bytes::new(300_000), vec![Flow::bulk(algorithm)]);
        net.run_until(seconds(60));
        let goodput = (net.flows[0].receiver.received() / Duration::from_secs(60)).as_mbps_f64();
        let queueing = net.mean_backlog() / CAPACITY.as_bps_f64() * 8e3;
        let rtt = RTT.as_millis_f64() + queueing;
        assert!((goodput / mbps - 1.0).abs() < 0.03, "{algorithm:?}: {goodput} Mb/s");
        assert!((rtt / ping - 1.0).abs() < 0.12, "{algorithm:?}: {rtt} ms");
    }
}
