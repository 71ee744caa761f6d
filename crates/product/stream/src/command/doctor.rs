//! The command that says what of playing works on this machine, and how to mend what does not.
//!
//! Each check is a trial where that is quick: a screen is started, captured and played on, encoders encode, a port is bound.
//! One runs after the other, in a thread of its own, so that one that hangs is given up and the next ones are told.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | most time of a check | 15 s | a server that does not serve is given up after 10 s and ended within 3 s; that has better words |

mod desk;
mod encode;
mod network;

use super::settings::{self, Setting, settings};
use super::{Names, Refusal, exit_code};
use crate::HostConfig;
use crate::host::Folder;
use clap::{Arg, ArgAction, Command};
use gameway_runtime::stop::Stop;
use gameway_runtime::terminal::wrapped;
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(15);
/// The widths of a check's name and of its state.
const NAME: usize = 16;
const STATE: usize = 7;
/// The exit code where something is lacking.
const LACKING: u8 = 1;
const SETTINGS: &[Setting] = settings! {
    "listen" => "listen",
    "map_ports" => "map-ports",
    "stun" => "stun",
    "turn" => "turn",
    "turn_credentials" => "turn-credentials",
};

/// How a part of playing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It works.
    Works,
    /// It does not work.
    Lacking,
    /// It is not needed here.
    #[serde(rename = "-")]
    Unneeded,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::Lacking => "lacking",
            Self::Unneeded => "-",
        }
    }
}

/// What was found of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// How to mend it.
    pub mend: Option<String>,
}

impl Finding {
    fn works(found: impl Into<String>) -> Self {
        Self { state: State::Works, found: found.into(), mend: None }
    }

    fn lacking(found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { state: State::Lacking, found: found.into(), mend: Some(mend.into()) }
    }

    fn unneeded(found: impl Into<String>) -> Self {
        Self { state: State::Unneeded, found: found.into(), mend: None }
    }
}

/// A part, and what was found of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The part's name.
    pub name: String,
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
}

/// A check that is still to be made.
type Trial = (String, Box<dyn FnOnce() -> Finding + Send>);

fn trial(name: impl Into<String>, check: impl FnOnce() -> Finding + Send + 'static) -> Trial {
    (name.into(), Box::new(check))
}

pub(super) fn command(names: Names) -> Command {
    let Names { doctor, play, .. } = names;
    let command = Command::new(doctor)
        .about(format!(
            "Try what of `{play}` works on this machine, and say how to mend what does not.\n\n\
             Each part works, is lacking, or (-) is not needed here. The exit code is 0 if nothing is lacking, 1 if something is, and \
             2 for wrong options. What is started is ended again."
        ))
        .after_help(format!("Example: {doctor} --listen 8444\nNext: mend what is lacking, then {play}."))
        .version(env!("CARGO_PKG_VERSION"));
    let json = "One JSON object, for scripts: {\"checks\": [{name, state, found, mend}, ...]}";
    settings::with::<HostConfig>(command, SETTINGS)
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help(json))
}

/// Makes all checks, then takes in those that only the caller can make (`further`); `words` are the arguments. Gives the exit code.
pub fn doctor(
    names: Names,
    words: impl IntoIterator<Item = OsString>,
    further: impl FnOnce() -> Vec<Check>,
) -> u8 {
    match run(names, words, further) {
        Ok(true) => 0,
        Ok(false) => LACKING,
        Err(refusal) => exit_code(Err(refusal)),
    }
}

/// Whether nothing is lacking.
fn run(
    names: Names,
    words: impl IntoIterator<Item = OsString>,
    further: impl FnOnce() -> Vec<Check>,
) -> Result<bool, Refusal> {
    let program = OsString::from(names.doctor);
    let matches = command(names).try_get_matches_from(std::iter::once(program).chain(words))?;
    let is_json = matches.get_flag("json");
    let config = HostConfig::read(&settings::given(&matches, SETTINGS))
        .map_err(|error| settings::as_typed(error, SETTINGS))?;
    let stop = Stop::on_signals().map_err(|error| Refusal::new(format!("signals: {error}")))?;
    // It goes with all that is in it, when the last check is made.
    let folder = Folder::make().map_err(|error| Refusal::new(error.to_string()))?;
    let mut checks = Vec::new();
    let mut add = |check: Check| {
        if !is_json {
            say(&shown(&check));
        }
        checks.push(check);
    };
    for (name, check) in trials(names, folder.path(), config) {
        if stop.is_asked() {
            return Err(Refusal::new("interrupted"));
        }
        add(Check { name, finding: within(LIMIT, check) });
    }
    further().into_iter().for_each(add);
    if is_json {
        say(&format!("{}\n", serde_json::json!({ "checks": checks })));
    }
    Ok(checks.iter().all(|check| check.finding.state != State::Lacking))
}

