//! Disciplines by name: what a file can say of a queue, and the queue that is built from it.
//!
//! A discipline declares its options once, as the fields of its configuration: type and unit are the field's type, the
//! sentence is its documentation, bounds are attributes, and the default is that of [`Default`]. Reading, checking, lists and the
//! JSON Schema ([`DisciplineInfo::schema`]) are made from that. A discipline of another crate joins the known ones by
//! [`Disciplines::with`].

use super::{Limit, Queue, cake, codel, drop_tail, dual_pi2, fq_codel, pie};
use crate::PathPacket;
use gameway_units::{QueueSize, declared};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::{JsonSchema, Schema};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub use gameway_units::declared::{OptionError, Options};

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

fn schema_of<C: Discipline>() -> Schema {
    C::SIZE.declared_in(declared::schema::<C>())
}

/// A queue discipline that a file can name, by its configuration.
pub trait Discipline: Default + Serialize + DeserializeOwned + JsonSchema {
    /// Its name in files.
    const NAME: &'static str;
    /// What it is, in one line.
    const SUMMARY: &'static str;
    /// Where it comes from.
    const SOURCE: &'static str;
    /// What may wait.
    const SIZE: SizeOption;

    /// What may wait if the file does not say.
    fn default_size(&self) -> QueueSize {
        Self::SIZE.default.and_then(|text| text.parse().ok()).unwrap_or(QueueSize::Packets(1))
    }

    /// An empty queue that holds `limit`; `random` is its own.
    fn build<P: PathPacket + Copy + 'static>(
        self,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Box<dyn Queue<P>>;
}

/// What is known of a discipline without building one.
#[derive(Debug, Clone)]
pub struct DisciplineInfo {
    /// Its name in files.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its options, what may wait among them.
    pub schema: Schema,
    /// What may wait if the file does not say, with these options; or the first option that is wrong.
    pub default_size: fn(&Options) -> Result<QueueSize, OptionError>,
}

impl DisciplineInfo {
    /// That of a discipline.
    #[must_use]
    pub fn of<C: Discipline>() -> Self {
        Self {
            name: C::NAME,
            summary: C::SUMMARY,
            source: C::SOURCE,
            schema: schema_of::<C>(),
            default_size: |options| {
                Ok(declared::read_as::<C>(&schema_of::<C>(), options)?.default_size())
            },
        }
    }
}

type Build<P> = fn(&Options, Limit, Xoshiro256PlusPlus) -> Result<Box<dyn Queue<P>>, OptionError>;

/// The disciplines that files can name, for packets of type `P`.
#[derive(Debug)]
pub struct Disciplines<P> {
    known: Vec<DisciplineInfo>,
    builders: Vec<Build<P>>,
}

impl<P: PathPacket + Copy + 'static> Disciplines<P> {
    /// Those of this crate, in alphabetical order.
    #[must_use]
    pub fn standard() -> Self {
        Self { known: Vec::new(), builders: Vec::new() }
            .with::<cake::CakeConfig>()
            .with::<codel::CodelConfig>()
            .with::<drop_tail::DropTailConfig>()
            .with::<dual_pi2::DualPi2Config>()
            .with::<fq_codel::FqCodelConfig>()
            .with::<pie::PieConfig>()
    }

    /// These and another one; it takes the place of one of the same name.
    #[must_use]
    pub fn with<C: Discipline>(mut self) -> Self {
        let build: Build<P> = |options, limit, random| {
            Ok(declared::read_as::<C>(&schema_of::<C>(), options)?.build(limit, random))
        };
        match self.known.iter().position(|one| one.name == C::NAME) {
            Some(place) => {
                (self.known[place], self.builders[place]) = (DisciplineInfo::of::<C>(), build)
            }
            None => {
                self.known.push(DisciplineInfo::of::<C>());
                self.builders.push(build);
            }
        }
        self
    }

    /// What is known of each.
    #[must_use]
    pub fn known(&self) -> &[DisciplineInfo] {
        &self.known
    }

    /// A queue of this name with these options; `None` if there is no such discipline.
    ///
    /// # Errors
    /// The first option that is wrong, and what is allowed.
    pub fn build(
        &self,
        name: &str,
        options: &Options,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Option<Result<Box<dyn Queue<P>>, OptionError>> {
        let place = self.known.iter().position(|one| one.name == name)?;
        Some(self.builders[place](options, limit, random))
    }
}
