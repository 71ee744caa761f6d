//! Keys and buttons, and which of them are held.

use crate::Key;

/// A button of the mouse, as UI Events number them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Button {
    /// The left one.
    Left = 0,
    /// The wheel.
    Middle = 1,
    /// The right one.
    Right = 2,
    /// The first at the side.
    Back = 3,
    /// The second at the side.
    Forward = 4,
}

impl Button {
    /// All of them, by number.
    pub const ALL: [Self; 5] = [Self::Left, Self::Middle, Self::Right, Self::Back, Self::Forward];

    /// That of this number.
    #[must_use]
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// What is either held or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Switch {
    /// A key.
    Key(Key),
    /// A button of the mouse.
    Button(Button),
}

/// Which keys and buttons are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// A bit for each usage of HID's page of keys, the lowest first.
    pub(crate) keys: [u8; 32],
    /// A bit for each button, the lowest first.
    pub(crate) buttons: u8,
}

impl Held {
    /// Whether this one is.
    #[must_use]
    pub fn contains(&self, switch: Switch) -> bool {
        match switch {
            Switch::Key(key) => self.keys[key.place()] & key.bit() != 0,
            Switch::Button(button) => self.buttons & (1 << button as u8) != 0,
        }
    }

    /// Holds it or releases it; whether that changed anything.
    pub fn set(&mut self, switch: Switch, is_held: bool) -> bool {
        let changes = self.contains(switch) != is_held;
        if changes {
            match switch {
                Switch::Key(key) => self.keys[key.place()] ^= key.bit(),
                Switch::Button(button) => self.buttons ^= 1 << button as u8,
            }
        }
        changes
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is held, keys first.
    pub fn iter(&self) -> impl Iterator<Item = Switch> + '_ {
        let keys = crate::KEYS.iter().map(|known| Switch::Key(known.key));
        let buttons = Button::ALL.into_iter().map(Switch::Button);
        keys.chain(buttons).filter(|switch| self.contains(*switch))
    }

    /// Of these bits, those of keys and buttons that there are.
    pub(crate) fn known(keys: [u8; 32], buttons: u8) -> Self {
        let mut held = Self::default();
        let all = Self { keys, buttons };
        for switch in all.iter() {
            held.set(switch, true);
        }
        held
    }
}
