//! A ping: the client asks at regular times, the reply meets the bottleneck queue.

use crate::flow::FlowEnds;
use crate::packet::{Content, PING_SIZE, Packet};
use gameway_events::{PingRecord, RunEvent};
use gameway_experiment::Recorder;
use gameway_path::FlowId;
use gameway_units::{Duration, Instant};
use std::collections::VecDeque;

/// See the module's head.
pub struct Ping {
    flow: FlowId,
    interval: Duration,
    next: Instant,
    number: u64,
    /// The request that leaves now.
    request: Option<u64>,
    replies: VecDeque<u64>,
    /// When requests left, beginning with number `oldest`; nothing for one whose fate is known.
    open: VecDeque<Option<Instant>>,
    oldest: u64,
}

impl Ping {
    /// A ping whose first request leaves at `first`.
    pub fn new(flow: FlowId, interval: Duration, first: Instant) -> Self {
        Self {
            flow,
            interval,
            next: first,
            number: 0,
            request: None,
            replies: VecDeque::new(),
            open: VecDeque::new(),
            oldest: 0,
        }
    }

    /// Writes the fate of a request. A reply that the queue drops overtakes those that wait in it.
    fn settle(&mut self, number: u64, arrived: Option<Instant>, log: &mut Recorder) {
        // Nothing is open of one whose copy has come already.
        let place = number.checked_sub(self.oldest);
        let open = place.and_then(|place| self.open.get_mut(place as usize));
        let Some(sent) = open.and_then(Option::take) else { return };
        while self.open.front().is_some_and(Option::is_none) {
            self.open.pop_front();
            self.oldest += 1;
        }
        let rtt_ns = arrived.map(|now| (now - sent).as_nanos());
        log.tell(RunEvent::Ping(PingRecord { sent_ns: sent.as_nanos(), rtt_ns }));
    }
}

impl FlowEnds for Ping {
    fn server_deadline(&self) -> Option<Instant> {
        None
    }

    fn on_server_deadline(&mut self, _now: Instant, _log: &mut Recorder) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<Packet> {
        let number = self.replies.pop_front()?;
        Some(Packet::new(self.flow, PING_SIZE, Content::Ping(number)))
    }

    fn on_arrival(&mut self, now: Instant, packet: &Packet, log: &mut Recorder) {
        let Content::Ping(number) = packet.content else { return };
        self.settle(number, Some(now), log)
    }

    fn client_deadline(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn on_client_deadline(&mut self, now: Instant, _log: &mut Recorder) {
        self.open.push_back(Some(now));
        self.request = Some(self.number);
        self.number += 1;
        self.next = now + self.interval;
    }

    fn poll_return(&mut self, _now: Instant) -> Option<Packet> {
        let number = self.request.take()?;
        Some(Packet::back(self.flow, PING_SIZE, Content::Ping(number)))
    }

    fn on_return(&mut self, _now: Instant, packet: &Packet, _log: &mut Recorder) {
        // A host answers a copy, too; what becomes of one answer is enough to know.
        if let Content::Ping(number) = packet.content
            && !packet.journey.is_copy
        {
            self.replies.push_back(number);
        }
    }

    fn on_gone(&mut self, packet: &Packet, log: &mut Recorder) {
        let Content::Ping(number) = packet.content else { return };
        self.settle(number, None, log)
    }
}
