//! A table of bounded size that loses what was used longest ago.
//!
//! Source: the list of use is that of any LRU cache (Knuth, The Art of Computer Programming, volume 1, section 2.2.5: doubly
//! linked lists); its two segments are those of a segmented LRU (Karedla, Love and Wherry, "Caching Strategies to Improve Disk
//! System Performance", IEEE Computer 27(3), 1994).
//! Model: values lie in slots that never move. Each slot is in one of two lists, from the one that was used longest ago to the
//! last; a full table loses the first of the probationary list, and one of the protected list only if the other is empty. To
//! find a key takes `O(log n)`; to note its use, and to find what goes, `O(1)`.
//!
//! | Deviation | Why |
//! |---|---|
//! | who uses the table says what is protected | the paper protects what was used twice, which a flood of segments does at will |
//! | keys are in a tree, not in a hash table | all are visited in an order that depends on the keys alone, and nobody outside can choose keys that collide; crates for this (`lru`, `schnellru`) hash, and have one list |

use std::collections::BTreeMap;

/// A slot of an [`LruMap`], until the next call that may remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(usize);

/// The neighbours of a slot in its list.
#[derive(Debug, Clone, Copy, Default)]
struct Links {
    older: Option<usize>,
    newer: Option<usize>,
}

/// A list through the slots.
#[derive(Debug, Clone, Copy, Default)]
struct List {
    oldest: Option<usize>,
    newest: Option<usize>,
}

#[derive(Debug, Clone)]
struct Slot<K, V> {
    key: K,
    value: V,
    is_protected: bool,
    links: Links,
}

/// See the module's head.
#[derive(Debug, Clone)]
pub struct LruMap<K, V> {
    places: BTreeMap<K, usize>,
    slots: Vec<Option<Slot<K, V>>>,
    /// Slots of `slots` that are empty.
    free: Vec<usize>,
    probationary: List,
    protected: List,
    max: usize,
}

impl<K: Ord + Copy, V> LruMap<K, V> {
    /// An empty table for `max` entries, at least one.
    #[must_use]
    pub const fn new(max: usize) -> Self {
        let list = List { oldest: None, newest: None };
        Self {
            places: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            probationary: list,
            protected: list,
            max: if max == 0 { 1 } else { max },
        }
    }

    /// Where this key is. That is no use.
    #[must_use]
    pub fn find(&self, key: &K) -> Option<Place> {
        self.places.get(key).copied().map(Place)
    }

    /// Where this key is from now on, made by `new` if it was not there; it was used now.
    pub fn find_or_insert(&mut self, key: K, new: impl FnOnce() -> V) -> Place {
        match self.find(&key) {
            Some(place) => {
                self.touch(place);
                place
            }
            None => self.insert(key, new()),
        }
    }

    fn insert(&mut self, key: K, value: V) -> Place {
        if self.places.len() >= self.max {
            let oldest = self.probationary.oldest.or(self.protected.oldest);
            if let Some(index) = oldest {
                self.remove(index);
            }
        }
        let slot = Slot { key, value, is_protected: false, links: Links::default() };
        let index = if let Some(index) = self.free.pop() {
            self.slots[index] = Some(slot);
            index
        } else {
            self.slots.push(Some(slot));
            self.slots.len() - 1
        };
        self.places.insert(key, index);
        self.link(index);
        Place(index)
    }

    /// What is there was used now.
    pub fn touch(&mut self, Place(index): Place) {
        self.unlink(index);
        self.link(index);
    }

    /// Whether what is there stays while others go; it was used now.
    pub fn protect(&mut self, Place(index): Place, is_protected: bool) {
        self.unlink(index);
        if let Some(slot) = &mut self.slots[index] {
            slot.is_protected = is_protected;
        }
        self.link(index);
    }

    /// The value there.
    ///
    /// # Panics
    ///
    /// If it was removed.
    pub fn at(&mut self, Place(index): Place) -> &mut V {
        let slot = self.slots[index].as_mut();
        &mut slot.expect("a place holds until the next removal").value
    }

    /// Removes all for which `keep` does not hold, in the order of the keys.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let Self { places, slots, .. } = self;
        let mut gone = Vec::new();
        for index in places.values() {
            let slot = slots[*index].as_mut();
            if slot.is_some_and(|slot| !keep(&slot.key, &mut slot.value)) {
                gone.push(*index);
            }
        }
        for index in gone {
            self.remove(index);
        }
    }

    /// All, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let slots = self.places.values().filter_map(|index| self.slots[*index].as_ref());
        slots.map(|slot| (&slot.key, &slot.value))
    }

    /// All values, in the order of the keys.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        let mut slots: Vec<_> = self.slots.iter_mut().map(Option::as_mut).collect();
        let in_order = self.places.values().filter_map(move |index| slots[*index].take());
        in_order.map(|slot| &mut slot.value)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn remove(&mut self, index: usize) {
        self.unlink(index);
        if let Some(slot) = self.slots[index].take() {
            self.places.remove(&slot.key);
            self.free.push(index);
        }
    }

    /// Takes a slot out of its list.
    fn unlink(&mut self, index: usize) {
        let Some(slot) = &mut self.slots[index] else { return };
        let (Links { older, newer }, is_protected) = (slot.links, slot.is_protected);
        match older.and_then(|older| self.slots[older].as_mut()) {
            Some(older) => older.links.newer = newer,
            None => self.list(is_protected).oldest = newer,
        }
        match newer.and_then(|newer| self.slots[newer].as_mut()) {
            Some(newer) => newer.links.older = older,
            None => self.list(is_protected).newest = older,
        }
    }

    /// Makes a slot the newest of its list.
    fn link(&mut self, index: usize) {
        let Some(is_protected) = self.slots[index].as_ref().map(|slot| slot.is_protected) else {
            return;
        };
        let older = self.list(is_protected).newest.replace(index);
        match older.and_then(|older| self.slots[older].as_mut()) {
            Some(older) => older.links.newer = Some(index),
            None => self.list(is_protected).oldest = Some(index),
        }
        if let Some(slot) = &mut self.slots[index] {
            slot.links = Links { older, newer: None };
        }
    }

    const fn list(&mut self, is_protected: bool) -> &mut List {
        if is_protected { &mut self.protected } else { &mut self.probationary }
    }
}

#[cfg(test)]
mod tests;
