//! What specifications can name, with what another crate has added.

use crate::spec::HtbSpec;
use gameway_gateway::{GatewayAlgorithm, GatewayInfo};
use gameway_path::{Discipline, DisciplineInfo, Disciplines, PathPacket};

/// The queues and gateways that can be named.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Queues.
    pub queues: &'a [DisciplineInfo],
    /// Gateways, but for the one that only forwards.
    pub gateways: &'a [GatewayInfo],
}

/// The queues and gateways that a driver with packets of type `P` can build.
#[derive(Debug)]
pub struct Registry<P> {
    disciplines: Disciplines<P>,
    queues: Vec<DisciplineInfo>,
    gateways: Vec<GatewayInfo>,
}

impl<P: PathPacket + Copy + 'static> Registry<P> {
    /// What this repository has.
    #[must_use]
    pub fn standard() -> Self {
        Self::of(Disciplines::standard(), gameway_gateway::standard())
    }

    /// This and a discipline of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_queue<C: Discipline>(self) -> Self {
        Self::of(self.disciplines.with::<C>(), self.gateways)
    }

    /// This and a gateway of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_gateway<A: GatewayAlgorithm>(mut self) -> Self {
        self.gateways.retain(|one| one.name != A::NAME);
        self.gateways.push(GatewayInfo::of::<A>());
        self
    }

    fn of(disciplines: Disciplines<P>, gateways: Vec<GatewayInfo>) -> Self {
        let queues = with_htb(disciplines.known().to_vec());
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

fn with_htb(mut known: Vec<DisciplineInfo>) -> Vec<DisciplineInfo> {
    known.push(HtbSpec::info());
    known.sort_by_key(|one| one.name);
    known
}
