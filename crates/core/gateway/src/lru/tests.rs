//! The same as the simple form: a list of all, searched for what was used longest ago.

use super::*;
use proptest::prelude::*;

/// Key, value, whether it is protected; what was used last is last.
#[derive(Default)]
struct Simple {
    all: Vec<(u8, u32, bool)>,
}

impl Simple {
    fn find_or_insert(&mut self, max: usize, key: u8, new: u32) -> u32 {
        if let Some(at) = self.all.iter().position(|one| one.0 == key) {
            let one = self.all.remove(at);
            self.all.push(one);
            return one.1;
        }
        if self.all.len() >= max {
            let first = self.all.iter().position(|one| !one.2).unwrap_or(0);
            self.all.remove(first);
        }
        self.all.push((key, new, false));
        new
    }

    fn protect(&mut self, key: u8, is_protected: bool) {
        let Some(at) = self.all.iter().position(|one| one.0 == key) else { return };
        let one = self.all.remove(at);
        self.all.push((one.0, one.1, is_protected));
    }

    fn sorted(&self) -> Vec<(u8, u32)> {
        let mut all: Vec<_> = self.all.iter().map(|one| (one.0, one.1)).collect();
        all.sort_unstable();
        all
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Use(u8),
    Protect(u8, bool),
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..12_u8;
    prop_oneof![
        5 => key().prop_map(Step::Use),
        3 => (key(), any::<bool>()).prop_map(|(key, is)| Step::Protect(key, is)),
        1 => key().prop_map(Step::Remove),
    ]
}

proptest! {
    #[test]
    fn it_is_the_simple_form(max in 0..9_usize, steps in prop::collection::vec(step(), 0..200)) {
        let (mut table, mut simple) = (LruMap::new(max), Simple::default());
        for (number, step) in (0..).zip(steps) {
            match step {
                Step::Use(key) => {
                    let place = table.find_or_insert(key, || number);
                    let expected = simple.find_or_insert(max.max(1), key, number);
                    prop_assert_eq!(*table.at(place), expected);
                }
                Step::Protect(key, is) => {
                    if let Some(place) = table.find(&key) {
                        table.protect(place, is);
                    }
                    simple.protect(key, is);
                }
                Step::Remove(key) => {
                    table.retain(|other, _| *other != key);
                    simple.all.retain(|one| one.0 != key);
                }
            }
            let all: Vec<_> = table.iter().map(|(key, value)| (*key, *value)).collect();
            prop_assert_eq!((all, table.len()), (simple.sorted(), simple.all.len()));
            let values: Vec<_> = table.values_mut().map(|value| *value).collect();
            let expected: Vec<_> = simple.sorted().iter().map(|one| one.1).collect();
            prop_assert_eq!(values, expected);
        }
    }
}

#[test]
fn what_was_used_longest_ago_goes_first_and_what_is_protected_last() {
    let mut table = LruMap::new(3);
    let keys = |table: &LruMap<u8, ()>| table.iter().map(|(key, ())| *key).collect::<Vec<_>>();
    for key in [1, 2, 3, 1] {
        table.find_or_insert(key, || ());
    }
    table.find_or_insert(4, || ());
    assert_eq!(keys(&table), [1, 3, 4], "2 was used longest ago");
    let place = table.find(&3).expect("it is there");
    table.protect(place, true);
    (5..9).for_each(|key| _ = table.find_or_insert(key, || ()));
    assert_eq!(keys(&table), [3, 7, 8]);
    table.protect(place, false);
    (9..12).for_each(|key| _ = table.find_or_insert(key, || ()));
    assert_eq!(keys(&table), [9, 10, 11]);
    assert!(!table.is_empty() && table.slots.len() == 3, "slots are used again");
}
