//! The serving end: accepts the connection, sends the stream, repairs it.
//!
//! Source: RFC 9293 section 3.10, RFC 6675 (recovery), RFC 9937 (PRR), RFC 6298 (time-out),
//! RFC 8985 section 7 (tail-loss probe), RFC 4015 (Eifel response). Marks: [`crate::ecn`]; what RACK goes by:
//! [`crate::rack`].
//! Model: [`acknowledge`] digests ACKs, [`transmit`] chooses the next segment, [`timers`] holds the
//! deadlines; this module holds the state that they share.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | reordering window | a quarter of the smallest RTT, at most a smoothed one; in recovery and from three segments behind a gap on none, unless segments were reordered before | RFC 8985 section 6.2; Linux `tcp_rack_reo_wnd` |
//! | its timer | 2 ms later | Linux `tcp_rack_mark_lost` |
//! | tail probe | 2 smoothed RTTs + 2 ms; + 200 ms if one segment is out | RFC 8985 section 7.2; Linux `tcp_schedule_loss_probe` |
//!
//! | Deviation | Why |
//! |---|---|
//! | losses are found by RFC 6675 and by RACK's rule, whichever is first | as Linux, which ends RACK's wait at DupThresh; where windows are small three segments behind a loss are long in coming |
//! | on a path that was seen to reorder, RACK's rule is for a transfer's tail only | Linux widens its window by what D-SACK tells; here DupThresh is raised |
//! | a spurious recovery or time-out is found by timestamps (Eifel) at once; F-RTO and D-SACK are not there | timestamps are always there |
//! | limited transmit is what RFC 6675's pipe does by itself | selectively acknowledged bytes leave the pipe |
//! | a second loss of a retransmission does not lower the window again | as Linux |
//! | a burst leaves as segments, without offload or a qdisc below | the simulated link serves packets |
//! | where nothing is out, a cut segment leaves at once | Linux lets it wait for the persist timer; its peer never lets a window be less than two segments |
//! | what is sent again has no PSH | in Linux, too, where it leaves one by one, as it mostly does |
//! | reneging of SACK is not expected | the peer is this crate's receiver |

mod acknowledge;
mod timers;
mod transmit;

use crate::application::{Application, Writer};
use crate::congestion::{CongestionControl, Phase};
use crate::delivery_rate::DeliveryRate;
use crate::ecn::{EcnMode, EcnSender};
use crate::pacer::Pacer;
use crate::prr::ProportionalRateReduction;
use crate::rack::Rack;
use crate::rtt::{RtoFloor, RttEstimator};
use crate::scoreboard::Scoreboard;
use crate::segment::{MAX_SCALE, MAXIMUM_SEGMENT_SIZE, Segment};
use crate::window_usage::WindowUsage;
use gameway_units::{Bytes, Duration, Instant, Rate};
use timers::Timers;
use transmit::Departing;

/// Options of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderConfig {
    /// What the application sends.
    pub application: Application,
    /// Payload of a full segment.
    pub segment_size: u32,
    /// Floor of the time-out: Linux's by default.
    pub rto_floor: RtoFloor,
    /// Whether to send tail-loss probes, as Linux does.
    pub tail_loss_probe: bool,
    /// The best ECN to agree to if the receiver asks for it.
    pub ecn: EcnMode,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            application: Application::default(),
            segment_size: MAXIMUM_SEGMENT_SIZE,
            rto_floor: RtoFloor::default(),
            tail_loss_probe: true,
            ecn: EcnMode::Off,
        }
    }
}

impl SenderConfig {
    /// Whether a part of a segment waits (Nagle): servers of HTTP set TCP_NODELAY (nginx: `tcp_nodelay`).
    const fn is_nagle_on(&self) -> bool {
        !self.application.on_demand
    }
}

