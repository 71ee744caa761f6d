//! From the specification of a gateway to the gateway.

use crate::check::refused;
use crate::spec::GatewaySpec;
use crate::{RunError, spec_error};
use gameway_gateway::{Gateway, GatewayInfo};

/// The gateway of this specification, if it is one that does more than forward.
///
/// # Errors
/// If there is none of this name, or the first option that is wrong.
pub fn gateway(
    known: &[GatewayInfo],
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
    let Some(info) = known.iter().find(|one| one.name == spec.kind) else {
        let names: Vec<&str> = known.iter().map(|one| one.name).collect();
        let (kind, none) = (&spec.kind, GatewaySpec::NONE);
        let why = format!("unknown gateway \"{kind}\"; known are {none}, {}", names.join(", "));
        return Err(spec_error(format!("{field}.kind"), why));
    };
    info.build(&spec.options).map(Some).map_err(|error| refused(field, error))
}
