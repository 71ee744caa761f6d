//! The classes of an HTB, and the rules that lead to them.

use super::{QueueSpec, Word};
use gameway_path::{DefaultSize, Dscp, PortRange, Prefix, Protocol, Rule, SizeOption, Traffic};
use gameway_units::declared::{Configuration, Description};
use gameway_units::{Bytes, Ecn, QueueSize, Rate, SignedBytes};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// See [`gameway_path::Htb`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct HtbSpec {
    /// rate and ceiling of all classes together: what classes without a parent borrow from
    #[schemars(extend("x-min" = "0 b/s", "x-max" = "1000 Gb/s"))]
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
    /// needed: a table of classes by name, each with rate and, as it needs them, ceil, burst, cburst, priority, quantum, parent,
    /// queue and match
    #[serde(skip_serializing)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
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
    /// Linux: a pfifo as long as the device's queue, which is 1000 packets on most.
    pub const CLASS_SIZE: QueueSize = QueueSize::Packets(1000);

    const SIZE: SizeOption = SizeOption {
        default: Some("1000 packets"),
        summary: "of the drop-tail queue of each class that names no queue of its own; times and bdp are at the class's \
                  rate",
    };

    /// What is known of it; it is not among the other disciplines because its classes have queues of their own.
    #[must_use]
    pub fn known() -> (Description, DefaultSize) {
        let mut description = Description::of::<Self>();
        description.schema = Self::SIZE.declared_in(description.schema);
        (description, |known, options| known.read::<Self>(options).map(|_| Self::CLASS_SIZE))
    }
}

/// See [`gameway_path::HtbClass`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// What it is assured.
    pub rate: Rate,
    /// The most that it gets; its rate if not given.
    pub ceil: Option<Rate>,
    /// What it may send at once beyond its rate.
    pub burst: Option<Bytes>,
    /// What it may send at once beyond its ceiling.
    pub cburst: Option<Bytes>,
    /// From 0, served first, to 7.
    pub priority: Option<u8>,
    /// Bytes in its turn.
    pub quantum: Option<Bytes>,
    /// The class that it borrows from.
    pub parent: Option<String>,
    /// Its queue; drop-tail of the HTB's `size` if not given.
    pub queue: Option<QueueSpec>,
    /// What leads to it.
    #[serde(rename = "match", default)]
    pub rules: MatchSpec,
    /// Its place among the classes: rules of the first are asked first. Equals stand as their names.
    #[serde(default)]
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

/// See [`gameway_path::Rule`].
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "described by the rule")]
pub struct RuleSpec {
    pub protocol: Option<Word<Protocol>>,
    pub address: Option<Word<Prefix>>,
    pub source: Option<Word<Prefix>>,
    pub destination: Option<Word<Prefix>>,
    pub port: Option<Word<PortRange>>,
    pub source_port: Option<Word<PortRange>>,
    pub destination_port: Option<Word<PortRange>>,
    pub dscp: Option<Word<Dscp>>,
    pub ecn: Option<EcnWord>,
    pub traffic: Option<Word<Traffic>>,
}

/// An ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
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
