//! A tiny network for tests: flows share one drop-tail queue counted in bytes, then a fixed delay;
//! ACKs return after a fixed delay over a link that is never full. Deterministic.

// Each test crate uses a part of it.
#![allow(dead_code, reason = "not every test file needs all of it")]

use gameway_tcp::{
    Application, CongestionControl, EcnMode, Receiver, ReceiverConfig, Segment, Sender,
    SenderConfig,
};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};
use std::collections::VecDeque;

/// SplitMix64: enough for tests.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    deadline: Option<Instant>,
    pub dropped: u64,
}

impl Flow {
    pub fn new(sender: Sender, receiver: Receiver) -> Self {
        Self { sender, receiver, deadline: Some(Instant::ZERO), dropped: 0 }
    }

    pub fn bulk(algorithm: &str) -> Self {
        Self::with(algorithm, Application::default())
    }

    /// A bulk transfer with ECN.
    pub fn ecn(congestion: Box<dyn CongestionControl>, ecn: EcnMode) -> Self {
        Self::new(
            Sender::new(SenderConfig { ecn, ..SenderConfig::default() }, congestion),
            Receiver::new(ReceiverConfig { ecn, ..ReceiverConfig::default() }, Instant::ZERO),
        )
    }

    pub fn with(algorithm: &str, application: Application) -> Self {
        let config = SenderConfig { application, ..SenderConfig::default() };
        Self::new(
            Sender::new(config, gameway_tcp::build(algorithm, config.segment_size, 7).unwrap()),
            Receiver::new(ReceiverConfig::default(), Instant::ZERO),
        )
    }
}

type Lose = Box<dyn FnMut(&Segment) -> bool>;
pub type Mark = Box<dyn FnMut(&Segment, Bytes) -> bool>;
type InFlight = VecDeque<(Instant, usize, Segment)>;

pub struct Network {
    pub now: Instant,
    pub capacity: Rate,
    pub one_way: Duration,
    pub queue_limit: Bytes,
    pub loss: f64,
    /// Called for every data segment that reaches the bottleneck; `true` loses it.
    pub lose: Option<Lose>,
    /// Called for every ECN-capable segment with the backlog that it meets; `true` marks it.
    pub mark: Option<Mark>,
    /// Segments marked so far.
    pub marked: u64,
    /// Share of ACKs that are lost.
    pub ack_loss: f64,
    /// Whether ACKs of a flow are lost.
    pub ack_blackhole: bool,
    pub flows: Vec<Flow>,
    random: Random,
    queue: VecDeque<(usize, Segment)>,
    pub backlog: Bytes,
    link_free: Option<Instant>,
    down: InFlight,
    up: InFlight,
    pub transmitted: Bytes,
    pub segments: u64,
    /// Integral of the backlog in byte-nanoseconds, for its mean.
    backlog_time: u128,
    backlog_since: Instant,
    measured_since: Instant,
    pub backlog_max: Bytes,
}

impl Network {
    pub fn new(capacity: Rate, rtt: Duration, queue_limit: Bytes, flows: Vec<Flow>) -> Self {
        Self {
            now: Instant::ZERO,
            capacity,
            one_way: rtt / 2,
            queue_limit,
            loss: 0.0,
            lose: None,
            mark: None,
            marked: 0,
            ack_loss: 0.0,
            ack_blackhole: false,
            flows,
            random: Random(1),
            queue: VecDeque::new(),
            backlog: Bytes::ZERO,
            link_free: None,
            down: VecDeque::new(),
            up: VecDeque::new(),
            transmitted: Bytes::ZERO,
            segments: 0,
            backlog_time: 0,
            backlog_since: Instant::ZERO,
            measured_since: Instant::ZERO,
            backlog_max: Bytes::ZERO,
        }
    }

    pub fn bdp(&self) -> Bytes {
        self.capacity * (self.one_way * 2)
    }

    /// Forgets what was measured so far.
    pub fn restart_measurement(&mut self) {
        self.note_backlog();
        self.transmitted = Bytes::ZERO;
        self.backlog_time = 0;
        self.backlog_max = self.backlog;
        self.measured_since = self.now;
    }

    pub fn utilization(&self) -> f64 {
        self.transmitted.as_f64() / (self.capacity * (self.now - self.measured_since)).as_f64()
    }

