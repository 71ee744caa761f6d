//! When the newest inputs and frames went through the host, while a test card is played: the parts of the delay from an input to its
//! picture that happen here. Sans-IO.
//!
//! An answer of the card belongs to the newest press that was injected before the card had it: a page that measures presses one key at a
//! time. The frame that shows it is found in the captured picture ([`crate::host::card`]), not by its time.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | presses remembered | 32 | as many changes as a message has |
//! | frames remembered | 128 | two seconds at 60 frames/s: a page asks for a picture within a few hundred milliseconds |

use crate::photon::{Answer, Question, Times};
use gameway_control::FrameId;
use gameway_input::{Change, Message};
use gameway_units::Instant;
use std::collections::VecDeque;

const MAX_PRESSES: usize = 32;
const MAX_FRAMES: usize = 128;

/// What the thread that makes pictures has seen of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    /// The card's number in the captured picture.
    pub number: Option<u8>,
    /// When its capture began.
    pub began: Instant,
    /// When it was captured.
    pub captured: Instant,
    /// When it was encoded, all of it.
    pub encoded: Instant,
}

/// The card's answer to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// What it shows since.
    pub number: u8,
    /// When it had the key.
    pub got: Instant,
    /// When its answer was on the screen.
    pub drawn: Instant,
}

#[derive(Debug, Clone, Copy)]
struct KeyPress {
    change: u32,
    arrived: Instant,
    injected: Option<Instant>,
    answered: Option<Answered>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    frame: FrameId,
    timestamp: u32,
    watched: Watched,
}

/// Packets of a frame have left.
#[derive(Debug, Clone, Copy)]
struct Departure {
    frame: FrameId,
    first: Instant,
    last: Instant,
}

/// See the module's head.
#[derive(Debug, Default)]
pub struct Photon {
    presses: VecDeque<KeyPress>,
    frames: VecDeque<Frame>,
    departures: VecDeque<Departure>,
    /// Frames of which a packet is about to leave.
    leaving: Vec<FrameId>,
}

/// Keeps the newest, so many of them.
fn keep<T>(all: &mut VecDeque<T>, one: T, max: usize) {
    if all.len() == max {
        all.pop_front();
    }
    all.push_back(one);
}

impl Photon {
    /// A message has arrived that tells of changes, of which those from `next_change` on are new.
    pub fn on_input(&mut self, now: Instant, message: &Message, next_change: u32) {
        for (change, number) in message.changes.iter().zip(message.first_change..) {
            if number >= next_change && matches!(change, Change::Switch { is_held: true, .. }) {
                let press =
                    KeyPress { change: number, arrived: now, injected: None, answered: None };
                keep(&mut self.presses, press, MAX_PRESSES);
            }
        }
    }

    /// All that has arrived is handed to the screen's server now.
    pub fn on_injection(&mut self, now: Instant) {
        for press in self.presses.iter_mut().rev().take_while(|press| press.injected.is_none()) {
            press.injected = Some(now);
        }
    }

    /// The card tells of an answer.
    pub fn on_answer(&mut self, answered: Answered) {
        let was_before =
            |press: &&mut KeyPress| press.injected.is_some_and(|at| at <= answered.got);
        let newest = self.presses.iter_mut().rev().find(was_before);
        if let Some(press) = newest.filter(|press| press.answered.is_none()) {
            press.answered = Some(answered);
        }
    }

    /// A frame was made.
    pub fn on_made(&mut self, frame: FrameId, timestamp: u32, watched: Watched) {
        keep(&mut self.frames, Frame { frame, timestamp, watched }, MAX_FRAMES);
    }

    /// A media packet of this frame is about to leave, for the first time.
    pub fn on_packet(&mut self, frame: FrameId) {
        if self.leaving.last() != Some(&frame) {
            self.leaving.push(frame);
        }
    }

    /// What was about to leave has left.
    pub fn on_departure(&mut self, now: Instant) {
        for frame in self.leaving.drain(..) {
            match self.departures.back_mut().filter(|newest| newest.frame == frame) {
                Some(newest) => newest.last = now,
                None => {
                    let departure = Departure { frame, first: now, last: now };
                    keep(&mut self.departures, departure, MAX_FRAMES);
                }
            }
        }
    }

    /// Whether something is about to leave.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Answers a question that came now.
    #[must_use]
    pub fn answer(&self, now: Instant, question: Question) -> Answer {
        let Question { page_time, change, timestamp } = question;
        let found = self.times(change, timestamp);
        Answer {
            page_time,
            host_time: now,
            change,
            timestamp,
            times: found.map(|(times, _)| times),
            is_first: found.is_some_and(|(_, is_first)| is_first),
        }
    }

    /// Of this press and of the picture of this time stamp, if that shows the press and has left; and whether it is the first that does.
    fn times(&self, change: u32, timestamp: u32) -> Option<(Times, bool)> {
        let press = self.presses.iter().rev().find(|press| press.change == change)?;
        let (injected, answered) = (press.injected?, press.answered?);
        let shows = |frame: &&Frame| {
            let Watched { number, captured, .. } = frame.watched;
            number == Some(answered.number) && captured >= answered.got
        };
        let first = self.frames.iter().find(shows)?;
        let own = self.frames.iter().filter(shows).find(|frame| frame.timestamp == timestamp)?;
        let left = self.departures.iter().rev().find(|left| left.frame == own.frame)?;
        let Watched { began, captured, encoded, .. } = own.watched;
        let Answered { got, drawn, .. } = answered;
        // The card hears late that the screen has its answer if it waits for a processor: a captured picture that shows it proves it sooner.
        let drawn = drawn.min(captured);
        let times = Times {
            arrived: press.arrived,
            injected,
            got,
            drawn,
            began,
            captured,
            encoded,
            first_sent: left.first,
            sent: left.last,
        };
        Some((times, first.frame == own.frame))
    }
}

#[cfg(test)]
mod tests;
