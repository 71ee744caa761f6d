//! What a link is told.

use super::packet::LinkRegistry;
use gameway_experiment::build::{self, Routes};
use gameway_experiment::spec::{self, PathSpec, QueueSpec, RecordSpec, Way};
use gameway_experiment::{RunError, check, spec_error};
use gameway_runtime::clock::Clock;
use gameway_units::{Duration, QueueSize};
use std::net::IpAddr;
use std::path::PathBuf;

/// Configuration of one link, as JSON; see `docs/link.md`.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// When the run begins, of CLOCK_MONOTONIC; now if not given.
    pub epoch_ns: Option<i64>,
    /// Seed of everything random.
    pub seed: u64,
    /// How long the link lasts; until it is asked to stop if not given.
    pub duration: Option<Duration>,
    /// The path.
    pub path: PathSpec,
    /// What is recorded.
    #[serde(default)]
    pub record: RecordSpec,
    /// The flows that are recorded each by itself.
    #[serde(default)]
    pub flows: Vec<FlowConfig>,
    /// Where what comes down is read, and what goes up arrives.
    pub server: DeviceConfig,
    /// Where what comes down arrives.
    pub client: DeviceConfig,
    /// Where the tables go; it must exist.
    pub folder: PathBuf,
    /// A capture of the headers of all packets (pcapng), in `folder` if it is no absolute path; none if not given.
    pub pcap: Option<PathBuf>,
    /// A socket that is made here, by which the path is changed and asked for while the link runs; none if not given.
    pub control: Option<PathBuf>,
    /// How often what happened is written down, in pieces of tables that can be read at once; if not given, whole tables
    /// are there at the end. Of `summary` the last row then counts.
    pub keep_interval: Option<Duration>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// Its name in tables.
    pub name: String,
    /// The address of its server; of a flow without, all packets that are of no other.
    pub address: Option<IpAddr>,
    /// Whether its data goes up.
    #[serde(default)]
    pub upwards: bool,
    /// Its round-trip time, half each way; that of the path if not given.
    pub base_rtt: Option<Duration>,
    /// Which bottlenecks it passes: "path", the name of a hop, or all if not given.
    pub via: Option<String>,
}

impl FlowConfig {
    /// Where it goes.
    #[must_use]
    pub fn way(&self) -> Way<'_> {
        let direction = if self.upwards { spec::Direction::Up } else { spec::Direction::Down };
        let via = self.via.as_deref().unwrap_or(Way::ALL);
        Way { base_rtt: self.base_rtt, via, direction }
    }
}

/// A TUN device that is there.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// The file of its namespace; the process's own if not given.
    pub namespace: Option<PathBuf>,
    /// Its name.
    pub device: String,
}

/// What is longer is for ever.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);
/// The most flows of a link: the flow of each packet is looked for among all.
pub const MAX_FLOWS: usize = 200;

impl LinkConfig {
    /// Whether a link can be built of it, with what the registry knows.
    ///
    /// # Errors
    /// The first field that is wrong, and what is allowed.
    pub fn check(&self, registry: &LinkRegistry) -> Result<(), RunError> {
        check::check_path(registry.known(), &self.path)?;
        if self.control.is_some() && !self.path.change.is_empty() {
            let why = "has no meaning beside a control, by which the path is changed: leave out one of them";
            return Err(spec_error("path.change", why));
        }
        check::check_record(&self.record)?;
        if self.path.stalls.is_some() && self.duration.is_none() {
            let why = "stalls are drawn before the run: say how long it lasts";
            return Err(spec_error("duration", why));
        }
        check::check_stalls(&self.path, self.lasts())?;
        if self.flows.len() > MAX_FLOWS {
            let why = format!("{} flows; at most {MAX_FLOWS} are told apart", self.flows.len());
            return Err(spec_error("flows", why));
        }
        self.check_flows()
    }

    fn check_flows(&self) -> Result<(), RunError> {
        let routes = Routes::new(&self.path);
        for (number, flow) in self.flows.iter().enumerate() {
            check::check_way(&|key| format!("flow \"{}\": {key}", flow.name), &flow.way())?;
            routes.wanted(&flow.name, &flow.way())?;
            for other in &self.flows[..number] {
                if other.name == flow.name {
                    let why = format!("two flows are called \"{}\"; names must differ", flow.name);
                    return Err(spec_error("flows.name", why));
                }
                if other.address == flow.address {
                    let why = format!("\"{}\" and \"{}\" have the same", other.name, flow.name);
                    return Err(spec_error("flows.address", why));
                }
            }
        }
        Ok(())
    }

    /// The queues that a path can have.
    #[must_use]
    pub fn queues() -> Vec<&'static str> {
        LinkRegistry::standard().known().queues.names().collect()
    }

    /// How much may wait in a queue, which has been checked.
    #[must_use]
    pub fn queue_size(queue: &QueueSpec) -> QueueSize {
        build::size(&LinkRegistry::standard(), queue)
    }

    /// See `duration`.
    #[must_use]
    pub fn lasts(&self) -> Duration {
        self.duration.unwrap_or(LONGEST)
    }

    /// The clock of the run.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock::new(self.epoch_ns.unwrap_or_else(Clock::monotonic_ns))
    }
}
