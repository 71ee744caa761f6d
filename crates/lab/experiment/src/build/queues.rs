//! From the specification of a queue to the queue.

use super::htb;
use crate::check::refused;
use crate::spec::{HtbSpec, QueueSpec};
use crate::{Registry, RunError, random, spec_error};
use gameway_path::{Limit, PathPacket, Queue};
use gameway_units::{Duration, QueueSize};

/// How much may wait in a queue of this specification, which has been checked.
#[must_use]
pub fn size<P: PathPacket + Copy + 'static>(registry: &Registry<P>, spec: &QueueSpec) -> QueueSize {
    let own = || {
        let info = registry.known().queues.iter().find(|one| one.name == spec.kind)?;
        (info.default_size)(&spec.options).ok()
    };
    spec.size.or_else(own).unwrap_or(QueueSize::Packets(1))
}

/// The queue of the bottleneck called `link` in a run of this seed.
///
/// # Errors
/// If it cannot be built.
pub fn queue<P: PathPacket + Copy + 'static>(
    registry: &Registry<P>,
    spec: &QueueSpec,
    limit: Limit,
    (base_rtt, seed): (Duration, u64),
    link: &str,
) -> Result<Box<dyn Queue<P>>, RunError> {
    let QueueSpec { kind, options, .. } = spec;
    if kind == HtbSpec::NAME {
        let spec_of = HtbSpec::read(options).map_err(|error| refused(link, error))?;
        let size = size(registry, spec);
        return Ok(Box::new(htb::htb(registry, (&spec_of, size), (base_rtt, seed), link)?));
    }
    let random = random::stream(seed, &format!("{link}/queue"));
    match registry.disciplines().build(kind, options, limit, random) {
        Some(queue) => queue.map_err(|error| refused(link, error)),
        None => Err(spec_error(format!("{link}.queue.kind"), format!("unknown queue \"{kind}\""))),
    }
}
