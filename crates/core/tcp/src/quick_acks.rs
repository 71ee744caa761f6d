//! Which ACKs of data in order do not wait for a second segment.
//!
//! Source: Linux 6.18 `tcp_in_quickack_mode`, `tcp_event_data_recv`, `tcp_enter_quickack_mode`; for interactive
//! connections `tcp_event_data_sent`, `tcp_cleanup_rbuf`, `tcp_delack_timer_handler` ("pingpong").
//! Model: a number of ACKs is quick, so that a slow start gets them soon. A connection on which the application answers
//! what it receives is interactive: its ACKs wait for the next request to carry them, also those of pushed data, and
//! none is quick. It stops to be so when an ACK has waited in vain, or old data come.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | quick ACKs | of the first 22 segments | Linux `TCP_MAX_QUICKACKS`, 16, of which none is used up while `tcp_grow_window` opens the first window; 22 measured on Linux 6.18 |
//! | after old data | 16 | Linux `tcp_send_dupack`, `tcp_data_queue`; there are none after data out of order |
//! | after silence | 16, if nothing came in order for longer than the time-out of an own segment | Linux `tcp_event_data_recv` |
//! | interactive | from the first request that follows data sooner than a delayed ACK | Linux `tcp_pingpong_thresh`, 1 |
//!
//! | Deviation | Why |
//! |---|---|
//! | a window that opens brings no quick ACKs later, as in Linux (of segments 33 to 63 at 10 Mb/s) | HyStart has judged by then |
//! | the own time-out is that of the handshake's RTT | it sends nothing that would tell more |
//! | an ACK waits equally long at all times | Linux's wait (`ato`) follows the segments' spacing; two segments end it before |

use gameway_units::{Duration, Instant};

const QUICK_ACKS: u32 = 16;
/// The handshake's is one more.
const FIRST_QUICK_ACKS: u32 = 22 + 1;

/// See the module's head.
#[derive(Debug, Clone)]
pub(crate) struct QuickAcks {
    left: u32,
    interactive: bool,
    /// When data last came in order, and after how much silence ACKs are quick again.
    received: Instant,
    silence: Duration,
    /// When the application last sent.
    sent: Instant,
}

impl QuickAcks {
    /// Of a connection that opens; `silence` as long as it knows no round trip.
    pub(crate) const fn new(now: Instant, silence: Duration) -> Self {
        Self { left: FIRST_QUICK_ACKS, interactive: false, received: now, silence, sent: now }
    }

    /// It is open, and this is the time-out of an own segment.
    pub(crate) const fn on_established(&mut self, now: Instant, timeout: Duration) {
        (self.silence, self.received, self.sent) = (timeout, now, now);
    }

    /// Data have come in order.
    pub(crate) fn on_in_order(&mut self, now: Instant) {
        if now.saturating_since(self.received) > self.silence {
            self.left = self.left.max(QUICK_ACKS);
        }
        self.received = now;
    }

    /// Data have come that were there.
    pub(crate) fn on_old_data(&mut self) {
        self.left = self.left.max(QUICK_ACKS);
        self.interactive = false;
    }

    /// The application sends. An ACK would have waited so long for it.
    pub(crate) fn on_request(&mut self, now: Instant, delayed_ack: Duration) {
        let answers = self.sent < self.received;
        self.interactive |= answers && now.saturating_since(self.received) < delayed_ack;
        self.sent = now;
    }

    /// An ACK has left.
    pub(crate) const fn on_ack_sent(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// An ACK waited in vain, or a mark must be answered.
    pub(crate) const fn on_interaction_over(&mut self) {
        self.interactive = false;
    }

    /// Whether an ACK leaves at once whatever came.
    pub(crate) const fn is_quick(&self) -> bool {
        self.left > 0 && !self.interactive
    }

    /// Whether the end of what was pushed is acknowledged once the application has read it.
    pub(crate) const fn answers_pushed(&self) -> bool {
        !self.interactive
    }
}
