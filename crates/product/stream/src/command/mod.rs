//! The commands of host and client, of a host's devices and of what works on this machine, for the programs `gameway-host`,
//! `gameway-client`, `gameway-devices` and `gameway-doctor` and for whoever calls them under another name.
//!
//! An option is a setting of [`crate::HostConfig`] or [`crate::ClientConfig`]: name, default and sentence are declared
//! there. What only a person needs (where the token is, where tables go) is declared here. Arguments are those behind
//! the program's name. A command tells on standard error, and gives the exit code: 0, or 2 for what a person can mend.

mod card;
mod client;
mod devices;
mod doctor;
mod game;
mod host;
mod https;
mod play;
mod qr;
mod settings;
mod state;
mod token;
mod unit;

pub use client::client;
pub use devices::devices;
pub use doctor::{Check, Finding, State, doctor};
pub use host::host;
pub use play::play;

use crate::{BegunSink, StreamError, ThreadTime};
use clap::{Arg, ArgMatches, value_parser};
use std::path::{Path, PathBuf};

/// The exit code where a person can mend what is wrong: another option, another machine.
pub const FAILED: u8 = 2;

/// What a command is called, and by which words its like is: in texts for people.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// The host's command.
    pub host: &'static str,
    /// The client's command.
    pub client: &'static str,
    /// The command that plays.
    pub play: &'static str,
    /// The command of a host's devices.
    pub devices: &'static str,
    /// The command that says what works.
    pub doctor: &'static str,
}

impl Names {
    /// The programs of this crate.
    pub const PROGRAMS: Self = Self {
        host: "gameway-host",
        client: "gameway-client",
        play: "gameway-play",
        devices: "gameway-devices",
        doctor: "gameway-doctor",
    };
}

/// The options of a command ("host", "play", "client", "devices" or "doctor"), each with its sentence: for the completion of shells.
#[must_use]
pub fn options(command: &str) -> Vec<(String, String)> {
    let names = Names::PROGRAMS;
    let command = match command {
        "host" => host::command(names),
        "play" => play::command(names),
        "devices" => devices::command(names),
        "doctor" => doctor::command(names),
        _ => client::command(names),
    };
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let told = shown.filter_map(|arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        Some((format!("--{}", arg.get_long()?), help))
    });
    told.chain([("--help".to_owned(), "Print help".to_owned())]).collect()
}

/// Why a command ends at once: what to tell, and its exit code.
#[derive(Debug)]
struct Refusal {
    told: String,
    code: u8,
}

impl Refusal {
    fn new(told: impl Into<String>) -> Self {
        Self { told: format!("error: {}", told.into()), code: FAILED }
    }
}

impl From<clap::Error> for Refusal {
    /// Help and version are no errors, but end a command, too.
    fn from(error: clap::Error) -> Self {
        let code = if error.use_stderr() { FAILED } else { 0 };
        Self { told: error.render().to_string().trim_end().to_owned(), code }
    }
}

/// What a command that ended has for an exit code.
#[expect(clippy::print_stdout, reason = "help goes to standard output")]
fn exit_code(result: Result<(), Refusal>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(Refusal { told, code: 0 }) => {
            println!("{told}");
            0
        }
        Err(Refusal { told, code }) => {
            tell(&told);
            code
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command tells a person")]
fn tell(line: &str) {
    eprintln!("{line}");
}

fn tell_refusals(refusals: &[String]) {
    refusals.iter().for_each(|refusal| tell(&format!("note: {refusal}")));
}

fn tell_threads(threads: &[ThreadTime]) {
    for ThreadTime { thread, cpu, wall } in threads {
        let share = 100.0 * cpu.as_nanos() as f64 / wall.as_nanos().max(1) as f64;
        tell(&format!("{thread}: {share:.1} % of a core"));
    }
}

/// Which end of a stream keeps tables.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Whether its tables lie in pieces.
    Host {
        in_pieces: bool,
    },
    Client,
}

/// Makes the folder of tables, and gives what begins them there: a host or a client does once it is sure to have rows.
#[cfg(feature = "tables")]
fn tables(folder: Option<&Path>, end: End) -> Result<impl FnOnce() -> BegunSink, StreamError> {
    use gameway_events::{Files, ResultTables, Sink};
    fn refused(folder: &Path, why: &str, source: std::io::Error) -> StreamError {
        let what = format!("--out: {:?} cannot be {why}", folder.display().to_string());
        StreamError::System { what, source }
    }
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder).map_err(|error| refused(folder, "made", error))?;
    }
    Ok(move || {
        let Some(folder) = folder else { return Ok(None) };
        let tables = match end {
            End::Host { in_pieces: true } => ResultTables::of_host(folder, Files::Pieces),
            End::Host { in_pieces: false } => ResultTables::of_host(folder, Files::Whole),
            End::Client => ResultTables::of_client(folder),
        };
        let written = |error| refused(folder, "written", std::io::Error::other(error));
        Ok(Some(Box::new(tables.map_err(written)?) as Box<dyn Sink>))
    })
}

/// None: this build keeps no tables.
#[cfg(not(feature = "tables"))]
fn tables(folder: Option<&Path>, _end: End) -> Result<impl FnOnce() -> BegunSink, StreamError> {
    let why = "this build writes no tables; build it with the feature tables".to_owned();
    if folder.is_some() {
        return Err(StreamError::Config { field: "--out", why });
    }
    Ok(|| Ok(None))
}

/// An option that names a file or a folder.
fn place(id: &'static str, option: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(option).value_name(value).value_parser(value_parser!(PathBuf)).help(help)
}

/// The place that such an option names, if it was given.
fn placed<'a>(matches: &'a ArgMatches, id: &str) -> Option<&'a Path> {
    matches.get_one::<PathBuf>(id).map(PathBuf::as_path)
}
