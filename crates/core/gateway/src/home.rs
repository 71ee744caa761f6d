//! A home's gateway: what it knows of the queue in front of the home and of its own, and the two things that it can do about
//! them, in three modes.
//!
//! | Mode | Lowers windows | Sets the rate of its own queue |
//! |---|---|---|
//! | `windows` | by VoAP ([`crate::Voap`]), on what packets wait in both queues, one after the other | |
//! | `shape` | | by module `link_rate`, so that packets wait in its own queue, which knows games from others |
//! | `both` | as `windows` | as `shape` |
//!
//! What of a wait was on the way out is none in front (module `ways`). With a queue for what the home sends, too ([`Gateway::guard_way_out`]), its rate follows the provider's queue on that way (module `way_out`).

use crate::frames::Frames;
use crate::front::Front;
use crate::link_rate::LinkRate;
use crate::modes::{BothConfig, ShapeConfig, WindowsConfig};
use crate::way_out::WayOut;
use crate::ways::Ways;
use crate::{
    Gateway, GatewayAlgorithm, Limit, Observation, Packet, Passage, Target, Voap, WaitSource,
};
use gameway_path::{Header, Protocol};
use gameway_units::{Bytes, Duration, Instant, Rate};

/// See the module's head.
#[derive(Debug)]
pub struct Home {
    front: Front,
    ways: Ways,
    /// What waits behind, where flows have queues of their own: the longest wait of all is not that of a download.
    behind: Option<Front>,
    windows: Option<Voap>,
    /// Where packets may wait for full frames, what is known of these.
    frames: Option<(Frames, WindowsConfig)>,
    shaper: Option<LinkRate>,
    /// The rate of its own queue, if that does not follow.
    fixed_rate: Option<Rate>,
    way_out: Option<WayOut>,
    /// What came from in front in this period.
    came: Bytes,
    period: Duration,
    next: Instant,
}

impl Home {
    fn new(windows: Option<WindowsConfig>, shaper: Option<LinkRate>, period: Duration) -> Self {
        Self {
            front: Front::default(),
            ways: Ways::default(),
            behind: None,
            windows: windows.map(|config| Voap::new(config.voap()).behind_the_queue()),
            frames: windows
                .filter(|config| config.target == Target::Frames)
                .map(|config| (Frames::default(), config)),
            shaper,
            fixed_rate: None,
            way_out: None,
            came: Bytes::ZERO,
            period,
            next: Instant::ZERO + period,
        }
    }

    /// Mode `windows`, and nothing seen yet.
    #[must_use]
    pub fn windows(config: WindowsConfig) -> Self {
        Self::new(Some(config), None, config.period)
    }

    /// Mode `shape`, and nothing seen yet.
    #[must_use]
    pub fn shape(config: ShapeConfig) -> Self {
        Self::new(None, Some(LinkRate::default()), config.period)
    }

    /// Mode `both`, and nothing seen yet.
    #[must_use]
    pub fn both(config: BothConfig) -> Self {
        let mut both = Self::new(Some(config.windows()), Some(LinkRate::default()), config.period);
        both.windows = both.windows.map(Voap::gently);
        both.behind = Some(Front::behind());
        both
    }

    /// The same with its own queue at this rate, if one is given, whatever the link carries.
    #[must_use]
    pub fn at_rate(self, rate: Option<Rate>) -> Self {
        Self { fixed_rate: rate, ..self }
    }

    /// Whether the home sends at a rate at which packets may wait there.
    #[must_use]
    pub fn sends_out(&self) -> bool {
        self.way_out.is_some() && self.ways.sends()
    }

    /// How long packets wait at the provider on their way out; `None`: nothing told for 200 ms.
    #[must_use]
    pub fn wait_out(&self) -> Option<Duration> {
        self.way_out.as_ref().and_then(WayOut::wait)
    }

