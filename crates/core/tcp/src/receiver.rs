//! The downloading end: opens the connection, puts the stream together, acknowledges.
//!
//! Source: RFC 9293 section 3.10, RFC 5681 section 4.2 (delayed ACKs), RFC 2018 section 4 (SACK),
//! RFC 7323 section 4.3 (timestamps); Linux `tcp_input.c`. Marks: [`crate::ecn`]. The window: [`crate::receive_window`].
//! Which ACKs do not wait: [`crate::quick_acks`].
//! Model: in-order data moves the next expected offset; the rest waits as runs. An ACK leaves at
//! once for a filled gap, a FIN, a mark, more than one full segment, or the end of what was pushed, which the
//! application reads at once; for data out of order as [`crate::sack_compression`] has it; otherwise after the delay. An application that closes before the end resets the connection, and data that still
//! comes is answered by another reset.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | delay of a lone ACK | 40 ms | Linux `TCP_DELACK_MIN`; RFC 9293 allows 500 ms |
//! | time-out of SYN | 1 s, doubled | RFC 6298 section 2.1 |
//!
//! | Deviation | Why |
//! |---|---|
//! | no D-SACK | the sender proves spurious retransmissions by timestamps |
//! | one ACK answers all segments handed in before [`Receiver::poll_transmit`] | as after GRO; poll after each segment for one ACK each |

use crate::ecn::{EcnMode, EcnReceiver};
use crate::quick_acks::QuickAcks;
use crate::ranges::RangeSet;
use crate::receive_window::{ReceiveWindow, WindowTuning};
use crate::rtt::{RtoFloor, RttEstimator};
use crate::sack_compression::SackCompression;
use crate::segment::{Flags, MAXIMUM_SEGMENT_SIZE, SackBlock, SackBlocks, Segment};
use gameway_units::{Bytes, Duration, Instant};

const DELAYED_ACK: Duration = Duration::from_millis(40);
const INITIAL_RTO: Duration = Duration::from_secs(1);
const MAX_RTO: Duration = Duration::from_secs(120);

/// Options of a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// What it announces.
    pub receive_window: ReceiveWindow,
    /// Payload of a full segment.
    pub segment_size: u32,
    /// How long a lone ACK waits.
    pub delayed_ack: Duration,
    /// Which ECN to ask for.
    pub ecn: EcnMode,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            receive_window: ReceiveWindow::Auto,
            segment_size: MAXIMUM_SEGMENT_SIZE,
            delayed_ack: DELAYED_ACK,
            ecn: EcnMode::Off,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The SYN leaves, again and again, until it is answered.
    SynSent {
        due: Instant,
        timeout: Duration,
    },
    Established,
    /// The FIN has arrived and everything before it.
    Finished,
    /// The application has closed it before its end.
    Reset,
}

/// The receiving endpoint.
#[derive(Debug, Clone)]
pub struct Receiver {
    config: ReceiverConfig,
    window: WindowTuning,
    scale: u8,
    state: State,
    next: u64,
    fin: Option<u64>,
    out_of_order: RangeSet,
    out_of_order_bytes: u64,
    recent: SackBlocks,
    reading: bool,
    unread: u64,
    /// Right edge of the window that was announced: it must not move left.
    announced: u64,
    unacknowledged: u64,
    acknowledged: u64,
    ack_now: bool,
    ack_due: Option<Instant>,
    quick_acks: QuickAcks,
    compression: SackCompression,
    timestamp_recent: Instant,
    ecn: EcnReceiver,
    duplicate_bytes: u64,
}

impl Receiver {
    /// A receiver that opens the connection at its first [`Self::poll_transmit`].
    #[must_use]
    pub fn new(config: ReceiverConfig, now: Instant) -> Self {
        Self {
            config,
            window: WindowTuning::new(config.receive_window, config.segment_size),
            scale: config.receive_window.scale(),
            state: State::SynSent { due: now, timeout: INITIAL_RTO },
            next: 0,
            fin: None,
            out_of_order: RangeSet::default(),
            out_of_order_bytes: 0,
            recent: SackBlocks::default(),
            reading: true,
            unread: 0,
            announced: 0,
            unacknowledged: 0,
            acknowledged: 0,
            ack_now: false,
            ack_due: None,
            quick_acks: QuickAcks::new(now, INITIAL_RTO),
            compression: SackCompression::default(),
            timestamp_recent: Instant::ZERO,
            ecn: EcnReceiver::new(config.ecn),
            duplicate_bytes: 0,
        }
    }

