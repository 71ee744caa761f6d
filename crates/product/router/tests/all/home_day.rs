//! What a home has on a day over UDP, made up: flows of each kind at random times, a few at a time.

use crate::traffic::{
    Draws, Packet, both, bulk, by_share, frames, game, jittered, later, steady, windows,
};
use gameway_gateway::classifier::Direction::{Down, Up};

/// A flow: what it is, and its packets from time 0 on.
pub struct Flow {
    pub kind: &'static str,
    pub packets: Vec<Packet>,
}

/// The kinds of flows that are no games.
pub const KINDS: usize = 17;

fn between(draws: &mut Draws, min: f64, max: f64) -> f64 {
    min + (max - min) * draws.uniform()
}

/// Towards the other side.
fn turned(packets: Vec<Packet>) -> Vec<Packet> {
    let turn = |(at, size, way)| (at, size, if way == Down { Up } else { Down });
    packets.into_iter().map(turn).collect()
}

/// Transfers of some seconds with pauses, as a video in segments.
fn segments(mbps: f64, period: f64, share: f64, seconds: f64) -> Vec<Packet> {
    let count = ((seconds / period) as u32).max(1);
    let one =
        |number: u32| later(bulk(1_278, mbps, 8.0, 75, period * share), f64::from(number) * period);
    (0..count).flat_map(one).collect()
}

/// Bursts of some full packets and a rest, answered, with pauses: pages, and what asks now and then.
fn pages(draws: &mut Draws, seconds: f64) -> Vec<Packet> {
    let mut packets = Vec::new();
    let mut at = 0.0;
    while at < seconds {
        let (bytes, mbps) = (between(draws, 3e4, 5e5), between(draws, 20.0, 300.0));
        let span = bytes * 8.0 / mbps / 1e6;
        packets.extend(later(bulk(1_278, mbps, 8.0, 75, span), at));
        packets.push((at + span, 300 + (900.0 * draws.uniform()) as u64, Down));
        at += span + between(draws, 0.3, 8.0);
    }
    packets
}

/// A flow that is no game. Rates are those of the field: calls of 0.8 to 1.9 Mb/s (MacMillan et al., IMC 2021) and up to 3 of
/// several people, video of 2 to 25 Mb/s in segments of 2 to 6 s, downloads of 10 to 100 Mb/s.
pub fn other(kind: usize, draws: &mut Draws) -> Flow {
    let seconds = between(draws, 5.0, 60.0);
    let (kind, packets) = match kind % KINDS {
        0 => ("pages over QUIC", pages(draws, seconds)),
        1 => {
            let (mbps, period) = (between(draws, 20.0, 80.0), between(draws, 2.0, 6.0));
            let share = between(draws, 0.05, 0.6);
            ("a video in segments over QUIC", segments(mbps, period, share, seconds))
        }
        2 => ("a live video over QUIC", segments(between(draws, 8.0, 40.0), 1.0, 0.4, seconds)),
        3 => {
            let size = between(draws, 1_228.0, 1_480.0) as u64;
            let mbps = between(draws, 10.0, 100.0);
            ("a download over QUIC", bulk(size, mbps, 8.0, 75, seconds))
        }
        4 => {
            let packets = bulk(1_278, between(draws, 2.0, 9.0), 2.0, 70, seconds);
            ("a slow download over QUIC", jittered(packets, 0.004))
        }
        5 => {
            let rtt = between(draws, 0.008, 0.15);
            let window = between(draws, 8.0, 150.0) as u32;
            ("a download by full windows", windows(window, rtt, seconds))
        }
        6 => {
            let packets = bulk(1_350, 60.0, 4.0, 90, seconds);
            ("a download whose share changes", by_share(packets, between(draws, 3.0, 20.0), 4.0))
        }
        7 => (
            "an upload over QUIC",
            turned(bulk(1_278, between(draws, 2.0, 40.0), 8.0, 75, seconds)),
        ),
        8 => {
            let mbps = between(draws, 0.8, 1.9);
            let both_ways =
                both(frames(mbps, 30.0, 0.1, Down, seconds), frames(mbps, 30.0, 0.1, Up, seconds));
            ("a call", both(both_ways, sound(seconds)))
        }
        9 => {
            let down = frames(between(draws, 1.9, 3.0), 30.0, 0.3, Down, seconds);
            let up = frames(between(draws, 0.9, 1.9), 30.0, 0.1, Up, seconds);
            ("a call of several", both(both(down, up), sound(seconds)))
        }
        10 => ("a call without pictures", sound(seconds)),
        11 => {
            let hertz = between(draws, 20.0, 128.0);
            let down = steady(between(draws, 80.0, 600.0) as u64, 1.0 / hertz, Down, seconds);
            let up = steady(between(draws, 60.0, 120.0) as u64, 1.0 / hertz, Up, seconds);
            ("a game that is computed at home", both(down, up))
        }
        12 => ("television by multicast", steady(1_344, 1_344.0 * 8.0 / 8e6, Down, seconds)),
        13 => {
            let picture = frames(between(draws, 2.0, 6.0), 25.0, 0.2, Up, seconds);
            ("a camera that is watched", both(picture, steady(80, 1.0, Down, seconds)))
        }
        14 => {
            let down = bulk(1_452, between(draws, 3.0, 90.0), 2.0, 96, seconds);
            ("a tunnel with a download", down)
        }
        15 => {
            let rtt = between(draws, 0.006, 0.05);
            let down = windows(between(draws, 5.0, 80.0) as u32, rtt, seconds);
            let up = turned(windows(between(draws, 1.0, 10.0) as u32, rtt, seconds));
            ("transfers both ways by full windows", both(down, up))
        }
        _ => {
            let down = bulk(1_448, between(draws, 2.0, 12.0), 2.0, 60, seconds);
            let up = turned(bulk(1_448, between(draws, 0.5, 2.0), 2.0, 60, seconds));
            ("peers that share files by uTP", both(down, up))
        }
    };
    Flow { kind, packets: in_order(packets) }
}

fn sound(seconds: f64) -> Vec<Packet> {
    both(steady(120, 0.02, Down, seconds), steady(120, 0.02, Up, seconds))
}

fn in_order(mut packets: Vec<Packet>) -> Vec<Packet> {
    packets.sort_by(|one, next| one.0.total_cmp(&next.0));
    packets
}

/// A game of 10 to 60 s.
pub fn played(draws: &mut Draws) -> Flow {
    let hertz = [30.0, 60.0, 120.0][(draws.uniform() * 3.0) as usize];
    let (mbps, seconds) = (between(draws, 3.0, 40.0), between(draws, 10.0, 60.0));
    let share = between(draws, 0.05, 0.7);
    Flow { kind: "a game", packets: game(mbps, hertz, share, seconds) }
}
