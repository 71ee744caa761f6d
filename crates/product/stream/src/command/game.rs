//! The default game of the command that plays: Freedoom in Crispy Doom, and the Debian packages that it and its stage need.
//!
//! Source: apt-get(8) of apt 2.6. Root at a terminal is asked to install the packages that are missing. The game and the screen are
//! installed first, the sound server by a second call. apt-get refuses that call where the package pulseaudio conflicts with an installed
//! one (pipewire-alsa of a desktop), because nothing may be removed. The game is then played without sound.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | download | 160 MB | the five packages with all their dependencies, Debian 12 on amd64: `apt-get --print-uris` with an empty `Dir::State::status` |

use super::tell;
use crate::config::PictureSize;
use std::ffi::OsString;
use std::io::{BufRead, IsTerminal as _};
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) const GAME: &str = "/usr/games/crispy-doom";
pub(super) const DATA: &str = "/usr/share/games/doom/freedoom2.wad";
/// The packages of the game and its data.
pub(super) const PACKAGES: &str = "crispy-doom freedoom";
const INSTALLER: &str = "/usr/bin/apt-get";
const DOWNLOAD: &str = "160 MB";
/// No question of apt-get waits for an answer, and no installed package is removed.
const INSTALL: [&str; 4] = ["install", "--yes", "--no-install-recommends", "--no-remove"];

/// A file that is used, and its package.
struct Part {
    package: &'static str,
    /// The path of a file, or the name of a program in a folder of PATH.
    file: &'static str,
    is_sound: bool,
}

const PARTS: [Part; 5] = [
    Part { package: "crispy-doom", file: GAME, is_sound: false },
    Part { package: "freedoom", file: DATA, is_sound: false },
    Part { package: "xvfb", file: "Xvfb", is_sound: false },
    Part { package: "pulseaudio", file: "pulseaudio", is_sound: true },
    Part { package: "pulseaudio-utils", file: "parec", is_sound: true },
];

/// Packages that are not installed.
#[derive(Debug, PartialEq, Eq)]
struct Missing {
    /// Without them the game is not played.
    required: Vec<&'static str>,
    /// Without them it is played without sound.
    sound: Vec<&'static str>,
}

impl Missing {
    fn look(with_sound: bool, is_there: impl Fn(&str) -> bool) -> Self {
        let missing = |is_sound| {
            let parts = PARTS.iter().filter(|part| part.is_sound == is_sound);
            parts.filter(|part| !is_there(part.file)).map(|part| part.package).collect()
        };
        let sound = if with_sound { missing(true) } else { Vec::new() };
        Self { required: missing(false), sound }
    }

    fn is_empty(&self) -> bool {
        self.required.is_empty() && self.sound.is_empty()
    }

    fn names(&self) -> String {
        [self.required.as_slice(), &self.sound].concat().join(" ")
    }
}

/// Whether the file of a part is on this machine.
fn is_there(file: &str) -> bool {
    if file.contains('/') {
        return Path::new(file).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(file).is_file())
}

/// The conditions under which the user is asked to install packages.
struct Caller {
    is_root: bool,
    has_installer: bool,
    is_at_terminal: bool,
}

impl Caller {
    fn of_this_process() -> Self {
        Self {
            is_root: rustix::process::geteuid().is_root(),
            has_installer: Path::new(INSTALLER).exists(),
            is_at_terminal: std::io::stdin().is_terminal(),
        }
    }

    /// Why the user is not asked.
    fn obstacle(&self) -> Option<String> {
        if !self.has_installer {
            Some(format!("there is no {INSTALLER}"))
        } else if !self.is_root {
            Some("only root can install them".to_owned())
        } else if !self.is_at_terminal {
            Some("the question needs a terminal as standard input".to_owned())
        } else {
            None
        }
    }

    /// How to install the packages.
    fn mend(&self, packages: &str) -> String {
        if self.has_installer {
            format!("for the game, as root: apt-get update && apt-get install {packages}")
        } else {
            format!("for the game, install what Debian has in the packages {packages}")
        }
    }
}

/// Installs the missing packages of the game and its stage if root agrees. The error says why the game cannot be played, and how to mend
/// that.
pub(super) fn prepare(with_sound: bool) -> Result<(), String> {
    if !cfg!(feature = "x11") {
        return Err(
            "this build captures no screens; for the game, build it with the cargo feature x11"
                .to_owned(),
        );
    }
    let missing = Missing::look(with_sound, is_there);
    if missing.is_empty() {
        return Ok(());
    }
    let caller = Caller::of_this_process();
    let why = match caller.obstacle() {
        Some(obstacle) => Some(lacking(&obstacle)),
        None if !agrees(&missing, &mut std::io::stdin().lock()) => {
            Some(lacking("the answer was not yes"))
        }
        None => install(&missing, apt_get).err(),
    };
    let left = Missing::look(with_sound, is_there);
    if left.required.is_empty() {
        return Ok(());
    }
    let why = why.unwrap_or_else(|| lacking("apt-get says that it has installed them"));
    Err(format!("{why}; {}", caller.mend(&left.names())))
}

fn lacking(obstacle: &str) -> String {
    format!("packages that the game needs are not installed, and {obstacle}")
}

