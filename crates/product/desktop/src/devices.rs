//! A player's keyboard and mouse as devices of Linux, by uinput: for screens into which no server takes input, as those of Wayland.
//!
//! Source: Linux, Documentation/input/event-codes.rst and uinput.rst; the kernel's codes of keys by their usage are those of its driver of HID
//! (drivers/hid/hid-input.c), as `linux/input-event-codes.h` names them. libinput takes a device with absolute axes and buttons of a mouse for a
//! pointer that is put where it is told, as it does those of virtual machines. It reads one device after the other,
//! so what has an order is told by one: buttons and wheel are those of the device that has moved last.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | axes | 0 to 65535 | the player's own; the compositor makes pixels of its screens of it |
//! | notch | 120 | REL_WHEEL_HI_RES counts so many for each of REL_WHEEL |
//!
//! | limit | why |
//! |---|---|
//! | text is not typed | a device has keys, and which characters they give only the compositor knows |
//! | libinput accelerates the mouse, as any mouse | the compositor's settings say how much; a game that locks the pointer can have the motion itself |
//! | a pointer is put on all of the desktop's screens together | the compositor maps the axes; its settings can bind a device to a screen |

use crate::NoDevices;
use crate::pace::Pace;
use evdev::uinput::VirtualDevice;
use evdev::{
    AbsInfo, AbsoluteAxisCode as Absolute, AttributeSet, BusType, EventType, InputEvent, InputId,
    KeyCode, RelativeAxisCode as Relative, UinputAbsSetup,
};
use gameway_input::{Action, Button, KEYS, Key, Switch};
use gameway_units::Instant;
use std::io;

