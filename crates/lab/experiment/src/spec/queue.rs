//! The queue of a bottleneck. What is not given is as in the discipline's own defaults.

use gameway_path::{DropTailConfig, Options};
use gameway_units::declared::{self, Configuration};
use gameway_units::{Duration, QueueSize, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A queue discipline with its options; `gameway list queues` says what each does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueueSpec {
    /// The name of the discipline.
    pub kind: String,
    /// How much may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<QueueSize>,
    /// Its other options, which the discipline reads.
    #[serde(flatten)]
    pub options: Options,
}

/// How a queue stands in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Name(String),
    Table(Options),
}

impl QueueSpec {
    /// A drop-tail queue.
    #[must_use]
    pub fn drop_tail(size: QueueSize) -> Self {
        Self { kind: DropTailConfig::NAME.to_owned(), size: Some(size), options: Options::new() }
    }

    /// That of the path, and of a hop, of which none is given.
    #[must_use]
    pub fn of_path() -> Self {
        Self::drop_tail(QueueSize::Bdp(Ratio::from_ppm(2_000_000)))
    }

    /// That of the way back (RFC 8867 section 4).
    #[must_use]
    pub fn of_back() -> Self {
        Self::drop_tail(QueueSize::Time(Duration::from_millis(300)))
    }

    /// That of a station or a class: a pfifo as long as Linux's device queue, which is 1000 packets on most.
    #[must_use]
    pub fn of_leaf() -> Self {
        Self::drop_tail(QueueSize::Packets(1000))
    }

    /// This one, of the size of `other` if both are of its kind and this one has no size.
    fn sized_as(mut self, other: Self) -> Self {
        if self.kind == other.kind && self.size.is_none() {
            self.size = other.size;
        }
        self
    }
}

impl<'de> Deserialize<'de> for QueueSpec {
    /// A name, or a table; a table without `kind` is of drop-tail.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut options = match Form::deserialize(deserializer)? {
            Form::Name(kind) => return Ok(Self { kind, size: None, options: Options::new() }),
            Form::Table(options) => options,
        };
        let kind = options.remove("kind").unwrap_or_else(|| DropTailConfig::NAME.into());
        let size = options.remove("size").unwrap_or_default();
        Ok(Self {
            kind: String::deserialize(kind).map_err(Error::custom)?,
            size: Option::deserialize(size).map_err(Error::custom)?,
            options,
        })
    }
}

impl JsonSchema for QueueSpec {
    fn schema_name() -> Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            super::CATALOGUE: "queues",
            "type": ["string", "object"],
            // What all have; the catalogue has the rest.
            "properties": {
                "kind": { "type": "string" },
                "size": { "type": "string", declared::QUANTITY: "queue size" },
            },
            "additionalProperties": true,
        })
    }
}

pub(super) fn of_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<QueueSpec, D::Error> {
    Ok(QueueSpec::deserialize(deserializer)?.sized_as(QueueSpec::of_path()))
}

/// That of a path from a change on.
pub(super) fn changed<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<QueueSpec>, D::Error> {
    let queue = Option::<QueueSpec>::deserialize(deserializer)?;
    Ok(queue.map(|queue| queue.sized_as(QueueSpec::of_path())))
}

pub(super) fn of_back<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<QueueSpec>, D::Error> {
    let queue = Option::<QueueSpec>::deserialize(deserializer)?;
    Ok(queue.map(|queue| queue.sized_as(QueueSpec::of_back())))
}

pub(super) fn of_leaf<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<QueueSpec>, D::Error> {
    let queue = Option::<QueueSpec>::deserialize(deserializer)?;
    Ok(queue.map(|queue| queue.sized_as(QueueSpec::of_leaf())))
}
