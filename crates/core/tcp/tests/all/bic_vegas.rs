//! BIC and Vegas over a shared bottleneck against fluid models and what is known of them.

use crate::common::{Flow, Meter, Network, shared};
use gameway_tcp::{Phase, Receiver, ReceiverConfig};
use gameway_units::{Bytes, Duration, Rate};

const RTT: Duration = Duration::from_millis(20);
const CAPACITY: Rate = Rate::from_mbps(25);
const MSS: f64 = 1448.0;
const WIRE: f64 = 1500.0;

fn network(capacity: Rate, rtt: Duration, queue_bdps: f64, flows: &[&str]) -> Network {
    let queue = Bytes::from_f64((capacity * rtt).as_f64() * queue_bdps);
    shared(capacity, rtt, queue, flows.iter().copied().map(Flow::bulk).collect())
}

fn seconds(count: i64) -> Duration {
    Duration::from_secs(count)
}

/// A flow that begins now.
fn join(net: &mut Network, algorithm: &str) {
    let mut flow = Flow::bulk(algorithm);
    flow.receiver = Receiver::new(ReceiverConfig::default(), net.now);
    net.flows.push(flow);
    net.pump();
}

/// What a stretch of time showed.
struct Measured {
    /// Of what was delivered, by flow.
    shares: Vec<f64>,
    /// Mean packets in queue and transmission.
    backlog: f64,
    utilization: f64,
}

fn measure(net: &mut Network, span: Duration) -> Measured {
    let received = |net: &Network| -> Vec<f64> {
        net.flows.iter().map(|flow| flow.receiver.received().as_f64()).collect()
    };
    net.restart_measurement();
    let before = received(net);
    net.run_for(span);
    let gained: Vec<f64> = received(net).iter().zip(before).map(|(now, then)| now - then).collect();
    let total: f64 = gained.iter().sum();
    Measured {
        shares: gained.iter().map(|bytes| bytes / total).collect(),
        backlog: net.mean_backlog() / WIRE,
        utilization: net.utilization(),
    }
}

fn windows(net: &Network) -> Vec<f64> {
    net.flows.iter().map(|flow| flow.sender.stats().cwnd.as_f64() / MSS).collect()
}

/// BIC's saw-tooth as a fluid, round by round, in packets: mean queue, and losses per second.
fn bic_fluid(bdp: f64, limit: f64) -> (f64, f64) {
    let increment = |below: f64| match below {
        8.0.. => (below / 4.0).min(16.0),
        -4.0..8.0 => 0.2,
        _ => (-below / 3.0).min(16.0),
    };
    let (mut window, mut maximum) = (limit, 0.0f64);
    let (mut queue_time, mut rounds_time, mut losses) = (0.0, 0.0, 0.0);
    let mut lost = false;
    for _ in 0..100_000 {
        let seconds = window.clamp(bdp, limit) / bdp * RTT.as_secs_f64();
        queue_time += (window.clamp(bdp, limit) - bdp) * seconds;
        rounds_time += seconds;
        if lost {
            // Noticed a round after the overflow, and repaired within another.
            maximum = if window < maximum { 0.9 * window } else { window };
            window *= 0.8;
            losses += 1.0;
            let repair = window.clamp(bdp, limit) / bdp * RTT.as_secs_f64();
            queue_time += (window.clamp(bdp, limit) - bdp) * repair;
            rounds_time += repair;
        }
        lost = !lost && window > limit;
        window += increment(maximum - window);
    }
    (queue_time / rounds_time, losses / rounds_time)
}

#[test]
fn bic_saw_tooth_is_that_of_the_fluid_model() {
    for queue_bdps in [0.5, 1.0, 2.0, 4.0] {
        let mut net = network(CAPACITY, RTT, queue_bdps, &["bic"]);
        net.run_for(seconds(30));
        let recoveries = |net: &Network| net.flows[0].sender.stats().recoveries;
        let before = recoveries(&net);
        let measured = measure(&mut net, seconds(120));
        let losses = (recoveries(&net) - before) as f64 / 120.0;
        let bdp = net.bdp().as_f64() / WIRE;
        let room = (net.path.queue.limit.get() / 1500) as f64;
        let (backlog, per_second) = bic_fluid(bdp, bdp + room);
        // A delayed acknowledgment keeps a packet out of the queue for half of the time.
        let ratio = (measured.backlog + 0.5) / backlog;
        assert!((0.94..1.03).contains(&ratio), "{queue_bdps} BDP: {ratio} of {backlog}");
        let ratio = losses / per_second;
        assert!((0.85..1.05).contains(&ratio), "{queue_bdps} BDP: {ratio} of {per_second}/s");
        assert!(measured.utilization > 0.999, "{}", measured.utilization);
        assert_eq!(net.flows[0].sender.stats().timeouts, 0);
    }
}

