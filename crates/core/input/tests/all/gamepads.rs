//! Whatever the path does, the program's gamepads end as the player's are, and no press is lost.

use crate::script::Script;
use gameway_input::gamepad::{
    Action, Answer, Axis, Button, Event, Message, Missing, PADS, Player, Program, Reading, State,
    Trigger,
};
use gameway_testbed::{Ends, Fates, Impairment, Testbed};
use gameway_units::{Duration, Instant};
use proptest::prelude::*;

/// What a person does, and how long after the last.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Toggle(usize, Button),
    Stick(usize, [i16; 4]),
    Pull(usize, [u8; 2]),
    Unplug(usize),
    LookAway,
}

/// A gamepad as a program sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Seen {
    held: u32,
    triggers: [u8; 2],
    axes: [i16; 4],
}

/// Devices as they follow actions, which must fit: what is pressed was up, and so on.
#[derive(Debug, Clone, Default)]
struct Devices([Option<Seen>; PADS]);

impl Devices {
    fn act(&mut self, Action { pad, event }: Action) {
        if event == Event::Appear {
            assert!(self.0[pad].replace(Seen::default()).is_none(), "it is there");
            return;
        }
        let seen = self.0[pad].as_mut().expect("a device");
        match event {
            Event::Appear => {}
            Event::Vanish => self.0[pad] = None,
            Event::Press(button) => {
                assert_eq!(seen.held >> button as u8 & 1, 0, "{button:?} is held");
                seen.held |= 1 << button as u8;
            }
            Event::Release(button) => {
                assert_eq!(seen.held >> button as u8 & 1, 1, "{button:?} is not held");
                seen.held ^= 1 << button as u8;
            }
            Event::Pull(trigger, value) => {
                seen.triggers[(trigger == Trigger::Right) as usize] = value
            }
            Event::Move(axis, value) => {
                let axes = [Axis::LeftX, Axis::LeftY, Axis::RightX, Axis::RightY];
                let place = axes.iter().position(|own| *own == axis).expect("an axis");
                assert_ne!(std::mem::replace(&mut seen.axes[place], value), value, "no news");
            }
        }
    }
}

struct Play {
    player: Player,
    program: Program,
    deeds: Script<Deed>,
    own: [Option<Reading>; PADS],
    /// How often each button was pressed.
    presses: u32,
    devices: Devices,
    pressed: u32,
    answer: Option<u32>,
}

impl Play {
    fn new(deeds: impl IntoIterator<Item = (i64, Deed)>) -> Self {
        Self {
            player: Player::default(),
            program: Program::default(),
            deeds: Script::new(deeds),
            own: [None; PADS],
            presses: 0,
            devices: Devices::default(),
            pressed: 0,
            answer: None,
        }
    }

    fn carry_out(&mut self, deed: Deed) {
        let pad = match deed {
            Deed::LookAway => {
                self.player.release_all();
                self.own.iter_mut().flatten().for_each(|own| *own = Reading::default());
                return;
            }
            Deed::Unplug(pad) => {
                self.player.read(pad, None);
                self.own[pad] = None;
                return;
            }
            Deed::Toggle(pad, _) | Deed::Stick(pad, _) | Deed::Pull(pad, _) => pad,
        };
        let own = self.own[pad].get_or_insert_default();
        match deed {
            Deed::Toggle(_, button) => {
                own.pressed ^= 1 << button as u8;
                self.presses += own.pressed >> button as u8 & 1;
            }
            Deed::Stick(_, axes) => own.axes = axes,
            Deed::Pull(_, triggers) => {
                own.triggers = triggers;
                own.pressed &= !0xc0;
                own.pressed |= u32::from(triggers[0] > 30) << 6 | u32::from(triggers[1] > 30) << 7;
            }
            Deed::Unplug(_) | Deed::LookAway => {}
        }
        let own = *own;
        self.player.read(pad, Some(&own));
    }

    fn note(&mut self) {
        while let Some(action) = self.program.poll() {
            self.pressed += u32::from(matches!(action.event, Event::Press(_)));
            self.devices.act(action);
        }
    }
}

impl Ends for Play {
    type Down = Answer;
    type Up = Message;

    fn on_down(&mut self, _now: Instant, packet: Answer) {
        self.player.on_answer(&packet);
    }
    fn on_up(&mut self, now: Instant, packet: Message) {
        let packet = Message::parse(&packet.to_bytes()).expect("a message");
        self.answer = self.program.on_message(now, &packet).or(self.answer);
        self.note();
    }
    fn next_deadline(&self) -> Option<Instant> {
        let deed = self.deeds.next_deadline();
        let ends = [self.player.next_deadline(), self.program.next_deadline()];
        ends.into_iter().chain([deed]).flatten().min()
    }
    fn on_deadline(&mut self, now: Instant) {
        while let Some(deed) = self.deeds.poll(now) {
            self.carry_out(deed);
        }
        self.program.on_deadline(now);
        self.note();
    }
    fn poll_down(&mut self, _now: Instant) -> Option<Answer> {
        let message = self.answer.take()?;
        Some(Answer { missing: Missing::Nothing, message })
    }
    fn poll_up(&mut self, now: Instant) -> Option<Message> {
        self.player.poll(now)
    }
}

