//! Single ACKs, one after the other, to a sender: what it remembers, sends again and tells its congestion control.

use crate::scripted::{RTT, SIZE, Told, ack, ect0, ms, sent, sent_with};
use gameway_quic::{Sender, SenderConfig, ServerContent, ServerDatagram, StreamFrame};
use gameway_tcp::Phase;
use gameway_units::{Bytes, Duration, Instant};

fn frame(datagram: &ServerDatagram) -> StreamFrame {
    match datagram.content {
        ServerContent::Packet { frame, .. } => frame,
        ServerContent::Handshake => panic!("no packet"),
    }
}

/// All that leaves until then, with its time.
fn run(sender: &mut Sender, from: Instant, until: Instant) -> Vec<(Instant, StreamFrame)> {
    let (mut now, mut frames) = (from, Vec::new());
    while now <= until {
        while let Some(datagram) = sender.poll_transmit(now) {
            frames.push((now, frame(&datagram)));
        }
        let Some(due) = sender.next_deadline().filter(|due| *due > now) else { break };
        now = due;
        sender.on_deadline(now);
    }
    frames
}

#[test]
fn an_ack_of_what_was_never_sent_is_ignored() {
    let (mut sender, datagrams) = sent(&Told::default());
    assert_eq!(datagrams.len(), 100);
    sender.on_datagram(ms(90), &ack(&[(0, 101)], ect0(101, 0)));
    assert_eq!(sender.stats().in_flight, Bytes::new(100 * SIZE));
    sender.on_datagram(ms(90), &ack(&[(0, 100)], ect0(100, 0)));
    assert_eq!(sender.stats().in_flight, Bytes::ZERO);
    assert_eq!(sender.next_deadline(), None, "no probe where nothing is in flight");
}

/// The first three are judged lost and arrive before they were sent again.
#[test]
fn what_was_late_and_not_lost_is_not_sent_again() {
    let (mut sender, datagrams) = sent(&Told::default());
    let all_new = frame(&datagrams[99].1).end();
    sender.on_datagram(ms(90), &ack(&[(5, 8)], ect0(3, 0)));
    assert_eq!((sender.stats().lost_packets, sender.stats().phase), (5, Phase::Recovery));
    sender.on_datagram(ms(91), &ack(&[(5, 8), (0, 3)], ect0(6, 0)));
    assert_eq!(sender.stats().spurious, 3);
    let offsets: Vec<u64> =
        run(&mut sender, ms(91), ms(92)).iter().map(|(_, frame)| frame.offset).collect();
    // The fourth and the fifth are still missing.
    let missing = [3, 4].map(|index: usize| frame(&datagrams[index].1).offset);
    assert_eq!((&offsets[..2], offsets[2]), (&missing[..], all_new));
    assert_eq!(sender.stats().retransmissions, 2);
    sender.on_datagram(ms(95), &ack(&[(0, 100)], ect0(100, 0)));
    assert_eq!(sender.stats().phase, Phase::Recovery, "all of it left before the recovery");
    sender.on_datagram(ms(132), &ack(&[(0, 101)], ect0(101, 0)));
    assert_eq!(sender.stats().phase, Phase::Open);
}

/// A lost packet is known for two spans of persistent congestion, which are 3 * (RTT + 4 * RTT / 2 + 25 ms) at the first
/// RTT and fall to 3 * (RTT + 25 ms): 390 to 870 ms.
#[test]
fn a_lost_packet_that_comes_late_is_known_for_long() {
    let spurious = |late: i64| {
        let (mut sender, _) = sent(&Told::default());
        sender.on_datagram(ms(80), &ack(&[(1, 10)], None));
        for now in (80..80 + late).step_by(40) {
            run(&mut sender, ms(now), ms(now));
            let next = sender.stats().packets_sent;
            sender.on_datagram(ms(now + 40), &ack(&[(1, next)], None));
        }
        let next = sender.stats().packets_sent;
        sender.on_datagram(ms(120 + late), &ack(&[(0, next)], None));
        assert_eq!(sender.stats().lost_packets, 1);
        sender.stats().spurious
    };
    assert_eq!((spurious(240), spurious(1_000)), (1, 0));
}

#[test]
fn the_last_frame_ends_the_stream() {
    let config = SenderConfig { bytes: Some(Bytes::new(3_000)), ..SenderConfig::default() };
    let (mut sender, datagrams) = sent_with(config, &Told::default());
    let ends: Vec<bool> = datagrams[..3].iter().map(|one| frame(&one.1).fin).collect();
    assert_eq!(ends, [false, false, true]);
    assert_eq!(frame(&datagrams[2].1).end(), 3_000);
    sender.on_datagram(ms(80), &ack(&[(0, 2)], ect0(2, 0)));
    assert!(!sender.is_finished());
    sender.on_datagram(ms(80), &ack(&[(0, 3)], ect0(3, 0)));
    assert!(sender.is_finished());
}

/// What it has sent is all there is; its end follows in a frame without bytes.
#[test]
fn a_sender_that_stops_sends_its_end() {
    let (mut sender, datagrams) = sent(&Told::default());
    sender.stop();
    sender.on_datagram(ms(90), &ack(&[(0, 100)], ect0(100, 0)));
    let left = run(&mut sender, ms(90), ms(91));
    let end = frame(&datagrams[99].1).end();
    let frames: Vec<_> = left.iter().map(|(_, frame)| *frame).collect();
    assert_eq!(frames, [StreamFrame { offset: end, length: 0, fin: true }]);
    sender.on_datagram(ms(130), &ack(&[(0, 101)], ect0(101, 0)));
    assert!(sender.is_finished());
}

