//! From the stream of an experiment to what its host is told.

use gameway_experiment::spec::{
    CircuitBreakerSpec, ControllerSpec, EcnSpec, FeedbackSpec, StreamSpec,
};
use gameway_experiment::{RunError, build};
use gameway_stream::config::{ControllerConfig, EcnConfig, HostConfig, ReportsConfig};
use gameway_units::Instant;

/// Sets in `config` what `stream` says of a run with this seed.
pub fn set(config: &mut HostConfig, stream: &StreamSpec, seed: u64) -> Result<(), RunError> {
    let frame_interval = build::frame_interval(stream)?;
    let limits = build::rate_limits(stream, frame_interval)?;
    config.name.clone_from(&stream.name);
    config.controller = match &stream.controller {
        ControllerSpec::Name(name) => ControllerConfig::Name(name.clone()),
        ControllerSpec::Options { kind, options } => {
            ControllerConfig::Options { kind: kind.clone(), options: options.clone() }
        }
    };
    config.frame_rate = stream.frame_rate;
    config.min_bitrate = limits.min;
    config.start_bitrate = limits.start;
    config.max_bitrate = limits.max;
    config.fec = stream.fec;
    config.repair = stream.repair;
    config.recovery = stream.recovery;
    (config.ladder, config.content) = (stream.ladder, stream.content);
    (config.min_height, config.min_frame_rate) = (0, 1);
    config.circuit_breaker = stream.circuit_breaker == CircuitBreakerSpec::Rfc8083;
    config.mtu = stream.mtu;
    // What is measured is the stream's own packets: no browser opens a second way.
    config.tcp = false;
    config.ecn = match stream.ecn {
        EcnSpec::Native => EcnConfig::Native,
        EcnSpec::None => EcnConfig::None,
        EcnSpec::Ect0 => EcnConfig::Ect0,
        EcnSpec::Ect1 => EcnConfig::Ect1,
    };
    config.reports = match stream.feedback {
        FeedbackSpec::Native => ReportsConfig::Native,
        FeedbackSpec::PerFrame => ReportsConfig::PerFrame,
        FeedbackSpec::Interval(interval)
        | FeedbackSpec::Rfc8888(interval)
        | FeedbackSpec::TransportWide(interval) => ReportsConfig::Interval(interval),
    };
    config.start = build::first_capture(stream, frame_interval, seed) - Instant::ZERO;
    config.stop = stream.stop;
    Ok(())
}
