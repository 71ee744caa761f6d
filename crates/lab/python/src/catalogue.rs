//! What can be named in an experiment file, and checks of files and options that it names.

use gameway_control::{OracleOptions, RateLimits};
use gameway_dash::{Ladder, parse_sizes};
use gameway_experiment::RunError;
use gameway_experiment::RunSpec;
use gameway_experiment::build::Recorded;
use gameway_experiment::check;
use gameway_experiment::spec::{GatewaySpec, QueueSpec, TraceSpec, WifiSpec};
use gameway_media::{FrameTable, RecordedVideo};
use gameway_path::{Dscp, PortRange, Prefix, Protocol, Traffic};
use gameway_sim::Registry;
use gameway_units::declared::{self, Configuration, Description, Options};
use gameway_units::{Duration, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use schemars::Schema;
use serde_json::{Value as Json, json};
use std::fmt::Display;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::LazyLock;

/// Every controller, queue, gateway and competitor as JSON.
#[pyfunction]
pub fn catalogue() -> String {
    json!({
        "controllers": controllers(),
        "queues": queues(),
        "gateways": gateways(),
        "competitors": competitors(),
    })
    .to_string()
}

fn controllers() -> Vec<Json> {
    let oracle = Description::of::<OracleOptions>();
    REGISTRY.controllers.descriptions().chain([&oracle]).map(described).collect()
}

fn queues() -> Vec<Json> {
    REGISTRY.path.known().queues.descriptions().map(described).collect()
}

fn gateways() -> Vec<Json> {
    let forwards = entry("none", "only forwards", "every router", std::iter::empty());
    let known = REGISTRY.path.known().gateways.descriptions();
    std::iter::once(forwards).chain(known.map(described)).collect()
}

fn described(one: &Description) -> Json {
    let options = one.options().into_iter().map(|one| json!(one));
    let mut told = entry(one.name, one.summary, one.source, options);
    told["schema"] = json!((one.schema)());
    told
}

/// The JSON Schema of a run's specification, with nothing referred to: what an experiment file has, every axis resolved.
#[pyfunction]
pub fn run_schema() -> String {
    json!(declared::schema::<RunSpec>()).to_string()
}

/// What a table of [`run_schema`] declares, key by key, as JSON.
#[pyfunction]
pub fn declared_keys(table: &str) -> PyResult<String> {
    let table: Schema = serde_json::from_str(table).map_err(|error| refused(&error))?;
    Ok(json!(declared::list(&table)).to_string())
}

/// What the simulator can build. An experiment with axes asks for it thousands of times.
static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::standard);

fn competitors() -> Vec<Json> {
    let known = REGISTRY.path.known().congestion_controls;
    let needs_accurate =
        |name| known.configure(name, &Options::new()).is_ok_and(|one| one.needs_accurate_ecn());
    let listed = known.descriptions().map(|one| {
        let mut told = described(one);
        told["needs_accurate_ecn"] = needs_accurate(one.name).into();
        told
    });
    listed.collect()
}

fn entry(name: &str, summary: &str, source: &str, options: impl Iterator<Item = Json>) -> Json {
    let options: Vec<Json> = options.collect();
    json!({"name": name, "summary": summary, "source": source, "options": options})
}

/// Refuses an option that a controller does not take; its value is JSON. The frame rate and bitrates do not matter here.
#[pyfunction]
pub fn check_controller(kind: &str, option: &str, value: &str) -> PyResult<()> {
    let value: Json = serde_json::from_str(value).map_err(|error| refused(&error))?;
    let options = Options::from_iter([(option.to_owned(), value)]);
    let limits = RateLimits {
        min: Rate::from_mbps(2),
        max: Rate::from_mbps(50),
        start: Rate::from_mbps(5),
        frame_interval: Duration::from_nanos(16_666_667),
    };
    let checked = if kind == OracleOptions::NAME {
        OracleOptions::read(&options).map(drop)
    } else {
        REGISTRY.controllers.build(kind, &options, limits).map(drop)
    };
    checked.map_err(|error| refused(&error))
}

/// Refuses an option that a queue does not take; its value is JSON.
#[pyfunction]
pub fn check_queue(kind: &str, option: &str, value: &str) -> PyResult<()> {
    let value: Json = serde_json::from_str(value).map_err(|error| refused(&error))?;
    let mut table = json!({"kind": kind, "size": "100 packets"});
    if kind == "htb" {
        // Without classes there is none; this one is never in the way.
        table["default"] = json!("all");
        table["class"] = json!({"all": {"rate": "1 b/s"}});
    }
    table[option] = value;
    let queue: QueueSpec = serde_json::from_value(table).map_err(|error| refused(&error))?;
    check::check_queue(REGISTRY.path.known(), &queue).map_err(|error| match error {
        RunError::Spec { why, .. } => refused(&why),
        other => refused(&other),
    })
}

