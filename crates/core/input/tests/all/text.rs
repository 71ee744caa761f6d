//! Text that a program takes slowly, that nobody takes, and that is of no use any more.

use gameway_input::{Acknowledgement, Action, Key, Player, Program, Switch};
use gameway_testbed::Random;
use gameway_units::{Duration, Instant};

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn key() -> Switch {
    Switch::Key(Key::named("Enter").expect("a key"))
}

/// What a program has of a text when it takes a character each `pace` milliseconds, and each message and each answer is lost by this
/// chance; also how many were lost.
fn taken(text: &str, pace: i64, loss_percent: u64) -> (String, u32) {
    let (mut player, mut program) = (Player::default(), Program::default());
    let (mut random, mut taken, mut lost) = (Random::new(7), String::new(), 0);
    assert!(text.chars().all(|character| player.type_character(character).is_some()));
    for millis in 0..200_000 {
        while let Some(message) = player.poll(at(millis)) {
            assert!(message.to_bytes().len() <= 162);
            let mut is_lost = || {
                let is_lost = random.below(100) < loss_percent;
                lost += u32::from(is_lost);
                is_lost
            };
            if !is_lost()
                && let Some(answer) = program.on_message(at(millis), &message)
                && !is_lost()
            {
                player.on_acknowledgement(&answer);
            }
        }
        if millis % pace == 0
            && let Some(action) = program.poll()
        {
            let Action::Type(character) = action else { panic!("{action:?}") };
            taken.push(character);
        }
    }
    assert_eq!((program.poll(), player.next_deadline()), (None, None));
    (taken, lost)
}

#[test]
fn a_program_that_takes_text_slowly_gets_all_of_it() {
    let text = "Grüße, žluťoučký кот 猫 🎮".repeat(160);
    assert!(text.chars().count() > 3_500);
    let (all, lost) = taken(&text, 40, 30);
    assert!(all == text, "{} of {} bytes", all.len(), text.len());
    assert!(lost >= 200, "{lost}");
}

#[test]
fn each_part_of_a_text_is_told_as_soon_as_the_one_before_is_acknowledged() {
    let mut player = Player::default();
    (0..4 * 32).for_each(|_| assert!(player.type_character('a').is_some()));
    for part in 0..4 {
        let told = player.poll(at(part)).expect("its time is not awaited");
        let first_change = 1 + 32 * part as u32;
        assert_eq!((told.first_change, told.changes.len()), (first_change, 32));
        // Of which a half has come, that is repeated in its time.
        let half = Acknowledgement { next_change: first_change + 16, message: told.number };
        player.on_acknowledgement(&half);
        assert_eq!(player.next_deadline(), Some(at(part + 20)));
        player.on_acknowledgement(&Acknowledgement { next_change: first_change + 32, ..half });
    }
    assert_eq!(player.next_deadline(), None);
}

/// A host that lies, or that knows another page's numbers: text that was never sent is not lost by it.
#[test]
fn what_was_never_told_cannot_be_acknowledged() {
    let mut player = Player::default();
    (0..40).for_each(|_| assert!(player.type_character('a').is_some()));
    let told = player.poll(at(0)).expect("changes");
    assert_eq!(told.changes.len(), 32);
    player.on_acknowledgement(&Acknowledgement { next_change: 41, message: told.number });
    let rest = player.poll(at(0)).expect("what had no room");
    assert_eq!((rest.first_change, rest.changes.len()), (33, 8));
}

#[test]
fn what_waits_is_bounded_and_what_is_beyond_is_refused() {
    let mut player = Player::default();
    for number in 1..=4_096 {
        assert_eq!(player.type_character('a'), Some(number));
    }
    assert_eq!((player.type_character('a'), player.press(key())), (None, None));
    // It has held nothing, so there is nothing to release.
    assert_eq!(player.release(key()), None);
    let mut program = Program::default();
    for millis in 0..5_000 {
        let Some(message) = player.poll(at(millis)) else { continue };
        assert!(message.changes.len() <= 32 && message.held.is_empty());
        if let Some(answer) = program.on_message(at(millis), &message) {
            player.on_acknowledgement(&answer);
        }
    }
    // Nobody has taken any of it: the program's end keeps some, the rest waits where it was typed.
    assert_eq!(std::iter::from_fn(|| program.poll()).count(), 256);
    assert_eq!(player.type_character('a'), Some(4_097));
}

#[test]
fn a_key_that_is_held_while_text_waits_is_told_behind_it_and_released_when_all_is_full() {
    let (mut player, mut program) = (Player::default(), Program::default());
    player.press(key());
    (0..4_095).for_each(|_| assert!(player.type_character('a').is_some()));
    assert_eq!(player.release(key()), Some(4_097));
    let first = player.poll(at(0)).expect("changes");
    assert!(first.held.contains(key()), "it is up behind the text only");
    let answer = program.on_message(at(0), &first).expect("changes are acknowledged");
    player.on_acknowledgement(&answer);
    assert_eq!(player.next_deadline(), Some(at(0)), "what had no room is told at once");
    assert_eq!(program.poll(), Some(Action::Press(key())));
    assert_eq!(program.poll(), Some(Action::Type('a')));
}

#[test]
fn what_controls_is_no_text() {
    let mut player = Player::default();
    for character in ['\n', '\t', '\u{8}', '\u{7f}', '\u{85}'] {
        assert_eq!(player.type_character(character), None);
    }
    assert_eq!(player.next_deadline(), None);
}

#[test]
fn text_that_is_not_typed_yet_is_forgotten_with_its_player() {
    for ends in [true, false] {
        let (mut player, mut program) = (Player::default(), Program::default());
        player.press(key());
        player.type_character('x');
        program.on_message(at(0), &player.poll(at(0)).expect("changes"));
        assert_eq!(program.peek(), Some(&Action::Press(key())));
        if ends {
            program.end();
        } else {
            // Of who is silent for a while keys go up, and no text is lost.
            program.on_deadline(at(500));
        }
        let actions: Vec<Action> = std::iter::from_fn(|| program.poll()).collect();
        let typed = actions.contains(&Action::Type('x'));
        assert_eq!((typed, actions.last()), (!ends, Some(&Action::Release(key()))));
    }
}
