//! What a session is to be, from the configuration of its host.

use crate::host::session::Terms;
use crate::{HostConfig, StreamError};
use gameway_control::{FeedbackStyle, RateController};
use gameway_experiment::build;
use gameway_units::Ratio;

/// The controller that the stream names.
pub(super) fn controller(config: &HostConfig) -> Result<Box<dyn RateController>, StreamError> {
    let stream = &config.stream;
    let interval = build::frame_interval(stream)?;
    let limits = build::rate_limits(stream, interval)?;
    let options = stream.controller.options();
    gameway_control::build(stream.controller.name(), &options, limits)
        .map_err(|error| StreamError::Config { field: "stream.controller", why: error.to_string() })
}

pub(super) fn terms(config: &HostConfig, session: u32, audio: bool) -> Result<Terms, StreamError> {
    let stream = &config.stream;
    let controller = controller(config)?;
    let frame_interval = build::frame_interval(stream)?;
    let report_interval_ns = match build::feedback_style(stream, &*controller) {
        FeedbackStyle::PerFrame => None,
        FeedbackStyle::Interval(interval) => Some(interval.as_nanos()),
    };
    Ok(Terms {
        start: build::first_capture(stream, frame_interval, config.seed),
        frame_interval,
        repair_share: stream.fec.map_or(Ratio::ZERO, |text| text.0),
        mtu: stream.mtu.map(|text| text.0),
        ecn: stream.ecn.or_native(controller.ecn()),
        audio,
        hello: crate::control::Hello {
            session,
            frame_interval_ns: frame_interval.as_nanos(),
            report_interval_ns,
        },
        controller,
    })
}
