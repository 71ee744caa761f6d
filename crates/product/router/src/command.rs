//! `gameway-gateway`.

use crate::program::{Config, Status, run};
use clap::{Arg, ArgMatches, Command};
use gameway_gateway::WindowsConfig;
use gameway_runtime::stop::Stop;
use std::ffi::OsString;
use std::io::Write;

/// Reads the words, does what they say, gives the exit status: 0, 1 where it failed, 2 where the words are wrong.
pub fn gateway(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words = std::iter::once(OsString::from("gameway-gateway")).chain(words);
    let matches = match definition().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let done = match matches.subcommand() {
        Some(("up", options)) => up(options),
        _ => Ok(()),
    };
    match done {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("gameway-gateway: {why}");
            1
        }
    }
}

fn definition() -> Command {
    let home = Arg::new("home").long("home").value_name("INTERFACE").required(true).help(
        "The interface towards the home: its bridge, mostly; packets pass it with the home's addresses",
    );
    Command::new("gameway-gateway")
        .about("Keeps downloads of a home from queueing in front of its games")
        .subcommand_required(true)
        .subcommand(
            Command::new("up")
                .about("Runs until it is interrupted; a line of JSON each second")
                .arg(home),
        )
}

fn up(options: &ArgMatches) -> Result<(), String> {
    let home = options.get_one::<String>("home").cloned().unwrap_or_default();
    let config = Config { home, windows: WindowsConfig::default() };
    let stop = Stop::on_signals().map_err(|error| format!("signals: {error}"))?;
    run(&config, &stop, &mut tell).map_err(|error| error.to_string())
}

fn tell(status: Status) {
    let Status { time, wait, limited, counters } = status;
    let line = serde_json::json!({
        "time_s": time.as_secs_f64(),
        "wait_ms": wait.map(gameway_units::Duration::as_millis_f64),
        "limited": limited,
        "segments": counters.segments,
        "lowered": counters.lowered,
        "lost_records": counters.lost_records,
    });
    let mut out = std::io::stdout().lock();
    // Whoever read them may be gone.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
