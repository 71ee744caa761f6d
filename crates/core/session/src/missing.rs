//! What the receiver lacks, and when it asks for it (RFC 4585 section 6.2.1: generic NACK).
//!
//! # Model
//! A gap in the transport-wide numbers is a packet that is lost or late. It is asked for when it is later than packets
//! here have been of late, and again when the answer is overdue. A retransmission has a number of its own and says which
//! packet it stands for; one that is lost is a gap, too, which the receiver asks for in turn: the sender knows for what
//! it stood. So a second loss is known as soon as the first, and the timer is for those behind which nothing comes.
//!
//! The last packets of a frame have none behind them until the next frame comes. They are asked for once when they are later
//! than the gaps between the frame's packets would have it; a sender that has not sent them yet passes that over, so those that
//! had hardly been due are asked for once more when a packet behind them comes.
//!
//! Only what can still be of use is asked for: packets of frames that are undecided, and that repair packets still to
//! come cannot make whole.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | packets missing | 1000 | libwebrtc's NACK requester, `kMaxNackPackets`; a longer gap is an outage, which a key frame ends |
//! | asked for | 10 times | libwebrtc, `kMaxNackRetries` |
//! | remembered | 1 s | twice the most patience, so that a long round trip can be measured although its frame is given up |
//! | a frame's last packets | 2 ms, four gaps of its packets (of its first one, of the frame before), or 5/4 of the longest gap in a frame in 10 to 20 s, behind the packet before | a slice that is late, a window that closes, or a burst of a download between them is no loss |
//! | reordering | 5/4 of the most that a packet was late in 10 to 20 s | a margin of a quarter, as RFC 9002 section 6.1.2 has 1/8 of the round trip; nothing before a packet was late |
//!
//! | deviation from libwebrtc | why |
//! |---|---|
//! | reordering is measured in time, not in packets | packets of a frame come at a pace that changes, and between frames none comes |
//! | a packet that is asked for again has no interval of at least 20 ms | that is the interval of libwebrtc's timer; here a deadline is a deadline |

use crate::feedback::FeedbackPacket;
use crate::packet::MediaPacket;
use crate::repair_time::RoundTrip;
use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_units::{Duration, ReceiverInstant};
use std::collections::VecDeque;

const MAX_MISSING: usize = FeedbackPacket::MAX_ASKED;
const MAX_ASKED: u8 = 10;
const REMEMBERED: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_secs(10);
/// A packet later than this is as good as lost, and says nothing about others.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// A packet that has not come.
#[derive(Debug, Clone, Copy)]
struct Missing {
    number: u64,
    /// Since when that is known.
    noticed: ReceiverInstant,
    /// The frames of the packets on both sides of the gap: it is of one from the first to the second.
    between: (FrameId, FrameId),
    asked: u8,
    /// Nothing, too, if it was asked for before the sender can have sent it.
    last_asked: Option<ReceiverInstant>,
}

/// The longest time of its kind, in the window before and in this one.
#[derive(Debug, Clone, Copy, Default)]
struct Longest {
    began: Option<ReceiverInstant>,
    max: [Duration; 2],
}

impl Longest {
    fn on_sample(&mut self, now: ReceiverInstant, sample: Duration) {
        if sample <= MAX_WAIT {
            self.pass(now);
            self.max[1] = self.max[1].max(sample);
        }
    }

    /// Begins a new window when this one is over.
    fn pass(&mut self, now: ReceiverInstant) {
        let began = *self.began.get_or_insert(now);
        let age = now.saturating_since(began);
        if age >= WINDOW {
            let before = if age < WINDOW * 2 { self.max[1] } else { Duration::ZERO };
            (self.max, self.began) = ([before, Duration::ZERO], Some(now));
        }
    }

    /// What is to be waited for it, with a margin.
    fn wait(&self) -> Duration {
        self.max[0].max(self.max[1]) * 5 / 4
    }
}

/// The packets of a frame that are to come behind the newest one.
#[derive(Debug, Clone, Copy)]
struct Tail {
    frame: FrameId,
    count: u64,
    /// When the newest packet came.
    since: ReceiverInstant,
    /// Mean gap of the frame's packets.
    gap: Duration,
    /// When the tail was asked for.
    asked: Option<ReceiverInstant>,
}

