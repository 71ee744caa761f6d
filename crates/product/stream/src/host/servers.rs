//! The STUN and TURN servers that a host is told of: which addresses it asks itself, and what a browser that is let in is told.
//!
//! A host asks nobody unless it is told to. A TURN server answers the questions of a STUN server, too (RFC 8656 section 2.1 builds on
//! it), and must know the address that a host has outside, because it lets in what comes from addresses that the browser has named.

use crate::host::notes::tell;
use crate::{HostConfig, StreamError};
use gameway_webrtc::authority;
use gameway_webrtc::http::{IceServers, TurnServer};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
#[cfg(feature = "cli")]
use {
    gameway_units::Duration,
    gameway_webrtc::Secrets,
    gameway_webrtc::ice::reflexive::ReflexiveAddress,
    gameway_webrtc::socket::{MediaSocket, MonotonicClock},
    std::io,
};

/// The usual port of both (RFC 8489 section 8.1, RFC 8656 section 5).
const PORT: u16 = 3_478;
/// How long a server is asked that is only tried: two questions get lost.
#[cfg(feature = "cli")]
const PATIENCE: Duration = Duration::from_secs(3);

/// The server's name and port in `turn:HOST:PORT?transport=...`, in `HOST:PORT` or in `HOST`.
fn place(url: &str) -> Option<(String, u16)> {
    let known = ["stun:", "turn:", "turns:"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let rest = known.unwrap_or(url);
    let rest = rest.split('?').next().unwrap_or(rest);
    let (host, port) = authority::split(rest, PORT)?;
    let is_plain =
        |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'.' | b':');
    (!host.is_empty() && host.bytes().all(is_plain)).then(|| (host.to_owned(), port))
}

fn written((host, port): &(String, u16)) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The addresses of the servers that a host asks: one of each family.
pub(super) fn addresses(config: &HostConfig) -> Vec<SocketAddr> {
    let is_v6 = config.listen.0.is_ipv6();
    let servers =
        [config.stun.as_deref(), config.turn.as_deref().filter(|url| url.starts_with("turn:"))];
    let mut found: Vec<SocketAddr> = Vec::new();
    for server in servers.into_iter().flatten() {
        let Some((host, port)) = place(server) else { continue };
        match (host.as_str(), port).to_socket_addrs() {
            Ok(all) => {
                let all: Vec<SocketAddr> = all.collect();
                let v4 = all.iter().find(|at| at.is_ipv4());
                let v6 = all.iter().find(|at| at.is_ipv6()).filter(|_| is_v6);
                found.extend(v4.into_iter().chain(v6));
            }
            Err(error) => tell("a server is not asked", &format!("{server}: {error}")),
        }
    }
    found.dedup();
    found
}

/// Under which address the first server that answers sees this machine.
///
/// # Errors
/// If none answers.
#[cfg(feature = "cli")]
pub(crate) fn ask(config: &HostConfig) -> io::Result<SocketAddr> {
    let clock = MonotonicClock::starting_now();
    let any = SocketAddr::new(config.listen.0.ip(), 0);
    let mut socket = MediaSocket::bind(any, clock)?;
    let ask = |server| ReflexiveAddress::new(server, clock.now(), Secrets::from_system());
    let mut asked: Vec<ReflexiveAddress> = addresses(config).into_iter().map(ask).collect();
    let end = clock.now() + PATIENCE;
    while clock.now() < end {
        for one in &mut asked {
            if let Some(question) = one.handle_timeout(clock.now()) {
                socket.send(&question)?;
            }
        }
        let due = asked.iter().map(ReflexiveAddress::next_deadline).min();
        if socket.wait(due.unwrap_or(end).min(end))? {
            socket.receive(|got| {
                for one in &mut asked {
                    one.handle(clock.now(), got.from, got.bytes);
                }
            })?;
        }
        if let Some(seen) = asked.iter().find_map(ReflexiveAddress::found) {
            return Ok(seen);
        }
    }
    let named = [config.stun.as_deref(), config.turn.as_deref()];
    let named: Vec<&str> = named.into_iter().flatten().collect();
    Err(io::Error::other(format!("{} does not answer", named.join(", "))))
}

