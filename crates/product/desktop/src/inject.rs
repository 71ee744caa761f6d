//! A player's actions on an X11 screen.
//!
//! Source: XTEST Extension Protocol 2.2, section "Requests" (FakeInput); The X Keyboard Extension protocol 1.0, section 17 (GetNames): a key is found
//! by its name, which says its place, so that neither the layout nor the table of keycodes matters. X11 has no wheel: a notch is
//! a click of button 4 (up), 5 (down), 6 (left) or 7 (right), and 8 and 9 are the buttons at the side.

use crate::DesktopError;
use crate::typing::Typing;
use crate::x11::connect_with;
use gameway_input::{Action, Button, KEYS, Key, Switch};
use gameway_units::Instant;
use std::error::Error;
use std::path::Path;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xkb::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ChangeWindowAttributesAux, ConnectionExt as _,
    EventMask, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, Window,
};
use x11rb::protocol::xtest::{self, ConnectionExt as _};
use x11rb::rust_connection::RustConnection;

/// So much of the wheel is a notch.
const NOTCH: i32 = 120;
/// Coordinates of X11 have 16 bits with a sign.
const MAX_STEP: i32 = i16::MAX as i32;

/// See the module's head.
#[derive(Debug)]
pub struct Injector {
    connection: RustConnection,
    display: String,
    root: Window,
    size: (u16, u16),
    /// Keycodes by usage; 0 is none.
    keycodes: [u8; 256],
    /// What of a notch is left over.
    turned: (i32, i32),
    unknown: Vec<Key>,
    /// Keycodes that are held.
    held: Vec<u8>,
    typing: Typing,
}

impl Injector {
    /// For a display (":0"; `None` for the environment's); see [`crate::connect`].
    ///
    /// # Errors
    /// [`DesktopError::Display`] says what is missing.
    pub fn connect(display: Option<&str>, authority: Option<&Path>) -> Result<Self, DesktopError> {
        let extensions = [xtest::X11_EXTENSION_NAME, xkb::X11_EXTENSION_NAME];
        let (connection, screen) = connect_with(display, authority, &extensions)?;
        let failed = |reason: String| DesktopError::display(display, reason);
        let root = &connection.setup().roots[screen];
        let (root, size) = (root.root, (root.width_in_pixels, root.height_in_pixels));
        let keycodes = prepare(&connection, root).map_err(|error| failed(error.to_string()))?;
        let typing =
            Typing::new(&connection, &keycodes).map_err(|error| failed(error.to_string()))?;
        let display = display.unwrap_or("of DISPLAY").to_owned();
        Ok(Self {
            connection,
            display,
            root,
            size,
            keycodes,
            turned: (0, 0),
            unknown: Vec::new(),
            held: Vec::new(),
            typing,
        })
    }

    /// Does all of these, in their order.
    ///
    /// # Errors
    /// [`DesktopError::Display`] when the server is gone.
    pub fn apply(
        &mut self,
        now: Instant,
        actions: impl IntoIterator<Item = Action>,
    ) -> Result<(), DesktopError> {
        let mut actions = actions.into_iter();
        self.apply_each(now, |_| actions.next())
    }

    /// Does what is given, one after the other, until nothing is: who gives may ask whether an action [is ready](Self::is_ready).
    ///
    /// # Errors
    /// As of [`Self::apply`].
    pub fn apply_each(
        &mut self,
        now: Instant,
        mut next: impl FnMut(&Self) -> Option<Action>,
    ) -> Result<(), DesktopError> {
        self.follow_server().map_err(|error| self.gone(&*error))?;
        while let Some(action) = next(self) {
            self.act(now, action).map_err(|error| self.gone(&*error))?;
        }
        let idle = self.typing.on_deadline(&self.connection, now);
        idle.map_err(|error| self.gone(&*error))?;
        self.connection.flush().map_err(|error| self.gone(&error))
    }

