use super::*;
use gameway_input::{Change, Held, Key, Pointer, Switch};
use gameway_units::Duration;

fn at(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A message with a press and a release of a key, from this change on.
fn message(first_change: u32) -> Message {
    let switch = Switch::Key(Key::named("Space").expect("a key"));
    let change = |is_held| Change::Switch { switch, is_held };
    Message {
        number: first_change,
        first_change,
        changes: vec![change(true), change(false)],
        held: Held::default(),
        pointer: Pointer::default(),
        wants_answer: true,
    }
}

/// A press that arrives at this time and is answered 3 ms later.
fn press(photon: &mut Photon, millis: i64, change: u32, number: u8) {
    photon.on_input(at(millis), &message(change), change);
    photon.on_injection(at(millis + 1));
    photon.on_answer(Answered { number, got: at(millis + 2), drawn: at(millis + 3) });
}

/// A frame with this number, captured at this time; its two packets leave 5 and 7 ms later.
fn frame(photon: &mut Photon, millis: i64, frame: u64, number: Option<u8>) {
    let (began, captured) = (at(millis - 2), at(millis));
    let watched = Watched { number, began, captured, encoded: at(millis + 4) };
    photon.on_made(FrameId(frame), 90 * millis as u32, watched);
    for later in [5, 7] {
        photon.on_packet(FrameId(frame));
        assert!(photon.is_leaving());
        photon.on_departure(at(millis + later));
    }
    assert!(!photon.is_leaving());
}

fn ask(photon: &Photon, change: u32, millis: u32) -> Answer {
    photon.answer(at(999), Question { page_time: 5, change, timestamp: 90 * millis })
}

#[test]
fn a_press_has_its_times_with_the_picture_that_shows_it() {
    let mut photon = Photon::default();
    frame(&mut photon, 4, 0, Some(0));
    press(&mut photon, 10, 1, 1);
    frame(&mut photon, 20, 1, Some(0));
    frame(&mut photon, 36, 2, Some(1));
    frame(&mut photon, 52, 3, Some(1));
    let told = ask(&photon, 1, 36);
    let expected = Times {
        arrived: at(10),
        injected: at(11),
        got: at(12),
        drawn: at(13),
        began: at(34),
        captured: at(36),
        encoded: at(40),
        first_sent: at(41),
        sent: at(43),
    };
    assert_eq!((told.times, told.is_first), (Some(expected), true));
    assert_eq!((told.page_time, told.host_time, told.change), (5, at(999), 1));
    // A page that left out the first one is told so.
    let later = ask(&photon, 1, 52);
    assert_eq!((later.times.map(|times| times.captured), later.is_first), (Some(at(52)), false));
    // The card heard of its picture after that was captured: it was drawn by then.
    let answered = Answered { number: 2, got: at(62), drawn: at(75) };
    photon.on_input(at(60), &message(3), 3);
    photon.on_injection(at(61));
    photon.on_answer(answered);
    frame(&mut photon, 70, 4, Some(2));
    assert_eq!(ask(&photon, 3, 70).times.map(|times| times.drawn), Some(at(70)));
    // The picture before, the release, another press, a picture that nobody sent.
    for (change, millis) in [(1, 20), (2, 36), (5, 36), (1, 99), (0, 0)] {
        assert_eq!(ask(&photon, change, millis).times, None, "{change} in {millis}");
    }
}

#[test]
fn a_number_that_comes_again_is_of_the_press_before_it() {
    let mut photon = Photon::default();
    frame(&mut photon, 4, 0, Some(1));
    press(&mut photon, 10, 1, 1);
    frame(&mut photon, 20, 1, Some(1));
    let told = ask(&photon, 1, 20);
    assert!(told.times.is_some() && told.is_first, "the frame of before the press is none of it");
    assert_eq!(ask(&photon, 1, 4).times, None);
}

#[test]
fn a_press_that_the_card_missed_does_not_shift_the_others() {
    let mut photon = Photon::default();
    photon.on_input(at(1), &message(1), 1);
    photon.on_injection(at(2));
    press(&mut photon, 10, 3, 1);
    // A second answer to the same press: a key that repeats itself.
    photon.on_answer(Answered { number: 2, got: at(14), drawn: at(15) });
    frame(&mut photon, 20, 0, Some(1));
    assert_eq!(ask(&photon, 1, 20).times, None);
    assert_eq!(ask(&photon, 3, 20).times.map(|times| times.arrived), Some(at(10)));
    // The same message once more tells nothing new.
    photon.on_input(at(30), &message(3), 5);
    assert_eq!(photon.presses.len(), 2);
}

#[test]
fn it_remembers_so_much_and_no_more() {
    let mut photon = Photon::default();
    for number in 0..1_000_u32 {
        let millis = 20 * i64::from(number) + 10;
        press(&mut photon, millis, 2 * number + 1, number as u8);
        frame(&mut photon, millis + 10, number.into(), Some(number as u8));
    }
    let kept = (photon.presses.len(), photon.frames.len(), photon.departures.len());
    assert_eq!(kept, (MAX_PRESSES, MAX_FRAMES, MAX_FRAMES));
    assert!(ask(&photon, 1_999, 20_000).is_first);
}
