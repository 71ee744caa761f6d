//! The driver of signalling: HTTP/1.1 on a thread of its own, so that no request can hold up media.
//!
//! hyper reads the requests, because it is kept well and has the limits that a public port needs. Requests are
//! judged by [`crate::whep`]; an offer goes to the media loop as a [`SignalingRequest`] and waits for its answer.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | connections of one source | 8 | a browser opens six at most; one more closes the oldest of them |
//! | connections | 256 | from 32 sources; one more closes the oldest of all |
//! | first frame of media by TCP | 1 KiB, 5 s | a check has 150 B; a connection that begins with none is closed |
//! | connections with media that wait for the loop | 16 | as many as it takes ([`crate::links`]) |
//! | handshake of TLS | 5 s | as a header; a connection counts from its first packet on |
//! | connection takes requests | 4 s | a page asks who is there and makes its offer on the connection that it came by: two round trips less for each, three over TLS |
//! | whole connection | 10 s | handshake, bodies and answers together |
//! | waiting offers | 4 | the media loop takes them within a frame; the fifth gets 503 |
//! | token | 16 characters, 8 different | 64 bits at the least of random hexadecimal digits |
//! | body of a pairing | 64 B | a code has six |
//! | name of a controller | 64 B | the longest has seven characters |
//! | look at the list of devices | each 0.5 s | who is revoked has no stream a second later |
//! | question to a lab, answer | 16 KiB, 256 KiB, 5 s | answers to a questionnaire; the state of a path with 200 flows |
//! | wrong tokens, keys and codes | 10, then one in 10 s of a source | [`crate::guard`]; more get 429 before they are looked at |
//!
//! Media that no other way takes comes to the same port ([`crate::links`]): who has the page reaches that. The first byte tells them apart: 22
//! of TLS, a letter of HTTP, or the upper half of a length below 1024 in front of a check (RFC 4571).
//!
//! Who comes last is served, not who holds on: a client needs a connection for a moment, and whoever opens many and says
//! nothing closes his own.

mod access;
mod lab;
mod media;
mod place;
mod requests;
mod revoked;
mod servers;

pub use access::{PairingConfig, PairingNews};
pub use servers::{IceServers, TurnServer};

use crate::devices::DeviceId;
use crate::links::TcpConnection;
use crate::page::OWN;
use crate::secrets::Secrets;
use crate::tls::ServerIdentity;
use crate::whep::{self, Request, Terms, Verdict};
use access::{Access, Refused};
use gameway_serving::answers::{Answer, refuse, respond};
use gameway_serving::connections::{Connections, HEADER_TIME, Serving, accept, exchange};
use gameway_units::Duration as Span;
use http_body_util::{BodyExt, Limited};
use hyper::HeaderMap;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER, USER_AGENT,
};
use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

const CONNECTIONS: usize = 256;
const CONNECTIONS_OF_ONE: usize = 8;
const KEPT: Duration = Duration::from_secs(4);
const CONNECTION_TIME: Duration = Duration::from_secs(10);
const WAITING_OFFERS: usize = 4;
const CODE_BYTES: usize = 64;
const WAITING_CONNECTIONS: usize = 16;
/// The first byte of a connection over TLS (RFC 8446 section 5.1: handshake).
const HANDSHAKE: u8 = 22;
/// The least characters of a token, and different ones.
const TOKEN: usize = 16;
const TOKEN_DIFFERENT: usize = 8;

/// What signalling wants of the media loop.
#[derive(Debug)]
pub enum SignalingRequest {
    /// A client that is let in offers: the session before it ends when this one is connected.
    Offer {
        /// From where.
        from: SocketAddr,
        /// Where it reached this port, as the header `Host` has it: an address or a name, and the port.
        at: Option<(String, u16)>,
        /// The new session's name.
        session: String,
        /// Which device it is; none of who showed the token.
        device: Option<DeviceId>,
        /// Whether it watches beside the client that plays, and ends nobody's session.
        watches: bool,
        /// The offer.
        offer: String,
        /// Where the answer goes.
        reply: Reply,
    },
    /// Whether somebody plays, and how many may watch beside.
    Watching {
        /// Where the answer goes.
        reply: Reply<Places>,
    },
    /// Which controller the stream has, in words of the media loop; first it gets the one of this name.
    Controller {
        /// What it is to be.
        name: Option<String>,
        /// Where the answer goes: JSON.
        reply: Reply,
    },
    /// The list of devices has changed: streams of other devices are to end.
    Devices {
        /// Those that are let in.
        let_in: Vec<DeviceId>,
    },
    /// A client ends this session, if it is still the one.
    End {
        /// Its name.
        session: String,
        /// Where the answer goes.
        reply: Reply,
    },
}

/// Who is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Places {
    /// Whether somebody plays.
    pub plays: bool,
    /// How many watch.
    pub watchers: u32,
    /// How many may.
    pub max_watchers: u32,
}

