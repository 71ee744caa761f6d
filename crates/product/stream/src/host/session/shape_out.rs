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

const LEAST: Duration = Duration::from_millis(50);
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
}

impl Session {
    /// The newest shape of the pointer, by its number and message: it leaves if the player has it not and may have it by now. To be called again and
    /// again.
    pub fn show_pointer(&mut self, now: Instant, number: u64, message: &[u8]) {
        let out = &mut self.shape;
        let Some(channel) = out.channel.filter(|_| out.sent != number) else { return };
        if out.next.is_some_and(|next| now < next) {
            return;
        }
        let span = Duration::from_nanos(NANOS_PER_BYTE * message.len() as i64).max(LEAST);
        out.next = Some(now.saturating_add(span));
        // What finds no room leaves the next time.
        if self.peer.send_data(now, channel, message).is_ok() {
            self.shape.sent = number;
        }
    }
}
