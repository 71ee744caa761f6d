//! What specifications can name, with what another crate has added.

use crate::spec::{HtbSpec, QueueSpec};
use gameway_gateway::{GatewayAlgorithm, Gateways};
use gameway_path::{DefaultSize, Discipline, Disciplines, PathPacket};
use gameway_units::declared::{Catalogue, Configuration, OptionError};

/// The queues and gateways that can be named.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Queues.
    pub queues: &'a Catalogue<DefaultSize>,
    /// Gateways, but for the one that only forwards.
    pub gateways: &'a Gateways,
}

impl Known<'_> {
    /// The HTB that this queue is, if it is one.
    ///
    /// # Errors
    /// The first option that is wrong, and what is allowed.
    pub(crate) fn htb(self, queue: &QueueSpec) -> Result<Option<HtbSpec>, OptionError> {
        if queue.kind != HtbSpec::NAME {
            return Ok(None);
        }
        self.queues.get("queue", HtbSpec::NAME)?.description.read(&queue.options).map(Some)
    }
}

/// The queues and gateways that a driver with packets of type `P` can build.
#[derive(Debug)]
pub struct Registry<P> {
    disciplines: Disciplines<P>,
    queues: Catalogue<DefaultSize>,
    gateways: Gateways,
}

impl<P: PathPacket + Copy + 'static> Registry<P> {
    /// What this repository has.
    #[must_use]
    pub fn standard() -> Self {
        Self::of(Disciplines::standard(), Gateways::standard())
    }

    /// This and a discipline of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_queue<C: Discipline>(self) -> Self {
        Self::of(self.disciplines.with::<C>(), self.gateways)
    }

    /// This and a gateway of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_gateway<A: GatewayAlgorithm>(self) -> Self {
        Self { gateways: self.gateways.with::<A>(), ..self }
    }

    fn of(disciplines: Disciplines<P>, gateways: Gateways) -> Self {
        let (description, default_size) = HtbSpec::known();
        let queues = disciplines.known().with(description, default_size);
        Self { disciplines, queues, gateways }
    }

    /// All that can be named.
    #[must_use]
    pub fn known(&self) -> Known<'_> {
        Known { queues: &self.queues, gateways: &self.gateways }
    }

    /// All of them but HTB, whose classes have queues themselves.
    pub(crate) const fn disciplines(&self) -> &Disciplines<P> {
        &self.disciplines
    }
}
