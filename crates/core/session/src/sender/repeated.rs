//! Repair: what is asked for leaves once more, and frames have repair packets, both as a part of the target.

use super::{Entry, Sender};
use crate::feedback::FeedbackPacket;
use crate::packet::MediaPacket;
use crate::resend::Resend;
use crate::sender_config::SenderConfig;
use gameway_control::{FrameId, PacketKind, SequenceNumber, Target};
use gameway_media::FrameBudget;
use gameway_units::{Bytes, Instant, Ratio};

impl Sender {
    /// The receiver asks for these packets, by transport-wide number; poll for packets afterwards. Numbers that are
    /// unknown, or that [`crate::SenderConfig::repair`] does not provide for, are passed over.
    ///
    /// The last repetition of a packet that can be in time has a substitute: the next frame refers to `shown`, the frame that the
    /// receiver has shown last, if it says so.
    pub fn on_asked(&mut self, now: Instant, numbers: &[SequenceNumber], shown: Option<FrameId>) {
        self.answer(now, &numbers[..numbers.len().min(FeedbackPacket::MAX_ASKED)], shown);
    }

    fn answer(&mut self, now: Instant, numbers: &[SequenceNumber], shown: Option<FrameId>) {
        if numbers.is_empty() || self.resend.is_none() {
            return;
        }
        let target = self.target().bitrate;
        let Some(resend) = &mut self.resend else { return };
        let again: Vec<MediaPacket> =
            numbers.iter().filter_map(|number| resend.ask(now, *number, target)).collect();
        for packet in &again {
            self.pacer.enqueue_urgent(now, *packet, packet.wire_size());
        }
        self.pass_over(now, &again, shown);
        let (Some(resend), Some(protection)) = (&mut self.resend, &self.protection) else { return };
        for of_frame in again.chunk_by(|one, other| one.frame == other.frame) {
            let (first, missing) = (&of_frame[0], of_frame.len());
            let age = resend.age(now, first);
            let again = protection.again(first.frame, missing, resend.round_trip(), age);
            resend.copy_later(now, of_frame, again);
        }
    }

    /// The next frame refers to what was shown, if one of these packets is repeated for the last time and nothing has answered that
    /// yet.
    fn pass_over(&mut self, now: Instant, again: &[MediaPacket], shown: Option<FrameId>) {
        let Some(resend) = &mut self.resend else { return };
        let last = again.iter().filter(|packet| resend.is_last_round(now, packet));
        let newest = last.map(|packet| packet.frame).max();
        let unanswered = newest.is_some_and(|frame| frame >= self.newest_entry);
        let kept = self
            .referable(shown.or(self.shown))
            .filter(|it| self.references.back_to(*it).is_some());
        if kept.is_some() && unanswered && matches!(self.entry, Entry::Sent(_)) {
            self.entry = Entry::Wanted(kept);
        }
    }

    /// Copies of what was asked for that are due enter the pacer, and requests that came too early are answered.
    pub(super) fn send_again(&mut self, now: Instant) {
        let Some(resend) = &mut self.resend else { return };
        if resend.next_deadline().is_none_or(|due| due > now) {
            return;
        }
        let deferred: Vec<_> = std::iter::from_fn(|| resend.poll_deferred(now)).collect();
        self.answer(now, &deferred, None);
        let target = self.target().bitrate;
        let Some(resend) = &mut self.resend else { return };
        while let Some(packet) = resend.poll_copy(now, target) {
            self.pacer.enqueue_urgent(now, packet, packet.wire_size());
        }
    }

    /// What is left of the target for the next frame's payload after headers, repair, and what was sent again; and its share
    /// of repair.
    pub(super) fn next_payload(&mut self, now: Instant, target: &Target) -> (Bytes, Ratio) {
        let SenderConfig { overhead, reserved_rate, .. } = self.config;
        let wire = target.bitrate.saturating_sub(reserved_rate) * self.leveled.frame_interval;
        let wire = wire - self.take_owed(now, wire);
        let repair_share = self.repair_share(wire);
        (FrameBudget { wire, repair_share, overhead }.payload(), repair_share)
    }

    /// Repair packets per media packet for the next frame, which may take `frame` bytes on the wire.
    fn repair_share(&mut self, frame: Bytes) -> Ratio {
        let SenderConfig { repair_share, overhead, .. } = self.config;
        let Some(protection) = &mut self.protection else { return repair_share };
        let full = overhead.payload + overhead.packet;
        let packets = frame.get().div_ceil(full.get()).max(1) as usize;
        let round_trip = self.resend.as_ref().map(Resend::round_trip);
        repair_share.max(protection.share(self.next_frame, packets, round_trip))
    }

    /// Whether a packet that the pacer lets go is to leave.
    pub(super) fn is_in_time(&mut self, now: Instant, packet: &MediaPacket) -> bool {
        let (Some(resend), Some(original)) = (&mut self.resend, packet.original) else {
            return packet.kind != PacketKind::Retransmission;
        };
        resend.is_in_time(now, original)
    }

    /// The bytes that a frame of `frame` bytes gives up for packets that were sent again; notes which frames cannot be repaired any more.
    fn take_owed(&mut self, now: Instant, frame: Bytes) -> Bytes {
        let Some(resend) = &mut self.resend else { return Bytes::ZERO };
        let broken = resend.expire(now);
        let owed = resend.take_owed(now, frame);
        if broken.is_some() {
            self.newest_broken = self.newest_broken.max(broken);
            self.mend_loss(now);
        }
        owed
    }
}
