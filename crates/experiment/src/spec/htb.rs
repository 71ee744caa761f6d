//! The classes of an HTB, and the rules that lead to them.

use super::{QueueSpec, Text, Word};
use gameway_path::{Dscp, PortRange, Prefix, Protocol, Rule, Traffic};
use gameway_units::{Bytes, Ecn, QueueSize, Rate, SignedBytes};
use serde::de::{Deserialize, Deserializer, Error};
use std::collections::BTreeMap;

/// See [`gameway_path::Htb`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HtbSpec {
    /// Of the queue of each class that names none.
    #[serde(default = "size")]
    pub size: Text<QueueSize>,
    /// Rate and ceiling of all classes together.
    pub rate: Option<Text<Rate>>,
    /// Bytes that a packet is longer on the link below.
    pub overhead: Option<Text<SignedBytes>>,
    /// Least length of a packet there.
    pub mpu: Option<Text<Bytes>>,
    /// What the link below is.
    pub linklayer: Option<LinkLayerSpec>,
    /// Up to which length the table of sizes is exact.
    pub mtu: Option<Text<Bytes>>,
    /// Entries of that table.
    pub tsize: Option<u32>,
    /// The class of what no rule takes.
    pub default: String,
    /// The classes by name.
    pub class: BTreeMap<String, ClassSpec>,
}

/// A link layer; named as tc-stab(8) does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "they say it themselves")]
pub enum LinkLayerSpec {
    Ethernet,
    Atm,
    Adsl,
}

/// Linux: a pfifo as long as the device's queue, which is 1000 packets on most.
const fn size() -> Text<QueueSize> {
    Text(QueueSize::Packets(1000))
}

/// See [`gameway_path::HtbClass`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// What it is assured.
    pub rate: Text<Rate>,
    /// The most that it gets; its rate if not given.
    pub ceil: Option<Text<Rate>>,
    /// What it may send at once beyond its rate.
    pub burst: Option<Text<Bytes>>,
    /// What it may send at once beyond its ceiling.
    pub cburst: Option<Text<Bytes>>,
    /// From 0, served first, to 7.
    pub priority: Option<u8>,
    /// Bytes in its turn.
    pub quantum: Option<Text<Bytes>>,
    /// The class that it borrows from.
    pub parent: Option<String>,
    /// Its queue; drop-tail of the HTB's `size` if not given.
    pub queue: Option<Box<QueueSpec>>,
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