const NOTCH: i32 = 120;
const LAST: i32 = u16::MAX as i32;
const WHEEL: [Relative; 4] = [
    Relative::REL_WHEEL,
    Relative::REL_HWHEEL,
    Relative::REL_WHEEL_HI_RES,
    Relative::REL_HWHEEL_HI_RES,
];
const BUTTONS: [KeyCode; 5] = [
    KeyCode::BTN_LEFT,
    KeyCode::BTN_RIGHT,
    KeyCode::BTN_MIDDLE,
    KeyCode::BTN_SIDE,
    KeyCode::BTN_EXTRA,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeviceKind {
    Keyboard,
    Mouse,
    Tablet,
}

/// See the module's head. They go with this, or when the process ends, however it ends.
#[derive(Debug)]
pub struct InputDevices {
    keyboard: VirtualDevice,
    mouse: VirtualDevice,
    /// A pointer that is put somewhere is no mouse: libinput takes a device for one of both.
    tablet: VirtualDevice,
    /// What of a notch is left over.
    turned: (i32, i32),
    /// Where the pointer was put last.
    place: (u16, u16),
    /// The one that has moved last.
    moved: DeviceKind,
    pace: Pace,
    /// What is pressed, and where: it is released there.
    held: Vec<(KeyCode, DeviceKind)>,
}

impl InputDevices {
    /// Makes them. Programs need a moment to find them.
    ///
    /// # Errors
    /// What is missing, and how to mend it.
    pub fn make() -> Result<Self, NoDevices> {
        let made = || -> io::Result<Self> {
            let keys: AttributeSet<KeyCode> =
                KEYS.iter().filter_map(|known| code(known.key)).collect();
            let keyboard = named("Gameway keyboard")?.with_keys(&keys)?.build()?;
            let buttons = AttributeSet::from_iter(BUTTONS);
            let wheel = AttributeSet::from_iter(WHEEL);
            let mut motion = AttributeSet::from_iter(WHEEL);
            motion.insert(Relative::REL_X);
            motion.insert(Relative::REL_Y);
            let mouse = named("Gameway mouse")?.with_keys(&buttons)?.with_relative_axes(&motion)?;
            let axis = |code| UinputAbsSetup::new(code, AbsInfo::new(0, 0, LAST, 0, 0, 0));
            let tablet = named("Gameway pointer")?
                .with_keys(&buttons)?
                .with_relative_axes(&wheel)?
                .with_absolute_axis(&axis(Absolute::ABS_X))?
                .with_absolute_axis(&axis(Absolute::ABS_Y))?;
            let (mouse, tablet) = (mouse.build()?, tablet.build()?);
            Ok(Self {
                keyboard,
                mouse,
                tablet,
                turned: (0, 0),
                // As the kernel has it of a new device.
                place: (0, 0),
                moved: DeviceKind::Tablet,
                pace: Pace::default(),
                held: Vec::new(),
            })
        };
        made().map_err(|error| NoDevices::of(&error))
    }

    /// From when on this can be done so that programs are told of it, and in this order; mostly that is past.
    #[must_use]
    pub fn ready_at(&self, action: &Action) -> Instant {
        self.pace.ready_at(action)
    }

    /// Does this, whether it is [ready](Self::ready_at) or not.
    ///
    /// # Errors
    /// A device takes nothing any more.
    pub fn apply(&mut self, now: Instant, action: Action) -> Result<(), NoDevices> {
        self.pace.note(now, &action);
        let done = match action {
            Action::Press(switch) => self.switch(switch, true),
            Action::Release(switch) => self.switch(switch, false),
            Action::MoveTo(x, y) => self.put((x, y)),
            Action::MoveBy(x, y) => {
                self.moved = DeviceKind::Mouse;
                self.mouse.emit(&moved((Relative::REL_X, x), (Relative::REL_Y, y)))
            }
            Action::Turn(x, y) => self.turn(x, y),
            Action::Type(_) => Ok(()),
        };
        done.map_err(|error| NoDevices::of(&error))
    }

    /// The kernel tells nobody of a place that this device has already, though another device may have moved the pointer away since.
    fn put(&mut self, place: (u16, u16)) -> io::Result<()> {
        let (x, y) = place;
        let beside = (place == self.place).then_some(x ^ 1);
        (self.place, self.moved) = (place, DeviceKind::Tablet);
        let events = beside.into_iter().chain([x]).map(|x| (Absolute::ABS_X, x));
        let events = events.chain([(Absolute::ABS_Y, y)]);
        let told = events.map(|(axis, at)| event(EventType::ABSOLUTE, axis.0, at.into()));
        self.tablet.emit(&told.collect::<Vec<_>>())
    }

    fn switch(&mut self, switch: Switch, is_held: bool) -> io::Result<()> {
        let (which, code) = match switch {
            Switch::Key(key) => (DeviceKind::Keyboard, code(key)),
            Switch::Button(button) => (self.moved, Some(button_code(button))),
        };
        let Some(code) = code else { return Ok(()) };
        let before = self.held.iter().position(|(held, _)| *held == code);
        let which = before.map_or(which, |at| self.held.swap_remove(at).1);
        self.held.extend(is_held.then_some((code, which)));
        self.device(which).emit(&[event(EventType::KEY, code.0, is_held.into())])
    }

    fn device(&mut self, which: DeviceKind) -> &mut VirtualDevice {
        match which {
            DeviceKind::Keyboard => &mut self.keyboard,
            DeviceKind::Mouse => &mut self.mouse,
            DeviceKind::Tablet => &mut self.tablet,
        }
    }

    /// Down and to the right are positive to a player; of a wheel, up and to the right are.
    fn turn(&mut self, x: i32, y: i32) -> io::Result<()> {
        let (x, y) = (x, y.saturating_neg());
        let sum = (self.turned.0.saturating_add(x), self.turned.1.saturating_add(y));
        self.turned = (sum.0 % NOTCH, sum.1 % NOTCH);
        let fine = moved((Relative::REL_HWHEEL_HI_RES, x), (Relative::REL_WHEEL_HI_RES, y));
        let notches =
            moved((Relative::REL_HWHEEL, sum.0 / NOTCH), (Relative::REL_WHEEL, sum.1 / NOTCH));
        self.device(self.moved).emit(&[fine, notches].concat())
    }
}

impl Drop for InputDevices {
    /// A device that goes with a key held leaves it held for some compositors.
    fn drop(&mut self) {
        for (code, which) in std::mem::take(&mut self.held) {
            // A device that takes nothing any more is gone, and what it held with it.
            let _ = self.device(which).emit(&[event(EventType::KEY, code.0, 0)]);
        }
    }
}

fn named(name: &str) -> io::Result<evdev::uinput::VirtualDeviceBuilder<'_>> {
    let id = InputId::new(BusType::BUS_VIRTUAL, 0, 0, 1);
    Ok(VirtualDevice::builder()?.name(name).input_id(id))
}

fn event(kind: EventType, code: u16, value: i32) -> InputEvent {
    InputEvent::new(kind.0, code, value)
}

/// What has moved: an axis that has not is not told.
fn moved(first: (Relative, i32), second: (Relative, i32)) -> Vec<InputEvent> {
    let moved = [first, second].into_iter().filter(|(_, by)| *by != 0);
    moved.map(|(axis, by)| event(EventType::RELATIVE, axis.0, by)).collect()
}

fn button_code(button: Button) -> KeyCode {
    match button {
        Button::Left => KeyCode::BTN_LEFT,
        Button::Middle => KeyCode::BTN_MIDDLE,
        Button::Right => KeyCode::BTN_RIGHT,
        Button::Back => KeyCode::BTN_SIDE,
        Button::Forward => KeyCode::BTN_EXTRA,
    }
}