#[test]
fn bic_keeps_four_fifths_of_the_window_at_each_loss() {
    let mut net = network(CAPACITY, RTT, 2.0, &["bic"]);
    net.run_for(seconds(30));
    let (mut highest, mut ratios, mut recovering) = (0.0f64, Vec::new(), false);
    for _ in 0..60_000 {
        net.run_for(Duration::from_millis(1));
        let stats = net.flows[0].sender.stats();
        let window = stats.cwnd.as_f64() / MSS;
        if stats.phase == Phase::Recovery && !recovering {
            ratios.push(window / highest);
            highest = 0.0;
        }
        recovering = stats.phase == Phase::Recovery;
        highest = highest.max(window);
    }
    assert!(ratios.len() > 20, "{ratios:?}");
    // 819/1024 of whole segments, cut to whole segments.
    assert!(ratios[1..].iter().all(|ratio| (0.79..=0.8).contains(ratio)), "{ratios:?}");
}

/// Two equal flows share evenly; against CUBIC on short paths neither has twice what the other has.
#[test]
fn bic_shares_with_bic_and_cubic() {
    for (other, queue_bdps) in [("bic", 1.0), ("bic", 2.0), ("cubic", 1.0), ("cubic", 2.0)] {
        let mut net = network(CAPACITY, RTT, queue_bdps, &[other, "bic"]);
        net.run_for(seconds(20));
        let share = measure(&mut net, seconds(200)).shares[1];
        let min = if other == "bic" { 0.4 } else { 1.0 / 3.0 };
        let shares = min..1.0 - min;
        assert!(shares.contains(&share), "{share} beside {other:?}, {queue_bdps} BDP");
    }
}

/// Packets that a flow with this window and smallest RTT believes to have in the queue.
fn believed(window: f64, base: f64, rtt: f64) -> f64 {
    window * (rtt - base) / base
}

/// RTT of a full segment through an empty queue, in seconds.
fn empty_rtt(net: &Network) -> f64 {
    (net.path.one_way * 2).as_secs_f64() + WIRE / net.capacity().as_bps_f64() * 8.0
}

/// Segments that leave at once: of 1/1024 s at 1.2 times the capacity, at least two.
fn burst(net: &Network) -> f64 {
    (1.2 * net.capacity().as_bps_f64() / 8.0 / 1024.0 / WIRE).floor().max(2.0)
}

/// The smallest RTT of a round, in seconds, from the mean of queue and transmission: segments leave in bursts, the first
/// of which finds half of the others less.
fn loaded_rtt(net: &Network, backlog: f64) -> f64 {
    let found = backlog - (burst(net) - 1.0) / 2.0;
    (net.path.one_way * 2).as_secs_f64() + found * WIRE / net.capacity().as_bps_f64() * 8.0
}

/// Alone: the window rests where it believes 2 to 5 packets in the queue, and nothing is lost.
#[test]
fn vegas_alone_keeps_alpha_to_beta_packets_and_loses_none() {
    for (mbps, millis) in [(5, 10), (5, 100), (25, 10), (25, 20), (25, 50), (100, 20)] {
        let (capacity, rtt) = (Rate::from_mbps(mbps), Duration::from_millis(millis));
        let mut net = network(capacity, rtt, 4.0, &["vegas"]);
        net.run_for(seconds(30));
        let measured = measure(&mut net, seconds(30));
        let (base, loaded) = (empty_rtt(&net), loaded_rtt(&net, measured.backlog));
        let kept = believed(windows(&net)[0], base, loaded);
        assert!((1.9..5.1).contains(&kept), "{mbps} Mb/s, {millis} ms: {kept}");
        let more = burst(&net) / 2.0 - 1.0;
        assert!((2.0 + more..6.0 + more).contains(&measured.backlog), "{}", measured.backlog);
        assert!(measured.utilization > 0.999, "{}", measured.utilization);
        assert_eq!((net.path.dropped(0), net.flows[0].sender.stats().timeouts), (0, 0));
    }
}