/// What a sender has done so far, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SenderStats {
    /// Payload acknowledged cumulatively.
    pub acknowledged: Bytes,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Retransmissions, tail-loss probes of old data included.
    pub retransmissions: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// Recoveries entered, those on ECN marks included.
    pub recoveries: u64,
    /// Packets known to have arrived with a mark; only accurate ECN tells.
    pub marked_packets: u64,
    /// Recoveries and time-outs that proved spurious.
    pub spurious: u64,
    /// Tail-loss probes.
    pub tail_probes: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Duration>,
    /// Smallest RTT.
    pub min_rtt: Option<Duration>,
    /// Retransmission time-out now.
    pub rto: Duration,
    /// Window in force: of the congestion control, or of the recovery.
    pub window: Bytes,
    /// Window of the receiver, as it announced it last.
    pub announced: Bytes,
    /// Window of the congestion control.
    pub cwnd: Bytes,
    /// Slow-start threshold.
    pub ssthresh: Bytes,
    /// Pacing rate, if it paces.
    pub pacing_rate: Option<Rate>,
    /// In flight.
    pub in_flight: Bytes,
    /// The present phase.
    pub phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Listen,
    SynReceived,
    Established,
    Finished,
}

/// A tail-loss probe that is not yet answered.
#[derive(Debug, Clone, Copy)]
struct TailProbe {
    end: u64,
    sent: Instant,
    retransmission: bool,
}

/// Segments to send before anything else.
#[derive(Debug, Clone, Copy, Default)]
struct Pending {
    syn_ack: bool,
    tail_probe: bool,
    window_probe: bool,
}

/// The sending endpoint.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    congestion: Box<dyn CongestionControl>,
    state: State,
    writer: Writer,
    board: Scoreboard,
    rate: DeliveryRate,
    rtt: RttEstimator,
    pacer: Pacer,
    /// Behind the last segment that was not full: Linux `snd_sml`.
    small_end: u64,
    departing: Departing,
    usage: WindowUsage,
    prr: ProportionalRateReduction,
    timers: Timers,
    pending: Pending,
    ecn: EcnSender,
    /// First unacknowledged offset, next new offset, right edge of the receiver's window.
    acknowledged: u64,
    next: u64,
    right_edge: u64,
    /// Shift of the receiver's windows (RFC 7323 section 2.2).
    peer_scale: u8,
    phase: Phase,
    recovery_point: u64,
    /// Whether a mark, and no loss, began the recovery: that proves never spurious.
    recovery_on_mark: bool,
    rack: Rack,
    tail_probe: Option<TailProbe>,
    /// Time-outs since the last progress.
    timeouts_in_a_row: u32,
    total_lost: u64,
    last_sent: Instant,
    syn_acks: u32,
    syn_ack_sent: Instant,
    peer_timestamp: Instant,
    stats: SenderStats,
}

impl Sender {
    /// A sender that waits for the SYN.
    #[must_use]
    pub fn new(config: SenderConfig, congestion: Box<dyn CongestionControl>) -> Self {
        let config = SenderConfig { segment_size: config.segment_size.max(1), ..config };
        Self {
            congestion,
            state: State::Listen,
            writer: Writer::new(config.application),
            board: Scoreboard::new(config.segment_size),
            rate: DeliveryRate::default(),
            rtt: RttEstimator::new(config.rto_floor),
            pacer: Pacer::default(),
            small_end: 0,
            departing: Departing::default(),
            usage: WindowUsage::default(),
            prr: ProportionalRateReduction::default(),
            timers: Timers::default(),
            pending: Pending::default(),
            ecn: EcnSender::default(),
            acknowledged: 0,
            next: 0,
            right_edge: 0,
            peer_scale: 0,
            phase: Phase::Open,
            recovery_point: 0,
            recovery_on_mark: false,
            rack: Rack::default(),
            tail_probe: None,
            timeouts_in_a_row: 0,
            total_lost: 0,
            last_sent: Instant::ZERO,
            syn_acks: 0,
            syn_ack_sent: Instant::ZERO,
            peer_timestamp: Instant::ZERO,
            stats: SenderStats::default(),
            config,
        }
    }

