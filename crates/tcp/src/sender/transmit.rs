//! Which segment leaves next.

use super::{Sender, State, TailProbe};
use crate::congestion::Phase;
use crate::scoreboard::Record;
use crate::segment::Segment;
use gameway_units::{Duration, Instant, Rate};

/// `tcp_tso_win_divisor`: room for a third of the window is used at once.
const SHARE_NOT_WORTH_WAITING: u64 = 3;
/// A burst waits only behind another that left at most so long ago.
const LATELY: Duration = Duration::from_millis(1);

/// The outcome of looking for something to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Retransmission(u64),
    Data(u32),
    Fin,
    Wait(Limit),
}

/// What keeps the sender from sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    CongestionWindow,
    ReceiveWindow,
    Application,
    Pacing,
}

impl Sender {
    /// Hands over the next segment that may leave now, if any: call until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if std::mem::take(&mut self.pending.syn_ack) {
            return Some(self.syn_ack(now));
        }
        if self.state != State::Established {
            return None;
        }
        self.timers.paced = None;
        self.writer.write(now, self.acknowledged);
        if std::mem::take(&mut self.pending.tail_probe) {
            return self.send_tail_probe(now);
        }
        if std::mem::take(&mut self.pending.window_probe) {
            self.stats.window_probes += 1;
            // As Linux: an old, empty segment, which the receiver must answer.
            return Some(self.segment(now, self.acknowledged.saturating_sub(1), 0));
        }
        let choice = self.choose();
        let paced = !matches!(choice, Choice::Wait(_)) && self.congestion.pacing_rate().is_some();
        if paced && !self.pacer.allows(now) {
            self.timers.paced = Some(self.pacer.next());
            self.on_blocked(now, Limit::Pacing);
            return None;
        }
        if paced && matches!(choice, Choice::Data(_)) && self.waits_for_whole_burst(now) {
            self.on_blocked(now, Limit::CongestionWindow);
            return None;
        }
        match choice {
            Choice::Retransmission(number) => self.retransmit(now, number),
            Choice::Data(length) => Some(self.send_new(now, length, false)),
            Choice::Fin => Some(self.send_new(now, 1, true)),
            Choice::Wait(limit) => {
                self.on_blocked(now, limit);
                None
            }
        }
    }

    /// Segments of a burst that begins now.
    fn burst(&self, rate: Rate) -> u32 {
        let segment_size = self.config.segment_size;
        self.congestion.burst().segments(rate, segment_size, self.rtt.minimum())
    }

    /// Linux `tcp_tso_should_defer`: where the window has room for a part of a burst only, and an ACK will soon make
    /// more, the burst waits for it. So bursts stay whole, and ACKs of two segments meet them.
    fn waits_for_whole_burst(&self, now: Instant) -> bool {
        let Some(rate) = self.congestion.pacing_rate() else { return false };
        let (Some(oldest), Some(rtt)) = (self.board.oldest_sent(), self.rtt.smoothed()) else {
            return false;
        };
        let whole = u64::from(self.burst(rate)) * u64::from(self.config.segment_size);
        let window = self.window();
        let room = window.saturating_sub(self.board.in_flight());
        let is_part = room < whole && self.writer.written().saturating_sub(self.next) >= whole;
        let is_small = room < window / SHARE_NOT_WORTH_WAITING;
        let wrote_lately = now.saturating_since(self.pacer.next()) <= LATELY;
        let answer_is_near = oldest.saturating_add(rtt / 2) <= now;
        let in_order = self.phase == Phase::Open && !self.pacer.is_within_burst(now);
        in_order && is_part && is_small && wrote_lately && answer_is_near
    }

    /// NextSeg of RFC 6675, within the windows.
    fn choose(&mut self) -> Choice {
        let room = self.window().saturating_sub(self.board.in_flight());
        if let Some((number, length)) = self.board.next_retransmission() {
            let fits = room >= u64::from(length);
            return if fits {
                Choice::Retransmission(number)
            } else {
                Choice::Wait(Limit::CongestionWindow)
            };
        }
        match self.next_new() {
            Choice::Data(length) if room < u64::from(length) => {
                Choice::Wait(Limit::CongestionWindow)
            }
            Choice::Fin if room == 0 => Choice::Wait(Limit::CongestionWindow),
            choice => choice,
        }
    }

    /// Whether nothing waits behind what is out: a transfer's tail.
    pub(super) fn has_sent_all(&self) -> bool {
        self.next >= self.writer.written()
    }

    /// New data or FIN as the application and the receiver allow.
    fn next_new(&self) -> Choice {
        let full = u64::from(self.config.segment_size);
        let available = self.writer.written().saturating_sub(self.next);
        if available == 0 {
            let fin = self.writer.end() == Some(self.next);
            return if fin { Choice::Fin } else { Choice::Wait(Limit::Application) };
        }
        let announced = self.right_edge.saturating_sub(self.next);
        let length = full.min(available).min(announced);
        let last = self.writer.end() == Some(self.next.saturating_add(length));
        if length == 0 || (length < full && length < available && !self.board.is_empty()) {
            // Silly-window avoidance: a part of a segment only if nothing else is outstanding.
            Choice::Wait(Limit::ReceiveWindow)
        } else if length < full && !last && self.config.is_nagle_on() && !self.board.is_empty() {
            // RFC 9293 section 3.7.4.
            Choice::Wait(Limit::Application)
        } else {
            Choice::Data(length as u32)
        }
    }

    /// Notes why sending stops for now: for window validation, rate samples and the persist timer.
    fn on_blocked(&mut self, now: Instant, limit: Limit) {
        let reached = limit == Limit::CongestionWindow;
        let outstanding = self.board.outstanding();
        self.usage.update(reached, outstanding, self.acknowledged, self.next);
        if limit == Limit::Application {
            self.rate.on_app_limited(self.board.in_flight());
        }
        if limit == Limit::ReceiveWindow && self.board.is_empty() {
            let due = now.saturating_add(self.rtt.timeout());
            self.timers.persist.get_or_insert(due);
        }
    }

    fn retransmit(&mut self, now: Instant, number: u64) -> Option<Segment> {
        let in_flight = self.board.in_flight() + self.board.missing(number);
        let snapshot = self.rate.on_send(now, false, in_flight, self.total_lost);
        let record = self.board.retransmit(number, now, snapshot)?;
        self.stats.retransmissions += 1;
        if self.timers.retransmission.is_none() {
            self.timers.retransmission = Some(now.saturating_add(self.rtt.timeout()));
        }
        Some(self.emit(now, &record))
    }

    fn send_new(&mut self, now: Instant, length: u32, fin: bool) -> Segment {
        let nothing_outstanding = self.board.is_empty();
        if nothing_outstanding && self.rate.is_app_limited() {
            let idle = now.saturating_since(self.last_sent);
            let idle = (idle > self.rtt.timeout()).then_some(idle);
            self.congestion.on_transmit_start(now, idle);
        }
        let in_flight = self.board.in_flight() + u64::from(length);
        let snapshot = self.rate.on_send(now, nothing_outstanding, in_flight, self.total_lost);
        let record = Record::new(self.next, length, fin, now, snapshot);
        self.board.push(record);
        self.next += u64::from(length);
        let mut segment = self.emit(now, &record);
        self.ecn.stamp(&mut segment);
        if self.timers.retransmission.is_none() {
            self.timers.retransmission = Some(now.saturating_add(self.rtt.timeout()));
        }
        self.arm_tail_probe(now);
        segment
    }

    /// Accounts for a record that leaves, and makes its segment.
    fn emit(&mut self, now: Instant, record: &Record) -> Segment {
        self.prr.on_sent(u64::from(record.length));
        let rate = self.congestion.pacing_rate();
        let burst = rate.map_or(1, |rate| self.burst(rate));
        self.pacer.on_sent(now, record.length, rate, burst);
        self.last_sent = now;
        self.stats.segments_sent += 1;
        let payload = record.length - u32::from(record.fin);
        let mut segment = self.segment(now, record.sequence, payload);
        segment.flags.fin = record.fin;
        segment
    }

    /// RFC 8985 section 7.3: new data if there is any, else the last segment again.
    fn send_tail_probe(&mut self, now: Instant) -> Option<Segment> {
        let last = self.board.last()?;
        self.stats.tail_probes += 1;
        let new = self.next_new();
        let segment = match new {
            Choice::Data(length) => self.send_new(now, length, false),
            Choice::Fin => self.send_new(now, 1, true),
            _ => self.retransmit(now, last)?,
        };
        let retransmission = !matches!(new, Choice::Data(_) | Choice::Fin);
        self.tail_probe = Some(TailProbe { end: self.next, sent: now, retransmission });
        self.timers.tail_probe = None;
        Some(segment)
    }
}
