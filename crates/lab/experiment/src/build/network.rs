//! From the specification of a path to its network: bottlenecks, a Wi-Fi medium, and the ways of flows through them.

use super::{Route, Routes};
use super::{check_shaper, impairments, jitter, queue, size, wifi_config, wifi_refused};
use crate::spec::{self, JitterSpec, PathSpec, QueueSpec, RunSpec, Way as WaySpec, WifiSpec};
use crate::{Registry, RunError, random};
use gameway_events::Name;
use gameway_path::{
    Bottleneck, DelayLine, Direction, Hop, Limit, Link, Medium, Network, NetworkPacket, Stalls,
    Way, Wifi,
};
use gameway_units::{Duration, Instant};
use std::borrow::Cow;

/// What a network must know of a flow.
#[derive(Debug, Clone, Copy)]
pub struct FlowWay<'a> {
    /// Its name, after which its random streams are called.
    pub name: &'a str,
    /// Where it goes.
    pub way: WaySpec<'a>,
    /// Of a Wi-Fi medium, the station that has its client: numbered behind the access point, new ones in order.
    pub station: usize,
}

/// What a network is built of.
#[derive(Debug, Clone, Copy)]
pub struct NetworkParts<'a, P> {
    /// What queues can be built.
    pub registry: &'a Registry<P>,
    /// The path, which has been checked.
    pub path: &'a PathSpec,
    /// The run's seed.
    pub seed: u64,
    /// Times in which nothing arrives.
    pub stalls: Option<&'a Stalls>,
    /// The flows, in the order of their numbers.
    pub flows: &'a [FlowWay<'a>],
}

/// Where the flows of a run go, in the order of their numbers.
pub fn ways(spec: &RunSpec) -> impl Iterator<Item = WaySpec<'_>> {
    let streams = spec.stream.iter().map(spec::StreamSpec::way);
    let competitors = spec.competitor.iter().map(spec::CompetitorSpec::way);
    streams.chain(competitors).chain(spec.ping.iter().map(|_| WaySpec::DEFAULT))
}

/// The queues of all bottlenecks, in the order of [`Routes::names`]; there may be one more than links.
pub(super) fn queues_of(path: &PathSpec) -> impl Iterator<Item = Cow<'_, QueueSpec>> {
    let further = path.hop.iter().map(|hop| Cow::Borrowed(&hop.queue));
    let back = path.back.iter().map(|back| match &back.queue {
        Some(queue) => Cow::Borrowed(queue),
        None => Cow::Owned(QueueSpec::of_back()),
    });
    std::iter::once(Cow::Borrowed(&path.queue)).chain(further).chain(back)
}

/// The jitter this way, and how its random streams are called behind the name of a flow.
pub(super) fn jitter_of(
    path: &PathSpec,
    direction: Direction,
) -> (Option<&JitterSpec>, &'static str) {
    match direction {
        Direction::Down => (path.jitter.as_ref(), "jitter"),
        Direction::Up => (path.back.as_ref().and_then(|back| back.jitter.as_ref()), "back-jitter"),
    }
}

impl<P: NetworkPacket + 'static> NetworkParts<'_, P> {
    /// The network, with these links of its bottlenecks.
    ///
    /// # Errors
    /// If a part cannot be built, or a flow wants to pass a bottleneck that is not there.
    pub fn network(&self, routes: &Routes, links: Vec<Link>) -> Result<Network<P>, RunError> {
        let ways = self.flows.iter().map(|flow| self.ways(routes, flow));
        let ways = ways.collect::<Result<Vec<_>, _>>()?;
        let hops = self.hops(&routes.names(), links)?;
        let network =
            Network::new(hops, impairments(self.path, self.seed), ways).with_way_out(routes.out());
        let gateways = self.registry.known().gateways;
        check_shaper(gateways, self.path.gateway.as_ref(), network.shaped_rate(Direction::Down))?;
        Ok(network)
    }

    fn hops(&self, names: &[Name], links: Vec<Link>) -> Result<Vec<Hop<P>>, RunError> {
        let path = self.path;
        let parts = links.into_iter().zip(queues_of(path)).zip(names).enumerate();
        let hop = |(number, ((link, spec), name)): (usize, ((Link, Cow<'_, QueueSpec>), &Name))| {
            if let Some(medium) = path.capacity.wifi().filter(|_| number == 0) {
                return self.wifi(medium, link);
            }
            let base_rtt = path.nominal_rtt();
            let built = |limit| queue(self.registry, &spec, limit, (base_rtt, self.seed), name);
            let size = size(self.registry, &spec);
            Bottleneck::try_new(link, size, base_rtt, built).map(Hop::Wired)
        };
        parts.map(hop).collect()
    }

    /// The medium with the path's queue at its access point and a station for each client of the flows.
    fn wifi(&self, spec: &WifiSpec, nominal: Link) -> Result<Hop<P>, RunError> {
        let capacity = nominal.nominal_capacity(Instant::ZERO);
        let base_rtt = self.path.nominal_rtt();
        let built = |spec: &QueueSpec, part: &str| {
            let limit = Limit::of(size(self.registry, spec), capacity, base_rtt);
            queue(self.registry, spec, limit, (base_rtt, self.seed), part)
        };
        let otherwise = QueueSpec::of_leaf();
        let mut all = vec![built(&self.path.queue, WaySpec::PATH)?];
        for flow in self.flows {
            // Stations come in order: this is the first flow of a new one.
            if flow.station == all.len() {
                let own = spec.station_queue.as_ref().unwrap_or(&otherwise);
                all.push(built(own, &format!("{}/station", flow.name))?);
            }
        }
        let stations = self.flows.iter().map(|flow| flow.station).collect();
        let random = random::stream(self.seed, "path/wifi");
        let medium = Medium::new(wifi_config(spec)?, all, random)
            .map_err(|error| wifi_refused(&error))?
            .with_stations(stations);
        Ok(Hop::Wifi(Wifi::new(medium, nominal)))
    }

    /// A flow's way with its data, and back.
    fn ways(&self, routes: &Routes, flow: &FlowWay<'_>) -> Result<[Way<P>; 2], RunError> {
        let Route { forward, back } = routes.wanted(flow.name, &flow.way)?;
        let (down, up) = self.delays(flow);
        let way = |direction: Direction, hops| {
            let delay = if direction == Direction::Down { down } else { up };
            Way::new(direction, hops, self.line(flow.name, direction, delay))
        };
        let direction = Direction::from(flow.way.direction);
        Ok([way(direction, forward), way(direction.reversed(), back)])
    }

    /// Propagation down and up.
    pub(super) fn delays(&self, flow: &FlowWay<'_>) -> (Duration, Duration) {
        match flow.way.base_rtt {
            Some(rtt) => (rtt / 2, rtt - rtt / 2),
            None => {
                let rtt = self.path.base_rtt;
                let down = self.path.forward_delay.unwrap_or(rtt / 2);
                (down, rtt - down)
            }
        }
    }

    /// Propagation this way, with stalls and the jitter that is there.
    fn line(&self, flow: &str, direction: Direction, delay: Duration) -> DelayLine<P> {
        let (given, part) = jitter_of(self.path, direction);
        let mut line = DelayLine::new(delay);
        if let Some(stalls) = self.stalls {
            line = line.with_stalls(stalls.clone());
        }
        match given {
            Some(spec) => {
                line.with_jitter(jitter(spec), random::stream(self.seed, &format!("{flow}/{part}")))
            }
            None => line,
        }
    }
}