/// Linux's code of a key, by its usage.
fn code(key: Key) -> Option<KeyCode> {
    /// From usage 0x04 on, in rows as the usages go.
    const FIRST: [u16; 0x64] = [
        30, 48, 46, 32, 18, 33, 34, 35, 23, 36, 37, 38, 50, // A to M
        49, 24, 25, 16, 19, 31, 20, 22, 47, 17, 45, 21, 44, // N to Z
        2, 3, 4, 5, 6, 7, 8, 9, 10, 11, // 1 to 0
        28, 1, 14, 15, 57, 12, 13, 26, 27, 43, 43, 39, 40, 41, 51, 52, 53,
        58, // Enter to CapsLock
        59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 87, 88, // F1 to F12
        99, 70, 119, 110, 102, 104, 111, 107, 109, // PrintScreen to PageDown
        106, 105, 108, 103, // arrows
        69, 98, 55, 74, 78, 96, 79, 80, 81, 75, 76, 77, 71, 72, 73, 82, 83, // the pad
        86, 127, 116, 117, // IntlBackslash, ContextMenu, Power, NumpadEqual
    ];
    let usage = key.usage();
    let code = match usage {
        0x04..0x68 => FIRST[usize::from(usage - 0x04)],
        0x85 => KeyCode::KEY_KPCOMMA.0,
        0x87 => KeyCode::KEY_RO.0,
        0x88 => KeyCode::KEY_KATAKANAHIRAGANA.0,
        0x89 => KeyCode::KEY_YEN.0,
        0x8a => KeyCode::KEY_HENKAN.0,
        0x8b => KeyCode::KEY_MUHENKAN.0,
        0xe0 => KeyCode::KEY_LEFTCTRL.0,
        0xe1 => KeyCode::KEY_LEFTSHIFT.0,
        0xe2 => KeyCode::KEY_LEFTALT.0,
        0xe3 => KeyCode::KEY_LEFTMETA.0,
        0xe4 => KeyCode::KEY_RIGHTCTRL.0,
        0xe5 => KeyCode::KEY_RIGHTSHIFT.0,
        0xe6 => KeyCode::KEY_RIGHTALT.0,
        0xe7 => KeyCode::KEY_RIGHTMETA.0,
        _ => return None,
    };
    Some(KeyCode::new(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_a_code_of_its_own() {
        let mut codes: Vec<u16> =
            KEYS.iter().map(|known| code(known.key).expect(known.code).0).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), KEYS.len());
    }

    #[test]
    fn codes_are_those_that_linux_names_so() {
        for (name, wanted) in [
            ("KeyA", KeyCode::KEY_A),
            ("KeyM", KeyCode::KEY_M),
            ("KeyN", KeyCode::KEY_N),
            ("KeyQ", KeyCode::KEY_Q),
            ("KeyZ", KeyCode::KEY_Z),
            ("Digit1", KeyCode::KEY_1),
            ("Digit0", KeyCode::KEY_0),
            ("Enter", KeyCode::KEY_ENTER),
            ("Escape", KeyCode::KEY_ESC),
            ("Space", KeyCode::KEY_SPACE),
            ("Backslash", KeyCode::KEY_BACKSLASH),
            ("Semicolon", KeyCode::KEY_SEMICOLON),
            ("Backquote", KeyCode::KEY_GRAVE),
            ("CapsLock", KeyCode::KEY_CAPSLOCK),
            ("F1", KeyCode::KEY_F1),
            ("F11", KeyCode::KEY_F11),
            ("F12", KeyCode::KEY_F12),
            ("PrintScreen", KeyCode::KEY_SYSRQ),
            ("Pause", KeyCode::KEY_PAUSE),
            ("Delete", KeyCode::KEY_DELETE),
            ("PageDown", KeyCode::KEY_PAGEDOWN),
            ("ArrowUp", KeyCode::KEY_UP),
            ("NumLock", KeyCode::KEY_NUMLOCK),
            ("NumpadEnter", KeyCode::KEY_KPENTER),
            ("Numpad1", KeyCode::KEY_KP1),
            ("Numpad0", KeyCode::KEY_KP0),
            ("NumpadDecimal", KeyCode::KEY_KPDOT),
            ("IntlBackslash", KeyCode::KEY_102ND),
            ("ContextMenu", KeyCode::KEY_COMPOSE),
            ("NumpadEqual", KeyCode::KEY_KPEQUAL),
        ] {
            assert_eq!(Key::named(name).and_then(code), Some(wanted), "{name}");
        }
    }

    #[test]
    fn what_has_not_moved_is_not_told() {
        let of = |x, y| moved((Relative::REL_X, x), (Relative::REL_Y, y)).len();
        assert_eq!([of(0, 0), of(1, 0), of(0, -1), of(3, 4)], [0, 1, 1, 2]);
    }
}
