//! What a look at the last second sees, and what a game needs.
//!
//! The *picture* is the way with more bytes, the *answer* the other one.
//!
//! | Threshold | To become a game | To remain one | Origin |
//! |---|---|---|---|
//! | rate of the picture | 2 Mb/s | 1 Mb/s | calls take 0.8 to 1.9 Mb/s (MacMillan et al., IMC 2021); OnLive 4.6 (Table II of Bujari et al.), today's services 10 to 20 (Lyu et al., arXiv 2401.06366) |
//! | spans of 64 ms with data, of 16 | 15 | 15 | two frames at 30 a second: one such stall in a second is bad luck, two are a pause |
//! | packets that are not full, and no acknowledgements | 15 a second | 15 a second | every other frame at 30 a second ends in one |
//! | the same, in three quarters of the window | 2 | 2 | half of what every other frame at 30 a second leaves; what a download sends again, packed for an earlier MTU, comes at once |
//! | rhythm | a line, or even | not asked | [`super::spectrum`]; queues and pacers smear it when the path is full |
//! | even: coefficient of variation of the 64 ms spans | 0.4 | | 600 packets a second at random have 0.16, and 0.37 if their rate doubles in the window; a page or a window of TCP has 1: the middle, on a scale of ratios |
//! | even: packets that are not full | half | | a frame cut evenly leaves its packets less than full, but by little if it has hundreds; a download leaves none |
//! | answers | 5 a second | 5 a second | half of what the slowest sends: a report each 100 ms. Inputs come at 60 Hz and more |
//! | bytes of the answer, of the picture's | 20 % | 20 % | a call has as many both ways, a game 2 to 5 %: the middle, on a scale of ratios |
//! | mean answer of a TCP | above 80 B | above 80 B | an acknowledgement: 20 + 20 + 12 B of timestamps, and three blocks of SACK at times |

use super::Direction;
use super::history::{BIN, BINS, History};
use super::spectrum::{FIRST_FRAME_HZ, Spectrum};
use gameway_path::Protocol;
use gameway_units::{Bytes, Duration, Rate};

const SPANS: usize = 16;
const BINS_PER_SPAN: usize = BINS / SPANS;
const WINDOW: Duration = Duration::from_nanos(BIN.as_nanos() * BINS as i64);
const WINDOW_SECS: f64 = BINS as f64 * BIN.as_nanos() as f64 * 1e-9;

const RATE_TO_BECOME: Rate = Rate::from_mbps(2);
const RATE_TO_REMAIN: Rate = Rate::from_mbps(1);
const MIN_BUSY_SPANS: u32 = 15;
const MIN_PARTIAL_PER_SEC: f64 = 15.0;
const MIN_PARTIAL_PER_QUARTER: u32 = 2;
const MAX_VARIATION: f64 = 0.4;
const EVEN_PARTIAL_SHARE: f64 = 0.5;
const MIN_ANSWERS_PER_SEC: f64 = 5.0;
const MAX_ANSWER_SHARE: f64 = 0.2;
const MAX_ACKNOWLEDGEMENT: f64 = 80.0;

/// What a look saw.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Features {
    /// Where the picture goes: the way with more bytes.
    pub picture: Direction,
    /// Its rate on the wire.
    pub rate: Rate,
    /// Of 16 spans of 64 ms: in how many it had a packet.
    pub busy_spans: u32,
    /// Coefficient of variation of the bytes of these spans.
    pub variation: f64,
    /// The line in its spectrum, in hertz: the frame rate or a multiple. Not looked for if the flow lacks
    /// anything else.
    pub line: Option<f64>,
    /// Of its packets, those that are not full, per second.
    pub partial_per_sec: f64,
    /// As many or more of them are in each of three quarters of the window.
    pub partial_in_three_quarters: u32,
    /// Those of the window as a share of its packets.
    pub partial_share: f64,
    /// Packets of the answer per second.
    pub answers_per_sec: f64,
    /// Bytes of the answer, of those of the picture.
    pub answer_share: f64,
    /// Mean size of the answer's packets, in bytes.
    pub answer_size: f64,
}

/// What a flow lacks to be a game: a set of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missing(u8);

