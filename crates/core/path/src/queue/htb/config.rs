//! What can be set, and which trees can be.

use gameway_units::{Bytes, Duration, Rate};
use std::cmp::Ordering;

/// TC_HTB_MAXDEPTH.
pub const LEVELS: usize = 8;
/// TC_HTB_NUMPRIO.
pub const PRIORITIES: usize = 8;
/// The level of inner classes without a parent.
pub const TOP: usize = LEVELS - 1;
/// Sets of classes are words of 64 bits, and one is for the rate of all together.
const MAX_CLASSES: usize = 63;
/// iproute2's tc/q_htb.c: the largest packet that it reckons with.
const TC_MTU: Bytes = Bytes::new(1600);
/// What HZ is the inverse of: /proc/net/psched says 10⁹ of exact timers.
const TICK: Duration = Duration::from_nanos(1);
/// tc/q_htb.c: r2q.
const RATE_TO_QUANTUM: u64 = 10;
const MIN_QUANTUM: u64 = 1_000;
const MAX_QUANTUM: u64 = 200_000;

/// A class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtbClass {
    /// Its name in errors.
    pub name: String,
    /// The number of the class that it borrows from; that of all together, if there is one, if not given.
    pub parent: Option<usize>,
    /// What it is assured.
    pub rate: Rate,
    /// The most that it gets.
    pub ceil: Rate,
    /// What it may send at once after a pause, beyond its rate.
    pub burst: Bytes,
    /// The same, beyond its ceiling.
    pub cburst: Bytes,
    /// From 0, served first, to 7; means nothing where there are children.
    pub priority: u8,
    /// Bytes in its turn among those of its priority that borrow from the same class.
    pub quantum: Bytes,
}

impl HtbClass {
    /// A class as Linux and its `tc` make it if only a rate is given.
    #[must_use]
    pub fn new(name: &str, rate: Rate) -> Self {
        Self {
            name: name.to_owned(),
            parent: None,
            rate,
            ceil: rate,
            burst: Self::default_burst(rate),
            cburst: Self::default_burst(rate),
            priority: 0,
            quantum: Self::default_quantum(rate),
        }
    }

    /// The burst of a rate, or the cburst of a ceiling, if none is given.
    #[must_use]
    pub fn default_burst(rate: Rate) -> Bytes {
        rate * TICK + TC_MTU
    }

    /// The quantum of a class of this rate if none is given.
    #[must_use]
    pub fn default_quantum(rate: Rate) -> Bytes {
        let bytes = rate.as_bps() / 8 / RATE_TO_QUANTUM;
        Bytes::new(bytes.clamp(MIN_QUANTUM, MAX_QUANTUM))
    }
}

/// A tree of classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtbConfig {
    /// Rate and ceiling of all classes together, if they may borrow from each other at the top.
    pub rate: Option<Rate>,
    /// The classes; packets of classes that are alike take turns in this order.
    pub classes: Vec<HtbClass>,
}

/// Why a tree of classes cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{field}: {why}", class.as_ref().map_or(String::new(), |name| format!("class \"{name}\": ")))]
#[non_exhaustive]
pub struct HtbError {
    /// The class; `None` where it is of all together.
    pub class: Option<String>,
    /// What is wrong with it.
    pub field: &'static str,
    /// Why, and what is allowed.
    pub why: String,
}

impl HtbConfig {
    /// Whether there can be such a tree.
    ///
    /// # Errors
    /// The first class that cannot be, with the rule that it breaks.
    pub fn check(&self) -> Result<(), HtbError> {
        if self.classes.is_empty() || self.classes.len() > MAX_CLASSES {
            let why = format!("{} classes; from 1 to {MAX_CLASSES} can be", self.classes.len());
            return Err(HtbError { class: None, field: "class", why });
        }
        if self.rate == Some(Rate::ZERO) {
            let why = "must be more than 0 b/s".to_owned();
            return Err(HtbError { class: None, field: "rate", why });
        }
        for number in 0..self.classes.len() {
            self.check_depth(number)?;
        }
        self.classes.iter().try_for_each(check_alone)?;
        self.classes.iter().try_for_each(|class| self.check_ceil(class))?;
        self.check_assured()
    }

    /// The rate of all together: the one that is given, or what the classes without a parent are assured.
    pub(super) fn total(&self) -> Rate {
        let top = self.classes.iter().filter(|class| class.parent.is_none());
        self.rate.unwrap_or_else(|| top.map(|class| class.rate).sum())
    }

