//! The window that a receiver announces: of one size, or tuned to the path as Linux does.
//!
//! Source: Linux 6.18 `tcp_input.c` (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`, `tcp_grow_window`,
//! `tcp_rcv_rtt_update`, `tcp_measure_rcv_mss`), `tcp_output.c` (`tcp_select_initial_window`,
//! `__tcp_select_window`); after Dynamic Right-Sizing (Fisk and Feng 2001).
//! Model: the buffer is memory, of which a share is payload: what a full segment has of the memory
//! that holds it. Once per round trip the buffer grows to hold twice what the application read in the last one,
//! and as much more as that had grown by (a sender in slow start doubles). The window follows data by
//! two segments for each that arrives, up to the buffer's share. It is the free part: data out of order and
//! unread data take theirs.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | buffer at first | 131072 B of memory | Linux `tcp_rmem`, middle |
//! | largest buffer | 32 MiB of memory | Linux `tcp_rmem`, largest, since 6.16 (6 MiB before); live runs set it |
//! | share of payload until a segment has come | 1/2 | Linux `TCP_DEFAULT_SCALING_RATIO` |
//! | memory of a packet | its bytes and 64 B of headroom, in lines of 64 B; 320 B of `skb_shared_info`; the next power of two; 256 B of `sk_buff` | Linux `tun_alloc_skb`, `SKB_TRUESIZE` on 64 bits |
//! | room for growth at first | 10 segments | Linux `tcp_init_buffer_space` |
//!
//! | Deviation | Why |
//! |---|---|
//! | the application reads at once, so nothing waits in the receive queue when it is measured | a download's reader does; [`crate::Receiver::set_reading`] is the exception |
//! | clocks are exact, where Linux reads milliseconds from timestamps | round trips here are longer |
//! | no ACKs are quick again while the window opens | HyStart has judged by then |

use crate::segment::MAX_SCALE;
use gameway_units::{Bytes, Duration, Instant};

const FIRST_BUFFER: u64 = 131_072;
const MAX_BUFFER: u64 = 32 << 20;
const FIRST_GROWTH_SEGMENTS: u64 = 10;
const HEADROOM: u64 = 64;
const CACHE_LINE: u64 = 64;
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;
/// Of IPv4 and TCP.
const HEADERS: u64 = 40;
/// Of them the MSS knows nothing yet when the first window is told.
const TIMESTAMPS: u64 = 12;
/// Linux counts the share of payload in 1/256 (`TCP_RMEM_TO_WIN_SCALE`).
const PARTS: u64 = 256;
const MAX_UNSCALED: u64 = 65_535;
/// Of a window's 16 those that Linux uses for the size of the largest buffer (`tcp_select_initial_window`).
const SIGNED_BITS: u8 = 15;

/// How large the window is that a receiver announces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// As Linux tunes it, up to [`ReceiveWindow::largest`].
    #[default]
    Auto,
    /// This size at most, from the beginning; also the buffer for data that the application does not read.
    Fixed(Bytes),
}

impl ReceiveWindow {
    /// The largest window that is ever announced for segments of that payload: with 1448 B of
    /// [`Self::Auto`] 20 MiB.
    #[must_use]
    pub fn largest(self, segment_size: u32) -> Bytes {
        match self {
            Self::Auto => Bytes::new(MAX_BUFFER * payload_parts(segment_size) / PARTS),
            Self::Fixed(size) => size,
        }
    }

    /// The memory that Linux gives a buffer whose window is to be so large, for segments of that payload.
    #[must_use]
    pub fn memory(window: Bytes, segment_size: u32) -> Bytes {
        let parts = u128::from(payload_parts(segment_size));
        let memory = (u128::from(window.get()) * u128::from(PARTS)).div_ceil(parts);
        Bytes::new(u64::try_from(memory).unwrap_or(u64::MAX))
    }

    /// Shift of the announced windows (RFC 7323 section 2.3): Linux provides for all memory it may have.
    pub(crate) fn scale(self) -> u8 {
        let Self::Fixed(size) = self else { return MAX_BUFFER.ilog2() as u8 - SIGNED_BITS };
        let fits = (0..MAX_SCALE).find(|scale| size.get() >> scale <= MAX_UNSCALED);
        fits.unwrap_or(MAX_SCALE)
    }
}

/// Parts of a buffer's memory that are payload where it holds full segments.
fn payload_parts(segment_size: u32) -> u64 {
    let payload = u64::from(segment_size);
    let data = (payload + HEADERS + TIMESTAMPS + HEADROOM).next_multiple_of(CACHE_LINE);
    let memory = (data + SHARED_INFO).next_power_of_two() + SK_BUFF;
    (payload * PARTS / memory).max(1)
}

