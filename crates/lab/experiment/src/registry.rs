//! What specifications can name, with what another crate has added.

use crate::spec::{HtbSpec, QueueSpec};
use gameway_gateway::{GatewayAlgorithm, Gateways};
use gameway_path::{DefaultSize, Discipline, Disciplines, PathPacket};
use gameway_tcp::{CongestionControls, TcpAlgorithm};
use gameway_units::declared::{Catalogue, Configuration, OptionError};

/// The queues, gateways and congestion controls that can be named.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Queues.
    pub queues: &'a Catalogue<DefaultSize>,
    /// Gateways, but for the one that only forwards.
    pub gateways: &'a Gateways,
    /// Congestion controls of TCP.
    pub congestion_controls: &'a CongestionControls,
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

/// The queues, gateways and congestion controls that a driver with packets of type `P` can build.
#[derive(Debug)]
pub struct Registry<P> {
    disciplines: Disciplines<P>,
    queues: Catalogue<DefaultSize>,
    gateways: Gateways,
    congestion_controls: CongestionControls,
}

impl<P: PathPacket + 'static> Registry<P> {
    /// What this repository has.
    #[must_use]
    pub fn standard() -> Self {
        let disciplines = Disciplines::standard();
        Self {
            queues: with_htb(&disciplines),
            disciplines,
            gateways: Gateways::standard(),
            congestion_controls: CongestionControls::standard(),
        }
    }

    /// This and a discipline of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_queue<C: Discipline>(self) -> Self {
        let disciplines = self.disciplines.with::<C>();
        Self { queues: with_htb(&disciplines), disciplines, ..self }
    }

    /// This and a gateway of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_gateway<A: GatewayAlgorithm>(self) -> Self {
        Self { gateways: self.gateways.with::<A>(), ..self }
    }

    /// This and a congestion control of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_tcp<A: TcpAlgorithm>(self) -> Self {
        Self { congestion_controls: self.congestion_controls.with::<A>(), ..self }
    }

    /// All that can be named.
    #[must_use]
    pub fn known(&self) -> Known<'_> {
        Known {
            queues: &self.queues,
            gateways: &self.gateways,
            congestion_controls: &self.congestion_controls,
        }
    }

    /// All of them but HTB, whose classes have queues themselves.
    pub(crate) const fn disciplines(&self) -> &Disciplines<P> {
        &self.disciplines
    }
}

fn with_htb<P: PathPacket + 'static>(disciplines: &Disciplines<P>) -> Catalogue<DefaultSize> {
    let (description, default_size) = HtbSpec::known();
    disciplines.known().with(description, default_size)
}
