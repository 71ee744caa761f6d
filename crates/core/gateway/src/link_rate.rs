//! The rate of a shaper that follows the link in front of the home, so that packets wait in the home's own queue.
//!
//! Source: ours. That a shaper follows what packets wait in front of it is the idea of cake-autorate (a script for
//! OpenWrt), which pings; here the wait is read off the downloads ([`crate::RemoteQueue`]), and off pings where there are any.
//! Model: while packets wait in front longer than a target, what comes is what the link carries, `C`, whatever the shaper has.
//! A flight of a slow start waits for itself, and with the pauses around it less comes than the link carries. But the link carries
//! no less than what comes in any moment: `C` is never below that.
//! The shaper has `C (1 - cut)`, so that what waits drains; the cut is `wait / 100 ms` and grows while they wait. Once nothing
//! waits it has 98 % of `C`. If that is used for half a second, it rises by 1 %, once it is above `C` by twice as much each time,
//! until packets wait again: a link that doubles is found in about a second, and one that stays the same is overrun by 1 or 2 %.
//!
//! Whether it is a queue is tried by that: if what comes follows the shaper down and what waits stays, the path has become longer,
//! or what is measured is jitter. Then the rate is again what it was, and this wait is taken off from then on (module `floor`).
//!
//! A link whose rate changes from moment to moment (cellular) cannot be followed: the shaper would have what the link had a moment
//! ago. Its variation `v` is the part of the rate by which two moments that follow differ. The target grows with it, the cut is
//! less and takes longer, and the rate is higher: with `v` = 0.3 packets may wait 30 ms more.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | target | 2 ms; 1 ms and two packets of 1514 B at `C`; the margin of the mean (module `floor`) | ours: what an acknowledgment lets go (RFC 5681 section 4.2) waits for each other |
//! | and | 100 ms `v` | ours: a moment in which half comes leaves half of a moment's packets waiting |
//! | `v` | of moments of 40 ms in which packets wait, less two packets, by 1/16 | ours; the gain of RFC 3550 section 6.4.1 |
//! | and less | 4 % | ours: a link that has halved once does not vary |
//! | calm | spans of a `C` times `1 + 10 v`; cuts and the half second by as much less | ours |
//! | `C` is of at least, at most | 40 ms, 200 ms | as in module `full`; ten periods |
//! | a moment in which what comes is no more than the link carries | 20 ms | ours: the period; flights of a slow start are shorter than an RTT |
//! | and of which is taken off | two packets, and what jitter bunches in it (module `floor`) | ours: those at its ends may be of the moments beside it |
//! | a lower `C` counts after | 100 ms, or where packets wait 20 ms | ours: a burst that passes is no link that has slowed down |
//! | and if less than 95 % of the shaper's rate comes, or 2 targets have drained | | ours: else what comes may be what the shaper lets go |
//! | of which two packets' time counts | once | ours: it is no noise; at 1 Mb/s two targets are 50 ms, of which a cut lets 35 ms wait |
//! | nothing can wait | where less than 93 % of `C` comes over an RTT and 40 ms | ours: below what a shaper has that is right |
//! | what waits drains in | 100 ms, or two RTTs | ours: senders follow an RTT later |
//! | cut | 2 to 50 %, more by 5 % each 100 ms | ours: a `C` that is too high by some percent would let packets wait for good |
//! | patience | 600 ms, or four RTTs | ours: until then senders have followed |
//! | and where what comes does not follow | four times as long | ours: what the shaper has no hold of (a game that it assures) would keep it low for good |
//! | used | 90 % of the rate over an RTT and 40 ms, once since the last rise | ours: senders that are the limit themselves do not raise it, and those that follow do not use all of it at once |
//! | between two rises | an RTT and 40 ms | ours: the one before must have been seen |
//! | and, if the shaper has more than `C` | until what is more makes the target wait, at most half a second more | ours: at 1 % more that takes 0.2 s; a rise before it is seen would add twice as much, for an RTT more |
//! | twice as much once above | `C`; 99.5 % of it where jitter hides the target, else once more than it has come, too | ours |
//! | jitter hides the target | where the margin of the mean is more than half of it | ours: nothing is awaited there, since what only looks like a queue cuts rises short; a satellite link would lose 4 to 6 % |
//!
//! While nobody can tell what waits, the rate stays. Before packets have waited once, nothing is known, and nothing is shaped.

