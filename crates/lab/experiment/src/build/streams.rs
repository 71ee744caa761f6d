//! From the specification of a stream to what its ends need, whoever drives them.

use crate::spec::{FeedbackSpec, StreamSpec};
use crate::{RunError, random, spec_error};
use gameway_control::{FeedbackStyle, RateController, RateLimits};
use gameway_media::rate_control::check_bitrates;
use gameway_media::{HEADER, LadderConfig, Overhead};
use gameway_units::{Bytes, Duration, Instant};

/// What a packet has more when it is sent again: the number that it had (RFC 4588 section 4).
const ORIGINAL_NUMBER: Bytes = Bytes::new(2);

/// Width and height of the picture for a ladder: a live host's, and those of the recorded game.
const PICTURE: (u32, u32) = (1280, 720);

/// Time from frame to frame of a stream.
///
/// # Errors
/// If its frame rate makes no sense.
pub fn frame_interval(stream: &StreamSpec) -> Result<Duration, RunError> {
    if !(1..=1000).contains(&stream.frame_rate) {
        let field = format!("stream \"{}\": frame_rate", stream.name);
        let why = format!("{} is not between 1 and 1000", stream.frame_rate);
        return Err(spec_error(field, why));
    }
    Ok(Duration::from_secs(1) / i64::from(stream.frame_rate))
}

/// When a stream of a run with this seed captures its first frame: at its start, plus a part of the frame interval that
/// the seed draws, so that several streams neither meet each other in step nor always at the same place of a trace.
#[must_use]
pub fn first_capture(stream: &StreamSpec, frame_interval: Duration, seed: u64) -> Instant {
    let bound = frame_interval.as_nanos().unsigned_abs().max(1);
    let phase = random::below(seed, &format!("{}/phase", stream.name), bound);
    let start = stream.start;
    Instant::ZERO + start + Duration::from_nanos(phase as i64)
}

/// What packets of a simulated stream carry and cost.
#[must_use]
pub fn overhead(stream: &StreamSpec) -> Overhead {
    let overhead = Overhead::new(HEADER, Bytes::ZERO, stream.mtu);
    match stream.repair.sends_again() {
        true => overhead.with_again(ORIGINAL_NUMBER, stream.mtu),
        false => overhead,
    }
}

/// The ladder of a stream, if it has one.
#[must_use]
pub fn ladder(stream: &StreamSpec) -> Option<LadderConfig> {
    LadderConfig::new((stream.ladder, stream.content), PICTURE, stream.frame_rate)
}

/// The bounds of a stream's controller.
///
/// # Errors
/// If they contradict, or let a frame be larger than its packets can hold.
pub fn rate_limits(stream: &StreamSpec, frame_interval: Duration) -> Result<RateLimits, RunError> {
    let (min, max) = (stream.min_bitrate, stream.max_bitrate);
    check_bitrates(min, max, stream.frame_rate, overhead(stream).payload).map_err(|error| {
        spec_error(format!("stream \"{}\": {}", stream.name, error.key), error.why)
    })?;
    let start = stream.start_bitrate.clamp(min, max);
    Ok(RateLimits { min, max, start, frame_interval })
}

/// When the receiver of a stream with this controller reports.
#[must_use]
pub fn feedback_style(stream: &StreamSpec, controller: &dyn RateController) -> FeedbackStyle {
    match stream.feedback {
        FeedbackSpec::Native => controller.feedback_style(),
        FeedbackSpec::PerFrame => FeedbackStyle::PerFrame,
        FeedbackSpec::Interval(interval)
        | FeedbackSpec::Rfc8888(interval)
        | FeedbackSpec::TransportWide(interval) => FeedbackStyle::Interval(interval),
    }
}
