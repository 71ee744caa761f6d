//! The command of a host.

use super::https::{self, Https};
use super::qr::qr;
use super::settings::{self, Setting, settings};
use super::{End, Names, Refusal, exit_code, place, placed, tables};
use super::{state, tell, tell_refusals, tell_threads, token, unit};
use crate::host::{self, HostReport, Stage};
use crate::{HostConfig, SourceConfig};
use clap::{Arg, ArgAction, ArgMatches, Command};
use gameway_control::Controllers;
use gameway_runtime::stop::Stop;
use gameway_units::declared::Options;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

pub(super) const SETTINGS: &[Setting] = settings! {
    "controller" => "controller",
    "source" => "source",
    "size" => "size",
    "frame_rate" => "frame-rate",
    "ladder" => "ladder",
    "content" => "content",
    "min_height" => "min-height",
    "min_frame_rate" => "min-frame-rate",
    "min_bitrate" => "min-bitrate",
    "start_bitrate" => "start-bitrate",
    "max_bitrate" => "max-bitrate",
    "fec" => "fec",
    "repair" => "repair",
    "recovery" => "recovery",
    "circuit_breaker" => "circuit-breaker",
    "listen" => "listen",
    "tcp" => "tcp",
    "map_ports" => "map-ports",
    "stun" => "stun",
    "turn" => "turn",
    "turn_credentials" => "turn-credentials",
    "encoder" => "encoder",
    "audio" => "audio",
    "input" => "input",
    "watchers" => "watchers",
    "clipboard" => "clipboard",
    "metrics" => "metrics",
    "duration" => "duration",
};
/// What the first link stands behind.
const WATCH: &str = "watch at ";
/// Addresses for documentation (RFC 5737, RFC 3849): nothing is sent there.
const ELSEWHERE: [(&str, &str); 2] = [("0.0.0.0:0", "192.0.2.1:9"), ("[::]:0", "[2001:db8::1]:9")];

pub(super) fn command(names: Names) -> Command {
    let client = names.client;
    let command = Command::new(names.host)
        .about(format!(
            "Stream a game, a video or the built-in scene to a browser or to `{client}`.\n\n\
             It prints a link and a code of six digits: a device that is new is asked for it, and has a key of its own from then \
             on (`{}` lists and revokes). One has the stream at a time, and with --watchers others see it, too. All is encrypted where others reach it, by a certificate of this \
             machine's own; a browser does not know it and asks. The port must be open for TCP and for UDP.",
            names.devices
        ))
        .after_help(format!(
            "Example: {} --source x11 --controller pudica\nNext: open the link in a browser and type the code, or {client} LINK.",
            names.host
        ))
        .version(env!("CARGO_PKG_VERSION"));
    for_people(settings::with::<HostConfig>(command, SETTINGS))
}

/// The command with what only a person needs: what a client shows, names, HTTPS, tables.
pub(super) fn for_people(command: Command) -> Command {
    let token = "Holds what a client must know that is no paired device; else $GAMEWAY_TOKEN, else a new one is made";
    let name = "A name under which browsers reach the host, beside this machine's. May be repeated";
    let out = "Keep tables here: frames, controller, lateness";
    let further = "Settings of a host as JSON, by their names, for a program that starts one. An option counts more";
    unit::with(https::with(command))
        .arg(place("token", token::OPTION, "FILE", token))
        .arg(
            Arg::new("name")
                .long("host-name")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help(name),
        )
        .arg(place("out", "out", "FOLDER", out))
        .arg(place("settings", "settings", "FILE", further))
}

/// Streams with one of these controllers until the end of its time or until it is asked to stop; `words` are the arguments. Gives the
/// exit code.
pub fn host(
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
    let config = configured(&matches, &controllers, SETTINGS)?;
    let captures = matches!(config.source, SourceConfig::X11 { .. } | SourceConfig::Portal);
    unit::print(&matches, names.host, &words, captures)?;
    serve(names, config, controllers, None, &matches, SETTINGS)
}

/// What these settings and the options for people say of a host.
pub(super) fn configured(
    matches: &ArgMatches,
    controllers: &Controllers,
    settings: &[Setting],
) -> Result<HostConfig, Refusal> {
    let refused = |error| settings::as_typed(error, settings);
    let mut further = placed(matches, "settings").map_or_else(|| Ok(Options::new()), read)?;
    further.extend(settings::given(matches, settings));
    let mut config = HostConfig::read(&further).map_err(refused)?;
    config.build_controller(controllers).map_err(refused)?;
    config = config.into_streamed(controllers);
    config.token = token::given(placed(matches, "token"))?.map_or_else(token::new, Ok)?;
    config.devices = state::devices();
    config.screen_permission = state::screen_permission();
    if config.devices.is_none() {
        tell(
            "note: no device can be paired: neither XDG_STATE_HOME nor HOME says where to keep it",
        );
    }
    config.names.extend(own_names());
    config.names.extend(matches.get_many::<String>("name").into_iter().flatten().cloned());
    config.stamped = config.source == SourceConfig::Scene;
    Ok(config)
}

