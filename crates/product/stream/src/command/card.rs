//! The test card among what is played: its options, and its window, which is a process of its own as any program that is played.
//!
//! The window is this program once more, with an option that no help shows: the words of its own command line up to its arguments, as the
//! system has them (proc_pid_cmdline(5)), so that it is found whether it is a program or a module of Python.

use super::Refusal;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use gameway_units::Duration;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const CARD: &str = "test-card";
const ANSWER_AFTER: &str = "answer-after";
/// The window itself, which tells of its answers at the place that this names.
const WINDOW: &str = "card-window";
/// In the stage's folder.
const PLACE: &str = "card";

pub(super) fn arguments() -> [Arg; 3] {
    let card = "Play a test card, which answers each key at once by another picture: the page measures from key to picture by it";
    let after = "How long the test card waits before it answers, to see that a measurement finds it [default: 0 ms]";
    [
        Arg::new(CARD)
            .long(CARD)
            .action(ArgAction::SetTrue)
            .conflicts_with_all(["program", "screen"])
            .help(card),
        Arg::new(ANSWER_AFTER).long(ANSWER_AFTER).value_name("TIME").help(after),
        Arg::new(WINDOW).long(WINDOW).value_parser(value_parser!(PathBuf)).hide(true),
    ]
}

/// Whether this process is to be the window.
pub(super) fn is_window(matches: &ArgMatches) -> bool {
    matches.contains_id(WINDOW)
}

/// Shows the card until its screen is gone.
#[cfg(feature = "x11")]
pub(super) fn show(matches: &ArgMatches) -> Result<(), Refusal> {
    let socket = std::os::unix::net::UnixDatagram::unbound();
    let socket = socket.map_err(|error| Refusal::new(format!("the test card: {error}")))?;
    let place = super::placed(matches, WINDOW).map(Path::to_owned).unwrap_or_default();
    let shown = gameway_desktop::show_card(None, None, answer_after(matches)?, &mut |answer| {
        // Nobody hears it before the host is ready, or after its end.
        let _ = socket.send_to(&answer.to_bytes(), &place);
    });
    shown.map_err(|error| Refusal::new(error.to_string()))
}

#[cfg(not(feature = "x11"))]
pub(super) fn show(_matches: &ArgMatches) -> Result<(), Refusal> {
    Err(without())
}

fn without() -> Refusal {
    Refusal::new("--test-card: this build is without X11; build it with the feature x11")
}

/// A test card that is to be played.
pub(super) struct Card(Vec<OsString>);

/// The card, if it is played; so many words of this process's command line are its arguments.
pub(super) fn command(matches: &ArgMatches, arguments: usize) -> Result<Option<Card>, Refusal> {
    let after = answer_after(matches)?;
    if !matches.get_flag(CARD) {
        if matches.contains_id(ANSWER_AFTER) {
            return Err(Refusal::new("--answer-after: only the test card has it (--test-card)"));
        }
        return Ok(None);
    }
    if !cfg!(feature = "x11") {
        return Err(without());
    }
    let line = std::fs::read("/proc/self/cmdline")
        .map_err(|error| Refusal::new(format!("--test-card: /proc/self/cmdline: {error}")))?;
    let mut words = own_words(&line, arguments);
    words.push(format!("--{ANSWER_AFTER}={after}").into());
    words.push(format!("--{WINDOW}").into());
    Ok(Some(Card(words)))
}

impl Card {
    /// Its command line in a stage of this folder, and where it tells of its answers.
    pub(super) fn command(self, folder: &Path) -> (Vec<OsString>, PathBuf) {
        let place = folder.join(PLACE);
        (self.0.into_iter().chain([place.clone().into_os_string()]).collect(), place)
    }
}

fn answer_after(matches: &ArgMatches) -> Result<Duration, Refusal> {
    let Some(text) = matches.get_one::<String>(ANSWER_AFTER) else { return Ok(Duration::ZERO) };
    let refused = |why: String| Refusal::new(format!("--{ANSWER_AFTER}: {text:?} {why}"));
    let after: Duration = text.parse().map_err(|error| refused(format!("{error}")))?;
    let is_fine = (Duration::ZERO..=Duration::from_secs(1)).contains(&after);
    is_fine.then_some(after).ok_or_else(|| refused("is not between 0 ms and 1 s".to_owned()))
}

/// The words of a command line without its arguments.
fn own_words(line: &[u8], arguments: usize) -> Vec<OsString> {
    let line = line.strip_suffix(b"\0").unwrap_or(line);
    let words: Vec<OsString> =
        line.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect();
    let own = words.len().saturating_sub(arguments).max(1);
    words.into_iter().take(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_found_without_its_arguments() {
        let own = |line: &[u8], arguments| {
            let words = own_words(line, arguments);
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(own(b"gameway-play\0--test-card\0", 1), ["gameway-play"]);
        let python = b"python\0-m\0gameway\0play\0--test-card\0--size\0\0";
        assert_eq!(own(python, 3), ["python", "-m", "gameway", "play"]);
        // More arguments than there are words: whoever called this has others.
        assert_eq!(own(b"program\0", 4), ["program"]);
    }
}
