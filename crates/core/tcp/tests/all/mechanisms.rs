//! Single mechanisms on scripted exchanges: handshake, delayed ACKs, SACK, time-outs, probes, ECN.

use crate::common::{Flow, opened, shared};
use gameway_tcp::{
    Application, EcnMode, Flags, Phase, ReceiveWindow, Receiver, ReceiverConfig, RtoFloor,
    SackBlock, SackBlocks, Segment, Sender, SenderConfig,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};

mod fast_recovery;

const MSS: u64 = 1448;

const fn at(millis: i64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// A receiver past the handshake.
fn receiver(segment_size: u32) -> Receiver {
    opened(ReceiverConfig { segment_size, ..ReceiverConfig::default() })
}

fn data(sequence: u64, length: u32) -> Segment {
    Segment { sequence, length, timestamp_value: at(1), ..Segment::default() }
}

fn blocks(ack: &Segment) -> Vec<(u64, u64)> {
    ack.sack.as_slice().iter().map(|block| (block.start, block.end)).collect()
}

/// RFC 2018 section 4, with its segments of 500 B, left edge 5000 as offset 0.
#[test]
fn sack_examples_of_rfc_2018() {
    let mut first_lost = receiver(500);
    for count in 1..8 {
        first_lost.on_segment(at(count), &data(500 * count as u64, 500));
        let ack = first_lost.poll_transmit(at(count)).expect("an immediate ACK");
        assert_eq!(ack.acknowledgment, 0);
        assert_eq!(blocks(&ack), [(500, 500 * (count as u64 + 1))]);
    }
    // Case 3: of eight segments the 2nd, 4th, 6th and 8th are lost.
    let mut every_second = receiver(500);
    let expected: [&[(u64, u64)]; 4] = [
        &[],
        &[(1000, 1500)],
        &[(2000, 2500), (1000, 1500)],
        &[(3000, 3500), (2000, 2500), (1000, 1500)],
    ];
    for (index, expected) in expected.iter().enumerate() {
        every_second.on_segment(at(1), &data(1000 * index as u64, 500));
        let ack = every_second.poll_transmit(at(1)).expect("an ACK");
        assert_eq!((ack.acknowledgment, blocks(&ack).as_slice()), (500, *expected));
    }
    // The 4th arrives out of order, then the 2nd.
    every_second.on_segment(at(2), &data(1500, 500));
    let ack = every_second.poll_transmit(at(2)).expect("an ACK");
    assert_eq!(blocks(&ack), [(1000, 2500), (3000, 3500)]);
    every_second.on_segment(at(3), &data(500, 500));
    let ack = every_second.poll_transmit(at(3)).expect("an ACK");
    assert_eq!((ack.acknowledgment, blocks(&ack)), (2500, vec![(3000, 3500)]));
}

#[test]
fn acks_are_delayed_after_the_start_for_one_segment_and_at_most_40_ms() {
    let mut receiver = receiver(MSS as u32);
    let mut sequence = 0;
    let mut arrive = |receiver: &mut Receiver, millis: i64| {
        receiver.on_segment(at(millis), &data(sequence, MSS as u32));
        sequence += MSS;
        receiver.poll_transmit(at(millis)).map(|ack| ack.acknowledgment)
    };
    let quick = (1..30).take_while(|millis| arrive(&mut receiver, *millis).is_some()).count();
    assert_eq!(quick, 22);
    assert_eq!(arrive(&mut receiver, 24), Some(24 * MSS));
    assert_eq!(arrive(&mut receiver, 27), None);
    assert_eq!(receiver.next_deadline(), Some(at(67)));
    receiver.on_deadline(at(66));
    assert_eq!(receiver.poll_transmit(at(66)), None);
    receiver.on_deadline(at(67));
    assert_eq!(receiver.poll_transmit(at(67)).map(|ack| ack.acknowledgment), Some(25 * MSS));
    assert_eq!(receiver.next_deadline(), None);
}

#[test]
fn lost_syn_and_syn_ack_are_repeated() {
    let mut receiver = Receiver::new(ReceiverConfig::default(), at(0));
    let mut sender =
        Sender::new(SenderConfig::default(), gameway_tcp::build("cubic", 1448, 1).unwrap());
    assert!(receiver.poll_transmit(at(0)).is_some_and(|syn| syn.flags.syn));
    assert_eq!(receiver.next_deadline(), Some(at(1000)));
    let syn = receiver.poll_transmit(at(1000)).expect("the second SYN");
    assert_eq!(receiver.next_deadline(), Some(at(3000)));
    sender.on_segment(at(1010), &syn);
    assert!(sender.poll_transmit(at(1010)).is_some_and(|s| s.flags.syn && s.flags.ack));
    assert_eq!(sender.next_deadline(), Some(at(2010)));
    sender.on_deadline(at(2010));
    let syn_ack = sender.poll_transmit(at(2010)).expect("the second SYN-ACK");
    receiver.on_segment(at(2020), &syn_ack);
    let ack = receiver.poll_transmit(at(2020)).expect("the third segment");
    assert_eq!((syn_ack.window, syn_ack.timestamp_value), (u16::MAX, at(2010)));
    // RFC 6298 section 5.5: twice as long now.
    assert_eq!(sender.next_deadline(), Some(at(2010 + 2000)));
    let burst = std::iter::from_fn(|| sender.poll_transmit(at(2029))).count();
    assert_eq!(burst, 0, "nobody has acknowledged it");
    sender.on_segment(at(2030), &ack);
    // Karn: the SYN-ACK was sent twice and gives no sample.
    assert_eq!(sender.stats().smoothed_rtt, None);
    let burst = std::iter::from_fn(|| sender.poll_transmit(at(2030))).count();
    assert_eq!(burst, 10, "the initial window of RFC 6928");
}

/// RFC 9293 section 3.10.7: only a SYN opens, a second SYN is answered again, only an ACK completes, and what has neither
/// or both says nothing to a connection.
#[test]
fn a_handshake_takes_the_segments_that_belong_to_it() {
    let config = SenderConfig::default();
    let mut sender = Sender::new(config, gameway_tcp::build("cubic", 1448, 1).unwrap());
    let window = u16::MAX;
    let with = |syn, ack| Segment {
        flags: Flags { syn, ack, ..Flags::default() },
        window,
        ..Segment::default()
    };
    let mut answers = |segment: Segment| {
        sender.on_segment(at(1), &segment);
        let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll_transmit(at(1))).collect();
        let opens = sent.iter().any(|sent| sent.flags.syn && sent.flags.ack);
        (opens, sent.iter().filter(|sent| sent.length > 0).count())
    };
    let [syn, ack, both, neither] =
        [(true, false), (false, true), (true, true), (false, false)].map(|(s, a)| with(s, a));
    let nothing = (false, 0);
    assert_eq!([ack, both, neither].map(&mut answers), [nothing; 3], "nobody has asked yet");
    assert_eq!([syn, syn, neither].map(&mut answers), [(true, 0), (true, 0), nothing]);
    assert_eq!(answers(ack), (false, 10), "the initial window of RFC 6928");
    let progress = |segment: Segment| Segment { acknowledgment: 2 * MSS, ..segment };
    assert_eq!([syn, both, neither].map(progress).map(&mut answers), [nothing; 3]);
    assert!(answers(progress(ack)).1 > 0);
}

