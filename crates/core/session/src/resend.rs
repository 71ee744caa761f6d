//! What the sender can send again, and whether it may: packets that left, by transport-wide number, without gaps.
//!
//! # Model
//! A packet that is asked for is sent again unless one of these holds: it is no media packet of a frame; a report told
//! that it, or a repetition of it, arrived; a repetition waits in the pacer, or left less than a round trip ago; it has
//! been sent again as often as is allowed; it would come when its frame is given up; or the share of the target that
//! repetitions may take is used up. A request within a round trip of a repetition was made before that one could arrive. A receiver
//! that is slow to ask again may not do so in time: its request counts once the round trip is over, unless a report tells of an arrival
//! by then. So whatever a receiver asks for, what it makes the sender send is bounded by the share, and each packet is sent a bounded
//! number of times.
//!
//! Who asks for a repetition asks for what it repeats. [`Spares`] says for which packets repair packets of their frame stand in.
//! A packet of which several copies are planned leaves once at once and the other times later, if it has not arrived by then.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | share of the target, unless a browser is stood for (`repeat_budget`) | 1/4, saved up for a second at most | in t seconds at most (t + 1)/4 of the target's bytes: losses of 10 % in bursts fit, and a frame that is lost as a whole; beyond, less must be sent, not more |
//! | sent again | 10 times | libwebrtc's NACK requester asks as often (`kMaxNackRetries`) |
//! | age | the receiver's patience and two frame intervals | the receiver counts from when it knows of the gap, later than the packet left |
//! | packets kept | 8192 | 1.5 s at 50 Mb/s |
//! | bytes kept | 8 MiB | the payloads, which a live host keeps: 0.5 s at 130 Mb/s |
//! | numbers of one message looked at | 1000 | as many as the receiver of ours keeps |
//! | frames left | 3 | of those that a frame can refer back: the one that waits for the encoder, the one in it, and the one before the packet's |
//! | window of the least round trip | 100 to 200 ms | a few reports; a queue that grows makes packets late that are asked for as lost, and one that empties is believed at once |

use crate::packet::MediaPacket;
use crate::protection::ResendPlan;
use crate::repair_code::RepairCode;
use crate::repair_time::RoundTrip;
use crate::repeat_budget::RepeatBudget;
use crate::sender_config::SenderConfig;
use crate::spares::Spares;
use gameway_control::{FeedbackBatch, FrameId, PacketKind, SequenceNumber};
use gameway_media::MAX_BACK;
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;

const MAX_REPEATED: u8 = 10;
const MAX_PACKETS: usize = 8192;
const MAX_BYTES: Bytes = Bytes::new(8 << 20);
const FRAMES_LEFT: u8 = 3;
const ROUND_TRIP_WINDOW: Duration = Duration::from_millis(100);

/// A packet that left.
#[derive(Debug, Clone, Copy)]
struct SentMedia {
    /// As it left; of a repetition the one that it repeats is what counts.
    packet: MediaPacket,
    sent: Instant,
    /// When it was repeated last.
    newest: Option<Instant>,
    repeated: u8,
    /// Whether a repetition waits in the pacer.
    waits: bool,
    arrived: bool,
    lost: bool,
    /// When it was asked for first.
    asked: Option<Instant>,
    /// Whether it was asked for since it, or what repeats it, left last.
    is_unanswered: bool,
    /// Whether a request waits until the newest repetition can have been missed.
    is_deferred: bool,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct Resend {
    base: u64,
    left: VecDeque<SentMedia>,
    bytes: Bytes,
    spares: Spares,
    /// Further copies of packets that are asked for, each with its time, in the order of these.
    copies: VecDeque<(Instant, MediaPacket)>,
    /// Requests that came too early, each with the time at which it counts, in the order of these.
    deferred: VecDeque<(Instant, SequenceNumber)>,
    frame_interval: Duration,
    /// What a packet has more when it is sent again.
    again: u16,
    round_trip: RoundTrip,
    /// The least round trip of this window and of the one before.
    min: [Option<Duration>; 2],
    window_began: Instant,
    /// Bytes that may be sent again, and since when they are counted up to.
    allowed: Bytes,
    allowed_at: Option<Instant>,
    budget: RepeatBudget,
}

impl Resend {
    /// For a stream with this frame interval, whose packets are larger by `again` when they are sent again.
    pub(crate) fn new(
        frame_interval: Duration,
        again: Bytes,
        code: RepairCode,
        budget: RepeatBudget,
    ) -> Self {
        let again = again.get() as u16;
        Self { frame_interval, again, spares: Spares::new(code), budget, ..Self::default() }
    }

