//! One transfer over TCP in the simulator: its two ends, and the log of its state.

use crate::flow::FlowEnds;
use crate::packet::Packet;
use crate::transport_log::{SenderState, TransportLog};
use gameway_experiment::Recorder;
use gameway_path::FlowId;
use gameway_tcp::{
    Application, ConfiguredTcp, EcnMode, OnOff, ReceiveWindow, Receiver, ReceiverConfig, Sender,
    SenderConfig,
};
use gameway_units::{Bytes, Duration, Instant, Rate};

/// What a transfer is.
#[derive(Debug, Clone)]
pub struct TcpSetup {
    /// Its flow.
    pub flow: FlowId,
    /// Its congestion control.
    pub congestion_control: ConfiguredTcp,
    /// Which ECN its ends agree on.
    pub ecn: EcnMode,
    /// What the client announces.
    pub receive_window: ReceiveWindow,
    /// Payload of a full segment.
    pub segment_size: u32,
    /// When the client opens the connection.
    pub start: Instant,
    /// When the server's application stops sending.
    pub stop: Option<Instant>,
    /// How much it sends at most.
    pub bytes: Option<Bytes>,
    /// How fast its application writes at most.
    pub rate_limit: Option<Rate>,
    /// What it then writes at once.
    pub block: Option<Bytes>,
    /// Or segment by segment.
    pub on_off: Option<OnOff>,
    /// Seed of what is random in the congestion control.
    pub seed: u64,
    /// How often its state is written.
    pub observe_interval: Duration,
}

/// See the module's head.
pub struct Tcp {
    flow: FlowId,
    sender: Sender,
    receiver: Receiver,
    start: Instant,
    stop: Option<Instant>,
    state: TransportLog<2>,
    /// Stream bytes that had arrived in order when last counted.
    received: Bytes,
}

impl Tcp {
    /// A transfer.
    pub fn new(setup: TcpSetup) -> Self {
        let application = Application {
            bytes: setup.bytes,
            rate_limit: setup.rate_limit,
            block: setup.block.unwrap_or(Application::default().block),
            on_off: setup.on_off,
            ..Application::default()
        };
        let TcpSetup { ecn, receive_window, segment_size, .. } = setup;
        let config = SenderConfig { application, ecn, segment_size, ..SenderConfig::default() };
        let receive =
            ReceiverConfig { ecn, receive_window, segment_size, ..ReceiverConfig::default() };
        let congestion = setup.congestion_control.build(segment_size, setup.seed);
        Self {
            flow: setup.flow,
            sender: Sender::new(config, congestion),
            receiver: Receiver::new(receive, setup.start),
            start: setup.start,
            stop: setup.stop,
            state: TransportLog::new(
                setup.flow,
                setup.start,
                setup.observe_interval,
                ["rto", "fast-recovery"],
            ),
            received: Bytes::ZERO,
        }
    }

    /// Whether all was sent and acknowledged.
    pub fn is_finished(&self) -> bool {
        self.sender.is_finished()
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
        let counts = [stats.timeouts, stats.recoveries];
        self.state.write(now, &state, counts, log);
    }
}

impl FlowEnds for Tcp {
    fn server_deadline(&self) -> Option<Instant> {
        let observation = (!self.sender.is_finished()).then_some(self.state.next());
        Instant::first_of([self.sender.next_deadline(), self.stop, observation])
    }

    fn on_server_deadline(&mut self, now: Instant, log: &mut Recorder) {
        if self.stop.is_some_and(|stop| stop <= now) {
            self.stop = None;
            self.sender.stop(now);
        }
        if self.state.take_due(now) {
            self.observe(now, log);
        }
        self.sender.on_deadline(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let segment = self.sender.poll_transmit(now)?;
        Some(Packet::of_segment(self.flow, segment))
    }

    fn on_arrival(&mut self, now: Instant, packet: &Packet, log: &mut Recorder) {
        let Some(segment) = packet.segment() else { return };
        self.receiver.on_segment(now, &segment);
        let received = self.receiver.received();
        log.payload(self.flow, received.saturating_sub(self.received));
        self.received = received;
    }

    fn client_deadline(&self) -> Option<Instant> {
        self.receiver.next_deadline()
    }

    fn on_client_deadline(&mut self, now: Instant, _log: &mut Recorder) {
        self.receiver.on_deadline(now);
    }

    fn poll_return(&mut self, now: Instant) -> Option<Packet> {
        // The receiver would open the connection at once.
        let segment = (now >= self.start).then(|| self.receiver.poll_transmit(now))??;
        Some(Packet::back_of_segment(self.flow, segment))
    }

    fn on_return(&mut self, now: Instant, packet: &Packet, _log: &mut Recorder) {
        if let Some(segment) = packet.segment() {
            self.sender.on_segment(now, &segment);
        }
    }
}