    /// The same with rates and ceilings that are larger by this factor.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        let scale = |rate: Rate| rate.mul_f64(factor).max(Rate::from_bps(1));
        let class = |class: &HtbClass| HtbClass {
            rate: scale(class.rate),
            ceil: scale(class.ceil),
            ..class.clone()
        };
        Self { rate: self.rate.map(scale), classes: self.classes.iter().map(class).collect() }
    }

    /// The level of a class: 0 without children, else one below that of its parent.
    pub(super) fn level(&self, number: usize) -> usize {
        let is_leaf = self.classes.iter().all(|class| class.parent != Some(number));
        let above = self.ancestors(number) + usize::from(self.rate.is_some());
        if is_leaf { 0 } else { TOP - above.min(TOP) }
    }

    /// How many classes are above; as many as there are classes, or more, in a circle.
    fn ancestors(&self, number: usize) -> usize {
        let parent = |&number: &usize| self.classes.get(number).and_then(|class| class.parent);
        std::iter::successors(Some(number), parent).take(self.classes.len() + 1).count() - 1
    }

    fn check_depth(&self, number: usize) -> Result<(), HtbError> {
        let class = &self.classes[number];
        let refuse = |why: &str| Err(class.refused("parent", why));
        if class.parent.is_some_and(|parent| parent >= self.classes.len()) {
            return refuse("is no class");
        }
        match self.ancestors(number) {
            above if above >= self.classes.len() => refuse("leads back to the class itself"),
            // The lowest inner level is 1.
            above if above + usize::from(self.rate.is_some()) > TOP => {
                refuse("is too deep: a leaf has at most 7 classes above it, rate included")
            }
            _ => Ok(()),
        }
    }

    /// What a class borrows from: the greatest ceiling, and the words for it.
    fn lender(&self, class: &HtbClass) -> Option<(Rate, String)> {
        match class.parent {
            Some(parent) => {
                let HtbClass { ceil, name, .. } = &self.classes[parent];
                Some((*ceil, format!("that of its parent \"{name}\"")))
            }
            None => self.rate.map(|rate| (rate, "the rate of all together".to_owned())),
        }
    }

    fn check_ceil(&self, class: &HtbClass) -> Result<(), HtbError> {
        let HtbClass { ceil, rate, .. } = class;
        match self.lender(class) {
            Some((max, whose)) if *ceil > max => {
                let why = format!("{ceil} is never reached: it is more than {whose} ({max})");
                Err(class.refused("ceil", &why))
            }
            None if ceil > rate => {
                let why = format!(
                    "{ceil} is never reached: a class borrows from its parent, or from the rate of all \
                     together, and there is neither"
                );
                Err(class.refused("ceil", &why))
            }
            _ => Ok(()),
        }
    }

    /// What children are assured together, their parent must be assured.
    fn check_assured(&self) -> Result<(), HtbError> {
        let of = |parent: Option<usize>| -> u128 {
            let children = self.classes.iter().filter(|class| class.parent == parent);
            children.map(|class| u128::from(class.rate.as_bps())).sum()
        };
        let told = |sum: u128, rate: Rate| {
            let sum = Rate::from_bps(u64::try_from(sum).unwrap_or(u64::MAX));
            format!("{rate} is less than its children are assured together ({sum})")
        };
        for (number, class) in self.classes.iter().enumerate() {
            let sum = of(Some(number));
            if sum > u128::from(class.rate.as_bps()) {
                return Err(class.refused("rate", &told(sum, class.rate)));
            }
        }
        match self.rate {
            Some(rate) if of(None) > u128::from(rate.as_bps()) => {
                Err(HtbError { class: None, field: "rate", why: told(of(None), rate) })
            }
            _ => Ok(()),
        }
    }
}

impl HtbClass {
    fn refused(&self, field: &'static str, why: &str) -> HtbError {
        HtbError { class: Some(self.name.clone()), field, why: why.to_owned() }
    }
}

/// What can be said of a class without its relatives.
fn check_alone(class: &HtbClass) -> Result<(), HtbError> {
    let HtbClass { rate, ceil, burst, cburst, quantum, priority, .. } = class;
    if *rate == Rate::ZERO {
        return Err(class.refused("rate", "must be more than 0 b/s"));
    }
    if ceil.cmp(rate) == Ordering::Less {
        return Err(class.refused("ceil", &format!("{ceil} is less than its rate ({rate})")));
    }
    if usize::from(*priority) >= PRIORITIES {
        return Err(class.refused("priority", &format!("{priority} is not between 0 and 7")));
    }
    for (field, bytes) in [("burst", burst), ("cburst", cburst), ("quantum", quantum)] {
        if *bytes == Bytes::ZERO {
            return Err(class.refused(field, "must be more than 0 B"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_ceilings_change_by_one_factor_and_nothing_else_does() {
        let class = |rate, ceil| HtbClass {
            ceil: Rate::from_mbps(ceil),
            priority: 3,
            ..HtbClass::new("class", Rate::from_mbps(rate))
        };
        let whole =
            HtbConfig { rate: Some(Rate::from_mbps(8)), classes: vec![class(2, 8), class(6, 6)] };
        let half = whole.scaled(0.5);
        assert_eq!(half.total(), Rate::from_mbps(4));
        for (half, whole) in half.classes.iter().zip(&whole.classes) {
            let (rate, ceil) = (whole.rate.mul_f64(0.5), whole.ceil.mul_f64(0.5));
            assert_eq!(*half, HtbClass { rate, ceil, ..whole.clone() });
        }
        // Without a rate of all together it is what its classes are assured.
        assert_eq!(HtbConfig { rate: None, ..whole.clone() }.scaled(0.5).total(), half.total());
        // A class without any rate could never pay for a packet.
        assert_eq!(whole.scaled(0.0).total(), Rate::from_bps(1));
    }
}