    /// How long packets waited in front of the home in the last period; `None`: no connection could tell for 200 ms.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        let wait = self.front.wait()?;
        Some(self.shaper.as_ref().map_or(wait, LinkRate::wait))
    }

    /// What told [`Self::wait`].
    #[must_use]
    pub fn wait_source(&self) -> Option<WaitSource> {
        self.front.wait_source()
    }

    /// Whether a connection of TCP told in the last 200 ms what waits in front of the home; else pings tell it alone.
    #[must_use]
    pub fn hears_connections(&self, now: Instant) -> bool {
        self.front.hears_connections(now)
    }

    /// Nothing is under control any more, for a driver that saw nothing and wrote no windows for a while; as
    /// [`Voap::start_over`]. The rate of the shaper stays.
    pub fn start_over(&mut self, now: Instant) {
        if let Some(windows) = &mut self.windows {
            windows.start_over();
            windows.end_period(now, Duration::ZERO, Duration::ZERO);
        }
        self.front.start_over();
        self.ways.start_over();
        if let Some(way_out) = &mut self.way_out {
            way_out.start_over();
        }
        self.came = Bytes::ZERO;
        self.next = now.saturating_add(self.period);
    }
}

/// Packets may wait as long as full frames need, where it is for these that they wait. Gives how long they wait here.
///
/// What is no TCP has frames of its own, and a wait that no window changes. A period in which nothing of TCP left has the
/// wait of the one before.
fn keep_frames_full(
    now: Instant,
    (frames, config): (&mut Frames, WindowsConfig),
    windows: &mut Voap,
    in_front: Duration,
) -> Duration {
    let WindowsConfig { alpha, beta, .. } = config;
    let own = frames.wait(windows.longest_wait(now, None));
    frames.on_period(now, windows.left(), own);
    let (mut min, mut max) = (alpha, beta);
    if own >= in_front {
        let (round, rounds) = frames.band(now, windows.flows());
        (min, max) = (alpha.max(round), beta.max(rounds));
    }
    windows.set_band(min, max);
    own
}

impl Gateway for Home {
    fn on_packet(&mut self, now: Instant, passage: Passage, packet: &mut Packet<'_>) -> bool {
        let to_home = passage == Passage::Queue;
        if to_home {
            self.came = self.came.saturating_add(packet.size);
        }
        self.ways.on_packet(now, to_home, packet);
        if let Some(way_out) = &mut self.way_out {
            way_out.on_packet(now, to_home, packet);
        }
        if let Some(echo) = packet.echo {
            self.front.on_echo(now, to_home, packet.header, echo);
        }
        if let Some(quic) = packet.quic {
            self.front.on_datagram(now, to_home, (&packet.header, packet.size), quic);
        }
        if let Some(segment) = packet.segment.as_deref() {
            self.front.on_segment(now, to_home, segment);
            if let Some(behind) = &mut self.behind {
                behind.on_segment(now, to_home, segment);
            }
        }
        self.windows.as_mut().is_some_and(|windows| windows.on_packet(now, passage, packet))
    }

    fn on_departure(&mut self, now: Instant, size: Bytes, queueing_delay: Duration) {
        if let Some(windows) = &mut self.windows {
            windows.on_departure(now, size, queueing_delay);
        }
    }

    fn on_departure_of(&mut self, now: Instant, header: &Header, size: Bytes, waited: Duration) {
        let counts = self.frames.is_none() || header.protocol == Protocol::Tcp;
        self.on_departure(now, size, if counts { waited } else { Duration::ZERO });
        if let Some((frames, _)) = &mut self.frames {
            frames.departed |= counts;
        }
    }

    fn next_deadline(&self) -> Instant {
        self.next
    }