/// The settings in a file.
fn read(file: &Path) -> Result<Options, Refusal> {
    let refused = |why: String| Refusal::new(format!("--settings: {:?}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| refused(error.to_string()))
}

/// Streams until the end of its time or of what is played, or until it is asked to stop.
pub(super) fn serve(
    names: Names,
    mut config: HostConfig,
    controllers: Controllers,
    stage: Option<Stage>,
    matches: &ArgMatches,
    settings: &[Setting],
) -> Result<(), Refusal> {
    let refused = |error| settings::as_typed(error, settings);
    let https = https::set(matches, &mut config)?;
    let end = End::Host { in_pieces: config.keep_interval.is_some() };
    let sink = tables(placed(matches, "out"), end).and_then(|begin| begin()).map_err(refused)?;
    let stop = Stop::on_signals().map_err(|error| Refusal::new(format!("signals: {error}")))?;
    // Whoever reads the journal, today or in a year, could play; codes for new devices, which are there, are good for two minutes.
    let token = (!unit::is_logged()).then(|| config.token.clone());
    let report = host::run(config, controllers, stage, sink, &stop, &mut |refusals, addresses| {
        tell_refusals(&refusals);
        let told = links(&addresses, names, https, token.as_deref());
        told.iter().for_each(|line| tell(line));
        camera(&told);
        unit::tell_ready();
    });
    let HostReport { sessions, cpu, .. } = report.map_err(refused)?;
    if sessions == 0 {
        tell("nobody came");
    }
    tell_threads(&cpu);
    Ok(())
}

/// The names under which others may know this machine: its own, with and without a domain, and those that its table of
/// hosts has beside it.
pub(super) fn own_names() -> Vec<String> {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy().into_owned();
    let short = name.split('.').next().unwrap_or_default().to_owned();
    let table = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    let lines = table.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words = lines.map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>());
    let own = words.filter(|words| words.contains(&name.as_str())).flatten().map(str::to_owned);
    let mut names = vec![name.clone(), short.clone(), format!("{short}.local")];
    names.extend(own);
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
    names
}

/// What to tell of a host's addresses: a link for each, how a program watches, and what must be open.
///
/// The first is that from which this machine reaches others; loopback is for itself.
/// Where no token is given, as for a log, a line says how a program gets it.
fn links(reached: &[SocketAddr], names: Names, https: Https, token: Option<&str>) -> Vec<String> {
    let primary = primary();
    let mut reached = reached.to_vec();
    reached.sort_by_key(|at| (at.ip().is_loopback(), !primary.contains(&at.ip()), at.is_ipv6()));
    let scheme = if https == Https::No { "http" } else { "https" };
    let mut told: Vec<String> = Vec::new();
    for address in &reached {
        let start = match (told.is_empty(), address.ip().is_loopback()) {
            (true, _) => WATCH.trim_end(),
            (false, true) => "or from this machine:",
            (false, false) => "or",
        };
        told.push(format!("{start} {scheme}://{address}/"));
    }
    if let Some(address) = reached.first() {
        let certificate = match https {
            Https::Own(fingerprint) => format!(".{}", fingerprint.as_word()),
            _ => String::new(),
        };
        let client = names.client;
        let how = match token {
            Some(token) => format!("{client} \"{scheme}://{address}/#{token}{certificate}\""),
            None => format!(
                "give {client} the same --token-file as the host; its token does not stand in a log"
            ),
        };
        told.push(format!("or by a program: {how}"));
    }
    if let Https::Own(fingerprint) = https {
        let print = fingerprint.as_text();
        told.push(format!(
            "a browser asks whether to go on, by the certificate with SHA-256 {print}"
        ));
    }
    if let Some(open) = reached.iter().find(|address| !address.ip().is_loopback()) {
        let port = open.port();
        told.push(format!(
            "port {port} must be open for TCP (page and signalling) and for UDP (media)"
        ));
    }
    told
}

/// Shows the first link to a telephone's camera, if it is one for other devices and somebody sees the terminal.
fn camera(told: &[String]) {
    let link = told.iter().find_map(|line| line.strip_prefix(WATCH));
    let is_for_others = |link: &&str| !link.contains("//127.") && !link.contains("//[::1]");
    let seen = std::io::stderr().is_terminal();
    if let Some(picture) = link.filter(is_for_others).filter(|_| seen).and_then(qr) {
        tell(&picture);
    }
}

/// The addresses that this machine has towards others; to ask for a route sends nothing.
#[expect(clippy::disallowed_types, reason = "a command asks the system for a route")]
fn primary() -> Vec<IpAddr> {
    let own = |(from, to): (&str, &str)| {
        let socket = std::net::UdpSocket::bind(from).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    ELSEWHERE.into_iter().filter_map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gameway_control::FixedOptions;
    use gameway_webrtc::Fingerprint;

    #[test]
    fn links_name_what_others_reach_and_which_ports() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let told = links(
            &[at("127.0.0.1:8443"), at("198.51.100.7:8443")],
            Names::PROGRAMS,
            Https::No,
            Some("T"),
        );
        assert_eq!(
            told,
            [
                "watch at http://198.51.100.7:8443/",
                "or from this machine: http://127.0.0.1:8443/",
                "or by a program: gameway-client \"http://198.51.100.7:8443/#T\"",
                "port 8443 must be open for TCP (page and signalling) and for UDP (media)",
            ]
        );
        let told = links(&[at("[::1]:80")], Names::PROGRAMS, Https::No, Some("T"));
        let program = "or by a program: gameway-client \"http://[::1]:80/#T\"";
        assert_eq!(told, ["watch at http://[::1]:80/", program]);
        let own = Fingerprint::of(b"certificate");
        let told = links(&[at("192.0.2.7:1")], Names::PROGRAMS, Https::Own(own), Some("T"));
        let program =
            format!("or by a program: gameway-client \"https://192.0.2.7:1/#T.{}\"", own.as_word());
        assert_eq!(told[..2], ["watch at https://192.0.2.7:1/".to_owned(), program]);
        assert!(told[2].ends_with(&format!("SHA-256 {}", own.as_text())), "{told:?}");
        let told = links(&[at("192.0.2.7:1")], Names::PROGRAMS, Https::Vouched, Some("T"));
        assert_eq!(told[1], "or by a program: gameway-client \"https://192.0.2.7:1/#T\"");
        let told = links(&[at("192.0.2.7:1")], Names::PROGRAMS, Https::Own(own), None);
        assert!(
            told[1].contains("--token-file") && told.iter().all(|line| !line.contains('#')),
            "{told:?}"
        );
    }

    #[test]
    fn every_option_has_its_setting() {
        settings::assert_options(command(Names::PROGRAMS), SETTINGS);
    }

    #[test]
    fn who_calls_the_command_says_which_controllers_there_are() {
        let run_with = |controller: &str, known: Controllers| {
            let words = ["--listen=127.0.0.1:0", "--no-audio", "--duration=10ms", "--controller"];
            let words = words.into_iter().chain([controller]).map(OsString::from);
            run(Names::PROGRAMS, known, words).map_err(|refusal| refusal.told)
        };
        let alone = || Controllers::default().with::<FixedOptions>();
        assert_eq!(run_with("fixed", alone()), Ok(()));
        let told = "error: --controller: unknown controller \"pudica\"; known are fixed";
        assert_eq!(run_with("pudica", alone()), Err(told.to_owned()));
    }

    #[test]
    fn a_slip_is_told_as_it_was_typed() {
        for (typed, told) in [
            ("--listen x", "error: --listen: \"x\" has no address \"x\""),
            ("--duration 5", "error: --duration: \"5\" has nothing as unit"),
            ("--size large", "error: --size: \"large\" is no size"),
            ("--frame-rate 0", "error: --frame-rate: 0 is not between 1 and 1000"),
            ("--frame-rate many", "error: invalid value 'many' for '--frame-rate"),
            ("--fec 500%", "error: --fec: 500% is not between 0 % and 100 %"),
            ("--min-bitrate 3", "error: --min-bitrate: \"3\" has nothing as unit"),
            (
                "--start-bitrate 60Mb/s",
                "error: --start-bitrate: 60 Mb/s is not between --min-bitrate",
            ),
            ("--controller pudicca", "error: --controller: "),
            ("--controller oracle", "error: --controller: "),
            ("--encoder none", "error: invalid value 'none' for '--encoder"),
            ("--size 99999x99999", "error: --size: "),
            ("--source /none.mkv", "error: --source: "),
            ("--listen 192.0.2.1:0", "error: --listen: 192.0.2.1:0 cannot be listened at: "),
            ("--certificate /none --certificate-key /none", "error: --certificate: \"/none\": "),
            ("--settings /none", "error: --settings: \"/none\": No such file"),
            ("--certificate /none", "error: the following required arguments were not provided"),
            ("--token-file /none", "error: --token-file: \"/none\" cannot be read: "),
            ("--token a-token-of-24-characters", "error: unexpected argument '--token' found"),
        ] {
            let words =
                ["--listen=127.0.0.1:0", "--no-audio", "--duration=10ms"].map(str::to_owned);
            // The last of an option counts, so what is wrong replaces what is good.
            let (option, _) = typed.split_once(' ').expect("an option");
            let words = words.into_iter().filter(|word| !word.starts_with(option));
            let words = words.chain(typed.split(' ').map(str::to_owned)).map(OsString::from);
            let known = Controllers::standard();
            let refusal = run(Names::PROGRAMS, known, words).expect_err(typed);
            assert!(refusal.told.starts_with(told), "{typed}: {}", refusal.told);
            assert_eq!(refusal.code, super::super::FAILED, "{typed}");
        }
    }
}
