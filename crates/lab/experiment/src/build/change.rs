//! From one path to another while packets are in it: the parts whose keys differ are built anew, all others stay as
//! they are, with what they hold and know.
//!
//! All or nothing: what cannot change is refused, and what cannot be built, before anything is touched.
//!
//! | part | what becomes of it |
//! |---|---|
//! | capacity | the bits that are sent from then on go by it, also within a packet; steps and traces begin then |
//! | queue with another kind, size or option | what waits goes over in its order of arrival; what finds no room is dropped |
//! | queue whose size follows capacity or RTT | keeps what it knows; what waits stays, as when capacity steps |
//! | delay, jitter | of packets that leave a link from then on; none overtakes one that is under way |
//! | loss, duplication, reordering, jitter | go on in their sequence of random numbers where they were there before |
//! | gateway, classifier | begin anew and have seen nothing |

use super::network::{FlowWay, NetworkParts, jitter_of, queues_of};
use super::{
    Impaired, capacities, chance, check_shaper, impaired, impairments, jitter, link, loss_model,
    queue, reorder_model, size,
};
use crate::spec::{HtbSpec, PathSpec};
use crate::{RunError, random, spec_error};
use gameway_events::Name;
use gameway_path::{
    AnyQueue, Direction, HopChange, Impairments, Limit, Link, Network, NetworkPacket, Observer,
};
use gameway_units::Instant;
use gameway_units::declared::Configuration;

/// A change of a path that its specification has, ready to be made.
#[derive(Debug, Clone)]
pub struct PathChange {
    /// When.
    pub at: Instant,
    /// The path from then on.
    pub path: PathSpec,
    /// What [`changed_links`] gave.
    pub links: Vec<Option<Link>>,
}

/// All changes of a path, which has been checked, in their order.
///
/// # Errors
/// As of [`changed_links`].
pub fn changes(path: &PathSpec) -> Result<Vec<PathChange>, RunError> {
    let mut before = path;
    let becomes = path.becomes();
    let made = becomes.iter().map(|(at, after)| {
        let links = changed_links(before, after)?;
        before = after;
        Ok(PathChange { at: Instant::ZERO + *at, path: after.clone(), links })
    });
    made.collect()
}

/// Refuses what cannot change while packets are in the path, which has been checked in both forms.
///
/// # Errors
/// The first such key, and what to do.
pub fn check_change(before: &PathSpec, after: &PathSpec) -> Result<(), RunError> {
    let refused = |key: &str, wanted: &str, was: &str| {
        let why = format!(
            "{wanted} cannot take the place of {was} while packets are in the path; leave it, or start again with it"
        );
        Err(spec_error(key, why))
    };
    if !after.change.is_empty() {
        return refused("path.change", "a list of changes", "what the path is");
    }
    let hops = |path: &PathSpec| {
        let names: Vec<&str> = path.hop.iter().map(|hop| hop.name.as_str()).collect();
        if names.is_empty() { "no hop".to_owned() } else { format!("\"{}\"", names.join("\", \"")) }
    };
    if hops(before) != hops(after) {
        return refused("path.hop", &hops(after), &hops(before));
    }
    let back = |path: &PathSpec| {
        let is_there = path.back.as_ref().is_some_and(|back| back.capacity.is_some());
        if is_there { "a bottleneck" } else { "no bottleneck" }
    };
    if back(before) != back(after) {
        return refused("path.back.capacity", back(after), back(before));
    }
    if before.stalls != after.stalls {
        return refused("path.stalls", "other stalls", "those that were drawn");
    }
    let medium = |path: &PathSpec| {
        if path.capacity.wifi().is_some() { "a Wi-Fi medium" } else { "a link" }
    };
    let has_medium = before.capacity.wifi().or(after.capacity.wifi()).is_some();
    if has_medium && before.capacity != after.capacity {
        return refused("path.capacity", medium(after), medium(before));
    }
    if has_medium && before.queue != after.queue {
        return refused("path.queue", "another queue", "that of a Wi-Fi medium");
    }
    let mut hops = before.hop.iter().zip(&after.hop);
    hops.try_for_each(|(was, is)| match (before.place(was), after.place(is)) {
        (was, is) if was == is => Ok(()),
        (was, after) => {
            refused(&format!("path.hop \"{}\": place", is.name), after.words(), was.words())
        }
    })
}

/// The links of the bottlenecks whose capacity differs, in the order of [`super::Routes::names`]. Files are read here, so
/// that a driver can have it done by another thread.
///
/// # Errors
/// As of [`super::links`].
pub fn changed_links(before: &PathSpec, after: &PathSpec) -> Result<Vec<Option<Link>>, RunError> {
    let pairs = capacities(before).zip(capacities(after));
    pairs.map(|(was, is)| (was != is).then(|| link(is)).transpose()).collect()
}

