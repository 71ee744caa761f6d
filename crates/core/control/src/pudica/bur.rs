//! The bandwidth utilization ratio of a frame (Pudica 4.1, eq. 1 and 3 to 5).
//!
//! A frame passes two stages. It is *complete* when its last packet has arrived; that gives the ratio of
//! the frame alone. It is *final* when its probes have been heard of too; that gives the corrected ratio.
//!
//! | Case | Rule |
//! |---|---|
//! | last packet lost | complete when all packets are accounted for, or a later frame is complete; the last packet that arrived counts |
//! | nothing arrived | no ratio |
//! | probes lost or not sent | final when a later frame is complete |
//! | negative ratio (clock jump) | zero |
//! | a frame in parts whose encoder took longer than the pacer | begun so long before its last packet as the pacer takes: what its own sender was late is nobody else's load |

use crate::{FrameId, FrameReceived, FrameSent, PacketKind, PacketReport, SentPacket};
use gameway_units::{Bytes, Duration, Instant, Rate, ReceiverInstant};
use std::collections::VecDeque;

/// Bound on frames in flight: half a minute at 60 frames/s. Older ones are given up.
const MAX_FRAMES: usize = 2_048;
/// Bound on probe packets per frame.
pub(super) const MAX_PROBES: usize = 16;

/// When and after what one-way delay (with the clocks' offset) a probe packet arrived.
#[derive(Debug, Clone, Copy, Default)]
struct ProbeArrival {
    arrival: ReceiverInstant,
    one_way_delay: Duration,
}

/// A frame on its way.
#[derive(Debug, Clone)]
pub(super) struct FrameInFlight {
    pub(super) frame: FrameId,
    pub(super) target: Rate,
    pub(super) size: Bytes,
    /// Until the next frame.
    interval: Duration,
    /// `None` until it is encoded.
    packets: Option<u32>,
    /// How many probes were asked for, and their distance.
    probes_asked: u32,
    probe_gap: Duration,
    pub(super) first_sent: Option<Instant>,
    /// The first arrival, and all bytes received up to and including that packet.
    pub(super) first_arrival: Option<(ReceiverInstant, Bytes)>,
    pub(super) last_arrival: Option<ReceiverInstant>,
    received: u32,
    lost: u32,
    last_packet_arrived: bool,
    probes: [ProbeArrival; MAX_PROBES],
    probes_arrived: usize,
    probes_lost: u32,
    complete: bool,
    /// The receiver was said to have all of it.
    told: bool,
    /// The pacer's time for it, if its first packets left while it was being encoded.
    in_parts: Option<Duration>,
    /// Whether its last packet left.
    left: bool,
}

impl FrameInFlight {
    fn new(sent: &FrameSent, probes_asked: u32, probe_gap: Duration) -> Self {
        Self {
            frame: sent.frame,
            target: sent.target,
            size: sent.size,
            interval: Duration::ZERO,
            packets: Some(sent.packets),
            probes_asked,
            probe_gap,
            first_sent: None,
            first_arrival: None,
            last_arrival: None,
            received: 0,
            lost: 0,
            last_packet_arrived: false,
            probes: [ProbeArrival::default(); MAX_PROBES],
            probes_arrived: 0,
            probes_lost: 0,
            complete: false,
            told: false,
            in_parts: None,
            left: false,
        }
    }

    /// A frame of which a packet leaves before it is encoded.
    fn begun(packet: &SentPacket, spread: Duration) -> Self {
        let empty = FrameSent::new(packet.frame, Rate::ZERO, Bytes::ZERO, 0);
        let in_parts = Some(spread);
        Self { packets: None, in_parts, ..Self::new(&empty, 0, Duration::ZERO) }
    }

    fn is_being_encoded(&self) -> bool {
        self.packets.is_none()
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        let begun = *self.first_sent.get_or_insert(packet.sent);
        if let (true, Some(spread)) = (packet.last_of_frame, self.in_parts) {
            self.first_sent = Some(begun.max(packet.sent.saturating_sub(spread)));
        }
        self.left |= packet.last_of_frame;
    }

    fn accounted_for(&self) -> bool {
        let heard_of = self.received.saturating_add(self.lost);
        let all_heard_of = self.packets.is_some_and(|packets| heard_of >= packets.max(1));
        self.last_packet_arrived || all_heard_of
    }

    fn probes_accounted_for(&self) -> bool {
        let heard = u32::try_from(self.probes_arrived).unwrap_or(u32::MAX);
        heard.saturating_add(self.probes_lost) >= self.probes_asked
    }

