//! QUIC's handshake and spin bit, read at the gateway: how long it takes from here to a server and back.
//!
//! Source: RFC 9000 sections 17.2, 17.3.1 (headers) and 17.4 (spin bit); RFC 9312 sections 3.8.1 and 3.8.2 (what an observer
//! reads, and what misleads it). Who spins: Kunze, Sander and Wehrle, "Does It Spin? On the Adoption and Use of QUIC's Spin Bit",
//! IMC 2023.
//! Model: the client sends the opposite of the bit that it has from the server, the server sends what it has from the client. So
//! the bit turns once in each round trip, and by turns: from the home, from the server with the same value, from the home again.
//! From a turn of the home to that of the server is the way from the gateway to the server and back (a component of the
//! RTT, RFC 9312 section 3.8.2), with what the data waited in front of the home. The other half is the home's own.
//! The first loop is that of the handshake, from the home's first datagram to the server's: it is known before the connection has
//! filled a queue, as its turns may not be.
//!
//! Each end may leave the bit alone, and must in one of 16 connections; then it is constant, or random in each packet (RFC 9000 section
//! 17.4). Most datagrams cannot have turned: those of the home until the server has turned, those of the server until the home has, and
//! for a part of a loop after that. Such a datagram with another value is a stray. Of an end that is random every second one is, of one
//! that spins those that were reordered.
//!
//! A sender that has lost something is silent though it has the other value already, and its turn is late. It answers with the home's
//! spacing: it was silent for as long as the home was before its turn, and late by what it was silent for longer.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | the server cannot have turned yet before | half of the smallest loop has passed | ours: a server may take as long as the path for its first answer; a path that becomes shorter than that is not read any more |
//! | it spins after | 4 turns | ours: two round trips |
//! | and while at most this part of the last 64 datagrams of each end that cannot have turned is strays | an eighth | ours: of a random end so few are in 3e-10 of all cases |
//! | of which there are at least | 16 | ours: of a random end so few are strays in 2e-3 of all cases, and fewer with each that follows |
//! | the home's datagrams before the first answer are of one flight within | 100 ms | ours: it says so again after a second at the earliest (RFC 9002 section 6.2.2), and the answer may be one to the first |
//!
//! | Deviation | Why |
//! |---|---|
//! | clients are at home | a server at home reflects, and turns out of turn; what it sends waits elsewhere |
//! | no packet numbers | they are encrypted (RFC 9001 section 5.4). A loop with a stray in it does not count instead |
//! | a connection is its addresses and ports | several that share them (RFC 9000 section 5.1) turn out of turn, and count as one that does not spin |
//! | a connection whose handshake was not seen says nothing | other protocols have counters there; and its smallest loop may be one with a queue |
//! | the fixed bit is not read | both ends may have random values there (RFC 9287 section 3) |

use gameway_units::{Duration, Instant};

const PARTS_OF_LOOP: i64 = 2;
const MIN_TURNS: u32 = 4;
const MIN_CHECKED: u32 = 16;
const MAX_CHECKED: u32 = u64::BITS;
const STRAY_PART: u32 = 8;
/// Places of the ends.
const HOME: usize = 0;
const SERVER: usize = 1;
const FLIGHT: Duration = Duration::from_millis(100);
const FORM: u8 = 0x80;
const SPIN: u8 = 0x20;

/// What is not encrypted of a QUIC packet's first byte; or of any datagram's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicHeader {
    /// The spin bit; `None`: it is a long header, which has none.
    pub spin: Option<bool>,
    /// How many datagrams of the flow there are since the last that was told, with this one.
    pub datagrams: u32,
}

impl QuicHeader {
    /// Of a datagram whose payload begins with this byte (RFC 9000 sections 17.2 and 17.3.1).
    #[must_use]
    pub const fn read(first: u8, datagrams: u32) -> Self {
        let spin = if first & FORM == 0 { Some(first & SPIN != 0) } else { None };
        Self { spin, datagrams }
    }
}

/// A loop from a turn of the home to the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loop {
    /// When it began.
    pub begun: Instant,
    /// How long it took, and how long without what the server was late.
    pub took: Duration,
    pub sure: Duration,
}

/// Of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Handshake {
    #[default]
    Unseen,
    /// The home's first datagram left then.
    Begun(Instant),
    /// The server has answered it.
    Answered,
    /// It is not known what the server's answer answers.
    Unclear,
}

