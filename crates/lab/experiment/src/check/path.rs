//! Paths: capacities, media, gateways, jitter, loss.

use super::queue::Queues;
use super::{MAX_DELAY, MIN_INTERVAL, check_bounds, number, span};
use crate::build::{self, histogram, wifi_config};
use crate::error::option_refused;
use crate::spec::{
    BackSpec, CapacitySpec, ClassifierSpec, GatewaySpec, HopSpec, JitterSpec, LossSpec, PathSpec,
    PlaceSpec, ReorderSpec, Way, WifiSpec,
};
use crate::{Known, RunError, spec_error};
use gameway_units::Duration;
use gameway_units::declared::{self, Options};
use schemars::Schema;
use std::sync::LazyLock;

/// The bounds that a path and its tables declare.
static DECLARED: LazyLock<Schema> = LazyLock::new(declared::schema::<PathSpec>);

/// Whether a path of a file, with one value for each key, says what can be said of one.
///
/// # Errors
/// The first key that is unknown, missing or of the wrong type, unit or size, and what is allowed.
pub fn check_path_document(path: &Options) -> Result<(), RunError> {
    declared::check_document(&DECLARED, path).map_err(|error| option_refused("path", error))
}

pub(super) fn check_path(known: Known<'_>, path: &PathSpec) -> Result<(), RunError> {
    check_bounds(&|key| format!("path.{key}"), &DECLARED, path)?;
    span("path.nominal_rtt", path.nominal_rtt(), Duration::ZERO, MAX_DELAY)?;
    if let Some(forward) = path.forward_delay {
        span("path.forward_delay", forward, Duration::ZERO, path.base_rtt)?;
    }
    let queues = Queues { known, tells: path.classifier != ClassifierSpec::None };
    queues.check("path.queue", &path.queue)?;
    if let CapacitySpec::Wifi(wifi) = &path.capacity {
        check_medium(queues, wifi)?;
    }
    check_jitter("path.jitter", path.jitter.as_ref())?;
    if let Some(stalls) = &path.stalls {
        span("path.stalls.interval", stalls.interval, MIN_INTERVAL, MAX_DELAY)?;
        check_histogram("path.stalls.lengths", &stalls.lengths)?;
        let connections = stalls.connections.as_f64();
        number("path.stalls.connections", Some(connections), 0.0, 1.0)?;
    }
    check_loss("path.loss", path.loss.as_ref())?;
    check_reorder("path.reorder", path.reorder.as_ref())?;
    check_shared(path)?;
    if let Some(gateway) = &path.gateway {
        build::gateway(known.gateways, "path.gateway", gateway)?;
    }
    path.hop.iter().try_for_each(|hop| check_hop(queues, hop))?;
    path.back.as_ref().map_or(Ok(()), |back| check_back(queues, back))
}

/// A medium is the path's own bottleneck, and carries both ways.
fn check_shared(path: &PathSpec) -> Result<(), RunError> {
    let back = path.back.as_ref().and_then(|back| back.capacity.as_ref());
    let hops =
        path.hop.iter().map(|hop| (format!("path.hop \"{}\": capacity", hop.name), &hop.capacity));
    let others = hops.chain(back.map(|capacity| ("path.back.capacity".to_owned(), capacity)));
    for (field, capacity) in others {
        if capacity.wifi().is_some() {
            return Err(spec_error(field, "only path.capacity can be a Wi-Fi medium"));
        }
    }
    let behind = path.hop.iter().find(|hop| hop.place == Some(PlaceSpec::Behind));
    let mut out = path.hop.iter().filter(|hop| hop.place == Some(PlaceSpec::Out));
    if let (Some(_), Some(hop)) = (path.capacity.wifi(), out.clone().next()) {
        let why = "what goes up passes the Wi-Fi medium of path.capacity alone; leave this hop out";
        return Err(spec_error(format!("path.hop \"{}\": place", hop.name), why));
    }
    if let Some(hop) = out.nth(1) {
        let why = "another hop is on the way out, and there is one at most";
        return Err(spec_error(format!("path.hop \"{}\": place", hop.name), why));
    }
    if let (Some(_), Some(hop)) = (path.capacity.wifi(), behind) {
        let why = "the clients are on the Wi-Fi medium of path.capacity, and nothing is behind it; leave this out";
        return Err(spec_error(format!("path.hop \"{}\": place", hop.name), why));
    }
    if path.capacity.wifi().is_some() && back.is_some() {
        let why = "the way back shares the Wi-Fi medium of path.capacity; leave this out";
        return Err(spec_error("path.back.capacity", why));
    }
    Ok(())
}

