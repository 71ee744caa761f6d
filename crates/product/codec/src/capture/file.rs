//! A video file, decoded by a child process `ffmpeg` and played in a loop.
//!
//! ffmpeg scales to the size and converts to the frame rate; it writes raw I420 pictures to a pipe,
//! which holds it back to the pace at which they are read.

use super::{CaptureError, FrameSource};
use crate::{Picture, Size};
use gameway_units::Instant;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A video file that plays in a loop.
#[derive(Debug)]
pub struct VideoFile {
    name: String,
    child: Child,
    output: ChildStdout,
    /// Of a picture.
    bytes: u64,
}

impl VideoFile {
    /// Starts decoding.
    ///
    /// # Errors
    /// [`CaptureError`] when there is no such file or no ffmpeg. A file that ffmpeg cannot read shows at
    /// the first picture.
    pub fn open(path: &Path, size: Size, frames_per_second: u32) -> Result<Self, CaptureError> {
        let name = format!("video file {}", path.display());
        // A name that begins with "-" or has a colon must not be taken for an option or a protocol.
        let path = path.canonicalize().map_err(|error| {
            CaptureError::new(&name, format!("{error}; give the path of a file"))
        })?;
        let (width, height) = (size.width(), size.height());
        let filter = format!(
            "fps={frames_per_second},scale={width}:{height}:out_color_matrix=bt709:out_range=tv"
        );
        let mut child = Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error", "-stream_loop", "-1", "-protocol_whitelist", "file"])
            .arg("-i")
            .arg(&path)
            .args(["-an", "-vf", &filter, "-pix_fmt", "yuv420p", "-f", "rawvideo", "-"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                CaptureError::new(&name, format!("ffmpeg: {error}; install ffmpeg"))
            })?;
        let output = child.stdout.take().ok_or_else(|| CaptureError::new(&name, "no output"))?;
        let bytes = (size.luma() + 2 * size.chroma()) as u64;
        Ok(Self { name, child, output, bytes })
    }

    /// What ffmpeg said before it ended.
    fn last_words(&mut self) -> String {
        let mut said = String::new();
        // It is killed first, so that reading to the end of its messages cannot wait for it.
        let _ = self.child.kill();
        if let Some(messages) = self.child.stderr.take() {
            let _ = messages.take(2000).read_to_string(&mut said);
        }
        said.trim().replace('\n', "; ")
    }
}

impl FrameSource for VideoFile {
    fn next(
        &mut self,
        _now: Instant,
        _frame: u64,
        picture: &mut Picture,
    ) -> Result<(), CaptureError> {
        self.output.read_exact(picture.samples_mut()).map_err(|error| {
            let said = self.last_words();
            CaptureError::new(&self.name, format!("ffmpeg ended ({error}): {said}"))
        })
    }

    fn pass_over(&mut self, pictures: u64) {
        let passed = &mut (&mut self.output).take(self.bytes.saturating_mul(pictures));
        // If it has ended, the next picture tells why.
        let _ = std::io::copy(passed, &mut std::io::sink());
    }
}

impl Drop for VideoFile {
    fn drop(&mut self) {
        // It may have ended by itself; either way it must not stay as a zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
