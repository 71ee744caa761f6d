//! Loss that has nothing to do with queues: random, or in bursts.
//!
//! Bursty loss is the two-state model of Gilbert (1960), "Capacity of a burst-noise channel", with all
//! packets lost in the bad state: it is fixed by its loss probability p and its mean burst length b.
//! From bad to good 1/b; from good to bad p / (b (1 - p)).

use crate::uniform;
use gameway_units::Ratio;
use rand_xoshiro::Xoshiro256PlusPlus;

/// How packets are lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LossModel {
    /// Each packet by itself.
    Random {
        /// Share of packets lost.
        probability: Ratio,
    },
    /// In bursts.
    Bursty {
        /// Share of packets lost.
        probability: Ratio,
        /// Mean packets lost in a row, at least 1.
        burst_length: f64,
    },
}

/// A loss process.
#[derive(Debug)]
pub struct Loss {
    model: LossModel,
    random: Xoshiro256PlusPlus,
    in_burst: bool,
}

impl Loss {
    /// A process that begins in the good state.
    #[must_use]
    pub fn new(model: LossModel, random: Xoshiro256PlusPlus) -> Self {
        Self { model, random, in_burst: false }
    }

    /// From now on packets are lost so: in the good state at first, and by the next numbers of the same sequence.
    pub const fn set_model(&mut self, model: LossModel) {
        self.model = model;
        self.in_burst = false;
    }

    /// Whether the next packet is lost.
    pub fn loses_next(&mut self) -> bool {
        let draw = uniform(&mut self.random);
        match self.model {
            LossModel::Random { probability } => draw < probability.as_f64(),
            LossModel::Bursty { probability, burst_length } => {
                let p = probability.as_f64();
                let change =
                    if self.in_burst { 1.0 / burst_length } else { p / (burst_length * (1.0 - p)) };
                self.in_burst ^= draw < change;
                self.in_burst
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn losses(loss: &mut Loss, packets: usize) -> Vec<bool> {
        (0..packets).map(|_| loss.loses_next()).collect()
    }

    fn of(model: LossModel) -> Loss {
        Loss::new(model, Xoshiro256PlusPlus::seed_from_u64(3))
    }

    /// Half of the packets, in bursts of one: from bad to good 1 / b is 1, from good to bad p / (b (1 - p)) is 1.
    const EACH_OTHER: LossModel =
        LossModel::Bursty { probability: Ratio::from_ppm(500_000), burst_length: 1.0 };

    #[test]
    fn half_of_the_packets_in_bursts_of_one_are_each_other_packet() {
        assert_eq!(losses(&mut of(EACH_OTHER), 6), [true, false, true, false, true, false]);
    }

    #[test]
    fn another_model_begins_in_the_good_state() {
        let mut loss = of(EACH_OTHER);
        assert!(loss.loses_next(), "a burst has begun");
        loss.set_model(EACH_OTHER);
        assert_eq!(losses(&mut loss, 3), [true, false, true]);
    }

    #[test]
    fn another_model_goes_on_in_the_random_numbers_of_the_one_before() {
        let random =
            |percent: u64| LossModel::Random { probability: Ratio::from_ppm(percent * 10_000) };
        let (few, many) = (losses(&mut of(random(10)), 200), losses(&mut of(random(40)), 200));
        assert!(few.iter().zip(&many).all(|(few, many)| !few || *many), "one draw, two bounds");
        let mut loss = of(random(10));
        assert_eq!(losses(&mut loss, 100), few[..100]);
        loss.set_model(random(40));
        assert_eq!(losses(&mut loss, 100), many[100..]);
    }
}
