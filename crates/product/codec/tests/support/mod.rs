//! What several tests use.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The hash of each picture that ffmpeg reads from `input`; `None` without ffmpeg.
pub fn hashes_by_ffmpeg(format: &str, input: &[u8]) -> Option<Vec<String>> {
    let mut ffmpeg = Command::new("ffmpeg")
        .args(format!("-v error {format} -i - -pix_fmt yuv420p -f framemd5 -").split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    // The hashes are few: they fit the pipe until all input is written.
    ffmpeg.stdin.take()?.write_all(input).unwrap();
    let output = ffmpeg.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let frames = lines.lines().filter(|line| !line.starts_with('#'));
    Some(frames.map(|line| line.rsplit(", ").next().unwrap_or_default().to_owned()).collect())
}

/// A file or folder of a test's own; removed at its end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("gameway-codec-{}-{name}", std::process::id())))
    }

    pub fn folder(name: &str) -> Self {
        let scratch = Self::new(name);
        std::fs::create_dir(&scratch.0).unwrap();
        scratch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