impl Missing {
    /// It was not there for a window.
    pub const TIME: Self = Self(1);
    /// It carries no more than a call.
    pub const RATE: Self = Self(1 << 1);
    /// It falls silent.
    pub const CONTINUITY: Self = Self(1 << 2);
    /// All its packets are full: it had more to send.
    pub const FRAMES: Self = Self(1 << 3);
    /// It has neither frame rate nor evenness.
    pub const RHYTHM: Self = Self(1 << 4);
    /// Nobody answers, or seldom.
    pub const ANSWERS: Self = Self(1 << 5);
    /// As much comes back as from a caller with a camera.
    pub const ASYMMETRY: Self = Self(1 << 6);
    /// What comes back are bare acknowledgements.
    pub const INPUTS: Self = Self(1 << 7);

    const NAMES: [(Self, &'static str); 8] = [
        (Self::TIME, "time"),
        (Self::RATE, "rate"),
        (Self::CONTINUITY, "continuity"),
        (Self::FRAMES, "frames"),
        (Self::RHYTHM, "rhythm"),
        (Self::ANSWERS, "answers"),
        (Self::ASYMMETRY, "asymmetry"),
        (Self::INPUTS, "inputs"),
    ];

    /// Whether it lacks nothing.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it lacks what `other` names.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// A word for each reason.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(one, _)| self.contains(*one)).map(|(_, name)| name)
    }

    fn note(&mut self, reason: Self, lacking: bool) {
        self.0 |= if lacking { reason.0 } else { 0 };
    }
}

/// On which side of its threshold a figure must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// There or beyond.
    AtLeast,
    /// Beyond.
    Above,
    /// There or below.
    AtMost,
}

/// A figure beside its threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Criterion {
    /// What a flow lacks if it does not hold.
    pub what: Missing,
    /// The figure, in `unit`.
    pub value: f64,
    /// The threshold, in `unit`.
    pub threshold: f64,
    /// On which side of it the figure must be.
    pub bound: Bound,
    /// Of both.
    pub unit: &'static str,
}

impl Criterion {
    const fn at_least(what: Missing, value: f64, threshold: f64, unit: &'static str) -> Self {
        Self { what, value, threshold, bound: Bound::AtLeast, unit }
    }

    /// Whether it does.
    #[must_use]
    pub fn holds(&self) -> bool {
        match self.bound {
            Bound::AtLeast => self.value >= self.threshold,
            Bound::Above => self.value > self.threshold,
            Bound::AtMost => self.value <= self.threshold,
        }
    }
}

/// What is asked of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// That it is a game.
    Become,
    /// That it still may be one.
    Remain,
}

/// Looks at a whole window of a flow.
pub(super) fn look(
    history: &History,
    protocol: Protocol,
    spectrum: &mut Spectrum,
    demand: Demand,
) -> (Features, Missing) {
    let mut features = Features::of(history);
    let mut missing = features.missing(protocol, demand);
    if missing.is_empty() && demand == Demand::Become {
        // The dear one last.
        features.line = spectrum.line(history.window(features.picture));
        missing.note(Missing::RHYTHM, features.line.is_none() && !features.is_even());
    }
    (features, missing)
}

impl Features {
    fn of(history: &History) -> Self {
        let (down, up) = (history.tally(Direction::Down), history.tally(Direction::Up));
        let (picture, shown, answer) = if up.bytes > down.bytes {
            (Direction::Up, up, down)
        } else {
            (Direction::Down, down, up)
        };
        let (busy_spans, variation) = spans(history.window(picture));
        Self {
            picture,
            rate: Bytes::new(shown.bytes) / WINDOW,
            busy_spans,
            variation,
            line: None,
            partial_per_sec: f64::from(shown.partial) / WINDOW_SECS,
            partial_in_three_quarters: history.partial_in_three_epochs(picture),
            partial_share: share(f64::from(shown.partial), f64::from(shown.packets)),
            answers_per_sec: f64::from(answer.packets) / WINDOW_SECS,
            answer_share: share(answer.bytes as f64, shown.bytes as f64),
            answer_size: share(answer.bytes as f64, f64::from(answer.packets)),
        }
    }

