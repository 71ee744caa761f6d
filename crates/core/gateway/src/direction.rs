//! The data that one end of a connection sends, as the gateway sees it pass: what is in flight, how far away
//! the sender is, and the window that it is told.
//!
//! Source: RFC 9293 section 3.8.6 (window), RFC 7323 section 2 (scale), RFC 5681 section 2 (duplicate
//! acknowledgments).
//!
//! # What a sender had in flight
//! A gateway sees of a flow only what is between itself and the receiver: near the receiver, next to nothing
//! of the window. But it knows what the sender knew: data that arrives now was sent in answer to the
//! acknowledgments that had passed one loop (gateway to sender and back) before. So
//! `in flight at the sender = highest number passed now - acknowledgment passed one loop ago`, and its
//! maximum in a period estimates the congestion window.
//!
//! | Bias of the estimate | What is done |
//! |---|---|
//! | no more than the flow used: an advertised window below the congestion window, or an idle application, hides the rest | a flow that uses all that it is told counts as one that could use more |
//! | holes: acknowledged selectively is not acknowledged; and the window is cut meanwhile | no sample from a retransmission until what was sent before it is acknowledged |
//! | the loop is the smallest of 10 s: a queue between gateway and sender makes it too short, the estimate too small by rate times that queue | none where the gateway is at the bottleneck; where that queue is the one that counts ([`Loops::Last`]), the loop is the last |
//! | the history is coarse | too large by up to a sixteenth of a loop |
//! | the loop was never seen: no handshake, no timestamps | no estimate: the flow is left alone |
//!
//! # The shift of a flow that is first seen in its middle
//! Its windows cannot be read, but a bound can be kept: the least shift under which the sender kept to what
//! it was told. It starts at 0 and rises when data passes that a shift so small would not have allowed. A
//! window written with too small a shift is read as larger than meant, never as smaller: the flow cannot
//! break, and while it uses more than was meant, this raises the bound until it is the truth. Nothing is
//! concluded before all that was under way at first sight is acknowledged, nor within a segment (probes of a
//! closed window). A receiver that shrinks its window at just that time can deceive it.
//!
//! # The window that is written
//! | Rule | Why |
//! |---|---|
//! | never above the receiver's own | it is its buffer |
//! | at least two segments, of 536 bytes or more each, in units of the shift rounded up; beyond that rounded down | an acknowledgment for each two segments; no silly window (RFC 9293 section 3.8.6.2) |
//! | the right edge never moves left of data that has passed | section 3.8.6 lets a window shrink only against advice: what a sender has used stays allowed, so that it may repair it; permission that it has not used is taken back, without which a window of megabytes would bind after seconds |
//! | a duplicate acknowledgment repeats the window of the first | with another window it would not count as duplicate |
//! | nothing on SYN and RST | windows of SYNs are not scaled |

use crate::history::AckHistory;
use crate::loop_time::{LoopTime, Loops, Probe};
use crate::segment::{MAX_SHIFT, Segment, ahead, latest};
use gameway_path::Header;
use gameway_units::{Duration, Instant};

/// The least that a window leaves a flow.
const MIN_SEGMENTS: u64 = 2;
/// Of a connection that has sent little (RFC 9293 section 3.7.1).
const DEFAULT_SEGMENT: u32 = 536;
/// Numbers further apart do not belong together: the largest window (RFC 7323 section 2.3).
const FURTHEST: i32 = 1 << 30;

/// What is known of the shift of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// From the handshake.
    Known(u8),
    /// It has not been less; see the module's head.
    AtLeast(u8),
}

impl Shift {
    /// The shift to write windows with.
    #[must_use]
    pub fn min(self) -> u8 {
        let (Self::Known(shift) | Self::AtLeast(shift)) = self;
        shift
    }
}

/// What a sender may be told, for a driver that writes windows elsewhere by the rules of the module's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limit {
    /// Of the sender's data.
    pub header: Header,
    /// Bytes that the sender is told at most.
    pub wanted: u64,
    /// Bytes that it is told at least.
    pub min: u64,
    /// The number behind all data that has passed.
    pub highest: u32,
    /// Of the windows that its receiver writes.
    pub shift: u8,
}

/// The last acknowledgment that passed.
#[derive(Debug, Clone, Copy)]
struct LastAck {
    acknowledgment: u32,
    receivers: u16,
    written: u16,
}

