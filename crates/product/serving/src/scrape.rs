//! A page of text for a monitor that asks now and then, by plain HTTP and without a token: figures, as
//! [Prometheus](https://prometheus.io/docs/instrumenting/exposition_formats/) reads them.
//!
//! It has an address of its own, so that who may ask is decided by where it listens, and its figures name no device. Pages of
//! other origins cannot read it: it answers to addresses and to localhost only (a name that an attacker's name server leads here is
//! refused), and allows no other origin.
//!
//! | bound | value | why |
//! |---|---|---|
//! | connections | 16 | a monitor needs one; the oldest closes |
//! | whole request | 5 s | its answer is made in milliseconds |

use crate::answers::{Answer, refuse, respond};
use crate::connections::{Connections, Serving, accept, exchange};
use crate::host::is_served;
use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::{Method, Request};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

const CONNECTIONS: usize = 16;
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Where a monitor asks unless it is told otherwise.
pub const PATH: &str = "/metrics";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Makes the page, each time anew.
pub type Page = Arc<dyn Fn() -> String + Send + Sync>;

/// The running server; it stops when dropped.
#[derive(Debug)]
pub struct ScrapeServer(Serving);

impl ScrapeServer {
    /// Listens and starts its thread.
    ///
    /// # Errors
    /// If the address is taken.
    pub fn start(listen: SocketAddr, page: Page) -> io::Result<Self> {
        let connections = Connections::new(CONNECTIONS, CONNECTIONS);
        let serving = Serving::start(listen, "metrics", move |listener| {
            accept(listener, connections, REQUEST_TIME, move |stream, _| {
                let page = Arc::clone(&page);
                async move {
                    exchange(stream, None, |request| std::future::ready(answer(&request, &page)))
                        .await;
                }
            })
        });
        serving.map(Self)
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

fn answer(request: &Request<Incoming>, page: &Page) -> Answer {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| is_served(host, &[])) {
        return refuse(403, "ask by this machine's address".to_owned());
    }
    if request.uri().path() != PATH {
        return refuse(404, format!("the figures are at {PATH}"));
    }
    if request.method() != Method::GET {
        return refuse(405, "only GET".to_owned());
    }
    figures(page())
}

/// Figures as an answer.
#[must_use]
pub fn figures(text: String) -> Answer {
    respond(200, OPEN_METRICS, text)
}
