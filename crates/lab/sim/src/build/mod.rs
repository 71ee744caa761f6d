//! From a specification to a network, and from its end to a summary.

mod constant_rates;
mod flows;
mod foresight;
#[cfg(feature = "parquet")]
mod in_folder;

use crate::headers;
use crate::packet::Packet;
use crate::simulation::{Flow, Simulation};
use flows::Parts;
use gameway_control::{ControllerAlgorithm, Controllers};
use gameway_events::{BIN, Name, Sink, SummaryRecord};
use gameway_experiment::build::{self, FlowWay, NetworkParts, PathChange, Routes, flow_names};
use gameway_experiment::spec::{PathSpec, RecordSpec, RunSpec, StreamKind};
use gameway_experiment::{Attached, HomeGateway, Known, Recorder, RunError, spec_error};
use gameway_gateway::GatewayAlgorithm;
use gameway_path::{Discipline, Header, Network};
use gameway_tcp::TcpAlgorithm;
use gameway_units::{Duration, Instant};
use std::net::IpAddr;

#[cfg(feature = "parquet")]
pub use in_folder::{run, run_with, tables};

/// What a run can name, with what the caller has added.
#[derive(Debug)]
pub struct Registry {
    /// Controllers, but for the oracle.
    pub controllers: Controllers,
    /// Queue disciplines, gateways and congestion controls.
    pub path: gameway_experiment::Registry<Box<Packet>>,
}

impl Registry {
    /// What this repository has.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            controllers: Controllers::standard(),
            path: gameway_experiment::Registry::standard(),
        }
    }

    /// This and a controller of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_controller<C: ControllerAlgorithm>(self) -> Self {
        Self { controllers: self.controllers.with::<C>(), ..self }
    }

    /// This and a queue discipline of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_queue<C: Discipline>(self) -> Self {
        Self { path: self.path.with_queue::<C>(), ..self }
    }

    /// This and a gateway of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_gateway<A: GatewayAlgorithm>(self) -> Self {
        Self { path: self.path.with_gateway::<A>(), ..self }
    }

    /// This and a congestion control of one's own; it takes the place of one of the same name.
    #[must_use]
    pub fn with_tcp<A: TcpAlgorithm>(self) -> Self {
        Self { path: self.path.with_tcp::<A>(), ..self }
    }
}

/// Runs `spec` and tells `sink` of all that happens. Gives the summary, which the sink hears last.
///
/// # Errors
/// If the specification is wrong, a file it names cannot be read, or the sink fails.
pub fn run_into(
    spec: &RunSpec,
    registry: &Registry,
    sink: Box<dyn Sink>,
) -> Result<SummaryRecord, RunError> {
    run_until(spec, registry, sink, || false)
}

/// [`run_into`], and the run is over before its next event once `is_over` gives so: a part of it that the caller built, such as a
/// controller, cannot go on. It is asked after each event. The sink is dropped then, not finished.
///
/// # Errors
/// As of [`run_into`]; [`RunError::Ended`] if it was over too soon.
pub fn run_until(
    spec: &RunSpec,
    registry: &Registry,
    sink: Box<dyn Sink>,
    is_over: impl Fn() -> bool,
) -> Result<SummaryRecord, RunError> {
    run_built(spec, registry, simulated(spec, registry)?, sink, &is_over)
}

/// What a specification describes, if all of it can be simulated: a check alone is of live runs, too.
fn simulated(spec: &RunSpec, registry: &Registry) -> Result<Built, RunError> {
    match spec.stream.iter().find(|stream| stream.kind == StreamKind::Chromium) {
        None => built(spec, registry),
        Some(stream) => {
            let why = "Chromium is a program, which only live runs have: run it with --on live, or leave kind out for a sender that can be simulated";
            Err(spec_error(format!("stream \"{}\": kind", stream.name), why))
        }
    }
}

fn run_built(
    spec: &RunSpec,
    registry: &Registry,
    built: Built,
    sink: Box<dyn Sink>,
    is_over: &impl Fn() -> bool,
) -> Result<SummaryRecord, RunError> {
    let Built { names, links, gateway, mut network, flows, changes } = built;
    let end = Instant::ZERO + spec.duration;
    let recorder = Recorder::new(sink, names.clone(), links.clone(), end, &spec.record);
    let attached = Attached::new(recorder, gateway, (&spec.path, spec.seed), &mut network);
    let mut simulation = Simulation::new(network, flows, attached);
    let known = (&registry.path, names.as_slice(), links.as_slice());
    if change_all(&mut simulation, spec, known, changes, is_over)? {
        simulation.run_before(end, is_over)?;
    }
    let (network, attached) = simulation.finish(end);
    let summary = attached.summary((spec.duration, spec.seed), &network);
    attached.recorder.finish(&summary)?;
    Ok(summary)
}

/// Runs until the path has become all that it will be; whether anybody can still take what it tells.
fn change_all(
    simulation: &mut Simulation,
    spec: &RunSpec,
    (registry, names, links): (&gameway_experiment::Registry<Box<Packet>>, &[Name], &[Name]),
    changes: Vec<Change>,
    is_over: &impl Fn() -> bool,
) -> Result<bool, RunError> {
    // A change leaves a Wi-Fi medium as it is, so that nobody asks for stations.
    let ways = build::ways(spec).zip(names);
    let ways: Vec<FlowWay<'_>> =
        ways.map(|(way, name)| FlowWay { name, way, station: 0 }).collect();
    let mut before = spec.path.clone();
    for Change { change: PathChange { at, path, links: changed }, gateway } in changes {
        // All that is due at the time of the change happens before it.
        if !simulation.run_before(at + Duration::from_nanos(1), is_over)? {
            return Ok(false);
        }
        let (seed, flows) = (spec.seed, ways.as_slice());
        let parts = NetworkParts { registry, path: &path, seed, stalls: None, flows };
        simulation.change((&before, at), &parts, (links, changed), gateway)?;
        before = path;
    }
    Ok(true)
}

