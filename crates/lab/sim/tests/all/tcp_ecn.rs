//! TCP with ECN at queues that mark: nothing lost, nothing wasted, and L4S beside classic flows.

use crate::support::{Run, empty_path, run, with, with_tcp};
use gameway_path::{Bottleneck, DualPi2, DualPi2Config, FlowId, Header, Link, PathPacket, Traffic};
use gameway_tcp::{
    AckEvent, CongestionControl, EcnMode, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
    TimeoutEvent,
};
use gameway_testbed::{Ends, Onward, Path, Testbed};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};

/// 40 Mb/s and 20 ms with this queue.
fn path(kind: &str, seconds: u32) -> Value {
    let spec = with(empty_path(seconds), "/path/queue", json!({ "kind": kind, "size": "1 MB" }));
    let spec = with(spec, "/path/capacity", json!("40 Mb/s"));
    with(spec, "/path/base_rtt", json!("20 ms"))
}

fn download(name: &str, ecn: &str) -> Value {
    json!({ "name": name, "ecn": ecn })
}

fn lost(run: &Run, flow: &str, from: f64, to: f64) -> f64 {
    run.table("bins").only("flow", flow).between("bin_start_ns", from, to).sum("dropped_packets")
}

#[test]
fn cubic_with_ecn_loses_nothing_and_keeps_its_rate() {
    for kind in ["codel", "pie", "fq-codel", "dual-pi2"] {
        let rate = |ecn: &str| {
            let run = run(&with_tcp(path(kind, 40), "cubic", download("download", ecn)));
            // In slow start PIE's probability passes 10 %, above which it drops (RFC 8033 section 5.1).
            let since = if kind == "pie" { 5.0 } else { 0.0 };
            let lost = lost(&run, "download", since, 40.0);
            // Without ECN each signal is a loss; with it none is.
            assert_eq!(lost > 0.0, ecn == "off", "{kind}, {ecn}: {lost} packets");
            run.received_mbps("download", 5.0, 40.0)
        };
        let plain = rate("off");
        for ecn in ["classic", "accurate"] {
            let ratio = rate(ecn) / plain;
            assert!((0.97..1.05).contains(&ratio), "{kind}, {ecn}: {ratio} of {plain} Mb/s");
        }
    }
}

/// RFC 9332 section 2.1: with the coupling of 2, Prague and Cubic get about the same rate, if their
/// round trips are the same. Here p' is the base probability, 2 p' that of L4S marks and p'^2 that of
/// classic ones: Prague has a window of 2.7 / (2 p') per 25 ms at least, Cubic in its Reno-friendly
/// region one of 1.22 / p' per base RTT and queueing delay.
#[test]
fn prague_and_cubic_share_a_dual_queue() {
    for ecn in ["off", "classic"] {
        let spec = with_tcp(path("dual-pi2", 70), "prague", json!({ "name": "l4s" }));
        let run = run(&with_tcp(spec, "cubic", download("classic", ecn)));
        let rates = ["l4s", "classic"].map(|flow| run.received_mbps(flow, 20.0, 70.0));
        let waits = ["l4s", "classic"].map(|flow| run.mean_wait(flow, 20.0, 70.0));
        let law = 1.35 / 1.22 * (20.0 + waits[1]) / 25.0;
        let ratio = rates[0] / rates[1];
        assert!((0.8..1.25).contains(&(ratio / law)), "{ecn}: {ratio}, by the laws {law}");
        assert!((0.5..2.0).contains(&ratio), "{ecn}: {rates:?} Mb/s");
        assert!(run.utilization(20.0, 70.0) > 0.99, "{ecn}: {rates:?} Mb/s");
        assert!(waits[0] < 0.5 && (10.0..20.0).contains(&waits[1]), "{ecn}: {waits:?} ms");
        let lost = ["l4s", "classic"].map(|flow| lost(&run, flow, 5.0, 70.0));
        assert_eq!((lost[0] > 0.0, lost[1] > 0.0), (false, ecn == "off"), "{lost:?}");
    }
}

/// A segment on the way, of a flow.
#[derive(Debug, Clone, Copy)]
struct OnPath(u16, Segment);

impl PathPacket for OnPath {
    fn wire_size(&self) -> Bytes {
        self.1.wire_size()
    }
    fn flow(&self) -> FlowId {
        FlowId(self.0)
    }
    fn header(&self) -> Header {
        Header::numbered(self.0)
    }
    fn traffic(&self) -> Option<Traffic> {
        None
    }
    fn ecn(&self) -> Ecn {
        self.1.ecn
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.1.ecn = ecn;
    }
}

/// Says that it answers marks as L4S asks, and does not answer them at all.
#[derive(Debug)]
struct Liar(Box<dyn CongestionControl>);

impl CongestionControl for Liar {
    fn name(&self) -> &'static str {
        "liar"
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        self.0.on_ack(ack);
    }
    fn on_congestion_event(&mut self, now: Instant, in_flight: Bytes) {
        self.0.on_congestion_event(now, in_flight);
    }
    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        self.0.on_timeout(timeout);
    }
    fn on_spurious_loss(&mut self, now: Instant) {
        self.0.on_spurious_loss(now);
    }
    fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }
    fn ssthresh(&self) -> Bytes {
        self.0.ssthresh()
    }
    fn codepoint(&self) -> Ecn {
        Ecn::Ect1
    }
    fn answers_marks(&self) -> bool {
        true
    }
}

