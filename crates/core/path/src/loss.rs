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
