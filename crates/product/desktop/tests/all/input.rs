//! A player's actions on a screen, as its programs see them.

use crate::support::{Folder, comes_true, installed};
use gameway_desktop::{Injector, Screen, connect};
use gameway_input::{Action, Button, KEYS, Key, Switch};
use gameway_units::Instant;
use std::collections::BTreeMap;
use std::process::Command;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::randr::{ConnectionExt as _, ModeInfo, Rotation};
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateWindowAux, EventMask, KeyButMask, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

/// A screen, input into it, and somebody who looks.
struct Scene {
    injector: Injector,
    connection: RustConnection,
    root: Window,
    screen: Screen,
    _folder: Folder,
}

impl Scene {
    fn new() -> Option<Self> {
        let folder = Folder::new();
        let screen = installed(Screen::start(1_280, 720, folder.path()))?;
        let injector = Self::input(&screen);
        let (connection, number) =
            connect(Some(screen.display()), Some(screen.authority())).expect("a screen");
        let root = connection.setup().roots[number].root;
        Some(Self { injector, connection, root, screen, _folder: folder })
    }

    fn input(screen: &Screen) -> Injector {
        Injector::connect(Some(screen.display()), Some(screen.authority())).expect("input")
    }

    /// Does this; the server has done it when the second connection's requests are answered.
    fn apply(&mut self, actions: impl IntoIterator<Item = Action>) {
        self.injector.apply(Instant::ZERO, actions).expect("a screen");
    }

    /// The keycodes that are held.
    fn held(&self) -> Vec<u8> {
        let keys = self.connection.query_keymap().expect("a screen").reply().expect("keys").keys;
        (0..=255_u8).filter(|code| keys[usize::from(code / 8)] & (1 << (code % 8)) != 0).collect()
    }

    fn pointer(&self) -> ((i16, i16), KeyButMask) {
        let pointer = self.connection.query_pointer(self.root).expect("a screen").reply();
        let pointer = pointer.expect("a pointer");
        ((pointer.root_x, pointer.root_y), pointer.mask)
    }

    fn is_at(&self, place: (i16, i16)) -> bool {
        comes_true(|| self.pointer().0 == place)
    }

    /// Which keysym without modifiers each key has, by pressing it.
    fn keysyms(&mut self) -> BTreeMap<&'static str, u32> {
        let setup = self.connection.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let mut found = BTreeMap::new();
        for key in KEYS.iter().filter_map(|known| known.key.names()) {
            let switch = Switch::Key(key.key);
            self.apply([Action::Press(switch)]);
            if self.injector.unknown_keys().contains(&key.key) {
                continue;
            }
            assert!(comes_true(|| self.held().len() == 1), "{}: {:?}", key.code, self.held());
            let code = self.held()[0];
            self.apply([Action::Release(switch)]);
            assert!(comes_true(|| self.held().is_empty()), "{}", key.code);
            let table = self.connection.get_keyboard_mapping(first, last - first + 1);
            let table = table.expect("a screen").reply().expect("a table");
            let row = usize::from(code - first) * usize::from(table.keysyms_per_keycode);
            found.insert(key.code, table.keysyms[row]);
        }
        found
    }

    fn setxkbmap(&self, words: &[&str]) {
        let done = Command::new("setxkbmap")
            .env("DISPLAY", self.screen.display())
            .env("XAUTHORITY", self.screen.authority())
            .args(words)
            .status();
        assert!(done.expect("setxkbmap, which Xvfb depends on").success());
    }
}

/// Keysyms of a keyboard of the United States, by `keysymdef.h`.
const UNITED_STATES: [(&str, u32); 24] = [
    ("KeyA", 0x61),
    ("KeyZ", 0x7a),
    ("KeyY", 0x79),
    ("KeyQ", 0x71),
    ("Digit1", 0x31),
    ("Digit0", 0x30),
    ("Minus", 0x2d),
    ("BracketLeft", 0x5b),
    ("Semicolon", 0x3b),
    ("Backquote", 0x60),
    ("Backslash", 0x5c),
    ("Slash", 0x2f),
    ("Space", 0x20),
    ("Enter", 0xff0d),
    ("Escape", 0xff1b),
    ("Tab", 0xff09),
    ("F1", 0xffbe),
    ("F12", 0xffc9),
    ("ArrowUp", 0xff52),
    ("ArrowLeft", 0xff51),
    ("Delete", 0xffff),
    ("ControlLeft", 0xffe3),
    ("ShiftRight", 0xffe2),
    ("NumpadEnter", 0xff8d),
];

