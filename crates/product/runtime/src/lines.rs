//! A Unix socket at which clients ask line by line and are answered line by line, in one thread that waits for all of them
//! together.
//!
//! Bounds, so that no client holds up another or the program: of clients at once, of the length of a line, of how long a client
//! may be silent, of answers that it does not read, and one request in a millisecond.

use crate::bell::Bell;
use crate::clock::{self, Clock};
use gameway_units::{Duration, Instant};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::AsFd;
use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Clients at once; for one more the one that was silent longest has to go.
const MAX_CLIENTS: usize = 16;
/// Bytes of a line; a list of a thousand capacity steps has a third of it.
const MAX_LINE: usize = 64 * 1024;
/// Bytes of answers that a client has not read; no request of its is looked at before.
const MAX_UNREAD: usize = 256 * 1024;
/// A client that says nothing for so long is left.
const SILENCE: Duration = Duration::from_secs(600);
/// How often it is looked for those.
const LOOK: Duration = Duration::from_secs(5);
/// From one request to the next.
const PAUSE: Duration = Duration::from_millis(1);

/// A socket that nobody serves yet.
#[derive(Debug)]
pub struct LineSocket {
    listener: UnixListener,
    place: PathBuf,
}

impl LineSocket {
    /// Makes it for its owner alone. One that a killed program left is replaced.
    ///
    /// # Errors
    /// If something else is at this place, a program that lives, or nothing can be made there.
    pub fn listen(place: &Path) -> io::Result<Self> {
        Ok(Self { listener: listen(place)?, place: place.to_owned() })
    }

    /// Serves it in a thread of this name: `answer` says what is answered to a line.
    ///
    /// # Errors
    /// If there is no thread, or no descriptor.
    pub fn serve(
        self,
        name: &str,
        answer: impl FnMut(&[u8]) -> String + Send + 'static,
    ) -> io::Result<LineServer> {
        let Self { listener, place } = self;
        let over = Arc::new(Bell::new()?);
        let server = Server {
            listener,
            over: Arc::clone(&over),
            clients: Vec::new(),
            clock: Clock::new(Clock::monotonic_ns()),
        };
        #[expect(clippy::disallowed_methods, reason = "a driver; clients must not hold it up")]
        let thread =
            std::thread::Builder::new().name(name.to_owned()).spawn(move || server.run(answer))?;
        Ok(LineServer { over, thread: Some(thread), place })
    }
}

fn listen(place: &Path) -> io::Result<UnixListener> {
    if let Ok(found) = std::fs::symlink_metadata(place) {
        // What a program left that was killed is nobody's.
        let is_left = found.file_type().is_socket() && UnixStream::connect(place).is_err();
        if !is_left {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "is there already"));
        }
        std::fs::remove_file(place)?;
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Before it has a name: there is no time in which others could connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(place)?)?;
    rustix::net::listen(&socket, i32::try_from(MAX_CLIENTS).unwrap_or(i32::MAX))?;
    Ok(UnixListener::from(socket))
}

/// One who is connected.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// What it said and was not answered yet.
    said: Vec<u8>,
    /// What it has not read.
    unread: Vec<u8>,
    /// When it last said something.
    heard: Instant,
    /// It says no more.
    is_silent: bool,
}

