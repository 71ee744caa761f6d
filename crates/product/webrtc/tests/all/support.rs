//! Two peers on the test network.

use gameway_testbed::{Ends, Fates, Impairment, Testbed};
use gameway_units::{Duration, Instant, VideoCodec};
use gameway_webrtc::{ClientConfig, Event, HostConfig, Identity, Peer, Secrets, Transmit};
use std::net::SocketAddr;
use std::sync::OnceLock;

pub const DELAY: Duration = Duration::from_millis(10);
pub const SECOND: Duration = Duration::from_secs(1);

pub fn host_address() -> SocketAddr {
    "10.77.0.1:8443".parse().unwrap()
}

pub fn client_address() -> SocketAddr {
    "10.78.0.1:40000".parse().unwrap()
}

/// Certificates take milliseconds to make; two serve all tests.
fn identities() -> &'static (Identity, Identity) {
    static BOTH: OnceLock<(Identity, Identity)> = OnceLock::new();
    BOTH.get_or_init(|| (Identity::generate().unwrap(), Identity::generate().unwrap()))
}

pub fn host_config() -> HostConfig {
    HostConfig {
        identity: identities().0.clone(),
        candidates: vec![host_address().into()],
        audio: true,
        h265: false,
        nack: true,
        parity: true,
        references: true,
        export_keys: true,
    }
}

pub fn client_config() -> ClientConfig {
    ClientConfig {
        identity: identities().1.clone(),
        codec: VideoCodec::H264,
        arrival_times: true,
        export_keys: true,
    }
}

/// A peer, its address, and what it told.
pub struct End {
    pub peer: Peer,
    address: SocketAddr,
    pub events: Vec<(Instant, Event)>,
}

impl End {
    /// Takes a datagram, if it is addressed to it.
    fn take(&mut self, now: Instant, Transmit { from, to, ecn, bytes, .. }: &Transmit) {
        if *to == self.address {
            self.peer.handle_datagram(now, from.unwrap(), *to, *ecn, bytes);
        }
    }

    fn poll(&mut self, now: Instant, wire: &mut Vec<Transmit>) -> Option<Transmit> {
        while let Some(event) = self.peer.poll_event() {
            self.events.push((now, event));
        }
        let transmit = Transmit { from: Some(self.address), ..self.peer.poll_transmit()? };
        wire.push(transmit.clone());
        Some(transmit)
    }
}

pub struct Pair {
    pub host: End,
    pub client: End,
    /// Everything that was sent, for those who listen on the wire.
    pub wire: Vec<Transmit>,
}

impl Ends for Pair {
    type Down = Transmit;
    type Up = Transmit;

    fn on_down(&mut self, now: Instant, transmit: Transmit) {
        self.client.take(now, &transmit);
    }
    fn on_up(&mut self, now: Instant, transmit: Transmit) {
        self.host.take(now, &transmit);
    }
    fn next_deadline(&self) -> Option<Instant> {
        Instant::first_of([self.host.peer.next_deadline(), self.client.peer.next_deadline()])
    }
    fn on_deadline(&mut self, now: Instant) {
        self.host.peer.handle_timeout(now);
        self.client.peer.handle_timeout(now);
    }
    fn poll_down(&mut self, now: Instant) -> Option<Transmit> {
        self.host.poll(now, &mut self.wire)
    }
    fn poll_up(&mut self, now: Instant) -> Option<Transmit> {
        self.client.poll(now, &mut self.wire)
    }
}

pub type World = Testbed<Pair, Fates<Transmit, Transmit>>;

/// Host and client, and a network that loses nothing.
pub fn world() -> World {
    world_with(|offer| offer, |answer| answer)
}

/// With session descriptions that someone changed on the way.
pub fn world_with(
    change_offer: impl FnOnce(String) -> String,
    change_answer: impl FnOnce(String) -> String,
) -> World {
    let now = Instant::ZERO;
    let (mut client, offer) = Peer::offer(now, &client_config(), Secrets::new([1; 32]));
    let offer = change_offer(offer);
    let (host, answer) = Peer::answer(now, &host_config(), Secrets::new([2; 32]), &offer).unwrap();
    client.accept_answer(now, &change_answer(answer)).unwrap();
    let end = |peer, address| End { peer, address, events: Vec::new() };
    let (host, client) = (end(host, host_address()), end(client, client_address()));
    Testbed::new(Fates::new(DELAY), vec![Pair { host, client, wire: Vec::new() }])
}

/// A network that does this to datagrams.
pub fn impaired(impairment: Impairment, seed: u64) -> Fates<Transmit, Transmit> {
    Fates::impaired(DELAY, impairment, seed)
}

/// A network that loses all.
pub fn dark() -> Fates<Transmit, Transmit> {
    impaired(Impairment { loss: 1.0, ..Impairment::default() }, 0)
}

/// Until both are connected; the time that it took, if they are within `limit`.
pub fn connect(world: &mut World, limit: Duration) -> Option<Duration> {
    let (began, end) = (world.now, world.now + limit);
    while world.step(end) {
        if world.host.peer.is_connected() && world.client.peer.is_connected() {
            return Some(world.now - began);
        }
    }
    None
}