impl Tail {
    const MIN_PATIENCE: Duration = Duration::from_millis(2);

    /// When to ask for it.
    fn due(&self, wait: Duration) -> Option<ReceiverInstant> {
        let patience = (self.gap * 4).max(Self::MIN_PATIENCE).max(wait + self.gap * 2);
        (self.count > 0 && self.asked.is_none()).then(|| self.since.saturating_add(patience))
    }

    /// When the packet at this place of the tail was asked for, now that the one at `arrived` has come. Nothing, if it would hardly
    /// have been here by then: the sender passed over what it had just sent. What it did not is not sent a second time.
    fn asked_for(&self, place: u64, arrived: u64, now: ReceiverInstant) -> Option<ReceiverInstant> {
        let share = (place + 1) as f64 / (arrived + 1) as f64;
        let between = now.saturating_since(self.since).mul_f64(share);
        let usual = self.gap * (place + 1) as i64;
        let expected = self.since.saturating_add(between.min(usual.max(Self::MIN_PATIENCE)));
        self.asked.filter(|asked| expected.saturating_add(Self::MIN_PATIENCE) <= *asked)
    }
}

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct MissingPackets {
    /// One past the newest number that came.
    end: u64,
    /// The frame of the packet with that number.
    newest_frame: FrameId,
    tail: Option<Tail>,
    /// Mean gap of the packets of the newest frame that had two of them: of a frame's first packet nobody knows its own.
    usual_gap: Duration,
    /// In the order of their numbers.
    missing: VecDeque<Missing>,
    /// How much later packets came than others that were sent later.
    reordering: Longest,
    /// Time between packets of a frame that left one after the other.
    gaps: Longest,
    round_trip: RoundTrip,
}

impl MissingPackets {
    /// How long a frame is worth waiting for.
    pub(crate) fn patience(&self) -> Duration {
        self.round_trip.patience()
    }

    /// A packet arrived.
    pub(crate) fn on_packet(&mut self, now: ReceiverInstant, packet: &MediaPacket) {
        let number = packet.sequence.0;
        if number >= self.end {
            let follows = number == self.end;
            self.note_gap(now, packet);
            self.note_tail(now, packet, follows);
        } else if let Some(late) = self.take(number) {
            self.reordering.on_sample(now, now.saturating_since(late.noticed));
        }
        if let Some(original) = packet.original
            && let Some(mended) = self.take(original.0)
            && mended.asked == 1
            && let Some(asked) = mended.last_asked
        {
            // After a second request nobody knows which one it answers (Karn's rule, RFC 6298 section 3).
            self.round_trip.on_sample(now.saturating_since(asked));
        }
        self.forget(now);
    }

    /// Appends what is to be asked for now; `wanted` says whether a packet missing of one of these frames is of use, and `open`
    /// whether one that is to come can be.
    pub(crate) fn ask(
        &mut self,
        now: ReceiverInstant,
        wanted: impl Fn(FrameId, FrameId) -> bool,
        open: impl Fn(FrameId) -> bool,
        numbers: &mut Vec<SequenceNumber>,
    ) {
        self.reordering.pass(now);
        self.gaps.pass(now);
        let (wait, overdue) = (self.reordering.wait(), self.round_trip.overdue());
        for one in &mut self.missing {
            let due = one.due(wait, overdue).is_some_and(|due| due <= now);
            if due && wanted(one.between.0, one.between.1) {
                (one.asked, one.last_asked) = (one.asked + 1, Some(now));
                numbers.push(SequenceNumber(one.number));
            }
        }
        self.ask_for_tail(now, open, numbers);
    }

    fn ask_for_tail(
        &mut self,
        now: ReceiverInstant,
        open: impl Fn(FrameId) -> bool,
        numbers: &mut Vec<SequenceNumber>,
    ) {
        let (wait, end) = (self.tail_wait(), self.end);
        let Some(tail) = &mut self.tail else { return };
        if tail.due(wait).is_some_and(|due| due <= now) {
            tail.asked = Some(now);
            if open(tail.frame) {
                numbers.extend((end..end.saturating_add(tail.count)).map(SequenceNumber));
            }
        }
    }

