//! Mode `windows` of a home's gateway: VoAP on both queues that it sees, its own and the one in front of the home.
//!
//! Source: VoAP as in [`crate::Voap`]; the queue in front of the home as in [`crate::RemoteQueue`].
//! Model: the delay that steers the windows is the longest wait of a period in the gateway's own queue and what packets
//! waited in front of the home in the same period, one after the other.
//!
//! | Constant | Value | Origin |
//! |---|---|---|
//! | memory of a wait in front | 1 s | a period in which no connection can tell is no empty queue; after a second of them nothing is downloaded |
//! | options of VoAP | step "fill", memory 2 s, equal rates | many downloads, and those of BBR, need them: see there |

use crate::algorithm::GatewayAlgorithm;
use crate::{
    Fairness, Gateway, Limit, Newcomers, Observation, Packet, Passage, RemoteQueue, Step, Voap,
    VoapConfig,
};
use gameway_units::declared::{Configuration, OptionError};
use gameway_units::{Bytes, Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
        Self { alpha, beta, period: Duration::from_millis(20) }
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

    /// How long packets waited in front of the home in the last period; `None`: no connection could tell for a second.
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
