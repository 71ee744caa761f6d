//! What is buffered and what is on the screen.
//!
//! Source: Media Source Extensions (W3C Recommendation 2016), sections 3.5.8 (coded frame processing) and
//! 2.4.4 (buffer monitoring); dash.js 5.2.1 `BufferController`.
//! Model: segments lie one behind the other from the first on. Playback begins with the first, halts at
//! the end of what is there, and goes on when more comes. A segment that comes again takes the place of
//! the one in the buffer, unless that one is on the screen already or was: then it comes too late. All is
//! a function of the time of the last change, so that what happened since is found at its exact time.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | the buffer counts as empty at | 0.3 s | dash.js `stallThreshold`: for its rules; the picture still moves |
//!
//! | Deviation | Why |
//! |---|---|
//! | appending and beginning to play take no time | they take a browser tens of milliseconds, which is not the network's |
//! | a segment on the screen is never replaced | it has one key frame at its start, and a browser goes on with the old frames until the next one |
//! | no limit in bytes | Chromium holds 150 MB of video; 60 s of the highest level are 131 MB |

use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

/// Up to this the buffer counts as empty.
pub(crate) const EMPTY_BELOW: Duration = Duration::from_millis(300);

/// What playback came to, at its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passed {
    /// A segment comes on the screen.
    Displayed { at: Instant, held: Held },
    /// The buffer counts as empty.
    Empty,
    /// Nothing is left to show.
    Stalled { at: Instant },
    /// All was shown.
    Ended { at: Instant },
}

/// A segment in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    /// Its place in the video.
    pub index: u64,
    /// At which level.
    pub level: usize,
    /// Number of the request that brought it.
    pub request: u64,
}

/// What became of an appended segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Appended {
    /// The buffer grew.
    Grown,
    /// It took the place of this one.
    Replaced(Held),
    /// That time was on the screen already.
    TooLate,
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Playback {
    segment: Duration,
    /// Segments in all.
    count: Option<u64>,
    /// What is on the screen; where it came again, too late, what came last.
    shown: Option<Held>,
    /// Those not yet on the screen.
    waiting: VecDeque<Held>,
    /// How many there were from the first on: the end of the buffer.
    end: u64,
    /// Media time at `since`, or where it halts.
    position: Duration,
    /// Playing since then; halted without.
    since: Option<Instant>,
    empty: bool,
    ended: bool,
}

impl Playback {
    pub(crate) fn new(segment: Duration, count: Option<u64>) -> Self {
        Self {
            segment,
            count,
            shown: None,
            waiting: VecDeque::new(),
            end: 0,
            position: Duration::ZERO,
            since: None,
            empty: true,
            ended: false,
        }
    }

    fn start_of(&self, index: u64) -> Duration {
        self.segment * index as i64
    }

    /// Media time on the screen.
    pub(crate) fn position(&self, now: Instant) -> Duration {
        let played = self.since.map_or(Duration::ZERO, |since| now.saturating_since(since));
        self.position.saturating_add(played).min(self.start_of(self.end))
    }

    /// How much there is to play.
    pub(crate) fn level(&self, now: Instant) -> Duration {
        self.start_of(self.end) - self.position(now)
    }

    /// Whether the buffer counts as empty; it does before anything came.
    pub(crate) fn is_empty(&self) -> bool {
        self.empty
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    fn is_complete(&self) -> bool {
        self.count == Some(self.end)
    }

    /// What was fetched last for a media time, from what is on the screen on.
    pub(crate) fn held_at(&self, time: Duration) -> Option<Held> {
        let index = (time.as_nanos() / self.segment.as_nanos()).unsigned_abs();
        let shown = self.shown.filter(|held| held.index == index);
        shown.or_else(|| self.place_of(index).map(|place| self.waiting[place]))
    }

    fn place_of(&self, index: u64) -> Option<usize> {
        let place = index.checked_sub(self.waiting.front()?.index)? as usize;
        (place < self.waiting.len()).then_some(place)
    }

    /// A segment is there. Call [`Playback::advance`] with the same time before and after.
    pub(crate) fn append(&mut self, now: Instant, held: Held) -> Appended {
        if held.index < self.end {
            let Some(place) = self.place_of(held.index) else {
                self.shown = self.shown.map(|old| if old.index == held.index { held } else { old });
                return Appended::TooLate;
            };
            return Appended::Replaced(std::mem::replace(&mut self.waiting[place], held));
        }
        self.position = self.position(now);
        self.since = Some(now);
        self.waiting.push_back(held);
        self.end += 1;
        self.empty = self.level(now) <= EMPTY_BELOW && !self.is_complete();
        Appended::Grown
    }

    /// When something passes next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.next().map(|(at, _)| at)
    }

    fn next(&self) -> Option<(Instant, Next)> {
        let since = self.since?;
        let end = self.start_of(self.end);
        let display = self.waiting.front().map(|held| (self.start_of(held.index), Next::Display));
        let empty = (!self.empty && !self.is_complete())
            .then(|| ((end - EMPTY_BELOW).max(self.position), Next::Empty));
        let points = [display, empty, Some((end, Next::End))];
        let (position, next) = points.into_iter().flatten().min_by_key(|point| point.0)?;
        Some((since.saturating_add(position - self.position), next))
    }