fn deeds(pads: usize) -> impl Strategy<Value = Deed> {
    let buttons = (0..Button::ALL.len()).prop_map(|place| Button::ALL[place]);
    prop_oneof![
        6 => (0..pads, buttons).prop_map(|(pad, button)| Deed::Toggle(pad, button)),
        2 => (0..pads, any::<[i16; 4]>()).prop_map(|(pad, axes)| Deed::Stick(pad, axes)),
        1 => (0..pads, any::<[u8; 2]>()).prop_map(|(pad, triggers)| Deed::Pull(pad, triggers)),
        1 => (0..pads).prop_map(Deed::Unplug),
        1 => Just(Deed::LookAway),
    ]
}

fn played(deeds: Vec<(i64, Deed)>, chaos: Impairment, seed: u64) -> Play {
    let path = Fates::impaired(Duration::from_millis(10), chaos, seed);
    let mut net = Testbed::new(path, vec![Play::new(deeds)]);
    while net.step(Instant::MAX) {}
    net.flows.remove(0)
}

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn events(program: &mut Program) -> Vec<Event> {
    std::iter::from_fn(|| program.poll()).map(|action| action.event).collect()
}

proptest! {
    /// At the end the devices are as the gamepads are: nothing sticks, whatever is lost, late or twice.
    #[test]
    fn devices_end_as_the_gamepads_are(
        deeds in prop::collection::vec((0..40_i64, deeds(PADS)), 1..150),
        loss in 0.0..0.9_f64,
        late in prop::sample::select(vec![0.0, 0.3]),
        duplicate in prop::sample::select(vec![0.0, 0.2]),
        seed in any::<u64>(),
    ) {
        let max_extra = Duration::from_millis(60);
        let chaos = Impairment { loss, late, duplicate, max_extra };
        // What is held or moved is repeated for ever: the player looks away at last, so that it ends.
        let deeds = deeds.into_iter().chain([(10, Deed::LookAway)]).collect();
        let play = played(deeds, chaos, seed);
        let own = play.own.map(|own| own.map(|own| Seen { held: own.pressed, triggers: own.triggers, axes: own.axes }));
        prop_assert_eq!(play.devices.0, own);
        prop_assert!(play.player.next_deadline().is_none() && play.program.next_deadline().is_none());
    }

    /// Each press is seen, as long as no button is pressed more than four times between two messages that arrive.
    #[test]
    fn no_press_is_lost(
        waits in prop::collection::vec((20..80_i64, 0..Button::ALL.len()), 1..120),
        loss in prop::sample::select(vec![0.0, 0.05, 0.2]),
        late in prop::sample::select(vec![0.0, 0.3]),
        seed in any::<u64>(),
    ) {
        let chaos = Impairment { loss, late, max_extra: Duration::from_millis(60), ..Impairment::default() };
        let toggles = waits.into_iter().map(|(wait, place)| (wait, Deed::Toggle(0, Button::ALL[place])));
        // The gamepad is known before: what it did until then is of no use.
        let deeds = [(0, Deed::Stick(0, [0; 4]))].into_iter().chain([(1_000, Deed::LookAway)]);
        let deeds = deeds.chain(toggles).chain([(10, Deed::LookAway)]).collect();
        let play = played(deeds, chaos, seed);
        prop_assert_eq!(play.pressed, play.presses);
    }
}

#[test]
fn silence_releases_all_and_the_device_stays() {
    let (mut player, mut program) = (Player::default(), Program::default());
    let reading = Reading { pressed: 1 | 1 << 7, triggers: [0, 99], axes: [0, 5, 0, 0] };
    player.read(2, Some(&reading));
    let message = player.poll(at(0)).expect("a message");
    assert_eq!(program.on_message(at(0), &message), Some(1));
    let on =
        [Event::Move(Axis::LeftY, 5), Event::Pull(Trigger::Right, 99), Event::Press(Button::South)];
    assert_eq!(events(&mut program), [&[Event::Appear][..], &on].concat());
    program.on_deadline(at(499));
    assert_eq!(events(&mut program), []);
    program.on_deadline(at(500));
    let off = [
        Event::Move(Axis::LeftY, 0),
        Event::Pull(Trigger::Right, 0),
        Event::Release(Button::South),
    ];
    assert_eq!((events(&mut program), program.next_deadline()), (off.to_vec(), None));
    let again = player.poll(at(600)).expect("a repetition");
    assert_eq!(program.on_message(at(600), &again), Some(2));
    assert_eq!(events(&mut program), on);
    program.remove_all();
    assert_eq!((events(&mut program), program.next_deadline()), (vec![Event::Vanish], None));
}