/// See the module's head; `S` is what an algorithm keeps for it.
#[derive(Debug, Clone)]
pub struct Direction<S> {
    /// What the algorithm keeps.
    pub state: S,
    /// Of the end that receives the data.
    pub(crate) shift: Shift,
    loops: Loops,
    /// The number behind all data that has passed.
    highest: Option<u32>,
    acknowledged: Option<u32>,
    /// Whether all that was under way at first sight is acknowledged, or the first to be so.
    settles_at: Option<u32>,
    settled: bool,
    /// Something was sent again: until this is acknowledged, nothing is in order.
    repairing_until: Option<u32>,
    segment_size: u32,
    last_data: Option<Instant>,
    in_queue: bool,
    estimate: Option<u64>,
    history: AckHistory,
    told: Option<LastAck>,
    sender_loop: LoopTime,
    receiver_loop: LoopTime,
    stamp_probe: Probe,
    last_stamp: Option<u32>,
    data_probe: Probe,
}

impl<S: Default> Direction<S> {
    /// Data of which nothing has been seen.
    pub(crate) fn new(shift: Shift, loops: Loops) -> Self {
        Self {
            state: S::default(),
            shift,
            loops,
            highest: None,
            acknowledged: None,
            settles_at: None,
            settled: false,
            repairing_until: None,
            segment_size: 0,
            last_data: None,
            in_queue: false,
            estimate: None,
            history: AckHistory::default(),
            told: None,
            sender_loop: LoopTime::default(),
            receiver_loop: LoopTime::default(),
            stamp_probe: Probe::default(),
            last_stamp: None,
            data_probe: Probe::default(),
        }
    }
}

impl<S> Direction<S> {
    /// A segment of the sender passes, into the gateway's queue or beside it.
    pub(crate) fn on_data(&mut self, now: Instant, segment: &Segment, in_queue: bool) {
        let end = segment.end();
        let Some(highest) = self.highest else {
            self.highest = Some(end);
            return;
        };
        let step = ahead(end, highest);
        if !(-FURTHEST..FURTHEST).contains(&step) {
            return;
        }
        if segment.length > 0 {
            self.last_data = Some(now);
            self.in_queue = in_queue;
            self.segment_size = self.segment_size.max(segment.length);
        }
        if step > 0 {
            self.on_new_data(now, segment, end);
        } else if segment.length > 0 && self.acknowledged.is_some_and(|acked| ahead(end, acked) > 0)
        {
            self.repairing_until = Some(highest);
            self.data_probe.cancel();
        }
    }

    fn on_new_data(&mut self, now: Instant, segment: &Segment, end: u32) {
        self.highest = Some(end);
        self.settles_at.get_or_insert(end);
        if self.repairing_until.is_none() {
            self.data_probe.start(now, end);
        }
        let echo = segment.timestamps.filter(|_| segment.length > 0).map(|stamps| stamps.echo);
        if let Some(sample) = echo.and_then(|echo| self.stamp_probe.echoed(now, echo)) {
            self.sender_loop.add(now, sample);
        }
        let Some(looped) = self.sender_loop.of(self.loops) else { return };
        let sent_knowing = now.saturating_sub(looped);
        self.bound_shift(end, sent_knowing);
        if self.repairing_until.is_some() {
            return;
        }
        if let Some(acknowledged) = self.history.acknowledged_at(sent_knowing) {
            let in_flight = ahead(end, acknowledged).max(0).unsigned_abs();
            self.estimate = self.estimate.max(Some(u64::from(in_flight)));
        }
    }

    /// Raises the bound of an unknown shift until what was sent was allowed.
    fn bound_shift(&mut self, end: u32, sent_knowing: Instant) {
        let Shift::AtLeast(mut shift) = self.shift else { return };
        let slack = i32::try_from(self.segment_size).unwrap_or(FURTHEST);
        while self.settled && shift < MAX_SHIFT {
            let edge = self.history.furthest_edge(sent_knowing, shift);
            if edge.is_none_or(|edge| ahead(end, edge) <= slack) {
                break;
            }
            shift += 1;
        }
        self.shift = Shift::AtLeast(shift);
    }

