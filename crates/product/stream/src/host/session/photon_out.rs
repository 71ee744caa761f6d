//! A page that measures the delay from an input to its picture asks, and is answered: see [`crate::host::photon`].

use super::Session;
use crate::host::photon::{Answered, Photon};
use crate::photon::Question;
use gameway_control::PacketKind;
use gameway_session::MediaPacket;
use gameway_units::Instant;

/// A question that nobody has asked: its answer greets.
const NONE: Question = Question { page_time: 0, change: 0, timestamp: 0 };

impl Session {
    /// What is known of inputs and frames on their way through the host, if a test card is played.
    pub fn photon(&mut self) -> Option<&mut Photon> {
        self.photon.as_mut()
    }

    /// The card tells of its answer to an input.
    pub fn on_card(&mut self, answered: Answered) {
        if let Some(photon) = &mut self.photon {
            photon.on_answer(answered);
        }
    }

    pub(super) fn note_leaving(&mut self, packet: &MediaPacket) {
        if let Some(photon) = self.photon.as_mut().filter(|_| packet.kind == PacketKind::Media) {
            photon.on_packet(packet.frame);
        }
    }

    /// The page that has opened this channel may measure.
    pub(super) fn greet_photon(&mut self, now: Instant, channel: u16) {
        self.answer_photon(now, channel, NONE);
    }

    pub(super) fn on_question(&mut self, now: Instant, channel: u16, bytes: &[u8]) {
        if let Some(question) = Question::parse(bytes) {
            self.answer_photon(now, channel, question);
        }
    }

    fn answer_photon(&mut self, now: Instant, channel: u16, question: Question) {
        if let Some(photon) = &self.photon {
            // Not sent is lost: the page asks again.
            let _ = self.peer.send_data(now, channel, &photon.answer(now, question).to_bytes());
        }
    }
}
