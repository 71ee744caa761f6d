//! The rate of a shaper that follows the link in front of the home, so that packets wait in the home's own queue.
//!
//! Source: ours. That a shaper follows what packets wait in front of it is the idea of cake-autorate (a script for
//! OpenWrt), which pings; here the wait is read off the downloads ([`crate::RemoteQueue`]), and off pings where there are any.
//! Model: while packets wait in front longer than a target, what comes is what the link carries, `C`, whatever the shaper has.
//! The shaper has `C (1 - cut)`, so that what waits drains; the cut is `wait / 100 ms` and grows while they wait. Once nothing
//! waits it has 98 % of `C`. If that is used for half a second, it rises by 1 %, once it is above `C` by twice as much each time,
//! until packets wait again: a link that doubles is found in about a second, and one that stays the same is overrun by 1 or 2 %.
//!
//! Whether it is a queue is tried by that: if what comes follows the shaper down and what waits stays, the path has become longer,
//! or what is measured is jitter. Then the rate is again what it was.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | target | 2 ms; 1 ms and two packets of 1514 B at `C`; three times the noise; the tolerance | ours: what an acknowledgment lets go (RFC 5681 section 4.2) waits for each other |
//! | noise | the mean difference of two waits that follow, by 1/16 | RFC 3550 section 6.4.1 (jitter) |
//! | tolerance | the longest wait that has shown to be no queue; less by 1/64 for each that is below half of the target | ours: of jitter it stays, of a path that has become longer it is gone in seconds |
//! | `C` is of at least, at most | 40 ms, 200 ms | as in module `full`; ten periods |
//! | a lower `C` counts after | 100 ms, or where packets wait 20 ms | ours: a burst that passes is no link that has slowed down |
//! | and if less than 95 % of the shaper's rate comes, or 2 targets have drained | | ours: else what comes may be what the shaper lets go |
//! | what waits drains in | 100 ms, or two RTTs | ours: senders follow an RTT later |
//! | cut | 2 to 50 %, more by 5 % each 100 ms | ours: a `C` that is too high by some percent would let packets wait for good |
//! | patience | 600 ms, or four RTTs | ours: until then senders have followed |
//! | used | 90 % of the rate over an RTT and 40 ms | ours: senders that are the limit themselves do not raise it |
//! | between two rises | an RTT and 40 ms | ours: the one before must have been seen |
//!
//! While nobody can tell what waits, the rate stays. Before packets have waited once, nothing is known, and nothing is shaped.

use crate::came::Came;
use gameway_units::{Bytes, Duration, Instant, Rate};

const TARGET: Duration = Duration::from_millis(2);
const BESIDES: Duration = Duration::from_millis(1);
const PAIR: Bytes = Bytes::new(2 * 1514);
const MAX_PAIR: f64 = 0.1;
const NOISE_PARTS: i64 = 16;
const NOISES: i64 = 3;
const TOLERANCE_PARTS: i64 = 64;
const MIN_SPAN: Duration = Duration::from_millis(40);
const SURE_SPAN: Duration = Duration::from_millis(100);
const SURE_WAIT: Duration = Duration::from_millis(20);
const MAX_SPAN: Duration = Duration::from_millis(200);
const MAX_UNTOLD: Duration = Duration::from_millis(300);
const DRAIN: Duration = Duration::from_millis(100);
const MIN_CUT: f64 = 0.02;
const MAX_CUT: f64 = 0.5;
const CUT_PER_SECOND: f64 = 0.5;
const PATIENCE: Duration = Duration::from_millis(600);
const FOLLOWS: f64 = 1.05;
const FAILS: f64 = 0.95;
const HOLD: Duration = Duration::from_millis(500);
const MIN_GROWTH: f64 = 0.01;
const MAX_GROWTH: f64 = 0.25;
const FASTER: f64 = 2.0;
const NEAR: f64 = 0.995;
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
    /// The rate from before.
    before: Option<f64>,
}

/// See the module's head. Rates in bytes per second.
#[derive(Debug, Clone, Default)]
pub struct LinkRate {
    came: Came,
    last: Instant,
    /// The wait that was told last, and by how much two that follow differ.
    told: Option<Duration>,
    noise: Duration,
    /// So long a wait has shown to be no queue.
    tolerance: Duration,
    standing: Option<Standing>,
    /// What came since somebody told.
    untold: Amount,
    /// What the link carried when packets waited last.
    capacity: Option<f64>,
    rate: Option<f64>,
    /// When packets waited last, or the rate rose.
    held: Instant,
    growth: f64,
    refuted: bool,
}