#[test]
fn a_connection_tells_where_it_stands_and_its_segments_what_is_on_the_wire() {
    let (sender, receiver, sent) = connected(SenderConfig::default());
    let stats = sender.stats();
    let rtt = Duration::from_millis(20);
    assert_eq!((stats.smoothed_rtt, stats.min_rtt), (Some(rtt), Some(rtt)));
    // Linux's floor of 200 ms under the deviation.
    assert_eq!((stats.rto, stats.pacing_rate), (Duration::from_millis(220), None));
    assert_eq!((stats.in_flight, stats.cwnd), (Bytes::new(10 * MSS), Bytes::new(10 * MSS)));
    assert!(stats.announced >= Bytes::new(10 * MSS), "{}", stats.announced);
    assert_eq!(receiver.received(), Bytes::ZERO);
    for (number, segment) in (0..).zip(&sent) {
        assert_eq!((segment.sequence, segment.length), (number * MSS, MSS as u32));
        assert!(segment.flags.ack && !segment.flags.syn && segment.window == u16::MAX);
        assert_eq!((segment.timestamp_value, segment.timestamp_echo), (at(20), at(10)));
        assert_eq!(segment.ecn, Ecn::NotEct);
    }
    let bbr = gameway_tcp::build("bbr", 1448, 1).unwrap();
    let mut paced = Sender::new(SenderConfig::default(), bbr);
    let mut receiver = Receiver::new(ReceiverConfig::default(), at(3));
    paced.on_segment(at(5), &receiver.poll_transmit(at(3)).expect("SYN"));
    let syn_ack = paced.poll_transmit(at(5)).expect("SYN-ACK");
    assert_eq!((syn_ack.timestamp_value, syn_ack.timestamp_echo), (at(5), at(3)));
    assert!(paced.stats().pacing_rate.is_some());
}

