//! What each mechanism of RFC 9000 and RFC 9002 does, seen from outside.

use crate::common::{CAPACITY, Flow, Network, RTT, behind, seconds};
use gameway_quic::{AckPolicy, SenderConfig, ServerContent};
use gameway_units::{Bytes, Duration, Instant};

const fn ms(millis: i64) -> Duration {
    Duration::from_millis(millis)
}

fn with_bytes(bytes: u64) -> Flow {
    let config = SenderConfig { bytes: Some(Bytes::new(bytes)), ..SenderConfig::default() };
    Flow::new("cubic", config, AckPolicy::default())
}

/// Runs to the end of the download; when that is.
fn finish(net: &mut Network) -> Instant {
    while !net.sender.is_finished() {
        assert!(net.step(seconds(100)), "{:?}", net.sender.stats());
    }
    net.now
}

/// The number of a packet with data.
fn number(content: ServerContent) -> Option<u64> {
    match content {
        ServerContent::Packet { number, .. } => Some(number),
        ServerContent::Handshake => None,
    }
}

/// Two round trips, 10 000 bytes at 20 Mb/s, and the way of the last ACK.
#[test]
fn a_short_download_takes_two_round_trips() {
    let end = finish(&mut behind(with_bytes(10_000), 2.0)) - Instant::ZERO;
    assert!((RTT * 5 / 2 + ms(4)..RTT * 5 / 2 + ms(6)).contains(&end), "{end}");
}

/// An Initial or its answer that is lost comes again after 999 ms.
#[test]
fn a_lost_handshake_is_repeated_by_the_initial_time_out() {
    let mut net = behind(with_bytes(10_000), 2.0);
    let mut left = 1;
    net.path.lose = Some(Box::new(move |_, datagram| {
        let lost = left > 0 && datagram.content == ServerContent::Handshake;
        left -= i32::from(lost);
        lost
    }));
    let end = finish(&mut net) - Instant::ZERO;
    assert!((ms(999)..ms(999 + 20 + 3 * 40)).contains(&end), "{end}");
}

/// The fifth packet of ten: three later ones tell, so that it is there one round trip later, without a time-out. It
/// comes alone, and its ACK after 25 ms.
#[test]
fn a_loss_is_found_by_three_later_packets() {
    let mut net = behind(with_bytes(14_000), 2.0);
    net.path.lose = Some(Box::new(|_, datagram| number(datagram.content) == Some(4)));
    let end = finish(&mut net) - Instant::ZERO;
    let stats = net.sender.stats();
    assert_eq!((stats.lost_packets, stats.retransmissions), (1, 1));
    assert_eq!((stats.probe_timeouts, stats.recoveries, stats.spurious), (0, 1, 0));
    let first = RTT * 5 / 2 + ms(4);
    assert!((first + RTT + ms(25)..first + RTT + ms(28)).contains(&end), "{end}");
}

/// The last but one of ten: one later packet is not enough, so that 9/8 of the round trip must pass.
#[test]
fn a_loss_near_the_end_is_found_by_time() {
    let mut net = behind(with_bytes(14_000), 2.0);
    net.path.lose = Some(Box::new(|_, datagram| number(datagram.content) == Some(8)));
    let end = finish(&mut net) - Instant::ZERO;
    let stats = net.sender.stats();
    assert_eq!((stats.lost_packets, stats.probe_timeouts), (1, 0));
    // It left at 60 ms, is lost 9/8 of 46 ms later, there after 20 ms, and acknowledged 25 and 20 ms later.
    assert!((ms(60 + 51 + 65)..ms(60 + 53 + 67)).contains(&end), "{end}");
}

/// The tail: nothing later tells, and a probe repairs it without a reduction.
#[test]
fn a_lost_tail_is_repaired_by_a_probe() {
    let mut net = behind(with_bytes(14_000), 2.0);
    net.path.lose = Some(Box::new(|_, datagram| number(datagram.content) == Some(9)));
    let end = finish(&mut net) - Instant::ZERO;
    let stats = net.sender.stats();
    assert_eq!(stats.probe_timeouts, 1);
    assert!((1..=2).contains(&stats.retransmissions));
    // srtt + 4 deviations + 25 ms after it left: 145 ms after the handshake, less with each ACK; then there and back.
    assert!((ms(60 + 80 + 40)..ms(60 + 145 + 42)).contains(&end), "{end}");
}

/// Time-outs double: over an outage of 10 s a handful of probes leave.
#[test]
fn probes_back_off() {
    let mut net = behind(Flow::bulk("cubic"), 2.0);
    net.path.lose = Some(Box::new(|now, _| (seconds(2)..seconds(12)).contains(&now)));
    net.run_until(seconds(12));
    let stats = net.sender.stats();
    // 0.1 s, 0.2 s, ... 6.4 s.
    assert!((5..=7).contains(&stats.probe_timeouts), "{stats:?}");
    net.run_until(seconds(30));
    let after = net.sender.stats();
    assert_eq!(after.persistent_congestions, 1, "all of 10 s were lost");
    let share = net.receiver.received().as_f64() * 8.0 / 20.0 / CAPACITY.as_bps_f64();
    // A probe of 12.8 s or so finds the path again; the window then grows from two datagrams.
    assert!((0.5..0.8).contains(&share), "{share}");
}