/// The window and what it is tuned by.
#[derive(Debug, Clone)]
pub(crate) struct WindowTuning {
    window: ReceiveWindow,
    segment_size: u32,
    /// Memory, and parts of it that are payload.
    buffer: u64,
    parts: u64,
    /// Linux `rcv_ssthresh`: what the window may be as long as no more has come.
    opened: u64,
    /// Smoothed time from an ACK to the data that it let go.
    round_trip: Option<Duration>,
    last_echo: Instant,
    /// What the application read in the fullest round trip, and where the present one began.
    read: u64,
    since: Instant,
    from: u64,
}

impl WindowTuning {
    pub(crate) fn new(window: ReceiveWindow, segment_size: u32) -> Self {
        let segment_size = segment_size.max(1);
        let mut tuning = Self {
            window,
            segment_size,
            buffer: FIRST_BUFFER,
            parts: PARTS / 2,
            opened: 0,
            round_trip: None,
            last_echo: Instant::ZERO,
            read: FIRST_GROWTH_SEGMENTS * u64::from(segment_size),
            since: Instant::ZERO,
            from: 0,
        };
        // One segment's worth is kept back.
        tuning.opened = tuning.first().min(tuning.limit().saturating_sub(u64::from(segment_size)));
        tuning.read = tuning.read.min(tuning.opened);
        tuning
    }

    /// The window of the SYN, which is never scaled: of the tuned in whole segments.
    pub(crate) fn first(&self) -> u64 {
        match self.window {
            ReceiveWindow::Auto => {
                let whole = u64::from(self.segment_size) + TIMESTAMPS;
                (self.limit() / whole * whole).min(MAX_UNSCALED)
            }
            ReceiveWindow::Fixed(size) => size.get().min(MAX_UNSCALED),
        }
    }

    /// Bytes of payload that the buffer holds: Linux `window_clamp`.
    fn limit(&self) -> u64 {
        self.buffer * self.parts / PARTS
    }

    pub(crate) fn on_established(&mut self, now: Instant) {
        self.since = now;
    }

    /// A segment has arrived within the window; `echo` is when the ACK left that let it go.
    pub(crate) fn on_segment(&mut self, now: Instant, length: u32, echo: Instant, reading: bool) {
        if length >= self.segment_size {
            self.parts = payload_parts(self.segment_size);
            self.measure_round_trip(now, echo, reading);
        }
        let step = 2 * u64::from(self.segment_size.max(length));
        self.opened = self.opened.max((self.opened + step).min(self.limit()));
    }

    /// Linux `tcp_rcv_rtt_update`: a shorter one counts at once; while data waits to be read none counts that
    /// is longer.
    fn measure_round_trip(&mut self, now: Instant, echo: Instant, reading: bool) {
        if echo == Instant::ZERO || echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let sample = now.saturating_since(echo);
        self.round_trip = match self.round_trip {
            Some(smoothed) if sample >= smoothed && !reading => Some(smoothed),
            Some(smoothed) if sample >= smoothed => Some(smoothed - smoothed / 8 + sample / 8),
            _ => Some(sample),
        };
    }

    /// The application has read up to the offset `read`; `out_of_order` bytes beyond it are out of order.
    pub(crate) fn on_read(&mut self, now: Instant, read: u64, out_of_order: u64) {
        let Some(round_trip) = self.round_trip else { return };
        if now.saturating_since(self.since) < round_trip {
            return;
        }
        let amount = read - self.from;
        if amount > self.read {
            let before = std::mem::replace(&mut self.read, amount);
            self.grow(before, out_of_order);
        }
        (self.since, self.from) = (now, read);
    }

    /// Data has come out of order, up to so far behind the gap.
    pub(crate) fn on_out_of_order(&mut self, span: u64) {
        self.grow(self.read, span);
    }

    /// Linux `tcp_rcvbuf_grow`.
    fn grow(&mut self, before: u64, out_of_order: u64) {
        let twice = 2 * self.read;
        let growth = u128::from(twice) * u128::from(self.read - before) / u128::from(before.max(1));
        let wanted = u128::from(twice + out_of_order) + 2 * growth;
        let memory = (wanted * u128::from(PARTS)).div_ceil(u128::from(self.parts));
        let memory = u64::try_from(memory).unwrap_or(u64::MAX).min(MAX_BUFFER);
        self.buffer = self.buffer.max(memory);
    }

