//! On which of two ways packets waited of which a loop tells: to the home, or from it.
//!
//! Source: ours; RFC 7323 section 5.4 (the clock of stamps, module `one_way`), RFC 792 and RFC 4443 (echo).
//! Model: the loop of a ping waits on both ways. What waits on the way in is told by the clocks of servers, of which each segment to the home has
//! a stamp, data or not: `wait out = loop - smallest loop - wait in`. While the home sends little, all of it was on the way in.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | connections whose clocks are read | 64 | ours: one is enough, each waits in the same queue |
//! | memory of a wait | 200 ms | ours: a period in which no connection can tell is no empty queue; a connection tells sixteen times an RTT, but not while its sender thinks |
//! | the home sends, if it sent in a second, of packets of 500 B or more | 12.5 kB | ours: 100 kb/s, the least rate of a shaper; acknowledgments of a download of 20 Mb/s are more, and smaller |
//!
//! | Deviation | Why |
//! |---|---|
//! | Where no clock tells, what a ping waited counts for the way that has more bytes | a wait on the other way is rare then, and one rate at a time is wrong |
//! | The least wait in of a period counts | a server's own bottleneck and late packets make one longer, nothing makes it shorter |
//! | A clock bounds what waits in while the home sends, and else the loop alone counts | a clock forgets a queue that stands for 10 s (module `one_way`) |
//! | Nothing is done before a ping passes | a loop of TCP is bounded by the clock of its own connection (module `remote_queue`) |

use crate::lru::LruMap;
use crate::one_way::OneWay;
use crate::{Packet, Segment};
use gameway_path::{Endpoint, Header};
use gameway_units::{Bytes, Duration, Instant};

/// For how long a wait that was told counts.
pub const MEMORY: Duration = Duration::from_millis(200);
const MAX_CONNECTIONS: usize = 64;
const SENDS: Bytes = Bytes::new(12_500);
const DATA: Bytes = Bytes::new(500);
const SENDS_SPAN: Duration = Duration::from_secs(1);

/// The bytes of a second.
#[derive(Debug, Default)]
struct Second {
    begun: Instant,
    out: Bytes,
    data: Bytes,
    into: Bytes,
    /// Whether the home sends, and more than comes to it.
    sends: bool,
    sends_more: bool,
}

impl Second {
    fn on_period(&mut self, now: Instant, (out, data): (Bytes, Bytes), into: Bytes) {
        self.out = self.out.saturating_add(out);
        self.data = self.data.saturating_add(data);
        self.into = self.into.saturating_add(into);
        let sends = self.data >= SENDS;
        let sends_more = sends && self.out > self.into;
        let is_over = now.saturating_since(self.begun) >= SENDS_SPAN;
        // What begins is seen at once, and what ends when the second is over.
        self.sends = sends || self.sends && !is_over;
        self.sends_more = sends_more || self.sends_more && !is_over;
        if is_over {
            (self.begun, self.out) = (now, Bytes::ZERO);
            (self.data, self.into) = (Bytes::ZERO, Bytes::ZERO);
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct Ways {
    /// Whether a ping has passed.
    has_pings: bool,
    /// By their ends, outside and at home.
    clocks: LruMap<[Endpoint; 2], OneWay>,
    /// What waited on the way in, by clocks: the least of this period, and what was told last.
    min_in: Option<Duration>,
    told_in: Option<(Instant, Duration)>,
    /// Of this period.
    sent: Bytes,
    sent_data: Bytes,
    came: Bytes,
    second: Second,
}

impl Default for Ways {
    fn default() -> Self {
        Self {
            has_pings: false,
            clocks: LruMap::new(MAX_CONNECTIONS),
            min_in: None,
            told_in: None,
            sent: Bytes::ZERO,
            sent_data: Bytes::ZERO,
            came: Bytes::ZERO,
            second: Second::default(),
        }
    }
}

impl Ways {
    /// Whether the home sends at a rate at which packets may wait.
    pub const fn sends(&self) -> bool {
        self.second.sends
    }

    /// A packet passes, towards the home or from it.
    pub fn on_packet(&mut self, now: Instant, to_home: bool, packet: &Packet<'_>) {
        self.has_pings |= packet.echo.is_some();
        let bytes = if to_home { &mut self.came } else { &mut self.sent };
        *bytes = bytes.saturating_add(packet.size);
        if !to_home && packet.size >= DATA {
            self.sent_data = self.sent_data.saturating_add(packet.size);
        }
        if let Some(segment) = packet.segment.as_deref().filter(|_| to_home && self.has_pings) {
            self.on_segment(now, segment);
        }
    }

    /// A segment to the home passes, data or not.
    fn on_segment(&mut self, now: Instant, segment: &Segment) {
        let Some(stamps) = segment.timestamps else { return };
        let Header { source, destination, .. } = segment.header;
        let place = self.clocks.find_or_insert([source, destination], OneWay::default);
        let waited = self.clocks.at(place).on_data(now, stamps.value);
        self.min_in = self.min_in.into_iter().chain(waited).min();
    }

    /// A period has ended.
    pub fn end_period(&mut self, now: Instant) {
        let sent = (std::mem::take(&mut self.sent), std::mem::take(&mut self.sent_data));
        self.second.on_period(now, sent, std::mem::take(&mut self.came));
        if let Some(min) = self.min_in.take() {
            self.told_in = Some((now, min));
        }
        self.told_in = self.told_in.filter(|(at, _)| now.saturating_since(*at) < MEMORY);
    }

    /// What of a ping's wait was on the way out; `None`: nobody knows.
    pub fn on_the_way_out(&self, looped: Duration) -> Option<Duration> {
        match self.told_in {
            Some((_, into)) => Some((looped - into).max(Duration::ZERO)),
            None => self.second.sends_more.then_some(looped),
        }
    }

    /// What of a loop's wait was on the way in; `None`: nobody knows.
    pub fn on_the_way_in(&self, wait: Duration) -> Option<Duration> {
        match self.told_in {
            _ if !(self.has_pings && self.second.sends) => Some(wait),
            Some((_, into)) => Some(wait.min(into)),
            None => (!self.second.sends_more).then_some(wait),
        }
    }

    /// What was seen lately says nothing any more.
    pub fn start_over(&mut self) {
        (self.min_in, self.told_in) = (None, None);
        (self.sent, self.sent_data, self.came) = (Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
    }
}

#[cfg(test)]
mod tests;
