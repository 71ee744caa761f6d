//! What several tests judge pictures by.

use std::io::Write;
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
