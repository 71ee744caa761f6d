//! The downloading end: connects, and acknowledges what arrives.
//!
//! Source: RFC 9000 section 13.2; RFC 9002 section 6.2.2 (the handshake's time-outs).
//! Model: an ACK leaves after every second packet, or when the first one has waited for the promised delay. It leaves
//! at once where a packet comes out of order, makes a gap, or is marked. An ACK now and then asks for an
//! acknowledgement itself: what the server knows by then is not told again.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | ranges in a frame | 64, the newest | quinn 0.11; section 13.2.3 asks for some limit |
//! | ACKs that ask | every fourth | s2n-quic 1.91; section 13.2.4 names one in a round trip |
//!
//! | Deviation | Why |
//! |---|---|
//! | a copy of a packet is counted among the marks | nothing that was duplicated is marked here |

use crate::ack::{AckFrame, AckPolicy, EcnCounts};
use crate::datagram::{ClientDatagram, ServerContent, ServerDatagram, StreamFrame};
use crate::rtt::RttEstimator;
use gameway_tcp::shared::{RangeSet, Run};
use gameway_units::{Bytes, Duration, Ecn, Instant};
use std::collections::VecDeque;

const MAX_RANGES: usize = 64;
const ACKS_PER_PING: u64 = 4;

/// Options of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverConfig {
    /// When it acknowledges.
    pub acks: AckPolicy,
    /// Whether its spin bit turns.
    pub spin: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The Initial is out.
    Opening,
    /// The server has answered.
    Finishing,
    Open,
}

/// The receiving endpoint.
#[derive(Debug, Clone)]
pub struct Receiver {
    config: ReceiverConfig,
    state: State,
    /// Whether the handshake's present datagram is to leave, when it leaves again, and how often it did.
    pending_handshake: bool,
    handshake_timer: Option<Instant>,
    handshakes_in_a_row: u32,
    /// Packet numbers that arrived, and the largest with its arrival.
    numbers: RangeSet,
    largest: Option<(u64, Instant)>,
    /// Packets that no ACK has told of, when they must be, and whether that is now.
    untold: u32,
    ack_timer: Option<Instant>,
    ack_now: bool,
    marks: EcnCounts,
    next_number: u64,
    /// ACKs that asked for an acknowledgement, each with what it told of.
    asked: VecDeque<(u64, u64)>,
    stream: RangeSet,
    end: Option<u64>,
    spin: bool,
}

impl Receiver {
    /// A receiver that opens a connection as soon as it is polled.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            state: State::Opening,
            pending_handshake: true,
            handshake_timer: None,
            handshakes_in_a_row: 0,
            numbers: RangeSet::default(),
            largest: None,
            untold: 0,
            ack_timer: None,
            ack_now: false,
            marks: EcnCounts::default(),
            next_number: 0,
            asked: VecDeque::new(),
            stream: RangeSet::default(),
            end: None,
            spin: false,
        }
    }

    /// Bytes of the stream that have arrived without a gap.
    #[must_use]
    pub fn received(&self) -> Bytes {
        Bytes::new(self.stream.containing(0).map_or(0, |run| run.1))
    }

    /// Whether all of the stream has arrived.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.received() >= Bytes::new(end))
    }

    /// A datagram of the server has arrived. Then poll.
    pub fn on_datagram(&mut self, now: Instant, datagram: &ServerDatagram) {
        match datagram.content {
            ServerContent::Handshake if self.state != State::Open => {
                self.state = State::Finishing;
                self.pending_handshake = true;
                self.handshakes_in_a_row = 0;
            }
            ServerContent::Handshake => {}
            ServerContent::Packet { number, frame, acknowledged } => {
                self.state = State::Open;
                (self.pending_handshake, self.handshake_timer) = (false, None);
                self.on_packet(now, number, datagram);
                self.on_frame(&frame);
                self.forget(acknowledged);
            }
        }
    }

    fn on_packet(&mut self, now: Instant, number: u64, datagram: &ServerDatagram) {
        let ecn = datagram.ecn;
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.marks.ect0 += 1,
            Ecn::Ect1 => self.marks.ect1 += 1,
            Ecn::Ce => self.marks.ce += 1,
        }
        let expected = self.largest.map_or(0, |(largest, _)| largest + 1);
        if number >= expected {
            self.largest = Some((number, now));
            // RFC 9000 section 17.4: the opposite of what the packet with the largest number had.
            self.spin = self.config.spin && !datagram.spin;
        }
        self.numbers.insert(number, number + 1, |_| {});
        self.untold += 1;
        // Section 13.2.1.
        self.ack_now |= number != expected || ecn == Ecn::Ce;
        self.ack_now |= self.untold >= self.config.acks.packets;
        self.ack_timer.get_or_insert(now.saturating_add(self.config.acks.max_delay));
    }

    fn on_frame(&mut self, frame: &StreamFrame) {
        if frame.length > 0 {
            self.stream.insert(frame.offset, frame.end(), |_| {});
        }
        if frame.fin {
            self.end = Some(frame.end());
        }
    }

    /// Section 13.2.4: the server has heard of what this ACK told.
    fn forget(&mut self, acknowledged: Option<u64>) {
        let Some(acknowledged) = acknowledged else { return };
        while let Some(&(_, largest)) = self.asked.front().filter(|asked| asked.0 <= acknowledged) {
            self.asked.pop_front();
            self.numbers.remove_below(largest);
        }
    }

    /// Hands over the next datagram, if any: call until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<ClientDatagram> {
        if std::mem::take(&mut self.pending_handshake) {
            return Some(self.send_handshake(now));
        }
        std::mem::take(&mut self.ack_now).then(|| self.send_ack(now))
    }

    fn send_handshake(&mut self, now: Instant) -> ClientDatagram {
        let timeout = RttEstimator::new(Duration::ZERO).handshake_timeout(self.handshakes_in_a_row);
        self.handshake_timer = Some(now.saturating_add(timeout));
        if self.state == State::Opening {
            ClientDatagram::initial()
        } else {
            ClientDatagram::finished()
        }
    }

    fn send_ack(&mut self, now: Instant) -> ClientDatagram {
        (self.untold, self.ack_timer) = (0, None);
        let ranges: Vec<Run> = self.numbers.iter().rev().take(MAX_RANGES).collect();
        let (largest, arrived) = self.largest.unwrap_or_default();
        let oldest = ranges.last().map_or(0, |run| run.0);
        self.numbers.remove_below(oldest);
        let number = self.next_number;
        self.next_number += 1;
        let elicits = number % ACKS_PER_PING == ACKS_PER_PING - 1;
        if elicits {
            self.asked.push_back((number, largest));
        }
        let frame = AckFrame::new(ranges, now.saturating_since(arrived), self.marks);
        ClientDatagram::ack(number, frame, elicits).with_spin(self.spin)
    }

    /// When [`Self::on_deadline`] is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        Instant::first_of([self.handshake_timer, self.ack_timer])
    }

    /// Time has passed; harmless when nothing is due. Then poll.
    pub fn on_deadline(&mut self, now: Instant) {
        if self.handshake_timer.is_some_and(|due| now >= due) {
            self.handshake_timer = None;
            self.handshakes_in_a_row += 1;
            self.pending_handshake = true;
        }
        if self.ack_timer.is_some_and(|due| now >= due) {
            self.ack_timer = None;
            self.ack_now = true;
        }
    }
}
