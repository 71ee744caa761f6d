//! The contract between a game stream and its congestion controller.
//!
//! A session calls, in the order in which things happen: [`RateController::target`] before a frame is
//! encoded, [`RateController::on_frame`] after, [`RateController::on_sent`] for every packet that
//! leaves the pacer, [`RateController::on_feedback`] for every report of the receiver, and
//! [`RateController::on_timer`] when [`RateController::next_timer`] is due.

use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate, ReceiverInstant};

/// Number of a frame, counting from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FrameId(pub u64);

/// Transport-wide number of a packet of the stream, counting from zero and never wrapping: media,
/// repair, probe and padding packets share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SequenceNumber(pub u64);

/// What a packet of the stream carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// Encoded video.
    Media,
    /// Forward error correction of a frame; it counts as part of that frame's train.
    Repair,
    /// A small packet without payload, sent after the frame to sense cross-traffic (Pudica).
    Probe,
    /// Filler that a bandwidth probe asked for (GCC).
    Padding,
    /// Media that is sent again since it was lost; it is part of no train, and has a number of its own.
    Retransmission,
}

/// A packet as it left the pacer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SentPacket {
    /// Its transport-wide number.
    pub sequence: SequenceNumber,
    /// When it left.
    pub sent: Instant,
    /// Size on the wire, all headers included.
    pub size: Bytes,
    /// What it carries.
    pub kind: PacketKind,
    /// The frame that it belongs to; for a probe, the frame before it.
    pub frame: FrameId,
    /// Whether it is the first packet of its frame.
    pub first_of_frame: bool,
    /// Whether it is the last packet of its frame's train (media and repair).
    pub last_of_frame: bool,
    /// The cluster of a bandwidth probe that it serves, as given in [`ProbeCluster::id`].
    pub probe_cluster: Option<u32>,
}

impl SentPacket {
    /// A packet of encoded video, neither the first nor the last of its frame.
    #[must_use]
    pub const fn new(sequence: SequenceNumber, sent: Instant, frame: FrameId, size: Bytes) -> Self {
        Self {
            sequence,
            sent,
            size,
            kind: PacketKind::Media,
            frame,
            first_of_frame: false,
            last_of_frame: false,
            probe_cluster: None,
        }
    }

    /// The same, with something else in it.
    #[must_use]
    pub const fn with_kind(self, kind: PacketKind) -> Self {
        Self { kind, ..self }
    }

    /// The same, as the first packet of its frame, or not.
    #[must_use]
    pub const fn with_first_of_frame(self, first_of_frame: bool) -> Self {
        Self { first_of_frame, ..self }
    }

    /// The same, as the last packet of its frame's train, or not.
    #[must_use]
    pub const fn with_last_of_frame(self, last_of_frame: bool) -> Self {
        Self { last_of_frame, ..self }
    }

    /// The same, for this cluster of a bandwidth probe.
    #[must_use]
    pub const fn with_probe_cluster(self, probe_cluster: Option<u32>) -> Self {
        Self { probe_cluster, ..self }
    }
}

/// What became of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketReport {
    /// The packet as it was sent.
    pub packet: SentPacket,
    /// When it arrived, on the receiver's clock; `None` if it is taken for lost.
    pub arrival: Option<ReceiverInstant>,
    /// The ECN field with which it arrived.
    pub ecn: Ecn,
}

impl PacketReport {
    /// A packet that arrived then, not ECN-capable; `None` if it is taken for lost.
    #[must_use]
    pub const fn new(packet: SentPacket, arrival: Option<ReceiverInstant>) -> Self {
        Self { packet, arrival, ecn: Ecn::NotEct }
    }

    /// The same, having arrived with this ECN field.
    #[must_use]
    pub const fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }
}

