//! What a session is to be, from the configuration of its host.

use crate::control::Hello;
use crate::host::session::Terms;
use crate::{HostConfig, StreamError};
use gameway_control::FeedbackStyle;
use gameway_units::Instant;

pub(super) fn terms(config: &HostConfig, session: u32, audio: bool) -> Result<Terms, StreamError> {
    let controller = config.build_controller()?;
    let frame_interval = config.frame_interval();
    let report_interval_ns = match config.reports.or_native(controller.feedback_style()) {
        FeedbackStyle::PerFrame => None,
        FeedbackStyle::Interval(interval) => Some(interval.as_nanos()),
    };
    Ok(Terms {
        start: Instant::ZERO + config.start,
        frame_interval,
        repair_share: config.fec,
        mtu: config.mtu,
        ecn: config.ecn.or_native(controller.ecn()),
        audio,
        hello: Hello { session, frame_interval_ns: frame_interval.as_nanos(), report_interval_ns },
        controller,
    })
}
