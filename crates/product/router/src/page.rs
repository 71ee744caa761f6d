//! What is so, for browsers and monitors of the home, by plain HTTP: it is read, and nothing is done by it.
//!
//! | path | answer |
//! |---|---|
//! | `/` | a page that shows the others |
//! | `/status.json` | what `status --json` prints |
//! | `/history.json` | the last minutes ([`crate::history`]); with `?since=SECONDS` what came after that time since the start |
//! | `/names.json` | what devices are called, by address ([`crate::leases`]) |
//! | `/metrics` | figures for a monitor ([`crate::metrics`]) |
//!
//! Who is answered: connections come to an address of the home's own interface, from an address of that interface's networks or from the router itself. A
//! network of link-local addresses (RFC 4291 section 2.5.6) does not count, since neighbours outside have such addresses, too. The
//! request names an address of the home's interface or one of the `names`, so that no page from elsewhere reads it by a name that
//! leads here (DNS rebinding). Other origins are allowed nothing.
//!
//! | bound | value | why |
//! |---|---|---|
//! | connections | 64, of one source 8 | a browser opens six at most; one more closes the oldest |
//! | connection takes requests | 4 s, 16 of them | a page asks once a second |
//! | whole connection | 10 s | as the host's ([`gameway_serving`]) |
//! | nice | 10 | who asks does not hold up who steers |

use crate::board::Board;
use crate::config::StatusConfig;
use crate::leases;
use crate::metrics;
use crate::netlink;
use gameway_serving::answers::{Answer, refuse, respond};
use gameway_serving::connections::{Connections, Serving, accept, exchange};
use gameway_serving::host::{address_of, is_among};
use gameway_serving::page::Page;
use gameway_serving::scrape;
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, HOST, HeaderName};
use hyper::{Method, Request};
use ipnet::IpNet;
use rustix::process::setpriority_process;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

const CONNECTIONS: usize = 64;
const CONNECTIONS_OF_ONE: usize = 8;
const KEPT: Duration = Duration::from_secs(4);
const REQUESTS: u32 = 16;
const CONNECTION_TIME: Duration = Duration::from_secs(10);
const NICE: i32 = 10;

const DOCUMENT: &str = include_str!("page.html");
/// It talks to this gateway alone.
static PAGE: LazyLock<Page> = LazyLock::new(|| Page::new(DOCUMENT, "; connect-src 'self'"));

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The address is another interface's, or nobody's.
    #[error("status.listen: {listen} is no address of {home}, the home's interface; {}", told(.own, .listen.port()))]
    Elsewhere {
        /// Where it should listen.
        listen: SocketAddr,
        /// The interface.
        home: String,
        /// The addresses that it has.
        own: Vec<IpAddr>,
    },
    /// Somebody else listens there, or the kernel gives no socket.
    #[error("status.listen: {listen}: {why}; name another port")]
    Refused {
        /// Where it should listen.
        listen: SocketAddr,
        /// What the kernel said.
        why: io::Error,
    },
    /// The kernel does not tell its addresses.
    #[error("status.listen: the addresses of {home} cannot be read: {why}")]
    Unknown {
        /// The interface.
        home: String,
        /// What the kernel said.
        why: io::Error,
    },
}

fn told(own: &[IpAddr], port: u16) -> String {
    let own: Vec<_> = own.iter().map(|one| SocketAddr::new(*one, port).to_string()).collect();
    match &own[..] {
        [] => "it has none yet; `ip address` lists them".to_owned(),
        [one] => format!("it has {one}"),
        several => format!("it has {}", several.join(", ")),
    }
}

/// The networks of an interface that lie at home, each with the interface's own address.
fn networks(home: &str) -> io::Result<Vec<IpNet>> {
    let mut all = netlink::addresses_of(home)?;
    all.retain(|one| match one.addr() {
        IpAddr::V4(address) => !address.is_link_local(),
        IpAddr::V6(address) => !address.is_unicast_link_local(),
    });
    Ok(all)
}

/// The running server; it stops when dropped.
#[derive(Debug)]
pub struct PageServer(Serving);

