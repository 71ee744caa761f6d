//! What the host knows of a stream and its page does not, for the page's opinion score (ITU-T G.1072): how many frames were captured
//! and encoded, with how many bytes, and how long they waited before their first packet left. The page asks for the sums so far on the
//! channel `frames`, and takes the differences between two answers; an answer that is lost is missed by nobody.
//!
//! | bound | value | why |
//! |---|---|---|
//! | frames that have not begun to leave | 512 | more than any pacer holds back ([`crate::host::log`]) |

use super::Session;
use crate::host::encoding::timestamp;
use gameway_control::FrameId;
use gameway_session::SenderEvent;
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
}

impl CountsOut {
    pub(super) fn on(&mut self, event: &SenderEvent) {
        match *event {
            SenderEvent::FrameEncoded { frame, captured, payload, .. } => {
                self.sums.timestamp = timestamp(captured);
                self.sums.frames += 1;
                self.sums.bytes += payload.get();
                if self.open.len() == MAX_OPEN {
                    self.open.pop_front();
                }
                self.open.push_back((frame, captured));
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
        let told =
            r#"{"sent":{"timestamp":2700,"frames":3,"bytes":3003,"left":2,"waited_us":8000}}"#;
        assert_eq!(String::from_utf8(counts.to_bytes()).expect("text"), told);
    }

    #[test]
    fn frames_that_never_leave_are_not_kept_for_ever() {
        let mut counts = CountsOut::default();
        (0..2_000).for_each(|frame| counts.on(&encoded(frame, at(frame as i64))));
        assert_eq!((counts.open.len(), counts.sums.frames), (MAX_OPEN, 2_000));
    }
}