/// RFC 9293 section 3.7.4 (Nagle): a part of a segment waits until nothing is out, or more is written.
#[test]
fn a_part_of_a_segment_waits_for_the_acknowledgment_of_what_is_out() {
    // 2000 bytes in every 2 ms: a segment and a part of one.
    let application = Application {
        rate_limit: Some(Rate::from_mbps(8)),
        block: Bytes::new(2000),
        bytes: Some(Bytes::new(8000)),
        ..Application::default()
    };
    let (mut sender, _, sent) = connected(SenderConfig { application, ..SenderConfig::default() });
    let sizes = |sent: &[Segment]| sent.iter().map(|segment| segment.length).collect::<Vec<_>>();
    assert_eq!(sizes(&sent), [1448]);
    let later = run_deadlines(&mut sender, at(24));
    let later: Vec<Segment> = later.into_iter().map(|(_, segment)| segment).collect();
    // 552 and 2000 more, 1104 and 2000 more: 208 bytes wait.
    assert_eq!(sizes(&later), [1448; 3]);
    let ack = Segment {
        flags: Flags { ack: true, ..Flags::default() },
        acknowledgment: 4 * MSS,
        window: u16::MAX,
        ..Segment::default()
    };
    sender.on_segment(at(25), &ack);
    let rest: Vec<Segment> = std::iter::from_fn(|| sender.poll_transmit(at(25))).collect();
    assert_eq!(sizes(&rest), [208], "nothing is out any more");
}

/// A connected pair over 20 ms; the sender has sent its initial window at `at(20)`.
fn connected(config: SenderConfig) -> (Sender, Receiver, Vec<Segment>) {
    let mut sender =
        Sender::new(config, gameway_tcp::build("cubic", config.segment_size, 1).unwrap());
    let ecn = config.ecn;
    let mut receiver = Receiver::new(ReceiverConfig { ecn, ..Default::default() }, at(0));
    sender.on_segment(at(0), &receiver.poll_transmit(at(0)).expect("SYN"));
    receiver.on_segment(at(10), &sender.poll_transmit(at(0)).expect("SYN-ACK"));
    sender.on_segment(at(20), &receiver.poll_transmit(at(10)).expect("ACK"));
    let sent = std::iter::from_fn(|| sender.poll_transmit(at(20))).collect();
    (sender, receiver, sent)
}

fn run_deadlines(sender: &mut Sender, until: Instant) -> Vec<(Instant, Segment)> {
    let mut sent = Vec::new();
    while let Some(due) = sender.next_deadline().filter(|due| *due <= until) {
        sender.on_deadline(due);
        sent.extend(std::iter::from_fn(|| sender.poll_transmit(due)).map(|s| (due, s)));
    }
    sent
}

#[test]
fn silence_brings_a_tail_probe_and_then_time_outs_that_double() {
    let bytes = Some(Bytes::new(10 * MSS));
    let application = Application { bytes, ..Application::default() };
    let (mut sender, _, sent) = connected(SenderConfig { application, ..Default::default() });
    assert_eq!(sent.len(), 10);
    let later = run_deadlines(&mut sender, at(4000));
    let log: Vec<(i64, u64)> =
        later.iter().map(|(when, s)| (when.as_nanos() / 1_000_000, s.sequence / MSS)).collect();
    // 2 SRTT + 2 ms after the window; the probe is the FIN, the only new thing there is. The
    // time-out is 20 + max(200, 4 * 10) ms from the probe on, then doubles.
    assert_eq!(log, [(62, 10), (282, 0), (722, 0), (1602, 0), (3362, 0)]);
    let stats = sender.stats();
    assert_eq!((stats.timeouts, stats.tail_probes, stats.phase), (4, 1, Phase::Loss));
    assert_eq!((stats.cwnd, stats.ssthresh), (Bytes::new(MSS), Bytes::new(7 * MSS)));
}