    fn record(&mut self, report: &PacketReport, received_bytes: Bytes) {
        let packet = &report.packet;
        match (packet.kind, report.arrival) {
            (PacketKind::Media | PacketKind::Repair, Some(arrival)) => {
                self.received = self.received.saturating_add(1);
                self.first_arrival.get_or_insert((arrival, received_bytes));
                self.last_arrival =
                    Some(self.last_arrival.map_or(arrival, |last| last.max(arrival)));
                self.first_sent.get_or_insert(packet.sent);
                self.last_packet_arrived |= packet.last_of_frame;
            }
            (PacketKind::Media | PacketKind::Repair, None) => {
                self.lost = self.lost.saturating_add(1);
            }
            (PacketKind::Probe, Some(arrival)) => {
                let one_way_delay = arrival.one_way_delay_since(packet.sent);
                if let Some(place) = self.probes.get_mut(self.probes_arrived) {
                    *place = ProbeArrival { arrival, one_way_delay };
                    self.probes_arrived += 1;
                }
            }
            (PacketKind::Probe, None) => self.probes_lost = self.probes_lost.saturating_add(1),
            (PacketKind::Padding | PacketKind::Retransmission, _) => {}
        }
    }

    /// Eq. 1: the share of the frame interval for which this frame kept the bottleneck busy.
    pub(super) fn ratio(&self, min_delay: Duration) -> Option<f64> {
        let delay = self.last_arrival?.one_way_delay_since(self.first_sent?);
        let busy = delay.saturating_sub(min_delay).max(Duration::ZERO);
        Some(busy / self.interval)
    }

    /// What its first packet that arrived took, with the clocks' offset.
    pub(super) fn first_delay(&self) -> Option<Duration> {
        let (arrival, _) = self.first_arrival?;
        Some(arrival.one_way_delay_since(self.first_sent?))
    }

    /// Eq. 4, 5: how much more of the frame interval other flows kept the bottleneck busy, as the probes
    /// felt it.
    pub(super) fn correction(&self, min_delay: Duration) -> f64 {
        let Some(last_arrival) = self.last_arrival else { return 0.0 };
        let mut waited = Duration::ZERO;
        for probe in &self.probes[..self.probes_arrived] {
            let queued = probe.one_way_delay.saturating_sub(min_delay);
            let after_frame = probe.arrival.saturating_since(last_arrival);
            let wait = queued.min(after_frame).min(self.probe_gap);
            waited = waited.saturating_add(wait.max(Duration::ZERO));
        }
        waited / self.interval
    }

    /// The bitrate that frames of its size have.
    pub(super) fn bitrate(&self) -> Rate {
        self.size / self.interval
    }
}

/// What has become of the oldest frames.
#[derive(Debug, Clone)]
pub(super) enum Progress {
    /// This frame's last packet has arrived; its probes may still come.
    Complete(FrameInFlight),
    /// This frame will not change any more, and is forgotten.
    Final(FrameInFlight),
}

/// The frames on their way, oldest first.
#[derive(Debug, Clone)]
pub(super) struct Frames {
    frames: VecDeque<FrameInFlight>,
    /// The newest frame that is accounted for; all before it are complete by force.
    newest_complete: Option<FrameId>,
    received_bytes: Bytes,
    /// From frame to frame.
    interval: Duration,
}

impl Frames {
    pub(super) fn new(interval: Duration) -> Self {
        let frames = VecDeque::with_capacity(64);
        Self { frames, newest_complete: None, received_bytes: Bytes::ZERO, interval }
    }

    /// Frames come at this interval from now on; gives it, above zero.
    pub(super) fn set_interval(&mut self, interval: Duration) -> Duration {
        self.interval = interval.max(Duration::from_nanos(1));
        self.interval
    }

    /// A frame was encoded; numbers must grow, others are ignored.
    pub(super) fn on_frame(&mut self, sent: &FrameSent, probes: u32, probe_gap: Duration) {
        if let Some(begun) = self.frames.back_mut().filter(|newest| newest.frame == sent.frame)
            && begun.is_being_encoded()
        {
            (begun.target, begun.size) = (sent.target, sent.size);
            begun.packets = Some(sent.packets);
            (begun.probes_asked, begun.probe_gap) = (probes, probe_gap);
            return;
        }
        if self.frames.back().is_some_and(|newest| newest.frame >= sent.frame) {
            return;
        }
        self.push(FrameInFlight::new(sent, probes, probe_gap));
    }

