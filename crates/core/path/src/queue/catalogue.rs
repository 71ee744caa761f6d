//! Disciplines by name, and the queue that is built from what a file says.

use super::discipline::Discipline;
use super::{Limit, Queue, airtime, cake, codel, drop_tail, dual_pi2, fq_codel, pie};
use crate::PathPacket;
use gameway_units::QueueSize;
use gameway_units::declared::{self, Catalogue, Description, Entry};
use rand_xoshiro::Xoshiro256PlusPlus;

pub use gameway_units::declared::{OptionError, Options};

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
            .with::<airtime::AirtimeConfig>()
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
        description.schema = || C::SIZE.declared_in(declared::schema::<C>());
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