/// Whether the answer is yes.
fn agrees(missing: &Missing, answers: &mut impl BufRead) -> bool {
    tell(&format!(
        "Freedoom needs packages that are not installed. Install {} by apt-get (at most {DOWNLOAD} to download)? [y/N]",
        missing.names()
    ));
    let mut answer = String::new();
    let read = answers.read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Installs packages by `apt_get`, which takes the arguments of the program. If only sound cannot be installed, that is a note.
fn install(
    missing: &Missing,
    mut apt_get: impl FnMut(&[&str]) -> Result<(), String>,
) -> Result<(), String> {
    tell("apt-get installs them, which can take minutes");
    // A package source that fails may have none of the packages, so that only the installation decides.
    let updated = apt_get(&["update"]);
    let mut installed = |packages: &[&str]| match packages {
        [] => Ok(()),
        packages => apt_get(&[INSTALL.as_slice(), packages].concat()).map_err(|why| {
            let update = updated.as_ref().err().map(|update| format!("{update}; "));
            update.unwrap_or_default() + &why
        }),
    };
    installed(&missing.required)?;
    if let Err(why) = installed(&missing.sound) {
        tell(&format!("note: {why}"));
    }
    Ok(())
}

/// Runs apt-get, which prints only warnings and errors. The error names the call and its exit status.
fn apt_get(arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(INSTALLER);
    command.arg("-qq").args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let called = format!("apt-get {}", arguments.first().unwrap_or(&""));
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{called}: {status}")),
        Err(error) => Err(format!("{called}: {error}")),
    }
}

/// The command line of the game: in a window as large as the screen, wide and drawn between the game's 35 steps a second. Only how it
/// draws is set. All other settings are the user's.
pub(super) fn command(size: PictureSize, folder: &Path) -> std::io::Result<Vec<OsString>> {
    let file = folder.join("crispy-doom.cfg");
    let PictureSize { width, height } = size;
    let settings = format!(
        "show_endoom 0\nfullscreen 0\nwindow_width {width}\nwindow_height {height}\ninteger_scaling 0\n\
         crispy_uncapped 1\ncrispy_hires 1\ncrispy_widescreen 1\nshow_diskicon 0\n"
    );
    std::fs::write(&file, settings)?;
    let words = [GAME, "-iwad", DATA, "-nogui", "-extraconfig"].map(OsString::from);
    Ok(words.into_iter().chain([file.into()]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Missing = Missing { required: Vec::new(), sound: Vec::new() };

    fn all() -> Missing {
        Missing::look(true, |_| false)
    }

    #[test]
    fn only_yes_agrees() {
        let answered = |text: &str| agrees(&all(), &mut text.as_bytes());
        assert!(answered("y\n") && answered("Y\n") && answered("yes\n"));
        assert!(!answered("\n") && !answered("") && !answered("n\n") && !answered("yikes\n"));
    }

    #[test]
    fn what_is_missing_is_named_by_its_packages() {
        assert_eq!(all().names(), "crispy-doom freedoom xvfb pulseaudio pulseaudio-utils");
        assert_eq!(Missing::look(true, |_| true), NOTHING);
        assert_eq!(Missing::look(false, |file| file != "parec"), NOTHING);
        let silent = Missing::look(true, |file| file != "parec");
        assert!(silent.required.is_empty() && !silent.is_empty());
        assert_eq!(silent.names(), "pulseaudio-utils");
        assert_eq!(Missing::look(true, |file| file != "Xvfb").required, ["xvfb"]);
    }

    #[test]
    fn files_and_programs_are_found() {
        assert!(is_there("/proc/self/stat") && is_there("sh"));
        assert!(!is_there("/no/such/game") && !is_there("no-such-program"));
        // Neither a folder nor a device counts.
        assert!(!is_there("/proc") && !is_there("/dev/null"));
    }

    #[test]
    fn the_reason_not_to_ask_and_the_way_to_mend_it_are_told() {
        let told = |is_root, has_installer, is_at_terminal| {
            let caller = Caller { is_root, has_installer, is_at_terminal };
            (caller.obstacle().unwrap_or_default(), caller.mend("xvfb"))
        };
        let by_apt = "for the game, as root: apt-get update && apt-get install xvfb";
        for (caller, obstacle, mend) in [
            (told(true, true, true), "", by_apt),
            (told(false, true, true), "only root can install them", by_apt),
            (told(true, true, false), "the question needs a terminal as standard input", by_apt),
            (
                told(false, false, true),
                "there is no /usr/bin/apt-get",
                "for the game, install what Debian has in the packages xvfb",
            ),
        ] {
            assert_eq!(caller, (obstacle.to_owned(), mend.to_owned()));
        }
    }

    /// The calls of apt-get, of which some fail, and the result.
    fn installed(
        missing: &Missing,
        fails: impl Fn(&str) -> bool,
    ) -> (Vec<String>, Result<(), String>) {
        let mut calls = Vec::new();
        let result = install(missing, |arguments| {
            let call = arguments.join(" ");
            let outcome = if fails(&call) { Err(format!("{}: 100", arguments[0])) } else { Ok(()) };
            calls.push(call);
            outcome
        });
        (calls, result)
    }

    #[test]
    fn lists_then_the_game_then_sound_are_installed() {
        let how = "install --yes --no-install-recommends --no-remove";
        let game = format!("{how} crispy-doom freedoom xvfb");
        let sound = format!("{how} pulseaudio pulseaudio-utils");
        let calls = vec!["update".to_owned(), game.clone(), sound.clone()];
        assert_eq!(installed(&all(), |_| false), (calls.clone(), Ok(())));
        // Neither sound nor new package lists are required.
        assert_eq!(installed(&all(), |call| *call == sound), (calls.clone(), Ok(())));
        assert_eq!(installed(&all(), |call| call == "update"), (calls.clone(), Ok(())));
        let why = Err("install: 100".to_owned());
        assert_eq!(installed(&all(), |call| *call == game), (calls[..2].to_vec(), why));
        let why = Err("update: 100; install: 100".to_owned());
        assert_eq!(installed(&all(), |_| true), (calls[..2].to_vec(), why));
        let silent = Missing { required: Vec::new(), ..all() };
        assert_eq!(installed(&silent, |_| false).0, ["update".to_owned(), sound]);
    }
}