/// See the module's head: one connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct SpinBit {
    handshake: Handshake,
    /// The values that count, of each end.
    home: Option<bool>,
    server: Option<bool>,
    /// When the last datagram of each passed.
    said: Option<Instant>,
    heard: Option<Instant>,
    /// When the home turned last, and how long after its last datagram.
    turned: Option<(Instant, Duration)>,
    /// Whether there was a stray since.
    is_void: bool,
    /// Of the home and of the server.
    checks: [Checks; 2],
    turns: u32,
}

/// The last datagrams of an end that cannot have turned.
#[derive(Debug, Clone, Copy, Default)]
struct Checks {
    /// Whether they were strays, the newest lowest.
    strays: u64,
    number: u32,
}

impl Checks {
    fn add(&mut self, is_stray: bool) {
        self.strays = self.strays << 1 | u64::from(is_stray);
        self.number = MAX_CHECKED.min(self.number + 1);
    }

    const fn are_passed(self) -> bool {
        self.number >= MIN_CHECKED && self.strays.count_ones() * STRAY_PART <= self.number
    }
}

impl SpinBit {
    /// A datagram of the home with a long header passes.
    pub fn on_home_handshake(&mut self, now: Instant) {
        self.handshake = match self.handshake {
            Handshake::Unseen => Handshake::Begun(now),
            Handshake::Begun(at) if now.saturating_since(at) > FLIGHT => Handshake::Unclear,
            other => other,
        };
    }

    /// A datagram of the server with a long header passes. Gives the loop that ends with it.
    pub fn on_server_handshake(&mut self, now: Instant) -> Option<Duration> {
        let (next, looped) = match self.handshake {
            Handshake::Unseen => (Handshake::Unclear, None),
            Handshake::Begun(at) => (Handshake::Answered, Some(now.saturating_since(at))),
            other => (other, None),
        };
        self.handshake = next;
        looped
    }

    /// A datagram of the home with this bit passes.
    pub fn on_home(&mut self, now: Instant, spin: bool) {
        if self.handshake == Handshake::Unseen {
            self.handshake = Handshake::Unclear;
        }
        let said = self.said.replace(now).unwrap_or(now);
        let Some(known) = self.home else {
            self.home = Some(spin);
            return;
        };
        if self.server != Some(known) {
            self.check(HOME, spin != known);
        } else if spin != known {
            self.turned = Some((now, now.saturating_since(said)));
            (self.home, self.is_void) = (Some(spin), false);
            self.turn();
        }
    }

    /// The same of the server; `smallest` is the smallest loop that is known. Gives a loop that ends with it.
    pub fn on_server(
        &mut self,
        now: Instant,
        spin: bool,
        smallest: Option<Duration>,
    ) -> Option<Loop> {
        if self.handshake == Handshake::Unseen {
            self.handshake = Handshake::Unclear;
        }
        let heard = self.heard.replace(now).unwrap_or(now);
        let Some(known) = self.server else {
            self.server = Some(spin);
            return None;
        };
        let min = smallest.unwrap_or_default() / PARTS_OF_LOOP;
        let is_soon = self.turned.is_some_and(|(turned, _)| now.saturating_since(turned) < min);
        if self.home != Some(!known) || is_soon {
            self.check(SERVER, spin != known);
            return None;
        }
        if spin == known {
            return None;
        }
        self.server = Some(spin);
        self.turn();
        let (begun, silence) = self.turned.take().filter(|_| !self.is_void)?;
        let took = now.saturating_since(begun);
        let late = (now.saturating_since(heard) - silence).max(Duration::ZERO);
        Some(Loop { begun, took, sure: (took - late).max(Duration::ZERO) })
    }

    /// A datagram that cannot have turned is a stray or none.
    fn check(&mut self, end: usize, is_stray: bool) {
        self.checks[end].add(is_stray);
        self.is_void |= is_stray;
    }

    fn turn(&mut self) {
        self.turns = MIN_TURNS.min(self.turns + 1);
    }

    /// Whether it spins, as far as can be told.
    #[must_use]
    pub fn spins(&self) -> bool {
        self.handshake == Handshake::Answered
            && self.turns >= MIN_TURNS
            && self.checks.into_iter().all(Checks::are_passed)
    }
}

#[cfg(test)]
mod tests;
