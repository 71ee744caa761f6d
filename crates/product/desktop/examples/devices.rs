//! A keyboard and a mouse by uinput that do what lines of standard input say, one by one: for tests, and to try them on a desktop.
//!
//! `cargo run --release -p gameway-desktop --features wayland --example devices`
//!
//! | line | what is done |
//! |---|---|
//! | `down KeyA`, `up Left` | a key by its `code` in a browser, or a button |
//! | `to 0 65535` | the pointer goes to the lower left corner |
//! | `by -3 4` | the mouse moves |
//! | `turn 0 120` | the wheel turns a notch down |
//! | `rush` | from now on nothing waits until programs are told of it |
//!
//! It says the `code` and HID usage of each key first, then `done` after each line. With the last line the devices go.

#[cfg(feature = "wayland")]
mod run {
    use gameway_desktop::InputDevices;
    use gameway_input::{Action, Button, KEYS, Key, Switch};
    use gameway_runtime::clock::{Clock, wait};
    use std::io::Write as _;

    fn number<T: std::str::FromStr>(word: &str) -> T {
        word.parse().ok().unwrap_or_else(|| panic!("{word} is no number that fits"))
    }

    fn switch(name: &str) -> Switch {
        const BUTTONS: [(&str, Button); 5] = [
            ("Left", Button::Left),
            ("Middle", Button::Middle),
            ("Right", Button::Right),
            ("Back", Button::Back),
            ("Forward", Button::Forward),
        ];
        let button = BUTTONS.iter().find(|known| known.0 == name).map(|known| known.1);
        let key = || Switch::Key(Key::named(name).unwrap_or_else(|| panic!("{name} is no key")));
        button.map_or_else(key, Switch::Button)
    }

    fn action(line: &str) -> Action {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["down", name] => Action::Press(switch(name)),
            ["up", name] => Action::Release(switch(name)),
            ["to", x, y] => Action::MoveTo(number(x), number(y)),
            ["by", x, y] => Action::MoveBy(number(x), number(y)),
            ["turn", x, y] => Action::Turn(number(x), number(y)),
            _ => panic!("{line}: see the head of this example"),
        }
    }

    pub fn main() {
        let made = InputDevices::make();
        let mut devices = made.unwrap_or_else(|lack| panic!("{lack}: {}", lack.mend));
        let mut out = std::io::stdout();
        let (clock, mut is_patient) = (Clock::new(Clock::monotonic_ns()), true);
        for known in KEYS {
            print!("{} {} ", known.code, known.key.usage());
        }
        writeln!(out).expect("somebody reads");
        for line in std::io::stdin().lines() {
            let line = line.expect("a line");
            if line == "rush" {
                is_patient = false;
            } else {
                let action = action(&line);
                let left = devices.ready_at(&action).saturating_since(clock.now());
                if is_patient {
                    wait(&mut [], left).expect("a clock");
                }
                devices.apply(clock.now(), action).expect("devices");
            }
            writeln!(out, "done").expect("somebody reads");
        }
    }
}

#[cfg(feature = "wayland")]
fn main() {
    run::main();
}

#[cfg(not(feature = "wayland"))]
fn main() {
    println!("build it with the feature wayland");
}
