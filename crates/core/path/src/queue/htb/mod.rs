//! HTB: a tree of classes, each with a rate that it is assured and a ceiling up to which it borrows what its
//! relatives leave (Linux net/sched/sch_htb.c, read at 6.18; Devera, "Hierachical token bucket theory", 2002).
//!
//! Model: each class has two token buckets, of its rate and of its ceiling. With tokens in both it may send;
//! with tokens of the ceiling only it may borrow from its parent, which may have to borrow itself; without
//! those it must wait until it has some. Who sends is looked up level by level: leaves that may send on their
//! own first, then those that borrow from the level above, and so on; within a level the lowest priority
//! number first; within a priority by deficit round robin. A packet is charged to the ceilings of its leaf
//! and all ancestors, and to the rates of the lender and its ancestors, as long as the link below makes it
//! ([`size_table`]).
//!
//! | constant | value | unit | origin |
//! |---|---|---|---|
//! | levels | 8 | | TC_HTB_MAXDEPTH: leaves have 0, inner classes without a parent 7 |
//! | priorities | 8 | | TC_HTB_NUMPRIO: 0 to 7 |
//! | most that is owed or credited at once | 60 | s | `mbuffer` in `htb_change_class` |
//! | quantum | rate / 10, from 1000 to 200 000 | B, of the rate in B/s | `htb_change_class`; r2q 10 of iproute2's tc/q_htb.c |
//! | burst, cburst | 1600 B + rate or ceiling for 1 ns | B | tc/q_htb.c: rate / HZ + mtu, its mtu 1600; HZ is that of /proc/net/psched, 10⁹ where timers are exact |
//! | most classes | 64 | | ours: sets of classes are words |
//!
//! | deviation | why |
//! |---|---|
//! | the time that a packet costs is exact and rounded up | Linux multiplies and shifts, and tc counts bursts in ticks of 64 ns; rounded up, no class ever exceeds its rate |
//! | no hysteresis | it is off in Linux too, unless a module parameter says otherwise |
//! | no direct queue: what no rule takes goes to the default class, which must exist | in Linux it passes unshaped, mostly by mistake |
//! | changes of mode that are due at once happen in the order of the classes | Linux: in the order in which they were put on the list |
//! | no limit on the changes of mode at one call | Linux stops after two jiffies and goes on later |
//! | rates that assure more than there is are refused, and ceilings that cannot be reached | Linux takes all and says nothing |
//! | of classes only rates and ceilings change, all by one factor | a gateway that follows a link changes nothing else |

mod class;
mod config;
mod ring;
mod size_table;
mod tree;

pub use config::{HtbClass, HtbConfig, HtbError};
pub use size_table::LinkLayer;

use super::filter::Classifier;
use super::{Backlog, Dequeued, DropReason, Dropped, Limit, Queue};
use crate::PathPacket;
use gameway_units::{Instant, Rate};
use ring::members;
use size_table::SizeTable;
use tree::Tree;

/// The queue; see the module's head.
pub struct Htb<P> {
    classifier: Classifier,
    /// As it was made, and the rate of all together now.
    config: HtbConfig,
    rate: Rate,
    tree: Tree,
    sizes: SizeTable,
    /// By class; `None` where a class has children.
    leaves: Vec<Option<Leaf<P>>>,
    backlog: Backlog,
}

/// The queue of a class without children.
struct Leaf<P> {
    queue: Box<dyn Queue<P>>,
    /// As it was after the last call.
    backlog: Backlog,
}

impl<P: PathPacket> Htb<P> {
    /// Empty queues: `leaf` makes that of each class that has no children, from its number and the class.
    ///
    /// # Errors
    /// The first class that cannot be, with the rule that it breaks.
    pub fn new(
        config: &HtbConfig,
        classifier: Classifier,
        mut leaf: impl FnMut(usize, &HtbClass) -> Box<dyn Queue<P>>,
    ) -> Result<Self, HtbError> {
        config.check()?;
        let is_leaf = |number| config.classes.iter().all(|class| class.parent != Some(number));
        if let Some(wrong) =
            classifier.classes().find(|&class| class >= config.classes.len() || !is_leaf(class))
        {
            let class = config.classes.get(wrong).map(|class| class.name.clone());
            let why = "only a class without children takes packets".to_owned();
            return Err(HtbError { class, field: "match", why });
        }
        let leaves = config.classes.iter().enumerate().map(|(number, class)| {
            is_leaf(number)
                .then(|| Leaf { queue: leaf(number, class), backlog: Backlog::default() })
        });
        Ok(Self {
            classifier,
            leaves: leaves.collect(),
            tree: Tree::new(config),
            rate: config.total(),
            config: config.clone(),
            sizes: SizeTable::new(&LinkLayer::default()),
            backlog: Backlog::default(),
        })
    }

