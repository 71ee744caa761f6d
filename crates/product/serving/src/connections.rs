//! A thread that serves connections of TCP, each with one request of HTTP or as many as come soon; who comes last is served, not who holds on.
//!
//! | bound | value | why |
//! |---|---|---|
//! | header | 16 KiB, 5 s | browsers send 1 KiB at once; slow ones are cut off |
//!
//! What is written leaves at once (`TCP_NODELAY`): else the end of an answer would wait until the client has acknowledged what came
//! before it, such as the tickets of TLS, which takes a round trip (RFC 9293 section 3.7.4, Nagle).

use crate::Source;
use crate::answers::Answer;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

const HEADER_BYTES: usize = 16_384;
/// Within which a header must have come.
pub const HEADER_TIME: Duration = Duration::from_secs(5);

/// The running thread; it stops when this is dropped.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// Listens and starts a thread of this name, which serves what comes.
    ///
    /// # Errors
    /// If the address is taken.
    #[expect(clippy::disallowed_methods, reason = "the driver owns its thread")]
    #[expect(clippy::disallowed_types, reason = "the driver owns its socket")]
    pub fn start<S: Future<Output = ()>>(
        listen: SocketAddr,
        name: &str,
        serve: impl FnOnce(TcpListener) -> S + Send + 'static,
    ) -> io::Result<Self> {
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
                    () = serve(listener) => {}
                    () = stopped.notified() => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(serve)?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The connections that are open, the oldest first.
#[derive(Debug)]
pub struct Connections {
    open: VecDeque<(Source, AbortHandle)>,
    max: usize,
    max_of_one: usize,
}

impl Connections {
    /// So many at most, and of one source.
    #[must_use]
    pub const fn new(max: usize, max_of_one: usize) -> Self {
        Self { open: VecDeque::new(), max, max_of_one }
    }

    /// Room for one more of this source: where there is none, the oldest closes.
    fn make_room(&mut self, source: Source) {
        self.open.retain(|(_, task)| !task.is_finished());
        let own = |(other, _): &(Source, AbortHandle)| *other == source;
        let oldest = if self.open.iter().filter(|one| own(one)).count() >= self.max_of_one {
            self.open.iter().position(own)
        } else {
            (self.open.len() >= self.max).then_some(0)
        };
        if let Some((_, task)) = oldest.and_then(|place| self.open.remove(place)) {
            task.abort();
        }
    }
}

/// Serves each connection for this time at most.
pub async fn accept<S: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    mut connections: Connections,
    time: Duration,
    serve: impl Fn(TcpStream, SocketAddr) -> S,
) {
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Out of descriptors: others must end first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Where it is refused, answers are late and no worse.
        let _ = stream.set_nodelay(true);
        let source = Source::of(from.ip());
        connections.make_room(source);
        let task = tokio::spawn(tokio::time::timeout(time, serve(stream, from)));
        connections.open.push_back((source, task.abort_handle()));
    }
}

/// Answers the requests of a connection: those that begin while it is `kept` open, or one if it is not. Who is refused is not kept.
pub async fn exchange<A: Future<Output = Answer>>(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    kept: Option<Duration>,
    answer: impl Fn(Request<Incoming>) -> A,
) {
    let answer = &answer;
    let service = hyper::service::service_fn(|request| async move {
        let mut response = answer(request).await;
        if response.status().is_client_error() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Ok::<_, Infallible>(response)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES)
        .keep_alive(kept.is_some())
        // Who has asked may close that way at once, and is answered all the same.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    if let Some(kept) = kept {
        tokio::select! {
            _ = &mut connection => return,
            () = tokio::time::sleep(kept) => connection.as_mut().graceful_shutdown(),
        }
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use super::exchange;
    use crate::answers::respond;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    /// The answer to a request after which its way is closed before there is an answer.
    async fn answer_behind_the_end() -> String {
        let (mut client, server) = duplex(1_000);
        client.write_all(b"GET / HTTP/1.1\r\nHost: home\r\n\r\n").await.expect("there is room");
        client.shutdown().await.expect("it closes");
        let slowly = |_| async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            respond(200, "text/plain", "all of it".to_owned())
        };
        exchange(server, Some(Duration::from_secs(5)), slowly).await;
        let mut told = String::new();
        client.read_to_string(&mut told).await.expect("it is text");
        told
    }

    #[test]
    fn who_says_no_more_is_answered() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let told = runtime.expect("a runtime").block_on(answer_behind_the_end());
        assert!(told.starts_with("HTTP/1.1 200 ") && told.ends_with("all of it"), "{told:?}");
    }
}
