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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Packet, Timestamps};

    fn millis(count: i64) -> Duration {
        Duration::from_millis(count)
    }

    fn at(count: i64) -> Instant {
        Instant::ZERO + millis(count)
    }

    /// A ping whose loop takes so long.
    fn ping(front: &mut Front, sent: i64, looped: i64) {
        let (header, echo) = (Header::numbered(9), sent as u32);
        front.on_echo(at(sent), false, header.reversed(), echo);
        front.on_echo(at(sent + looped), true, header, echo);
    }

    /// Pings at 0 and 100 ms have shown a path of 40 ms, and a wait of 20 ms on it in the period that ends at 160 ms.
    fn pinged() -> Front {
        let mut front = Front::default();
        ping(&mut front, 0, 40);
        front.end_period(at(40), None);
        ping(&mut front, 100, 60);
        front.end_period(at(160), None);
        front
    }

    #[test]
    fn a_wait_counts_for_200_ms_and_is_fresh_in_its_period() {
        for (after, counts) in [(0, true), (1, true), (199, true), (200, false)] {
            let mut front = pinged();
            let now = at(160 + after);
            front.end_period(now, None);
            assert_eq!(front.wait(), counts.then_some(millis(20)), "{after} ms");
            assert_eq!(front.wait_source(), counts.then_some(WaitSource::Pings), "{after} ms");
            assert_eq!(front.fresh(now), (after == 0).then_some(millis(20)), "{after} ms");
        }
    }

    #[test]
    fn pings_are_no_connection_and_tell_the_longest_path() {
        let front = pinged();
        assert!(!front.hears_connections(at(160)));
        assert_eq!(front.longest_path(), millis(40));
        assert_eq!(Front::default().longest_path(), Duration::ZERO);
    }

    #[test]
    fn what_is_no_queue_makes_paths_longer_by_what_waits() {
        let mut front = pinged();
        front.lengthen_paths();
        assert_eq!((front.wait(), front.longest_path()), (None, millis(40)));
        ping(&mut front, 200, 65);
        front.end_period(at(265), None);
        assert_eq!((front.wait(), front.longest_path()), (Some(millis(5)), millis(60)));
    }

    #[test]
    fn what_starts_over_forgets_what_waits_and_keeps_paths() {
        let mut front = pinged();
        ping(&mut front, 200, 90);
        front.start_over();
        assert_eq!(front.wait(), None);
        front.end_period(at(300), None);
        assert_eq!(front.wait(), None, "it was told before");
        ping(&mut front, 400, 70);
        front.end_period(at(470), None);
        assert_eq!(front.wait(), Some(millis(30)), "more than the 40 ms of the path");
    }

    /// The home sends, and more than comes to it, so that what a ping waits is on the way out.
    #[test]
    fn what_waits_on_the_way_out_does_not_count() {
        for sends in [false, true] {
            let mut front = pinged();
            let mut ways = Ways::default();
            let ping_out = Packet::new(Header::numbered(9), Bytes::new(84), None);
            ways.on_packet(at(300), false, &ping_out.with_echo(Some(300)));
            let size = Bytes::new(if sends { 12_500 } else { 12_499 });
            let upload = Packet::new(Header::numbered(1), size, None);
            ways.on_packet(at(300), false, &upload);
            ways.end_period(at(400));
            ping(&mut front, 300, 70);
            front.end_period(at(400), Some(&ways));
            assert_eq!(front.wait(), (!sends).then_some(millis(30)), "{size}");
        }
    }

    /// Data of flow 1 or its acknowledgment.
    fn segment(to_home: bool, (value, echo): (u32, u32), number: u32) -> Segment {
        let header = Header::numbered(1);
        Segment {
            sequence: number,
            acknowledgment: number,
            length: if to_home { 1000 } else { 0 },
            timestamps: Some(Timestamps { value, echo }),
            ..Segment::bare_ack(if to_home { header } else { header.reversed() })
        }
    }

    #[test]
    fn a_connection_is_heard_for_200_ms() {
        let mut front = Front::default();
        front.on_segment(at(0), false, &segment(false, (1, 0), 1));
        // No pause is longer than half of the loop.
        front.on_segment(at(20), true, &segment(true, (0, 0), 1));
        front.on_segment(at(40), true, &segment(true, (0, 1), 1));
        assert!(front.hears_connections(at(40)) && front.hears_connections(at(239)));
        assert!(!front.hears_connections(at(240)));
        front.end_period(at(40), None);
        assert_eq!((front.wait(), front.wait_source()), (Some(millis(0)), Some(WaitSource::Tcp)));
    }

    #[test]
    fn behind_the_gateway_a_loop_is_of_data_and_its_acknowledgment() {
        for (is_behind, wait) in [(true, Some(millis(7))), (false, None)] {
            let mut front = if is_behind { Front::behind() } else { Front::default() };
            for (number, (sent, looped)) in (1..).zip([(1000, 2), (1050, 9)]) {
                let (now, stamp) = (at(sent), sent as u32);
                front.on_segment(now, true, &segment(true, (stamp, 0), number));
                let ack = segment(false, (0, stamp), number);
                front.on_segment(at(sent + looped), false, &ack);
                front.end_period(at(sent + looped), None);
            }
            assert_eq!(front.wait(), wait);
        }
    }

    #[test]
    fn datagrams_that_spin_tell_what_waits() {
        let mut front = Front::default();
        let pass = |front: &mut Front, now, to_home, spin| {
            let header = Header::numbered(1);
            let header = if to_home { header } else { header.reversed() };
            let size = Bytes::new(if to_home { 1280 } else { 60 });
            front.on_datagram(at(now), to_home, (&header, size), QuicHeader { spin, datagrams: 1 });
        };
        pass(&mut front, 0, false, None);
        pass(&mut front, 40, true, None);
        pass(&mut front, 40, false, Some(false));
        pass(&mut front, 41, true, Some(false));
        let mut now = 42;
        for turn in 0..3 {
            let spin = turn % 2 == 0;
            for _ in 0..30 {
                pass(&mut front, now, false, Some(spin));
                pass(&mut front, now + 1, true, Some(!spin));
                now += 2;
            }
            pass(&mut front, now, true, Some(spin));
        }
        front.end_period(at(now), None);
        assert_eq!(front.wait(), Some(millis(20)), "loops of 60 ms after a handshake of 40 ms");
        assert_eq!(front.wait_source(), Some(WaitSource::SpinBit));
    }
}
