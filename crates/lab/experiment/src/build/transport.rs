//! From what a specification says of TCP to what builds a congestion control for each connection.

use crate::check::refused;
use crate::spec::{CongestionControlSpec, TcpEcnSpec};
use crate::{Known, RunError};
use gameway_tcp::{ConfiguredTcp, EcnMode};

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
