//! The pointer's shape on its way to a browser that plays.
//!
//! A shape is 2 KB (24 x 24 pixels) and leaves beside what the controller allows, so shapes are bounded; of those that come faster
//! only the newest leaves.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | least time between two | 50 ms | as often as animated pointers change; more is not seen |
//! | rate | 1 Mb/s | leaves the time of 50 ms to all of 39 x 39 pixels; the largest one, 64 KB, has half a second |

use super::Session;
use gameway_units::{Duration, Instant};

const MIN_INTERVAL: Duration = Duration::from_millis(50);
const NANOS_PER_BYTE: i64 = 8_000;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct ShapeOut {
    /// The page's channel, once it is open.
    channel: Option<u16>,
    /// The number of the shape that left last; zero is none.
    sent: u64,
    next: Option<Instant>,
}

impl ShapeOut {
    /// The page has opened its channel.
    pub(super) fn open(&mut self, channel: u16) {
        (self.channel, self.sent) = (Some(channel), 0);
    }

    /// The channel on which this shape is to leave now, if it is.
    fn take(&mut self, now: Instant, number: u64, bytes: usize) -> Option<u16> {
        let channel = self.channel.filter(|_| self.sent != number)?;
        if self.next.is_some_and(|next| now < next) {
            return None;
        }
        let span = Duration::from_nanos(NANOS_PER_BYTE * bytes as i64).max(MIN_INTERVAL);
        (self.next, self.sent) = (Some(now.saturating_add(span)), number);
        Some(channel)
    }
}

impl Session {
    /// The newest shape of the pointer, by its number from one, and its message: it leaves if the player has it not and may have it by
    /// now. To be called again and again.
    pub fn show_pointer(&mut self, now: Instant, number: u64, message: &[u8]) {
        let Some(channel) = self.shape.take(now, number, message.len()) else { return };
        if self.peer.send_data(now, channel, message).is_err() {
            // What finds no room leaves the next time.
            self.shape.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds at which shapes of so many bytes leave, and which, while another one comes each millisecond until the 120th.
    fn sent(out: &mut ShapeOut, from: i64, bytes: usize) -> Vec<(i64, u64)> {
        let left = (1..=1_500).filter_map(|number: u64| {
            let (millis, number) = (from + number as i64, number.min(120));
            let now = Instant::ZERO + Duration::from_millis(millis);
            out.take(now, number, bytes).map(|_| (millis - from, number))
        });
        left.collect()
    }

    #[test]
    fn of_shapes_that_come_faster_the_newest_leaves() {
        let mut out = ShapeOut::default();
        assert_eq!(sent(&mut out, 0, 2_316), [], "no page has asked");
        out.open(3);
        assert_eq!(sent(&mut out, 2_000, 2_316), [(1, 1), (51, 51), (101, 101), (151, 120)]);
        // A page that opens it anew begins anew, and not faster.
        out.open(5);
        assert_eq!(sent(&mut out, 4_000, 65_536), [(1, 1), (526, 120)]);
        out.open(5);
        assert_eq!(out.take(Instant::ZERO + Duration::from_millis(4_600), 120, 4), None);
        assert_eq!(out.take(Instant::ZERO + Duration::from_millis(5_051), 120, 4), Some(5));
    }
}
