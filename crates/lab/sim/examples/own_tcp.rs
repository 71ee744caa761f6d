//! A congestion control of one's own: HighSpeed TCP (RFC 3649), whose large windows grow faster and shrink less than Reno's.

use gameway_sim::{Registry, RunSpec};
use gameway_tcp::{
    AckEvent, CongestionControl, INITIAL_WINDOW_SEGMENTS, Phase, TcpAlgorithm, TimeoutEvent,
};
use gameway_units::declared::Configuration;
use gameway_units::{Bytes, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Far above `high_window` the law would not lower the window any more.
const MIN_DECREASE: f64 = 0.01;

/// What can be set: each field is an option of the congestion control in an experiment file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HighSpeedConfig {
    /// up to a window of so many segments it is as Reno's (Low_Window)
    #[schemars(range(min = 2, max = 10_000))]
    pub low_window: u32,
    /// a window of so many segments (High_Window) is lowered by `high_decrease`
    #[schemars(range(min = 20_000, max = 1_000_000))]
    pub high_window: u32,
    /// share by which a loss lowers a window of `high_window`; one of `low_window` is halved
    #[schemars(range(min = 0.01, max = 0.5))]
    pub high_decrease: f64,
}

impl Default for HighSpeedConfig {
    /// RFC 3649 section 5.
    fn default() -> Self {
        Self { low_window: 38, high_window: 83_000, high_decrease: 0.1 }
    }
}

impl HighSpeedConfig {
    /// By which share a loss lowers a window of so many segments: b(w) of section 5.
    #[must_use]
    pub fn decrease(&self, window: f64) -> f64 {
        let [low, high] = [self.low_window, self.high_window].map(f64::from);
        let window = window.max(low);
        let place = (libm::log(window) - libm::log(low)) / (libm::log(high) - libm::log(low));
        (0.5 + (self.high_decrease - 0.5) * place).max(MIN_DECREASE)
    }

    /// By how many segments a window of so many grows in a round trip: a(w) of section 5, with the response function as
    /// appendix B has it.
    #[must_use]
    pub fn increase(&self, window: f64) -> f64 {
        if window <= f64::from(self.low_window) {
            return 1.0;
        }
        let loss = 1.0 / (12.8 * libm::pow(window, 1.2));
        let decrease = self.decrease(window);
        (window * window * loss * 2.0 * decrease / (2.0 - decrease)).max(1.0)
    }
}

impl Configuration for HighSpeedConfig {
    const NAME: &'static str = "highspeed";
    const SUMMARY: &'static str = "HighSpeed TCP: large windows grow faster and shrink less";
    const SOURCE: &'static str = "RFC 3649";
}

impl TcpAlgorithm for HighSpeedConfig {
    fn build(&self, segment_size: u32, _seed: u64) -> Box<dyn CongestionControl> {
        let (segment_size, cwnd) = (f64::from(segment_size), INITIAL_WINDOW_SEGMENTS as f64);
        let state = State { cwnd, ssthresh: f64::INFINITY };
        Box::new(HighSpeed { config: *self, segment_size, state, before_event: state })
    }
}

/// In segments.
#[derive(Debug, Clone, Copy)]
struct State {
    cwnd: f64,
    ssthresh: f64,
}

#[derive(Debug)]
struct HighSpeed {
    config: HighSpeedConfig,
    segment_size: f64,
    state: State,
    /// What the last congestion event or time-out overwrote.
    before_event: State,
}

impl HighSpeed {
    fn lower_threshold(&mut self) {
        self.before_event = self.state;
        let kept = 1.0 - self.config.decrease(self.state.cwnd);
        self.state.ssthresh = (self.state.cwnd * kept).max(2.0);
    }

    fn bytes(&self, segments: f64) -> Bytes {
        if segments.is_finite() {
            Bytes::from_f64(segments * self.segment_size)
        } else {
            Bytes::MAX
        }
    }
}

impl CongestionControl for HighSpeed {
    fn name(&self) -> &'static str {
        HighSpeedConfig::NAME
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let duplicate = ack.newly_acknowledged == Bytes::ZERO;
        if ack.phase == Phase::Recovery || !ack.cwnd_limited || duplicate {
            return;
        }
        let acknowledged = ack.newly_delivered.as_f64() / self.segment_size;
        self.state.cwnd += if self.state.cwnd < self.state.ssthresh {
            acknowledged.min(2.0)
        } else {
            acknowledged * self.config.increase(self.state.cwnd) / self.state.cwnd
        };
    }

    fn on_congestion_event(&mut self, _now: Instant, _in_flight: Bytes) {
        self.lower_threshold();
        self.state.cwnd = self.state.ssthresh;
    }

    fn on_timeout(&mut self, timeout: &TimeoutEvent) {
        if timeout.first {
            self.lower_threshold();
        }
        self.state.cwnd = 1.0;
    }

    fn on_spurious_loss(&mut self, _now: Instant) {
        self.state.cwnd = self.state.cwnd.max(self.before_event.cwnd);
        self.state.ssthresh = self.before_event.ssthresh;
    }

    fn cwnd(&self) -> Bytes {
        self.bytes(self.state.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        self.bytes(self.state.ssthresh)
    }
}

/// One run with it, over a path with room for a thousand segments.
pub const SPEC: &str = r#"{
    "seed": 1,
    "duration": "60 s",
    "path": { "capacity": "100 Mb/s", "base_rtt": "100 ms",
              "queue": { "kind": "drop-tail", "size": "0.25 bdp" } },
    "competitor": [{ "name": "download", "kind": "tcp",
                     "congestion_control": { "kind": "highspeed", "high_decrease": 0.2 } }]
}"#;

/// What this repository has, and the congestion control.
pub fn registry() -> Registry {
    Registry::standard().with_tcp::<HighSpeedConfig>()
}

/// Packets that the bottleneck of `spec` forwarded.
///
/// # Errors
/// If it cannot be run.
pub fn forwarded(spec: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let spec: RunSpec = spec.parse()?;
    let folder = std::env::temp_dir().join(format!("own-tcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let summary = gameway_sim::run_with(&spec, &folder, &registry())?;
    std::fs::remove_dir_all(&folder)?;
    Ok(summary.forwarded_packets)
}

/// Runs it, and NewReno in its place.
///
/// # Errors
/// If one cannot be run, or HighSpeed TCP is not ahead.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let reno = SPEC.replace(r#"{ "kind": "highspeed", "high_decrease": 0.2 }"#, r#""newreno""#);
    let (own, reno) = (forwarded(SPEC)? as f64, forwarded(&reno)? as f64);
    let mbps = |packets: f64| packets * 1500.0 * 8.0 / 60.0 / 1e6;
    println!("highspeed {:.1} Mb/s, newreno {:.1} Mb/s", mbps(own), mbps(reno));
    if own < 1.05 * reno {
        return Err("on a long path HighSpeed TCP carries more than NewReno".into());
    }
    Ok(())
}
