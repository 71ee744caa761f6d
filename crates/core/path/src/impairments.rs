//! What happens to packets behind the bottlenecks of a way, beside their propagation: some are lost, some come twice,
//! some overtake others or fall behind.
//!
//! Source: Linux, `net/sched/sch_netem.c` (`netem_enqueue`, `get_crandom`), tc-netem(8). Model: of the packets that
//! are not lost, one is duplicated with a probability, and each copy is then displaced with another. A displaced
//! packet is not delayed at all, as in netem, or arrives earlier or later by a time that is given. With a `gap` at most
//! one packet in `gap` is displaced: after one that was, `gap` - 1 are not.
//!
//! Draws may be correlated: each is 1 - ρ of a new uniform variable and ρ of the draw before. As netem does it, this
//! narrows their distribution, so that the share of packets is the probability only where ρ is 0.
//!
//! | deviation | why |
//! |---|---|
//! | a lost packet is not duplicated | netem lets one of a packet's two copies pass where both are drawn: loss and duplication then cancel out |
//! | loss, duplication and displacement of a way are of all its flows together, jitter is of each flow | as it was for loss and jitter |

use crate::{Loss, uniform};
use gameway_units::{Duration, Ratio};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A probability whose draws may follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    /// How often it comes true.
    pub probability: Ratio,
    /// How much of a draw is the one before, from 0 to 1.
    pub correlation: Ratio,
}

#[derive(Debug)]
struct Draws {
    chance: Chance,
    last: f64,
    random: Xoshiro256PlusPlus,
}

impl Draws {
    fn new(chance: Chance, random: Xoshiro256PlusPlus) -> Self {
        Self { chance, last: 0.0, random }
    }

    fn next(&mut self) -> bool {
        let rho = self.chance.correlation.as_f64();
        self.last = uniform(&mut self.random) * (1.0 - rho) + self.last * rho;
        self.last < self.chance.probability.as_f64()
    }
}

/// Which packets come twice.
#[derive(Debug)]
pub struct Duplication {
    draws: Draws,
}

impl Duplication {
    /// Duplicates packets by this chance.
    #[must_use]
    pub fn new(chance: Chance, random: Xoshiro256PlusPlus) -> Self {
        Self { draws: Draws::new(chance, random) }
    }

    /// From now on by this chance, and the next numbers of the same sequence.
    pub const fn set_chance(&mut self, chance: Chance) {
        self.draws.chance = chance;
    }
}

/// Where a packet is put among the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Displacement {
    /// In its place.
    #[default]
    None,
    /// It is not delayed at all.
    AtOnce,
    /// It arrives earlier by this time, but not before it was sent.
    Earlier(Duration),
    /// It arrives later by this time.
    Later(Duration),
}

/// Which packets are displaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReorderModel {
    /// How often, of the packets that may be.
    pub chance: Chance,
    /// At most one packet in this number of packets is displaced, from 1.
    pub gap: u32,
    /// Where to.
    pub displacement: Displacement,
}

/// A process of displacements.
#[derive(Debug)]
pub struct Reordering {
    model: ReorderModel,
    draws: Draws,
    /// Packets since the last that was displaced.
    since: u32,
}

impl Reordering {
    /// Displaces packets so.
    #[must_use]
    pub fn new(model: ReorderModel, random: Xoshiro256PlusPlus) -> Self {
        Self { model, draws: Draws::new(model.chance, random), since: 0 }
    }

    /// From now on so, by the next numbers of the same sequence.
    pub const fn set_model(&mut self, model: ReorderModel) {
        self.model = model;
        self.draws.chance = model.chance;
    }

    fn next(&mut self) -> Displacement {
        if self.since + 1 < self.model.gap || !self.draws.next() {
            self.since = self.since.saturating_add(1);
            return Displacement::None;
        }
        self.since = 0;
        self.model.displacement
    }
}

/// All of them, of one way.
#[derive(Debug, Default)]
pub struct Impairments {
    /// Which packets are lost.
    pub loss: Option<Loss>,
    /// Which come twice.
    pub duplication: Option<Duplication>,
    /// Which change their place.
    pub reordering: Option<Reordering>,
}

impl Impairments {
    /// Whether the next packet is lost.
    pub fn loses_next(&mut self) -> bool {
        self.loss.as_mut().is_some_and(Loss::loses_next)
    }

