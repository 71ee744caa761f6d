//! Which bottlenecks a flow passes, in which order.

use crate::spec::{Direction, PathSpec, Way};
use crate::{RunError, spec_error};
use gameway_events::Name;

/// The path's own bottleneck is number zero, further ones follow, and that of the way back comes last.
///
/// A link of the path's own is passed first on the way down; a Wi-Fi medium last, for it is what the clients
/// are on, and first on the way up by all that passes it down.
#[derive(Debug)]
pub struct Routes {
    names: Vec<Name>,
    /// Number of the way back's bottleneck.
    back: Option<usize>,
    /// Whether the path's own bottleneck is a medium that both ways share.
    shared: bool,
}

/// A flow's bottlenecks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// What its data passes.
    pub forward: Vec<usize>,
    /// What comes back passes.
    pub back: Vec<usize>,
}

/// Names that a hop cannot have, beside "all", which names no single one.
pub const BACK: &str = "back";

impl Routes {
    /// The bottlenecks of a path.
    #[must_use]
    pub fn new(path: &PathSpec) -> Self {
        let mut names: Vec<Name> = vec![Way::PATH.into()];
        names.extend(path.hop.iter().map(|hop| Name::from(hop.name.as_str())));
        let congested = path.back.as_ref().is_some_and(|back| back.capacity.is_some());
        let back = congested.then_some(names.len());
        if congested {
            names.push(BACK.into());
        }
        Self { names, back, shared: path.capacity.wifi().is_some() }
    }

    /// Their names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<Name> {
        self.names.clone()
    }

    /// The bottlenecks towards the clients that `via` names; `None` if it names none.
    fn down(&self, via: &str) -> Option<Vec<usize>> {
        let towards_clients = self.back.unwrap_or(self.names.len());
        if via == Way::ALL {
            let mut all: Vec<usize> = (0..towards_clients).collect();
            all.rotate_left(usize::from(self.shared));
            return Some(all);
        }
        let place = self.names[..towards_clients].iter().position(|name| **name == *via)?;
        Some(vec![place])
    }

    /// The route of the flow called so.
    ///
    /// # Errors
    /// If there is no bottleneck of the name it wants.
    pub fn wanted(&self, flow: &str, way: &Way<'_>) -> Result<Route, RunError> {
        let why =
            || format!("\"{}\" is neither \"all\" nor \"path\" nor a hop of the path", way.via);
        self.of(way).ok_or_else(|| spec_error(format!("flow \"{flow}\": via"), why()))
    }

    /// The route of a flow; `None` if there is no bottleneck of the name it wants.
    #[must_use]
    pub fn of(&self, way: &Way<'_>) -> Option<Route> {
        let down = self.down(way.via)?;
        let up: Vec<usize> = if self.shared {
            down.iter().copied().filter(|hop| *hop == 0).collect()
        } else {
            self.back.into_iter().collect()
        };
        Some(match way.direction {
            Direction::Down => Route { forward: down, back: up },
            Direction::Up => Route { forward: up, back: down },
        })
    }
}
