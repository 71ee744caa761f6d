//! The control of a link: a socket by which its path is changed, and told of, while packets pass.
//!
//! The thread that carries packets does no more than what was asked: a thread of its own reads what clients say, checks
//! it, reads the files that it names, and hands over a path that is ready, one at a time.

mod requests;

pub use requests::Status;

use super::config::LinkConfig;
use super::packet::LinkRegistry;
use gameway_experiment::RunError;
use gameway_experiment::spec::PathSpec;
use gameway_path::Link;
use gameway_runtime::bell::Bell;
use gameway_runtime::lines::{LineServer, LineSocket};
use gameway_units::Instant;
use requests::Requests;
use rustix::fd::{AsFd, BorrowedFd};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What a link's thread is asked for.
#[derive(Debug)]
pub enum Request {
    /// What happened so far.
    Status,
    /// To make the path another one, with the links that differ.
    Change(Box<(PathSpec, Vec<Option<Link>>)>),
}

/// What it did.
#[derive(Debug)]
pub enum Response {
    /// What happened so far.
    Status(Status),
    /// The path is the other one since then.
    Changed(Instant),
    /// It stays as it is.
    Refused(RunError),
}

/// A request, and who waits for the answer.
#[derive(Debug)]
pub struct PendingRequest {
    /// The request.
    pub what: Request,
    /// Where its answer goes.
    pub answer: Sender<Response>,
}

/// The relay's side: what is asked. The socket is gone when this is dropped.
#[derive(Debug)]
pub struct Control {
    // Before the server: a thread that waits for an answer hears that there is none.
    requests: Receiver<PendingRequest>,
    /// Something is asked.
    asked: Arc<Bell>,
    /// Serves until it is dropped.
    _server: LineServer,
}

impl Control {
    /// Makes the socket, and a thread that serves it.
    ///
    /// # Errors
    /// If the place is taken, or nothing can be made there.
    pub fn new(
        socket: &Path,
        config: &LinkConfig,
        registry: Arc<LinkRegistry>,
    ) -> io::Result<Self> {
        let refused = |error: io::Error| {
            let told = format!("control: \"{}\" {error}", socket.display());
            io::Error::new(error.kind(), told)
        };
        let asked = Arc::new(Bell::new()?);
        let (sender, requests) = channel();
        let bell = Arc::clone(&asked);
        let mut ask = move |what| {
            let (answer, answered) = channel();
            sender.send(PendingRequest { what, answer }).ok()?;
            bell.ring();
            answered.recv().ok()
        };
        let socket = LineSocket::listen(socket).map_err(refused)?;
        let mut of_clients = Requests::new(&config.path, &config.folder, registry);
        let answer = move |line: &[u8]| of_clients.answer(line, &mut ask).to_string();
        let server = socket.serve("link-control", answer)?;
        Ok(Self { requests, asked, _server: server })
    }

    /// What is asked now.
    pub fn asked(&self) -> Option<PendingRequest> {
        let asked = self.requests.try_recv().ok()?;
        self.asked.still();
        Some(asked)
    }
}

impl AsFd for Control {
    /// Readable while something is asked.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.asked.as_fd()
    }
}

#[cfg(test)]
mod tests;
