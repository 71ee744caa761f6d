//! The program's end: messages become actions, in an order that a person could have made.
//!
//! Source: this project's own.
//! Model: only a message that is newer than all before counts, since it holds all that they held. First the pointer moves, then
//! each change that is new happens, and at last what is held is made what the message says. Whatever is held is
//! released when nothing is heard for half a second, and pressed again by the next message that says so.
//!
//! Text may come faster than a program takes it. A message that finds many actions waiting is as if it had been lost: the player's
//! end says all of it again.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | silence | 500 ms | five signs of life; Wi-Fi that changes its channel is silent for 100 to 300 ms |
//! | most actions that wait | 256 | eight messages of text |
//! | most motion of a message | 8192 pixels | two large screens: a sum that lies moves a pointer no further |

use crate::{Acknowledgement, Change, Held, Message, Pointer, Switch};
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

pub(crate) const SILENCE: Duration = Duration::from_millis(500);
const MAX_MOTION: i32 = 8_192;
const MAX_WAITING: usize = 256;

/// Something to do to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A key or button goes down.
    Press(Switch),
    /// It goes up.
    Release(Switch),
    /// The pointer goes to this place, each side of the screen from 0 to 65535.
    MoveTo(u16, u16),
    /// The mouse moves by these numbers of pixels to the right and down.
    MoveBy(i32, i32),
    /// The wheel turns by these amounts, in 1/120 of a notch, to the right and down.
    Turn(i32, i32),
    /// This is typed, whatever the layout.
    Type(char),
}

/// See the module's head.
#[derive(Debug, Clone)]
pub struct Program {
    newest: u32,
    next_change: u32,
    held: Held,
    pointer: Pointer,
    heard: Instant,
    actions: VecDeque<Action>,
}

impl Default for Program {
    fn default() -> Self {
        Self {
            newest: 0,
            next_change: 1,
            held: Held::default(),
            pointer: Pointer::default(),
            heard: Instant::ZERO,
            actions: VecDeque::new(),
        }
    }
}

impl Program {
    /// A message has come; what to answer, if it wants to be. Poll for actions then.
    pub fn on_message(&mut self, now: Instant, message: &Message) -> Option<Acknowledgement> {
        if self.actions.len() >= MAX_WAITING {
            self.heard = now;
            return None;
        }
        if message.number > self.newest {
            self.newest = message.number;
            self.heard = now;
            self.follow(&message.pointer);
            let numbers = message.first_change..;
            // In this order no number is taken that no change has: the last one would be followed by none.
            for (change, number) in message.changes.iter().zip(numbers) {
                if number >= self.next_change {
                    self.happen(*change);
                }
            }
            let end = message.first_change + message.changes.len() as u32;
            self.next_change = self.next_change.max(end);
            self.hold(&message.held);
        }
        // Of an old one, too: the answer before may be lost.
        message.wants_answer.then(|| self.acknowledgement())
    }

    /// What the player is to be told: as a greeting, that it is heard.
    #[must_use]
    pub fn acknowledgement(&self) -> Acknowledgement {
        Acknowledgement { next_change: self.next_change, message: self.newest }
    }

    /// The number of the newest change that has happened; 0 before the first.
    #[must_use]
    pub fn newest_change(&self) -> u32 {
        self.next_change - 1
    }

    /// The player is gone, or another one has come: everything goes up, and what is not typed yet is forgotten.
    pub fn end(&mut self) {
        self.actions.retain(|action| !matches!(action, Action::Type(_)));
        self.hold(&Held::default());
    }

    /// What to do to the program next.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// What [`Self::poll`] gives.
    #[must_use]
    pub fn peek(&self) -> Option<&Action> {
        self.actions.front()
    }

    /// When [`Self::on_deadline`] is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        (!self.held.is_empty()).then(|| self.heard.saturating_add(SILENCE))
    }

    /// Time has passed; poll for actions then.
    pub fn on_deadline(&mut self, now: Instant) {
        if self.next_deadline().is_some_and(|due| due <= now) {
            self.hold(&Held::default());
        }
    }

    fn follow(&mut self, pointer: &Pointer) {
        if let Some((x, y)) = pointer.place.filter(|_| pointer.place != self.pointer.place) {
            self.actions.push_back(Action::MoveTo(x, y));
        }
        let (x, y) = difference(pointer.moved, self.pointer.moved);
        if (x, y) != (0, 0) {
            let bounded = |by: i32| by.clamp(-MAX_MOTION, MAX_MOTION);
            self.actions.push_back(Action::MoveBy(bounded(x), bounded(y)));
        }
        let (x, y) = difference(pointer.turned, self.pointer.turned);
        if (x, y) != (0, 0) {
            let bounded = |by: i32| by.clamp(-MAX_MOTION, MAX_MOTION);
            self.actions.push_back(Action::Turn(bounded(x), bounded(y)));
        }
        self.pointer = *pointer;
    }

    /// Makes what is held what the player says, releases first.
    fn hold(&mut self, wanted: &Held) {
        let surplus: Vec<Switch> = self.held.iter().filter(|one| !wanted.contains(*one)).collect();
        surplus.into_iter().for_each(|switch| self.set(switch, false));
        let missing: Vec<Switch> = wanted.iter().filter(|one| !self.held.contains(*one)).collect();
        missing.into_iter().for_each(|switch| self.set(switch, true));
    }

    fn happen(&mut self, change: Change) {
        match change {
            Change::Switch { switch, is_held } => self.set(switch, is_held),
            Change::Character(character) => self.actions.push_back(Action::Type(character)),
        }
    }

    fn set(&mut self, switch: Switch, is_held: bool) {
        if self.held.set(switch, is_held) {
            let action = if is_held { Action::Press(switch) } else { Action::Release(switch) };
            self.actions.push_back(action);
        }
    }
}

fn difference(now: (i32, i32), before: (i32, i32)) -> (i32, i32) {
    (now.0.wrapping_sub(before.0), now.1.wrapping_sub(before.1))
}
