//! The program's end: messages of gamepads become what devices do.
//!
//! Source: this project's own; the numbers of buttons and axes are those of Gamepad (W3C), section "Remapping".
//! Model: only a message that is newer than all before counts, since it holds all that they held. Sticks move first, then each
//! button makes up for the changes that it has counted, and ends as the count says. All go to their rest when nothing is
//! heard for half a second, as keys do (`program`), and are again as told by the next message. The device stays meanwhile: games
//! stop when one goes.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | most changes of a button in a message | 8 | four presses: what a fast finger does in half a second; a count that lies does no more |

use super::{AXES, BUTTONS, Message, PADS, State, TRIGGERS};
use crate::program::SILENCE;
use gameway_units::Instant;
use std::collections::VecDeque;

const MAX_CHANGES: u8 = 8;
const PULLED: u8 = u8::MAX;

/// A button by its number in the standard mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Button {
    /// The lowest of the right four.
    South = 0,
    /// The right one.
    East = 1,
    /// The left one.
    West = 2,
    /// The highest.
    North = 3,
    /// At the left shoulder.
    LeftShoulder = 4,
    /// At the right shoulder.
    RightShoulder = 5,
    /// Left of the middle.
    Select = 8,
    /// Right of the middle.
    Start = 9,
    /// The left stick, pressed.
    LeftStick = 10,
    /// The right stick, pressed.
    RightStick = 11,
    /// The pad of directions.
    Up = 12,
    /// As above.
    Down = 13,
    /// As above.
    Left = 14,
    /// As above.
    Right = 15,
    /// In the middle.
    Home = 16,
}

impl Button {
    /// All of them, by number.
    pub const ALL: [Self; 15] = [
        Self::South,
        Self::East,
        Self::West,
        Self::North,
        Self::LeftShoulder,
        Self::RightShoulder,
        Self::Select,
        Self::Start,
        Self::LeftStick,
        Self::RightStick,
        Self::Up,
        Self::Down,
        Self::Left,
        Self::Right,
        Self::Home,
    ];
}

/// A trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

/// An axis of a stick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// The left stick to the right.
    LeftX,
    /// The left stick down.
    LeftY,
    /// The right stick to the right.
    RightX,
    /// The right stick down.
    RightY,
}

const AXIS: [Axis; AXES] = [Axis::LeftX, Axis::LeftY, Axis::RightX, Axis::RightY];

/// What happens to a gamepad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It is there, at rest.
    Appear,
    /// It is gone.
    Vanish,
    /// A button goes down.
    Press(Button),
    /// It goes up.
    Release(Button),
    /// A trigger is pulled so far.
    Pull(Trigger, u8),
    /// A stick is here on this axis.
    Move(Axis, i16),
}

/// Something to do to a gamepad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// Its number, from zero.
    pub pad: usize,
    /// What.
    pub event: Event,
}

/// A gamepad as it is for the program, and the counts that have led there.
#[derive(Debug, Clone, Copy, Default)]
struct Pad {
    state: State,
    /// A bit for each button that is held: silence releases it, and the count is odd all the same.
    held: u32,
}

/// See the module's head.
#[derive(Debug, Clone)]
pub struct Program {
    newest: u32,
    pads: [Option<Pad>; PADS],
    heard: Instant,
    actions: VecDeque<Action>,
}

impl Default for Program {
    fn default() -> Self {
        Self { newest: 0, pads: [None; PADS], heard: Instant::ZERO, actions: VecDeque::new() }
    }
}

impl Program {
    /// A message has come; the number of the newest one, if that is to be answered. Poll for actions then.
    pub fn on_message(&mut self, now: Instant, message: &Message) -> Option<u32> {
        if message.number > self.newest {
            (self.newest, self.heard) = (message.number, now);
            for (pad, told) in message.pads.iter().enumerate() {
                match told {
                    Some(told) => self.follow(pad, told),
                    None => self.remove(pad),
                }
            }
        }
        // Of an old one, too: the answer before may be lost.
        message.wants_answer.then_some(self.newest)
    }