/// A round's smallest RTT is that of what left at the start of the round before, so slow start learns
/// of a queue when the window is four times what it was then: it ends at two to four BDPs, as deep a
/// queue as there is room for; then one segment less per RTT.
#[test]
fn vegas_leaves_slow_start_late_and_comes_down_slowly() {
    for (mbps, millis) in [(25, 20), (25, 100), (100, 50), (50, 40)] {
        let (capacity, rtt) = (Rate::from_mbps(mbps), Duration::from_millis(millis));
        let mut net = network(capacity, rtt, 10.0, &["vegas"]);
        let bdp = net.bdp().as_f64() / WIRE;
        while net.flows[0].sender.stats().ssthresh == Bytes::MAX {
            net.run_for(Duration::from_millis(1));
            assert!(net.now.as_nanos() < 3_000_000_000, "slow start ends");
        }
        let top = windows(&net)[0];
        assert!((2.0..4.1).contains(&(top / bdp)), "{mbps} Mb/s, {millis} ms: {}", top / bdp);
        // The RTT is window / capacity, so a segment takes that long to go: w' = -C / w.
        let span = 4.0;
        net.run_for(Duration::from_secs(4));
        let per_second = capacity.as_bps_f64() / 8.0 / WIRE;
        let law = (top * top - 2.0 * per_second * span).max(0.0).sqrt().max(bdp);
        let now = windows(&net)[0];
        assert!((now / law - 1.0).abs() < 0.15, "{mbps} Mb/s, {millis} ms: {now} of {law}");
    }
    // With a queue of one BDP it overflows like Reno.
    let mut net = network(CAPACITY, RTT, 1.0, &["vegas"]);
    net.run_for(seconds(2));
    assert!(net.path.dropped(0) > 0);
}

/// Flows that saw the empty path: each believes 2 to 5, hence 2 to 5 of 7 is all that is promised.
#[test]
fn vegas_flows_with_a_true_base_rtt_each_keep_alpha_to_beta() {
    for (millis, count) in [(20, 2), (50, 2), (50, 4)] {
        let rtt = Duration::from_millis(millis);
        let mut net = network(CAPACITY, rtt, 8.0, &["vegas"]);
        for _ in 1..count {
            // The first window of the one before has left the queue.
            net.run_for(Duration::from_millis(10));
            join(&mut net, "vegas");
        }
        net.run_for(seconds(60));
        let measured = measure(&mut net, seconds(60));
        let (base, loaded) = (empty_rtt(&net), loaded_rtt(&net, measured.backlog));
        for window in windows(&net) {
            let kept = believed(window, base, loaded);
            assert!((1.8..5.2).contains(&kept), "{kept} of {count} at {millis} ms");
        }
        let bounds = f64::from(count) * 2.0 * base / loaded..f64::from(count) * 5.0;
        assert!(bounds.contains(&measured.backlog), "{} in {bounds:?}", measured.backlog);
        let min = measured.shares.iter().copied().fold(1.0, f64::min);
        let max = measured.shares.iter().copied().fold(0.0, f64::max);
        assert!((1.0..2.6).contains(&(max / min)), "{:?}", measured.shares);
    }
}

/// Mo et al. 1999: a flow that joins takes the standing queue for a part of the path, keeps as much
/// again on top of it, and gets more than those before it.
#[test]
fn vegas_newcomers_have_a_poisoned_base_rtt() {
    let mut net = network(CAPACITY, RTT, 4.0, &["vegas"]);
    let mut bases = vec![empty_rtt(&net)];
    for _ in 1..4 {
        net.run_for(seconds(20));
        let standing = measure(&mut net, seconds(1)).backlog;
        bases.push(loaded_rtt(&net, standing + 1.0));
        join(&mut net, "vegas");
    }
    net.run_for(seconds(30));
    let measured = measure(&mut net, seconds(60));
    // Four with a true base would keep 5 each at most.
    assert!((21.0..28.0).contains(&measured.backlog), "{}", measured.backlog);
    let loaded = loaded_rtt(&net, measured.backlog);
    for (window, base) in windows(&net).into_iter().zip(bases) {
        let kept = believed(window, base, loaded);
        assert!((1.9..5.1).contains(&kept), "{kept} above {base} s");
    }
    assert!(measured.shares.is_sorted(), "{:?}", measured.shares);
    assert!(measured.shares[3] > 3.0 * measured.shares[0], "{:?}", measured.shares);
}

/// Mo et al. 1999: who fills the queue gets the rate, the more so the deeper the queue is.
#[test]
fn vegas_yields_to_those_who_fill_the_queue() {
    for rival in ["cubic", "newreno", "bic"] {
        let mut shares = Vec::new();
        for queue_bdps in [0.5, 1.0, 2.0, 4.0] {
            let mut net = network(CAPACITY, RTT, queue_bdps, &[rival, "vegas"]);
            net.run_for(seconds(20));
            let measured = measure(&mut net, seconds(100));
            // Never less than its two segments of all that is out.
            let floor = 2.0 / (net.bdp().as_f64() / WIRE * (1.0 + queue_bdps));
            assert!(measured.shares[1] > 0.9 * floor, "{:?} {floor}", measured.shares);
            shares.push(measured.shares[1]);
        }
        assert!(shares.is_sorted_by(|shallow, deep| shallow > deep), "{rival:?}: {shares:?}");
        assert!(shares[0] < 1.0 / 3.0 && shares[3] < 0.04, "{rival:?}: {shares:?}");
    }
}