#[test]
fn each_key_is_pressed_and_released_alone() {
    let Some(mut scene) = Scene::new() else { return };
    let keysyms = scene.keysyms();
    assert_eq!(scene.injector.unknown_keys(), []);
    assert_eq!(keysyms.len(), KEYS.len());
    for (code, keysym) in UNITED_STATES {
        assert_eq!(keysyms[code], keysym, "{code}");
    }
}

/// A key is the same place under each layout, so what it writes differs.
#[test]
fn the_layout_is_the_programs() {
    let Some(mut scene) = Scene::new() else { return };
    scene.setxkbmap(&["de"]);
    let keysyms = scene.keysyms();
    for (code, keysym) in [("KeyA", 0x61), ("KeyZ", 0x79), ("KeyY", 0x7a), ("Minus", 0xdf)] {
        assert_eq!(keysyms[code], keysym, "{code}");
    }
}

/// The old table of keycodes: arrows and the keys between are elsewhere in it.
#[test]
fn another_table_of_keycodes_does_as_well() {
    let Some(mut scene) = Scene::new() else { return };
    let up = Switch::Key(Key::named("ArrowUp").expect("a key"));
    let code = |scene: &mut Scene| {
        scene.apply([Action::Press(up)]);
        assert!(comes_true(|| scene.held().len() == 1));
        let code = scene.held()[0];
        scene.apply([Action::Release(up)]);
        // What is still held would be taken for the next key.
        assert!(comes_true(|| scene.held().is_empty()));
        code
    };
    let before = code(&mut scene);
    scene.setxkbmap(&["-keycodes", "xfree86"]);
    scene.injector = Scene::input(&scene.screen);
    assert_ne!(code(&mut scene), before);
    let keysyms = scene.keysyms();
    for (code, keysym) in UNITED_STATES {
        assert_eq!(keysyms[code], keysym, "{code}");
    }
    // That table has not all of them, and who is missing is named once.
    let unknown = scene.injector.unknown_keys().to_vec();
    assert_eq!(unknown.len() + keysyms.len(), KEYS.len());
    assert!(!unknown.is_empty() && unknown.len() < 10, "{unknown:?}");
    scene.apply(unknown.iter().map(|key| Action::Press(Switch::Key(*key))));
    assert_eq!(scene.injector.unknown_keys(), unknown);
}

#[test]
fn the_pointer_goes_where_it_is_sent() {
    let Some(mut scene) = Scene::new() else { return };
    for ((x, y), place) in [
        ((0, 0), (0, 0)),
        ((65_535, 65_535), (1_279, 719)),
        ((32_768, 32_768), (640, 360)),
        ((0, 65_535), (0, 719)),
    ] {
        scene.apply([Action::MoveTo(x, y)]);
        assert!(scene.is_at(place), "{place:?}: {:?}", scene.pointer());
    }
    // As far as it is told, however fast.
    scene.apply([Action::MoveTo(32_768, 32_768), Action::MoveBy(3, -2)]);
    assert!(scene.is_at((643, 358)), "{:?}", scene.pointer());
    scene.apply([Action::MoveBy(-300, 200)]);
    assert!(scene.is_at((343, 558)), "{:?}", scene.pointer());
    scene.apply((0..50).map(|_| Action::MoveBy(7, -7)));
    assert!(scene.is_at((693, 208)), "{:?}", scene.pointer());
    scene.apply([Action::MoveBy(i32::MIN, i32::MAX)]);
    assert!(scene.is_at((0, 719)), "{:?}", scene.pointer());
}

