//! An encoder that takes its time, as a live one was measured to: whole frames, or slice after slice.

use gameway_session::{ModelFrame, Sender};
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

/// How long a frame takes, from its capture on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EncodeTime {
    /// Until the first slice is made.
    pub first: Duration,
    /// Until all are.
    pub whole: Duration,
}

impl EncodeTime {
    /// Until a slice is made: `shares` of the time until each is, on average. As much later than the first, by the time
    /// that is left then.
    fn until(self, share: f64, first_share: f64) -> Duration {
        let left = self.whole - self.first.min(self.whole);
        let later = (share - first_share) / (1.0 - first_share).max(f64::EPSILON);
        self.first.min(self.whole) + left.mul_f64(later.clamp(0.0, 1.0))
    }
}

/// How long frames take to encode, as it was measured in the course of a run: slow ones come together, when the
/// machine had other work.
#[derive(Debug)]
pub struct EncodeTimes {
    /// From when on, and how long; the next are behind the ones that hold.
    frames: VecDeque<(Instant, EncodeTime)>,
    /// The same of key frames; none if they are as others.
    key_frames: VecDeque<(Instant, EncodeTime)>,
}

impl EncodeTimes {
    /// Of times that ascend, of frames and of key frames; the first holds before it, too.
    pub fn new(
        frames: impl IntoIterator<Item = (Instant, EncodeTime)>,
        key_frames: impl IntoIterator<Item = (Instant, EncodeTime)>,
    ) -> Self {
        Self { frames: frames.into_iter().collect(), key_frames: key_frames.into_iter().collect() }
    }

    /// How long a frame takes that is captured now. Time does not go back.
    pub(crate) fn at(&mut self, now: Instant, key_frame: bool) -> EncodeTime {
        let own = key_frame && !self.key_frames.is_empty();
        let measured = if own { &mut self.key_frames } else { &mut self.frames };
        while measured.get(1).is_some_and(|(from, _)| *from <= now) {
            measured.pop_front();
        }
        measured.front().map_or(EncodeTime::default(), |(_, took)| *took)
    }
}

/// A frame that is being encoded.
pub(crate) struct Encoding {
    frame: ModelFrame,
    done: Instant,
    /// When parts of it can leave, and how many packets then can have; the next first.
    parts: VecDeque<(Instant, u16)>,
    given: u16,
}

impl Encoding {
    /// A frame that is captured now and takes so long, its slices these shares of it on average.
    pub(crate) fn new(frame: ModelFrame, now: Instant, took: EncodeTime, slices: &[f64]) -> Self {
        let media = frame.train.media_packets();
        let parts = slices.iter().zip(&frame.after_slices);
        let parts = parts.filter(|(_, packets)| **packets < media);
        let first = slices.first().copied().unwrap_or_default();
        let made = |(share, packets): (&f64, &u16)| (now + took.until(*share, first), *packets);
        Self { parts: parts.map(made).collect(), frame, done: now + took.whole, given: 0 }
    }

    /// When there is more of it.
    pub(crate) fn next(&self) -> Instant {
        self.parts.front().map_or(self.done, |(at, _)| (*at).min(self.done))
    }

    /// Gives the sender what is made by now; whether that is all.
    pub(crate) fn advance(&mut self, now: Instant, sender: &mut Sender) -> bool {
        let train = &self.frame.train;
        if self.done <= now {
            sender.on_encoded(now, train, self.frame.key_frame);
            return true;
        }
        while let Some((_, packets)) = self.parts.front().copied().filter(|(at, _)| *at <= now) {
            self.parts.pop_front();
            let sizes = (self.given..packets).map(|index| train.packet(index).payload);
            sender.on_encoded_part(now, &sizes.collect::<Vec<_>>(), self.frame.key_frame);
            self.given = packets;
        }
        false
    }
}
