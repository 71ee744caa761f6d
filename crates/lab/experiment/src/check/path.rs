//! Paths: capacities, media, gateways, jitter, loss.

use super::queue::{check_queue_of, refused};
use super::{MAX_DELAY, MAX_RUN, MIN_INTERVAL, number, rate, share, span};
use crate::build::{self, histogram, wifi_config};
use crate::spec::{
    BackSpec, CapacitySpec, ChanceSpec, ClassifierSpec, GatewaySpec, HopSpec, JitterSpec, LossSpec,
    PathSpec, QueueSpec, ReorderSpec, Way, WifiSpec,
};
use crate::{Known, RunError, spec_error};
use gameway_units::{Duration, Ratio};

pub(super) fn check_path(known: Known<'_>, path: &PathSpec) -> Result<(), RunError> {
    check_capacity(known, "path.capacity", &path.capacity)?;
    span("path.base_rtt", path.base_rtt, Duration::ZERO, MAX_DELAY)?;
    span("path.nominal_rtt", path.nominal_rtt(), Duration::ZERO, MAX_DELAY)?;
    if let Some(forward) = path.forward_delay {
        span("path.forward_delay", forward, Duration::ZERO, path.base_rtt)?;
    }
    check_queue_of(known, "path.queue", &path.queue)?;
    check_jitter("path.jitter", path.jitter.as_ref())?;
    if let Some(stalls) = &path.stalls {
        span("path.stalls.interval", stalls.interval, MIN_INTERVAL, MAX_DELAY)?;
        check_histogram("path.stalls.lengths", &stalls.lengths)?;
        let connections = stalls.connections.as_f64();
        number("path.stalls.connections", Some(connections), 0.0, 1.0)?;
    }
    check_loss("path.loss", path.loss.as_ref())?;
    check_duplicate("path.duplicate", path.duplicate.as_ref())?;
    check_reorder("path.reorder", path.reorder.as_ref())?;
    check_shared(path)?;
    if let Some(gateway) = &path.gateway {
        build::gateway(known.gateways, "path.gateway", gateway)?;
    }
    check_recognition(known, path)?;
    path.hop.iter().try_for_each(|hop| check_hop(known, hop))?;
    path.back.as_ref().map_or(Ok(()), |back| check_back(known, back))
}

/// A rule on what a flow is needs something that tells.
fn check_recognition(known: Known<'_>, path: &PathSpec) -> Result<(), RunError> {
    if path.classifier != ClassifierSpec::None {
        return Ok(());
    }
    let hops = path.hop.iter().map(|hop| (format!("path.hop \"{}\": queue", hop.name), &hop.queue));
    let back = path.back.iter().filter_map(|back| back.queue.as_ref());
    let own = [("path.queue".to_owned(), &path.queue)].into_iter();
    for (field, queue) in
        own.chain(hops).chain(back.map(|queue| ("path.back.queue".to_owned(), queue)))
    {
        check_rules(known, &field, queue)?;
    }
    Ok(())
}

fn check_rules(known: Known<'_>, field: &str, queue: &QueueSpec) -> Result<(), RunError> {
    let htb = known.htb(queue).map_err(|error| refused(field, error))?;
    let Some(htb) = htb else { return Ok(()) };
    for (name, class) in &htb.class {
        let field = format!("{field}.class.{name}");
        if class.rules.0.values().any(|rule| rule.traffic.is_some()) {
            let why = "\"traffic\" never matches: nothing tells what a flow is; set path.classifier = \"behaviour\"";
            return Err(spec_error(format!("{field}.match"), why));
        }
        if let Some(inner) = &class.queue {
            check_rules(known, &format!("{field}.queue"), inner)?;
        }
    }
    Ok(())
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
    if path.capacity.wifi().is_some() && back.is_some() {
        let why = "the way back shares the Wi-Fi medium of path.capacity; leave this out";
        return Err(spec_error("path.back.capacity", why));
    }
    Ok(())
}

fn check_hop(known: Known<'_>, hop: &HopSpec) -> Result<(), RunError> {
    if [Way::ALL, Way::PATH, build::BACK].contains(&hop.name.as_str()) {
        return Err(spec_error("path.hop.name", format!("\"{}\" means something else", hop.name)));
    }
    let field = |part: &str| format!("path.hop \"{}\": {part}", hop.name);
    check_capacity(known, &field("capacity"), &hop.capacity)?;
    check_queue_of(known, &field("queue"), &hop.queue)
}

fn check_back(known: Known<'_>, back: &BackSpec) -> Result<(), RunError> {
    if let Some(capacity) = &back.capacity {
        check_capacity(known, "path.back.capacity", capacity)?;
    } else if back.queue.is_some() {
        return Err(spec_error(
            "path.back.queue",
            "needs path.back.capacity: nothing waits without",
        ));
    }
    if let Some(queue) = &back.queue {
        check_queue_of(known, "path.back.queue", queue)?;
    }
    check_jitter("path.back.jitter", back.jitter.as_ref())?;
    check_loss("path.back.loss", back.loss.as_ref())?;
    check_duplicate("path.back.duplicate", back.duplicate.as_ref())?;
    check_reorder("path.back.reorder", back.reorder.as_ref())
}

