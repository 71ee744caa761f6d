//! The table of TCP connections that pass.
//!
//! Source: RFC 9293 section 3.5 (handshake), RFC 7323 section 2 (scale), RFC 5382 section 5 (how long idle
//! connections are kept).
//! Model: a connection is its two ends; each end's data is a [`Direction`]. The shifts are read off a SYN and
//! the SYN-ACK that answers it; a SYN alone changes nothing, so that a forged one cannot. Scaling is on only
//! if both carry the option; a SYN-ACK whose SYN was missed tells the shift of its own side.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | connections | 1024 | ours: 3 MB; a home has some hundreds |
//! | idle, established | 7440 s | RFC 5382 REQ-5: not less than 2 h 4 min |
//! | idle, closed or not yet open | 240 s | RFC 5382 REQ-5: not less than 4 min |
//!
//! When it is full, a connection on which nothing was both sent and answered goes first, then the one that
//! was silent longest ([`LruMap`]): a flood of bogus segments forgets itself. What is forgotten and comes again is a
//! connection that is first seen in its middle.

use crate::direction::{Direction, Limit, Shift};
use crate::loop_time::Loops;
use crate::lru::LruMap;
use crate::segment::{MAX_SHIFT, Segment};
use gameway_path::{Endpoint, Header};
use gameway_units::{Duration, Instant};

const MAX_CONNECTIONS: usize = 1024;
const ESTABLISHED_IDLE: Duration = Duration::from_secs(7440);
const TRANSITORY_IDLE: Duration = Duration::from_secs(240);

/// A connection by its ends, the lower first.
type Key = [Endpoint; 2];

/// The connection of a header, and which of its ends sends.
fn key_of(header: &Header) -> (Key, usize) {
    let Header { source, destination, .. } = *header;
    if source <= destination { ([source, destination], 0) } else { ([destination, source], 1) }
}

/// A SYN that may be answered.
#[derive(Debug, Clone, Copy)]
struct Opening {
    side: usize,
    sequence: u32,
    scale: Option<u8>,
    at: Instant,
    again: bool,
}

/// A SYN-ACK whose acknowledgment will tell how far away the end that opens is.
#[derive(Debug, Clone, Copy)]
struct Answer {
    side: usize,
    end: u32,
    at: Instant,
}

#[derive(Debug, Clone)]
struct Connection<S> {
    /// The data of each end.
    directions: [Direction<S>; 2],
    opening: Option<Opening>,
    answer: Option<Answer>,
    /// From which sides segments came.
    heard: [bool; 2],
    closed: bool,
    last_seen: Instant,
}

impl<S: Default> Connection<S> {
    fn new(now: Instant, shifts: [Shift; 2], loops: Loops) -> Self {
        Self {
            directions: shifts.map(|shift| Direction::new(shift, loops)),
            opening: None,
            answer: None,
            heard: [false; 2],
            closed: false,
            last_seen: now,
        }
    }

    fn is_established(&self) -> bool {
        self.heard == [true; 2] && !self.closed
    }

    fn on_syn(&mut self, now: Instant, side: usize, segment: &Segment) {
        if !segment.flags.ack {
            let (sequence, scale) = (segment.sequence, segment.window_scale);
            let same = |open: &Opening| open.side == side && open.sequence == sequence;
            let again = self.opening.as_ref().is_some_and(same);
            self.opening = Some(Opening { side, sequence, scale, at: now, again });
            return;
        }
        let answered = |open: &Opening| {
            open.side != side && open.sequence.wrapping_add(1) == segment.acknowledgment
        };
        match self.opening.take_if(|open| answered(open)) {
            Some(opening) => self.on_answer(now, side, segment, &opening),
            // Only where nothing is known: a forged SYN-ACK must not unsettle what runs.
            None if self.heard == [false; 2] => self.restart(now, side, segment, None),
            None => {}
        }
    }

    fn on_answer(&mut self, now: Instant, side: usize, segment: &Segment, opening: &Opening) {
        self.restart(now, side, segment, Some(opening.scale));
        if !opening.again {
            self.directions[side].add_sender_loop(now, now.saturating_since(opening.at));
        }
        self.answer = Some(Answer { side, end: segment.end(), at: now });
    }