#[test]
fn floor_of_rfc_6298_is_a_second() {
    let config = SenderConfig {
        rto_floor: RtoFloor::Total(Duration::from_secs(1)),
        tail_loss_probe: false,
        ..SenderConfig::default()
    };
    let (mut sender, ..) = connected(config);
    let later = run_deadlines(&mut sender, at(4000));
    let times: Vec<i64> = later.iter().map(|(when, _)| when.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [1020, 3020]);
}

#[test]
fn spurious_time_out_is_undone_by_the_echo_of_an_original() {
    let config = SenderConfig { tail_loss_probe: false, ..SenderConfig::default() };
    let (mut sender, mut receiver, sent) = connected(config);
    let again = run_deadlines(&mut sender, at(300));
    assert_eq!((again.len(), sender.stats().cwnd), (1, Bytes::new(MSS)));
    // The originals come through after all.
    for segment in &sent {
        receiver.on_segment(at(400), segment);
    }
    let ack = receiver.poll_transmit(at(400)).expect("ACK");
    sender.on_segment(at(410), &ack);
    let stats = sender.stats();
    assert_eq!((stats.spurious, stats.phase, stats.ssthresh), (1, Phase::Open, Bytes::MAX));
    assert!(stats.cwnd >= Bytes::new(10 * MSS), "{}", stats.cwnd);
}

#[test]
fn closed_window_is_probed_and_reopens() {
    let receive_buffer = Bytes::new(20 * MSS);
    let config = ReceiverConfig {
        receive_window: ReceiveWindow::Fixed(receive_buffer),
        ..ReceiverConfig::default()
    };
    let sender = SenderConfig::default();
    let flow = Flow {
        sender: Sender::new(sender, gameway_tcp::build("cubic", sender.segment_size, 1).unwrap()),
        receiver: Receiver::new(config, Instant::ZERO),
    };
    let rtt = Duration::from_millis(20);
    let mut net = shared(Rate::from_mbps(100), rtt, Bytes::new(1_000_000), vec![flow]);
    net.flows[0].receiver.set_reading(false);
    net.run_until(at(10_000));
    let received = net.flows[0].receiver.received();
    assert!(received <= receive_buffer && received > Bytes::new(18 * MSS), "{received}");
    let probes = net.flows[0].sender.stats().window_probes;
    // Time-outs of about 220 ms that double: 0.22, 0.66, 1.5, 3.3, 6.8 s.
    assert!((4..=7).contains(&probes), "{probes}");
    net.flows[0].receiver.set_reading(true);
    net.pump();
    net.run_until(at(20_000));
    // From then on 20 segments per RTT at most.
    let rate = (net.flows[0].receiver.received() - received) / Duration::from_secs(10);
    let bound = (Bytes::new(20 * MSS) / rtt).as_mbps_f64();
    assert!((0.85 * bound..=bound).contains(&rate.as_mbps_f64()), "{rate} of {bound} Mb/s");
    assert_eq!(net.flows[0].sender.stats().retransmissions, 0);
}

#[test]
fn a_gateway_that_lowers_the_window_is_obeyed() {
    let (mut sender, mut receiver, sent) = connected(SenderConfig::default());
    // 32 MiB of memory need a shift of 10: 13 units are 9 segments and a bit.
    for segment in &sent[..2] {
        receiver.on_segment(at(30), segment);
    }
    let ack = receiver.poll_transmit(at(30)).expect("ACK");
    sender.on_segment(at(40), &Segment { window: 13, ..ack });
    // 2 acknowledged, 8 outstanding, 9 allowed: one, and with it the bit, as Linux.
    let lengths = std::iter::from_fn(|| sender.poll_transmit(at(40)).map(|sent| sent.length));
    assert_eq!(lengths.collect::<Vec<_>>(), [MSS as u32, (13 * 1024 - 9 * MSS) as u32]);
}

