//! The test card on a screen: it answers each key by the picture of the next number.

use crate::support::{Folder, comes_true, installed};
use gameway_desktop::card::{Answer, CELLS, ROW, number};
use gameway_desktop::{Injector, Screen, connect, show_card};
use gameway_input::{Action, Key, Switch};
use gameway_runtime::clock::Clock;
use gameway_units::{Duration, Instant};
use std::sync::mpsc::channel;
use std::time::Duration as Patience;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat, Window};
use x11rb::rust_connection::RustConnection;

const SIZE: (u16, u16) = (640, 360);
const PATIENCE: Patience = Patience::from_secs(20);

/// The number that a screen shows, by one pixel of each cell.
fn shown(connection: &RustConnection, root: Window) -> Option<u8> {
    let y = (usize::from(SIZE.1) * (ROW.0 + ROW.1) / 16) as i16;
    let row = connection.get_image(ImageFormat::Z_PIXMAP, root, 0, y, SIZE.0, 1, !0);
    let row = row.expect("a screen").reply().expect("a row").data;
    let middle = |cell: usize| 4 * (usize::from(SIZE.0) * (2 * cell + 1) / (2 * CELLS));
    number(std::array::from_fn(|cell| row[middle(cell)] > 127))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the card waits for events in a thread of its own")]
fn each_key_is_answered_by_the_next_number_and_when_is_told() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(SIZE.0, SIZE.1, folder.path())) else { return };
    let (display, authority) = (screen.display().to_owned(), screen.authority().to_owned());
    let (connection, at) = connect(Some(&display), Some(&authority)).expect("a screen");
    let root = connection.setup().roots[at].root;
    let mut injector = Injector::connect(Some(&display), Some(&authority)).expect("input");
    let (tell, told) = channel();
    let later = Duration::from_millis(30);
    let card = std::thread::spawn(move || {
        show_card(Some(&display), Some(&authority), later, &mut |answer| {
            let _ = tell.send(answer);
        })
    });
    assert!(comes_true(|| shown(&connection, root) == Some(0)));
    let space = Switch::Key(Key::named("Space").expect("a key"));
    for expected in 1..=3 {
        let pressed = Clock::monotonic_ns();
        injector
            .apply(Instant::ZERO, [Action::Press(space), Action::Release(space)])
            .expect("a screen");
        let Answer { number, got_ns, drawn_ns } = told.recv_timeout(PATIENCE).expect("an answer");
        // What is told to be drawn is there.
        assert_eq!((number, shown(&connection, root)), (expected, Some(expected)));
        assert!(pressed <= got_ns && drawn_ns <= Clock::monotonic_ns());
        assert!(drawn_ns - got_ns >= later.as_nanos(), "{}", drawn_ns - got_ns);
    }
    drop(screen);
    let ended = card.join().expect("no panic").expect_err("its screen is gone");
    assert!(ended.to_string().contains("the test card: "), "{ended}");
}
