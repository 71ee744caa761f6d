//! Characters that are typed on a screen, as a program that is not ours gets them: xterm, in which `cat` writes them to a file.

use crate::support::{Folder, comes_true, installed};
use gameway_desktop::{Injector, Program, Screen, Surroundings, connect};
use gameway_input::{Action, Key, Switch};
use gameway_runtime::clock::{Clock, sleep};
use gameway_units::Duration;
use std::path::PathBuf;
use std::process::Command;
use x11rb::protocol::xkb::ConnectionExt as _;
use x11rb::protocol::xproto::ConnectionExt as _;

const TEXT: &str = "Grüße, žluťoučký кот 猫 🎮 ÄÖ@€{}~^ŽŠ";

/// A screen with a terminal on it.
struct Scene {
    injector: Injector,
    clock: Clock,
    paper: PathBuf,
    surroundings: Surroundings,
    _program: Program,
    _screen: Screen,
    _folder: Folder,
}

fn is_there(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let there = found.is_ok_and(|found| found.status.success());
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

impl Scene {
    /// With this layout of the server.
    fn new(layout: &str) -> Option<Self> {
        let folder = Folder::new();
        let screen = installed(Screen::start(640, 360, folder.path()))?;
        if !is_there("xterm") || !is_there("setxkbmap") {
            return None;
        }
        let (display, authority) = (screen.display().to_owned(), screen.authority().to_owned());
        let injector = Injector::connect(Some(&display), Some(&authority)).expect("input");
        let surroundings =
            Surroundings { display: Some(display), authority: Some(authority), sound: None };
        let paper = folder.path().join("paper");
        let mut environment = surroundings.environment();
        environment.push(("LC_ALL".to_owned(), "C.UTF-8".into()));
        environment.push(("PAPER".to_owned(), paper.clone().into()));
        // A terminal echoes and hands on each character at once, and has its window when it begins; the layout is set after input has begun.
        let script = "setxkbmap $LAYOUT; echo $$ > $PAPER.pid; exec xterm -u8 -xrm \"*waitForMap: true\" -geometry 80x24+0+0 -e sh -c 'stty raw -echo; echo ready > $PAPER; exec cat >> $PAPER'";
        environment.push(("LAYOUT".to_owned(), layout.into()));
        let program = Program::start(&["sh", "-c", script].map(Into::into), &environment);
        let clock = Clock::new(Clock::monotonic_ns());
        let program = program.expect("a shell");
        let mut scene = Self {
            injector,
            clock,
            paper,
            surroundings,
            _program: program,
            _screen: screen,
            _folder: folder,
        };
        assert!(comes_true(|| scene.written() == "ready\n"), "no terminal");
        // The window under the pointer has the keys.
        scene.apply([Action::MoveTo(20_000, 20_000)]);
        Some(scene)
    }

    fn written(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.paper).unwrap_or_default()).into_owned()
    }

    fn apply(&mut self, actions: impl IntoIterator<Item = Action>) {
        for action in actions {
            while !self.injector.is_ready(self.clock.now(), &action) {
                sleep(Duration::from_millis(5));
            }
            self.injector.apply(self.clock.now(), [action]).expect("a screen");
        }
    }

    fn types(&mut self, text: &str) {
        self.apply(text.chars().map(Action::Type));
    }

    /// A game that loads, or a machine that is busy: what is typed meanwhile is looked up later.
    fn types_while_it_hangs(&mut self, text: &str) {
        let (began, hangs) = (self.clock.now(), Duration::from_millis(300));
        self.signal("STOP");
        let mut is_stopped = true;
        for character in text.chars() {
            let action = Action::Type(character);
            while !self.injector.is_ready(self.clock.now(), &action) {
                sleep(Duration::from_millis(5));
                if is_stopped && self.clock.now().saturating_since(began) >= hangs {
                    self.signal("CONT");
                    is_stopped = false;
                }
            }
            self.injector.apply(self.clock.now(), [action]).expect("a screen");
        }
        assert!(!is_stopped, "there are more characters than spare keycodes");
    }

    fn comes_to(&self, text: &str) {
        let wanted = format!("ready\n{text}");
        assert!(comes_true(|| self.written() == wanted), "{:?}", self.written());
    }

    /// Sends the terminal a signal.
    fn signal(&self, name: &str) {
        let pid = std::fs::read_to_string(self.paper.with_extension("pid")).expect("its process");
        let done = Command::new("kill").args(["-s", name, pid.trim()]).status();
        assert!(done.is_ok_and(|done| done.success()), "{name} {pid}");
    }

    /// All keysyms of the server's keyboard, and which modifiers are locked and held.
    fn keyboard(&self) -> (Vec<u32>, u16, u16) {
        let Surroundings { display, authority, .. } = &self.surroundings;
        let (connection, _) = connect(display.as_deref(), authority.as_deref()).expect("a screen");
        let asked = connection.get_keyboard_mapping(8, 248).expect("a screen").reply();
        connection.xkb_use_extension(1, 0).expect("a screen").reply().expect("XKB");
        let state = connection.xkb_get_state(256).expect("a screen").reply().expect("a state");
        let table = asked.expect("a table");
        // The table may become wider; what is behind is empty.
        let keys = table.keysyms.chunks(usize::from(table.keysyms_per_keycode));
        let syms = keys.flat_map(|key| key.iter().copied().chain([0; 16]).take(16)).collect();
        (syms, state.locked_mods.into(), state.base_mods.into())
    }
}

