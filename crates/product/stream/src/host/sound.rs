//! The thread that takes sound and encodes it, a block at a time on the host's clock.
//!
//! Block `k` is what plays from `k` times 10 ms on; it is taken when it is over, encoded if somebody listens, and leaves
//! at once. A packet's time stamp is the run's time of its first sample in units of 1/48000 s (RFC 7587 section 4.1), as
//! a picture's is its capture in units of 1/90000 s: who has both can compare them.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | block | 10 ms | half the delay of RFC 7587's default, for 22 kb/s of headers more |
//! | rate | 96 kb/s, constant | RFC 7587 section 3.1.1: 64 to 128 kb/s for stereo music; 141 kb/s on the wire |
//! | most late | 50 ms | a thread that was held up for longer leaves blocks out: what is so old is of no use |

use crate::cpu::{Meter, ThreadTime};
use crate::error::system;
use crate::wake::{WakeReceiver, WakeSender, waking};
use crate::{HostConfig, SourceConfig, StreamError};
use gameway_codec::audio::{
    self, AudioEncoder, AudioError, AudioSource, Beep, FileSound, PacketDuration, PulseMonitor,
};
use gameway_runtime::clock::{self, Clock};
use gameway_units::{Duration, Instant, Rate};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// How much a packet holds.
pub const BLOCK: PacketDuration = PacketDuration::Ten;
/// Payload.
pub const RATE: Rate = Rate::from_kbps(96);
const MAX_LATE: Duration = Duration::from_millis(50);
/// What PulseAudio plays, whatever it is.
pub(crate) const PULSE_DEVICE: &str = "@DEFAULT_MONITOR@";

/// A packet of sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoundPacket {
    /// When its first sample played.
    pub captured: Instant,
    /// As the codec made it.
    pub payload: Vec<u8>,
}

/// The time of the run in units of 1/48000 s; it wraps, as time stamps do.
#[must_use]
pub fn timestamp(captured: Instant) -> u32 {
    (i128::from(captured.as_nanos()) * 48 / 1_000_000) as u32
}

/// Which block is next.
#[derive(Debug, Clone, Copy)]
struct Blocks {
    next: i64,
}

impl Blocks {
    /// From now on.
    fn from(now: Instant) -> Self {
        Self { next: now.as_nanos().div_euclid(BLOCK.span().as_nanos()) }
    }

    /// When the next one is over.
    fn due(self) -> Instant {
        Instant::ZERO + BLOCK.span() * (self.next + 1)
    }

    /// When the block began that is over now; those that are too old are left out.
    fn take(&mut self, now: Instant) -> Instant {
        if now.saturating_since(self.due()) > MAX_LATE {
            self.next = Self::from(now).next - 1;
        }
        let begin = Instant::ZERO + BLOCK.span() * self.next;
        self.next += 1;
        begin
    }
}

/// The thread, if there is one, and what it made.
#[derive(Debug)]
pub(super) struct Sound {
    packets: WakeReceiver<Result<SoundPacket, String>>,
    /// Somebody listens: only then is anything encoded.
    wanted: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    worker: Option<JoinHandle<ThreadTime>>,
    /// Its source has failed.
    ended: bool,
}

impl Sound {
    /// Starts the thread if the configuration asks for sound; why there is none although it does.
    pub(super) fn start(
        config: &HostConfig,
        clock: Clock,
        pictures: Arc<AtomicU64>,
        frame_interval: Duration,
    ) -> Result<(Self, Option<String>), StreamError> {
        let (sender, packets) = waking().map_err(system("no wake-up"))?;
        let (wanted, stop) = (Arc::default(), Arc::default());
        let mut sound = Self { packets, wanted, stop, worker: None, ended: false };
        if !config.audio {
            return Ok((sound, None));
        }
        let opened = open(config, pictures, frame_interval)
            .and_then(|source| Ok((source, audio::open_encoder(BLOCK, RATE)?)));
        let (source, encoder) = match opened {
            Ok(both) => both,
            Err(error) => return Ok((sound, Some(error.to_string()))),
        };
        let work = Work {
            source,
            encoder,
            clock,
            wanted: Arc::clone(&sound.wanted),
            stop: Arc::clone(&sound.stop),
            sender,
        };
        sound.worker = Some(spawn(work)?);
        Ok((sound, None))
    }

