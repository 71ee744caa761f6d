//! What packets wait in the kernel's queues at the interface towards the home, where the gateway has none of its own: in front of a
//! port that is slower than the link, in somebody else's shaper, or for a station of Wi-Fi. In mode `windows` this is the gateway's
//! own queue.
//!
//! Model: Little's law. A queue that had packets at the begin and at the end of a period was busy in between, so that what left it
//! tells its rate; a packet that comes now waits `backlog / rate`. A bridge has no queue, but its ports have, and an interface of
//! Wi-Fi has one for each station and traffic identifier: the longest wait counts.
//! A wait that others make, such as machines of the home that send to each other, is not one that windows of downloads change: it
//! counts where half of what left had come through the gateway.
//!
//! Source: `net/sched/sch_api.c` and `net/mac80211/tx.c` of Linux 6.1 for what the kernel counts.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | weight of a busy period in rates | 1/8 | as in module `frames` of `gameway-gateway`; segments that the kernel has merged leave 64 kB at a time, at 20 Mb/s more than a period's |
//! | share of what left that came through the gateway | a half at least | ours: with less, others keep the queue full whatever downloads do |
//! | longest wait | 1 s | a port that sends nothing: its rate goes to zero |
//!
//! | Deviation | Why |
//! |---|---|
//! | what waits in a card's ring, or in queues of a Wi-Fi driver's own, is not seen | the kernel's queues end in front of them |
//! | a station's counter of bytes has 32 bits: when it begins anew, a period has a rate of zero | one of eight that count, each 4 GiB; a station that comes back counts from zero likewise |

use gameway_units::{Bytes, Duration, Instant};
use std::collections::BTreeMap;

const WEIGHT: f64 = 0.125;
const SHARE: f64 = 0.5;
const MAX_WAIT: Duration = Duration::from_secs(1);

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct HomeQueues {
    queues: BTreeMap<Place, Queue>,
}

/// Where a queue is: at an interface, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// In front of all that the interface sends.
    Root(u32),
    /// Of a Wi-Fi station, by its address, and a traffic identifier.
    Station(u32, [u8; 6], u8),
}

/// What a queue has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Bytes that left since it is there.
    pub(crate) sent: u64,
    /// Bytes that wait.
    pub(crate) backlog: u64,
}

/// What packets wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// At the longest.
    pub(crate) longest: Duration,
    /// The same where what came through the gateway fills the queue.
    pub(crate) of_downloads: Duration,
}

impl HomeQueues {
    /// How long a packet waits that came at a look, after so much came through the gateway since the look before, in the queue in
    /// which packets wait longest; `None`: there is none that counts. Those that are not there any more are forgotten.
    pub(crate) fn on_look(
        &mut self,
        now: Instant,
        counted: &BTreeMap<Place, Counted>,
        came: Bytes,
    ) -> Option<Waits> {
        self.queues.retain(|place, _| counted.contains_key(place));
        let waits = counted.iter().map(|(&place, &counted)| {
            self.queues.entry(place).or_default().on_look(now, counted, came)
        });
        waits.reduce(Waits::longer)
    }
}

impl Waits {
    fn longer(self, other: Self) -> Self {
        Self {
            longest: self.longest.max(other.longest),
            of_downloads: self.of_downloads.max(other.of_downloads),
        }
    }
}

/// A queue.
#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    /// When it was looked at last, what it had sent, and whether packets waited.
    last: Option<(Instant, u64, bool)>,
    /// Bytes per second that left while packets waited, and of those that came through the gateway.
    rates: Option<[f64; 2]>,
}

