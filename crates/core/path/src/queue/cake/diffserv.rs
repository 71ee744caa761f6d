//! Tins: which packets go before which, and up to what share of the bandwidth.
//!
//! | `diffserv3` | DSCPs | threshold | weight |
//! |---|---|---:|---:|
//! | best effort | all others | bandwidth | 1024 |
//! | bulk | CS1, LE (RFC 8622) | 1/16 | 64 |
//! | voice | TOS4 (CS0 with the old bit for low delay), VA, EF, CS6, CS7 | 1/4 | 256 |
//!
//! | `diffserv4` | DSCPs | threshold | weight |
//! |---|---|---:|---:|
//! | best effort | all others | bandwidth | 1024 |
//! | bulk | CS1, LE | 1/16 | 64 |
//! | video | TOS4, CS2, AF2x, CS3, AF3x, AF4x | 1/2 | 512 |
//! | voice | CS4, CS5, VA, EF, CS6, CS7 | 1/4 | 256 |
//!
//! `diffserv8` has, from the lowest: background (CS1, LE), high throughput (AF1x), all others, video (CS3, AF3x,
//! AF4x), low latency (TOS4, AF2x), shell (CS2), least latency (CS4, CS5, VA, EF), control (CS6, CS7). `precedence`
//! has a tin for each value of the upper three bits. The first tin of both has the bandwidth and 256 as weight, each
//! further one 7/8 of the one before.
//!
//! A tin below its threshold goes before those above it in this table, and before all that are over theirs:
//! so bulk gets its sixteenth and voice its quarter. Weights are for turns without a bandwidth (Linux,
//! `sch_cake.c`, `cake_config_diffserv3`, `..._diffserv4`, `..._diffserv8`, `..._precedence` and the tables of these
//! names; CS1 in the lowest tin of `diffserv8` since "sch_cake: diffserv8 CS1 should be bulk", January 2022).

use crate::Dscp;
use gameway_units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many tins there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Diffserv {
    /// Bulk, best effort and voice.
    #[default]
    #[serde(rename = "diffserv3")]
    Three,
    /// Bulk, best effort, video and voice.
    #[serde(rename = "diffserv4")]
    Four,
    /// Eight kinds of traffic.
    #[serde(rename = "diffserv8")]
    Eight,
    /// Eight by the upper three bits.
    #[serde(rename = "precedence")]
    Precedence,
    /// One: DSCPs do not matter.
    #[serde(rename = "besteffort")]
    BestEffort,
}

/// What a tin may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// How often the bandwidth is halved.
    halvings: u32,
    /// How often an eighth is taken off then.
    eighths: u32,
    /// Bytes of a turn when there is no bandwidth.
    pub(super) weight: i64,
}

impl Share {
    const fn halved(halvings: u32, weight: i64) -> Self {
        Self { halvings, eighths: 0, weight }
    }

    const fn less_eighths(eighths: u32) -> Self {
        Self { halvings: 0, eighths, weight: less(256, eighths) as i64 }
    }

    /// The threshold of the tin.
    pub(super) const fn of(self, bandwidth: Rate) -> Rate {
        Rate::from_bps(less(bandwidth.as_bps() >> self.halvings, self.eighths))
    }
}

/// The value times 7/8, `eighths` times, rounded down each time.
const fn less(mut value: u64, mut eighths: u32) -> u64 {
    while eighths > 0 {
        value = (value as u128 * 7 / 8) as u64;
        eighths -= 1;
    }
    value
}

const THREE: &[Share] = &[Share::halved(0, 1024), Share::halved(4, 64), Share::halved(2, 256)];
const FOUR: &[Share] =
    &[Share::halved(0, 1024), Share::halved(4, 64), Share::halved(1, 512), Share::halved(2, 256)];
const EIGHT: &[Share] = &[
    Share::less_eighths(0),
    Share::less_eighths(1),
    Share::less_eighths(2),
    Share::less_eighths(3),
    Share::less_eighths(4),
    Share::less_eighths(5),
    Share::less_eighths(6),
    Share::less_eighths(7),
];
const ONE: &[Share] = &[Share::halved(0, 65_535)];

