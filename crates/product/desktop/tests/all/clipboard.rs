//! The clipboard with a program that is not ours: xclip.

use crate::support::{Folder, Running, comes_true, installed, said};
use gameway_desktop::{Clipboard as _, Screen, X11Clipboard, connect};
use gameway_input::clipboard::{MAX_TEXT, Outcome};
use gameway_runtime::clock::{Clock, sleep};
use gameway_units::{Duration, Instant};
use std::io::Write as _;
use std::process::{Command, Stdio};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, Window, WindowClass};

const TEXT: &str = "Grüße, žluťoučký кот 猫 🎮\nzwei\n";

struct Scene {
    clipboard: X11Clipboard,
    clock: Clock,
    screen: Screen,
    folder: Folder,
}

impl Scene {
    fn new() -> Option<Self> {
        let folder = Folder::new();
        let screen = installed(Screen::start(320, 180, folder.path()))?;
        let found = Command::new("xclip").arg("-version").output();
        if found.is_err() {
            eprintln!("skipped: xclip is not installed");
            return None;
        }
        let clipboard = X11Clipboard::connect(Some(screen.display()), Some(screen.authority()))
            .expect("a screen");
        let clock = Clock::new(Clock::monotonic_ns());
        Some(Self { clipboard, clock, screen, folder })
    }

    fn xclip(&self, words: &[&str]) -> Command {
        let mut command = Command::new("xclip");
        command
            .args(["-selection", "clipboard"])
            .args(words)
            .env("DISPLAY", self.screen.display())
            .env("XAUTHORITY", self.screen.authority())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// Another program copies this.
    fn copied(&self, text: &[u8]) -> Running {
        let mut child = self.xclip(&["-i", "-quiet"]).spawn().expect("xclip");
        child.stdin.take().expect("its input").write_all(text).expect("xclip");
        let owner = Running(child);
        assert!(comes_true(|| self.owner() != x11rb::NONE));
        owner
    }

    /// The window that owns the clipboard.
    fn owner(&self) -> Window {
        let (connection, _) =
            connect(Some(self.screen.display()), Some(self.screen.authority())).expect("a screen");
        let name = connection.intern_atom(false, b"CLIPBOARD").expect("a screen").reply();
        let asked = connection.get_selection_owner(name.expect("a name").atom).expect("a screen");
        asked.reply().expect("an answer").owner
    }

    /// What another program pastes; ours answers meanwhile.
    fn pasted(&mut self) -> Vec<u8> {
        said(&mut self.xclip(&["-o"]), self.folder.path(), || {
            assert_eq!(self.clipboard.poll(self.clock.now()), Ok(None));
        })
    }

    /// What is read when it is asked for.
    fn read(&mut self) -> Result<String, Outcome> {
        self.clipboard.ask(self.clock.now()).expect("a screen");
        let mut found = None;
        assert!(comes_true(|| {
            found = self.clipboard.poll(self.clock.now()).expect("a screen");
            found.is_some()
        }));
        found.expect("an answer")
    }
}

/// As long as may be, of characters of three bytes, so that pieces end within one.
fn longest() -> String {
    "猫".repeat(MAX_TEXT / 3)
}

#[test]
fn a_text_that_is_given_is_pasted_by_other_programs_until_they_copy() {
    let Some(mut scene) = Scene::new() else { return };
    for text in [TEXT, "", &longest(), "the last one"] {
        scene.clipboard.give(text).expect("a screen");
        // Which is ours to read, too.
        assert_eq!(scene.read().as_deref(), Ok(text));
        // A program that asks before the server has noted the owner gets what was there before.
        assert!(comes_true(|| scene.pasted() == text.as_bytes()), "{} bytes", text.len());
    }
    let _owner = scene.copied(b"another");
    assert!(comes_true(|| scene.clipboard.poll(scene.clock.now()) == Ok(None)
        && scene.read() == Ok("another".to_owned())));
}

/// The loss of the text before is heard of after another one is given.
#[test]
fn a_text_is_owned_though_another_program_has_just_copied() {
    let Some(mut scene) = Scene::new() else { return };
    scene.clipboard.give("first").expect("a screen");
    assert!(comes_true(|| scene.pasted() == b"first"));
    let ours = scene.owner();
    let _owner = scene.copied(b"another");
    assert!(comes_true(|| scene.owner() != ours));
    scene.clipboard.give("second").expect("a screen");
    assert!(comes_true(|| scene.pasted() == b"second"));
}

#[test]
fn a_text_that_was_copied_is_read_when_it_is_asked_for() {
    let Some(mut scene) = Scene::new() else { return };
    assert_eq!(scene.read(), Err(Outcome::Nothing));
    for text in [TEXT, &longest()] {
        let _owner = scene.copied(text.as_bytes());
        assert!(scene.read().as_deref() == Ok(text), "{} bytes", text.len());
    }
}

#[test]
fn what_is_no_text_or_too_long_is_refused() {
    let Some(mut scene) = Scene::new() else { return };
    for (bytes, outcome) in [
        (vec![b'a'; MAX_TEXT + 1], Outcome::TooLong),
        (vec![b'a'; 4 * MAX_TEXT], Outcome::TooLong),
        (vec![0xc3, 0x28, 0xff], Outcome::NoText),
    ] {
        let _owner = scene.copied(&bytes);
        assert_eq!(scene.read(), Err(outcome), "{} bytes", bytes.len());
    }
    // Who has it now is read as ever.
    let _owner = scene.copied(b"short");
    assert_eq!(scene.read().as_deref(), Ok("short"));
}

/// A program that owns the clipboard and says nothing, as one that has stopped.
#[test]
fn a_program_that_does_not_answer_is_not_waited_for() {
    let Some(mut scene) = Scene::new() else { return };
    let (connection, number) =
        connect(Some(scene.screen.display()), Some(scene.screen.authority())).expect("a screen");
    let own = connection.generate_id().expect("a number");
    let root = connection.setup().roots[number].root;
    let (kind, looks) = (WindowClass::INPUT_ONLY, CreateWindowAux::new());
    connection.create_window(0, own, root, 0, 0, 1, 1, 0, kind, 0, &looks).expect("a screen");
    let name = connection.intern_atom(false, b"CLIPBOARD").expect("a screen").reply();
    let owned =
        connection.set_selection_owner(own, name.expect("a name").atom, x11rb::CURRENT_TIME);
    owned.expect("a screen").check().expect("the clipboard");
    scene.clipboard.ask(Instant::ZERO).expect("a screen");
    sleep(Duration::from_millis(50));
    let at = |millis| Instant::ZERO + Duration::from_millis(millis);
    assert_eq!(scene.clipboard.poll(at(1_999)), Ok(None));
    assert_eq!(scene.clipboard.next_deadline(), Some(at(2_000)));
    assert_eq!(scene.clipboard.poll(at(2_000)), Ok(Some(Err(Outcome::NoAnswer))));
    assert_eq!(
        (scene.clipboard.poll(at(9_000)), scene.clipboard.next_deadline()),
        (Ok(None), None)
    );
}
