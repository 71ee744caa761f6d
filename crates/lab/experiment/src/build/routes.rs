//! Which bottlenecks a flow passes, in which order.

use crate::spec::{Direction, PathSpec, PlaceSpec, Way};
use crate::{RunError, spec_error};
use gameway_events::Name;

/// The path's own bottleneck is number zero, further ones follow, and that of the way back comes last.
///
/// On the way down the hops in front of the path's own bottleneck are passed first, then that one, then the hops behind
/// it. On the way up the hop on the way out is passed before the way back's bottleneck. A Wi-Fi medium comes last, for it is what the clients are on, and first on the way up for all that passes it down.
#[derive(Debug)]
pub struct Routes {
    names: Vec<Name>,
    /// All towards the clients, by number, in the order in which they are passed.
    down: Vec<usize>,
    /// Number of the hop in which a home gateway has what the home sends wait.
    out: Option<usize>,
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
        let at = |place| {
            let numbered = (1..).zip(&path.hop).filter(move |(_, hop)| path.place(hop) == place);
            numbered.map(|(number, _)| number)
        };
        let down = at(PlaceSpec::InFront).chain([0]).chain(at(PlaceSpec::Behind)).collect();
        let out = at(PlaceSpec::Out).next();
        let congested = path.back.as_ref().is_some_and(|back| back.capacity.is_some());
        let back = congested.then_some(names.len());
        if congested {
            names.push(BACK.into());
        }
        Self { names, down, out, back, shared: path.capacity.wifi().is_some() }
    }

    /// The bottleneck in which a home gateway has what the home sends wait.
    #[must_use]
    pub const fn out(&self) -> Option<usize> {
        self.out
    }

    /// Their names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<Name> {
        self.names.clone()
    }

    /// The bottlenecks towards the clients that `via` names; `None` if it names none.
    fn down(&self, via: &str) -> Option<Vec<usize>> {
        if via == Way::ALL {
            return Some(self.down.clone());
        }
        let number = self.down.iter().find(|&&number| *self.names[number] == *via)?;
        Some(vec![*number])
    }

    /// The route of the flow called so.
    ///
    /// # Errors
    /// If there is no bottleneck of the name it wants.
    pub fn wanted(&self, flow: &str, way: &Way<'_>) -> Result<Route, RunError> {
        let why = || {
            format!("\"{}\" is neither \"all\" nor \"path\" nor a hop towards the clients", way.via)
        };
        self.of(way).ok_or_else(|| spec_error(format!("flow \"{flow}\": via"), why()))
    }

    /// The route of a flow; `None` if there is no bottleneck of the name it wants.
    #[must_use]
    pub fn of(&self, way: &Way<'_>) -> Option<Route> {
        let down = self.down(way.via)?;
        let up: Vec<usize> = if self.shared {
            down.iter().copied().filter(|hop| *hop == 0).collect()
        } else {
            self.out.into_iter().chain(self.back).collect()
        };
        Some(match way.direction {
            Direction::Down => Route { forward: down, back: up },
            Direction::Up => Route { forward: up, back: down },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn all(capacity: serde_json::Value, places: [Option<&str>; 4]) -> (Vec<usize>, Vec<usize>) {
        let hop = |(number, place)| json!({ "name": format!("hop-{number}"), "capacity": "1 Mb/s", "place": place });
        let hops: Vec<_> = places.into_iter().enumerate().map(hop).collect();
        let path = json!({ "capacity": capacity, "base_rtt": "10 ms", "hop": hops });
        let routes = Routes::new(&PathSpec::try_from(path).expect("it is a path"));
        let Route { forward, back } = routes.of(&Way::DEFAULT).expect("it passes all");
        (forward, back)
    }

    #[test]
    fn hops_in_front_come_first_and_those_behind_last() {
        let (front, behind) = (Some("in-front"), Some("behind"));
        let wired = |places| all(json!("1 Mb/s"), places).0;
        assert_eq!(wired([None; 4]), [0, 1, 2, 3, 4]);
        assert_eq!(wired([behind, front, None, front]), [2, 4, 0, 1, 3]);
        let wifi = |places| all(json!({ "wifi": "802.11n" }), places);
        assert_eq!(wifi([None; 4]), (vec![1, 2, 3, 4, 0], vec![0]));
        assert_eq!(wifi([front, None, None, None]), wifi([None; 4]));
    }

    #[test]
    fn what_goes_up_passes_the_hop_on_the_way_out_before_the_bottleneck_of_the_way_back() {
        let hops = json!([{ "name": "access", "capacity": "1 Mb/s" },
            { "name": "home", "capacity": "1 Gb/s", "place": "out" }]);
        let back = json!({ "capacity": "1 Mb/s" });
        let path = json!({ "capacity": "1 Mb/s", "base_rtt": "10 ms", "hop": hops, "back": back });
        let routes = Routes::new(&PathSpec::try_from(path).expect("it is a path"));
        let Route { forward, back } = routes.of(&Way::DEFAULT).expect("it passes all");
        assert_eq!((forward, back, routes.out()), (vec![0, 1], vec![2, 3], Some(2)));
        assert!(routes.of(&Way { via: "home", ..Way::DEFAULT }).is_none());
    }
}