/// One report of the receiver, joined with what was sent: each packet appears once as received or lost,
/// in order of sequence number. (A packet taken for lost may be reported once more if it arrives late.)
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct FeedbackBatch<'a> {
    /// The packets that this report tells of for the first time.
    pub reports: &'a [PacketReport],
    /// When the receiver made the report, on its clock.
    pub generated: ReceiverInstant,
    /// Bytes sent and neither reported received nor taken for lost, after this report.
    pub in_flight: Bytes,
}

impl<'a> FeedbackBatch<'a> {
    /// These reports, made at that time, after which `in_flight` bytes are in flight.
    #[must_use]
    pub const fn new(
        reports: &'a [PacketReport],
        generated: ReceiverInstant,
        in_flight: Bytes,
    ) -> Self {
        Self { reports, generated, in_flight }
    }

    /// Round-trip time at `now` without the receiver's holding time, from the newest packet received.
    #[must_use]
    pub fn round_trip_time(&self, now: Instant) -> Option<Duration> {
        let newest = self.reports.iter().rev().find(|report| report.arrival.is_some())?;
        self.round_trip_of(now, newest)
    }

    /// The least of the round-trip times of all packets received, as [`Self::round_trip_time`]: the last packet of a frame
    /// waits for those before it, the first one does not.
    #[must_use]
    pub fn min_round_trip_time(&self, now: Instant) -> Option<Duration> {
        self.reports.iter().filter_map(|report| self.round_trip_of(now, report)).min()
    }

    fn round_trip_of(&self, now: Instant, report: &PacketReport) -> Option<Duration> {
        let held = self.generated.saturating_since(report.arrival?);
        let rtt = now.saturating_since(report.packet.sent).saturating_sub(held);
        (!held.is_negative() && rtt > Duration::ZERO).then_some(rtt)
    }
}

/// A frame that was just encoded, before its packets enter the pacer (of a frame in parts, the last of them).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameSent {
    /// Its number.
    pub frame: FrameId,
    /// The target bitrate with which it was encoded.
    pub target: Rate,
    /// Its bytes on the wire: payload, repair and all headers.
    pub size: Bytes,
    /// How many packets it fills.
    pub packets: u32,
}

impl FrameSent {
    /// A frame that was encoded with this target, and its size on the wire.
    #[must_use]
    pub const fn new(frame: FrameId, target: Rate, size: Bytes, packets: u32) -> Self {
        Self { frame, target, size, packets }
    }
}

/// That the receiver has all of a frame, told ahead of the report on its packets: a browser reports on packets every
/// 60 ms or so, its page on each frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameReceived {
    /// Which frame.
    pub frame: FrameId,
    /// When its first packet left.
    pub first_sent: Instant,
    /// The last packet of its train.
    pub last: SentPacket,
    /// When the last of its packets arrived, on the clock of arrivals in reports.
    pub arrival: ReceiverInstant,
}

impl FrameReceived {
    /// A frame whose first packet left then; its last packet, and when its last arrival was.
    #[must_use]
    pub const fn new(
        frame: FrameId,
        first_sent: Instant,
        last: SentPacket,
        arrival: ReceiverInstant,
    ) -> Self {
        Self { frame, first_sent, last, arrival }
    }
}

/// How the packets of the stream are spread over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// Each frame's packets are spread evenly over the frame interval divided by this multiplier (>= 1).
    FrameMultiplier(f64),
    /// Packets leave a queue at this rate.
    Rate(Rate),
    /// The same, but in bursts: packets leave at once until what has left takes longer than this at that rate, and the next
    /// burst waits until it has. So do senders whose timers are coarse.
    Bursts {
        /// The mean rate.
        rate: Rate,
        /// A burst is over when it has taken longer.
        interval: Duration,
    },
    /// At once.
    Burst,
}

/// A train of packets to be sent at a set rate, to learn whether the path carries it (GCC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeCluster {
    /// Number of the cluster; packets sent for it carry it.
    pub id: u32,
    /// The rate at which to send.
    pub rate: Rate,
    /// Send at least this much.
    pub min_bytes: Bytes,
    /// Send at least this many packets.
    pub min_packets: u32,
}

