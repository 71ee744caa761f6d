//! The command that plays: a program on a screen of its own, and a host that streams it and takes the player's input.
//!
//! Without a command it is the game of [`super::game`] if that can be played, else the built-in scene.

use super::settings::{self, Setting, settings};
use super::{Names, Refusal, exit_code, tell, unit};
use super::{card, game, host};
use crate::host::Stage;
use crate::{HostConfig, SourceConfig};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use gameway_control::Controllers;
use std::ffi::OsString;
use std::path::Path;

/// The host's settings that play leaves as they are, or sets itself.
const NOT: [&str; 4] = ["source", "fec", "recovery", "input"];
/// What play sets itself is told of the option that names the screen.
const SCREEN: &[Setting] = settings! { "source" => "screen", "input" => "screen" };
/// The screen that the desktop's portal shares.
const WAYLAND: &str = "wayland";
/// The option of the Python package's `gameway play`, which calls this.
const LAB: &str = "lab";

/// The host's settings that have an option here, too.
fn own_settings() -> Vec<Setting> {
    host::SETTINGS.iter().filter(|setting| !NOT.contains(&setting.key)).copied().collect()
}

pub(super) fn command(names: Names) -> Command {
    let command = Command::new(names.play)
        .about(
            "Play a program in a browser: on a screen and a sound server of its own, streamed with a congestion control that \
             keeps the queue short.\n\n\
             Without a command it is Freedoom in Crispy Doom. If it or what its screen and sound need is not installed, root is \
             asked to install it. Where it cannot be played, the built-in scene is, and a note says why. Ctrl-C ends all that it \
             started. A program that crashes is started again.",
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

/// Plays with one of these controllers until the program ends, its time is over or it is asked to stop; `words` are the arguments.
/// Gives the exit code.
pub fn play(
    names: Names,
    controllers: Controllers,
    words: impl IntoIterator<Item = OsString>,
) -> u8 {
    exit_code(run(names, controllers, words))
}

fn run(
    names: Names,
    controllers: Controllers,
    words: impl IntoIterator<Item = OsString>,
) -> Result<(), Refusal> {
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
    let mut config = host::configured(&matches, &controllers, &settings)?;
    config.input = true;
    config.stamped = false;
    unit::print(&matches, names.play, &words, matches.contains_id("screen"))?;
    let stage = match card::command(&matches, words.len())? {
        Some(card) => Some(play_card(card, &mut config)?),
        None => staged(&mut config, names, &matches)?,
    };
    settings.extend_from_slice(SCREEN);
    host::serve(names, config, controllers, stage, &matches, &settings)
}

/// Sets what is played; the stage, if it is a program.
fn staged(
    config: &mut HostConfig,
    names: Names,
    matches: &ArgMatches,
) -> Result<Option<Stage>, Refusal> {
    if let Some(display) = matches.get_one::<String>("screen") {
        config.source = match display.as_str() {
            WAYLAND => SourceConfig::Portal,
            display => format!("x11:{display}").parse().unwrap_or_default(),
        };
        return Ok(None);
    }
    let given: Vec<OsString> =
        matches.get_many::<OsString>("program").into_iter().flatten().cloned().collect();
    if given.is_empty() {
        return Ok(staged_game(config, names));
    }
    set_stage(config, |_| Ok(given)).map(Some)
}

/// Starts the stage with the default game. If the game cannot be played, sets the built-in scene and tells why.
fn staged_game(config: &mut HostConfig, names: Names) -> Option<Stage> {
    let size = config.size;
    let stage = game::prepare(config.audio).and_then(|()| {
        set_stage(config, |folder| game::command(size, folder)).map_err(|refusal| {
            let why = refusal.told.trim_start_matches("error: ");
            format!("{why}; `{}` says how to mend it", names.doctor)
        })
    });
    let why = match stage {
        Ok(stage) => return Some(stage),
        Err(why) => why,
    };
    tell(&format!("note: the built-in scene is played: {why}"));
    config.source = SourceConfig::Scene;
    None
}

/// Starts a stage with the test card and plays that.
fn play_card(card: card::Card, config: &mut HostConfig) -> Result<Stage, Refusal> {
    let mut place = None;
    let stage = set_stage(config, |folder| {
        let (command, of_answers) = card.command(folder);
        place = Some(of_answers);
        Ok(command)
    })?;
    config.card = place;
    tell("the test card is played: open Settings on the page and measure the delay");
    Ok(stage)
}

/// Starts a stage with this program and plays it.
fn set_stage(
    config: &mut HostConfig,
    command: impl FnOnce(&Path) -> std::io::Result<Vec<OsString>>,
) -> Result<Stage, Refusal> {
    let stage = Stage::start(config.size, config.audio, command, &mut |note| tell(note))
        .map_err(|error| settings::as_typed(error, &own_settings()))?;
    config.surroundings = stage.surroundings().clone();
    config.source = SourceConfig::X11 { display: config.surroundings.display.clone() };
    Ok(stage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_its_setting() {
        settings::assert_options(command(Names::PROGRAMS), &own_settings());
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
            let (known, words) = (Controllers::standard(), words.map(OsString::from));
            let refusal = run(Names::PROGRAMS, known, words).expect_err(typed);
            assert!(refusal.told.starts_with(told), "{typed}: {}", refusal.told);
            assert_eq!(refusal.code, super::super::FAILED, "{typed}");
        }
    }
}