    /// What passes next until `now`.
    pub(crate) fn advance(&mut self, now: Instant) -> Option<Passed> {
        let (at, next) = self.next().filter(|(at, _)| *at <= now)?;
        match next {
            Next::Display => {
                self.shown = self.waiting.pop_front();
                self.shown.map(|held| Passed::Displayed { at, held })
            }
            Next::Empty => {
                self.empty = true;
                Some(Passed::Empty)
            }
            Next::End => {
                self.position = self.start_of(self.end);
                self.since = None;
                self.ended = self.is_complete();
                Some(if self.ended { Passed::Ended { at } } else { Passed::Stalled { at } })
            }
        }
    }

    /// What is there and was never on the screen.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Held> {
        self.waiting.iter()
    }
}

#[derive(Debug, Clone, Copy)]
enum Next {
    Display,
    Empty,
    End,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(milliseconds)
    }

    fn held(index: u64, level: usize) -> Held {
        Held { index, level, request: 100 * level as u64 + index }
    }

    fn passed(playback: &mut Playback, now: Instant) -> Vec<Passed> {
        std::iter::from_fn(|| playback.advance(now)).collect()
    }

    fn playing(count: Option<u64>, segments: u64) -> Playback {
        let mut playback = Playback::new(Duration::from_secs(4), count);
        for index in 0..segments {
            let _ = playback.append(at(1_000), held(index, 0));
        }
        playback
    }

    #[test]
    fn shows_halts_and_goes_on_at_exact_times() {
        let mut playback = playing(None, 2);
        assert_eq!(playback.level(at(2_000)), Duration::from_secs(7));
        let late = passed(&mut playback, at(20_000));
        let expected = [
            Passed::Displayed { at: at(1_000), held: held(0, 0) },
            Passed::Displayed { at: at(5_000), held: held(1, 0) },
            Passed::Empty,
            Passed::Stalled { at: at(9_000) },
        ];
        assert_eq!(late, expected);
        assert_eq!(playback.next_deadline(), None);
        assert_eq!(playback.append(at(21_000), held(2, 1)), Appended::Grown);
        assert_eq!(playback.level(at(22_000)), Duration::from_secs(3));
        assert!(!playback.is_empty());
    }

    #[test]
    fn what_is_whole_ends_and_does_not_stall() {
        let mut playback = playing(Some(2), 2);
        let passed = passed(&mut playback, at(9_000));
        assert_eq!(passed.last(), Some(&Passed::Ended { at: at(9_000) }));
        assert!(!passed.contains(&Passed::Empty));
        // The same with more to come halts.
        let mut longer = playing(Some(3), 2);
        let halted = std::iter::from_fn(|| longer.advance(at(9_000))).last();
        assert_eq!(halted, Some(Passed::Stalled { at: at(9_000) }));
    }

    #[test]
    fn only_what_is_not_on_the_screen_is_replaced() {
        let mut playback = playing(None, 3);
        let _ = passed(&mut playback, at(5_500));
        assert_eq!(playback.append(at(5_500), held(0, 2)), Appended::TooLate);
        assert_eq!(playback.append(at(5_500), held(1, 2)), Appended::TooLate);
        assert_eq!(playback.append(at(5_500), held(2, 2)), Appended::Replaced(held(2, 0)));
        assert_eq!(playback.level(at(5_500)), Duration::from_millis(7_500), "not longer");
        assert_eq!(playback.held_at(Duration::from_secs(9)), Some(held(2, 2)));
        assert_eq!(playback.held_at(Duration::from_secs(7)), Some(held(1, 2)), "on the screen");
        assert_eq!(playback.held_at(Duration::from_secs(3)), None, "it was");
        assert_eq!(playback.held_at(Duration::from_secs(12)), None, "not there");
    }

    #[test]
    fn empty_is_said_once_at_three_tenths_of_a_second() {
        let mut playback = playing(None, 1);
        let _ = passed(&mut playback, at(4_699));
        assert!(!playback.is_empty());
        assert_eq!(passed(&mut playback, at(4_700)), [Passed::Empty]);
        assert!(playback.is_empty());
        let _ = playback.append(at(4_800), held(1, 0));
        assert!(!playback.is_empty());
        assert_eq!(playback.next_deadline(), Some(at(5_000)));
    }

    #[test]
    fn the_end_of_a_video_is_no_empty_buffer() {
        let short = |count| {
            let mut playback = Playback::new(Duration::from_millis(200), count);
            let _ = playback.append(at(0), held(0, 0));
            assert!(!playback.has_ended());
            playback
        };
        let (mut whole, endless) = (short(Some(1)), short(None));
        assert_eq!((whole.is_empty(), endless.is_empty()), (false, true), "0.2 s are left");
        let _ = passed(&mut whole, at(199));
        assert!(!whole.has_ended());
        let _ = passed(&mut whole, at(200));
        assert!(whole.has_ended());
    }
}
