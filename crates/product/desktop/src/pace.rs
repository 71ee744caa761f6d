//! When a key or button may change so that a compositor tells programs of it, and in the order in which it is done.
//!
//! Source: libinput, src/evdev-debounce.c: what a button does within 25 ms after it has changed is taken for a contact that bounces, so of two
//! clicks that come at once the second is not told. libinput reads one device after the other: of two that have changed since it looked
//! last, either can be told first.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | a button's rest | 30 ms | longer than libinput's 25 ms by what the kernel may note a release later than it is told |
//! | between keyboard and buttons | 5 ms | a compositor looks within 1 ms where it is not drawing; a key that is held for a click is pressed first |

use gameway_input::{Action, Button, Switch};
use gameway_units::{Duration, Instant};

const REST: Duration = Duration::from_millis(30);
const ORDER: Duration = Duration::from_millis(5);

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Which buttons were released when.
    released: Vec<(Button, Instant)>,
    /// Whether the newest change was a key's, and when it was.
    newest: Option<(bool, Instant)>,
}

impl Pace {
    /// From when on this can be done.
    pub(crate) fn ready_at(&self, action: &Action) -> Instant {
        let (switch, is_held) = match action {
            Action::Press(switch) => (*switch, true),
            Action::Release(switch) => (*switch, false),
            _ => return Instant::ZERO,
        };
        let other = self.newest.filter(|(is_key, _)| *is_key != is_key_of(switch));
        let own = self.released.iter().find(|(button, _)| {
            // A release that comes soon is told late, not lost.
            is_held && switch == Switch::Button(*button)
        });
        let ordered = other.map(|(_, at)| at.saturating_add(ORDER));
        let rested = own.map(|(_, at)| at.saturating_add(REST));
        ordered.max(rested).unwrap_or(Instant::ZERO)
    }

    /// This is done now.
    pub(crate) fn note(&mut self, now: Instant, action: &Action) {
        let (Action::Press(switch) | Action::Release(switch)) = action else { return };
        self.newest = Some((is_key_of(*switch), now));
        if let Action::Release(Switch::Button(button)) = action {
            self.released.retain(|(known, _)| known != button);
            self.released.push((*button, now));
        }
    }
}

fn is_key_of(switch: Switch) -> bool {
    matches!(switch, Switch::Key(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_input::Key;

    const LEFT: Switch = Switch::Button(Button::Left);
    const RIGHT: Switch = Switch::Button(Button::Right);

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn shift() -> Switch {
        Switch::Key(Key::named("ShiftLeft").expect("a key"))
    }

    #[test]
    fn a_button_rests_after_its_release() {
        let mut pace = Pace::default();
        assert_eq!(pace.ready_at(&Action::Press(LEFT)), Instant::ZERO);
        for (now, action) in [(100, Action::Press(LEFT)), (101, Action::Release(LEFT))] {
            assert!(pace.ready_at(&action) <= at(now));
            pace.note(at(now), &action);
        }
        assert_eq!(pace.ready_at(&Action::Press(LEFT)), at(131));
        assert_eq!(pace.ready_at(&Action::Press(RIGHT)), Instant::ZERO);
        assert_eq!(pace.ready_at(&Action::MoveTo(0, 0)), Instant::ZERO);
        pace.note(at(140), &Action::Release(LEFT));
        assert_eq!(pace.ready_at(&Action::Press(LEFT)), at(170));
    }

    #[test]
    fn a_button_waits_for_the_keyboard_and_the_keyboard_for_a_button() {
        let mut pace = Pace::default();
        pace.note(at(100), &Action::Press(shift()));
        assert_eq!(pace.ready_at(&Action::Press(LEFT)), at(105));
        assert_eq!(pace.ready_at(&Action::Release(shift())), Instant::ZERO);
        pace.note(at(105), &Action::Press(LEFT));
        assert_eq!(pace.ready_at(&Action::Release(shift())), at(110));
        assert_eq!(pace.ready_at(&Action::Release(LEFT)), Instant::ZERO);
        // Motion and the wheel wait for nothing, and nothing waits for them.
        pace.note(at(109), &Action::MoveBy(1, 1));
        assert_eq!(pace.ready_at(&Action::Turn(0, 120)), Instant::ZERO);
        assert_eq!(pace.ready_at(&Action::Press(shift())), at(110));
    }
}
