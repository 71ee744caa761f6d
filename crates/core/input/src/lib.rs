//! What a player does, on its way from the player's device to the program that is played.
//!
//! Source: the numbers of keys are the usages of page 7 of the USB HID Usage Tables 1.4, section 10; UI Events
//! (W3C) names the same keys (`code`). The way of telling is this project's own; `docs/wire-protocol.md` has it byte by byte.
//! Model: the player's end ([`Player`]) says which keys and buttons are held, each change that is not acknowledged yet, and
//! how far pointer and wheel have moved in all. Every message holds all of this, so none waits for another one,
//! and one that is lost costs nothing once the next is there. The program's end ([`Program`]) takes the newest
//! message, turns it into [`Action`]s and releases everything when nothing is heard any more.
//!
//! ```text
//! browser, client ─► Player ─► message ─► unordered channel ─► Program ─► Action ─► screen
//!                      ▲                                          │
//!                      └──────────── Acknowledgement ◄────────────┘
//! ```
//!
//! The other way goes the [`Shape`] that the program gives to the pointer, so that the player's device draws it.
//! Gamepads have messages of their own on the same channel: [`gamepad`]. The clipboard has a channel of its own: [`clipboard`].
//!
//! # Examples
//! A key that is pressed and released while the first message is lost:
//! ```
//! use gameway_input::{Action, Key, Player, Program, Switch};
//! use gameway_units::Instant;
//!
//! let (mut player, mut program) = (Player::default(), Program::default());
//! let key = Switch::Key(Key::named("KeyW").expect("a key"));
//! player.press(key);
//! let lost = player.poll(Instant::ZERO);
//! player.release(key);
//! let message = player.poll(Instant::ZERO).expect("a change is told at once");
//! let acknowledgement = program.on_message(Instant::ZERO, &message);
//! player.on_acknowledgement(&acknowledgement.expect("changes are acknowledged"));
//! assert_eq!(program.poll(), Some(Action::Press(key)));
//! assert_eq!(program.poll(), Some(Action::Release(key)));
//! # assert!(lost.is_some());
//! ```

pub mod clipboard;
pub mod gamepad;
mod held;
mod keys;
mod message;
mod player;
mod program;
mod shape;

pub use held::{Button, Held, Switch};
pub use keys::{KEYS, Key, KnownKey};
pub use message::{Acknowledgement, Change, Message, Pointer};
pub use player::Player;
pub use program::{Action, Program};
pub use shape::{Image, Shape};

/// The label of the data channel: unordered, and not repeated by the transport.
pub const CHANNEL: &str = "input";
/// The label of the data channel for the pointer's [`Shape`]: in order, and repeated until it arrives.
pub const SHAPE_CHANNEL: &str = "pointer";