/// As a game that chooses another mode.
fn resize(scene: &Scene, width: u16, height: u16) {
    let (connection, root) = (&scene.connection, scene.root);
    let outputs = connection.randr_get_screen_resources(root).expect("a screen").reply();
    let outputs = outputs.expect("RandR");
    let name = b"smaller";
    let (htotal, vtotal, name_len) = (width, height, name.len() as u16);
    let mode = ModeInfo { width, height, htotal, vtotal, name_len, ..outputs.modes[0] };
    let mode = connection.randr_create_mode(root, mode, name).expect("a screen").reply();
    let mode = mode.expect("a mode").mode;
    let added = connection.randr_add_output_mode(outputs.outputs[0], mode);
    added.expect("a screen").check().expect("the mode");
    let (crtc, now, turned) = (outputs.crtcs[0], x11rb::CURRENT_TIME, Rotation::ROTATE0);
    let set =
        connection.randr_set_crtc_config(crtc, now, now, 0, 0, mode, turned, &outputs.outputs);
    set.expect("a screen").reply().expect("the mode");
    let set = connection.randr_set_screen_size(root, width, height, 300, 200);
    set.expect("a screen").check().expect("another size");
}

#[test]
fn the_pointer_follows_the_size_of_the_screen() {
    let Some(mut scene) = Scene::new() else { return };
    let (width, height) = (800, 600);
    resize(&scene, width, height);
    scene.apply([Action::MoveTo(65_535, 65_535)]);
    let corner = (width as i16 - 1, height as i16 - 1);
    assert!(scene.is_at(corner), "{corner:?}: {:?}", scene.pointer());
    // Half of the smaller one, not what is within the larger.
    scene.apply([Action::MoveTo(32_768, 0)]);
    assert!(scene.is_at((width as i16 / 2, 0)), "{:?}", scene.pointer());
}

/// Presses and releases of buttons that a window sees.
fn clicks(scene: &Scene, count: usize) -> Vec<(u8, bool)> {
    let mut seen = Vec::new();
    assert!(comes_true(|| {
        while let Some(event) = scene.connection.poll_for_event().expect("a screen") {
            match event {
                Event::ButtonPress(event) => seen.push((event.detail, true)),
                Event::ButtonRelease(event) => seen.push((event.detail, false)),
                _ => {}
            }
        }
        seen.len() >= count
    }));
    seen
}

fn window(scene: &Scene) {
    let (connection, own) = (&scene.connection, scene.connection.generate_id().expect("a number"));
    let wanted = CreateWindowAux::new()
        .override_redirect(1)
        .event_mask(EventMask::BUTTON_PRESS | EventMask::BUTTON_RELEASE);
    let (depth, kind) = (x11rb::COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT);
    let made =
        connection.create_window(depth, own, scene.root, 0, 0, 1_280, 720, 0, kind, 0, &wanted);
    made.expect("a screen").check().expect("a window");
    connection.map_window(own).expect("a screen").check().expect("a window");
}

#[test]
fn buttons_are_held_and_seen() {
    let Some(mut scene) = Scene::new() else { return };
    window(&scene);
    for (button, mask) in [
        (Button::Left, KeyButMask::BUTTON1),
        (Button::Middle, KeyButMask::BUTTON2),
        (Button::Right, KeyButMask::BUTTON3),
    ] {
        scene.apply([Action::Press(Switch::Button(button))]);
        assert!(comes_true(|| scene.pointer().1 == mask), "{button:?}: {:?}", scene.pointer());
        scene.apply([Action::Release(Switch::Button(button))]);
        assert!(comes_true(|| scene.pointer().1 == KeyButMask::default()), "{button:?}");
    }
    scene.apply(Button::ALL.into_iter().flat_map(|button| {
        [Action::Press(Switch::Button(button)), Action::Release(Switch::Button(button))]
    }));
    let numbers = [1, 2, 3, 1, 2, 3, 8, 9];
    let wanted: Vec<_> =
        numbers.into_iter().flat_map(|number| [(number, true), (number, false)]).collect();
    assert_eq!(clicks(&scene, wanted.len()), wanted);
}

#[test]
fn the_wheel_turns_by_whole_notches() {
    let Some(mut scene) = Scene::new() else { return };
    window(&scene);
    let turns = [(0, 60), (0, 60), (0, -240), (120, 0), (-130, 0), (-110, 119), (0, 1), (0, -119)];
    for (x, y) in turns {
        scene.apply([Action::Turn(x, y)]);
    }
    // A click of another kind says that there are no more of the wheel.
    let last = Switch::Button(Button::Left);
    scene.apply([Action::Press(last), Action::Release(last)]);
    let numbers = [5, 4, 4, 7, 6, 6, 5, 1];
    let wanted: Vec<_> =
        numbers.into_iter().flat_map(|number| [(number, true), (number, false)]).collect();
    assert_eq!(clicks(&scene, wanted.len()), wanted);
}