    fn on_deadline(&mut self, now: Instant, oldest: Option<Instant>) {
        if now < self.next {
            return;
        }
        self.next = now.saturating_add(self.period);
        self.ways.end_period(now);
        self.front.end_period(now, Some(&self.ways));
        let came = std::mem::take(&mut self.came);
        if let Some(way_out) = &mut self.way_out {
            way_out.end_period(now, &self.ways);
        }
        if let Some(shaper) = &mut self.shaper {
            shaper.end_period(now, came, self.front.fresh(now), self.front.longest_path());
        }
        let in_front = self.wait().unwrap_or_default();
        let Some(windows) = &mut self.windows else { return };
        let own = match (&mut self.behind, &mut self.frames) {
            (Some(behind), _) => {
                behind.end_period(now, None);
                // A delayed acknowledgment looks like a wait, at the least window for good. Nothing waits in a shaper without a rate.
                let round = self.front.longest_path();
                let fills = self.shaper.as_ref().is_some_and(|shaper| {
                    let rate = self.fixed_rate.or_else(|| shaper.rate());
                    rate.is_some_and(|rate| shaper.fills(now, rate, round))
                });
                behind.wait().filter(|_| fills).unwrap_or_default()
            }
            (None, Some((frames, config))) => {
                keep_frames_full(now, (frames, *config), windows, in_front)
            }
            (None, None) => windows.longest_wait(now, oldest),
        };
        windows.set_waits_out(self.ways.sends());
        windows.end_period(now, own.saturating_add(in_front), in_front);
        if windows.take_refuted() {
            self.front.lengthen_paths();
        }
    }

    fn limits(&self, tell: &mut dyn FnMut(Limit)) {
        if let Some(windows) = &self.windows {
            windows.limits(tell);
        }
    }

    fn shaped_rate(&self) -> Option<Rate> {
        self.shaper.as_ref().and_then(LinkRate::rate)
    }

    /// Where it shapes.
    fn guard_way_out(&mut self) {
        if self.shapes() {
            self.way_out.get_or_insert_with(WayOut::default);
        }
    }

    fn on_left_home(&mut self, now: Instant, size: Bytes) {
        if let Some(way_out) = &mut self.way_out {
            way_out.on_left(now, size);
        }
    }

    fn shaped_rate_out(&self) -> Option<Rate> {
        self.way_out.as_ref().and_then(WayOut::rate)
    }

    fn shapes(&self) -> bool {
        self.shaper.is_some()
    }

    fn observe(&self, log: &mut dyn FnMut(Observation)) {
        if let Some(wait) = self.wait() {
            log(Observation::new("wait_in_front_ms", wait.as_millis_f64()));
        }
        if let Some(rate) = self.shaped_rate() {
            log(Observation::new("shaped_rate_bps", rate.as_bps_f64()));
        }
        if let Some(wait) = self.wait_out() {
            log(Observation::new("wait_out_ms", wait.as_millis_f64()));
        }
        if let Some(rate) = self.shaped_rate_out() {
            log(Observation::new("shaped_rate_out_bps", rate.as_bps_f64()));
        }
        if let Some(windows) = &self.windows {
            windows.observe(log);
        }
    }
}

impl GatewayAlgorithm for WindowsConfig {
    fn build(self) -> Box<dyn Gateway> {
        Box::new(Home::windows(self))
    }
}

impl GatewayAlgorithm for ShapeConfig {
    fn build(self) -> Box<dyn Gateway> {
        Box::new(Home::shape(self))
    }
}