    /// A new connection begins with the answer of `side`; `opener`: the option of the SYN, if it was seen.
    fn restart(
        &mut self,
        now: Instant,
        side: usize,
        segment: &Segment,
        opener: Option<Option<u8>>,
    ) {
        let known = |scale: u8| Shift::Known(scale.min(MAX_SHIFT));
        let (own, others) = match (segment.window_scale, opener) {
            (None, _) | (_, Some(None)) => (known(0), known(0)),
            (Some(own), Some(Some(opener))) => (known(own), known(opener)),
            (Some(own), None) => (known(own), Shift::AtLeast(0)),
        };
        // The windows of the side that answers are for the data of the other.
        let shifts = if side == 0 { [others, own] } else { [own, others] };
        *self = Self { heard: [true; 2], ..Self::new(now, shifts, self.directions[0].loops()) };
    }

    /// The first acknowledgment of the SYN-ACK.
    fn on_handshake_ack(&mut self, now: Instant, side: usize, segment: &Segment) {
        let ends = |answer: &Answer| answer.side != side && segment.acknowledgment == answer.end;
        if let Some(answer) = self.answer.take_if(|answer| ends(answer)) {
            self.directions[side].add_sender_loop(now, now.saturating_since(answer.at));
        }
    }
}

/// See the module's head; `S` is what an algorithm keeps for each direction.
#[derive(Debug, Clone)]
pub struct FlowTable<S> {
    connections: LruMap<Key, Connection<S>>,
    loops: Loops,
}

impl<S: Default> Default for FlowTable<S> {
    fn default() -> Self {
        Self::with_capacity(MAX_CONNECTIONS)
    }
}

impl<S: Default> FlowTable<S> {
    /// An empty table for `max` connections, at least one.
    #[must_use]
    pub fn with_capacity(max: usize) -> Self {
        Self { connections: LruMap::new(max), loops: Loops::Smallest }
    }

    /// The same, where the queue that counts stands between the gateway and the senders.
    #[must_use]
    pub fn behind_the_queue(self) -> Self {
        Self { loops: Loops::Last, ..self }
    }

    /// A segment passes, into the gateway's queue or beside it. What it acknowledges is told no more than
    /// `wanted` gives for that data, in bytes. Gives whether the window was changed.
    pub fn pass(
        &mut self,
        now: Instant,
        in_queue: bool,
        segment: &mut Segment,
        wanted: impl FnOnce(&mut Direction<S>) -> Option<u64>,
    ) -> bool {
        let (key, side) = key_of(&segment.header);
        if segment.flags.rst && self.connections.find(&key).is_none() {
            return false;
        }
        let loops = self.loops;
        let new = || Connection::new(now, [Shift::AtLeast(0); 2], loops);
        let place = self.connections.find_or_insert(key, new);
        let connection = self.connections.at(place);
        connection.last_seen = now;
        if segment.flags.syn {
            connection.on_syn(now, side, segment);
        } else {
            connection.heard[side] = true;
            connection.on_handshake_ack(now, side, segment);
        }
        connection.closed |= segment.flags.rst || segment.flags.fin;
        connection.directions[side].on_data(now, segment, in_queue);
        let is_established = connection.is_established();
        self.connections.protect(place, is_established);
        let connection = self.connections.at(place);
        if !segment.flags.ack {
            return false;
        }
        let data = &mut connection.directions[1 - side];
        let wanted = wanted(data);
        data.on_ack(now, segment, wanted)
    }

    /// Forgets connections that have been silent for long.
    pub fn forget_idle(&mut self, now: Instant) {
        self.connections.retain(|_, one| {
            let max = if one.is_established() { ESTABLISHED_IDLE } else { TRANSITORY_IDLE };
            now.saturating_since(one.last_seen) < max
        });
    }

    /// The data of all connections, with the header that it carries.
    pub fn directions(&self) -> impl Iterator<Item = (Header, &Direction<S>)> {
        self.connections.iter().flat_map(|(key, one)| {
            let headers = [header(key[0], key[1]), header(key[1], key[0])];
            headers.into_iter().zip(&one.directions)
        })
    }

    /// The data of all connections.
    pub fn directions_mut(&mut self) -> impl Iterator<Item = &mut Direction<S>> {
        self.connections.values_mut().flat_map(|one| &mut one.directions)
    }

    /// Tells what senders may be told, of those for which `wanted` gives something.
    pub fn limits(
        &self,
        wanted: impl Fn(&Direction<S>) -> Option<u64>,
        tell: &mut dyn FnMut(Limit),
    ) {
        for (header, data) in self.directions() {
            wanted(data).and_then(|wanted| data.limit(header, wanted)).map(&mut *tell);
        }
    }

    /// How many connections it knows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether it knows none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }
}

fn header(source: Endpoint, destination: Endpoint) -> Header {
    let (protocol, dscp) = (gameway_path::Protocol::Tcp, gameway_path::Dscp::default());
    Header { source, destination, protocol, dscp }
}

#[cfg(test)]
mod tests;