    /// The same in front of a link on which packets have other lengths.
    #[must_use]
    pub fn with_link_layer(mut self, link: &LinkLayer) -> Self {
        self.sizes = SizeTable::new(link);
        self
    }

    /// What waits in the queue of the class of this number; nothing in a class with children.
    #[must_use]
    pub fn class_backlog(&self, class: usize) -> Backlog {
        self.leaves
            .get(class)
            .and_then(Option::as_ref)
            .map_or(Backlog::default(), |leaf| leaf.backlog)
    }

    /// Takes the packet that is next at this level and priority, if a leaf gives one.
    fn dequeue_at(
        &mut self,
        (level, priority): (usize, usize),
        now: Instant,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Dequeued<P>> {
        let mut first = self.tree.next_leaf(level, priority)?;
        let mut class = first;
        loop {
            let leaf = self.leaves[class].as_mut()?;
            if leaf.backlog.packets == 0 {
                // It dropped all that it held at an earlier turn.
                self.tree.deactivate(class);
                let next = self.tree.next_leaf(level, priority)?;
                first = if class == first { next } else { first };
                class = next;
                continue;
            }
            let next = leaf.queue.dequeue(now, dropped);
            leaf.settle(&mut self.backlog);
            if let Some(packet) = next {
                let is_empty = leaf.backlog.packets == 0;
                let length = self.sizes.length(packet.packet.wire_size());
                self.tree.sent(class, level, length, is_empty, now);
                return Some(packet);
            }
            // It dropped what it held, or is a shaper itself: the others may send meanwhile.
            self.tree.pass_turn(class, level);
            class = self.tree.next_leaf(level, priority)?;
            if class == first {
                return None;
            }
        }
    }
}

impl<P> Leaf<P> {
    /// Brings its backlog, and that of all together, up to date.
    fn settle(&mut self, total: &mut Backlog) {
        let now = self.queue.backlog();
        total.bytes = total.bytes + now.bytes - self.backlog.bytes;
        total.packets = total.packets + now.packets - self.backlog.packets;
        self.backlog = now;
    }
}

impl<P: PathPacket> Queue<P> for Htb<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.admit(now, Dequeued { packet, enqueued: now }, dropped);
    }

    fn admit(&mut self, now: Instant, waiting: Dequeued<P>, dropped: &mut Vec<Dropped<P>>) {
        let class = self.classifier.class_of(&waiting.packet);
        let Some(leaf) = self.leaves.get_mut(class).and_then(Option::as_mut) else {
            return dropped.push(Dropped::waiting(waiting, DropReason::Overflow));
        };
        leaf.queue.admit(now, waiting, dropped);
        leaf.settle(&mut self.backlog);
        if leaf.backlog.packets > 0 {
            self.tree.activate(class);
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) -> Option<Dequeued<P>> {
        if self.backlog.packets == 0 {
            return None;
        }
        for level in 0..config::LEVELS {
            self.tree.run_events(level, now);
            for priority in members(self.tree.priorities(level)) {
                if let Some(next) = self.dequeue_at((level, priority), now, dropped) {
                    return Some(next);
                }
            }
        }
        None
    }

    fn drain(&mut self, into: &mut Vec<Dequeued<P>>) {
        for leaf in self.leaves.iter_mut().flatten() {
            leaf.queue.drain(into);
            leaf.settle(&mut self.backlog);
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn oldest(&self) -> Option<Instant> {
        self.leaves.iter().flatten().filter_map(|leaf| leaf.queue.oldest()).min()
    }

    /// Nothing: classes have rates of their own, and a leaf whose size is a time has it at its rate.
    fn set_limit(&mut self, _limit: Limit) {}

    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn set_rate(&mut self, _now: Instant, rate: Rate) {
        let factor = rate.as_bps() as f64 / self.config.total().as_bps().max(1) as f64;
        self.tree.set_rates(&self.config.scaled(factor));
        self.rate = rate;
    }

    fn next_release(&self, now: Instant) -> Option<Instant> {
        if self.backlog.packets == 0 {
            return None;
        }
        // A leaf may be a shaper; what it could release before may not be sent before its class's event.
        let leaves = self.leaves.iter().flatten().filter(|leaf| leaf.backlog.packets > 0);
        let within = leaves.filter_map(|leaf| leaf.queue.next_release(now));
        within.chain(self.tree.next_event()).filter(|&at| at > now).min()
    }
}