    /// A packet left; its frame takes the pacer so long.
    pub(super) fn on_sent(&mut self, packet: &SentPacket, spread: Duration) {
        if !matches!(packet.kind, PacketKind::Media | PacketKind::Repair) {
            return;
        }
        if packet.first_of_frame
            && self.frames.back().is_none_or(|newest| newest.frame < packet.frame)
        {
            self.push(FrameInFlight::begun(packet, spread));
        }
        if let Some(frame) = self.find(packet.frame) {
            frame.on_sent(packet);
        }
    }

    fn push(&mut self, frame: FrameInFlight) {
        if self.frames.len() >= MAX_FRAMES {
            self.frames.pop_front();
        }
        self.frames.push_back(FrameInFlight { interval: self.interval, ..frame });
    }

    /// Notes a report. Packets of forgotten frames count for the receiving rate only.
    pub(super) fn record(&mut self, report: &PacketReport) {
        if report.arrival.is_some() {
            self.received_bytes = self.received_bytes.saturating_add(report.packet.size);
        }
        let received_bytes = self.received_bytes;
        let Some(frame) = self.find(report.packet.frame) else { return };
        frame.record(report, received_bytes);
        if frame.accounted_for() && !frame.complete {
            let id = frame.frame;
            self.newest_complete = Some(self.newest_complete.map_or(id, |newest| newest.max(id)));
        }
    }

    /// The receiver has all of a frame: what is known of it then, once, unless its packets were reported already.
    pub(super) fn on_received(&mut self, received: &FrameReceived) -> Option<FrameInFlight> {
        let frame = self.find(received.frame)?;
        if frame.complete || frame.accounted_for() || std::mem::replace(&mut frame.told, true) {
            return None;
        }
        let last_arrival = Some(received.arrival);
        Some(FrameInFlight {
            first_sent: frame.first_sent.or(Some(received.first_sent)),
            last_arrival,
            ..frame.clone()
        })
    }

    /// The next frame whose state has changed, in the order of frames; call until it gives `None`.
    pub(super) fn progress(&mut self) -> Option<Progress> {
        let newest = self.newest_complete?;
        let oldest = self.frames.front_mut().filter(|frame| frame.frame <= newest)?;
        if !oldest.complete {
            oldest.complete = true;
            return Some(Progress::Complete(oldest.clone()));
        }
        let done = oldest.frame < newest || oldest.probes_accounted_for();
        if done { self.frames.pop_front().map(Progress::Final) } else { None }
    }

    /// The oldest frame of which something was sent and that is not complete.
    pub(super) fn oldest_unacknowledged(&self) -> Option<(FrameId, Instant)> {
        let is_open = |frame: &FrameInFlight| frame.in_parts.is_some() && !frame.left;
        let mut frames = self.frames.iter();
        let frame = frames.find(|frame| !frame.complete && !frame.told && !is_open(frame))?;
        frame.first_sent.map(|sent| (frame.frame, sent))
    }

    /// All bytes received so far.
    pub(super) fn received_bytes(&self) -> Bytes {
        self.received_bytes
    }