/// Both ends of a flow.
struct Flow {
    sender: Sender,
    receiver: Receiver,
}

impl Flow {
    fn new(congestion: Box<dyn CongestionControl>) -> Self {
        let ecn = EcnMode::Accurate;
        let receiver = ReceiverConfig { ecn, ..ReceiverConfig::default() };
        Self {
            sender: Sender::new(SenderConfig { ecn, ..SenderConfig::default() }, congestion),
            receiver: Receiver::new(receiver, Instant::ZERO),
        }
    }
}

impl Ends for Flow {
    type Down = Segment;
    type Up = Segment;

    fn on_down(&mut self, now: Instant, segment: Segment) {
        self.receiver.on_segment(now, &segment);
    }
    fn on_up(&mut self, now: Instant, segment: Segment) {
        self.sender.on_segment(now, &segment);
    }
    fn next_deadline(&self) -> Option<Instant> {
        Instant::first_of([self.sender.next_deadline(), self.receiver.next_deadline()])
    }
    fn on_deadline(&mut self, now: Instant) {
        self.sender.on_deadline(now);
        self.receiver.on_deadline(now);
    }
    fn poll_down(&mut self, now: Instant) -> Option<Segment> {
        self.sender.poll_transmit(now)
    }
    fn poll_up(&mut self, now: Instant) -> Option<Segment> {
        self.receiver.poll_transmit(now)
    }
}

const ONE_WAY: Duration = Duration::from_millis(10);

/// A dual queue of 40 Mb/s, and 10 ms each way.
struct DualQueue {
    bottleneck: Bottleneck<OnPath, DualPi2<OnPath>>,
    /// Per flow, time waited in ns and packets.
    waits: Vec<(f64, f64)>,
}

impl DualQueue {
    fn of_flows(count: usize) -> Self {
        let link = Link::constant(Rate::from_mbps(40)).expect("a capacity");
        let size = QueueSize::Bytes(Bytes::new(1_000_000));
        let random = Xoshiro256PlusPlus::seed_from_u64(5);
        let bottleneck = Bottleneck::new(link, size, ONE_WAY * 2, |limit| {
            DualPi2::new(DualPi2Config::default(), limit, random)
        });
        Self { bottleneck, waits: vec![(0.0, 0.0); count] }
    }
}

type ToEnds = Onward<Segment, Segment>;

impl Path<Segment, Segment> for DualQueue {
    fn down(&mut self, now: Instant, flow: usize, segment: Segment, _: &mut ToEnds) {
        self.bottleneck.arrive(now, OnPath(flow as u16, segment));
        self.bottleneck.drain_dropped().for_each(drop);
    }

    fn up(&mut self, _: Instant, flow: usize, segment: Segment, onward: &mut ToEnds) {
        onward.up(flow, ONE_WAY, segment);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.bottleneck.next_deadline()
    }

    fn on_deadline(&mut self, now: Instant, onward: &mut ToEnds) {
        if let Some(done) = self.bottleneck.on_deadline(now) {
            let OnPath(flow, segment) = done.packet;
            let waited = &mut self.waits[usize::from(flow)];
            *waited = (waited.0 + done.queueing_delay().as_nanos() as f64, waited.1 + 1.0);
            onward.down(usize::from(flow), ONE_WAY, segment);
        }
        self.bottleneck.drain_dropped().for_each(drop);
    }
}

/// Mean wait of the first of these flows in ms, and its rate in Mb/s, from 10 to 30 s.
fn measure(congestion: Vec<Box<dyn CongestionControl>>) -> (f64, f64) {
    let path = DualQueue::of_flows(congestion.len());
    let mut network = Testbed::new(path, congestion.into_iter().map(Flow::new).collect());
    network.run_for(Duration::from_secs(10));
    let (waits, before) = (network.path.waits[0], network.receiver.received().as_f64());
    network.run_for(Duration::from_secs(20));
    let (time, packets) = network.path.waits[0];
    let bytes = network.receiver.received().as_f64() - before;
    ((time - waits.0) / (packets - waits.1) / 1e6, bytes * 8.0 / 20e6)
}

/// What the low-latency queue is worth depends on all in it: beside another Prague, Prague waits a
/// millisecond and has half of the link; beside a Cubic that only says that it is one, neither.
#[test]
fn a_flow_that_lies_about_its_answer_to_marks_spoils_the_low_latency_queue() {
    let build = |algorithm: &str| gameway_tcp::build(algorithm, 1448, 1).unwrap();
    let prague = || build("prague");
    let (honest_wait, honest_rate) = measure(vec![prague(), prague()]);
    let liar = Box::new(Liar(build("cubic")));
    let (wait, rate) = measure(vec![prague(), liar]);
    assert!((0.2..1.5).contains(&honest_wait), "{honest_wait} ms");
    assert!((15.0..23.0).contains(&honest_rate), "{honest_rate} Mb/s");
    assert!(wait > 10.0 && rate < 5.0, "{wait} ms, {rate} Mb/s");
}