    /// Whether there is any.
    pub(super) fn is_there(&self) -> bool {
        self.worker.is_some() && !self.ended
    }

    /// The source has failed: there will be none any more.
    pub(super) fn has_ended(&mut self) {
        self.ended = true;
    }

    /// Whether somebody listens.
    pub(super) fn listen(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// The next packet, or why there will be none any more.
    pub(super) fn take(&self) -> Option<Result<SoundPacket, String>> {
        self.packets.take()
    }

    /// What rings when there is a packet; hush it before taking.
    pub(super) fn bell(&self) -> &WakeReceiver<Result<SoundPacket, String>> {
        &self.packets
    }

    /// Ends the thread; what it cost.
    pub(super) fn finish(&mut self) -> Option<ThreadTime> {
        self.stop.store(true, Ordering::Relaxed);
        self.worker.take()?.join().ok()
    }
}

/// Where the sound of a source of pictures comes from.
fn open(
    config: &HostConfig,
    pictures: Arc<AtomicU64>,
    frame_interval: Duration,
) -> Result<Box<dyn AudioSource>, AudioError> {
    Ok(match &config.source {
        SourceConfig::Scene => Box::new(Beep),
        SourceConfig::File { path } => Box::new(FileSound::open(path, frame_interval, pictures)?),
        SourceConfig::X11 { .. } | SourceConfig::Portal => {
            Box::new(PulseMonitor::open(PULSE_DEVICE, config.surroundings.sound.as_deref())?)
        }
    })
}

struct Work {
    source: Box<dyn AudioSource>,
    encoder: Box<dyn AudioEncoder>,
    clock: Clock,
    wanted: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    sender: WakeSender<Result<SoundPacket, String>>,
}

impl Work {
    fn run(mut self) {
        let mut blocks = Blocks::from(self.clock.now());
        let mut samples = vec![0; BLOCK.interleaved()];
        while !self.stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now < blocks.due() {
                clock::sleep(blocks.due() - now);
                continue;
            }
            let begin = blocks.take(now);
            match self.block(begin, &mut samples) {
                Ok(None) => {}
                Ok(Some(packet)) => {
                    self.sender.send(Ok(packet));
                }
                Err(error) => {
                    self.sender.send(Err(error.to_string()));
                    return;
                }
            }
        }
    }

    /// Takes a block, and encodes it if somebody listens.
    fn block(
        &mut self,
        captured: Instant,
        samples: &mut [i16],
    ) -> Result<Option<SoundPacket>, AudioError> {
        self.source.next(captured, samples)?;
        if !self.wanted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(SoundPacket { captured, payload: self.encoder.encode(samples)? }))
    }
}

#[expect(clippy::disallowed_methods, reason = "the driver owns its threads")]
fn spawn(work: Work) -> Result<JoinHandle<ThreadTime>, StreamError> {
    let run = move || {
        let meter = Meter::new("sound");
        work.run();
        meter.read()
    };
    let thread = std::thread::Builder::new().name("sound".to_owned()).spawn(run);
    thread.map_err(system("the thread of sound"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn blocks_follow_each_other_and_old_ones_are_left_out() {
        let mut blocks = Blocks::from(at(1_003));
        assert_eq!(blocks.due(), at(1_010));
        assert_eq!([blocks.take(at(1_010)), blocks.take(at(1_021))], [at(1_000), at(1_010)]);
        // As late as may be, one after the other makes up for it; later than that, the newest whole one is next.
        assert_eq!([blocks.take(at(1_080)), blocks.take(at(1_080))], [at(1_020), at(1_030)]);
        assert_eq!([blocks.take(at(2_005)), blocks.take(at(2_010))], [at(1_990), at(2_000)]);
    }

    #[test]
    fn time_stamps_count_forty_eight_a_millisecond() {
        assert_eq!(timestamp(at(0)), 0);
        assert_eq!(timestamp(at(10)), 480);
        assert_eq!(timestamp(at(90_000_000)), (90_000_000_u64 * 48 - (1 << 32)) as u32);
    }
}