type Hops<P> = Vec<(usize, HopChange<AnyQueue<P>>)>;

impl<P: NetworkPacket + 'static> NetworkParts<'_, P> {
    /// Makes of a network of the path `before` one of this path from `now` on, with what [`changed_links`] gave; all that
    /// is due by then must have happened. Gateway and classifier are attached to a network and no part of it.
    ///
    /// # Errors
    /// If that cannot be; then nothing has changed.
    pub fn change<O: Observer<P>>(
        &self,
        (before, now): (&PathSpec, Instant),
        (names, links): (&[Name], Vec<Option<Link>>),
        network: &mut Network<P>,
        observer: &mut O,
    ) -> Result<(), RunError> {
        check_change(before, self.path)?;
        let hops = self.changed_hops((before, now), (names, links), network)?;
        let guarded = hops.first().filter(|(hop, _)| *hop == 0);
        let shaped = match guarded.and_then(|(_, change)| change.queue.as_ref()) {
            Some(queue) => queue.rate(),
            None => network.shaped_rate(Direction::Down),
        };
        let gateways = self.registry.known().gateways;
        check_shaper(gateways, self.path.gateway.as_ref(), shaped)?;
        for (hop, change) in hops {
            network.change_hop(hop, now, change, observer);
        }
        for (direction, fresh) in Direction::ALL.into_iter().zip(impairments(self.path, self.seed))
        {
            let keys = (impaired(before, direction), impaired(self.path, direction));
            change_impairments(network.impairments(direction), keys, fresh);
        }
        for (number, flow) in self.flows.iter().enumerate() {
            self.change_lines(before, (number, flow), network);
        }
        Ok(())
    }

    fn changed_hops(
        &self,
        (before, now): (&PathSpec, Instant),
        (names, links): (&[Name], Vec<Option<Link>>),
        network: &Network<P>,
    ) -> Result<Hops<P>, RunError> {
        let base_rtt = self.path.nominal_rtt();
        let is_farther = base_rtt != before.nominal_rtt();
        let mut changed = Vec::new();
        let queues = queues_of(before).zip(queues_of(self.path));
        for (hop, ((link, name), (was, is))) in links.into_iter().zip(names).zip(queues).enumerate()
        {
            // Classes of an HTB may have sizes in BDPs, too.
            let is_other = was != is || (is_farther && is.kind == HtbSpec::NAME);
            let is_medium = hop == 0 && self.path.capacity.wifi().is_some();
            if is_medium || !(is_other || is_farther || link.is_some()) {
                continue;
            }
            let capacity = match &link {
                Some(link) => link.nominal_capacity(Instant::ZERO),
                None => network.link(hop).nominal_capacity(now),
            };
            let size = size(self.registry, &is);
            let limit = Limit::of(size, capacity, base_rtt);
            let build = || queue(self.registry, &is, limit, (base_rtt, self.seed), name);
            let queue = is_other.then(build).transpose()?;
            changed.push((hop, HopChange { link, queue, size, base_rtt }));
        }
        Ok(changed)
    }

    fn change_lines(
        &self,
        before: &PathSpec,
        (number, flow): (usize, &FlowWay<'_>),
        network: &mut Network<P>,
    ) {
        let (down, up) = self.delays(flow);
        for (direction, delay) in Direction::ALL.into_iter().zip([down, up]) {
            let returning = Direction::from(flow.way.direction) != direction;
            let line = network.line(number, returning);
            line.set_delay(delay);
            let ((was, _), (is, part)) =
                (jitter_of(before, direction), jitter_of(self.path, direction));
            if was != is {
                let random = random::stream(self.seed, &format!("{}/{part}", flow.name));
                line.set_jitter(is.map(jitter), random);
            }
        }
    }
}

/// Of what was there before, the random numbers go on.
fn change_impairments(
    current: &mut Impairments,
    (before, after): (Impaired<'_>, Impaired<'_>),
    fresh: Impairments,
) {
    if before.0 != after.0 {
        match (&mut current.loss, after.0) {
            (Some(loss), Some(spec)) => loss.set_model(loss_model(spec)),
            _ => current.loss = fresh.loss,
        }
    }
    if before.1 != after.1 {
        match (&mut current.duplication, after.1) {
            (Some(one), Some(spec)) => one.set_chance(chance(spec)),
            _ => current.duplication = fresh.duplication,
        }
    }
    if before.2 != after.2 {
        match (&mut current.reordering, after.2) {
            (Some(one), Some(spec)) => one.set_model(reorder_model(spec)),
            _ => current.reordering = fresh.reordering,
        }
    }
}
