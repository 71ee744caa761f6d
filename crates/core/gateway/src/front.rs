//! What packets wait in front of the home, remembered for as long as module `ways` says over periods in which nobody can tell.

use crate::ways::{MEMORY, Ways};
use crate::{QuicHeader, RemoteQueue, Segment, WaitSource};
use gameway_path::Header;
use gameway_units::{Bytes, Duration, Instant};

/// See the module's head.
#[derive(Debug, Default)]
pub struct Front {
    queue: RemoteQueue,
    /// The last that a connection could tell, and when.
    wait: Option<(Instant, Duration)>,
}

impl Front {
    /// The same of the queue behind the gateway.
    pub fn behind() -> Self {
        Self { queue: RemoteQueue::behind(), ..Self::default() }
    }

    /// A segment passes, towards the home or from it.
    pub fn on_segment(&mut self, now: Instant, to_home: bool, segment: &Segment) {
        self.queue.on_segment(now, to_home, segment);
    }

    /// An echo request or its reply passes.
    pub fn on_echo(&mut self, now: Instant, to_home: bool, header: Header, echo: u32) {
        self.queue.on_echo(now, to_home, header, echo);
    }

    /// A datagram passes that may be a packet of QUIC.
    pub fn on_datagram(
        &mut self,
        now: Instant,
        to_home: bool,
        seen: (&Header, Bytes),
        quic: QuicHeader,
    ) {
        self.queue.on_datagram(now, to_home, seen, quic);
    }

    /// A period has ended; with `ways` only what of a wait was on the way in counts.
    pub fn end_period(&mut self, now: Instant, ways: Option<&Ways>) {
        let on_the_way_in = |wait| ways.map_or(Some(wait), |ways| ways.on_the_way_in(wait));
        if let Some(wait) = self.queue.take_wait().and_then(on_the_way_in) {
            self.wait = Some((now, wait));
        }
        self.wait = self.wait.filter(|(at, _)| now.saturating_since(*at) < MEMORY);
    }

    /// How long packets waited in the last period; `None`: no connection could tell for 200 ms.
    pub fn wait(&self) -> Option<Duration> {
        self.wait.map(|(_, wait)| wait)
    }

    /// What told that.
    pub fn wait_source(&self) -> Option<WaitSource> {
        self.wait.map(|_| self.queue.wait_source())
    }

    /// The same if a connection could tell in the period that has just ended.
    pub fn fresh(&self, now: Instant) -> Option<Duration> {
        self.wait.filter(|(at, _)| *at == now).map(|(_, wait)| wait)
    }

    /// Whether a connection of TCP told in the last 200 ms.
    pub fn hears_connections(&self, now: Instant) -> bool {
        self.queue.told().is_some_and(|told| now.saturating_since(told) < MEMORY)
    }

    /// The longest way to a server and back without what waits.
    pub fn longest_path(&self) -> Duration {
        self.queue.longest_path().unwrap_or_default()
    }

    /// What waits is no queue: paths are longer than they were.
    pub fn lengthen_paths(&mut self) {
        self.queue.lengthen_paths(self.wait().unwrap_or_default());
        self.wait = None;
    }

    /// What was seen lately says nothing any more; what paths are like stays.
    pub fn start_over(&mut self) {
        self.queue.take_wait();
        self.wait = None;
    }
}
