//! What the player sees: which frames can be decoded, and when.
//!
//! # Model
//! Frames are decided in order, each with one outcome. A key frame can be shown when it is whole; any
//! other frame when it is whole and the frame before it was shown. A frame that stays incomplete for a
//! grace time after it fell into doubt (see [`Reassembly`]) is lost; from there on nothing is shown until
//! a key frame is whole. A key frame is asked for when the loss is known, and again at an interval until
//! one is shown, as long as packets come: nobody listens while none do. A whole key frame overtakes
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

use crate::reassembly::{FrameProgress, Reassembly};
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
    /// Whether the frame before `next` was shown, so that one which refers to it can be decoded.
    intact: bool,
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
            intact: false,
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
        frame >= self.next && (self.intact || !frames.refers_to_others(frame))
    }

    /// A packet arrived, of whatever kind.
    pub fn on_arrival(&mut self) {
        self.heard = true;
    }

    /// A frame that was shown turned out to be damaged: nothing is shown until a key frame is whole.
    pub fn on_undecodable(&mut self, now: ReceiverInstant) {
        self.lose_reference(now);
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
            FrameProgress::Complete { key_frame, .. } if key_frame || self.intact => {
                Some(FrameOutcome::Shown)
            }
            FrameProgress::Complete { .. } => Some(FrameOutcome::Undecodable),
            FrameProgress::Incomplete { doubtful_since } => {
                let patience = self.patience_with_next(frames);
                let expired =
                    doubtful_since.is_some_and(|since| since.saturating_add(patience) <= now);
                let overtaken = frames.newest_key_frame() > Some(self.next);
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
            self.lose_reference(now);
        }
        sink(PlayoutEvent::Decided { first: self.next, last: self.next, outcome });
        self.next.0 += 1;
    }

    fn show(&mut self, now: ReceiverInstant, sink: &mut impl FnMut(PlayoutEvent)) {
        let pause = self.last_shown.map(|last| now.saturating_since(last));
        if let Some(pause) = pause.filter(|&pause| pause > self.config.stall) {
            sink(PlayoutEvent::Stall { pause });
        }
        self.last_shown = Some(now);
        self.intact = true;
        self.next_request = None;
    }

    fn lose_reference(&mut self, now: ReceiverInstant) {
        self.intact = false;
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
            self.next = base;
            self.lose_reference(now);
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
            let place = PacketPlace { frame, index: 0, media_packets, train_packets, key_frame };
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
