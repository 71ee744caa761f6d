//! Gamepads, by the standard mapping, and the rumble that the program asks for.
//!
//! Source: Gamepad (W3C), section "Remapping", for the numbers of buttons and axes. The way of telling is this project's own;
//! `docs/wire-protocol.md` has it byte by byte.
//! Model: as for keys, each message holds all that there is to say, so that none waits for another one and nothing can stick. How
//! often a button has changed takes the place of a list of changes: an odd count is a button that is held, and what was pressed
//! and released while messages were lost is seen by the count. The order of two buttons within one message is not told.
//!
//! ```text
//! navigator.getGamepads ─► Player ─► Message ─► unordered channel ─► Program ─► Action ─► uinput
//!                            ▲                                          │                   │
//!                            └────────────── Answer ◄───────────────────┘                   │
//!  vibrationActuator ◄────────────────────── Rumble ◄── ordered channel ◄───────────────────┘
//! ```
//!
//! # Examples
//! A button that is pressed and released while the first message is lost:
//! ```
//! use gameway_input::gamepad::{Action, Button, Event, Player, Program, Reading};
//! use gameway_units::{Duration, Instant};
//!
//! let (mut player, mut program, mut now) = (Player::default(), Program::default(), Instant::ZERO);
//! let mut tell = |player: &mut Player, program: &mut Program, is_lost: bool| {
//!     let message = player.poll(now).expect("a change is told at once");
//!     now = now.saturating_add(Duration::from_millis(20));
//!     if !is_lost {
//!         program.on_message(now, &message);
//!     }
//! };
//! let at_rest = Reading::default();
//! player.read(0, Some(&at_rest));
//! tell(&mut player, &mut program, false);
//! player.read(0, Some(&Reading { pressed: 1 << Button::South as u8, ..at_rest }));
//! tell(&mut player, &mut program, true);
//! player.read(0, Some(&at_rest));
//! tell(&mut player, &mut program, false);
//! let events: Vec<Event> = std::iter::from_fn(|| program.poll()).map(|action| action.event).collect();
//! assert_eq!(events, [Event::Appear, Event::Press(Button::South), Event::Release(Button::South)]);
//! ```

mod message;
mod player;
mod program;
mod rumble;

pub use message::{Answer, Message, Missing, State};
pub use player::{Player, Reading};
pub use program::{Action, Axis, Button, Event, Program, Trigger};
pub use rumble::{Rumble, RumbleState};

/// The most gamepads of a player: as many as browsers give.
pub const PADS: usize = 4;
/// The label of the data channel for [`Rumble`]: in order, and repeated until it arrives.
pub const RUMBLE_CHANNEL: &str = "rumble";
/// Buttons of the standard mapping, the two triggers among them.
pub(crate) const BUTTONS: usize = 17;
pub(crate) const AXES: usize = 4;
/// The numbers of the triggers among the buttons.
pub(crate) const TRIGGERS: [usize; 2] = [6, 7];
