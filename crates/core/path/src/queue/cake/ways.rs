//! A set-associative table: a hash has a home and seven more places that it may have instead.
//!
//! With plain hashing to 1024 queues, 32 flows meet somewhere in four of ten cases. Here nine must have homes
//! in the same eight places before two share one (Linux, `sch_cake.c`, `cake_hash`; eight ways in 1024 places).

/// Places for flows, and for hosts.
pub(super) const PLACES: usize = 1024;
/// Places that a hash may have.
const WAYS: usize = 8;

/// Whose each place is.
#[derive(Debug)]
pub(super) struct Ways {
    tags: Vec<u64>,
}

impl Ways {
    pub(super) fn new() -> Self {
        Self { tags: vec![0; PLACES] }
    }

    /// The place of `hash`, and whether it had that before: its own, else one of its eight that is not
    /// `taken`, else its home, which it then shares with what is there.
    pub(super) fn place(&mut self, hash: u64, taken: impl Fn(usize) -> bool) -> (usize, bool) {
        let home = (hash % PLACES as u64) as usize;
        if self.tags[home] == hash {
            return (home, true);
        }
        let set = home - home % WAYS;
        let mut ways = (0..WAYS).map(|step| set + (home + step) % WAYS);
        if let Some(own) = ways.clone().find(|place| self.tags[*place] == hash) {
            return (own, true);
        }
        let place = ways.find(|place| !taken(*place)).unwrap_or(home);
        self.tags[place] = hash;
        (place, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::collections::BTreeSet;

    /// The `number`-th hash with this home.
    fn hash(home: u64, number: u64) -> u64 {
        home + PLACES as u64 * (number + 1)
    }

    #[test]
    fn eight_hashes_of_one_home_have_places_of_their_own() {
        let mut ways = Ways::new();
        let mut taken = vec![false; PLACES];
        for number in 0..8 {
            let (place, known) = ways.place(hash(21, number), |place| taken[place]);
            assert!(!known && !taken[place] && place / WAYS == 2);
            assert!(number > 0 || place == 21);
            taken[place] = true;
        }
        // All keep theirs.
        for number in 0..8 {
            let (place, known) = ways.place(hash(21, number), |place| taken[place]);
            assert!(known && taken[place]);
        }
        // The ninth shares its home, which is from then on known as its own.
        assert_eq!(ways.place(hash(22, 8), |place| taken[place]), (22, false));
        assert_eq!(ways.place(hash(22, 8), |place| taken[place]), (22, true));
        // What is no longer taken is given away.
        taken[17] = false;
        assert_eq!(ways.place(hash(23, 9), |place| taken[place]), (17, false));
    }

    #[test]
    fn a_hundred_flows_do_not_meet_as_they_do_with_one_way() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let (mut met, mut met_with_one_way) = (0, 0);
        for _ in 0..200 {
            let (mut ways, mut one_way) = (Ways::new(), BTreeSet::new());
            let mut places = BTreeSet::new();
            for _ in 0..100 {
                let hash = random.next_u64();
                let (place, _) = ways.place(hash, |place| places.contains(&place));
                met += u32::from(!places.insert(place));
                met_with_one_way += u32::from(!one_way.insert(hash % PLACES as u64));
            }
        }
        // Nine in one of 128 sets by chance: less than once in 20 000 such draws of a hundred.
        assert_eq!(met, 0);
        // 100 - 1024 (1 - (1 - 1/1024)^100) = 4.68 a draw.
        assert!((800..1080).contains(&met_with_one_way), "{met_with_one_way}");
    }
}
