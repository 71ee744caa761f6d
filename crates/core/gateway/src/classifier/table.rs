//! Flows by their headers, in a table of fixed size.
//!
//! Model: sets of eight ways, as a cache has them and as CAKE's flows (tc-cake(8)); a header's hash names
//! the set. A new flow takes an empty way, or a forgotten one, or that of the flow that was silent longest,
//! and one that is worth keeping only if all are. Nothing is allocated after the start, and no flood of
//! new flows costs more than a flow each, nor displaces a game while anything else is there.

use core::net::IpAddr;
use gameway_path::{Endpoint, Header, Protocol};
use gameway_units::{Duration, Instant};

const WAYS: usize = 8;
const FORGOTTEN_AFTER: Duration = Duration::from_secs(120);

#[derive(Debug)]
struct Slot<T> {
    header: Header,
    seen: Instant,
    value: T,
}

/// See the module's head.
#[derive(Debug)]
pub struct Table<T> {
    seed: u64,
    slots: Vec<Option<Slot<T>>>,
}

impl<T> Table<T> {
    /// An empty table of at least `flows`, and at least one set.
    pub fn new(seed: u64, flows: usize) -> Self {
        let sets = flows.div_ceil(WAYS).next_power_of_two();
        Self { seed, slots: (0..sets * WAYS).map(|_| None).collect() }
    }

    fn set(&self, header: &Header) -> std::ops::Range<usize> {
        let sets = (self.slots.len() / WAYS) as u64;
        let first = (hash(self.seed, header) & (sets - 1)) as usize * WAYS;
        first..first + WAYS
    }

    pub fn get(&self, header: &Header) -> Option<&T> {
        let mut ways = self.slots[self.set(header)].iter().flatten();
        ways.find(|slot| slot.header == *header).map(|slot| &slot.value)
    }

    /// All, with when each was seen last.
    pub fn iter(&self) -> impl Iterator<Item = (&Header, Instant, &T)> {
        self.slots.iter().flatten().map(|slot| (&slot.header, slot.seen, &slot.value))
    }