fn key(code: &str) -> Switch {
    Switch::Key(Key::named(code).expect("a key"))
}

#[test]
fn text_arrives_whatever_the_layout_and_the_keyboard_is_as_before() {
    for layout in ["us", "de", "cz", "us,ru"] {
        let Some(mut scene) = Scene::new(layout) else { return };
        let before = scene.keyboard();
        scene.types(TEXT);
        scene.comes_to(TEXT);
        assert_ne!(scene.keyboard().0, before.0, "characters are bound for a while");
        scene
            .injector
            .apply(scene.clock.now().saturating_add(Duration::from_secs(3)), [])
            .expect("a screen");
        assert_eq!(scene.keyboard(), before, "{layout}");
        assert_eq!(scene.injector.untyped(), []);
    }
}

#[test]
fn what_is_held_and_locked_neither_changes_a_text_nor_is_changed_by_it() {
    let Some(mut scene) = Scene::new("de") else { return };
    for held in ["ShiftLeft", "ControlLeft", "AltRight"] {
        scene.apply([Action::Press(key(held))]);
    }
    scene.apply([Action::Press(key("CapsLock")), Action::Release(key("CapsLock"))]);
    let before = scene.keyboard();
    assert_eq!((before.1, before.2 & 5), (2, 5), "Caps Lock; Shift and Control");
    scene.types("aBß€žŽ");
    scene.comes_to("aBß€žŽ");
    let after = scene.keyboard();
    assert_eq!((before.1, before.2), (after.1, after.2));
    for held in ["ShiftLeft", "ControlLeft", "AltRight"] {
        scene.apply([Action::Release(key(held))]);
    }
    // Keys by their place are as ever: this one is Z, of a German keyboard, by Caps Lock.
    scene.apply([Action::Press(key("KeyY")), Action::Release(key("KeyY"))]);
    scene.comes_to("aBß€žŽZ");
}

/// A terminal that a busy machine lets hang for more than half a second looks a character up too late: hence the tries.
fn arrives_once(text: &str, typed: impl Fn(&mut Scene)) {
    let wanted = format!("ready\n{text}");
    let mut found = String::new();
    for _ in 0..3 {
        let Some(mut scene) = Scene::new("us") else { return };
        typed(&mut scene);
        comes_true(|| scene.written().len() >= wanted.len());
        found = scene.written();
        if found == wanted {
            return;
        }
    }
    assert_eq!(found, wanted);
}

/// More different characters than there are spare keycodes: each waits until a program has looked one up.
#[test]
fn a_text_of_many_different_characters_arrives() {
    let text: String = ('\u{4e00}'..'\u{4e64}').collect();
    arrives_once(&text, |scene| scene.types(&text));
}

#[test]
fn a_text_arrives_that_is_typed_while_the_program_hangs() {
    let text: String = ('\u{4e00}'..'\u{4e28}').collect();
    arrives_once(&text, |scene| scene.types_while_it_hangs(&text));
}

/// The twin: what the tests above type would be something else by places.
#[test]
fn keys_by_their_place_do_not_write_the_same_on_each_layout() {
    let Some(mut scene) = Scene::new("de") else { return };
    for code in ["KeyY", "Minus"] {
        scene.apply([Action::Press(key(code)), Action::Release(key(code))]);
    }
    scene.comes_to("zß");
}
