//! The rate of a second shaper, for what the home sends: it follows the provider's queue on the way out as module `link_rate` follows the one in
//! front of the home. The law is the same; what it reads is here.
//!
//! Source: ours; RFC 792 and RFC 4443 (echo), RFC 7323 section 5.4 (the clock of stamps, module `one_way`).
//! Model: pings go first in the gateway's own queue, so a loop of theirs is the path and what waits at the provider, out and in. What
//! waits on the way in is told by the clocks of servers, of which each segment to the home has a stamp, data or not:
//! `wait out = loop - smallest loop - wait in`. What left the own queue between two pings has passed the link between their replies, so that this
//! is what the link carries while packets wait.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | connections whose clocks are read | 64 | ours: one is enough, each waits in the same queue |
//! | memory of a wait | 200 ms | as in module `front` |
//! | the home sends, if it sent in a second | 12.5 kB | ours: 100 kb/s, the least rate of a shaper |
//! | what the link carries is of replies within | 60 ms | ours: a reply is late by the packet in front of it, 2 ms at 5 Mb/s; the law takes the most of short spans |
//! | pings under way | 64 | ours: of 20 ms each, in a queue of a second |
//!
//! | Deviation | Why |
//! |---|---|
//! | Where no clock tells, what a ping waited counts for the way that has more bytes | a wait on the other way is rare then, and one rate at a time is wrong |
//! | The least wait in of a period counts | a server's own bottleneck and late packets make one longer, nothing makes it shorter |

use crate::front::Front;
use crate::link_rate::LinkRate;
use crate::lru::LruMap;
use crate::one_way::OneWay;
use crate::{Packet, Segment};
use gameway_path::{Endpoint, Header};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;

const MAX_CONNECTIONS: usize = 64;
const MEMORY: Duration = Duration::from_millis(200);
const SENDS: Bytes = Bytes::new(12_500);
const SENDS_SPAN: Duration = Duration::from_secs(1);
const SMOOTH: Duration = Duration::from_millis(60);
const MAX_UNDER_WAY: usize = 64;

/// The bytes of a second.
#[derive(Debug, Default)]
struct Second {
    begun: Instant,
    out: Bytes,
    into: Bytes,
    /// Whether the home sends, and more than comes to it.
    sends: bool,
    sends_more: bool,
}