    /// Whether the next packet that is not lost comes twice.
    pub fn duplicates_next(&mut self) -> bool {
        self.duplication.as_mut().is_some_and(|one| one.draws.next())
    }

    /// Where the next packet, or the next copy of one, is put.
    pub fn displaces_next(&mut self) -> Displacement {
        self.reordering.as_mut().map_or(Displacement::None, Reordering::next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(3)
    }

    fn chance(percent: u64, correlation: u64) -> Chance {
        let of = |percent: u64| Ratio::from_ppm(percent * 10_000);
        Chance { probability: of(percent), correlation: of(correlation) }
    }

    /// Which of 100 000 packets are displaced.
    fn displaced(chance: Chance, gap: u32) -> Vec<bool> {
        let model = ReorderModel { chance, gap, displacement: Displacement::AtOnce };
        let mut one = Reordering::new(model, random());
        (0..100_000).map(|_| one.next() != Displacement::None).collect()
    }

    fn share(of: &[bool]) -> f64 {
        of.iter().filter(|one| **one).count() as f64 / of.len() as f64
    }

    #[test]
    fn a_quarter_is_a_quarter_and_each_fifth_each_fifth() {
        let quarter = share(&displaced(chance(25, 0), 1));
        assert!((0.245..=0.255).contains(&quarter), "{quarter}");
        let all = displaced(chance(100, 0), 5);
        assert!(all.iter().enumerate().all(|(number, one)| *one == (number % 5 == 4)));
        // After four that may not, on average four draws: one in eight.
        let both = share(&displaced(chance(25, 0), 5));
        assert!((0.123..=0.127).contains(&both), "{both}");
        assert!(!displaced(chance(0, 50), 1).contains(&true));
    }

    #[test]
    fn correlated_draws_come_together_and_keep_netems_distribution() {
        let follow = |of: &[bool]| {
            let pairs = of.windows(2).filter(|pair| pair[0]);
            let after: Vec<bool> = pairs.map(|pair| pair[1]).collect();
            share(&after)
        };
        let (alone, together) = (displaced(chance(25, 0), 1), displaced(chance(25, 50), 1));
        assert!((0.24..=0.26).contains(&follow(&alone)), "{}", follow(&alone));
        // Below a quarter the draw before leaves 0.5 - 0.18 of a new one: 3 in 10, of 7 in 100.
        assert!((0.27..=0.33).contains(&follow(&together)), "{}", follow(&together));
        // The draws of ρ = 1/2 have a third of the variance: below a quarter there are fewer.
        let fewer = share(&together);
        assert!((0.06..=0.08).contains(&fewer), "{fewer}");
    }

    #[test]
    fn duplicates_are_a_share_of_what_is_not_lost() {
        let mut one = Impairments {
            duplication: Some(Duplication::new(chance(1, 0), random())),
            ..Impairments::default()
        };
        let twice = (0..100_000).filter(|_| one.duplicates_next()).count();
        assert!((920..=1080).contains(&twice), "{twice}");
        assert!(!one.loses_next() && one.displaces_next() == Displacement::None);
        let displacement = Displacement::Later(Duration::from_millis(5));
        let model = ReorderModel { chance: chance(100, 0), gap: 2, displacement };
        one.reordering = Some(Reordering::new(model, random()));
        let places = [Displacement::None, displacement, Displacement::None, displacement];
        assert_eq!(places.map(|_| one.displaces_next()), places);
    }

    #[test]
    fn a_change_of_chances_holds_from_the_next_packet_on() {
        let at_once =
            |chance, gap| ReorderModel { chance, gap, displacement: Displacement::AtOnce };
        let mut one = Impairments {
            loss: None,
            duplication: Some(Duplication::new(chance(100, 0), random())),
            reordering: Some(Reordering::new(at_once(chance(100, 0), 1), random())),
        };
        assert!(one.duplicates_next() && one.displaces_next() == Displacement::AtOnce);
        if let Some(duplication) = &mut one.duplication {
            duplication.set_chance(chance(0, 0));
        }
        assert!(!one.duplicates_next());
        let mut places = |model| {
            if let Some(reordering) = &mut one.reordering {
                reordering.set_model(model);
            }
            [0; 3].map(|_| one.displaces_next() != Displacement::None)
        };
        assert_eq!(places(at_once(chance(0, 0), 1)), [false; 3]);
        // Those three are of the gap, too.
        assert_eq!(places(at_once(chance(100, 0), 3)), [true, false, false]);
    }
}
