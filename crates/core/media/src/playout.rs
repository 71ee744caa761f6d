//! What the player sees: which frames can be decoded, and when.
//!
//! # Model
//! Frames are decided in order, each with one outcome. A key frame can be shown when it is whole; any
//! other frame when it is whole and the frame that it refers to was shown: the one before it, or an older one where the
//! sender answers a loss so. A frame that stays incomplete for a
//! grace time after it fell into doubt (see [`Reassembly`]) is lost; from there on nothing is shown until
//! a key frame is whole, or one that refers to a frame which was shown. Such a frame is asked for when the loss is known, and
//! again at an interval until one is shown, as long as packets come: nobody listens while none do. When it is whole, it overtakes
//! older frames that still lack packets: waiting for those would only make the player see the newer
//! picture later.
//!
//! Where packets are sent again, a doubtful frame is waited for as long as that can help ([`Playout::wait_for_repair`]),
//! unless it refers to a frame that was not shown: nothing can make that one useful.
//!
//! There is no playout buffer: a game frame is shown as soon as it can be.
//!
//! | constant | default | origin |
//! |---|---|---|
//! | grace | 10 ms | more than one frame's pacing gap and Wi-Fi's usual reordering, less than a frame interval |
//! | request interval | 50 ms | one round trip to an edge server and a frame; the sender ignores what its key frame under way already answers |
//! | stall | 100 ms | frame delay at which players call the game frozen (Pudica, section 2) |
//!
//! | deviation | why |
//! |---|---|
//! | decoding takes no time, displays show every frame | both depend on the client's machine; they are added where that is modelled |

use crate::reassembly::{Entry, FrameProgress, Reassembly};
use gameway_control::FrameId;
use gameway_units::{Duration, ReceiverInstant};

/// How patient the player is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayoutConfig {
    /// How long a doubtful frame is waited for.
    pub grace: Duration,
    /// Time from one key frame request to the next.
    pub request_interval: Duration,
    /// A pause between shown frames longer than this is a stall.
    pub stall: Duration,
}

impl Default for PlayoutConfig {
    fn default() -> Self {
        Self {
            grace: Duration::from_millis(10),
            request_interval: Duration::from_millis(50),
            stall: Duration::from_millis(100),
        }
    }
}

/// The end of a frame; every frame has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameOutcome {
    /// The player saw it.
    Shown,
    /// It was whole, but what it refers to was not shown.
    Undecodable,
    /// It lacked packets when it was given up.
    Lost,
}

/// What the playout decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayoutEvent {
    /// The frames `first..=last` met this end.
    Decided {
        /// The first of them.
        first: FrameId,
        /// The last of them.
        last: FrameId,
        /// Their end.
        outcome: FrameOutcome,
    },
    /// A key frame shall be asked for.
    KeyFrameRequested,
    /// The frame shown next comes so long after the one before it.
    Stall {
        /// Time between the two.
        pause: Duration,
    },
}

/// Decides frames in order.
#[derive(Debug)]
pub struct Playout {
    config: PlayoutConfig,
    /// How long a doubtful frame is waited for that can still become useful: the grace, or longer.
    patience: Duration,
    /// The oldest undecided frame.
    next: FrameId,
    /// Of each of the 64 frames before `next`, whether it was shown, so that one which refers to it can be decoded; the lowest bit
    /// is that of the newest.
    shown: u64,
    last_shown: Option<ReceiverInstant>,
    /// When to ask for a key frame (again); `None` while none is needed.
    next_request: Option<ReceiverInstant>,
    /// Whether a packet has come since the last request.
    heard: bool,
}

impl Playout {
    /// A player that waits for frame zero.
    #[must_use]
    pub fn new(config: PlayoutConfig) -> Self {
        Self {
            config,
            patience: config.grace,
            next: FrameId(0),
            shown: 0,
            last_shown: None,
            next_request: None,
            heard: false,
        }
    }

    /// The oldest undecided frame.
    #[must_use]
    pub fn next(&self) -> FrameId {
        self.next
    }

