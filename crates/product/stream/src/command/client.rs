//! The command of a client.

use super::settings::{self, Setting, settings};
use super::{End, Names, Refusal, exit_code, place, placed, tables};
use super::{tell, tell_refusals, tell_threads, token};
use crate::ClientConfig;
use crate::client::{self, ClientReport, SoundReport};
use clap::{Arg, Command};
use gameway_runtime::stop::Stop;
use gameway_webrtc::Fingerprint;
use std::ffi::OsString;
use std::path::Path;

const SETTINGS: &[Setting] = settings! {
    "input_interval" => "inputs",
    "codec" => "codec",
    "duration" => "duration",
};

pub(super) fn command(names: Names) -> Command {
    let program = names.client;
    let command = Command::new(program)
        .about("Receive, decode and measure a stream, without a display.")
        .after_help(format!(
            "Example: {program} \"https://192.0.2.7:8443/#...\" --duration \"30 s\" --out measured\n\
             Next: the tables in --out: when each frame was whole and decoded, what its picture says."
        ))
        .version(env!("CARGO_PKG_VERSION"));
    let link = "The host's, as it says it: https://HOST:PORT/#TOKEN.CERTIFICATE or http://HOST:PORT/#TOKEN";
    let token = "Holds the token, if LINK has none; else $GAMEWAY_TOKEN";
    let out = "Keep tables here: frames, inputs, sound";
    settings::with::<ClientConfig>(command, SETTINGS)
        .arg(Arg::new("link").value_name("LINK").required(true).help(link))
        .arg(place("token", token::OPTION, "FILE", token))
        .arg(place("out", "out", "FOLDER", out))
}

/// Receives until the end of its time, until the host ends the stream, or until it is asked to stop; `words` are the
/// arguments. Gives the exit code.
pub fn client(names: Names, words: impl IntoIterator<Item = OsString>) -> u8 {
    exit_code(run(names, words))
}

fn run(names: Names, words: impl IntoIterator<Item = OsString>) -> Result<(), Refusal> {
    let program = OsString::from(names.client);
    let matches = command(names).try_get_matches_from(std::iter::once(program).chain(words))?;
    let refused = |error| settings::as_typed(error, SETTINGS);
    let mut config = ClientConfig::read(&settings::given(&matches, SETTINGS)).map_err(refused)?;
    let link = matches.get_one::<String>("link").map_or("", String::as_str);
    (config.connect, config.token) = address(names, link, placed(&matches, "token"))?;
    let sink = tables(placed(&matches, "out"), End::Client).map_err(refused)?;
    let stop = Stop::on_signals().map_err(|error| Refusal::new(format!("signals: {error}")))?;
    let report = client::run(&config, sink, &stop, &mut |refusals| tell_refusals(&refusals));
    told(&report.map_err(refused)?, &config, names)
}

/// Where a host is, and what it asks to know.
fn address(names: Names, link: &str, file: Option<&Path>) -> Result<(String, String), Refusal> {
    let is_secure = link.starts_with("https://");
    let scheme = if is_secure { "https://" } else { "http://" };
    let rest = link.strip_prefix(scheme).unwrap_or_default();
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (at, query) = rest.split_once('?').unwrap_or((rest, ""));
    let at = at.split('/').next().unwrap_or_default();
    if at.is_empty() {
        let host = names.host;
        let why = format!("LINK: {link:?} is no host's link; give the link that `{host}` prints");
        return Err(Refusal::new(why));
    }
    if query.split('&').any(|pair| pair.starts_with("token=")) {
        let why = format!(
            "LINK: a token in the query (?token=...) stands in logs and histories; give {scheme}{at}/#TOKEN"
        );
        return Err(Refusal::new(why));
    }
    // Behind the token, the SHA-256 of the host's certificate, if no authority vouches for it.
    let certificate = fragment
        .rsplit_once('.')
        .filter(|(_, word)| is_secure && Fingerprint::parse_word(word).is_some());
    let (fragment, certificate) = match certificate {
        Some((token, word)) => (token, format!("#{word}")),
        None => (fragment, String::new()),
    };
    let token = match fragment {
        "" => token::given(file)?,
        token => Some(token.to_owned()),
    };
    let (option, variable) = (token::OPTION, token::VARIABLE);
    let missing =
        format!("LINK: {link:?} has no token; add #TOKEN, or give --{option}, or set {variable}");
    token
        .map(|token| (format!("{scheme}{at}/whep{certificate}"), token))
        .ok_or_else(|| Refusal::new(missing))
}

