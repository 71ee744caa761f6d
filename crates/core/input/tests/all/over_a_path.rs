//! Whatever the path does, the program gets what the player did.

use crate::script::Script;
use gameway_input::{
    Acknowledgement, Action, Button, Held, KEYS, Message, Player, Program, Switch,
};
use gameway_testbed::{Ends, Fates, Impairment, Testbed, lost_if};
use gameway_units::{Duration, Instant};
use proptest::prelude::*;

/// What a person does, and how long after the last.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Toggle(Switch),
    Mouse(i32, i32),
    Point(u16, u16),
    Wheel(i32),
    LookAway,
    /// Types this character so often.
    Type(char, usize),
}

/// A player, the program and what it came to.
struct Play {
    player: Player,
    program: Program,
    deeds: Script<Deed>,
    /// Each change as the player made it, with its time; and as it happened.
    done: Vec<(Instant, Action)>,
    happened: Vec<(Instant, Action)>,
    told: Held,
    answer: Option<Acknowledgement>,
}

impl Play {
    fn new(deeds: impl IntoIterator<Item = (i64, Deed)>) -> Self {
        Self {
            player: Player::default(),
            program: Program::default(),
            deeds: Script::new(deeds),
            done: Vec::new(),
            happened: Vec::new(),
            told: Held::default(),
            answer: None,
        }
    }

    fn carry_out(&mut self, now: Instant, deed: Deed) {
        let mut toggle = |player: &mut Player, switch: Switch| {
            let is_held = !self.told.contains(switch);
            self.told.set(switch, is_held);
            let number = if is_held { player.press(switch) } else { player.release(switch) };
            assert_eq!(number.map(|number| number as usize), Some(self.done.len() + 1));
            let action = if is_held { Action::Press(switch) } else { Action::Release(switch) };
            self.done.push((now, action));
        };
        match deed {
            Deed::Toggle(switch) => toggle(&mut self.player, switch),
            Deed::Mouse(x, y) => self.player.move_by((x, y)),
            Deed::Point(x, y) => self.player.move_to((x, y)),
            Deed::Wheel(by) => self.player.turn((0, by)),
            Deed::Type(character, times) => {
                for _ in 0..times {
                    let number = self.player.type_character(character);
                    assert_eq!(number.map(|number| number as usize), Some(self.done.len() + 1));
                    self.done.push((now, Action::Type(character)));
                }
            }
            Deed::LookAway => {
                let held: Vec<Switch> = self.told.iter().collect();
                self.player.release_all();
                for switch in held {
                    self.told.set(switch, false);
                    self.done.push((now, Action::Release(switch)));
                }
            }
        }
    }

    fn note(&mut self, now: Instant) {
        self.happened.extend(std::iter::from_fn(|| self.program.poll()).map(|one| (now, one)));
    }

    fn changes(&self) -> Vec<(Instant, Action)> {
        let is_change = |one: &&(Instant, Action)| {
            matches!(one.1, Action::Press(_) | Action::Release(_) | Action::Type(_))
        };
        self.happened.iter().filter(is_change).copied().collect()
    }
}

impl Ends for Play {
    type Down = Acknowledgement;
    type Up = Message;

    fn on_down(&mut self, _now: Instant, packet: Acknowledgement) {
        self.player.on_acknowledgement(&packet);
    }
    fn on_up(&mut self, now: Instant, packet: Message) {
        let packet = Message::parse(&packet.to_bytes()).expect("a message");
        self.answer = self.program.on_message(now, &packet).or(self.answer);
        self.note(now);
    }
    fn next_deadline(&self) -> Option<Instant> {
        let deed = self.deeds.next_deadline();
        [deed, self.player.next_deadline(), self.program.next_deadline()]
            .into_iter()
            .flatten()
            .min()
    }
    fn on_deadline(&mut self, now: Instant) {
        while let Some(deed) = self.deeds.poll(now) {
            self.carry_out(now, deed);
        }
        self.program.on_deadline(now);
        self.note(now);
    }
    fn poll_down(&mut self, _now: Instant) -> Option<Acknowledgement> {
        self.answer.take()
    }
    fn poll_up(&mut self, now: Instant) -> Option<Message> {
        self.player.poll(now)
    }
}

fn switches() -> impl Strategy<Value = Switch> {
    prop_oneof![
        3 => (0..KEYS.len()).prop_map(|place| Switch::Key(KEYS[place].key)),
        1 => (0..5_usize).prop_map(|number| Switch::Button(Button::ALL[number])),
    ]
}

fn deeds() -> impl Strategy<Value = Deed> {
    prop_oneof![
        5 => switches().prop_map(Deed::Toggle),
        2 => (-50..50, -50..50).prop_map(|(x, y)| Deed::Mouse(x, y)),
        1 => any::<(u16, u16)>().prop_map(|(x, y)| Deed::Point(x, y)),
        1 => (-240..240).prop_map(Deed::Wheel),
        1 => Just(Deed::LookAway),
    ]
}

fn characters() -> impl Strategy<Value = Deed> {
    let character = any::<char>().prop_filter("text", |one| !one.is_control());
    (character, 1..50_usize).prop_map(|(character, times)| Deed::Type(character, times))
}

