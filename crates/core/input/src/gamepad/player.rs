//! The player's end: readings of gamepads become messages.
//!
//! Source: this project's own; the page (`web/page/src/gamepad/player.ts`) does the same, and
//! `tests/vectors.json` holds both to the same bytes at the same times.
//! Model: a button, or a gamepad that comes or goes, is told at once; sticks and triggers at most every 4 ms. The newest message is
//! repeated every 20 ms until it is answered. While anything is held or off its rest, a message comes at least every 100 ms.
//! The three times are those of keys and of the mouse, with their reasons (`player`).

use super::{AXES, Answer, BUTTONS, Message, PADS, State};
use crate::player::{MOTION_INTERVAL, REPETITION, SIGN_OF_LIFE};
use gameway_units::{Duration, Instant};

/// How a gamepad is at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reading {
    /// A bit for each button of the standard mapping that is pressed, the lowest first.
    pub pressed: u32,
    /// How far the left and the right trigger are pulled.
    pub triggers: [u8; 2],
    /// The left stick to the right and down, then the right one.
    pub axes: [i16; AXES],
}

/// See the module's head.
#[derive(Debug, Clone, Default)]
pub struct Player {
    pads: [Option<State>; PADS],
    /// How often the buttons of one that has gone had changed: it goes on from there when it comes back, since the other end may not
    /// have heard that it was gone.
    gone: [[u8; BUTTONS]; PADS],
    /// Of the message before, and when it left.
    number: u32,
    last_sent: Option<Instant>,
    /// A button or a gamepad, or a stick or a trigger, is not told yet.
    has_change: bool,
    has_motion: bool,
    /// The message that told the newest of these, until one since then is answered.
    told: Option<u32>,
}

impl Player {
    /// How the gamepad of this number is now, if it is there.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn read(&mut self, pad: usize, reading: Option<&Reading>) {
        let Some(reading) = reading else {
            if let Some(mut state) = self.pads[pad].take() {
                release(&mut state);
                self.gone[pad] = state.changes;
                self.has_change = true;
            }
            return;
        };
        self.has_change |= self.pads[pad].is_none();
        let state =
            self.pads[pad].get_or_insert(State { changes: self.gone[pad], ..State::default() });
        for (button, count) in state.changes.iter_mut().enumerate() {
            if u32::from(*count & 1) != reading.pressed >> button & 1 {
                *count = count.wrapping_add(1);
                self.has_change = true;
            }
        }
        self.has_motion |= (state.triggers, state.axes) != (reading.triggers, reading.axes);
        (state.triggers, state.axes) = (reading.triggers, reading.axes);
    }

    /// All buttons go up and all sticks to their rest: the player looks elsewhere.
    pub fn release_all(&mut self) {
        for state in self.pads.iter_mut().flatten() {
            let before = *state;
            release(state);
            self.has_change |= *state != before;
        }
    }

    /// The other end has a message.
    pub fn on_answer(&mut self, answer: &Answer) {
        self.told = self.told.filter(|told| *told > answer.message);
    }

    /// A message, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<Message> {
        self.next_deadline().filter(|due| *due <= now)?;
        self.number += 1;
        self.last_sent = Some(now);
        // Motion goes on, and the next message tells more of it: only a change or the last motion is worth an answer.
        let wants_answer = self.has_change || (self.told.is_some() && !self.has_motion);
        if self.has_change || self.has_motion {
            self.told = Some(self.number);
        }
        (self.has_change, self.has_motion) = (false, false);
        Some(Message { number: self.number, pads: self.pads, wants_answer })
    }

    /// When the next message is due; none while there is nothing to say.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let is_at_rest = |state: &State| {
            let released = state.changes.iter().all(|count| count & 1 == 0);
            released && state.triggers == [0; 2] && state.axes == [0; AXES]
        };
        let wait = if self.has_change {
            Duration::ZERO
        } else if self.has_motion {
            MOTION_INTERVAL
        } else if self.told.is_some() {
            REPETITION
        } else if !self.pads.iter().flatten().all(is_at_rest) {
            SIGN_OF_LIFE
        } else {
            return None;
        };
        Some(self.last_sent.map_or(Instant::ZERO, |last| last.saturating_add(wait)))
    }
}

fn release(state: &mut State) {
    for count in &mut state.changes {
        *count = count.wrapping_add(*count & 1);
    }
    (state.triggers, state.axes) = Default::default();
}
