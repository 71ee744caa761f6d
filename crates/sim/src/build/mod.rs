//! From a specification to a network, and from its end to a summary.

mod flows;
mod foresight;
mod wifi;

use crate::headers;
use crate::hop::Hop;
use crate::network::{Flow, Network};
use flows::Parts;
use gameway_control::{OptionError, RateController, RateLimits};
use gameway_events::{BIN, Name, SummaryRecord};
use gameway_experiment::build::{self, BACK_QUEUE, Routes, flow_names};
use gameway_experiment::spec::{ClassifierSpec, CompetitorSpec, QueueSpec, RunSpec};
use gameway_experiment::{HomeGateway, Recognition, Recorder, RunError, random};
use gameway_path::{Bottleneck, Header, Impairments, Link};
use gameway_units::Instant;
use std::path::Path;

/// Runs `spec` and writes its tables into `folder`, which must exist. Gives the summary row.
///
/// # Errors
/// If the specification is wrong, a file it names cannot be read, or a table cannot be written.
pub fn run(spec: &RunSpec, folder: &Path) -> Result<SummaryRecord, RunError> {
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
) -> Result<SummaryRecord, RunError> {
    let built = built(spec, controllers)?;
    let end = Instant::ZERO + spec.duration.0;
    let mut recorder = Recorder::create(folder, built.names, built.links, end, &spec.record)?;
    if spec.competitor.iter().any(|flow| matches!(flow, CompetitorSpec::Dash(_))) {
        recorder.tables = recorder.tables.with_segments(folder)?;
    }
    let mut network =
        Network::new(built.hops, built.impairments, built.flows, built.gateway, recorder);
    if spec.path.classifier == ClassifierSpec::Behaviour {
        network.recognise(Recognition::new(random::number(spec.seed, "path/classifier")));
    }
    network.run_until(end)?;
    let summary = summary(spec, &network);
    network.recorder.finish(&summary)?;
    Ok(summary)
}

/// Whether [`run`] can do `spec`: builds all that it would, reads the files it names, runs nothing.
///
/// # Errors
/// If the specification is wrong, or a file it names cannot be read or is damaged.
pub fn check(spec: &RunSpec) -> Result<(), RunError> {
    check_with(spec, &gameway_control::build)
}

/// Whether [`run_with`] can do `spec`.
///
/// # Errors
/// As of [`check`].
pub fn check_with(spec: &RunSpec, controllers: &BuildController<'_>) -> Result<(), RunError> {
    built(spec, controllers).map(drop)
}

/// What a specification describes, ready to run.
struct Built {
    names: Vec<Name>,
    links: Vec<Name>,
    hops: Vec<Hop>,
    impairments: [Impairments; 2],
    flows: Vec<Flow>,
    gateway: Option<HomeGateway>,
}

fn built(spec: &RunSpec, controllers: &BuildController<'_>) -> Result<Built, RunError> {
    gameway_experiment::check::check(spec)?;
    let routes = Routes::new(&spec.path);
    let links = build::links(&spec.path)?;
    let stalls = build::stalls(spec);
    let parts = Parts {
        spec,
        controllers,
        routes: &routes,
        links: &links,
        names: flow_names(spec),
        stalls,
    };
    let flows = parts.flows()?;
    let names = parts.names;
    let impairments = build::impairments(&spec.path, spec.seed);
    let link_names = routes.names();
    let hops = hops(spec, &link_names, links, &flows, &names)?;
    let interval = spec.record.controller_interval.map_or(BIN, |text| text.0);
    let gateway = spec.path.gateway.as_ref().and_then(build::gateway);
    let own_headers: Vec<Header> = flows.iter().map(|flow| flow.header).collect();
    let gateway = gateway.map(|gateway| {
        let flow_of = move |header: &Header| headers::flow_of(&own_headers, header);
        HomeGateway::new(gateway, interval, Box::new(flow_of))
    });
    Ok(Built { names, links: link_names, hops, impairments, flows, gateway })
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
        duplicated_packets: totals.duplicated,
        delivered_packets: totals.delivered,
        under_way_packets: network.under_way(),
        events_processed: network.events,
    }
}

fn hops(
    spec: &RunSpec,
    links: &[Name],
    capacities: Vec<Link>,
    flows: &[Flow],
    names: &[Name],
) -> Result<Vec<Hop>, RunError> {
    let path = &spec.path;
    let further = path.hop.iter().map(|hop| &hop.queue);
    let back = path.back.iter().map(|back| back.queue.as_ref().unwrap_or(&BACK_QUEUE));
    let queues = std::iter::once(&path.queue).chain(further).chain(back);
    let parts = capacities.into_iter().zip(queues).zip(links).enumerate();
    let hop = |(number, ((link, queue), name)): (usize, ((Link, &QueueSpec), &Name))| {
        if let Some(medium) = path.capacity.wifi().filter(|_| number == 0) {
            return wifi::hop(medium, path, link, flows, (spec.seed, names));
        }
        let (size, base_rtt) = (build::size(queue), path.nominal_rtt());
        let built = |limit| build::queue(queue, limit, base_rtt, spec.seed, name);
        Bottleneck::try_new(link, size, base_rtt, built).map(Hop::Wired)
    };
    parts.map(hop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

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