/// RFC 7323 section 2.3: each side's windows are shifted by what its own SYN said, at most by 14.
#[test]
fn a_window_counts_in_units_of_its_sender() {
    for shift in [0u8, 1, 7, 14] {
        let buffer = (65_535u64 << shift).min(1 << 29);
        let config = ReceiverConfig {
            receive_window: ReceiveWindow::Fixed(Bytes::new(buffer)),
            ..Default::default()
        };
        let mut receiver = Receiver::new(config, at(0));
        let mut sender =
            Sender::new(SenderConfig::default(), gameway_tcp::build("cubic", 1448, 1).unwrap());
        let syn = receiver.poll_transmit(at(0)).expect("SYN");
        assert_eq!(syn.window, u16::MAX, "not scaled");
        sender.on_segment(at(0), &syn);
        receiver.on_segment(at(10), &sender.poll_transmit(at(0)).expect("SYN-ACK"));
        let ack = receiver.poll_transmit(at(10)).expect("ACK");
        assert_eq!(u64::from(ack.window), buffer >> syn.window_scale);
        assert!(syn.window_scale == shift || buffer < 65_535 << shift);
        sender.on_segment(at(20), &ack);
        let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(at(20))).collect();
        sent[..2].iter().for_each(|segment| receiver.on_segment(at(30), segment));
        let ack = receiver.poll_transmit(at(30)).expect("ACK");
        // Eight are outstanding, eleven and a half are allowed, in whole units still eleven.
        let window = (11 * MSS + 724) >> syn.window_scale;
        sender.on_segment(at(40), &Segment { window: window as u16, ..ack });
        // The third and the rest are half a burst, which waits for the next ACK, but not for long. It is cut at the
        // end of the window, as in Linux.
        let more = [40, 42].map(|ms| {
            let sent = std::iter::from_fn(|| sender.poll_transmit(at(ms)));
            sent.map(|segment| segment.length).collect::<Vec<_>>()
        });
        let cut = (u64::from(window as u16) << syn.window_scale) - 11 * MSS;
        let full = MSS as u32;
        assert_eq!(more, [[full, full], [full, cut as u32]], "{shift}");
    }
}

#[test]
fn lost_retransmission_is_repaired_without_a_time_out() {
    let flow = Flow::bulk("newreno");
    let rtt = Duration::from_millis(20);
    let mut net = shared(Rate::from_mbps(25), rtt, Bytes::new(300_000), vec![flow]);
    let mut copies = 0;
    net.path.lose = Some(Box::new(move |segment| {
        let victim = segment.length > 0 && segment.sequence == 100 * MSS;
        copies += u32::from(victim);
        victim && copies <= 3
    }));
    net.run_until(at(3000));
    let stats = net.flows[0].sender.stats();
    assert_eq!((stats.timeouts, net.path.dropped(0) >= 3), (0, true));
    assert!(net.flows[0].receiver.received() > Bytes::new(7_000_000));
}

#[test]
fn lost_tail_is_repaired_by_the_probe_and_counts_as_congestion() {
    let application = Application { bytes: Some(Bytes::new(5 * MSS)), ..Application::default() };
    let flow = Flow::with("cubic", application);
    let rtt = Duration::from_millis(20);
    let mut net = shared(Rate::from_mbps(25), rtt, Bytes::new(300_000), vec![flow]);
    let mut lost = false;
    net.path.lose = Some(Box::new(move |segment| {
        let hit = segment.flags.fin && !lost;
        lost |= hit;
        hit
    }));
    net.run_until(at(1000));
    let stats = net.flows[0].sender.stats();
    assert!(net.flows[0].sender.is_finished());
    assert_eq!((stats.tail_probes, stats.timeouts, stats.recoveries), (1, 0, 1));
}