/// To standard output; who reads it may have had enough.
fn say(text: &str) {
    let mut output = std::io::stdout();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

/// All checks of this program, in their order.
fn trials(names: Names, folder: &Path, config: HostConfig) -> Vec<Trial> {
    let listen = config.listen.0;
    let outside = config.clone();
    let [for_screen, for_sound] = [folder.to_owned(), folder.to_owned()];
    let mut all = vec![
        trial("screen", move || desk::screen(&for_screen)),
        trial("own screen", move || desk::own_screen(names)),
        trial("Wayland screen", move || desk::wayland_screen(names)),
    ];
    all.extend(encode::trials());
    all.extend([
        trial("sound", move || desk::sound(&for_sound)),
        trial("sound codec", desk::sound_codec),
        trial("gamepads", desk::gamepads),
        trial("game", desk::game),
        trial("port", move || network::port(listen)),
        trial("certificate", network::certificate),
        trial("devices", network::devices),
        trial("ways", move || network::ways(listen)),
        trial("outside", move || network::outside(&outside)),
        trial("port mapping", move || network::mapped(&config)),
    ]);
    all
}

/// What a check finds, unless it takes longer.
#[expect(clippy::disallowed_methods, reason = "a check that hangs must not hold up the others")]
fn within(limit: Duration, check: Box<dyn FnOnce() -> Finding + Send>) -> Finding {
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        // Who waited may have given up.
        let _ = sender.send(check());
    };
    let mend = "try again on a machine that does less; what is found then may say more";
    if let Err(error) = std::thread::Builder::new().name("check".to_owned()).spawn(work) {
        return Finding::lacking(format!("no thread: {error}"), mend);
    }
    match receiver.recv_timeout(limit) {
        Ok(finding) => finding,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Finding::lacking(format!("no answer within {} s", limit.as_secs_f64()), mend)
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            Finding::lacking("the check itself failed, as told above", "tell us of it")
        }
    }
}

/// A check in lines for a terminal.
fn shown(Check { name, finding }: &Check) -> String {
    let margin = NAME + STATE + 4;
    let mut text = format!("{name:<NAME$}  {:<STATE$}  ", finding.state.word());
    text += &wrapped(&finding.found, margin);
    if let Some(mend) = &finding.mend {
        text += &" ".repeat(margin);
        text += &wrapped(&format!("to mend: {mend}"), margin);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_option_is_declared_once() {
        command(Names::PROGRAMS).debug_assert();
    }

    #[test]
    fn a_slip_is_told_as_it_was_typed_and_nothing_is_tried() {
        for (typed, told) in [
            ("--listen=x", "error: --listen: \"x\" has no address \"x\""),
            ("--quick", "error: unexpected argument '--quick' found"),
        ] {
            let further = || panic!("no check is made");
            let refusal = run(Names::PROGRAMS, [OsString::from(typed)], further).expect_err(typed);
            assert!(refusal.told.starts_with(told), "{}", refusal.told);
            assert_eq!(refusal.code, super::super::FAILED);
        }
    }

    #[test]
    fn a_check_is_lines_of_80_columns() {
        let found =
            "Xvfb is not installed, and what else there is to say of it takes a second line";
        let check = Check {
            name: "encoder openh264".to_owned(),
            finding: Finding::lacking(found, "apt install xvfb"),
        };
        assert_eq!(
            shown(&check),
            "encoder openh264  lacking  Xvfb is not installed, and what else there is to say\n\
             \u{20}                          of it takes a second line\n\
             \u{20}                          to mend: apt install xvfb\n"
        );
        let works = Check { name: "port".to_owned(), finding: Finding::works("8443") };
        assert_eq!(shown(&works), "port              works    8443\n");
    }

    #[test]
    fn a_check_is_an_object_for_scripts() {
        let check = Check { name: "game".to_owned(), finding: Finding::lacking("none", "mend") };
        let object = json!({ "name": "game", "state": "lacking", "found": "none", "mend": "mend" });
        assert_eq!(serde_json::to_value(check).expect("JSON"), object);
        let finding = Finding::unneeded("none");
        let object = json!({ "state": "-", "found": "none", "mend": null });
        assert_eq!(serde_json::to_value(finding).expect("JSON"), object);
    }

    #[test]
    fn a_check_that_hangs_is_given_up() {
        let (sender, receiver) = mpsc::channel::<()>();
        let hangs = Box::new(move || {
            let _ = receiver.recv();
            Finding::works("late")
        });
        let found = within(Duration::from_millis(50), hangs);
        assert_eq!(
            (found.state, found.found.as_str()),
            (State::Lacking, "no answer within 0.05 s")
        );
        drop(sender);
        let found = within(Duration::from_secs(60), Box::new(|| Finding::works("in time")));
        assert_eq!(found, Finding::works("in time"));
    }
}
