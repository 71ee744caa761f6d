//! Quantities as text with a unit, for files: "16 ms", "25 Mb/s". They are read, written and described alike.

use crate::declared::QUANTITY;
use crate::{Bytes, Duration, QueueSize, Rate, Ratio, SignedBytes};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;

macro_rules! as_text {
    ($($type:ty: $quantity:literal, $example:literal, $units:literal;)+) => { $(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $quantity.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let pattern = concat!(r"^\s*[+-]?[0-9_]*\.?[0-9_]*\s*(", $units, r")\s*$");
                json_schema!({
                    "type": "string", QUANTITY: $quantity, "pattern": pattern, "examples": [$example],
                })
            }
        }
    )+ };
}

as_text! {
    Duration: "duration", "16 ms", "ns|us|µs|ms|s|min|h";
    Rate: "rate", "25 Mb/s", "[kMG]?b/s|[kMG]?bps";
    Bytes: "bytes", "64 KiB", "B|[kKMG]B|[KMG]iB";
    SignedBytes: "signed bytes", "-4 B", "B|[kKMG]B|[KMG]iB";
    Ratio: "share", "2 %", "%?";
    QueueSize: "queue size", "2 bdp", "packets?|bdp|BDP|[num]?s|B|[kKMG]B|[KMG]iB";
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::schema_for;

    #[test]
    fn a_quantity_is_read_and_written_as_text() {
        let rtt: Duration = serde_json::from_str("\"16 ms\"").unwrap();
        assert_eq!(rtt, Duration::from_millis(16));
        assert_eq!(serde_json::to_string(&rtt).unwrap(), "\"16 ms\"");
        let refused = serde_json::from_str::<Duration>("\"16 meters\"").unwrap_err().to_string();
        assert!(refused.contains("allowed are"), "{refused}");
    }

    #[test]
    fn a_schema_names_the_quantity() {
        let schema = schema_for!(Rate);
        assert_eq!(schema.get(QUANTITY).unwrap(), "rate");
        assert_eq!(schema.get("type").unwrap(), "string");
    }
}
