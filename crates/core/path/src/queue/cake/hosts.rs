//! Host isolation: a flow's turn is its host's turn, shared among the host's flows.
//!
//! Model: of each sending and each receiving host the bulk flows are counted. A flow's quantum is the tin's
//! divided by the greater of the counts of its two hosts, or by that of one side only, so that a host gets as
//! much as any other however many flows it has (Linux, `sch_cake.c`, `cake_get_flow_quantum`).

use super::ways::{PLACES, Ways};
use crate::Header;
use crate::queue::hash::HeaderHash;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What shares the link fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Isolation {
    /// Hosts on either side, and the flows of each.
    #[default]
    #[serde(rename = "triple-isolate")]
    Triple,
    /// Sending hosts, and the flows of each.
    #[serde(rename = "dual-srchost")]
    DualSource,
    /// Receiving hosts, and the flows of each.
    #[serde(rename = "dual-dsthost")]
    DualDestination,
    /// Flows.
    #[serde(rename = "flows")]
    Flows,
    /// Pairs of hosts, each in one queue.
    #[serde(rename = "hosts")]
    Hosts,
    /// Sending hosts, each in one queue.
    #[serde(rename = "srchost")]
    SourceHosts,
    /// Receiving hosts, each in one queue.
    #[serde(rename = "dsthost")]
    DestinationHosts,
    /// Nothing: all is in one queue.
    #[serde(rename = "flowblind")]
    Blind,
}

impl Isolation {
    const fn counts_sources(self) -> bool {
        matches!(self, Self::Triple | Self::DualSource)
    }

    const fn counts_destinations(self) -> bool {
        matches!(self, Self::Triple | Self::DualDestination)
    }

    /// What packets of one queue have in common; `None` if there is but one.
    pub(super) fn key(self, hash: HeaderHash, header: &Header) -> Option<u64> {
        match self {
            Self::Triple | Self::DualSource | Self::DualDestination | Self::Flows => {
                Some(hash.flow(header))
            }
            Self::Hosts => Some(hash.source(header) ^ hash.destination(header)),
            Self::SourceHosts => Some(hash.source(header)),
            Self::DestinationHosts => Some(hash.destination(header)),
            Self::Blind => None,
        }
    }
}

/// The hosts of a flow, as places in the tables.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HostPair {
    source: u16,
    destination: u16,
}

#[derive(Debug)]
struct Side {
    ways: Ways,
    /// Bulk flows of each host.
    bulk: Vec<u16>,
}

impl Side {
    fn new() -> Self {
        Self { ways: Ways::new(), bulk: vec![0; PLACES] }
    }

    fn place(&mut self, hash: u64) -> u16 {
        self.ways.place(hash, |place| self.bulk[place] > 0).0 as u16
    }
}

/// The hosts of a tin.
#[derive(Debug)]
pub(super) struct Hosts {
    sources: Option<Side>,
    destinations: Option<Side>,
}

impl Hosts {
    pub(super) fn new(isolation: Isolation) -> Self {
        Self {
            sources: isolation.counts_sources().then(Side::new),
            destinations: isolation.counts_destinations().then(Side::new),
        }
    }

    /// Finds the hosts of a flow, which is not yet counted.
    pub(super) fn find(&mut self, hash: HeaderHash, header: &Header) -> HostPair {
        let source = self.sources.as_mut().map_or(0, |side| side.place(hash.source(header)));
        let destinations = self.destinations.as_mut();
        let destination = destinations.map_or(0, |side| side.place(hash.destination(header)));
        HostPair { source, destination }
    }

    /// A flow of these becomes bulk.
    pub(super) fn count(&mut self, pair: HostPair) {
        self.each(pair, |bulk| *bulk = bulk.saturating_add(1));
    }

    /// A flow of these is bulk no more.
    pub(super) fn discount(&mut self, pair: HostPair) {
        self.each(pair, |bulk| *bulk = bulk.saturating_sub(1));
    }

    fn each(&mut self, pair: HostPair, change: impl Fn(&mut u16)) {
        if let Some(side) = &mut self.sources {
            change(&mut side.bulk[usize::from(pair.source)]);
        }
        if let Some(side) = &mut self.destinations {
            change(&mut side.bulk[usize::from(pair.destination)]);
        }
    }

    /// Among how many flows the turn of these hosts is shared.
    pub(super) fn load(&self, pair: HostPair) -> u16 {
        let bulk = |side: &Option<Side>, place: u16| {
            side.as_ref().map_or(1, |side| side.bulk[usize::from(place)])
        };
        let sources = bulk(&self.sources, pair.source);
        sources.max(bulk(&self.destinations, pair.destination)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endpoint;
    use core::net::{IpAddr, Ipv4Addr};
    use std::collections::BTreeSet;

    fn header(source: u8, destination: u8) -> Header {
        let end = |network, host| Endpoint {
            address: IpAddr::V4(Ipv4Addr::new(10, 0, network, host)),
            port: 443,
        };
        Header { source: end(1, source), destination: end(2, destination), ..Header::numbered(0) }
    }

    /// Each bit of the keys of many pairs is set in about half of them, so that all places are as likely.
    #[test]
    fn pairs_of_hosts_are_spread_over_all_places() {
        let hash = HeaderHash::new(1);
        let pairs = (0..=255).flat_map(|source| (0..=255).map(move |other| (source, other)));
        let keys = pairs.map(|(source, other)| Isolation::Hosts.key(hash, &header(source, other)));
        let keys: Vec<u64> = keys.flatten().collect();
        assert_eq!(keys.len(), 65_536);
        for bit in 0..64 {
            // Of 256 hosts 128 have it, with a deviation of 8; of pairs three quarters would if either did.
            let set = keys.iter().filter(|key| *key >> bit & 1 == 1).count();
            assert!((29_500..36_000).contains(&set), "{bit}: {set}");
        }
    }

    #[test]
    fn two_hundred_hosts_with_bulk_flows_have_places_of_their_own() {
        for seed in 0..20 {
            let hash = HeaderHash::new(seed);
            let mut hosts = Hosts::new(Isolation::DualSource);
            let places: BTreeSet<u16> = (0..200)
                .map(|number| {
                    let pair = hosts.find(hash, &header(number, 1));
                    hosts.count(pair);
                    pair.source
                })
                .collect();
            // With one way 200 of 1024 places would be met twice by 18 hosts.
            assert_eq!(places.len(), 200);
        }
    }

    #[test]
    fn the_load_of_a_pair_is_that_of_its_busier_host() {
        let mut hosts = Hosts::new(Isolation::Triple);
        let hash = HeaderHash::new(1);
        let pairs = [(1, 1), (1, 2), (1, 3), (2, 3)];
        let mut find = |(source, destination)| hosts.find(hash, &header(source, destination));
        let pairs = pairs.map(&mut find);
        let loads = |hosts: &Hosts| pairs.map(|pair| hosts.load(pair));
        assert_eq!(loads(&hosts), [1; 4], "nobody's turn is shared among none");
        pairs.iter().for_each(|pair| hosts.count(*pair));
        assert_eq!(loads(&hosts), [3, 3, 3, 2]);
        hosts.discount(pairs[0]);
        assert_eq!(loads(&hosts), [2, 2, 2, 2]);
    }
}
