//! What a time on a receiver's clock is on the host's. Sans-IO.
//!
//! The receiver says when it made a message, the host knows when it came: they differ by the clocks' difference and by the way
//! back. Of the quickest message that way is taken as half of the quickest round trip, as NTP does (RFC 5905 section 8), so the
//! error is half of what the empty ways there and back differ by. Clocks drift and ways change: both least values are those
//! of the last minutes.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | memory | 30 spans of 10 s | a drift of 50 parts in a million is 15 ms in it; a round trip that has become longer for good counts after it |

use gameway_units::{Duration, Instant, ReceiverInstant};
use std::collections::VecDeque;

const SPAN: Duration = Duration::from_secs(10);
const SPANS: usize = 30;

/// The least of the last minutes.
#[derive(Debug, Default)]
struct RecentMin(VecDeque<(Instant, Duration)>);

impl RecentMin {
    fn add(&mut self, now: Instant, value: Duration) {
        match self.0.back_mut() {
            Some((begin, min)) if now - *begin < SPAN => *min = (*min).min(value),
            _ => {
                if self.0.len() == SPANS {
                    self.0.pop_front();
                }
                self.0.push_back((now, value));
            }
        }
    }

    fn get(&self) -> Option<Duration> {
        self.0.iter().map(|(_, min)| *min).min()
    }
}

/// See the module's head.
#[derive(Debug, Default)]
pub struct ReceiverClock {
    /// The host's time at a message's arrival less the receiver's at its making.
    ahead: RecentMin,
    round_trip: RecentMin,
}

impl ReceiverClock {
    /// A message came that was made then.
    pub fn on_message(&mut self, now: Instant, generated: ReceiverInstant) {
        self.ahead
            .add(now, Duration::from_nanos(now.as_nanos().saturating_sub(generated.as_nanos())));
    }

    /// There and back it took so long.
    pub fn on_round_trip(&mut self, now: Instant, round_trip: Duration) {
        self.round_trip.add(now, round_trip);
    }

    /// The host's time at this one of the receiver; `None` before both are known.
    #[must_use]
    pub fn at_host(&self, time: ReceiverInstant) -> Option<Instant> {
        let ahead = self.ahead.get()? - self.round_trip.get()? / 2;
        Some(Instant::ZERO + Duration::from_nanos(time.as_nanos()) + ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> Duration {
        Duration::from_millis(millis)
    }

    /// The receiver's clock is so much behind.
    const BEHIND: Duration = Duration::from_millis(7_000_000);

    fn at_receiver(time: Instant) -> ReceiverInstant {
        ReceiverInstant::ZERO
            .saturating_add(time - Instant::ZERO)
            .saturating_add(Duration::ZERO - BEHIND)
    }

    #[test]
    fn the_quickest_message_tells_the_clocks_difference() {
        let mut clock = ReceiverClock::default();
        let start = Instant::ZERO + BEHIND + BEHIND;
        assert_eq!(clock.at_host(at_receiver(start)), None);
        for number in 0..200 {
            let made = start + ms(50 * number);
            // The way takes 20 ms each way, and up to 40 more.
            let came = made + ms(20 + number * 37 % 40);
            clock.on_message(came, at_receiver(made));
            clock.on_round_trip(came, ms(40 + number * 11 % 30));
        }
        let time = start + ms(3);
        let error = clock.at_host(at_receiver(time)).expect("it is known") - time;
        assert!((Duration::ZERO - ms(1)..=ms(1)).contains(&error), "{error}");
    }

    #[test]
    fn what_is_minutes_old_counts_no_more() {
        let mut clock = ReceiverClock::default();
        let start = Instant::ZERO + BEHIND + BEHIND;
        let mut error = Vec::new();
        for second in 0..700 {
            // After a minute the way takes 30 ms longer in either direction.
            let longer = if second < 60 { 0 } else { 30 };
            let made = start + Duration::from_secs(second);
            let came = made + ms(10 + longer);
            clock.on_message(came, at_receiver(made));
            clock.on_round_trip(came, ms(20 + 2 * longer));
            error.push(clock.at_host(at_receiver(made)).expect("it is known") - made);
        }
        assert!(error.iter().all(|one| *one == Duration::ZERO), "{error:?}");
        assert!(clock.round_trip.0.len() == SPANS && clock.ahead.0.len() == SPANS);
    }
}
