//! Which class is served next: rows of those that may send, feeds of those that borrow, and the times at
//! which that changes.

use super::class::{Class, Mode};
use super::config::{HtbClass, HtbConfig, LEVELS, PRIORITIES, TOP};
use super::ring::{Ring, members};
use gameway_units::{Bytes, Duration, Instant};

/// As in Linux: what is not found by then is not there.
const MAX_STEPS: usize = 65_535;

#[derive(Debug, Clone, Copy, Default)]
struct Level {
    /// Classes of this level that may send and have packets below them, by priority.
    rows: [Ring; PRIORITIES],
    /// The priorities whose row is not empty.
    busy: u8,
    /// Classes of this level whose mode will change.
    waiting: u64,
    /// No change is due before; may be too early.
    next_event: Option<Instant>,
}

/// Where a class takes turns.
#[derive(Debug, Clone, Copy)]
enum Place {
    Row(usize),
    Feed(usize),
}

/// The classes and their schedule.
#[derive(Debug)]
pub struct Tree {
    classes: Vec<Class>,
    levels: [Level; LEVELS],
}

impl Tree {
    /// Of a tree that is checked; all buckets are full.
    pub fn new(config: &HtbConfig) -> Self {
        let count = config.classes.len();
        // The rate of all together is a class that nobody names, behind the others.
        let root = config.rate.map(|_| count);
        let class = |(number, class): (usize, &HtbClass)| {
            Class::new(class, class.parent.or(root), config.level(number))
        };
        let mut classes: Vec<Class> = config.classes.iter().enumerate().map(class).collect();
        classes.extend(config.rate.map(|rate| Class::new(&HtbClass::new("", rate), None, TOP)));
        Self { classes, levels: [Level::default(); LEVELS] }
    }

    /// Rates and ceilings are these from now on, of the same tree. Who waits for tokens waits as long as it was to
    /// (tokens are times), and pays for its next packet by the new rate.
    pub fn set_rates(&mut self, config: &HtbConfig) {
        let root = config.rate.map(|rate| HtbClass::new("", rate));
        for (class, config) in self.classes.iter_mut().zip(config.classes.iter().chain(&root)) {
            class.set_rates(config);
        }
    }

    /// The priorities at which somebody may send at `level`, as bits.
    pub fn priorities(&self, level: usize) -> u64 {
        u64::from(self.levels[level].busy)
    }

    /// The next change of any class's mode.
    pub fn next_event(&self) -> Option<Instant> {
        let waiting = self.levels.iter().flat_map(|level| members(level.waiting));
        waiting.filter_map(|class| self.classes[class].event).min()
    }

    /// A leaf has packets.
    pub fn activate(&mut self, leaf: usize) {
        if self.classes[leaf].active == 0 {
            self.classes[leaf].active = 1 << self.classes[leaf].priority;
            self.attach(leaf);
        }
    }

    /// A leaf has no packets any more.
    pub fn deactivate(&mut self, leaf: usize) {
        if self.classes[leaf].active != 0 {
            self.detach(leaf);
            self.classes[leaf].active = 0;
        }
    }

    /// Puts a class into the feeds of those from which it would borrow, or into its level's rows.
    fn attach(&mut self, mut class: usize) {
        let mut priorities = self.classes[class].active;
        while self.classes[class].mode == Mode::MayBorrow
            && priorities != 0
            && let Some(parent) = self.classes[class].parent
        {
            for priority in members(u64::from(priorities)) {
                let feed = &mut self.classes[parent].feeds[priority];
                if !feed.is_empty() {
                    // The parent is in its place for this priority already.
                    priorities &= !(1 << priority);
                }
                feed.insert(class);
            }
            self.classes[parent].active |= priorities;
            class = parent;
        }
        if self.classes[class].mode == Mode::CanSend {
            let level = &mut self.levels[self.classes[class].level];
            level.busy |= priorities;
            for priority in members(u64::from(priorities)) {
                level.rows[priority].insert(class);
            }
        }
    }