fn check_duplicate(field: &str, duplicate: Option<&ChanceSpec>) -> Result<(), RunError> {
    let Some(ChanceSpec { probability, correlation }) = duplicate else { return Ok(()) };
    share(&format!("{field}.probability"), Some(*probability))?;
    share(&format!("{field}.correlation"), *correlation)
}

fn check_reorder(field: &str, reorder: Option<&ReorderSpec>) -> Result<(), RunError> {
    let Some(ReorderSpec { probability, correlation, gap, earlier, later }) = reorder else {
        return Ok(());
    };
    share(&format!("{field}.probability"), Some(*probability))?;
    share(&format!("{field}.correlation"), *correlation)?;
    number(&format!("{field}.gap"), Some(f64::from(*gap)), 1.0, 1e6)?;
    if earlier.is_some() && later.is_some() {
        return Err(spec_error(format!("{field}.later"), "has no meaning beside earlier"));
    }
    for (part, by) in [("earlier", earlier), ("later", later)] {
        if let Some(by) = *by {
            span(&format!("{field}.{part}"), by, Duration::from_nanos(1), MAX_DELAY)?;
        }
    }
    Ok(())
}

fn check_capacity(known: Known<'_>, field: &str, capacity: &CapacitySpec) -> Result<(), RunError> {
    match capacity {
        CapacitySpec::Constant(capacity) => rate(field, *capacity),
        CapacitySpec::Steps(list) => list.steps.iter().try_for_each(|&(at, capacity)| {
            span(field, at, Duration::ZERO, MAX_RUN)?;
            rate(field, capacity)
        }),
        CapacitySpec::Trace(_) => Ok(()),
        CapacitySpec::Wifi(wifi) => check_wifi(known, wifi),
    }
}

/// Whether a Wi-Fi medium of this specification can be built.
///
/// # Errors
/// The first key that is wrong, and what is allowed.
pub fn check_wifi(known: Known<'_>, wifi: &WifiSpec) -> Result<(), RunError> {
    let field = |key: &str| format!("path.capacity.{key}");
    let (shortest, longest) = (Duration::from_micros(1), Duration::from_millis(10));
    if let Some(slot) = wifi.slot {
        span(&field("slot"), slot, shortest, longest)?;
    }
    if let Some(time) = wifi.aggregate_time {
        span(&field("aggregate_time"), time, shortest, longest)?;
    }
    number(&field("attempts"), wifi.attempts.map(f64::from), 1.0, 255.0)?;
    if let Some(queue) = &wifi.station_queue {
        check_queue_of(known, &field("station_queue"), queue)?;
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
    let delay =
        |part, delay: Duration| span(&format!("{field}.{part}"), delay, Duration::ZERO, MAX_DELAY);
    match *jitter.map_or(&JitterSpec::HalfNormal { deviation: Duration::ZERO }, |one| one) {
        JitterSpec::Histogram { ref buckets, times } => {
            number(&format!("{field}.times"), Some(f64::from(times)), 1.0, 10.0)?;
            check_histogram(&format!("{field}.buckets"), buckets)
        }
        JitterSpec::Normal { mean, deviation } => {
            delay("mean", mean)?;
            delay("deviation", deviation)
        }
        JitterSpec::HalfNormal { deviation } => delay("deviation", deviation),
        JitterSpec::Periodic { delay: held, interval } => {
            span(&format!("{field}.interval"), interval, MIN_INTERVAL, MAX_DELAY)?;
            span(&format!("{field}.delay"), held, Duration::ZERO, interval)
        }
    }
}

fn check_loss(field: &str, loss: Option<&LossSpec>) -> Result<(), RunError> {
    let Some(loss) = loss else { return Ok(()) };
    let (LossSpec::Random { probability } | LossSpec::Bursty { probability, .. }) = *loss;
    if probability > Ratio::ONE {
        let why = format!("{} is more than 100 %", probability);
        return Err(spec_error(format!("{field}.probability"), why));
    }
    let LossSpec::Bursty { burst_length, .. } = *loss else { return Ok(()) };
    if !(1.0..=1e6).contains(&burst_length) {
        let why = format!("{burst_length} packets is not between 1 and 1000000");
        return Err(spec_error(format!("{field}.burst_length"), why));
    }
    // Between two bursts at least one packet gets through.
    let most = burst_length / (burst_length + 1.0);
    if probability.as_f64() > most {
        let why = format!("bursts of {burst_length} packets lose at most {:.1} %", most * 100.0);
        return Err(spec_error(format!("{field}.probability"), why));
    }
    Ok(())
}