    /// When it is to be called without an action: what text has changed of the keyboard is put back.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.typing.next_deadline()
    }

    /// Whether nothing has to wait for this; a character may have to for a quarter of a second.
    #[must_use]
    pub fn is_ready(&self, now: Instant, action: &Action) -> bool {
        match action {
            Action::Type(character) => self.typing.is_ready(now, *character),
            _ => true,
        }
    }

    /// Keys that were pressed and that the server's keyboard lacks, each once.
    #[must_use]
    pub fn unknown_keys(&self) -> &[Key] {
        &self.unknown
    }

    /// Characters that were not typed since the server's keyboard has no keycode for them, each once.
    #[must_use]
    pub fn untyped(&self) -> &[char] {
        self.typing.untyped()
    }

    fn gone(&self, error: &dyn Error) -> DesktopError {
        DesktopError::gone(&self.display, error)
    }

    fn act(&mut self, now: Instant, action: Action) -> Result<(), Box<dyn Error>> {
        match action {
            Action::Press(switch) => self.switch(switch, true),
            Action::Release(switch) => self.switch(switch, false),
            Action::MoveTo(x, y) => {
                let (x, y) = (place(x, self.size.0), place(y, self.size.1));
                self.fake(MOTION_NOTIFY_EVENT, 0, (x, y))
            }
            Action::MoveBy(x, y) => {
                let bounded = |by: i32| by.clamp(-MAX_STEP, MAX_STEP) as i16;
                self.fake(MOTION_NOTIFY_EVENT, 1, (bounded(x), bounded(y)))
            }
            Action::Turn(x, y) => {
                let (across, down) =
                    (self.turned.0.saturating_add(x), self.turned.1.saturating_add(y));
                self.turned = (across % NOTCH, down % NOTCH);
                self.click(down / NOTCH, (4, 5))?;
                self.click(across / NOTCH, (6, 7))
            }
            Action::Type(character) => {
                let keycodes = (&self.held[..], &self.keycodes[..]);
                self.typing.type_character(&self.connection, self.root, now, keycodes, character)
            }
        }
    }

    fn switch(&mut self, switch: Switch, is_held: bool) -> Result<(), Box<dyn Error>> {
        match switch {
            Switch::Key(key) => match self.keycodes[usize::from(key.usage())] {
                0 => {
                    if !self.unknown.contains(&key) {
                        self.unknown.push(key);
                    }
                    Ok(())
                }
                keycode => {
                    self.held.retain(|held| *held != keycode);
                    self.held.extend(is_held.then_some(keycode));
                    let kind = if is_held { KEY_PRESS_EVENT } else { KEY_RELEASE_EVENT };
                    self.fake(kind, keycode, (0, 0))
                }
            },
            Switch::Button(button) => {
                let number = match button {
                    Button::Left => 1,
                    Button::Middle => 2,
                    Button::Right => 3,
                    Button::Back => 8,
                    Button::Forward => 9,
                };
                let kind = if is_held { BUTTON_PRESS_EVENT } else { BUTTON_RELEASE_EVENT };
                self.fake(kind, number, (0, 0))
            }
        }
    }

    /// So many clicks of the second button, or of the first if they are negative.
    fn click(&self, notches: i32, (back, forth): (u8, u8)) -> Result<(), Box<dyn Error>> {
        let button = if notches < 0 { back } else { forth };
        for _ in 0..notches.abs() {
            self.fake(BUTTON_PRESS_EVENT, button, (0, 0))?;
            self.fake(BUTTON_RELEASE_EVENT, button, (0, 0))?;
        }
        Ok(())
    }

    fn fake(&self, kind: u8, detail: u8, (x, y): (i16, i16)) -> Result<(), Box<dyn Error>> {
        let now = x11rb::CURRENT_TIME;
        self.connection.xtest_fake_input(kind, detail, now, self.root, x, y, 0)?;
        Ok(())
    }

    /// The program may change the screen's size, and the layout. What else the server says is of no use here, and must not pile up.
    fn follow_server(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(event) = self.connection.poll_for_event()? {
            match event {
                Event::ConfigureNotify(event) if event.window == self.root => {
                    self.size = (event.width, event.height);
                }
                Event::XkbMapNotify(event) => {
                    self.typing.on_mapping(Some((event.first_key_sym, event.n_key_syms)));
                }
                Event::XkbNewKeyboardNotify(_) => self.typing.on_mapping(None),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Injector {
    /// Leaves the keyboard as it was.
    fn drop(&mut self) {
        // A server that is gone has nothing to be put back.
        let _ = self.typing.empty(&self.connection);
        let _ = self.connection.flush();
    }
}

/// From 0 to 65535 to a pixel of so many.
fn place(fraction: u16, pixels: u16) -> i16 {
    let (last, full) = (u32::from(pixels.saturating_sub(1)), u32::from(u16::MAX));
    let rounded = (u32::from(fraction) * last + full / 2) / full;
    i16::try_from(rounded).unwrap_or(i16::MAX)
}

/// Asks for the changes of the screen's size; the keycodes of keys by their usage.
fn prepare(connection: &RustConnection, root: Window) -> Result<[u8; 256], Box<dyn Error>> {
    let wanted = ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
    connection.change_window_attributes(root, &wanted)?.check()?;
    if !connection.xkb_use_extension(1, 0)?.reply()?.supported {
        return Err("the X server has another version of XKEYBOARD".into());
    }
    let core = xkb::ID::USE_CORE_KBD.into();
    let wanted = xkb::NameDetail::KEY_NAMES | xkb::NameDetail::KEY_ALIASES;
    let names = connection.xkb_get_names(core, wanted)?.reply()?;
    let (first, names) = (names.first_key, names.value_list);
    let (aliases, names) =
        (names.key_aliases.unwrap_or_default(), names.key_names.unwrap_or_default());
    let padded = |name: &str| {
        let mut bytes = [0; 4];
        bytes.iter_mut().zip(name.bytes()).for_each(|(byte, letter)| *byte = letter);
        bytes
    };
    let find = |wanted: [u8; 4]| names.iter().position(|own| own.name == wanted);
    let mut keycodes = [0; 256];
    for key in KEYS {
        let name = padded(key.xkb);
        let alias = aliases.iter().find(|alias| alias.alias == name).map(|alias| alias.real);
        if let Some(at) = find(name).or_else(|| find(alias?)) {
            keycodes[usize::from(key.key.usage())] = (usize::from(first) + at) as u8;
        }
    }
    Ok(keycodes)
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn both_ends_are_pixels() {
        assert_eq!([0, 32_768, 65_535].map(|x| place(x, 1_280)), [0, 640, 1_279]);
        assert_eq!([0, 65_535].map(|x| place(x, 1)), [0, 0]);
        assert_eq!(place(65_535, 65_535), i16::MAX);
        // Every pixel is met.
        let mut met: Vec<i16> = (0..=65_535).map(|x| place(x, 1_920)).collect();
        met.dedup();
        assert_eq!(met, (0..1_920).collect::<Vec<_>>());
    }
}