    /// As a sender with this configuration has it.
    pub(crate) fn of(config: &SenderConfig) -> Self {
        let budget = RepeatBudget::of(config.repair);
        Self {
            round_trip: RoundTrip::new(config.request_interval),
            ..Self::new(config.frame_interval, config.overhead.again, config.code, budget)
        }
    }

    /// Frames come at this interval from now on.
    pub(crate) fn set_frame_interval(&mut self, frame_interval: Duration) {
        self.frame_interval = frame_interval;
    }

    /// A packet left; numbers have no gaps.
    pub(crate) fn on_sent(&mut self, now: Instant, packet: &MediaPacket) {
        assert_eq!(packet.sequence.0, self.base + self.left.len() as u64);
        if let Some(original) = packet.original
            && let Some(repeated) = self.get(original.0)
        {
            repeated.newest = Some(now);
            repeated.repeated = repeated.repeated.saturating_add(1);
            repeated.waits = false;
            repeated.is_unanswered = false;
        }
        self.budget.on_sent(now, packet.wire_size(), packet.original.is_some());
        if packet.is_train() {
            self.spares.on_sent(packet);
        }
        self.bytes += packet.wire_size();
        self.left.push_back(SentMedia {
            packet: *packet,
            sent: now,
            newest: None,
            repeated: 0,
            waits: false,
            arrived: false,
            lost: false,
            asked: None,
            is_unanswered: false,
            is_deferred: false,
        });
        while self.left.len() > MAX_PACKETS || self.bytes > MAX_BYTES {
            self.drop_oldest();
        }
    }

    /// A report told of packets; those to send again, since the parity that stood in for them is lost.
    #[must_use]
    pub(crate) fn on_reports(
        &mut self,
        now: Instant,
        batch: &FeedbackBatch<'_>,
    ) -> Vec<SequenceNumber> {
        if let Some(round_trip) = batch.round_trip_time(now) {
            self.round_trip.on_sample(round_trip);
        }
        if let Some(min) = batch.min_round_trip_time(now) {
            self.on_min_round_trip(now, min);
        }
        let mut unmended = Vec::new();
        for report in batch.reports {
            let number = report.packet.sequence.0;
            let number = self.get(number).map_or(number, |left| left_number(&left.packet));
            let Some(left) = self.get(number) else { continue };
            left.arrived |= report.arrival.is_some();
            left.lost |= report.arrival.is_none();
            if left.packet.kind == PacketKind::Repair && left.lost && !left.arrived {
                let packet = left.packet;
                unmended.extend(self.unmended_by(&packet));
            }
        }
        unmended
    }

    /// The packet for which this one stood in, if it was passed over: it counts as asked for now.
    fn unmended_by(&mut self, repair: &MediaPacket) -> Option<SequenceNumber> {
        let number = self.spares.on_parity_lost(repair)?;
        self.get(number)?.asked = None;
        Some(SequenceNumber(number))
    }

    /// The packet to send again for one that is asked for, if it may be; it then counts as waiting.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        asked: SequenceNumber,
        target: Rate,
    ) -> Option<MediaPacket> {
        self.save_up(now, target);
        if self.is_too_early(now, asked.0) {
            self.defer(asked.0);
            return None;
        }
        let number = self.stands_for(now, asked.0)?;
        let (again, max_age, allowed) = (self.again, self.max_age(), self.allowed);
        let too_early = self.is_too_early(now, number);
        let left = self.get(number)?;
        let header = left.packet.header.saturating_add(again);
        let packet = MediaPacket {
            kind: PacketKind::Retransmission,
            original: Some(SequenceNumber(number)),
            header,
            ..left.packet
        };
        let size = packet.wire_size();
        let refused = left.packet.kind != PacketKind::Media
            || left.arrived
            || left.waits
            || left.repeated >= MAX_REPEATED
            || now.saturating_since(left.sent) > max_age
            || size > allowed;
        if refused {
            return None;
        }
        if too_early {
            self.defer(number);
            return None;
        }
        left.waits = true;
        self.allowed -= size;
        Some(packet)
    }

