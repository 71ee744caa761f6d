//! From a specification to a network, and from its end to a summary.

mod flows;
mod foresight;
mod gateways;
mod queues;
mod routes;

use crate::gateway::HomeGateway;
use crate::network::{Flow, Hop, Network};
use crate::random;
use crate::recorder::Recorder;
use crate::spec::{CapacitySpec, DropTailSpec, LossSpec, PathSpec, QueueSpec, RunSpec, Text};
use flows::Parts;
use gameway_control::{OptionError, RateController, RateLimits};
use gameway_events::{BIN, Name, SummaryRecord, TableError};
use gameway_media::{FrameTableError, RecordedVideoError};
use gameway_path::{Bottleneck, Link, Loss, LossModel, StepsError, Trace, TraceError};
use gameway_units::{Duration, Instant, QueueSize};
pub(crate) use gateways::{sap_law, voap};
pub(crate) use routes::BACK;
use routes::Routes;
use std::path::{Path, PathBuf};

/// Why a run cannot be done; the message names the field and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The specification does not make sense.
    #[error("{field}: {why}")]
    Spec {
        /// The field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// A controller cannot be built.
    #[error("stream \"{stream}\": {source}")]
    Controller {
        /// The stream.
        stream: String,
        /// Why.
        source: OptionError,
    },
    /// The capacity steps are wrong.
    #[error("path.capacity: {0}")]
    Steps(#[from] StepsError),
    /// A trace is wrong.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// Why.
        source: TraceError,
    },
    /// A frame table is wrong.
    #[error("{}: {source}", path.display())]
    FrameTable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FrameTableError,
    },
    /// A recording cannot be played.
    #[error("{}: {source}", path.display())]
    Video {
        /// The file.
        path: PathBuf,
        /// Why.
        source: RecordedVideoError,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A result cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// A refusal of a field.
pub(crate) fn spec_error(field: impl Into<String>, why: impl Into<String>) -> SimError {
    SimError::Spec { field: field.into(), why: why.into() }
}

/// Runs `spec` and writes its tables into `folder`, which must exist. Gives the summary row.
///
/// # Errors
/// If the specification is wrong, a file it names cannot be read, or a table cannot be written.
pub fn run(spec: &RunSpec, folder: &Path) -> Result<SummaryRecord, SimError> {
    run_with(spec, folder, &gameway_control::build)
}

/// What builds a controller from its name, its options as text and its bounds.
pub type BuildController<'a> = dyn Fn(&str, &[(String, String)], RateLimits) -> Result<Box<dyn RateController>, OptionError>
    + 'a;

/// [`run`] with controllers of one's own: `controllers` is asked for each one but the oracle.
///
/// # Errors
/// As of [`run`].
pub fn run_with(
    spec: &RunSpec,
    folder: &Path,
    controllers: &BuildController<'_>,
) -> Result<SummaryRecord, SimError> {
    let built = build(spec, controllers)?;
    let end = Instant::ZERO + spec.duration.0;
    let packets = spec.record.packets;
    let recorder = Recorder::create(folder, built.names, built.links, end, packets)?;
    let mut network = Network::new(built.hops, built.losses, built.flows, built.gateway, recorder);
    network.run_until(end)?;
    let summary = summary(spec, &network);
    network.recorder.finish(&summary)?;
    Ok(summary)
}

/// Whether [`run`] can do `spec`: builds all that it would, reads the files it names, runs nothing.
///
/// # Errors
/// If the specification is wrong, or a file it names cannot be read or is damaged.
pub fn check(spec: &RunSpec) -> Result<(), SimError> {
    check_with(spec, &gameway_control::build)
}

/// Whether [`run_with`] can do `spec`.
///
/// # Errors
/// As of [`check`].
pub fn check_with(spec: &RunSpec, controllers: &BuildController<'_>) -> Result<(), SimError> {
    build(spec, controllers).map(drop)
}

/// What a specification describes, ready to run.
struct Built {
    names: Vec<Name>,
    links: Vec<Name>,
    hops: Vec<Hop>,
    losses: [Option<Loss>; 2],
    flows: Vec<Flow>,
    gateway: Option<HomeGateway>,
}

fn build(spec: &RunSpec, controllers: &BuildController<'_>) -> Result<Built, SimError> {
    crate::check::check(spec)?;
    let routes = Routes::new(&spec.path);
    let links = links(&spec.path)?;
    let parts =
        Parts { spec, controllers, routes: &routes, links: &links, names: flow_names(spec) };
    let flows = parts.flows()?;
    let names = parts.names;
    let back = spec.path.back.as_ref().and_then(|back| back.loss.as_ref());
    let losses = [
        spec.path.loss.as_ref().map(|one| loss(one, spec.seed, "path/loss")),
        back.map(|one| loss(one, spec.seed, "back/loss")),
    ];
    let link_names = routes.names();
    let hops = hops(spec, &link_names, links);
    let interval = spec.record.controller_interval.map_or(BIN, |text| text.0);
    let gateway = spec.path.gateway.as_ref().and_then(gateways::gateway);
    let gateway = gateway.map(|gateway| HomeGateway::new(gateway, interval));
    Ok(Built { names, links: link_names, hops, losses, flows, gateway })
}

fn summary(spec: &RunSpec, network: &Network) -> SummaryRecord {
    let totals = &network.recorder.totals;
    SummaryRecord {
        duration_ns: spec.duration.0.as_nanos(),
        seed: spec.seed,
        arrived_packets: totals.arrived,
        forwarded_packets: totals.forwarded,
        dropped_packets: totals.dropped,
        queued_packets: network.queued(),
        lost_packets: totals.lost,
        delivered_packets: totals.delivered,
        under_way_packets: network.under_way(),
        events_processed: network.events,
    }
}

/// The names of all flows, in the order of their numbers.
pub(crate) fn flow_names(spec: &RunSpec) -> Vec<Name> {
    let streams = spec.stream.iter().map(|stream| stream.name.as_str());
    let competitors = spec.competitor.iter().map(|competitor| competitor.name());
    let ping = spec.ping.iter().map(|_| "ping");
    streams.chain(competitors).chain(ping).map(Name::from).collect()
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, SimError> {
    std::fs::read(path).map_err(|source| SimError::Read { path: path.to_owned(), source })
}

/// The links of all bottlenecks, in the order of [`Routes::names`].
fn links(path: &PathSpec) -> Result<Vec<Link>, SimError> {
    let further = path.hop.iter().map(|hop| &hop.capacity);
    let back = path.back.iter().filter_map(|back| back.capacity.as_ref());
    std::iter::once(&path.capacity).chain(further).chain(back).map(link).collect()
}

fn link(capacity: &CapacitySpec) -> Result<Link, SimError> {
    Ok(match capacity {
        CapacitySpec::Constant(rate) => Link::constant(rate.0)?,
        CapacitySpec::Steps(list) => {
            let steps = list.steps.iter().map(|(at, rate)| (Instant::ZERO + at.0, rate.0));
            Link::steps(steps.collect())?
        }
        CapacitySpec::Trace(file) => {
            let path = file.trace.clone();
            let trace = Trace::parse(&read(&path)?);
            Link::trace(trace.map_err(|source| SimError::Trace { path, source })?)
        }
    })
}

/// RFC 8867 section 4: the queue of a bottleneck of which nothing else is said.
const BACK_QUEUE: QueueSpec = QueueSpec::DropTail(DropTailSpec {
    size: Text(QueueSize::Time(Duration::from_millis(300))),
    mark_above: None,
});

fn hops(spec: &RunSpec, names: &[Name], links: Vec<Link>) -> Vec<Hop> {
    let path = &spec.path;
    let further = path.hop.iter().map(|hop| &hop.queue);
    let back = path.back.iter().map(|back| back.queue.as_ref().unwrap_or(&BACK_QUEUE));
    let queues = std::iter::once(&path.queue).chain(further).chain(back);
    let hop = |((link, queue), name): ((Link, &QueueSpec), &Name)| {
        Bottleneck::new(link, queue.size(), path.base_rtt.0, |limit| {
            queues::queue(queue, limit, spec.seed, name)
        })
    };
    links.into_iter().zip(queues).zip(names).map(hop).collect()
}

fn loss(loss: &LossSpec, seed: u64, part: &str) -> Loss {
    let model = match *loss {
        LossSpec::Random { probability } => LossModel::Random { probability: probability.0 },
        LossSpec::Bursty { probability, burst_length } => {
            LossModel::Bursty { probability: probability.0, burst_length }
        }
    };
    Loss::new(model, random::stream(seed, part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// What `check` says of a stream with these keys over this capacity.
    fn checked(capacity: &str, stream: &str) -> String {
        let text = format!(
            r#"{{"seed": 1, "duration": "1 s",
                "path": {{"capacity": {capacity}, "base_rtt": "16 ms",
                          "queue": {{"kind": "drop-tail", "size": "2 bdp"}}}},
                "stream": [{{"name": "game", {stream}}}]}}"#
        );
        let spec: RunSpec = serde_json::from_str(&text).expect("it is a specification");
        check(&spec).err().map_or_else(String::new, |error| error.to_string())
    }

    /// A file of this content, in a folder of its own.
    fn file(name: &str, content: &[u8]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("gameway-check-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("the folder of temporary files can be written");
        let file = folder.join(name);
        fs::write(&file, content).expect("the folder of temporary files can be written");
        file
    }

    #[test]
    fn check_refuses_what_a_run_would_and_names_it() {
        let fine = r#""controller": "pudica""#;
        assert_eq!(checked(r#""25 Mb/s""#, fine), "");

        let unknown = checked(r#""25 Mb/s""#, r#""controller": "pudcia""#);
        assert!(unknown.contains("stream \"game\"") && unknown.contains("pudcia"), "{unknown}");

        let option = r#""controller": {"kind": "gcc", "backoff": 7}"#;
        let refused = checked(r#""25 Mb/s""#, option);
        assert!(refused.contains("\"backoff\"") && refused.contains("0.1 to 1"), "{refused}");
    }

    #[test]
    fn check_reads_the_files_that_a_run_would() {
        let doom = include_bytes!("../../../media/data/doom.gwfr");
        let whole = file("whole.gwfr", doom);
        let cut = file("cut.gwfr", &doom[..doom.len() / 2]);
        let with = |file: &Path| format!(r#""controller": "fixed", "video": {{"file": {file:?}}}"#);
        assert_eq!(checked(r#""25 Mb/s""#, &with(&whole)), "");
        let refused = checked(r#""25 Mb/s""#, &with(&cut));
        assert!(refused.contains("cut.gwfr: ") && refused.contains("sizes"), "{refused}");

        let trace = file("bad.trace", b"1\n2\nthree\n");
        let refused = checked(&format!(r#"{{"trace": {trace:?}}}"#), r#""controller": "fixed""#);
        assert!(refused.contains("bad.trace: line 3"), "{refused}");
    }
}
