//! Downloads on the test network.

use gameway_quic::{
    AckPolicy, ClientDatagram, Receiver, ReceiverConfig, Sender, SenderConfig, ServerDatagram,
};
use gameway_testbed::{DropTail, Ends, Onward, Path, Random, Testbed};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};

/// Both ends of a download.
pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    /// ACKs and other datagrams of the client.
    pub returned: u64,
}

impl Flow {
    pub fn new(algorithm: &str, config: SenderConfig, acks: AckPolicy) -> Self {
        let congestion = gameway_tcp::build(algorithm, config.max_datagram_size, 7).unwrap();
        let config = SenderConfig { max_ack_delay: acks.max_delay, ..config };
        Self {
            sender: Sender::new(config, congestion),
            receiver: Receiver::new(ReceiverConfig { acks, spin: config.spin }),
            returned: 0,
        }
    }

    pub fn bulk(algorithm: &str) -> Self {
        Self::new(algorithm, SenderConfig::default(), AckPolicy::default())
    }
}

impl Ends for Flow {
    type Down = ServerDatagram;
    type Up = ClientDatagram;

    fn on_down(&mut self, now: Instant, datagram: ServerDatagram) {
        self.receiver.on_datagram(now, &datagram);
    }
    fn on_up(&mut self, now: Instant, datagram: ClientDatagram) {
        self.sender.on_datagram(now, &datagram);
    }
    fn next_deadline(&self) -> Option<Instant> {
        Instant::first_of([self.sender.next_deadline(), self.receiver.next_deadline()])
    }
    fn on_deadline(&mut self, now: Instant) {
        self.sender.on_deadline(now);
        self.receiver.on_deadline(now);
    }
    fn poll_down(&mut self, now: Instant) -> Option<ServerDatagram> {
        self.sender.poll_transmit(now)
    }
    fn poll_up(&mut self, now: Instant) -> Option<ClientDatagram> {
        let datagram = self.receiver.poll_transmit(now)?;
        self.returned += 1;
        Some(datagram)
    }
}

type Lose = Box<dyn FnMut(Instant, &ServerDatagram) -> bool>;

/// A drop-tail queue towards the client, and delays.
pub struct Bottleneck {
    pub queue: DropTail<ServerDatagram>,
    pub one_way: Duration,
    /// Share of datagrams that are lost, and which else.
    pub loss: f64,
    pub lose: Option<Lose>,
    /// ECN-capable datagrams that meet more than this are marked.
    pub mark_above: Option<Bytes>,
    pub dropped: u64,
    random: Random,
}

impl Path<ServerDatagram, ClientDatagram> for Bottleneck {
    fn down(
        &mut self,
        now: Instant,
        _: usize,
        mut datagram: ServerDatagram,
        _: &mut Onward<ServerDatagram, ClientDatagram>,
    ) {
        let is_above = self.mark_above.is_some_and(|limit| self.queue.backlog() > limit);
        if is_above && datagram.ecn.is_capable() {
            datagram.ecn = Ecn::Ce;
        }
        let lost = self.random.chance(self.loss)
            || self.lose.as_mut().is_some_and(|lose| lose(now, &datagram));
        if lost || !self.queue.arrive(now, datagram.wire_size(), datagram) {
            self.dropped += 1;
        }
    }

    fn up(
        &mut self,
        _: Instant,
        flow: usize,
        datagram: ClientDatagram,
        onward: &mut Onward<ServerDatagram, ClientDatagram>,
    ) {
        onward.up(flow, self.one_way, datagram);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.queue.next_deadline()
    }

    fn on_deadline(&mut self, now: Instant, onward: &mut Onward<ServerDatagram, ClientDatagram>) {
        let Some(done) = self.queue.on_deadline(now) else { return };
        onward.down(0, self.one_way, done.packet);
    }
}

pub type Network = Testbed<Flow, Bottleneck>;

pub const CAPACITY: Rate = Rate::from_mbps(20);
pub const RTT: Duration = Duration::from_millis(40);

/// A flow behind 20 Mb/s and 40 ms, and a queue of so many BDPs.
pub fn behind(flow: Flow, queue: f64) -> Network {
    let limit = Bytes::from_f64((CAPACITY * RTT).as_f64() * queue);
    let path = Bottleneck {
        queue: DropTail::new(CAPACITY, limit),
        one_way: RTT / 2,
        loss: 0.0,
        lose: None,
        mark_above: None,
        dropped: 0,
        random: Random::new(3),
    };
    Testbed::new(path, vec![flow])
}

pub const fn seconds(seconds: i64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}
