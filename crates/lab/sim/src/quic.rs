//! One download over QUIC in the simulator: its two ends, and the log of its state.

use crate::flow::FlowEnds;
use crate::packet::{Content, Packet};
use crate::transport_log::{SenderState, TransportLog};
use gameway_experiment::Recorder;
use gameway_path::FlowId;
use gameway_quic::{
    ClientDatagram, Receiver, ReceiverConfig, Sender, SenderConfig, ServerDatagram,
};
use gameway_tcp::ConfiguredTcp;
use gameway_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

/// The port of HTTP/3 (RFC 9114 section 3.1.2).
pub const PORT: u16 = 443;

/// What a download is.
#[derive(Debug, Clone)]
pub struct QuicSetup {
    /// Its flow.
    pub flow: FlowId,
    /// Its congestion control.
    pub congestion_control: ConfiguredTcp,
    /// The sender's options.
    pub sender: SenderConfig,
    /// The receiver's options.
    pub receiver: ReceiverConfig,
    /// When the client opens the connection.
    pub start: Instant,
    /// When the server's application stops sending.
    pub stop: Option<Instant>,
    /// Seed of what is random in the congestion control.
    pub seed: u64,
    /// How often its state is written.
    pub observe_interval: Duration,
}

/// See the module's head.
pub struct Quic {
    flow: FlowId,
    sender: Sender,
    receiver: Receiver,
    start: Instant,
    stop: Option<Instant>,
    state: TransportLog<3>,
    /// Stream bytes that had arrived in order when last counted.
    received: Bytes,
    /// Datagrams of the client under way, oldest first, by number: what they say is too long for a packet.
    under_way: VecDeque<(u64, ClientDatagram)>,
    returned: u64,
}

impl Quic {
    /// A download.
    pub fn new(setup: QuicSetup) -> Self {
        let size = setup.sender.max_datagram_size;
        Self {
            flow: setup.flow,
            sender: Sender::new(setup.sender, setup.congestion_control.build(size, setup.seed)),
            receiver: Receiver::new(setup.receiver),
            start: setup.start,
            stop: setup.stop,
            state: TransportLog::new(
                setup.flow,
                setup.start,
                setup.observe_interval,
                ["pto", "fast-recovery", "persistent-congestion"],
            ),
            received: Bytes::ZERO,
            under_way: VecDeque::new(),
            returned: 0,
        }
    }

    fn observe(&mut self, now: Instant, log: &mut Recorder) {
        let stats = self.sender.stats();
        let state = SenderState {
            cwnd: stats.cwnd,
            ssthresh: stats.ssthresh,
            smoothed_rtt: stats.smoothed_rtt,
            in_flight: stats.in_flight,
            pacing_rate: stats.pacing_rate,
        };
        let counts = [stats.probe_timeouts, stats.recoveries, stats.persistent_congestions];
        self.state.write(now, &state, counts, log);
    }

    /// Takes the datagram of this number from the way; one that came twice is there once.
    fn take(&mut self, number: u64) -> Option<ClientDatagram> {
        let place = self.under_way.binary_search_by_key(&number, |one| one.0).ok()?;
        self.under_way.remove(place).map(|one| one.1)
    }
}

/// The server's datagram with the ECN field with which it arrived: queues mark the packet.
fn arrived(packet: &Packet) -> Option<ServerDatagram> {
    let Content::Quic(datagram) = &packet.content else { return None };
    Some(ServerDatagram { ecn: packet.ecn, ..*datagram })
}

impl FlowEnds for Quic {
    fn server_deadline(&self) -> Option<Instant> {
        let observation = (!self.sender.is_finished()).then_some(self.state.next());
        Instant::first_of([self.sender.next_deadline(), self.stop, observation])
    }

    fn on_server_deadline(&mut self, now: Instant, log: &mut Recorder) {
        if self.stop.is_some_and(|stop| stop <= now) {
            self.stop = None;
            self.sender.stop();
        }
        if self.state.take_due(now) {
            self.observe(now, log);
        }
        self.sender.on_deadline(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let datagram = self.sender.poll_transmit(now)?;
        let packet = Packet::new(self.flow, datagram.wire_size(), Content::Quic(datagram));
        Some(Packet { ecn: datagram.ecn, ..packet })
    }

    fn on_arrival(&mut self, now: Instant, packet: &Packet, log: &mut Recorder) {
        let Some(datagram) = arrived(packet) else { return };
        self.receiver.on_datagram(now, &datagram);
        let received = self.receiver.received();
        log.payload(self.flow, received.saturating_sub(self.received));
        self.received = received;
    }

    fn client_deadline(&self) -> Option<Instant> {
        if self.returned == 0 {
            return Some(self.start);
        }
        self.receiver.next_deadline()
    }

    fn on_client_deadline(&mut self, now: Instant, _log: &mut Recorder) {
        self.receiver.on_deadline(now);
    }

    fn poll_return(&mut self, now: Instant) -> Option<Packet> {
        // The receiver would open the connection at once.
        let datagram = (now >= self.start).then(|| self.receiver.poll_transmit(now))??;
        let (number, size) = (self.returned, datagram.wire_size());
        self.returned += 1;
        let spin = datagram.seen_spin();
        self.under_way.push_back((number, datagram));
        Some(Packet::back(self.flow, size, Content::QuicReturn(number, spin)))
    }

    fn on_return(&mut self, now: Instant, packet: &Packet, _log: &mut Recorder) {
        let Content::QuicReturn(number, _) = packet.content else { return };
        if let Some(datagram) = self.take(number) {
            self.sender.on_datagram(now, &datagram);
        }
    }

    fn on_gone(&mut self, packet: &Packet, _log: &mut Recorder) {
        if let Content::QuicReturn(number, _) = packet.content {
            self.take(number);
        }
    }
}
