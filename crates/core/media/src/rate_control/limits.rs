//! Which bitrates a stream can have.

use super::max_rate;
use crate::packetizer::MAX_MEDIA_PACKETS;
use gameway_units::{Bytes, Duration, Rate};

/// Why a stream cannot have such bitrates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {why}")]
#[non_exhaustive]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_must_not_contradict_nor_let_a_frame_outgrow_its_packets() {
        let payload = Bytes::new(1_200);
        let check = |min, max| {
            let result = check_bitrates(Rate::from_bps(min), Rate::from_bps(max), 60, payload);
            result.map_err(|error| error.key)
        };
        assert_eq!(check(1, 1), Ok(()));
        assert_eq!(check(0, 1), Err("min_bitrate"));
        assert_eq!(check(0, 0), Err("min_bitrate"));
        assert_eq!(check(2, 1), Err("min_bitrate"));
        // 4096 packets of 1200 B hold 1.35 of a frame's share.
        let highest = max_rate(Duration::from_secs(1) / 60, payload).as_bps();
        let closed_form = 4_096.0 * 1_200.0 * 8.0 * 60.0 / 1.35;
        assert!((highest as f64 / closed_form - 1.0).abs() < 1e-6, "{highest}");
        assert_eq!(check(1, highest), Ok(()));
        assert_eq!(check(1, highest + 1), Err("max_bitrate"));
        // Half the frames, half the rate; of none counts as of one.
        let max_megabits = |frames_per_second| {
            let rate = |megabits| Rate::from_mbps(megabits);
            let fits = |megabits: &u64| {
                check_bitrates(rate(1), rate(*megabits), frames_per_second, payload).is_ok()
            };
            (1..3_000).take_while(fits).last().unwrap_or(0)
        };
        assert_eq!([60, 30, 1, 0].map(max_megabits), [1_747, 873, 29, 29]);
    }
}
