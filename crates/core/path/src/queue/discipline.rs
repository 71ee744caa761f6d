//! What a discipline must have so that a file can name it.
//!
//! A discipline declares its options once, as the fields of its configuration: type and unit are the field's type, the
//! sentence is its documentation, bounds are attributes, and the default is that of [`Default`]. Reading, checking, lists and the
//! JSON Schema ([`Description::schema`]) are made from that. A discipline of another crate joins the known ones by
//! [`Disciplines::with`](super::Disciplines::with).

use super::{Limit, Queue};
use crate::PathPacket;
use gameway_units::QueueSize;
use gameway_units::declared::{self, Configuration};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::Schema;
use serde_json::{Value, json};

/// What may wait in a queue, as a file says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeOption {
    /// What it is if the file does not say; `None` where it follows from other options.
    pub default: Option<&'static str>,
    /// What is counted, and what becomes of more.
    pub summary: &'static str,
}

impl SizeOption {
    /// A schema with this option as one more.
    #[must_use]
    pub fn declared_in(self, mut schema: Schema) -> Schema {
        let size = json!({
            "type": "string",
            declared::QUANTITY: "queue size",
            "description": self.summary,
            "default": self.default,
            declared::NONE: "as its other options say",
        });
        if let Some(options) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            options.insert("size".to_owned(), size);
        }
        schema
    }
}

/// A queue discipline that a file can name, by its configuration.
pub trait Discipline: Configuration {
    /// What may wait.
    const SIZE: SizeOption;

    /// What may wait if the file does not say.
    fn default_size(&self) -> QueueSize {
        Self::SIZE.default.and_then(|text| text.parse().ok()).unwrap_or(QueueSize::Packets(1))
    }

    /// An empty queue that holds `limit`; `random` is its own.
    fn build<P: PathPacket + 'static>(
        self,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>>;
}
