//! What a player does to the built-in scene: a marker goes where the pointer is, or by arrow keys or a gamepad's left stick, and
//! lights up while something else is held. Sans-IO.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | speed by keys | half a picture in a second | crosses the picture in two seconds |
//! | motion by a mouse | 65536 for 1280 pixels | the default picture's width |

use gameway_codec::Hand;
use gameway_input::gamepad::{self, Axis, Event, PADS};
use gameway_input::{Action, Held, Key, Switch};
use gameway_units::{Duration, Instant};

/// In a second, of 65535.
const SPEED: i64 = 32_768;
const PIXEL: i64 = 51;
/// The longest step by keys: a host that was held up does not make the marker jump.
const MAX_STEP: Duration = Duration::from_millis(100);
/// Keys with what they do to x and y.
const ARROWS: [(&str, i64, i64); 4] =
    [("ArrowLeft", -1, 0), ("ArrowRight", 1, 0), ("ArrowUp", 0, -1), ("ArrowDown", 0, 1)];

/// See the module's head.
#[derive(Debug, Clone)]
pub struct HandOfPlayer {
    x: i64,
    y: i64,
    held: Held,
    /// A bit for each button that is held, and the left stick, of each gamepad.
    pads: [(u32, [i16; 2]); PADS],
    moved: Instant,
}

impl Default for HandOfPlayer {
    /// In the middle.
    fn default() -> Self {
        Self {
            x: 32_768,
            y: 32_768,
            held: Held::default(),
            pads: Default::default(),
            moved: Instant::ZERO,
        }
    }
}

impl HandOfPlayer {
    /// The player did something.
    pub fn apply(&mut self, action: Action) {
        match action {
            Action::Press(switch) => {
                self.held.set(switch, true);
            }
            Action::Release(switch) => {
                self.held.set(switch, false);
            }
            Action::MoveTo(x, y) => (self.x, self.y) = (x.into(), y.into()),
            Action::MoveBy(x, y) => self.go(PIXEL * i64::from(x), PIXEL * i64::from(y)),
            Action::Turn(..) | Action::Type(_) => {}
        }
    }

    /// The player did something to a gamepad.
    pub fn apply_gamepad(&mut self, gamepad::Action { pad, event }: gamepad::Action) {
        let (held, stick) = &mut self.pads[pad];
        match event {
            Event::Appear | Event::Vanish => (*held, *stick) = Default::default(),
            Event::Press(button) => *held |= 1 << button as u32,
            Event::Release(button) => *held &= !(1 << button as u32),
            Event::Move(Axis::LeftX, value) => stick[0] = value,
            Event::Move(Axis::LeftY, value) => stick[1] = value,
            Event::Move(..) | Event::Pull(..) => {}
        }
    }

    /// The hand as it is now.
    pub fn at(&mut self, now: Instant) -> Hand {
        let step = now.saturating_since(self.moved).clamp(Duration::ZERO, MAX_STEP);
        self.moved = now;
        let mut held = self.held;
        let far = SPEED * step.as_nanos() / 1_000_000_000;
        for (code, x, y) in ARROWS {
            let arrow = Key::named(code).map(Switch::Key);
            if arrow.is_some_and(|arrow| held.set(arrow, false)) {
                self.go(x * far, y * far);
            }
        }
        for (_, [x, y]) in self.pads {
            let part = |axis: i16| far * i64::from(axis) / i64::from(i16::MAX);
            self.go(part(x), part(y));
        }
        let pressed = !held.is_empty() || self.pads.iter().any(|(held, _)| *held != 0);
        Hand { x: self.x as u16, y: self.y as u16, pressed }
    }

    fn go(&mut self, x: i64, y: i64) {
        let bounded = |side: i64| side.clamp(0, i64::from(u16::MAX));
        (self.x, self.y) = (bounded(self.x + x), bounded(self.y + y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_input::Button;

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn it_goes_where_the_pointer_is_and_by_keys_while_they_are_held() {
        let mut hand = HandOfPlayer::default();
        let right = Switch::Key(Key::named("ArrowRight").expect("a key"));
        hand.apply(Action::MoveTo(1_000, 2_000));
        assert_eq!(hand.at(at(1_000)), Hand { x: 1_000, y: 2_000, pressed: false });
        hand.apply(Action::Press(right));
        assert_eq!(hand.at(at(1_050)), Hand { x: 2_638, y: 2_000, pressed: false });
        // A host that was held up for ten seconds.
        assert_eq!(hand.at(at(11_050)).x, 2_638 + 3_276);
        hand.apply(Action::Release(right));
        assert_eq!(hand.at(at(11_100)).x, 5_914);
        hand.apply(Action::MoveBy(-1_000, 2));
        assert_eq!(hand.at(at(11_101)), Hand { x: 0, y: 2_102, pressed: false });
    }

    #[test]
    fn a_gamepad_moves_it_and_lights_it_up() {
        let mut hand = HandOfPlayer::default();
        let act = |hand: &mut HandOfPlayer, pad, event| {
            hand.apply_gamepad(gamepad::Action { pad, event });
        };
        hand.apply(Action::MoveTo(10_000, 10_000));
        act(&mut hand, 3, Event::Appear);
        act(&mut hand, 3, Event::Move(Axis::LeftX, i16::MAX));
        act(&mut hand, 3, Event::Move(Axis::LeftY, -16_384));
        act(&mut hand, 3, Event::Press(gamepad::Button::Home));
        hand.at(at(1_000));
        act(&mut hand, 2, Event::Press(gamepad::Button::South));
        let before = hand.clone().at(at(1_000));
        let after = hand.at(at(1_050));
        assert_eq!((after.x - before.x, before.y - after.y, after.pressed), (1_638, 819, true));
        act(&mut hand, 3, Event::Vanish);
        assert_eq!(hand.at(at(1_100)), after, "the other one is held");
        act(&mut hand, 2, Event::Release(gamepad::Button::South));
        assert!(!hand.at(at(1_100)).pressed);
    }

    #[test]
    fn it_lights_up_while_something_is_held() {
        let mut hand = HandOfPlayer::default();
        for switch in
            [Switch::Button(Button::Left), Switch::Key(Key::named("Space").expect("a key"))]
        {
            hand.apply(Action::Press(switch));
            assert!(hand.at(at(0)).pressed);
            hand.apply(Action::Release(switch));
            assert!(!hand.at(at(0)).pressed);
        }
    }
}
