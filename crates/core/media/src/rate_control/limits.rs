//! Which bitrates a stream can have.

use super::max_rate;
use crate::packetizer::MAX_MEDIA_PACKETS;
use gameway_units::{Bytes, Duration, Rate};

/// Why a stream cannot have such bitrates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
pub struct BitrateError {
    /// Which bound is wrong: "min_bitrate" or "max_bitrate".
    pub key: &'static str,
    /// What is wrong with it, and what to do.
    pub why: String,
}

/// Refuses bounds of a bitrate that contradict, or that let a frame be larger than its packets can hold, of which each
/// carries `payload` at most.
///
/// # Errors
/// Which of the two is wrong.
pub fn check_bitrates(
    min: Rate,
    max: Rate,
    frames_per_second: u32,
    payload: Bytes,
) -> Result<(), BitrateError> {
    if min == Rate::ZERO || min > max {
        let why = format!("{min} is not between 1 b/s and max_bitrate ({max})");
        return Err(BitrateError { key: "min_bitrate", why });
    }
    let highest = max_rate(Duration::from_secs(1) / i64::from(frames_per_second.max(1)), payload);
    if max > highest {
        let why = format!(
            "at {frames_per_second} frames/s a frame of {max} can need more than {MAX_MEDIA_PACKETS} packets; set it to {} Mb/s or less, or raise frame_rate",
            highest.as_bps() / 1_000_000,
        );
        return Err(BitrateError { key: "max_bitrate", why });
    }
    Ok(())
}
