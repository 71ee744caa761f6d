//! `gameway-gateway`.

mod asking;
mod up;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// The exit code where the words or a file are wrong: to start again does not help.
const WRONG: u8 = 2;
const FAILED: u8 = 1;

/// Why a command was not done.
#[derive(Debug)]
struct Refusal {
    told: String,
    code: u8,
}

impl Refusal {
    fn failed(why: impl ToString) -> Self {
        Self { told: why.to_string(), code: FAILED }
    }

    fn wrong(why: impl ToString) -> Self {
        Self { told: why.to_string(), code: WRONG }
    }
}

/// Reads the words, does what they say, gives the exit status: 0, 1 where it failed, 2 where the words or a file are wrong.
pub fn gateway(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = std::iter::once(OsString::from("gameway-gateway")).chain(words);
    let matches = match definition().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(WRONG);
        }
    };
    let done = match matches.subcommand() {
        Some(("up", options)) => up::up(options),
        Some(("check", options)) => up::check(options),
        Some(("status", options)) => asking::status(options),
        Some(("down", options)) => asking::down(options),
        Some(("doctor", options)) => up::doctor(options),
        Some(("guard", options)) => up::guard(options),
        _ => Ok(()),
    };
    match done {
        Ok(()) => 0,
        Err(Refusal { told, code }) => {
            eprintln!("gameway-gateway: {told}");
            code
        }
    }
}

fn definition() -> Command {
    Command::new("gameway-gateway")
        .subcommand(guard())
        .about("Keeps downloads of a home from queueing in front of its games")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .subcommand(
            with_place(Command::new("up"))
                .about("Runs until it is interrupted or taken down; a line of JSON each second")
                .arg(flag("quiet", "No line each second; for services"))
                .arg(path("record", "FILE", "What is so each second, for `gameway gateway-record`")),
        )
        .subcommand(
            Command::new("check").about("Says whether a configuration is one").arg(
                Arg::new("file")
                    .value_name("FILE")
                    .required(true)
                    .value_parser(value_parser!(PathBuf)),
            ),
        )
        .subcommand(
            with_place(Command::new("status"))
                .about("Shows what a gateway that runs does")
                .arg(flag("json", "One JSON object, for scripts"))
                .arg(flag("openmetrics", "Figures for a monitor, as Prometheus reads them from a file").conflicts_with_all(["json", "watch"]))
                .arg(flag("watch", "Again each second, until Ctrl-C")),
        )
        .subcommand(
            with_place(Command::new("down")).about("Ends a gateway that runs, and waits until it is gone"),
        )
        .subcommand(
            with_place(Command::new("doctor"))
                .about("Says whether a gateway can work here, and what to do where it cannot")
                .after_help("Each line is ok, a warning or a fault. The exit code is 0 without a fault, 1 with one, 2 for wrong options.")
                .arg(flag("json", "One JSON object, for scripts: {\"checks\": [{name, state, found, mend}, ...]}")),
        )
}

/// What `up` starts beside itself, and nobody else.
fn guard() -> Command {
    let number = Arg::new("number").required(true).value_parser(value_parser!(u32));
    Command::new("guard").hide(true).arg(number)
}

/// The options that say which gateway is meant.
fn with_place(command: Command) -> Command {
    let home = "The interface towards the home: its bridge, mostly; packets pass it with the home's addresses";
    let file = "A configuration [default: /etc/gameway/gateway.toml, if neither is given]";
    let control =
        "The control socket [default: the configuration's, or /run/gameway-gateway/INTERFACE.sock]";
    command
        .arg(Arg::new("home").long("home").value_name("INTERFACE").help(home))
        .arg(path("config", "FILE", file))
        .arg(path("control", "SOCKET", control))
}

fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn given<'a>(options: &'a ArgMatches, name: &str) -> Option<&'a PathBuf> {
    options.get_one::<PathBuf>(name)
}

/// To standard output; who reads it may be gone.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_declared_once() {
        definition().debug_assert();
    }
}
