//! What a specification must satisfy beyond its grammar: every refusal names the field.
//!
//! Bounds are wide: they keep out what is a slip of the pen, and what would let a run not end or
//! overflow the clock (nanoseconds in 64 bits reach 292 years).

mod changes;
mod flows;
mod path;
mod queue;

pub use flows::check_way;
pub use path::{check_gateway, check_path_document, check_wifi};
pub use queue::check_queue;

use crate::spec::{PathSpec, RecordSpec, RunSpec};
use crate::{Known, RunError, spec_error};
use flows::{check_competitor, check_foresight, check_stream};
use gameway_events::BIN;
use gameway_units::declared;
use gameway_units::{Duration, Rate};
use schemars::Schema;
use serde::Serialize;
use serde_json::Value;

const MAX_RUN: Duration = Duration::from_secs(366 * 24 * 3600);
const MAX_DELAY: Duration = Duration::from_secs(3600);
/// What repeats at a shorter interval fills tables, or keeps a run from ever advancing.
const MIN_INTERVAL: Duration = Duration::from_millis(1);
/// They are drawn before a run.
const MAX_STALLS: i64 = 1_000_000;
const MAX_RATE: Rate = Rate::from_mbps(1_000_000);
/// Flows are numbered with 16 bits; a table's names too.
const MAX_FLOWS: usize = 1_000;

/// Whether `spec` can be run with the queues, gateways and congestion controls that are known.
///
/// # Errors
/// The first field that is wrong, and what is allowed.
pub fn check(known: Known<'_>, spec: &RunSpec) -> Result<(), RunError> {
    span("duration", spec.duration, Duration::from_nanos(1), MAX_RUN)?;
    check_path(known, &spec.path)?;
    check_changes_within(&spec.path, spec.duration)?;
    check_stalls(&spec.path, spec.duration)?;
    check_record(&spec.record)?;
    let count = spec.stream.len() + spec.competitor.len();
    if count > MAX_FLOWS {
        return Err(spec_error("stream", format!("{count} flows; at most {MAX_FLOWS} can run")));
    }
    spec.stream.iter().try_for_each(check_stream)?;
    spec.stream.iter().try_for_each(|stream| check_foresight(stream, &spec.path))?;
    spec.competitor.iter().try_for_each(|one| check_competitor(known, one))?;
    if let Some(ping) = &spec.ping {
        span("ping.interval", ping.interval, MIN_INTERVAL, MAX_RUN)?;
    }
    check_names(spec)
}

/// Whether a path of this specification can be built; the files that it names are not read.
///
/// # Errors
/// The first field that is wrong, and what is allowed.
pub fn check_path(known: Known<'_>, path: &PathSpec) -> Result<(), RunError> {
    path::check_path(known, path)?;
    let mut hops: Vec<&str> = path.hop.iter().map(|hop| hop.name.as_str()).collect();
    hops.sort_unstable();
    match hops.windows(2).find(|pair| pair[0] == pair[1]) {
        None => changes::check(known, path),
        Some(pair) => {
            let why = format!("two hops are called \"{}\"; names must differ", pair[0]);
            Err(spec_error("path.hop.name", why))
        }
    }
}

/// Whether a path changes for the last time before a run ends that lasts so long.
fn check_changes_within(path: &PathSpec, duration: Duration) -> Result<(), RunError> {
    match path.change.last() {
        Some(last) if last.at >= duration => {
            let why = format!("{} is not before the run's end at {duration}", last.at);
            Err(spec_error(format!("path.change.{}.at", path.change.len() - 1), why))
        }
        _ => Ok(()),
    }
}

/// Whether the stalls of a path can be drawn for a run that lasts so long.
///
/// # Errors
/// If they are too many.
pub fn check_stalls(path: &PathSpec, duration: Duration) -> Result<(), RunError> {
    let Some(stalls) = &path.stalls else { return Ok(()) };
    span("path.stalls.interval", stalls.interval, duration / MAX_STALLS, MAX_RUN)
}

/// Whether this can be recorded.
///
/// # Errors
/// The first field that is wrong, and what is allowed.
pub fn check_record(record: &RecordSpec) -> Result<(), RunError> {
    if let Some(interval) = record.controller_interval {
        span("record.controller_interval", interval, MIN_INTERVAL, MAX_RUN)?;
    }
    if let Some(window) = record.delay_window
        && (window < BIN || window.as_nanos() % BIN.as_nanos() != 0)
    {
        let why = format!("{} is not a multiple of {BIN}, of which the tables have bins", window);
        return Err(spec_error("record.delay_window", why));
    }
    Ok(())
}

/// Whether what a table says is within the bounds that its type declares; `field` gives the name of a key.
fn check_bounds(
    field: &impl Fn(&str) -> String,
    schema: &Schema,
    spec: &impl Serialize,
) -> Result<(), RunError> {
    let Ok(Value::Object(options)) = serde_json::to_value(spec) else { return Ok(()) };
    declared::check_bounds(schema, &options).map_err(|error| {
        let option = error.option.unwrap_or_default();
        spec_error(field(&option), error.why)
    })
}

fn span(field: &str, span: Duration, min: Duration, max: Duration) -> Result<(), RunError> {
    if (min..=max).contains(&span) {
        return Ok(());
    }
    Err(spec_error(field, format!("{span} is not between {min} and {max}")))
}

fn rate(field: &str, rate: Rate) -> Result<(), RunError> {
    if rate <= MAX_RATE {
        return Ok(());
    }
    Err(spec_error(field, format!("{rate} is more than {MAX_RATE}")))
}

fn number(field: &str, given: Option<f64>, min: f64, max: f64) -> Result<(), RunError> {
    match given {
        Some(value) if !(min..=max).contains(&value) => {
            Err(spec_error(field, format!("{value} is not between {min} and {max}")))
        }
        _ => Ok(()),
    }
}

fn positive_rate(field: String, limit: Rate) -> Result<(), RunError> {
    rate(&field, limit)?;
    if limit == Rate::ZERO {
        return Err(spec_error(field, "must be more than 0 b/s"));
    }
    Ok(())
}

fn check_names(spec: &RunSpec) -> Result<(), RunError> {
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
