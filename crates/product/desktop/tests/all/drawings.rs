//! That something is drawn on a screen is told.

use crate::support::{Folder, comes_true, installed};
use gameway_desktop::{Drawings, Screen, connect};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    ConnectionExt as _, CreateGCAux, CreateWindowAux, Rectangle, WindowClass,
};

/// Whether something was drawn, waited for.
fn is_told(drawings: &mut Drawings) -> bool {
    comes_true(|| drawings.poll().expect("a screen"))
}

/// Whether so many looks find nothing.
fn is_silent(drawings: &mut Drawings) -> bool {
    let mut looks = 0;
    comes_true(|| {
        looks += 1;
        drawings.poll().expect("a screen") || looks > 40
    });
    looks > 40
}

#[test]
fn what_is_drawn_in_a_window_is_told_and_what_is_not_shown_is_not() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(640, 360, folder.path())) else { return };
    let (display, authority) = (Some(screen.display()), Some(screen.authority()));
    let mut drawings = Drawings::connect(display, authority).expect("DAMAGE");
    let (program, number) = connect(display, authority).expect("a screen");
    let root = program.setup().roots[number].root;
    let id = || program.generate_id().expect("a number");
    let (window, beside, context) = (id(), id(), id());
    let (depth, kind) = (x11rb::COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT);
    let wanted = CreateWindowAux::new().override_redirect(1);
    let made = program.create_window(depth, window, root, 0, 0, 64, 64, 0, kind, 0, &wanted);
    made.expect("a screen").check().expect("a window");
    program.map_window(window).expect("a screen").check().expect("a window");
    program.create_pixmap(24, beside, root, 64, 64).expect("a screen").check().expect("a pixmap");
    let colour = CreateGCAux::new().foreground(0xFF_FFFF);
    program.create_gc(context, window, &colour).expect("a screen").check().expect("a context");
    // What a new screen and window show is not of interest here.
    comes_true(|| is_silent(&mut drawings));
    let area = Rectangle { x: 3, y: 3, width: 5, height: 5 };
    let draw = |on: u32| {
        let drawn = program.poly_fill_rectangle(on, context, &[area]).expect("a screen");
        drawn.check().expect("a rectangle");
    };
    for _ in 0..3 {
        draw(window);
        assert!(is_told(&mut drawings));
        assert!(is_silent(&mut drawings), "it was told already");
    }
    draw(beside);
    assert!(is_silent(&mut drawings), "nobody sees it");
}

#[test]
fn a_screen_that_is_gone_is_told() {
    let folder = Folder::new();
    let Some(screen) = installed(Screen::start(64, 64, folder.path())) else { return };
    let mut drawings =
        Drawings::connect(Some(screen.display()), Some(screen.authority())).expect("DAMAGE");
    drop(screen);
    assert!(comes_true(|| drawings.poll().is_err()));
}

#[test]
fn a_screen_without_the_extension_says_so() {
    let started = Command::new("Xvfb")
        .args(["-displayfd", "1", "-nolisten", "tcp", "-extension", "DAMAGE"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut server) = started else { return };
    let mut number = String::new();
    let output = server.stdout.take().expect("a pipe");
    BufReader::new(output).read_line(&mut number).expect("a display");
    let refused = Drawings::connect(Some(&format!(":{}", number.trim())), None);
    server.kill().expect("it runs");
    server.wait().expect("it is a child");
    let error = refused.expect_err("there is no DAMAGE").to_string();
    assert!(error.ends_with("the X server has no DAMAGE extension"), "{error}");
}