/// Plays until nothing more is to be told; the player looks away at last.
fn played(deeds: Vec<(i64, Deed)>, chaos: Impairment, seed: u64) -> Play {
    let play = Play::new(deeds.into_iter().chain([(10, Deed::LookAway)]));
    let path = Fates::impaired(Duration::from_millis(10), chaos, seed);
    let mut net = Testbed::new(path, vec![play]);
    while net.step(Instant::MAX) {}
    net.flows.remove(0)
}

proptest! {
    #[test]
    fn each_change_happens_once_in_its_order_and_all_motion_arrives(
        // 20 ms and more apart: a burst of losses then hides no more changes than a message holds.
        deeds in prop::collection::vec((20..80_i64, deeds()), 1..120),
        loss in prop::sample::select(vec![0.0, 0.05, 0.2]),
        late in prop::sample::select(vec![0.0, 0.3]),
        duplicate in prop::sample::select(vec![0.0, 0.2]),
        seed in any::<u64>(),
    ) {
        let max_extra = Duration::from_millis(60);
        let chaos = Impairment { loss, late, duplicate, max_extra };
        let play = played(deeds.clone(), chaos, seed);
        let plain = |all: &[(Instant, Action)]| all.iter().map(|one| one.1).collect::<Vec<_>>();
        prop_assert_eq!(plain(&play.changes()), plain(&play.done));
        let mut sums = (0, 0, 0);
        let mut place = None;
        for (_, action) in &play.happened {
            match action {
                Action::MoveBy(x, y) => (sums.0, sums.1) = (sums.0 + x, sums.1 + y),
                Action::Turn(_, y) => sums.2 += y,
                Action::MoveTo(x, y) => place = Some((*x, *y)),
                _ => {}
            }
        }
        let mut expected = (0, 0, 0);
        let mut last = None;
        for (_, deed) in &deeds {
            match deed {
                Deed::Mouse(x, y) => (expected.0, expected.1) = (expected.0 + x, expected.1 + y),
                Deed::Wheel(by) => expected.2 += by,
                Deed::Point(x, y) => last = Some((*x, *y)),
                _ => {}
            }
        }
        prop_assert_eq!(sums, expected);
        prop_assert_eq!(place, last);
        prop_assert!(play.player.next_deadline().is_none() && play.program.next_deadline().is_none());
    }

    /// However fast, nothing of a text is lost, nor of the keys among it; a message stays as small as ever.
    #[test]
    fn a_text_and_the_keys_in_it_arrive_once_and_in_their_order(
        deeds in prop::collection::vec((0..30_i64, characters(), switches()), 1..60),
        loss in 0.0..0.6_f64,
        duplicate in prop::sample::select(vec![0.0, 0.2]),
        seed in any::<u64>(),
    ) {
        let chaos = Impairment {
            loss, duplicate, late: 0.2, max_extra: Duration::from_millis(60),
        };
        // Each key is behind text that cannot all be told yet.
        let deeds = deeds.into_iter().flat_map(|(wait, text, switch)| {
            [(wait, Deed::Type('a', 32)), (0, text), (0, Deed::Toggle(switch))]
        });
        let play = played(deeds.collect(), chaos, seed);
        let plain = |all: &[(Instant, Action)]| all.iter().map(|one| one.1).collect::<Vec<_>>();
        prop_assert_eq!(plain(&play.changes()), plain(&play.done));
    }

    /// However much is done and lost, at the end nothing is held that the player does not hold.
    #[test]
    fn no_key_sticks(
        deeds in prop::collection::vec((0..30_i64, prop_oneof![9 => deeds(), 1 => characters()]), 1..200),
        loss in 0.0..0.9_f64,
        seed in any::<u64>(),
    ) {
        let chaos = Impairment { loss, max_extra: Duration::from_millis(60), ..Impairment::default() };
        let play = played(deeds, chaos, seed);
        let mut held = Held::default();
        for (_, action) in play.changes() {
            match action {
                Action::Press(switch) => prop_assert!(held.set(switch, true)),
                Action::Release(switch) => prop_assert!(held.set(switch, false)),
                _ => {}
            }
        }
        prop_assert!(held.is_empty());
    }
}

/// A change whose message is lost comes with the next one: 20 ms later, or with the next change if that is sooner.
#[test]
fn a_lost_message_costs_20_ms_at_most() {
    let key = |place: usize| Switch::Key(KEYS[place].key);
    for (wait, expected) in [(100, 20), (5, 5)] {
        let play = Play::new([
            (0, Deed::Toggle(key(0))),
            (wait, Deed::Toggle(key(1))),
            (1, Deed::LookAway),
        ]);
        let mut first = true;
        let delay = Duration::from_millis(10);
        let mut path = Fates::new(delay);
        path.up = Box::new(move |_, _| lost_if(std::mem::take(&mut first)));
        let mut net = Testbed::new(path, vec![play]);
        while net.step(Instant::MAX) {}
        let play = &net.flows[0];
        let took = play.changes()[0].0 - play.done[0].0;
        assert_eq!(took, delay + Duration::from_millis(expected), "{wait} ms to the next change");
    }
}
