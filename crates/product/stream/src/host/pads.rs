//! The player's gamepads as devices of this machine, for what is played on a screen.

use crate::host::notes::tell;
use crate::host::session::Session;
use gameway_desktop::{Gamepads, NoDevices};
use gameway_input::gamepad::{Action, Event, Missing};
use gameway_units::Instant;
use std::os::fd::BorrowedFd;

/// See the module's head.
pub(super) struct Pads {
    gamepads: Gamepads,
    /// Why there are none, since a gamepad came.
    missing: Option<NoDevices>,
}

impl Default for Pads {
    fn default() -> Self {
        Self { gamepads: Gamepads::default(), missing: Gamepads::look().err() }
    }
}

impl Pads {
    /// Does this. Play goes on without gamepads where there can be none.
    pub(super) fn apply(&mut self, action: Action) {
        let done = self.gamepads.apply(action);
        match (done, action.event) {
            (Err(missing), _) => {
                tell("no gamepads", &format!("{missing}; to mend it, {}", missing.mend));
                self.missing = Some(missing);
            }
            // It was mended.
            (Ok(()), Event::Appear) => self.missing = None,
            (Ok(()), _) => {}
        }
    }

    pub(super) fn missing(&self) -> Missing {
        if self.missing.is_some() { Missing::Devices } else { Missing::Nothing }
    }

    /// Tells this session what programs want to be felt.
    pub(super) fn feel(&mut self, now: Instant, session: &mut Session) {
        session.rumble(now, self.gamepads.feel(now));
    }

    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.gamepads.descriptors()
    }
}