/// The way back to the client that asked. Dropped unanswered, the client gets 503.
#[derive(Debug)]
pub struct Reply<T = String>(oneshot::Sender<Result<T, (u16, String)>>);

impl<T> Reply<T> {
    /// With the answer to an offer or a question, or with nothing to the end of a session.
    pub fn accept(self, answer: T) {
        // A client that has gone does not matter.
        let _ = self.0.send(Ok(answer));
    }

    /// With a reason: 400 for an offer that cannot be read, 404 for a session that is not there.
    pub fn refuse(self, status: u16, reason: String) {
        let _ = self.0.send(Err((status, reason)));
    }
}

/// How signalling is served.
#[derive(Clone)]
pub struct SignalingConfig {
    /// Where to listen (TCP).
    pub listen: SocketAddr,
    /// What a client must show; see [`check_token`].
    pub token: String,
    /// The names under which the host is reached, beside localhost and its addresses.
    pub names: Vec<String>,
    /// How new devices are paired, if they are.
    pub pairing: Option<PairingConfig>,
    /// The host's certificate: then all is HTTPS, and plain HTTP is only told so.
    pub certificate: Option<ServerIdentity>,
    /// Where a lab behind the host listens (a Unix socket, stream): what a browser that is let in asks under `/lab` is handed to it
    /// as one line of JSON, and its one line is the answer. With the key `error` it is one of status 400.
    pub lab: Option<PathBuf>,
    /// The servers that a browser that is let in is told of.
    pub servers: IceServers,
    /// Called when a request lies in the channel, for a media loop that sleeps.
    pub wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for SignalingConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SignalingConfig({})", self.listen)
    }
}

/// The running server; it stops when dropped.
#[derive(Debug)]
pub struct SignalingServer {
    serving: Serving,
    requests: Receiver<SignalingRequest>,
    connections: Receiver<TcpConnection>,
    access: Arc<Access>,
}

/// What each connection needs.
struct Shared {
    terms: Terms,
    access: Arc<Access>,
    tls: Option<TlsAcceptor>,
    lab: Option<PathBuf>,
    servers: IceServers,
    sender: SyncSender<SignalingRequest>,
    connections: SyncSender<TcpConnection>,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
    names: Mutex<Secrets>,
}

impl SignalingServer {
    /// Listens and starts its thread.
    ///
    /// # Errors
    /// If the address is taken or the token can be guessed.
    pub fn start(config: SignalingConfig) -> io::Result<Self> {
        check_token(&config.token).map_err(io::Error::other)?;
        let (sender, requests) = sync_channel(WAITING_OFFERS);
        let (connections, taken) = sync_channel(WAITING_CONNECTIONS);
        let shared = Arc::new(Shared {
            terms: Terms {
                token: config.token,
                names: config.names,
                secure: config.certificate.is_some(),
            },
            tls: config.certificate.as_ref().map(ServerIdentity::acceptor),
            access: Arc::new(Access::new(config.pairing)),
            lab: config.lab,
            servers: config.servers,
            sender,
            connections,
            wake: config.wake,
            names: Mutex::new(Secrets::from_system()),
        });
        let access = Arc::clone(&shared.access);
        let open = Connections::new(CONNECTIONS, CONNECTIONS_OF_ONE);
        let serving = Serving::start(config.listen, "signalling", move |listener| {
            let watched = Arc::clone(&shared);
            let accepting = accept(listener, open, CONNECTION_TIME, move |stream, from| {
                let shared = Arc::clone(&shared);
                async move { serve(&shared, from, stream).await }
            });
            async move {
                tokio::select! {
                    () = accepting => {}
                    () = revoked::watch(&watched) => {}
                }
            }
        })?;
        Ok(Self { serving, requests, connections: taken, access })
    }

    /// Shows the code for a new device, if devices are paired, unless one that was shown is still good.
    pub fn show_code(&self) {
        self.access.show_code();
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.serving.address()
    }

    /// The next request, if one is there.
    #[must_use]
    pub fn poll(&self) -> Option<SignalingRequest> {
        self.requests.try_recv().ok()
    }

    /// The next connection that wants to carry media, if one is there. Not taken, it ends with this server.
    #[must_use]
    pub fn poll_connection(&self) -> Option<TcpConnection> {
        self.connections.try_recv().ok()
    }
}

/// Refuses a token that can be guessed.
///
/// # Errors
/// What a token must be, if this one is not.
pub fn check_token(token: &str) -> Result<(), String> {
    let mut different = token.as_bytes().to_vec();
    different.sort_unstable();
    different.dedup();
    if token.len() >= TOKEN && different.len() >= TOKEN_DIFFERENT {
        return Ok(());
    }
    Err(format!(
        "must have {TOKEN} characters or more, {TOKEN_DIFFERENT} different ones: others guess it"
    ))
}