impl GatewayAlgorithm for BothConfig {
    fn build(self) -> Box<dyn Gateway> {
        Box::new(Home::both(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Segment, Timestamps};

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A segment of a download: data with an echo, or an acknowledgment with a stamp.
    fn segment(to_home: bool, stamp: u32, sequence: u32) -> Segment {
        let header = Header { protocol: Protocol::Tcp, ..Header::numbered(1) };
        let (length, acknowledgment) = if to_home { (1000, 0) } else { (0, sequence) };
        let (value, echo) = if to_home { (0, stamp) } else { (stamp, 0) };
        Segment {
            sequence,
            acknowledgment,
            length,
            window: u16::MAX,
            timestamps: Some(Timestamps { value, echo }),
            ..Segment::bare_ack(if to_home { header } else { header.reversed() })
        }
    }

    fn measured(gateway: &Home) -> Duration {
        gateway.windows.as_ref().map_or(Duration::ZERO, Voap::measured)
    }

    struct Played {
        gateway: Home,
        now: i64,
        sequence: u32,
    }

    impl Played {
        fn pass(&mut self, to_home: bool, stamp: u32) {
            let mut segment = segment(to_home, stamp, self.sequence);
            let passage = if to_home { Passage::Queue } else { Passage::Beside };
            let (header, size) = (segment.header, Bytes::new(1052));
            let mut packet = Packet::new(header, size, Some(&mut segment));
            self.gateway.on_packet(at(self.now), passage, &mut packet);
        }

        /// A round of this length in milliseconds, with data each 5 ms and its own wait in the gateway's queue.
        fn round(&mut self, length: i64, own: i64) {
            let stamp = self.now as u32 + 1;
            self.sequence += 1000;
            self.pass(false, stamp);
            for passed in 1..=length {
                self.now += 1;
                if passed % 5 == 0 {
                    self.sequence += 1000;
                    self.pass(true, if passed == length { stamp } else { 0 });
                    let wait = Duration::from_millis(own);
                    let header = segment(true, 0, 0).header;
                    self.gateway.on_departure_of(at(self.now), &header, Bytes::new(1052), wait);
                }
                if at(self.now) >= self.gateway.next_deadline() {
                    self.gateway.on_deadline(at(self.now), None);
                }
            }
        }
    }

    #[test]
    fn what_waits_in_front_and_in_its_own_queue_adds_up() {
        let gateway = Home::windows(WindowsConfig::default());
        let mut played = Played { gateway, now: 0, sequence: 0 };
        played.round(40, 3);
        assert_eq!(played.gateway.wait(), Some(Duration::ZERO));
        assert_eq!(measured(&played.gateway), Duration::from_millis(3));
        (0..4).for_each(|_| played.round(60, 3));
        assert_eq!(played.gateway.wait(), Some(Duration::from_millis(20)));
        assert_eq!(measured(&played.gateway), Duration::from_millis(23));
        let mut told = Vec::new();
        played.gateway.observe(&mut |one| told.push((one.variable, one.value)));
        assert_eq!(told[..2], [("wait_in_front_ms", 20.0), ("queue_delay_max_ms", 23.0)]);
    }

    /// Where packets wait at home, windows may fill frames; where they wait in front, they may not.
    #[test]
    fn frames_count_where_packets_wait_for_them() {
        let config = WindowsConfig { target: Target::Frames, ..WindowsConfig::default() };
        for (own, expected) in [(8, (6, 15)), (1, (5, 15))] {
            let mut played = Played { gateway: Home::windows(config), now: 0, sequence: 0 };
            played.round(40, own);
            (0..8).for_each(|_| played.round(43, own));
            let band = played.gateway.windows.as_ref().map(Voap::band);
            let millis = Duration::from_millis;
            assert_eq!(band, Some((millis(expected.0), millis(expected.1))), "{own} ms");
        }
    }

    /// At 12.2 MB/s, 64 packets of 1052 B take 5.5 ms.
    #[test]
    fn a_round_of_frames_is_of_what_left_the_queue() {
        let config = WindowsConfig { target: Target::Frames, ..WindowsConfig::default() };
        let mut played = Played { gateway: Home::windows(config), now: 0, sequence: 0 };
        for _ in 0..200 {
            played.now += 20;
            played.sequence += 1000;
            played.pass(true, 0);
            let (header, left) = (segment(true, 0, 0).header, Bytes::new(244_800));
            let wait = Duration::from_millis(8);
            played.gateway.on_departure_of(at(played.now), &header, left, wait);
            played.gateway.on_deadline(at(played.now), None);
        }
        let (min, _) = played.gateway.windows.as_ref().map(Voap::band).expect("it has windows");
        let round = 64.0 * 1_052.0 / (244_800.0 / 0.02) * 1e3;
        assert!((min.as_millis_f64() - round).abs() < 1e-3, "{min} and not {round} ms");
    }

    /// Data comes each 5 ms, 210 kB/s, and from 200 ms on the home answers 20 ms later than before.
    fn measured_behind(rate: Option<Rate>) -> Duration {
        let mut gateway = Home::both(BothConfig::default()).at_rate(rate);
        let pass = |gateway: &mut Home, now, to_home, echo: i64| {
            let mut segment = segment(to_home, 0, 1000 * now as u32 / 5);
            segment.timestamps = Some(Timestamps { value: now as u32, echo: echo.max(0) as u32 });
            let passage = if to_home { Passage::Queue } else { Passage::Beside };
            let header = segment.header;
            let mut packet = Packet::new(header, Bytes::new(1052), Some(&mut segment));
            gateway.on_packet(at(now), passage, &mut packet);
        };
        for now in (5..=400).step_by(5) {
            pass(&mut gateway, now, true, now - 40);
            pass(&mut gateway, now, false, now - if now < 200 { 10 } else { 30 });
            if now % 20 == 0 {
                gateway.on_deadline(at(now), None);
            }
        }
        measured(&gateway)
    }

    /// What comes is nine tenths of 1.87 Mb/s.
    #[test]
    fn a_wait_in_its_own_queue_counts_where_what_comes_fills_its_rate() {
        for (rate, waits) in [(None, 0), (Some(1_850_000), 20), (Some(1_890_000), 0)] {
            let measured = measured_behind(rate.map(Rate::from_bps));
            assert_eq!(measured, Duration::from_millis(waits), "{rate:?}");
        }
    }

    /// Datagrams wait in frames of their own, which no window makes shorter.
    #[test]
    fn with_frames_as_target_the_waits_of_datagrams_do_not_count() {
        for (target, expected) in [(Target::Frames, 3), (Target::Time, 40)] {
            let config = WindowsConfig { target, ..WindowsConfig::default() };
            let mut gateway = Home::windows(config);
            let leave = |gateway: &mut Home, millis, protocol, waited| {
                let header = Header { protocol, ..Header::numbered(1) };
                let wait = Duration::from_millis(waited);
                gateway.on_departure_of(at(millis), &header, Bytes::new(1500), wait);
            };
            leave(&mut gateway, 5, Protocol::Tcp, 3);
            leave(&mut gateway, 6, Protocol::Udp, 40);
            gateway.on_deadline(at(20), None);
            assert_eq!(measured(&gateway), Duration::from_millis(expected));
            // Where nothing of TCP left, it waits as before.
            leave(&mut gateway, 25, Protocol::Udp, 40);
            gateway.on_deadline(at(40), None);
            assert_eq!(measured(&gateway), Duration::from_millis(expected));
        }
    }

    #[test]
    fn what_nobody_tells_any_more_is_forgotten() {
        let gateway = Home::windows(WindowsConfig::default());
        let mut played = Played { gateway, now: 0, sequence: 0 };
        played.round(40, 0);
        played.round(60, 0);
        for (after, known) in [(180, true), (220, false)] {
            played.gateway.on_deadline(at(played.now + after), None);
            assert_eq!(played.gateway.wait().is_some(), known, "{after} ms");
        }
        played.now += 240;
        (0..4).for_each(|_| played.round(60, 0));
        played.gateway.on_deadline(at(played.now + 20), None);
        assert_eq!(played.gateway.wait(), Some(Duration::from_millis(20)), "the loop is known");
        played.gateway.start_over(at(played.now));
        assert_eq!(played.gateway.wait(), None);
    }
}