    pub fn remove(&mut self, header: &Header) {
        let set = self.set(header);
        for way in &mut self.slots[set] {
            if way.as_ref().is_some_and(|slot| slot.header == *header) {
                *way = None;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// The flow's value, made anew if it is not there or long forgotten.
    pub fn entry(
        &mut self,
        now: Instant,
        header: &Header,
        new: impl FnOnce() -> T,
        keep: impl Fn(&T) -> bool,
    ) -> &mut T {
        let set = self.set(header);
        let ways = &mut self.slots[set];
        let forgotten = |seen: Instant| now.saturating_since(seen) > FORGOTTEN_AFTER;
        let known = ways.iter().position(|way| {
            way.as_ref().is_some_and(|slot| slot.header == *header && !forgotten(slot.seen))
        });
        let place = known.unwrap_or_else(|| place_for_new(ways, header, &forgotten, keep));
        if known.is_none() {
            ways[place] = None;
        }
        let slot =
            ways[place].get_or_insert_with(|| Slot { header: *header, seen: now, value: new() });
        slot.seen = now;
        &mut slot.value
    }
}

/// The way that a new flow takes: the same header's, an empty one, or the least worth keeping.
fn place_for_new<T>(
    ways: &[Option<Slot<T>>],
    header: &Header,
    forgotten: &impl Fn(Instant) -> bool,
    keep: impl Fn(&T) -> bool,
) -> usize {
    let worth = |way: &Option<Slot<T>>| match way {
        Some(slot) if slot.header == *header => (0, Instant::ZERO),
        None => (1, Instant::ZERO),
        Some(slot) => (2 + u8::from(keep(&slot.value) && !forgotten(slot.seen)), slot.seen),
    };
    (0..ways.len()).min_by_key(|&place| worth(&ways[place])).unwrap_or(0)
}

fn hash(seed: u64, header: &Header) -> u64 {
    let protocol = match header.protocol {
        Protocol::Icmp => 1,
        Protocol::Tcp => 6,
        Protocol::Udp => 17,
    };
    let both = fold(fold(seed ^ protocol, header.source), header.destination);
    mix(both)
}

fn fold(state: u64, endpoint: Endpoint) -> u64 {
    let address = match endpoint.address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    // One after the other: joined, an address and a port could be chosen that collide with others whatever the seed.
    let low = mix(state ^ address as u64);
    let both = mix(low ^ (address >> 64) as u64);
    mix(both ^ u64::from(endpoint.port))
}

/// The finalizer of `SplitMix64` (Steele, Lea and Flood 2014, figure 14).
fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn put(table: &mut Table<u16>, millis: i64, number: u16) -> u16 {
        // Even numbers are worth keeping.
        let keep = |value: &u16| value.is_multiple_of(2);
        *table.entry(at(millis), &Header::numbered(number), || number, keep)
    }

    #[test]
    fn a_flow_is_found_again_and_the_silent_one_gives_way() {
        let mut table = Table::new(1, 8);
        for number in 0..8 {
            assert_eq!(put(&mut table, i64::from(number), 2 * number + 1), 2 * number + 1);
        }
        put(&mut table, 20, 1);
        assert_eq!(put(&mut table, 21, 99), 99);
        assert_eq!(table.len(), 8);
        // The second was silent longest; the first had just been heard.
        assert_eq!(table.get(&Header::numbered(3)), None);
        assert_eq!(table.get(&Header::numbered(1)), Some(&1));
    }

    #[test]
    fn what_is_worth_keeping_outlives_a_flood() {
        let mut table = Table::new(1, 8);
        put(&mut table, 0, 2);
        for number in 0..1_000 {
            put(&mut table, 1 + i64::from(number), 2 * number + 1001);
        }
        assert_eq!(table.get(&Header::numbered(2)), Some(&2));
    }

    #[test]
    fn a_flow_is_forgotten_after_two_minutes() {
        let mut table = Table::new(1, 8);
        *table.entry(at(0), &Header::numbered(4), || 4_u16, |_| true) = 7;
        assert_eq!(put(&mut table, 120_000, 4), 7);
        assert_eq!(put(&mut table, 240_001, 4), 4);
    }

    #[test]
    fn hashes_spread_over_the_sets_and_differ_with_the_seed() {
        let set = |seed, number| hash(seed, &Header::numbered(number)) & 127;
        let mut counts = [0_u32; 128];
        for number in 0..12_800 {
            counts[set(3, number) as usize] += 1;
        }
        // A hundred each, with a deviation of ten: five of them are never seen in 128 draws.
        assert!(counts.iter().all(|count| (50..150).contains(count)), "{counts:?}");
        let same = (0..1_280).filter(|number| set(3, *number) == set(4, *number)).count();
        assert!((1..40).contains(&same), "{same}");
    }

    #[test]
    fn a_flow_that_was_forgotten_takes_its_own_place_again() {
        let mut table = Table::new(1, 8);
        put(&mut table, 0, 2);
        put(&mut table, 1, 4);
        put(&mut table, 240_000, 4);
        assert_eq!((table.len(), table.get(&Header::numbered(2))), (2, Some(&2)));
    }

    #[test]
    fn each_set_has_its_own_ways() {
        let mut table = Table::new(1, 64);
        (0..64).for_each(|number| _ = put(&mut table, 0, number));
        // Eight sets of eight: some get more than eight flows, and others less.
        assert!((45..=64).contains(&table.len()), "{}", table.len());
    }

    /// Steele, Lea and Flood's generator with the seeds 0 and 1234567: its first numbers.
    #[test]
    fn mixing_is_that_of_splitmix64() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
        let second = 1_234_567_u64.wrapping_add(0x9e37_79b9_7f4a_7c15);
        assert_eq!(mix(second), 3_203_168_211_198_807_973);
    }

    #[test]
    fn every_bit_of_a_header_and_of_the_seed_counts() {
        let endpoint = |address: u128, port| Endpoint { address: IpAddr::V6(address.into()), port };
        let ends = [endpoint(0xabcd << 64 | 77, 443), endpoint(0x1234 << 64 | 99, 50_000)];
        let header = |[source, destination]: [Endpoint; 2], protocol| Header {
            source,
            destination,
            protocol,
            ..Header::numbered(0)
        };
        let protocols = [Protocol::Icmp, Protocol::Tcp, Protocol::Udp];
        let mut hashes: Vec<Vec<u64>> = Vec::new();
        let of = |seed: u64, protocol| hash(seed, &header(ends, protocol));
        hashes.extend((0..64).map(|seed| protocols.map(|one| of(seed, one)).into()));
        hashes.extend(protocols.map(|one| (0..64).map(|seed| of(seed, one)).collect()));
        let mut changed = Vec::new();
        for end in 0..2 {
            for bit in 0..144 {
                let IpAddr::V6(address) = ends[end].address else { unreachable!() };
                let mut ends = ends;
                ends[end] = match bit {
                    0..128 => endpoint(u128::from(address) ^ (1 << bit), ends[end].port),
                    _ => endpoint(u128::from(address), ends[end].port ^ (1 << (bit - 128))),
                };
                changed.push(hash(1, &header(ends, Protocol::Udp)));
            }
        }
        hashes.push(changed);
        for hashes in hashes {
            let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
            assert_eq!(distinct.len(), hashes.len());
        }
    }
}