    /// A request came while a repetition may still arrive: it counts when that can have been missed.
    fn defer(&mut self, number: u64) {
        let is_slow = self.round_trip.request_interval() > Duration::ZERO;
        let Some(min) = self.min_round_trip().filter(|_| is_slow) else { return };
        let Some(left) = self.get(number) else { return };
        let Some(newest) = left.newest.filter(|_| !left.is_deferred && !left.arrived) else {
            return;
        };
        left.is_deferred = true;
        let due = newest.saturating_add(min);
        let place = self.deferred.partition_point(|(other, _)| *other <= due);
        self.deferred.insert(place, (due, SequenceNumber(number)));
    }

    /// The next request that came too early and counts now.
    pub(crate) fn poll_deferred(&mut self, now: Instant) -> Option<SequenceNumber> {
        self.deferred.front().filter(|(due, _)| *due <= now)?;
        let (_, number) = self.deferred.pop_front()?;
        if let Some(left) = self.get(number.0) {
            left.is_deferred = false;
        }
        Some(number)
    }

    /// Whether a packet, or what repeats it, left too lately to be missed. Before a report came only the first request is
    /// believed at once.
    fn is_too_early(&mut self, now: Instant, number: u64) -> bool {
        let (min, unknown) = (self.min_round_trip(), self.round_trip.mean());
        self.get(number).is_some_and(|left| {
            let first = if left.repeated == 0 { Duration::ZERO } else { unknown };
            let since = now.saturating_since(left.newest.unwrap_or(left.sent));
            since < min.unwrap_or(first)
        })
    }

    /// The packet to send for one that is asked for; nothing where a repair packet of its frame stands in for it.
    fn stands_for(&mut self, now: Instant, asked: u64) -> Option<u64> {
        let patience = self.min_round_trip().unwrap_or_else(|| self.round_trip.mean());
        let left = self.get(asked)?;
        left.is_unanswered = true;
        let SentMedia { packet, repeated, .. } = *left;
        let first = left.asked.is_none();
        let since = now.saturating_since(*left.asked.get_or_insert(now));
        match packet.kind {
            PacketKind::Repair if first => self.spares.on_lost(packet.frame),
            PacketKind::Media
                if first && self.spares.passes_over(packet.frame, asked, packet.index) =>
            {
                None
            }
            // The answer to the first request is under way.
            PacketKind::Media if !first && repeated == 0 && since < patience => None,
            _ => Some(left_number(&packet)),
        }
    }

    /// How long a round of asking and sending again takes.
    pub(crate) fn round_trip(&self) -> RoundTrip {
        self.round_trip
    }

    /// How long ago the packet left that this one repeats.
    pub(crate) fn age(&mut self, now: Instant, repetition: &MediaPacket) -> Duration {
        let left = self.get(left_number(repetition));
        left.map_or(Duration::ZERO, |left| now.saturating_since(left.sent))
    }

    /// Whether this repetition is the last of several: the answer to a further request would be too late for the receiver, or the frames
    /// before it would be too old for others to refer to.
    pub(crate) fn is_last_round(&mut self, now: Instant, repetition: &MediaPacket) -> bool {
        let referable = self.frame_interval * i64::from(MAX_BACK - FRAMES_LEFT);
        let next = self.age(now, repetition).saturating_add(self.round_trip.repeated_request());
        let first = self.get(left_number(repetition)).is_none_or(|left| left.repeated == 0);
        !first && next > referable.min(self.max_age())
    }

    /// These repetitions leave more than once: a frame's time apart if there is time for that, so that one burst of losses does not
    /// take them all.
    pub(crate) fn copy_later(
        &mut self,
        now: Instant,
        repetitions: &[MediaPacket],
        again: ResendPlan,
    ) {
        let further = i64::from(again.copies.saturating_sub(1));
        let apart = self.frame_interval.min(again.within / further.max(1));
        for copy in 1..=further {
            let due = now.saturating_add(apart * copy);
            let place = self.copies.partition_point(|(other, _)| *other <= due);
            let those = repetitions.iter().map(|packet| (due, *packet));
            those.rev().for_each(|copy| self.copies.insert(place, copy));
        }
    }

