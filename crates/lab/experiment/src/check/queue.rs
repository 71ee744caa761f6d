//! Queues and their options.

use super::rate;
use crate::spec::{HtbSpec, QueueSpec};
use crate::{Known, RunError, spec_error};
use gameway_units::Rate;
use gameway_units::declared::{Entry, OptionError};

/// Whether a queue of this specification can be built of what is known.
///
/// # Errors
/// The first option that is wrong, and what is allowed.
pub fn check_queue(known: Known<'_>, queue: &QueueSpec) -> Result<(), RunError> {
    check_queue_of(known, "queue", queue)
}

pub(super) fn check_queue_of(
    known: Known<'_>,
    field: &str,
    queue: &QueueSpec,
) -> Result<(), RunError> {
    let entry = known.queues.get("queue", &queue.kind);
    let Entry { description, functions: default_size } =
        entry.map_err(|error| refused(field, error))?;
    default_size(description, &queue.options).map_err(|error| refused(field, error))?;
    match known.htb(queue).map_err(|error| refused(field, error))? {
        Some(htb) => check_htb(known, field, &htb),
        None => Ok(()),
    }
}

/// The error of an option as one of a specification.
pub(crate) fn refused(field: &str, error: OptionError) -> RunError {
    let option = error.option.map_or_else(String::new, |option| format!(".{option}"));
    spec_error(format!("{field}{option}"), error.why)
}

fn check_htb(known: Known<'_>, field: &str, spec: &HtbSpec) -> Result<(), RunError> {
    for (name, class) in &spec.class {
        let at = |part: &str| format!("{field}.class.{name}.{part}");
        rate(&at("rate"), class.rate)?;
        rate(&at("ceil"), class.ceil.unwrap_or(Rate::ZERO))?;
        if let Some(queue) = &class.queue {
            check_queue_of(known, &at("queue"), queue)?;
        }
    }
    crate::build::check_htb(field, spec)
}
