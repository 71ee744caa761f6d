//! The serving end: answers the handshake, sends the stream, repairs it.
//!
//! Source: RFC 9002 (loss detection, probe time-outs, congestion control), RFC 9000 section 13.4 (ECN).
//! Model: [`acknowledge`] digests ACKs, [`transmit`] chooses what leaves next, [`timers`] holds the deadlines; this
//! module holds the state that they share. Congestion controls are those of TCP, told in bytes of UDP's payload:
//! what TCP calls an offset in its stream is the count of all bytes sent, which never repeats.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | initial window | 10 datagrams | RFC 9002 section 7.2 |
//! | least window | 2 datagrams | RFC 9002 section 7.2 (kMinimumWindow) |
//! | pacing | 1.25 windows per smoothed RTT, where the congestion control has no rate of its own | RFC 9002 section 7.7 |
//! | burst | 10 datagrams, or 2 ms if that is more | RFC 9002 section 7.7 allows the initial window; quinn 0.11 and s2n-quic 1.91 have it |
//! | most in flight | 32 MiB | as much as a sender over TCP buffers here: 2.7 Gb/s at a round trip of 100 ms |
//! | probes of a time-out | 2 | RFC 9002 section 6.2.4 |
//!
//! | Deviation | Why |
//! |---|---|
//! | whether a packet was sent before a recovery is told by its number, not by its time | in virtual time an ACK and what it lets leave have the same |
//! | while an ACK ends a recovery, all that it acknowledges lets the window grow | a congestion control hears of an ACK as a whole |
//! | a loss that proves spurious is not undone | RFC 9002 has no such rule |
//! | the ACK of a packet that was judged lost counts like another one | appendix A.7 has forgotten the packet, but section 6.2.1 resets the back-off with every acknowledgement |

mod acknowledge;
mod timers;
mod transmit;

use crate::ack::EcnCounts;
use crate::datagram::{ClientContent, ClientDatagram, MAX_DATAGRAM_SIZE, StreamFrame};
use crate::persistent::PersistentCongestion;
use crate::rtt::RttEstimator;
use crate::sent::SentPackets;
use gameway_tcp::shared::{DeliveryRate, Pacer, RangeSet, WindowUsage};
use gameway_tcp::{CongestionControl, Phase};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;
use timers::Timers;
use transmit::Burst;

const MIN_WINDOW_DATAGRAMS: u64 = 2;

/// Options of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderConfig {
    /// How much it sends; endless if not given.
    pub bytes: Option<Bytes>,
    /// UDP's payload of a full datagram.
    pub max_datagram_size: u32,
    /// Whether its packets are ECN-capable.
    pub ecn: bool,
    /// How long the receiver promised to delay ACKs at most.
    pub max_ack_delay: Duration,
    /// Whether it reflects the client's spin bit.
    pub spin: bool,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            bytes: None,
            max_datagram_size: MAX_DATAGRAM_SIZE,
            ecn: true,
            max_ack_delay: crate::AckPolicy::default().max_delay,
            spin: false,
        }
    }
}

/// What a sender has done so far, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SenderStats {
    /// Stream bytes acknowledged without a gap.
    pub acknowledged: Bytes,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets judged lost.
    pub lost_packets: u64,
    /// Of these, such as arrived.
    pub spurious: u64,
    /// Packets that repeat data.
    pub retransmissions: u64,
    /// Probe time-outs.
    pub probe_timeouts: u64,
    /// Recoveries, those on marks included.
    pub recoveries: u64,
    /// Times that congestion was persistent.
    pub persistent_congestions: u64,
    /// Packets that arrived with a mark.
    pub marked_packets: u64,
    /// Whether marks are fed back as they must be.
    pub ecn: bool,
    /// Smoothed RTT.
    pub smoothed_rtt: Option<Duration>,
    /// Smallest RTT.
    pub min_rtt: Option<Duration>,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold.
    pub ssthresh: Bytes,
    /// At which rate datagrams leave.
    pub pacing_rate: Option<Rate>,
    /// In flight.
    pub in_flight: Bytes,
    /// The present phase.
    pub phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Handshake,
    Established,
    Finished,
}

/// What of the stream has arrived, and what is to be sent again.
#[derive(Debug, Clone, Default)]
struct Stream {
    /// The next new offset, and where the stream ends.
    next: u64,
    end: Option<u64>,
    fin_sent: bool,
    fin_arrived: bool,
    arrived: RangeSet,
    lost: VecDeque<StreamFrame>,
}

impl Stream {
    /// Bytes that have arrived without a gap.
    fn acknowledged(&self) -> u64 {
        self.arrived.containing(0).map_or(0, |run| run.1)
    }

    fn has_arrived(&self, frame: &StreamFrame) -> bool {
        let data = frame.length == 0
            || self.arrived.containing(frame.offset).is_some_and(|run| run.1 >= frame.end());
        data && (!frame.fin || self.fin_arrived)
    }

    fn on_arrived(&mut self, frame: &StreamFrame) {
        if frame.length > 0 {
            self.arrived.insert(frame.offset, frame.end(), |_| {});
        }
        self.fin_arrived |= frame.fin;
    }

