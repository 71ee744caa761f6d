//! The native client's half of signalling, a driver: posts the offer, ends the session. It blocks for as long as the
//! host takes, ten seconds at most.

use crate::identity::Fingerprint;
use crate::tls::connector;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

const PATIENCE: Duration = Duration::from_secs(10);

/// What the host answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhepSession {
    /// The answer, for [`crate::Peer::accept_answer`].
    pub answer: String,
    /// Where the session ends by DELETE.
    pub location: String,
}

/// Posts an offer to `url`: `http://HOST:PORT/whep`, or `https://HOST:PORT/whep#FINGERPRINT` with the SHA-256 of the only
/// certificate that is taken, or without one if an authority that the system trusts vouches for the host.
///
/// # Errors
/// If the URL is no such, the host is not there, or it refuses; the message has its reason.
pub fn post_offer(url: &str, token: &str, offer: &str) -> io::Result<WhepSession> {
    let Answer { status, location, body, name, peer } = exchange(&Method::POST, url, token, offer)?;
    if status != 201 {
        return Err(io::Error::other(format!("{url}: {status}: {}", body.trim())));
    }
    let location = location.ok_or_else(|| io::Error::other(format!("{url}: no Location")))?;
    let answer = with_address(&body, &name, peer.ip());
    Ok(WhepSession { answer, location: resolve(url, &location) })
}

/// A candidate by TCP has the name by which the host was asked (RFC 8839 section 5.1 allows one): its address is where that led to.
fn with_address(answer: &str, name: &str, ip: IpAddr) -> String {
    let (name, ip) = (format!(" {name} "), format!(" {ip} "));
    let lines = answer.split_inclusive('\n').map(|line| match line.starts_with("a=candidate:") {
        true => line.replacen(&name, &ip, 1),
        false => line.to_owned(),
    });
    lines.collect()
}

/// Ends a session by its location.
///
/// # Errors
/// As [`post_offer`]; 404 if another client has taken over.
pub fn end_session(location: &str, token: &str) -> io::Result<()> {
    let Answer { status, body, .. } = exchange(&Method::DELETE, location, token, "")?;
    if status == 200 {
        return Ok(());
    }
    Err(io::Error::other(format!("{location}: {status}: {}", body.trim())))
}

/// A location is a whole URL or a path on the same host, which has the same certificate.
fn resolve(url: &str, location: &str) -> String {
    let base = url.split('/').take(3).collect::<Vec<_>>().join("/");
    let certificate = url.find('#').map_or("", |place| &url[place..]);
    if location.starts_with('/') { base + location + certificate } else { location.to_owned() }
}

struct Answer {
    status: u16,
    location: Option<String>,
    body: String,
    /// As which the host was asked.
    name: String,
    /// Where that is.
    peer: SocketAddr,
}

fn exchange(method: &Method, url: &str, token: &str, body: &str) -> io::Result<Answer> {
    let (bare, certificate) = url.split_once('#').unwrap_or((url, ""));
    let uri: Uri = bare.parse().map_err(|error| io::Error::other(format!("{url}: {error}")))?;
    let pinned = Fingerprint::parse_word(certificate);
    let tls = match uri.scheme_str() {
        Some("http") if certificate.is_empty() => None,
        Some("https") if pinned.is_some() || certificate.is_empty() => Some(connector(pinned)?),
        _ => {
            let why =
                "must be http://HOST:PORT/whep, or https:// and a certificate's 64 digits behind #";
            return Err(io::Error::other(format!("{url}: {why}")));
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{url}: {error}"));
    runtime.block_on(async {
        let exchange = tokio::time::timeout(PATIENCE, send(method, &uri, tls, token, body));
        let late = |_| Err(io::Error::other("no answer within 10 s"));
        exchange.await.unwrap_or_else(late).map_err(named)
    })
}

async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await.and_then(refuse_itself);
    stream.map_err(|error| {
        let hint = "is `gameway host` running there, and its port open?";
        io::Error::new(error.kind(), format!("{error}; {hint}"))
    })
}

/// A connection to a port of this machine that nobody listens on may be given that very port for its own. It then
/// meets itself (RFC 9293 section 3.5, simultaneous open), and what it says comes back.
fn refuse_itself(stream: TcpStream) -> io::Result<TcpStream> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

async fn send(
    method: &Method,
    uri: &Uri,
    tls: Option<TlsConnector>,
    token: &str,
    body: &str,
) -> io::Result<Answer> {
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
    let stream = connect(host, port).await?;
    let peer = stream.peer_addr()?;
    let (status, location, body) = match tls {
        None => talk(stream, method, uri, token, body).await?,
        Some(tls) => {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            talk(tls.connect(name, stream).await?, method, uri, token, body).await?
        }
    };
    Ok(Answer { status, location, body, name: host.to_owned(), peer })
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    method: &Method,
    uri: &Uri,
    token: &str,
    body: &str,
) -> io::Result<(u16, Option<String>, String)> {
    let host = uri.host().unwrap_or_default();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    let driver = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |it| it.as_str());
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, uri.authority().map_or(host, |it| it.as_str()))
        .header(AUTHORIZATION, format!("Bearer {token}"))
        .header(CONTENT_TYPE, "application/sdp")
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .map_err(io::Error::other)?;
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    let status = response.status().as_u16();
    let location = response.headers().get(LOCATION).and_then(|it| it.to_str().ok());
    let location = location.map(str::to_owned);
    let limited = Limited::new(response.into_body(), crate::whep::MAX_BODY);
    let bytes = limited.collect().await.map_err(io::Error::other)?.to_bytes();
    driver.abort();
    Ok((status, location, String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::{TcpListener, TcpSocket};

    #[test]
    fn a_name_by_which_the_host_was_asked_becomes_its_address() {
        let answer = "v=0\r\na=candidate:1 1 udp 9 192.0.2.1 5 typ host\r\n\
            a=candidate:2 1 tcp 1 den.lan 8443 typ host tcptype passive\r\na=x den.lan\r\n";
        let found = with_address(answer, "den.lan", [192, 0, 2, 7].into());
        assert_eq!(found, answer.replace("1 den.lan 8443", "1 192.0.2.7 8443"));
        assert_eq!(with_address(answer, "other", [192, 0, 2, 7].into()), answer);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_connection_that_met_itself_is_refused() {
        let socket = TcpSocket::new_v4().expect("socket");
        socket.bind("127.0.0.1:0".parse().expect("address")).expect("bind");
        let own = socket.local_addr().expect("address");
        let itself = socket.connect(own).await.expect("simultaneous open");
        let refused = refuse_itself(itself).expect_err("nobody else is there");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_connection_to_somebody_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let address = listener.local_addr().expect("address");
        let stream = TcpStream::connect(address).await.expect("somebody listens");
        refuse_itself(stream).expect("another end");
    }
}
