//! Two peers on an in-memory network in virtual time.
#![allow(dead_code, reason = "each test uses a part of it")]

use gameway_units::{Duration, Ecn, Instant};
use gameway_webrtc::{ClientConfig, Event, HostConfig, Identity, Peer, Secrets, Transmit};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::OnceLock;

pub fn host_address() -> SocketAddr {
    "10.77.0.1:8443".parse().unwrap()
}

pub fn client_address() -> SocketAddr {
    "10.78.0.1:40000".parse().unwrap()
}

/// Certificates take milliseconds to make; two serve all tests.
pub fn identities() -> &'static (Identity, Identity) {
    static BOTH: OnceLock<(Identity, Identity)> = OnceLock::new();
    BOTH.get_or_init(|| (Identity::generate().unwrap(), Identity::generate().unwrap()))
}

/// What the network does to datagrams.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weather {
    pub loss_percent: u64,
    pub duplicate_percent: u64,
    /// Greatest extra delay in milliseconds; reorders.
    pub jitter_ms: u64,
}

/// A peer's address, and what it told.
pub struct End {
    pub peer: Peer,
    pub address: SocketAddr,
    pub events: Vec<(Instant, Event)>,
}

pub struct World {
    pub now: Instant,
    pub host: End,
    pub client: End,
    pub weather: Weather,
    /// Everything that was sent, for those who listen on the wire.
    pub wire: Vec<(SocketAddr, Transmit)>,
    pub record: bool,
    /// Marks every ECN-capable datagram.
    pub marks: bool,
    flying: BTreeMap<(Instant, u64), (SocketAddr, Transmit)>,
    count: u64,
    random: Xoshiro256PlusPlus,
}

pub const DELAY: Duration = Duration::from_millis(10);

pub fn host_config() -> HostConfig {
    HostConfig {
        identity: identities().0.clone(),
        candidates: vec![host_address()],
        h265: false,
        nack: true,
        export_keys: true,
    }
}

pub fn client_config() -> ClientConfig {
    ClientConfig {
        identity: identities().1.clone(),
        codec: gameway_units::VideoCodec::H264,
        arrival_times: true,
        export_keys: true,
    }
}

impl World {
    pub fn new(seed: u64, weather: Weather) -> Self {
        Self::with(seed, weather, |offer| offer, |answer| answer)
    }

    /// With session descriptions that someone changed on the way.
    pub fn with(
        seed: u64,
        weather: Weather,
        change_offer: impl FnOnce(String) -> String,
        change_answer: impl FnOnce(String) -> String,
    ) -> Self {
        let now = Instant::ZERO;
        let (mut client, offer) = Peer::offer(now, &client_config(), Secrets::new([1; 32]));
        let offer = change_offer(offer);
        let (host, answer) =
            Peer::answer(now, &host_config(), Secrets::new([2; 32]), &offer).unwrap();
        client.accept_answer(now, &change_answer(answer)).unwrap();
        let end = |peer, address| End { peer, address, events: Vec::new() };
        Self {
            now,
            host: end(host, host_address()),
            client: end(client, client_address()),
            weather,
            wire: Vec::new(),
            record: false,
            marks: false,
            flying: BTreeMap::new(),
            count: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random.next_u64() % 100 < percent
    }

    fn fly(&mut self, from: SocketAddr, mut transmit: Transmit) {
        if self.record {
            self.wire.push((from, transmit.clone()));
        }
        if self.chance(self.weather.loss_percent) {
            return;
        }
        if self.marks && transmit.ecn.is_capable() {
            transmit.ecn = Ecn::Ce;
        }
        let copies = 1 + u64::from(self.chance(self.weather.duplicate_percent));
        for _ in 0..copies {
            let jitter = self.random.next_u64() % (self.weather.jitter_ms * 1_000 + 1);
            let arrival = self.now + DELAY + Duration::from_micros(jitter as i64);
            self.count += 1;
            self.flying.insert((arrival, self.count), (from, transmit.clone()));
        }
    }

    /// Takes in what the peers want to send and to tell.
    pub fn collect(&mut self) {
        let mut sent = Vec::new();
        for end in [&mut self.host, &mut self.client] {
            while let Some(transmit) = end.peer.poll_transmit() {
                sent.push((end.address, transmit));
            }
            while let Some(event) = end.peer.poll_event() {
                end.events.push((self.now, event));
            }
        }
        for (from, transmit) in sent {
            self.fly(from, transmit);
        }
    }

    /// Hands a datagram to whom it is addressed to.
    pub fn deliver(&mut self, from: SocketAddr, transmit: &Transmit) {
        let end = if transmit.to == self.host.address { &mut self.host } else { &mut self.client };
        if transmit.to == end.address {
            end.peer.handle_datagram(self.now, from, transmit.to, transmit.ecn, &transmit.bytes);
        }
    }

    /// Lets time pass.
    pub fn run_until(&mut self, end: Instant) {
        loop {
            self.collect();
            let arrival = self.flying.keys().next().map(|(time, _)| *time);
            let deadlines = [self.host.peer.next_deadline(), self.client.peer.next_deadline()];
            let next = deadlines.into_iter().flatten().chain(arrival).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            if arrival.is_some_and(|time| time <= self.now) {
                let (_, (from, transmit)) = self.flying.pop_first().unwrap();
                self.deliver(from, &transmit);
            }
            self.host.peer.handle_timeout(self.now);
            self.client.peer.handle_timeout(self.now);
        }
        self.now = end;
    }

    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// Until both are connected; the time that it took, if they are within `limit`.
    pub fn connect(&mut self, limit: Duration) -> Option<Duration> {
        let (began, end) = (self.now, self.now + limit);
        while self.now < end {
            self.run_for(Duration::from_millis(1));
            if self.host.peer.is_connected() && self.client.peer.is_connected() {
                return Some(self.now - began);
            }
        }
        None
    }
}

impl End {
    pub fn rtp_count(&self) -> usize {
        self.events.iter().filter(|(_, event)| matches!(event, Event::Rtp { .. })).count()
    }
}
