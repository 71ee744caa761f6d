//! What the headers of a flow's packets say, where it is not what the simulator gives every flow.

use gameway_path::Dscp;
use serde::de::{Deserialize, Deserializer, Error};
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

/// Addresses, port and code point of a flow; what is not given is as for any flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderSpec {
    /// The address of its host in the home.
    pub client: Option<Word<IpAddr>>,
    /// The address of its server.
    pub server: Option<Word<IpAddr>>,
    /// The server's port.
    pub port: Option<u16>,
    /// The code point of all its packets.
    pub dscp: Option<Word<Dscp>>,
}
