//! TCP with ECN at queues that mark: nothing lost, nothing wasted, and L4S beside classic flows.

use crate::support::{Run, empty_path, run, with, with_tcp};
use gameway_path::{Bottleneck, DualPi2, DualPi2Config, FlowId, Header, Link, PathPacket, Traffic};
use gameway_tcp::{
    AckEvent, CongestionControl, EcnMode, Receiver, ReceiverConfig, Segment, Sender, SenderConfig,
    TimeoutEvent,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, QueueSize, Rate};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Value, json};
use std::collections::VecDeque;

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

/// Flows through a dual queue of 40 Mb/s, 10 ms each way.
struct DualQueue {
    now: Instant,
    flows: Vec<(Sender, Receiver)>,
    bottleneck: Bottleneck<OnPath, DualPi2<OnPath>>,
    down: Way,
    up: Way,
    /// Per flow, time waited in ns and packets.
    waits: Vec<(f64, f64)>,
}

type Way = VecDeque<(Instant, OnPath)>;

fn arrived(way: &mut Way, now: Instant) -> Option<OnPath> {
    way.front().filter(|arrival| arrival.0 <= now)?;
    way.pop_front().map(|arrival| arrival.1)
}

const ONE_WAY: Duration = Duration::from_millis(10);

impl DualQueue {
    fn new(congestion: Vec<Box<dyn CongestionControl>>) -> Self {
        let ecn = EcnMode::Accurate;
        let flow = |congestion| {
            let sender = Sender::new(SenderConfig { ecn, ..SenderConfig::default() }, congestion);
            let receiver = ReceiverConfig { ecn, ..ReceiverConfig::default() };
            (sender, Receiver::new(receiver, Instant::ZERO))
        };
        let link = Link::constant(Rate::from_mbps(40)).expect("a capacity");
        let size = QueueSize::Bytes(Bytes::new(1_000_000));
        let random = Xoshiro256PlusPlus::seed_from_u64(5);
        let waits = vec![(0.0, 0.0); congestion.len()];
        Self {
            now: Instant::ZERO,
            flows: congestion.into_iter().map(flow).collect(),
            bottleneck: Bottleneck::new(link, size, ONE_WAY * 2, |limit| {
                DualPi2::new(DualPi2Config::default(), limit, random)
            }),
            down: VecDeque::new(),
            up: VecDeque::new(),
            waits,
        }
    }

    fn pump(&mut self) {
        for (number, (sender, receiver)) in self.flows.iter_mut().enumerate() {
            while let Some(segment) = sender.poll_transmit(self.now) {
                self.bottleneck.arrive(self.now, OnPath(number as u16, segment));
            }
            while let Some(segment) = receiver.poll_transmit(self.now) {
                self.up.push_back((self.now + ONE_WAY, OnPath(number as u16, segment)));
            }
        }
        self.bottleneck.drain_dropped().for_each(drop);
    }

    fn next(&self) -> Instant {
        let ends = self.flows.iter().flat_map(|(s, r)| [s.next_deadline(), r.next_deadline()]);
        let ways = [&self.down, &self.up].map(|way| way.front().map(|arrival| arrival.0));
        let all = ends.chain(ways).chain([self.bottleneck.next_deadline()]);
        all.flatten().min().unwrap_or(Instant::MAX)
    }

    fn run_until(&mut self, end: Instant) {
        self.pump();
        while self.next() < end {
            self.now = self.next().max(self.now);
            if let Some(done) = self.bottleneck.on_deadline(self.now) {
                let waited = &mut self.waits[usize::from(done.packet.0)];
                *waited = (waited.0 + done.queueing_delay().as_nanos() as f64, waited.1 + 1.0);
                self.down.push_back((done.finished + ONE_WAY, done.packet));
            }
            while let Some(packet) = arrived(&mut self.down, self.now) {
                self.flows[usize::from(packet.0)].1.on_segment(self.now, &packet.1);
            }
            while let Some(packet) = arrived(&mut self.up, self.now) {
                self.flows[usize::from(packet.0)].0.on_segment(self.now, &packet.1);
            }
            for (sender, receiver) in &mut self.flows {
                sender.on_deadline(self.now);
                receiver.on_deadline(self.now);
            }
            self.pump();
        }
    }

    /// Mean wait of a flow in ms, and its rate in Mb/s, from 10 to 30 s.
    fn measure(&mut self, flow: usize) -> (f64, f64) {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        self.run_until(at(10));
        let (waits, before) = (self.waits[flow], self.flows[flow].1.received().as_f64());
        self.run_until(at(30));
        let (time, packets) = (self.waits[flow].0 - waits.0, self.waits[flow].1 - waits.1);
        let bytes = self.flows[flow].1.received().as_f64() - before;
        (time / packets / 1e6, bytes * 8.0 / 20e6)
    }
}

/// What the low-latency queue is worth depends on all in it: beside another Prague, Prague waits a
/// millisecond and has half of the link; beside a Cubic that only says that it is one, neither.
#[test]
fn a_flow_that_lies_about_its_answer_to_marks_spoils_the_low_latency_queue() {
    let build = |algorithm: &str| gameway_tcp::build(algorithm, 1448, 1).unwrap();
    let prague = || build("prague");
    let (honest_wait, honest_rate) = DualQueue::new(vec![prague(), prague()]).measure(0);
    let liar = Box::new(Liar(build("cubic")));
    let (wait, rate) = DualQueue::new(vec![prague(), liar]).measure(0);
    assert!((0.2..1.5).contains(&honest_wait), "{honest_wait} ms");
    assert!((15.0..23.0).contains(&honest_rate), "{honest_rate} Mb/s");
    assert!(wait > 10.0 && rate < 5.0, "{wait} ms, {rate} Mb/s");
}