#[test]
fn a_count_that_lies_presses_four_times_at_most_and_a_lost_pull_is_a_whole_one() {
    let mut program = Program::default();
    let mut message = Message {
        number: 1,
        pads: [Some(Default::default()), None, None, None],
        wants_answer: false,
    };
    program.on_message(at(0), &message);
    message.number = 2;
    let state = message.pads[0].as_mut().expect("a gamepad");
    (state.changes[0], state.changes[1], state.changes[6]) = (254, 255, 2);
    program.on_message(at(0), &message);
    let happened = events(&mut program);
    let count = |event| happened.iter().filter(|one| **one == event).count();
    assert_eq!(count(Event::Press(Button::South)), 4);
    assert_eq!(count(Event::Release(Button::South)), 4);
    assert_eq!((count(Event::Press(Button::East)), count(Event::Release(Button::East))), (4, 3));
    assert_eq!(happened[1..3], [Event::Pull(Trigger::Left, 255), Event::Pull(Trigger::Left, 0)]);
    // An old one says nothing new.
    message.number = 1;
    message.pads = [None; PADS];
    program.on_message(at(1), &message);
    assert_eq!(events(&mut program), []);
}

#[test]
fn a_message_that_comes_twice_counts_once() {
    let (mut player, mut program) = (Player::default(), Program::default());
    player.read(0, Some(&Reading { axes: [1, 0, 0, 0], ..Reading::default() }));
    let message = player.poll(at(0)).expect("a message");
    assert_eq!(program.on_message(at(0), &message), Some(1));
    // It is answered again, since the first answer may be lost, and says nothing of the player's life.
    assert_eq!(program.on_message(at(400), &message), Some(1));
    assert_eq!(program.next_deadline(), Some(at(500)));
    program.on_deadline(at(500));
    let moves = [1, 0].map(|place| Event::Move(Axis::LeftX, place));
    assert_eq!(events(&mut program), [&[Event::Appear][..], &moves].concat());
    program.on_message(at(600), &message);
    assert_eq!(events(&mut program), []);
}

#[test]
fn one_button_one_trigger_or_one_stick_is_enough_to_be_off_its_rest() {
    let rest = Reading::default();
    for reading in [
        Reading { pressed: 1 << Button::Home as u8, ..rest },
        Reading { triggers: [0, 1], ..rest },
        Reading { axes: [0, 0, 0, -1], ..rest },
    ] {
        let (mut player, mut program) = (Player::default(), Program::default());
        player.read(3, Some(&reading));
        let message = player.poll(at(0)).expect("a message");
        let message = program.on_message(at(0), &message).expect("a gamepad has come");
        player.on_answer(&Answer { missing: Missing::Nothing, message });
        let deadlines = (player.next_deadline(), program.next_deadline());
        assert_eq!(deadlines, (Some(at(100)), Some(at(500))), "{reading:?}");
        // The twin: at rest nobody waits for anything.
        player.read(3, Some(&rest));
        let message = player.poll(at(100)).expect("a message");
        program.on_message(at(100), &message);
        player.on_answer(&Answer { missing: Missing::Nothing, message: message.number });
        assert_eq!((player.next_deadline(), program.next_deadline()), (None, None), "{reading:?}");
    }
}

#[test]
fn the_last_change_of_a_trigger_is_how_far_it_is_pulled_and_those_before_are_whole_pulls() {
    let mut program = Program::default();
    let mut message = Message {
        number: 1,
        pads: [Some(State::default()), None, None, None],
        wants_answer: false,
    };
    program.on_message(at(0), &message);
    assert_eq!(events(&mut program), [Event::Appear]);
    let state = message.pads[0].as_mut().expect("a gamepad");
    // The left one was pulled, let go and is pulled now; the right one was pulled and is nearly let go.
    (state.changes[6], state.changes[7]) = (3, 2);
    state.triggers = [99, 9];
    message.number = 2;
    program.on_message(at(1), &message);
    let pulls = [(Trigger::Left, 255), (Trigger::Left, 0), (Trigger::Left, 99)]
        .into_iter()
        .chain([(Trigger::Right, 255), (Trigger::Right, 9)]);
    let expected: Vec<_> = pulls.map(|(trigger, value)| Event::Pull(trigger, value)).collect();
    assert_eq!(events(&mut program), expected);
}

#[test]
fn of_what_a_gamepad_did_before_it_was_known_only_what_is_held_happens() {
    let mut program = Program::default();
    let mut state = State::default();
    // Three presses that are over, and a fourth one that is not.
    (state.changes[0], state.changes[1], state.changes[6]) = (6, 7, 6);
    let message = Message { number: 1, pads: [None, Some(state), None, None], wants_answer: false };
    program.on_message(at(0), &message);
    assert_eq!(events(&mut program), [Event::Appear, Event::Press(Button::East)]);
}