impl Client {
    /// Reads what is there; an error ends the connection.
    fn hear(&mut self, now: Instant) -> io::Result<()> {
        let mut bytes = [0; 4096];
        while self.said.len() <= MAX_LINE && !self.is_silent {
            match self.stream.read(&mut bytes) {
                Ok(0) => self.is_silent = true,
                Ok(count) => {
                    self.said.extend_from_slice(&bytes[..count]);
                    self.heard = now;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Its next line; of one that says no more, the rest is one.
    fn next_line(&mut self) -> Option<Vec<u8>> {
        if let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
            let mut line: Vec<u8> = self.said.drain(..=end).collect();
            line.pop();
            return Some(line);
        }
        let is_rest = self.is_silent && !self.said.is_empty();
        is_rest.then(|| std::mem::take(&mut self.said))
    }

    fn is_answerable(&self) -> bool {
        let has_line = self.said.contains(&b'\n') || (self.is_silent && !self.said.is_empty());
        has_line && self.unread.len() < MAX_UNREAD
    }

    /// Writes what it reads; an error ends the connection.
    fn tell(&mut self) -> io::Result<()> {
        while !self.unread.is_empty() {
            match self.stream.write(&self.unread) {
                Ok(count) => drop(self.unread.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Of a line that is too long no more is read.
    fn bound(&mut self) {
        if self.said.len() > MAX_LINE && !self.said.contains(&b'\n') {
            self.said.clear();
            self.is_silent = true;
            let told = format!("{{\"error\":\"a line has more than {MAX_LINE} bytes\"}}\n");
            self.unread.extend_from_slice(told.as_bytes());
        }
    }

    /// Whether there is nothing left to do for it.
    const fn is_done(&self) -> bool {
        self.is_silent && self.said.is_empty() && self.unread.is_empty()
    }

    fn events(&self) -> PollFlags {
        let reads = self.said.len() <= MAX_LINE && !self.is_silent;
        let reading = if reads { PollFlags::IN } else { PollFlags::empty() };
        let writing = if self.unread.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        reading | writing
    }
}

/// The socket and the thread that serves it; both are gone when this is dropped.
#[derive(Debug)]
pub struct LineServer {
    over: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
    place: PathBuf,
}

impl LineServer {
    /// Where clients connect.
    #[must_use]
    pub fn place(&self) -> &Path {
        &self.place
    }
}

impl Drop for LineServer {
    fn drop(&mut self) {
        self.over.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.place);
    }
}

#[derive(Debug)]
struct Server {
    listener: UnixListener,
    over: Arc<Bell>,
    clients: Vec<Client>,
    clock: Clock,
}

impl Server {
    fn run(mut self, mut answer: impl FnMut(&[u8]) -> String) {
        while !self.wait() {
            let now = self.clock.now();
            self.let_in(now);
            self.clients.retain_mut(|client| client.hear(now).is_ok());
            let mut answered = 0;
            for client in &mut self.clients {
                client.bound();
                if client.is_answerable()
                    && let Some(line) = client.next_line()
                {
                    client.unread.extend_from_slice(answer(&line).as_bytes());
                    client.unread.push(b'\n');
                    answered += 1;
                }
            }
            self.clients.retain_mut(|client| {
                client.tell().is_ok() && !client.is_done() && now - client.heard < SILENCE
            });
            clock::sleep(PAUSE * answered);
        }
    }

    /// Waits until something is to be done; whether it is over.
    fn wait(&self) -> bool {
        let is_due = self.clients.iter().any(Client::is_answerable);
        let max = if is_due { Duration::ZERO } else { LOOK };
        let own = [self.over.as_fd(), self.listener.as_fd()];
        let own = own.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN));
        let clients = self.clients.iter().map(|one| PollFd::new(&one.stream, one.events()));
        let mut all: Vec<PollFd<'_>> = own.into_iter().chain(clients).collect();
        // Without memory for a poll there is nothing to serve.
        clock::wait(&mut all, max).is_err() || !all[0].revents().is_empty()
    }

    fn let_in(&mut self, now: Instant) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // One that has gone, or no more descriptors: the rest is looked at later.
                Err(_) => return clock::sleep(PAUSE),
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() == MAX_CLIENTS {
                let silent = self.clients.iter().enumerate().min_by_key(|(_, one)| one.heard);
                if let Some((place, _)) = silent {
                    self.clients.remove(place);
                }
            }
            let (said, unread) = (Vec::new(), Vec::new());
            self.clients.push(Client { stream, said, unread, heard: now, is_silent: false });
        }
    }
}
