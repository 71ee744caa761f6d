//! What carries a host's datagrams: the media socket, connections of clients whom UDP does not reach, and the questions to STUN servers
//! that pass the same socket.

use crate::StreamError;
use crate::error::system;
use crate::host::session::Session;
use gameway_runtime::clock::Clock;
use gameway_units::Instant;
use gameway_webrtc::http::SignalingServer;
use gameway_webrtc::ice::reflexive::ReflexiveAddress;
use gameway_webrtc::links::TcpLinks;
use gameway_webrtc::socket::{MediaSocket, Received};
use gameway_webrtc::{Remote, Secrets, Transmit, Transport};
use rustix::event::{PollFd, PollFlags};
use std::net::SocketAddr;

/// See the module's head.
pub(super) struct Wires {
    socket: MediaSocket,
    links: TcpLinks,
    asked: Vec<ReflexiveAddress>,
    clock: Clock,
    /// Whether connections are taken.
    tcp: bool,
}

impl Wires {
    /// These servers are asked from now on.
    pub(super) fn new(
        socket: MediaSocket,
        clock: Clock,
        tcp: bool,
        servers: impl IntoIterator<Item = SocketAddr>,
    ) -> Self {
        let now = clock.now();
        let ask = |server| ReflexiveAddress::new(server, now, Secrets::from_system());
        let asked = servers.into_iter().map(ask).collect();
        Self { links: TcpLinks::new(socket.clock()), socket, asked, clock, tcp }
    }

    /// Where the socket is bound.
    pub(super) fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    /// The addresses that others see, as far as servers have told.
    pub(super) fn reflexive(&self) -> impl Iterator<Item = SocketAddr> {
        self.asked.iter().filter_map(ReflexiveAddress::found)
    }

    pub(super) fn send(&mut self, transmit: &Transmit) -> Result<(), StreamError> {
        match transmit.over {
            Transport::Udp => self.socket.send(transmit).map_err(system("a packet")),
            Transport::Tcp => {
                self.links.send(transmit);
                Ok(())
            }
        }
    }

    /// Sends what a session has for its client.
    pub(super) fn send_all(&mut self, session: &mut Session) -> Result<(), StreamError> {
        while let Some(transmit) = session.poll_transmit() {
            self.send(&transmit)?;
        }
        Ok(())
    }

    /// Hands out what has arrived and is no server's answer.
    pub(super) fn receive(
        &mut self,
        signaling: &SignalingServer,
        mut take: impl FnMut(Received<'_>),
    ) -> Result<(), StreamError> {
        let (asked, clock) = (&mut self.asked, self.clock);
        let is_answer = |asked: &mut ReflexiveAddress, got: &Received<'_>| {
            got.from == asked.server() && asked.handle(clock.now(), got.from, got.bytes)
        };
        self.socket
            .receive_in_turn(|got| {
                if !asked.iter_mut().any(|asked| is_answer(asked, &got)) {
                    take(got);
                }
            })
            .map_err(system("the media socket"))?;
        while let Some(connection) = signaling.poll_connection() {
            if self.tcp {
                self.links.add(connection, &mut take);
            }
        }
        self.links.receive_in_turn(take);
        Ok(())
    }

    /// Clients have proven themselves there: the kernel lets pass what comes from there, and connections from there stay.
    pub(super) fn keep(&mut self, accepted: &[Remote]) {
        let by_udp = accepted.iter().filter(|remote| remote.over == Transport::Udp);
        // Without a filter peers refuse the same.
        let _ = self.socket.take_from(by_udp.map(|remote| remote.address).collect());
        self.links.keep(|remote| accepted.contains(&remote));
    }

    pub(super) fn on_deadline(&mut self, now: Instant) -> Result<(), StreamError> {
        for asked in &mut self.asked {
            if let Some(question) = asked.handle_timeout(now) {
                self.socket.send(&question).map_err(system("a question"))?;
            }
        }
        Ok(())
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.asked.iter().map(ReflexiveAddress::next_deadline).min()
    }

    /// What to wait for.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = PollFd<'_>> {
        let socket = PollFd::new(&self.socket, PollFlags::IN);
        std::iter::once(socket).chain(self.links.descriptors())
    }
}
