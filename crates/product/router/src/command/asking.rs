//! `status` and `down`: what asks a gateway that runs.

use super::{Refusal, given, say, up};
use crate::config::{FILE, control_socket, control_sockets};
use crate::control::{Client, ControlError};
use crate::data_path::attached;
use crate::metrics::figures;
use crate::own_queue;
use clap::ArgMatches;
use gameway_runtime::clock::sleep;
use gameway_runtime::stop::Stop;
use gameway_units::Duration;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// From one view to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// To the upper left corner, and all below it away (ECMA-48: CUP, ED).
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// The socket of the gateway that is meant: by name, by interface, by configuration, or the only one that is there.
fn socket(options: &ArgMatches) -> Result<PathBuf, Refusal> {
    if let Some(socket) = given(options, "control") {
        return Ok(socket.clone());
    }
    if given(options, "config").is_some() {
        return Ok(up::config(options)?.control_socket());
    }
    if let Some(home) = options.get_one::<String>("home") {
        return Ok(control_socket(home));
    }
    match &control_sockets()[..] {
        [only] => Ok(only.clone()),
        [] if Path::new(FILE).exists() => Ok(up::config(options)?.control_socket()),
        [] => Err(Refusal::failed("no gateway runs here; start it with `gameway-gateway up`")),
        several => {
            let names: Vec<_> = several.iter().map(|one| one.display().to_string()).collect();
            let names = names.join(", ");
            Err(Refusal::wrong(format!(
                "several gateways run here; name one with --control: {names}"
            )))
        }
    }
}

/// Shows what a gateway does.
pub fn status(options: &ArgMatches) -> Result<(), Refusal> {
    let socket = socket(options)?;
    let [is_json, watches] = ["json", "watch"].map(|name| options.get_flag(name));
    let stop = Stop::on_signals().map_err(|error| Refusal::failed(format!("signals: {error}")))?;
    let clears = watches && !is_json && std::io::stdout().is_terminal();
    let mut client = Client::connect(&socket).map_err(Refusal::failed)?;
    loop {
        let status = client.status().map_err(Refusal::failed)?;
        if options.get_flag("openmetrics") {
            say(&figures(&status));
        } else if is_json {
            say(&format!("{}\n", serde_json::to_string(&status).unwrap_or_default()));
        } else {
            say(&format!("{}{}", if clears { CLEAR } else { "" }, status.shown()));
        }
        if !watches || stop.is_asked() {
            return Ok(());
        }
        sleep(PAUSE);
        if stop.is_asked() {
            return Ok(());
        }
    }
}

/// Ends a gateway, and says whether anything is left of it.
pub fn down(options: &ArgMatches) -> Result<(), Refusal> {
    let mut client = Client::connect(&socket(options)?).map_err(|error| match error {
        ControlError::Nobody { socket, .. } => {
            Refusal::failed(format!("no gateway runs at {}", socket.display()))
        }
        other => Refusal::failed(other),
    })?;
    // Before it has begun it has no status, and can be ended all the same.
    let home = client.status().map(|status| status.home);
    let process = client.stop().map_err(Refusal::failed)?;
    let Ok(home) = home else {
        say(&format!("the gateway (process {process}) has ended\n"));
        return Ok(());
    };
    let mut left = attached(&home);
    if own_queue::is_at(&home).unwrap_or(false) {
        left.push("its queue".to_owned());
    }
    if !left.is_empty() {
        let left = left.join(", ");
        return Err(Refusal::failed(format!(
            "the gateway (process {process}) has ended, but {home} still has parts of a gateway: {left}"
        )));
    }
    say(&format!(
        "the gateway at {home} (process {process}) has ended; nothing of it is left in the kernel\n"
    ));
    Ok(())
}
