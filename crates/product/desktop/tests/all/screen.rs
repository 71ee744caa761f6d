//! A screen of its own: who may connect, and its end.

use crate::support::{Folder, comes_true, installed};
use gameway_desktop::{Injector, Screen, connect};
use gameway_units::Instant;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use x11rb::connection::Connection;

#[test]
fn a_screen_has_the_size_and_the_cookie() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(1_280, 720, &folder.relative())) else { return };
    assert!(screen.runs() && screen.authority().is_absolute());
    let mode = std::fs::metadata(screen.authority()).expect("its file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let display = Some(screen.display());
    let (connection, number) = connect(display, Some(screen.authority())).expect("the cookie");
    let root = &connection.setup().roots[number];
    let size = (root.width_in_pixels, root.height_in_pixels, root.root_depth);
    assert_eq!(size, (1_280, 720, 24));
    // None that a server of another network namespace finds by itself, from 0 up.
    let number: u32 = screen.display()[1..].parse().expect("a number");
    assert!((1_000..51_000).contains(&number), "{number}");
}

#[test]
fn who_lacks_the_cookie_is_refused() {
    let (folder, other) = (Folder::new(), Folder::new());
    let Some(screen) = installed(Screen::start(640, 360, folder.path())) else { return };
    let another = Screen::start(640, 360, other.path()).expect("a second screen");
    assert_ne!(screen.display(), another.display());
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").expect("a file");
    for file in [empty.as_path(), another.authority()] {
        let refused = connect(Some(screen.display()), Some(file)).err();
        let message = refused.expect("no connection").to_string();
        assert!(
            message.starts_with(&format!("X11 screen {}: no connection: ", screen.display())),
            "{message}"
        );
        assert!(
            message.contains("uthorization") || message.contains("MIT-MAGIC-COOKIE"),
            "{message}"
        );
    }
    // As other programs do without a file.
    assert!(x11rb::connect(Some(screen.display())).is_err());
    assert!(connect(Some(screen.display()), Some(screen.authority())).is_ok());
}

#[test]
fn a_screen_that_is_dropped_is_gone() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(640, 360, folder.path())) else { return };
    let (display, authority) = (screen.display().to_owned(), screen.authority().to_owned());
    let mut injector = Injector::connect(Some(&display), Some(&authority)).expect("input");
    drop(screen);
    let message = connect(Some(&display), Some(&authority)).expect_err("no screen").to_string();
    assert!(message.contains(&display) && message.contains("DISPLAY"), "{message}");
    let mut lost = None;
    assert!(comes_true(|| {
        lost = injector.apply(Instant::ZERO, []).err();
        lost.is_some()
    }));
    let message = lost.expect("an error").to_string();
    assert!(message.contains("no connection any more"), "{message}");
}

#[test]
fn why_there_is_no_screen_is_told() {
    let folder = Folder::new();
    if installed(Screen::start(640, 360, folder.path())).is_none() {
        return;
    }
    let message = Screen::start(1_280, 0, folder.path()).expect_err("no pixels").to_string();
    assert_eq!(message, "Xvfb: each side has 1 to 32767 pixels, not 1280x0");
    let missing = folder.path().join("missing");
    let message = Screen::start(640, 360, &missing).expect_err("no folder").to_string();
    assert!(message.starts_with("Xvfb: ") && message.contains("No such file"), "{message}");
    let message = connect(Some(":7"), Some(&missing)).expect_err("no file").to_string();
    assert!(message.starts_with("X11 screen :7: ") && message.contains("missing"), "{message}");
}

#[test]
fn a_server_without_fake_input_is_named() {
    let mut command = Command::new("Xvfb");
    command.args("-displayfd 1 -screen 0 64x64x24 -nolisten tcp -ac -extension XTEST".split(' '));
    let Ok(mut server) = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn() else {
        return eprintln!("skipped: Xvfb is not installed");
    };
    let mut number = String::new();
    let output = server.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut number).expect("a number");
    let display = format!(":{}", number.trim());
    let refused = Injector::connect(Some(&display), None).err().map(|error| error.to_string());
    server.kill().expect("a server");
    server.wait().expect("a server");
    let wanted = format!("X11 screen {display}: the X server has no XTEST extension");
    assert_eq!(refused, Some(wanted));
}
