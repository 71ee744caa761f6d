//! The sound of a video file that plays in a loop, decoded by a child process `ffmpeg` of its own.
//!
//! It is another process than the pictures': both would write to pipes that are read at their own pace, and a full one
//! would hold the other back. The sound follows the pictures: it waits in silence while they stand, and skips what they
//! have left behind. A loop's end is the same in both, the file's; gaps of the track are filled with silence.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | most apart | 40 ms | EBU R 37: sound at most 40 ms before and 60 ms after the picture |
//! | skipped at once | 100 ms | reading is bounded, so that a block is not late for it |

use super::piped::PipedSound;
use super::{AudioError, AudioSource, CHANNELS, SAMPLE_RATE};
use gameway_units::{Duration, Instant};
use rustix::event::Timespec;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAX_APART: u64 = SAMPLE_RATE as u64 / 25;
const MAX_SKIPPED: u64 = SAMPLE_RATE as u64 / 10;
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// See the module's head.
#[derive(Debug)]
pub struct FileSound {
    pipe: PipedSound,
    /// Pictures that were taken from the file.
    pictures: Arc<AtomicU64>,
    frame_interval: Duration,
    /// Samples of a channel that were taken.
    taken: u64,
}

impl FileSound {
    /// Starts decoding; whoever takes pictures of the file counts them in `pictures`.
    ///
    /// # Errors
    /// [`AudioError::Capture`] when there is no such file or no ffmpeg. A file without sound shows at the first block.
    pub fn open(
        path: &Path,
        frame_interval: Duration,
        pictures: Arc<AtomicU64>,
    ) -> Result<Self, AudioError> {
        let name = format!("sound of {}", path.display());
        // A name that begins with "-" or has a colon must not be taken for an option or a protocol.
        let path = path.canonicalize().map_err(|error| AudioError::Capture {
            device: name.clone(),
            reason: format!("{error}; give the path of a file"),
        })?;
        let mut command = Command::new("ffmpeg");
        command
            .args(["-nostdin", "-v", "error", "-stream_loop", "-1", "-protocol_whitelist", "file"])
            .arg("-i")
            .arg(&path)
            .args(["-vn", "-af", "aresample=async=1:first_pts=0", "-f", "s16le"])
            .args(["-ar", "48000", "-ac", "2", "-"]);
        let pipe =
            PipedSound::start(&name, &mut command, ("ffmpeg", "has the file a sound track?"))?;
        Ok(Self { pipe, pictures, frame_interval, taken: 0 })
    }

    /// Where the pictures are, in samples.
    fn position(&self) -> u64 {
        let pictures = self.pictures.load(Ordering::Relaxed);
        let nanos = u128::from(pictures) * self.frame_interval.as_nanos().unsigned_abs() as u128;
        (nanos * u128::from(SAMPLE_RATE) / 1_000_000_000) as u64
    }
}

impl AudioSource for FileSound {
    fn next(&mut self, _now: Instant, samples: &mut [i16]) -> Result<(), AudioError> {
        let position = self.position();
        if self.taken > position.saturating_add(MAX_APART) || position == 0 {
            samples.fill(0);
            return Ok(());
        }
        let needed = samples.len() / CHANNELS;
        let behind = position.saturating_sub(self.taken + MAX_APART).min(MAX_SKIPPED);
        self.pipe.read(behind as usize + needed, PATIENCE)?;
        let skipped = behind.min(self.pipe.kept() as u64);
        self.pipe.skip(skipped as usize);
        self.taken += skipped;
        if self.pipe.take(samples) {
            self.taken += needed as u64;
        }
        Ok(())
    }
}
