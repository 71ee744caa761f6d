//! The command that plays: a program on a screen of its own, and a host that streams it and takes the player's input.
//!
//! Without a command it is Freedoom in Crispy Doom where that is installed or root agrees to, else the built-in scene.

use super::card;
use super::host;
use super::settings::{self, Setting, settings};
use super::{Names, Refusal, exit_code, tell, unit};
use crate::config::PictureSize;
use crate::host::Stage;
use crate::{HostConfig, SourceConfig};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::ffi::OsString;
use std::io::{BufRead, IsTerminal as _};
use std::path::Path;

/// The host's settings that play leaves as they are, or sets itself.
const NOT: [&str; 4] = ["source", "fec", "recovery", "input"];
/// What play sets itself is told of the option that names the screen.
const SCREEN: &[Setting] = settings! { "source" => "screen", "input" => "screen" };
/// The game that is played where no other is named: its program, its data, and what has both on Debian.
pub(super) const GAME: &str = "/usr/games/crispy-doom";
pub(super) const DATA: &str = "/usr/share/games/doom/freedoom2.wad";
/// The screen that the desktop's portal shares.
const WAYLAND: &str = "wayland";
/// The option of the Python package's `gameway play`, which calls this.
const LAB: &str = "lab";
pub(super) const PACKAGES: &str = "crispy-doom freedoom";
const INSTALLER: &str = "/usr/bin/apt-get";

/// The host's settings that have an option here, too.
fn own_settings() -> Vec<Setting> {
    host::SETTINGS.iter().filter(|setting| !NOT.contains(&setting.key)).copied().collect()
}

