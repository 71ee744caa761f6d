//! The media socket: UDP with the ECN field set and read for each datagram, and the kernel's time of arrival.
//!
//! The kernel stamps a datagram when it takes it from the device (SO_TIMESTAMPNS), on CLOCK_REALTIME. We want
//! CLOCK_MONOTONIC: both are read beside each other with each batch, and their difference is added. A result in
//! the future or more than [`PLAUSIBLE`] in the past means that the wall clock was set in between; then the
//! time of reading counts.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | buffers | 4 MiB | 0.6 s at 50 Mb/s; beyond the system's limit only with privileges |
//! | batch | 32 datagrams | `recvmmsg` of quinn-udp |
//! | datagram | 2048 B | above any Ethernet frame; longer ones are cut and refused by their tag |
//! | in one turn | 8 batches | 256 datagrams: a third of a second of reports; a flood holds up nothing else |
//!
//! The kernel drops what no session can want before it takes room in the buffer: [`crate::filter`].

use crate::transmit::{Remote, Transmit, Transport};
use gameway_units::{Duration, Ecn, Instant};
use nix::sys::socket::{setsockopt, sockopt::UdpGroSegment};
use quinn_udp::{EcnCodepoint, RecvMeta, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

const BUFFERS: usize = 4 << 20;
const BATCH: usize = quinn_udp::BATCH_SIZE;
const DATAGRAM: usize = 2_048;
const PLAUSIBLE: Duration = Duration::from_secs(2);
const TURN_BATCHES: usize = 8;

/// The clock of a run: CLOCK_MONOTONIC less an epoch.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicClock {
    epoch_ns: i64,
}

impl MonotonicClock {
    /// Zero is when CLOCK_MONOTONIC shows `epoch_ns`.
    #[must_use]
    pub fn since(epoch_ns: i64) -> Self {
        Self { epoch_ns }
    }

    /// Zero is now.
    #[must_use]
    pub fn starting_now() -> Self {
        Self::since(read(ClockId::Monotonic))
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(read(ClockId::Monotonic) - self.epoch_ns)
    }
}

fn read(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A datagram that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// From where.
    pub from: SocketAddr,
    /// By what.
    pub over: Transport,
    /// At which address of ours.
    pub to: SocketAddr,
    /// With which ECN field.
    pub ecn: Ecn,
    /// When the kernel took it in.
    pub arrival: Instant,
    /// Its content.
    pub bytes: &'a [u8],
}

impl Received<'_> {
    /// From where, and by what.
    #[must_use]
    pub fn remote(&self) -> Remote {
        Remote { address: self.from, over: self.over }
    }
}

/// A UDP socket for media. It never blocks.
#[derive(Debug)]
pub struct MediaSocket {
    #[expect(clippy::disallowed_types, reason = "this is the driver that owns the socket")]
    socket: std::net::UdpSocket,
    state: UdpSocketState,
    clock: MonotonicClock,
    address: SocketAddr,
    buffers: Vec<[u8; DATAGRAM]>,
    /// From whom the kernel lets all pass; from anybody if nothing was said.
    known: Option<Vec<SocketAddr>>,
}

