//! A sender alone: its window is fixed, each segment of its peer is written by hand, and what its congestion control is told
//! is kept.

use gameway_tcp::{
    AckEvent, CongestionControl, Flags, LostSegment, SackBlock, Segment, Sender, SenderConfig,
    TimeoutEvent,
};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::sync::{Arc, Mutex};

pub const MSS: u64 = 1448;

pub const fn at(micros: i64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

/// What a congestion control was told, in this order.
#[derive(Debug, Clone, Copy)]
pub enum Told {
    Ack(AckEvent),
    Lost(LostSegment),
    Congestion(Bytes),
    Timeout(TimeoutEvent),
    Spurious,
    Start(Option<Duration>),
}

/// A window of so many segments, and perhaps less after congestion, whatever else it is told.
#[derive(Debug, Clone)]
pub struct Fixed {
    segments: u64,
    threshold: Bytes,
    pace: Option<Rate>,
    /// The window after congestion.
    lowered: u64,
    told: Arc<Mutex<Vec<Told>>>,
}

impl Fixed {
    pub fn new(segments: u64) -> Self {
        Self {
            segments,
            threshold: Bytes::MAX,
            pace: None,
            lowered: segments,
            told: Arc::default(),
        }
    }

    /// Past slow start.
    pub fn avoiding(segments: u64) -> Self {
        Self::new(segments).with_threshold(Bytes::new(segments * MSS))
    }

    pub fn with_threshold(self, threshold: Bytes) -> Self {
        Self { threshold, ..self }
    }

    pub fn lowered_to(self, lowered: u64) -> Self {
        Self { lowered, ..self }
    }

    pub fn paced(self, pace: Option<Rate>) -> Self {
        Self { pace, ..self }
    }

    fn keep(&self, told: Told) {
        self.told.lock().expect("one thread").push(told);
    }
}

impl CongestionControl for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn on_ack(&mut self, ack: &AckEvent) {
        self.keep(Told::Ack(*ack));
    }
    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.keep(Told::Lost(*lost));
    }
    fn on_congestion_event(&mut self, _now: Instant, in_flight: Bytes) {
        self.keep(Told::Congestion(in_flight));
        self.segments = self.lowered;
    }
    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        self.keep(Told::Timeout(*timeout));
    }
    fn on_spurious_loss(&mut self, _now: Instant) {
        self.keep(Told::Spurious);
    }
    fn on_transmit_start(&mut self, _now: Instant, idle: Option<Duration>) {
        self.keep(Told::Start(idle));
    }
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.segments * MSS)
    }
    fn ssthresh(&self) -> Bytes {
        self.threshold
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }
}

/// The sender, and what its peer says besides acknowledging.
pub struct Script {
    pub sender: Sender,
    told: Arc<Mutex<Vec<Told>>>,
    /// How many bytes the peer takes from now on: the right edge of its window, in bytes of the stream.
    pub edge: u64,
    /// When what the next ACK echoes left.
    pub echo: Instant,
    /// Whether ACKs echo a mark.
    pub ece: bool,
}

/// Windows are told in eights: a segment has 181 of them.
const SCALE: u8 = 3;

impl Script {
    /// Connected over 20 ms at 20 ms; nothing has left yet.
    pub fn new(config: SenderConfig, congestion: Fixed) -> Self {
        Self::over(Duration::from_millis(20), config, congestion)
    }

    /// The peer takes no more than so many segments for now.
    pub fn to_narrow(edge: u64, config: SenderConfig, congestion: Fixed) -> Self {
        Self::opened(Duration::from_millis(20), edge * MSS, config, congestion)
    }

    /// Connected at 20 ms.
    pub fn over(rtt: Duration, config: SenderConfig, congestion: Fixed) -> Self {
        Self::opened(rtt, u64::from(u16::MAX) << SCALE, config, congestion)
    }

    fn opened(rtt: Duration, edge: u64, config: SenderConfig, congestion: Fixed) -> Self {
        let told = Arc::clone(&congestion.told);
        let mut sender = Sender::new(config, Box::new(congestion));
        // Classic ECN, if the sender wants it.
        let flags = Flags { syn: true, ..Flags::default() }.with_ecn(0b011);
        let window = u16::try_from(edge).unwrap_or(u16::MAX);
        let syn = Segment { flags, window, window_scale: SCALE, ..Segment::default() };
        sender.on_segment(at(20_000) - rtt, &syn);
        sender.poll_transmit(at(20_000) - rtt).expect("SYN-ACK");
        let mut script = Self { sender, told, edge, echo: at(20_000) - rtt, ece: false };
        script.ack(20_000, 0, &[]);
        script.told();
        script.echo = at(20_000);
        script
    }

    /// What leaves now, with what is due.
    pub fn sent(&mut self, micros: i64) -> Vec<Segment> {
        self.sender.on_deadline(at(micros));
        std::iter::from_fn(|| self.sender.poll_transmit(at(micros))).collect()
    }

    /// The places of the segments that leave now.
    pub fn places(&mut self, micros: i64) -> Vec<u64> {
        self.sent(micros).iter().map(|segment| segment.sequence / MSS).collect()
    }

    /// An ACK of that many segments and of these runs behind them; returns it.
    pub fn ack(&mut self, micros: i64, of: u64, runs: &[(u64, u64)]) -> Segment {
        self.acknowledge(micros, of * MSS, runs)
    }

    /// The same, in bytes.
    pub fn acknowledge(&mut self, micros: i64, to: u64, runs: &[(u64, u64)]) -> Segment {
        let mut ack = Segment {
            flags: Flags { ack: true, ece: self.ece, ..Flags::default() },
            acknowledgment: to,
            window: (self.edge.saturating_sub(to) >> SCALE) as u16,
            timestamp_value: at(micros),
            timestamp_echo: self.echo,
            ..Segment::default()
        };
        for (start, end) in runs {
            ack.sack.push(SackBlock { start: start * MSS, end: end * MSS });
        }
        self.sender.on_segment(at(micros), &ack);
        ack
    }

    /// What the congestion control was told since.
    pub fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told.lock().expect("one thread"))
    }

    /// The one ACK of which it was told since.
    pub fn told_of_ack(&mut self) -> AckEvent {
        let acks: Vec<AckEvent> = self
            .told()
            .into_iter()
            .filter_map(|told| if let Told::Ack(ack) = told { Some(ack) } else { None })
            .collect();
        assert_eq!(acks.len(), 1);
        acks[0]
    }
}
