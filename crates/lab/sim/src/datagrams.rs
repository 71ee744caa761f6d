//! Datagrams that nothing answers, in one direction or in both: packets at a constant rate, games as
//! OnLive streamed them, calls with pictures.
//!
//! Sources: Bujari, Massaro and Palazzi, "Vegas over Access Point", Table II (OnLive towards the player);
//! Claypool et al., "Thin to Win?", NetGames 2012 (from the player); RFC 8593 section 5 (a camera's encoder
//! in its steady state); RFC 7587 section 3.1.1 (Opus); MacMillan et al., "Measuring the performance and
//! network utilization of popular video conferencing applications", IMC 2021 (rates of calls).
//! Model: a source sends packets of one size, spaced evenly or exponentially; or, at every tick of a
//! camera, a frame of Laplacian size in equal packets, all at once. None of them hears the network.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | OnLive, Unreal Tournament III | 947 B each 1.2 ms | Table II, behind 10 Mb/s |
//! | OnLive, Grand Ages: Rome | 914 B each 1.6 ms | Table II |
//! | actions of the player | 150 B, 100 kb/s | Claypool et al., for all games, in the round numbers of a class's summary of it; its table was not at hand |
//! | deviation of a frame's size | Laplacian, scale 0.15 | RFC 8593 section 5, `SCALE_B` |
//! | packet with video | at most 1200 B | browsers' payload limit, rounded |
//! | packet with sound | 120 B each 20 ms | Opus at 32 kb/s (RFC 7587: 28 to 40 kb/s) with 40 B of headers |
//!
//! | Deviation | Why |
//! |---|---|
//! | OnLive's packets are evenly spaced | its traces are not published; the mean is all that is known. `spacing` may be exponential |
//! | a frame leaves at even ticks, not at Laplacian intervals (RFC 8593) | a camera has a clock; and an observer must find that harder to tell from a game |
//! | no key frames, no congestion control | calls are the load here, not what is examined |

use crate::flow::FlowEnds;
use crate::packet::{Content, Packet};
use gameway_experiment::Recorder;
use gameway_path::{FlowId, uniform};
use gameway_units::{Bytes, Duration, Ecn, Instant, Rate};
use rand_xoshiro::Xoshiro256PlusPlus;

/// 20 IPv4 + 8 UDP.
const HEADER: Bytes = Bytes::new(28);
/// See the module's head.
pub const ONLIVE_UT: (Bytes, Duration) = (Bytes::new(947), Duration::from_micros(1_200));
/// See the module's head.
pub const ONLIVE_ROME: (Bytes, Duration) = (Bytes::new(914), Duration::from_micros(1_600));
/// See the module's head: 150 B at 100 kb/s.
pub const ONLIVE_ACTIONS: (Bytes, Duration) = (Bytes::new(150), Duration::from_millis(12));
/// See the module's head.
pub const SOUND: (Bytes, Duration) = (Bytes::new(120), Duration::from_millis(20));
const MAX_PACKET: u64 = 1_200;
const MIN_FRAME: f64 = 64.0;
const FRAME_SCALE: f64 = 0.15;
/// No two packets of one source leave at the same time for ever.
const MIN_INTERVAL: Duration = Duration::from_nanos(1);

/// What sends packets by the clock.
pub struct Source {
    pattern: Pattern,
    next: Instant,
}

enum Pattern {
    Packets {
        size: Bytes,
        interval: Duration,
        /// Draws exponential intervals of this mean.
        random: Option<Xoshiro256PlusPlus>,
    },
    Frames {
        mean: Bytes,
        interval: Duration,
        random: Xoshiro256PlusPlus,
        /// Of the frame under way: bytes and packets that are left.
        left: (u64, u64),
    },
}

impl Source {
    /// Packets of `size`, evenly spaced by `interval` or, with `random`, exponentially.
    pub fn packets(
        (size, interval): (Bytes, Duration),
        first: Instant,
        random: Option<Xoshiro256PlusPlus>,
    ) -> Self {
        let interval = interval.max(MIN_INTERVAL);
        Self { pattern: Pattern::Packets { size, interval, random }, next: first }
    }

