//! A gateway of one's own: each download gets a fixed share of a known capacity, as the window that its receiver advertises.

use gameway_events::{BinRecord, QueueDelayRecord, RunEvent};
use gameway_gateway::{
    Direction, FlowTable, Gateway, GatewayAlgorithm, Limit, Observation, Packet, Passage,
};
use gameway_sim::{Registry, RunSpec};
use gameway_units::declared::{Configuration, OptionError};
use gameway_units::{Bytes, Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::channel;

/// How often connections are forgotten that have been silent for long.
const PERIOD: Duration = Duration::from_secs(1);

/// What can be set: each field is an option of the gateway in an experiment file.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct CappedConfig {
    /// of the bottleneck
    #[schemars(extend("x-min" = "1 b/s", "x-max" = "1000 Gb/s", "default" = "must be given"))]
    capacity: Rate,
    /// the share of it that each download gets at most
    #[schemars(range(min = 0.01, max = 1.0))]
    share: f64,
}

impl Default for CappedConfig {
    /// Without a capacity, which `check` refuses.
    fn default() -> Self {
        Self { capacity: Rate::ZERO, share: 0.5 }
    }
}

impl Configuration for CappedConfig {
    const NAME: &'static str = "capped";
    const SUMMARY: &'static str = "gives each download a fixed share of a known capacity";
    const SOURCE: &'static str = "docs/own-gateway.md";

    fn check(&self) -> Result<(), OptionError> {
        if self.capacity == Rate::ZERO {
            let why = "must be given, and be more than 0 b/s".to_owned();
            return Err(OptionError { option: Some("capacity".to_owned()), why });
        }
        Ok(())
    }
}

impl GatewayAlgorithm for CappedConfig {
    fn build(self) -> Box<dyn Gateway> {
        let next = Instant::ZERO + PERIOD;
        Box::new(Capped { config: self, flows: FlowTable::default(), next })
    }
}

struct Capped {
    config: CappedConfig,
    flows: FlowTable<()>,
    next: Instant,
}

impl CappedConfig {
    /// The window that gives the share. Both loops are the smallest of the last seconds, so the queue does not count. `None` leaves a
    /// flow alone: its loops are not known yet, or its data does not come to the queue.
    fn window(&self, data: &Direction<()>) -> Option<u64> {
        let round_trip = data.sender_loop()? + data.receiver_loop()?;
        data.is_in_queue().then(|| (self.capacity.mul_f64(self.share) * round_trip).get())
    }
}

impl Gateway for Capped {
    fn on_packet(&mut self, now: Instant, passage: Passage, packet: &mut Packet<'_>) -> bool {
        let Some(segment) = &mut packet.segment else { return false };
        let config = self.config;
        self.flows.pass(now, passage == Passage::Queue, segment, |data| config.window(data))
    }

    fn on_departure(&mut self, _now: Instant, _size: Bytes, _queueing_delay: Duration) {}

    fn next_deadline(&self) -> Instant {
        self.next
    }

    fn on_deadline(&mut self, now: Instant, _oldest: Option<Instant>) {
        self.flows.forget_idle(now);
        self.next = now.saturating_add(PERIOD);
    }

    fn limits(&self, tell: &mut dyn FnMut(Limit)) {
        self.flows.limits(|data| self.config.window(data), tell);
    }

    fn observe(&self, log: &mut dyn FnMut(Observation)) {
        for (header, data) in self.flows.directions() {
            if let Some(window) = self.config.window(data) {
                let observed = Observation::new("advertised_window_bytes", window as f64);
                log(observed.with_flow(header));
            }
        }
    }
}

/// One run with that gateway: a game stream of 8 Mb/s, and a download that comes after a second.
pub const SPEC: &str = r#"{
    "seed": 1,
    "duration": "40 s",
    "path": { "capacity": "25 Mb/s", "base_rtt": "40 ms",
              "queue": { "kind": "drop-tail", "size": "2 bdp" },
              "gateway": { "kind": "capped", "capacity": "25 Mb/s", "share": 0.6 } },
    "stream": [{ "name": "game", "controller": { "kind": "fixed", "bitrate": "8 Mb/s" }, "video": "doom" }],
    "competitor": [{ "name": "download", "kind": "tcp", "congestion_control": "cubic", "start": "1 s" }]
}"#;
/// The gateway of [`SPEC`].
pub const GATEWAY: &str = r#"{ "kind": "capped", "capacity": "25 Mb/s", "share": 0.6 }"#;
/// Before that a run settles.
const SETTLED_NS: i64 = 10_000_000_000;
/// From then on to its end.
const MEASURED_S: f64 = 30.0;

/// What this repository has, and the gateway.
pub fn registry() -> Registry {
    Registry::standard().with_gateway::<CappedConfig>()
}

/// What was measured.
pub struct Measured {
    /// What the game's packets wait in the queue on average.
    pub wait_ms: f64,
    /// What arrives of the download, with headers.
    pub download_mbps: f64,
}

/// Runs the example behind this gateway.
///
/// # Errors
/// If it cannot be run.
pub fn measured(gateway: &str) -> Result<Measured, Box<dyn std::error::Error>> {
    let spec: RunSpec = SPEC.replace(GATEWAY, gateway).parse()?;
    let (sink, events) = channel();
    gameway_sim::run_into(&spec, &registry(), Box::new(sink))?;
    let (mut waited_ns, mut packets, mut bytes) = (0, 0, 0);
    for event in events.try_iter() {
        match event {
            RunEvent::QueueDelay(QueueDelayRecord {
                flow,
                window_start_ns,
                sum_ns,
                packets: counted,
                ..
            }) if &*flow == "game" && window_start_ns >= SETTLED_NS => {
                waited_ns += sum_ns;
                packets += counted;
            }
            RunEvent::Bin(BinRecord { flow, bin_start_ns, received_bytes, .. })
                if &*flow == "download" && bin_start_ns >= SETTLED_NS =>
            {
                bytes += received_bytes;
            }
            _ => {}
        }
    }
    let wait_ms = waited_ns as f64 / packets as f64 / 1e6;
    Ok(Measured { wait_ms, download_mbps: bytes as f64 * 8.0 / MEASURED_S / 1e6 })
}

/// The table of the page: without a gateway, and with this one.
///
/// # Errors
/// If a run cannot be.
pub fn table() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let rows =
        [("none", r#""none""#), ("`capped`, `share = 0.6`", GATEWAY)].map(|(name, gateway)| {
            let Measured { wait_ms, download_mbps } = measured(gateway)?;
            Ok(format!("| {name} | {wait_ms:.2} ms | {download_mbps:.1} Mb/s |"))
        });
    rows.into_iter().collect()
}

/// Runs it with and without.
///
/// # Errors
/// If a run cannot be.
#[allow(dead_code, reason = "the test reads the table itself")]
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("| gateway | what the game's packets wait, mean | download |\n|---|---|---|");
    table()?.iter().for_each(|row| println!("{row}"));
    Ok(())
}