impl MediaSocket {
    /// Binds to an address; port 0 for any.
    ///
    /// # Errors
    /// If the system refuses.
    #[expect(clippy::disallowed_types, reason = "this is the driver that owns the socket")]
    pub fn bind(address: SocketAddr, clock: MonotonicClock) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        // One datagram, one arrival, one ECN field: merged datagrams have one of each together.
        let _ = setsockopt(&socket, UdpGroSegment, &false);
        enlarge(&socket)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(Self { socket, state, clock, address, buffers: vec![[0; DATAGRAM]; BATCH], known: None })
    }

    /// Takes STUN from anybody and all else from these addresses only, from now on.
    ///
    /// # Errors
    /// If the kernel has no filters.
    pub fn take_from(&mut self, known: Vec<SocketAddr>) -> io::Result<()> {
        if self.known.as_ref() == Some(&known) {
            return Ok(());
        }
        socket2::SockRef::from(&self.socket).attach_filter(&crate::filter::program(&known))?;
        self.known = Some(known);
        Ok(())
    }

    /// Hands out what has arrived, at most what belongs into one turn of a loop that has more to do.
    ///
    /// # Errors
    /// If the system refuses to receive.
    pub fn receive_in_turn(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<()> {
        for _ in 0..TURN_BATCHES {
            if self.receive(&mut take)? < BATCH {
                break;
            }
        }
        Ok(())
    }

    /// Where it is bound.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its clock.
    #[must_use]
    pub fn clock(&self) -> MonotonicClock {
        self.clock
    }

    /// Sends a datagram. A full buffer, an unreachable peer, a firewall's refusal and an address to which nothing can be sent are losses like
    /// any other, and no errors.
    ///
    /// # Errors
    /// If the system refuses for another reason.
    pub fn send(&self, transmit: &Transmit) -> io::Result<()> {
        let ecn = match transmit.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let datagram = quinn_udp::Transmit {
            destination: transmit.to,
            ecn,
            contents: &transmit.bytes,
            segment_size: None,
            src_ip: transmit.from.map(|from| from.ip()).filter(|ip| !ip.is_unspecified()),
        };
        use io::ErrorKind::{
            AddrNotAvailable, ConnectionRefused, HostUnreachable, InvalidInput, NetworkUnreachable,
            PermissionDenied, WouldBlock,
        };
        match self.state.try_send((&self.socket).into(), &datagram) {
            Err(error)
                if matches!(
                    error.kind(),
                    WouldBlock
                        | ConnectionRefused
                        | HostUnreachable
                        | NetworkUnreachable
                        | PermissionDenied
                        | InvalidInput
                        | AddrNotAvailable
                ) =>
            {
                Ok(())
            }
            result => result,
        }
    }

    /// Hands out what has arrived, at most one batch; how many datagrams that were.
    ///
    /// # Errors
    /// If the system refuses to receive.
    pub fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> io::Result<usize> {
        let mut metas = [RecvMeta::default(); BATCH];
        let mut slices: Vec<IoSliceMut<'_>> =
            self.buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let count = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            // What an ICMP message says of an earlier datagram is no reason to stop.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(0),
            Err(error) => return Err(error),
        };
        let offset = read(ClockId::Monotonic) - read(ClockId::Realtime);
        let now = self.clock.now();
        for (meta, buffer) in metas.iter().zip(&self.buffers).take(count) {
            let stamp = meta.timestamp.map(|stamp| stamp.as_nanos() as i64 + offset);
            let arrival = plausible(now, stamp.map(|nanos| nanos - self.clock.epoch_ns));
            let to = meta.dst_ip.unwrap_or(self.address.ip());
            let to = SocketAddr::new(to.to_canonical(), self.address.port());
            let from = SocketAddr::new(meta.addr.ip().to_canonical(), meta.addr.port());
            let ecn = match meta.ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            };
            let whole = &buffer[..meta.len.min(DATAGRAM)];
            for bytes in whole.chunks(meta.stride.max(1)) {
                take(Received { from, over: Transport::Udp, to, ecn, arrival, bytes });
            }
        }
        Ok(count)
    }

    /// Waits until something arrives or `deadline` comes; whether something may have arrived.
    ///
    /// # Errors
    /// If the system refuses to wait.
    pub fn wait(&self, deadline: Instant) -> io::Result<bool> {
        let left = deadline.saturating_since(self.clock.now()).as_nanos().max(0);
        let timeout = Timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 };
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(count) => Ok(count > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for MediaSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[expect(clippy::disallowed_types, reason = "this is the driver that owns the socket")]
fn enlarge(socket: &std::net::UdpSocket) -> io::Result<()> {
    let handle = socket2::SockRef::from(socket);
    handle.set_send_buffer_size(BUFFERS)?;
    // Privileged processes may go beyond the system's limit.
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, BUFFERS).is_err() {
        handle.set_recv_buffer_size(BUFFERS)?;
    }
    Ok(())
}

/// The stamped time if it can be true, else now.
fn plausible(now: Instant, stamped: Option<i64>) -> Instant {
    let stamped = stamped.map(Instant::from_nanos);
    stamped.filter(|time| *time <= now && now.saturating_since(*time) <= PLAUSIBLE).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_believed_only_if_it_can_be_true() {
        let now = Instant::from_nanos(10_000_000_000);
        let stamps = [(9_999_000_000, true), (10_000_000_001, false), (7_999_999_999, false)];
        for (stamp, believed) in stamps {
            let expected = if believed { Instant::from_nanos(stamp) } else { now };
            assert_eq!(plausible(now, Some(stamp)), expected);
        }
        assert_eq!(plausible(now, None), now);
    }
}