impl LinkRate {
    /// The shaper's rate; `None`: nothing is known.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.map(|rate| Rate::from_bps_f64(rate * 8.0))
    }

    /// Whether it has shown since the last call that what waits in front is no queue.
    pub fn take_refuted(&mut self) -> bool {
        std::mem::take(&mut self.refuted)
    }

    /// A period has ended: so much came from in front, packets waited so long there (`None`: nobody told), and the
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
        let differs = self.told.map_or(Duration::ZERO, |told| (wait - told).max(told - wait));
        self.noise = self.noise + (differs - self.noise) / NOISE_PARTS;
        self.told = Some(wait);
        let target = self.target();
        if wait < target / 2 {
            self.tolerance = self.tolerance - self.tolerance / TOLERANCE_PARTS;
        }
        if wait >= target {
            self.stands(now, wait, round, untold);
        } else {
            self.is_free(now, round, wait < target / 2);
        }
    }

    /// What may wait in front.
    fn target(&self) -> Duration {
        let pair = self.capacity.map_or(0.0, |capacity| PAIR.as_f64() / capacity.max(1.0));
        let pair = Duration::from_secs_f64(pair.min(MAX_PAIR));
        TARGET.max(BESIDES + pair).max(self.noise * NOISES).max(self.tolerance)
    }

    fn stands(&mut self, now: Instant, wait: Duration, round: Duration, untold: Amount) {
        (self.held, self.growth) = (now, 0.0);
        let begins = Standing {
            since: now,
            first: wait,
            longest: wait,
            came: Amount::default(),
            before: self.rate,
        };
        let mut standing = self.standing.unwrap_or(begins);
        if self.standing.is_some() && untold.span <= MAX_UNTOLD {
            standing.came.add(untold);
        }
        standing.longest = standing.longest.max(wait);
        let age = now.saturating_since(standing.since);
        let estimate = standing.came.rate();
        let is_sure = standing.came.span >= SURE_SPAN || wait >= SURE_WAIT;
        let is_other = |one: f64| {
            let known = self.capacity.zip(self.rate);
            known.is_none_or(|(capacity, rate)| one > capacity || is_sure && one < FAILS * rate)
        };
        self.capacity = estimate.filter(|one| is_other(*one)).or(self.capacity);
        if standing.came.span >= MAX_SPAN {
            let Amount { bytes, span } = standing.came;
            standing.came = Amount { bytes: bytes / 2.0, span: span / 2 };
        }
        let drain = DRAIN.max(round * 2).as_secs_f64();
        let cut = wait.as_secs_f64() / drain + age.as_secs_f64() * CUT_PER_SECOND;
        if let Some(capacity) = self.capacity {
            let wanted = capacity * (1.0 - cut.clamp(MIN_CUT, MAX_CUT));
            let known = self.rate.filter(|_| estimate.is_none());
            self.rate = Some(known.map_or(wanted, |rate| rate.min(wanted)));
        }
        self.standing = Some(standing);
        self.try_it(now, wait, round, standing);
    }

    /// If what comes follows the shaper down and what waits stays, it is no queue.
    fn try_it(&mut self, now: Instant, wait: Duration, round: Duration, standing: Standing) {
        let (Some(rate), Some(before)) = (self.rate, standing.before) else { return };
        let is_over = now.saturating_since(standing.since) >= PATIENCE.max(round * 4);
        let came = self.came.rate(now, round + BETWEEN);
        if is_over && came <= FOLLOWS * rate && wait > standing.first / 2 {
            (self.rate, self.refuted, self.standing) = (Some(before), true, None);
            self.tolerance = self.tolerance.max(standing.longest);
            self.capacity = self.capacity.map(|capacity| capacity.max(before));
        }
    }

    /// Nothing waits in front.
    fn is_free(&mut self, now: Instant, round: Duration, is_empty: bool) {
        if let Some(standing) = self.standing.take()
            && standing.longest >= self.target() * 2
            && standing.came.span >= SURE_SPAN
        {
            // It has drained, so it was a queue, and what came is what the link carries.
            self.capacity = standing.came.rate().or(self.capacity);
        }
        let (Some(capacity), Some(rate)) = (self.capacity, self.rate) else { return };
        let mut rate = rate.max(capacity * (1.0 - MIN_CUT));
        let seen = round.saturating_add(BETWEEN);
        let came = self.came.rate(now, seen);
        let is_used = came >= USED * rate;
        let pause = if self.growth > 0.0 { seen } else { HOLD };
        if !is_used {
            self.growth = 0.0;
        } else if now.saturating_since(self.held) >= pause {
            let faster = if is_empty && rate > NEAR * capacity { FASTER } else { 1.0 };
            self.growth = (self.growth * faster).clamp(MIN_GROWTH, MAX_GROWTH);
            self.held = now;
            // The link has carried it, and nothing waited.
            self.capacity = Some(capacity.max(came));
            rate *= 1.0 + self.growth;
        }
        self.rate = Some(rate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Duration = Duration::from_millis(30);

    /// A link in front of a shaper: a fluid that its senders fill to the shaper's rate an RTT later.
    struct Fluid {
        law: LinkRate,
        /// Bytes per second, and bytes that wait in front.
        link: f64,
        waiting: f64,
        /// What the shaper had in the last periods: senders follow.
        rates: Vec<f64>,
        /// A path that is longer than the law believes.
        longer: Duration,
        now: Instant,
    }

    impl Fluid {
        fn new(link: f64) -> Self {
            let law = LinkRate::default();
            let longer = Duration::ZERO;
            Self { law, link, waiting: 0.0, rates: vec![1.5 * link; 2], longer, now: Instant::ZERO }
        }

        /// So many periods of 20 ms; gives the longest wait in milliseconds and what came, of the link.
        fn play(&mut self, periods: usize) -> (f64, f64) {
            let (mut longest, mut total) = (0.0_f64, 0.0);
            for _ in 0..periods {
                let sent = self.rates.remove(0).min(1.5 * self.link) * 0.02;
                let came = (self.waiting + sent).min(self.link * 0.02);
                self.waiting += sent - came;
                let wait = Duration::from_secs_f64(self.waiting / self.link);
                self.now += Duration::from_millis(20);
                self.law.end_period(
                    self.now,
                    Bytes::new(came as u64),
                    Some(wait + self.longer),
                    ROUND,
                );
                if self.law.take_refuted() {
                    self.longer = Duration::ZERO;
                }
                self.rates.push(self.law.rate.unwrap_or(1.5 * self.link));
                (longest, total) = (longest.max(wait.as_millis_f64()), total + came);
            }
            (longest, total / (periods as f64 * 0.02 * self.link))
        }
    }

    #[test]
    fn a_link_is_used_and_its_queue_stays_short() {
        for link in [2.5e5, 2.5e6, 2.5e7] {
            let mut fluid = Fluid::new(link);
            fluid.play(100);
            let (longest, used) = fluid.play(500);
            let pair = 3028.0 / link * 1e3;
            assert!((1.0..6.0 + pair).contains(&longest), "{link}: {longest} ms");
            assert!((0.97..1.0).contains(&used), "{link}: {used}");
        }
    }

    #[test]
    fn a_link_that_halves_is_followed_at_once_and_one_that_doubles_within_two_seconds() {
        let mut fluid = Fluid::new(2.5e6);
        fluid.play(200);
        fluid.link = 1.25e6;
        let (longest, _) = fluid.play(50);
        assert!((10.0..80.0).contains(&longest), "{longest} ms");
        let (longest, used) = fluid.play(100);
        assert!(longest < 6.0 && used > 0.96, "{longest} ms, {used}");
        fluid.link = 2.5e6;
        fluid.play(100);
        let (longest, used) = fluid.play(100);
        assert!(longest < 10.0 && used > 0.95, "{longest} ms, {used}");
    }

    #[test]
    fn a_path_that_becomes_longer_is_no_queue() {
        let mut fluid = Fluid::new(2.5e6);
        fluid.play(200);
        fluid.longer = Duration::from_millis(25);
        fluid.play(50);
        assert_eq!(fluid.longer, Duration::ZERO, "refuted within a second");
        fluid.play(50);
        let (longest, used) = fluid.play(100);
        assert!(longest < 15.0 && used > 0.95, "{longest} ms, {used}");
    }

    #[test]
    fn nothing_is_shaped_before_packets_have_waited_and_nothing_changes_unless_somebody_tells() {
        let mut law = LinkRate::default();
        let mut now = Instant::ZERO;
        let mut period = |law: &mut LinkRate, wait| {
            now += Duration::from_millis(20);
            law.end_period(now, Bytes::new(50_000), wait, ROUND);
            law.rate().map(Rate::as_bps)
        };
        assert!((0..100).all(|_| period(&mut law, Some(Duration::ZERO)).is_none()));
        let waits = Some(Duration::from_millis(5));
        let known = (0..6).map(|_| period(&mut law, waits)).last().flatten();
        assert!(known.is_some_and(|rate| (17_000_000..19_700_000).contains(&rate)), "{known:?}");
        assert!((0..100).all(|_| period(&mut law, None) == known));
    }
}
