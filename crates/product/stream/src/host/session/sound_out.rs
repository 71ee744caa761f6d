//! Sound as it leaves for one client: a packet for each block, with copies of the blocks before it where losses are planned for.
//!
//! # Model
//! A packet is sent once by itself and `n` times as an older block of the packets behind it (RFC 2198), at intervals of a block.
//! `n` is the sender's plan: with `repair = "fec"` or `"adaptive"` as many as let all copies be lost in no more than the share of
//! frames that may be late, else none. A client that did not agree on RFC 2198 gets none.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | copies | 3 at most | as many as a packet of a picture has, the first time counted |

use super::Session;
use crate::host::sound::{BLOCK, RATE, SoundPacket, timestamp};
use gameway_session::Sender;
use gameway_units::{Bytes, Ecn, Instant, Rate};
use gameway_webrtc::red::{self, Block};
use gameway_webrtc::{Extensions, RtpHeader, RtpPacket};
use std::collections::VecDeque;

const MAX_COPIES: usize = 3;

/// A session's stream of sound.
#[derive(Debug, Clone, Default)]
pub(super) struct SoundOut {
    /// When it begins; `None` if there is none, or none any more.
    from: Option<Instant>,
    /// Packets that left.
    packets: u64,
    /// What each has on the wire beside its payload.
    overhead: Bytes,
    /// The blocks that left last, the oldest first.
    recent: VecDeque<SoundPacket>,
    /// For how many copies the frames' budget has room.
    reserved: usize,
}

impl SoundOut {
    pub(super) fn new(from: Instant, overhead: usize) -> Self {
        Self { from: Some(from), overhead: Bytes::new(overhead as u64), ..Self::default() }
    }

    /// What it takes on the wire for now.
    pub(super) fn wire_rate(&self) -> Rate {
        let payload = RATE * BLOCK.span();
        let copies = (payload + Bytes::new(red::OLDER_HEADER as u64)) * self.reserved as u64;
        let red = if self.reserved > 0 { red::NEWEST_HEADER as u64 } else { 0 };
        (payload + copies + Bytes::new(red) + self.overhead) / BLOCK.span()
    }

    /// Makes room for as many copies as losses demand.
    fn reserve(&mut self, sender: &mut Sender, can_repeat: bool) {
        let copies = if can_repeat { sender.audio_copies().min(MAX_COPIES) } else { 0 };
        if copies != self.reserved {
            self.reserved = copies;
            sender.set_reserved_rate(self.wire_rate());
        }
    }

    /// The payload of a packet with its copies of the blocks before, if there are any, in blocks of this payload type.
    fn with_copies(&self, packet: &SoundPacket, opus: u8) -> Option<Vec<u8>> {
        let now = timestamp(packet.captured);
        let too_many = self.recent.len().saturating_sub(self.reserved);
        let older = self.recent.iter().skip(too_many).map(|older| Block {
            payload_type: opus,
            offset: now.wrapping_sub(timestamp(older.captured)),
            payload: &older.payload,
        });
        let older: Vec<Block<'_>> = older.collect();
        let newest = Block { payload_type: opus, offset: 0, payload: &packet.payload };
        (!older.is_empty()).then(|| red::write(&older, newest))
    }

    fn remember(&mut self, packet: &SoundPacket) {
        self.recent.push_back(packet.clone());
        if self.recent.len() > MAX_COPIES {
            self.recent.pop_front();
        }
        self.packets += 1;
    }
}

impl Session {
    /// Whether sound would be sent now.
    #[must_use]
    pub fn wants_sound(&self, now: Instant) -> bool {
        self.sound.from.is_some_and(|from| from <= now) && !self.is_held()
    }

    /// There will be no more sound: frames get what it took.
    pub fn end_sound(&mut self) {
        self.sound.from = None;
        if let Some(sender) = &mut self.sender {
            sender.set_reserved_rate(Rate::ZERO);
        }
    }

    /// Hands a packet of sound to the peer, ahead of all that the pacer holds.
    pub fn send_sound(&mut self, now: Instant, packet: &SoundPacket) {
        // What played before the stream's begin is not of it.
        let of_stream = self.sound.from.is_some_and(|from| packet.captured >= from);
        let wanted = of_stream && self.wants_sound(now);
        let negotiated = self.peer.negotiated();
        let (Some(sender), Some(opus)) = (&mut self.sender, negotiated.audio) else { return };
        if !wanted {
            return;
        }
        self.sound.reserve(sender, negotiated.red.is_some());
        let with_copies = self.sound.with_copies(packet, opus);
        let payload = with_copies.as_ref().unwrap_or(&packet.payload);
        let header = RtpHeader {
            payload_type: with_copies.as_ref().and(negotiated.red).unwrap_or(opus),
            // The first after silence (RFC 7587 section 4.1).
            marker: self.sound.packets == 0,
            sequence_number: self.sound.packets as u16,
            timestamp: timestamp(packet.captured),
            ssrc: negotiated.audio_ssrc,
        };
        sender.pass(now, self.sound.overhead + Bytes::new(payload.len() as u64));
        // Not sent is lost. Nobody reports its marks, so that it may not bear any (RFC 6679).
        let rtp = RtpPacket { header, extensions: Extensions::default(), payload, padding: 0 };
        let _ = self.peer.send_rtp(&rtp, Ecn::NotEct);
        self.sound.remember(packet);
    }
}
