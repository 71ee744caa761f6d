//! Checks of what is played on and heard: screens, sound, gamepads, the game.

use super::Finding;
use crate::command::Names;
use crate::command::game::{DATA, GAME, PACKAGES};
use crate::host::sound::{BLOCK, PULSE_DEVICE, RATE};
use gameway_codec::audio::{self, AudioSource, PulseMonitor};
use gameway_codec::capture::{self, Source};
use gameway_codec::{Picture, Size};
use gameway_desktop::{DesktopError, SoundServer};
use gameway_runtime::clock;
use gameway_units::Instant;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// So many blocks of sound are heard: `parec` has connected by then.
const BLOCKS: usize = 20;

/// What to do about a part that does not start.
fn mend(error: &DesktopError) -> String {
    match error {
        DesktopError::NotInstalled { packages, .. } => {
            format!("apt install {}", packages.replace(" and ", " "))
        }
        _ => "mend what it says, and try again".to_owned(),
    }
}

fn refused(error: &DesktopError) -> Finding {
    Finding::lacking(error.to_string(), mend(error))
}

/// A screen of its own is captured and played on.
#[cfg(feature = "x11")]
pub fn screen(folder: &Path) -> Finding {
    use gameway_desktop::{Injector, Screen, pointer};
    use gameway_input::Action;
    use gameway_units::Instant;
    const SIDE: u16 = 64;
    /// A pointer that does not arrive within so many looks, 10 ms apart, does not arrive.
    const LOOKS: usize = 100;
    let screen = match Screen::start(SIDE, SIDE, folder) {
        Ok(screen) => screen,
        Err(error) => return refused(&error),
    };
    let (display, authority) = (screen.display(), screen.authority());
    if let Err(error) = captured(Some(display), Some(authority.to_owned())) {
        return Finding::lacking(error, "mend what it says; a full system of X11 has it all");
    }
    // From the middle, where a pointer is at first, to a corner.
    let played = || -> Result<bool, DesktopError> {
        let mut injector = Injector::connect(Some(display), Some(authority))?;
        injector.apply(Instant::ZERO, [Action::MoveTo(u16::MAX, 0)])?;
        for _ in 0..LOOKS {
            if pointer(Some(display), Some(authority))? == (SIDE as i16 - 1, 0) {
                return Ok(true);
            }
            clock::sleep(gameway_units::Duration::from_millis(10));
        }
        Ok(false)
    };
    match played() {
        Ok(true) => Finding::works("Xvfb starts and is captured, and input arrives there"),
        Ok(false) => {
            Finding::lacking("input does not arrive on Xvfb", "apt install --reinstall xvfb")
        }
        Err(error) => refused(&error),
    }
}

/// When this screen is captured, if not as soon as something is drawn.
#[cfg(feature = "x11")]
fn told_of_drawings(display: Option<&str>, authority: Option<&Path>) -> String {
    match gameway_desktop::Drawings::connect(display, authority) {
        Ok(_) => String::new(),
        Err(error) => format!(" up to a frame interval after it is drawn ({error})"),
    }
}

/// This build captures none.
#[cfg(not(feature = "x11"))]
fn told_of_drawings(_display: Option<&str>, _authority: Option<&Path>) -> String {
    String::new()
}

/// This build captures none.
#[cfg(not(feature = "x11"))]
pub fn screen(_folder: &Path) -> Finding {
    Finding::lacking("this build captures no screens", "build it with the cargo feature x11")
}

/// The screen that the environment names is captured.
pub fn own_screen(names: Names) -> Finding {
    let Some(display) = std::env::var("DISPLAY").ok().filter(|display| !display.is_empty()) else {
        return Finding::unneeded("DISPLAY names none");
    };
    match captured(None, None) {
        Ok(()) => {
            let play = names.play;
            let when = told_of_drawings(None, None);
            Finding::works(format!("{display} is captured{when}: {play} --screen {display}"))
        }
        Err(error) if cfg!(feature = "x11") => {
            let mend =
                "set DISPLAY and XAUTHORITY as in a terminal on that screen, or unset DISPLAY";
            Finding::lacking(error, mend)
        }
        Err(error) => Finding::lacking(error, "build it with the cargo feature x11"),
    }
}

/// A screen of Wayland can be asked for; the user is not asked here.
pub fn wayland_screen(names: Names) -> Finding {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if named("WAYLAND_DISPLAY").is_none() {
        return Finding::unneeded("WAYLAND_DISPLAY names none");
    }
    let folder = named("PIPEWIRE_RUNTIME_DIR").or_else(|| named("XDG_RUNTIME_DIR"));
    let socket = PathBuf::from(folder.unwrap_or_default()).join("pipewire-0");
    match std::os::unix::net::UnixStream::connect(&socket) {
        Ok(_) => shared_screen(names),
        Err(error) => {
            let found = format!("PipeWire does not answer at {}: {error}", socket.display());
            Finding::lacking(found, "apt install pipewire wireplumber, and log in again")
        }
    }
}