    /// Frames at `rate` on the wire, one each `interval`.
    pub fn frames(
        rate: Rate,
        interval: Duration,
        first: Instant,
        random: Xoshiro256PlusPlus,
    ) -> Self {
        let interval = interval.max(MIN_INTERVAL);
        let pattern = Pattern::Frames { mean: rate * interval, interval, random, left: (0, 0) };
        Self { pattern, next: first }
    }

    /// The size of the packet that is due at `self.next`, and moves on to the next one.
    fn advance(&mut self) -> Bytes {
        match &mut self.pattern {
            Pattern::Packets { size, interval, random } => {
                let gap = random.as_mut().map_or(*interval, |random| {
                    interval.mul_f64(exponential(random)).max(MIN_INTERVAL)
                });
                self.next = self.next.saturating_add(gap);
                *size
            }
            Pattern::Frames { mean, interval, random, left } => {
                if left.1 == 0 {
                    *left = frame(*mean, random);
                }
                let size = left.0 / left.1;
                *left = (left.0 - size, left.1 - 1);
                if left.1 == 0 {
                    self.next = self.next.saturating_add(*interval);
                }
                Bytes::new(size)
            }
        }
    }
}

fn exponential(random: &mut Xoshiro256PlusPlus) -> f64 {
    -libm::log(1.0 - uniform(random))
}

/// Bytes and packets of a frame.
fn frame(mean: Bytes, random: &mut Xoshiro256PlusPlus) -> (u64, u64) {
    let laplacian = exponential(random) - exponential(random);
    let size = (mean.as_f64() * (1.0 + FRAME_SCALE * laplacian)).max(MIN_FRAME);
    let size = Bytes::from_f64(size).get();
    (size, size.div_ceil(MAX_PACKET))
}

/// The sources at one end.
#[derive(Default)]
struct End {
    sources: Vec<Source>,
    sent: u64,
}

impl End {
    fn deadline(&self, stop: Instant) -> Option<Instant> {
        self.sources.iter().map(|source| source.next).min().filter(|next| *next < stop)
    }

    /// The number and the size of the next packet that is due.
    fn poll(&mut self, now: Instant, stop: Instant) -> Option<(u64, Bytes)> {
        let source = self.sources.iter_mut().min_by_key(|source| source.next)?;
        if source.next > now || source.next >= stop {
            return None;
        }
        self.sent += 1;
        Some((self.sent - 1, source.advance()))
    }
}

/// See the module's head.
pub struct Datagrams {
    flow: FlowId,
    server: End,
    client: End,
    stop: Instant,
    ecn: Ecn,
}

impl Datagrams {
    /// A flow whose ends send what their sources say until `stop`.
    pub fn new(
        flow: FlowId,
        server: Vec<Source>,
        client: Vec<Source>,
        stop: Option<Instant>,
    ) -> Self {
        let end = |sources| End { sources, sent: 0 };
        let stop = stop.unwrap_or(Instant::MAX);
        Self { flow, server: end(server), client: end(client), stop, ecn: Ecn::NotEct }
    }

    /// The same with this ECN field in all packets.
    #[must_use]
    pub fn with_ecn(self, ecn: Ecn) -> Self {
        Self { ecn, ..self }
    }
}

impl FlowEnds for Datagrams {
    fn server_deadline(&self) -> Option<Instant> {
        self.server.deadline(self.stop)
    }

    fn on_server_deadline(&mut self, _now: Instant, _log: &mut Recorder) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let (number, size) = self.server.poll(now, self.stop)?;
        Some(Packet { ecn: self.ecn, ..Packet::new(self.flow, size, Content::Udp(number)) })
    }

    fn on_arrival(&mut self, _now: Instant, packet: &Packet, log: &mut Recorder) {
        if !packet.journey.is_copy {
            log.payload(self.flow, packet.size.saturating_sub(HEADER));
        }
    }

    fn client_deadline(&self) -> Option<Instant> {
        self.client.deadline(self.stop)
    }

    fn on_client_deadline(&mut self, _now: Instant, _log: &mut Recorder) {}

    fn poll_return(&mut self, now: Instant) -> Option<Packet> {
        let (number, size) = self.client.poll(now, self.stop)?;
        Some(Packet { ecn: self.ecn, ..Packet::back(self.flow, size, Content::Udp(number)) })
    }

    fn on_return(&mut self, _now: Instant, _packet: &Packet, _log: &mut Recorder) {}
}
