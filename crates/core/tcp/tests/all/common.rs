//! TCP flows on the test network: they share one drop-tail queue, then a fixed delay; ACKs return after the same delay over
//! a link that is never full.

use gameway_tcp::{
    Application, CongestionControl, EcnMode, Flags, Receiver, ReceiverConfig, Segment, Sender,
    SenderConfig,
};
use gameway_testbed::{DropTail, Ends, Onward, Path, Random, Testbed};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};
use std::collections::BTreeMap;

pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
}

impl Flow {
    pub fn bulk(algorithm: &str) -> Self {
        Self::with(algorithm, Application::default())
    }

    /// A bulk transfer with ECN.
    pub fn ecn(congestion: Box<dyn CongestionControl>, ecn: EcnMode) -> Self {
        let sender = SenderConfig { ecn, ..SenderConfig::default() };
        let receiver = ReceiverConfig { ecn, ..ReceiverConfig::default() };
        Self {
            sender: Sender::new(sender, congestion),
            receiver: Receiver::new(receiver, Instant::ZERO),
        }
    }

    pub fn with(algorithm: &str, application: Application) -> Self {
        let config = SenderConfig { application, ..SenderConfig::default() };
        let congestion = gameway_tcp::build(algorithm, config.segment_size, 7).unwrap();
        Self {
            sender: Sender::new(config, congestion),
            receiver: Receiver::new(ReceiverConfig::default(), Instant::ZERO),
        }
    }
}

/// A receiver past a handshake that took no time.
pub fn opened(config: ReceiverConfig) -> Receiver {
    let mut receiver = Receiver::new(config, Instant::ZERO);
    receiver.poll_transmit(Instant::ZERO).expect("SYN");
    let flags = Flags { syn: true, ack: true, ..Flags::default() };
    receiver.on_segment(Instant::ZERO, &Segment { flags, ..Segment::default() });
    receiver.poll_transmit(Instant::ZERO).expect("ACK of the handshake");
    receiver
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

type Lose = Box<dyn FnMut(&Segment) -> bool>;
pub type Mark = Box<dyn FnMut(&Segment, Bytes) -> bool>;

pub struct Bottleneck {
    pub queue: DropTail<(usize, Segment)>,
    pub one_way: Duration,
    pub loss: f64,
    /// Called for every data segment that reaches the bottleneck; `true` loses it.
    pub lose: Option<Lose>,
    /// Called for every ECN-capable segment with the backlog that it meets; `true` marks it.
    pub mark: Option<Mark>,
    /// Segments marked so far.
    pub marked: u64,
    /// Share of ACKs that are lost.
    pub ack_loss: f64,
    random: Random,
    dropped: BTreeMap<usize, u64>,
}

impl Bottleneck {
    /// Of segments of a flow.
    pub fn dropped(&self, flow: usize) -> u64 {
        self.dropped.get(&flow).copied().unwrap_or_default()
    }
}

impl Path<Segment, Segment> for Bottleneck {
    fn down(
        &mut self,
        now: Instant,
        flow: usize,
        mut segment: Segment,
        _: &mut Onward<Segment, Segment>,
    ) {
        let (size, backlog) = (segment.wire_size(), self.queue.backlog());
        let lost = (segment.length > 0 && self.random.chance(self.loss))
            || self.lose.as_mut().is_some_and(|lose| lose(&segment));
        let marker = self.mark.as_mut().filter(|_| !lost && segment.ecn.is_capable());
        let marked = marker.is_some_and(|mark| mark(&segment, backlog));
        if marked {
            segment.ecn = Ecn::Ce;
        }
        if lost || !self.queue.arrive(now, size, (flow, segment)) {
            *self.dropped.entry(flow).or_default() += 1;
        } else {
            self.marked += u64::from(marked);
        }
    }

    fn up(
        &mut self,
        _: Instant,
        flow: usize,
        segment: Segment,
        onward: &mut Onward<Segment, Segment>,
    ) {
        if !self.random.chance(self.ack_loss) {
            onward.up(flow, self.one_way, segment);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.queue.next_deadline()
    }

    fn on_deadline(&mut self, now: Instant, onward: &mut Onward<Segment, Segment>) {
        let Some(done) = self.queue.on_deadline(now) else { return };
        let (flow, segment) = done.packet;
        onward.down(flow, self.one_way, segment);
    }
}

pub type Network = Testbed<Flow, Bottleneck>;

pub fn shared(capacity: Rate, rtt: Duration, queue_limit: Bytes, flows: Vec<Flow>) -> Network {
    let path = Bottleneck {
        queue: DropTail::new(capacity, queue_limit),
        one_way: rtt / 2,
        loss: 0.0,
        lose: None,
        mark: None,
        marked: 0,
        ack_loss: 0.0,
        random: Random::new(1),
        dropped: BTreeMap::new(),
    };
    Testbed::new(path, flows)
}

/// What tests ask of the network's bottleneck.
pub trait Meter {
    fn capacity(&self) -> Rate;
    /// From now on.
    fn set_capacity(&mut self, capacity: Rate);
    fn bdp(&self) -> Bytes;
    fn utilization(&self) -> f64;
    /// In bytes, with the segment that is being sent.
    fn mean_backlog(&self) -> f64;
    /// Forgets what was measured so far.
    fn restart_measurement(&mut self);
}

impl Meter for Network {
    fn capacity(&self) -> Rate {
        self.path.queue.rate(self.now)
    }
    fn set_capacity(&mut self, capacity: Rate) {
        self.path.queue.set_rate(self.now, capacity);
    }
    fn bdp(&self) -> Bytes {
        self.capacity() * (self.path.one_way * 2)
    }
    fn utilization(&self) -> f64 {
        self.path.queue.utilization(self.now)
    }
    fn mean_backlog(&self) -> f64 {
        self.path.queue.mean_backlog(self.now)
    }
    fn restart_measurement(&mut self) {
        self.path.queue.restart_measurement(self.now);
    }
}