    /// Packets are sent again: a doubtful frame is waited for so long from now on, or for the grace if that is longer.
    pub fn wait_for_repair(&mut self, patience: Duration) {
        self.patience = patience.max(self.config.grace);
    }

    /// Whether a packet of a frame that is not whole is of use.
    #[must_use]
    pub fn wants(&self, frames: &Reassembly, frame: FrameId) -> bool {
        let Some(before) = frame.0.checked_sub(self.next.0) else { return false };
        match frames.refers_back(frame) {
            None => true,
            Some(back) if u64::from(back) > before => self.can_refer(u64::from(back) - before),
            Some(_) => self.can_refer(1) || self.leads_to(frames, frame),
        }
    }

    /// The newest frame that was shown, if a frame can still refer to it.
    #[must_use]
    pub fn newest_shown(&self) -> Option<FrameId> {
        let back = u64::from(self.shown.trailing_zeros()) + 1;
        self.can_refer(back).then(|| FrameId(self.next.0 - back))
    }

    /// Whether the frame `back` frames before the next one was shown.
    fn can_refer(&self, back: u64) -> bool {
        (1..=64).contains(&back) && self.shown >> (back - 1) & 1 == 1
    }

    /// Whether an undecided frame that refers to one that was shown has come in part and stands before this one.
    fn leads_to(&self, frames: &Reassembly, frame: FrameId) -> bool {
        let entry = frames.seen_entry().filter(|entry| entry.frame < frame);
        entry.is_some_and(|entry| entry.refers_to.is_some() && self.can_enter(entry))
    }

    /// Whether an undecided frame that does not refer to the one before it can be shown when it is whole.
    fn can_enter(&self, entry: Entry) -> bool {
        entry.frame >= self.next
            && entry.refers_to.is_none_or(|to| {
                self.next.0.checked_sub(to.0).is_some_and(|back| self.can_refer(back))
            })
    }

    /// A packet arrived, of whatever kind.
    pub fn on_arrival(&mut self) {
        self.heard = true;
    }

    /// A frame that was shown turned out to be damaged: nothing is shown until a key frame is whole.
    pub fn on_undecodable(&mut self, now: ReceiverInstant) {
        self.shown = 0;
        self.ask(now);
    }

    /// Decides what can be decided now; to be called after packets and at [`Self::next_deadline`].
    pub fn advance(
        &mut self,
        now: ReceiverInstant,
        frames: &mut Reassembly,
        mut sink: impl FnMut(PlayoutEvent),
    ) {
        self.give_up_outside_window(now, frames, &mut sink);
        while let Some(outcome) = self.outcome(now, frames) {
            self.decide(now, outcome, &mut sink);
        }
        frames.forget_before(self.next);
        if self.request_due().is_some_and(|due| due <= now) {
            self.heard = false;
            self.next_request = Some(now.saturating_add(self.config.request_interval));
            sink(PlayoutEvent::KeyFrameRequested);
        }
    }

    /// When [`Self::advance`] is to be called although no packet came.
    #[must_use]
    pub fn next_deadline(&self, frames: &Reassembly) -> Option<ReceiverInstant> {
        let verdict = match frames.progress(self.next) {
            FrameProgress::Incomplete { doubtful_since } => {
                doubtful_since.map(|since| since.saturating_add(self.patience_with_next(frames)))
            }
            FrameProgress::Unseen | FrameProgress::Complete { .. } => None,
        };
        ReceiverInstant::first_of([verdict, self.request_due()])
    }

    fn request_due(&self) -> Option<ReceiverInstant> {
        self.next_request.filter(|_| self.heard)
    }

    /// The end of the next frame, if that is settled.
    fn outcome(&self, now: ReceiverInstant, frames: &Reassembly) -> Option<FrameOutcome> {
        match frames.progress(self.next) {
            FrameProgress::Unseen => None,
            FrameProgress::Complete { refers_back, .. } => {
                let can = refers_back.is_none_or(|back| self.can_refer(u64::from(back)));
                Some(if can { FrameOutcome::Shown } else { FrameOutcome::Undecodable })
            }
            FrameProgress::Incomplete { doubtful_since } => {
                let patience = self.patience_with_next(frames);
                let expired =
                    doubtful_since.is_some_and(|since| since.saturating_add(patience) <= now);
                let overtaken = frames.whole_entry().is_some_and(|entry| self.can_enter(entry));
                (expired || overtaken).then_some(FrameOutcome::Lost)
            }
        }
    }