use crate::arrival_rate::ArrivalRate;
use crate::floor::Floor;
use gameway_units::{Bytes, Duration, Instant, Rate};

const TARGET: Duration = Duration::from_millis(2);
const BESIDES: Duration = Duration::from_millis(1);
const PAIR: Bytes = Bytes::new(2 * 1514);
const MAX_PAIR: f64 = 0.1;
const DRAINED: f64 = 0.93;
const VARIATION_PARTS: f64 = 16.0;
const WAIT_PER_VARIATION: Duration = Duration::from_millis(100);
const ONE_CHANGE: f64 = 0.04;
const CALM: f64 = 10.0;
const MIN_SPAN: Duration = Duration::from_millis(40);
const MOMENT: Duration = Duration::from_millis(20);
const SURE_SPAN: Duration = Duration::from_millis(100);
const SURE_WAIT: Duration = Duration::from_millis(20);
const MAX_SPAN: Duration = Duration::from_millis(200);
const MAX_UNTOLD: Duration = Duration::from_millis(300);
const DRAIN: Duration = Duration::from_millis(100);
const MIN_CUT: f64 = 0.02;
const MAX_CUT: f64 = 0.5;
const CUT_PER_SECOND: f64 = 0.5;
const PATIENCE: Duration = Duration::from_millis(600);
const IN_VAIN: i64 = 4;
const FOLLOWS: f64 = 1.05;
const FAILS: f64 = 0.95;
const HOLD: Duration = Duration::from_millis(500);
const MIN_GROWTH: f64 = 0.01;
const MAX_GROWTH: f64 = 0.25;
const FASTER: f64 = 2.0;
const NEAR: f64 = 0.995;
const CLEAR: i64 = 2;
const BETWEEN: Duration = Duration::from_millis(40);
const USED: f64 = 0.9;

/// Bytes in a span.
#[derive(Debug, Clone, Copy, Default)]
struct Amount {
    bytes: f64,
    span: Duration,
}

impl Amount {
    fn add(&mut self, other: Self) {
        (self.bytes, self.span) = (self.bytes + other.bytes, self.span + other.span);
    }

    /// Bytes per second, if the span is long enough.
    fn rate(self) -> Option<f64> {
        (self.span >= MIN_SPAN).then(|| self.bytes / self.span.as_secs_f64())
    }
}

/// Packets wait in front since a while.
#[derive(Debug, Clone, Copy)]
struct Standing {
    since: Instant,
    /// How long they waited then, and at the longest.
    first: Duration,
    longest: Duration,
    /// What came between times at which somebody told that they waited, of the last [`MAX_SPAN`].
    came: Amount,
    /// What the link carries at the least, by the moments of that.
    shown: f64,
    /// The rate from before.
    before: Option<f64>,
}

/// See the module's head. Rates in bytes per second.
#[derive(Debug, Clone, Default)]
pub struct LinkRate {
    came: ArrivalRate,
    last: Instant,
    floor: Floor,
    /// By what part of it the rates of two moments differ.
    differs: f64,
    /// The moment that has begun, and the rate of the last in which packets waited.
    moment: Amount,
    last_moment: Option<f64>,
    standing: Option<Standing>,
    /// What came since somebody told.
    untold: Amount,
    /// What the link carried when packets waited last.
    capacity: Option<f64>,
    rate: Option<f64>,
    /// When packets waited last, or the rate rose.
    held: Instant,
    growth: f64,
    /// Whether the rate was used since.
    used: bool,
    /// Whether more than `capacity` was has come since packets waited last.
    exceeded: bool,
}

