//! The headers of all packets as the link saw them, in a file that Wireshark and tshark read; if one is asked for.
//!
//! A thread of its own writes: a file must not make packets late. What waits for it is bounded; what finds no room is
//! counted, in the file's own statistics too, and not waited for.

use super::pcapng::{self, Passed};
use gameway_units::Instant;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// What is handed over at a time: some 400 packets.
const BATCH_BYTES: usize = 64 * 1024;
/// How many wait for the file at most: 16 MiB, more than a second of full packets at 500 Mb/s both in and out.
const MAX_BATCHES: usize = 256;
/// Names of the interfaces: the ends of the path.
const INTERFACES: [&str; 2] = ["server", "client"];

/// See the module's head.
#[derive(Debug, Default)]
pub struct Capture {
    writer: Option<Writer>,
}

#[derive(Debug)]
struct Writer {
    /// Time zero of the run, since 1970.
    zero_ns: i64,
    batch: Vec<u8>,
    /// Packets in the batch, of each interface.
    waiting: [u64; 2],
    passed: [u64; 2],
    missing: [u64; 2],
    batches: SyncSender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Capture {
    /// A capture in `file`, if there is to be one, of a run whose time zero is at `zero_ns` since 1970.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn create(file: Option<&Path>, zero_ns: i64) -> io::Result<Self> {
        let Some(file) = file else { return Ok(Self::default()) };
        let told =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
        let out = File::create(file).map_err(told)?;
        let (batches, receiver) = sync_channel(MAX_BATCHES);
        #[expect(clippy::disallowed_methods, reason = "a driver; files must not hold it up")]
        let thread = std::thread::spawn(move || write(out, &receiver));
        let mut batch = Vec::with_capacity(BATCH_BYTES);
        pcapng::begin(&mut batch, &format!("time zero of the run: {zero_ns} ns"), &INTERFACES);
        let (waiting, passed, missing) = Default::default();
        Ok(Self {
            writer: Some(Writer { zero_ns, batch, waiting, passed, missing, batches, thread }),
        })
    }

    /// A packet passed an end of the path: 0 the server's, 1 the client's.
    pub fn add(&mut self, now: Instant, end: usize, passed: Passed, bytes: &[u8]) {
        let Some(writer) = &mut self.writer else { return };
        let nanos = writer.since_1970(now);
        pcapng::packet(&mut writer.batch, end, passed, nanos, bytes);
        writer.waiting[end] += 1;
        if writer.batch.len() + pcapng::MAX_BLOCK > BATCH_BYTES {
            writer.hand_over();
        }
    }

    /// Writes what is left; how many packets found no room.
    ///
    /// # Errors
    /// If anything could not be written.
    pub fn finish(self, now: Instant) -> io::Result<u64> {
        let Some(mut writer) = self.writer else { return Ok(0) };
        writer.hand_over();
        for end in 0..INTERFACES.len() {
            let (passed, missing) = (writer.passed[end], writer.missing[end]);
            let at = writer.since_1970(now);
            pcapng::statistics(&mut writer.batch, end, at, passed, missing);
        }
        // A thread that has failed says why below; now there is time to wait.
        let _ = writer.batches.send(writer.batch);
        drop(writer.batches);
        writer.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(writer.missing.iter().sum())
    }
}

impl Writer {
    fn since_1970(&self, now: Instant) -> u64 {
        self.zero_ns.saturating_add(now.as_nanos()).max(0) as u64
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_BYTES));
        let lost = self.batches.try_send(batch).is_err();
        for (end, packets) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            self.passed[end] += packets;
            self.missing[end] += if lost { packets } else { 0 };
        }
    }
}

fn write(mut out: File, batches: &Receiver<Vec<u8>>) -> io::Result<()> {
    for batch in batches {
        out.write_all(&batch)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("gameway-capture-{}-{name}", std::process::id()))
    }

    #[test]
    fn all_that_passes_is_in_the_file() {
        let file = file("all.pcapng");
        let mut capture = Capture::create(Some(&file), 1_700_000_000_000_000_000).expect("a file");
        for number in 0..5_000_i64 {
            let end = (number % 2) as usize;
            capture.add(Instant::from_nanos(number), end, Passed::In, &[0x45; 60]);
        }
        let missing = capture.finish(Instant::from_nanos(5_000)).expect("written");
        let bytes = std::fs::read(&file).expect("the file");
        std::fs::remove_file(&file).expect("removed");
        assert_eq!(missing, 0);
        let mut empty = Vec::new();
        pcapng::packet(&mut empty, 0, Passed::In, 0, &[0x45; 60]);
        let packets = bytes.windows(4).filter(|four| *four == [0x45; 4]).count() / 57;
        assert_eq!(packets, 5_000);
        assert!(bytes.len() > 5_000 * empty.len() && bytes.len() < 5_000 * empty.len() + 500);
    }

    #[test]
    fn what_finds_no_room_is_counted_and_not_waited_for() {
        // Nobody takes batches: the thread has ended.
        let (batches, receiver) = sync_channel(1);
        #[expect(clippy::disallowed_methods, reason = "a driver's thread")]
        let thread = std::thread::spawn(|| Ok(()));
        let (waiting, passed, missing) = Default::default();
        let batch = Vec::new();
        let writer = Writer { zero_ns: 0, batch, waiting, passed, missing, batches, thread };
        let mut capture = Capture { writer: Some(writer) };
        (0..2_000).for_each(|_| capture.add(Instant::ZERO, 1, Passed::Out, &[0; 1500]));
        drop(receiver);
        let missing = capture.finish(Instant::ZERO).expect("no file, no error");
        // The first batch waits in the channel; all others find it full.
        assert!((1_000..2_000).contains(&missing), "{missing}");
    }

    #[test]
    fn no_file_no_work_and_a_bad_one_is_named() {
        let mut capture = Capture::create(None, 0).expect("nothing to do");
        capture.add(Instant::ZERO, 0, Passed::In, &[0; 40]);
        assert_eq!(capture.finish(Instant::ZERO).expect("nothing was written"), 0);
        let error = Capture::create(Some(Path::new("/nowhere/x.pcapng")), 0).unwrap_err();
        assert!(error.to_string().contains("/nowhere/x.pcapng"), "{error}");
    }
}
