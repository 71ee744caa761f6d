//! Keys by their place on the keyboard.
//!
//! Source: USB HID Usage Tables 1.4, section 10 (page 7), for the numbers; UI Events KeyboardEvent code Values (W3C),
//! section 3, for the names; the XKB keycodes `evdev` for the four letters that an X server knows the key by.

/// A key by its place: what is printed on it depends on the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u8);

/// A key with its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownKey {
    /// The key.
    pub key: Key,
    /// `code` of a browser's event.
    pub code: &'static str,
    /// Its name in XKB.
    pub xkb: &'static str,
}

impl Key {
    /// The key of this usage, if it is one of [`KEYS`].
    #[must_use]
    pub fn of_usage(usage: u8) -> Option<Self> {
        KEYS.iter().map(|known| known.key).find(|key| key.0 == usage)
    }

    /// The key that a browser calls so.
    #[must_use]
    pub fn named(code: &str) -> Option<Self> {
        KEYS.iter().find(|known| known.code == code).map(|known| known.key)
    }

    /// Its usage in HID's page of keys.
    #[must_use]
    pub fn usage(self) -> u8 {
        self.0
    }

    /// Its names.
    #[must_use]
    pub fn names(self) -> Option<&'static KnownKey> {
        KEYS.iter().find(|known| known.key == self)
    }

    pub(crate) fn place(self) -> usize {
        usize::from(self.0 / 8)
    }

    pub(crate) fn bit(self) -> u8 {
        1 << (self.0 % 8)
    }
}

const fn key(usage: u8, code: &'static str, xkb: &'static str) -> KnownKey {
    KnownKey { key: Key(usage), code, xkb }
}