    /// Takes a class out of where [`Self::attach`] put it; its mode must still be what it was then.
    fn detach(&mut self, mut class: usize) {
        let mut priorities = self.classes[class].active;
        while self.classes[class].mode == Mode::MayBorrow
            && priorities != 0
            && let Some(parent) = self.classes[class].parent
        {
            for priority in members(u64::from(priorities)) {
                let feed = &mut self.classes[parent].feeds[priority];
                feed.remove_and_remember(class);
                if !feed.is_empty() {
                    priorities &= !(1 << priority);
                }
            }
            self.classes[parent].active &= !priorities;
            class = parent;
        }
        if self.classes[class].mode == Mode::CanSend {
            let level = &mut self.levels[self.classes[class].level];
            for priority in members(u64::from(priorities)) {
                level.rows[priority].remove_and_pass(class);
                if level.rows[priority].is_empty() {
                    level.busy &= !(1 << priority);
                }
            }
        }
    }

    /// Brings the mode of a class up to date; how long until it may change again.
    fn change_mode(&mut self, class: usize, elapsed: Duration) -> Duration {
        let (mode, wait) = self.classes[class].mode_after(elapsed);
        if mode == self.classes[class].mode {
            return wait;
        }
        // Without packets, or above its ceiling, it has no place to leave and none to take.
        self.detach(class);
        self.classes[class].mode = mode;
        self.attach(class);
        wait
    }

    fn expect_event(&mut self, class: usize, now: Instant, wait: Duration) {
        let at = now + wait.max(Duration::from_nanos(1));
        self.classes[class].event = Some(at);
        let level = &mut self.levels[self.classes[class].level];
        level.waiting |= 1 << class;
        level.next_event = Some(level.next_event.map_or(at, |next| next.min(at)));
    }

    /// Applies the changes of mode that are due at `level`.
    pub fn run_events(&mut self, level: usize, now: Instant) {
        while self.levels[level].next_event.is_some_and(|next| next <= now) {
            let waiting = members(self.levels[level].waiting);
            let events = waiting.filter_map(|class| Some((self.classes[class].event?, class)));
            let next = events.min();
            self.levels[level].next_event = next.map(|(at, _)| at);
            let Some((_, class)) = next.filter(|&(at, _)| at <= now) else { return };
            self.forget_event(class);
            let elapsed = self.classes[class].elapsed(now);
            let wait = self.change_mode(class, elapsed);
            if self.classes[class].mode != Mode::CanSend {
                self.expect_event(class, now, wait);
            }
        }
    }

    fn forget_event(&mut self, class: usize) {
        self.classes[class].event = None;
        self.levels[self.classes[class].level].waiting &= !(1 << class);
    }

    fn ring(&mut self, place: Place, priority: usize) -> &mut Ring {
        match place {
            Place::Row(level) => &mut self.levels[level].rows[priority],
            Place::Feed(class) => &mut self.classes[class].feeds[priority],
        }
    }

    /// The leaf whose turn it is at this level and priority.
    pub fn next_leaf(&mut self, level: usize, priority: usize) -> Option<usize> {
        let mut places = [Place::Row(level); LEVELS];
        let mut depth = 0;
        if self.ring(places[0], priority).is_empty() {
            return None;
        }
        // It ends long before: each step goes down, or on in a round.
        for _ in 0..MAX_STEPS {
            let ring = self.ring(places[depth], priority);
            let Some(class) = ring.turn() else {
                // A round is over: the next one at the level above, whose own round may be over, too.
                ring.rewind();
                if depth > 0 {
                    depth -= 1;
                    self.ring(places[depth], priority).pass();
                }
                continue;
            };
            if self.classes[class].level == 0 {
                return Some(class);
            }
            depth += 1;
            places[depth] = Place::Feed(class);
        }
        None
    }

    /// The turn of a leaf is over, among those that borrow of its parent at `level`, or of its own.
    pub fn pass_turn(&mut self, leaf: usize, level: usize) {
        let Class { parent, priority, .. } = self.classes[leaf];
        let place = match parent {
            Some(parent) if level > 0 => Place::Feed(parent),
            _ => Place::Row(0),
        };
        self.ring(place, priority).pass();
    }