    /// A segment from the receiver has arrived. Then poll.
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::SynReceived | State::Established if segment.flags.rst => self.on_reset(),
            State::Listen if segment.flags.syn && !segment.flags.ack => self.on_syn(segment),
            State::SynReceived if segment.flags.syn => {
                self.ecn.on_repeated_syn(segment);
                self.pending.syn_ack = true;
            }
            State::SynReceived if segment.flags.ack => {
                self.ecn.on_established(segment);
                self.establish(now);
                self.on_ack(now, segment);
            }
            State::Established if segment.flags.ack && !segment.flags.syn => {
                self.on_ack(now, segment);
            }
            _ => {}
        }
    }

    /// RFC 9293 section 3.10.7: nothing more is sent or repaired.
    fn on_reset(&mut self) {
        self.state = State::Finished;
        self.timers = Timers::default();
        self.pending = Pending::default();
    }

    fn on_syn(&mut self, syn: &Segment) {
        self.state = State::SynReceived;
        self.pending.syn_ack = true;
        self.right_edge = u64::from(syn.window);
        self.peer_scale = syn.window_scale.min(MAX_SCALE);
        self.peer_timestamp = syn.timestamp_value;
        self.ecn.on_syn(syn, self.config.ecn, self.congestion.codepoint());
    }

    fn syn_ack(&mut self, now: Instant) -> Segment {
        if self.syn_acks > 0 {
            self.rtt.back_off();
        }
        self.syn_acks += 1;
        self.syn_ack_sent = now;
        self.timers.retransmission = Some(now.saturating_add(self.rtt.timeout()));
        Segment {
            flags: self.ecn.syn_ack_flags(),
            window: u16::MAX,
            timestamp_value: now,
            timestamp_echo: self.peer_timestamp,
            ..Segment::default()
        }
    }

    fn establish(&mut self, now: Instant) {
        self.state = State::Established;
        self.timers = Timers::default();
        self.rtt.on_progress();
        let rtt = (self.syn_acks == 1).then(|| now.saturating_since(self.syn_ack_sent));
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt);
        }
        self.writer.start(now);
        self.last_sent = now;
        self.congestion.on_established(now, rtt);
    }

    /// The application writes `amount` bytes, whatever kind of application it is; then poll.
    pub fn write(&mut self, amount: Bytes) {
        self.writer.add(amount.get());
    }

    /// The application stops: what is in the socket buffer still leaves, then FIN. An application
    /// without rate limit has nothing in the buffer: what has been sent once is all.
    pub fn stop(&mut self, _now: Instant) {
        self.writer.stop(self.next);
    }

    /// Whether all data and the FIN are acknowledged, or the receiver has reset the connection.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.state == State::Finished
    }

    fn fin_is_acknowledged(&self) -> bool {
        self.writer.end().is_some_and(|end| self.acknowledged > end)
    }

    /// Bytes that may be in flight now.
    fn window(&self) -> u64 {
        if self.phase == Phase::Recovery && !self.congestion.regulates_recovery() {
            self.prr.window()
        } else {
            self.congestion.cwnd().get()
        }
    }

    /// Counters and the present state.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        SenderStats {
            acknowledged: Bytes::new(self.acknowledged - u64::from(self.fin_is_acknowledged())),
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.minimum(),
            rto: self.rtt.timeout(),
            window: Bytes::new(self.window()),
            announced: Bytes::new(self.right_edge.saturating_sub(self.acknowledged)),
            cwnd: self.congestion.cwnd(),
            ssthresh: self.congestion.ssthresh(),
            pacing_rate: self.congestion.pacing_rate(),
            in_flight: Bytes::new(self.board.in_flight()),
            phase: self.phase,
            ..self.stats
        }
    }

    /// The congestion control, for its name and state.
    #[must_use]
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        &*self.congestion
    }

    /// A segment of this side with the header fields that are always the same.
    fn segment(&self, now: Instant, sequence: u64, length: u32) -> Segment {
        Segment {
            flags: self.ecn.flags(),
            sequence,
            length,
            window: u16::MAX,
            timestamp_value: now,
            timestamp_echo: self.peer_timestamp,
            ..Segment::default()
        }
    }
}