impl Second {
    fn on_period(&mut self, now: Instant, out: Bytes, into: Bytes) {
        self.out = self.out.saturating_add(out);
        self.into = self.into.saturating_add(into);
        let sends = self.out >= SENDS;
        let sends_more = sends && self.out > self.into;
        let is_over = now.saturating_since(self.begun) >= SENDS_SPAN;
        // What begins is seen at once, and what ends when the second is over.
        self.sends = sends || self.sends && !is_over;
        self.sends_more = sends_more || self.sends_more && !is_over;
        if is_over {
            (self.begun, self.out, self.into) = (now, Bytes::ZERO, Bytes::ZERO);
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct WayOut {
    law: LinkRate,
    /// Loops of pings alone.
    pings: Front,
    /// By their ends, outside and at home.
    clocks: LruMap<[Endpoint; 2], OneWay>,
    /// What waited on the way in, by clocks: the least of this period, and what was told last.
    least_in: Option<Duration>,
    told_in: Option<(Instant, Duration)>,
    /// Of this period.
    left: Bytes,
    came: Bytes,
    second: Second,
    /// What has left in all, in bytes, at the last two times at which somebody said so.
    totals: [(Instant, f64); 2],
    /// The same when pings left whose replies have not come.
    under_way: VecDeque<(u32, f64)>,
    /// When the last replies came, and what had left when their pings did; the oldest first.
    replies: VecDeque<(Instant, f64)>,
    /// When a period ended in which a ping told.
    told: Option<Instant>,
}

impl Default for WayOut {
    fn default() -> Self {
        Self {
            law: LinkRate::default(),
            pings: Front::default(),
            clocks: LruMap::new(MAX_CONNECTIONS),
            least_in: None,
            told_in: None,
            left: Bytes::ZERO,
            came: Bytes::ZERO,
            second: Second::default(),
            totals: [(Instant::ZERO, 0.0); 2],
            under_way: VecDeque::new(),
            replies: VecDeque::new(),
            told: None,
        }
    }
}

impl WayOut {
    /// The shaper's rate; `None`: nothing is known.
    pub fn rate(&self) -> Option<Rate> {
        self.law.rate()
    }

    /// How long packets wait at the provider on their way out; `None`: nothing told for 200 ms.
    pub fn wait(&self) -> Option<Duration> {
        self.told.map(|_| self.law.wait())
    }

    /// Whether the home sends so much that it may wait.
    pub const fn sends(&self) -> bool {
        self.second.sends
    }

    /// A packet passes, towards the home or from it.
    pub fn on_packet(&mut self, now: Instant, to_home: bool, packet: &Packet<'_>) {
        if let Some(echo) = packet.echo {
            self.pings.on_echo(now, to_home, packet.header, echo);
            self.count(now, to_home, echo);
        }
        if to_home {
            self.came = self.came.saturating_add(packet.size);
            if let Some(segment) = packet.segment.as_deref() {
                self.on_segment(now, segment);
            }
        }
    }

    /// So much has left the gateway's own queue towards the provider since the last call.
    pub fn on_left(&mut self, now: Instant, size: Bytes) {
        self.left = self.left.saturating_add(size);
        let [_, last] = self.totals;
        self.totals = [last, (now, last.1 + size.as_f64())];
    }

    /// What had left in all at a time, evenly between two at which somebody said so.
    fn total_at(&self, time: Instant) -> f64 {
        let [(begun, before), (ended, after)] = self.totals;
        let span = ended.saturating_since(begun).as_secs_f64();
        let part = time.saturating_since(begun).as_secs_f64() / span.max(1e-6);
        before + (after - before) * part.clamp(0.0, 1.0)
    }

    /// A ping leaves, or its reply comes.
    fn count(&mut self, now: Instant, to_home: bool, echo: u32) {
        if !to_home {
            if self.under_way.len() >= MAX_UNDER_WAY {
                self.under_way.pop_front();
            }
            return self.under_way.push_back((echo, self.total_at(now)));
        }
        let Some(place) = self.under_way.iter().position(|(one, _)| *one == echo) else { return };
        self.replies.push_back((now, self.under_way[place].1));
        self.under_way.drain(..=place);
        let is_old = |(at, _): &(Instant, f64)| now.saturating_since(*at) >= SMOOTH;
        while self.replies.len() > MAX_UNDER_WAY || self.replies.get(1).is_some_and(is_old) {
            self.replies.pop_front();
        }
    }

    /// A segment to the home passes, data or not.
    fn on_segment(&mut self, now: Instant, segment: &Segment) {
        let Some(stamps) = segment.timestamps else { return };
        let Header { source, destination, .. } = segment.header;
        let place = self.clocks.find_or_insert([source, destination], OneWay::default);
        let waited = self.clocks.at(place).on_data(now, stamps.value);
        self.least_in = self.least_in.into_iter().chain(waited).min();
    }

    /// A period has ended. Gives what of a wait in front of the home, told by loops, can be on the way in.
    pub fn end_period(&mut self, now: Instant, in_front: Option<Duration>) -> Option<Duration> {
        let (left, came) = (std::mem::take(&mut self.left), std::mem::take(&mut self.came));
        self.second.on_period(now, left, came);
        if let Some(least) = self.least_in.take() {
            self.told_in = Some((now, least));
        }
        self.told_in = self.told_in.filter(|(at, _)| now.saturating_since(*at) < MEMORY);
        self.pings.end_period(now);
        let looped = self.pings.fresh(now);
        let wait = looped.and_then(|looped| self.on_the_way_out(looped));
        self.end_of_law(now, wait);
        in_front.and_then(|wait| self.on_the_way_in(wait))
    }

    /// What of a ping's wait was on the way out; `None`: nobody knows.
    fn on_the_way_out(&self, looped: Duration) -> Option<Duration> {
        match self.told_in {
            Some((_, into)) => Some((looped - into).max(Duration::ZERO)),
            None => self.second.sends_more.then_some(looped),
        }
    }

    /// What of a loop's wait was on the way in; `None`: nobody knows.
    fn on_the_way_in(&self, wait: Duration) -> Option<Duration> {
        match self.told_in {
            _ if !self.second.sends => Some(wait),
            Some((_, into)) => Some(wait.min(into)),
            None => (!self.second.sends_more).then_some(wait),
        }
    }

    fn end_of_law(&mut self, now: Instant, wait: Option<Duration>) {
        let mut carried = Bytes::ZERO;
        if wait.is_some() {
            let span = self.told.map(|told| now.saturating_since(told));
            carried = span
                .zip(self.rate_carried())
                .map_or(carried, |(span, rate)| Bytes::new((span.as_secs_f64() * rate) as u64));
            self.told = Some(now);
        }
        self.told = self.told.filter(|at| now.saturating_since(*at) < MEMORY);
        self.law.end_period(now, carried, wait, self.pings.longest_path());
    }

    /// In bytes per second, what passed the link between the last replies.
    fn rate_carried(&self) -> Option<f64> {
        let ((begun, before), (ended, after)) = self.replies.front().zip(self.replies.back())?;
        let span = ended.saturating_since(*begun).as_secs_f64();
        (span > 0.0).then(|| (after - before) / span)
    }

    /// What was seen lately says nothing any more; the rate stays.
    pub fn start_over(&mut self) {
        self.pings.start_over();
        (self.least_in, self.told_in, self.told) = (None, None, None);
        (self.left, self.came) = (Bytes::ZERO, Bytes::ZERO);
        self.under_way.clear();
        self.replies.clear();
    }
}

#[cfg(test)]
mod tests;
