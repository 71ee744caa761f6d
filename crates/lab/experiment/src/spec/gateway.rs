//! The home gateway of a run. What is not given is as in the algorithm's own defaults.

use gameway_units::declared::Options;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A gateway with its options; `gameway list gateways` says what each does.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GatewaySpec {
    /// The name of the algorithm.
    pub kind: String,
    /// Its options, which the algorithm reads.
    #[serde(flatten)]
    pub options: Options,
}

impl GatewaySpec {
    /// The name of a gateway that only forwards, and has no options.
    pub const NONE: &'static str = "none";
}

impl JsonSchema for GatewaySpec {
    fn schema_name() -> Cow<'static, str> {
        "Gateway".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ super::CATALOGUE: "gateways", "type": ["string", "object"] })
    }
}
