//! Chance that is the same on every machine.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number that looks random, of an index: the output function of SplitMix64 (Steele, Lea and Flood, 2014).
pub const fn hash(index: u64) -> u64 {
    let mut z = index.wrapping_mul(GOLDEN).wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A generator of random numbers, of a seed.
#[derive(Debug, Clone)]
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// Seeds that differ give numbers that have nothing to do with each other.
    pub const fn new(seed: u64) -> Self {
        Self { seed: hash(seed), drawn: 0 }
    }

    /// Any number.
    pub const fn any(&mut self) -> u64 {
        self.drawn += 1;
        hash(self.seed.wrapping_add(self.drawn))
    }

    /// Any number below `end`.
    pub const fn below(&mut self, end: u64) -> u64 {
        self.any() % end
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.any() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something happens that happens with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    /// Fills a slice with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.any().to_le_bytes()[..chunk.len()]);
        }
    }
}