    /// The window while `unread` bytes wait for the application and `out_of_order` bytes are out of order; in whole units of
    /// its scale, of the tuned a begun one, too (`__tcp_select_window`).
    pub(crate) fn free(&self, unread: u64, out_of_order: u64) -> u64 {
        let unit = 1 << self.window.scale();
        match self.window {
            ReceiveWindow::Auto => {
                let free = self.limit().saturating_sub(unread + out_of_order);
                free.min(self.opened).next_multiple_of(unit)
            }
            ReceiveWindow::Fixed(size) => size.get().saturating_sub(unread) / unit * unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;

    fn at(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// As `ss -tim` has it of Linux 6.18 behind a TUN device: 2304 B of memory for 1500 B on the wire.
    #[test]
    fn memory_of_packets_is_that_of_linux() {
        assert_eq!(payload_parts(MSS), 1448 * 256 / 2304);
        assert_eq!(payload_parts(536), 536 * 256 / 1280);
        // 1612 B with 116 of headers and headroom are 27 lines, and 2048 B with what is shared; one more begins a line.
        assert_eq!(payload_parts(1612), 1612 * 256 / (2048 + 256));
        assert_eq!(payload_parts(1613), 1613 * 256 / (4096 + 256));
        assert_eq!(ReceiveWindow::Auto.largest(MSS), Bytes::new(20 << 20));
        assert_eq!(ReceiveWindow::memory(Bytes::new(20 << 20), MSS), Bytes::new(32 << 20));
        assert_eq!(ReceiveWindow::Auto.scale(), 10);
        let tuning = WindowTuning::new(ReceiveWindow::Auto, MSS);
        assert_eq!((tuning.first(), tuning.opened), (64_240, 64_088));
    }

    #[test]
    fn a_round_trip_is_the_smaller_sample_or_a_mean() {
        let mut tuning = WindowTuning::new(ReceiveWindow::Auto, MSS);
        let mut sample = |from, to, reading| {
            tuning.on_segment(at(to), MSS, at(from), reading);
            tuning.round_trip.expect("a sample").as_nanos()
        };
        assert_eq!(sample(100, 180, true), 80_000_000);
        assert_eq!(sample(200, 240, true), 40_000_000);
        assert_eq!(sample(300, 380, false), 40_000_000, "the application was slow");
        assert_eq!(sample(400, 480, true), 45_000_000);
        assert_eq!(sample(400, 980, true), 45_000_000, "one echo, one sample");
    }

    /// Linux `tcp_grow_window`: two segments for each that arrives, up to what the buffer holds: 160 parts of 256.
    #[test]
    fn a_window_opens_by_two_segments_for_each_that_arrives() {
        let mut tuning = WindowTuning::new(ReceiveWindow::Auto, MSS);
        let free = |tuning: &WindowTuning| tuning.free(0, 0);
        for opened in [64_088u64, 66_984, 69_880, 72_776, 75_672, 78_568, 81_464, 81_920, 81_920] {
            assert_eq!(tuning.opened, opened);
            assert_eq!(free(&tuning), opened.next_multiple_of(1024));
            tuning.on_segment(at(1), MSS, Instant::ZERO, true);
        }
        // What waits and what is out of order take their parts.
        assert_eq!(tuning.free(10_240, 5_120), 81_920 - 15_360);
        assert_eq!(tuning.free(81_920, 1), 0);
    }

    /// Linux `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow` by hand, with 160 parts of payload: nothing in the first round trip; of
    /// 28960 bytes in the next, where it was 14480, twice that and twice as much again for the growth, 173760 in 278016.
    #[test]
    fn a_buffer_grows_once_in_a_round_trip_by_what_was_read() {
        let grown = |out_of_order: u64| {
            let mut tuning = WindowTuning::new(ReceiveWindow::Auto, MSS);
            tuning.on_established(at(1_000));
            tuning.on_segment(at(1_010), MSS, at(990), true);
            let mut buffers = Vec::new();
            for (millis, read) in
                [(1_019, 28_960), (1_020, 28_960), (1_039, 99_999), (1_040, 57_920)]
            {
                tuning.on_read(at(millis), read, out_of_order);
                buffers.push(tuning.buffer);
            }
            (buffers, tuning.read)
        };
        assert_eq!(grown(0), (vec![131_072, 278_016, 278_016, 278_016], 28_960));
        assert_eq!(grown(10_000).0[1], 278_016 + 16_000);
        // Out of order alone: 2 * 14480 + 100000 of payload.
        let mut behind = WindowTuning::new(ReceiveWindow::Auto, MSS);
        behind.on_segment(at(1), MSS, Instant::ZERO, true);
        behind.on_out_of_order(100_000);
        assert_eq!(behind.buffer, 128_960 * 256 / 160);
    }
}
