//! Sources of pictures: a screen under Xvfb, and a file through ffmpeg.

use crate::support::Scratch;
use gameway_codec::capture::{Source, open};
use gameway_codec::{Picture, Scene, Size, Stamp};
use gameway_units::Instant;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

fn present(program: &str, argument: &str) -> bool {
    let there = Command::new(program)
        .arg(argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !there {
        eprintln!("skipped: {program} is not installed");
    }
    there
}

fn stamped(scene: &Scene, frame: u32) -> Picture {
    let mut picture = scene.picture(u64::from(frame));
    Stamp { frame, captured: Instant::ZERO, input: 0 }.write(&mut picture).unwrap();
    picture
}

#[test]
fn a_file_plays_in_a_loop() {
    if !present("ffmpeg", "-version") {
        return;
    }
    let (size, file) = (Size::new(640, 360).unwrap(), Scratch::new("loop.mkv"));
    let scene = Scene::new(3, size);
    let mut writer = Command::new("ffmpeg")
        .args("-v error -y -f rawvideo -pix_fmt yuv420p -s 640x360 -r 60 -i - -c:v ffv1".split(' '))
        .arg(&file.0)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = writer.stdin.take().unwrap();
    (0..20).for_each(|frame| input.write_all(stamped(&scene, frame).samples()).unwrap());
    drop(input);
    assert!(writer.wait().unwrap().success());

    let mut source = open(&Source::File { path: file.0.clone() }, size, 60).unwrap();
    let mut picture = Picture::black(size);
    let mut read = |frame| {
        source.next(Instant::ZERO, frame, &mut picture).unwrap();
        Stamp::read(&picture).map(|stamp| stamp.frame)
    };
    let frames: Vec<_> = (0..45).map(&mut read).collect();
    assert_eq!(frames[..20], (0..20).map(Some).collect::<Vec<_>>());
    // Where the loop closes, a container's rounded times may repeat or skip a frame.
    let again = frames[18..].iter().flatten().filter(|frame| **frame < 15).count();
    assert!(again >= 15, "{frames:?}");
}

#[test]
fn what_is_no_video_is_refused_by_name() {
    if !present("ffmpeg", "-version") {
        return;
    }
    let (size, file) = (Size::new(640, 360).unwrap(), Scratch::new("no-video.mkv"));
    let message = |path: PathBuf| {
        let mut picture = Picture::black(size);
        open(&Source::File { path }, size, 60)
            .and_then(|mut source| source.next(Instant::ZERO, 0, &mut picture))
            .unwrap_err()
            .to_string()
    };
    let missing = message(file.0.clone());
    assert!(missing.contains("no-video.mkv") && missing.contains("No such file"), "{missing}");
    std::fs::write(&file.0, "no video").unwrap();
    let unreadable = message(file.0.clone());
    assert!(unreadable.contains("no-video.mkv") && unreadable.contains("ffmpeg"), "{unreadable}");
    assert!(unreadable.contains("Invalid data") || unreadable.contains("EBML"), "{unreadable}");
}

#[cfg(feature = "x11")]
mod x11 {
    use super::*;
    use gameway_desktop::{DesktopError, Screen, connect};

    fn fill(screen: &Screen, colour: u32) {
        use x11rb::connection::Connection;
        use x11rb::protocol::xproto::{ChangeWindowAttributesAux, ConnectionExt as _};
        let (display, authority) = (Some(screen.display()), Some(screen.authority()));
        let (connection, number) = connect(display, authority).unwrap();
        let root = connection.setup().roots[number].root;
        let attributes = ChangeWindowAttributesAux::new().background_pixel(colour);
        connection.change_window_attributes(root, &attributes).unwrap().check().unwrap();
        connection.clear_area(false, root, 0, 0, 0, 0).unwrap().check().unwrap();
    }

    #[test]
    fn a_screen_is_captured_with_its_colours() {
        let folder = Scratch::folder("screen");
        let screen = match Screen::start(1_280, 720, &folder.0) {
            Err(error @ DesktopError::NotInstalled { .. }) => return eprintln!("skipped: {error}"),
            started => started.unwrap(),
        };
        let (display, authority) = (screen.display().to_owned(), screen.authority().to_owned());
        let source = Source::X11 { display: Some(display.clone()), authority: Some(authority) };
        let other = Source::X11 { display: Some(display), authority: Some("/dev/null".into()) };
        let refused = open(&other, Size::new(64, 64).unwrap(), 60).err().unwrap().to_string();
        assert!(refused.contains("no connection"), "{refused}");
        // The screen's own size, and one that is scaled.
        for (width, height) in [(1280, 720), (640, 360)] {
            let size = Size::new(width, height).unwrap();
            let mut source = open(&source, size, 60).unwrap();
            let mut picture = Picture::black(size);
            // BT.709 limited range: red, white, black.
            for (colour, wanted) in
                [(0x00ff_0000, [63, 102, 240]), (0x00ff_ffff, [235, 128, 128]), (0, [16, 128, 128])]
            {
                fill(&screen, colour);
                source.next(Instant::ZERO, 0, &mut picture).unwrap();
                for (plane, wanted) in picture.planes().into_iter().zip(wanted) {
                    assert!(plane.iter().all(|sample| sample.abs_diff(wanted) <= 1), "{colour:x}");
                }
            }
        }
    }

    #[test]
    fn no_display_is_said() {
        let source = Source::X11 { display: Some(":4094".to_owned()), authority: None };
        let error = open(&source, Size::new(64, 64).unwrap(), 60).err().unwrap().to_string();
        assert!(error.contains(":4094") && error.contains("DISPLAY"), "{error}");
    }
}
