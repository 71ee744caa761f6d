//! Which segment leaves next.

use super::{Sender, State, TailProbe};
use crate::congestion::Phase;
use crate::record::Record;
use crate::segment::Segment;
use gameway_units::{Duration, Instant, Rate};

/// `tcp_tso_win_divisor`: room for a third of the window is used at once.
const SHARE_NOT_WORTH_WAITING: u64 = 3;
/// A burst waits only behind another that left at most so long ago, and for an ACK that is at most so far.
const NEAR: Duration = Duration::from_millis(1);
/// Linux `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`: windows per smoothed RTT, by which bursts are sized where the
/// congestion control does not pace.
const SLOW_START_RATIO: f64 = 2.0;
const CONGESTION_AVOIDANCE_RATIO: f64 = 1.2;

/// Segments that are handed down together: the rest of them leaves now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Departing {
    at: Instant,
    left: u32,
    retransmission: bool,
    /// New data of more than one segment: the last has PSH.
    pushes: bool,
    /// The last is cut at the end of the receiver's window.
    ends_cut: bool,
}

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
        if self.departing.at != now {
            self.departing = Departing::default();
        }
        let choice = self.choose();
        if let Choice::Wait(limit) = choice {
            self.on_blocked(now, limit);
            return None;
        }
        let retransmission = matches!(choice, Choice::Retransmission(_));
        if self.departing.left == 0 || self.departing.retransmission != retransmission {
            self.begin_burst(now, retransmission)?;
        }
        match choice {
            Choice::Retransmission(number) => self.retransmit(now, number),
            Choice::Data(length) => Some(self.send_new(now, length, false)),
            Choice::Fin => Some(self.send_new(now, 1, true)),
            Choice::Wait(_) => None,
        }
    }

    /// Lets the next burst leave, unless it has to wait.
    fn begin_burst(&mut self, now: Instant, retransmission: bool) -> Option<()> {
        if self.congestion.pacing_rate().is_some() && now < self.pacer.next() {
            self.timers.paced = Some(self.pacer.next());
            self.on_blocked(now, Limit::Pacing);
            return None;
        }
        let whole = self.whole_burst();
        let segment_size = u64::from(self.config.segment_size);
        let announced = self.right_edge.saturating_sub(self.next);
        let allowed = self.window().saturating_sub(self.board.in_flight());
        let room = allowed.min(announced) / segment_size;
        let written = self.writer.written().saturating_sub(self.next).div_ceil(segment_size);
        let is_part = room < u64::from(whole) && written >= u64::from(whole);
        if is_part && !retransmission && self.waits_for_whole_burst(now, room) {
            let receiver = announced < allowed;
            let limit = if receiver { Limit::ReceiveWindow } else { Limit::CongestionWindow };
            self.on_blocked(now, limit);
            return None;
        }
        let ends_cut = !retransmission
            && (1..u64::from(whole)).contains(&room)
            && room < written
            && room < allowed / segment_size
            && self.may_cut_segment(announced);
        let fits = room.min(written).max(1) as u32 + u32::from(ends_cut);
        let left = if retransmission { whole } else { whole.min(fits) };
        let pushes = !retransmission && left > 1;
        self.departing = Departing { at: now, left, retransmission, pushes, ends_cut };
        self.pacer.on_burst(now, left);
        Some(())
    }

    /// Segments of a whole burst now.
    fn whole_burst(&self) -> u32 {
        let rate = self.congestion.pacing_rate().unwrap_or_else(|| self.rate_of_window());
        let segment_size = self.config.segment_size;
        self.congestion.burst().segments(rate, segment_size, self.rtt.minimum())
    }

    /// Linux `tcp_update_pacing_rate`.
    fn rate_of_window(&self) -> Rate {
        let (cwnd, threshold) = (self.congestion.cwnd(), self.congestion.ssthresh());
        let slow_start = cwnd.get() < threshold.get() / 2;
        let ratio = if slow_start { SLOW_START_RATIO } else { CONGESTION_AVOIDANCE_RATIO };
        let bits = 8.0 * cwnd.get().max(self.board.outstanding()) as f64;
        let rtt = self.rtt.smoothed().unwrap_or(NEAR).as_secs_f64();
        Rate::from_bps_f64(ratio * bits / rtt)
    }

    /// Linux `tcp_tso_should_defer` (since 6.18): where the window has room for a part of a burst only, and an ACK
    /// will very soon make more, the burst waits for it. So bursts stay whole, and ACKs of two segments meet them.
    fn waits_for_whole_burst(&self, now: Instant, room: u64) -> bool {
        let (Some(oldest), Some(rtt)) = (self.board.oldest_sent(), self.rtt.smoothed()) else {
            return false;
        };
        let announced = self.right_edge.saturating_sub(self.acknowledged);
        let window = self.window().min(announced) / u64::from(self.config.segment_size);
        let is_small = SHARE_NOT_WORTH_WAITING * room < window;
        let wrote_lately = now.saturating_since(self.pacer.next()) <= NEAR;
        let until_ack = oldest.saturating_add(rtt).saturating_since(now);
        self.phase == Phase::Open && is_small && wrote_lately && until_ack <= NEAR.min(rtt / 2)
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
        let is_small = length < full;
        let is_cut = is_small && length < available;
        let ends_burst = self.departing.ends_cut && self.departing.left == 1;
        if length == 0 || (is_cut && !ends_burst && !self.board.is_empty()) {
            // As Linux (`tcp_snd_wnd_test`): a cut segment leaves behind a whole one, or if nothing else is out.
            Choice::Wait(Limit::ReceiveWindow)
        } else if is_small
            && !is_cut
            && !last
            && self.config.is_nagle_on()
            && !self.board.is_empty()
        {
            // RFC 9293 section 3.7.4.
            Choice::Wait(Limit::Application)
        } else {
            Choice::Data(length as u32)
        }
    }

    /// Whether a burst goes on to the end of the receiver's window, which cuts a segment: Linux `tcp_mss_split_point`, by
    /// Minshall's form of Nagle's rule, if no other small segment is outstanding.
    fn may_cut_segment(&self, announced: u64) -> bool {
        let is_cut = !announced.is_multiple_of(u64::from(self.config.segment_size));
        is_cut && (!self.config.is_nagle_on() || self.small_end <= self.acknowledged)
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
        if length < self.config.segment_size {
            self.small_end = self.next;
        }
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
        self.pacer.on_sent(record.length, self.congestion.pacing_rate());
        self.departing.left = self.departing.left.saturating_sub(1);
        self.last_sent = now;
        self.stats.segments_sent += 1;
        let payload = record.length - u32::from(record.fin);
        let mut segment = self.segment(now, record.sequence, payload);
        segment.flags.fin = record.fin;
        let ends_burst = self.departing.pushes && self.departing.left == 0;
        segment.flags.psh = ends_burst || record.end() == self.writer.written();
        segment
    }

    /// RFC 8985 section 7.3: new data if there is any, else the last segment again.
    fn send_tail_probe(&mut self, now: Instant) -> Option<Segment> {
        let last = self.board.last()?;
        self.departing = Departing::default();
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