impl LinkRate {
    /// The shaper's rate; `None`: nothing is known.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.map(|rate| Rate::from_bps_f64(rate * 8.0))
    }

    /// How long packets wait in front, without what has shown to be no queue.
    pub fn wait(&self) -> Duration {
        self.floor.excess()
    }

    /// Whether what came over an RTT fills a shaper of this rate: else nothing waits in its queue for long.
    pub fn fills(&self, now: Instant, rate: Rate, round: Duration) -> bool {
        self.came_lately(now, round) >= USED * rate.as_bps_f64() / 8.0
    }

    /// What came over an RTT and a moment: senders answer an RTT later.
    fn came_lately(&self, now: Instant, round: Duration) -> f64 {
        self.came.rate(now, round.saturating_add(BETWEEN))
    }

    /// A period has ended: `came` bytes came from in front, packets waited there for `wait` (`None`: nobody told), and the
    /// longest RTT is `round`.
    pub fn end_period(
        &mut self,
        now: Instant,
        came: Bytes,
        wait: Option<Duration>,
        round: Duration,
    ) {
        let span = now.saturating_since(std::mem::replace(&mut self.last, now));
        self.came.on_period(now, came);
        self.untold.add(Amount { bytes: came.as_f64(), span });
        let Some(wait) = wait else { return };
        let untold = std::mem::take(&mut self.untold);
        self.floor.on_wait(wait, self.standing.is_some());
        let is_drained = |capacity: f64| self.came_lately(now, round) < DRAINED * capacity;
        if self.standing.is_none() && self.capacity.is_some_and(is_drained) {
            self.floor.on_drained();
        }
        let wait = self.floor.excess();
        self.vary(wait >= self.quiet_target(), untold);
        let target = self.target();
        if wait >= target {
            self.stands(now, wait, round, untold);
        } else {
            let lag = BETWEEN.max(self.floor.lag(untold.span));
            let seen = round.saturating_add(lag).saturating_add(self.time_to_wait());
            self.is_free(now, round, seen, wait < target / 2);
        }
    }

    /// Whether packets that wait for the target are seen at once: jitter does not hide them.
    fn is_clear(&self) -> bool {
        self.floor.margin() * CLEAR <= self.steady_target()
    }

    /// How long it takes until that many wait, if the shaper has more than the link carries; nothing where jitter hides them.
    fn time_to_wait(&self) -> Duration {
        let known = self.rate.zip(self.capacity).filter(|_| self.is_clear());
        let more = known.map_or(0.0, |(rate, capacity)| rate / capacity.max(1.0) - 1.0);
        if more <= 0.0 {
            return Duration::ZERO;
        }
        let time = self.steady_target().as_secs_f64() / more;
        Duration::from_secs_f64(time.min(HOLD.as_secs_f64()))
    }

    /// What may wait in front.
    fn target(&self) -> Duration {
        self.quiet_target() + WAIT_PER_VARIATION.mul_f64(self.variation())
    }

    /// The same of a link that always carries as much.
    fn quiet_target(&self) -> Duration {
        self.steady_target().max(self.floor.margin())
    }

    /// The same if all that is measured is a queue.
    fn steady_target(&self) -> Duration {
        let pair = self.capacity.map_or(0.0, |capacity| PAIR.as_f64() / capacity.max(1.0));
        TARGET.max(BESIDES + Duration::from_secs_f64(pair.min(MAX_PAIR)))
    }

    /// What has to drain beyond the target for a queue to be sure: as much again, but for the time that two packets take, which is no
    /// noise.
    fn sure_excess(&self) -> Duration {
        let packets = self.steady_target() - TARGET;
        (self.target() - packets).max(self.floor.margin())
    }

    fn stands(&mut self, now: Instant, wait: Duration, round: Duration, untold: Amount) {
        (self.held, self.growth, self.used, self.exceeded) = (now, 0.0, false, false);
        let begins = Standing {
            since: now,
            first: wait,
            longest: wait,
            came: Amount::default(),
            shown: 0.0,
            before: self.rate,
        };
        let mut standing = self.standing.unwrap_or(begins);
        if self.standing.is_some() && untold.span <= MAX_UNTOLD {
            standing.came.add(untold);
            standing.shown = standing.shown.max(self.shown(now));
        }
        standing.longest = standing.longest.max(wait);
        let age = now.saturating_since(standing.since);
        let estimate = standing.came.rate().map(|mean| mean.max(standing.shown));
        let is_sure = standing.came.span >= SURE_SPAN || wait >= SURE_WAIT;
        let is_other = |one: f64| {
            let known = self.capacity.zip(self.rate);
            known.is_none_or(|(capacity, rate)| one > capacity || is_sure && one < FAILS * rate)
        };
        self.capacity = estimate.filter(|one| is_other(*one)).or(self.capacity);
        let calm = self.calm();
        if standing.came.span >= MAX_SPAN.mul_f64(calm) {
            let Amount { bytes, span } = standing.came;
            standing.came = Amount { bytes: bytes / 2.0, span: span / 2 };
            standing.shown = self.shown(now);
        }
        let drain = DRAIN.max(round * 2).as_secs_f64();
        let cut = (wait.as_secs_f64() / drain + age.as_secs_f64() * CUT_PER_SECOND) / calm;
        if let Some(capacity) = self.capacity {
            let wanted = capacity * (1.0 - cut.clamp(MIN_CUT, MAX_CUT));
            let known = self.rate.filter(|_| estimate.is_none());
            self.rate = Some(known.map_or(wanted, |rate| rate.min(wanted)));
        }
        self.standing = Some(standing);
        self.try_it(now, wait, round, standing);
    }

    /// By how much moments differ that follow each other and in which packets wait.
    fn vary(&mut self, waits: bool, came: Amount) {
        if !waits || came.span > MAX_UNTOLD {
            self.moment = Amount::default();
            return;
        }
        self.moment.add(came);
        let Some(one) = self.moment.rate() else { return };
        let Amount { span, .. } = std::mem::take(&mut self.moment);
        if let Some(last) = self.last_moment.replace(one) {
            let differs = ((one - last).abs() - PAIR.as_f64() / span.as_secs_f64()).max(0.0);
            let part = differs / one.max(last).max(1.0);
            self.differs += (part - self.differs) / VARIATION_PARTS;
        }
    }

    /// By what part of it the link's rate changes from moment to moment.
    fn variation(&self) -> f64 {
        (self.differs - ONE_CHANGE).max(0.0)
    }

    /// What the link carries at the least, by what came in the last moment.
    fn shown(&self, now: Instant) -> f64 {
        let moment = MOMENT.mul_f64(self.calm());
        let bytes = self.came.rate(now, moment) * moment.as_secs_f64() - PAIR.as_f64();
        bytes.max(0.0) / moment.saturating_add(self.floor.spread()).as_secs_f64()
    }

    /// By how much less is done at once, since what is known of the link is of a moment ago.
    fn calm(&self) -> f64 {
        1.0 + CALM * self.variation()
    }

    /// If what comes follows the shaper down and what waits stays, it is no queue. Nor can it be told where the shaper has no
    /// hold of what comes, as of a game that it assures of more.
    fn try_it(&mut self, now: Instant, wait: Duration, round: Duration, standing: Standing) {
        let Some(rate) = self.rate else { return };
        let patience = PATIENCE.max(round * 4);
        let tried = now.saturating_since(standing.since);
        let follows = self.came_lately(now, round) <= FOLLOWS * rate;
        let is_over = tried >= patience && follows || tried >= patience * IN_VAIN;
        if !is_over || wait <= standing.first / 2 {
            return;
        }
        let before = standing.before;
        self.capacity = before.and_then(|before| self.capacity.map(|known| known.max(before)));
        (self.rate, self.standing) = (before, None);
        self.floor.learn();
    }

    /// Nothing waits in front.
    fn is_free(&mut self, now: Instant, round: Duration, seen: Duration, is_empty: bool) {
        if let Some(standing) = self.standing.take()
            && standing.longest >= self.target() + self.sure_excess()
            && standing.came.span >= SURE_SPAN
        {
            // It has drained, so it was a queue, and what came is what the link carries.
            self.capacity = standing.came.rate().or(self.capacity);
        }
        let (Some(known), Some(rate)) = (self.capacity, self.rate) else { return };
        let shown = self.shown(now);
        self.exceeded |= shown > known;
        let capacity = known.max(shown);
        self.capacity = Some(capacity);
        let mut rate = rate.max(capacity * (1.0 - MIN_CUT) * (1.0 + self.variation()));
        let came = self.came_lately(now, round);
        self.used |= came >= USED * rate;
        let held = now.saturating_since(self.held);
        let pause = if self.growth > 0.0 { seen } else { HOLD.mul_f64(1.0 / self.calm()) };
        if !self.used && held >= HOLD {
            self.growth = 0.0;
        } else if self.used && held >= pause {
            let near = if self.is_clear() { 1.0 } else { NEAR };
            let is_above = rate > near * capacity || self.is_clear() && self.exceeded;
            let faster = if is_empty && is_above { FASTER } else { 1.0 };
            self.growth = (self.growth * faster).clamp(MIN_GROWTH, MAX_GROWTH);
            (self.held, self.used) = (now, false);
            // The link has carried it, and nothing waited.
            self.capacity = Some(capacity.max(came));
            rate *= 1.0 + self.growth;
        }
        self.rate = Some(rate);
    }
}

#[cfg(test)]
mod tests;
