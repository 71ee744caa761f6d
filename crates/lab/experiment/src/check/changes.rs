//! Changes of a path: each in its time, and to a path that can take the place of the one before it.

use super::{MAX_RUN, check_path, span};
use crate::build::check_change;
use crate::spec::{ChangeSpec, PathSpec};
use crate::{Known, RunError, spec_error};
use gameway_units::Duration;

/// Whether all changes of a path, which has been checked itself, can be made.
pub(super) fn check(known: Known<'_>, path: &PathSpec) -> Result<(), RunError> {
    let (mut before, mut last) = (path, Duration::ZERO);
    let becomes = path.becomes();
    for (number, (change, (at, after))) in path.change.iter().zip(&becomes).enumerate() {
        check_one(known, (before, last), change, after)
            .map_err(|error| of_change(number, error))?;
        (before, last) = (after, *at);
    }
    Ok(())
}

fn check_one(
    known: Known<'_>,
    (before, last): (&PathSpec, Duration),
    change: &ChangeSpec,
    after: &PathSpec,
) -> Result<(), RunError> {
    span("path.at", change.at, Duration::ZERO, MAX_RUN)?;
    if change.at <= last {
        return Err(spec_error(
            "path.at",
            format!("is not after {last}, when it was another path"),
        ));
    }
    if *change == (ChangeSpec { at: change.at, ..ChangeSpec::default() }) {
        return Err(spec_error("path.at", "changes nothing: name a key beside it"));
    }
    check_path(known, after)?;
    check_change(before, after)
}

/// The error of a path as one of the change that led to it.
fn of_change(number: usize, error: RunError) -> RunError {
    match error {
        RunError::Spec { field, why } => {
            let key = field.strip_prefix("path.").unwrap_or(&field);
            spec_error(format!("path.change.{number}.{key}"), why)
        }
        other => other,
    }
}