#[test]
fn ecn_marks_reduce_once_per_window_and_nothing_is_sent_again() {
    let (mut sender, mut receiver, sent) =
        connected(SenderConfig { ecn: EcnMode::Classic, ..Default::default() });
    assert!(sent.iter().all(|segment| segment.ecn == Ecn::Ect0));
    for (index, segment) in sent.iter().enumerate() {
        let ecn = if index == 1 { Ecn::Ce } else { segment.ecn };
        receiver.on_segment(at(30), &Segment { ecn, ..*segment });
        let ack = receiver.poll_transmit(at(30)).expect("a quick ACK");
        assert_eq!(ack.flags.ece, index >= 1);
        sender.on_segment(at(40), &ack);
    }
    let stats = sender.stats();
    assert_eq!((stats.recoveries, stats.retransmissions), (1, 0));
    let next = sender.poll_transmit(at(40)).expect("new data");
    assert!(next.flags.cwr, "the receiver learns that the window was reduced");
    receiver.on_segment(at(50), &next);
    assert!(receiver.poll_transmit(at(50)).is_some_and(|ack| !ack.flags.ece));
}

#[test]
fn stop_ends_with_a_fin_and_delivers_all_that_was_sent() {
    let flow = Flow::bulk("bbr");
    let rtt = Duration::from_millis(20);
    let mut net = shared(Rate::from_mbps(25), rtt, Bytes::new(60_000), vec![flow]);
    net.path.loss = 0.01;
    net.run_until(at(2000));
    let stopped = net.now;
    net.flows[0].sender.stop(stopped);
    net.pump();
    while !net.flows[0].sender.is_finished() {
        assert!(net.step(at(4000)), "it ends within two seconds");
    }
    assert!(net.flows[0].receiver.is_finished());
    assert_eq!(net.flows[0].receiver.received(), net.flows[0].sender.stats().acknowledged);
    assert!(!net.step(at(60_000)), "and then nothing happens any more");
}

/// RFC 9293 section 3.10.4: the receiver's application goes away; the sender stops at once, and data that was
/// on the way is answered by a reset, in case the first was lost.
#[test]
fn a_reset_ends_the_sender_and_answers_what_still_comes() {
    let mut receiver = receiver(MSS as u32);
    receiver.on_segment(at(1), &data(0, MSS as u32));
    receiver.reset();
    let reset = receiver.poll_transmit(at(1)).expect("a reset");
    assert!(reset.flags.rst && !receiver.is_open() && receiver.poll_transmit(at(1)).is_none());
    receiver.on_segment(at(2), &data(MSS, MSS as u32));
    assert!(receiver.poll_transmit(at(2)).is_some_and(|again| again.flags.rst));
    assert_eq!(receiver.received(), Bytes::new(MSS), "what comes late is not taken");

    let (mut sender, ..) = connected(SenderConfig::default());
    assert!(sender.next_deadline().is_some());
    let kept = Segment { flags: Flags { rst: false, ..reset.flags }, ..reset };
    sender.on_segment(at(40), &kept);
    assert!(!sender.is_finished(), "an ACK without the flag is an ACK");
    sender.on_segment(at(40), &reset);
    assert!(sender.is_finished() && sender.next_deadline().is_none());
    assert!(sender.poll_transmit(at(40)).is_none());
}

/// A server of HTTP: nothing leaves before it is asked for, all of it then, and the connection stays.
#[test]
fn on_demand_the_sender_waits_between_answers() {
    let application = Application { on_demand: true, ..Application::default() };
    let (mut sender, mut receiver, sent) =
        connected(SenderConfig { application, ..SenderConfig::default() });
    assert!(sent.is_empty() && sender.next_deadline().is_none());
    for answer in 1..=2_u64 {
        sender.write(Bytes::new(2_000));
        let segments: Vec<Segment> =
            std::iter::from_fn(|| sender.poll_transmit(at(answer as i64 * 1_000))).collect();
        let sizes: Vec<u32> = segments.iter().map(|segment| segment.length).collect();
        assert_eq!(sizes, [1448, 552], "nothing waits for an ACK");
        for segment in segments {
            receiver.on_segment(at(1), &segment);
            let ack = receiver.poll_transmit(at(1)).expect("a quick ACK");
            sender.on_segment(at(answer as i64 * 1_000 + 20), &ack);
        }
        assert_eq!(receiver.received(), Bytes::new(2_000 * answer));
        assert!(!sender.is_finished() && sender.next_deadline().is_none());
    }
}