/// Tells what a client did.
fn told(report: &ClientReport, config: &ClientConfig, names: Names) -> Result<(), Refusal> {
    let ClientReport { decoded, given_up, stamped, .. } = report;
    tell(&format!("{decoded} frames decoded, {given_up} not; {stamped} with a stamp"));
    tell(&sound(&report.sound));
    tell_threads(&report.cpu);
    if let Some(farewell) = &report.farewell {
        tell(&format!("the host ended the stream: {farewell}"));
    }
    if decoded + given_up > 0 {
        return Ok(());
    }
    Err(Refusal::new(format!(
        "\"{}\" answered, but no packet of the stream came; its port must be open for UDP, too; or start `{} --listen \
         ADDRESS:PORT` with the address at which this machine reaches it",
        config.connect, names.host
    )))
}

fn sound(report: &SoundReport) -> String {
    let SoundReport { counts, beeps, offset, .. } = report;
    if counts.received == 0 {
        return "no sound came".to_owned();
    }
    let played = format!(
        "{} packets of sound played, {} of them of copies, {} concealed",
        counts.played, counts.repaired, counts.concealed
    );
    match offset {
        Some((_, median, _)) => {
            format!("{played}; {beeps} beeps, {:+.1} ms to the picture", median.as_millis_f64())
        }
        None => played,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_where_the_host_is_and_its_token() {
        let read =
            |link: &str| address(Names::PROGRAMS, link, None).map_err(|refusal| refusal.told);
        let expected = ("http://192.0.2.7:8443/whep".to_owned(), "a-token".to_owned());
        for link in [
            "http://192.0.2.7:8443/#a-token",
            "http://192.0.2.7:8443#a-token",
            "http://192.0.2.7:8443/whep?x=1#a-token",
        ] {
            assert_eq!(read(link), Ok(expected.clone()), "{link}");
        }
        for link in ["192.0.2.7:8443", "ftp://192.0.2.7/#a", "http://", "https://", "http:///#a"] {
            let told = read(link).expect_err(link);
            assert!(
                told.starts_with(&format!("error: LINK: {link:?} is no host's link")),
                "{told}"
            );
        }
        let print = "0123456789abcdef".repeat(4);
        for (link, connect, token) in [
            (
                format!("https://h:1/#a-token.{print}"),
                format!("https://h:1/whep#{print}"),
                "a-token",
            ),
            ("https://h:1/#a-token.x".to_owned(), "https://h:1/whep".to_owned(), "a-token.x"),
            (
                format!("http://h:1/#a-token.{print}"),
                "http://h:1/whep".to_owned(),
                &format!("a-token.{print}"),
            ),
        ] {
            assert_eq!(read(&link), Ok((connect, token.to_owned())), "{link}");
        }
        assert!(address(Names::PROGRAMS, "http://h", Some(Path::new("/none"))).is_err());
        for link in ["http://h:1/?token=a-secret", "http://h:1?x=1&token=a-secret#a-secret"] {
            let told = read(link).expect_err(link);
            assert!(
                told.ends_with("give http://h:1/#TOKEN") && !told.contains("a-secret"),
                "{told}"
            );
        }
    }

    #[test]
    fn a_slip_is_told_as_it_was_typed() {
        command(Names::PROGRAMS).debug_assert();
        let link = "http://127.0.0.1:1/#a-token-of-24-characters";
        for (typed, told) in [
            (vec![], "error: the following required arguments were not provided"),
            (vec![link, "--inputs", "5"], "error: --inputs: \"5\" has nothing as unit"),
            (vec![link, "--duration", "5x"], "error: --duration: \"5x\" has \"x\" as unit"),
            (vec![link, "--codec", "vp9"], "error: invalid value 'vp9' for '--codec"),
        ] {
            let refusal =
                run(Names::PROGRAMS, typed.iter().map(OsString::from)).expect_err("a slip");
            assert!(refusal.told.starts_with(told), "{typed:?}: {}", refusal.told);
            assert_eq!(refusal.code, super::super::FAILED);
        }
    }

    /// Nobody listens at that link: what was typed is looked at before a host is asked.
    #[cfg(feature = "tables")]
    #[test]
    fn a_folder_that_cannot_be_is_told_before_a_host_is_asked() {
        let typed = ["http://127.0.0.1:1/#a-token-of-24-characters", "--out", "/proc/none"];
        let refusal = run(Names::PROGRAMS, typed.map(OsString::from)).expect_err("no folder");
        let told = "error: --out: \"/proc/none\" cannot be made: ";
        assert!(refusal.told.starts_with(told), "{}", refusal.told);
    }
}
