//! Sender reports to a browser: its receiver reports then tell round trips.
//!
//! Its reports on packets do not say when they were made ([`gameway_webrtc::feedback::twcc`]), so that a round trip by
//! them has up to a frame interval in it for which they were held. Our own client's say so.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | interval | 1 s | libwebrtc's `rtcp_sender`, for video at most; RFC 3550 section 6.2 |

use crate::host::encoding;
use gameway_units::{Duration, Instant};
use gameway_webrtc::reports::SenderReport;

const INTERVAL: Duration = Duration::from_secs(1);

/// What has been sent of a stream, and when that was last said.
#[derive(Debug, Clone, Copy, Default)]
pub struct SenderReports {
    packets: u32,
    bytes: u32,
    next: Option<Instant>,
}

impl SenderReports {
    /// A packet with so many bytes of payload left; the report that is to leave after it, if one is due.
    pub fn on_sent(&mut self, now: Instant, ssrc: u32, payload: usize) -> Option<SenderReport> {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(payload as u32);
        if self.next.is_some_and(|next| now < next) {
            return None;
        }
        self.next = Some(now.saturating_add(INTERVAL));
        let (timestamp, packets, bytes) = (encoding::timestamp(now), self.packets, self.bytes);
        Some(SenderReport { ssrc, sent: now, timestamp, packets, bytes })
    }
}
