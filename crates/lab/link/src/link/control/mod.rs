//! The control of a link: a socket by which its path is changed, and told of, while packets pass.
//!
//! The thread that carries packets does no more than what was asked: a thread of its own reads what clients say, checks
//! it, reads the files that it names, and hands over a path that is ready, one at a time.

mod requests;
mod server;

pub use requests::Told;

use super::config::LinkConfig;
use gameway_experiment::RunError;
use gameway_experiment::spec::PathSpec;
use gameway_path::Link;
use gameway_units::Instant;
use requests::Requests;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use server::Server;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// What a link's thread is asked for.
#[derive(Debug)]
pub enum What {
    /// What happened so far.
    Tell,
    /// To make the path another one, with the links that differ.
    Change(Box<(PathSpec, Vec<Option<Link>>)>),
}

/// What it did.
#[derive(Debug)]
pub enum Done {
    /// What happened so far.
    Told(Told),
    /// The path is the other one since then.
    Changed(Instant),
    /// It stays as it is.
    Refused(RunError),
}

/// A request, and who waits for the answer.
#[derive(Debug)]
pub struct Asked {
    /// The request.
    pub what: What,
    /// Where its answer goes.
    pub answer: Sender<Done>,
}

/// A counter of the kernel that a thread can wait for, beside descriptors.
#[derive(Debug)]
struct Bell(OwnedFd);

impl Bell {
    fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Who hears it has ended where this fails.
    fn ring(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    fn still(&self) {
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

/// The relay's side: what is asked. The socket is gone when this is dropped.
#[derive(Debug)]
pub struct Control {
    requests: Option<Receiver<Asked>>,
    /// Something is asked.
    asked: Arc<Bell>,
    /// It is over.
    over: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
    socket: PathBuf,
}

impl Control {
    /// Makes the socket, and a thread that serves it.
    ///
    /// # Errors
    /// If the place is taken, or nothing can be made there.
    pub fn new(socket: &Path, config: &LinkConfig) -> io::Result<Self> {
        let refused = |error: io::Error| {
            let told = format!("control: \"{}\" {error}", socket.display());
            io::Error::new(error.kind(), told)
        };
        let listener = server::listen(socket).map_err(refused)?;
        let (asked, over) = (Arc::new(Bell::new()?), Arc::new(Bell::new()?));
        let (sender, requests) = channel();
        let requests_of_clients = Requests::new(&config.path, &config.folder);
        let server = Server::new(listener, requests_of_clients, Arc::clone(&over));
        let bell = Arc::clone(&asked);
        let ask = move |what| {
            let (answer, answered) = channel();
            sender.send(Asked { what, answer }).ok()?;
            bell.ring();
            answered.recv().ok()
        };
        #[expect(clippy::disallowed_methods, reason = "a driver; clients must not hold it up")]
        let thread = std::thread::Builder::new()
            .name("link-control".to_owned())
            .spawn(move || server.run(ask))?;
        let (requests, thread) = (Some(requests), Some(thread));
        Ok(Self { requests, asked, over, thread, socket: socket.to_owned() })
    }

    /// What is asked now.
    pub fn asked(&self) -> Option<Asked> {
        let asked = self.requests.as_ref()?.try_recv().ok()?;
        self.asked.still();
        Some(asked)
    }
}

impl AsFd for Control {
    /// Readable while something is asked.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.asked.0.as_fd()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // A thread that waits for an answer hears that there is none.
        drop(self.requests.take());
        self.over.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

#[cfg(test)]
mod tests;
