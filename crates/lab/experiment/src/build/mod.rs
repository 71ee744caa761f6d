//! From a specification to the parts of a path.

mod change;
mod gateways;
mod htb;
mod network;
mod queues;
mod recorded;
mod routes;
mod streams;
mod transport;
mod videos;
mod wifi;

use crate::spec::{
    CapacitySpec, ChanceSpec, JitterSpec, LossSpec, PathSpec, ReorderSpec, RunSpec, StallsSpec,
    StepSpec,
};
use crate::{RunError, random};
use gameway_events::Name;
use gameway_path::{
    Chance, Direction, Displacement, Duplication, Impairments, Jitter, Link, Loss, LossModel,
    MeasuredDelays, ReorderModel, Reordering, Stalls, uniform,
};
use gameway_units::{Duration, Instant};

pub use change::{PathChange, changed_links, changes, check_change};
use gateways::check_shaper;
pub use gateways::gateway;
pub(crate) use htb::check as check_htb;
pub use network::{FlowWay, NetworkParts, ways};
pub use queues::{queue, size};
pub use recorded::Recorded;
pub use routes::{BACK, Route, Routes};
pub use streams::{feedback_style, first_capture, frame_interval, ladder, overhead, rate_limits};
pub use transport::{congestion_control, ecn, quic_congestion_control};
pub use videos::{player_settings, presentation, sizes_of};
pub use wifi::{config as wifi_config, nominal as wifi_nominal, refused as wifi_refused};

/// The names of all flows, in the order of their numbers.
#[must_use]
pub fn flow_names(spec: &RunSpec) -> Vec<Name> {
    let streams = spec.stream.iter().map(|stream| stream.name.as_str());
    let competitors = spec.competitor.iter().map(|competitor| competitor.name());
    let ping = spec.ping.iter().map(|_| "ping");
    streams.chain(competitors).chain(ping).map(Name::from).collect()
}

/// The links of all bottlenecks, in the order of [`Routes::names`].
///
/// # Errors
/// If one cannot be built, or its trace not be read.
pub fn links(path: &PathSpec) -> Result<Vec<Link>, RunError> {
    capacities(path).map(link).collect()
}

/// The capacities of all bottlenecks, likewise.
pub fn capacities(path: &PathSpec) -> impl Iterator<Item = &CapacitySpec> {
    let further = path.hop.iter().map(|hop| &hop.capacity);
    let back = path.back.iter().filter_map(|back| back.capacity.as_ref());
    std::iter::once(&path.capacity).chain(further).chain(back)
}

/// A link of this capacity.
///
/// # Errors
/// As of [`links`].
pub fn link(capacity: &CapacitySpec) -> Result<Link, RunError> {
    Ok(match capacity {
        CapacitySpec::Constant(rate) => Link::constant(*rate)?,
        CapacitySpec::Steps(list) => {
            let steps = list.steps.iter().map(|&StepSpec(at, rate)| (Instant::ZERO + at, rate));
            Link::steps(steps.collect())?
        }
        CapacitySpec::Wifi(spec) => wifi::nominal(spec)?,
        CapacitySpec::Trace(file) => Recorded::read(file)?.link(),
    })
}

/// What happens to packets behind the bottlenecks in a run of this seed: towards the clients, and back.
#[must_use]
pub fn impairments(path: &PathSpec, seed: u64) -> [Impairments; 2] {
    let of = |direction: Direction, part: &str| {
        let (loss, duplicate, reorder) = impaired(path, direction);
        let random = |what: &str| random::stream(seed, &format!("{part}/{what}"));
        Impairments {
            loss: loss.map(|one| Loss::new(loss_model(one), random("loss"))),
            duplication: duplicate.map(|one| Duplication::new(chance(one), random("duplicate"))),
            reordering: reorder.map(|one| Reordering::new(reorder_model(one), random("reorder"))),
        }
    };
    [of(Direction::Down, "path"), of(Direction::Up, "back")]
}

type Impaired<'a> = (Option<&'a LossSpec>, Option<&'a ChanceSpec>, Option<&'a ReorderSpec>);

/// What the keys of a path say of what happens behind its bottlenecks this way.
fn impaired(path: &PathSpec, direction: Direction) -> Impaired<'_> {
    match (direction, &path.back) {
        (Direction::Down, _) => {
            (path.loss.as_ref(), path.duplicate.as_ref(), path.reorder.as_ref())
        }
        (Direction::Up, Some(back)) => {
            (back.loss.as_ref(), back.duplicate.as_ref(), back.reorder.as_ref())
        }
        (Direction::Up, None) => (None, None, None),
    }
}

fn chance(spec: &ChanceSpec) -> Chance {
    let ChanceSpec { probability, correlation } = *spec;
    Chance { probability, correlation }
}

fn loss_model(loss: &LossSpec) -> LossModel {
    match *loss {
        LossSpec::Random { probability } => LossModel::Random { probability },
        LossSpec::Bursty { probability, burst_length } => {
            LossModel::Bursty { probability, burst_length }
        }
    }
}

fn reorder_model(spec: &ReorderSpec) -> ReorderModel {
    ReorderModel {
        chance: Chance { probability: spec.probability, correlation: spec.correlation },
        gap: spec.gap,
        displacement: match (spec.earlier, spec.later) {
            (Some(by), _) => Displacement::Earlier(by),
            (None, Some(by)) => Displacement::Later(by),
            (None, None) => Displacement::AtOnce,
        },
    }
}

/// See [`JitterSpec`].
#[must_use]
pub fn jitter(spec: &JitterSpec) -> Jitter {
    match *spec {
        JitterSpec::Normal { mean, deviation } => Jitter::Normal { mean, deviation },
        JitterSpec::HalfNormal { deviation } => Jitter::HalfNormal { deviation },
        JitterSpec::Periodic { delay, interval } => Jitter::Periodic { delay, interval },
        // Checked before: an empty one would be no jitter.
        JitterSpec::Histogram { ref buckets, times } => histogram(buckets, times)
            .map_or(Jitter::HalfNormal { deviation: Duration::ZERO }, Jitter::Histogram),
    }
}

/// Those of a run, if it has any.
#[must_use]
pub fn stalls(path: &PathSpec, seed: u64, duration: Duration) -> Option<Stalls> {
    let StallsSpec { interval, lengths, .. } = path.stalls.as_ref()?;
    let until = Instant::ZERO + duration;
    let random = &mut random::stream(seed, "stalls");
    Some(Stalls::draw(*interval, &histogram(lengths, 1)?, until, random))
}

/// Whether the connection called so stalls, too.
#[must_use]
pub fn stalls_too(spec: &RunSpec, connection: &str) -> bool {
    let draw = |share| {
        let random = &mut random::stream(spec.seed, &format!("{connection}/stalls"));
        uniform(random) < share
    };
    spec.path.stalls.as_ref().is_some_and(|stalls| draw(stalls.connections.as_f64()))
}

/// `None` if it counts nothing or its edges are no edges.
#[must_use]
pub fn histogram(buckets: &[(Duration, Duration, u64)], times: u32) -> Option<MeasuredDelays> {
    MeasuredDelays::new(buckets.iter().copied(), times)
}
