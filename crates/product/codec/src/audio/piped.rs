//! Samples that a child process writes to its standard output: 16 bits, little endian, 48 kHz, interleaved.

use super::{AudioError, CHANNELS, SAMPLE_RATE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Read;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A read of this many bytes is 20 ms.
const CHUNK: usize = SAMPLE_RATE as usize / 50 * CHANNELS * 2;

/// What is written and not yet taken.
#[derive(Debug)]
pub(super) struct PipedSound {
    device: String,
    /// What to look at when it ends.
    hint: &'static str,
    child: Child,
    output: ChildStdout,
    kept: Vec<u8>,
}

impl PipedSound {
    /// Starts the program; `package` has it.
    pub(super) fn start(
        device: &str,
        command: &mut Command,
        (package, hint): (&str, &'static str),
    ) -> Result<Self, AudioError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let refused = |reason: String| AudioError::Capture { device: device.to_owned(), reason };
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| refused(format!("{name}: {error}; install {package}")))?;
        let output = child.stdout.take().ok_or_else(|| refused(format!("{name}: no output")))?;
        Ok(Self { device: device.to_owned(), hint, child, output, kept: Vec::new() })
    }

    /// Samples of a channel that wait to be taken and were read already.
    pub(super) fn kept(&self) -> usize {
        self.kept.len() / 2 / CHANNELS
    }

    /// Reads until so many samples of a channel are kept, or nothing comes for `patience`.
    pub(super) fn read(&mut self, samples: usize, patience: Timespec) -> Result<(), AudioError> {
        let needed = samples * CHANNELS * 2;
        while self.kept.len() < needed {
            let mut descriptors = [PollFd::new(&self.output, PollFlags::IN)];
            // A signal ends the waiting early, as if nothing came.
            if poll(&mut descriptors, Some(&patience)).unwrap_or(0) == 0 {
                return Ok(());
            }
            let before = self.kept.len();
            self.kept.resize(before + CHUNK, 0);
            let count = self.output.read(&mut self.kept[before..]).map_err(|error| {
                let reason = error.to_string();
                AudioError::Capture { device: self.device.clone(), reason }
            })?;
            self.kept.truncate(before + count);
            if count == 0 {
                let reason = format!("its program ended; {}", self.hint);
                return Err(AudioError::Capture { device: self.device.clone(), reason });
            }
        }
        Ok(())
    }

    /// Takes what was kept; false, and silence, if that is too little.
    pub(super) fn take(&mut self, samples: &mut [i16]) -> bool {
        let needed = samples.len() * 2;
        if self.kept.len() < needed {
            samples.fill(0);
            return false;
        }
        for (sample, pair) in samples.iter_mut().zip(self.kept.chunks_exact(2)) {
            *sample = i16::from_le_bytes([pair[0], pair[1]]);
        }
        self.kept.drain(..needed);
        true
    }

    /// Forgets the oldest samples of a channel.
    pub(super) fn skip(&mut self, samples: usize) {
        let bytes = (samples * CHANNELS * 2).min(self.kept.len());
        self.kept.drain(..bytes);
    }
}

impl Drop for PipedSound {
    fn drop(&mut self) {
        // It may have ended by itself; either way it must not stay as a zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
