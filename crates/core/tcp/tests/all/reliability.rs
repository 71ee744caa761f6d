//! Whatever the path does, the stream arrives once, in order, and the exchange ends; whatever a peer
//! sends, nothing panics.

use crate::common::Flow;
use gameway_tcp::{
    AccurateEcnOption, Application, CongestionControls, EcnMode, Flags, ReceiveWindow, Receiver,
    ReceiverConfig, SackBlock, SackBlocks, Segment, Sender, SenderConfig,
};
use gameway_testbed::{Ends, Fates, Impairment, Testbed};
use gameway_units::{Bytes, Duration, Ecn, Instant};
use proptest::prelude::*;

/// A flow, and what must hold at every step.
struct Checked {
    flow: Flow,
    /// The end of what was sent.
    sent: u64,
    /// The end of what the receiver said that it takes.
    edge: u64,
    scale: u8,
}

impl Ends for Checked {
    type Down = Segment;
    type Up = Segment;

    fn on_down(&mut self, now: Instant, segment: Segment) {
        let received = self.flow.receiver.received();
        self.flow.on_down(now, segment);
        assert!(self.flow.receiver.received() >= received, "the stream never runs backwards");
    }
    fn on_up(&mut self, now: Instant, segment: Segment) {
        self.flow.on_up(now, segment);
    }
    fn next_deadline(&self) -> Option<Instant> {
        self.flow.next_deadline()
    }
    fn on_deadline(&mut self, now: Instant) {
        self.flow.on_deadline(now);
    }
    fn poll_down(&mut self, now: Instant) -> Option<Segment> {
        let probes = self.flow.sender.stats().tail_probes;
        let segment = self.flow.poll_down(now)?;
        let stats = self.flow.sender.stats();
        if segment.length > 0 && stats.tail_probes == probes {
            assert!(stats.in_flight <= stats.window, "{} > {}", stats.in_flight, stats.window);
        }
        if segment.length > 0 {
            assert!(segment.end() <= self.edge, "beyond the receive window");
            assert!(segment.sequence <= self.sent, "a gap in what was sent");
        }
        self.sent = self.sent.max(segment.end());
        Some(segment)
    }
    fn poll_up(&mut self, now: Instant) -> Option<Segment> {
        let segment = self.flow.poll_up(now)?;
        if segment.flags.syn {
            self.scale = segment.window_scale;
        } else {
            let window = u64::from(segment.window) << self.scale;
            self.edge = self.edge.max(segment.acknowledgment + window);
        }
        Some(segment)
    }
}

/// What is late comes up to 20 ms late.
fn chaos(loss: f64, duplicate: f64, late: f64) -> Impairment {
    Impairment { loss, duplicate, late, max_extra: Duration::from_millis(20) }
}

/// Runs a transfer over 10 ms to its end and returns the sender; checks what must hold at every step.
fn transfer(algorithm: &str, bytes: u64, buffer: u64, chaos: Impairment, seed: u64) -> Sender {
    let application = Application { bytes: Some(Bytes::new(bytes)), ..Application::default() };
    let config = SenderConfig { application, ..SenderConfig::default() };
    let congestion = gameway_tcp::build(algorithm, config.segment_size, seed).unwrap();
    let receive_window = ReceiveWindow::Fixed(Bytes::new(buffer));
    let receiver = ReceiverConfig { receive_window, ..ReceiverConfig::default() };
    let flow = Flow {
        sender: Sender::new(config, congestion),
        receiver: Receiver::new(receiver, Instant::ZERO),
    };
    let checked = Checked { flow, sent: 0, edge: u64::from(u16::MAX), scale: 0 };
    let path = Fates::impaired(Duration::from_millis(5), chaos, seed);
    let mut net = Testbed::new(path, vec![checked]);
    for _ in 0..2_000_000 {
        if net.flows[0].flow.sender.is_finished() {
            break;
        }
        assert!(net.step(Instant::MAX), "an unfinished transfer always has something to wait for");
    }
    let Flow { sender, receiver } = net.flows.remove(0).flow;
    assert!(sender.is_finished() && receiver.is_finished(), "{:?}", sender.stats());
    assert_eq!(receiver.received(), Bytes::new(bytes));
    assert_eq!(sender.stats().acknowledged, Bytes::new(bytes));
    assert_eq!(sender.stats().in_flight, Bytes::ZERO);
    sender
}

fn names() -> Vec<&'static str> {
    CongestionControls::standard().descriptions().map(|one| one.name).collect()
}

fn algorithms() -> impl Strategy<Value = &'static str> {
    prop::sample::select(names())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once_and_in_order(
        algorithm in algorithms(),
        bytes in 0u64..400_000,
        receive_buffer in prop::sample::select(vec![1000u64, 4000, 30_000, 100_000, 6_000_000]),
        loss in prop::sample::select(vec![0.0, 0.01, 0.05, 0.3]),
        duplicate in prop::sample::select(vec![0.0, 0.1]),
        reorder in prop::sample::select(vec![0.0, 0.02, 0.5]),
        seed in any::<u64>(),
    ) {
        transfer(algorithm, bytes, receive_buffer, chaos(loss, duplicate, reorder), seed);
    }

    #[test]
    fn arbitrary_segments_never_panic(
        algorithm in algorithms(),
        ecn in prop::sample::select(EcnMode::ALL.to_vec()),
        segments in prop::collection::vec((segment(), any::<bool>(), 0i64..3_000_000_000), 1..120),
    ) {
        survive(algorithm, ecn, &segments);
    }
}

fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..200_000, (0u64..140).prop_map(|n| n * 1448), any::<u64>(), Just(u64::MAX)]
}

prop_compose! {
    fn segment()(
        bits in any::<u8>(),
        (sequence, acknowledgment) in (offset(), offset()),
        length in prop_oneof![0u32..3000, any::<u32>()],
        window in any::<u16>(),
        blocks in prop::collection::vec((offset(), offset()), 0..4),
        (value, echo) in (any::<i64>(), any::<i64>()),
        window_scale in any::<u8>(),
        (fields, ect0, ect1, ce) in (0u8..5, any::<u32>(), any::<u32>(), any::<u32>()),
    ) -> Segment {
        let mut sack = SackBlocks::default();
        blocks.into_iter().for_each(|(start, end)| sack.push(SackBlock { start, end }));
        let flag = |bit: u8| bits & (1 << bit) != 0;
        Segment {
            // SYN rarely and ACK mostly, so that connections get established.
            flags: Flags { syn: bits < 16, ack: !(16..32).contains(&bits), fin: flag(0), rst: bits == 255, psh: flag(3), ece: flag(1), cwr: flag(2), ae: flag(4) },
            ecn: if flag(3) { Ecn::Ce } else { Ecn::Ect0 },
            window_scale, length, sequence, acknowledgment, window, sack,
            accurate_ecn: AccurateEcnOption { fields, ect0, ect1, ce },
            timestamp_value: Instant::from_nanos(value),
            timestamp_echo: Instant::from_nanos(echo),
        }
    }
}

/// Feeds both ends garbage between honest openings.
fn survive(algorithm: &str, ecn: EcnMode, segments: &[(Segment, bool, i64)]) {
    let config = SenderConfig { ecn, ..SenderConfig::default() };
    let mut sender =
        Sender::new(config, gameway_tcp::build(algorithm, config.segment_size, 1).unwrap());
    let mut now = Instant::ZERO;
    let mut receiver = Receiver::new(ReceiverConfig { ecn, ..Default::default() }, now);
    if let Some(syn) = receiver.poll_transmit(now) {
        sender.on_segment(now, &syn);
    }
    if let Some(syn_ack) = sender.poll_transmit(now) {
        receiver.on_segment(now, &syn_ack);
    }
    if let Some(ack) = receiver.poll_transmit(now) {
        sender.on_segment(now, &ack);
    }
    for (segment, to_receiver, wait) in segments {
        now += Duration::from_nanos(*wait);
        if *to_receiver {
            receiver.on_segment(now, segment);
        } else {
            sender.on_segment(now, segment);
        }
        sender.on_deadline(now);
        receiver.on_deadline(now);
        // A window of gigabytes would be sent in full by a window that garbage has opened.
        for _ in 0..100 {
            let (sent, _) = (sender.poll_transmit(now), receiver.poll_transmit(now));
            if sent.is_none() {
                break;
            }
        }
        let stats = sender.stats();
        assert!(stats.cwnd >= Bytes::new(1448), "{stats:?}");
        assert!(sender.next_deadline().is_none_or(|due| due >= Instant::ZERO));
    }
}

#[test]
fn a_clean_path_needs_no_retransmission_whatever_the_algorithm() {
    for algorithm in names() {
        let stats = transfer(algorithm, 3_000_000, 6_000_000, Impairment::default(), 1).stats();
        assert_eq!((stats.retransmissions, stats.timeouts, stats.recoveries), (0, 0, 0));
        assert_eq!(stats.segments_sent, 3_000_000 / 1448 + 1 + 1);
    }
}

/// The twin of the test below: what was lost is not taken back.
#[test]
fn losses_alone_are_never_taken_back() {
    for algorithm in names() {
        let stats = transfer(algorithm, 5_000_000, 6_000_000, chaos(0.03, 0.0, 0.0), 3).stats();
        assert_eq!(stats.spurious, 0, "{algorithm:?} {stats:?}");
        assert!(stats.retransmissions > 50, "{algorithm:?} {stats:?}");
    }
}

#[test]
fn reordering_alone_is_taken_back() {
    let (mut spurious, mut recoveries) = (0, 0);
    for seed in 1..=6 {
        let stats = transfer("cubic", 20_000_000, 6_000_000, chaos(0.0, 0.0, 0.05), seed).stats();
        assert!(stats.spurious > 0, "{stats:?}");
        assert_eq!(stats.timeouts, 0);
        spurious += stats.spurious;
        recoveries += stats.recoveries;
        // The threshold adapts: few of the some 700 late segments are sent again.
        assert!(stats.retransmissions < 200, "{stats:?}");
    }
    // An ACK that comes when both copies have arrived proves nothing.
    assert!(spurious * 4 >= recoveries * 3 && spurious <= recoveries, "{spurious} of {recoveries}");
}
