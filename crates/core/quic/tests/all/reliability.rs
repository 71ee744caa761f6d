//! Whatever the path does, the stream arrives, and the exchange ends; whatever a peer says, nothing panics.

use crate::common::Flow;
use gameway_quic::{
    AckFrame, AckPolicy, ClientContent, ClientDatagram, EcnCounts, Receiver, ReceiverConfig,
    Sender, SenderConfig, ServerContent, ServerDatagram, StreamFrame,
};
use gameway_tcp::CongestionControls;
use gameway_testbed::{Ends, Fates, Impairment, Testbed};
use gameway_units::{Bytes, Duration, Ecn, Instant};
use proptest::prelude::*;

/// A flow, and what must hold at every step.
struct Checked {
    flow: Flow,
    next: u64,
    sent: u64,
}

impl Ends for Checked {
    type Down = ServerDatagram;
    type Up = ClientDatagram;

    fn on_down(&mut self, now: Instant, datagram: ServerDatagram) {
        let received = self.flow.receiver.received();
        self.flow.on_down(now, datagram);
        assert!(self.flow.receiver.received() >= received, "the stream never runs backwards");
    }
    fn on_up(&mut self, now: Instant, datagram: ClientDatagram) {
        self.flow.on_up(now, datagram);
    }
    fn next_deadline(&self) -> Option<Instant> {
        self.flow.next_deadline()
    }
    fn on_deadline(&mut self, now: Instant) {
        self.flow.on_deadline(now);
    }
    fn poll_down(&mut self, now: Instant) -> Option<ServerDatagram> {
        let timeouts = self.flow.sender.stats().probe_timeouts;
        let before = self.flow.sender.stats().in_flight;
        let datagram = self.flow.poll_down(now)?;
        let ServerContent::Packet { number, frame, .. } = datagram.content else {
            return Some(datagram);
        };
        assert_eq!(number, self.next, "a number is used once, and none is left out");
        self.next += 1;
        assert!(frame.offset <= self.sent, "a gap in what was sent");
        self.sent = self.sent.max(frame.end());
        let stats = self.flow.sender.stats();
        assert_eq!(stats.in_flight, before + Bytes::new(u64::from(datagram.size)));
        assert!(datagram.size <= 1452);
        if timeouts == 0 {
            // A window that fell may be below what is out, but then nothing leaves.
            assert!(stats.in_flight <= stats.cwnd, "{} > {}", stats.in_flight, stats.cwnd);
        }
        Some(datagram)
    }
    fn poll_up(&mut self, now: Instant) -> Option<ClientDatagram> {
        self.flow.poll_up(now)
    }
}

/// Runs a download over 10 ms to its end.
fn download(algorithm: &str, bytes: u64, acks: AckPolicy, chaos: Impairment, seed: u64) -> Sender {
    let config = SenderConfig { bytes: Some(Bytes::new(bytes)), ..SenderConfig::default() };
    let checked = Checked { flow: Flow::new(algorithm, config, acks), next: 0, sent: 0 };
    let path = Fates::impaired(Duration::from_millis(5), chaos, seed);
    let mut net = Testbed::new(path, vec![checked]);
    for _ in 0..2_000_000 {
        if net.flows[0].flow.sender.is_finished() {
            break;
        }
        assert!(net.step(Instant::MAX), "an unfinished download always waits for something");
    }
    let Flow { sender, receiver, .. } = net.flows.remove(0).flow;
    assert!(sender.is_finished() && receiver.is_finished(), "{:?}", sender.stats());
    assert_eq!(receiver.received(), Bytes::new(bytes));
    assert_eq!(sender.stats().acknowledged, Bytes::new(bytes));
    sender
}

fn algorithms() -> impl Strategy<Value = &'static str> {
    let known = CongestionControls::standard();
    prop::sample::select(known.descriptions().map(|one| one.name).collect::<Vec<_>>())
}

fn frame() -> impl Strategy<Value = AckFrame> {
    let number = || prop_oneof![0u64..80, any::<u64>()];
    let count = || prop_oneof![0u64..80, any::<u64>()];
    let ranges = prop::collection::vec((number(), number()), 0..5);
    let delay = prop_oneof![0i64..100_000, any::<i64>()];
    (ranges, delay, prop::option::of((count(), count(), count()))).prop_map(
        |(ranges, delay, ecn)| AckFrame {
            ranges,
            delay: Duration::from_nanos(delay),
            ecn: ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce }),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_and_the_exchange_ends(
        algorithm in algorithms(),
        bytes in 0u64..400_000,
        packets in prop::sample::select(vec![1u32, 2, 10]),
        loss in prop::sample::select(vec![0.0, 0.01, 0.05, 0.3]),
        duplicate in prop::sample::select(vec![0.0, 0.1]),
        late in prop::sample::select(vec![0.0, 0.02, 0.5]),
        seed in any::<u64>(),
    ) {
        let chaos = Impairment { loss, duplicate, late, max_extra: Duration::from_millis(20) };
        let acks = AckPolicy { packets, ..AckPolicy::default() };
        let stats = download(algorithm, bytes, acks, chaos, seed).stats();
        if loss == 0.0 && late == 0.0 {
            prop_assert_eq!((stats.lost_packets, stats.probe_timeouts), (0, 0));
        }
        prop_assert!(stats.retransmissions <= stats.lost_packets + 2 * stats.probe_timeouts);
    }

    #[test]
    fn arbitrary_acks_never_panic(
        algorithm in algorithms(),
        acks in prop::collection::vec((frame(), any::<u64>(), 0i64..3_000_000_000), 1..120),
    ) {
        let congestion = gameway_tcp::build(algorithm, 1452, 1).unwrap();
        let mut sender = Sender::new(SenderConfig::default(), congestion);
        let mut now = Instant::ZERO;
        for content in [ClientContent::Initial, ClientContent::Finished] {
            sender.on_datagram(now, &ClientDatagram { size: 1200, spin: false, content });
        }
        for (frame, number, later) in acks {
            now += Duration::from_nanos(later);
            while sender.poll_transmit(now).is_some() {}
            sender.on_deadline(now);
            let content = ClientContent::Ack { number, frame, elicits: true };
            sender.on_datagram(now, &ClientDatagram { size: 40, spin: false, content });
            let stats = sender.stats();
            prop_assert!(stats.cwnd >= Bytes::new(2 * 1452));
        }
    }

    #[test]
    fn arbitrary_packets_never_panic(
        packets in prop::collection::vec(
            (any::<u64>(), any::<u64>(), any::<u32>(), any::<bool>(), prop::option::of(any::<u64>())),
            1..120,
        ),
    ) {
        let mut receiver = Receiver::new(ReceiverConfig::default());
        let mut now = Instant::ZERO;
        for (number, offset, length, fin, acknowledged) in packets {
            let frame = StreamFrame { offset, length, fin };
            let content = ServerContent::Packet { number, frame, acknowledged };
            receiver.on_datagram(now, &ServerDatagram { size: 1452, ecn: Ecn::Ect0, spin: false, content });
            while receiver.poll_transmit(now).is_some() {}
            now += Duration::from_millis(7);
            receiver.on_deadline(now);
        }
    }
}
