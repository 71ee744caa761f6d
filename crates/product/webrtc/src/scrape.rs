//! A page of text for a monitor that asks now and then, by plain HTTP and without a token: the figures of a host, as
//! [Prometheus](https://prometheus.io/docs/instrumenting/exposition_formats/) reads them.
//!
//! It has an address of its own, so that who may ask is decided by where it listens, and its figures name no device. Pages of
//! other origins cannot read it: it answers to addresses and to localhost only (a name that an attacker's name server leads here is
//! refused), and allows no other origin.
//!
//! | bound | value | why |
//! |---|---|---|
//! | connections | 16 | a monitor needs one; the oldest closes |
//! | header, whole request | 16 KiB, 5 s | as in [`crate::http`] |

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::HOST;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const CONNECTIONS: usize = 16;
const HEADER_BYTES: usize = 16_384;
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Where a monitor asks unless it is told otherwise.
pub const PATH: &str = "/metrics";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Makes the page, each time anew.
pub type Page = Arc<dyn Fn() -> String + Send + Sync>;

/// The running server; it stops when dropped.
#[derive(Debug)]
pub struct ScrapeServer {
    address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl ScrapeServer {
    /// Listens and starts its thread.
    ///
    /// # Errors
    /// If the address is taken.
    #[expect(clippy::disallowed_methods, reason = "the driver owns its thread")]
    #[expect(clippy::disallowed_types, reason = "the driver owns its socket")]
    pub fn start(listen: SocketAddr, page: Page) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        let serve = move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(listener, page) => {}
                    () = stopped.notified() => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ScrapeServer {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, page: Page) {
    let mut open: VecDeque<tokio::task::AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: others must end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        open.retain(|task| !task.is_finished());
        if open.len() >= CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
        }
        let page = Arc::clone(&page);
        let task = tokio::spawn(async move {
            let _ = tokio::time::timeout(REQUEST_TIME, exchange(stream, &page)).await;
        });
        open.push_back(task.abort_handle());
    }
}

async fn exchange(stream: TcpStream, page: &Page) {
    let service =
        hyper::service::service_fn(
            |request| async move { Ok::<_, Infallible>(answer(&request, page)) },
        );
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(REQUEST_TIME)
        .max_buf_size(HEADER_BYTES)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

fn answer(request: &Request<Incoming>, page: &Page) -> Response<Full<Bytes>> {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(is_address) {
        return respond(StatusCode::FORBIDDEN, "ask by this machine's address\n".to_owned());
    }
    if request.uri().path() != PATH {
        return respond(StatusCode::NOT_FOUND, format!("the figures are at {PATH}\n"));
    }
    if request.method() != Method::GET {
        return respond(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
    }
    respond(StatusCode::OK, page())
}

/// Whether a browser could not have been led here by somebody's name.
fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn respond(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let kind = if status == StatusCode::OK { OPEN_METRICS } else { "text/plain; charset=utf-8" };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = [
        ("content-type", kind),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_asked() {
        for host in ["127.0.0.1", "127.0.0.1:9464", "[::1]:9464", "localhost:1", "192.0.2.7"] {
            assert!(is_address(host), "{host}");
        }
        for host in ["", "example.net", "127.0.0.1.example.net:80", "localhost.example.net", ":80"]
        {
            assert!(!is_address(host), "{host}");
        }
    }
}