impl PageServer {
    /// Listens where the configuration says, and starts its thread.
    ///
    /// # Errors
    /// If the address is not the home's, or taken.
    pub fn start(
        listen: SocketAddr,
        config: &StatusConfig,
        home: &str,
        board: Board,
    ) -> Result<Self, PageError> {
        let unknown = |why| PageError::Unknown { home: home.to_owned(), why };
        let own: Vec<_> = networks(home).map_err(unknown)?.iter().map(IpNet::addr).collect();
        if !own.contains(&listen.ip()) {
            return Err(PageError::Elsewhere { listen, home: home.to_owned(), own });
        }
        let config = config.clone();
        let site = Arc::new(Site { home: home.to_owned(), config, board });
        let connections = Connections::new(CONNECTIONS, CONNECTIONS_OF_ONE);
        let serving = Serving::start(listen, "status", move |listener| {
            // Where it is refused, who asks costs as much as who steers.
            let _ = setpriority_process(None, NICE);
            accept(listener, connections, CONNECTION_TIME, move |stream, from| {
                let site = Arc::clone(&site);
                async move {
                    let asked = AtomicU32::new(0);
                    let answer = |request: Request<Incoming>| {
                        let count = asked.fetch_add(1, Ordering::Relaxed);
                        std::future::ready(site.answer(from.ip(), count, &request))
                    };
                    exchange(stream, Some(KEPT), answer).await;
                }
            })
        });
        let serving = serving.map_err(|why| PageError::Refused { listen, why })?;
        Ok(Self(serving))
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// Why somebody is not answered.
type Refusal = (u16, &'static str);

#[derive(Debug)]
pub(crate) struct Site {
    home: String,
    config: StatusConfig,
    board: Board,
}

impl Site {
    /// Of a gateway that has not begun, at the loopback.
    pub(crate) fn of_lo(config: StatusConfig) -> Self {
        Self { home: "lo".to_owned(), config, board: Board::default() }
    }

    pub(crate) fn answer(&self, from: IpAddr, count: u32, request: &Request<Incoming>) -> Answer {
        let text = |name: HeaderName| request.headers().get(name).and_then(|it| it.to_str().ok());
        let networks = networks(&self.home).unwrap_or_default();
        let asked = may_ask(&networks, &self.config.names, from, text(HOST))
            .and_then(|()| is_a_look(request.method(), count));
        if let Err((status, why)) = asked {
            return refuse(status, why.to_owned());
        }
        match request.uri().path() {
            "/" => PAGE.answer(text(ACCEPT_ENCODING).unwrap_or("")),
            "/status.json" => self.now(|status| json(&status)),
            "/names.json" => json(&self.names()),
            "/history.json" => self.history(request.uri().query()),
            scrape::PATH => self.now(|status| scrape::figures(metrics::figures(&status))),
            _ => refuse(
                404,
                "there are /, /status.json, /history.json, /names.json and /metrics".to_owned(),
            ),
        }
    }

    fn names(&self) -> BTreeMap<IpAddr, String> {
        self.config.leases.as_deref().map(leases::names).unwrap_or_default()
    }

    fn history(&self, query: Option<&str>) -> Answer {
        let Some(query) = query else { return json(&self.board.history()) };
        let since = query.strip_prefix("since=").and_then(|value| value.parse::<f64>().ok());
        match since.filter(|since| since.is_finite()) {
            Some(since) => json(&self.board.history().since(since)),
            None => refuse(400, "since is a number of seconds since the start".to_owned()),
        }
    }

    fn now(&self, answer: impl FnOnce(crate::status::Status) -> Answer) -> Answer {
        match self.board.status() {
            Some(status) => answer(status),
            None => refuse(503, "the gateway has not begun yet".to_owned()),
        }
    }
}

/// Whether who asks is at home, and came by an address or a name of the home.
fn may_ask(
    networks: &[IpNet],
    names: &[String],
    from: IpAddr,
    host: Option<&str>,
) -> Result<(), Refusal> {
    let from = from.to_canonical();
    if !from.is_loopback() && !networks.iter().any(|network| network.contains(&from)) {
        return Err((403, "this page is for the home"));
    }
    let is_own = |host: &str| {
        let address = address_of(host).map(|address| address.to_canonical());
        address.is_some_and(|address| networks.iter().any(|one| one.addr() == address))
    };
    match host {
        Some(host) if is_own(host) || is_among(host, names) => Ok(()),
        _ => Err((
            403,
            "ask by the address at which the gateway listens, or give the name of this request to status.names",
        )),
    }
}

fn is_a_look(method: &Method, count: u32) -> Result<(), Refusal> {
    if method != Method::GET {
        return Err((405, "only GET: nothing is done here"));
    }
    if count >= REQUESTS {
        return Err((429, "too many requests of one connection"));
    }
    Ok(())
}

fn json(value: &impl Serialize) -> Answer {
    respond(200, "application/json", serde_json::to_string(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::status::Status;
    use crate::status::tests::status;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;
    use serde_json::{Value, json};
    use std::io::{Read, Write};

    fn at_home() -> Vec<IpNet> {
        ["192.168.1.1/24", "fd00:1::1/64"].map(|one| one.parse().expect("a network")).to_vec()
    }

    fn asked(from: &str, host: &str) -> Option<u16> {
        let names = ["router.lan".to_owned()];
        let from = from.parse().expect("an address");
        may_ask(&at_home(), &names, from, Some(host)).err().map(|(status, _)| status)
    }

    #[test]
    fn it_is_one_document_with_the_licences_of_what_it_contains() {
        gameway_serving::page::check(
            DOCUMENT,
            &["preact", "Jason Miller", "uplot", "Leon Sorokin"],
        );
    }

    #[test]
    fn who_is_at_home_and_asks_by_the_homes_address_or_name_is_answered() {
        for from in ["192.168.1.20", "::ffff:192.168.1.20", "192.168.1.1", "fd00:1::2", "127.0.0.1"]
        {
            for host in ["192.168.1.1:9443", "[fd00:1::1]:9443", "router.lan", "Router.LAN:9443"] {
                assert_eq!(asked(from, host), None, "{from} {host}");
            }
        }
        for from in ["203.0.113.9", "192.168.2.20", "fd00:2::2", "fe80::1"] {
            assert_eq!(asked(from, "192.168.1.1:9443"), Some(403), "{from}");
        }
        let elsewhere = [
            "",
            "example.net",
            "127.0.0.1",
            "localhost",
            "192.168.1.20",
            "192.168.1.1.example.net",
        ];
        for host in elsewhere {
            assert_eq!(asked("192.168.1.20", host), Some(403), "{host}");
        }
        let (home, from) = (at_home(), at_home()[0].addr());
        assert!(may_ask(&home, &[], from, None).is_err());
    }

    #[test]
    fn looks_are_counted_and_nothing_else_is_one() {
        assert_eq!(is_a_look(&Method::GET, REQUESTS - 1), Ok(()));
        assert!(is_a_look(&Method::GET, REQUESTS).is_err_and(|(status, _)| status == 429));
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS] {
            assert!(is_a_look(&method, 0).is_err_and(|(status, _)| status == 405), "{method}");
        }
    }

    #[test]
    fn an_address_of_another_interface_is_refused_with_those_that_the_home_has() {
        let start = |listen: &str| {
            let listen = listen.parse().expect("an address");
            PageServer::start(listen, &StatusConfig::default(), "lo", Board::default())
        };
        let refused = start("192.0.2.1:0").expect_err("it is not there").to_string();
        assert!(
            refused.starts_with("status.listen: 192.0.2.1:0 is no address of lo, the home's interface; it has 127.0.0.1:0"),
            "{refused}"
        );
        assert!(start("0.0.0.0:0").is_err(), "everywhere is not the home");
        let first = start("127.0.0.1:0").expect("it listens");
        let taken = start(&first.address().to_string()).expect_err("it is taken").to_string();
        assert!(taken.contains("name another port"), "{taken}");
    }

    /// What the server answers to these bytes, after which nothing more is said.
    #[expect(clippy::disallowed_types, reason = "the other side")]
    fn said(server: &PageServer, bytes: &[u8]) -> String {
        let mut stream = std::net::TcpStream::connect(server.address()).expect("it listens");
        let patience = Some(Duration::from_secs(20));
        stream.set_read_timeout(patience).expect("a time");
        // It may have hung up by then, at the first wrong byte.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn server() -> (PageServer, Board) {
        let listen = "127.0.0.1:0".parse().expect("an address");
        let board = Board::default();
        let server = PageServer::start(listen, &StatusConfig::default(), "lo", board.clone());
        (server.expect("it listens"), board)
    }

    fn get(path: &str) -> Vec<u8> {
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").into_bytes()
    }

    #[test]
    fn what_is_so_is_read_and_nothing_else() {
        let (server, board) = server();
        assert!(said(&server, &get("/status.json")).starts_with("HTTP/1.1 503 "));
        board.put(&status());
        let told = said(&server, &get("/status.json"));
        let (_, body) = told.split_once("\r\n\r\n").expect("a body");
        assert_eq!(serde_json::from_str::<Status>(body).expect("a status"), status());
        for path in ["/", "/history.json", "/history.json?since=12.5", "/names.json", "/metrics"] {
            assert!(said(&server, &get(path)).starts_with("HTTP/1.1 200 "), "{path}");
        }
        for path in ["/history.json?since=", "/history.json?since=inf", "/history.json?x=1"] {
            assert!(said(&server, &get(path)).starts_with("HTTP/1.1 400 "), "{path}");
        }
        assert!(said(&server, &get("/stop")).starts_with("HTTP/1.1 404 "));
        let page = said(&server, &get("/")).to_lowercase();
        assert!(page.contains("content-security-policy: default-src 'none'; script-src 'sha256-"));
        assert!(!page.contains("unsafe-inline") && !page.contains("access-control-"));
    }

    #[test]
    fn what_it_tells_is_what_the_page_reads() {
        let (mut history, status) = (History::default(), status());
        history.take(&status);
        let told = json!({ "status": status, "history": history });
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page.json");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(place, format!("{told:#}\n")).expect("a place");
        }
        let known = std::fs::read_to_string(place).expect("a file");
        let known = serde_json::from_str::<Value>(&known).expect("JSON");
        assert_eq!(known, told, "UPDATE_GOLDEN=1 writes it anew: the page reads what it has");
    }

    #[test]
    fn any_bytes_are_answered_with_a_refusal_and_others_are_served_after_them() {
        let (server, board) = server();
        board.put(&status());
        let words = prop::sample::select(vec![
            "GET ",
            "POST ",
            "/ ",
            "/status.json ",
            "HTTP/1.1\r\n",
            "Host: ",
            "127.0.0.1\r\n",
            "\r\n",
            "Content-Length: 9999999999\r\n",
            "Transfer-Encoding: chunked\r\n",
            "ffffffff\r\n",
            ": ",
        ]);
        let piece = prop_oneof![
            words.prop_map(|word| word.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..20),
        ];
        let mut runner = TestRunner::deterministic();
        let done = runner.run(&prop::collection::vec(piece, 0..12), |pieces| {
            let bytes = pieces.concat();
            let answer = said(&server, &bytes);
            let is_asked = bytes.starts_with(b"GET /");
            prop_assert!(
                answer.is_empty() || is_asked || answer.starts_with("HTTP/1.1 4"),
                "{answer}"
            );
            Ok(())
        });
        done.expect("no bytes are more");
        assert!(said(&server, &get("/status.json")).starts_with("HTTP/1.1 200 "));
    }

    proptest! {
        #[test]
        fn whoever_says_anything_is_let_in_by_address_or_name_alone(host in ".{0,30}", from: u32) {
            let from = IpAddr::from(from.to_be_bytes());
            if may_ask(&at_home(), &[], from, Some(&host)).is_ok() {
                prop_assert!(host.contains("192.168.1.1") || host.contains("fd00:1::1"));
                prop_assert!(at_home()[0].contains(&from));
            }
        }
    }
}
