//! A path without a queue: what becomes of each packet is decided when it is sent.

use crate::{Onward, Path, Random};
use gameway_units::{Duration, Instant};

/// What becomes of a packet: an entry for each copy that arrives, with its extra delay.
pub type Fate = Vec<Duration>;
/// Decides it, for a packet that is sent at a time, and may change the packet.
pub type FateOf<P> = Box<dyn FnMut(Instant, &mut P) -> Fate>;

/// It arrives once, without extra delay.
pub fn arrives() -> Fate {
    vec![Duration::ZERO]
}

/// It is lost.
pub const fn lost() -> Fate {
    Vec::new()
}

/// One of the two.
pub fn lost_if(condition: bool) -> Fate {
    if condition { lost() } else { arrives() }
}

/// A delay that is the same both ways, and fates.
pub struct Fates<D, U> {
    /// The delay of what has no extra delay.
    pub delay: Duration,
    /// What becomes of packets to the client.
    pub down: FateOf<D>,
    /// What becomes of packets to the server.
    pub up: FateOf<U>,
}

impl<D, U> Fates<D, U> {
    /// Everything arrives after a delay.
    pub fn new(delay: Duration) -> Self {
        Self { delay, down: Box::new(|_, _| arrives()), up: Box::new(|_, _| arrives()) }
    }

    /// Everything is impaired, both ways.
    pub fn impaired(delay: Duration, impairment: Impairment, seed: u64) -> Self {
        let [mut down, mut up] = [seed, !seed].map(Random::new);
        Self {
            delay,
            down: Box::new(move |_, _| impairment.fate(&mut down)),
            up: Box::new(move |_, _| impairment.fate(&mut up)),
        }
    }
}

impl<D: Clone, U: Clone> Path<D, U> for Fates<D, U> {
    fn down(&mut self, now: Instant, flow: usize, mut packet: D, onward: &mut Onward<D, U>) {
        for extra in (self.down)(now, &mut packet) {
            onward.down(flow, self.delay + extra, packet.clone());
        }
    }

    fn up(&mut self, now: Instant, flow: usize, mut packet: U, onward: &mut Onward<D, U>) {
        for extra in (self.up)(now, &mut packet) {
            onward.up(flow, self.delay + extra, packet.clone());
        }
    }
}

/// Loss, copies and late packets by chance: what a bad path does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Impairment {
    /// Probability of a loss.
    pub loss: f64,
    /// Probability of a second copy.
    pub duplicate: f64,
    /// Probability that a copy comes late, and is overtaken.
    pub late: f64,
    /// The longest extra delay of what is late; all delays up to it are as likely.
    pub max_extra: Duration,
}

impl Impairment {
    /// The fate of a packet: a packet may be lost and a copy of it arrive.
    pub fn fate(&self, random: &mut Random) -> Fate {
        let copies = u8::from(!random.chance(self.loss)) + u8::from(random.chance(self.duplicate));
        let extra = |_| {
            let share = if random.chance(self.late) { random.unit() } else { 0.0 };
            self.max_extra.mul_f64(share)
        };
        (0..copies).map(extra).collect()
    }
}
