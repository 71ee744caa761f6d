//! Disciplines by name: what a file can say of a queue, and the queue that is built from it.
//!
//! A discipline declares its options once, as the fields of its configuration: type and unit are the field's type, the
//! sentence is its documentation, bounds are attributes, and the default is that of [`Default`]. Reading, checking, lists and the
//! JSON Schema ([`Description::schema`]) are made from that. A discipline of another crate joins the known ones by
//! [`Disciplines::with`].

use super::{Limit, Queue, cake, codel, drop_tail, dual_pi2, fq_codel, pie};
use crate::PathPacket;
use gameway_units::QueueSize;
use gameway_units::declared::{self, Catalogue, Configuration, Description, Entry};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::Schema;
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

/// What may wait if the file does not say, of a discipline so described with these options; or the first that is wrong.
pub type DefaultSize = fn(&Description, &Options) -> Result<QueueSize, OptionError>;

type Build<P> =
    fn(&Description, &Options, Limit, Xoshiro256PlusPlus) -> Result<Box<dyn Queue<P>>, OptionError>;

/// The disciplines that files can name, for packets of type `P`.
#[derive(Debug)]
pub struct Disciplines<P>(Catalogue<(DefaultSize, Build<P>)>);

impl<P: PathPacket + 'static> Disciplines<P> {
    /// Those of this crate.
    #[must_use]
    pub fn standard() -> Self {
        Self(Catalogue::default())
            .with::<cake::CakeConfig>()
            .with::<codel::CodelConfig>()
            .with::<drop_tail::DropTailConfig>()
            .with::<dual_pi2::DualPi2Config>()
            .with::<fq_codel::FqCodelConfig>()
            .with::<pie::PieConfig>()
    }

    /// These and another one; it takes the place of one of the same name.
    #[must_use]
    pub fn with<C: Discipline>(self) -> Self {
        let mut description = Description::of::<C>();
        description.schema = C::SIZE.declared_in(description.schema);
        let default_size: DefaultSize =
            |description, options| Ok(description.read::<C>(options)?.default_size());
        let build: Build<P> = |description, options, limit, random| {
            Ok(description.read::<C>(options)?.build(limit, random))
        };
        Self(self.0.with(description, (default_size, build)))
    }

    /// What is known of each.
    #[must_use]
    pub fn known(&self) -> Catalogue<DefaultSize> {
        self.0.map(|(default_size, _)| *default_size)
    }

    /// A queue of this name with these options.
    ///
    /// # Errors
    /// If there is no such discipline, or the first option that is wrong; and what is allowed.
    pub fn build(
        &self,
        name: &str,
        options: &Options,
        limit: Limit,
        random: Xoshiro256PlusPlus,
    ) -> Result<Box<dyn Queue<P>>, OptionError> {
        let Entry { description, functions: (_, build) } = self.0.get("queue", name)?;
        build(description, options, limit, random)
    }
}