    /// Whether all of it is acknowledged.
    fn is_done(&self) -> bool {
        self.fin_arrived && self.end.is_some_and(|end| self.acknowledged() >= end)
    }
}

/// The sending endpoint.
#[derive(Debug)]
pub struct Sender {
    config: SenderConfig,
    congestion: Box<dyn CongestionControl>,
    state: State,
    stream: Stream,
    packets: SentPackets,
    rate: DeliveryRate,
    rtt: RttEstimator,
    pacer: Pacer,
    burst: Burst,
    usage: WindowUsage,
    timers: Timers,
    persistent: PersistentCongestion,
    phase: Phase,
    /// Packets below it were sent before the present recovery.
    recovery_until: u64,
    /// Marks that were fed back, and how many packets that were ECN-capable have arrived.
    ecn: EcnCounts,
    ecn_arrived: u64,
    /// Bytes of datagrams: sent, lost, and sent with the largest packet that has arrived.
    sent_bytes: u64,
    lost_bytes: u64,
    acknowledged_bytes: u64,
    /// Datagrams to send before anything else.
    pending_handshake: bool,
    pending_probes: u32,
    /// The client's packet to acknowledge.
    to_acknowledge: Option<u64>,
    /// The largest packet number of the client, and the spin bit that it came with.
    largest: Option<u64>,
    spin: bool,
    handshakes_sent: u32,
    last_sent: Instant,
    stats: SenderStats,
}

impl Sender {
    /// A sender that waits for a client; the congestion control is for segments of the size of datagrams.
    #[must_use]
    pub fn new(config: SenderConfig, congestion: Box<dyn CongestionControl>) -> Self {
        let end = config.bytes.map(Bytes::get);
        Self {
            congestion,
            state: State::Idle,
            stream: Stream { end, ..Stream::default() },
            packets: SentPackets::default(),
            rate: DeliveryRate::default(),
            rtt: RttEstimator::new(config.max_ack_delay),
            pacer: Pacer::default(),
            burst: Burst::default(),
            usage: WindowUsage::default(),
            timers: Timers::default(),
            persistent: PersistentCongestion::default(),
            phase: Phase::Open,
            recovery_until: 0,
            ecn: EcnCounts::default(),
            ecn_arrived: 0,
            sent_bytes: 0,
            lost_bytes: 0,
            acknowledged_bytes: 0,
            pending_handshake: false,
            pending_probes: 0,
            to_acknowledge: None,
            largest: None,
            spin: false,
            handshakes_sent: 0,
            last_sent: Instant::ZERO,
            stats: SenderStats { ecn: config.ecn, ..SenderStats::default() },
            config,
        }
    }

    /// A datagram of the client has arrived. Then poll.
    pub fn on_datagram(&mut self, now: Instant, datagram: &ClientDatagram) {
        match (self.state, &datagram.content) {
            (State::Idle | State::Handshake, ClientContent::Initial) => {
                self.state = State::Handshake;
                self.pending_handshake = true;
            }
            (State::Handshake, ClientContent::Finished) => self.establish(now),
            (State::Established, ClientContent::Ack { number, frame, elicits }) => {
                // RFC 9000 section 17.4: what the packet with the largest number had.
                if Some(*number) > self.largest {
                    self.largest = Some(*number);
                    self.spin = self.config.spin && datagram.spin;
                }
                if *elicits {
                    self.to_acknowledge = self.to_acknowledge.max(Some(*number));
                }
                self.on_ack(now, frame);
            }
            _ => {}
        }
    }

    fn establish(&mut self, now: Instant) {
        self.state = State::Established;
        self.timers = Timers::default();
        let rtt = (self.handshakes_sent == 1).then(|| now.saturating_since(self.last_sent));
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt, Duration::ZERO);
            self.persistent.on_sample(now);
        }
        self.congestion.on_established(now, rtt);
    }

    /// The application stops: what has been sent once is all there is.
    pub fn stop(&mut self) {
        self.stream.end = Some(self.stream.next);
    }

    /// Whether all is acknowledged.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.state == State::Finished
    }

    /// Bytes that may be in flight.
    fn window(&self) -> u64 {
        let min = MIN_WINDOW_DATAGRAMS * u64::from(self.config.max_datagram_size);
        self.congestion.cwnd().get().max(min)
    }

    /// At which rate datagrams leave; without an RTT they are not paced.
    fn pacing_rate(&self) -> Option<Rate> {
        self.congestion.pacing_rate().or_else(|| self.rate_of_window())
    }

    /// Counters and the present state.
    #[must_use]
    pub fn stats(&self) -> SenderStats {
        SenderStats {
            acknowledged: Bytes::new(self.stream.acknowledged()),
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.minimum(),
            cwnd: Bytes::new(self.window()),
            ssthresh: self.congestion.ssthresh(),
            pacing_rate: self.pacing_rate(),
            in_flight: Bytes::new(self.packets.in_flight()),
            phase: self.phase,
            ..self.stats
        }
    }

    /// The congestion control, for its name and state.
    #[must_use]
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        &*self.congestion
    }
}