    /// How long the rest of a frame is waited for.
    fn tail_wait(&self) -> Duration {
        self.reordering.wait().max(self.gaps.wait())
    }

    /// When [`Self::ask`] will find something.
    pub(crate) fn next_deadline(
        &self,
        wanted: impl Fn(FrameId, FrameId) -> bool,
        open: impl Fn(FrameId) -> bool,
    ) -> Option<ReceiverInstant> {
        let (wait, overdue) = (self.reordering.wait(), self.round_trip.overdue());
        let useful = self.missing.iter().filter(|one| wanted(one.between.0, one.between.1));
        let of_tail = self.tail_wait();
        let tail = self.tail.filter(|tail| open(tail.frame)).and_then(|tail| tail.due(of_tail));
        useful.filter_map(|one| one.due(wait, overdue)).chain(tail).min()
    }

    fn note_gap(&mut self, now: ReceiverInstant, packet: &MediaPacket) {
        let number = packet.sequence.0;
        let newest = self.newest_frame;
        // What is sent again may leave before the first packet of a new frame that arrives, and behind lost ones of it.
        let (frame, last) = match packet.kind {
            PacketKind::Retransmission => (newest, FrameId(newest.0.saturating_add(1))),
            _ => (packet.frame, packet.frame),
        };
        let between = (newest.min(last), last);
        if number - self.end > MAX_MISSING as u64 {
            self.missing.clear();
        } else {
            let (end, tail) = (self.end, self.tail);
            let gap = |missing| {
                let tail = tail.filter(|tail| tail.asked.is_some() && missing - end < tail.count);
                let last_asked =
                    tail.and_then(|tail| tail.asked_for(missing - end, number - end, now));
                let asked = u8::from(tail.is_some());
                Missing { number: missing, noticed: now, between, asked, last_asked }
            };
            self.missing.extend((end..number).map(gap));
        }
        while self.missing.len() > MAX_MISSING {
            self.missing.pop_front();
        }
        if number > self.end {
            // What was to come is missing now.
            self.tail = None;
        }
        // The last number is kept free so that "one past" exists.
        self.end = number.saturating_add(1);
        self.newest_frame = self.newest_frame.max(frame);
    }

    /// The newest packet may have others of its frame behind it.
    fn note_tail(&mut self, now: ReceiverInstant, packet: &MediaPacket, follows: bool) {
        if !packet.is_train() {
            // A probe or padding leaves behind the whole frame.
            if packet.kind != PacketKind::Retransmission {
                self.tail = None;
            }
            return;
        }
        // What a packet says of itself is the peer's.
        let left = u64::from(packet.train_packets.saturating_sub(packet.index.saturating_add(1)));
        let before = self.tail.filter(|tail| tail.frame == packet.frame);
        if let Some(tail) = before {
            let gap = now.saturating_since(tail.since).max(Duration::ZERO).min(REMEMBERED);
            if follows {
                self.gaps.on_sample(now, gap);
            }
            let is_new = tail.gap == Duration::ZERO;
            self.usual_gap = if is_new { gap } else { tail.gap + (gap - tail.gap) / 4 };
        }
        let gap = self.usual_gap;
        let count = if packet.media_packets == 0 { 0 } else { left.min(MAX_MISSING as u64) };
        let (frame, since) = (packet.frame, now);
        self.tail = Some(Tail { frame, count, since, gap, asked: None });
    }

    fn take(&mut self, number: u64) -> Option<Missing> {
        let place = self.missing.binary_search_by_key(&number, |one| one.number).ok()?;
        self.missing.remove(place)
    }

    fn forget(&mut self, now: ReceiverInstant) {
        while self
            .missing
            .front()
            .is_some_and(|oldest| now.saturating_since(oldest.noticed) > REMEMBERED)
        {
            self.missing.pop_front();
        }
    }
}

impl Missing {
    /// When to ask for it, if so long is waited for what may be late and for what was asked for.
    fn due(&self, wait: Duration, overdue: Duration) -> Option<ReceiverInstant> {
        match self.last_asked {
            None => Some(self.noticed.saturating_add(wait)),
            Some(asked) if self.asked < MAX_ASKED => Some(asked.saturating_add(overdue)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
