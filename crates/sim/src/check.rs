//! What a specification must satisfy beyond its grammar: every refusal names the field.
//!
//! Bounds are wide: they keep out what is a slip of the pen, and what would let a run not end or
//! overflow the clock (nanoseconds in 64 bits reach 292 years).

use crate::build::{SimError, spec_error};
use crate::spec::{
    CapacitySpec, CompetitorSpec, FeedbackSpec, LossSpec, PathSpec, RunSpec, StreamSpec, Text,
};
use gameway_units::{Bytes, Duration, Rate, Ratio};

const LONGEST_RUN: Duration = Duration::from_secs(366 * 24 * 3600);
const LONGEST_DELAY: Duration = Duration::from_secs(3600);
/// What repeats at a shorter interval fills tables, or keeps a run from ever advancing.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);
const HIGHEST_RATE: Rate = Rate::from_mbps(1_000_000);
/// Flows are numbered with 16 bits; a table's names too.
const MOST_FLOWS: usize = 1_000;

/// Whether `spec` can be run.
///
/// # Errors
/// The first field that is wrong, and what is allowed.
pub fn check(spec: &RunSpec) -> Result<(), SimError> {
    span("duration", spec.duration.0, Duration::from_nanos(1), LONGEST_RUN)?;
    check_path(&spec.path)?;
    let count = spec.stream.len() + spec.competitor.len();
    if count > MOST_FLOWS {
        return Err(spec_error("stream", format!("{count} flows; at most {MOST_FLOWS} can run")));
    }
    spec.stream.iter().try_for_each(check_stream)?;
    spec.competitor.iter().try_for_each(check_competitor)?;
    if let Some(ping) = &spec.ping {
        span("ping.interval", ping.interval.0, SHORTEST_INTERVAL, LONGEST_RUN)?;
    }
    if let Some(interval) = &spec.record.controller_interval {
        span("record.controller_interval", interval.0, SHORTEST_INTERVAL, LONGEST_RUN)?;
    }
    check_names(spec)
}

fn span(field: &str, span: Duration, least: Duration, most: Duration) -> Result<(), SimError> {
    if (least..=most).contains(&span) {
        return Ok(());
    }
    Err(spec_error(field, format!("{span} is not between {least} and {most}")))
}

fn rate(field: &str, rate: Rate) -> Result<(), SimError> {
    if rate <= HIGHEST_RATE {
        return Ok(());
    }
    Err(spec_error(field, format!("{rate} is more than {HIGHEST_RATE}")))
}

fn check_path(path: &PathSpec) -> Result<(), SimError> {
    match &path.capacity {
        CapacitySpec::Constant(capacity) => rate("path.capacity", capacity.0)?,
        CapacitySpec::Steps(list) => {
            for (at, capacity) in &list.steps {
                span("path.capacity", at.0, Duration::ZERO, LONGEST_RUN)?;
                rate("path.capacity", capacity.0)?;
            }
        }
        CapacitySpec::Trace(_) => {}
    }
    span("path.base_rtt", path.base_rtt.0, Duration::ZERO, LONGEST_DELAY)?;
    if let Some(forward) = path.forward_delay {
        span("path.forward_delay", forward.0, Duration::ZERO, path.base_rtt.0)?;
    }
    if let Some(jitter) = &path.jitter {
        span("path.jitter.mean", jitter.mean.0, Duration::ZERO, LONGEST_DELAY)?;
        span("path.jitter.deviation", jitter.deviation.0, Duration::ZERO, LONGEST_DELAY)?;
    }
    path.loss.as_ref().map_or(Ok(()), check_loss)
}

fn check_loss(loss: &LossSpec) -> Result<(), SimError> {
    let (LossSpec::Random { probability } | LossSpec::Bursty { probability, .. }) = *loss;
    if probability.0 > Ratio::ONE {
        let why = format!("{} is more than 100 %", probability.0);
        return Err(spec_error("path.loss.probability", why));
    }
    let LossSpec::Bursty { burst_length, .. } = *loss else { return Ok(()) };
    if !(1.0..=1e6).contains(&burst_length) {
        let why = format!("{burst_length} packets is not between 1 and 1000000");
        return Err(spec_error("path.loss.burst_length", why));
    }
    // Between two bursts at least one packet gets through.
    let most = burst_length / (burst_length + 1.0);
    if probability.0.as_f64() > most {
        let why = format!("bursts of {burst_length} packets lose at most {:.1} %", most * 100.0);
        return Err(spec_error("path.loss.probability", why));
    }
    Ok(())
}

fn check_stream(stream: &StreamSpec) -> Result<(), SimError> {
    let field = |name: &str| format!("stream \"{}\": {name}", stream.name);
    rate(&field("max_bitrate"), stream.max_bitrate.0)?;
    if let Some(fec) = stream.fec
        && fec.0 > Ratio::ONE
    {
        return Err(spec_error(field("fec"), format!("{} is more than 100 %", fec.0)));
    }
    if let FeedbackSpec::Interval(interval) = stream.feedback {
        span(&field("feedback"), interval, SHORTEST_INTERVAL, LONGEST_DELAY)?;
    }
    check_times(field, stream.start, stream.stop)
}

fn check_competitor(competitor: &CompetitorSpec) -> Result<(), SimError> {
    let CompetitorSpec::Tcp { name, start, stop, bytes, rate_limit, .. } = competitor;
    let field = |part: &str| format!("competitor \"{name}\": {part}");
    if let Some(limit) = rate_limit {
        rate(&field("rate_limit"), limit.0)?;
        if limit.0 == Rate::ZERO {
            return Err(spec_error(field("rate_limit"), "must be more than 0 b/s"));
        }
    }
    if bytes.is_some_and(|bytes| bytes.0 == Bytes::ZERO) {
        return Err(spec_error(field("bytes"), "must be more than 0 B"));
    }
    check_times(field, *start, *stop)
}

fn check_times(
    field: impl Fn(&str) -> String,
    start: Option<Text<Duration>>,
    stop: Option<Text<Duration>>,
) -> Result<(), SimError> {
    let start = start.map_or(Duration::ZERO, |text| text.0);
    span(&field("start"), start, Duration::ZERO, LONGEST_RUN)?;
    match stop {
        None => Ok(()),
        Some(Text(stop)) if stop > start => Ok(()),
        Some(Text(stop)) => {
            Err(spec_error(field("stop"), format!("{stop} is not after the start at {start}")))
        }
    }
}

fn check_names(spec: &RunSpec) -> Result<(), SimError> {
    let mut names = crate::build::flow_names(spec);
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let why = format!("two flows are called \"{}\"; names must differ", pair[0]);
            Err(spec_error("name", why))
        }
    }
}
