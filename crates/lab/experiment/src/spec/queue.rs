//! The queue of a bottleneck. What is not given is as in the discipline's own defaults.

use gameway_path::Options;
use gameway_units::QueueSize;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// A queue discipline with its options; `gameway list queues` says what each does.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
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

impl QueueSpec {
    /// A drop-tail queue.
    #[must_use]
    pub fn drop_tail(size: QueueSize) -> Self {
        Self { kind: "drop-tail".to_owned(), size: Some(size), options: Options::new() }
    }
}

impl JsonSchema for QueueSpec {
    fn schema_name() -> Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ super::CATALOGUE: "queues", "type": ["string", "object"] })
    }
}