    /// When [`Self::poll_copy`] or [`Self::poll_deferred`] has something.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let deferred = self.deferred.front().map(|(due, _)| *due);
        Instant::first_of([self.next_copy(), deferred])
    }

    fn next_copy(&self) -> Option<Instant> {
        self.copies.front().map(|(due, _)| *due)
    }

    /// The next copy that is due and still of use.
    pub(crate) fn poll_copy(&mut self, now: Instant, target: Rate) -> Option<MediaPacket> {
        self.save_up(now, target);
        while self.next_copy().is_some_and(|due| due <= now) {
            let (_, packet) = self.copies.pop_front()?;
            let size = packet.wire_size();
            let repeated = self.get(left_number(&packet)).map_or(u8::MAX, |left| left.repeated);
            let allowed = size <= self.allowed && repeated < MAX_REPEATED;
            if allowed && self.is_in_time(now, SequenceNumber(left_number(&packet))) {
                self.allowed -= size;
                return Some(packet);
            }
        }
        None
    }

    /// Whether a repetition that waited in the pacer is still of use; it no longer waits if not.
    pub(crate) fn is_in_time(&mut self, now: Instant, original: SequenceNumber) -> bool {
        let max_age = self.max_age();
        let Some(left) = self.get(original.0) else { return false };
        let useful = !left.arrived && now.saturating_since(left.sent) <= max_age;
        left.waits = useful;
        useful
    }

    /// Forgets what is too old to be sent again; the newest frame of it that is not whole at the receiver, as far as reports
    /// and requests tell. A report that does not come tells nothing: who asks for what it lacks, and did not ask for a packet since
    /// that left last, has it. A packet that was repeated late is judged when it would have been asked for again.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<FrameId> {
        let mut broken = None;
        let (max_age, asked_again) = (self.max_age(), self.round_trip.repeated_request());
        while let Some(oldest) = self.left.front() {
            let since = |sent| now.saturating_since(sent);
            let is_under_way =
                !oldest.arrived && oldest.newest.is_some_and(|newest| since(newest) < asked_again);
            if since(oldest.sent) <= max_age || is_under_way {
                break;
            }
            let SentMedia { packet, lost, arrived, repeated, is_unanswered, .. } = *oldest;
            let is_missing = packet.kind == PacketKind::Media && lost && !arrived && is_unanswered;
            let number = left_number(&packet);
            let is_repaired = repeated == 0 && self.spares.has_passed_over(packet.frame, number);
            if is_missing && !is_repaired {
                broken = broken.max(Some(packet.frame));
            }
            self.drop_oldest();
        }
        broken
    }

    /// The bytes that the next frame, whose size is `frame`, gives up for packets that were sent again.
    pub(crate) fn take_owed(&mut self, now: Instant, frame: Bytes) -> Bytes {
        self.budget.take(now, frame)
    }

    fn on_min_round_trip(&mut self, now: Instant, sample: Duration) {
        if now.saturating_since(self.window_began) >= ROUND_TRIP_WINDOW {
            (self.min, self.window_began) = ([self.min[1], None], now);
        }
        self.min[1] = Some(self.min[1].map_or(sample, |min| min.min(sample)));
    }

    /// Nobody can have missed a packet that left less than this ago.
    fn min_round_trip(&self) -> Option<Duration> {
        self.min.iter().flatten().min().copied()
    }

    /// So long after it left a packet is of no use.
    fn max_age(&self) -> Duration {
        self.round_trip.patience() + self.frame_interval * 2
    }

    fn save_up(&mut self, now: Instant, target: Rate) {
        let max = self.budget.max(target);
        let since = self.allowed_at.replace(now).map(|before| now.saturating_since(before));
        // Nothing was sent again before the first request.
        let gained = since.map_or(max, |since| self.budget.gained(target, since));
        self.allowed = self.allowed.saturating_add(gained).min(max);
    }

    fn get(&mut self, number: u64) -> Option<&mut SentMedia> {
        let place = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.left.get_mut(place)
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.left.pop_front() {
            self.bytes -= oldest.packet.wire_size();
            self.base += 1;
        }
    }
}

/// The number of what a packet repeats, or its own.
fn left_number(packet: &MediaPacket) -> u64 {
    packet.original.unwrap_or(packet.sequence).0
}

#[cfg(test)]
mod tests;
