//! Short transfers over TCP with gaps between them: the web traffic of RFC 8868 section 5.1.
//!
//! Each transfer is a connection of its own, with a handshake and a slow start. Its size is uniform
//! between two bounds; the gap from its end to the next one is exponential. Several connections may open
//! at once, as a browser does for a page: then the gap begins when all of them are done.

use crate::flow::FlowEnds;
use crate::packet::Packet;
use crate::tcp::{Tcp, TcpSetup};
use gameway_events::Name;
use gameway_experiment::Recorder;
use gameway_path::uniform;
use gameway_units::{Bytes, Duration, Instant};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What the transfers are.
pub struct ShortTcpSetup {
    /// Each transfer but for its start, size and seed.
    pub transfer: TcpSetup,
    /// Bounds of sizes.
    pub sizes: (Bytes, Bytes),
    /// How many begin at once.
    pub connections: u32,
    /// Mean of gaps.
    pub mean_gap: Duration,
    /// Whether it begins with a transfer.
    pub begins_with_transfer: bool,
}

/// See the module's head.
pub struct ShortTcp {
    setup: ShortTcpSetup,
    random: Xoshiro256PlusPlus,
    /// The transfers that began together; none in a gap.
    current: Vec<Tcp>,
    /// How many transfers there were.
    connection: u32,
    /// When the next transfer begins, in a gap.
    next: Instant,
    /// When those that are under way began.
    began: Instant,
    finished: Name,
    took: Name,
}

impl ShortTcp {
    /// The transfers that `random` draws.
    pub fn new(setup: ShortTcpSetup, random: Xoshiro256PlusPlus) -> Self {
        let next = setup.transfer.start;
        let begins = setup.begins_with_transfer;
        let mut flow = Self {
            setup,
            random,
            current: Vec::new(),
            connection: 0,
            next,
            began: next,
            finished: "transfer".into(),
            took: "transfer-took".into(),
        };
        if !begins {
            flow.next = next.saturating_add(flow.gap());
        }
        flow
    }

    fn gap(&mut self) -> Duration {
        let gap = -libm::log(1.0 - uniform(&mut self.random));
        self.setup.mean_gap.mul_f64(gap)
    }

    fn size(&mut self) -> Bytes {
        let (min, greatest) = self.setup.sizes;
        let span = greatest.saturating_sub(min).as_f64();
        Bytes::from_f64(min.as_f64() + span * uniform(&mut self.random))
    }

    fn begin(&mut self, now: Instant) {
        self.began = now;
        for _ in 0..self.setup.connections {
            let bytes = Some(self.size());
            let seed = self.random.next_u64();
            let transfer =
                TcpSetup { start: now, stop: None, bytes, seed, ..self.setup.transfer.clone() };
            self.connection += 1;
            self.current.push(Tcp::new(transfer));
        }
    }

    fn end_if_finished(&mut self, now: Instant, log: &mut Recorder) {
        if self.current.is_empty() || !self.current.iter().all(Tcp::is_finished) {
            return;
        }
        self.current.clear();
        self.next = now.saturating_add(self.gap());
        let flow = self.setup.transfer.flow;
        log.event(now, flow, &self.finished, f64::from(self.connection));
        log.event(now, flow, &self.took, now.saturating_since(self.began).as_secs_f64())
    }

    fn stopped(&self, at: Instant) -> bool {
        self.setup.transfer.stop.is_some_and(|stop| stop <= at)
    }

    /// The number of the first of those that began together.
    fn first(&self) -> u32 {
        self.connection + 1 - self.current.len() as u32
    }

    /// The transfer that a packet belongs to, if it is still under way.
    fn transfer_of(&mut self, packet: &Packet) -> Option<&mut Tcp> {
        let place = packet.connection.checked_sub(self.first())?;
        self.current.get_mut(place as usize)
    }

    /// The next packet that `poll` finds in any of them, with the number of its connection.
    fn poll(&mut self, poll: impl Fn(&mut Tcp) -> Option<Packet>) -> Option<Packet> {
        let first = self.first();
        self.current
            .iter_mut()
            .zip(first..)
            .find_map(|(tcp, connection)| poll(tcp).map(|packet| Packet { connection, ..packet }))
    }
}

impl FlowEnds for ShortTcp {
    fn server_deadline(&self) -> Option<Instant> {
        self.current.iter().filter_map(FlowEnds::server_deadline).min()
    }

    fn on_server_deadline(&mut self, now: Instant, log: &mut Recorder) {
        for tcp in &mut self.current {
            if tcp.server_deadline().is_some_and(|due| due <= now) {
                tcp.on_server_deadline(now, log);
            }
        }
        self.end_if_finished(now, log)
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.poll(|tcp| tcp.poll_transmit(now))
    }

    fn on_arrival(&mut self, now: Instant, packet: &Packet, log: &mut Recorder) {
        if let Some(tcp) = self.transfer_of(packet) {
            tcp.on_arrival(now, packet, log)
        }
    }

    fn client_deadline(&self) -> Option<Instant> {
        if self.current.is_empty() {
            return (!self.stopped(self.next)).then_some(self.next);
        }
        self.current.iter().filter_map(FlowEnds::client_deadline).min()
    }

    fn on_client_deadline(&mut self, now: Instant, log: &mut Recorder) {
        if self.current.is_empty() {
            self.begin(now);
        }
        self.current.iter_mut().for_each(|tcp| tcp.on_client_deadline(now, log));
    }

    fn poll_return(&mut self, now: Instant) -> Option<Packet> {
        self.poll(|tcp| tcp.poll_return(now))
    }

    fn on_return(&mut self, now: Instant, packet: &Packet, log: &mut Recorder) {
        if let Some(tcp) = self.transfer_of(packet) {
            tcp.on_return(now, packet, log);
        }
        self.end_if_finished(now, log)
    }

    fn on_gone(&mut self, packet: &Packet, log: &mut Recorder) {
        if let Some(tcp) = self.transfer_of(packet) {
            tcp.on_gone(packet, log)
        }
    }
}
