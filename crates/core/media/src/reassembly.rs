//! Putting frames together from packets that arrive in any order, more than once, or never.
//!
//! # Model
//! A frame is whole when as many different packets of its train have arrived as it has media packets
//! (repair stands in for any). A frame is *doubtful* once something tells that a packet of it is
//! overdue: a packet sent after its train has arrived, or too few places are left behind the last one
//! seen. A late packet that does arrive renews the patience: it shows reordering, not loss. Whether a
//! doubtful frame is lost is for the playout to decide.
//!
//! Packets that leave while the frame is still being encoded do not say how many it has; the last ones do. Until one
//! that says it has come, the frame cannot be whole, and places that are missing make no doubt: repair may follow.
//!
//! A window of frames is kept; whatever a peer sends, memory stays at
//! 256 frames of at most [`MAX_TRAIN_PACKETS`] bits.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | window | 256 frames | 4 s at 60 fps: a frame that late is of no use to a player |
//! | frame jump | 65536 | 18 min at 60 fps: longer than any blackout that a session survives |

use crate::packetizer::{MAX_MEDIA_PACKETS, MAX_TRAIN_PACKETS};
use gameway_control::FrameId;
use gameway_units::ReceiverInstant;
use std::collections::VecDeque;

/// The most frames that one can refer back: an encoder of H.264 keeps 16 (ITU-T H.264 annex A.3.1).
pub const MAX_BACK: u8 = 16;
/// How many frames are kept at most.
pub const WINDOW: usize = 256;
/// A frame number further ahead than this is not believed.
pub const MAX_FRAME_JUMP: u64 = 1 << 16;

/// Where a packet belongs: what its header says about its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketPlace {
    /// Its frame.
    pub frame: FrameId,
    /// Its place in the frame's train, from zero.
    pub index: u16,
    /// How many packets make the frame whole; zero if that was not known when it left.
    pub media_packets: u16,
    /// How many packets the train has, repair included.
    pub train_packets: u16,
    /// Whether the frame is a key frame.
    pub key_frame: bool,
    /// To which frame it refers if not, counted back from it: 1 is the one before.
    pub refers_back: u8,
}

impl PacketPlace {
    /// The frame that its own refers to; `None` for a key frame.
    fn refers(&self) -> Option<u8> {
        (!self.key_frame).then_some(self.refers_back)
    }

    /// Whether there can be such a packet, whatever its frame's others say.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        if self.refers().is_some_and(|back| !(1..=MAX_BACK).contains(&back)) {
            return false;
        }
        if self.media_packets == 0 {
            return self.index < MAX_MEDIA_PACKETS;
        }
        self.media_packets <= MAX_MEDIA_PACKETS.min(self.train_packets)
            && self.train_packets <= MAX_TRAIN_PACKETS
            && self.index < self.train_packets
    }
}

/// What a packet did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It was counted; the frame is not whole yet, or was before.
    Counted,
    /// It made its frame whole.
    Completed,
    /// It had arrived before.
    Duplicate,
    /// Its frame has been decided long ago.
    TooOld,
    /// Its header contradicts itself, its frame's earlier packets, or all that is plausible.
    Implausible,
}

/// How far a frame has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameProgress {
    /// Nothing tells of it or of a later one.
    Unseen,
    /// It lacks packets.
    Incomplete {
        /// Since when it is known that packets of it are overdue.
        doubtful_since: Option<ReceiverInstant>,
    },
    /// It is whole.
    Complete {
        /// When it became so.
        at: ReceiverInstant,
        /// To which frame it refers, counted back from it; `None` for a key frame.
        refers_back: Option<u8>,
    },
}

/// A frame being put together.
#[derive(Debug, Clone, Default)]
struct Slot {
    /// From the first packet of it that tells; zero while none has come.
    media_packets: u16,
    train_packets: u16,
    /// To which frame it refers, as [`FrameProgress::Complete`] has it; from the first packet of it.
    refers_back: Option<Option<u8>>,
    received: u16,
    max_index: u16,
    doubtful_since: Option<ReceiverInstant>,
    /// A packet sent after its train has arrived.
    overtaken: bool,
    completed: Option<ReceiverInstant>,
    /// One bit for each packet of the train that arrived.
    arrived: Vec<u64>,
}