pub(super) fn command(names: Names) -> Command {
    let command = Command::new(names.play)
        .about(
            "Play a program in a browser: on a screen and a sound server of its own, streamed with a congestion control that \
             keeps the queue short.\n\n\
             Without a command it is Freedoom in Crispy Doom, which root is asked to install if it is not there, else the \
             built-in scene. Ctrl-C ends all that it started. A program that crashes is started again.",
        )
        .after_help(format!(
            "Example: {} --controller pudica supertuxkart\nNext: open the link in a browser.",
            names.play
        ))
        .version(env!("CARGO_PKG_VERSION"));
    let program = "The program, and its arguments";
    let screen = "Play on a screen that is there, not on one of its own: one of X11 such as :0, or wayland, for which the desktop asks";
    let lab = "First of all options: play behind a path of the lab, whose knobs are on the page; `gameway play --lab --help` has its \
               options";
    host::for_people(settings::with::<HostConfig>(command, &own_settings()))
        .arg(
            Arg::new("program")
                .value_name("COMMAND")
                .num_args(1..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_parser(value_parser!(OsString))
                .help(program),
        )
        .arg(Arg::new(LAB).long(LAB).action(ArgAction::SetTrue).help(lab))
        .arg(
            Arg::new("screen")
                .long("screen")
                .value_name("DISPLAY")
                .conflicts_with("program")
                .help(screen),
        )
        .args(card::arguments())
}

/// Plays until the program ends, its time is over or it is asked to stop; `words` are the arguments. Gives the exit code.
pub fn play(names: Names, words: impl IntoIterator<Item = OsString>) -> u8 {
    exit_code(run(names, words))
}

fn run(names: Names, words: impl IntoIterator<Item = OsString>) -> Result<(), Refusal> {
    let words = Vec::from_iter(words);
    let matches = command(names).no_binary_name(true).try_get_matches_from(&words)?;
    if card::is_window(&matches) {
        return card::show(&matches);
    }
    if matches.get_flag(LAB) {
        // Who has it takes it before this is called.
        return Err(Refusal::new(
            "--lab: it is `gameway play --lab` of the Python package that has a lab, as its first option",
        ));
    }
    let mut settings = own_settings();
    let mut config = host::configured(&matches, &settings)?;
    config.input = true;
    config.stamped = false;
    unit::print(&matches, names.play, &words, matches.contains_id("screen"))?;
    let stage = match card::command(&matches, words.len())? {
        Some(card) => Some(card.stage(&mut config)?),
        None => staged(&mut config, &matches)?,
    };
    settings.extend_from_slice(SCREEN);
    host::serve(names, config, stage, &matches, &settings)
}

/// Sets what is played; the stage, if it is a program.
fn staged(config: &mut HostConfig, matches: &ArgMatches) -> Result<Option<Stage>, Refusal> {
    if let Some(display) = matches.get_one::<String>("screen") {
        config.source = match display.as_str() {
            WAYLAND => SourceConfig::Portal,
            display => format!("x11:{display}").parse().unwrap_or_default(),
        };
        return Ok(None);
    }
    let given: Vec<OsString> =
        matches.get_many::<OsString>("program").into_iter().flatten().cloned().collect();
    let is_there = || Path::new(GAME).exists() && Path::new(DATA).exists();
    if given.is_empty() && !is_there() && may_install() {
        install();
    }
    if given.is_empty() && !is_there() {
        tell(&format!("note: the built-in scene is played; for a game: apt install {PACKAGES}"));
        config.source = SourceConfig::Scene;
        return Ok(None);
    }
    let size = config.size;
    let command = |folder: &Path| if given.is_empty() { game(size, folder) } else { Ok(given) };
    set_stage(config, command).map(Some)
}

/// Starts a stage with this program and plays it.
pub(super) fn set_stage(
    config: &mut HostConfig,
    command: impl FnOnce(&Path) -> std::io::Result<Vec<OsString>>,
) -> Result<Stage, Refusal> {
    let stage = Stage::start(config.size, config.audio, command, &mut |note| tell(note))
        .map_err(|error| settings::as_typed(error, &own_settings()))?;
    config.surroundings = stage.surroundings().clone();
    config.source = SourceConfig::X11 { display: config.surroundings.display.clone() };
    Ok(stage)
}

/// Whether the game is to be installed: root is asked, if somebody is there to answer.
fn may_install() -> bool {
    let can = rustix::process::geteuid().is_root() && Path::new(INSTALLER).exists();
    can && std::io::stdin().is_terminal() && agrees(&mut std::io::stdin().lock())
}

/// Whether the answer is yes.
fn agrees(answers: &mut impl BufRead) -> bool {
    tell(&format!("no game is installed. Install {PACKAGES} (some 60 MB)? [y/N]"));
    let mut answer = String::new();
    let read = answers.read_line(&mut answer);
    read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// What the installer says goes to the terminal; whether the game is there then is looked at again.
fn install() {
    let words = ["install", "--yes", "--no-install-recommends"].into_iter();
    let done =
        std::process::Command::new(INSTALLER).args(words.chain(PACKAGES.split(' '))).status();
    match done {
        Ok(status) if status.success() => {}
        Ok(status) => tell(&format!("note: {INSTALLER}: {status}")),
        Err(error) => tell(&format!("note: {INSTALLER}: {error}")),
    }
}

/// Freedoom in a window as large as the screen, wide and drawn between the game's 35 steps a second. What it keeps of its own is as
/// always: only how it draws is set.
fn game(size: PictureSize, folder: &Path) -> std::io::Result<Vec<OsString>> {
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

    #[test]
    fn every_option_has_its_setting() {
        settings::assert_options(command(Names::PROGRAMS), &own_settings());
    }

    #[test]
    fn only_yes_agrees() {
        let answered = |text: &str| agrees(&mut text.as_bytes());
        assert!(answered("y\n") && answered("Y\n") && answered("yes\n"));
        assert!(!answered("\n") && !answered("") && !answered("n\n") && !answered("yikes\n"));
    }

    #[test]
    fn a_slip_is_told_as_it_was_typed() {
        for (typed, told) in [
            ("--size large", "error: --size: \"large\" is no size"),
            ("--screen :0 xeyes", "error: the argument '--screen <DISPLAY>' cannot be used with"),
            ("--lab", "error: --lab: it is `gameway play --lab` of the Python package"),
            ("--screen :987", "error: --screen: X11 screen :987"),
            ("/no/such/game", "error: command: /no/such/game"),
            (
                "--listen 192.0.2.1:0 --screen :0",
                "error: --listen: 192.0.2.1:0 cannot be listened at: ",
            ),
        ] {
            let words = ["--no-audio", "--duration=10ms"].into_iter().chain(typed.split(' '));
            let refusal = run(Names::PROGRAMS, words.map(OsString::from)).expect_err(typed);
            assert!(refusal.told.starts_with(told), "{typed}: {}", refusal.told);
            assert_eq!(refusal.code, super::super::FAILED, "{typed}");
        }
    }
}
