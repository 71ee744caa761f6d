//! Random streams: one for each part of a run, all from the run's seed.

use rand_core::SeedableRng;
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A generator for the part called `part` (for example "game/video"). Parts are independent of each
/// other, so adding a flow to an experiment leaves the randomness of the others as it was, and runs with
/// the same seed are paired across the axes of a matrix.
pub fn stream(seed: u64, part: &str) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(number(seed, part))
}

/// A seed for the part called `part`.
pub fn number(seed: u64, part: &str) -> u64 {
    use rand_core::Rng;
    // FNV-1a over the name, mixed with the seed by SplitMix64.
    let name = part.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed_seed = SplitMix64::seed_from_u64(seed).next_u64();
    SplitMix64::seed_from_u64(mixed_seed ^ name).next_u64()
}

/// A uniform whole number below `bound` (which must not be zero).
pub fn below(seed: u64, part: &str, bound: u64) -> u64 {
    // The bias of the remainder is below 2^-32 for the bounds in use here.
    number(seed, part) % bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_seeds_are_independent() {
        let mut seen: Vec<u64> = (0..100).map(|seed| number(seed, "game/video")).collect();
        seen.extend((0..100).map(|seed| number(seed, "game/phase")));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 200);
        assert_eq!(number(7, "ping"), number(7, "ping"));
    }
}
