//! A unit by which systemd starts a command for a user: `--unit` prints it with the other options.
//!
//! The host tells systemd when clients can come (`sd_notify`), so `systemctl --user start` fails where it cannot start. It is started
//! again if it fails, but not if it refuses its options (exit code 2). What plays a screen that is there begins and ends with the
//! user's graphical session.

use super::{FAILED, Refusal};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const OPTION: &str = "unit";
/// Where a unit begins, and what it waits for.
const ALWAYS: &str = "default.target";
const GRAPHICAL: &str = "graphical-session.target";

/// The command with the option of this.
pub(super) fn with(command: Command) -> Command {
    let help = "Print a unit by which systemd starts this for the user, with the other options; put it into ~/.config/systemd/user";
    command.arg(Arg::new(OPTION).long(OPTION).action(ArgAction::SetTrue).help(help))
}

/// The unit, as what the command ends with, if it was asked for. `called` is how a person calls the command, `words` are its arguments.
pub(super) fn print(
    matches: &ArgMatches,
    called: &str,
    words: &[OsString],
    plays_a_screen_that_is_there: bool,
) -> Result<(), Refusal> {
    if !matches.get_flag(OPTION) {
        return Ok(());
    }
    let mut call = called.split(' ');
    let program = call.next().unwrap_or_default();
    let program = find(program).ok_or_else(|| {
        Refusal::new(format!("--{OPTION}: {program} is neither beside this program nor in PATH"))
    })?;
    let asked = format!("--{OPTION}");
    let own = words.iter().position(|word| *word == *asked);
    let others = words.iter().enumerate().filter(|(place, _)| Some(*place) != own);
    let words = [program.into_os_string()].into_iter().chain(call.map(OsString::from));
    let words: Vec<OsString> = words.chain(others.map(|(_, word)| word.clone())).collect();
    Err(Refusal { told: unit(&words, plays_a_screen_that_is_there)?, code: 0 })
}

/// Where a program is: beside this one, as it was called and where it is a link to, else in the folders of PATH.
fn find(program: &str) -> Option<PathBuf> {
    let called = std::env::args_os().next().map(PathBuf::from).filter(|path| path.is_absolute());
    let own = called.into_iter().chain(std::env::current_exe());
    let beside = own.filter_map(|own| own.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = beside.chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(program)).find(|file| file.is_absolute() && file.is_file())
}

fn unit(words: &[OsString], is_graphical: bool) -> Result<String, Refusal> {
    let words = words.iter().map(|word| word.to_str().and_then(quoted).ok_or(word));
    let words = words.collect::<Result<Vec<_>, _>>().map_err(|word| {
        Refusal::new(format!(
            "--{OPTION}: {word:?} cannot stand in a unit: it is no text of one line"
        ))
    })?;
    let (target, part) = if is_graphical {
        (GRAPHICAL, format!("After={GRAPHICAL}\nPartOf={GRAPHICAL}\n"))
    } else {
        (ALWAYS, String::new())
    };
    Ok(format!(
        "[Unit]\nDescription=Gameway: a game in the browser\n{part}\n\
         [Service]\nType=notify\nExecStart={}\nRestart=on-failure\nRestartSec=2\n\
         RestartPreventExitStatus={FAILED}\nKillMode=mixed\nTimeoutStopSec=10\n\n\
         [Install]\nWantedBy={target}",
        words.join(" ")
    ))
}

/// A word as systemd.service(5) reads it, if it can be written there.
fn quoted(word: &str) -> Option<String> {
    if word.chars().any(char::is_control) {
        return None;
    }
    let escaped =
        word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@+".contains(&byte);
    let plain = !word.is_empty() && word.bytes().all(is_plain);
    Some(if plain { escaped } else { format!("\"{escaped}\"") })
}

/// Tells whoever has started this, if that is systemd, that clients can come.
pub(super) fn tell_ready() {
    // Who has started it otherwise does not wait for it.
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
}

/// Whether what is told goes to systemd's journal: `$JOURNAL_STREAM` (systemd.exec(5)) has device and inode of the stream that it reads.
/// Programs that somebody starts from a desktop may inherit the variable; their own stream differs.
pub(super) fn is_logged() -> bool {
    let Ok(read) = std::env::var("JOURNAL_STREAM") else { return false };
    let own = std::fs::metadata("/proc/self/fd/2");
    own.is_ok_and(|own| read == format!("{}:{}", own.dev(), own.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_systemd_reads_them() {
        for (word, written) in [
            ("--size=1920x1080", "--size=1920x1080"),
            ("", "\"\""),
            ("a game", "\"a game\""),
            ("100%", "\"100%%\""),
            ("$HOME", "\"$$HOME\""),
            ("\"\\", "\"\\\"\\\\\""),
            (";", "\";\""),
            ("Spieleabend·ü", "\"Spieleabend·ü\""),
        ] {
            assert_eq!(quoted(word).as_deref(), Some(written), "{word}");
        }
        assert_eq!(quoted("two\nExecStart=/bin/false"), None);
    }

    #[test]
    fn a_unit_has_the_other_options_and_the_target_of_what_is_played() {
        let words = ["/usr/bin/gameway-play", "--screen", ":0"].map(OsString::from);
        let unit = unit(&words, true).expect("a unit");
        assert!(unit.contains("\nExecStart=/usr/bin/gameway-play --screen :0\n"), "{unit}");
        assert!(unit.contains("\nPartOf=graphical-session.target\n"), "{unit}");
        assert!(unit.ends_with("\nWantedBy=graphical-session.target"), "{unit}");
    }

    #[test]
    fn only_the_first_of_the_same_word_is_this_option() {
        let command = with(Command::new("sh")).arg(
            Arg::new("program").num_args(1..).trailing_var_arg(true).allow_hyphen_values(true),
        );
        let words = ["--unit", "game", "--unit"].map(OsString::from);
        let all = std::iter::once(OsString::from("sh")).chain(words.clone());
        let matches = command.try_get_matches_from(all).expect("options");
        let printed = print(&matches, "sh play", &words, false).expect_err("a unit");
        assert_eq!(printed.code, 0);
        assert!(printed.told.contains("/sh play game --unit\n"), "{}", printed.told);
        let refused = print(&matches, "no-such-program play", &words, false).expect_err("nowhere");
        assert_eq!(refused.code, FAILED);
        assert!(refused.told.contains("--unit: no-such-program is neither"), "{}", refused.told);
    }
}
