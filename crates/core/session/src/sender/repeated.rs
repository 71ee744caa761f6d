//! What is asked for leaves once more, through the pacer and as a part of the target.

use super::Sender;
use crate::feedback::FeedbackPacket;
use crate::packet::MediaPacket;
use gameway_control::{PacketKind, SequenceNumber};
use gameway_units::{Bytes, Instant};

impl Sender {
    /// The receiver asks for these packets, by transport-wide number; poll for packets afterwards. Numbers that are
    /// unknown, or that [`crate::SenderConfig::repair`] does not provide for, are passed over.
    pub fn on_asked(&mut self, now: Instant, numbers: &[SequenceNumber]) {
        if numbers.is_empty() || self.resend.is_none() {
            return;
        }
        let target = self.target().bitrate;
        let Some(resend) = &mut self.resend else { return };
        for number in numbers.iter().take(FeedbackPacket::MAX_ASKED) {
            let Some(packet) = resend.ask(now, *number, target) else { continue };
            self.pacer.enqueue_urgent(now, packet, packet.wire_size());
        }
    }

    /// Whether a packet that the pacer lets go is to leave.
    pub(super) fn is_in_time(&mut self, now: Instant, packet: &MediaPacket) -> bool {
        let (Some(resend), Some(original)) = (&mut self.resend, packet.original) else {
            return packet.kind != PacketKind::Retransmission;
        };
        resend.is_in_time(now, original)
    }

    /// What a frame of so many bytes gives up for what was sent again; notes which frames are broken for good.
    pub(super) fn take_owed(&mut self, now: Instant, frame: Bytes) -> Bytes {
        let Some(resend) = &mut self.resend else { return Bytes::ZERO };
        let broken = resend.expire(now);
        let owed = resend.take_owed(frame);
        if broken.is_some() {
            self.newest_broken = self.newest_broken.max(broken);
            self.mend_loss(now);
        }
        owed
    }
}