impl Diffserv {
    /// Of each tin, those with more priority last.
    pub(super) const fn shares(self) -> &'static [Share] {
        match self {
            Self::Three => THREE,
            Self::Four => FOUR,
            Self::Eight | Self::Precedence => EIGHT,
            Self::BestEffort => ONE,
        }
    }

    /// The tin of a packet.
    pub(super) const fn tin(self, dscp: Dscp) -> usize {
        match self {
            Self::BestEffort => 0,
            Self::Precedence => (dscp.0 >> 3 & 7) as usize,
            Self::Three => match dscp.0 {
                1 | 8 => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Self::Four => match dscp.0 {
                1 | 8 => 1,
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
            Self::Eight => match dscp.0 {
                1 | 8 => 0,
                2 | 10 | 12 | 14 => 1,
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
                4 | 18 | 20 | 22 => 4,
                16 => 5,
                32 | 40 | 44 | 46 => 6,
                48 | 56 => 7,
                _ => 2,
            },
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

    /// The tins of all code points that have a name, as the list of traffic classes in `sch_cake.c` has them.
    #[test]
    fn named_code_points_have_the_tins_of_their_kind() {
        let tins = |diffserv: Diffserv, names: &str| -> Vec<usize> {
            let dscp = |name: &str| name.parse().expect("it has a name");
            names.split(' ').map(|name| diffserv.tin(dscp(name))).collect()
        };
        let [bulk, shell] = ["cs1 le", "cs2"];
        let (tens, twenties) = ("af11 af12 af13", "af21 af22 af23");
        let (video, voice) = ("cs3 af31 af32 af33 af41 af42 af43", "cs4 cs5 voice-admit ef");
        let control = "cs6 cs7";
        for (names, four, eight) in [
            ("df", 0, 2),
            (bulk, 1, 0),
            (tens, 0, 1),
            (twenties, 2, 4),
            (shell, 2, 5),
            (video, 2, 3),
            (voice, 3, 6),
            (control, 3, 7),
        ] {
            assert!(tins(Diffserv::Four, names).iter().all(|tin| *tin == four), "{names}");
            assert!(tins(Diffserv::Eight, names).iter().all(|tin| *tin == eight), "{names}");
        }
        // TOS4 and TOS2, the old bits for low delay and throughput; all that has no name is best effort.
        let of = |diffserv: Diffserv, tin| {
            (0..64).filter(|&dscp| diffserv.tin(Dscp(dscp)) == tin).count()
        };
        assert_eq!([0, 1, 2, 3].map(|tin| of(Diffserv::Four, tin)), [44, 2, 12, 6]);
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|tin| of(Diffserv::Eight, tin)),
            [2, 4, 40, 7, 4, 1, 4, 2]
        );
        assert_eq!([0, 3, 7].map(|tin| of(Diffserv::Precedence, tin)), [8; 3]);
    }

    /// `tc -s qdisc` shows these thresholds at 100 Mb/s.
    #[test]
    fn thresholds_and_weights_are_those_of_linux() {
        let told = |diffserv: Diffserv| -> Vec<(u64, i64)> {
            let all = Rate::from_mbps(100);
            diffserv.shares().iter().map(|share| (share.of(all).as_bps(), share.weight)).collect()
        };
        let four = [(100_000_000, 1024), (6_250_000, 64), (50_000_000, 512), (25_000_000, 256)];
        assert_eq!(told(Diffserv::Four), four);
        let eight = [
            (100_000_000, 256),
            (87_500_000, 224),
            (76_562_500, 196),
            (66_992_187, 171),
            (58_618_163, 149),
            (51_290_892, 130),
            (44_879_530, 113),
            (39_269_588, 98),
        ];
        assert_eq!(told(Diffserv::Eight), eight);
    }
}
