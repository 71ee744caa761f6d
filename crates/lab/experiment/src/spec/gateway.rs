//! The home gateway of a run. What is not given is as in the algorithm's own defaults.

use gameway_units::declared::Options;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A gateway with its options; `gameway list gateways` says what each does.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

    /// One that only forwards.
    #[must_use]
    pub fn none() -> Self {
        Self { kind: Self::NONE.to_owned(), options: Options::new() }
    }
}

impl<'de> Deserialize<'de> for GatewaySpec {
    /// A name, or a table with options.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Table {
            kind: String,
            #[serde(flatten)]
            options: Options,
        }
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(kind) => Ok(Self { kind, options: Options::new() }),
            table => Table::deserialize(table)
                .map(|Table { kind, options }| Self { kind, options })
                .map_err(Error::custom),
        }
    }
}

impl JsonSchema for GatewaySpec {
    fn schema_name() -> Cow<'static, str> {
        "Gateway".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ super::CATALOGUE: "gateways", "type": ["string", "object"] })
    }
}