#[cfg(feature = "wayland")]
fn shared_screen(names: Names) -> Finding {
    match gameway_desktop::Portal::look() {
        Ok(portal) => Finding::works(format!("{portal}: {} --screen wayland", names.play)),
        Err(DesktopError::Portal { reason, mend }) => {
            Finding::lacking(format!("the desktop's portal: {reason}"), mend)
        }
        Err(error) => refused(&error),
    }
}

/// This build captures none.
#[cfg(not(feature = "wayland"))]
fn shared_screen(_names: Names) -> Finding {
    Finding::lacking(
        "this build captures no screens of Wayland",
        "apt install libpipewire-0.3-dev libdbus-1-dev libclang-dev pkg-config, and build it with the cargo feature wayland",
    )
}

/// Takes a picture of a screen.
fn captured(display: Option<&str>, authority: Option<PathBuf>) -> Result<(), String> {
    let text = |error: &dyn Display| error.to_string();
    let size = Size::new(64, 64).map_err(|error| text(&error))?;
    let source = Source::X11 { display: display.map(str::to_owned), authority };
    let mut screen = capture::open(&source, size, 1).map_err(|error| text(&error))?;
    let mut picture = Picture::black(size);
    screen.next(Instant::ZERO, 0, &mut picture).map_err(|error| text(&error))
}

/// A sound server of its own is heard.
pub fn sound(folder: &Path) -> Finding {
    let server = match SoundServer::start(folder) {
        Ok(server) => server,
        Err(error) => return refused(&error),
    };
    match heard(server.server()) {
        Ok(()) => Finding::works("PulseAudio starts, and parec hears what it plays"),
        Err(error) => Finding::lacking(error.to_string(), "apt install pulseaudio-utils"),
    }
}

fn heard(server: &str) -> Result<(), audio::AudioError> {
    let mut monitor = PulseMonitor::open(PULSE_DEVICE, Some(server))?;
    let mut samples = vec![0; BLOCK.interleaved()];
    for _ in 0..BLOCKS {
        clock::sleep(BLOCK.span());
        monitor.next(Instant::ZERO, &mut samples)?;
    }
    Ok(())
}

/// Opus encodes a block.
pub fn sound_codec() -> Finding {
    let silence = vec![0; BLOCK.interleaved()];
    let encoded = audio::open_encoder(BLOCK, RATE).and_then(|mut opus| opus.encode(&silence));
    match encoded {
        Ok(_) => Finding::works("Opus"),
        Err(_) if !cfg!(feature = "opus") => Finding::lacking(
            "this build has no Opus: streams have no sound",
            "apt install cmake, and build it with the cargo feature opus",
        ),
        Err(error) => Finding::lacking(error.to_string(), "build it anew"),
    }
}

/// A gamepad is plugged in, and out again.
#[cfg(feature = "x11")]
pub fn gamepads() -> Finding {
    use gameway_desktop::Gamepads;
    use gameway_input::gamepad::{Action, Event};
    match Gamepads::default().apply(Action { pad: 0, event: Event::Appear }) {
        Ok(()) => Finding::works("uinput makes one, which programs see in /dev/input"),
        Err(lack) => Finding::lacking(lack.to_string(), lack.mend),
    }
}

/// This build makes none.
#[cfg(not(feature = "x11"))]
pub fn gamepads() -> Finding {
    Finding::lacking("this build makes no gamepads", "build it with the cargo feature x11")
}

/// The game that is played where no other is named.
pub fn game() -> Finding {
    installed(Path::new(GAME), Path::new(DATA))
}

fn installed(game: &Path, data: &Path) -> Finding {
    let lacking = [game, data].into_iter().find(|file| !file.is_file());
    lacking.map_or_else(
        || Finding::works("Freedoom in Crispy Doom"),
        |file| {
            let found = format!("no {}: the built-in scene is played instead", file.display());
            Finding::lacking(found, format!("apt install {PACKAGES}"))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_needs_its_program_and_its_data() {
        let (there, missing) = (Path::new("/proc/self/stat"), Path::new("/no/such/game"));
        assert_eq!(installed(there, there), Finding::works("Freedoom in Crispy Doom"));
        for (game, data) in [(missing, there), (there, missing)] {
            let told = "no /no/such/game: the built-in scene is played instead";
            let expected = Finding::lacking(told, "apt install crispy-doom freedoom");
            assert_eq!(installed(game, data), expected);
        }
    }
}