/// One connection, over TLS where the host has a certificate.
async fn serve(shared: &Shared, from: SocketAddr, stream: TcpStream) {
    let mut first = [0];
    let peeked = tokio::time::timeout(HEADER_TIME, stream.peek(&mut first)).await;
    if !matches!(peeked, Ok(Ok(1))) {
        return;
    }
    if media::begins_with(first[0]) {
        let _ = tokio::time::timeout(HEADER_TIME, media::take(shared, from, stream)).await;
        return;
    }
    let Some(tls) = &shared.tls else {
        return exchange(stream, Some(KEPT), |request| answer(shared, from, request, false)).await;
    };
    if first[0] != HANDSHAKE {
        return exchange(stream, Some(KEPT), |request| answer(shared, from, request, true)).await;
    }
    if let Ok(Ok(stream)) = tokio::time::timeout(HEADER_TIME, tls.accept(stream)).await {
        exchange(stream, Some(KEPT), |request| answer(shared, from, request, false)).await;
    }
}

/// Answers a request; one that came in the `clear` though it must not, with where to ask.
async fn answer(
    shared: &Shared,
    from: SocketAddr,
    request: hyper::Request<Incoming>,
    clear: bool,
) -> Answer {
    let (parts, body) = request.into_parts();
    let asked = Request {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or(""),
        authorization: text(&parts.headers, &AUTHORIZATION),
        content_type: text(&parts.headers, &CONTENT_TYPE),
        host: text(&parts.headers, &HOST),
        // One that cannot be read is not this host's.
        origin: parts.headers.get(&ORIGIN).map(|value| value.to_str().unwrap_or("")),
    };
    if clear {
        return moved(&asked, &shared.terms);
    }
    if let Some(wait) = shared.access.wait(from).filter(|_| whep::asks_for_secret(asked.path)) {
        return later(wait);
    }
    let (verdict, device) = judge(shared, &asked);
    match verdict {
        Verdict::Page => OWN.answer(text(&parts.headers, &ACCEPT_ENCODING).unwrap_or("")),
        Verdict::Pair => {
            let user_agent = text(&parts.headers, &USER_AGENT).unwrap_or("");
            pair(shared, from, user_agent, body).await
        }
        Verdict::Refuse(status, reason) => {
            if status == 401 {
                shared.access.count_wrong(from);
            }
            refuse(status, reason.to_owned())
        }
        Verdict::Offer { watches } => {
            let at = place::of(asked.host, shared.terms.secure);
            requests::offer(shared, requests::OfferOrigin { from, at, device, watches }, body).await
        }
        Verdict::Watching => requests::watching(shared).await,
        Verdict::End(session) => requests::end(shared, session.to_owned()).await,
        Verdict::Controller { change } => {
            requests::controller(shared, change.then_some(body)).await
        }
        Verdict::Lab { change } => lab::ask(shared.lab.as_deref(), change.then_some(body)).await,
    }
}

/// What to do with a request, and which device shows a key with it.
fn judge<'a>(shared: &Shared, asked: &Request<'a>) -> (Verdict<'a>, Option<DeviceId>) {
    let shown = Cell::new(None);
    let verdict = whep::judge(asked, &shared.terms, &|key| {
        shown.set(Some(DeviceId::of(key)));
        shared.access.knows(key)
    });
    (verdict, shown.into_inner())
}

impl Shared {
    /// A word that nobody can guess, for paths and attributes.
    fn word(&self) -> String {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.word_for_links::<24>()
    }
}

/// Plain HTTP on a host that speaks HTTPS.
fn moved(asked: &Request<'_>, terms: &Terms) -> Answer {
    let address = match whep::secure_address(asked, terms) {
        Ok(address) => address,
        Err((status, reason)) => return refuse(status, reason.to_owned()),
    };
    let mut response = refuse(308, format!("this host speaks HTTPS: {address}"));
    if let Ok(location) = address.parse() {
        response.headers_mut().insert("location", location);
    }
    response
}

/// Too many wrong tokens, keys or codes came.
fn later(wait: Span) -> Answer {
    let seconds = wait.as_secs_f64().ceil();
    let mut response = refuse(429, format!("too many wrong tokens or codes; wait {seconds} s"));
    if let Ok(value) = seconds.to_string().parse() {
        response.headers_mut().insert(RETRY_AFTER, value);
    }
    response
}

fn text<'a>(headers: &'a HeaderMap, name: &hyper::header::HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Gives a key to the device that shows the code; one that shows nothing wants to see one.
async fn pair(shared: &Shared, from: SocketAddr, user_agent: &str, body: Incoming) -> Answer {
    let Ok(typed) = Limited::new(body, CODE_BYTES).collect().await else {
        return refuse(413, "the code has six digits".to_owned());
    };
    match shared.access.pair(from, user_agent, &typed.to_bytes()) {
        Ok(Some(key)) => respond(201, "text/plain; charset=utf-8", key),
        Ok(None) => respond(204, "", String::new()),
        Err(Refused::Later(wait)) => later(wait),
        Err(Refused::Because(status, reason)) => refuse(status, reason),
    }
}
