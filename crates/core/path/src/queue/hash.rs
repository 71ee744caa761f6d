//! Hashes of headers: how fair queues tell flows and hosts apart.
//!
//! A flow is its two addresses, its two ports and its protocol (RFC 8290 section 4.1); the DSCP is no part
//! of it. Words of the header pass one after the other through the mixer of SplitMix64 (Steele, Lea and
//! Flood, "Fast splittable pseudorandom number generators", 2014), which gives each input an output of its
//! own, so that two flows meet in 64 bits only by chance. The seed is the perturbation, which keeps senders
//! from choosing which flows meet.

use crate::{Header, Protocol};
use core::net::IpAddr;

/// Set in a word that ends an IPv6 address, so that it is not taken for an IPv4 one.
const SIX: u64 = 1 << 48;
/// Tells sources from destinations.
const DESTINATION: u64 = 1 << 49;

/// Hashes of headers under one perturbation.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeaderHash {
    seed: u64,
}

impl HeaderHash {
    /// Other seeds let other flows meet.
    pub(super) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Of the flow.
    pub(super) fn flow(self, header: &Header) -> u64 {
        let Header { source, destination, protocol, .. } = header;
        let ports = u64::from(source.port) << 16 | u64::from(destination.port);
        let rest = ports | number(*protocol) << 32;
        match (source.address, destination.address) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let both = u64::from(u32::from(from)) << 32 | u64::from(u32::from(to));
                mixed(mixed(self.seed ^ both) ^ rest)
            }
            (from, to) => mixed(address(address(self.seed, from), to) ^ rest ^ SIX),
        }
    }

    /// Of the host that sends.
    pub(super) fn source(self, header: &Header) -> u64 {
        address(self.seed, header.source.address)
    }

    /// Of the host that receives.
    pub(super) fn destination(self, header: &Header) -> u64 {
        address(self.seed ^ DESTINATION, header.destination.address)
    }
}

fn address(state: u64, address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => mixed(state ^ u64::from(u32::from(address))),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            mixed(mixed(state ^ SIX ^ (bits >> 64) as u64) ^ bits as u64)
        }
    }
}

/// As IANA numbers protocols.
const fn number(protocol: Protocol) -> u64 {
    match protocol {
        Protocol::Icmp => 1,
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
    }
}

const fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dscp, Endpoint};
    use core::net::{Ipv4Addr, Ipv6Addr};
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::SplitMix64;
    use std::collections::BTreeSet;

    fn header(from: IpAddr, to: IpAddr, ports: (u16, u16), protocol: Protocol) -> Header {
        Header {
            source: Endpoint { address: from, port: ports.0 },
            destination: Endpoint { address: to, port: ports.1 },
            protocol,
            dscp: Dscp(0),
        }
    }

    fn four(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    fn six(last: u16) -> IpAddr {
        IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last))
    }

    /// Headers that differ in one thing at a time, and in which way they go.
    fn various() -> Vec<Header> {
        use Protocol::{Icmp, Tcp, Udp};
        let mut all = Vec::new();
        for (from, to) in [
            (four(1), four(2)),
            (four(2), four(1)),
            (four(1), four(3)),
            (four(3), four(2)),
            (six(1), six(2)),
            (six(2), six(1)),
            (four(1), six(1)),
            (six(1), four(1)),
        ] {
            for ports in [(1, 2), (2, 1), (1, 3), (0, 0)] {
                all.extend([Icmp, Tcp, Udp].map(|protocol| header(from, to, ports, protocol)));
            }
        }
        all
    }

    #[test]
    fn the_mixer_is_that_of_splitmix64() {
        const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        for state in [0, 1, 7, 1 << 40, u64::MAX] {
            let expected = SplitMix64::seed_from_u64(state).next_u64();
            assert_eq!(mixed(state.wrapping_add(GOLDEN_GAMMA)), expected);
        }
    }

    #[test]
    fn every_part_of_the_five_tuple_counts_and_nothing_else() {
        let hash = HeaderHash::new(7);
        let flows: BTreeSet<u64> = various().iter().map(|header| hash.flow(header)).collect();
        assert_eq!(flows.len(), various().len());
        for header in various() {
            let marked = Header { dscp: Dscp(46), ..header };
            assert_eq!(hash.flow(&header), hash.flow(&marked));
        }
    }

    #[test]
    fn hosts_are_their_addresses_and_a_sender_is_no_receiver() {
        let hash = HeaderHash::new(7);
        let hosts = |of: fn(HeaderHash, &Header) -> u64| -> BTreeSet<u64> {
            various().iter().map(|header| of(hash, header)).collect()
        };
        let (sources, destinations) = (hosts(HeaderHash::source), hosts(HeaderHash::destination));
        assert_eq!((sources.len(), destinations.len()), (5, 5));
        assert!(sources.is_disjoint(&destinations));
    }

    #[test]
    fn an_address_is_not_taken_for_one_of_the_other_family() {
        let hash = HeaderHash::new(7);
        let short = IpAddr::V4(Ipv4Addr::new(0, 0, 0, 5));
        let long = IpAddr::V6(Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 5));
        let to = |address| header(address, address, (1, 1), Protocol::Udp);
        assert_ne!(hash.source(&to(short)), hash.source(&to(long)));
        assert_ne!(hash.flow(&to(short)), hash.flow(&to(long)));
    }

    /// Headers of 6400 flows or hosts whose numbers follow each other.
    fn alike(kind: usize, number: u16) -> Header {
        let [high, low] = number.to_be_bytes();
        let four = IpAddr::V4(Ipv4Addr::new(10, 0, high, low));
        let six = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, number, 0, 0, 0, 1));
        match kind {
            0 => header(self::four(1), self::four(2), (number, 443), Protocol::Tcp),
            1 => header(four, four, (443, 443), Protocol::Tcp),
            2 => header(six, six, (443, 443), Protocol::Tcp),
            _ => header(self::six(1), self::six(number), (443, 443), Protocol::Tcp),
        }
    }

    #[test]
    fn flows_and_hosts_spread_evenly_over_queues_however_alike_their_headers() {
        for seed in (0..10).chain((1..10).map(mixed)) {
            let hash = HeaderHash::new(seed);
            let spread = |kind, of: fn(HeaderHash, &Header) -> u64| {
                let mut queues = [0u32; 64];
                for number in 0..6400 {
                    queues[(of(hash, &alike(kind, number)) % 64) as usize] += 1;
                }
                // A hundred each, with a deviation of ten: five of these either way.
                assert!(queues.iter().all(|count| (50..=150).contains(count)), "{kind} {queues:?}");
            };
            (0..4).for_each(|kind| spread(kind, HeaderHash::flow));
            (1..3).for_each(|kind| spread(kind, HeaderHash::source));
            (1..4).for_each(|kind| spread(kind, HeaderHash::destination));
        }
    }
}
