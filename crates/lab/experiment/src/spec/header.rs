//! What the headers of a flow's packets say, where it is not what the simulator gives every flow.

use gameway_path::Dscp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;

/// A word, or a number, that stands for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<T>(pub T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        text.parse().map(Self).map_err(Error::custom)
    }
}

impl<T: Display> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<T> JsonSchema for Word<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"] })
    }
}

/// Addresses, port and code point of a flow; what is not given is as for any flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderSpec {
    /// address of its host in the home, IPv4 or IPv6
    pub client: Option<Word<IpAddr>>,
    /// address of its server; of the same version as the client's
    pub server: Option<Word<IpAddr>>,
    /// the server's port
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// code point of all its packets: a name as ef, cs1, af41, or a number
    pub dscp: Option<Word<Dscp>>,
}