    /// All buttons go up and all sticks to their rest; the gamepads stay.
    pub fn release_all(&mut self) {
        for pad in 0..PADS {
            if let Some(own) = self.pads[pad] {
                self.set(pad, own, &State { changes: own.state.changes, ..State::default() }, 0);
            }
        }
    }

    /// All gamepads go: the player is gone, or another one has come.
    pub fn remove_all(&mut self) {
        (0..PADS).for_each(|pad| self.remove(pad));
    }

    /// What to do to a gamepad next.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Self::on_deadline`] is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let is_off_rest = |own: &Pad| {
            own.held != 0 || own.state.triggers != [0; 2] || own.state.axes != [0; AXES]
        };
        let is_due = self.pads.iter().flatten().any(is_off_rest);
        is_due.then(|| self.heard.saturating_add(SILENCE))
    }

    /// Time has passed; poll for actions then.
    pub fn on_deadline(&mut self, now: Instant) {
        if self.next_deadline().is_some_and(|due| due <= now) {
            self.release_all();
        }
    }

    fn push(&mut self, pad: usize, event: Event) {
        self.actions.push_back(Action { pad, event });
    }

    fn remove(&mut self, pad: usize) {
        if self.pads[pad].take().is_some() {
            self.push(pad, Event::Vanish);
        }
    }

    fn follow(&mut self, pad: usize, told: &State) {
        let own = self.pads[pad].unwrap_or_else(|| {
            self.push(pad, Event::Appear);
            // What it did before is of no use.
            Pad { state: State { changes: told.changes, ..State::default() }, held: 0 }
        });
        let held = |(button, count): (usize, &u8)| u32::from(count & 1) << button;
        let held = told.changes.iter().enumerate().map(held).sum();
        self.set(pad, own, told, held);
    }

    /// Makes it as it is told, with these buttons held at last.
    fn set(&mut self, pad: usize, own: Pad, told: &State, held: u32) {
        for (axis, (was, is)) in AXIS.into_iter().zip(own.state.axes.iter().zip(told.axes)) {
            if *was != is {
                self.push(pad, Event::Move(axis, is));
            }
        }
        for (side, button) in [Trigger::Left, Trigger::Right].into_iter().zip(TRIGGERS) {
            let flips = flips(&own, told, held, button);
            let mut value = own.state.triggers[button - TRIGGERS[0]];
            // The last change is in how far it is pulled; what came before it is a whole pull.
            for is_held in flips.filter(|(left, _)| *left > 0).map(|(_, is_held)| is_held) {
                value = if is_held { PULLED } else { 0 };
                self.push(pad, Event::Pull(side, value));
            }
            let wanted = told.triggers[button - TRIGGERS[0]];
            if value != wanted {
                self.push(pad, Event::Pull(side, wanted));
            }
        }
        for button in Button::ALL {
            for (_, is_held) in flips(&own, told, held, button as usize) {
                let event = if is_held { Event::Press(button) } else { Event::Release(button) };
                self.push(pad, event);
            }
        }
        self.pads[pad] = Some(Pad { state: *told, held });
    }
}

/// The changes of a button that lead from what it is to what is told: for each, how many follow, and whether it is held then.
fn flips(own: &Pad, told: &State, held: u32, button: usize) -> impl Iterator<Item = (u8, bool)> {
    debug_assert!(button < BUTTONS);
    let counted = told.changes[button].wrapping_sub(own.state.changes[button]).min(MAX_CHANGES);
    let (was, is) = (own.held >> button & 1 == 1, held >> button & 1 == 1);
    // As many as were counted, as far as they end where they must.
    let count = if was == is { counted & !1 } else { 1 + (counted.saturating_sub(1) & !1) };
    (0..count).map(move |done| (count - 1 - done, was ^ (done & 1 == 0)))
}
