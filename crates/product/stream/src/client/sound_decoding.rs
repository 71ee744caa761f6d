//! The thread that decodes sound and hears where silence ends.

use crate::client::sound_inbox::Play;
use crate::cpu::{Meter, ThreadTime};
use crate::error::system;
use crate::wake::{WakeReceiver, WakeSender, waking};
use crate::{StreamError, host::sound::BLOCK};
use gameway_codec::audio::{self, AudioDecoder, OnsetDetector, SAMPLE_RATE};
use gameway_runtime::clock::Clock;
use gameway_units::{Duration, Instant};
use std::sync::mpsc::{self, Receiver, channel};
use std::thread::JoinHandle;

/// What was heard of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DecodedSound {
    /// The packet's time stamp and when it arrived; `None` for what stands in its place.
    pub(super) packet: Option<(u32, Instant)>,
    /// When its samples were there.
    pub(super) at: Instant,
    /// Where in it silence ended, if it did.
    pub(super) onset: Option<Duration>,
    /// The loudest of its samples.
    pub(super) peak: u16,
    /// Whether it could not be decoded.
    pub(super) failed: bool,
}

/// The thread, and its two ends.
#[derive(Debug)]
pub(super) struct SoundDecoding {
    jobs: Option<mpsc::Sender<Play>>,
    heard: WakeReceiver<DecodedSound>,
    worker: Option<JoinHandle<ThreadTime>>,
}

impl SoundDecoding {
    /// Starts it; without a decoder in this build, packets are counted only.
    pub(super) fn start(clock: Clock) -> Result<Self, StreamError> {
        let (sender, heard) = waking().map_err(system("no wake-up"))?;
        let Ok(decoder) = audio::open_decoder(BLOCK) else {
            return Ok(Self { jobs: None, heard, worker: None });
        };
        let (jobs, to_do) = channel();
        let worker = spawn(decoder, to_do, sender, clock)?;
        Ok(Self { jobs: Some(jobs), heard, worker: Some(worker) })
    }

    /// To be decoded.
    pub(super) fn play(&self, play: Play) {
        if let Some(jobs) = &self.jobs {
            // The thread ends with the client only.
            let _ = jobs.send(play);
        }
    }

    /// What was heard next, if anything.
    pub(super) fn take(&self) -> Option<DecodedSound> {
        self.heard.take()
    }

    /// What rings when there is something; hush it before taking.
    pub(super) fn bell(&self) -> &WakeReceiver<DecodedSound> {
        &self.heard
    }

    /// Ends the thread; what it cost.
    pub(super) fn finish(&mut self) -> Option<ThreadTime> {
        self.jobs = None;
        self.worker.take()?.join().ok()
    }
}

struct SoundDecoder {
    decoder: Box<dyn AudioDecoder>,
    detector: OnsetDetector,
    clock: Clock,
    /// The time stamp that follows what was heard.
    follows: Option<u32>,
}

impl SoundDecoder {
    fn hear(&mut self, play: &Play) -> DecodedSound {
        let (packet, payload) = match play {
            Play::Packet(packet) => {
                (Some((packet.timestamp, packet.arrived)), Some(&packet.payload))
            }
            Play::Concealment => (None, None),
        };
        let decoded = self.decoder.decode(payload.map(Vec::as_slice));
        let at = self.clock.now();
        let failed = decoded.is_err();
        let samples = decoded.unwrap_or_default();
        let length = (samples.len() / audio::CHANNELS) as u32;
        let onset = match packet {
            Some((timestamp, _)) => {
                if self.follows.is_some_and(|follows| follows != timestamp) {
                    self.detector.reset();
                }
                self.follows = Some(timestamp.wrapping_add(length));
                self.detector.hear(&samples)
            }
            None => {
                // What is made up is no silence, and no sound.
                self.detector.reset();
                self.follows = self.follows.map(|follows| follows.wrapping_add(length));
                None
            }
        };
        let peak = samples.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0);
        let onset = onset.map(|at| Duration::from_secs(at as i64) / i64::from(SAMPLE_RATE));
        DecodedSound { packet, at, onset, peak, failed }
    }
}

#[expect(clippy::disallowed_methods, reason = "the driver owns its threads")]
fn spawn(
    decoder: Box<dyn AudioDecoder>,
    jobs: Receiver<Play>,
    sender: WakeSender<DecodedSound>,
    clock: Clock,
) -> Result<JoinHandle<ThreadTime>, StreamError> {
    let work = move || {
        let meter = Meter::new("sound");
        let detector = OnsetDetector::default();
        let mut ear = SoundDecoder { decoder, detector, clock, follows: None };
        for play in jobs {
            if !sender.send(ear.hear(&play)) {
                break;
            }
        }
        meter.read()
    };
    let thread = std::thread::Builder::new().name("sound".to_owned()).spawn(work);
    thread.map_err(system("the thread of sound"))
}