/// Where and why a whole queue (a table as JSON) cannot be; `None` if it can.
#[pyfunction]
pub fn check_queue_table(table: &str) -> PyResult<Option<(String, String)>> {
    let queue: QueueSpec = serde_json::from_str(table).map_err(|error| refused(&error))?;
    match check::check_queue(REGISTRY.path.known(), &queue) {
        Ok(()) => Ok(None),
        Err(RunError::Spec { field, why }) => {
            Ok(Some((field.strip_prefix("queue.").unwrap_or(&field).to_owned(), why)))
        }
        Err(error) => Err(refused(&error)),
    }
}

/// A word of headers or of rules, in its normal form; a `ValueError` says what is allowed.
#[pyfunction]
pub fn parse_word(kind: &str, text: &str) -> PyResult<String> {
    match kind {
        "protocol" => word::<Protocol>(text),
        "traffic" => word::<Traffic>(text),
        "dscp" => word::<Dscp>(text),
        "ports" => word::<PortRange>(text),
        "prefix" => word::<Prefix>(text),
        "address" => text.parse().map(|address: IpAddr| address.to_string()).map_err(|_| {
            PyValueError::new_err("is no address: write for example 192.168.0.20 or 2001:db8::20")
        }),
        _ => Err(PyValueError::new_err(format!("no word is a {kind}"))),
    }
}

fn word<T: FromStr<Err: Display> + Display>(text: &str) -> PyResult<String> {
    text.parse().map(|word: T| word.to_string()).map_err(|error| refused(&error))
}

/// Refuses a Wi-Fi medium that cannot be; its table is JSON. The error begins with the key.
#[pyfunction]
pub fn check_wifi(table: &str) -> PyResult<()> {
    let wifi: WifiSpec = serde_json::from_str(table).map_err(|error| refused(&error))?;
    check::check_wifi(REGISTRY.path.known(), &wifi).map_err(|error| match error {
        RunError::Spec { field, why } => {
            let key = field.trim_start_matches("path.capacity.");
            PyValueError::new_err(format!("{key}: {why}"))
        }
        other => refused(&other),
    })
}

/// Refuses options that a gateway does not take; they are a JSON object.
#[pyfunction]
pub fn check_gateway(kind: &str, options: &str) -> PyResult<()> {
    let mut table: Json = serde_json::from_str(options).map_err(|error| refused(&error))?;
    table["kind"] = kind.into();
    let gateway: GatewaySpec = serde_json::from_value(table).map_err(|error| refused(&error))?;
    check::check_gateway(REGISTRY.path.known(), &gateway).map_err(|error| refused(&error))
}

/// Refuses options that a congestion control does not take; they are a JSON object.
#[pyfunction]
pub fn check_congestion_control(kind: &str, options: &str) -> PyResult<()> {
    let options: Options = serde_json::from_str(options).map_err(|error| refused(&error))?;
    let configured = REGISTRY.path.known().congestion_controls.configure(kind, &options);
    configured.map(drop).map_err(|error| refused(&error))
}

fn refused(error: &dyn Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Reads the file of a capacity's table (`trace`, and the columns of a table of rates), and says how long it
/// is and what it carries, as JSON.
#[pyfunction]
pub fn check_trace(table: &str) -> PyResult<String> {
    let spec: TraceSpec = serde_json::from_str(table).map_err(|error| refused(&error))?;
    let recorded = Recorded::read(&spec).map_err(|error| match error {
        RunError::Trace { source, .. } => refused(&source),
        RunError::Throughput { source, .. } => refused(&source),
        RunError::Read { source, .. } => refused(&source),
        other => refused(&other),
    })?;
    let (period, lines, mean) = match recorded {
        Recorded::Opportunities(trace) => {
            (trace.period(), trace.opportunities(), trace.mean_capacity())
        }
        Recorded::Rates(table) => (table.period(), table.rows(), table.mean_capacity()),
    };
    let described =
        json!({"duration_ns": period.as_nanos(), "lines": lines, "mean_bps": mean.as_bps()});
    Ok(described.to_string())
}

/// Refuses a file that is no frame table, or one that a stream cannot play.
#[pyfunction]
pub fn check_frame_table(path: &str) -> PyResult<()> {
    let table = FrameTable::parse(&std::fs::read(path)?).map_err(|error| refused(&error))?;
    RecordedVideo::new(&table).map(drop).map_err(|error| refused(&error))
}

/// Refuses a file that is no table of segments' sizes.
#[pyfunction]
pub fn check_segment_sizes(path: &str) -> PyResult<()> {
    let text = std::fs::read(path)?;
    parse_sizes(&String::from_utf8_lossy(&text)).map(drop).map_err(|error| refused(&error))
}

/// The ladder of a video that names none: width, height and bit/s of each level, the lowest first.
#[pyfunction]
pub fn default_ladder() -> Vec<(u32, u32, u64)> {
    let ladder = Ladder::xu_claypool();
    let levels = ladder.levels().iter();
    levels.map(|level| (level.width, level.height, level.bitrate.as_bps())).collect()
}
