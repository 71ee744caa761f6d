//! Tins: which packets go before which, and up to what share of the bandwidth.
//!
//! | `diffserv3` | DSCPs | threshold | weight |
//! |---|---|---:|---:|
//! | best effort | all others | bandwidth | 1024 |
//! | bulk | CS1, LE (RFC 8622) | 1/16 | 64 |
//! | voice | TOS4 (CS0 with the old bit for low delay), VA, EF, CS6, CS7 | 1/4 | 256 |
//!
//! A tin below its threshold goes before those above it in this table, and before all that are over theirs:
//! so bulk gets its sixteenth and voice its quarter. Weights are for turns without a bandwidth (Linux,
//! `sch_cake.c`, `cake_config_diffserv3` and the table `diffserv3`).

use crate::Dscp;

/// How many tins there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Diffserv {
    /// Bulk, best effort and voice.
    #[default]
    Three,
    /// One: DSCPs do not matter.
    BestEffort,
}

/// What a tin may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// The bandwidth is divided by two so many times.
    pub(super) halvings: u32,
    /// Bytes of a turn when there is no bandwidth.
    pub(super) weight: i64,
}

const THREE: &[Share] = &[
    Share { halvings: 0, weight: 1024 },
    Share { halvings: 4, weight: 64 },
    Share { halvings: 2, weight: 256 },
];
const ONE: &[Share] = &[Share { halvings: 0, weight: 65_535 }];

impl Diffserv {
    /// Of each tin, those with more priority last.
    pub(super) const fn shares(self) -> &'static [Share] {
        match self {
            Self::Three => THREE,
            Self::BestEffort => ONE,
        }
    }

    /// The tin of a packet.
    pub(super) const fn tin(self, dscp: Dscp) -> usize {
        match (self, dscp.0) {
            (Self::BestEffort, _) => 0,
            (Self::Three, 1 | 8) => 1,
            (Self::Three, 4 | 44 | 46 | 48 | 56) => 2,
            (Self::Three, _) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code points of RFC 2474, 3246, 5865 and 8622, and the old bit for low delay.
    #[test]
    fn few_code_points_are_not_best_effort() {
        let of = |tin| (0..64).filter(|dscp| Diffserv::Three.tin(Dscp(*dscp)) == tin).collect();
        let (bulk, voice): (Vec<u8>, Vec<u8>) = (of(1), of(2));
        assert_eq!((bulk, voice), (vec![1, 8], vec![4, 44, 46, 48, 56]));
        assert!((0..64).all(|dscp| Diffserv::BestEffort.tin(Dscp(dscp)) == 0));
    }
}
