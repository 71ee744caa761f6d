//! Mode `windows` of a home's gateway: VoAP on both queues that it sees, its own and the one in front of the home.
//!
//! Source: VoAP as in [`crate::Voap`]; the queue in front of the home as in [`crate::RemoteQueue`].
//! Model: the delay that steers the windows is the longest wait of a period in the gateway's own queue and what packets
//! waited in front of the home in the same period, one after the other.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | period | 20 ms | ours: a sender in slow start doubles its window in an RTT, which may be as short |
//! | memory of a wait in front | 200 ms | ours: a period in which no connection can tell is no empty queue; a connection tells sixteen times an RTT, but not while its sender thinks |
//! | options of VoAP | step "fill", memory 2 s, equal rates, newcomers "admitted" | many downloads, those that come and go, and those of BBR need them: see there |

use crate::algorithm::GatewayAlgorithm;
use crate::{
    Fairness, Gateway, Limit, Newcomers, Observation, Packet, Passage, RemoteQueue, Step, Voap,
    VoapConfig,
};
use gameway_units::declared::{Configuration, OptionError};
use gameway_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const PERIOD: Duration = Duration::from_millis(20);
const WAIT_MEMORY: Duration = Duration::from_millis(200);
const ESTIMATE_MEMORY: Duration = Duration::from_secs(2);

/// What can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WindowsConfig {
    /// windows grow while packets wait less than this time
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub alpha: Duration,
    /// windows shrink while they wait longer than this time, which is not below alpha
    #[schemars(extend("x-min" = "0 s", "x-max" = "1 h"))]
    pub beta: Duration,
    /// how often windows change
    #[schemars(extend("x-min" = "1 ms", "x-max" = "1 h"))]
    pub period: Duration,
}

impl Default for WindowsConfig {
    fn default() -> Self {
        let VoapConfig { alpha, beta, .. } = VoapConfig::default();
        Self { alpha, beta, period: PERIOD }
    }
}

impl Configuration for WindowsConfig {
    const NAME: &'static str = "windows";
    const SUMMARY: &'static str = "VoAP on two queues: the gateway's own, and the provider's, which it reads off the downloads";
    const SOURCE: &'static str =
        "Bujari, Massaro, Palazzi: Vegas over Access Point, section IV; RFC 7323 section 3";

    fn check(&self) -> Result<(), OptionError> {
        self.voap().check()
    }
}

impl WindowsConfig {
    fn voap(self) -> VoapConfig {
        VoapConfig {
            alpha: self.alpha,
            beta: self.beta,
            period: self.period,
            memory: ESTIMATE_MEMORY,
            step: Step::Fill,
            fairness: Fairness::Rates,
            newcomers: Newcomers::Admitted,
            ..VoapConfig::default()
        }
    }
}

impl GatewayAlgorithm for WindowsConfig {
    fn build(self) -> Box<dyn Gateway> {
        Box::new(Windows::new(self))
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct Windows {
    voap: Voap,
    remote: RemoteQueue,
    /// The last that a connection could tell, and when.
    wait: Option<(Instant, Duration)>,
}

impl Windows {
    /// A gateway that has seen nothing yet.
    #[must_use]
    pub fn new(config: WindowsConfig) -> Self {
        Self {
            voap: Voap::new(config.voap()).behind_the_queue(),
            remote: RemoteQueue::default(),
            wait: None,
        }
    }

    /// How long packets waited in front of the home in the last period; `None`: no connection could tell for 200 ms.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.wait.map(|(_, wait)| wait)
    }

    /// Nothing is under control any more, for a driver that saw nothing and wrote no windows for a while; as
    /// [`Voap::start_over`].
    pub fn start_over(&mut self, now: Instant) {
        self.voap.start_over();
        self.voap.end_period(now, Duration::ZERO);
        self.remote.take_wait();
        self.wait = None;
    }
}

impl Gateway for Windows {
    fn on_packet(&mut self, now: Instant, passage: Passage, packet: &mut Packet<'_>) -> bool {
        if let Some(segment) = packet.segment.as_deref() {
            self.remote.on_segment(now, passage == Passage::Queue, segment);
        }
        self.voap.on_packet(now, passage, packet)
    }