/// RFC 9002 section 7.2.
#[test]
fn two_datagrams_may_be_in_flight_whatever_the_window() {
    let (sender, datagrams) = sent(&Told { window: Some(0), ..Told::default() });
    assert_eq!(datagrams.len(), 2);
    assert_eq!(sender.stats().cwnd, Bytes::new(2 * SIZE));
}

#[test]
fn it_tells_what_its_congestion_control_says() {
    let told = Told { ssthresh: Bytes::new(77), ..Told::default() };
    let (sender, _) = sent(&told);
    let stats = sender.stats();
    assert_eq!(stats.ssthresh, Bytes::new(77));
    // Section 7.7: 1.25 windows a round trip of 40 ms.
    let expected = 1.25 * 8.0 * 100.0 * SIZE as f64 / RTT.as_secs_f64();
    let rate = stats.pacing_rate.expect("there is an RTT").as_bps_f64();
    assert!((rate / expected - 1.0).abs() < 1e-6, "{rate} {expected}");
}

/// Section 6.2.4: two probes, of the oldest that is missing and of the one after it.
#[test]
fn probes_carry_the_oldest_two() {
    let config = SenderConfig { bytes: Some(Bytes::new(20_000)), ..SenderConfig::default() };
    let (mut sender, datagrams) = sent_with(config, &Told::default());
    let sent: Vec<StreamFrame> = datagrams.iter().map(|one| frame(&one.1)).collect();
    let due = sender.next_deadline().expect("a probe");
    sender.on_deadline(due);
    let probes: Vec<StreamFrame> =
        std::iter::from_fn(|| sender.poll_transmit(due)).map(|one| frame(&one)).collect();
    assert_eq!(probes, sent[..2]);
}

/// Nothing arrives for 4 s, then one of the probes that left last: all before it is lost, over more than three probe
/// time-outs.
#[test]
fn persistent_congestion_tells_what_was_in_flight_before_it() {
    let told = Told::default();
    let (mut sender, _) = sent(&told);
    let last = run(&mut sender, ms(75), ms(4_000)).last().expect("probes").0;
    let in_flight = sender.stats().in_flight;
    let newest = sender.stats().packets_sent - 2;
    sender.on_datagram(last + RTT, &ack(&[(newest, newest + 1)], ect0(1, 0)));
    assert_eq!((sender.stats().persistent_congestions, sender.stats().phase), (1, Phase::Loss));
    let timeouts = told.timeouts.lock().unwrap();
    let [timeout] = timeouts.as_slice() else { panic!("{timeouts:?}") };
    let arrived = in_flight - timeout.prior_in_flight;
    assert!(Bytes::ZERO < arrived && arrived <= Bytes::new(SIZE), "{arrived}");
    assert!(timeout.newly_lost > Bytes::new(100 * SIZE), "{timeout:?}");
}

/// In slow start a window counts as used if more than half of it was; else only if it was full. Ten datagrams leave at
/// once, so that nothing but the application ends them.
#[test]
fn a_window_is_used_by_half_in_slow_start() {
    let limited = |window: u64, ssthresh: u64| {
        let ssthresh = Bytes::new(ssthresh * SIZE);
        let told = Told { window: Some(window), ssthresh, ..Told::default() };
        let bytes = Some(Bytes::new(10 * 1_400));
        let config = SenderConfig { bytes, ..SenderConfig::default() };
        let (mut sender, _) = sent_with(config, &told);
        sender.on_datagram(ms(90), &ack(&[(0, 2)], ect0(2, 0)));
        let acks = told.acks.lock().unwrap();
        acks.last().expect("an ACK").cwnd_limited
    };
    assert!(limited(18, 19) && !limited(22, 23), "slow start");
    assert!(!limited(18, 18) && !limited(18, 17), "at the threshold it has ended");
}

/// What is in flight is bounded whatever the window. What leaves from then on tells no more of the path than what an
/// application limits.
#[test]
fn no_more_than_32_mib_are_in_flight() {
    let told = Told { window: Some(1 << 20), ..Told::default() };
    let config = SenderConfig { max_datagram_size: 2_048, ecn: false, ..SenderConfig::default() };
    let (mut sender, _) = sent_with(config, &told);
    run(&mut sender, ms(75), ms(80));
    let count = (32 << 20) / 2_048;
    assert_eq!(sender.stats().packets_sent, count);
    sender.on_datagram(ms(90), &ack(&[(0, 2)], None));
    assert_eq!(run(&mut sender, ms(90), ms(95)).len(), 2);
    sender.on_datagram(ms(130), &ack(&[(count + 1, count + 2), (0, 2)], None));
    let acks = told.acks.lock().unwrap();
    let limited: Vec<_> = acks.iter().map(|one| one.rate.map(|rate| rate.app_limited)).collect();
    assert_eq!(limited, [Some(false), Some(true)]);
}

/// A second of silence is not part of the time in which the next packets were delivered.
#[test]
fn a_pause_does_not_lower_the_delivery_rate() {
    let told = Told::default();
    let (mut sender, _) = sent(&told);
    sender.on_datagram(ms(90), &ack(&[(0, 100)], ect0(100, 0)));
    let frames = run(&mut sender, ms(1_090), ms(1_100));
    assert!(frames.len() >= 10, "{}", frames.len());
    sender.on_datagram(ms(1_131), &ack(&[(0, 101)], ect0(101, 0)));
    let acks = told.acks.lock().unwrap();
    let rate = acks.last().and_then(|one| one.rate).expect("a sample");
    assert!(rate.interval < Duration::from_millis(60), "{rate:?}");
}
