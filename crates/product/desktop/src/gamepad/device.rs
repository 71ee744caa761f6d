//! One device.

use super::effects::{Effect, Effects};
use evdev::uinput::VirtualDevice;
use evdev::{
    AbsInfo, AbsoluteAxisCode as Axes, AttributeSet, BusType, EventSummary, EventType,
    FFEffectCode, FFEffectKind, InputEvent, InputId, KeyCode, UInputCode, UinputAbsSetup,
};
use gameway_input::gamepad::{Axis, Button, Event, RumbleState, Trigger};
use gameway_units::{Duration, Instant};
use rustix::io::ioctl_fionbio;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

/// A wired pad of the Xbox 360, and a version that tables of pads have.
const VENDOR: u16 = 0x045e;
const PRODUCT: u16 = 0x028e;
const VERSION: u16 = 0x0114;
const FLAT: i32 = 128;
const MAX_EFFECTS: u32 = 16;
/// Refuses an effect (errno EINVAL).
const INVALID: i32 = -22;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Device {
    device: VirtualDevice,
    effects: Effects,
    /// Up, down, left and right of the pad of directions.
    held: [bool; 4],
}

impl Device {
    pub(super) fn make(pad: usize) -> io::Result<Self> {
        let name = format!("Gameway gamepad {}", pad + 1);
        let keys: AttributeSet<KeyCode> = Button::ALL.into_iter().filter_map(key).collect();
        let mut builder = VirtualDevice::builder()?
            .name(&name)
            .input_id(InputId::new(BusType::BUS_USB, VENDOR, PRODUCT, VERSION))
            .with_keys(&keys)?
            .with_ff(&AttributeSet::from_iter([FFEffectCode::FF_RUMBLE, FFEffectCode::FF_GAIN]))?
            .with_ff_effects_max(MAX_EFFECTS);
        let stick = AbsInfo::new(0, i16::MIN.into(), i16::MAX.into(), 0, FLAT, 0);
        let trigger = AbsInfo::new(0, 0, u8::MAX.into(), 0, 0, 0);
        let hat = AbsInfo::new(0, -1, 1, 0, 0, 0);
        for (axis, range) in [
            (Axes::ABS_X, stick),
            (Axes::ABS_Y, stick),
            (Axes::ABS_Z, trigger),
            (Axes::ABS_RX, stick),
            (Axes::ABS_RY, stick),
            (Axes::ABS_RZ, trigger),
            (Axes::ABS_HAT0X, hat),
            (Axes::ABS_HAT0Y, hat),
        ] {
            builder = builder.with_absolute_axis(&UinputAbsSetup::new(axis, range))?;
        }
        let device = builder.build()?;
        ioctl_fionbio(&device, true)?;
        Ok(Self { device, effects: Effects::default(), held: [false; 4] })
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    pub(super) fn emit(&mut self, event: Event) -> io::Result<()> {
        let absolute =
            |axis: Axes, value: i32| InputEvent::new(EventType::ABSOLUTE.0, axis.0, value);
        let event = match event {
            Event::Appear | Event::Vanish => return Ok(()),
            Event::Press(button) | Event::Release(button) => {
                let is_held = event == Event::Press(button);
                match key(button) {
                    Some(key) => InputEvent::new(EventType::KEY.0, key.0, is_held.into()),
                    None => {
                        let (axis, value) = self.turn(button, is_held);
                        absolute(axis, value)
                    }
                }
            }
            Event::Pull(Trigger::Left, value) => absolute(Axes::ABS_Z, value.into()),
            Event::Pull(Trigger::Right, value) => absolute(Axes::ABS_RZ, value.into()),
            Event::Move(axis, value) => {
                let axis = match axis {
                    Axis::LeftX => Axes::ABS_X,
                    Axis::LeftY => Axes::ABS_Y,
                    Axis::RightX => Axes::ABS_RX,
                    Axis::RightY => Axes::ABS_RY,
                };
                absolute(axis, value.into())
            }
        };
        self.device.emit(&[event])
    }

    /// What a button of the pad of directions does to its axis.
    fn turn(&mut self, button: Button, is_held: bool) -> (Axes, i32) {
        self.held[(button as usize).saturating_sub(Button::Up as usize) % 4] = is_held;
        let [up, down, left, right] = self.held.map(i32::from);
        match button {
            Button::Up | Button::Down => (Axes::ABS_HAT0Y, down - up),
            _ => (Axes::ABS_HAT0X, right - left),
        }
    }

    pub(super) fn feel(&mut self, now: Instant) -> RumbleState {
        // One read gives 32 events; what is left comes with the next call.
        let events = self.device.fetch_events().map(Iterator::collect::<Vec<_>>);
        for event in events.unwrap_or_default() {
            match event.destructure() {
                EventSummary::UInput(event, UInputCode::UI_FF_UPLOAD, _) => {
                    let Ok(mut asked) = self.device.process_ff_upload(event) else { continue };
                    let (id, effect) = (asked.effect_id(), asked.effect());
                    let FFEffectKind::Rumble { strong_magnitude, weak_magnitude } = effect.kind
                    else {
                        asked.set_retval(INVALID);
                        continue;
                    };
                    let millis = |count: u16| Duration::from_millis(count.into());
                    let effect = Effect {
                        strong: strong_magnitude,
                        weak: weak_magnitude,
                        delay: millis(effect.replay.delay),
                        length: millis(effect.replay.length),
                    };
                    self.effects.upload(id.unsigned_abs(), effect);
                }
                EventSummary::UInput(event, UInputCode::UI_FF_ERASE, _) => {
                    if let Ok(asked) = self.device.process_ff_erase(event) {
                        self.effects.erase(asked.effect_id() as u16);
                    }
                }
                EventSummary::ForceFeedback(_, FFEffectCode::FF_GAIN, value) => {
                    self.effects.set_gain(value);
                }
                EventSummary::ForceFeedback(_, effect, times) => {
                    self.effects.play(now, effect.0, times);
                }
                _ => {}
            }
        }
        self.effects.at(now)
    }
}

/// None of the pad of directions.
fn key(button: Button) -> Option<KeyCode> {
    Some(match button {
        Button::South => KeyCode::BTN_SOUTH,
        Button::East => KeyCode::BTN_EAST,
        // As xpad has them: the letters of these two are exchanged against gamepad.rst, and programs know it.
        Button::West => KeyCode::BTN_NORTH,
        Button::North => KeyCode::BTN_WEST,
        Button::LeftShoulder => KeyCode::BTN_TL,
        Button::RightShoulder => KeyCode::BTN_TR,
        Button::Select => KeyCode::BTN_SELECT,
        Button::Start => KeyCode::BTN_START,
        Button::LeftStick => KeyCode::BTN_THUMBL,
        Button::RightStick => KeyCode::BTN_THUMBR,
        Button::Home => KeyCode::BTN_MODE,
        Button::Up | Button::Down | Button::Left | Button::Right => return None,
    })
}
