//! What the host knows of a stream and its page does not, for the page's figures and its opinion score (ITU-T G.1072): how many
//! frames were captured and encoded, with how many bytes; how long they waited before their first packet left, and how long
//! until they were displayed; how much of what was sent is repair. The page asks for the sums so far on the channel `frames`,
//! and takes the differences between two answers; an answer that is lost is missed by nobody.
//!
//! | bound | value | why |
//! |---|---|---|
//! | frames that have not begun to leave | 512 | more than any pacer holds back ([`crate::host::log`]) |
//! | frames whose display is awaited | 512 | eight seconds of them |

use super::Session;
use crate::host::encoding::timestamp;
use gameway_control::{FrameId, PacketKind};
use gameway_session::{MediaPacket, SenderEvent};
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

const MAX_OPEN: usize = 512;

/// Sums since the stream began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
struct Sums {
    /// The RTP timestamp of the newest frame that is in them.
    timestamp: u32,
    /// Frames that were encoded.
    frames: u64,
    /// Their encoded bytes.
    bytes: u64,
    /// Of these frames, those whose first packet has left.
    left: u64,
    /// From capture to first packet, in microseconds.
    waited_us: u64,
    /// Frames that the page displayed, as far as it is known when.
    displayed: u64,
    /// Of these, from capture to display, in microseconds.
    delay_us: u64,
    /// Bytes on the wire of frames and of repair: packets of parity, and packets that were sent again.
    wire: u64,
    /// Of these, repair.
    repair: u64,
}

/// As it is sent.
#[derive(serde::Serialize)]
struct Message {
    sent: Sums,
}

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct CountsOut {
    sums: Sums,
    /// Frames of which nothing has left, the oldest first.
    open: VecDeque<(FrameId, Instant)>,
    /// The newest frames and when they were captured, the oldest first.
    captured: VecDeque<(FrameId, Instant)>,
}

impl CountsOut {
    pub(super) fn on(&mut self, event: &SenderEvent) {
        match *event {
            SenderEvent::FrameEncoded { frame, captured, payload, .. } => {
                self.sums.timestamp = timestamp(captured);
                self.sums.frames += 1;
                self.sums.bytes += payload.get();
                for frames in [&mut self.open, &mut self.captured] {
                    if frames.len() == MAX_OPEN {
                        frames.pop_front();
                    }
                    frames.push_back((frame, captured));
                }
            }
            SenderEvent::FrameFirstSent { frame, at } => {
                // A frame before it that is still here never leaves.
                while let Some(&(open, captured)) = self.open.front().filter(|one| one.0 <= frame) {
                    self.open.pop_front();
                    if open == frame {
                        self.sums.left += 1;
                        self.sums.waited_us += micros(at.saturating_since(captured));
                    }
                }
            }
            _ => {}
        }
    }

    /// A packet has left.
    pub(super) fn on_packet(&mut self, packet: &MediaPacket) {
        let size = packet.wire_size().get();
        match packet.kind {
            PacketKind::Media => self.sums.wire += size,
            PacketKind::Repair | PacketKind::Retransmission => {
                self.sums.wire += size;
                self.sums.repair += size;
            }
            PacketKind::Probe | PacketKind::Padding => {}
        }
    }

    /// The page displayed a frame, at this time of the host's clock.
    pub(super) fn on_displayed(&mut self, frame: FrameId, at: Instant) {
        let Ok(place) = self.captured.binary_search_by_key(&frame, |(known, _)| *known) else {
            return;
        };
        self.sums.displayed += 1;
        self.sums.delay_us += micros(at.saturating_since(self.captured[place].1));
    }

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&Message { sent: self.sums }).unwrap_or_default()
    }
}

fn micros(span: Duration) -> u64 {
    span.as_nanos().max(0) as u64 / 1_000
}

impl Session {
    /// The page has asked.
    pub(super) fn tell_counts(&mut self, now: Instant) {
        if let Some(channel) = self.farewell {
            // Not sent is lost: the page asks again.
            let _ = self.peer.send_data(now, channel, &self.counts.to_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media_packet;
    use gameway_units::{Bytes, Rate};

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn encoded(frame: u64, captured: Instant) -> SenderEvent {
        SenderEvent::FrameEncoded {
            frame: FrameId(frame),
            captured,
            target: Rate::from_mbps(5),
            encoder_target: Rate::from_mbps(4),
            payload: Bytes::new(1_000 + frame),
            wire_size: Bytes::new(1_100),
            repair_size: Bytes::ZERO,
            packets: 1,
            key_frame: false,
        }
    }

    #[test]
    fn frames_count_when_they_are_encoded_and_their_waits_when_they_leave() {
        let mut counts = CountsOut::default();
        counts.on(&encoded(0, at(10)));
        counts.on(&encoded(1, at(20)));
        counts.on(&encoded(2, at(30)));
        assert_eq!((counts.sums.frames, counts.sums.left, counts.sums.waited_us), (3, 0, 0));
        counts.on(&SenderEvent::FrameFirstSent { frame: FrameId(0), at: at(17) });
        // The second never leaves.
        counts.on(&SenderEvent::FrameFirstSent { frame: FrameId(2), at: at(31) });
        counts.on(&SenderEvent::FrameFirstSent { frame: FrameId(1), at: at(99) });
        counts.on_displayed(FrameId(1), at(45));
        // It is not known when it was captured.
        counts.on_displayed(FrameId(7), at(45));
        for (kind, payload) in [
            (PacketKind::Media, 1_000),
            (PacketKind::Repair, 200),
            (PacketKind::Retransmission, 300),
            (PacketKind::Padding, 500),
        ] {
            counts.on_packet(&MediaPacket { payload, ..media_packet::packet(kind) });
        }
        let told = concat!(
            r#"{"sent":{"timestamp":2700,"frames":3,"bytes":3003,"left":2,"waited_us":8000,"#,
            r#""displayed":1,"delay_us":25000,"wire":1500,"repair":500}}"#
        );
        assert_eq!(String::from_utf8(counts.to_bytes()).expect("text"), told);
    }

    #[test]
    fn frames_that_never_leave_are_not_kept_for_ever() {
        let mut counts = CountsOut::default();
        (0..2_000).for_each(|frame| counts.on(&encoded(frame, at(frame as i64))));
        assert_eq!((counts.open.len(), counts.captured.len()), (MAX_OPEN, MAX_OPEN));
        assert_eq!(counts.sums.frames, 2_000);
    }
}