    fn find(&mut self, id: FrameId) -> Option<&mut FrameInFlight> {
        // Numbers are nearly always consecutive: the distance from the oldest is the index.
        let oldest = self.frames.front()?.frame.0;
        let guess = usize::try_from(id.0.checked_sub(oldest)?).ok()?;
        let index = match self.frames.get(guess) {
            Some(frame) if frame.frame == id => guess,
            _ => self.frames.binary_search_by_key(&id, |frame| frame.frame).ok()?,
        };
        self.frames.get_mut(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SequenceNumber;

    const L: Duration = Duration::from_millis(16);

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn sent(frame: u64, packets: u32) -> FrameSent {
        let size = Bytes::new(1_000) * u64::from(packets);
        FrameSent::new(FrameId(frame), Rate::from_mbps(5), size, packets)
    }

    fn report(frame: u64, kind: PacketKind, times: (i64, Option<i64>), last: bool) -> PacketReport {
        let packet =
            SentPacket::new(SequenceNumber(0), at(times.0), FrameId(frame), Bytes::new(1_000))
                .with_kind(kind)
                .with_last_of_frame(last);
        let arrival = times.1.map(|m| ReceiverInstant::ZERO + Duration::from_millis(m));
        PacketReport::new(packet, arrival)
    }

    fn ratio_of(progress: Option<Progress>) -> Option<f64> {
        match progress {
            Some(Progress::Complete(frame) | Progress::Final(frame)) => {
                frame.ratio(Duration::from_millis(1_010))
            }
            None => None,
        }
    }

    #[test]
    fn ratio_and_correction_by_hand() {
        // Receiver's clock is a second ahead, least delay 10 ms, probe gap 2 ms.
        let mut frames = Frames::new(L);
        let gap = Duration::from_millis(2);
        frames.on_frame(&sent(0, 2), 4, gap);
        frames.record(&report(0, PacketKind::Media, (0, Some(1_012)), false));
        frames.record(&report(0, PacketKind::Media, (6, Some(1_018)), true));
        assert_eq!(ratio_of(frames.progress()), Some(0.5)); // (18 - 0 - 10) / 16
        assert!(frames.progress().is_none());
        frames.record(&report(0, PacketKind::Probe, (7, Some(1_019)), false)); // min(2, 1, 2) = 1
        frames.record(&report(0, PacketKind::Probe, (8, Some(1_027)), false)); // min(9, 9, 2) = 2
        frames.record(&report(0, PacketKind::Probe, (10, Some(1_020)), false)); // queued 0
        frames.record(&report(0, PacketKind::Probe, (12, Some(1_017)), false)); // before the frame: 0
        let Some(Progress::Final(frame)) = frames.progress() else { panic!("not final") };
        let correction = frame.correction(Duration::from_millis(1_010));
        assert!((correction - 3.0 / 16.0).abs() < 1e-12, "{correction}");
        assert!(frames.progress().is_none());
    }

    #[test]
    fn what_its_own_encoder_was_late_is_no_load() {
        // The pacer's time is 8 ms; the last of four packets leaves 8 ms after the first, or 14 ms.
        for (last_left, begun) in [(8, 0), (14, 6)] {
            let mut frames = Frames::new(L);
            let spread = Duration::from_millis(8);
            let arrives = |left: i64| (left, Some(1_010 + left));
            let packet = |left: i64, last: bool| {
                let one = report(0, PacketKind::Media, arrives(left), last).packet;
                one.with_first_of_frame(left == 0)
            };
            frames.on_sent(&packet(0, false), spread);
            frames.on_sent(&packet(2, false), spread);
            frames.record(&report(0, PacketKind::Media, arrives(0), false));
            assert!(frames.progress().is_none() && frames.oldest_unacknowledged().is_none());
            frames.on_frame(&sent(0, 4), 0, Duration::ZERO);
            frames.on_sent(&packet(4, false), spread);
            assert!(frames.oldest_unacknowledged().is_none(), "its last has not left");
            frames.on_sent(&packet(last_left, true), spread);
            assert_eq!(frames.oldest_unacknowledged(), Some((FrameId(0), at(begun))));
            for left in [2, 4, last_left] {
                frames.record(&report(0, PacketKind::Media, arrives(left), left == last_left));
            }
            let progress = frames.progress();
            let Some(Progress::Complete(frame)) = &progress else { panic!("not complete") };
            assert_eq!((frame.size, frame.target), (Bytes::new(4_000), Rate::from_mbps(5)));
            assert_eq!(ratio_of(progress), Some(0.5));
        }
    }

    #[test]
    fn a_lost_last_packet_is_replaced_by_the_last_that_came() {
        let mut frames = Frames::new(L);
        frames.on_frame(&sent(0, 3), 0, Duration::ZERO);
        frames.on_frame(&sent(1, 1), 0, Duration::ZERO);
        frames.record(&report(0, PacketKind::Media, (0, Some(1_014)), false));
        assert!(frames.progress().is_none());
        frames.record(&report(1, PacketKind::Media, (16, Some(1_030)), true));
        assert_eq!(ratio_of(frames.progress()), Some(0.25)); // frame 0, complete
        assert_eq!(ratio_of(frames.progress()), Some(0.25)); // frame 0, final
        assert_eq!(ratio_of(frames.progress()), Some(0.25)); // frame 1, complete
        assert_eq!(ratio_of(frames.progress()), Some(0.25)); // frame 1, final
        assert!(frames.progress().is_none());
    }

    #[test]
    fn reported_losses_complete_a_frame() {
        let mut frames = Frames::new(L);
        frames.on_frame(&sent(0, 2), 0, Duration::ZERO);
        frames.record(&report(0, PacketKind::Media, (0, Some(1_012)), false));
        frames.record(&report(0, PacketKind::Media, (4, None), true));
        assert_eq!(ratio_of(frames.progress()), Some(0.125));
    }

    #[test]
    fn a_frame_of_which_nothing_came_has_no_ratio() {
        let mut frames = Frames::new(L);
        frames.on_frame(&sent(0, 1), 0, Duration::ZERO);
        frames.record(&report(0, PacketKind::Media, (0, None), true));
        let Some(Progress::Complete(frame)) = frames.progress() else { panic!("not complete") };
        assert_eq!(frame.ratio(Duration::ZERO), None);
    }

    #[test]
    fn the_last_packet_completes_a_frame_of_which_one_is_not_heard_of() {
        let mut frames = Frames::new(L);
        frames.on_frame(&sent(0, 3), 0, Duration::ZERO);
        frames.record(&report(0, PacketKind::Media, (0, Some(1_012)), false));
        assert!(frames.progress().is_none());
        frames.record(&report(0, PacketKind::Media, (4, Some(1_014)), true));
        assert_eq!(ratio_of(frames.progress()), Some(0.25));
    }

    #[test]
    fn a_later_frame_that_is_complete_ends_the_wait_for_probes() {
        let mut frames = Frames::new(L);
        let mut seen = Vec::new();
        for frame in [0, 1] {
            frames.on_frame(&sent(frame, 1), 4, Duration::from_millis(2));
            let sent = 16 * frame as i64;
            frames.record(&report(frame, PacketKind::Media, (sent, Some(1_014 + sent)), true));
            while let Some(progress) = frames.progress() {
                seen.push(match progress {
                    Progress::Complete(one) => ("complete", one.frame.0),
                    Progress::Final(one) => ("final", one.frame.0),
                });
            }
        }
        assert_eq!(seen, [("complete", 0), ("final", 0), ("complete", 1)]);
    }

    #[test]
    fn numbers_of_frames_grow() {
        let mut frames = Frames::new(L);
        frames.on_frame(&sent(5, 1), 0, Duration::ZERO);
        let again = FrameSent::new(FrameId(5), Rate::from_mbps(9), Bytes::new(1), 7);
        frames.on_frame(&again, 0, Duration::ZERO);
        frames.on_frame(&sent(4, 1), 0, Duration::ZERO);
        // Nor does a packet begin one that is older, or one whose first packet it is not.
        for (frame, first) in [(4, true), (6, false)] {
            let packet = report(frame, PacketKind::Media, (0, None), false).packet;
            frames.on_sent(&packet.with_first_of_frame(first), Duration::ZERO);
        }
        let known: Vec<_> = frames.frames.iter().map(|one| (one.frame.0, one.target)).collect();
        assert_eq!(known, [(5, Rate::from_mbps(5))]);
    }

    #[test]
    fn the_receivers_word_counts_once_and_not_after_the_packets() {
        let told = |frame: u64| {
            let packet = report(frame, PacketKind::Media, (7, None), true).packet;
            let arrival = ReceiverInstant::ZERO + Duration::from_millis(1_022);
            FrameReceived::new(FrameId(frame), at(4), packet, arrival)
        };
        let ratio = |frame: FrameInFlight| frame.ratio(Duration::from_millis(1_010));
        let mut frames = Frames::new(L);
        assert!(frames.on_received(&told(0)).is_none());
        // What is known of its first packet is known better here.
        for (frame, begun) in [(0, 4), (1, 6)] {
            frames.on_frame(&sent(frame, 2), 0, Duration::ZERO);
            if frame == 1 {
                let first = report(frame, PacketKind::Media, (begun, None), false).packet;
                frames.on_sent(&first, Duration::ZERO);
            }
            let busy = (12 - begun) as f64 / 16.0;
            assert_eq!(frames.on_received(&told(frame)).and_then(ratio), Some(busy));
            assert!(frames.on_received(&told(frame)).is_none());
        }
        frames.on_frame(&sent(2, 1), 0, Duration::ZERO);
        frames.record(&report(2, PacketKind::Media, (0, Some(1_012)), true));
        assert!(frames.on_received(&told(2)).is_none());
    }

    #[test]
    fn numbers_of_frames_may_have_gaps() {
        let mut frames = Frames::new(L);
        for frame in [3, 5, 6] {
            frames.on_frame(&sent(frame, 1), 0, Duration::ZERO);
        }
        frames.record(&report(4, PacketKind::Media, (0, Some(1_012)), true));
        assert!(frames.progress().is_none());
        frames.record(&report(5, PacketKind::Media, (0, Some(1_012)), true));
        let complete: Vec<_> = std::iter::from_fn(|| frames.progress())
            .filter_map(|progress| match progress {
                Progress::Complete(frame) => Some((frame.frame.0, frame.last_arrival.is_some())),
                Progress::Final(_) => None,
            })
            .collect();
        assert_eq!(complete, [(3, false), (5, true)]);
    }
}