impl Queue {
    fn on_look(&mut self, now: Instant, counted: Counted, came: Bytes) -> Waits {
        let Counted { sent, backlog } = counted;
        let waits = backlog > 0;
        let last = self.last.replace((now, sent, waits));
        let Some((at, before, true)) = last.filter(|_| waits) else { return Waits::default() };
        let span = now.saturating_since(at).as_secs_f64();
        if span > 0.0 {
            // A queue that was put there anew counts from zero.
            let rates = [sent.saturating_sub(before) as f64, came.as_f64()].map(|size| size / span);
            let known = self.rates.unwrap_or(rates);
            self.rates = Some([0, 1].map(|at| known[at] + WEIGHT * (rates[at] - known[at])));
        }
        let [left, came] = self.rates.unwrap_or_default();
        let wait = (backlog as f64 / left.max(1.0)).min(MAX_WAIT.as_secs_f64());
        let longest = Duration::from_secs_f64(wait);
        let is_of_downloads = came >= SHARE * left;
        Waits { longest, of_downloads: if is_of_downloads { longest } else { Duration::ZERO } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn counted(sent: u64, backlog: u64) -> Counted {
        Counted { sent, backlog }
    }

    /// Looks each 20 ms at a queue of 10 Mb/s; gives the last wait in microseconds.
    fn looked(port: &mut Queue, from: i64, backlogs: &[u64]) -> i64 {
        let mut wait = Duration::ZERO;
        for (number, &backlog) in (from..).zip(backlogs) {
            let now = Instant::ZERO + Duration::from_millis(20 * number);
            let sent = 25_000 * number as u64;
            wait = port.on_look(now, counted(sent, backlog), Bytes::new(25_000)).of_downloads;
        }
        wait.as_nanos() / 1000
    }

    #[test]
    fn a_busy_queue_waits_for_what_its_rate_takes() {
        let mut port = Queue::default();
        assert_eq!(looked(&mut port, 0, &[0, 0]), 0);
        // Packets that are there at one look only may have come a moment ago.
        assert_eq!(looked(&mut port, 2, &[125_000]), 0);
        assert_eq!(looked(&mut port, 3, &[125_000; 3]), 100_000);
        assert_eq!(looked(&mut port, 6, &[0]), 0);
        // What leaves while little waits tells no rate.
        for number in 7..100 {
            let now = Instant::ZERO + Duration::from_millis(20 * number);
            port.on_look(now, counted(160_000, 0), Bytes::ZERO);
        }
        let now = Instant::ZERO + Duration::from_millis(2000);
        port.on_look(now, counted(160_000, 50_000), Bytes::new(25_000));
        let now = now + Duration::from_millis(20);
        let waits = port.on_look(now, counted(185_000, 50_000), Bytes::new(25_000));
        assert_eq!(waits.of_downloads, Duration::from_millis(40));
    }

    #[test]
    fn a_queue_that_others_fill_is_seen_and_is_none_of_downloads() {
        for (came, counts) in [(13_000, true), (12_000, false)] {
            let mut port = Queue::default();
            let mut waits = Waits::default();
            for number in 0..50 {
                let now = Instant::ZERO + Duration::from_millis(20 * number);
                let sent = 25_000 * number as u64;
                waits = port.on_look(now, counted(sent, 125_000), Bytes::new(came));
            }
            assert_eq!(waits.longest, Duration::from_millis(100));
            let expected = if counts { waits.longest } else { Duration::ZERO };
            assert_eq!(waits.of_downloads, expected, "{came}");
        }
    }

    #[test]
    fn one_that_sends_nothing_has_a_bounded_wait_and_one_put_anew_is_no_error() {
        let mut port = Queue::default();
        for number in 0..200 {
            let now = Instant::ZERO + Duration::from_millis(20 * number);
            let waits = port.on_look(now, counted(1_000_000, 64_000), Bytes::ZERO);
            assert!(waits.longest <= MAX_WAIT);
        }
        let now = Instant::ZERO + Duration::from_millis(5000);
        assert_eq!(port.on_look(now, counted(0, 64_000), Bytes::ZERO).longest, MAX_WAIT);
    }

    /// Two stations share 10 Mb/s; one has 25 kB that wait, the other has none, and has gone at last.
    #[test]
    fn of_stations_the_longest_wait_counts_and_who_has_gone_is_forgotten() {
        let near = |number: u64| (Place::Station(3, [2; 6], 0), counted(12_500 * number, 25_000));
        let idle = |number: u64| (Place::Station(3, [4; 6], 5), counted(12_500 * number, 0));
        let mut queues = HomeQueues::default();
        let mut look = |number: u64, counted: &[(Place, Counted)]| {
            let now = Instant::ZERO + Duration::from_millis(20 * number as i64);
            let counted = counted.iter().copied().collect();
            (queues.on_look(now, &counted, Bytes::new(25_000)), queues.queues.len())
        };
        for number in 0..10 {
            let (waits, _) = look(number, &[near(number), idle(number)]);
            let expected = Duration::from_millis(if number == 0 { 0 } else { 40 });
            assert_eq!(waits.map(|waits| waits.of_downloads), Some(expected));
        }
        assert_eq!(look(10, &[idle(10)]), (Some(Waits::default()), 1));
        assert_eq!(look(11, &[]), (None, 0));
    }
}
