//! From what a specification says of TCP and QUIC to what builds a congestion control for each connection.

use crate::error::option_refused;
use crate::spec::{CongestionControlSpec, TcpEcnSpec};
use crate::{Known, RunError};
use gameway_tcp::{Bbr2Config, ConfiguredTcp, CubicConfig, EcnMode};
use gameway_units::declared::Configuration;
use serde_json::Value;

/// The option of a congestion control that has another value over QUIC if nothing is said: that of implementations of QUIC.
fn quic_default(kind: &str) -> Option<(&'static str, Value)> {
    match kind {
        CubicConfig::NAME => Some(("hystart", "rfc9406".into())),
        Bbr2Config::NAME => Some(("probe_lost_ranges", 2.into())),
        _ => None,
    }
}

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
    configured.map_err(|error| option_refused(field, error))
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
    if let Some((option, value)) = quic_default(&spec.kind) {
        spec.options.entry(option.to_owned()).or_insert(value);
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