/// All keys that are told, by usage.
pub const KEYS: &[KnownKey] = &[
    key(0x04, "KeyA", "AC01"),
    key(0x05, "KeyB", "AB05"),
    key(0x06, "KeyC", "AB03"),
    key(0x07, "KeyD", "AC03"),
    key(0x08, "KeyE", "AD03"),
    key(0x09, "KeyF", "AC04"),
    key(0x0a, "KeyG", "AC05"),
    key(0x0b, "KeyH", "AC06"),
    key(0x0c, "KeyI", "AD08"),
    key(0x0d, "KeyJ", "AC07"),
    key(0x0e, "KeyK", "AC08"),
    key(0x0f, "KeyL", "AC09"),
    key(0x10, "KeyM", "AB07"),
    key(0x11, "KeyN", "AB06"),
    key(0x12, "KeyO", "AD09"),
    key(0x13, "KeyP", "AD10"),
    key(0x14, "KeyQ", "AD01"),
    key(0x15, "KeyR", "AD04"),
    key(0x16, "KeyS", "AC02"),
    key(0x17, "KeyT", "AD05"),
    key(0x18, "KeyU", "AD07"),
    key(0x19, "KeyV", "AB04"),
    key(0x1a, "KeyW", "AD02"),
    key(0x1b, "KeyX", "AB02"),
    key(0x1c, "KeyY", "AD06"),
    key(0x1d, "KeyZ", "AB01"),
    key(0x1e, "Digit1", "AE01"),
    key(0x1f, "Digit2", "AE02"),
    key(0x20, "Digit3", "AE03"),
    key(0x21, "Digit4", "AE04"),
    key(0x22, "Digit5", "AE05"),
    key(0x23, "Digit6", "AE06"),
    key(0x24, "Digit7", "AE07"),
    key(0x25, "Digit8", "AE08"),
    key(0x26, "Digit9", "AE09"),
    key(0x27, "Digit0", "AE10"),
    key(0x28, "Enter", "RTRN"),
    key(0x29, "Escape", "ESC"),
    key(0x2a, "Backspace", "BKSP"),
    key(0x2b, "Tab", "TAB"),
    key(0x2c, "Space", "SPCE"),
    key(0x2d, "Minus", "AE11"),
    key(0x2e, "Equal", "AE12"),
    key(0x2f, "BracketLeft", "AD11"),
    key(0x30, "BracketRight", "AD12"),
    key(0x31, "Backslash", "BKSL"),
    key(0x33, "Semicolon", "AC10"),
    key(0x34, "Quote", "AC11"),
    key(0x35, "Backquote", "TLDE"),
    key(0x36, "Comma", "AB08"),
    key(0x37, "Period", "AB09"),
    key(0x38, "Slash", "AB10"),
    key(0x39, "CapsLock", "CAPS"),
    key(0x3a, "F1", "FK01"),
    key(0x3b, "F2", "FK02"),
    key(0x3c, "F3", "FK03"),
    key(0x3d, "F4", "FK04"),
    key(0x3e, "F5", "FK05"),
    key(0x3f, "F6", "FK06"),
    key(0x40, "F7", "FK07"),
    key(0x41, "F8", "FK08"),
    key(0x42, "F9", "FK09"),
    key(0x43, "F10", "FK10"),
    key(0x44, "F11", "FK11"),
    key(0x45, "F12", "FK12"),
    key(0x46, "PrintScreen", "PRSC"),
    key(0x47, "ScrollLock", "SCLK"),
    key(0x48, "Pause", "PAUS"),
    key(0x49, "Insert", "INS"),
    key(0x4a, "Home", "HOME"),
    key(0x4b, "PageUp", "PGUP"),
    key(0x4c, "Delete", "DELE"),
    key(0x4d, "End", "END"),
    key(0x4e, "PageDown", "PGDN"),
    key(0x4f, "ArrowRight", "RGHT"),
    key(0x50, "ArrowLeft", "LEFT"),
    key(0x51, "ArrowDown", "DOWN"),
    key(0x52, "ArrowUp", "UP"),
    key(0x53, "NumLock", "NMLK"),
    key(0x54, "NumpadDivide", "KPDV"),
    key(0x55, "NumpadMultiply", "KPMU"),
    key(0x56, "NumpadSubtract", "KPSU"),
    key(0x57, "NumpadAdd", "KPAD"),
    key(0x58, "NumpadEnter", "KPEN"),
    key(0x59, "Numpad1", "KP1"),
    key(0x5a, "Numpad2", "KP2"),
    key(0x5b, "Numpad3", "KP3"),
    key(0x5c, "Numpad4", "KP4"),
    key(0x5d, "Numpad5", "KP5"),
    key(0x5e, "Numpad6", "KP6"),
    key(0x5f, "Numpad7", "KP7"),
    key(0x60, "Numpad8", "KP8"),
    key(0x61, "Numpad9", "KP9"),
    key(0x62, "Numpad0", "KP0"),
    key(0x63, "NumpadDecimal", "KPDL"),
    key(0x64, "IntlBackslash", "LSGT"),
    key(0x65, "ContextMenu", "COMP"),
    key(0x67, "NumpadEqual", "KPEQ"),
    key(0x85, "NumpadComma", "KPPT"),
    key(0x87, "IntlRo", "AB11"),
    key(0x88, "KanaMode", "HKTG"),
    key(0x89, "IntlYen", "AE13"),
    key(0x8a, "Convert", "HENK"),
    key(0x8b, "NonConvert", "MUHE"),
    key(0xe0, "ControlLeft", "LCTL"),
    key(0xe1, "ShiftLeft", "LFSH"),
    key(0xe2, "AltLeft", "LALT"),
    key(0xe3, "MetaLeft", "LWIN"),
    key(0xe4, "ControlRight", "RCTL"),
    key(0xe5, "ShiftRight", "RTSH"),
    key(0xe6, "AltRight", "RALT"),
    key(0xe7, "MetaRight", "RWIN"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_one_number_and_names_of_its_own() {
        for pair in KEYS.windows(2) {
            assert!(pair[0].key < pair[1].key, "{pair:?}");
        }
        for known in KEYS {
            let same = |other: &&KnownKey| other.code == known.code || other.xkb == known.xkb;
            assert_eq!(KEYS.iter().filter(same).count(), 1, "{known:?}");
            assert_eq!(Key::named(known.code), Some(known.key));
            assert_eq!(Key::of_usage(known.key.usage()), Some(known.key));
            assert_eq!(known.key.names(), Some(known));
            assert!(known.xkb.len() <= 4);
        }
        assert_eq!((Key::of_usage(0), Key::of_usage(0xff), Key::named("")), (None, None, None));
    }

    /// Corners of the tables of HID, so that a shifted row is found.
    #[test]
    fn numbers_are_those_of_hid() {
        for (code, usage) in [
            ("KeyA", 4),
            ("KeyZ", 29),
            ("Digit1", 30),
            ("Digit0", 39),
            ("Enter", 40),
            ("Slash", 56),
            ("F1", 58),
            ("F12", 69),
            ("ArrowUp", 82),
            ("Numpad1", 89),
            ("Numpad0", 98),
            ("ControlLeft", 224),
            ("MetaRight", 231),
        ] {
            assert_eq!(Key::named(code).map(Key::usage), Some(usage), "{code}");
        }
    }
}
