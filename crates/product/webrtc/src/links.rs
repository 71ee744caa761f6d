//! Connections by which a client reaches the host where UDP does not (RFC 6544), a driver: what UDP's socket is, for them. The host
//! takes them in ([`TcpLinks::add`]), our client opens them ([`TcpLinks::reach`]).
//!
//! A connection carries datagrams in frames ([`crate::framing`]). What the kernel does not take at once is lost, as a packet is that
//! overflows a queue: kept would be only the rest of a frame that was begun. The kernel takes no more than [`UNSENT`] beyond what TCP
//! itself has let go (TCP_NOTSENT_LOWAT), so what waits here is bounded in time, and the session's loss handling does the rest.
//! TCP hides the loss of the path and delivers late instead: the controller sees that delay, as it sees a queue's.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | unsent | 48 KiB | 20 ms at 20 Mb/s and 80 ms at 5 Mb/s wait in the host; a frame of 720p at 20 Mb/s has 42 kB |
//! | connections | 16 | a browser opens one from each of its addresses, and there are two sessions at most |
//! | of one source that have not proven themselves | 8 | as many as signalling lets it have |
//! | time to prove itself | 5 s | the first frame is a check, whose password is the session's |
//! | read in one turn | 64 KiB of each | a client sends reports and inputs, 100 kb/s; a flood holds up nothing else |

use crate::framing::{Frames, framed};
use crate::socket::{MonotonicClock, Received};
use crate::transmit::{Remote, Transmit, Transport};
use gameway_serving::Source;
use gameway_units::{Duration, Ecn, Instant};
use rustix::event::{PollFd, PollFlags};
use std::io::{self, Read, Write};
use std::net::SocketAddr;

const UNSENT: u32 = 48 << 10;
const CONNECTIONS: usize = 16;
const UNPROVEN_OF_ONE: usize = 8;
const TIME_TO_PROVE: Duration = Duration::from_secs(5);
const READ: usize = 16 << 10;
const TURN_READS: usize = 4;

/// A connection whose first frame was a check.
#[derive(Debug)]
pub struct TcpConnection {
    #[expect(clippy::disallowed_types, reason = "a driver's socket on its way to another driver")]
    pub(crate) stream: std::net::TcpStream,
    pub(crate) from: SocketAddr,
    pub(crate) at: SocketAddr,
    /// That frame, without its length.
    pub(crate) first: Vec<u8>,
}

/// See the module's head.
#[derive(Debug)]
pub struct TcpLinks {
    clock: MonotonicClock,
    links: Vec<Link>,
    buffer: Vec<u8>,
    lost: u64,
}

#[derive(Debug)]
struct Link {
    #[expect(clippy::disallowed_types, reason = "this is the driver that owns the socket")]
    stream: std::net::TcpStream,
    from: SocketAddr,
    at: SocketAddr,
    frames: Frames,
    /// What is left of a frame that was begun.
    rest: Vec<u8>,
    since: Instant,
    proven: bool,
    over: bool,
}

impl TcpLinks {
    /// None yet.
    #[must_use]
    pub fn new(clock: MonotonicClock) -> Self {
        Self { clock, links: Vec::new(), buffer: vec![0; READ], lost: 0 }
    }

