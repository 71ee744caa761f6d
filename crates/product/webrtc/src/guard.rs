//! What one source may do at the signalling port before it has shown the token. No sockets here.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | wrong tokens at once | 10 | slips of a person who types |
//! | interval of more | 10 s | 3 million a year; the shortest token that is taken has 10^10 at the very least |
//! | sources remembered | 1024 | 64 KiB; one that is forgotten begins anew |
//! | wrong codes of all sources at once | 20 | four codes that had all their tries |
//! | interval of more | 60 s | 1 460 in a day, of a million codes |

use gameway_serving::Source;
use gameway_units::{Duration, Instant};
use std::collections::BTreeMap;

const TOKENS: Limit = Limit { at_once: 10, interval: Duration::from_secs(10) };
const CODES: Limit = Limit { at_once: 20, interval: Duration::from_secs(60) };
const MAX_SOURCES: usize = 1_024;

/// How many are looked at: the generic cell rate algorithm (ITU-T I.371), whose state is the time until all of them are
/// forgotten.
struct Limit {
    at_once: i64,
    interval: Duration,
}

impl Limit {
    fn wait(&self, forgotten: Instant, now: Instant) -> Option<Duration> {
        let wait = forgotten.saturating_since(now) - self.interval * (self.at_once - 1);
        (wait > Duration::ZERO).then_some(wait)
    }

    fn count(&self, forgotten: Instant, now: Instant) -> Instant {
        forgotten.max(now).saturating_add(self.interval)
    }
}

/// Wrong codes of all sources: many sources guess no faster than one.
#[derive(Debug, Default)]
pub struct WrongCodes(Instant);

impl WrongCodes {
    /// How long everybody must wait before a code is looked at; `None` if one is now.
    #[must_use]
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        CODES.wait(self.0, now)
    }

    /// Somebody has typed a wrong one.
    pub fn count(&mut self, now: Instant) {
        self.0 = CODES.count(self.0, now);
    }
}

/// Wrong tokens, keys and codes of each source.
#[derive(Debug, Default)]
pub struct WrongTokens(BTreeMap<Source, Instant>);

impl WrongTokens {
    /// How long this source must wait before it may show a token; `None` if it may now.
    #[must_use]
    pub fn wait(&self, source: Source, now: Instant) -> Option<Duration> {
        TOKENS.wait(*self.0.get(&source)?, now)
    }

    /// This source has shown a wrong one.
    pub fn count(&mut self, source: Source, now: Instant) {
        if self.0.len() >= MAX_SOURCES {
            self.make_room(now);
        }
        let forgotten = self.0.entry(source).or_insert(now);
        *forgotten = TOKENS.count(*forgotten, now);
    }

    /// Those whose wrong tokens are forgotten go, or else the one whose are forgotten first.
    fn make_room(&mut self, now: Instant) {
        self.0.retain(|_, forgotten| *forgotten > now);
        if self.0.len() < MAX_SOURCES {
            return;
        }
        let first = self.0.iter().min_by_key(|(_, forgotten)| **forgotten);
        if let Some(source) = first.map(|(source, _)| *source) {
            self.0.remove(&source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn source(text: &str) -> Source {
        Source::of(text.parse().expect("an address"))
    }

    fn at(seconds: i64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn ten_wrong_tokens_are_taken_at_once_and_one_each_ten_seconds() {
        let (mut wrong, guesser) = (WrongTokens::default(), source("192.0.2.1"));
        let mut taken = 0;
        // A thousand a second, for a minute.
        for milli in 0..60_000 {
            let now = Instant::ZERO + Duration::from_millis(milli);
            if wrong.wait(guesser, now).is_none() {
                wrong.count(guesser, now);
                taken += 1;
            }
        }
        assert_eq!(taken, 15);
        let wait = wrong.wait(guesser, at(57)).expect("it must wait").as_secs_f64();
        assert!((2.9..=3.1).contains(&wait), "{wait}");
        assert_eq!(wrong.wait(source("192.0.2.2"), at(57)), None, "others need not");
        assert_eq!(wrong.wait(guesser, at(71)), None);
    }

    #[test]
    fn many_sources_are_forgotten_and_not_collected() {
        let mut wrong = WrongTokens::default();
        let guesser = source("192.0.2.1");
        (0..12).for_each(|_| wrong.count(guesser, at(1)));
        for number in 0..5_000_u32 {
            wrong.count(Source::of(IpAddr::V4((0x0A00_0000 + number).into())), at(2));
        }
        assert!(wrong.0.len() <= MAX_SOURCES);
        assert!(wrong.wait(guesser, at(2)).is_some(), "who guessed most is kept");
    }
}