impl Slot {
    fn reset(&mut self) {
        let mut arrived = std::mem::take(&mut self.arrived);
        arrived.clear();
        *self = Self { arrived, ..Self::default() };
    }

    /// Whether this packet agrees with those of the frame that came before; the first ones define it.
    fn agrees(&mut self, place: &PacketPlace) -> bool {
        if *self.refers_back.get_or_insert(place.refers()) != place.refers() {
            return false;
        }
        if place.media_packets == 0 {
            return self.media_packets == 0 || place.index < self.train_packets;
        }
        if self.media_packets == 0 && self.max_index < place.train_packets {
            self.media_packets = place.media_packets;
            self.train_packets = place.train_packets;
        }
        self.media_packets == place.media_packets && self.train_packets == place.train_packets
    }

    /// Whether packets are missing that repair packets still to come cannot stand in for, as far as is known.
    fn lacks(&self) -> bool {
        let hole = self.received > 0 && self.received <= self.max_index;
        self.completed.is_none()
            && (self.doubtful_since.is_some() || self.media_packets == 0 && hole)
    }

    /// Marks a packet as arrived; false if it had been before.
    fn mark(&mut self, now: ReceiverInstant, index: u16, again: bool) -> bool {
        let (word, bit) = (usize::from(index / 64), 1u64 << (index % 64));
        self.arrived.resize(self.arrived.len().max(word + 1), 0);
        let fresh = self.arrived[word] & bit == 0;
        if fresh {
            self.arrived[word] |= bit;
            self.received += 1;
            self.judge(now, index, again);
            self.max_index = self.max_index.max(index);
        }
        fresh
    }

    /// Casts, renews or ends doubt about the frame, now that a packet of it arrived.
    fn judge(&mut self, now: ReceiverInstant, index: u16, again: bool) {
        // What was sent again says nothing about others that are late.
        let late = !again && (self.overtaken || index < self.max_index);
        let highest = self.max_index.max(index);
        let enough = self.media_packets == 0
            || self.received + (self.train_packets - 1 - highest) >= self.media_packets;
        if !self.overtaken && enough {
            self.doubtful_since = None;
        } else if late || self.doubtful_since.is_none() {
            self.doubtful_since = Some(now);
        }
    }
}

/// The frames that are being put together or wait for their turn.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// The frame in the first slot; none before it is kept.
    base: u64,
    slots: VecDeque<Slot>,
    /// Slots for reuse, so that their bit fields are allocated once.
    spare: Vec<Slot>,
    /// The newest frames that do not refer to the one before, each with what they refer to: one that is whole, forgotten or
    /// not, and one of which a packet came.
    whole_entry: Option<Entry>,
    seen_entry: Option<Entry>,
}

/// A frame that does not refer to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Which.
    pub frame: FrameId,
    /// The frame that it refers to; `None` for a key frame.
    pub refers_to: Option<FrameId>,
}

impl Entry {
    fn of(frame: FrameId, refers_back: Option<u8>) -> Option<Self> {
        let refers_to = match refers_back {
            None => None,
            Some(1) => return None,
            Some(back) => Some(FrameId(frame.0.checked_sub(u64::from(back))?)),
        };
        Some(Self { frame, refers_to })
    }
}

impl Reassembly {
    /// An empty window that begins at frame zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The oldest frame that is kept.
    #[must_use]
    pub fn base(&self) -> FrameId {
        FrameId(self.base)
    }

    /// One past the newest frame of which anything is known.
    #[must_use]
    pub fn end(&self) -> FrameId {
        FrameId(self.base + self.slots.len() as u64)
    }

    /// A media or repair packet arrived.
    pub fn on_packet(&mut self, now: ReceiverInstant, place: &PacketPlace) -> Admission {
        self.admit(now, place, false)
    }

    /// A media packet arrived that was sent again: it does not renew the patience with others of its frame.
    pub fn on_repeated(&mut self, now: ReceiverInstant, place: &PacketPlace) -> Admission {
        self.admit(now, place, true)
    }