    /// A leaf sent a packet with the tokens of a class of `level`.
    pub fn sent(&mut self, leaf: usize, level: usize, size: Bytes, is_empty: bool, now: Instant) {
        if self.classes[leaf].spend(level, size) {
            self.pass_turn(leaf, level);
        }
        if is_empty {
            self.deactivate(leaf);
        }
        let mut next = Some(leaf);
        while let Some(class) = next {
            self.charge(class, level, size, now);
            next = self.classes[class].parent;
        }
    }

    fn charge(&mut self, class: usize, level: usize, size: Bytes, now: Instant) {
        let lends = self.classes[class].level >= level;
        self.classes[class].charge(size, lends, now);
        let old = self.classes[class].mode;
        let wait = self.change_mode(class, Duration::ZERO);
        let new = self.classes[class].mode;
        if old == new {
            return;
        }
        self.forget_event(class);
        if new != Mode::CanSend {
            self.expect_event(class, now, wait);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_units::Rate;
    use proptest::prelude::*;

    /// Two inner classes with leaves of several priorities below the rate of all, and a leaf beside them.
    fn tree() -> Tree {
        let class = |parent, rate, ceil, priority| HtbClass {
            parent,
            ceil: Rate::from_mbps(ceil),
            priority,
            ..HtbClass::new("class", Rate::from_mbps(rate))
        };
        let leaves = [(5, 1, 3), (5, 1, 0), (5, 2, 3), (6, 1, 0)];
        let mut classes: Vec<HtbClass> = leaves
            .iter()
            .map(|&(parent, rate, priority)| class(Some(parent), rate, 8, priority))
            .collect();
        classes.extend([class(None, 1, 10, 3), class(None, 5, 10, 0), class(None, 2, 8, 0)]);
        Tree::new(&HtbConfig { rate: Some(Rate::from_mbps(10)), classes })
    }

    /// Each class that may send is in the row of its level, each that may borrow in its parent's feed, for the
    /// priorities at which it has packets, and nobody else is anywhere.
    fn check(tree: &Tree) -> Result<(), TestCaseError> {
        for (number, class) in tree.classes.iter().enumerate() {
            let children = || tree.classes.iter().filter(|child| child.parent == Some(number));
            for priority in 0..PRIORITIES {
                let is_active = class.active >> priority & 1 == 1;
                let row = &tree.levels[class.level].rows[priority];
                prop_assert_eq!(row.has(number), is_active && class.mode == Mode::CanSend);
                let parent = class.parent.map(|parent| &tree.classes[parent]);
                let borrows = parent.is_some_and(|parent| parent.feeds[priority].has(number));
                let may_borrow = class.mode == Mode::MayBorrow && parent.is_some();
                prop_assert_eq!(borrows, is_active && may_borrow);
                if class.level > 0 {
                    let waits = |child: &Class| {
                        child.mode == Mode::MayBorrow && child.active >> priority & 1 == 1
                    };
                    prop_assert_eq!(is_active, children().any(waits));
                }
            }
        }
        for level in &tree.levels {
            for (priority, row) in level.rows.iter().enumerate() {
                prop_assert_eq!(level.busy >> priority & 1 == 1, !row.is_empty());
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn each_class_is_where_its_mode_and_its_packets_put_it(
            steps in prop::collection::vec((0i64..3_000_000, 0usize..5, 0usize..4), 1..300),
        ) {
            let (mut tree, mut now, mut held) = (tree(), Instant::ZERO, [0u32; 5]);
            for (gap, leaf, arrivals) in steps {
                now += Duration::from_nanos(gap);
                held[leaf] += arrivals as u32;
                if held[leaf] > 0 {
                    tree.activate(leaf);
                }
                check(&tree)?;
                let level = (0..LEVELS).find(|&level| {
                    tree.run_events(level, now);
                    tree.priorities(level) != 0
                });
                let Some(level) = level else { continue };
                let priority = members(tree.priorities(level)).next().unwrap();
                // Of those that may send, whoever has the better priority does.
                let leaf = tree.next_leaf(level, priority).unwrap();
                prop_assert!(held[leaf] > 0 && tree.classes[leaf].priority == priority);
                held[leaf] -= 1;
                tree.sent(leaf, level, Bytes::new(1500), held[leaf] == 0, now);
                check(&tree)?;
            }
        }
    }
}