    fn patience_with_next(&self, frames: &Reassembly) -> Duration {
        if self.wants(frames, self.next) { self.patience } else { self.config.grace }
    }

    fn decide(
        &mut self,
        now: ReceiverInstant,
        outcome: FrameOutcome,
        sink: &mut impl FnMut(PlayoutEvent),
    ) {
        if outcome == FrameOutcome::Shown {
            self.show(now, sink);
        } else {
            self.ask(now);
        }
        sink(PlayoutEvent::Decided { first: self.next, last: self.next, outcome });
        self.next.0 += 1;
        self.shown = self.shown << 1 | u64::from(outcome == FrameOutcome::Shown);
    }

    fn show(&mut self, now: ReceiverInstant, sink: &mut impl FnMut(PlayoutEvent)) {
        let pause = self.last_shown.map(|last| now.saturating_since(last));
        if let Some(pause) = pause.filter(|&pause| pause > self.config.stall) {
            sink(PlayoutEvent::Stall { pause });
        }
        self.last_shown = Some(now);
        self.next_request = None;
    }

    fn ask(&mut self, now: ReceiverInstant) {
        self.next_request.get_or_insert(now);
    }

    /// Frames that the window has left behind were never whole, or waited for one that never was.
    fn give_up_outside_window(
        &mut self,
        now: ReceiverInstant,
        frames: &Reassembly,
        sink: &mut impl FnMut(PlayoutEvent),
    ) {
        let base = frames.base();
        if self.next < base {
            let (first, last) = (self.next, FrameId(base.0 - 1));
            sink(PlayoutEvent::Decided { first, last, outcome: FrameOutcome::Lost });
            self.shown = u32::try_from(base.0 - self.next.0)
                .ok()
                .and_then(|passed| self.shown.checked_shl(passed))
                .unwrap_or(0);
            self.next = base;
            self.ask(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reassembly::PacketPlace;

    #[test]
    fn after_a_damaged_frame_nothing_is_shown_until_a_key_frame() {
        let at = |millis| ReceiverInstant::ZERO + Duration::from_millis(millis);
        let (mut frames, mut playout) = (Reassembly::new(), Playout::new(PlayoutConfig::default()));
        let mut arrive = |playout: &mut Playout, frame: u64, key_frame| {
            let (media_packets, train_packets) = (1, 1);
            let frame = FrameId(frame);
            let place = PacketPlace {
                frame,
                index: 0,
                media_packets,
                train_packets,
                key_frame,
                refers_back: 1,
            };
            let now = at(16 * frame.0 as i64);
            frames.on_packet(now, &place);
            playout.on_arrival();
            let mut events = Vec::new();
            playout.advance(now, &mut frames, |event| events.push(event));
            let request = events.contains(&PlayoutEvent::KeyFrameRequested);
            let outcome = events.into_iter().find_map(|event| match event {
                PlayoutEvent::Decided { outcome, .. } => Some(outcome),
                _ => None,
            });
            (outcome.expect("it is whole"), request)
        };
        assert_eq!(arrive(&mut playout, 0, true), (FrameOutcome::Shown, false));
        assert_eq!(arrive(&mut playout, 1, false), (FrameOutcome::Shown, false));
        playout.on_undecodable(at(17));
        assert_eq!(arrive(&mut playout, 2, false), (FrameOutcome::Undecodable, true));
        // The next request is due 50 ms after that.
        for frame in 3..6 {
            assert_eq!(arrive(&mut playout, frame, false), (FrameOutcome::Undecodable, false));
        }
        assert_eq!(arrive(&mut playout, 6, false), (FrameOutcome::Undecodable, true));
        assert_eq!(arrive(&mut playout, 7, true), (FrameOutcome::Shown, false));
        assert_eq!(arrive(&mut playout, 8, false), (FrameOutcome::Shown, false));
    }
}