    fn admit(&mut self, now: ReceiverInstant, place: &PacketPlace, again: bool) -> Admission {
        if !place.is_consistent() || !self.plausible(place.frame) {
            return Admission::Implausible;
        }
        if place.frame.0 < self.base {
            return Admission::TooOld;
        }
        self.make_room(place.frame);
        self.doubt_before(now, place.frame);
        let slot = &mut self.slots[(place.frame.0 - self.base) as usize];
        if !slot.agrees(place) {
            return Admission::Implausible;
        }
        let entry = Entry::of(place.frame, place.refers());
        self.seen_entry = self.seen_entry.max(entry);
        if !slot.mark(now, place.index, again) {
            return Admission::Duplicate;
        }
        if slot.completed.is_some() {
            return Admission::Counted;
        }
        if slot.media_packets > 0 && slot.received >= slot.media_packets {
            slot.completed = Some(now);
            self.whole_entry = self.whole_entry.max(entry);
            return Admission::Completed;
        }
        Admission::Counted
    }

    /// A packet arrived that was sent after the train of `frame`, such as a probe.
    pub fn on_packet_after(&mut self, now: ReceiverInstant, frame: FrameId) {
        if self.plausible(frame) && frame.0 >= self.base {
            self.make_room(frame);
            self.doubt_before(now, FrameId(frame.0 + 1));
        }
    }

    /// How far a frame of the window has come; frames outside are [`FrameProgress::Unseen`].
    #[must_use]
    pub fn progress(&self, frame: FrameId) -> FrameProgress {
        match self.slot(frame) {
            None => FrameProgress::Unseen,
            Some(Slot { completed: Some(at), refers_back, .. }) => {
                FrameProgress::Complete { at: *at, refers_back: refers_back.unwrap_or(Some(1)) }
            }
            Some(slot) => FrameProgress::Incomplete { doubtful_since: slot.doubtful_since },
        }
    }

    /// Whether a frame of the window lacks packets that repair packets still to come cannot stand in for.
    #[must_use]
    pub fn lacks_packets(&self, frame: FrameId) -> bool {
        self.slot(frame).is_some_and(Slot::lacks)
    }

    /// To which frame a frame of the window refers, counted back from it; `None` if it is a key frame or nothing of it came.
    #[must_use]
    pub fn refers_back(&self, frame: FrameId) -> Option<u8> {
        self.slot(frame)?.refers_back?
    }

    fn slot(&self, frame: FrameId) -> Option<&Slot> {
        let index = frame.0.checked_sub(self.base)?;
        self.slots.get(usize::try_from(index).ok()?)
    }

    /// The newest whole frame that does not refer to the one before it, forgotten or not.
    #[must_use]
    pub fn whole_entry(&self) -> Option<Entry> {
        self.whole_entry
    }

    /// The newest such frame of which a packet came, whole or not.
    #[must_use]
    pub fn seen_entry(&self) -> Option<Entry> {
        self.seen_entry
    }

    /// Forgets the frames before `frame`.
    pub fn forget_before(&mut self, frame: FrameId) {
        while self.base < frame.0 {
            match self.slots.pop_front() {
                Some(slot) => {
                    self.spare.push(slot);
                    self.base += 1;
                }
                None => self.base = frame.0,
            }
        }
    }

    fn plausible(&self, frame: FrameId) -> bool {
        // The last number is kept free so that "one past" exists.
        frame.0 < u64::MAX && frame.0.saturating_sub(self.end().0) <= MAX_FRAME_JUMP
    }

    /// Everything sent before this frame should have come: what is not whole is in doubt.
    fn doubt_before(&mut self, now: ReceiverInstant, frame: FrameId) {
        let before = usize::try_from(frame.0.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let before = before.min(self.slots.len());
        // Whatever overtakes a frame overtakes all older ones too, so this stops at the first that is
        // known to be overtaken: at once, but for the first packet of a frame.
        for slot in self.slots.range_mut(..before).rev() {
            if slot.overtaken {
                break;
            }
            slot.overtaken = true;
            slot.doubtful_since.get_or_insert(now);
        }
    }

    /// Moves the window so that it holds `frame`.
    fn make_room(&mut self, frame: FrameId) {
        self.forget_before(FrameId((frame.0 + 1).saturating_sub(WINDOW as u64)));
        while self.end().0 <= frame.0 {
            let mut slot = self.spare.pop().unwrap_or_default();
            slot.reset();
            self.slots.push_back(slot);
        }
    }
}

#[cfg(test)]
mod tests;
