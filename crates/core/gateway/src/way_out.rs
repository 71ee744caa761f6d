//! The rate of a second shaper, for what the home sends: it follows the provider's queue on the way out as module `link_rate` follows the one in
//! front of the home. The law is the same; what it reads is here.
//!
//! Source: ours; RFC 792 and RFC 4443 (echo).
//! Model: pings go first in the gateway's own queue, so a loop of theirs is the path and what waits at the provider, out and in; module
//! `ways` tells one from the other. What left the own queue between two pings has passed the link between their replies, so that this
//! is what the link carries while packets wait.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | memory of a wait | 200 ms | as in module `front` |
//! | what the link carries is of replies within | 60 ms | ours: a reply is late by the packet in front of it, 2 ms at 5 Mb/s; the law takes the most of short spans |
//! | pings under way | 64 | ours: of 20 ms each, in a queue of a second |

use crate::Packet;
use crate::front::Front;
use crate::link_rate::LinkRate;
use crate::ways::{MEMORY, Ways};
use gameway_units::{Bytes, Duration, Instant, Rate};
use std::collections::VecDeque;

const SMOOTH: Duration = Duration::from_millis(60);
const MAX_UNDER_WAY: usize = 64;

/// See the module's head.
#[derive(Debug, Default)]
pub struct WayOut {
    law: LinkRate,
    /// Loops of pings alone.
    pings: Front,
    /// What has left in all, in bytes, at the last two times at which somebody said so.
    totals: [(Instant, f64); 2],
    /// The same when pings left whose replies have not come.
    under_way: VecDeque<(u32, f64)>,
    /// When the last replies came, and what had left when their pings did; the oldest first.
    replies: VecDeque<(Instant, f64)>,
    /// When a period ended in which a ping told.
    told: Option<Instant>,
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

    /// A packet passes, towards the home or from it.
    pub fn on_packet(&mut self, now: Instant, to_home: bool, packet: &Packet<'_>) {
        if let Some(echo) = packet.echo {
            self.pings.on_echo(now, to_home, packet.header, echo);
            self.count(now, to_home, echo);
        }
    }

    /// `size` bytes have left the gateway's own queue towards the provider since the last call.
    pub fn on_left(&mut self, now: Instant, size: Bytes) {
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

    /// A period has ended, also for `ways`.
    pub fn end_period(&mut self, now: Instant, ways: &Ways) {
        self.pings.end_period(now, None);
        let looped = self.pings.fresh(now);
        let wait = looped.and_then(|looped| ways.on_the_way_out(looped));
        self.end_of_law(now, wait);
    }

    fn end_of_law(&mut self, now: Instant, wait: Option<Duration>) {
        if wait.is_some() {
            let span = self.told.map(|told| now.saturating_since(told));
            let carried =
                span.zip(self.rate_carried()).map_or(0.0, |(span, rate)| span.as_secs_f64() * rate);
            self.told = Some(now);
            // What was carried since the last reply came in all of that time, which is a period of the law.
            self.law.end_period(now, Bytes::new(carried as u64), wait, self.pings.longest_path());
        }
        self.told = self.told.filter(|at| now.saturating_since(*at) < MEMORY);
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
        self.told = None;
        self.under_way.clear();
        self.replies.clear();
    }
}

#[cfg(test)]
mod tests;