/// What a browser is told.
///
/// # Errors
/// If a server is named wrongly, or its credentials are missing or cannot be read.
pub(crate) fn for_browsers(config: &HostConfig) -> Result<IceServers, StreamError> {
    let wrong = |field, why: &str| StreamError::Config { field, why: why.to_owned() };
    let stun = config.stun.as_deref().map(|server| -> Result<String, StreamError> {
        let place = place(server).filter(|_| !server.starts_with("turn"));
        let place = place.ok_or_else(|| wrong("stun", &format!("{server:?} is not HOST:PORT")))?;
        Ok(format!("stun:{}", written(&place)))
    });
    let turn = config.turn.as_deref().map(|url| {
        let is_url = url.starts_with("turn:") || url.starts_with("turns:");
        let place = place(url).filter(|_| is_url);
        let place = place.ok_or_else(|| {
            wrong("turn", &format!("{url:?} is not turn:HOST:PORT or turns:HOST:PORT"))
        })?;
        let file = config.turn_credentials.as_deref().ok_or_else(|| {
            wrong(
                "turn_credentials",
                "a TURN server wants some: a file with USER:PASSWORD or a shared secret",
            )
        })?;
        turn_server(url, &place, file)
    });
    Ok(IceServers { stun: stun.transpose()?, turn: turn.transpose()? })
}

fn turn_server(url: &str, place: &(String, u16), file: &Path) -> Result<TurnServer, StreamError> {
    let why = |why: String| StreamError::Config { field: "turn_credentials", why };
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| why(format!("\"{name}\" cannot be read: {error}")))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(why(format!("\"{name}\" is empty")));
    }
    let place = written(place);
    let urls = match (url.starts_with("turns:"), url.split_once('?')) {
        (_, Some(_)) => vec![url.to_owned()],
        (true, None) => vec![format!("turns:{place}?transport=tcp")],
        (false, None) => ["udp", "tcp"].map(|by| format!("turn:{place}?transport={by}")).to_vec(),
    };
    Ok(match text.split_once(':') {
        Some((user, password)) => TurnServer::of_user(urls, user, password),
        None => TurnServer::of_secret(urls, text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(
        stun: Option<&str>,
        turn: Option<&str>,
        credentials: Option<&str>,
    ) -> Result<String, String> {
        let file = std::env::temp_dir().join(format!(
            "gameway-turn-{}-{}",
            std::process::id(),
            credentials.unwrap_or_default().len()
        ));
        if let Some(text) = credentials {
            std::fs::write(&file, text).expect("written");
        }
        let config = HostConfig {
            stun: stun.map(str::to_owned),
            turn: turn.map(str::to_owned),
            turn_credentials: credentials.map(|_| file.clone()),
            ..HostConfig::default()
        };
        let told = for_browsers(&config)
            .map(|servers| servers.told(1_000).to_string())
            .map_err(|error| error.to_string());
        let _ = std::fs::remove_file(&file);
        told
    }

    #[test]
    fn browsers_are_told_what_they_need_to_use_the_servers() {
        assert_eq!(told(None, None, None), Ok("[]".to_owned()));
        let stun = r#"[{"urls":["stun:192.0.2.1:3478"]}]"#;
        assert_eq!(told(Some("192.0.2.1"), None, None), Ok(stun.to_owned()));
        let found = told(None, Some("turn:[2001:db8::1]:5"), Some("me:pass:word\n")).expect("told");
        assert!(
            found.contains(
                r#""turn:[2001:db8::1]:5?transport=udp","turn:[2001:db8::1]:5?transport=tcp""#
            ),
            "{found}"
        );
        assert!(
            found.contains(r#""credential":"pass:word","#) && found.contains(r#""username":"me""#),
            "{found}"
        );
        let found = told(None, Some("turns:relay"), Some("secret")).expect("told");
        assert!(found.contains(r#"["turns:relay:3478?transport=tcp"]"#), "{found}");
        // The time at which it ends is its name.
        assert!(found.contains(r#""username":"87400:gameway""#), "{found}");
    }

    #[test]
    fn a_server_that_cannot_be_is_named_with_its_setting() {
        for (stun, turn, credentials, why) in [
            (Some("a b"), None, None, "stun: \"a b\" is not HOST:PORT"),
            (Some("turn:a"), None, None, "stun: \"turn:a\" is not HOST:PORT"),
            (None, Some("relay"), Some("u:p"), "turn: \"relay\" is not turn:HOST:PORT"),
            (None, Some("turn:relay:0"), Some("u:p"), "turn: \"turn:relay:0\" is not"),
            (None, Some("turn:relay"), None, "turn_credentials: a TURN server wants some"),
            (None, Some("turn:relay"), Some(" \n"), "turn_credentials: \""),
        ] {
            let error = told(stun, turn, credentials).expect_err(why);
            assert!(error.starts_with(why), "{error}");
        }
    }
}
