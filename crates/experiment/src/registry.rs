//! What specifications can name, with what another crate has added.

use crate::spec::HtbSpec;
use gameway_path::{Discipline, DisciplineInfo, Disciplines, PathPacket};

/// The queue disciplines that a driver with packets of type `P` can build.
#[derive(Debug)]
pub struct Registry<P> {
    disciplines: Disciplines<P>,
    queues: Vec<DisciplineInfo>,
}

impl<P: PathPacket + Copy + 'static> Registry<P> {
    /// What this repository has.
    #[must_use]
    pub fn standard() -> Self {
        Self::of(Disciplines::standard())
    }

    /// This and a discipline of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_queue<C: Discipline>(self) -> Self {
        Self::of(self.disciplines.with::<C>())
    }

    fn of(disciplines: Disciplines<P>) -> Self {
        let queues = with_htb(disciplines.known().to_vec());
        Self { disciplines, queues }
    }

    /// Every queue that can be named.
    #[must_use]
    pub fn queues(&self) -> &[DisciplineInfo] {
        &self.queues
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
