//! From the specification of a gateway to the gateway.

use crate::error::option_refused;
use crate::spec::GatewaySpec;
use crate::{RunError, spec_error};
use gameway_gateway::{Gateway, Gateways};
use gameway_units::Rate;
use gameway_units::declared::unknown;
use std::iter;

/// The gateway of this specification, if it is one that does more than forward.
///
/// # Errors
/// If there is none of this name, or the first option that is wrong.
pub fn gateway(
    known: &Gateways,
    field: &str,
    spec: &GatewaySpec,
) -> Result<Option<Box<dyn Gateway>>, RunError> {
    if spec.kind == GatewaySpec::NONE {
        return match spec.options.keys().next() {
            None => Ok(None),
            Some(option) => {
                let why = "a gateway that only forwards has no options";
                Err(spec_error(format!("{field}.{option}"), why))
            }
        };
    }
    let names = || known.descriptions().map(|one| one.name);
    let built = if names().any(|name| name == spec.kind) {
        known.build(&spec.kind, &spec.options)
    } else {
        Err(unknown("gateway", &spec.kind, iter::once(GatewaySpec::NONE).chain(names())))
    };
    built.map(Some).map_err(|error| option_refused(field, error))
}

/// Whether a gateway of this specification finds the queue that it needs, whose rate is `shaped` if it is a shaper.
///
/// # Errors
/// If it sets the rate of a shaper, and there is none.
pub fn check_shaper(
    known: &Gateways,
    spec: Option<&GatewaySpec>,
    shaped: Option<Rate>,
) -> Result<(), RunError> {
    let built = spec.map(|spec| gateway(known, "path.gateway", spec)).transpose()?.flatten();
    match (built, spec) {
        (Some(built), Some(spec)) if built.shapes() && shaped.is_none() => {
            let why = format!(
                "the gateway \"{}\" sets the rate of this queue, which has none; take \"htb\", or \"cake\" with a bandwidth",
                spec.kind
            );
            Err(spec_error("path.queue", why))
        }
        _ => Ok(()),
    }
}