    /// What a game needs but for the rhythm: each figure beside its threshold.
    fn asked(&self, protocol: Protocol, demand: Demand) -> [Criterion; 7] {
        let min_rate = match demand {
            Demand::Become => RATE_TO_BECOME,
            Demand::Remain => RATE_TO_REMAIN,
        };
        let min_answer = if protocol == Protocol::Tcp { MAX_ACKNOWLEDGEMENT } else { 0.0 };
        let mbps = |rate: Rate| rate.as_bps() as f64 / 1e6;
        let spans = f64::from(self.busy_spans);
        let (quarter, of_a_quarter) =
            (f64::from(self.partial_in_three_quarters), MIN_PARTIAL_PER_QUARTER.into());
        [
            Criterion::at_least(Missing::RATE, mbps(self.rate), mbps(min_rate), "Mb/s"),
            Criterion::at_least(Missing::CONTINUITY, spans, MIN_BUSY_SPANS.into(), "of 16 spans"),
            Criterion::at_least(Missing::FRAMES, self.partial_per_sec, MIN_PARTIAL_PER_SEC, "/s"),
            Criterion::at_least(Missing::FRAMES, quarter, of_a_quarter, "in three quarters"),
            Criterion::at_least(Missing::ANSWERS, self.answers_per_sec, MIN_ANSWERS_PER_SEC, "/s"),
            Criterion {
                bound: Bound::AtMost,
                ..Criterion::at_least(
                    Missing::ASYMMETRY,
                    self.answer_share,
                    MAX_ANSWER_SHARE,
                    "of the bytes of the picture",
                )
            },
            Criterion {
                bound: if protocol == Protocol::Tcp { Bound::Above } else { Bound::AtLeast },
                ..Criterion::at_least(Missing::INPUTS, self.answer_size, min_answer, "B")
            },
        ]
    }

    /// The rhythm, if it was looked for: the line, or what is even without one.
    fn rhythm(&self) -> Vec<Criterion> {
        let one =
            |value, threshold, unit| Criterion::at_least(Missing::RHYTHM, value, threshold, unit);
        match self.line {
            Some(hertz) => vec![one(hertz, FIRST_FRAME_HZ, "Hz")],
            None => vec![
                Criterion {
                    bound: Bound::AtMost,
                    ..one(self.variation, MAX_VARIATION, "variation of 64 ms")
                },
                one(self.partial_share, EVEN_PARTIAL_SHARE, "of packets not full"),
            ],
        }
    }

    /// Each figure beside its threshold, in the order of the module's table but for the rhythm, which is last.
    #[must_use]
    pub fn reasons(&self, protocol: Protocol, demand: Demand) -> Vec<Criterion> {
        let asked = self.asked(protocol, demand);
        let is_looked_for = demand == Demand::Become && asked.iter().all(Criterion::holds);
        let rhythm = if is_looked_for { self.rhythm() } else { Vec::new() };
        let is_said = |one: &Criterion| one.threshold > 0.0;
        asked.into_iter().filter(is_said).chain(rhythm).collect()
    }

    fn missing(&self, protocol: Protocol, demand: Demand) -> Missing {
        let mut missing = Missing::default();
        for one in self.asked(protocol, demand) {
            missing.note(one.what, !one.holds());
        }
        missing
    }

    /// Whether a picture may be paced so evenly that no frame is seen. A congestion window that is always full paces, too:
    /// what waits leaves by acknowledgements, and its rate is the link's share.
    fn is_even(&self) -> bool {
        self.variation <= MAX_VARIATION && self.partial_share >= EVEN_PARTIAL_SHARE
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// How many spans have data, and how much they vary.
fn spans(window: impl Iterator<Item = u32>) -> (u32, f64) {
    let mut spans = [0.0_f64; SPANS];
    for (bin, bytes) in window.enumerate() {
        spans[bin / BINS_PER_SPAN] += f64::from(bytes);
    }
    let busy = spans.iter().filter(|bytes| **bytes > 0.0).count();
    let mean = spans.iter().sum::<f64>() / SPANS as f64;
    let squares = spans.iter().map(|bytes| (bytes - mean) * (bytes - mean)).sum::<f64>();
    (busy as u32, share(libm::sqrt(squares / SPANS as f64), mean))
}

#[cfg(test)]
mod tests;