/// Whether [`run_into`] can do `spec`: builds all that it would, reads the files it names, runs nothing.
///
/// # Errors
/// If the specification is wrong, or a file it names cannot be read or is damaged.
pub fn check(spec: &RunSpec) -> Result<(), RunError> {
    check_with(spec, &Registry::standard())
}

/// [`check`] of a specification that names what `registry` has.
///
/// # Errors
/// As of [`check`].
pub fn check_with(spec: &RunSpec, registry: &Registry) -> Result<(), RunError> {
    built(spec, registry).map(drop)
}

/// What a specification describes, ready to run.
struct Built {
    names: Vec<Name>,
    links: Vec<Name>,
    gateway: Option<HomeGateway>,
    network: Network<Box<Packet>>,
    flows: Vec<Flow>,
    changes: Vec<Change>,
}

/// What the path becomes, and with it the gateway.
struct Change {
    change: PathChange,
    gateway: Option<HomeGateway>,
}

fn built(spec: &RunSpec, registry: &Registry) -> Result<Built, RunError> {
    gameway_experiment::check::check(registry.path.known(), spec)?;
    let routes = Routes::new(&spec.path);
    let links = build::links(&spec.path)?;
    let stalls = build::stalls(&spec.path, spec.seed, spec.duration);
    let parts = Parts {
        spec,
        controllers: &registry.controllers,
        known: registry.path.known(),
        routes: &routes,
        links: &links,
        names: flow_names(spec),
        stalls: stalls.clone(),
    };
    let flows = parts.flows()?;
    let names = parts.names;
    let clients: Vec<IpAddr> = flows.iter().map(|flow| flow.header.destination.address).collect();
    let stations = stations(&clients);
    let ways = build::ways(spec).zip(&names).zip(stations);
    let ways: Vec<FlowWay<'_>> =
        ways.map(|((way, name), station)| FlowWay { name, way, station }).collect();
    let (path, seed, stalls) = (&spec.path, spec.seed, stalls.as_ref());
    let registry = &registry.path;
    let parts = NetworkParts { registry, path, seed, stalls, flows: &ways };
    let network = parts.network(&routes, links)?;
    let home = |path: &PathSpec| gateway((path, &spec.record), registry.known(), &flows);
    let changes = build::changes(path)?.into_iter();
    let changes = changes.map(|change| Ok(Change { gateway: home(&change.path)?, change }));
    let changes = changes.collect::<Result<_, RunError>>()?;
    let gateway = home(path)?;
    Ok(Built { names, links: routes.names(), gateway, network, flows, changes })
}

/// The home gateway, which tells flows by their headers.
fn gateway(
    (path, record): (&PathSpec, &RecordSpec),
    known: Known<'_>,
    flows: &[Flow],
) -> Result<Option<HomeGateway>, RunError> {
    let interval = record.controller_interval.unwrap_or(BIN);
    let headers: Vec<Header> = flows.iter().map(|flow| flow.header).collect();
    let flow_of = Box::new(move |header: &Header| headers::flow_of(&headers, header));
    HomeGateway::of_path(known, path, interval, flow_of)
}

/// Of a Wi-Fi medium, the station of each flow's client, numbered behind the access point; clients of one address are
/// one.
fn stations(clients: &[IpAddr]) -> Vec<usize> {
    let mut known: Vec<IpAddr> = Vec::new();
    let mut stations = Vec::with_capacity(clients.len());
    for client in clients {
        let place = known.iter().position(|one| one == client);
        if place.is_none() {
            known.push(*client);
        }
        stations.push(place.map_or(known.len(), |place| place + 1));
    }
    stations
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// What `check` says of a stream with these keys over this capacity.
    fn checked(capacity: &str, stream: &str) -> String {
        let text = format!(
            r#"{{"seed": 1, "duration": "1 s",
                "path": {{"capacity": {capacity}, "base_rtt": "16 ms",
                          "queue": {{"kind": "drop-tail", "size": "2 bdp"}}}},
                "stream": [{{"name": "game", {stream}}}]}}"#
        );
        let spec: RunSpec = text.parse().expect("it is a specification");
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
    fn flows_to_one_address_share_a_station() {
        let client = |last: u8| IpAddr::from([192, 168, 0, last]);
        let clients = [client(10), client(11), client(10), client(12), client(11)];
        assert_eq!(stations(&clients), [1, 2, 1, 3, 2]);
    }

    #[test]
    fn check_refuses_what_a_run_would_and_names_it() {
        let fine = r#""controller": "pudica""#;
        assert_eq!(checked(r#""25 Mb/s""#, fine), "");

        let unknown = checked(r#""25 Mb/s""#, r#""controller": "pudcia""#);
        assert!(unknown.contains("stream \"game\"") && unknown.contains("pudcia"), "{unknown}");

        let option = r#""controller": {"kind": "gcc", "backoff": 7}"#;
        let refused = checked(r#""25 Mb/s""#, option);
        assert!(refused.contains("backoff: 7 is not between 0.1 and 1"), "{refused}");
    }

    #[test]
    fn check_reads_the_files_that_a_run_would() {
        let doom = include_bytes!("../../../../core/media/data/doom.gwfr");
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
