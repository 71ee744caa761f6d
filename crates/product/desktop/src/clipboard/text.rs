//! A text on its way between programs: what holds of it whoever carries it.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | longest text | 1 MiB | what goes to the player ([`MAX_TEXT`]) |
//! | a program answers, and gives each piece, within | 2 s | a person who has pressed a button waits no longer |
//! | a program has given all within | 10 s | a page gives a host up after 15 s |
//! | texts that are taken at a time | 8 | programs that paste at once; one that asks and never takes keeps no more |
//! | a text that nobody takes ends after | 5 s | longer than a busy program takes for a piece |

use gameway_input::clipboard::{MAX_TEXT, Outcome};
use gameway_units::{Duration, Instant};
use std::sync::Arc;

/// How many programs may take at a time.
pub(super) const MAX_RECEIVERS: usize = 8;
const SENDER_PATIENCE: Duration = Duration::from_secs(2);
const WHOLE_PATIENCE: Duration = Duration::from_secs(10);
const RECEIVER_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    /// Since then nobody has answered.
    Asked(Instant),
    /// Pieces come, since then, the newest one then.
    Pieces {
        bytes: Vec<u8>,
        since: Instant,
        newest: Instant,
    },
    Done(Result<String, Outcome>),
}

/// A text that another program gives, piece by piece.
#[derive(Debug, Default)]
pub(super) struct Incoming(Phase);

impl Incoming {
    /// A program is asked. What was asked for before is forgotten.
    pub(super) fn ask(&mut self, now: Instant) {
        self.0 = Phase::Asked(now);
    }

    /// Whether somebody was asked who has said nothing yet.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.0, Phase::Asked(_))
    }

    /// From now on pieces come.
    pub(super) fn begin(&mut self, now: Instant) {
        self.0 = Phase::Pieces { bytes: Vec::new(), since: now, newest: now };
    }

    /// Whether pieces come.
    pub(super) fn has_begun(&self) -> bool {
        matches!(self.0, Phase::Pieces { .. })
    }

    /// A piece has come. A text that is too long has ended by it.
    pub(super) fn add(&mut self, now: Instant, piece: &[u8]) {
        let Phase::Pieces { bytes, newest, .. } = &mut self.0 else { return };
        if bytes.len().saturating_add(piece.len()) > MAX_TEXT {
            self.end(Err(Outcome::TooLong));
            return;
        }
        bytes.extend(piece);
        *newest = now;
    }

    /// That was all.
    pub(super) fn finish(&mut self) {
        if let Phase::Pieces { bytes, .. } = &mut self.0 {
            let text = String::from_utf8(std::mem::take(bytes));
            self.end(text.map_err(|_| Outcome::NoText));
        }
    }

    /// This has come of it.
    pub(super) fn end(&mut self, outcome: Result<String, Outcome>) {
        self.0 = Phase::Done(outcome);
    }

    /// When nobody is waited for any longer.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match self.0 {
            Phase::Asked(since) => Some(since.saturating_add(SENDER_PATIENCE)),
            Phase::Pieces { since, newest, .. } => Some(
                newest.saturating_add(SENDER_PATIENCE).min(since.saturating_add(WHOLE_PATIENCE)),
            ),
            Phase::Idle | Phase::Done(_) => None,
        }
    }

    /// What has come of it, once.
    pub(super) fn take(&mut self, now: Instant) -> Option<Result<String, Outcome>> {
        if self.next_deadline().is_some_and(|due| due <= now) {
            self.end(Err(Outcome::NoAnswer));
        }
        match std::mem::take(&mut self.0) {
            Phase::Done(done) => Some(done),
            other => {
                self.0 = other;
                None
            }
        }
    }
}

/// A text that another program takes, piece by piece.
#[derive(Debug)]
pub(super) struct Outgoing {
    text: Arc<str>,
    /// Bytes that have gone, and when the last of them went.
    gone: usize,
    last: Instant,
}

impl Outgoing {
    pub(super) fn new(text: Arc<str>, now: Instant) -> Self {
        Self { text, gone: 0, last: now }
    }

    /// What has not gone.
    pub(super) fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.gone..]
    }

    /// So many bytes of it have gone.
    pub(super) fn advance(&mut self, now: Instant, bytes: usize) {
        self.gone = self.text.len().min(self.gone.saturating_add(bytes));
        self.last = now;
    }

    /// From when on nobody is waited for who takes nothing of it.
    pub(super) fn deadline(&self) -> Instant {
        self.last.saturating_add(RECEIVER_PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn begun() -> Incoming {
        let mut incoming = Incoming::default();
        incoming.ask(at(0));
        incoming.begin(at(0));
        incoming
    }

    #[test]
    fn the_longest_text_passes_and_no_longer_one() {
        for (length, outcome) in
            [(MAX_TEXT, Ok("a".repeat(MAX_TEXT))), (MAX_TEXT + 1, Err(Outcome::TooLong))]
        {
            let mut incoming = begun();
            let bytes = vec![b'a'; length];
            bytes.chunks(65_536).for_each(|piece| incoming.add(at(0), piece));
            incoming.finish();
            assert!(incoming.take(at(0)) == Some(outcome), "{length} bytes");
        }
    }

    #[test]
    fn a_character_may_be_in_two_pieces_and_must_be_whole() {
        let mut incoming = begun();
        incoming.add(at(0), &"ž".as_bytes()[..1]);
        incoming.add(at(0), &"ž".as_bytes()[1..]);
        incoming.finish();
        assert_eq!(incoming.take(at(0)), Some(Ok("ž".to_owned())));
        let mut incoming = begun();
        incoming.add(at(0), &"ž".as_bytes()[..1]);
        incoming.finish();
        assert_eq!(incoming.take(at(0)), Some(Err(Outcome::NoText)));
        assert_eq!(incoming.take(at(0)), None, "it is told once");
    }

    #[test]
    fn who_gives_nothing_or_little_is_waited_for_until_a_deadline() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.next_deadline(), None);
        incoming.ask(at(100));
        assert_eq!((incoming.take(at(2_099)), incoming.next_deadline()), (None, Some(at(2_100))));
        assert_eq!(incoming.take(at(2_100)), Some(Err(Outcome::NoAnswer)));
        incoming.begin(at(3_000));
        for millis in (4_000..=12_000).step_by(1_000) {
            incoming.add(at(millis), b"a");
            let due = at((millis + 2_000).min(13_000));
            assert_eq!((incoming.take(at(millis)), incoming.next_deadline()), (None, Some(due)));
        }
        assert_eq!(incoming.take(at(12_999)), None);
        assert_eq!(incoming.take(at(13_000)), Some(Err(Outcome::NoAnswer)));
    }

    #[test]
    fn a_text_that_is_taken_has_a_rest_and_a_deadline_that_moves() {
        let mut outgoing = Outgoing::new("abc".into(), at(0));
        assert_eq!((outgoing.rest(), outgoing.deadline()), (&b"abc"[..], at(5_000)));
        outgoing.advance(at(1_000), 2);
        assert_eq!((outgoing.rest(), outgoing.deadline()), (&b"c"[..], at(6_000)));
        outgoing.advance(at(2_000), 9);
        assert_eq!(outgoing.rest(), b"");
    }
}
