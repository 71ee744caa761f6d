//! Made-up traffic: packets of one flow, both ways, by time.

use gameway_gateway::classifier::Direction::{self, Down, Up};
use gameway_path::{Header, Protocol};
use gameway_units::{Bytes, Duration, Instant};

/// A packet: when in seconds, how large, where to.
pub type Packet = (f64, u64, Direction);

/// Draws that are the same everywhere (Knuth's constants).
pub struct Draws(pub u64);

impl Draws {
    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / f64::from(1 << 24)
    }
}

/// Packets of `size` at even times.
pub fn steady(size: u64, interval: f64, direction: Direction, seconds: f64) -> Vec<Packet> {
    let count = (seconds / interval) as u32;
    (0..count).map(|n| ((f64::from(n) + 0.37) * interval, size, direction)).collect()
}

/// Frames of half to one and a half of their mean size, cut into equal packets, each frame spread over
/// `share` of its interval.
pub fn frames(
    mbps: f64,
    hertz: f64,
    share: f64,
    direction: Direction,
    seconds: f64,
) -> Vec<Packet> {
    let mut draws = Draws(mbps.to_bits() ^ hertz.to_bits());
    let mut packets = Vec::new();
    for frame in 0..(seconds * hertz) as u32 {
        let bytes = mbps * 1e6 / 8.0 / hertz * (0.5 + draws.uniform());
        let count = (bytes / 1_200.0).ceil();
        for packet in 0..count as u32 {
            let at = (f64::from(frame) + f64::from(packet) / count * share) / hertz;
            packets.push((at, (bytes / count) as u64 + 48, direction));
        }
    }
    packets
}

/// The same packets one behind the other at a rate of `mbps` for half of each second, and `times` as much in the other
/// half: a congestion window that is always full on a link whose share changes.
pub fn by_share(packets: Vec<Packet>, mbps: f64, times: f64) -> Vec<Packet> {
    let mut now = 0.0_f64;
    let leave = |(_, size, direction): Packet| {
        let share = if now.fract() < 0.5 { mbps } else { mbps * times };
        now += size as f64 * 8.0 / share / 1e6;
        (now, size, direction)
    };
    packets.into_iter().map(leave).collect()
}

/// A game: its picture, and inputs of 90 B at 125 Hz.
pub fn game(mbps: f64, hertz: f64, share: f64, seconds: f64) -> Vec<Packet> {
    both(frames(mbps, hertz, share, Down, seconds), steady(90, 0.008, Up, seconds))
}

/// A download that its queue spaces evenly, with an answer for every `per_answer` packets.
pub fn bulk(size: u64, mbps: f64, per_answer: f64, answer: u64, seconds: f64) -> Vec<Packet> {
    let interval = size as f64 * 8.0 / mbps / 1e6;
    both(steady(size, interval, Down, seconds), steady(answer, interval * per_answer, Up, seconds))
}

/// The same as TCP sends it when nothing queues: a window of packets back to back each round trip.
pub fn windows(window: u32, rtt: f64, seconds: f64) -> Vec<Packet> {
    let rounds = (seconds / rtt) as u32;
    let of_round = |round: u32| {
        let start = f64::from(round) * rtt;
        let data = (0..window).map(move |n| (start + f64::from(n) * 1e-4, 1_500, Down));
        data.chain((0..window / 2).map(move |n| (start + rtt / 2.0 + f64::from(n) * 2e-4, 52, Up)))
    };
    (0..rounds).flat_map(of_round).collect()
}

pub fn both(one: Vec<Packet>, other: Vec<Packet>) -> Vec<Packet> {
    let mut packets = one;
    packets.extend(other);
    packets.sort_by(|a, b| a.0.total_cmp(&b.0));
    packets
}

/// Each packet up to so much later, but none before one that left earlier.
pub fn jittered(packets: Vec<Packet>, max: f64) -> Vec<Packet> {
    let mut draws = Draws(5);
    let mut last = 0.0_f64;
    let late = |(at, size, direction): Packet| {
        last = last.max(at + max * draws.uniform());
        (last, size, direction)
    };
    packets.into_iter().map(late).collect()
}

/// From `from` on.
pub fn later(packets: Vec<Packet>, from: f64) -> Vec<Packet> {
    packets.into_iter().map(|(at, size, direction)| (at + from, size, direction)).collect()
}

/// Only what is not in a span of time.
pub fn without(packets: Vec<Packet>, from: f64, to: f64) -> Vec<Packet> {
    packets.into_iter().filter(|(at, ..)| !(from..to).contains(at)).collect()
}

pub fn instant(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

pub fn bytes(size: u64) -> Bytes {
    Bytes::new(size)
}

/// Of a flow's packet that goes `direction`.
pub fn header(number: u16, protocol: Protocol, direction: Direction) -> Header {
    let down = Header { protocol, ..Header::numbered(number) };
    if direction == Down { down } else { down.reversed() }
}
