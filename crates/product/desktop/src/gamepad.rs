//! A player's gamepads as devices of Linux, by uinput.
//!
//! Source: Linux, Documentation/input/gamepad.rst for the codes, uinput.rst and ff.rst for devices and force feedback; drivers/input/joystick/xpad.c
//! for the axes of a wired pad of the Xbox 360, whose numbers each device has, since programs know how that one is laid out.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | effects at once | 16 | as drivers of pads have without memory of their own (ff-memless) |
//! | flat | 128 | xpad's: what a stick at rest is off by |

mod device;
mod effects;

use self::device::Device;
use gameway_input::gamepad::{Action, Event, Felt, PADS};
use gameway_units::Instant;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::fd::BorrowedFd;
use thiserror::Error;

const UINPUT: &str = "/dev/uinput";

/// Why there are no devices, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{found}")]
pub struct NoGamepads {
    /// What was found.
    pub found: String,
    /// What to do about it.
    pub mend: &'static str,
}

impl NoGamepads {
    fn of(error: &std::io::Error) -> Self {
        let (found, mend) = match error.kind() {
            ErrorKind::PermissionDenied => (
                format!("{UINPUT} is closed to this user"),
                "as root: echo 'KERNEL==\"uinput\", GROUP=\"input\", MODE=\"0660\"' > /etc/udev/rules.d/70-uinput.rules, \
                 udevadm control --reload, udevadm trigger /dev/uinput, usermod -aG input USER; then log in again",
            ),
            ErrorKind::NotFound => (
                format!("there is no {UINPUT}: the kernel has not loaded uinput"),
                "as root: modprobe uinput, and echo uinput > /etc/modules-load.d/uinput.conf; a kernel without the module has no gamepads",
            ),
            _ => {
                (format!("{UINPUT}: {error}"), "as root: modprobe uinput, and see what dmesg says")
            }
        };
        Self { found, mend }
    }
}

/// See the module's head. A device goes when its gamepad does, and all go with this, or when the process ends, however it ends.
#[derive(Debug, Default)]
pub struct Gamepads {
    devices: [Option<Device>; PADS],
}

impl Gamepads {
    /// Whether devices can be made.
    ///
    /// # Errors
    /// What is missing, and how to mend it.
    pub fn look() -> Result<(), NoGamepads> {
        let opened = OpenOptions::new().read(true).write(true).open(UINPUT);
        opened.map(drop).map_err(|error| NoGamepads::of(&error))
    }

    /// Does this.
    ///
    /// # Errors
    /// A device cannot be made or written to; there is none for this gamepad then.
    pub fn apply(&mut self, Action { pad, event }: Action) -> Result<(), NoGamepads> {
        let done = match event {
            Event::Appear => Device::make(pad).map(|made| self.devices[pad] = Some(made)),
            Event::Vanish => {
                self.devices[pad] = None;
                Ok(())
            }
            _ => self.devices[pad].as_mut().map_or(Ok(()), |device| device.emit(event)),
        };
        done.map_err(|error| {
            self.devices[pad] = None;
            NoGamepads::of(&error)
        })
    }

    /// Takes what programs ask of each device, and gives what each is to be felt like. To be called often, and when one of
    /// [`Self::descriptors`] can be read: a program waits until what it asks is taken.
    pub fn feel(&mut self, now: Instant) -> [Option<Felt>; PADS] {
        self.devices.each_mut().map(|device| device.as_mut().map(|device| device.feel(now)))
    }

    /// Readable when programs ask something.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.devices.iter().flatten().map(Device::descriptor)
    }
}
