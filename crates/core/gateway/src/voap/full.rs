//! What the link carried lately while packets waited: what it has for those that come.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | memory | 10 s | ours: a link that was not full for so long may be another |
//! | a lower rate takes the place of a higher after | 2 s | ours: what the gateway may take to follow a link that halves |
//! | shortest span of a rate | 40 ms | ours: the packets of 1 Mb/s in it are three; shorter ones count bursts |

use gameway_units::{Bytes, Duration, Instant};

const MEMORY: Duration = Duration::from_secs(10);
const HIGHEST_FOR: Duration = Duration::from_secs(2);
const MIN_SPAN: Duration = Duration::from_millis(40);

/// See the module's head.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Full {
    bytes: Bytes,
    span: Duration,
    /// Bytes per second, and when it was so.
    highest: Option<(Instant, f64)>,
    last: Instant,
}

impl Full {
    /// A period has ended in which so much came, and packets waited or did not.
    pub(super) fn on_period(&mut self, now: Instant, bytes: Bytes, span: Duration, waited: bool) {
        if !waited {
            (self.bytes, self.span) = (Bytes::ZERO, Duration::ZERO);
            return;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.span = self.span.saturating_add(span);
        if self.span < MIN_SPAN {
            return;
        }
        let rate = self.bytes.as_f64() / self.span.as_secs_f64();
        let holds = |(at, highest): (Instant, f64)| {
            highest > rate && now.saturating_since(at) < HIGHEST_FOR
        };
        if !self.highest.is_some_and(holds) {
            self.highest = Some((now, rate));
        }
        (self.bytes, self.span, self.last) = (Bytes::ZERO, Duration::ZERO, now);
    }

    /// What the link carries, in bytes per second, if it was full lately.
    pub(super) fn rate(&self, now: Instant) -> Option<f64> {
        let fresh = now.saturating_since(self.last) < MEMORY;
        self.highest.filter(|_| fresh).map(|(_, rate)| rate)
    }
}
