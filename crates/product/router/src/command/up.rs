//! `up`, `check` and `doctor`.

use super::{Refusal, given, say};
use crate::board::Board;
use crate::claim::Claim;
use crate::config::{FILE, GatewayConfig, Mode, check_interface};
use crate::control;
use crate::data_path::DataPathError;
use crate::doctor::{State, bypasses, checks};
use crate::out::OutConfig;
use crate::own_queue::{self, ShapeConfig};
use crate::page::PageServer;
use crate::program::{Config, Queue, run};
use crate::recording::Recording;
use crate::status::Status;
use clap::ArgMatches;
use gameway_runtime::stop::Stop;
use sd_notify::NotifyState;
use std::path::Path;

/// The configuration that the words mean.
pub fn config(options: &ArgMatches) -> Result<GatewayConfig, Refusal> {
    let home = options.get_one::<String>("home").map(String::as_str);
    let file = given(options, "config").map(|file| &**file);
    let mut config =
        match (file, home) {
            (Some(file), home) => GatewayConfig::read(file, home).map_err(Refusal::wrong)?,
            (None, Some(home)) => {
                check_interface(home).map_err(|why| Refusal::wrong(format!("--home: {why}")))?;
                GatewayConfig::for_home(home)
            }
            (None, None) => GatewayConfig::read(Path::new(FILE), None).map_err(|error| {
                match Path::new(FILE).exists() {
                    true => Refusal::wrong(error),
                    false => Refusal::wrong(format!(
                        "there is no {FILE}; give --home INTERFACE or --config FILE"
                    )),
                }
            })?,
        };
    if let Some(control) = given(options, "control") {
        config.control = Some(control.clone());
    }
    Ok(config)
}

/// Runs a gateway.
pub fn up(options: &ArgMatches) -> Result<(), Refusal> {
    let mut config = config(options)?;
    if let Some(file) = given(options, "record") {
        config.record.file = Some(file.clone());
    }
    let exceptions = config.exceptions().map_err(Refusal::wrong)?;
    let games = config.games_config().map_err(Refusal::wrong)?;
    let stop = Stop::on_signals().map_err(|error| Refusal::failed(format!("signals: {error}")))?;
    let claim = Claim::of(&config.home).map_err(Refusal::failed)?;
    if claim.is_none() {
        let why = "there is no such interface; `ip link` lists those that are there".to_owned();
        return Err(Refusal::failed(DataPathError::Attach { interface: config.home, why }));
    }
    for one in bypasses(&config.home) {
        let mend = one.mend.map(|mend| format!("; to do: {mend}")).unwrap_or_default();
        eprintln!("gameway-gateway: {}: {}{mend}", one.name, one.found);
    }
    let (board, socket) = (Board::default(), config.control_socket());
    // It ends after the data path: who waits for the end there hears of it when all is gone.
    let _control = control::serve(&socket, board.clone(), stop.clone()).map_err(|error| {
        Refusal::failed(format!(
            "control: {} {error}; name another one with --control",
            socket.display()
        ))
    })?;
    let _page = page(&config, &board)?;
    let mut recording = recording(&config)?;
    let is_quiet = options.get_flag("quiet");
    let mut is_told = false;
    let mut tell = |status: &Status| {
        board.put(status);
        if let Some(recording) = &mut recording {
            recording.take(status);
        }
        if !is_quiet {
            say(&format!("{}\n", status.line()));
        }
        // Who has started it otherwise does not wait for it.
        let state = if is_told { NotifyState::Watchdog } else { NotifyState::Ready };
        let _ = sd_notify::notify(&[state]);
        is_told = true;
    };
    let ShapeConfig { rate, queue: kind, ping, out, out_rate } = config.shape;
    let out = out.map(|interface| OutConfig { interface, rate: out_rate });
    let queue = (config.mode != Mode::Windows).then_some(Queue { kind, rate, ping, out });
    let GatewayConfig { home, mode, windows, .. } = config;
    let steered = Config { home, mode, queue, windows, exceptions, games };
    run(&steered, &stop, &mut tell).map_err(Refusal::failed)
}

/// What the home sees, if it is to see something.
fn page(config: &GatewayConfig, board: &Board) -> Result<Option<PageServer>, Refusal> {
    let Some(listen) = config.status.address().map_err(Refusal::wrong)? else { return Ok(None) };
    let page = PageServer::start(listen, &config.status, &config.home, board.clone());
    let page = page.map_err(Refusal::failed)?;
    eprintln!("gameway-gateway: the home sees it at http://{}/", page.address());
    Ok(Some(page))
}

/// What is recorded, if something is.
fn recording(config: &GatewayConfig) -> Result<Option<Recording>, Refusal> {
    let record = &config.record;
    let Some(file) = &record.file else { return Ok(None) };
    let tell = |text: &str| eprintln!("gameway-gateway: {text}");
    let recording = Recording::start(file, record.max_size, record.addresses, &config.home, tell);
    recording.map(Some).map_err(Refusal::failed)
}

/// Reads a configuration.
pub fn check(options: &ArgMatches) -> Result<(), Refusal> {
    let Some(file) = given(options, "file") else { return Ok(()) };
    let config = GatewayConfig::read(file, None).map_err(Refusal::wrong)?;
    say(&format!(
        "{}: fine; home {}, mode {}, control {}, {}; games {}\n",
        file.display(),
        config.home,
        config.mode.name(),
        config.control_socket().display(),
        match config.leave_alone.len() {
            0 => "nothing left alone".to_owned(),
            1 => "1 rule leaves others alone".to_owned(),
            count => format!("{count} rules leave others alone"),
        },
        games_of(&config),
    ));
    Ok(())
}

/// By what flows are games.
fn games_of(config: &GatewayConfig) -> String {
    let rules = match (config.game.len(), config.no_game.len()) {
        (0, 0) => None,
        (count, 0) => Some(format!("by hand ({count})")),
        (count, against) => Some(format!("by hand ({count}, and {against} against)")),
    };
    let by_behaviour = config.games.then(|| "by behaviour".to_owned());
    let by_dscp = config.trust_dscp.then(|| "by DSCP".to_owned());
    let all: Vec<String> = [rules, by_behaviour, by_dscp].into_iter().flatten().collect();
    if all.is_empty() { "by nothing".to_owned() } else { all.join(", ") }
}

/// Says whether a gateway can work here.
pub fn doctor(options: &ArgMatches) -> Result<(), Refusal> {
    let config = config(options)?;
    let checks = checks(&config.home);
    if options.get_flag("json") {
        say(&format!("{}\n", serde_json::json!({ "checks": checks })));
    } else {
        checks.iter().for_each(|check| say(&check.shown()));
    }
    let faults = checks.iter().filter(|check| check.state == State::Fault).count();
    match faults {
        0 => Ok(()),
        1 => Err(Refusal::failed("a fault; a gateway cannot work here before it is mended")),
        _ => Err(Refusal::failed(format!(
            "{faults} faults; a gateway cannot work here before they are mended"
        ))),
    }
}

/// Waits until the gateway that has started it has ended, and takes its queue away.
pub fn guard(options: &ArgMatches) -> Result<(), Refusal> {
    let interface = options.get_one("number").copied().unwrap_or(0);
    own_queue::guard(interface)
        .map_err(|error| Refusal::failed(format!("the guardian of the gateway's queue: {error}")))
}