    /// Takes a connection in, and hands out its first frame. Where there is no room, the oldest that has not proven itself makes some;
    /// if all have, this one is closed.
    pub fn add(&mut self, connection: TcpConnection, mut take: impl FnMut(Received<'_>)) {
        let TcpConnection { stream, from, at, first } = connection;
        let source = Source::of(from.ip());
        let unproven = |link: &Link| !link.proven;
        let own = |link: &Link| unproven(link) && Source::of(link.from.ip()) == source;
        if self.links.iter().filter(|link| own(link)).count() >= UNPROVEN_OF_ONE {
            self.links.iter().position(own).map(|place| self.links.remove(place));
        } else if self.links.len() >= CONNECTIONS {
            let Some(place) = self.links.iter().position(unproven) else { return };
            self.links.remove(place);
        }
        if prepare(&stream).is_err() {
            return;
        }
        let since = self.clock.now();
        let link = Link::new(stream, from, at, since);
        take(link.received(&first, since));
        self.links.push(link);
    }

    /// Sends a datagram by the connection to its address, which is opened if there is none: until it stands, datagrams are lost, and
    /// whoever sent them asks again.
    ///
    /// # Errors
    /// If the system has no socket for it, or knows no way there.
    pub fn reach(&mut self, transmit: &Transmit) -> io::Result<()> {
        if !self.links.iter().any(|link| link.from == transmit.to) {
            let stream = connecting(transmit.to)?;
            let at = stream.local_addr()?;
            self.links.push(Link::new(stream, transmit.to, at, self.clock.now()));
        }
        self.send(transmit);
        Ok(())
    }

    /// Hands out what has arrived, at most what belongs into one turn of a loop that has more to do.
    pub fn receive_in_turn(&mut self, mut take: impl FnMut(Received<'_>)) {
        for link in &mut self.links {
            link.flush();
            link.receive(&mut self.buffer, self.clock, &mut take);
        }
        self.links.retain(|link| !link.over);
    }

    /// Closes the connections of nobody: those that `is_known` never knew in their time, and those that it knows no more.
    pub fn keep(&mut self, is_known: impl Fn(Remote) -> bool) {
        let now = self.clock.now();
        self.links.retain_mut(|link| {
            let known = is_known(Remote { address: link.from, over: Transport::Tcp });
            let was_known = std::mem::replace(&mut link.proven, known);
            if known {
                return true;
            }
            !was_known && now.saturating_since(link.since) < TIME_TO_PROVE
        });
    }

    /// Sends a datagram; what there is no room for, and what has no connection, is lost.
    pub fn send(&mut self, transmit: &Transmit) {
        let link = self.links.iter_mut().find(|link| link.from == transmit.to);
        let sent = link.is_some_and(|link| link.send(&transmit.bytes));
        self.lost += u64::from(!sent);
    }

    /// How many datagrams were lost here.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many connections there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.links.len()
    }

    /// What to wait for.
    pub fn descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.links.iter().map(|link| {
            let more = if link.rest.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
            PollFd::new(&link.stream, PollFlags::IN | more)
        })
    }
}

#[expect(clippy::disallowed_types, reason = "this is the driver that owns the socket")]
fn prepare(stream: &std::net::TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT)
}

/// A connection that will stand when the other side has answered, or will be found by reading to have failed.
#[expect(clippy::disallowed_types, reason = "this is the driver that owns the socket")]
fn connecting(to: SocketAddr) -> io::Result<std::net::TcpStream> {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&to.into()) {
        Err(error)
            if error.raw_os_error() != Some(rustix::io::Errno::INPROGRESS.raw_os_error()) =>
        {
            return Err(error);
        }
        _ => {}
    }
    let stream = socket.into();
    prepare(&stream)?;
    Ok(stream)
}

impl Link {
    #[expect(clippy::disallowed_types, reason = "this is the driver that owns the socket")]
    fn new(stream: std::net::TcpStream, from: SocketAddr, at: SocketAddr, since: Instant) -> Self {
        let (frames, rest) = (Frames::default(), Vec::new());
        Self { stream, from, at, frames, rest, since, proven: false, over: false }
    }

    fn received<'a>(&self, bytes: &'a [u8], arrival: Instant) -> Received<'a> {
        let (from, to) = (self.from, self.at);
        Received { from, over: Transport::Tcp, to, ecn: Ecn::NotEct, arrival, bytes }
    }

    fn receive(
        &mut self,
        buffer: &mut [u8],
        clock: MonotonicClock,
        take: &mut impl FnMut(Received<'_>),
    ) {
        for _ in 0..TURN_READS {
            match self.stream.read(buffer) {
                Ok(0) => self.over = true,
                Ok(count) => {
                    let arrival = clock.now();
                    let mut frames = std::mem::take(&mut self.frames);
                    let pushed =
                        frames.push(&buffer[..count], |bytes| take(self.received(bytes, arrival)));
                    self.frames = frames;
                    self.over |= pushed.is_err();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.over = true,
            }
            if self.over {
                return;
            }
        }
    }

    /// Writes what it can of the frame that was begun.
    fn flush(&mut self) {
        while !self.rest.is_empty() && !self.over {
            match self.stream.write(&self.rest) {
                Ok(count) => drop(self.rest.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.over = true,
            }
        }
    }

    /// Whether it is on its way.
    fn send(&mut self, datagram: &[u8]) -> bool {
        self.flush();
        let Some(frame) = framed(datagram).filter(|_| self.rest.is_empty() && !self.over) else {
            return false;
        };
        match self.stream.write(&frame) {
            Ok(count) => {
                self.rest.extend_from_slice(&frame[count..]);
                true
            }
            // A connection that has failed is found by reading.
            Err(_) => false,
        }
    }
}
