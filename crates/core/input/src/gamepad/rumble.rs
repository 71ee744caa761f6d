//! What the program wants to be felt, as bytes, most significant first.
//!
//! Source: this project's own; `docs/wire-protocol.md` shows the layout. The two motors are those of `dual-rumble` (Gamepad, W3C) and of
//! `FF_RUMBLE` (Linux): a strong one that turns slowly, and a weak one that turns fast.

use super::PADS;
use gameway_units::Instant;

const MAGIC: [u8; 2] = *b"GR";
const VERSION: u8 = 1;
const LENGTH: usize = 10;

/// How strongly a gamepad is to rumble from now on, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RumbleState {
    /// The strong motor and the weak one, of 65535.
    pub strength: (u16, u16),
    /// When this changes, if it does not before.
    pub until: Instant,
}

/// From now on a gamepad rumbles so strongly, for so long, unless another one follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rumble {
    /// The gamepad's number, from zero.
    pub pad: usize,
    /// How strongly the strong motor turns, of 65535.
    pub strong: u16,
    /// How strongly the weak motor turns.
    pub weak: u16,
    /// For so long.
    pub millis: u16,
}

impl Rumble {
    /// As it is sent.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        let numbers = [self.strong, self.weak, self.millis].map(u16::to_be_bytes).concat();
        [&MAGIC[..], &[VERSION, self.pad as u8], &numbers].concat()
    }

    /// As it was received; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != LENGTH || bytes[..2] != MAGIC || bytes[2] != VERSION {
            return None;
        }
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let (pad, strong, weak, millis) = (usize::from(bytes[3]), half(4), half(6), half(8));
        (pad < PADS).then_some(Self { pad, strong, weak, millis })
    }
}
