//! A PulseAudio (or PipeWire) monitor, read by a child process `parec` (Debian: `pulseaudio-utils`).
//!
//! | constant | value | origin |
//! |---|---|---|
//! | latency asked for | 10 ms | a packet's length; less makes `parec` wake too often |
//! | most kept | 40 ms, of which 20 stay | the device's clock is not ours: what it is fast by must not become delay |

use super::piped::PipedSound;
use super::{AudioError, AudioSource, CHANNELS, SAMPLE_RATE};
use gameway_units::Instant;
use rustix::event::Timespec;
use std::process::Command;

const MAX_KEPT: usize = SAMPLE_RATE as usize / 25;
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
const NONE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// See the module's head.
#[derive(Debug)]
pub struct PulseMonitor {
    pipe: PipedSound,
}

impl PulseMonitor {
    /// Starts capturing; the device is a source's name, such as `game.monitor` or `@DEFAULT_MONITOR@`, of a
    /// server ("unix:..."; `None` for the environment's).
    ///
    /// # Errors
    /// [`AudioError::Capture`] when `parec` cannot be started.
    pub fn open(device: &str, server: Option<&str>) -> Result<Self, AudioError> {
        let mut command = Command::new("parec");
        command
            .args(["--raw", "--format=s16le", "--rate=48000", "--channels=2", "--latency-msec=10"])
            .arg(format!("--device={device}"))
            .envs(server.map(|server| ("PULSE_SERVER", server)));
        let words = ("pulseaudio-utils", "does `pactl list sources` name the device?");
        Ok(Self { pipe: PipedSound::start(device, &mut command, words)? })
    }
}

impl AudioSource for PulseMonitor {
    fn next(&mut self, _now: Instant, samples: &mut [i16]) -> Result<(), AudioError> {
        let needed = samples.len() / CHANNELS;
        // All that is there, so that nothing piles up behind it.
        self.pipe.read(2 * MAX_KEPT, NONE)?;
        self.pipe.read(needed, PATIENCE)?;
        if self.pipe.kept() > MAX_KEPT {
            self.pipe.skip(self.pipe.kept() - MAX_KEPT / 2);
        }
        // A device that is suspended delivers nothing: that is silence.
        self.pipe.take(samples);
        Ok(())
    }
}
