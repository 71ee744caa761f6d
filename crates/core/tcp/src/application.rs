//! The application that writes into the sender: how many bytes of the stream exist at a time.
//!
//! Source: iperf 3 (`iperf_client_api.c`, `iperf_check_throttle`) for the rate limit.
//! Model: unlimited, or up to a number of bytes; with a rate limit it writes whole blocks while the
//! average since its start is below the rate, looking once per tick, and while the socket buffer has
//! room. After an outage it therefore catches up, as iperf does. It looks at no other time, however
//! often the sender is polled: what it does is what [`Writer::next_write`] announces. On and off, as a player
//! fetches a video over one connection: a segment exists once it is due and the one before has wholly arrived;
//! so the connection is idle between two of them, or always busy if the path is too slow. On demand, as a
//! server of HTTP: what was asked for exists.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | block | 128 KiB | iperf 3, default length for TCP |
//! | tick | 1 ms | iperf 3, `--pacing-timer` |
//! | socket buffer | 32 MiB | Linux `tcp_wmem`, largest, as live runs set it (4 MiB if nobody does) |

use gameway_units::{Bytes, Duration, Instant, Rate};

const TICK: Duration = Duration::from_millis(1);

/// What the application sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Application {
    /// How much in all; `None`: without end.
    pub bytes: Option<Bytes>,
    /// Average rate of payload; `None`: as fast as TCP takes it.
    pub rate_limit: Option<Rate>,
    /// Segment by segment; a rate limit has no meaning beside it.
    pub on_off: Option<OnOff>,
    /// Nothing exists but what [`crate::Sender::write`] adds; nothing else but `bytes` has a meaning then.
    pub on_demand: bool,
    /// How much it writes at once under a rate limit.
    pub block: Bytes,
    /// How much it may have written that is not acknowledged, under a rate limit.
    pub socket_buffer: Bytes,
}

/// What is fetched piece by piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnOff {
    /// How much each piece has.
    pub segment: Bytes,
    /// From when one piece is due to when the next is.
    pub interval: Duration,
}

impl Application {
    /// Whether something else than the path keeps it from writing.
    fn is_held_back(&self) -> bool {
        self.rate_limit.is_some() || self.on_off.is_some() || self.on_demand
    }
}

impl Default for Application {
    fn default() -> Self {
        Self {
            bytes: None,
            rate_limit: None,
            on_off: None,
            on_demand: false,
            block: Bytes::new(128 << 10),
            socket_buffer: Bytes::new(32 << 20),
        }
    }
}

/// The application at work.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    application: Application,
    start: Instant,
    written: u64,
    /// Offset behind the last byte, once it is settled.
    end: Option<u64>,
}

impl Writer {
    pub(crate) fn new(application: Application) -> Self {
        let end = application.bytes.map(Bytes::get);
        let written = if application.is_held_back() { 0 } else { end.unwrap_or(u64::MAX) };
        Self { application, start: Instant::ZERO, written, end }
    }

    pub(crate) fn start(&mut self, now: Instant) {
        self.start = now;
    }

