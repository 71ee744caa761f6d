use super::*;
use crate::{Segment, Timestamps};
use gameway_path::{Header, Protocol};
use std::collections::VecDeque;

const PATH_MS: f64 = 30.0;
const PERIOD_MS: u32 = 20;
const PACKET: f64 = 1500.0;

/// The provider's queue on the way out, as a fluid that uploads fill to the shaper's rate, and a wait on the way in.
struct Provider {
    out: WayOut,
    ways: Ways,
    now_ms: u32,
    /// Bytes per ms, and bytes that wait.
    link: f64,
    waiting: f64,
    into_ms: f64,
    has_clock: bool,
    /// What uploads would send, of the link, and what they sent of a packet.
    sends: f64,
    packet: f64,
    /// When replies arrive, and their numbers; when segments do, and their stamps.
    replies: VecDeque<(f64, u32)>,
    segments: VecDeque<(f64, u32)>,
}

/// The next of those that have arrived.
fn arrived(under_way: &mut VecDeque<(f64, u32)>, time: f64) -> Option<u32> {
    let first = under_way.front().filter(|(at, _)| *at <= time)?.1;
    under_way.pop_front();
    Some(first)
}

impl Provider {
    fn new() -> Self {
        Self {
            out: WayOut::default(),
            ways: Ways::default(),
            now_ms: 0,
            link: 625.0,
            waiting: 0.0,
            into_ms: 0.0,
            has_clock: true,
            sends: 1.5,
            packet: 0.0,
            replies: VecDeque::new(),
            segments: VecDeque::new(),
        }
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Duration::from_millis(i64::from(self.now_ms))
    }

    fn wait_ms(&self) -> f64 {
        self.waiting / self.link
    }

    fn step(&mut self, steered: bool) -> f64 {
        let now = self.now();
        let rate = self.out.rate().filter(|_| steered);
        let shaped = rate.map_or(f64::MAX, |rate| rate.as_bps_f64() / 8e3);
        let sent = shaped.min(self.sends * self.link);
        self.out.on_left(now, Bytes::new(sent as u64));
        self.packet += sent;
        if self.packet >= PACKET {
            let size = Bytes::new(std::mem::take(&mut self.packet) as u64);
            self.ways.on_packet(now, false, &Packet::new(Header::numbered(3), size, None));
        }
        let carried = (self.waiting + sent).min(self.link);
        // A drop-tail queue of 200 ms.
        self.waiting = (self.waiting + sent - carried).min(200.0 * self.link);
        let time = f64::from(self.now_ms);
        if self.now_ms.is_multiple_of(PERIOD_MS) {
            self.echo(now, false, self.now_ms);
            self.replies.push_back((time + PATH_MS + self.wait_ms() + self.into_ms, self.now_ms));
        }
        if self.has_clock && self.now_ms.is_multiple_of(5) {
            self.segments.push_back((time + PATH_MS / 2.0 + self.into_ms, self.now_ms));
        }
        while let Some(number) = arrived(&mut self.replies, time) {
            self.echo(now, true, number);
        }
        while let Some(stamp) = arrived(&mut self.segments, time) {
            self.segment(now, stamp);
        }
        self.now_ms += 1;
        carried / self.link
    }

    fn echo(&mut self, now: Instant, to_home: bool, number: u32) {
        let header = Header { protocol: Protocol::Icmp, ..Header::numbered(1) };
        let header = if to_home { header } else { header.reversed() };
        let packet = Packet::new(header, Bytes::new(84), None).with_echo(Some(number));
        self.ways.on_packet(now, to_home, &packet);
        self.out.on_packet(now, to_home, &packet);
    }

    /// An acknowledgment of an upload, without data.
    fn segment(&mut self, now: Instant, stamp: u32) {
        let mut segment = Segment {
            window: u16::MAX,
            timestamps: Some(Timestamps { value: stamp, echo: 0 }),
            ..Segment::bare_ack(Header { protocol: Protocol::Tcp, ..Header::numbered(2) })
        };
        let header = segment.header;
        self.ways.on_packet(now, true, &Packet::new(header, Bytes::new(52), Some(&mut segment)));
    }

    /// Gives what of a wait in front is on the way in.
    fn end_period(&mut self, in_front: Option<Duration>) -> Option<Duration> {
        let now = self.now();
        self.ways.end_period(now);
        self.out.end_period(now, &self.ways);
        in_front.and_then(|wait| self.ways.on_the_way_in(wait))
    }

    /// Runs `periods` periods. Gives the longest wait on the way out in ms, and the share of the link that was used.
    fn play(&mut self, periods: u32, steered: bool) -> (f64, f64) {
        let (mut longest, mut carried) = (0.0_f64, 0.0);
        for _ in 0..periods * PERIOD_MS {
            carried += self.step(steered);
            longest = longest.max(self.wait_ms());
            if self.now_ms.is_multiple_of(PERIOD_MS) {
                self.end_period(None);
            }
        }
        (longest, carried / f64::from(periods * PERIOD_MS))
    }
}

#[test]
fn an_upload_waits_at_home_and_has_its_link() {
    for has_clock in [true, false] {
        let mut provider = Provider { has_clock, ..Provider::new() };
        provider.play(100, true);
        let (longest, used) = provider.play(400, true);
        assert!((1.0..11.0).contains(&longest), "{has_clock}: {longest} ms");
        assert!((0.95..=1.0).contains(&used), "{has_clock}: {used}");
        // The twin.
        let mut provider = Provider { has_clock, ..Provider::new() };
        provider.play(100, false);
        assert!(provider.play(400, false).0 > 190.0, "nobody listens");
    }
}

#[test]
fn a_link_that_halves_is_followed() {
    let mut provider = Provider::new();
    provider.play(200, true);
    provider.link /= 2.0;
    provider.play(100, true);
    let (longest, used) = provider.play(200, true);
    assert!((1.0..25.0).contains(&longest) && used > 0.95, "{longest} ms, {used}");
}

/// What waits on the way in says nothing of the way out, where a clock tells one from the other.
#[test]
fn a_wait_on_the_way_in_is_none_on_the_way_out() {
    for (has_clock, expected) in [(true, 0.0..4.0), (false, 30.0..60.0)] {
        let mut provider = Provider { has_clock, ..Provider::new() };
        // The upload alone is slower than the link.
        provider.link *= 2.0;
        provider.sends = 0.5;
        let silent = |provider: &mut Provider| {
            provider.step(false);
            if provider.now_ms.is_multiple_of(PERIOD_MS) {
                provider.end_period(None);
            }
            provider.out.wait().map_or(0.0, Duration::as_millis_f64)
        };
        (0..2000).for_each(|_| _ = silent(&mut provider));
        provider.into_ms = 50.0;
        let longest = (0..2000).map(|_| silent(&mut provider)).fold(0.0, f64::max);
        assert!(expected.contains(&longest), "{has_clock}: {longest} ms");
    }
}

/// What loops tell of the queue in front is bounded by the clock while the home sends, and only then.
#[test]
fn what_waits_on_the_way_out_is_none_in_front() {
    let told = Some(Duration::from_millis(40));
    let mut provider = Provider::new();
    assert_eq!(provider.end_period(told), told);
    provider.play(200, false);
    let left = provider.end_period(told);
    assert!(left.is_some_and(|wait| wait <= Duration::from_millis(2)), "{left:?}");
}
