//! What leaves next.
//!
//! Source: RFC 9002 sections 6.2.4, 7 and 7.7; RFC 9000 section 13.3 (what is lost is sent again in new packets).

use super::{Sender, State};
use crate::datagram::{ServerContent, ServerDatagram, StreamFrame};
use crate::sent::{Fate, SentPacket};
use gameway_units::{Duration, Ecn, Instant, Rate};

const MAX_IN_FLIGHT: u64 = 32 << 20;
/// Windows per smoothed RTT.
const PACING: f64 = 1.25;
/// How much leaves at once where the congestion control has no rate of its own.
const BURST: gameway_tcp::Burst =
    gameway_tcp::Burst { time: Duration::from_millis(2), min_segments: 10 };

/// Datagrams that leave together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Burst {
    at: Instant,
    left: u32,
}

/// What keeps the sender from sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    CongestionWindow,
    Application,
    Pacing,
}

impl Sender {
    /// Hands over the next datagram that may leave now, if any: call until `None`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<ServerDatagram> {
        if std::mem::take(&mut self.pending_handshake) {
            return Some(self.send_handshake(now));
        }
        if self.state != State::Established {
            return None;
        }
        self.timers.paced = None;
        if self.pending_probes > 0 {
            self.pending_probes -= 1;
            if let Some(frame) = self.probe() {
                return Some(self.send(now, frame));
            }
        }
        let Some((frame, is_new)) = self.next_frame() else {
            self.on_blocked(Limit::Application);
            return None;
        };
        let size = u64::from(frame.datagram_size());
        let after = self.packets.in_flight() + size;
        if after > self.window() || after > MAX_IN_FLIGHT {
            let is_application = after > MAX_IN_FLIGHT;
            let limit = if is_application { Limit::Application } else { Limit::CongestionWindow };
            self.on_blocked(limit);
            return None;
        }
        if !self.may_leave(now) {
            self.on_blocked(Limit::Pacing);
            return None;
        }
        self.take(&frame, is_new);
        Some(self.send(now, frame))
    }

    fn send_handshake(&mut self, now: Instant) -> ServerDatagram {
        self.handshakes_sent += 1;
        self.last_sent = now;
        let timeout = self.rtt.handshake_timeout(self.timers.in_a_row);
        self.timers.probe = Some(now.saturating_add(timeout));
        ServerDatagram::handshake()
    }

    /// What comes next, if anything is left, and whether it is new.
    fn next_frame(&mut self) -> Option<(StreamFrame, bool)> {
        while let Some(frame) = self.stream.lost.front() {
            if !self.stream.has_arrived(frame) {
                return Some((*frame, false));
            }
            self.stream.lost.pop_front();
        }
        self.next_new().map(|frame| (frame, true))
    }

    fn next_new(&self) -> Option<StreamFrame> {
        let offset = self.stream.next;
        let room = u64::from(StreamFrame::room(self.config.max_datagram_size, offset));
        let left = self.stream.end.map_or(u64::MAX, |end| end.saturating_sub(offset));
        let length = room.min(left);
        let fin = self.stream.end == Some(offset + length);
        let is_something = length > 0 || (fin && !self.stream.fin_sent);
        is_something.then_some(StreamFrame { offset, length: length as u32, fin })
    }

    /// Takes it from what is to be sent.
    fn take(&mut self, frame: &StreamFrame, is_new: bool) {
        if is_new {
            self.stream.next = frame.end();
            self.stream.fin_sent |= frame.fin;
        } else {
            self.stream.lost.pop_front();
            self.stats.retransmissions += 1;
        }
    }

    /// What a probe carries: what is lost or new, else what has been out for longest.
    fn probe(&mut self) -> Option<StreamFrame> {
        if let Some((frame, is_new)) = self.next_frame() {
            self.take(&frame, is_new);
            return Some(frame);
        }
        // Of two probes the second is for what is second.
        let is_second = self.pending_probes == 0;
        let frames = self.packets.outstanding().map(|packet| packet.frame);
        let mut missing = frames.filter(|frame| !self.stream.has_arrived(frame));
        let first = missing.next()?;
        let frame = missing.next().filter(|_| is_second).unwrap_or(first);
        self.stats.retransmissions += 1;
        Some(frame)
    }

    /// Whether the pacer lets the next datagram leave.
    fn may_leave(&mut self, now: Instant) -> bool {
        if self.burst.at == now && self.burst.left > 0 {
            return true;
        }
        let Some(rate) = self.pacing_rate() else { return true };
        if now < self.pacer.next() {
            self.timers.paced = Some(self.pacer.next());
            return false;
        }
        let is_own = self.congestion.pacing_rate().is_some();
        let burst = if is_own { self.congestion.burst() } else { BURST };
        let left = burst.segments(rate, self.config.max_datagram_size, None);
        self.burst = Burst { at: now, left };
        self.pacer.on_burst(now, left);
        true
    }

    /// Section 7.7.
    pub(super) fn rate_of_window(&self) -> Option<Rate> {
        let rtt = self.rtt.smoothed()?.as_secs_f64().max(1e-6);
        Some(Rate::from_bps_f64(PACING * 8.0 * self.window() as f64 / rtt))
    }

    /// Notes why sending stops for now: for the growth of the window, and for samples of the rate.
    fn on_blocked(&mut self, limit: Limit) {
        // Section 7.8: a window that pacing keeps from being full is not underutilized.
        let is_used = limit != Limit::Application;
        let in_flight = self.packets.in_flight();
        self.usage.update(is_used, in_flight, self.acknowledged_bytes, self.sent_bytes);
        if limit == Limit::Application {
            self.rate.on_app_limited(in_flight);
        }
    }

    /// Accounts for a packet with this frame, and makes its datagram.
    fn send(&mut self, now: Instant, frame: StreamFrame) -> ServerDatagram {
        let (size, number) = (frame.datagram_size(), self.packets.next_number());
        let in_flight = self.packets.in_flight();
        let after = in_flight + u64::from(size);
        let snapshot = self.rate.on_send(now, in_flight == 0, after, self.lost_bytes);
        self.sent_bytes += u64::from(size);
        let ecn = if self.stats.ecn { self.congestion.codepoint() } else { Ecn::NotEct };
        self.packets.push(SentPacket {
            number,
            sent: now,
            size,
            frame,
            snapshot,
            sent_bytes: self.sent_bytes,
            is_ecn_capable: ecn.is_capable(),
            fate: Fate::Outstanding,
        });
        self.pacer.on_sent(size, self.pacing_rate());
        self.burst.left = self.burst.left.saturating_sub(1);
        self.last_sent = now;
        self.stats.packets_sent += 1;
        self.arm(now);
        let acknowledged = self.to_acknowledge.take();
        let content = ServerContent::Packet { number, frame, acknowledged };
        ServerDatagram { size, ecn, spin: self.spin, content }
    }
}
