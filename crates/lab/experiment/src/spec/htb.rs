//! The classes of an HTB, and the rules that lead to them.

use super::{QueueSpec, Word, queue};
use gameway_path::{DefaultSize, Dscp, PortRange, Prefix, Protocol, Rule, SizeOption, Traffic};
use gameway_units::declared::{self, Configuration, Description};
use gameway_units::{Bytes, Ecn, QueueSize, Rate, SignedBytes};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// See [`gameway_path::Htb`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct HtbSpec {
    /// rate and ceiling of all classes together: what classes without a parent borrow from
    #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s"))]
    pub rate: Option<Rate>,
    /// bytes that a packet is longer on the link that the rates are of
    #[schemars(extend("x-min" = "-64 B", "x-max" = "256 B", "x-none" = "0 B"))]
    pub overhead: Option<SignedBytes>,
    /// least length of a packet there
    #[schemars(extend("x-min" = "0 B", "x-max" = "256 B", "x-none" = "0 B"))]
    pub mpu: Option<Bytes>,
    /// what it is: ethernet, or atm or adsl (cells of 53 B that carry 48 B)
    pub linklayer: LinkLayerSpec,
    /// length up to which the table is exact that atm or mpu make of sizes, as tc-stab has it
    #[schemars(extend("x-min" = "1 B", "x-max" = "65535 B", "x-none" = "2047 B"))]
    pub mtu: Option<Bytes>,
    /// entries of that table
    #[schemars(range(min = 1, max = 16384), extend("x-none" = "512"))]
    pub tsize: Option<u32>,
    /// needed: the class of packets that no rule takes
    #[schemars(extend("default" = null))]
    pub default: String,
    /// needed: a table of classes by name
    #[serde(skip_serializing)]
    pub class: BTreeMap<String, ClassSpec>,
}

/// A link layer; named as tc-stab(8) does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "they say it themselves")]
pub enum LinkLayerSpec {
    #[default]
    Ethernet,
    Atm,
    Adsl,
}

impl Configuration for HtbSpec {
    const NAME: &'static str = "htb";
    const SUMMARY: &'static str =
        "classes with an assured rate each, which lend each other what they leave, in a tree";
    const SOURCE: &'static str = "Linux net/sched/sch_htb.c; Devera 2002";
}

impl HtbSpec {
    const SIZE: SizeOption = SizeOption {
        default: Some("1000 packets"),
        summary: "of the drop-tail queue of each class that names no queue of its own; times and bdp are at the class's \
                  rate",
    };

    /// What is known of it; it is not among the other disciplines because its classes have queues of their own. Whoever wants
    /// to know its size has read it.
    #[must_use]
    pub fn known() -> (Description, DefaultSize) {
        let mut description = Description::of::<Self>();
        description.schema = || Self::SIZE.declared_in(declared::schema::<Self>());
        (description, |_, _| Ok(QueueSpec::of_leaf().size.unwrap_or(QueueSize::Packets(1))))
    }
}

/// See [`gameway_path::HtbClass`].
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// what it is assured
    #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "examples" = ["30 Mb/s"]))]
    pub rate: Rate,
    /// the most that it gets
    #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "x-none" = "its rate"))]
    pub ceil: Option<Rate>,
    /// what it may send at once beyond its rate
    #[schemars(extend("x-min" = "1 B", "x-max" = "1 GB", "x-none" = "1600 B"))]
    pub burst: Option<Bytes>,
    /// what it may send at once beyond its ceiling
    #[schemars(extend("x-min" = "1 B", "x-max" = "1 GB", "x-none" = "1600 B"))]
    pub cburst: Option<Bytes>,
    /// whose turn it is among those that may send, or borrow, at the same level; 0 first
    #[schemars(range(min = 0, max = 7), extend("x-none" = "0"))]
    pub priority: Option<u8>,
    /// bytes in its turn among equals
    #[schemars(extend("x-min" = "1 B", "x-max" = "1 GB", "x-none" = "rate / 10, in bytes per second: 1 kB to 200 kB"))]
    pub quantum: Option<Bytes>,
    /// the class from which it borrows
    #[schemars(extend("x-none" = "the queue itself, if it has a rate"))]
    pub parent: Option<String>,
    /// its queue
    #[serde(default, deserialize_with = "queue::of_leaf")]
    #[schemars(extend("x-none" = "drop-tail of the HTB's size"))]
    pub queue: Option<QueueSpec>,
    /// what leads to it: a rule, or several by name, each of which is enough
    #[serde(rename = "match", default)]
    pub rules: MatchSpec,
    /// its place among the classes: rules of the first are asked first; equals stand as their names
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000), extend("default" = null, "x-none" = "as they stand in the file"))]
    pub order: u32,
}

/// The rules of a class: one, or several by name, each of which is enough.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatchSpec(pub BTreeMap<String, RuleSpec>);

impl<'de> Deserialize<'de> for MatchSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = serde_json::Map::deserialize(deserializer)?;
        let are_named = !table.is_empty() && table.values().all(serde_json::Value::is_object);
        let table = serde_json::Value::Object(table);
        let rules = if are_named {
            serde_json::from_value(table)
        } else {
            serde_json::from_value(table).map(|rule| BTreeMap::from([(String::new(), rule)]))
        };
        rules.map(Self).map_err(Error::custom)
    }
}

impl JsonSchema for MatchSpec {
    fn schema_name() -> Cow<'static, str> {
        "Match".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let rule = RuleSpec::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": "object", "additionalProperties": rule }, rule] })
    }
}

/// See [`gameway_path::Rule`]: all that is given must be so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleSpec {
    /// udp, tcp or icmp
    pub protocol: Option<Word<Protocol>>,
    /// address of either end, or a prefix: 198.18.0.0/16
    pub address: Option<Word<Prefix>>,
    /// address of the sender
    pub source: Option<Word<Prefix>>,
    /// address of the receiver
    pub destination: Option<Word<Prefix>>,
    /// port of either end, or a range: 5000-5100
    pub port: Option<Word<PortRange>>,
    /// port of the sender
    pub source_port: Option<Word<PortRange>>,
    /// port of the receiver
    pub destination_port: Option<Word<PortRange>>,
    /// code point: a name as ef, cs1, af41, or a number
    pub dscp: Option<Word<Dscp>>,
    /// ECN field
    pub ecn: Option<EcnWord>,
    /// what the path's classifier takes the flow for: game or other
    pub traffic: Option<Word<Traffic>>,
}

/// An ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "they say it themselves")]
pub enum EcnWord {
    None,
    Ect0,
    Ect1,
    Ce,
}

impl RuleSpec {
    /// The rule.
    #[must_use]
    pub fn rule(&self) -> Rule {
        fn of<T>(word: Option<Word<T>>) -> Option<T> {
            word.map(|word| word.0)
        }
        Rule {
            protocol: of(self.protocol),
            address: of(self.address),
            source: of(self.source),
            destination: of(self.destination),
            port: of(self.port),
            source_port: of(self.source_port),
            destination_port: of(self.destination_port),
            dscp: of(self.dscp),
            ecn: self.ecn.map(|word| match word {
                EcnWord::None => Ecn::NotEct,
                EcnWord::Ect0 => Ecn::Ect0,
                EcnWord::Ect1 => Ecn::Ect1,
                EcnWord::Ce => Ecn::Ce,
            }),
            traffic: of(self.traffic),
        }
    }
}
