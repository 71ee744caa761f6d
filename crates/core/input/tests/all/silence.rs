//! Nothing is heard of the player any more.

use gameway_input::{Action, Key, Message, Player, Program, Switch};
use gameway_units::{Duration, Instant};

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn key(code: &str) -> Switch {
    Switch::Key(Key::named(code).expect("a key"))
}

fn actions(program: &mut Program) -> Vec<Action> {
    std::iter::from_fn(|| program.poll()).collect()
}

fn told(player: &mut Player, now: Instant) -> Message {
    player.poll(now).expect("something is to be told")
}

#[test]
fn what_is_held_is_released_after_half_a_second_and_pressed_again_when_the_player_is_back() {
    let (mut player, mut program) = (Player::default(), Program::default());
    player.press(key("KeyW"));
    program.on_message(at(0), &told(&mut player, at(0)));
    assert_eq!(actions(&mut program), [Action::Press(key("KeyW"))]);
    assert_eq!(program.next_deadline(), Some(at(500)));
    program.on_deadline(at(499));
    assert_eq!(actions(&mut program), []);
    program.on_deadline(at(500));
    assert_eq!(actions(&mut program), [Action::Release(key("KeyW"))]);
    assert_eq!(program.next_deadline(), None, "nothing is held");
    program.on_message(at(800), &told(&mut player, at(800)));
    assert_eq!(actions(&mut program), [Action::Press(key("KeyW"))]);
}

#[test]
fn signs_of_life_come_while_something_is_held_and_no_longer() {
    let (mut player, mut program) = (Player::default(), Program::default());
    assert_eq!(player.next_deadline(), None);
    player.press(key("Space"));
    let answer = program.on_message(at(0), &told(&mut player, at(0))).expect("a change");
    player.on_acknowledgement(&answer);
    assert_eq!(player.next_deadline(), Some(at(100)));
    assert_eq!(program.on_message(at(100), &told(&mut player, at(100))), None, "no change");
    assert_eq!(program.next_deadline(), Some(at(600)));
    player.release(key("Space"));
    let answer = program.on_message(at(150), &told(&mut player, at(150))).expect("a change");
    assert_eq!((answer.next_change, program.newest_change()), (3, 2));
    player.on_acknowledgement(&answer);
    assert_eq!((player.next_deadline(), program.next_deadline()), (None, None));
}

#[test]
fn a_change_is_repeated_every_20_ms_until_it_is_acknowledged() {
    let mut player = Player::default();
    player.press(key("Escape"));
    player.release(key("Escape"));
    for round in 0..4 {
        let message = told(&mut player, at(20 * round));
        assert_eq!(
            (message.number, message.first_change, message.changes.len()),
            (round as u32 + 1, 1, 2)
        );
        assert_eq!(player.next_deadline(), Some(at(20 * round + 20)));
    }
    // More than was told is not believed.
    player.on_acknowledgement(&gameway_input::Acknowledgement { next_change: 9, message: 9 });
    assert_eq!(player.next_deadline(), None);
    player.press(key("Escape"));
    assert_eq!(told(&mut player, at(100)).first_change, 3);
}

#[test]
fn motion_is_told_every_4_ms_as_a_sum() {
    let (mut player, mut program) = (Player::default(), Program::default());
    player.move_by((3, 4));
    program.on_message(at(0), &told(&mut player, at(0)));
    player.move_by((1, 0));
    player.move_by((1, -1));
    player.turn((0, 120));
    assert_eq!(player.poll(at(3)), None);
    // The one at 4 ms is lost, the next one brings all.
    assert!(player.poll(at(4)).is_some_and(|lost| !lost.wants_answer));
    player.move_to((7, 8));
    assert_eq!(program.on_message(at(8), &told(&mut player, at(8))), None);
    assert_eq!(
        actions(&mut program),
        [Action::MoveBy(3, 4), Action::MoveTo(7, 8), Action::MoveBy(2, -1), Action::Turn(0, 120)]
    );
    // The motion has ended: its last message is repeated until it is answered.
    assert_eq!(player.next_deadline(), Some(at(28)));
    let answer = program.on_message(at(28), &told(&mut player, at(28))).expect("it wants one");
    player.on_acknowledgement(&answer);
    assert_eq!((actions(&mut program), player.next_deadline()), (vec![], None));
}

#[test]
fn an_old_message_changes_nothing_and_a_sum_that_lies_moves_no_further_than_two_screens() {
    let (mut player, mut program) = (Player::default(), Program::default());
    player.press(key("KeyA"));
    let old = told(&mut player, at(0));
    player.release(key("KeyA"));
    player.move_by((i32::MAX, i32::MIN));
    program.on_message(at(1), &told(&mut player, at(1)));
    let expected =
        [Action::MoveBy(8_192, -8_192), Action::Press(key("KeyA")), Action::Release(key("KeyA"))];
    assert_eq!(actions(&mut program), expected);
    assert!(program.on_message(at(2), &old).is_some_and(|answer| answer.next_change == 3));
    assert_eq!((actions(&mut program), program.next_deadline()), (vec![], None));
}

#[test]
fn a_change_may_have_the_last_number() {
    let player = |first_change| {
        let mut bytes = [&b"GI\x01\0\0\0\0\x01"[..], &[0; 58]].concat();
        bytes[8..12].copy_from_slice(&u32::to_be_bytes(first_change));
        Message::parse(&bytes).expect("a message")
    };
    let mut program = Program::default();
    program.on_message(Instant::ZERO, &player(u32::MAX));
    assert_eq!(program.newest_change(), u32::MAX - 1);
}

#[test]
fn a_message_that_comes_twice_counts_once() {
    let (mut player, mut program) = (Player::default(), Program::default());
    player.press(key("KeyW"));
    let message = told(&mut player, at(0));
    let answer = program.on_message(at(0), &message);
    assert_eq!(actions(&mut program), [Action::Press(key("KeyW"))]);
    // It is answered again, since the first answer may be lost, and says nothing of the player's life.
    assert_eq!(program.on_message(at(400), &message), answer);
    assert_eq!((actions(&mut program), program.next_deadline()), (vec![], Some(at(500))));
    program.on_deadline(at(500));
    assert_eq!(actions(&mut program), [Action::Release(key("KeyW"))]);
    program.on_message(at(600), &message);
    assert_eq!((actions(&mut program), program.next_deadline()), (vec![], None));
}