    pub fn mean_backlog(&mut self) -> f64 {
        self.note_backlog();
        self.backlog_time as f64 / (self.now - self.measured_since).as_nanos() as f64
    }

    fn note_backlog(&mut self) {
        let span = (self.now - self.backlog_since).as_nanos() as u128;
        self.backlog_time += span * u128::from(self.backlog.get());
        self.backlog_since = self.now;
        self.backlog_max = self.backlog_max.max(self.backlog);
    }

    fn enqueue(&mut self, flow: usize, mut segment: Segment) {
        let size = segment.wire_size();
        let lost = (self.loss > 0.0 && segment.length > 0 && self.random.unit() < self.loss)
            || self.lose.as_mut().is_some_and(|lose| lose(&segment));
        if lost || self.backlog + size > self.queue_limit {
            self.flows[flow].dropped += 1;
            return;
        }
        let backlog = self.backlog;
        let marked = self.mark.as_mut().filter(|_| segment.ecn.is_capable());
        if marked.is_some_and(|mark| mark(&segment, backlog)) {
            segment.ecn = Ecn::Ce;
            self.marked += 1;
        }
        self.note_backlog();
        self.backlog += size;
        self.queue.push_back((flow, segment));
        if self.link_free.is_none() {
            self.link_free = Some(self.now + self.capacity.time_for(size));
        }
    }

    fn finish_transmission(&mut self) {
        self.link_free = None;
        let Some((flow, segment)) = self.queue.pop_front() else { return };
        self.note_backlog();
        self.backlog -= segment.wire_size();
        self.transmitted += segment.wire_size();
        self.segments += 1;
        self.down.push_back((self.now + self.one_way, flow, segment));
        if let Some((_, next)) = self.queue.front() {
            self.link_free = Some(self.now + self.capacity.time_for(next.wire_size()));
        }
    }

    fn pump(&mut self, index: usize) {
        while let Some(segment) = self.flows[index].sender.poll_transmit(self.now) {
            self.enqueue(index, segment);
        }
        let flow = &mut self.flows[index];
        while let Some(segment) = flow.receiver.poll_transmit(self.now) {
            let lost = self.ack_loss > 0.0 && self.random.unit() < self.ack_loss;
            if !self.ack_blackhole && !lost {
                self.up.push_back((self.now + self.one_way, index, segment));
            }
        }
        let deadlines = [flow.sender.next_deadline(), flow.receiver.next_deadline()];
        flow.deadline = deadlines.into_iter().flatten().min();
    }

    /// Polls all flows; after something was done to one from outside.
    pub fn pump_all(&mut self) {
        (0..self.flows.len()).for_each(|index| self.pump(index));
    }

    fn next_event(&self) -> Option<Instant> {
        let front = |line: &InFlight| line.front().map_or(Instant::MAX, |event| event.0);
        let mut next = self.link_free.unwrap_or(Instant::MAX);
        next = next.min(front(&self.down)).min(front(&self.up));
        for flow in &self.flows {
            next = next.min(flow.deadline.unwrap_or(Instant::MAX));
        }
        (next < Instant::MAX).then_some(next)
    }

    /// Runs the next event if it lies before `end`; `false` when none does.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some(next) = self.next_event().filter(|next| *next <= end) else {
            self.now = end;
            return false;
        };
        assert!(next >= self.now, "time runs forward");
        self.now = next;
        let due = |front: Option<&(Instant, usize, Segment)>| front.is_some_and(|e| e.0 <= next);
        if self.link_free.is_some_and(|free| free <= next) {
            self.finish_transmission();
        } else if due(self.down.front()) {
            let Some((_, flow, segment)) = self.down.pop_front() else { return true };
            self.flows[flow].receiver.on_segment(next, &segment);
            self.pump(flow);
        } else if due(self.up.front()) {
            let Some((_, flow, segment)) = self.up.pop_front() else { return true };
            self.flows[flow].sender.on_segment(next, &segment);
            self.pump(flow);
        } else {
            for index in 0..self.flows.len() {
                if self.flows[index].deadline.is_some_and(|due| due <= next) {
                    self.flows[index].sender.on_deadline(next);
                    self.flows[index].receiver.on_deadline(next);
                    self.pump(index);
                }
            }
        }
        true
    }

    pub fn run_until(&mut self, end: Instant) {
        while self.step(end) {}
    }

    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }
}
