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
use crate::uinput::{self, NoDevices};
use gameway_input::gamepad::{Action, Event, PADS, RumbleState};
use gameway_units::Instant;
use std::os::fd::BorrowedFd;

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
    pub fn look() -> Result<(), NoDevices> {
        uinput::look()
    }

    /// Does this.
    ///
    /// # Errors
    /// A device cannot be made or written to; there is none for this gamepad then.
    pub fn apply(&mut self, Action { pad, event }: Action) -> Result<(), NoDevices> {
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
            NoDevices::of(&error)
        })
    }

    /// Takes what programs ask of each device, and gives what each is to be felt like. To be called often, and when one of
    /// [`Self::descriptors`] can be read: a program waits until what it asks is taken.
    pub fn feel(&mut self, now: Instant) -> [Option<RumbleState>; PADS] {
        self.devices.each_mut().map(|device| device.as_mut().map(|device| device.feel(now)))
    }

    /// Readable when programs ask something.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.devices.iter().flatten().map(Device::descriptor)
    }
}