/// What the controller wants from now on.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Target {
    /// Bitrate of the next frame, as bytes on the wire (the session subtracts headers and repair).
    pub bitrate: Rate,
    /// How to spread packets.
    pub pacing: Pacing,
    /// Do not have more than this in flight, if set: packets wait in the pacer.
    pub window: Option<Bytes>,
    /// What else it asks for.
    pub requests: Requests,
}

/// What a controller may ask of its session beside bitrate, pacing and window. Most ask for nothing, which is the default; a
/// new request is a field here, and no other controller hears of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Requests {
    /// Whether the next frame alone may have no more than its share of the bitrate (Salsify); else frames mean it over a second.
    pub bounds_frame: bool,
    /// How many payload-free probe packets follow each frame, evenly spread over what is left of the
    /// frame interval (Pudica 4.1).
    pub probes_per_frame: u32,
    /// Start this bandwidth probe now, unless one with this number has been started (GCC).
    pub probe_cluster: Option<ProbeCluster>,
    /// Encode the next frame as a key frame.
    pub key_frame: bool,
}

impl Target {
    /// A bitrate and how to spread it, and nothing else: no window and no requests.
    #[must_use]
    pub const fn new(bitrate: Rate, pacing: Pacing) -> Self {
        let requests = Requests {
            bounds_frame: false,
            probes_per_frame: 0,
            probe_cluster: None,
            key_frame: false,
        };
        Self { bitrate, pacing, window: None, requests }
    }

    /// The same with no more than this in flight.
    #[must_use]
    pub const fn with_window(self, window: Option<Bytes>) -> Self {
        Self { window, ..self }
    }

    /// The same, asking for what `ask` says.
    #[must_use]
    pub fn asking(mut self, ask: impl FnOnce(&mut Requests)) -> Self {
        ask(&mut self.requests);
        self
    }
}

/// What a controller is told beside frames, packets and reports: each is for those that make use of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A frame is captured: it is encoded with what [`RateController::target`] gives now, whatever that gives until
    /// [`RateController::on_frame`] comes.
    Captured,
    /// The receiver has all of a frame. Its packets are reported by [`RateController::on_feedback`] all the same, later; who
    /// needs to know of each packet has no use for this.
    FrameReceived(FrameReceived),
    /// RTCP's reports told a round trip (RFC 3550 section 6.4.1), without the time for which the receiver held it. Comes
    /// about once a second from receivers that send such reports; others' reports on packets say when they were made
    /// ([`FeedbackBatch::round_trip_time`]).
    RoundTrip(Duration),
    /// Frames come at this interval from the next one on, no longer at that of [`RateLimits`].
    FrameInterval(Duration),
}

/// Bounds that the application sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// Never below.
    pub min: Rate,
    /// Never above.
    pub max: Rate,
    /// With which to begin.
    pub start: Rate,
    /// Time from frame to frame.
    pub frame_interval: Duration,
}

impl RateLimits {
    /// The rate within the bounds that is nearest to `rate`; if the bounds contradict, the lower wins.
    #[must_use]
    pub fn clamp(&self, rate: Rate) -> Rate {
        rate.min(self.max).max(self.min)
    }
}

/// Which feedback an algorithm was made for; a session uses it unless the experiment says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedbackStyle {
    /// A report when a frame's last packet and when its last probe arrives.
    PerFrame,
    /// A report at this interval.
    Interval(Duration),
}

/// A congestion controller of a game stream.
///
/// No call may panic, whatever the feedback says: arrival times, order and contents come from a peer.
/// Targets stay within the [`RateLimits`] that the controller was made with (a pause below the minimum is
/// not expressible), and are a function of the calls alone: same calls, same bits.
pub trait RateController: Send {
    /// Its name in experiment files, for example "pudica".
    fn name(&self) -> &'static str;

    /// The feedback for which it was made.
    fn feedback_style(&self) -> FeedbackStyle;

