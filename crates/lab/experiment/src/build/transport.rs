//! From what a specification says of TCP and QUIC to what builds a congestion control for each connection.

use crate::check::refused;
use crate::spec::{CongestionControlSpec, TcpEcnSpec};
use crate::{Known, RunError};
use gameway_tcp::{Bbr2Config, ConfiguredTcp, CubicConfig, EcnMode};
use gameway_units::declared::Configuration;
use serde_json::Value;

/// What congestion controls have over QUIC if nothing is said: where they have an option, as implementations of QUIC do.
const QUIC_DEFAULTS: [(&str, &str, fn() -> Value); 2] = [
    (CubicConfig::NAME, "hystart", || "rfc9406".into()),
    (Bbr2Config::NAME, "probe_lost_ranges", || 2.into()),
];

/// The congestion control of this specification.
///
/// # Errors
/// If there is none of this name, or the first option that is wrong.
pub fn congestion_control(
    known: Known<'_>,
    field: &str,
    spec: &CongestionControlSpec,
) -> Result<ConfiguredTcp, RunError> {
    let configured = known.congestion_controls.configure(&spec.kind, &spec.options);
    configured.map_err(|error| refused(field, error))
}

/// The same for QUIC, where CUBIC has HyStart++ and BBRv2 forgives a single loss in a round if nothing is said.
///
/// # Errors
/// As there.
pub fn quic_congestion_control(
    known: Known<'_>,
    field: &str,
    spec: &CongestionControlSpec,
) -> Result<ConfiguredTcp, RunError> {
    let mut spec = spec.clone();
    for (kind, option, value) in QUIC_DEFAULTS {
        if spec.kind == kind {
            spec.options.entry(option.to_owned()).or_insert_with(value);
        }
    }
    congestion_control(known, field, &spec)
}

/// Which ECN the ends of a connection agree on: what is given, and else what the congestion control needs.
#[must_use]
pub const fn ecn(given: Option<TcpEcnSpec>, congestion_control: &ConfiguredTcp) -> EcnMode {
    match given {
        Some(TcpEcnSpec::Off) => EcnMode::Off,
        Some(TcpEcnSpec::Classic) => EcnMode::Classic,
        Some(TcpEcnSpec::Accurate) => EcnMode::Accurate,
        None if congestion_control.needs_accurate_ecn() => EcnMode::Accurate,
        None => EcnMode::Off,
    }
}
