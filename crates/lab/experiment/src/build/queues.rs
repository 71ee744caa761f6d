//! From the specification of a queue to the queue.

use super::htb;
use crate::error::option_refused;
use crate::spec::QueueSpec;
use crate::{Registry, RunError, random};
use gameway_path::{Limit, PathPacket, Queue};
use gameway_units::{Duration, QueueSize};

/// How much may wait in a queue of this specification, which has been checked.
#[must_use]
pub fn size<P: PathPacket + 'static>(registry: &Registry<P>, spec: &QueueSpec) -> QueueSize {
    let own = || {
        let known = registry.known().queues.get("queue", &spec.kind);
        known.and_then(|one| (one.functions)(&one.description, &spec.options)).ok()
    };
    spec.size.or_else(own).unwrap_or(QueueSize::Packets(1))
}

/// The queue of the bottleneck called `link` in a run of this seed.
///
/// # Errors
/// If it cannot be built.
pub fn queue<P: PathPacket + 'static>(
    registry: &Registry<P>,
    spec: &QueueSpec,
    limit: Limit,
    (base_rtt, seed): (Duration, u64),
    link: &str,
) -> Result<Box<dyn Queue<P>>, RunError> {
    let QueueSpec { kind, options, .. } = spec;
    if let Some(of) = registry.known().htb(spec).map_err(|error| option_refused(link, error))? {
        let size = size(registry, spec);
        return Ok(Box::new(htb::htb(registry, (&of, size), (base_rtt, seed), link)?));
    }
    let random = random::stream(seed, &format!("{link}/queue"));
    let queue = registry.disciplines().build(kind, options, limit, random);
    queue.map_err(|error| option_refused(link, error))
}