    /// An acknowledgment of the receiver passes; it is told no more than `wanted` bytes. Gives whether the
    /// window was changed.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        segment: &mut Segment,
        wanted: Option<u64>,
    ) -> bool {
        let acknowledgment = segment.acknowledgment;
        let step = self.acknowledged.map_or(0, |known| ahead(acknowledgment, known));
        if segment.flags.syn || segment.flags.rst || !(-FURTHEST..FURTHEST).contains(&step) {
            return false;
        }
        self.acknowledged = Some(latest(self.acknowledged, acknowledgment));
        self.repairing_until.take_if(|until| ahead(acknowledgment, *until) >= 0);
        self.settled |= self.settles_at.is_some_and(|at| ahead(acknowledgment, at) >= 0);
        if let Some(sample) = self.data_probe.reached(now, acknowledgment) {
            self.receiver_loop.add(now, sample);
        }
        if let Some(stamps) =
            segment.timestamps.filter(|stamps| self.last_stamp != Some(stamps.value))
        {
            self.last_stamp = Some(stamps.value);
            self.stamp_probe.start(now, stamps.value);
        }
        let receivers = segment.window;
        segment.window = self.window_to_write(segment, wanted).min(receivers);
        self.told = Some(LastAck { acknowledgment, receivers, written: segment.window });
        let looped = self.sender_loop.of(self.loops);
        self.history.record(now, acknowledgment, segment.window, looped);
        segment.window != receivers
    }

    fn window_to_write(&self, segment: &Segment, wanted: Option<u64>) -> u16 {
        let repeated = |told: &LastAck| {
            segment.is_bare_ack()
                && told.acknowledgment == segment.acknowledgment
                && told.receivers == segment.window
        };
        if let Some(told) = self.told.filter(repeated) {
            return told.written;
        }
        let Some(wanted) = wanted else { return segment.window };
        let used = self.highest.map_or(0, |highest| ahead(highest, segment.acknowledgment).max(0));
        let min = u64::from(used.unsigned_abs()).max(self.min_window());
        let shift = self.shift.min();
        let units = (wanted >> shift).max(min.div_ceil(1 << shift)).max(1);
        u16::try_from(units).unwrap_or(u16::MAX)
    }

    /// Bytes that a sender is told at least.
    fn min_window(&self) -> u64 {
        MIN_SEGMENTS * u64::from(self.segment_size.max(DEFAULT_SEGMENT))
    }

    /// What a sender of data with this header may be told; `None` where the shift of its windows is not known.
    pub(crate) fn limit(&self, header: Header, wanted: u64) -> Option<Limit> {
        let Shift::Known(shift) = self.shift else { return None };
        Some(Limit { header, wanted, min: self.min_window(), highest: self.highest?, shift })
    }

    /// A loop from the gateway to the data's sender and back took so long.
    pub(crate) fn add_sender_loop(&mut self, now: Instant, sample: Duration) {
        self.sender_loop.add(now, sample);
    }

    /// Segments passed unseen: data of now does not answer the acknowledgments of before.
    pub(crate) fn start_over(&mut self) {
        self.history = AckHistory::default();
        (self.estimate, self.repairing_until, self.told) = (None, None, None);
        self.data_probe.cancel();
        self.stamp_probe.cancel();
    }

    /// The largest window of data that its sender had in flight since the last call; see the module's head.
    pub fn take_estimate(&mut self) -> Option<u64> {
        self.estimate.take()
    }

    /// What passed last of its data went into the gateway's queue.
    #[must_use]
    pub fn is_in_queue(&self) -> bool {
        self.in_queue
    }

    /// When data passed last.
    #[must_use]
    pub fn last_data(&self) -> Option<Instant> {
        self.last_data
    }

    /// The largest segment so far, bytes of payload.
    #[must_use]
    pub fn segment_size(&self) -> u32 {
        self.segment_size.max(1)
    }

    /// Bytes that have passed and are not acknowledged.
    #[must_use]
    pub fn in_flight_beyond(&self) -> u64 {
        let pair = self.highest.zip(self.acknowledged);
        pair.map_or(0, |(highest, acked)| u64::from(ahead(highest, acked).max(0).unsigned_abs()))
    }

    /// From the gateway to the sender of the data and back, at its smallest.
    #[must_use]
    pub fn sender_loop(&self) -> Option<Duration> {
        self.sender_loop.get()
    }

    /// From the gateway's queue to the receiver of the data and back, at its smallest.
    #[must_use]
    pub fn receiver_loop(&self) -> Option<Duration> {
        self.receiver_loop.get()
    }

    /// From end to end and back when it was seen last, where queues that the gateway does not guard count.
    #[must_use]
    pub(crate) fn last_round(&self) -> Option<Duration> {
        if self.loops != Loops::Last {
            return None;
        }
        Some(self.sender_loop.of(self.loops)? + self.receiver_loop.of(self.loops)?)
    }

    /// Which loop its estimates use.
    pub(crate) fn loops(&self) -> Loops {
        self.loops
    }

    /// What is known of the shift of its windows.
    #[must_use]
    pub fn shift(&self) -> Shift {
        self.shift
    }

    /// What is left of a window when it is written in the units of its shift.
    #[must_use]
    pub fn in_units(&self, window: f64) -> f64 {
        let shift = self.shift.min();
        ((window as u64) >> shift << shift) as f64
    }

    /// The unit in which its windows are written.
    #[must_use]
    pub fn unit(&self) -> u32 {
        1 << self.shift.min()
    }

    /// The window that its sender was told last, in bytes. If the shift is not known, it is a lower bound.
    #[must_use]
    pub fn told(&self) -> Option<u64> {
        self.told.map(|told| u64::from(told.written) << self.shift.min())
    }
}

#[cfg(test)]
mod tests;
