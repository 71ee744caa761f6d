//! What a player types arrives in a program, by all that is between: messages, some of them lost, actions, keys, the program's window.

use crate::support::{Folder, comes_true, installed};
use gameway_desktop::{Injector, Program, Screen, State, Surroundings};
use gameway_input::{Key, Player, Program as Played, Switch};
use gameway_units::{Duration, Instant};
use std::io::Write;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, EventMask, InputFocus, KeyButMask, WindowClass,
};

/// The file into which the program below writes what is typed into it.
const PAPER: &str = "GAMEWAY_TEST_PAPER";

/// No test but a program, if it is started by one: a window that writes down what is typed until Enter.
#[test]
fn program_with_a_window() {
    let Some(paper) = std::env::var_os(PAPER) else { return };
    let mut paper = std::fs::File::create(paper).expect("a file");
    // As any program finds its screen.
    let (connection, number) = x11rb::connect(None).expect("DISPLAY and XAUTHORITY");
    let (root, own) =
        (connection.setup().roots[number].root, connection.generate_id().expect("a number"));
    let wanted = CreateWindowAux::new().override_redirect(1).event_mask(EventMask::KEY_PRESS);
    let (depth, kind) = (x11rb::COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT);
    let made = connection.create_window(depth, own, root, 0, 0, 640, 360, 0, kind, 0, &wanted);
    made.expect("a screen").check().expect("a window");
    connection.map_window(own).expect("a screen").check().expect("a window");
    let focus = connection.set_input_focus(InputFocus::PARENT, own, x11rb::CURRENT_TIME);
    focus.expect("a screen").check().expect("the focus");
    writeln!(paper, "ready").expect("a file");
    let first = connection.setup().min_keycode;
    let count = connection.setup().max_keycode - first + 1;
    let table = connection.get_keyboard_mapping(first, count).expect("a screen").reply();
    let table = table.expect("a table");
    loop {
        let Event::KeyPress(event) = connection.wait_for_event().expect("a screen") else {
            continue;
        };
        let row = usize::from(event.detail - first) * usize::from(table.keysyms_per_keycode);
        let level = usize::from(event.state.contains(KeyButMask::SHIFT));
        match table.keysyms[row + level] {
            0xff0d => return,
            // Keysyms of Latin 1 are its letters.
            keysym @ 0x20..=0x7e => {
                let letter = char::from(u8::try_from(keysym).expect("a letter"));
                write!(paper, "{letter}").expect("a file");
            }
            _ => {}
        }
    }
}

/// Keys for a text, with Shift for what is upper case.
fn strokes(text: &str) -> Vec<(Key, bool)> {
    let key = |code: &str| Key::named(code).expect("a key");
    text.chars()
        .map(|letter| match letter {
            ' ' => (key("Space"), false),
            '!' => (key("Digit1"), true),
            _ => (key(&format!("Key{}", letter.to_ascii_uppercase())), letter.is_uppercase()),
        })
        .collect()
}

/// A player's end and a host's, with an unreliable way between.
struct Way {
    player: Player,
    played: Played,
    injector: Injector,
    now: Instant,
    messages: usize,
}

impl Way {
    /// Lets time pass; every third message is lost.
    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.now += Duration::from_millis(1);
            let Some(message) = self.player.poll(self.now) else { continue };
            self.messages += 1;
            if self.messages.is_multiple_of(3) {
                continue;
            }
            if let Some(answer) = self.played.on_message(self.now, &message) {
                self.player.on_acknowledgement(&answer);
            }
            let actions: Vec<_> = std::iter::from_fn(|| self.played.poll()).collect();
            self.injector.apply(self.now, actions).expect("a screen");
        }
    }

    fn stroke(&mut self, key: Key, with_shift: bool) {
        let (shift, key) = (Switch::Key(Key::named("ShiftLeft").expect("a key")), Switch::Key(key));
        if with_shift {
            self.player.press(shift);
        }
        self.player.press(key);
        self.pass(Duration::from_millis(7));
        self.player.release(key);
        self.player.release(shift);
        self.pass(Duration::from_millis(7));
    }
}

#[test]
fn what_is_typed_arrives() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(640, 360, folder.path())) else { return };
    let (display, authority) = (screen.display().to_owned(), screen.authority().to_owned());
    let injector = Injector::connect(Some(&display), Some(&authority)).expect("input");
    let surroundings =
        Surroundings { display: Some(display), authority: Some(authority), sound: None };
    let paper = folder.path().join("paper");
    let mut environment = surroundings.environment();
    environment.push((PAPER.to_owned(), paper.clone().into()));
    let own = std::env::current_exe().expect("this program");
    let quiet = ["sh", "-c", "exec \"$0\" --exact typist::program_with_a_window > /dev/null"];
    let command = [quiet.map(Into::into).as_slice(), &[own.into()]].concat();
    let mut program = Program::start(&command, &environment).expect("this program again");
    let written = || std::fs::read_to_string(&paper).unwrap_or_default();
    assert!(comes_true(|| written() == "ready\n"), "{:?}", program.poll());

    let (player, played) = (Player::default(), Played::default());
    let mut way = Way { player, played, injector, now: Instant::ZERO, messages: 0 };
    let text = "The quick brown Fox jumps over the lazy dog!";
    strokes(text).into_iter().for_each(|(key, shift)| way.stroke(key, shift));
    way.stroke(Key::named("Enter").expect("a key"), false);
    way.pass(Duration::from_millis(100));
    assert!(comes_true(|| program.poll() == State::EndedWell), "{:?}", program.poll());
    assert_eq!(written(), format!("ready\n{text}"));
}
