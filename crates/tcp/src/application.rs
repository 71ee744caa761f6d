//! The application that writes into the sender: how many bytes of the stream exist at a time.
//!
//! Source: iperf 3 (`iperf_client_api.c`, `iperf_check_throttle`) for the rate limit.
//! Model: unlimited, or up to a number of bytes; with a rate limit it writes whole blocks while the
//! average since its start is below the rate, looking once per tick, and while the socket buffer has
//! room. After an outage it therefore catches up, as iperf does. It looks at no other time, however
//! often the sender is polled: what it does is what [`Writer::next_write`] announces.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | block | 128 KiB | iperf 3, default length for TCP |
//! | tick | 1 ms | iperf 3, `--pacing-timer` |
//! | socket buffer | 4 MiB | Linux `tcp_wmem`, largest |

use gameway_units::{Bytes, Duration, Instant, Rate};

const TICK: Duration = Duration::from_millis(1);

/// What the application sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Application {
    /// How much in all; `None`: without end.
    pub bytes: Option<Bytes>,
    /// Average rate of payload; `None`: as fast as TCP takes it.
    pub rate_limit: Option<Rate>,
    /// How much it writes at once under a rate limit.
    pub block: Bytes,
    /// How much it may have written that is not acknowledged, under a rate limit.
    pub socket_buffer: Bytes,
}

impl Default for Application {
    fn default() -> Self {
        Self {
            bytes: None,
            rate_limit: None,
            block: Bytes::new(128 << 10),
            socket_buffer: Bytes::new(4 << 20),
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
        let written = if application.rate_limit.is_some() { 0 } else { end.unwrap_or(u64::MAX) };
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
        let buffered = if self.application.rate_limit.is_some() { self.written } else { sent };
        self.end = Some(self.end.map_or(buffered, |end| end.min(buffered)));
        self.written = self.written.min(buffered);
    }

    /// Writes what is due.
    pub(crate) fn write(&mut self, now: Instant, acknowledged: u64) {
        let block = self.application.block.get().max(1);
        while self.next_write(acknowledged).is_some_and(|due| due <= now) {
            self.written = self.written.saturating_add(block).min(self.limit());
        }
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
        assert_eq!(full.written(), (4 << 20) / 10_000 * 10_000 + 10_000);
        // Full: nothing to wake up for until something is acknowledged.
        assert_eq!(full.next_write(0), None);
        assert!(full.next_write(20_000).is_some());
        full.stop(3);
        assert_eq!(full.end(), Some(full.written()));
    }
}
