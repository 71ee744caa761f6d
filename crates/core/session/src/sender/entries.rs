//! Frames that do not refer to the one before them: when the next one is to be such a frame.
//!
//! At most one request is honoured at a time. One that the receiver made before it could see the last
//! key frame is answered by that key frame already: a request counts only if the report that carries it
//! covers a packet sent after the last key frame's last packet.
//! A receiver that can ask only when it has waited for long gets a key frame as soon as a report shows that a frame since
//! the last one is not whole ([`crate::SenderConfig::key_frame_on_loss`]).
//! Where the receiver says which frame it has shown last ([`crate::FeedbackPacket::newest_shown`]), the answer refers to that one,
//! if the encoder still has it: no key frame. The same rules hold for it.

use super::Sender;
use crate::sender_event::SenderEvent;
use gameway_control::{FrameId, PacketKind, SequenceNumber};
use gameway_units::{Instant, Recovery};

/// Where the last frame is that does not refer to the one before it: a key frame, or what answers a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// None was sent yet, or the next frame shall be one. It refers to this frame, or to an older one; to none if it is to be a
    /// key frame.
    Wanted(Option<FrameId>),
    /// Encoded; packets of it are still in the pacer.
    UnderWay,
    /// Gone; its last packet had this number.
    Sent(SequenceNumber),
}

impl Sender {
    pub(super) fn entry_left(&mut self, now: Instant, last: SequenceNumber) {
        if !matches!(self.entry, Entry::Wanted(_)) {
            self.entry = Entry::Sent(last);
            self.mend_loss(now);
        }
    }

    /// Notes which frames are not whole, for a receiver to which each since the last key frame means a new one. Where
    /// packets are sent again, a frame is broken only when that cannot help any more; where it has parity, once that cannot.
    pub(super) fn note_losses(&mut self, now: Instant) {
        if self.resend.is_some() {
            return;
        }
        let lost = self.reports.iter().filter(|report| report.arrival.is_none());
        let broken = lost.filter(|report| match &mut self.parity_losses {
            Some(losses) => losses.breaks(&report.packet),
            None => report.packet.kind == PacketKind::Media,
        });
        let newest = broken.map(|report| report.packet.frame).max();
        self.newest_broken = self.newest_broken.max(newest);
        self.mend_loss(now);
    }

    pub(super) fn mend_loss(&mut self, now: Instant) {
        let broken = self.newest_broken.filter(|frame| *frame >= self.newest_entry);
        // Who shows a newer one has it after all.
        let lacks = broken.is_some_and(|frame| self.shown.is_none_or(|shown| shown < frame));
        if self.config.key_frame_on_loss && lacks && matches!(self.entry, Entry::Sent(_)) {
            self.want_entry(now, self.shown);
        }
    }

    /// The receiver has shown this frame, which it says beside its reports. To be called only if it shows no frame that refers to one which it
    /// lacks, and takes frames that refer to others than the one before.
    pub fn on_shown(&mut self, frame: FrameId) {
        self.shown = self.shown.max(Some(frame));
    }

    /// A request of who has been told of everything before `end`, and has shown that frame and none behind it.
    pub(super) fn want_entry_after(&mut self, now: Instant, end: u64, shown: Option<FrameId>) {
        let Entry::Sent(last) = self.entry else { return };
        if end > last.0 + 1 {
            self.want_entry(now, shown);
        }
    }

    /// A frame to which the next one shall refer.
    pub(super) fn referable(&self, shown: Option<FrameId>) -> Option<FrameId> {
        shown.filter(|_| self.config.recovery == Recovery::Reference)
    }

    fn want_entry(&mut self, now: Instant, shown: Option<FrameId>) {
        self.entry = Entry::Wanted(self.referable(shown));
        self.events.push_back(SenderEvent::KeyFrameWanted { at: now });
    }

    /// To which frame the next one refers, counted back from it; `None` if it has to be a key frame.
    pub(super) fn next_reference(&self) -> Option<u8> {
        match self.entry {
            Entry::Wanted(shown) => shown.and_then(|shown| self.references.back_to(shown)),
            Entry::UnderWay | Entry::Sent(_) => Some(1),
        }
    }
}
