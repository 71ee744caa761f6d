//! From the specification of a Wi-Fi medium to its parameters.

use crate::spec::{WifiName, WifiSpec};
use crate::{RunError, spec_error};
use gameway_path::{DataRate, GuardInterval, Link, Spatial, Timing, WifiConfig, WifiError};
use gameway_units::{Bytes, Duration, Rate};

/// Queues sized in BDPs or time, and tables, are by what one node with packets of this size gets through.
const NOMINAL_PACKET: Bytes = Bytes::new(1500);

/// What a medium refuses, as of its key in the path.
#[must_use]
pub fn refused(error: &WifiError) -> RunError {
    let text = error.to_string();
    let (key, why) = text.split_once(": ").unwrap_or(("wifi", &text));
    spec_error(format!("path.capacity.{key}"), why)
}

/// The medium's parameters.
///
/// # Errors
/// If a key is wrong, or the generation does not have it.
pub fn config(spec: &WifiSpec) -> Result<WifiConfig, RunError> {
    let mut config = WifiConfig::new(data_rate(spec)?).map_err(|error| refused(&error))?;
    if let Some(rate) = spec.basic_rate {
        config.basic_mbps = whole_mbps(rate);
    }
    config.slot = spec.slot.unwrap_or(config.slot);
    config.error_rate = spec.error_rate.unwrap_or(config.error_rate);
    config.attempts = spec.attempts.unwrap_or(config.attempts);
    config.cw_min = spec.cw_min.unwrap_or(config.cw_min);
    config.cw_max = spec.cw_max.unwrap_or(config.cw_max);
    config.rts_above = spec.rts_above;
    if let Some(packets) = spec.aggregate {
        config.aggregation.packets = packets as usize;
    }
    config.aggregation.time = spec.aggregate_time.unwrap_or(config.aggregation.time);
    config.check().map_err(|error| refused(&error))?;
    Ok(config)
}

/// Zero, which no rate is, for what is no whole number of Mb/s.
fn whole_mbps(rate: Rate) -> u32 {
    let bps = rate.as_bps();
    if bps.is_multiple_of(1_000_000) { u32::try_from(bps / 1_000_000).unwrap_or(0) } else { 0 }
}

fn data_rate(spec: &WifiSpec) -> Result<DataRate, RunError> {
    let (data, width): (fn(Spatial) -> DataRate, _) = match spec.wifi {
        WifiName::G => {
            only_by_streams(spec)?;
            return Ok(DataRate::Ofdm(spec.rate.map_or(54, whole_mbps)));
        }
        WifiName::N => (DataRate::Ht, 20),
        WifiName::Ac => (DataRate::Vht, 80),
    };
    if spec.rate.is_some() {
        let why = "only 802.11g has it; give mcs, streams, width and guard_interval";
        return Err(spec_error("path.capacity.rate", why));
    }
    Ok(data(Spatial {
        mcs: spec.mcs.unwrap_or(7),
        streams: spec.streams.unwrap_or(2),
        width_mhz: spec.width.map_or(width, |word| word.0.0),
        guard_interval: guard_interval(spec.guard_interval)?,
    }))
}

/// Refuses for 802.11g what the later generations have.
fn only_by_streams(spec: &WifiSpec) -> Result<(), RunError> {
    let given = [
        ("mcs", spec.mcs.is_some()),
        ("streams", spec.streams.is_some()),
        ("width", spec.width.is_some()),
        ("guard_interval", spec.guard_interval.is_some()),
        ("aggregate_time", spec.aggregate_time.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((key, _)) => {
            let field = format!("path.capacity.{key}");
            Err(spec_error(field, "802.11g does not have it; give rate"))
        }
    }
}

fn guard_interval(given: Option<Duration>) -> Result<GuardInterval, RunError> {
    match given.map(Duration::as_nanos) {
        None | Some(800) => Ok(GuardInterval::Long),
        Some(400) => Ok(GuardInterval::Short),
        Some(_) => {
            Err(spec_error("path.capacity.guard_interval", "neither \"800 ns\" nor \"400 ns\""))
        }
    }
}

/// What stands for the capacity of a medium where one number is needed.
///
/// # Errors
/// As of [`config`].
pub fn nominal(spec: &WifiSpec) -> Result<Link, RunError> {
    let rate = Timing::new(config(spec)?).saturation(NOMINAL_PACKET);
    Ok(Link::constant(rate)?)
}