    /// Offset up to which bytes exist.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Offset of the FIN, once known.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
    }

    /// No more writes: what exists at `sent` or in the socket buffer is all there will be.
    pub(crate) fn stop(&mut self, sent: u64) {
        let buffered = if self.application.is_held_back() { self.written } else { sent };
        self.end = Some(self.end.map_or(buffered, |end| end.min(buffered)));
        self.written = self.written.min(buffered);
    }

    /// Writes what is due.
    pub(crate) fn write(&mut self, now: Instant, acknowledged: u64) {
        if let Some(on_off) = self.application.on_off {
            return self.write_segment(now, acknowledged, on_off);
        }
        let block = self.application.block.get().max(1);
        while self.next_write(acknowledged).is_some_and(|due| due <= now) {
            self.written = self.written.saturating_add(block).min(self.limit());
        }
    }

    /// `amount` more bytes were written.
    pub(crate) fn add(&mut self, amount: u64) {
        self.written = self.written.saturating_add(amount).min(self.limit());
    }

    fn write_segment(&mut self, now: Instant, acknowledged: u64, on_off: OnOff) {
        if self.next_write(acknowledged).is_some_and(|due| due <= now) {
            self.written = self.written.saturating_add(on_off.segment.get()).min(self.limit());
        }
    }

    /// When the next segment is due; `None` while the one before is under way.
    fn next_segment(&self, acknowledged: u64, on_off: OnOff) -> Option<Instant> {
        if self.written >= self.limit() || acknowledged < self.written {
            return None;
        }
        let number = self.written / on_off.segment.get().max(1);
        let nanos = on_off.interval.as_nanos().saturating_mul(number as i64);
        Some(self.start.saturating_add(Duration::from_nanos(nanos)))
    }

    fn limit(&self) -> u64 {
        self.end.unwrap_or(u64::MAX)
    }

    /// Offset up to which the socket buffer reaches.
    fn room(&self, acknowledged: u64) -> u64 {
        acknowledged.saturating_add(self.application.socket_buffer.get())
    }

    /// When it writes next, if only time keeps it from writing. With a full socket buffer it waits for
    /// an acknowledgment: a deadline that has passed and cannot be met would stop a driver's clock.
    pub(crate) fn next_write(&self, acknowledged: u64) -> Option<Instant> {
        if let Some(on_off) = self.application.on_off {
            return self.next_segment(acknowledged, on_off);
        }
        let rate = self.application.rate_limit?;
        if self.written >= self.limit().min(self.room(acknowledged)) {
            return None;
        }
        let due = rate.time_for(Bytes::new(self.written)).as_nanos();
        let ticks = due.unsigned_abs().div_ceil(TICK.as_nanos().unsigned_abs()) as i64;
        Some(self.start.saturating_add(Duration::from_nanos(ticks.saturating_mul(TICK.as_nanos()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(bytes: Option<u64>) -> Writer {
        Writer::new(Application {
            bytes: bytes.map(Bytes::new),
            rate_limit: Some(Rate::from_mbps(8)),
            block: Bytes::new(10_000),
            ..Application::default()
        })
    }

    #[test]
    fn blocks_keep_the_average() {
        let mut writer = limited(None);
        let mut now = Instant::ZERO;
        writer.write(now, 0);
        assert_eq!(writer.written(), 10_000);
        while now < Instant::ZERO + Duration::from_secs(1) {
            now = writer.next_write(writer.written()).unwrap_or(Instant::MAX);
            writer.write(now, writer.written());
        }
        // 8 Mb/s for a second is 1 MB, and at most a block and a tick more.
        assert!((1_000_000..=1_012_000).contains(&writer.written()), "{}", writer.written());
    }

    fn segments() -> Writer {
        let interval = Duration::from_secs(4);
        let on_off = Some(OnOff { segment: Bytes::new(100_000), interval });
        Writer::new(Application {
            bytes: Some(Bytes::new(250_000)),
            on_off,
            ..Application::default()
        })
    }

    #[test]
    fn a_segment_waits_until_it_is_due_and_the_one_before_is_there() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut writer = segments();
        assert_eq!(writer.next_write(0), Some(at(0)));
        writer.write(at(0), 0);
        assert_eq!((writer.written(), writer.next_write(99_999)), (100_000, None));
        writer.write(at(1), 100_000);
        assert_eq!((writer.written(), writer.next_write(100_000)), (100_000, Some(at(4))));
        // Late: the second is there at 9 s only, and the third is then overdue.
        writer.write(at(4), 100_000);
        writer.write(at(8), 199_999);
        assert_eq!(writer.written(), 200_000);
        assert_eq!(writer.next_write(200_000), Some(at(8)));
        writer.write(at(9), 200_000);
        assert_eq!((writer.written(), writer.next_write(250_000)), (250_000, None));
    }

    #[test]
    fn on_demand_only_what_was_asked_for_exists() {
        let bytes = Some(Bytes::new(1_000));
        let mut writer =
            Writer::new(Application { bytes, on_demand: true, ..Application::default() });
        writer.write(Instant::ZERO + Duration::from_secs(9), 0);
        assert_eq!((writer.written(), writer.next_write(0)), (0, None));
        writer.add(300);
        writer.add(400);
        assert_eq!((writer.written(), writer.next_write(0)), (700, None));
        writer.add(400);
        assert_eq!(writer.written(), 1_000, "no more than there is");
    }

    #[test]
    fn what_is_stopped_between_two_segments_ends_there() {
        let mut writer = segments();
        writer.write(Instant::ZERO, 0);
        writer.stop(50_000);
        assert_eq!((writer.end(), writer.next_write(100_000)), (Some(100_000), None));
    }

    /// A driver may poll at any time: that must not move a write.
    #[test]
    fn polls_between_ticks_write_nothing() {
        let writes = |poll_every: i64| {
            let (mut writer, mut written) = (limited(None), Vec::new());
            for micros in (0..1_000_000).filter(|micros| micros % poll_every == 0) {
                writer.write(Instant::ZERO + Duration::from_micros(micros), writer.written());
                written.push(writer.written());
            }
            written.dedup();
            (written, writer.next_write(writer.written()))
        };
        assert_eq!(writes(1_000), writes(100));
        let mut writer = limited(None);
        writer.write(Instant::ZERO, 0);
        let due = writer.next_write(0).unwrap_or(Instant::MAX);
        writer.write(due.saturating_sub(Duration::from_nanos(1)), 0);
        assert_eq!(writer.written(), 10_000, "not yet");
        writer.write(due, 0);
        assert_eq!(writer.written(), 20_000);
    }

    #[test]
    fn socket_buffer_and_amount_bound_it() {
        let mut writer = limited(Some(25_000));
        writer.write(Instant::ZERO + Duration::from_secs(9), 0);
        assert_eq!((writer.written(), writer.next_write(0)), (25_000, None));
        let mut full = limited(None);
        full.write(Instant::ZERO + Duration::from_secs(60), 0);
        assert_eq!(full.written(), (32 << 20) / 10_000 * 10_000 + 10_000);
        // Full: nothing to wake up for until something is acknowledged.
        assert_eq!(full.next_write(0), None);
        assert!(full.next_write(20_000).is_some());
        full.stop(3);
        assert_eq!(full.end(), Some(full.written()));
    }
}