    fn on_departure(&mut self, now: Instant, size: Bytes, queueing_delay: Duration) {
        self.voap.on_departure(now, size, queueing_delay);
    }

    fn next_deadline(&self) -> Instant {
        self.voap.next_deadline()
    }

    fn on_deadline(&mut self, now: Instant, oldest: Option<Instant>) {
        if now < self.next_deadline() {
            return;
        }
        if let Some(wait) = self.remote.take_wait() {
            self.wait = Some((now, wait));
        }
        self.wait = self.wait.filter(|(at, _)| now.saturating_since(*at) < WAIT_MEMORY);
        let own = self.voap.longest_wait(now, oldest);
        self.voap.end_period(now, own.saturating_add(self.wait().unwrap_or_default()));
        if self.voap.take_refuted() {
            self.remote.lengthen_paths(self.wait().unwrap_or_default());
            self.wait = None;
        }
    }

    fn limits(&self, tell: &mut dyn FnMut(Limit)) {
        self.voap.limits(tell);
    }

    fn observe(&self, log: &mut dyn FnMut(Observation)) {
        if let Some(wait) = self.wait() {
            log(Observation::new("wait_in_front_ms", wait.as_millis_f64()));
        }
        self.voap.observe(log);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Segment, Timestamps};
    use gameway_path::{Header, Protocol};

    fn at(millis: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A segment of a download: data with an echo, or an acknowledgment with a stamp.
    fn segment(to_home: bool, stamp: u32, sequence: u32) -> Segment {
        let header = Header { protocol: Protocol::Tcp, ..Header::numbered(1) };
        let (length, acknowledgment) = if to_home { (1000, 0) } else { (0, sequence) };
        let (value, echo) = if to_home { (0, stamp) } else { (stamp, 0) };
        Segment {
            header: if to_home { header } else { header.reversed() },
            flags: Flags { ack: true, ..Flags::default() },
            sequence,
            acknowledgment,
            length,
            window: u16::MAX,
            window_scale: None,
            timestamps: Some(Timestamps { value, echo }),
        }
    }

    struct Played {
        gateway: Windows,
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
                    self.gateway.on_departure(at(self.now), Bytes::new(1052), wait);
                }
                if at(self.now) >= self.gateway.next_deadline() {
                    self.gateway.on_deadline(at(self.now), None);
                }
            }
        }
    }

    #[test]
    fn what_waits_in_front_and_in_its_own_queue_adds_up() {
        let gateway = Windows::new(WindowsConfig::default());
        let mut played = Played { gateway, now: 0, sequence: 0 };
        played.round(40, 3);
        assert_eq!(played.gateway.wait(), Some(Duration::ZERO));
        assert_eq!(played.gateway.voap.measured(), Duration::from_millis(3));
        (0..4).for_each(|_| played.round(60, 3));
        assert_eq!(played.gateway.wait(), Some(Duration::from_millis(20)));
        assert_eq!(played.gateway.voap.measured(), Duration::from_millis(23));
        let mut told = Vec::new();
        played.gateway.observe(&mut |one| told.push((one.variable, one.value)));
        assert_eq!(told[..2], [("wait_in_front_ms", 20.0), ("queue_delay_max_ms", 23.0)]);
    }

    #[test]
    fn what_nobody_tells_any_more_is_forgotten() {
        let gateway = Windows::new(WindowsConfig::default());
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

    #[test]
    fn beta_below_alpha_is_refused() {
        let config = WindowsConfig { beta: Duration::from_millis(4), ..WindowsConfig::default() };
        assert!(config.check().is_err());
        assert!(WindowsConfig::default().check().is_ok());
    }
}