    /// A segment from the sender has arrived.
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        if self.state == State::Reset {
            self.ack_now = true;
            return;
        }
        if segment.flags.syn {
            self.on_syn_ack(now, segment);
            return;
        }
        if matches!(self.state, State::SynSent { .. }) {
            return;
        }
        let end = segment.end();
        if segment.sequence <= self.acknowledged {
            self.timestamp_recent = self.timestamp_recent.max(segment.timestamp_value);
        }
        if end <= self.next || segment.sequence >= self.right_edge().max(self.announced) {
            // Old data, a window probe, or outside the window: answered, not taken.
            self.duplicate_bytes += u64::from(segment.length);
            if segment.length > 0 && end <= self.next {
                self.quick_acks.on_old_data();
            }
            self.ack_now = true;
            return;
        }
        // RFC 3168 section 6.1.5: marks of packets outside the window are ignored.
        if self.ecn.on_segment(segment) {
            self.ack_now = true;
            self.quick_acks.on_interaction_over();
        }
        if segment.length >= self.config.segment_size {
            self.compression.on_echo(now, segment.timestamp_echo);
        }
        self.window.on_segment(now, segment.length, segment.timestamp_echo, self.unread == 0);
        self.accept(now, segment, end);
    }

    fn on_syn_ack(&mut self, now: Instant, segment: &Segment) {
        if !segment.flags.ack {
            return;
        }
        let first = matches!(self.state, State::SynSent { .. });
        self.ecn.on_syn_ack(segment, first);
        if first {
            self.state = State::Established;
            self.timestamp_recent = segment.timestamp_value;
            let mut rtt = RttEstimator::new(RtoFloor::default());
            rtt.on_sample(now.saturating_since(segment.timestamp_echo));
            self.quick_acks.on_established(now, rtt.timeout());
            self.window.on_established(now);
        }
        self.ack_now = true;
    }

    fn accept(&mut self, now: Instant, segment: &Segment, end: u64) {
        // A FIN needs no room in the window; data beyond it is cut off.
        let limit = self.right_edge().max(self.announced).saturating_add(1);
        if segment.flags.fin && self.fin.is_none() && end <= limit {
            self.fin = Some(end - 1);
        }
        let end = end.min(limit);
        if segment.sequence >= end {
            self.ack_now = true;
        } else if segment.sequence > self.next {
            self.keep_out_of_order(segment.sequence, end);
            self.acknowledge_out_of_order(now);
        } else {
            self.duplicate_bytes += self.next - segment.sequence;
            self.quick_acks.on_in_order(now);
            self.advance(now, end, segment.flags.psh);
        }
    }

    fn advance(&mut self, now: Instant, end: u64, pushed: bool) {
        let gap_before = !self.out_of_order.is_empty();
        let before = self.next;
        self.next = self.out_of_order.take_front_from(end).unwrap_or(end);
        if gap_before {
            self.out_of_order_bytes = self.out_of_order.iter().map(|run| run.1 - run.0).sum();
        }
        self.unacknowledged += self.next - before;
        self.unread += if self.reading { 0 } else { self.next - before };
        let finished = self.fin.is_some_and(|fin| self.next > fin);
        if finished {
            self.state = State::Finished;
        }
        self.window.on_read(now, self.next - self.unread, self.span_out_of_order());
        let filled = gap_before && self.out_of_order.is_empty();
        let read = pushed && self.unread == 0 && self.quick_acks.answers_pushed();
        self.schedule_ack(now, filled || finished || read);
    }

    fn keep_out_of_order(&mut self, start: u64, end: u64) {
        let mut new = 0;
        let run = self.out_of_order.insert(start, end, |gap| new += gap.1 - gap.0);
        self.duplicate_bytes += (end - start) - new;
        self.out_of_order_bytes += new;
        self.window.on_out_of_order(self.span_out_of_order());
        // RFC 2018 section 4: the block of the newest arrival first, then earlier first blocks.
        let mut blocks = SackBlocks::default();
        blocks.push(SackBlock { start: run.0, end: run.1 });
        for old in self.recent.as_slice() {
            if old.start > run.1 || old.end < run.0 {
                blocks.push(*old);
            }
        }
        self.recent = blocks;
    }

    fn schedule_ack(&mut self, now: Instant, at_once: bool) {
        let more_than_one = self.unacknowledged > u64::from(self.config.segment_size);
        if at_once || more_than_one || self.quick_acks.is_quick() {
            self.ack_now = true;
        } else if !self.out_of_order.is_empty() {
            self.acknowledge_out_of_order(now);
        } else if self.ack_due.is_none() {
            self.ack_due = Some(now.saturating_add(self.config.delayed_ack));
        }
    }

    fn acknowledge_out_of_order(&mut self, now: Instant) {
        self.ack_now |=
            self.quick_acks.is_quick() || self.compression.answers_at_once(now, self.next);
    }

    /// How far behind the next byte in order the last one lies that is here.
    fn span_out_of_order(&self) -> u64 {
        self.out_of_order.iter().next_back().map_or(0, |run| run.1.saturating_sub(self.next))
    }

    /// Right edge of the window that the free buffer allows.
    fn right_edge(&self) -> u64 {
        let free = self.window.free(self.unread, self.out_of_order_bytes);
        self.next.saturating_add(free)
    }

    /// Hands over the next segment to send, if any: call until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if let State::SynSent { due, timeout } = self.state {
            return (now >= due).then(|| self.send_syn(now, timeout));
        }
        self.ack_now.then(|| self.send_ack(now))
    }

    /// The application closes the connection though more may come (RFC 9293 section 3.10.4, ABORT). Then poll.
    pub fn reset(&mut self) {
        let was_open = !matches!(self.state, State::SynSent { .. });
        self.state = State::Reset;
        self.ack_now = was_open;
        self.ack_due = None;
        self.compression.on_ack_sent();
    }

    /// The application sends: the next segment leaves at once and carries its data.
    pub fn on_request(&mut self, now: Instant) {
        self.quick_acks.on_request(now, self.config.delayed_ack);
        self.ack_now = true;
    }

    /// Whether the sender has answered, and the connection is not reset.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::SynSent { .. } | State::Reset)
    }

    fn send_syn(&mut self, now: Instant, timeout: Duration) -> Segment {
        let due = now.saturating_add(timeout);
        self.state = State::SynSent { due, timeout: (timeout * 2).min(MAX_RTO) };
        let window = self.window.first();
        self.announced = window;
        Segment {
            flags: self.ecn.syn_flags(),
            window_scale: self.scale,
            window: u16::try_from(window).unwrap_or(u16::MAX),
            timestamp_value: now,
            ..Segment::default()
        }
    }

    fn send_ack(&mut self, now: Instant) -> Segment {
        self.ack_now = false;
        self.ack_due = None;
        self.compression.on_ack_sent();
        self.unacknowledged = 0;
        self.acknowledged = self.next;
        self.quick_acks.on_ack_sent();
        self.announced = self.announced.max(self.right_edge());
        let window = (self.announced - self.next) >> self.scale;
        let window = u16::try_from(window).unwrap_or(u16::MAX);
        let mut ack = Segment {
            flags: Flags { ack: true, rst: self.state == State::Reset, ..Flags::default() },
            acknowledgment: self.next,
            window,
            sack: self.current_blocks(),
            timestamp_value: now,
            timestamp_echo: self.timestamp_recent,
            ..Segment::default()
        };
        self.ecn.stamp(&mut ack);
        ack
    }

    /// The remembered blocks as they are now: grown, joined, or gone.
    fn current_blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if self.out_of_order.is_empty() {
            self.recent = blocks;
            return blocks;
        }
        for old in self.recent.as_slice() {
            let Some((start, end)) = self.out_of_order.containing(old.start.max(self.next)) else {
                continue;
            };
            let block = SackBlock { start, end };
            if !blocks.as_slice().contains(&block) {
                blocks.push(block);
            }
        }
        self.recent = blocks;
        blocks
    }

    /// When [`Self::on_deadline`] is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        match self.state {
            State::SynSent { due, .. } => Some(due),
            _ => self.ack_due.into_iter().chain(self.compression.due()).min(),
        }
    }

    /// Time has passed; harmless when nothing is due. Then poll.
    pub fn on_deadline(&mut self, now: Instant) {
        let waited = self.ack_due.is_some_and(|due| now >= due);
        if waited {
            self.quick_acks.on_interaction_over();
        }
        if waited || self.compression.due().is_some_and(|due| now >= due) {
            self.ack_now = true;
            self.ack_due = None;
        }
    }

    /// Lets the application read, or stop reading so that the window closes.
    pub fn set_reading(&mut self, reading: bool) {
        self.reading = reading;
        if reading && self.unread > 0 {
            self.unread = 0;
            // RFC 9293 section 3.8.6.2.2: announce a window that has opened by a segment or more.
            let opened = self.right_edge().saturating_sub(self.announced);
            let worthwhile = u64::from(self.config.segment_size);
            let half = self.window.free(0, 0) / 2;
            self.ack_now |= opened >= worthwhile.min(half);
        }
    }

    /// Payload received in order so far.
    #[must_use]
    pub fn received(&self) -> Bytes {
        let fin = u64::from(self.fin.is_some_and(|fin| self.next > fin));
        Bytes::new(self.next - fin)
    }

    /// Payload that arrived again, or outside the window.
    #[must_use]
    pub fn duplicate_bytes(&self) -> Bytes {
        Bytes::new(self.duplicate_bytes)
    }

    /// Whether the FIN and all before it have arrived.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.state == State::Finished
    }
}