fn check_hop(queues: Queues<'_>, hop: &HopSpec) -> Result<(), RunError> {
    if [Way::ALL, Way::PATH, build::BACK].contains(&hop.name.as_str()) {
        return Err(spec_error("path.hop.name", format!("\"{}\" means something else", hop.name)));
    }
    queues.check(&format!("path.hop \"{}\": queue", hop.name), &hop.queue)
}

fn check_back(queues: Queues<'_>, back: &BackSpec) -> Result<(), RunError> {
    if back.capacity.is_none() && back.queue.is_some() {
        return Err(spec_error(
            "path.back.queue",
            "needs path.back.capacity: nothing waits without",
        ));
    }
    if let Some(queue) = &back.queue {
        queues.check("path.back.queue", queue)?;
    }
    check_jitter("path.back.jitter", back.jitter.as_ref())?;
    check_loss("path.back.loss", back.loss.as_ref())?;
    check_reorder("path.back.reorder", back.reorder.as_ref())
}

fn check_reorder(field: &str, reorder: Option<&ReorderSpec>) -> Result<(), RunError> {
    if reorder.is_some_and(|one| one.earlier.is_some() && one.later.is_some()) {
        return Err(spec_error(format!("{field}.later"), "has no meaning beside earlier"));
    }
    Ok(())
}

/// Whether a Wi-Fi medium of this specification can be built.
///
/// # Errors
/// The first key that is wrong, and what is allowed.
pub fn check_wifi(known: Known<'_>, wifi: &WifiSpec) -> Result<(), RunError> {
    static DECLARED: LazyLock<Schema> = LazyLock::new(declared::schema::<WifiSpec>);
    check_bounds(&|key| format!("path.capacity.{key}"), &DECLARED, wifi)?;
    check_medium(Queues { known, tells: true }, wifi)
}

fn check_medium(queues: Queues<'_>, wifi: &WifiSpec) -> Result<(), RunError> {
    if let Some(queue) = &wifi.station_queue {
        queues.check("path.capacity.station_queue", queue)?;
    }
    wifi_config(wifi).map(drop)
}

/// Whether a gateway of this specification can be built.
///
/// # Errors
/// The first option that is wrong, and what is allowed.
pub fn check_gateway(known: Known<'_>, gateway: &GatewaySpec) -> Result<(), RunError> {
    build::gateway(known.gateways, "gateway", gateway).map(drop)
}

/// Measured delays: each within bounds, and at least one.
fn check_histogram(field: &str, buckets: &[(Duration, Duration, u64)]) -> Result<(), RunError> {
    for bucket in buckets {
        span(field, bucket.1, Duration::ZERO, MAX_DELAY)?;
    }
    let why = "counts nothing, or has an edge below zero or above the other";
    histogram(buckets, 1).map(|_| ()).ok_or_else(|| spec_error(field, why))
}

fn check_jitter(field: &str, jitter: Option<&JitterSpec>) -> Result<(), RunError> {
    match jitter {
        Some(JitterSpec::Histogram { buckets, times }) => {
            number(&format!("{field}.times"), Some(f64::from(*times)), 1.0, 10.0)?;
            check_histogram(&format!("{field}.buckets"), buckets)
        }
        Some(JitterSpec::Periodic { delay, interval }) => {
            span(&format!("{field}.delay"), *delay, Duration::ZERO, *interval)
        }
        _ => Ok(()),
    }
}

fn check_loss(field: &str, loss: Option<&LossSpec>) -> Result<(), RunError> {
    let Some(&LossSpec::Bursty { probability, burst_length }) = loss else { return Ok(()) };
    // Between two bursts at least one packet gets through.
    let max = burst_length / (burst_length + 1.0);
    if probability.as_f64() > max {
        let why = format!("bursts of {burst_length} packets lose at most {:.1} %", max * 100.0);
        return Err(spec_error(format!("{field}.probability"), why));
    }
    Ok(())
}
