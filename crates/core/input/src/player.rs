//! The player's end: what has happened becomes messages.
//!
//! Source: this project's own; the page (`web/page/src/input/player.ts`) does the same, and
//! `tests/vectors.json` holds both to the same bytes at the same times.
//! Model: a change is told at once, and again with each message until it is acknowledged. Motion is told at most every
//! 4 ms, as sums; the last of it is repeated until it is acknowledged. While something is held, a message comes at least
//! every 100 ms, so that the other end knows that it still is.
//!
//! Text is changes, too, one for each character, so that it keeps its order among keys. None of it is given up: what a message has
//! no room for waits here, and so do keys behind it, until what is ahead is acknowledged. What is typed beyond the bound is refused.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | least interval of motion | 4 ms | mice report 125 to 1000 times a second, screens show 60 to 240 pictures |
//! | repetition | 20 ms | a frame; a loss then costs less than a frame beyond the round trip that finds it |
//! | sign of life | 100 ms | a fifth of what the other end waits (`program`) |
//! | most that waits with text in it | 4096 changes | a page of a book at once; a dead path does not fill the memory |

use crate::message::MAX_CHANGES;
use crate::{Acknowledgement, Change, Held, Message, Pointer, Switch};
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

pub(crate) const MOTION_INTERVAL: Duration = Duration::from_millis(4);
pub(crate) const REPETITION: Duration = Duration::from_millis(20);
pub(crate) const SIGN_OF_LIFE: Duration = Duration::from_millis(100);
const MAX_WAITING: usize = 4_096;

/// See the module's head.
#[derive(Debug, Clone)]
pub struct Player {
    held: Held,
    pointer: Pointer,
    /// Changes that are not acknowledged, the oldest first, and the number of the first.
    changes: VecDeque<Change>,
    first_change: u32,
    /// How many of them are characters.
    characters: usize,
    /// The number behind the last that a message had.
    told: u32,
    /// Of the message before, and when it left.
    number: u32,
    last_sent: Option<Instant>,
    /// A change, or a motion, is not told yet.
    has_change: bool,
    has_motion: bool,
    /// The message that told the newest motion, until one since then is acknowledged.
    motion: Option<u32>,
}

impl Default for Player {
    fn default() -> Self {
        Self {
            held: Held::default(),
            pointer: Pointer::default(),
            changes: VecDeque::new(),
            first_change: 1,
            characters: 0,
            told: 1,
            number: 0,
            last_sent: None,
            has_change: false,
            has_motion: false,
            motion: None,
        }
    }
}

impl Player {
    /// A key or button goes down; the number of this change, if it was not down already.
    pub fn press(&mut self, switch: Switch) -> Option<u32> {
        self.change(switch, true)
    }

    /// A key or button goes up; the number of this change, if it was down.
    pub fn release(&mut self, switch: Switch) -> Option<u32> {
        self.change(switch, false)
    }

    /// A character is typed; the number of this change. `None` if it controls, or if too much waits already: then it is not typed.
    pub fn type_character(&mut self, character: char) -> Option<u32> {
        if character.is_control() || self.changes.len() >= MAX_WAITING {
            return None;
        }
        self.characters += 1;
        Some(self.put(Change::Character(character)))
    }

    /// Everything goes up: the player looks elsewhere.
    pub fn release_all(&mut self) {
        let held: Vec<Switch> = self.held.iter().collect();
        for switch in held {
            self.change(switch, false);
        }
    }

    /// The pointer is at this place of the picture, each side from 0 to 65535.
    pub fn move_to(&mut self, place: (u16, u16)) {
        self.has_motion |= self.pointer.place != Some(place);
        self.pointer.place = Some(place);
    }

    /// The mouse moved by this number of pixels.
    pub fn move_by(&mut self, by: (i32, i32)) {
        self.pointer.moved = sum(self.pointer.moved, by);
        self.has_motion |= by != (0, 0);
    }

    /// The wheel turned by this amount, in 1/120 of a notch.
    pub fn turn(&mut self, by: (i32, i32)) {
        self.pointer.turned = sum(self.pointer.turned, by);
        self.has_motion |= by != (0, 0);
    }

    /// The other end has changes.
    pub fn on_acknowledgement(&mut self, acknowledgement: &Acknowledgement) {
        // What was never told cannot be acknowledged.
        let next = acknowledgement.next_change.min(self.told);
        while self.first_change < next {
            self.drop_first();
        }
        // What had no room until now is told at once.
        self.has_change |= self.told <= self.first_change && !self.changes.is_empty();
        self.motion = self.motion.filter(|told| *told > acknowledgement.message);
    }

    /// A message, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<Message> {
        self.next_deadline().filter(|due| *due <= now)?;
        self.number += 1;
        self.last_sent = Some(now);
        // Motion goes on, and the next message tells more of it: only the last one is worth an answer.
        let repeats_motion = self.motion.is_some() && !self.has_motion;
        if self.has_motion {
            self.motion = Some(self.number);
        }
        (self.has_change, self.has_motion) = (false, false);
        let changes: Vec<Change> = self.changes.iter().take(MAX_CHANGES).copied().collect();
        self.told = self.first_change + changes.len() as u32;
        Some(Message {
            number: self.number,
            first_change: self.first_change,
            changes,
            held: self.told_held(),
            pointer: self.pointer,
            wants_answer: repeats_motion || !self.changes.is_empty(),
        })
    }

    /// When [`Self::poll`] has a message; `None` while there is nothing to say.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let Some(last) = self.last_sent else {
            return (self.has_change || self.has_motion).then_some(Instant::ZERO);
        };
        let wait = if self.has_change {
            Duration::ZERO
        } else if self.has_motion {
            MOTION_INTERVAL
        } else if self.motion.is_some() || !self.changes.is_empty() {
            REPETITION
        } else if !self.held.is_empty() {
            SIGN_OF_LIFE
        } else {
            return None;
        };
        Some(last.saturating_add(wait))
    }

    fn change(&mut self, switch: Switch, is_held: bool) -> Option<u32> {
        let is_known = self.held.contains(switch) == is_held;
        // Behind text nothing is given up; what is held by then may still be released.
        let has_room = self.changes.len() < MAX_WAITING || !is_held;
        if is_known || !has_room {
            return None;
        }
        self.held.set(switch, is_held);
        while self.characters == 0 && self.changes.len() >= MAX_CHANGES {
            // The other end hears nothing: what was pressed and released long ago is of no use.
            self.drop_first();
        }
        Some(self.put(Change::Switch { switch, is_held }))
    }

    fn put(&mut self, change: Change) -> u32 {
        self.changes.push_back(change);
        self.has_change |= self.changes.len() <= MAX_CHANGES;
        self.first_change + self.changes.len() as u32 - 1
    }

    fn drop_first(&mut self) {
        let first = self.changes.pop_front();
        self.characters -= usize::from(matches!(first, Some(Change::Character(_))));
        self.first_change += 1;
    }

    /// What is held after the last change of a message: those behind it are not done.
    fn told_held(&self) -> Held {
        let mut held = self.held;
        for change in self.changes.iter().skip(MAX_CHANGES).rev() {
            if let Change::Switch { switch, is_held } = *change {
                held.set(switch, !is_held);
            }
        }
        held
    }
}

fn sum(all: (i32, i32), by: (i32, i32)) -> (i32, i32) {
    (all.0.wrapping_add(by.0), all.1.wrapping_add(by.1))
}
