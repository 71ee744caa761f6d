//! Downloads played by hand in front of a gateway: each period a burst of each, all of it acknowledged 10 ms later. So
//! what a flow had in flight is known to the byte.

use crate::{Flags, Gateway, Observation, Packet, Passage, Segment};
use gameway_path::{Header, Protocol};
use gameway_units::{Bytes, Duration, Instant};

pub const MSS: u32 = 1448;
/// From the server to the client of flow 0 and back, 50 ms: to the server 40 ms, to the client 10 ms.
pub const RTT: Duration = Duration::from_millis(50);
/// Of flow 1 it is 150 ms.
const TO_SERVERS: [i64; 3] = [40, 140, 40];
/// In milliseconds, if nothing else is said.
const PERIOD: i64 = 200;
/// So long before the end of a period, in milliseconds.
const BURST_BEFORE: i64 = 50;

fn segment(flow: usize, down: bool) -> Segment {
    let header = Header { protocol: Protocol::Tcp, ..Header::numbered(flow as u16 + 1) };
    Segment { window: u16::MAX, ..Segment::bare_ack(if down { header } else { header.reversed() }) }
}

/// A gateway with some downloads, two if nothing else is said, whose windows count bytes.
pub struct ByHand<G, const FLOWS: usize = 2> {
    pub gateway: G,
    period: i64,
    /// The end of the last period.
    now: i64,
    sent: [u32; FLOWS],
}

impl<G: Gateway, const FLOWS: usize> ByHand<G, FLOWS> {
    /// Both connections have been opened.
    pub fn new(gateway: G) -> Self {
        Self::with_period(gateway, PERIOD)
    }

    /// The same, where the gateway has another period, of so many milliseconds.
    pub fn with_period(gateway: G, period: i64) -> Self {
        let mut by_hand = Self { gateway, period, now: 0, sent: [1; FLOWS] };
        for (flow, to_server) in TO_SERVERS.into_iter().enumerate().take(FLOWS) {
            let window_scale = Some(0);
            let flags = Flags { syn: true, ..Flags::default() };
            by_hand.pass(0, Segment { flags, window_scale, ..segment(flow, false) });
            let flags = Flags { syn: true, ack: true, ..flags };
            let answer = Segment { flags, acknowledgment: 1, window_scale, ..segment(flow, true) };
            by_hand.pass(to_server, answer);
            by_hand.pass(to_server, Segment { acknowledgment: 1, ..segment(flow, false) });
        }
        by_hand
    }

    /// The window of a segment when it has passed.
    fn pass(&mut self, after: i64, mut segment: Segment) -> u16 {
        let now = self.at(after);
        let (header, size) = (segment.header, Bytes::new(u64::from(segment.length) + 52));
        let passage = if segment.length > 0 { Passage::Queue } else { Passage::Beside };
        let packet = &mut Packet::new(header, size, Some(&mut segment));
        self.gateway.on_packet(now, passage, packet);
        segment.window
    }

    /// So long after the last period ended.
    pub fn at(&self, after: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(self.now + after)
    }

    /// A period in which each download has a burst of this number of segments; gives the windows that their servers are told.
    pub fn period(&mut self, bursts: [u32; FLOWS]) -> [u16; FLOWS] {
        let mut told = [u16::MAX; FLOWS];
        for (flow, count) in bursts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            self.send(flow, count);
            told[flow] = self.acknowledge(flow);
        }
        self.end_period();
        told
    }

    /// So long after the last period ended.
    const fn burst_at(&self) -> i64 {
        self.period - BURST_BEFORE
    }

    /// A burst of a download in this period.
    pub fn send(&mut self, flow: usize, count: u32) {
        for _ in 0..count {
            let sequence = self.sent[flow];
            self.pass(self.burst_at(), Segment { sequence, length: MSS, ..segment(flow, true) });
            self.sent[flow] += MSS;
        }
    }

    /// The last segment of a download comes once more.
    pub fn send_again(&mut self, flow: usize) {
        let sequence = self.sent[flow] - MSS;
        self.pass(self.burst_at(), Segment { sequence, length: MSS, ..segment(flow, true) });
    }

    /// All that was sent of a download is acknowledged in this period; gives the window that its server is told.
    pub fn acknowledge(&mut self, flow: usize) -> u16 {
        let acknowledgment = self.sent[flow];
        self.pass(self.burst_at() + 10, Segment { acknowledgment, ..segment(flow, false) })
    }

    pub fn end_period(&mut self) {
        let due = self.at(self.period);
        assert_eq!(self.gateway.next_deadline(), due);
        self.gateway.on_deadline(due, None);
        self.now += self.period;
    }

    /// What it logs: the flow, if it is of one, and the variable with its value.
    pub fn observed(&self) -> Vec<(Option<u16>, &'static str, f64)> {
        let mut all = Vec::new();
        self.gateway.observe(&mut |Observation { flow, variable, value }| {
            let number = |header: Header| {
                let is = |one: &u16| segment(usize::from(*one), true).header == header;
                (0..FLOWS as u16).find(is).expect("of the data, not of what comes back")
            };
            all.push((flow.map(number), variable, value));
        });
        all
    }
}