/// A few lost round trips are no persistent congestion: it spans three probe time-outs.
#[test]
fn a_short_outage_is_no_persistent_congestion() {
    let mut net = behind(Flow::bulk("cubic"), 1.0);
    net.path.lose = Some(Box::new(|now, _| (seconds(2)..seconds(2) + ms(60)).contains(&now)));
    net.run_until(seconds(6));
    let stats = net.sender.stats();
    assert!(stats.lost_packets > 60, "{stats:?}");
    assert_eq!(stats.persistent_congestions, 0);
}

/// One ACK for two packets; with another frequency one for ten, and at the latest after the delay.
#[test]
fn acks_are_as_frequent_as_is_agreed() {
    let per_ack = |acks: AckPolicy| {
        let mut net = behind(Flow::new("bbr", SenderConfig::default(), acks), 4.0);
        net.run_until(seconds(10));
        let stats = net.sender.stats();
        assert!(net.path.queue.utilization(net.now) > 0.9, "{stats:?}");
        stats.packets_sent as f64 / net.returned as f64
    };
    let (two, ten) = (AckPolicy::default(), AckPolicy { packets: 10, ..AckPolicy::default() });
    let found = [per_ack(two), per_ack(ten)];
    assert!((1.7..2.02).contains(&found[0]) && (8.0..10.1).contains(&found[1]), "{found:?}");
    // 1480 B at 20 Mb/s are 0.59 ms: 5 ms are eight or nine.
    let early = per_ack(AckPolicy { packets: 1_000, max_delay: ms(5) });
    assert!((7.0..9.5).contains(&early), "{early}");
}

/// Bursts of ten at 1.25 windows per round trip: an initial window leaves at once, what comes then does not.
#[test]
fn a_window_is_paced() {
    let mut net = behind(Flow::bulk("cubic"), 4.0);
    let (mut together, mut max, mut last) = (0, 0, Instant::ZERO);
    let (report, found) = std::sync::mpsc::channel();
    net.path.lose = Some(Box::new(move |now, datagram| {
        if number(datagram.content).is_some_and(|number| number > 200) {
            together = if now == last { together + 1 } else { 1 };
            max = max.max(together);
            let _ = report.send(max);
        }
        last = now;
        false
    }));
    net.run_until(seconds(5));
    drop(net);
    let max = found.iter().max().expect("packets left");
    assert!((2..=10).contains(&max), "{max}");
}

/// Marks reduce as losses do, once in a round trip, and keep the queue from overflowing.
#[test]
fn marks_reduce_and_nothing_is_lost() {
    let limit = CAPACITY * (RTT / 2);
    let run = |mark_above, ecn| {
        let config = SenderConfig { ecn, ..SenderConfig::default() };
        let mut net = behind(Flow::new("newreno", config, AckPolicy::default()), 2.0);
        net.path.mark_above = mark_above;
        net.run_until(seconds(20));
        (net.sender.stats(), net.path.dropped, net.path.queue.utilization(net.now))
    };
    // Slow start alone goes beyond; later marks come a round trip before the queue is full.
    let (marked, dropped, used) = run(Some(limit), true);
    assert!(marked.ecn && marked.marked_packets > 10, "{marked:?}");
    // From 51 to 103 packets, one in each round trip of 40 to 60 ms: 2.6 s.
    assert!((6..=12).contains(&marked.recoveries), "{marked:?}");
    assert!(used > 0.9, "{used}");
    assert!(marked.recoveries * 3 < marked.marked_packets, "once in a round: {marked:?}");
    let (plain, lost, _) = run(Some(limit), false);
    assert_eq!((plain.marked_packets, plain.ecn), (0, false));
    assert!(dropped < lost, "{dropped} with marks, {lost} without");
}

/// A window of two datagrams is the least: also for a congestion control that would go down to one.
#[test]
fn the_window_never_falls_below_two_datagrams() {
    let mut net = behind(Flow::bulk("newreno"), 2.0);
    net.path.lose = Some(Box::new(|now, _| (seconds(2)..seconds(4)).contains(&now)));
    net.run_until(seconds(4));
    while net.sender.stats().persistent_congestions == 0 {
        assert!(net.step(seconds(8)), "{:?}", net.sender.stats());
    }
    let min = Bytes::new(2 * 1452);
    let stats = net.sender.stats();
    assert!((min..min + min).contains(&stats.cwnd), "{stats:?}");
}
