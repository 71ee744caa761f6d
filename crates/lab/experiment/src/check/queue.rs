//! Queues and their options.

use crate::error::option_refused;
use crate::spec::{HtbSpec, QueueSpec};
use crate::{Known, RunError, spec_error};
use gameway_units::declared::Entry;

/// Whether a queue of this specification can be built of what is known.
///
/// # Errors
/// The first option that is wrong, and what is allowed.
pub fn check_queue(known: Known<'_>, queue: &QueueSpec) -> Result<(), RunError> {
    Queues { known, tells: true }.check("queue", queue)
}

/// What queues are checked by.
#[derive(Clone, Copy)]
pub(super) struct Queues<'a> {
    pub known: Known<'a>,
    /// Whether something tells what a flow is.
    pub tells: bool,
}

impl Queues<'_> {
    pub(super) fn check(self, field: &str, queue: &QueueSpec) -> Result<(), RunError> {
        if let Some(htb) = self.known.htb(queue).map_err(|error| option_refused(field, error))? {
            return self.check_htb(field, &htb);
        }
        let entry = self.known.queues.get("queue", &queue.kind);
        let checked = entry.and_then(|Entry { description, functions: default_size }| {
            default_size(description, &queue.options)
        });
        checked.map(drop).map_err(|error| option_refused(field, error))
    }

    fn check_htb(self, field: &str, spec: &HtbSpec) -> Result<(), RunError> {
        for (name, class) in &spec.class {
            let at = |part: &str| format!("{field}.class.{name}.{part}");
            if !self.tells && class.rules.0.values().any(|rule| rule.traffic.is_some()) {
                let why = "\"traffic\" never matches: nothing tells what a flow is; set path.classifier = \"behaviour\"";
                return Err(spec_error(at("match"), why));
            }
            if let Some(queue) = &class.queue {
                self.check(&at("queue"), queue)?;
            }
        }
        crate::build::check_htb(field, spec)
    }
}