    /// The ECN field with which its packets are to leave; not ECN-capable unless it reads the marks.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    /// Whether a frame's first packets may leave while the rest of it is being encoded, which saves the time that this
    /// takes. Then [`Self::on_sent`], and on a short way even [`Self::on_feedback`], may tell of packets before
    /// [`Self::on_frame`] tells of their frame, but never of its last one. Not for who reads the spread of a frame's
    /// packets as that of one train.
    fn sends_in_parts(&self) -> bool {
        false
    }

    /// A frame was encoded with the bitrate that [`Self::target`] gave when it was captured.
    fn on_frame(&mut self, now: Instant, frame: &FrameSent);

    /// A packet left the pacer.
    fn on_sent(&mut self, now: Instant, packet: &SentPacket);

    /// A report of the receiver came.
    fn on_feedback(&mut self, now: Instant, batch: &FeedbackBatch<'_>);

    /// Something happened that only some controllers need to hear of.
    fn on_notice(&mut self, _now: Instant, _notice: &Notice) {}

    /// The time given by [`Self::next_timer`] has come (or passed).
    fn on_timer(&mut self, now: Instant);

    /// When [`Self::on_timer`] wants to be called; `None` for never.
    fn next_timer(&self) -> Option<Instant>;

    /// What it wants from now on.
    fn target(&self) -> Target;

    /// Its state for the log: calls `sink` with a name (unit in the name) and a value, always the same
    /// names in the same order.
    fn observe(&self, sink: &mut dyn FnMut(&str, f64));
}

/// A controller that a file can name, by its configuration.
pub trait ControllerAlgorithm: Configuration {
    /// A controller for a stream with these limits.
    fn build(self, limits: RateLimits) -> Box<dyn RateController>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The newest packet that was received tells, and the receiver's own time is not the path's.
    #[test]
    fn a_round_trip_is_what_passed_since_the_newest_packet_less_what_the_receiver_held_it() {
        let at = |millis: i64| Instant::ZERO + Duration::from_millis(millis);
        let packet = |sent| SentPacket::new(SequenceNumber(0), at(sent), FrameId(0), Bytes::ZERO);
        let arrival = ReceiverInstant::from_nanos(7_000_000_000);
        let reports = [
            PacketReport::new(packet(60), Some(arrival)),
            PacketReport::new(packet(70), Some(arrival)),
            PacketReport::new(packet(80), None),
        ];
        let of = |held: i64| {
            let generated = arrival + Duration::from_millis(held);
            FeedbackBatch::new(&reports, generated, Bytes::ZERO).round_trip_time(at(100))
        };
        assert_eq!(of(0), Some(Duration::from_millis(30)));
        assert_eq!(of(29), Some(Duration::from_millis(1)));
        assert_eq!((of(30), of(31), of(-1)), (None, None, None));
    }
    /// Three packets at once through a link that takes 5 ms for each, on a path of 30 ms.
    #[test]
    fn the_first_packet_of_a_train_has_the_least_round_trip() {
        let at = |millis: i64| Instant::ZERO + Duration::from_millis(millis);
        let arrival = |millis: i64| ReceiverInstant::from_nanos(7_000_000_000 + millis * 1_000_000);
        let reports = [5, 10, 15].map(|arrived| {
            let packet = SentPacket::new(SequenceNumber(0), at(60), FrameId(0), Bytes::ZERO);
            PacketReport::new(packet, Some(arrival(arrived)))
        });
        let batch = FeedbackBatch::new(&reports, arrival(15), Bytes::ZERO);
        let now = at(60 + 15 + 30);
        assert_eq!(batch.round_trip_time(now), Some(Duration::from_millis(45)));
        assert_eq!(batch.min_round_trip_time(now), Some(Duration::from_millis(35)));
        assert_eq!(
            FeedbackBatch::new(&[], arrival(15), Bytes::ZERO).min_round_trip_time(now),
            None
        );
    }
}
